// STS's actions. They need no engine: identities come from the authenticator, sessions live in their tokens.
// [STS AssumeRole], [STS AssumeRoleWithWebIdentity], [STS GetSessionToken], [STS GetCallerIdentity], [STS
// GetAccessKeyInfo]
#pragma once

#include "api/aws/call.h"
#include "api/aws/sts_model.h"

namespace fanfare::api::sts {

const aws::Handler& handler_of(Action action);

Result<aws::Next, aws::ApiError> assume_role(const model::AssumeRoleRequest& in, aws::Call& call);
Result<aws::Next, aws::ApiError> assume_role_with_web_identity(const model::AssumeRoleWithWebIdentityRequest& in,
                                                               aws::Call& call);
Result<aws::Next, aws::ApiError> get_session_token(const model::GetSessionTokenRequest& in, aws::Call& call);

}  // namespace fanfare::api::sts
