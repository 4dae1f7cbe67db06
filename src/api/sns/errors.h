// SNS's errors: the closed enumeration, and the one switch to AWS's shapes, codes and statuses.
// Source of truth: the SNS model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/aws/error.h"
#include "api/aws/reply_context.h"
#include "core/engine/commands.h"

namespace fanfare::api::sns {

enum class Error : std::uint8_t {
  AuthorizationError,
  BatchEntryIdsNotDistinct,
  BatchRequestTooLong,
  ConcurrentAccess,
  EmptyBatchRequest,
  EndpointDisabled,
  FilterPolicyLimitExceeded,
  InternalError,
  InvalidBatchEntryId,
  InvalidParameter,
  ParameterValueInvalid,  ///< message attributes
  InvalidSecurity,
  InvalidState,
  KmsAccessDenied,
  KmsDisabled,
  KmsInvalidState,
  KmsNotFound,
  KmsOptInRequired,
  KmsThrottling,
  NotFound,  ///< a topic or subscription
  OptedOut,
  PlatformApplicationDisabled,
  ReplayLimitExceeded,
  ResourceNotFound,  ///< of the tagging actions
  StaleTag,
  SubscriptionLimitExceeded,
  TagLimitExceeded,
  TagPolicy,
  Throttled,
  TooManyEntriesInBatchRequest,
  TopicLimitExceeded,
  UserError,
  Validation,       ///< the model's ValidationException, of the SMS sandbox
  Verification,     ///< likewise
  ValidationError,  ///< not in the model: a required member is missing
};

aws::WireError wire_error(Error error);
inline aws::ApiError api_error(Error error, std::string message) { return {wire_error(error), std::move(message)}; }

/// InvalidParameter: `Invalid parameter: TopicArn`, or with a reason `Invalid parameter: TopicArn Reason: ...`.
aws::ApiError invalid_parameter(std::string_view what, std::string_view reason = {});
/// `1 validation error detected: Value null at 'topicArn' failed to satisfy constraint: Member must not be null`
aws::ApiError must_not_be_null(std::string_view path);

/// The one switch from the engine's refusals to AWS's errors. The context names the action, on which some texts depend,
/// and as its subject the filter policy that was given.
aws::ApiError api_error(const engine::TopicError& error, const ReplyContext& context);
aws::ApiError api_error(const topic::DirectoryError& error);
aws::ApiError api_error(const engine::AccessDenied& error, std::string_view principal_arn);

}  // namespace fanfare::api::sns
