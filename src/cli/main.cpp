// The fanfare command: one program, one sub-command a job.
#include <CLI/CLI.hpp>

#include "cli/bench_command.h"
#include "cli/graphql_command.h"
#include "cli/journal_command.h"
#include "cli/lint_command.h"
#include "cli/policy_command.h"
#include "cli/serve_command.h"

int main(int argc, char** argv) {
  CLI::App app{"Fanfare: publish once; every worker gets its own durable copy, every person gets the news."};
  app.set_version_flag("--version", "fanfare " FANFARE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  int exit_code = 0;
  fanfare::cli::add_serve_command(app, exit_code);
  fanfare::cli::add_journal_command(app, exit_code);
  fanfare::cli::add_bench_command(app, FANFARE_VERSION, exit_code);
  fanfare::cli::add_lint_command(app, FANFARE_VERSION, exit_code);
  fanfare::cli::add_policy_command(app, exit_code);
  fanfare::cli::add_graphql_command(app, exit_code);
  app.add_subcommand("version", "Print the version")->callback([] { std::puts("fanfare " FANFARE_VERSION); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int shown = app.exit(error);
    return shown == 0 ? 0 : 2;
  }
  return exit_code;
}
