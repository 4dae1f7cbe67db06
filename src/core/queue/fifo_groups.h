// The message groups of one FIFO queue: which message may be received next. [SQS FIFO delivery logic]
//
// Rule 1: a group's visible messages stand in the order of their sequence numbers; one that comes back from a lease stands
//         where it was.
// Rule 2: what stands behind a message in flight is not given, but to the receive that took that message. What stands before
//         all that are in flight is: so it is when the first of several comes back alone. [quirk: first-of-a-group-again]
// Rule 3: among the groups that may give, the one whose first message has been waiting longest does: since it was sent, or since
//         its lease ended. So a message that fails each time holds up nobody but its group.
#pragma once

#include <cstdint>
#include <vector>

#include "core/queue/entry.h"
#include "core/queue/place.h"
#include "core/queue/slab.h"
#include "core/queue/slot_heap.h"

namespace fanfare::queue {

class FifoGroups {
 public:
  /// A message of the group exists from now on / no longer; its group is a number of GroupNames.
  void enter(std::uint32_t group) {
    if (group >= groups_.size()) groups_.resize(group + 1);
  }
  void leave(std::uint32_t group) const;

  /// A visible entry is put into its group's row, or taken out.
  void insert(Slab<Entry>& entries, std::uint32_t slot);
  void erase(Slab<Entry>& entries, std::uint32_t slot);
  /// An entry, which is in no row, is in flight from now on / no longer. Meanwhile its link_b is the group's.
  void lock(Slab<Entry>& entries, std::uint32_t slot);
  void unlock(Slab<Entry>& entries, std::uint32_t slot);

  /// The slot of the next message: of the same group if one may follow `in_hand`, the entry that this receive took last (null
  /// pointer: none); else of the group that Rule 3 says. kNone if there is none.
  [[nodiscard]] std::uint32_t first_ready(const Slab<Entry>& entries, const Entry* in_hand) const;
  /// A message of the group will arrive soon.
  void prefetch_tail(const Slab<Entry>& entries, std::uint32_t group) const {
    if (const std::uint32_t tail = groups_[group].tail; tail != kNone) entries.prefetch(tail);
  }
  /// Groups with messages in flight. [SQS CloudWatch metrics]
  [[nodiscard]] std::size_t locked() const { return locked_; }

 private:
  static constexpr std::uint32_t kNone = Slab<Entry>::kNone;
  struct Group {
    std::uint32_t head = kNone;       // visible entries
    std::uint32_t tail = kNone;
    std::uint32_t first_in_flight = kNone;  // in the order of their sequence numbers, linked by link_b; few: one receive's
    std::uint32_t place = kNone;            // in available_; kNone: not there
  };
  // Whether the group's first visible message stands before `in_flight` (kNone: nothing does).
  [[nodiscard]] static bool may_give(const Slab<Entry>& entries, const Group& group, std::uint32_t in_flight) {
    return group.head != kNone && (in_flight == kNone || entries[group.head].sequence < entries[in_flight].sequence);
  }

  [[nodiscard]] static Place place_of(const Entry& head);
  // Brings available_ in line with what the group has become.
  void update(const Slab<Entry>& entries, std::uint32_t group);

  std::vector<Group> groups_{Group{}};  // number 0 is none
  SlotHeap<Place> available_;           // groups that may give
  std::size_t locked_ = 0;
};

}  // namespace fanfare::queue
