#include "server/yaml_as_json.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "wire/json/writer.h"

namespace fanfare::server {
namespace {

void append_json(wire::json::Writer& w, const YAML::Node& node) {
  if (node.IsMap()) {
    w.begin_object();
    for (const auto& member : node) {
      w.key(member.first.Scalar());
      append_json(w, member.second);
    }
    w.end_object();
  } else if (node.IsSequence()) {
    w.begin_array();
    for (const YAML::Node& item : node) append_json(w, item);
    w.end_array();
  } else if (node.IsScalar()) {
    w.string(node.Scalar());
  } else {
    w.null();
  }
}

}  // namespace

std::string json_of(const YAML::Node& node) {
  std::string out;
  wire::json::Writer w(out);
  append_json(w, node);
  return out;
}

std::optional<std::string> yaml_as_json(const std::string& text, std::string& json) {
  try {
    json = json_of(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return fmt::format("line {}: {}", error.mark.line + 1, error.msg);
  }
  return std::nullopt;
}

}  // namespace fanfare::server
