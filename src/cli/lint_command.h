// `fanfare lint`: what is likely wrong with policies and topologies, from files and from a live endpoint.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace fanfare::cli {

/// Sets `exit_code`: 0 nothing found, 1 findings, 2 with the reason when a file or the endpoint could not be read.
void add_lint_command(CLI::App& app, const std::string& version, int& exit_code);

}  // namespace fanfare::cli
