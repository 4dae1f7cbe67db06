// How queues are named: account, region and name; the ARN is another spelling of the same three.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace fanfare::queue {

/// A queue's name as a caller gives it; views, valid during the call.
struct QueueKeyView {
  std::string_view account;  ///< "000000000000"
  std::string_view region;   ///< "us-east-1"
  std::string_view name;     ///< "summarise", "orders.fifo"

  friend bool operator==(const QueueKeyView&, const QueueKeyView&) = default;
  friend auto operator<=>(const QueueKeyView&, const QueueKeyView&) = default;
};

/// A queue's name, owned. Ordered by account, region, name.
struct QueueKey {
  AccountId account;
  Region region;
  QueueName name;

  QueueKey() = default;
  QueueKey(AccountId its_account, Region its_region, QueueName its_name)
      : account(std::move(its_account)), region(std::move(its_region)), name(std::move(its_name)) {}
  explicit QueueKey(QueueKeyView key) : account(key.account), region(key.region), name(key.name) {}

  [[nodiscard]] QueueKeyView view() const { return {account.str(), region.str(), name.str()}; }
  /// "arn:aws:sqs:us-east-1:000000000000:summarise"
  [[nodiscard]] QueueArn arn() const;

  friend bool operator==(const QueueKey&, const QueueKey&) = default;
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

/// The parts of "arn:aws:sqs:REGION:ACCOUNT:NAME"; nullopt for any other text. Views into `arn`.
/// Whether such a queue exists, or the name is allowed, is not looked at.
std::optional<QueueKeyView> parse_queue_arn(std::string_view arn);

/// 1 to 80 of [A-Za-z0-9_-]; a FIFO queue's name ends in ".fifo", which counts. [SQS quotas]
bool is_valid_queue_name(std::string_view name);

/// A queue's number: names one life of a queue (a queue created again under the same name has another one).
/// The partition that owns the queue is part of it; today there is one partition, 0.
struct QueueId {
  std::uint32_t number = 0;  ///< from 1; 0: none
  std::uint16_t partition = 0;

  friend constexpr bool operator==(const QueueId&, const QueueId&) = default;
  friend constexpr auto operator<=>(const QueueId&, const QueueId&) = default;
};

/// A message's place in its queue: increasing, never used twice in a queue's life, not even after a crash that lost
/// the end of the log: the upper 20 bits are the epoch (number of the process's start) in which it was given out.
/// Printed with 20 digits it is the SequenceNumber of FIFO queues. [SQS FIFO key terms]
struct SequenceNumber {
  std::uint64_t value = 0;

  static constexpr int kEpochShift = 44;
  /// The first one of an epoch; the counter below starts at 1.
  static constexpr SequenceNumber first_of(std::uint32_t epoch) {
    return {(static_cast<std::uint64_t>(epoch) << kEpochShift) + 1};
  }
  /// "00000000000000000017"
  [[nodiscard]] std::string str() const;

  friend constexpr bool operator==(const SequenceNumber&, const SequenceNumber&) = default;
  friend constexpr auto operator<=>(const SequenceNumber&, const SequenceNumber&) = default;
};

/// Names one delivery of one message. Callers see it as opaque, authenticated text (the API's work), so a handle that
/// reaches the engine was once made by it. [SQS ReceiveMessage]
struct ReceiptHandle {
  QueueId queue;
  SequenceNumber message;
  std::uint32_t receipt = 0;  ///< number of this delivery among the message's deliveries, from 1; with the undelivered ones
  std::uint32_t epoch = 0;    ///< start of the process that made the delivery

  friend constexpr bool operator==(const ReceiptHandle&, const ReceiptHandle&) = default;
};

}  // namespace fanfare::queue
