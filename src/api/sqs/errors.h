// SQS's errors: the closed enumeration, and the one switch to AWS's shapes, codes and statuses.
// Source of truth: the SQS model for the shapes; the Query codes are those of API version 2012-11-05.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/aws/error.h"
#include "core/engine/commands.h"

namespace fanfare::api::sqs {

enum class Error : std::uint8_t {
  BatchEntryIdsNotDistinct,
  BatchRequestTooLong,
  EmptyBatchRequest,
  InvalidAddress,  ///< the QueueUrl has a path that is no account and queue name
  InvalidAttributeName,
  InvalidAttributeValue,
  InvalidBatchEntryId,
  InvalidIdFormat,
  InvalidMessageContents,  ///< the body has characters that a message may not hold
  InvalidSecurity,
  KmsAccessDenied,
  KmsDisabled,
  KmsInvalidKeyUsage,
  KmsInvalidState,
  KmsNotFound,
  KmsOptInRequired,
  KmsThrottled,
  MessageNotInflight,
  OverLimit,
  PurgeQueueInProgress,
  QueueDeletedRecently,
  QueueDoesNotExist,
  QueueNameExists,
  ReceiptHandleIsInvalid,
  RequestThrottled,
  ResourceNotFoundException,
  TooManyEntriesInBatchRequest,
  UnsupportedOperation,
  // Not in the model:
  InvalidParameterValue,
  MissingParameter,
  AccessDenied,
};

aws::WireError wire_error(Error error);
inline aws::ApiError api_error(Error error, std::string message) { return {wire_error(error), std::move(message)}; }

/// `The request must contain the parameter QueueUrl.`
aws::ApiError missing_parameter(std::string_view name);
/// `Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.`
aws::ApiError invalid_value(std::string_view value, std::string_view parameter, std::string_view reason);

/// What the texts of engine errors need of the request.
struct ErrorSubject {
  std::string_view
      named;  ///< what they name: a queue's name, a receipt handle or a RedrivePolicy, as the caller wrote it
  std::int64_t visibility_timeout = 0;  ///< that a change asked for, in seconds
  bool fifo_name = false;               ///< whether the queue's name ends in ".fifo"
  bool in_batch = false;                ///< entries of a batch have other texts than single requests
};

/// The one switch from the engine's refusals to AWS's errors.
aws::ApiError api_error(const engine::QueueError& error, const ErrorSubject& subject);
aws::ApiError api_error(const engine::AccessDenied& error, std::string_view principal_arn);

/// QueueDoesNotExist reads differently in the Query protocol, which had WSDL versions.
std::string_view query_message(const aws::ApiError& error);

}  // namespace fanfare::api::sqs
