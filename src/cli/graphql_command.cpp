#include "cli/graphql_command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/file_input.h"
#include "graphql/check.h"

namespace fanfare::cli {
namespace {

constexpr const char* kExample = R"(
SCHEMA and each --schema are a file, a folder (its *.graphql, *.graphqls and *.gql files), or - for standard input.
All of them together make the schema. Exit code: 0 all is right, 1 there are errors, 2 a file cannot be read.

Example:
  $ fanfare graphql check schema.graphql queries/inbox.graphql
  queries/inbox.graphql:2:10: error: The type "User" has no field "nam". Did you mean "name"? [5.3.1 Field Selections]
  2 |   user { nam }
    |          ^
  1 error)";

struct CheckFlags {
  std::string schema;
  std::vector<std::string> more_schemas;
  std::vector<std::string> documents;
  bool json = false;
};

/// The files' names and texts; both outlive the sources that refer to them.
class Files {
 public:
  /// False, with a message on standard error.
  bool read(const std::string& path, bool may_be_folder) {
    namespace fs = std::filesystem;
    std::error_code failed;
    if (path == "-" || !fs::is_directory(path, failed)) return read_file(path);
    if (!may_be_folder) return refuse(path + ": it is a folder");
    std::vector<std::string> found;
    for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
      const std::string extension = at->path().extension().string();
      if (extension == ".graphql" || extension == ".graphqls" || extension == ".gql") found.push_back(at->path().string());
    }
    if (failed) return refuse(path + ": " + failed.message());
    if (found.empty()) return refuse(path + ": no *.graphql, *.graphqls or *.gql file is in this folder");
    std::sort(found.begin(), found.end());
    return std::all_of(found.begin(), found.end(), [this](const std::string& file) { return read_file(file); });
  }

  [[nodiscard]] const std::vector<graphql::Source>& sources() const { return sources_; }

 private:
  bool read_file(const std::string& path) {
    std::string& name = texts_.emplace_back(path == "-" ? "standard input" : path);
    std::string& text = texts_.emplace_back();
    if (const auto problem = read_input(path, text)) return refuse(*problem);
    sources_.push_back({name, text});
    return true;
  }

  static bool refuse(const std::string& why) {
    std::fprintf(stderr, "fanfare: cannot read %s\n", why.c_str());
    return false;
  }

  std::deque<std::string> texts_;  // addresses stay
  std::vector<graphql::Source> sources_;
};

int run_check(const CheckFlags& flags) {
  Files schema;
  Files documents;
  bool ok = schema.read(flags.schema, true);
  for (const std::string& path : flags.more_schemas) ok = schema.read(path, true) && ok;
  for (const std::string& path : flags.documents) ok = documents.read(path, false) && ok;
  if (!ok) return 2;
  const graphql::CheckResult result = graphql::check(schema.sources(), documents.sources());
  const std::string text = flags.json ? graphql::as_json(result) : graphql::as_text(result, schema.sources(), documents.sources());
  std::fwrite(text.data(), 1, text.size(), stdout);
  return result.ok() ? 0 : 1;
}

}  // namespace

void add_graphql_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<CheckFlags>();  // shared: CLI11 keeps the callback
  CLI::App& group = *app.add_subcommand("graphql", "Work with GraphQL schemas and documents");
  group.require_subcommand(1);
  CLI::App& check = *group.add_subcommand("check", "Check a schema, and documents against it");
  check.add_option("SCHEMA", flags->schema, "the schema's file or folder")->required();
  check.add_option("DOCUMENT", flags->documents, "files with operations and fragments, each checked on its own");
  check.add_option("--schema", flags->more_schemas, "a further file or folder of the schema; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  check.add_flag("--json", flags->json, "one line of JSON instead of text");
  check.footer(kExample);
  check.callback([flags, &exit_code] { exit_code = run_check(*flags); });
}

}  // namespace fanfare::cli
