// YAML as the JSON that it stands for: for policies and topologies that people write as YAML.
// Every scalar becomes a text; whoever reads the JSON takes "true" for true and "3" for 3.
#pragma once

#include <optional>
#include <string>

namespace YAML {
class Node;
}

namespace fanfare::server {

std::string json_of(const YAML::Node& node);
/// Else what is wrong: `line 3: end of map not found`.
std::optional<std::string> yaml_as_json(const std::string& text, std::string& json);

}  // namespace fanfare::server
