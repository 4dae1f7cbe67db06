// AssumeRole and AssumeRoleWithWebIdentity. [STS AssumeRole], [STS AssumeRoleWithWebIdentity]
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/sts/actions.h"
#include "api/sts/errors.h"
#include "api/sts/web_identity_token.h"
#include "wire/http/headers.h"

namespace fanfare::api::sts {
namespace {

using aws::ApiError;
using aws::Next;

constexpr std::int64_t kSecondsMin = 900;
constexpr std::int64_t kSecondsMax = 43'200;
constexpr std::int64_t kSecondsDefault = 3'600;
constexpr std::int64_t kChainedSecondsMax = 3'600;  // a role assumed by a role [STS role chaining]
constexpr std::size_t kPolicyBytesMax = 2'048;
constexpr std::size_t kPolicyArnsMax = 10;
constexpr std::size_t kTagsMax = 50;
constexpr std::size_t kTagKeyBytesMax = 128;
constexpr std::size_t kTagValueBytesMax = 256;

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
  if (!identity::is_iam_name(name))
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

/// Puts the session policies, if there are any, into the session.
template <class Input>
std::optional<ApiError> take_policy(const Input& in, const identity::Directory& directory, identity::Session& session) {
  if (in.policy_arns.size() > kPolicyArnsMax)
    return invalid("policyArns", std::to_string(in.policy_arns.size()), "Member must have length less than or equal to 10");
  for (const model::PolicyDescriptorType& one : in.policy_arns) {
    const std::string_view arn = one.arn.view();
    // A customer's policy belongs to the account of the role. [STS AssumeRole PolicyArns]
    const std::string own = fmt::format("arn:aws:iam::{}:policy/", session.account);
    if ((!arn.starts_with(own) && !arn.starts_with("arn:aws:iam::aws:policy/")) ||
        directory.find_managed_policy(arn) == nullptr)
      return api_error(Error::ValidationError,
                       fmt::format("PolicyArns: {} is no managed policy of AWS or of account {} that this broker knows.",
                                   arn.substr(0, 256), session.account));
    session.policy_arns.emplace_back(arn);
  }
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

bool same_key(std::string_view a, std::string_view b) { return wire::http::equal_ignoring_case(a, b); }

/// Puts the caller's tags into the session, and those that its own session hands on. Their keys know no case. [IAM session tags]
std::optional<ApiError> take_tags(const model::AssumeRoleRequest& in, const identity::Session* from,
                                  identity::Session& session) {
  for (const model::Tag& tag : in.tags) {
    const std::string_view key = tag.key.view();
    if (key.empty() || key.size() > kTagKeyBytesMax || tag.value.view().size() > kTagValueBytesMax)
      return api_error(Error::ValidationError, "Tags: a key has 1 to 128 bytes, a value at most 256.");
    for (const auto& [other, ignored] : session.tags)
      if (same_key(key, other))
        return api_error(Error::ValidationError,
                         "Duplicate tag keys found. Please note that Tag keys are case insensitive.");
    session.tags.emplace_back(key, tag.value.view());
  }
  for (const wire::aws::Text& key : in.transitive_tag_keys) {
    if (std::ranges::none_of(session.tags, [&](const auto& tag) { return same_key(tag.first, key.view()); }))
      return api_error(Error::ValidationError,
                       "The specified transitive tag key must be included in the requested tags.");
    session.transitive_tags.emplace_back(key.view());
  }
  if (from != nullptr) {
    for (const std::string& key : from->transitive_tags)
      for (const auto& tag : from->tags) {
        if (!same_key(tag.first, key)) continue;
        if (std::ranges::any_of(session.tags, [&](const auto& other) { return same_key(other.first, key); }))
          return api_error(Error::ValidationError,
                           "One of the specified transitive tag keys can't be set because it conflicts with a "
                           "transitive tag key from the calling session.");
        session.tags.push_back(tag);
        session.transitive_tags.push_back(tag.first);
      }
  }
  if (session.tags.size() > kTagsMax) return api_error(Error::ValidationError, "Tags: 50 session tags are accepted.");
  return std::nullopt;
}

/// Condition keys of a request for a session, with the texts that they need.
struct SessionKeys {
  std::vector<policy::ContextEntry> entries;
  std::vector<std::string_view> values;
  std::vector<std::string> names;

  SessionKeys(std::span<const policy::ContextEntry> of_request, const identity::Session& session,
              std::size_t asked_tags, std::string_view external_id) {
    values.reserve(3 + 2 * session.tags.size() + session.transitive_tags.size());
    names.reserve(session.tags.size());
    entries.assign(of_request.begin(), of_request.end());
    add("sts:RoleSessionName", session.name);
    add("sts:ExternalId", external_id);
    add("sts:SourceIdentity", session.source_identity);
    const auto keys = [&](std::string_view key, std::size_t count, const auto& text) {
      if (count == 0) return;
      const std::size_t first = values.size();
      for (std::size_t i = 0; i < count; ++i) values.emplace_back(text(i));
      entries.push_back({key, {values.data() + first, count}});
    };
    for (std::size_t i = 0; i < asked_tags; ++i) {
      names.push_back("aws:RequestTag/" + session.tags[i].first);
      add(names.back(), session.tags[i].second);
    }
    keys("aws:TagKeys", asked_tags, [&](std::size_t i) -> const std::string& { return session.tags[i].first; });
    keys("sts:TransitiveTagKeys", session.transitive_tags.size(),
         [&](std::size_t i) -> const std::string& { return session.transitive_tags[i]; });
  }

 private:
  void add(std::string_view key, std::string_view value) {
    if (value.empty() && !key.starts_with("aws:RequestTag/")) return;
    values.push_back(value);
    entries.push_back({key, {&values.back(), 1}});
  }
};

/// Whether the role's trust policy lets the caller take it, and the caller's own policies do. Other than a resource's
/// policy, a trust policy is needed inside an account, too. [IAM evaluation logic, role trust policies]
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
  const bool trusted = policy::evaluate(role->role.trust, question.request).verdict == policy::Verdict::Allow;
  if (trusted && policy::authorize(question).verdict == policy::Verdict::Allow) return std::nullopt;
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
  // Once set, the source identity stays through all roles that follow. [STS SourceIdentity]
  const identity::Session* const from = call.identity.session;
  if (from != nullptr) session.source_identity = from->source_identity;
  if (in.source_identity.has_value()) {
    const std::string_view wanted = in.source_identity.view();
    if (wanted.size() < 2 || !identity::is_iam_name(wanted))
      return invalid("sourceIdentity", wanted, "Member must satisfy regular expression pattern: [\\w+=,.@-]*, 2 to 64 long");
    if (!session.source_identity.empty() && wanted != session.source_identity)
      return api_error(Error::AccessDenied, "The source identity of this session cannot be changed.");
    session.source_identity = wanted;
  }
  if (auto wrong = take_tags(in, from, session)) return *std::move(wrong);
  if (auto wrong = take_policy(in, *call.authenticator.directory(), session)) return *std::move(wrong);
  if (call.authenticator.enforces()) {
    const std::string_view external = in.external_id.has_value() ? in.external_id.view() : std::string_view{};
    const SessionKeys keys{call.keys, session, in.tags.size(), external};
    const auto denied = [&](std::string_view action) {
      return refused(role, action, in.role_arn.view(), call.identity.principal, call.identity.principal.arn,
                     call.identity.policies, keys.entries);
    };
    if (auto no = denied("sts:AssumeRole")) return *std::move(no);
    if (!session.tags.empty())
      if (auto no = denied("sts:TagSession")) return *std::move(no);
    if (!session.source_identity.empty())
      if (auto no = denied("sts:SetSourceIdentity")) return *std::move(no);
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
  const auto identity = read_web_identity(in.web_identity_token.view());
  if (!identity) return identity.error();
  const auto* role = call.authenticator.directory()->find_role(in.role_arn.view());
  identity::Session session;
  session.account = account_of_role(in.role_arn.view());
  session.principal = in.role_arn.view();
  session.name = in.role_session_name.view();
  session.provider = identity->issuer;
  if (auto wrong = take_policy(in, *call.authenticator.directory(), session)) return *std::move(wrong);
  std::string audience = identity->audiences.empty() ? std::string{} : identity->audiences.front();
  if (!call.authenticator.enforces() && identity->expires && call.now >= *identity->expires)
    return api_error(Error::ExpiredToken, "Token expired: the token's exp lies in the past.");
  if (call.authenticator.enforces()) {
    const auto* provider = call.authenticator.directory()->find_provider(session.account, identity->issuer);
    if (provider == nullptr)
      return api_error(Error::InvalidIdentityToken,
                       fmt::format("No OpenIDConnect provider found in your account for https://{}", identity->issuer));
    auto accepted = check_web_identity(*identity, *provider, call.now);
    if (!accepted) return accepted.error();
    audience = std::move(*accepted);
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
