// The topology file (version: 1) as the services would describe what it asks for.
#pragma once

#include <optional>
#include <string>

#include "policy/lint.h"
#include "wire/json/value.h"

namespace fanfare::cli {

/// Fills `topology` from the file's content, YAML turned into JSON. Else a sentence: `queues.work.visibility: ...`.
std::optional<std::string> describe_topology_file(const wire::json::Value& file, const std::string& region,
                                                  const std::string& account, policy::DescribedTopology& topology);

}  // namespace fanfare::cli
