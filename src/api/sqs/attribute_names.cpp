#include "api/sqs/attribute_names.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace fanfare::api::sqs {
namespace {

constexpr std::array<std::string_view, kQueueAttributeNames> kQueueTexts{"All",
                                                                         "Policy",
                                                                         "VisibilityTimeout",
                                                                         "MaximumMessageSize",
                                                                         "MessageRetentionPeriod",
                                                                         "ApproximateNumberOfMessages",
                                                                         "ApproximateNumberOfMessagesNotVisible",
                                                                         "CreatedTimestamp",
                                                                         "LastModifiedTimestamp",
                                                                         "QueueArn",
                                                                         "ApproximateNumberOfMessagesDelayed",
                                                                         "DelaySeconds",
                                                                         "ReceiveMessageWaitTimeSeconds",
                                                                         "RedrivePolicy",
                                                                         "FifoQueue",
                                                                         "ContentBasedDeduplication",
                                                                         "KmsMasterKeyId",
                                                                         "KmsDataKeyReusePeriodSeconds",
                                                                         "DeduplicationScope",
                                                                         "FifoThroughputLimit",
                                                                         "RedriveAllowPolicy",
                                                                         "SqsManagedSseEnabled"};

constexpr std::array<std::string_view, kSystemAttributeNames> kSystemTexts{"All",
                                                                           "SenderId",
                                                                           "SentTimestamp",
                                                                           "ApproximateReceiveCount",
                                                                           "ApproximateFirstReceiveTimestamp",
                                                                           "SequenceNumber",
                                                                           "MessageDeduplicationId",
                                                                           "MessageGroupId",
                                                                           "AWSTraceHeader",
                                                                           "DeadLetterQueueSourceArn"};

template <class Name, std::size_t N>
std::optional<Name> find(const std::array<std::string_view, N>& texts, std::string_view text) {
  const auto found = std::ranges::find(texts, text);
  if (found == texts.end()) return std::nullopt;
  return static_cast<Name>(found - texts.begin());
}

}  // namespace

std::string_view text_of(QueueAttributeName name) { return kQueueTexts[static_cast<std::size_t>(name)]; }
std::optional<QueueAttributeName> parse_queue_attribute_name(std::string_view text) {
  return find<QueueAttributeName>(kQueueTexts, text);
}

std::string_view text_of(SystemAttributeName name) { return kSystemTexts[static_cast<std::size_t>(name)]; }
std::optional<SystemAttributeName> parse_system_attribute_name(std::string_view text) {
  return find<SystemAttributeName>(kSystemTexts, text);
}

std::string_view name_of(queue::QueueAttribute attribute) {
  using queue::QueueAttribute;
  switch (attribute) {
    case QueueAttribute::Visibility: return "VisibilityTimeout";
    case QueueAttribute::Delay: return "DelaySeconds";
    case QueueAttribute::Retention: return "MessageRetentionPeriod";
    case QueueAttribute::MaximumSize: return "MaximumMessageSize";
    case QueueAttribute::Wait: return "ReceiveMessageWaitTimeSeconds";
    case QueueAttribute::RedrivePolicy: return "RedrivePolicy";
    case QueueAttribute::RedriveAllowPolicy: return "RedriveAllowPolicy";
    case QueueAttribute::Policy: return "Policy";
    case QueueAttribute::FifoQueue: return "FifoQueue";
    case QueueAttribute::ContentBasedDeduplication: return "ContentBasedDeduplication";
    case QueueAttribute::DeduplicationScope: return "DeduplicationScope";
    case QueueAttribute::FifoThroughputLimit: return "FifoThroughputLimit";
    case QueueAttribute::KmsMasterKeyId: return "KmsMasterKeyId";
    case QueueAttribute::KmsKeyReuse: return "KmsDataKeyReusePeriodSeconds";
    case QueueAttribute::ManagedEncryption: return "SqsManagedSseEnabled";
  }
  FANFARE_ASSERT(false, "an attribute outside its enumeration");
  return {};
}

}  // namespace fanfare::api::sqs
