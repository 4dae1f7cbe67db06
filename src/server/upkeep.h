// Decides what the log needs next so that it stays small: a snapshot, or contents of messages written again.
//
// Rule 1: segment files take at most twice what messages need and two segments. The log is only ever given up from its front, as far
//         as the newest snapshot reaches and no message needs it; so a snapshot comes first where that frees something, and
//         relocation of the oldest contents where they are in the way.
// Rule 2: recovery replays at most `snapshot_every` bytes of log, and what is written while a snapshot is made. That grows with the
//         snapshot (log_between_snapshots), so that a byte of log costs the same with many messages as with few, and replaying takes
//         about as long as reading the snapshot.
// Rule 3: each round frees at least an eighth of the log, so that a snapshot's cost is spread over what it frees.
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/log_position.h"

namespace fanfare::server {

struct LogShape {
  LogPosition first;           ///< where the kept log begins, the start of a segment
  LogPosition newest_segment;  ///< where the segment that is written to begins
  LogPosition end;
  LogPosition snapshot;                      ///< position of the newest; `first` if there is none
  std::optional<LogPosition> oldest_needed;  ///< by a message; nullopt: none
  std::uint64_t needed_bytes = 0;            ///< of the log, by messages
  std::uint64_t older_bytes = 0;             ///< segment files before the newest one
  std::uint64_t segment_bytes = 0;
  std::uint64_t snapshot_every = 0;
};

struct UpkeepStep {
  enum class Kind { Nothing, Snapshot, Relocate };
  Kind kind = Kind::Nothing;
  LogPosition before{};  ///< Relocate: contents that lie below
  friend bool operator==(const UpkeepStep&, const UpkeepStep&) = default;
};

/// With messages of 1 KB a snapshot takes a 60th part of their log: each message then pays for seven or eight entries of a snapshot, some
/// 30 ns each. Half as much would cost a send twice as much of that, and twice as much would double what recovery replays.
constexpr std::uint64_t kLogPerSnapshotByte = 8;
/// How much log is written between two snapshots: as configured, or eight times the last one's size if that is more. Where the disk is
/// about to be full, at most a quarter of what is free: then a new snapshot finds no room any more, and deletes can give up only that
/// log which the last one covers.
inline std::uint64_t log_between_snapshots(std::uint64_t configured, std::uint64_t last_snapshot_bytes, std::uint64_t disk_free_bytes,
                                           std::uint64_t segment_bytes) {
  const std::uint64_t usual = std::max(configured, kLogPerSnapshotByte * last_snapshot_bytes);
  return std::min(usual, std::max({disk_free_bytes / 4, 2 * last_snapshot_bytes, segment_bytes}));
}

/// For a log that has just been trimmed as far as it could be.
inline UpkeepStep decide_upkeep(const LogShape& log) {
  // Earlier than at twice: what is relocated is there twice until its old place is given up.
  const bool crowded = log.older_bytes > log.needed_bytes + log.needed_bytes / 2;
  if (crowded) {
    const LogPosition target = std::min(log.first + std::max(log.segment_bytes, log.older_bytes / 8), log.newest_segment);
    const LogPosition oldest = log.oldest_needed.value_or(log.end);
    if (oldest < target) return {UpkeepStep::Kind::Relocate, target};
    if (log.snapshot < target) return {UpkeepStep::Kind::Snapshot, {}};
  }
  if (log.end - log.snapshot >= log.snapshot_every) return {UpkeepStep::Kind::Snapshot, {}};
  return {};
}

}  // namespace fanfare::server
