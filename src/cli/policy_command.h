// `fanfare policy evaluate` and `fanfare policy explain`: what the policies say about a request, and why.
#pragma once

namespace CLI {
class App;
}

namespace fanfare::cli {

/// Sets `exit_code`: evaluate and explain 0 when there is an answer, whatever it is; 2 with the reason on standard
/// error when a case or a policy is malformed, or a file cannot be read.
void add_policy_command(CLI::App& app, int& exit_code);

}  // namespace fanfare::cli
