// STS's own errors, and its words for values that break the model's constraints. [STS Errors]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/aws/error.h"

namespace fanfare::api::sts {

enum class Error : std::uint8_t {
  AccessDenied,             ///< the role's trust policy or the caller's own policies
  ExpiredToken,             ///< of a web identity
  IdpRejectedClaim,         ///< a web identity's token was made for somebody else
  InvalidIdentityToken,     ///< it cannot be read, or its signature is wrong
  MalformedPolicyDocument,  ///< a session policy
  PackedPolicyTooLarge,
  ValidationError,
};

aws::WireError wire_error(Error error);
inline aws::ApiError api_error(Error error, std::string message) { return {wire_error(error), std::move(message)}; }

/// "1 validation error detected: Value 'x' at 'roleSessionName' failed to satisfy constraint: Member must ..."
aws::ApiError invalid(std::string_view member, std::string_view value, std::string_view constraint);
aws::ApiError missing(std::string_view member);

}  // namespace fanfare::api::sts
