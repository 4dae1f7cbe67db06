#include "api/aws/error.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "core/engine/commands.h"

namespace fanfare::api::aws {

WireError wire_error(CommonError error) {
  switch (error) {
    case CommonError::UnknownOperation: return {"UnknownOperationException", "UnknownOperationException", 404, false};
    case CommonError::InvalidAction: return {"InvalidAction", "InvalidAction", 400, false};
    case CommonError::MissingAction: return {"MissingAction", "MissingAction", 400, false};
    case CommonError::Serialization: return {"SerializationException", "SerializationException", 400, false};
    case CommonError::Validation: return {"ValidationError", "ValidationError", 400, false};
    case CommonError::MalformedQueryString: return {"MalformedQueryString", "MalformedQueryString", 400, false};
    case CommonError::NotFound: return {"UnknownOperationException", "UnknownOperationException", 404, false};
    case CommonError::MethodNotAllowed: return {"MethodNotAllowed", "MethodNotAllowed", 405, false};
    case CommonError::UnsupportedMediaType:
      return {"UnsupportedMediaTypeException", "UnsupportedMediaType", 415, false};
    case CommonError::RequestTooLarge: return {"RequestEntityTooLargeException", "RequestEntityTooLarge", 413, false};
    case CommonError::RequestTimeout: return {"RequestTimeoutException", "RequestTimeout", 408, false};
    case CommonError::MalformedHttp: return {"MalformedHttpRequestException", "MalformedHttpRequest", 400, false};
    case CommonError::MissingAuthenticationToken:
      return {"MissingAuthenticationToken", "MissingAuthenticationToken", 403, false};
    case CommonError::IncompleteSignature: return {"IncompleteSignature", "IncompleteSignature", 400, false};
    case CommonError::InvalidClientTokenId: return {"InvalidClientTokenId", "InvalidClientTokenId", 403, false};
    case CommonError::SignatureDoesNotMatch: return {"SignatureDoesNotMatch", "SignatureDoesNotMatch", 403, false};
    case CommonError::RequestExpired: return {"RequestExpired", "RequestExpired", 400, false};
    case CommonError::ExpiredToken: return {"ExpiredTokenException", "ExpiredToken", 403, false};
    case CommonError::AccessDenied: return {"AccessDeniedException", "AccessDenied", 403, false};
    case CommonError::InternalFailure: return {"InternalFailure", "InternalFailure", 500, false, false};
    case CommonError::ServiceUnavailable: return {"ServiceUnavailable", "ServiceUnavailable", 503, false, false};
    case CommonError::NotHereYet: return {"UnsupportedOperation", "UnsupportedOperation", 400, false};
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

std::string refusal_text(const engine::AccessDenied& error, std::string_view action) {
  using policy::Cause;
  using policy::Source;
  if (error.explicit_deny) {
    switch (error.denied_by) {
      case Source::ResourcePolicy: return " with an explicit deny in a resource-based policy";
      case Source::IdentityPolicies: return " with an explicit deny in an identity-based policy";
      case Source::PermissionsBoundary: return " with an explicit deny in a permissions boundary";
      case Source::SessionPolicies: return " with an explicit deny in a session policy";
      case Source::ServiceControlPolicies: return " with an explicit deny in a service control policy";
    }
  }
  std::string_view kind = "resource-based policy";
  switch (error.cause) {
    case Cause::NothingAllows:
    case Cause::IdentityDoesNotAllow: kind = "identity-based policy"; break;
    case Cause::BoundaryDoesNotAllow: kind = "permissions boundary"; break;
    case Cause::SessionDoesNotAllow: kind = "session policy"; break;
    case Cause::ServiceControlDoesNotAllow: kind = "service control policy"; break;
    case Cause::Allowed:
    case Cause::ExplicitDeny:
    case Cause::ResourceDoesNotAllow:
    case Cause::OwnerOnly: break;
  }
  return fmt::format(" because no {} allows the {} action", kind, action);
}

}  // namespace fanfare::api::aws
