// One SQS queue's messages as a pure state machine.
//
// Rule 1: no I/O, clock, randomness, lock or log here; time and fresh ids arrive as arguments.
// Rule 2: decide_*() and first_ready() are const. apply() is the only mutator and cannot fail, so replaying stored events
//         rebuilds the queue after a crash. advance() does what time alone decides, the same live and at replay.
// Rule 3: no operation is worse than O(log n) in the number of messages; nothing scans.
// Rule 4: order of a standard queue: by arrival, also for what comes back from a lease; a message that was received three
//         times and not deleted goes to the back, so that one that always fails cannot starve the others. [SQS metrics]
// Rule 5: a lease or a delay that ends at t has ended at t, not after it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/queue/names.h"
#include "core/queue/sequence_index.h"
#include "core/queue/settings.h"
#include "core/queue/slab.h"
#include "core/queue/slot_heap.h"

namespace fanfare::queue {

enum class EntryState : std::uint8_t {
  Ready,     ///< visible and never hidden before: in the list of arrivals
  Returned,  ///< visible again after a lease or a delay: in the heap of what came back
  Leased,    ///< in flight
  Delayed,   ///< not yet visible
};

/// One message of one queue. Small, because there is one for each queue that a publication reaches; the content lies in
/// the payload that the entry names. Times are milliseconds since `sent_at`, which 32 bits hold for 49 days.
struct Entry {
  MessageId id;
  SequenceNumber sequence;
  Timestamp sent_at{};                    ///< counts for retention; kept when the message is dead-lettered
  std::uint32_t payload = 0;              ///< the engine's index
  std::uint32_t hidden_until_ms = 0;      ///< end of the lease or the delay
  std::uint32_t first_received_ms = 0;    ///< one more than the time; 0: never received
  std::uint32_t received_ms = 0;          ///< start of the last lease
  std::uint32_t receipt = 0;              ///< number of the last delivery; 0: none
  std::uint32_t receive_epoch = 0;        ///< epoch of the last delivery
  std::uint16_t undelivered = 0;          ///< deliveries that did not reach the caller and do not count
  EntryState state = EntryState::Ready;
  std::uint8_t reserved = 0;
  std::uint32_t group = 0;                ///< number of the message group; 0: none
  std::uint32_t envelope = 0;             ///< subscription whose envelope the copy needs; 0: none
  std::uint32_t dead_letter_source = 0;   ///< queue that it was moved away from; 0: none
  std::uint32_t link_a = 0;               ///< previous in a list, or place in a heap
  std::uint32_t link_b = 0;               ///< next in a list

  [[nodiscard]] std::uint32_t receive_count() const { return receipt - undelivered; }
  [[nodiscard]] Timestamp hidden_until() const { return sent_at + milliseconds{hidden_until_ms}; }
  [[nodiscard]] Timestamp received_at() const { return sent_at + milliseconds{received_ms}; }
  /// `sent_at` if it was never received.
  [[nodiscard]] Timestamp first_received_at() const {
    return sent_at + milliseconds{first_received_ms == 0 ? 0 : first_received_ms - 1};
  }
};
static_assert(sizeof(Entry) == 80, "ten million waiting messages must fit into 1.2 GB, see docs/adr/0001");

// ---- Events ---------------------------------------------------------------------------------------------------------

/// A message arrives: sent, published, or moved here.
struct Arrived {
  MessageId id;
  SequenceNumber sequence;     ///< not below next_sequence()
  Timestamp sent_at{};         ///< of the original
  Timestamp visible_at{};      ///< a delay's end; not after `at`: visible now
  Timestamp at{};              ///< when it arrives
  std::uint32_t payload = 0;
  std::uint32_t group = 0;
  std::uint32_t envelope = 0;
  std::uint32_t dead_letter_source = 0;
  std::uint32_t receipt = 0;        ///< deliveries so far: carried on by dead-lettering
  std::uint16_t undelivered = 0;
  std::uint32_t first_received_ms = 0;  ///< as in Entry
};
/// A visible message is handed out until `until`. With a timeout of 0 it is visible again at the next advance(), so that
/// one receive does not take it twice.
struct Leased {
  SequenceNumber sequence;
  std::uint32_t epoch = 0;
  Timestamp at{};
  Timestamp until{};
};
/// A leased message stays hidden until `until`; not after `at`: visible now.
struct VisibilityChanged {
  SequenceNumber sequence;
  Timestamp at{};
  Timestamp until{};
};
/// A leased message's delivery did not reach the caller: visible at once, the delivery is not counted.
struct Undelivered {
  SequenceNumber sequence;
};
/// A message leaves: deleted, or moved to another queue.
struct Removed {
  SequenceNumber sequence;
};

struct Counts {
  std::uint64_t visible = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

enum class VisibilityError : std::uint8_t {
  MessageGone,         ///< deleted, expired, purged or moved away
  NotInflight,         ///< the lease has run out, or the message was received again since
  BeyondTwelveHours,   ///< it would be hidden for more than 12 hours since the receive
};

class Queue {
 public:
  /// An empty queue; `next` is the first sequence number that it gives out.
  explicit Queue(SequenceNumber next = {1}) : next_(next) {}
  Queue(Queue&&) noexcept = default;
  Queue& operator=(Queue&&) noexcept = default;

  [[nodiscard]] SequenceNumber next_sequence() const { return next_; }
  /// From now on sequence numbers are not below `next`: a new epoch begins.
  void raise_next_sequence(SequenceNumber next) {
    if (next_ < next) next_ = next;
  }

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// Null pointer if there is no such message. Valid until the next apply() or advance().
  [[nodiscard]] const Entry* find(SequenceNumber sequence) const;
  /// Of the oldest message by arrival; nullopt if empty.
  [[nodiscard]] std::optional<Timestamp> oldest_sent() const;
  /// When advance() will have something to do; nullopt: never. Exact.
  [[nodiscard]] std::optional<Timestamp> next_change(RetentionPeriod retention) const;
  /// When a message will become visible, unless one is visible already; nullopt: never by time alone.
  [[nodiscard]] std::optional<Timestamp> next_visible() const;

  /// The message that a receive takes next; null pointer if none is visible. advance() has been called for this time.
  [[nodiscard]] const Entry* first_ready() const;
  /// Whether a delete with this handle removes the message. False also for a message that is gone, and for an outdated
  /// handle: one of an earlier delivery than the last. A handle of a delivery that this state does not know, made before
  /// a crash that lost its record, counts as newer. [SQS DeleteMessage]
  [[nodiscard]] bool decide_delete(const ReceiptHandle& handle) const;
  [[nodiscard]] Result<VisibilityChanged, VisibilityError> decide_change(const ReceiptHandle& handle,
                                                                         VisibilityTimeout timeout, Timestamp now) const;
  /// Whether the handle names the lease that runs now.
  [[nodiscard]] bool is_leased(const ReceiptHandle& handle) const;

  void apply(const Arrived& event);
  void apply(const Leased& event);
  void apply(const VisibilityChanged& event);
  void apply(const Undelivered& event);
  /// The entry that left, so that its owner can let go of the payload.
  Entry apply(const Removed& event);

  /// Ends leases and delays, and removes what is older than the retention period, at most `budget` of each; appends what
  /// it removed to `removed`. Returns whether something is left to do for this time.
  bool advance(Timestamp now, RetentionPeriod retention, std::size_t budget, std::vector<Entry>& removed);

  /// Removes up to `budget` messages in no particular order; for queues that were purged or deleted.
  void drain(std::size_t budget, std::vector<Entry>& removed);

  /// Calls visit(entry) in the order of the sequence numbers, from `from` on, until it returns false.
  template <class Visit>
  void for_each(SequenceNumber from, Visit&& visit) const {
    index_.for_each(from, [&](std::uint32_t slot) { return visit(entries_[slot]); });
  }
  /// For relocating contents: `entry.payload` of the message's content is now this one.
  void set_payload(SequenceNumber sequence, std::uint32_t payload);
  /// The rank by which a Returned message is taken; for debug output and snapshots.
  [[nodiscard]] std::uint64_t rank_of(const Entry& entry) const;
  /// Puts an entry from a snapshot back; in the order of the sequence numbers. `rank` as rank_of gave it.
  void restore(const Entry& entry, std::uint64_t rank);

 private:
  void make_visible(std::uint32_t slot);
  void hide(std::uint32_t slot, EntryState state, Timestamp until);
  void leave_state(std::uint32_t slot);
  void append_ready(std::uint32_t slot);
  void note_retention(const Entry& entry);
  [[nodiscard]] std::optional<Timestamp> earliest_sent() const;
  void drop_stale_early();
  Entry take_out(std::uint32_t slot);
  auto place() {
    return [this](std::uint32_t slot, std::uint32_t position) { entries_[slot].link_a = position; };
  }

  Slab<Entry> entries_;
  SequenceIndex index_;
  SequenceNumber next_;
  Counts counts_;

  std::uint32_t ready_head_ = Slab<Entry>::kNone;  // list of Ready entries, by sequence
  std::uint32_t ready_tail_ = Slab<Entry>::kNone;
  struct Place {
    std::uint64_t rank;  // the sequence number that the entry queues before
    std::uint64_t sequence;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  SlotHeap<Place> returned_;          // Returned entries
  SlotHeap<std::int64_t> hidden_;     // Leased and Delayed entries by the time at which that ends, Unix ms

  // Retention: sent times follow the sequence but for messages that were moved here; those are in a heap of their own,
  // from which an entry is dropped when it comes to the top and is gone.
  struct Early {
    std::int64_t sent_ms;
    SequenceNumber sequence;
    friend bool operator>(const Early& a, const Early& b) { return a.sent_ms > b.sent_ms; }
  };
  std::vector<Early> early_;
  std::int64_t latest_sent_ms_ = INT64_MIN;
};

}  // namespace fanfare::queue
