// AssumeRole and AssumeRoleWithWebIdentity. [STS AssumeRole], [STS AssumeRoleWithWebIdentity]
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/sts/actions.h"
#include "api/sts/errors.h"
#include "api/sts/web_identity_token.h"

namespace fanfare::api::sts {
namespace {

using aws::ApiError;
using aws::Next;

constexpr std::int64_t kSecondsMin = 900;
constexpr std::int64_t kSecondsMax = 43'200;
constexpr std::int64_t kSecondsDefault = 3'600;
constexpr std::int64_t kChainedSecondsMax = 3'600;  // a role assumed by a role [STS role chaining]
constexpr std::size_t kPolicyBytesMax = 2'048;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_+=,.@-").find(c) != std::string_view::npos;
}

/// "arn:aws:iam::111122223333:role/task" -> its account; empty for anything else.
std::string_view account_of_role(std::string_view arn) {
  constexpr std::string_view kStart = "arn:aws:iam::";
  if (!arn.starts_with(kStart) || arn.size() < kStart.size() + 12 + 7) return {};
  const std::string_view account = arn.substr(kStart.size(), 12);
  if (account.find_first_not_of("0123456789") != std::string_view::npos) return {};
  const std::string_view rest = arn.substr(kStart.size() + 12);
  return rest.starts_with(":role/") && !rest.ends_with('/') ? account : std::string_view{};
}

template <class Input>
std::optional<ApiError> check(const Input& in) {
  if (!in.role_arn.has_value()) return missing("roleArn");
  if (!in.role_session_name.has_value()) return missing("roleSessionName");
  const std::string_view name = in.role_session_name.view();
  if (name.size() < 2) return invalid("roleSessionName", name, "Member must have length greater than or equal to 2");
  if (name.size() > 64) return invalid("roleSessionName", name, "Member must have length less than or equal to 64");
  if (!std::ranges::all_of(name, is_name_character))
    return invalid("roleSessionName", name, "Member must satisfy regular expression pattern: [\\w+=,.@-]*");
  const std::string_view arn = in.role_arn.view();
  if (arn.size() < 20) return invalid("roleArn", arn, "Member must have length greater than or equal to 20");
  if (account_of_role(arn).empty())
    return api_error(Error::ValidationError, fmt::format("{} is invalid", arn.substr(0, 256)));
  const std::int64_t wanted = in.duration_seconds.value_or(kSecondsDefault);
  if (wanted < kSecondsMin)
    return invalid("durationSeconds", std::to_string(wanted), "Member must have value greater than or equal to 900");
  if (wanted > kSecondsMax)
    return invalid("durationSeconds", std::to_string(wanted), "Member must have value less than or equal to 43200");
  return std::nullopt;
}

/// Puts the session policy, if there is one, into the session.
template <class Input>
std::optional<ApiError> take_policy(const Input& in, identity::Session& session) {
  if (in.policy_arns.has_value() && !in.policy_arns.empty())
    return api_error(Error::ValidationError,
                     "PolicyArns: this broker has no managed policies; give the policy itself as Policy.");
  if (!in.policy.has_value()) return std::nullopt;
  const std::string_view text = in.policy.view();
  if (text.size() > kPolicyBytesMax)
    return api_error(Error::PackedPolicyTooLarge,
                     fmt::format("The policy has {} bytes, {} are accepted.", text.size(), kPolicyBytesMax));
  if (const auto parsed = policy::Policy::parse(text, policy::PolicyKind::Identity); !parsed)
    return api_error(Error::MalformedPolicyDocument, parsed.error().message());
  session.policies.emplace_back(text);
  return std::nullopt;
}

/// Whether the role's trust policy, and the caller's own policies, let the caller take it.
std::optional<ApiError> refused(const identity::Directory::KnownRole* role, std::string_view action,
                                std::string_view arn, const policy::Principal& who, std::string_view shown,
                                const policy::IdentityPolicies& own, std::span<const policy::ContextEntry> keys) {
  const auto denied = [&] {
    return api_error(Error::AccessDenied,
                     fmt::format("User: {} is not authorized to perform: {} on resource: {}", shown, action, arn));
  };
  if (role == nullptr) return denied();  // that it does not exist is told to nobody
  policy::Question question;
  question.request = {who, action, arn, keys, {}, role->role.account};
  question.resource_policy = &role->role.trust;
  question.identity = own;
  if (policy::authorize(question).verdict == policy::Verdict::Allow) return std::nullopt;
  return denied();
}

void answer_with(model::Credentials& out, const identity::Credentials& made, const identity::Session& session,
                 aws::Call& call) {
  out.access_key_id = call.arena.copy(made.access_key_id);
  out.secret_access_key = call.arena.copy(made.secret);
  out.session_token = call.arena.copy(made.token);
  out.expiration = unix_ms(session.expires);
}

template <class Output>
void write_session(Output& out, const identity::Session& session, const identity::Directory::KnownRole* role,
                   aws::Call& call) {
  const identity::Credentials made = call.authenticator.tokens().mint(session, call.secrets);
  answer_with(out.credentials, made, session, call);
  const std::string id =
      (role != nullptr ? role->id : identity::unique_id("AROA", session.principal)) + ":" + session.name;
  out.assumed_role_user.arn = call.arena.copy(session.arn());
  out.assumed_role_user.assumed_role_id = call.arena.copy(id);
  if (!session.policies.empty())
    out.packed_policy_size = static_cast<std::int64_t>(session.policies[0].size() * 100 / kPolicyBytesMax + 1);
  call.answer.write(out);
}

}  // namespace

Result<Next, ApiError> assume_role(const model::AssumeRoleRequest& in, aws::Call& call) {
  if (auto wrong = check(in)) return *std::move(wrong);
  const auto* role = call.authenticator.directory()->find_role(in.role_arn.view());
  identity::Session session;
  session.account = account_of_role(in.role_arn.view());
  session.principal = in.role_arn.view();
  session.name = in.role_session_name.view();
  if (in.source_identity.has_value()) session.source_identity = in.source_identity.view();
  for (const model::Tag& tag : in.tags) session.tags.emplace_back(tag.key.view(), tag.value.view());
  if (session.tags.size() > 50) return api_error(Error::ValidationError, "Tags: 50 session tags are accepted.");
  if (auto wrong = take_policy(in, session)) return *std::move(wrong);
  if (call.authenticator.enforces()) {
    std::vector<policy::ContextEntry> keys{call.keys.begin(), call.keys.end()};
    const std::string_view external = in.external_id.has_value() ? in.external_id.view() : std::string_view{};
    const std::string_view name = in.role_session_name.view();
    if (!external.empty()) keys.push_back({"sts:ExternalId", {&external, 1}});
    keys.push_back({"sts:RoleSessionName", {&name, 1}});
    if (auto denied = refused(role, "sts:AssumeRole", in.role_arn.view(), call.identity.principal,
                              call.identity.principal.arn, call.identity.policies, keys))
      return *std::move(denied);
  }
  const std::int64_t seconds_wanted = in.duration_seconds.value_or(kSecondsDefault);
  const bool chained = call.identity.session != nullptr && call.identity.session->kind == identity::Session::Kind::Role;
  if (chained && seconds_wanted > kChainedSecondsMax)
    return api_error(
        Error::ValidationError,
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining");
  if (role != nullptr && seconds_wanted > role->role.max_session_seconds)
    return api_error(Error::ValidationError,
                     "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.");
  session.expires = call.now + seconds{seconds_wanted};
  model::AssumeRoleResponse out;
  if (!session.source_identity.empty()) out.source_identity = call.arena.copy(session.source_identity);
  write_session(out, session, role, call);
  return Next::Answered;
}

Result<Next, ApiError> assume_role_with_web_identity(const model::AssumeRoleWithWebIdentityRequest& in,
                                                     aws::Call& call) {
  if (auto wrong = check(in)) return *std::move(wrong);
  if (!in.web_identity_token.has_value()) return missing("webIdentityToken");
  auto identity = read_web_identity(in.web_identity_token.view());
  if (!identity) return identity.error();
  const auto* role = call.authenticator.directory()->find_role(in.role_arn.view());
  identity::Session session;
  session.account = account_of_role(in.role_arn.view());
  session.principal = in.role_arn.view();
  session.name = in.role_session_name.view();
  session.provider = identity->issuer;
  if (auto wrong = take_policy(in, session)) return *std::move(wrong);
  if (identity->expires && call.now >= *identity->expires)
    return api_error(Error::ExpiredToken, "Token expired: the token's exp lies in the past.");
  const std::string audience = identity->audiences.empty() ? std::string{} : identity->audiences.front();
  const auto* provider = call.authenticator.directory()->find_provider(session.account, identity->issuer);
  if (call.authenticator.enforces()) {
    if (provider == nullptr)
      return api_error(Error::InvalidIdentityToken,
                       fmt::format("No OpenIDConnect provider found in your account for https://{}", identity->issuer));
    if (!is_signed_with(*identity, provider->hs256_secret))
      return api_error(Error::InvalidIdentityToken,
                       "Couldn't verify the signature of the token: HS256 with the provider's secret is accepted.");
    if (!identity->expires) return api_error(Error::InvalidIdentityToken, "Missing a required claim: exp");
    const bool wanted =
        provider->client_ids.empty() || std::ranges::any_of(identity->audiences, [&](const std::string& one) {
          return std::ranges::find(provider->client_ids, one) != provider->client_ids.end();
        });
    if (!wanted) return api_error(Error::IdpRejectedClaim, "Incorrect token audience");
    // The trust policy names the provider by its ARN.
    const std::string arn = fmt::format("arn:aws:iam::{}:oidc-provider/{}", session.account, identity->issuer);
    policy::Principal who;
    who.kind = policy::Principal::Kind::Federated;
    who.service = arn;
    const std::string aud_key = identity->issuer + ":aud";
    const std::string sub_key = identity->issuer + ":sub";
    const std::string_view audience_view = audience;
    const std::string_view subject_view = identity->subject;
    const std::string_view name = in.role_session_name.view();
    std::vector<policy::ContextEntry> keys{call.keys.begin(), call.keys.end()};
    if (!audience.empty()) keys.push_back({aud_key, {&audience_view, 1}});
    keys.push_back({sub_key, {&subject_view, 1}});
    keys.push_back({"sts:RoleSessionName", {&name, 1}});
    if (auto denied = refused(role, "sts:AssumeRoleWithWebIdentity", in.role_arn.view(), who, arn, {}, keys)) {
      // Well-known providers are named without an ARN: {"Federated": "accounts.example.com"}.
      who.service = identity->issuer;
      if (refused(role, "sts:AssumeRoleWithWebIdentity", in.role_arn.view(), who, arn, {}, keys))
        return api_error(Error::AccessDenied, "Not authorized to perform sts:AssumeRoleWithWebIdentity");
    }
  }
  const std::int64_t seconds_wanted = in.duration_seconds.value_or(kSecondsDefault);
  if (role != nullptr && seconds_wanted > role->role.max_session_seconds)
    return api_error(Error::ValidationError,
                     "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.");
  session.expires = call.now + seconds{seconds_wanted};
  model::AssumeRoleWithWebIdentityResponse out;
  out.subject_from_web_identity_token = call.arena.copy(identity->subject);
  out.provider = call.arena.copy(identity->issuer);
  if (!audience.empty()) out.audience = call.arena.copy(audience);
  write_session(out, session, role, call);
  return Next::Answered;
}

Result<Next, ApiError> get_session_token(const model::GetSessionTokenRequest& in, aws::Call& call) {
  const bool is_root = call.identity.principal.kind == policy::Principal::Kind::Account;
  const std::int64_t most = is_root && call.authenticator.enforces() ? 3'600 : 129'600;
  const std::int64_t wanted = in.duration_seconds.value_or(std::min<std::int64_t>(kSecondsMax, most));
  if (wanted < kSecondsMin)
    return invalid("durationSeconds", std::to_string(wanted), "Member must have value greater than or equal to 900");
  if (wanted > 129'600)
    return invalid("durationSeconds", std::to_string(wanted), "Member must have value less than or equal to 129600");
  if (call.identity.session != nullptr)
    return api_error(Error::AccessDenied, "Cannot call GetSessionToken with session credentials");
  identity::Session session;
  session.kind = identity::Session::Kind::User;
  session.account = call.account;
  session.principal = call.identity.principal.arn;
  session.expires = call.now + seconds{std::min(wanted, most)};
  const identity::Credentials made = call.authenticator.tokens().mint(session, call.secrets);
  model::GetSessionTokenResponse out;
  answer_with(out.credentials, made, session, call);
  call.answer.write(out);
  return Next::Answered;
}

}  // namespace fanfare::api::sts
