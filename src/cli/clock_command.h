// `fanfare clock`: what time a running broker has, and `fanfare clock advance 2h`.
#pragma once

namespace CLI {
class App;
}

namespace fanfare::cli {

/// Sets `exit_code` when the sub-command has run: 0 done, 1 the broker refused, 2 a wrong argument or no broker there.
void add_clock_command(CLI::App& app, int& exit_code);

}  // namespace fanfare::cli
