// `fanfare journal verify|repair|stats DIR`.
#pragma once

namespace CLI {
class App;
}

namespace fanfare::cli {

/// Sets `exit_code` when one of the sub-commands has run: 0 sound, 4 damaged (repair: something was lost), 1 it could not be done.
void add_journal_command(CLI::App& app, int& exit_code);

}  // namespace fanfare::cli
