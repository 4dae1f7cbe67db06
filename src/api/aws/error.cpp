#include "api/aws/error.h"

#include "base/assert.h"

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
    case CommonError::MissingAuthenticationToken:
      return {"MissingAuthenticationToken", "MissingAuthenticationToken", 403, false};
    case CommonError::IncompleteSignature: return {"IncompleteSignature", "IncompleteSignature", 400, false};
    case CommonError::InvalidClientTokenId: return {"InvalidClientTokenId", "InvalidClientTokenId", 403, false};
    case CommonError::SignatureDoesNotMatch: return {"SignatureDoesNotMatch", "SignatureDoesNotMatch", 403, false};
    case CommonError::RequestExpired: return {"RequestExpired", "RequestExpired", 400, false};
    case CommonError::AccessDenied: return {"AccessDeniedException", "AccessDenied", 403, false};
    case CommonError::InternalFailure: return {"InternalFailure", "InternalFailure", 500, false, false};
    case CommonError::ServiceUnavailable: return {"ServiceUnavailable", "ServiceUnavailable", 503, false, false};
    case CommonError::NotHereYet: return {"UnsupportedOperation", "UnsupportedOperation", 400, false};
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

}  // namespace fanfare::api::aws
