#include "cli/lint_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/file_input.h"
#include "cli/live_topology.h"
#include "cli/ranges.h"
#include "cli/topology_file.h"
#include "policy/lint.h"
#include "server/yaml_as_json.h"
#include "wire/json/value.h"

namespace fanfare::cli {
namespace {

namespace json = wire::json;

struct Flags {
  std::vector<std::string> files;
  std::string topology;
  std::string endpoint;
  std::string format = "text";
  bool json = false;
  std::string resource;
  std::string region = "us-east-1";
  std::string account = "000000000000";
};

void append(std::vector<policy::Finding>& to, std::vector<policy::Finding> from) {
  for (policy::Finding& finding : from) to.push_back(std::move(finding));
}

/// Which kind of resource a policy is for: by the ARN, else by its statements.
policy::ResourceKind kind_of(const json::Value& document, const std::string& arn) {
  if (arn.starts_with("arn:aws:sqs:")) return policy::ResourceKind::Queue;
  if (arn.starts_with("arn:aws:sns:")) return policy::ResourceKind::Topic;
  const std::string text = document.to_string();
  if (text.find("Principal\":") == std::string::npos) return policy::ResourceKind::Identity;
  const bool topic = text.find("\"sns:") != std::string::npos || text.find("\"SNS:") != std::string::npos;
  return topic && text.find("\"sqs:") == std::string::npos ? policy::ResourceKind::Topic : policy::ResourceKind::Queue;
}

std::optional<std::string> lint_file(const std::string& path, const Flags& flags,
                                     std::vector<policy::Finding>& findings) {
  std::string text;
  if (auto problem = read_input(path, text)) return problem;
  auto document = json::parse(text, {.duplicate_keys = json::DuplicateKeys::KeepAll});
  if (!document) {
    std::string converted;
    if (const auto problem = server::yaml_as_json(text, converted)) return fmt::format("{}: {}", path, *problem);
    text = std::move(converted);
    document = json::parse(text);
    if (!document) return fmt::format("{}: {}", path, document.error().message());
  }
  if (document->find("Statement") != nullptr) {
    const policy::ResourceKind kind = kind_of(*document, flags.resource);
    const auto parsed = policy::Policy::parse(
        text, kind == policy::ResourceKind::Identity ? policy::PolicyKind::Identity : policy::PolicyKind::Resource);
    if (!parsed) return fmt::format("{}: {}", path, parsed.error().message());
    append(findings, policy::lint_policy(*parsed, kind, path, flags.resource, text.size()));
    return std::nullopt;
  }
  policy::DescribedTopology topology;
  if (auto problem = describe_topology_file(*document, flags.region, flags.account, topology))
    return fmt::format("{}: {}", path, *problem);
  append(findings, policy::lint_topology(topology));
  return std::nullopt;
}

int lint(const Flags& flags, const std::string& version) {
  std::vector<policy::Finding> findings;
  std::vector<std::string> files = flags.files;
  if (!flags.topology.empty()) files.push_back(flags.topology);
  const auto fail = [](const std::string& problem) {
    fmt::print(stderr, "fanfare: lint: {}\n", problem);
    return 2;
  };
  if (files.empty() && flags.endpoint.empty()) return fail("name files, -f TOPOLOGY or --endpoint URL");
  for (const std::string& path : files)
    if (const auto problem = lint_file(path, flags, findings)) return fail(*problem);
  if (!flags.endpoint.empty()) {
    LiveEndpoint endpoint{.url = flags.endpoint, .region = flags.region, .session_token = {}};
    take_from_environment(endpoint);
    policy::DescribedTopology topology;
    if (const auto problem = read_topology(endpoint, topology)) return fail(flags.endpoint + ": " + *problem);
    append(findings, policy::lint_topology(topology));
  }
  std::string out;
  const std::string format = flags.json ? "json" : flags.format;
  if (format == "json") policy::append_json(out, findings);
  if (format == "sarif") policy::append_sarif(out, findings, version);
  if (format == "text") policy::append_text(out, findings);
  if (format != "text") out += '\n';
  fmt::print("{}", out);
  return findings.empty() ? 0 : 1;
}

}  // namespace

void add_lint_command(CLI::App& app, const std::string& version, int& exit_code) {
  auto flags = std::make_shared<Flags>();  // shared: CLI11 keeps the callbacks
  CLI::App& command = *app.add_subcommand("lint", "Find what is likely wrong with policies and topologies");
  command.add_option("FILE", flags->files, "policies and topology files, JSON or YAML; - is standard input");
  command.add_option("-f,--file", flags->topology, "topology file")->type_name("FILE");
  command.add_option("--endpoint", flags->endpoint, "look at a live endpoint, too, with the keys of AWS_ACCESS_KEY_ID and so on; it is only read")
      ->type_name("URL");
  command.add_option("--format", flags->format, "text, json or sarif")->check(CLI::IsMember({"text", "json", "sarif"}));
  command.add_flag("--json", flags->json, "the same as --format json");
  command.add_option("--resource", flags->resource, "the queue or topic that the policies belong to")->type_name("ARN");
  command.add_option("--region", flags->region, "of a topology file and of the endpoint")->check(region_name());
  command.add_option("--account", flags->account, "of a topology file")->check(account_digits());
  command.footer(
      "Examples:\n"
      "  fanfare lint policy.json topology.yaml\n"
      "  fanfare lint --endpoint http://127.0.0.1:4566 --format sarif\n\n"
      "Exit code: 0 nothing found; 1 findings; 2 something could not be read.\n");
  command.callback([flags, version, &exit_code] { exit_code = lint(*flags, version); });
}

}  // namespace fanfare::cli
