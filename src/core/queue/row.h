// A row of entries, linked by link_a (the one before) and link_b (the one behind), in the order of their sequence numbers.
#pragma once

#include <cstdint>

#include "core/queue/entry.h"
#include "core/queue/slab.h"

namespace fanfare::queue {

struct Row {
  static constexpr std::uint32_t kNone = Slab<Entry>::kNone;

  std::uint32_t head = kNone;
  std::uint32_t tail = kNone;

  /// Behind the others: its sequence number is the largest.
  void append(Slab<Entry>& entries, std::uint32_t slot) {
    Entry& entry = entries[slot];
    entry.link_a = tail;
    entry.link_b = kNone;
    (tail == kNone ? head : entries[tail].link_b) = slot;
    tail = slot;
  }
  void unlink(Slab<Entry>& entries, const Entry& entry) {
    (entry.link_a == kNone ? head : entries[entry.link_a].link_b) = entry.link_b;
    (entry.link_b == kNone ? tail : entries[entry.link_b].link_a) = entry.link_a;
  }
};

}  // namespace fanfare::queue
