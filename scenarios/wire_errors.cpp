// What the errors of SQS and SNS mean. Source of truth: [SQS, SNS: errors of each action], as recorded from AWS.
#include "wire_errors.h"

namespace fanfare::scenarios {
namespace {

struct Row {
  std::string_view name;
  std::string_view code;
  std::string_view part;  ///< of the text; empty: the code says it all
};

constexpr Row kSqs[] = {
    {"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist"},
    {"QueueExistsWithOtherAttributes", "QueueAlreadyExists",
     "A queue already exists with the same name and a different value for attribute"},
    {"QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently", "60 seconds"},
    {"NameAndTypeDisagree", "InvalidParameterValue", "must end with .fifo suffix"},
    {"NameAndTypeDisagree", "InvalidParameterValue",
     "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80"},
    {"InvalidQueueName", "InvalidParameterValue",
     "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80"},
    {"CannotChangeQueueType", "InvalidAttributeValue", "Modifying queue type is not supported"},
    {"FifoAttributeOnStandardQueue", "InvalidAttributeName", "only when FifoQueue is set to true"},
    {"FifoAttributeOnStandardQueue", "InvalidAttributeName", "Unknown Attribute ContentBasedDeduplication"},
    {"FifoAttributeOnStandardQueue", "InvalidAttributeName", "Unknown Attribute FifoQueue"},
    {"InvalidThroughputLimit", "InvalidAttributeValue", "for the parameter FifoThroughputLimit"},
    {"BadPolicy", "InvalidAttributeValue", "for the parameter Policy"},
    {"DeadLetterQueueMissing", "InvalidParameterValue",
     "for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist"},
    {"DeadLetterQueueOfOtherType", "InvalidParameterValue",
     "Dead-letter target must be same type of queue as the source"},
    {"DeadLetterQueueElsewhere", "InvalidParameterValue", "Dead-letter target owner should be same as the source"},
    {"DeadLetterQueueIsSource", "InvalidParameterValue", "Dead letter target cannot be the source queue itself"},
    {"DeadLetterQueueRefuses", "InvalidParameterValue", "by its RedriveAllowPolicy"},
    {"TooManyTags", "InvalidParameterValue", "Too many tags"},
    {"PurgeInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress", "every 60 seconds"},
    {"MessageTooLong", "InvalidParameterValue", "Message must be shorter than"},
    {"MessageGroupIdMissing", "MissingParameter", "must contain the parameter MessageGroupId"},
    {"MessageGroupIdMissing", "InvalidParameterValue", "must contain the parameter MessageGroupId"},
    {"DeduplicationIdMissing", "InvalidParameterValue",
     "should either have ContentBasedDeduplication enabled or MessageDeduplicationId"},
    {"DeduplicationIdOnStandardQueue", "InvalidParameterValue",
     "parameter MessageDeduplicationId which is not valid for this queue type"},
    {"DelayOnFifoQueue", "InvalidParameterValue",
     "for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid"},
    {"AttemptIdOnStandardQueue", "InvalidParameterValue",
     "parameter ReceiveRequestAttemptId which is not valid for this queue type"},
    {"TooManyInFlight", "OverLimit", "in flight"},
    {"ReceiptHandleOfOtherQueue", "ReceiptHandleIsInvalid", "is not a valid receipt handle"},
    {"ReceiptHandleExpired", "InvalidParameterValue",
     "for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired"},
    {"MessageNotAvailable", "InvalidParameterValue",
     "Message does not exist or is not available for visibility timeout change"},
    {"TotalVisibilityExceeded", "InvalidParameterValue", "Total VisibilityTimeout for the message is beyond the limit"},
    {"PermissionLabelExists", "InvalidParameterValue", "for parameter Label is invalid. Reason: Already exists"},
    {"PermissionLabelUnknown", "InvalidParameterValue", "for parameter Label is invalid. Reason: can't find label"},
    {"PermissionAccountInvalid", "InvalidParameterValue", "for parameter PrincipalId is invalid"},
    {"PermissionActionUnknown", "InvalidParameterValue", "for a list of valid actions"},
    {"PermissionActionOwnerOnly", "InvalidParameterValue", "Only the queue owner is allowed to invoke this action"},
    {"PermissionActionsTooMany", "OverLimit", "Actions were found"},
    {"PermissionStatementsTooMany", "OverLimit", "statements"},
    {"MoveSourceMissing", "ResourceNotFoundException", "SourceArn"},
    {"MoveSourceIsNoDeadLetterQueue", "InvalidParameterValue", "must be configured as a Dead Letter Queue"},
    {"MoveDestinationMissing", "ResourceNotFoundException", "DestinationArn"},
    {"MoveDestinationOfOtherType", "InvalidParameterValue", "must be of the same type"},
    {"MoveDestinationIsSource", "InvalidParameterValue", "cannot be the same"},
    {"MoveTaskRunning", "InvalidParameterValue", "There is already a task running"},
    {"TooManyMoveTasks", "AWS.SimpleQueueService.UnsupportedOperation", "maximum of 100"},
    {"MoveTaskMissing", "ResourceNotFoundException", "Task does not exist"},
    {"MoveTaskNotRunning", "AWS.SimpleQueueService.UnsupportedOperation", "that is running"},
    {"AccessDenied", "AccessDenied", "is not authorized to perform: sqs:"},
    {"AccessDenied", "MissingAuthenticationToken", ""},  // of a request without a signature
    {"StorageFull", "ServiceUnavailable", "no room"},
};

constexpr Row kSns[] = {
    {"TopicDoesNotExist", "NotFound", "Topic does not exist"},
    {"TopicDoesNotExist", "ResourceNotFound", "Resource does not exist"},
    {"TopicExistsWithOtherAttributes", "InvalidParameter", "Topic already exists with different attributes"},
    {"TopicExistsWithOtherTags", "InvalidParameter", "Topic already exists with different tags"},
    {"InvalidTopicName", "InvalidParameter", "Invalid parameter: Topic Name"},
    {"CannotChangeTopicType", "InvalidParameter", "Invalid parameter: AttributeName"},
    {"FifoAttributeOnStandardTopic", "InvalidParameter", "FIFO topics"},
    {"BadPolicy", "InvalidParameter", "Policy Error"},
    {"BadPolicy", "InvalidParameter", "Invalid parameter: Policy"},
    {"TooManyTags", "TagLimitExceeded", ""},
    {"InvalidEndpoint", "InvalidParameter", "Invalid parameter: SQS endpoint ARN"},
    {"ProtocolNotSupported", "InvalidParameter", "does not support this protocol string"},
    {"FifoQueueOnStandardTopic", "InvalidParameter", "FIFO SQS Queues can not be subscribed to standard SNS topics"},
    {"ProtocolOnFifoTopic", "InvalidParameter", "Invalid parameter: Invalid protocol type: "},
    {"ArchivePolicyInTheWay", "InvalidState", "Cannot delete a topic with an ArchivePolicy"},
    {"BadReplayPolicy", "InvalidParameter", "ReplayPolicy: "},
    {"TooManyReplays", "ReplayLimitExceeded", ""},
    {"SubscriptionExistsWithOtherAttributes", "InvalidParameter",
     "Subscription already exists with different attributes"},
    {"SubscriptionDoesNotExist", "NotFound", "Subscription does not exist"},
    {"BadFilterPolicy", "InvalidParameter", "FilterPolicy"},
    {"BadFilterPolicy", "InvalidParameter", "Filter policy"},
    {"BadRedrivePolicy", "InvalidParameter", "RedrivePolicy"},
    {"InvalidToken", "InvalidParameter", "Invalid parameter: Token"},
    {"MessageGroupIdMissing", "InvalidParameter", "The MessageGroupId parameter is required for FIFO topics"},
    {"DeduplicationIdMissing", "InvalidParameter",
     "should either have ContentBasedDeduplication enabled or MessageDeduplicationId"},
    {"DeduplicationIdOnStandardTopic", "InvalidParameter",
     "MessageDeduplicationId parameter that is not valid for this topic type"},
    {"StatementExists", "InvalidParameter", "Statement already exists"},
    {"ActionOutOfScope", "InvalidParameter", "Policy statement action out of service scope"},
    {"AccessDenied", "AuthorizationError", "is not authorized to perform: SNS:"},
    {"AccessDenied", "MissingAuthenticationToken", ""},
    {"StorageFull", "ServiceUnavailable", "no room"},
};

}  // namespace

std::string name_of_error(std::string_view service, std::string_view code, std::string_view message) {
  std::string names;
  const auto look = [&](const auto& rows) {
    for (const Row& row : rows)
      if (row.code == code && message.find(row.part) != std::string_view::npos)
        (names += names.empty() ? "" : "|") += row.name;
  };
  if (service == "sqs")
    look(kSqs);
  else
    look(kSns);
  if (!names.empty()) return names;
  constexpr std::string_view kPrefix = "AWS.SimpleQueueService.";
  if (code.starts_with(kPrefix)) code.remove_prefix(kPrefix.size());
  return std::string{code};
}

}  // namespace fanfare::scenarios
