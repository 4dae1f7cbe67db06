#include "api/sts/errors.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace fanfare::api::sts {

aws::WireError wire_error(Error error) {
  switch (error) {
    case Error::AccessDenied: return {"AccessDenied", "AccessDenied", 403, false};
    case Error::ExpiredToken: return {"ExpiredTokenException", "ExpiredTokenException", 400};
    case Error::IdpRejectedClaim: return {"IDPRejectedClaimException", "IDPRejectedClaim", 403};
    case Error::InvalidIdentityToken: return {"InvalidIdentityTokenException", "InvalidIdentityToken", 400};
    case Error::MalformedPolicyDocument: return {"MalformedPolicyDocumentException", "MalformedPolicyDocument", 400};
    case Error::PackedPolicyTooLarge: return {"PackedPolicyTooLargeException", "PackedPolicyTooLarge", 400};
    case Error::ValidationError: return {"ValidationError", "ValidationError", 400, false};
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

aws::ApiError invalid(std::string_view member, std::string_view value, std::string_view constraint) {
  return api_error(Error::ValidationError,
                   fmt::format("1 validation error detected: Value '{}' at '{}' failed to satisfy constraint: {}",
                               value.substr(0, 256), member, constraint));
}

aws::ApiError missing(std::string_view member) {
  return api_error(Error::ValidationError,
                   fmt::format("1 validation error detected: Value null at '{}' failed to satisfy constraint: Member "
                               "must not be null",
                               member));
}

}  // namespace fanfare::api::sts
