// A topic's and a subscription's settings. [SNS CreateTopic, Subscribe]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "core/topic/filter_policy.h"
#include "core/topic/names.h"

namespace fanfare::topic {

/// How a subscription is delivered. "sqs", "http", ...   [SNS Subscribe]
enum class DeliveryProtocol : std::uint8_t { Sqs, Http, Https, Email, EmailJson, Sms, Application, Lambda, Firehose };

std::string_view text_of(DeliveryProtocol protocol);
std::optional<DeliveryProtocol> parse_delivery_protocol(std::string_view text);

/// Where a subscription's undeliverable messages go. Unlike a queue's, it has no count.
/// {"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq"}   [SNS RedrivePolicy]
struct RedrivePolicy {
  QueueArn dead_letter_queue;

  enum class Error : std::uint8_t {
    NotJson,     ///< no JSON object
    InvalidArn,  ///< deadLetterTargetArn is missing, no text, or not the ARN of a queue
  };
  static Result<RedrivePolicy, Error> parse(std::string_view json);
  [[nodiscard]] std::string json() const;
  friend bool operator==(const RedrivePolicy&, const RedrivePolicy&) = default;
};

/// "Topic" | "MessageGroup"   [SNS FifoThroughputScope]
enum class FifoThroughputScope : std::uint8_t { Topic, MessageGroup };

/// The attributes that can be given or differ. The order is fixed: it is part of record encodings.
enum class TopicAttribute : std::uint8_t {
  DisplayName,
  Policy,
  DeliveryPolicy,
  SignatureVersion,
  TracingConfig,
  KmsMasterKeyId,
  FifoTopic,
  ContentBasedDeduplication,
  FifoThroughputScope,
  ArchivePolicy,
  DataProtectionPolicy,
  Feedback,  ///< one of <protocol>SuccessFeedbackRoleArn, ...SampleRate, <protocol>FailureFeedbackRoleArn
};

/// All that a caller can set on a topic.
struct TopicSettings {
  std::string display_name;
  std::string policy;           ///< text; empty: AWS's default policy, which the API writes out
  std::string delivery_policy;  ///< text; empty: none
  std::uint8_t signature_version = 0;  ///< 1, 2; 0: not set, which means 1
  std::string tracing_config;          ///< "PassThrough", "Active"; empty: not set
  std::string kms_master_key_id;
  bool fifo = false;  ///< fixed when the topic is created
  bool content_based_deduplication = false;
  FifoThroughputScope fifo_throughput_scope = FifoThroughputScope::Topic;
  std::string archive_policy;
  std::string data_protection_policy;
  /// Delivery status logging, stored and reported: name, value; sorted by name.
  std::vector<std::pair<std::string, std::string>> feedback;

  friend bool operator==(const TopicSettings&, const TopicSettings&) = default;
};

/// Attributes of CreateTopic (several) or SetTopicAttributes (one); absent: not mentioned, empty text: taken away.
struct TopicChanges {
  std::optional<std::string> display_name;
  std::optional<std::string> policy;
  std::optional<std::string> delivery_policy;
  std::optional<std::uint8_t> signature_version;
  std::optional<std::string> tracing_config;
  std::optional<std::string> kms_master_key_id;
  std::optional<bool> fifo;
  std::optional<bool> content_based_deduplication;
  std::optional<FifoThroughputScope> fifo_throughput_scope;
  std::optional<std::string> archive_policy;
  std::optional<std::string> data_protection_policy;
  std::vector<std::pair<std::string, std::string>> feedback;

  friend bool operator==(const TopicChanges&, const TopicChanges&) = default;
};

TopicSettings with_changes(TopicSettings settings, const TopicChanges& changes);
/// The first attribute that `wanted` mentions with another value than `existing` has; nullopt if they agree. [SNS CreateTopic]
std::optional<TopicAttribute> first_difference(const TopicSettings& existing, const TopicChanges& wanted);

/// All that a caller can set on a subscription. Texts as they were given.
struct SubscriptionSettings {
  bool raw_delivery = false;
  std::string filter_policy;  ///< empty: everything passes
  FilterScope filter_scope = FilterScope::MessageAttributes;
  std::optional<RedrivePolicy> redrive_policy;
  std::string delivery_policy;
  std::string subscription_role_arn;
  std::string replay_policy;

  friend bool operator==(const SubscriptionSettings&, const SubscriptionSettings&) = default;
};

enum class SubscriptionAttribute : std::uint8_t {
  RawDelivery, FilterPolicy, FilterScope, RedrivePolicy, DeliveryPolicy, SubscriptionRole, ReplayPolicy,
};

/// Attributes of Subscribe (several) or SetSubscriptionAttributes (one); absent: not mentioned, empty text: taken away.
struct SubscriptionChanges {
  struct RedriveChange {
    std::optional<RedrivePolicy> value;  ///< nullopt: taken away
    friend bool operator==(const RedriveChange&, const RedriveChange&) = default;
  };
  std::optional<bool> raw_delivery;
  std::optional<std::string> filter_policy;
  std::optional<FilterScope> filter_scope;
  std::optional<RedriveChange> redrive_policy;
  std::optional<std::string> delivery_policy;
  std::optional<std::string> subscription_role_arn;
  std::optional<std::string> replay_policy;

  friend bool operator==(const SubscriptionChanges&, const SubscriptionChanges&) = default;
};

SubscriptionSettings with_changes(SubscriptionSettings settings, const SubscriptionChanges& changes);
std::optional<SubscriptionAttribute> first_difference(const SubscriptionSettings& existing, const SubscriptionChanges& wanted);

}  // namespace fanfare::topic
