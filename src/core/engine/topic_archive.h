// What a FIFO topic archives, and how far a subscription's replay has come. [SNS message archiving and replay]
//
// Rule 1: the archive holds a reference to each content; whatever queues hold the message share it.
// Rule 2: what is dead (older than the retention, or the policy was taken away) stays dead and is the front of the archive.
//         It leaves in slices; nobody sees it any more in the meantime.
// Rule 3: what is new while a replay without an end runs is owed to the subscription: it is held in the archive, dead or
//         not, until the replay has come to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/log_position.h"
#include "base/time.h"
#include "core/engine/commands.h"

namespace fanfare::engine {

struct SubscriptionState;

struct ArchivedMessage {
  std::uint64_t sequence = 0;  ///< its place among the topic's publications
  Timestamp published_at{};
  std::uint32_t payload = 0;
};

/// A subscription's last replay. While it runs, the subscription gets nothing but through it.
struct Replay {
  ReplayStatus status = ReplayStatus::Pending;
  bool running = true;
  Timestamp start{};
  std::optional<Timestamp> end;
  std::uint64_t next = 0;       ///< of the topic's sequence: what comes next
  std::uint64_t live_from = 0;  ///< what was published since the replay began, and so is no replayed message

  /// Without an end, what is new comes behind what is replayed.
  [[nodiscard]] bool goes_on() const { return !end; }
  /// It has come to its end, and the subscription gets nothing new any more. [SNS Subscribe ReplayStatus]
  [[nodiscard]] bool is_closed() const { return !running && end.has_value(); }
  /// Whether messages from this one on must not leave the archive; the largest number: none.
  [[nodiscard]] std::uint64_t holds_from() const {
    return running ? std::max(next, live_from) : ~std::uint64_t{0};
  }

  // Transient.
  std::optional<Timestamp> at;  ///< when it goes on, see EngineCore::replays_due_
  std::vector<LogPosition> wanted;  ///< contents that it waits for
};

struct TopicArchive {
  using Messages = std::deque<ArchivedMessage>;
  static constexpr Timestamp kNever = Timestamp::max();

  Timestamp from = kNever;  ///< what was published before is dead; kNever: the topic has no archive policy
  milliseconds retention{0};
  Messages messages;                          ///< by sequence, which is also by time
  std::vector<SubscriptionState*> replaying;  ///< with a running replay, by number

  // Transient.
  std::optional<Timestamp> registered;  ///< the deadline that stands for it in EngineCore::archives_due_

  [[nodiscard]] bool is_active() const { return from != kNever; }
  /// What is published now is archived.
  [[nodiscard]] bool takes() const { return is_active() || !replaying.empty(); }
  /// What was published from here on can be replayed. [SNS BeginningArchiveTime]
  [[nodiscard]] Timestamp beginning(Timestamp now) const { return is_active() ? std::max(from, now - retention) : kNever; }
  [[nodiscard]] std::uint64_t held_from() const;
  [[nodiscard]] bool lives(const ArchivedMessage& message, Timestamp now) const {
    return message.published_at >= beginning(now) || message.sequence >= held_from();
  }
  /// The first from this number on.
  [[nodiscard]] Messages::const_iterator from_sequence(std::uint64_t sequence) const { return from_sequence(messages, sequence); }
  static Messages::const_iterator from_sequence(const Messages& messages, std::uint64_t sequence) {
    return std::lower_bound(messages.begin(), messages.end(), sequence,
                            [](const ArchivedMessage& message, std::uint64_t wanted) { return message.sequence < wanted; });
  }
  /// What the replay gives next; end(): nothing that is here.
  [[nodiscard]] Messages::const_iterator next_of(const Replay& replay, Timestamp now) const {
    return std::max(from_sequence(replay.next), first_living(now));
  }
  /// The first that lives.
  [[nodiscard]] Messages::const_iterator first_living(Timestamp now) const {
    const Timestamp begin = beginning(now);
    const std::uint64_t held = held_from();
    return std::partition_point(messages.begin(), messages.end(), [&](const ArchivedMessage& message) {
      return message.published_at < begin && message.sequence < held;
    });
  }
};

}  // namespace fanfare::engine
