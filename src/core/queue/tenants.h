// The message groups of one standard queue: whose message is received next, so that a tenant who floods the queue does not
// make the others wait. [SQS fair queues]
//
// Rule 1: a group is noisy from the moment at which it has at least 30 messages in flight and more than a tenth of all that
//         are in flight, until nothing of it waits any more.
// Rule 2: what a quiet group, or nobody's group, has waiting goes before what noisy ones have; in the order of the queue.
// Rule 3: among noisy groups the one with the fewest messages in flight goes first. Nothing is refused or held back.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "core/queue/entry.h"
#include "core/queue/place.h"
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
  /// The waiting entries of a group. Whoever changes them calls update() afterwards.
  Waiting& waiting(std::uint32_t group) {
    if (group >= groups_.size()) groups_.resize(group + 1);
    return groups_[group].waiting;
  }
  [[nodiscard]] const Waiting& waiting(std::uint32_t group) const { return groups_[group].waiting; }
  void update(const Slab<Entry>& entries, std::uint32_t group);

  /// A message of the group is in flight from now on, one of `all_in_flight` / no longer.
  void lease(const Slab<Entry>& entries, std::uint32_t group, std::uint64_t all_in_flight);
  void unlease(const Slab<Entry>& entries, std::uint32_t group);

  /// The group whose message goes first among the quiet ones, or among the noisy ones; 0: none waits there.
  [[nodiscard]] std::uint32_t first_quiet() const { return quiet_.empty() ? 0 : quiet_.top().slot; }
  [[nodiscard]] std::uint32_t first_noisy() const { return noisy_.empty() ? 0 : noisy_.top().slot; }
  [[nodiscard]] bool is_noisy(std::uint32_t group) const { return group < groups_.size() && groups_[group].noisy; }
  /// Noisy groups. [SQS CloudWatch metrics]
  [[nodiscard]] std::size_t noisy() const { return noisy_.size(); }
  /// Calls visit(number) for each of them, in no particular order.
  template <class Visit>
  void for_each_noisy(Visit&& visit) const {
    for (std::uint32_t i = 0; i < noisy_.size(); ++i) visit(noisy_.at(i).slot);
  }
  /// As a snapshot tells it: a message of the group is in flight. Whether that is noise was judged when it was received.
  void restore_lease(const Slab<Entry>& entries, std::uint32_t group);
  /// As a snapshot tells it; the group has something waiting.
  void restore_noisy(const Slab<Entry>& entries, std::uint32_t group);

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
    std::uint32_t place = kNone;  // in quiet_ or noisy_; kNone: nothing waits
    bool noisy = false;
  };
  void take_out(Group& group);
  auto placing() {
    return [this](std::uint32_t group, std::uint32_t position) { groups_[group].place = position; };
  }

  std::vector<Group> groups_;
  SlotHeap<Place> quiet_;
  SlotHeap<Share> noisy_;
};

}  // namespace fanfare::queue
