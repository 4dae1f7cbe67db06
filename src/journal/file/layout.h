// The fixed-size blocks of a journal folder and the names of its files. docs/journal-format.md is the source of truth.
//
//   LOCK                            held with flock while open; its text names the holder and is the fence
//   CONTROL                         two slots of 4096 bytes, written in turn; the valid one with the higher generation counts
//   00000000000000000007.segment    by sequence number
//   00000000000000123456.snapshot   by log position
//   spare-00000000000000000003      a file to become a segment; what it holds means nothing
//   snapshot.tmp                    a snapshot in the making
//
// Rule 1: a decoder takes any bytes and says what is wrong with them.
// Rule 2: all integers are little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "journal/journal.h"

namespace fanfare::journal {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint64_t kSegmentHeaderBytes = 4096;
inline constexpr std::uint64_t kControlSlotBytes = 4096;
inline constexpr std::uint64_t kSnapshotHeaderBytes = 64;
inline constexpr std::uint32_t kSnapshotChunkBytesMax = 256u << 10;
inline constexpr std::uint64_t kLockLineBytes = 64;

using JournalId = std::array<std::uint8_t, 16>;

/// Why a block is not what it should be.
struct LayoutFault {
  bool version = false;  ///< the block is whole, but of an unknown version
  std::string expected;  ///< "a segment header: magic FANFJRNL, found 00 00 00 00 00 00 00 00"
};

/// The first 4096 bytes of a segment.
struct SegmentHeader {
  JournalId journal{};
  std::uint64_t sequence = 0;  ///< unique in the journal, rising
  LogPosition first;           ///< of the first record; it lies at byte 4096
  std::uint64_t epoch = 0;

  /// With which the sums of this segment's frames begin.
  [[nodiscard]] std::uint32_t seed() const;
  [[nodiscard]] std::string encode() const;
  static Result<SegmentHeader, LayoutFault> decode(std::string_view block);
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

/// What must be known of a journal besides its records.
struct Control {
  JournalId journal{};
  std::uint64_t generation = 0;  ///< one more at each write
  std::uint64_t epoch = 0;
  LogPosition kept_from;      ///< segments wholly below are given up; those above must be there
  LogPosition known_durable;  ///< records below were on stable storage at some time: if one is missing now, that is damage
  /// The snapshot that stood when kept_from was last raised: it or a newer one must be there. Nullopt: there was none, the log
  /// from kept_from on is enough.
  std::optional<LogPosition> needed_snapshot;

  [[nodiscard]] std::string encode() const;  // one slot
  static Result<Control, LayoutFault> decode(std::string_view slot);
};

struct SnapshotHeader {
  JournalId journal{};
  LogPosition position;
  std::uint64_t epoch = 0;

  [[nodiscard]] std::string encode() const;
  /// With which the sums of the chunks begin.
  [[nodiscard]] std::uint32_t seed() const;
  static Result<SnapshotHeader, LayoutFault> decode(std::string_view block);
};

inline constexpr const char* kLockName = "LOCK";
inline constexpr const char* kControlName = "CONTROL";
inline constexpr const char* kSnapshotTempName = "snapshot.tmp";

std::string segment_name(std::uint64_t sequence);
std::string spare_name(std::uint64_t number);
std::string snapshot_name(LogPosition position);

/// The number in a name of exactly the form that these functions make; nullopt for any other name.
std::optional<std::uint64_t> sequence_of_segment_name(std::string_view name);
std::optional<std::uint64_t> number_of_spare_name(std::string_view name);
std::optional<LogPosition> position_of_snapshot_name(std::string_view name);

/// "pid 4711 epoch 7\n", filled up with spaces to 64 bytes.
std::string lock_line(int pid, std::uint64_t epoch);

}  // namespace fanfare::journal
