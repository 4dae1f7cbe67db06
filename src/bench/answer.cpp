#include "bench/answer.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "wire/json/value.h"

namespace fanfare::bench {
namespace {

/// The text between `<name>` and `</name>` without its entities.
std::string without_entities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kNamed = {
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    bool replaced = false;
    if (text[i] == '&') {
      for (const auto& [name, character] : kNamed) {
        if (text.substr(i).starts_with(name)) {
          out.push_back(character);
          i += name.size();
          replaced = true;
          break;
        }
      }
    }
    if (!replaced) out.push_back(text[i++]);
  }
  return out;
}

/// Calls `use` with each value, still escaped, and without the quotes or tags around it.
template <class Use>
void for_each_text(std::string_view body, Protocol protocol, std::string_view name, const Use& use) {
  const bool json = protocol == Protocol::Json;
  const std::string opening = json ? "\"" + std::string{name} + "\"" : "<" + std::string{name} + ">";
  for (std::size_t at = body.find(opening); at != std::string_view::npos; at = body.find(opening, at)) {
    at += opening.size();
    if (!json) {
      const std::size_t end = body.find("</", at);
      if (end == std::string_view::npos) return;
      use(body.substr(at, end - at));
      at = end;
      continue;
    }
    while (at < body.size() && (body[at] == ' ' || body[at] == ':')) ++at;
    if (at == body.size() || body[at] != '"') continue;
    std::size_t end = ++at;
    while (end < body.size() && body[end] != '"') end += body[end] == '\\' ? 2 : 1;
    if (end >= body.size()) return;
    use(body.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

void find_texts(std::string_view body, Protocol protocol, std::string_view name, std::vector<std::string>& out) {
  for_each_text(body, protocol, name, [&](std::string_view text) {
    if (protocol == Protocol::Query) {
      out.push_back(text.find('&') == std::string_view::npos ? std::string{text} : without_entities(text));
    } else if (text.find('\\') == std::string_view::npos) {
      out.emplace_back(text);
    } else {
      const auto value = wire::json::parse("\"" + std::string{text} + "\"");
      out.emplace_back(value ? value->as_string().value_or(text) : text);
    }
  });
}

std::optional<std::string> find_text(std::string_view body, Protocol protocol, std::string_view name) {
  std::vector<std::string> found;
  find_texts(body, protocol, name, found);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::size_t count_texts(std::string_view body, Protocol protocol, std::string_view name) {
  std::size_t count = 0;
  for_each_text(body, protocol, name, [&](std::string_view) { ++count; });
  return count;
}

std::size_t count_refused(std::string_view body, Protocol protocol) {
  const std::string_view mark = protocol == Protocol::Json ? "\"SenderFault\"" : "<SenderFault>";
  // Only refused entries say whose fault it was.
  std::size_t count = 0;
  for (std::size_t at = body.find(mark); at != std::string_view::npos; at = body.find(mark, at + mark.size())) ++count;
  return count;
}

}  // namespace fanfare::bench
