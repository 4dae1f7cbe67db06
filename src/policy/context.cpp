#include "policy/context.h"

#include <array>
#include <utility>

#include "policy/pattern.h"
#include "policy/policy.h"

namespace fanfare::policy {
namespace {

constexpr std::array<std::pair<std::string_view, Key>, 9> kDerived = {{
    {"aws:PrincipalArn", Key::PrincipalArn},
    {"aws:PrincipalAccount", Key::PrincipalAccount},
    {"aws:PrincipalType", Key::PrincipalType},
    {"aws:PrincipalIsAWSService", Key::PrincipalIsAwsService},
    {"aws:PrincipalServiceName", Key::PrincipalServiceName},
    {"aws:PrincipalServiceNamesList", Key::PrincipalServiceNamesList},
    {"aws:username", Key::Username},
    {"aws:ViaAWSService", Key::ViaAwsService},
    {"aws:ResourceAccount", Key::ResourceAccount},
}};

/// What stands behind the fifth colon: "user/alice".
std::string_view resource_of_arn(std::string_view arn) {
  for (int i = 0; i < 5; ++i) {
    const std::size_t colon = arn.find(':');
    if (colon == std::string_view::npos) return {};
    arn.remove_prefix(colon + 1);
  }
  return arn;
}

std::string_view type_of(const Principal& principal) {
  switch (principal.kind) {
    case Principal::Kind::Anonymous: return "Anonymous";
    case Principal::Kind::Account: return "Account";
    case Principal::Kind::Service: return {};
    case Principal::Kind::Federated: return "FederatedUser";
    case Principal::Kind::Identity: break;
  }
  if (!principal.role_arn.empty()) return "AssumedRole";
  const std::string_view name = resource_of_arn(principal.arn);
  if (name.starts_with("user/")) return "User";
  if (name.starts_with("federated-user/")) return "FederatedUser";
  if (name.starts_with("assumed-role/") || name.starts_with("role/")) return "AssumedRole";
  return {};
}

std::string_view username_of(const Principal& principal) {
  const std::string_view name = resource_of_arn(principal.arn);
  if (principal.kind != Principal::Kind::Identity || !name.starts_with("user/")) return {};
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

Key key_of(std::string_view name) {
  for (const auto& [known, key] : kDerived)
    if (equal_ignoring_case(known, name)) return key;
  return Key::Other;
}

std::string_view account_of_arn(std::string_view arn) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t colon = arn.find(':');
    if (colon == std::string_view::npos) return {};
    arn.remove_prefix(colon + 1);
  }
  const std::size_t colon = arn.find(':');
  return colon == std::string_view::npos ? std::string_view{} : arn.substr(0, colon);
}

KeyValues values_of(const Request& request, Key key, std::string_view name) {
  for (const auto entries : {request.service_context, request.context, request.principal.context})
    for (const ContextEntry& entry : entries)
      if (equal_ignoring_case(entry.key, name)) return KeyValues{entry.values};
  if (key == Key::Other) return {};
  const Principal& principal = request.principal;
  const bool is_service = principal.kind == Principal::Kind::Service;
  switch (key) {
    case Key::PrincipalArn: return KeyValues{principal.role_arn.empty() ? principal.arn : principal.role_arn};
    case Key::PrincipalAccount: return KeyValues{principal.account};
    case Key::PrincipalType: return KeyValues{type_of(principal)};
    case Key::PrincipalIsAwsService:
      return KeyValues{is_service ? std::string_view{"true"} : std::string_view{"false"}};
    case Key::PrincipalServiceName:
    case Key::PrincipalServiceNamesList: return KeyValues{is_service ? principal.service : std::string_view{}};
    case Key::Username: return KeyValues{username_of(principal)};
    case Key::ViaAwsService: return KeyValues{std::string_view{"false"}};
    case Key::ResourceAccount:
      return KeyValues{request.resource_account.empty() ? account_of_arn(request.resource) : request.resource_account};
    case Key::Other: break;
  }
  return {};
}

}  // namespace fanfare::policy
