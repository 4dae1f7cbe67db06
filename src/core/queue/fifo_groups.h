// The message groups of one FIFO queue: which message may be received next. [SQS FIFO delivery logic]
//
// Rule 1: a group's visible messages stand in the order of their sequence numbers; one that comes back from a lease stands
//         where it was.
// Rule 2: while a message of a group is in flight, the group gives nothing, but to the receive that took it.
// Rule 3: among the groups that may give, the one with the oldest message does.
#pragma once

#include <cstdint>
#include <vector>

#include "core/queue/entry.h"
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
  /// A message of the group is in flight from now on / no longer.
  void lock(const Slab<Entry>& entries, std::uint32_t group);
  void unlock(const Slab<Entry>& entries, std::uint32_t group);

  /// The slot of the next message: of the group in hand if it has one (0: none in hand), else of the group with the oldest
  /// message among those that are not locked. kNone if there is none.
  [[nodiscard]] std::uint32_t first_ready(std::uint32_t group_in_hand) const;
  /// Groups with messages in flight. [SQS CloudWatch metrics]
  [[nodiscard]] std::size_t locked() const { return locked_; }

 private:
  static constexpr std::uint32_t kNone = Slab<Entry>::kNone;
  struct Group {
    std::uint32_t head = kNone;       // visible entries
    std::uint32_t tail = kNone;
    std::uint32_t in_flight = 0;
    std::uint32_t place = kNone;      // in available_; kNone: not there
  };

  // Brings available_ in line with what the group has become.
  void update(const Slab<Entry>& entries, std::uint32_t group);

  std::vector<Group> groups_{Group{}};  // number 0 is none
  SlotHeap<std::uint64_t> available_;   // groups that may give, by the sequence number of their first message
  std::size_t locked_ = 0;
};

}  // namespace fanfare::queue
