// The fanfare command: one program, one sub-command a job.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/bench_command.h"
#include "cli/clock_command.h"
#include "cli/graphql_command.h"
#include "cli/journal_command.h"
#include "cli/lint_command.h"
#include "cli/policy_command.h"
#include "cli/serve_command.h"

namespace {

/// The texts of all values that are not accepted, in the order of the command line; that of `first` where no value is to blame.
/// CLI11 stops at the first one in the order in which the options were declared.
std::string every_problem(const CLI::App& command, const CLI::Error& first) {
  std::vector<CLI::Option*> looked_at;
  std::string text;
  for (CLI::Option* option : command.parse_order()) {
    if (std::find(looked_at.begin(), looked_at.end(), option) != looked_at.end()) continue;
    looked_at.push_back(option);
    try {
      option->run_callback();  // checks and converts; what it sets is not used any more
    } catch (const CLI::ParseError& error) {
      text.append(text.empty() ? "" : "; also ").append(error.what());
    }
  }
  return text.empty() ? first.what() : text;
}

/// What is wrong in one line, and where help is: the whole help behind it would push it off the screen.
std::string explain(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = app;
  std::string name = "fanfare";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  std::string what = every_problem(*command, error);
  if (command->get_require_subcommand_min() > 0) {
    std::string accepted;
    for (const CLI::App* one : command->get_subcommands([](const CLI::App*) { return true; }))
      accepted += (accepted.empty() ? "" : ", ") + one->get_name();
    const std::vector<std::string> rest = command->remaining();
    what = rest.empty() ? fmt::format("a command is missing; accepted are {}", accepted)
                        : fmt::format("'{}' is unknown; accepted are {}", rest.front(), accepted);
  }
  return fmt::format("{}: {}\nSee {} --help.\n", name, what, name);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Fanfare: publish once; every worker gets its own durable copy, every person gets the news."};
  app.set_version_flag("--version", "fanfare " FANFARE_VERSION);
  app.require_subcommand(1);
  app.failure_message(explain);
  int exit_code = 0;
  fanfare::cli::add_serve_command(app, exit_code);
  fanfare::cli::add_journal_command(app, exit_code);
  fanfare::cli::add_clock_command(app, exit_code);
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
