#include "cli/policy_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/file_input.h"
#include "cli/live_topology.h"
#include "cli/ranges.h"
#include "identity/directory.h"
#include "policy/question.h"
#include "server/identities_file.h"
#include "wire/json/value.h"

namespace fanfare::cli {
namespace {

namespace json = wire::json;

int malformed(std::string_view where, std::string_view what) {
  fmt::print(stderr, "fanfare: {}: {}\n", where, what);
  return 2;
}

/// Answers one case, or tells why not.
std::optional<std::string> answer(const json::Value& value, std::string& out) {
  auto question = policy::OwnedQuestion::parse(value);
  if (!question) return question.error();
  policy::append_answer(out, question->view());
  return std::nullopt;
}

int evaluate(const std::string& path) {
  std::string text;
  if (const auto problem = read_input(path, text)) return malformed("policy evaluate", *problem);
  // A member that stands twice in a policy is for the policy to refuse, so it must not vanish here.
  const auto document = json::parse(text, {.duplicate_keys = json::DuplicateKeys::KeepAll});
  if (!document) return malformed(path, document.error().message());
  std::string out;
  if (!document->is_array()) {
    if (const auto problem = answer(*document, out)) return malformed(path, *problem);
    fmt::print("{}\n", out);
    return 0;
  }
  // Every case gets its answer, in order; a malformed one says so at its place.
  int exit_code = 0;
  out = "[";
  for (std::size_t i = 0; i < document->items().size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    if (const auto problem = answer(document->items()[i], out)) {
      exit_code = malformed(fmt::format("{}: case {}", path, i), *problem);
      out += json::Value::object({{"error", json::Value::string(*problem)}}).to_string();
    }
  }
  out += "\n]";
  fmt::print("{}\n", out);
  return exit_code;
}

constexpr const char* kExplainFooter =
    R"(The first line is the decision: Allow, ImplicitDeny or ExplicitDeny. Then each statement, `*` at the one that decided.

Examples:
  fanfare policy explain --principal sns.amazonaws.com --action sqs:SendMessage \
    --resource arn:aws:sqs:us-east-1:000000000000:orders --endpoint http://127.0.0.1:4566 \
    --context aws:SourceArn=arn:aws:sns:us-east-1:000000000000:doc-events
  fanfare policy explain --principal arn:aws:iam::444455556666:user/web --action sns:Publish \
    --resource arn:aws:sns:us-east-1:444455556666:doc-events --identities identities.yaml

Exit code: 0 decided, whatever the decision; 2 a flag, file or policy could not be understood, or the endpoint did not answer.
)";

struct ExplainFlags {
  std::string principal;
  std::string action;
  std::string resource;
  std::vector<std::string> context;
  std::string resource_policy;
  std::vector<std::string> identity_policies;
  std::string permissions_boundary;
  std::vector<std::string> session_policies;
  std::string resource_account;
  std::string endpoint;
  std::string identities;
  bool json = false;
};

Result<policy::Policy, std::string> read_policy(const std::string& path, policy::PolicyKind kind) {
  std::string text;
  if (auto problem = read_input(path, text)) return *std::move(problem);
  auto parsed = policy::Policy::parse(text, kind);
  if (!parsed) return fmt::format("{}: {}", path, parsed.error().message());
  return std::move(*parsed);
}

std::optional<std::string> read_policies(const std::vector<std::string>& paths, std::vector<policy::Policy>& out) {
  for (const std::string& path : paths) {
    auto parsed = read_policy(path, policy::PolicyKind::Identity);
    if (!parsed) return parsed.error();
    out.push_back(std::move(*parsed));
  }
  return std::nullopt;
}

/// What the flags ask. `sns.amazonaws.com` as principal is that service.
Result<policy::OwnedQuestion, std::string> question_of(const ExplainFlags& flags) {
  policy::OwnedQuestion question;
  auto principal = policy::OwnedPrincipal::parse(flags.principal);
  if (!principal && flags.principal.ends_with(".amazonaws.com")) {
    principal.emplace();
    principal->kind = policy::Principal::Kind::Service;
    principal->service = flags.principal;
  }
  if (!principal)
    return fmt::format(
        "--principal {}: an ARN of iam or sts, an account, a service such as sns.amazonaws.com, or anonymous",
        flags.principal);
  question.principal = std::move(*principal);
  if (flags.action.find(':') == std::string::npos)
    return fmt::format("--action {}: a service and its action, such as sns:Publish", flags.action);
  if (flags.resource != "*" && !flags.resource.starts_with("arn:"))
    return fmt::format("--resource {}: an ARN such as arn:aws:sqs:us-east-1:000000000000:orders, or *", flags.resource);
  question.action = flags.action;
  question.resource = flags.resource;
  question.resource_account = flags.resource_account;
  for (std::size_t i = 0; i < flags.context.size(); ++i) {
    const std::string& entry = flags.context[i];
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) return fmt::format("--context {}: KEY=VALUE is accepted", entry);
    const std::string key = entry.substr(0, equals);
    std::vector<std::string> values;
    bool seen = false;
    for (std::size_t j = 0; j < flags.context.size(); ++j) {
      if (!flags.context[j].starts_with(key + "=")) continue;
      if (j < i) seen = true;  // the first one of a key took all its values
      values.push_back(flags.context[j].substr(equals + 1));
    }
    if (!seen) question.context.add(key, std::move(values));
  }
  if (flags.resource_policy.empty() && !flags.endpoint.empty()) {
    LiveEndpoint endpoint{.url = flags.endpoint, .session_token = {}};
    take_from_environment(endpoint);
    // The resource's own region is the one to ask.
    std::string_view rest = flags.resource;
    for (int i = 0; i < 3; ++i) rest.remove_prefix(std::min(rest.find(':') + 1, rest.size()));
    if (const auto region = rest.substr(0, rest.find(':')); !region.empty()) endpoint.region = region;
    std::string text;
    if (auto problem = read_resource_policy(endpoint, flags.resource, text)) return flags.endpoint + ": " + *problem;
    if (!text.empty()) {
      auto parsed = policy::Policy::parse(text);
      if (!parsed) return fmt::format("{}: its policy: {}", flags.resource, parsed.error().message());
      question.resource_policy = std::move(*parsed);
    }
  }
  if (!flags.resource_policy.empty()) {
    auto parsed = read_policy(flags.resource_policy, policy::PolicyKind::Resource);
    if (!parsed) return parsed.error();
    question.resource_policy = std::move(*parsed);
  }
  if (!flags.permissions_boundary.empty()) {
    auto parsed = read_policy(flags.permissions_boundary, policy::PolicyKind::Identity);
    if (!parsed) return parsed.error();
    question.permissions_boundary = std::move(*parsed);
  }
  if (auto problem = read_policies(flags.identity_policies, question.identity_policies)) return *std::move(problem);
  if (auto problem = read_policies(flags.session_policies, question.session_policies)) return *std::move(problem);
  return question;
}

/// Puts what the identities file says of the principal into the question; the directory outlives it.
std::optional<std::string> take_identity(const ExplainFlags& flags, std::unique_ptr<const identity::Directory>& directory,
                                         identity::Keys& keys, policy::Question& question) {
  if (flags.identities.empty()) return std::nullopt;
  auto read = server::read_identities_file(flags.identities);
  if (!read) return read.error().message;
  directory = std::move(*read);
  policy::Principal& who = question.request.principal;
  policy::IdentityPolicies own;
  if (const auto* role = directory->find_role(who.role_arn)) {
    own = directory->policies_of(*role);
    // What a session has of its role; its own tags only the server knows.
    for (const auto& [key, value] : role->role.tags) keys.add("aws:PrincipalTag/" + key, value);
    const std::size_t slash = who.arn.rfind('/');
    if (who.arn != role->arn && slash != std::string_view::npos) keys.add("aws:userid", role->id + ":" + std::string(who.arn.substr(slash + 1)));
    const auto* account = directory->find_account(who.account);
    if (account != nullptr && !account->account.organization.empty()) keys.add("aws:PrincipalOrgID", account->account.organization);
    who.context = keys.view();
  } else if (const auto* user = directory->find_user(who.arn)) {
    own = directory->policies_of(*user);
    who.context = user->keys.view();
  } else if (const auto* account = directory->find_account(who.account); account != nullptr && account->root_arn == who.arn) {
    own = directory->policies_of(*account);
    who.context = account->keys.view();
  } else if (!who.account.empty()) {
    return fmt::format("{}: knows no {}", flags.identities, who.arn);
  }
  if (question.identity.identity_policies.empty()) question.identity.identity_policies = own.identity_policies;
  if (question.identity.permissions_boundary == nullptr) question.identity.permissions_boundary = own.permissions_boundary;
  question.identity.service_control_policies = own.service_control_policies;
  question.identity.unrestricted = question.identity.unrestricted || own.unrestricted;
  return std::nullopt;
}

void print_for_people(const policy::Question& question) {
  const policy::Outcome outcome = policy::authorize(question);
  const std::string_view word = outcome.verdict == policy::Verdict::Allow          ? "Allow"
                                : outcome.verdict == policy::Verdict::ExplicitDeny ? "ExplicitDeny"
                                                                                   : "ImplicitDeny";
  fmt::print("{}: {}\n", word, policy::sentence(question, outcome));
  for (const policy::StatementExplanation& entry : policy::explain(question)) {
    const bool decided = outcome.decided_by == entry.place;
    std::string place{policy::name_of(entry.place.source)};
    if (entry.place.source == policy::Source::ServiceControlPolicies)
      place += fmt::format(" level {}", entry.place.level);
    if (entry.place.policy != 0) place += fmt::format(" {}", entry.place.policy);
    fmt::print("{} {} statement {}{}, {}: {}\n", decided ? "*" : " ", place, entry.place.statement,
               entry.sid.empty() ? "" : fmt::format(" ({})", entry.sid),
               entry.effect == policy::Effect::Allow ? "Allow" : "Deny", entry.detail);
  }
}

int explain(const ExplainFlags& flags) {
  auto question = question_of(flags);
  if (!question) return malformed("policy explain", question.error());
  policy::Question asked = question->view();
  std::unique_ptr<const identity::Directory> directory;
  identity::Keys keys;
  if (const auto problem = take_identity(flags, directory, keys, asked)) return malformed("policy explain", *problem);
  if (!flags.json) {
    print_for_people(asked);
    return 0;
  }
  std::string out;
  policy::append_answer(out, asked);
  fmt::print("{}\n", out);
  return 0;
}

}  // namespace

void add_policy_command(CLI::App& app, int& exit_code) {
  CLI::App& command = *app.add_subcommand("policy", "Decide requests by access policies, and say why");
  command.require_subcommand(1);

  auto path = std::make_shared<std::string>();  // shared: CLI11 keeps the callbacks
  CLI::App& evaluating = *command.add_subcommand("evaluate", "Decide a case, or an array of cases, given as JSON");
  evaluating.add_option("FILE", *path, "the case; - is standard input")->required();
  evaluating.footer("Exit code: 0 decided, whatever the decisions; 2 a case or a policy could not be understood.\n");
  evaluating.callback([path, &exit_code] { exit_code = evaluate(*path); });

  auto flags = std::make_shared<ExplainFlags>();
  CLI::App& explaining =
      *command.add_subcommand("explain", "Say which statement decides a request, and what the others miss");
  explaining.add_option("--principal", flags->principal, "ARN, account, service such as sns.amazonaws.com, or anonymous")->required();
  explaining.add_option("--action", flags->action, "such as sns:Publish")->required();
  explaining.add_option("--resource", flags->resource, "ARN of the queue or topic")->required();
  explaining.add_option("--context", flags->context, "condition key, may be given often")->type_name("KEY=VALUE");
  explaining.add_option("--resource-policy", flags->resource_policy, "policy of the queue or topic")->type_name("FILE");
  explaining.add_option("--identity-policy", flags->identity_policies, "policy of the principal, may be given often")
      ->type_name("FILE");
  explaining.add_option("--permissions-boundary", flags->permissions_boundary, "permissions boundary of the principal")->type_name("FILE");
  explaining.add_option("--session-policy", flags->session_policies, "policy of the session, may be given often")
      ->type_name("FILE");
  explaining.add_option("--resource-account", flags->resource_account, "owner, if the ARN does not tell it")->check(account_digits());
  explaining.add_option("--endpoint", flags->endpoint, "where the queue's or topic's policy is read from, signed with the keys of AWS_ACCESS_KEY_ID and so on")
      ->type_name("URL");
  explaining.add_option("--identities", flags->identities, "where the principal's policies are read from")->type_name("FILE");
  explaining.add_flag("--json", flags->json, "answer as policy evaluate does");
  explaining.footer(kExplainFooter);
  explaining.callback([flags, &exit_code] { exit_code = explain(*flags); });
}

}  // namespace fanfare::cli
