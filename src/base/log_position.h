// Places in the journal's log, shared by those who write records (core/engine) and those who keep them (journal).
//
// Rule 1: the log is one endless sequence of frames; segments are the journal's own affair. The frame after one that
//         starts at P with a payload of N bytes starts at P + FrameLayout::size(N): a writer can tell where its next
//         record will lie before the journal has seen it.
#pragma once

#include <compare>
#include <cstdint>

namespace fanfare {

/// Where a frame starts, in bytes since the beginning of the log; never reused, except for records that were discarded.
/// Also used for ends: a record is durable when the journal's durable end is at or beyond the position after its frame.
struct LogPosition {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(const LogPosition&, const LogPosition&) = default;
  friend constexpr LogPosition operator+(LogPosition position, std::uint64_t bytes) { return {position.value + bytes}; }
  /// Bytes from `from` to `to`; `from` is not behind `to`.
  friend constexpr std::uint64_t operator-(LogPosition to, LogPosition from) { return to.value - from.value; }
};

/// How many bytes of the log a record takes, whatever its content.
struct FrameLayout {
  std::uint32_t overhead = 0;   ///< bytes that the frame adds to its payload
  std::uint32_t alignment = 1;  ///< frames start at multiples of this; a power of two

  [[nodiscard]] constexpr std::uint64_t size(std::uint64_t payload_bytes) const {
    const std::uint64_t mask = alignment - 1;
    return (payload_bytes + overhead + mask) & ~mask;
  }
  /// The position after a frame at `position`.
  [[nodiscard]] constexpr LogPosition after(LogPosition position, std::uint64_t payload_bytes) const {
    return {position.value + size(payload_bytes)};
  }
};

}  // namespace fanfare
