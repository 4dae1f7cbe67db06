#include "api/sqs/errors.h"

#include <fmt/format.h>

#include "api/sqs/attribute_names.h"
#include "base/assert.h"

namespace fanfare::api::sqs {
namespace {

using aws::ApiError;

ApiError invalid_redrive(const ErrorSubject& subject, std::string_view reason) {
  return invalid_value(subject.named, "RedrivePolicy", reason);
}

}  // namespace

aws::WireError wire_error(Error error) {
  switch (error) {
    case Error::BatchEntryIdsNotDistinct:
      return {"BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400};
    case Error::BatchRequestTooLong: return {"BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", 400};
    case Error::EmptyBatchRequest: return {"EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", 400};
    case Error::InvalidAddress: return {"InvalidAddress", "InvalidAddress", 404};
    case Error::InvalidAttributeName: return {"InvalidAttributeName", "InvalidAttributeName", 400};
    case Error::InvalidAttributeValue: return {"InvalidAttributeValue", "InvalidAttributeValue", 400};
    case Error::InvalidBatchEntryId: return {"InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", 400};
    case Error::InvalidIdFormat: return {"InvalidIdFormat", "InvalidIdFormat", 400};
    case Error::InvalidMessageContents: return {"InvalidMessageContents", "InvalidMessageContents", 400};
    case Error::InvalidSecurity: return {"InvalidSecurity", "InvalidSecurity", 403};
    case Error::KmsAccessDenied: return {"KmsAccessDenied", "KMS.AccessDeniedException", 400};
    case Error::KmsDisabled: return {"KmsDisabled", "KMS.DisabledException", 400};
    case Error::KmsInvalidKeyUsage: return {"KmsInvalidKeyUsage", "KMS.InvalidKeyUsageException", 400};
    case Error::KmsInvalidState: return {"KmsInvalidState", "KMS.InvalidStateException", 400};
    case Error::KmsNotFound: return {"KmsNotFound", "KMS.NotFoundException", 400};
    case Error::KmsOptInRequired: return {"KmsOptInRequired", "KMS.OptInRequired", 403};
    case Error::KmsThrottled: return {"KmsThrottled", "KMS.ThrottlingException", 400};
    case Error::MessageNotInflight: return {"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", 400};
    case Error::OverLimit: return {"OverLimit", "OverLimit", 403};
    case Error::PurgeQueueInProgress:
      return {"PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress", 403};
    case Error::QueueDeletedRecently:
      return {"QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently", 400};
    case Error::QueueDoesNotExist: return {"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", 400};
    case Error::QueueNameExists: return {"QueueNameExists", "QueueAlreadyExists", 400};
    case Error::ReceiptHandleIsInvalid: return {"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404};
    case Error::RequestThrottled: return {"RequestThrottled", "RequestThrottled", 403};
    case Error::ResourceNotFoundException: return {"ResourceNotFoundException", "ResourceNotFoundException", 404};
    case Error::TooManyEntriesInBatchRequest:
      return {"TooManyEntriesInBatchRequest", "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400};
    case Error::UnsupportedOperation:
      return {"UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", 400};
    case Error::InvalidParameterValue: return {"InvalidParameterValueException", "InvalidParameterValue", 400, false};
    case Error::MissingParameter: return {"MissingRequiredParameterException", "MissingParameter", 400, false};
    case Error::AccessDenied: return {"AccessDeniedException", "AccessDenied", 403, false};
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

ApiError missing_parameter(std::string_view name) {
  return api_error(Error::MissingParameter, fmt::format("The request must contain the parameter {}.", name));
}

ApiError invalid_value(std::string_view value, std::string_view parameter, std::string_view reason) {
  return api_error(Error::InvalidParameterValue,
                   fmt::format("Value {} for parameter {} is invalid. Reason: {}", value, parameter, reason));
}

ApiError api_error(const engine::QueueError& error, const ErrorSubject& subject) {
  using Code = engine::QueueError::Code;
  switch (error.code) {
    case Code::QueueDoesNotExist: return api_error(Error::QueueDoesNotExist, "The specified queue does not exist.");
    case Code::QueueExistsWithOtherAttributes:
      return api_error(Error::QueueNameExists,
                       fmt::format("A queue already exists with the same name and a different value for attribute {}",
                                   error.attribute ? name_of(*error.attribute) : std::string_view("FifoQueue")));
    case Code::QueueDeletedRecently:
      return api_error(
          Error::QueueDeletedRecently,
          "You must wait 60 seconds after deleting a queue before you can create another with the same name.");
    case Code::NameAndTypeDisagree:
      if (subject.fifo_name) {
        return api_error(Error::InvalidParameterValue,
                         "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
      }
      return api_error(
          Error::InvalidParameterValue,
          "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end "
          "with .fifo suffix and be 1 to 80 in length.");
    case Code::InvalidQueueName:
      return api_error(Error::InvalidParameterValue,
                       "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length");
    case Code::CannotChangeQueueType:
      return api_error(Error::InvalidAttributeValue,
                       "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.");
    case Code::FifoAttributeOnStandardQueue: {
      const auto attribute = error.attribute.value_or(queue::QueueAttribute::FifoQueue);
      if (attribute == queue::QueueAttribute::DeduplicationScope ||
          attribute == queue::QueueAttribute::FifoThroughputLimit) {
        return api_error(Error::InvalidAttributeName,
                         fmt::format("You can specify the {} only when FifoQueue is set to true.", name_of(attribute)));
      }
      return api_error(Error::InvalidAttributeName, fmt::format("Unknown Attribute {}.", name_of(attribute)));
    }
    case Code::InvalidThroughputLimit:
      return api_error(
          Error::InvalidAttributeValue,
          "Invalid value for the parameter FifoThroughputLimit. Reason: The perMessageGroupId value is allowed only "
          "when the value for DeduplicationScope is messageGroup.");
    case Code::BadPolicy:
      return api_error(Error::InvalidAttributeValue,
                       error.detail.empty()
                           ? "Invalid value for the parameter Policy."
                           : fmt::format("Invalid value for the parameter Policy. Reason: {}", error.detail));
    case Code::DeadLetterQueueMissing: return invalid_redrive(subject, "Dead letter target does not exist.");
    case Code::DeadLetterQueueOfOtherType:
      return invalid_redrive(subject, "Dead-letter target must be same type of queue as the source.");
    case Code::DeadLetterQueueElsewhere:
      return invalid_redrive(subject, "Dead-letter target owner should be same as the source.");
    case Code::DeadLetterQueueIsSource:
      return invalid_redrive(subject, "Dead letter target cannot be the source queue itself.");
    case Code::DeadLetterQueueRefuses:
      return invalid_redrive(subject, "Access is denied to the dead-letter queue by its RedriveAllowPolicy.");
    case Code::TooManyTags:
      return api_error(Error::InvalidParameterValue, "Too many tags added for queue. The limit is 50.");
    case Code::PurgeInProgress:
      return api_error(Error::PurgeQueueInProgress,
                       fmt::format("Only one PurgeQueue operation on {} is allowed every 60 seconds.", subject.named));
    case Code::MessageTooLong:
      return api_error(Error::InvalidParameterValue,
                       fmt::format("One or more parameters {}. Reason: Message must be shorter than {} bytes.",
                                   subject.in_batch ? "cannot be validated" : "are invalid", error.limit));
    case Code::MessageGroupIdMissing:
      return api_error(subject.in_batch ? Error::InvalidParameterValue : Error::MissingParameter,
                       "The request must contain the parameter MessageGroupId.");
    case Code::DeduplicationIdMissing:
      return api_error(
          Error::InvalidParameterValue,
          "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided "
          "explicitly");
    case Code::DeduplicationIdOnStandardQueue:
      return api_error(Error::InvalidParameterValue,
                       "The request include parameter MessageDeduplicationId which is not valid for this queue type");
    case Code::DelayOnFifoQueue:
      return invalid_value(fmt::format_int(error.actual).str(), "DelaySeconds",
                           "The request include parameter that is not valid for this queue type.");
    case Code::AttemptIdOnStandardQueue:
      return api_error(Error::InvalidParameterValue,
                       "The request include parameter ReceiveRequestAttemptId which is not valid for this queue type");
    case Code::TooManyInFlight:
      return api_error(Error::OverLimit,
                       "The maximum number of messages in flight of this queue is reached: delete messages "
                       "after they are processed.");
    case Code::ReceiptHandleOfOtherQueue:
      return api_error(Error::ReceiptHandleIsInvalid,
                       fmt::format("The input receipt handle \"{}\" is not a valid receipt handle.", subject.named));
    case Code::ReceiptHandleExpired:
      return invalid_value(subject.named, "ReceiptHandle", "The receipt handle has expired.");
    case Code::MessageNotAvailable:
      return invalid_value(subject.named, "ReceiptHandle",
                           "Message does not exist or is not available for visibility timeout change.");
    case Code::TotalVisibilityExceeded:
      return invalid_value(std::to_string(subject.visibility_timeout), "VisibilityTimeout",
                           "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].");
    case Code::PermissionLabelExists: return invalid_value(subject.named, "Label", "Already exists.");
    case Code::PermissionLabelUnknown: return invalid_value(subject.named, "Label", "can't find label.");
    case Code::PermissionAccountInvalid:
      return invalid_value(fmt::format("[{}]", error.detail), "PrincipalId", "Unable to verify.");
    case Code::PermissionActionUnknown:
      return invalid_value("SQS:" + error.detail, "ActionName",
                           "Please refer to the appropriate WSDL for a list of valid actions.");
    case Code::PermissionActionOwnerOnly:
      return invalid_value("SQS:" + error.detail, "ActionName",
                           "Only the queue owner is allowed to invoke this action.");
    case Code::PermissionActionsTooMany:
      return api_error(Error::OverLimit,
                       fmt::format("{} Actions were found, maximum allowed is {}.", error.actual, error.limit));
    case Code::PermissionStatementsTooMany:
      return api_error(Error::OverLimit,
                       fmt::format("The policy of a queue can have at most {} statements.", error.limit));
    case Code::MoveSourceMissing:
      return api_error(Error::ResourceNotFoundException,
                       "The resource that you specified for the SourceArn parameter doesn't exist.");
    case Code::MoveSourceIsNoDeadLetterQueue:
      return api_error(Error::InvalidParameterValue, "Source queue must be configured as a Dead Letter Queue.");
    case Code::MoveDestinationMissing:
      return api_error(Error::ResourceNotFoundException,
                       "The resource that you specified for the DestinationArn parameter doesn't exist.");
    case Code::MoveDestinationOfOtherType:
      return api_error(Error::InvalidParameterValue, "Source and destination queue must be of the same type.");
    case Code::MoveDestinationIsSource:
      return api_error(Error::InvalidParameterValue, "Source queue arn and destination queue arn cannot be the same.");
    case Code::MoveTaskRunning:
      return api_error(
          Error::InvalidParameterValue,
          "There is already a task running. Only one active task is allowed for a source queue arn at a given time.");
    case Code::TooManyMoveTasks:
      return api_error(Error::UnsupportedOperation, "The account has the maximum of 100 active message move tasks.");
    case Code::MoveTaskMissing: return api_error(Error::ResourceNotFoundException, "Task does not exist.");
    case Code::MoveTaskNotRunning:
      return api_error(Error::UnsupportedOperation, "Only a message move task that is running can be cancelled.");
  }
  FANFARE_ASSERT(false, "an error outside its enumeration");
  return {};
}

ApiError api_error(const engine::AccessDenied& error, std::string_view principal_arn) {
  const std::string_view who = principal_arn.empty() ? std::string_view("anonymous") : principal_arn;
  std::string message =
      fmt::format("User: {} is not authorized to perform: {} on resource: {}", who, error.action, error.resource);
  message += aws::refusal_text(error, error.action);
  return api_error(Error::AccessDenied, std::move(message));
}

std::string_view query_message(const ApiError& error) {
  if (error.kind.shape == "QueueDoesNotExist") return "The specified queue does not exist for this wsdl version.";
  return error.message;
}

}  // namespace fanfare::api::sqs
