#include "api/sns/errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/aws/sns_model.h"
#include "base/assert.h"

namespace fanfare::api::sns {
namespace {

using aws::ApiError;

/// Attributes of Subscribe and CreateTopic are named inside their map, those of the Set actions on their own.
bool in_attribute_map(const ReplyContext& context) {
  return context.operation != nullptr &&
         (context.operation->name == "Subscribe" || context.operation->name == "CreateTopic");
}

ApiError invalid_attribute(const ReplyContext& context, std::string_view text) {
  return invalid_parameter(fmt::format("{}{}", in_attribute_map(context) ? "Attributes Reason: " : "", text));
}

bool is_tagging(const ReplyContext& context) {
  return context.operation != nullptr &&
         (context.operation->name == "TagResource" || context.operation->name == "UntagResource" ||
          context.operation->name == "ListTagsForResource");
}

ApiError invalid_filter_policy(const engine::TopicError& error, const ReplyContext& context) {
  if (!error.filter) return invalid_attribute(context, "FilterPolicy: " + error.detail);
  const topic::FilterError& filter = *error.filter;
  std::string text = filter.has_prefix() ? "FilterPolicy: " + filter.message : filter.message;
  // AWS names the place as its JSON parser does.
  if (filter.kind == topic::FilterError::Kind::BadMatch || filter.kind == topic::FilterError::Kind::UnknownOperator) {
    const std::string_view json = context.subject;
    const std::string_view before = json.substr(0, std::min(filter.offset, json.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto column = 1 + before.size() - (before.rfind('\n') + 1);  // npos + 1 is 0
    text += fmt::format("\n at [Source: (String)\"{}\"; line: {}, column: {}]", json, line, column);
  }
  return invalid_attribute(context, text);
}

}  // namespace

aws::WireError wire_error(Error error) {
  switch (error) {
    case Error::AuthorizationError: return {"AuthorizationErrorException", "AuthorizationError", 403};
    case Error::BatchEntryIdsNotDistinct: return {"BatchEntryIdsNotDistinctException", "BatchEntryIdsNotDistinct", 400};
    case Error::BatchRequestTooLong: return {"BatchRequestTooLongException", "BatchRequestTooLong", 400};
    case Error::ConcurrentAccess: return {"ConcurrentAccessException", "ConcurrentAccess", 400};
    case Error::EmptyBatchRequest: return {"EmptyBatchRequestException", "EmptyBatchRequest", 400};
    case Error::EndpointDisabled: return {"EndpointDisabledException", "EndpointDisabled", 400};
    case Error::FilterPolicyLimitExceeded:
      return {"FilterPolicyLimitExceededException", "FilterPolicyLimitExceeded", 403};
    case Error::InternalError: return {"InternalErrorException", "InternalError", 500, true, false};
    case Error::InvalidBatchEntryId: return {"InvalidBatchEntryIdException", "InvalidBatchEntryId", 400};
    case Error::InvalidParameter: return {"InvalidParameterException", "InvalidParameter", 400};
    case Error::ParameterValueInvalid: return {"InvalidParameterValueException", "ParameterValueInvalid", 400};
    case Error::InvalidSecurity: return {"InvalidSecurityException", "InvalidSecurity", 403};
    case Error::InvalidState: return {"InvalidStateException", "InvalidState", 400};
    case Error::KmsAccessDenied: return {"KMSAccessDeniedException", "KMSAccessDenied", 400};
    case Error::KmsDisabled: return {"KMSDisabledException", "KMSDisabled", 400};
    case Error::KmsInvalidState: return {"KMSInvalidStateException", "KMSInvalidState", 400};
    case Error::KmsNotFound: return {"KMSNotFoundException", "KMSNotFound", 400};
    case Error::KmsOptInRequired: return {"KMSOptInRequired", "KMSOptInRequired", 403};
    case Error::KmsThrottling: return {"KMSThrottlingException", "KMSThrottling", 400};
    case Error::NotFound: return {"NotFoundException", "NotFound", 404};
    case Error::OptedOut: return {"OptedOutException", "OptedOut", 400};
    case Error::PlatformApplicationDisabled:
      return {"PlatformApplicationDisabledException", "PlatformApplicationDisabled", 400};
    case Error::ReplayLimitExceeded: return {"ReplayLimitExceededException", "ReplayLimitExceeded", 403};
    case Error::ResourceNotFound: return {"ResourceNotFoundException", "ResourceNotFound", 404};
    case Error::StaleTag: return {"StaleTagException", "StaleTag", 400};
    case Error::SubscriptionLimitExceeded:
      return {"SubscriptionLimitExceededException", "SubscriptionLimitExceeded", 403};
    case Error::TagLimitExceeded: return {"TagLimitExceededException", "TagLimitExceeded", 400};
    case Error::TagPolicy: return {"TagPolicyException", "TagPolicy", 400};
    case Error::Throttled: return {"ThrottledException", "Throttled", 429};
    case Error::TooManyEntriesInBatchRequest:
      return {"TooManyEntriesInBatchRequestException", "TooManyEntriesInBatchRequest", 400};
    case Error::TopicLimitExceeded: return {"TopicLimitExceededException", "TopicLimitExceeded", 403};
    case Error::UserError: return {"UserErrorException", "UserError", 400};
    case Error::Validation: return {"ValidationException", "ValidationException", 400};
    case Error::Verification: return {"VerificationException", "VerificationException", 400};
    case Error::ValidationError: return {"ValidationError", "ValidationError", 400, false};
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

ApiError invalid_parameter(std::string_view what, std::string_view reason) {
  return api_error(Error::InvalidParameter, reason.empty()
                                                ? fmt::format("Invalid parameter: {}", what)
                                                : fmt::format("Invalid parameter: {} Reason: {}", what, reason));
}

ApiError must_not_be_null(std::string_view path) {
  return api_error(
      Error::ValidationError,
      fmt::format("1 validation error detected: Value null at '{}' failed to satisfy constraint: Member must not "
                  "be null",
                  path));
}

ApiError api_error(const engine::TopicError& error, const ReplyContext& context) {
  using Code = engine::TopicError::Code;
  switch (error.code) {
    case Code::TopicDoesNotExist:
      return is_tagging(context) ? api_error(Error::ResourceNotFound, "Resource does not exist")
                                 : api_error(Error::NotFound, "Topic does not exist");
    case Code::TopicExistsWithOtherAttributes:
      return invalid_parameter("Attributes", "Topic already exists with different attributes");
    case Code::TopicExistsWithOtherTags: return invalid_parameter("Tags", "Topic already exists with different tags");
    case Code::InvalidTopicName: return invalid_parameter("Topic Name");
    case Code::CannotChangeTopicType: return invalid_parameter("AttributeName");
    case Code::FifoAttributeOnStandardTopic:
      return invalid_attribute(context,
                               error.detail.empty() ? "The attribute is supported by FIFO topics only" : error.detail);
    case Code::BadPolicy:
      return invalid_attribute(context, error.detail.empty() ? "Policy" : "Policy Error: " + error.detail);
    case Code::TooManyTags:
      return api_error(Error::TagLimitExceeded, "Could not complete request: tag quota of per resource exceeded");
    case Code::InvalidEndpoint: return invalid_parameter("SQS endpoint ARN");
    case Code::ProtocolNotSupported:
      return invalid_parameter(fmt::format("Amazon SNS does not support this protocol string: {}", context.subject));
    case Code::FifoQueueOnStandardTopic:
      // AWS writes the prefix twice here.
      return invalid_parameter("Invalid parameter: Endpoint",
                               "FIFO SQS Queues can not be subscribed to standard SNS topics");
    case Code::ProtocolOnFifoTopic:
      return invalid_parameter(fmt::format("Invalid protocol type: {}", error.detail));
    case Code::SubscriptionExistsWithOtherAttributes:
      return invalid_parameter("Attributes", "Subscription already exists with different attributes");
    case Code::SubscriptionDoesNotExist: return api_error(Error::NotFound, "Subscription does not exist");
    case Code::BadFilterPolicy: return invalid_filter_policy(error, context);
    case Code::BadRedrivePolicy:
      return invalid_attribute(
          context, error.detail.empty()
                       ? "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic."
                       : "RedrivePolicy: " + error.detail);
    case Code::InvalidToken: return invalid_parameter("Token");
    case Code::MessageGroupIdMissing:
      return invalid_parameter("The MessageGroupId parameter is required for FIFO topics");
    case Code::DeduplicationIdMissing:
      return invalid_parameter(
          "The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
          "explicitly");
    case Code::DeduplicationIdOnStandardTopic:
      return invalid_parameter(
          "MessageDeduplicationId",
          "The request includes MessageDeduplicationId parameter that is not valid for this topic type");
    case Code::ArchivePolicyInTheWay:
      return api_error(Error::InvalidState, "Invalid state: Cannot delete a topic with an ArchivePolicy");
    case Code::BadReplayPolicy: return invalid_attribute(context, error.detail);
    case Code::TooManyReplays:
      return api_error(Error::ReplayLimitExceeded,
                       "The request parameter has exceeded the maximum number of concurrent message replays.");
    case Code::StatementExists: return invalid_parameter("Statement already exists");
    case Code::ActionOutOfScope: return invalid_parameter("Policy statement action out of service scope!");
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

ApiError api_error(const topic::DirectoryError& error) {
  using Code = topic::DirectoryError::Code;
  switch (error.code) {
    case Code::ApplicationDoesNotExist: return api_error(Error::NotFound, "PlatformApplication does not exist");
    case Code::EndpointDoesNotExist: return api_error(Error::NotFound, "Endpoint does not exist");
    case Code::EndpointExistsWithOtherAttributes:
      return invalid_parameter(
          "Token", fmt::format("Endpoint {} already exists with the same Token, but different attributes.", error.detail));
    case Code::EndpointDisabled: return api_error(Error::EndpointDisabled, "Endpoint is disabled");
    case Code::NoEndpointForTarget:
      return invalid_parameter("TargetArn", "No endpoint found for the target arn specified");
    case Code::NumberDoesNotExist:
      return api_error(Error::ResourceNotFound, "The phone number is not in the SMS sandbox of this account");
    case Code::NumberOptedOut: return api_error(Error::OptedOut, "The phone number has opted out of receiving messages");
    case Code::WrongCode: return api_error(Error::Verification, "The one-time password is not the one that was sent");
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

ApiError api_error(const engine::AccessDenied& error, std::string_view principal_arn) {
  std::string action = error.action;
  if (action.starts_with("sns:")) action.replace(0, 3, "SNS");
  const std::string_view who = principal_arn.empty() ? std::string_view("anonymous") : principal_arn;
  return api_error(
      Error::AuthorizationError,
      fmt::format("User: {} is not authorized to perform: {} on resource: {}{}", who, action, error.resource,
                  aws::refusal_text(error, action)));
}

}  // namespace fanfare::api::sns
