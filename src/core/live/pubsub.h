// The pub/sub registry: who waits for which trigger with which arguments, and what is buffered for whom.
// Rule 1: an event visits its matching subscribers only: trigger, then one hash lookup for each set of argument paths
//         in use.
// Rule 2: publish() puts the event into each matching subscriber's buffer before it returns; then the message may be
//         deleted. It promises nothing about a browser. [L7]
// Rule 3: a full buffer concerns its own subscriber only: it loses its oldest events (counted) or is cut off. [L9]
// Rule 4: unsubscribe removes that id and nothing else. [L3]
// Rule 5: an event without a listener is deletable; a malformed one is not; a duplicate reaches nobody and is
//         deletable. [L5, L6, L8]
// Rule 6: no I/O, clock, thread or callback. Not thread-safe: a loop owns a registry of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/live/duplicate_window.h"
#include "core/live/event.h"
#include "core/live/match.h"

namespace fanfare::live {

/// Names one subscription for ever: ids are not given out twice. Zero is none.
struct SubscriptionId {
  std::uint64_t value = 0;
  friend auto operator<=>(const SubscriptionId&, const SubscriptionId&) = default;
};

enum class SlowConsumer : std::uint8_t {
  Disconnect,  ///< A full buffer ends the subscription; its owner closes with a resumable code.
  DropOldest,  ///< A full buffer loses its oldest events; Taken::dropped says how many.
};

struct BufferRules {
  /// Payload bytes plus kBufferedEventBytes for each event. An event that is larger alone counts as an overflow.
  std::size_t bytes_max = 1024 * 1024;
  SlowConsumer policy = SlowConsumer::Disconnect;
};

/// What a buffered event costs its subscriber beside the payload.
inline constexpr std::size_t kBufferedEventBytes = 64;

enum class SubscribeError {
  Closed,                ///< close() was called.
  NoTrigger,             ///< The list of triggers is empty or holds an empty name.
  TooManySubscriptions,  ///< Limits::subscriptions_max are there.
};

enum class Acceptance : std::uint8_t {
  Accepted,       ///< In the buffer.
  DroppedOldest,  ///< In the buffer (or too large for it), at the cost of older events.
  Overflowed,     ///< Policy Disconnect: the buffer is gone and the subscription waits for its unsubscribe().
};

struct Match {
  SubscriptionId subscription;
  Acceptance acceptance;
  friend bool operator==(const Match&, const Match&) = default;
};

enum class Outcome : std::uint8_t {
  Dispatched,  ///< Accepted into the buffer of each match, or refused by it according to its policy.
  NoListener,  ///< Valid, and nobody waits for it. [L5]
  Duplicate,   ///< The id was dispatched within the window. [L8]
  Malformed,   ///< `fault` says why. [L6]
  Closed,      ///< After close(): leave the message to another process.
};

struct Published {
  Outcome outcome = Outcome::NoListener;
  std::optional<EventFault> fault;
  std::vector<Match> matches;  ///< Whose owners to wake. Each subscription at most once.

  /// Whether the poller deletes the message from its queue.
  [[nodiscard]] bool deletable() const { return outcome != Outcome::Malformed && outcome != Outcome::Closed; }
};

struct Taken {
  std::vector<SharedEvent> events;  ///< In the order of publish().
  std::uint64_t dropped = 0;        ///< Events lost since the last take(), all of them older than `events`.
  bool overflowed = false;          ///< Cut off by SlowConsumer::Disconnect: nothing more will come.
};

/// A payload member that the publisher knows already, so that nothing need be parsed.
struct NamedScalar {
  std::string_view path;
  Scalar value;
};

/// Totals since the start, for metrics.
struct Counters {
  std::uint64_t received = 0;
  std::uint64_t dispatched = 0;  ///< Events with at least one match.
  std::uint64_t without_listener = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t malformed = 0;
  std::uint64_t listener_failures = 0;  ///< Overflows under either policy.
};

class PubSub {
 public:
  struct Limits {
    std::size_t subscriptions_max = 1'000'000;
    DuplicateWindow::Limits duplicates;
  };
  PubSub();
  explicit PubSub(Limits limits);
  PubSub(PubSub&&) noexcept;
  PubSub& operator=(PubSub&&) noexcept;
  ~PubSub();

  /// From now on events of any of these triggers that match the filter are buffered. A trigger named twice counts once.
  Result<SubscriptionId, SubscribeError> subscribe(std::span<const Trigger> triggers, Filter filter,
                                                   BufferRules rules = {});

  /// False: there is no such subscription (any more). What was buffered for it is gone.
  bool unsubscribe(SubscriptionId id);

  /// Parses the payload once, for validity and for the members that filters on this trigger name.
  Published publish(SharedEvent event, Timestamp now);

  /// The same for a publisher inside the process that vouches for the payload: a filter sees `members` and nothing
  /// else.
  Published publish_known(SharedEvent event, std::span<const NamedScalar> members, Timestamp now);

  /// Removes and returns up to `events_max` of the oldest buffered events. Empty for an unknown id.
  Taken take(SubscriptionId id, std::size_t events_max = SIZE_MAX);

  /// Ends everything: later subscribe() and publish() say Closed. Returns the subscriptions that were there, oldest
  /// slot first.
  std::vector<SubscriptionId> close();

  [[nodiscard]] bool closed() const;
  [[nodiscard]] std::size_t subscriptions() const;
  /// How many subscriptions wait for a trigger, whatever their filter.
  [[nodiscard]] std::size_t listeners(const Trigger& trigger) const;
  [[nodiscard]] const Counters& counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fanfare::live
