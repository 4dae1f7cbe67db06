// A record as it lies in a segment, and the check that finds it there again.
//
//   offset  size  what
//        0     4  record_bytes
//        4     4  floor_distance: the log was durable up to (this position - floor_distance) when the record was appended
//        8     4  header_sum: CRC-32C over position (8 bytes), record_bytes, floor_distance, begun with the segment's seed; never 0
//       12     4  record_sum: CRC-32C over the record and its padding, begun with header_sum
//       16        the record, then zeros up to a multiple of 8
//
// Rule 1: a frame holds only at its own position in its own segment: position and seed are part of the sum. What a recycled file
//         held before is never mistaken for a record.
// Rule 2: a header is checked by itself, so that a search for frames in damaged bytes costs a few operations an offset, whatever
//         lengths these bytes pretend.
// Source of truth: docs/journal-format.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "journal/crc32c.h"
#include "journal/journal.h"

namespace fanfare::journal {

struct FrameHeader {
  std::uint32_t record_bytes = 0;
  std::uint32_t floor_distance = 0;
  std::uint32_t header_sum = 0;
  std::uint32_t record_sum = 0;
};

inline std::uint32_t header_sum(std::uint32_t seed, LogPosition position, std::uint32_t record_bytes, std::uint32_t floor_distance) {
  char raw[16];
  std::memcpy(raw, &position.value, 8);
  std::memcpy(raw + 8, &record_bytes, 4);
  std::memcpy(raw + 12, &floor_distance, 4);
  const std::uint32_t sum = crc32c(seed, raw, sizeof raw);
  return sum == 0 ? 1 : sum;  // so that zeros are never a header
}

/// Sums the frame that lies at `at` (record and padding in place, header fields not) and writes its header.
inline void seal_frame(char* at, std::uint32_t seed, LogPosition position, std::uint32_t record_bytes, std::uint32_t floor_distance) {
  const std::uint32_t sum = header_sum(seed, position, record_bytes, floor_distance);
  const std::uint64_t padded = frame_size(record_bytes) - kFrameHeaderBytes;
  const std::uint32_t record_sum = crc32c(sum, at + kFrameHeaderBytes, padded);
  std::memcpy(at, &record_bytes, 4);
  std::memcpy(at + 4, &floor_distance, 4);
  std::memcpy(at + 8, &sum, 4);
  std::memcpy(at + 12, &record_sum, 4);
}

/// The 16 bytes at `at`, unchecked.
inline FrameHeader load_frame_header(const char* at) {
  return {load_le<std::uint32_t>(at), load_le<std::uint32_t>(at + 4), load_le<std::uint32_t>(at + 8), load_le<std::uint32_t>(at + 12)};
}

/// Whether this is the header of a record at `position` in the segment with this seed. One of an empty record never is: where a page ends
/// within a header, the zeros that fill up the page could make it out of the other half.
inline bool header_holds(const FrameHeader& header, std::uint32_t seed, LogPosition position) {
  return header.record_bytes > 0 && header.record_bytes <= kRecordBytesMax && header.floor_distance <= position.value && header.header_sum != 0 &&
         header.header_sum == header_sum(seed, position, header.record_bytes, header.floor_distance);
}

/// The sum that record_sum must be; `padded` is the record with its padding.
inline std::uint32_t record_sum(const FrameHeader& header, std::string_view padded) { return crc32c(header.header_sum, padded); }

inline LogPosition floor_of(const FrameHeader& header, LogPosition position) { return {position.value - header.floor_distance}; }

}  // namespace fanfare::journal
