#include "policy/question.h"

#include <fmt/format.h>

#include <utility>

namespace fanfare::policy {
namespace json = wire::json;
namespace {

bool is_account(std::string_view text) {
  return text.size() == 12 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::string> scalar(const json::Value& value) {
  if (const auto text = value.as_string()) return std::string(*text);
  if (const auto boolean = value.as_bool()) return *boolean ? "true" : "false";
  if (const auto number = value.number_text()) return std::string(*number);
  return std::nullopt;
}

Result<Policy, std::string> read_policy(const json::Value& value, PolicyKind kind, std::string_view where) {
  // A policy may also stand as a text, as the services store it.
  auto policy = Policy::parse(value.is_string() ? std::string(*value.as_string()) : value.to_string(), kind);
  if (!policy) return fmt::format("{}: {}", where, policy.error().message());
  return std::move(*policy);
}

Result<std::vector<Policy>, std::string> read_policies(const json::Value& value, std::string_view where) {
  if (!value.is_array())
    return fmt::format("{} must be an array of policies, not {}", where, json::describe(value.kind()));
  std::vector<Policy> policies;
  for (const json::Value& item : value.items()) {
    auto policy = read_policy(item, PolicyKind::Identity, fmt::format("{}[{}]", where, policies.size()));
    if (!policy) return policy.error();
    policies.push_back(std::move(*policy));
  }
  return policies;
}

std::optional<std::string> read_principal(const json::Value& value, OwnedPrincipal& out) {
  if (const auto text = value.as_string()) {
    auto principal = OwnedPrincipal::parse(*text);
    if (!principal)
      return fmt::format(
          "request: \"{}\" is no principal: an ARN of iam or sts, an account, \"anonymous\" or "
          "{{\"service\": \"sns.amazonaws.com\"}}",
          *text);
    out = std::move(*principal);
    return std::nullopt;
  }
  for (const auto& [name, kind] :
       {std::pair{"service", Principal::Kind::Service}, {"federated", Principal::Kind::Federated}}) {
    const auto text = value.find_string(name);
    if (!text || value.size() != 1) continue;
    out.kind = kind;
    out.service = *text;
    return std::nullopt;
  }
  return "request: principal must be an ARN, \"anonymous\" or {\"service\": \"sns.amazonaws.com\"}";
}

std::optional<std::string> read_request(const json::Value& value, OwnedQuestion& out) {
  if (!value.is_object()) return fmt::format("request must be an object, not {}", json::describe(value.kind()));
  bool has_principal = false;
  std::string principal_account;
  const auto text_of = [](const json::Member& member, std::string& into) -> std::optional<std::string> {
    const auto text = member.value.as_string();
    if (!text) return fmt::format("request: {} must be a text", member.key);
    into = *text;
    return std::nullopt;
  };
  for (const json::Member& member : value.members()) {
    std::optional<std::string> problem;
    if (member.key == "principal") {
      problem = read_principal(member.value, out.principal);
      has_principal = true;
    } else if (member.key == "principal_account") {
      problem = text_of(member, principal_account);
    } else if (member.key == "action") {
      problem = text_of(member, out.action);
    } else if (member.key == "resource") {
      problem = text_of(member, out.resource);
    } else if (member.key == "resource_account") {
      problem = text_of(member, out.resource_account);
    } else if (member.key == "context") {
      if (!member.value.is_object()) return "request: context must be an object of keys and values";
      for (const auto& [key, values] : member.value.members()) {
        auto read = context_values(values);
        if (!read)
          return fmt::format("request: the context key {} must have a text, a number, a boolean or an array of them",
                             key);
        out.context.add(key, std::move(*read));
      }
    } else {
      problem = fmt::format(
          "request: \"{}\" is not known; principal, principal_account, action, resource, resource_account and context "
          "are",
          member.key);
    }
    if (problem) return problem;
  }
  if (!has_principal) return "request: \"principal\" is missing";
  if (out.action.empty()) return "request: \"action\" is missing";
  if (out.resource.empty()) return "request: \"resource\" is missing";
  const bool has_account =
      out.principal.kind == Principal::Kind::Account || out.principal.kind == Principal::Kind::Identity;
  if (has_account && !principal_account.empty()) out.principal.account = principal_account;
  return std::nullopt;
}

}  // namespace

std::optional<OwnedPrincipal> OwnedPrincipal::parse(std::string_view text) {
  OwnedPrincipal out;
  if (text == "anonymous" || text == "*") return out;
  if (is_account(text)) {
    out.kind = Principal::Kind::Account;
    out.account = text;
    out.arn = fmt::format("arn:aws:iam::{}:root", text);
    return out;
  }
  // arn:PARTITION:(iam|sts)::ACCOUNT:NAME
  std::string_view rest = text;
  std::string_view parts[5];
  for (std::string_view& part : parts) {
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    part = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  if (parts[0] != "arn" || (parts[2] != "iam" && parts[2] != "sts") || !is_account(parts[4]) || rest.empty())
    return std::nullopt;
  out.kind = Principal::Kind::Identity;
  out.account = parts[4];
  out.arn = text;
  if (rest == "root") {
    out.kind = Principal::Kind::Account;
  } else if (rest.starts_with("role/")) {
    out.role_arn = text;
  } else if (rest.starts_with("assumed-role/")) {
    rest.remove_prefix(13);
    const std::size_t slash = rest.rfind('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == rest.size()) return std::nullopt;
    out.role_arn = fmt::format("arn:{}:iam::{}:role/{}", parts[1], parts[4], rest.substr(0, slash));
  } else if (!rest.starts_with("user/") && !rest.starts_with("federated-user/")) {
    return std::nullopt;
  }
  return out;
}

Principal OwnedPrincipal::view() const {
  return {.kind = kind, .account = account, .arn = arn, .role_arn = role_arn, .service = service, .context = {}};
}

void OwnedContext::add(std::string key, std::vector<std::string> values) {
  owned_.push_back({std::move(key), std::move(values), {}});
}

std::span<const ContextEntry> OwnedContext::view() {
  entries_.clear();
  for (Owned& owned : owned_) {
    owned.views.assign(owned.values.begin(), owned.values.end());
    entries_.push_back({owned.key, owned.views});
  }
  return entries_;
}

std::optional<std::vector<std::string>> context_values(const json::Value& value) {
  std::vector<std::string> out;
  if (!value.is_array()) {
    auto text = scalar(value);
    if (!text) return std::nullopt;
    out.push_back(std::move(*text));
    return out;
  }
  for (const json::Value& item : value.items()) {
    auto text = scalar(item);
    if (!text) return std::nullopt;
    out.push_back(std::move(*text));
  }
  return out;
}

Result<OwnedQuestion, std::string> OwnedQuestion::parse(const json::Value& value) {
  if (!value.is_object()) return fmt::format("a case is an object, not {}", json::describe(value.kind()));
  OwnedQuestion out;
  bool has_request = false;
  for (const json::Member& member : value.members()) {
    if (member.key == "request") {
      if (auto problem = read_request(member.value, out)) return *std::move(problem);
      has_request = true;
    } else if (member.key == "resource_policy" || member.key == "permissions_boundary") {
      if (member.value.is_null()) continue;
      const bool resource = member.key == "resource_policy";
      auto policy = read_policy(member.value, resource ? PolicyKind::Resource : PolicyKind::Identity, member.key);
      if (!policy) return policy.error();
      (resource ? out.resource_policy : out.permissions_boundary) = std::move(*policy);
    } else if (member.key == "identity_policies" || member.key == "session_policies") {
      if (member.value.is_null()) continue;
      auto policies = read_policies(member.value, member.key);
      if (!policies) return policies.error();
      (member.key == "identity_policies" ? out.identity_policies : out.session_policies) = std::move(*policies);
    } else if (member.key == "service_control_policies") {
      if (member.value.is_null()) continue;
      if (!member.value.is_array())
        return "service_control_policies must be an array of arrays of policies, one a level";
      for (const json::Value& level : member.value.items()) {
        auto policies =
            read_policies(level, fmt::format("service_control_policies[{}]", out.service_control_policies.size()));
        if (!policies) return policies.error();
        out.service_control_policies.push_back(std::move(*policies));
      }
    } else {
      return fmt::format(
          "\"{}\" is not known; request, resource_policy, identity_policies, permissions_boundary, session_policies "
          "and "
          "service_control_policies are",
          member.key);
    }
  }
  if (!has_request) return "\"request\" is missing";
  return out;
}

Question OwnedQuestion::view() {
  Question question;
  question.request.principal = principal.view();
  question.request.action = action;
  question.request.resource = resource;
  question.request.resource_account = resource_account;
  question.request.context = context.view();
  if (resource_policy) question.resource_policy = &*resource_policy;
  question.identity.identity_policies = identity_policies;
  if (permissions_boundary) question.identity.permissions_boundary = &*permissions_boundary;
  question.identity.session_policies = session_policies;
  question.identity.service_control_policies = service_control_policies;
  return question;
}

}  // namespace fanfare::policy
