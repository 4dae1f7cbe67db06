// Errors as the services answer them: a shape, a Query code, an HTTP status and a text.
// Each service has one exhaustive switch from its closed enumeration (sqs/errors.h, sns/errors.h); what all services
// share stands here. Source of truth: the service models; [SQS, SNS: Common Errors].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace fanfare::engine {
struct AccessDenied;
}

namespace fanfare::api::aws {

/// How one kind of error looks on the wire. Static texts.
struct WireError {
  std::string_view shape;       ///< JSON's __type without its prefix: "QueueDoesNotExist"
  std::string_view query_code;  ///< "AWS.SimpleQueueService.NonExistentQueue"
  std::uint16_t status = 400;
  bool modelled = true;  ///< whether the service's model names the shape: decides the prefix of __type
  bool sender_fault = true;
};

/// What a request is refused with.
struct ApiError {
  WireError kind;
  std::string message;
};

/// Errors that every service answers alike.
enum class CommonError : std::uint8_t {
  UnknownOperation,      ///< JSON: no such target
  InvalidAction,         ///< Query: no such action
  MissingAction,         ///< Query: no action at all
  Serialization,         ///< the body is not what the protocol wants, or a member is of another type
  Validation,            ///< Query of SNS and STS: a member breaks a constraint of the model
  MalformedQueryString,  ///< a percent sign without two digits, bytes that are not UTF-8
  NotFound,              ///< a path that is neither / nor a queue's
  MethodNotAllowed,      ///< neither GET nor POST
  UnsupportedMediaType,  ///< a compressed body
  RequestTooLarge,
  RequestTimeout,        ///< it did not become whole in time
  MalformedHttp,         ///< no HTTP request, or none that all readers would understand alike
  MissingAuthenticationToken,
  IncompleteSignature,
  InvalidClientTokenId,
  SignatureDoesNotMatch,
  RequestExpired,
  ExpiredToken,  ///< a session token beyond its end
  AccessDenied,
  InternalFailure,
  ServiceUnavailable,  ///< nothing is wrong with the request; try again
  NotHereYet,          ///< an operation of the service that this broker does not have yet
};

WireError wire_error(CommonError error);
inline ApiError api_error(CommonError error, std::string message) { return {wire_error(error), std::move(message)}; }

inline ApiError unsigned_request() {
  return api_error(CommonError::MissingAuthenticationToken, "Request is missing Authentication Token");
}

/// The end of AWS's sentence on a refusal: ` because no resource-based policy allows the sqs:SendMessage action`.
std::string refusal_text(const engine::AccessDenied& error, std::string_view action);

}  // namespace fanfare::api::aws
