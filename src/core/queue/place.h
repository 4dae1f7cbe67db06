// Where a visible entry, or a FIFO group, stands among others of its queue. The smaller one goes first.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace fanfare::queue {

struct Place {
  static constexpr std::uint32_t kOwnPlace = std::numeric_limits<std::uint32_t>::max();

  /// The sequence number that it queues before. Of a FIFO group: since when its first message has been waiting, Unix ms.
  std::uint64_t rank;
  /// Among those with the same rank. How often it was received, if it had to go back behind others: they take turns. Else
  /// kOwnPlace; of a FIFO group 0.
  std::uint32_t turn;
  std::uint64_t sequence;
  friend auto operator<=>(const Place&, const Place&) = default;
};

}  // namespace fanfare::queue
