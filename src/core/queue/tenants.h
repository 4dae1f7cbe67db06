// The message groups of one standard queue: whose message is received next, so that a tenant who floods the queue does not
// make the others wait. [SQS fair queues]
//
// Rule 1: a group that has something waiting becomes noisy when a message of it is received, or its lease is changed, and it has at
//         least 30 messages in flight and more than a tenth of all that are; or then, or when a message of it is deleted or given back,
//         and it has taken too much of the recent processing time (processing_time.h).
// Rule 2: what a quiet group, or nobody's group, has waiting goes before what noisy ones have; in the order of the queue.
// Rule 3: it is quiet again when nothing of it waits any more, and when five minutes have passed in which nothing was sent to it,
//         counted from when it became noisy. What it has then in flight, and the time that it took, make it noisy anew by rule 1.
// Rule 4: all of that follows from the events and their times. When quieten() is called decides only from when on first_*() know it.
// Rule 5: among noisy groups the one with the fewest messages in flight goes first. Nothing is refused or held back.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/queue/entry.h"
#include "core/queue/place.h"
#include "core/queue/processing_time.h"
#include "core/queue/row.h"
#include "core/queue/slab.h"
#include "core/queue/slot_heap.h"

namespace fanfare::queue {

/// Visible entries of one owner: those that were never hidden, and those that came back.
struct Waiting {
  Row ready;
  SlotHeap<Place> returned;

  [[nodiscard]] bool empty() const { return ready.head == Row::kNone && returned.empty(); }
  /// The slot that goes first; not when empty.
  [[nodiscard]] std::uint32_t first(const Slab<Entry>& entries) const {
    if (ready.head == Row::kNone) return returned.top().slot;
    return !returned.empty() && returned.top().key < fresh(entries) ? returned.top().slot : ready.head;
  }
  [[nodiscard]] Place place(const Slab<Entry>& entries) const {
    return first(entries) == ready.head ? fresh(entries) : returned.top().key;
  }

 private:
  [[nodiscard]] Place fresh(const Slab<Entry>& entries) const {
    const std::uint64_t sequence = entries[ready.head].sequence.value;
    return {sequence, Place::kOwnPlace, sequence};
  }
};

class Tenants {
 public:
  /// So long after its last send, or after it became noisy, a group is quiet. [SQS fair queues in detail]
  static constexpr milliseconds kQuietAfter{300'000};

  /// The waiting entries of a group. Whoever changes them calls update() afterwards.
  Waiting& waiting(std::uint32_t group) { return group_of(group).waiting; }
  [[nodiscard]] const Waiting& waiting(std::uint32_t group) const { return groups_[group].waiting; }
  void update(const Slab<Entry>& entries, std::uint32_t group);

  /// A message of the group is in flight from now on, one of `all_in_flight` / no longer.
  void lease(const Slab<Entry>& entries, std::uint32_t group, std::uint64_t all_in_flight, Timestamp at);
  void unlease(const Slab<Entry>& entries, std::uint32_t group);
  /// A message arrived for the group.
  void arrive(const Slab<Entry>& entries, std::uint32_t group, Timestamp at);
  /// Its last message is gone, and the number may be another group's. What it took counts for the queue, no longer for it.
  void forget(std::uint32_t group) {
    if (group < times_.size()) times_[group] = {};
  }

  /// A delivery begins, or began earlier and was not counted / one that had begun then has ended, at the latest now. 0: of a
  /// message without a group, which counts for the queue.
  void begin(std::uint32_t group, Timestamp begun, Timestamp now);
  void end(std::uint32_t group, Timestamp begun, Timestamp ended, Timestamp now);
  /// After end(), when somebody ended it: it may have taken too long.
  void judge(const Slab<Entry>& entries, std::uint32_t group, Timestamp at);
  /// Of the whole queue; of a group.
  [[nodiscard]] const ProcessingTime& time() const { return all_; }
  [[nodiscard]] ProcessingTime time(std::uint32_t group) const { return group < times_.size() ? times_[group] : ProcessingTime{}; }
  /// Groups from this number on have taken no time.
  [[nodiscard]] std::uint32_t times_end() const { return static_cast<std::uint32_t>(times_.size()); }

  /// At most `budget` groups are quiet again whose five minutes have passed. Returns whether there are more.
  bool quieten(const Slab<Entry>& entries, Timestamp now, std::size_t budget);
  /// When quieten() will have something to do.
  [[nodiscard]] std::optional<Timestamp> next_quiet() const {
    if (ends_.empty()) return std::nullopt;
    return timestamp_from_unix_ms(ends_.top().key);
  }

  /// The group whose message goes first among the quiet ones, or among the noisy ones; 0: none waits there.
  [[nodiscard]] std::uint32_t first_quiet() const { return quiet_.empty() ? 0 : quiet_.top().slot; }
  [[nodiscard]] std::uint32_t first_noisy() const { return noisy_.empty() ? 0 : noisy_.top().slot; }
  [[nodiscard]] bool is_noisy(std::uint32_t group) const { return group < groups_.size() && groups_[group].is_noisy(); }
  /// Noisy groups. [SQS CloudWatch metrics]
  [[nodiscard]] std::size_t noisy() const { return noisy_.size(); }
  /// Calls visit(number, when it is quiet unless something is sent) for each of them, in no particular order.
  template <class Visit>
  void for_each_noisy(Visit&& visit) const {
    for (std::uint32_t i = 0; i < ends_.size(); ++i) visit(ends_.at(i).slot, timestamp_from_unix_ms(ends_.at(i).key));
  }
  /// As a snapshot tells it: a message of the group is in flight. Whether that is noise was judged when it was received.
  void restore_lease(const Slab<Entry>& entries, std::uint32_t group);
  /// As a snapshot tells it; the group has something waiting.
  void restore_noisy(const Slab<Entry>& entries, std::uint32_t group, Timestamp quiet_at);
  /// What ended, of the queue (0) or a group; before restore_delivery(), which is for each that runs.
  void restore_time(std::uint32_t group, const ProcessingTime::Ended& ended) { time_of(group).restore(ended); }
  void restore_delivery(std::uint32_t group, Timestamp begun, Timestamp now);

 private:
  static constexpr std::uint32_t kNone = Slab<Entry>::kNone;
  struct Share {
    std::uint32_t in_flight;
    Place place;
    friend auto operator<=>(const Share&, const Share&) = default;
  };
  struct Group {
    Waiting waiting;
    std::uint32_t in_flight = 0;
    std::uint32_t place = kNone;      // in quiet_ or noisy_; kNone: nothing waits
    std::uint32_t end_place = kNone;  // in ends_; kNone: it is quiet
    [[nodiscard]] bool is_noisy() const { return end_place != kNone; }
  };
  Group& group_of(std::uint32_t number) {
    if (number >= groups_.size()) groups_.resize(number + 1);
    return groups_[number];
  }
  ProcessingTime& time_of(std::uint32_t group) {
    if (group == 0) return all_;
    if (group >= times_.size()) times_.resize(group + 1);
    return times_[group];
  }
  [[nodiscard]] bool takes_long(std::uint32_t group, Timestamp at) const;
  void take_out(Group& group);
  void become_noisy(std::uint32_t number, std::int64_t quiet_at);
  void become_quiet(Group& group);
  auto placing() {
    return [this](std::uint32_t group, std::uint32_t position) { groups_[group].place = position; };
  }

  auto end_placing() {
    return [this](std::uint32_t group, std::uint32_t position) { groups_[group].end_place = position; };
  }

  std::vector<Group> groups_;
  SlotHeap<Place> quiet_;
  SlotHeap<Share> noisy_;
  SlotHeap<std::int64_t> ends_;  // noisy groups by when they are quiet again, Unix ms
  std::deque<ProcessingTime> times_;  // by group; those that were never received need none
  ProcessingTime all_;
};

}  // namespace fanfare::queue
