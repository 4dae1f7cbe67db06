// The names of SQS's three kinds of attributes: of queues, of messages as the system gives them, and what a caller
// selects. Source of truth: the SQS model (QueueAttributeName, MessageSystemAttributeName).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/queue/settings.h"

namespace fanfare::api::sqs {

/// In the order of the model.
enum class QueueAttributeName : std::uint8_t {
  All,
  Policy,
  VisibilityTimeout,
  MaximumMessageSize,
  MessageRetentionPeriod,
  ApproximateNumberOfMessages,
  ApproximateNumberOfMessagesNotVisible,
  CreatedTimestamp,
  LastModifiedTimestamp,
  QueueArn,
  ApproximateNumberOfMessagesDelayed,
  DelaySeconds,
  ReceiveMessageWaitTimeSeconds,
  RedrivePolicy,
  FifoQueue,
  ContentBasedDeduplication,
  KmsMasterKeyId,
  KmsDataKeyReusePeriodSeconds,
  DeduplicationScope,
  FifoThroughputLimit,
  RedriveAllowPolicy,
  SqsManagedSseEnabled,
};
inline constexpr std::size_t kQueueAttributeNames = 22;

std::string_view text_of(QueueAttributeName name);
/// Case matters. Nullopt for a name that SQS does not have.
std::optional<QueueAttributeName> parse_queue_attribute_name(std::string_view text);
/// The wire's name of what the engine knows.
std::string_view name_of(queue::QueueAttribute attribute);

enum class SystemAttributeName : std::uint8_t {
  All,
  SenderId,
  SentTimestamp,
  ApproximateReceiveCount,
  ApproximateFirstReceiveTimestamp,
  SequenceNumber,
  MessageDeduplicationId,
  MessageGroupId,
  AWSTraceHeader,
  DeadLetterQueueSourceArn,
};
inline constexpr std::size_t kSystemAttributeNames = 10;

std::string_view text_of(SystemAttributeName name);
std::optional<SystemAttributeName> parse_system_attribute_name(std::string_view text);

/// A set of names of either enumeration.
template <class Name>
constexpr std::uint32_t bit(Name name) {
  return 1u << static_cast<unsigned>(name);
}

}  // namespace fanfare::api::sqs
