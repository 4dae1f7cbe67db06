// One SQS queue's messages as a pure state machine.
//
// Rule 1: no I/O, clock, randomness, lock or log here; time and fresh ids arrive as arguments.
// Rule 2: decide_*() and first_ready() are const. apply() is the only mutator and cannot fail, so replaying stored events
//         rebuilds the queue after a crash. advance() does what time alone decides, the same live and at replay.
// Rule 3: no operation is worse than O(log n) in the number of messages; nothing scans.
// Rule 4: order of a standard queue: by arrival, also for what comes back from a lease; a message that was received three
//         times and not deleted goes to the back, so that one that always fails cannot starve the others. [SQS metrics]
//         Message groups share a standard queue fairly, see tenants.h. A FIFO queue's order is that of its groups, see fifo_groups.h. Its delay is the queue's alone, so what is delayed
//         is a row in the order of arrival: no message passes a delayed one of its group. [SQS delay queues]
// Rule 6: begin_saving() fixes the entries as they are; save() gives them out in slices, whatever has changed since. An entry that is
//         about to change or to leave, and was not given out yet, is copied first: what that costs follows the changes, not the size.
// Rule 5: a lease or a delay that ends at t has ended at t, not after it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/message/deduplication.h"
#include "core/queue/entry.h"
#include "core/queue/fifo_groups.h"
#include "core/queue/group_names.h"
#include "core/queue/names.h"
#include "core/queue/row.h"
#include "core/queue/sequence_index.h"
#include "core/queue/settings.h"
#include "core/queue/slab.h"
#include "core/queue/slot_heap.h"
#include "core/queue/tenants.h"

namespace fanfare::queue {

// ---- Events ---------------------------------------------------------------------------------------------------------

/// A message arrives: sent, published, or moved here.
struct Arrived {
  MessageId id;
  SequenceNumber sequence;     ///< not below next_sequence()
  Timestamp sent_at{};         ///< of the original
  Timestamp visible_at{};      ///< a delay's end; not after `at`: visible now. FIFO queues go by their own delay
  Timestamp at{};              ///< when it arrives
  std::uint32_t payload = 0;
  std::string_view group;      ///< its name; empty: none. FIFO queues always have one
  std::optional<message::DeduplicationWindow::Key> deduplication;  ///< FIFO queues only: known from now on
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
/// A message's last delivery did not reach the caller: visible at once, the delivery is not counted. Its lease may be over.
struct Undelivered {
  SequenceNumber sequence;
  Timestamp at{};
};
/// A message leaves: deleted, or moved to another queue.
struct Removed {
  SequenceNumber sequence;
  Timestamp at{};
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
  explicit Queue(SequenceNumber next = {1}, bool fifo = false)
      : next_(next), groups_(fifo ? std::make_unique<FifoGroups>() : nullptr) {}
  Queue(Queue&&) noexcept = default;
  Queue& operator=(Queue&&) noexcept = default;

  [[nodiscard]] SequenceNumber next_sequence() const { return next_; }
  /// From now on sequence numbers are not below `next`: a new epoch begins.
  void raise_next_sequence(SequenceNumber next) {
    if (next_ < next) next_ = next;
  }

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// Null pointer if there is no such message. Valid as long as the message is here.
  [[nodiscard]] const Entry* find(SequenceNumber sequence) const;
  /// A message's entry will be needed soon; nothing if there is none.
  void prefetch(SequenceNumber sequence) const {
    if (const std::uint32_t slot = index_.find(sequence); slot != SequenceIndex::kNone) entries_.prefetch(slot);
  }
  /// Of the oldest message by arrival; nullopt if empty.
  [[nodiscard]] std::optional<Timestamp> oldest_sent() const;
  /// When advance() will have something to do; nullopt: never. Exact.
  [[nodiscard]] std::optional<Timestamp> next_change(RetentionPeriod retention) const;
  /// When a message will become visible, unless one is visible already; nullopt: never by time alone.
  [[nodiscard]] std::optional<Timestamp> next_visible() const;

  /// The message that a receive takes next; null pointer if none is visible. advance() has been called for this time.
  /// `in_hand`: the message that this receive took last and still holds; null pointer for the first. FIFO queues go on with
  /// its group.
  [[nodiscard]] const Entry* first_ready(const Entry* in_hand = nullptr) const;
  [[nodiscard]] bool fifo() const { return groups_ != nullptr; }
  /// The name of the entry's group; empty: none.
  [[nodiscard]] std::string_view group_of(const Entry& entry) const {
    return entry.group == 0 ? std::string_view{} : names_.name_of(entry.group);
  }
  /// Calls visit(number, name) for each group that has messages, in the order of the names.
  template <class Visit>
  void for_each_group(Visit&& visit) const {
    names_.for_each(visit);
  }
  /// Whether the group is noisy; standard queues only.
  [[nodiscard]] bool is_noisy(std::uint32_t group) const { return tenants_ != nullptr && tenants_->is_noisy(group); }
  [[nodiscard]] std::size_t noisy_groups() const { return tenants_ == nullptr ? 0 : tenants_->noisy(); }
  /// Groups with messages in flight; 0 on standard queues. [SQS CloudWatch metrics]
  [[nodiscard]] std::size_t locked_groups() const { return groups_ == nullptr ? 0 : groups_->locked(); }
  /// What a message of this deduplication id was answered with less than five minutes ago; null pointer if it is new.
  [[nodiscard]] const message::DeduplicationWindow::Accepted* find_duplicate(const message::DeduplicationWindow::Key& key,
                                                                             Timestamp now) const {
    return deduplication_.find(key, now);
  }
  /// FIFO queues: a message of this key and group will arrive soon. First the one for all of a batch, then the other, which waits for
  /// what the first began to load.
  void prefetch_places(const message::DeduplicationWindow::Key& key, std::string_view group) const {
    deduplication_.prefetch_place(key);
    names_.prefetch(group);
  }
  void prefetch(const message::DeduplicationWindow::Key& key, std::string_view group) const {
    deduplication_.prefetch(key);
    groups_->prefetch_tail(entries_, names_.number_of(group));
  }
  [[nodiscard]] const message::DeduplicationWindow& deduplication() const { return deduplication_; }
  /// Whether a delete with this handle removes the message. False also for a message that is gone, and for an outdated
  /// handle: one of an earlier delivery than the last. A handle of a delivery that this state does not know, made before
  /// a crash that lost its record, counts as newer. [SQS DeleteMessage]
  [[nodiscard]] bool decide_delete(const ReceiptHandle& handle) const;
  [[nodiscard]] Result<VisibilityChanged, VisibilityError> decide_change(const ReceiptHandle& handle,
                                                                         VisibilityTimeout timeout, Timestamp now) const;
  /// Whether the message is here and the handle's lease has ended, or somebody has received it since. False for a delivery
  /// that this state does not know. FIFO queues refuse such a delete. [SQS DeleteMessage]
  [[nodiscard]] bool has_expired(const ReceiptHandle& handle) const;
  /// Whether the handle names the lease that runs now.
  [[nodiscard]] bool is_leased(const ReceiptHandle& handle) const;
  /// Whether the handle names the last delivery, and that was not given back yet. Its lease may be over: what nobody has
  /// received since was received by nobody, and must not come nearer to its dead-letter queue.
  [[nodiscard]] bool may_give_back(const ReceiptHandle& handle) const;

  void apply(const Arrived& event);
  void apply(const Leased& event);
  void apply(const VisibilityChanged& event);
  void apply(const Undelivered& event);
  /// The entry that left, so that its owner can let go of the payload.
  Entry apply(const Removed& event);

  /// Ends leases and delays, and removes what is older than the retention period, at most `budget` of each; appends what
  /// it removed to `removed`. Returns whether something is left to do for this time. How often it is called makes no difference:
  /// the living engine looks at a queue at other times than a replay of its log.
  bool advance(Timestamp now, RetentionPeriod retention, std::size_t budget, std::vector<Entry>& removed);

  /// Removes up to `budget` messages and deduplication ids in no particular order; for queues that were purged or deleted.
  /// Returns how many of both; less than `budget`: nothing is left.
  std::size_t drain(std::size_t budget, std::vector<Entry>& removed);

  /// Calls visit(entry) in the order of the sequence numbers, from `from` on, until it returns false.
  template <class Visit>
  void for_each(SequenceNumber from, Visit&& visit) const {
    index_.for_each(from, [&](std::uint32_t slot) { return visit(entries_[slot]); });
  }
  /// The delay of all messages of a FIFO queue, those that are delayed now included. [SQS delay queues]
  void set_delay(DeliveryDelay delay) { fifo_delay_ = delay.value(); }
  /// Calls visit(name, when it is quiet unless something is sent) for each noisy group, in no particular order.
  template <class Visit>
  void for_each_noisy_group(Visit&& visit) const {
    if (tenants_ != nullptr)
      tenants_->for_each_noisy([&](std::uint32_t group, Timestamp quiet_at) { visit(names_.name_of(group), quiet_at); });
  }
  /// Whether it is a standard queue that had a message with a group: from then on processing time is counted.
  [[nodiscard]] bool has_tenants() const { return tenants_ != nullptr; }
  /// Of the whole queue, and of a group; with has_tenants() only.
  [[nodiscard]] const ProcessingTime& processing_time() const { return tenants_->time(); }
  [[nodiscard]] ProcessingTime processing_time(std::uint32_t group) const { return tenants_->time(group); }

  /// From now on save() and save_times() give what is now, until end_saving(). O(1).
  void begin_saving(Timestamp now);
  /// Calls visit(entry, rank, group) for up to `budget` of them, in the order of the sequence numbers, from where the call before
  /// stopped; rank and group are for restore(). Returns whether there may be more. Before that, prepare(entry) for some entries at once,
  /// so that what visit() looks at of each can be on its way into the processor's cache.
  template <class Prepare, class Visit>
  bool save(std::size_t budget, Prepare&& prepare, Visit&& visit);
  /// Calls visit(name, what ended) for each group with recent processing time, looking at up to `budget` of them, from where the
  /// call before stopped. Returns whether there may be more.
  template <class Visit>
  bool save_times(std::size_t budget, Visit&& visit);
  void end_saving() { saving_.reset(); }
  /// Instead, before save() has given out everything: nothing is kept any more, and up to `budget` entries that were kept are forgotten.
  /// Returns whether there are more, for another call.
  bool abandon_saving(std::size_t budget);
  /// The rank by which a Returned message is taken; for debug output and snapshots.
  [[nodiscard]] std::uint64_t rank_of(const Entry& entry) const;
  /// Puts an entry from a snapshot back; in the order of the sequence numbers. `rank` and `group` as rank_of and group_of
  /// gave them.
  void restore(const Entry& entry, std::uint64_t rank, std::string_view group);
  /// After its entries; the group has some.
  [[nodiscard]] bool has_group(std::string_view group) const { return names_.number_of(group) != 0; }
  void restore_noisy(std::string_view group, Timestamp quiet_at);
  /// What ended: of the queue, which had messages with groups, and of a group.
  void restore_time(const ProcessingTime::Ended& ended);
  void restore_time(std::string_view group, const ProcessingTime::Ended& ended);
  /// After all of that: counts the deliveries that run. `counted`: restore_time() was told of what they took before now's five minutes.
  void restore_deliveries(Timestamp now, bool counted);
  void restore_duplicate(const message::DeduplicationWindow::Key& key, const message::DeduplicationWindow::Accepted& accepted) {
    deduplication_.insert(key, accepted);
  }

 private:
  /// Of begin_saving(): what was not given out yet, and what it was when it had to change.
  struct Saving {
    struct Kept {
      Entry entry;
      std::uint64_t rank;
      std::string group;
    };
    SequenceNumber from{0};
    SequenceNumber below;  // what arrives later is no part of it
    std::map<std::uint64_t, Kept> kept;
    // Of the groups' processing time the same, by number.
    struct KeptTime {
      std::string group;
      ProcessingTime::Ended ended;
    };
    std::int64_t now = 0;
    std::uint32_t next_time = 1;
    std::uint32_t times_end = 0;
    std::map<std::uint32_t, KeptTime> kept_times;
  };
  void keep(std::uint32_t slot);
  void keep_time(std::uint32_t group);
  void make_visible(std::uint32_t slot);
  void stand_returned(std::uint32_t slot, std::uint64_t rank);
  void hide(std::uint32_t slot, EntryState state, Timestamp until, Timestamp at);
  /// With tenants only: a delivery begins with `at`, or had begun and was not counted.
  void begin_delivery(std::uint32_t slot, Timestamp at);
  /// Nothing if the entry is not Leased, else its delivery ends at `at`, or ended with the lease before that.
  void end_delivery(std::uint32_t slot, Timestamp at, Timestamp now);
  void judge(std::uint32_t group, Timestamp at) {
    if (group != 0) tenants_->judge(entries_, group, at);
  }
  void count_hidden(std::uint32_t slot, EntryState state, Timestamp until);
  void leave_state(std::uint32_t slot);
  void append_ready(std::uint32_t slot);
  void append_delayed(std::uint32_t slot);
  void enter_group(std::uint32_t slot, std::string_view group);
  /// Where a standard queue's visible entry waits.
  Waiting& waiting_of(const Entry& entry) { return entry.group == 0 ? waiting_ : tenants_->waiting(entry.group); }
  [[nodiscard]] const Waiting& waiting_of(const Entry& entry) const {
    return entry.group == 0 ? waiting_ : tenants_->waiting(entry.group);
  }
  void update_tenant(std::uint32_t group) {
    if (group != 0) tenants_->update(entries_, group);
  }
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

  GroupNames names_;

  // Standard queues only.
  Waiting waiting_;                   // visible entries without a group
  std::unique_ptr<Tenants> tenants_;  // those with one; null: there never was one

  SlotHeap<std::int64_t> hidden_;     // Leased and (standard queues) Delayed entries by the time at which that ends, Unix ms

  // Retention: sent times follow the sequence but for messages that were moved here; those are in a heap of their own,
  // from which an entry is dropped when it comes to the top and is gone.
  struct Early {
    std::int64_t sent_ms;
    SequenceNumber sequence;
    friend bool operator>(const Early& a, const Early& b) { return a.sent_ms > b.sent_ms; }
  };
  std::vector<Early> early_;
  std::int64_t latest_sent_ms_ = INT64_MIN;
  // What earliest_sent() found, as long as it holds: each command asks for it.
  mutable Timestamp earliest_{};
  mutable bool earliest_is_known_ = false;

  // FIFO queues only: instead of the list and the heap of visible entries.
  std::unique_ptr<FifoGroups> groups_;
  Row delayed_;
  seconds fifo_delay_{0};
  message::DeduplicationWindow deduplication_;

  std::unique_ptr<Saving> saving_;  // null: nobody saves
  std::uint32_t drained_ = 0;       // drain() has emptied the slots before this one
};

template <class Prepare, class Visit>
bool Queue::save(std::size_t budget, Prepare&& prepare, Visit&& visit) {
  if (saving_ == nullptr) return false;
  Saving& saving = *saving_;
  const auto give_kept = [&] {
    const auto first = saving.kept.begin();
    visit(std::as_const(first->second.entry), first->second.rank, std::string_view{first->second.group});
    saving.from = {first->first + 1};
    saving.kept.erase(first);
    --budget;
  };
  const auto give = [&](const Entry& entry) {
    if (entry.sequence >= saving.below) return false;
    while (budget > 0 && !saving.kept.empty() && saving.kept.begin()->first < entry.sequence.value) give_kept();
    if (budget == 0) return false;
    if (!saving.kept.empty() && saving.kept.begin()->first == entry.sequence.value) {
      give_kept();
      return true;
    }
    visit(entry, rank_of(entry), group_of(entry));
    saving.from = {entry.sequence.value + 1};
    --budget;
    return true;
  };
  index_.for_each_block(saving.from, [&](std::span<const std::uint32_t> slots, std::span<const std::uint32_t> next) {
    if (slots.size() > budget) slots = slots.first(budget);
    for (const std::uint32_t slot : next) entries_.prefetch(slot);
    for (const std::uint32_t slot : slots) prepare(entries_[slot]);
    for (const std::uint32_t slot : slots)
      if (!give(entries_[slot])) return false;
    return budget > 0;
  });
  while (budget > 0 && !saving.kept.empty()) give_kept();
  return budget == 0;
}

template <class Visit>
bool Queue::save_times(std::size_t budget, Visit&& visit) {
  if (saving_ == nullptr) return false;
  Saving& saving = *saving_;
  for (; budget > 0 && saving.next_time < saving.times_end; --budget, ++saving.next_time) {
    const auto kept = saving.kept_times.find(saving.next_time);
    const auto ended = kept != saving.kept_times.end() ? kept->second.ended : tenants_->time(saving.next_time).ended(saving.now);
    if (!ended.empty()) visit(kept != saving.kept_times.end() ? std::string_view{kept->second.group} : names_.name_of(saving.next_time), ended);
    if (kept != saving.kept_times.end()) saving.kept_times.erase(kept);
  }
  return saving.next_time < saving.times_end;
}

}  // namespace fanfare::queue
