#include "api/sts/actions.h"

#include "base/assert.h"

namespace fanfare::api::sts {
namespace {

Result<aws::Next, aws::ApiError> get_caller_identity(const void*, aws::Call& call) {
  model::GetCallerIdentityResponse out;
  out.account = call.account;
  out.arn = call.identity.principal.arn;
  out.user_id = call.identity.user_id;
  call.answer.write(out);
  return aws::Next::Answered;
}

constexpr aws::Handler kNotHereYet{aws::not_here_yet, nullptr};
constexpr aws::Handler kGetCallerIdentity{get_caller_identity, nullptr};

}  // namespace

const aws::Handler& handler_of(Action action) {
  switch (action) {
    case Action::GetCallerIdentity: return kGetCallerIdentity;
    case Action::AssumeRole:
    case Action::AssumeRoleWithSAML:
    case Action::AssumeRoleWithWebIdentity:
    case Action::AssumeRoot:
    case Action::DecodeAuthorizationMessage:
    case Action::GetAccessKeyInfo:
    case Action::GetDelegatedAccessToken:
    case Action::GetFederationToken:
    case Action::GetSessionToken:
    case Action::GetWebIdentityToken: return kNotHereYet;
  }
  FANFARE_ASSERT(false, "an action outside its enumeration");
  return kNotHereYet;
}

}  // namespace fanfare::api::sts
