#include "cli/journal_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "server/journal_tool.h"

namespace fanfare::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0  sound (repair: sound now, nothing was lost)\n"
    "  4  damaged (repair: sound now, and something was lost: see its report)\n"
    "  1  it could not be done: no such folder, in use, disk full\n"
    "  2  wrong arguments\n";

using Tool = server::ToolResult (*)(const std::string& folder, bool json);

void add_tool(CLI::App& group, int& exit_code, const std::string& name, const std::string& help, const std::string& more, Tool tool) {
  struct Values {
    std::string folder;
    bool json = false;
  };
  auto values = std::make_shared<Values>();  // shared: CLI11 keeps the callback
  CLI::App& command = *group.add_subcommand(name, help);
  command.add_option("DIR", values->folder, "data folder (of serve --data), or the journal's folder in it")->required();
  command.add_flag("--json", values->json, "one JSON object instead of text");
  command.footer(more + "\n" + kExitCodes);
  command.callback([values, tool, &exit_code] {
    const server::ToolResult result = tool(values->folder, values->json);
    std::fputs(result.output.c_str(), stdout);
    std::fputs(result.error.c_str(), stderr);
    exit_code = result.exit_code;
  });
}

}  // namespace

void add_journal_command(CLI::App& app, int& exit_code) {
  CLI::App& group = *app.add_subcommand("journal", "Look at the journal on disk, and repair it");
  group.require_subcommand(1);
  group.footer(
      "Examples:\n"
      "  fanfare journal verify ./fanfare-data          # what is whole, what is damaged, and where\n"
      "  fanfare journal repair ./fanfare-data          # keeps all that can be read, and the original\n"
      "  fanfare journal stats ./fanfare-data --json    # segments, live share, records by type");
  add_tool(group, exit_code, "verify", "Read everything and say what is whole and what is damaged",
           "Reads every record and snapshot, and replays them. Changes nothing; a server may have the folder open.\n"
           "A torn tail is no damage: nobody was promised what it holds.\n\n"
           "Examples:\n"
           "  fanfare journal verify ./fanfare-data\n"
           "  fanfare journal verify ./fanfare-data --json | jq .damage\n",
           server::verify_journal_folder);
  add_tool(group, exit_code, "repair", "Make a damaged journal usable with all that can be read",
           "The server must be stopped. A sound journal is left as it is. Otherwise everything that can be read goes into a\n"
           "new journal, which takes the folder's place when it has been verified. The original stays beside it, untouched,\n"
           "as DIR/journal.damaged-1, and what was lost is listed in DIR/journal.repair-1.json.\n"
           "It needs as much free space as the waiting messages take.\n\n"
           "Examples:\n"
           "  fanfare journal repair ./fanfare-data\n"
           "  fanfare journal repair ./fanfare-data --json > report.json\n",
           server::repair_journal_folder);
  add_tool(group, exit_code, "stats", "Segments, live share, records by type, age of the snapshot",
           "Examples:\n"
           "  fanfare journal stats ./fanfare-data\n"
           "  fanfare journal stats ./fanfare-data --json | jq .kinds\n",
           server::describe_journal_folder);
}

}  // namespace fanfare::cli
