// `fanfare serve`: the flags of interfaces and configuration, into ServeOptions.
#pragma once

namespace CLI {
class App;
}

namespace fanfare::cli {

/// Sets `exit_code` when the sub-command has run: 0 stopped cleanly, 2 configuration, 3 port, 4 data damaged, 1 else,
/// 130 on a second signal.
void add_serve_command(CLI::App& app, int& exit_code);

}  // namespace fanfare::cli
