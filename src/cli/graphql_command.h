// `fanfare graphql check`: whether schema files make a schema, and whether documents fit it.
#pragma once

namespace CLI {
class App;
}

namespace fanfare::cli {

/// Sets `exit_code` when the sub-command has run: 0 everything is right, 1 there are errors, 2 a file cannot be read.
void add_graphql_command(CLI::App& app, int& exit_code);

}  // namespace fanfare::cli
