// A queue's settings, each a type that cannot hold a value out of range. [SQS SetQueueAttributes]
//
// `of` takes a number, `parse` the wire's text; both say why they refuse. What AWS answers then is the API's knowledge.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/queue/names.h"

namespace fanfare::queue {

enum class SettingError : std::uint8_t {
  NotANumber,           ///< empty, a sign other than '-', a fraction, letters, more digits than 64 bits hold
  OutOfRange,           ///< a number outside kMin..kMax of its type
  NotABoolean,          ///< neither "true" nor "false" (any case)
  UnknownWord,          ///< an enumeration's text that is none of its words
  NotJson,              ///< RedrivePolicy, RedriveAllowPolicy: not a JSON object
  MissingMember,        ///< RedrivePolicy without deadLetterTargetArn or maxReceiveCount; RedriveAllowPolicy without redrivePermission
  UnknownMember,        ///< a member that the policy does not have
  BadArn,               ///< an ARN that names no queue
  BadMaxReceiveCount,   ///< not a whole number (a string of digits is allowed) in 1..1000
  TooManySources,       ///< sourceQueueArns with more than 10 elements
  SourcesNotAllowed,    ///< sourceQueueArns without redrivePermission "byQueue", or the other way round
};

/// Whole decimal number with an optional minus sign.
Result<std::int64_t, SettingError> parse_whole_number(std::string_view text);

namespace detail {
/// A whole number of some unit, kept in range. `Tag` makes each use its own type.
template <class Tag, std::int64_t Min, std::int64_t Max, std::int64_t Default>
class Bounded {
 public:
  static constexpr std::int64_t kMin = Min;
  static constexpr std::int64_t kMax = Max;
  static constexpr std::int64_t kDefault = Default;

  constexpr Bounded() = default;
  static Result<Bounded, SettingError> of(std::int64_t value) {
    if (value < Min || value > Max) return SettingError::OutOfRange;
    return Bounded(value);
  }
  static Result<Bounded, SettingError> parse(std::string_view text) {
    const auto number = parse_whole_number(text);
    if (!number) return number.error();
    return of(*number);
  }
  [[nodiscard]] constexpr std::int64_t count() const { return value_; }
  friend constexpr auto operator<=>(const Bounded&, const Bounded&) = default;

 protected:
  explicit constexpr Bounded(std::int64_t value) : value_(value) {}

 private:
  std::int64_t value_ = Default;
};

template <class Tag, std::int64_t Min, std::int64_t Max, std::int64_t Default>
class BoundedSeconds : public Bounded<Tag, Min, Max, Default> {
  using Base = Bounded<Tag, Min, Max, Default>;

 public:
  constexpr BoundedSeconds() = default;
  static Result<BoundedSeconds, SettingError> of(std::int64_t value) {
    const auto checked = Base::of(value);
    if (!checked) return checked.error();
    return BoundedSeconds(*checked);
  }
  static Result<BoundedSeconds, SettingError> of(std::chrono::seconds value) { return of(value.count()); }
  static Result<BoundedSeconds, SettingError> parse(std::string_view text) {
    const auto checked = Base::parse(text);
    if (!checked) return checked.error();
    return BoundedSeconds(*checked);
  }
  [[nodiscard]] constexpr std::chrono::seconds value() const { return std::chrono::seconds{this->count()}; }
  friend constexpr auto operator<=>(const BoundedSeconds&, const BoundedSeconds&) = default;

 private:
  explicit constexpr BoundedSeconds(Base base) : Base(base) {}
};
}  // namespace detail

/// How long a received message stays hidden: 0 to 43,200 s, 30 s unless set. [SQS VisibilityTimeout]
using VisibilityTimeout = detail::BoundedSeconds<struct VisibilityTimeoutTag, 0, 43'200, 30>;
/// How long a sent message stays hidden: 0 to 900 s, 0 unless set. [SQS DelaySeconds]
using DeliveryDelay = detail::BoundedSeconds<struct DeliveryDelayTag, 0, 900, 0>;
/// How long a message is kept: 60 s to 14 days, 4 days unless set. [SQS MessageRetentionPeriod]
using RetentionPeriod = detail::BoundedSeconds<struct RetentionPeriodTag, 60, 1'209'600, 345'600>;
/// How long a receive waits for a message: 0 to 20 s, 0 unless set. [SQS ReceiveMessageWaitTimeSeconds]
using ReceiveWait = detail::BoundedSeconds<struct ReceiveWaitTag, 0, 20, 0>;
/// Largest message that a queue takes, body and attributes: 1,024 to 1,048,576 bytes. [SQS MaximumMessageSize]
using MaximumMessageSize = detail::Bounded<struct MaximumMessageSizeTag, 1'024, 1'048'576, 1'048'576>;
/// How many messages a receive asks for: 1 to 10, 1 unless said. [SQS MaxNumberOfMessages]
using MaxMessages = detail::Bounded<struct MaxMessagesTag, 1, 10, 1>;
/// How long a KMS data key is used again: 60 to 86,400 s, 300 s unless set. [SQS KmsDataKeyReusePeriodSeconds]
using KeyReusePeriod = detail::BoundedSeconds<struct KeyReusePeriodTag, 60, 86'400, 300>;

/// Messages received this often and not deleted move away at the next receive.
/// {"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq","maxReceiveCount":5}   [SQS RedrivePolicy]
struct RedrivePolicy {
  QueueKey dead_letter_queue;
  std::uint32_t max_receive_count = 10;  ///< 1 to 1000

  /// Accepts the count as a number or as a string of digits, as AWS does.
  static Result<RedrivePolicy, SettingError> parse(std::string_view json);
  /// The canonical text: the sample above.
  [[nodiscard]] std::string json() const;
  friend bool operator==(const RedrivePolicy&, const RedrivePolicy&) = default;
};

/// Which queues may name this one as their dead-letter queue.
/// {"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:work"]}   [SQS RedriveAllowPolicy]
struct RedriveAllowPolicy {
  enum class Permission : std::uint8_t { AllowAll, DenyAll, ByQueue };
  Permission permission = Permission::AllowAll;
  std::vector<QueueKey> sources;  ///< 1 to 10 with ByQueue, else empty

  static Result<RedriveAllowPolicy, SettingError> parse(std::string_view json);
  [[nodiscard]] std::string json() const;
  [[nodiscard]] bool allows(const QueueKeyView& source) const;
  friend bool operator==(const RedriveAllowPolicy&, const RedriveAllowPolicy&) = default;
};

/// What a deduplication id is compared within. "queue" | "messageGroup"   [SQS DeduplicationScope]
enum class DeduplicationScope : std::uint8_t { Queue, MessageGroup };
/// "perQueue" | "perMessageGroupId"   [SQS FifoThroughputLimit]
enum class FifoThroughputLimit : std::uint8_t { PerQueue, PerMessageGroupId };

Result<DeduplicationScope, SettingError> parse_deduplication_scope(std::string_view text);
Result<FifoThroughputLimit, SettingError> parse_fifo_throughput_limit(std::string_view text);
std::string_view text_of(DeduplicationScope scope);
std::string_view text_of(FifoThroughputLimit limit);
/// "true" | "false" in any case.
Result<bool, SettingError> parse_boolean(std::string_view text);

/// The attributes that can be given or differ. The order is fixed: it is part of record encodings.
enum class QueueAttribute : std::uint8_t {
  Visibility,
  Delay,
  Retention,
  MaximumSize,
  Wait,
  RedrivePolicy,
  RedriveAllowPolicy,
  Policy,
  FifoQueue,
  ContentBasedDeduplication,
  DeduplicationScope,
  FifoThroughputLimit,
  KmsMasterKeyId,
  KmsKeyReuse,
  ManagedEncryption,  ///< SqsManagedSseEnabled
};

/// All that a caller can set. Values of the FIFO part mean nothing on a standard queue.
struct QueueSettings {
  VisibilityTimeout visibility_timeout;
  DeliveryDelay delivery_delay;
  RetentionPeriod retention_period;
  MaximumMessageSize maximum_message_size;
  ReceiveWait receive_wait;
  std::optional<RedrivePolicy> redrive_policy;
  std::optional<RedriveAllowPolicy> redrive_allow_policy;
  std::string policy;  ///< the access policy's text as it was given; empty: none
  bool fifo = false;   ///< fixed when the queue is created
  bool content_based_deduplication = false;
  DeduplicationScope deduplication_scope = DeduplicationScope::Queue;
  FifoThroughputLimit fifo_throughput_limit = FifoThroughputLimit::PerQueue;
  std::string kms_master_key_id;  ///< empty: none
  std::optional<KeyReusePeriod> kms_key_reuse_period;
  bool managed_encryption = true;

  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

/// Attributes of a CreateQueue or SetQueueAttributes call; absent: not mentioned. For the texts, an empty one takes the
/// setting away, as AWS does.
struct AttributeChanges {
  /// A setting that can be taken away: `value` empty means just that.
  template <class T>
  struct Removable {
    std::optional<T> value;
    friend bool operator==(const Removable&, const Removable&) = default;
  };
  std::optional<VisibilityTimeout> visibility_timeout;
  std::optional<DeliveryDelay> delivery_delay;
  std::optional<RetentionPeriod> retention_period;
  std::optional<MaximumMessageSize> maximum_message_size;
  std::optional<ReceiveWait> receive_wait;
  std::optional<Removable<RedrivePolicy>> redrive_policy;
  std::optional<Removable<RedriveAllowPolicy>> redrive_allow_policy;
  std::optional<std::string> policy;
  std::optional<bool> fifo;
  std::optional<bool> content_based_deduplication;
  std::optional<DeduplicationScope> deduplication_scope;
  std::optional<FifoThroughputLimit> fifo_throughput_limit;
  std::optional<std::string> kms_master_key_id;
  std::optional<KeyReusePeriod> kms_key_reuse_period;
  std::optional<bool> managed_encryption;

  friend bool operator==(const AttributeChanges&, const AttributeChanges&) = default;
};

/// `settings` with the changes made. A key id turns managed encryption off; taking it away leaves it off. [SQS SSE]
QueueSettings with_changes(QueueSettings settings, const AttributeChanges& changes);

/// The first attribute that `wanted` mentions with another value than `existing` has; nullopt if they agree. [SQS CreateQueue]
std::optional<QueueAttribute> first_difference(const QueueSettings& existing, const AttributeChanges& wanted);

}  // namespace fanfare::queue
