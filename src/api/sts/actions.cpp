#include "api/sts/actions.h"

#include "api/sts/errors.h"
#include "base/assert.h"

namespace fanfare::api::sts {
namespace {

using aws::ApiError;
using aws::Call;
using aws::Next;

Result<Next, ApiError> get_caller_identity(const model::GetCallerIdentityRequest&, Call& call) {
  model::GetCallerIdentityResponse out;
  out.account = call.account;
  out.arn = call.identity.principal.arn;
  out.user_id = call.identity.user_id;
  call.answer.write(out);
  return Next::Answered;
}

Result<Next, ApiError> get_access_key_info(const model::GetAccessKeyInfoRequest& in, Call& call) {
  if (!in.access_key_id.has_value()) return missing("accessKeyId");
  const std::string_view id = in.access_key_id.view();
  if (id.size() < 16 && !call.authenticator.directory()->find_key(id) && id.size() != 12)
    return invalid("accessKeyId", id, "Member must have length greater than or equal to 16");
  model::GetAccessKeyInfoResponse out;
  if (const auto* owner = call.authenticator.directory()->find_key(id)) {
    out.account = std::string_view(owner->account->account.id);
  } else if (const std::string account = identity::account_of_session_key(id); !account.empty()) {
    out.account = call.arena.copy(account);
  } else if (!call.authenticator.enforces()) {
    const bool is_account = id.size() == 12 && id.find_first_not_of("0123456789") == std::string_view::npos;
    out.account = is_account ? id : call.account;  // any key acts for an account here
  } else {
    return api_error(Error::ValidationError, "Invalid AccessKeyId provided");
  }
  call.answer.write(out);
  return Next::Answered;
}

/// The Handler of an action that is answered here, without the engine.
template <Action A, auto Decode>
constexpr aws::Handler kAnswered{
    [](const void* input, Call& call) { return Decode(*static_cast<const typename Types<A>::Input*>(input), call); },
    nullptr};

constexpr aws::Handler kNotHereYet{aws::not_here_yet, nullptr};

}  // namespace

const aws::Handler& handler_of(Action action) {
  switch (action) {
    case Action::GetCallerIdentity: return kAnswered<Action::GetCallerIdentity, get_caller_identity>;
    case Action::AssumeRole: return kAnswered<Action::AssumeRole, assume_role>;
    case Action::AssumeRoleWithWebIdentity:
      return kAnswered<Action::AssumeRoleWithWebIdentity, assume_role_with_web_identity>;
    case Action::GetAccessKeyInfo: return kAnswered<Action::GetAccessKeyInfo, get_access_key_info>;
    case Action::GetSessionToken: return kAnswered<Action::GetSessionToken, get_session_token>;
    case Action::AssumeRoleWithSAML:
    case Action::AssumeRoot:
    case Action::DecodeAuthorizationMessage:
    case Action::GetDelegatedAccessToken:
    case Action::GetFederationToken:
    case Action::GetWebIdentityToken: return kNotHereYet;
  }
  FANFARE_ASSERT(false, "an action outside its enumeration");
  return kNotHereYet;
}

}  // namespace fanfare::api::sts
