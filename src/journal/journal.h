// The journal port: an append-only log of opaque records, with group commit, trimming, snapshots and a fencing epoch.
//
// Rule 1: the log is one logical address space. A record appended at position p ends at p + frame_size(record.size()), and that
//         is the next record's position, also across segment files: whoever appends can predict every position.
// Rule 2: append() only buffers. commit() writes everything appended with one write, and waits for the disk when asked.
//         A record counts as promised to the outside only below durable_end().
// Rule 3: after a crash the log holds every record below the durable_end() that was last returned, in order, perhaps followed by
//         some whole prefix of what was appended later; never a record that was not appended, never a gap.
// Rule 4: a failed commit acknowledges nothing. The records stay for another commit(), or discard_uncommitted() drops them. What was
//         dropped may still be found after a crash until a later commit(), be it an empty one, has succeeded; then never.
// Thread-safety: one owner thread uses the journal. snapshots() may be used by one other thread at the same time.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log_position.h"
#include "base/result.h"

namespace fanfare::journal {

using fanfare::LogPosition;

/// A longer record, or an empty one, is a fault of the caller: append() asserts.
inline constexpr std::uint64_t kRecordBytesMax = 16u << 20;
/// Bytes in front of each record; docs/journal-format.md names them.
inline constexpr std::uint64_t kFrameHeaderBytes = 16;

/// What a record of `record_bytes` occupies in the log: header, record, zeros up to a multiple of 8.
constexpr std::uint64_t frame_size(std::uint64_t record_bytes) {
  return kFrameHeaderBytes + ((record_bytes + 7) & ~std::uint64_t{7});
}

enum class JournalError {
  NoSpace,   ///< The disk is full. Nothing was acknowledged; the next commit() tries again, and succeeds once there is room.
  Io,        ///< The disk failed (EIO, a short read). Nothing was acknowledged; the next commit() writes elsewhere, in a new segment.
  Fenced,    ///< Another process has opened the folder with a higher epoch. This journal never writes again: stop.
  NotFound,  ///< No record begins at this position: trimmed, discarded, not yet appended, or not a record's start.
  Damaged,   ///< A record or file does not have its checksum. Never repaired silently: `fanfare journal verify` tells more.
  Abandoned, ///< The source of a snapshot gave up; the snapshot before it still stands.
};

/// "NoSpace", "Io", ...
std::string_view name_of(JournalError error);

enum class Sync {
  No,   ///< Handed to the operating system: survives the end of this process, not a power cut.
  Yes,  ///< On stable storage when commit() returns.
};

/// Called for each record in order; the view is valid during the call only. False ends the replay.
using RecordVisitor = std::function<bool(LogPosition position, std::string_view record)>;

/// The next piece of a snapshot, of any size, valid until the next call. Empty: the end. Nullopt: give up.
using SnapshotSource = std::function<std::optional<std::string_view>()>;

/// One stored snapshot, read from front to back. Owned by one thread.
class SnapshotReader {
 public:
  virtual ~SnapshotReader() = default;
  /// The log position that the snapshot stands for: records at and above it are not in it.
  [[nodiscard]] virtual LogPosition position() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  /// The next piece, checked against its checksum, valid until the next call; empty at the end. Errors: Damaged, Io.
  virtual Result<std::string_view, JournalError> next() = 0;
};

/// The snapshots of one journal. Any one thread at a time; it need not be the journal's.
class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;
  /// Stores what `source` yields as the state at `position` (at most the journal's durable_end()), then drops older snapshots.
  /// Until this returns, and if it fails, the snapshot before it stands. Errors: NoSpace, Io, Fenced, Abandoned.
  virtual Result<Success, JournalError> write(LogPosition position, const SnapshotSource& source) = 0;
  /// A null pointer if there is none. Errors: Damaged (the newest is damaged and no older one can stand in for it), Io.
  virtual Result<std::unique_ptr<SnapshotReader>, JournalError> latest() = 0;
};

struct JournalStats {
  std::uint64_t records_appended = 0;  ///< since the journal was opened
  std::uint64_t bytes_appended = 0;    ///< frames, since the journal was opened
  std::uint64_t commits = 0;
  std::uint64_t syncs = 0;
  std::uint64_t failures = 0;          ///< failed commits, rolls, trims and background work
  std::uint64_t segments = 0;
  std::uint64_t bytes_on_disk = 0;     ///< segment files, spare ones included
  std::uint64_t older_bytes = 0;       ///< of the segment files before the one that is written to
  std::uint64_t segment_bytes = 0;     ///< length of a segment file; 0: there are none
  LogPosition newest_segment;          ///< where the segment that is written to begins
  std::uint64_t log_bytes = 0;         ///< durable end less the first kept position
  /// Bytes that can be appended without asking the file system for more. Refuse what makes the log grow (sends) when this is
  /// low and space_is_short, so that what lets it shrink (deletes) still finds room.
  std::uint64_t room_bytes = 0;
  bool space_is_short = false;         ///< the last attempt to make a spare segment found the disk full
  std::uint64_t disk_free_bytes = std::numeric_limits<std::uint64_t>::max();  ///< of the folder's disk; the greatest number: not known
  bool writable = true;                ///< false from a failed commit until the next one that succeeds; false for ever when fenced
  std::string last_failure;            ///< "fdatasync of 00000000000000000007.segment: Input/output error"; empty if none yet
};

/// Implementations: file/ (segment files), memory/ (nothing is durable).
class Journal {
 public:
  virtual ~Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Where the next record will be.
  [[nodiscard]] LogPosition next_position() const { return next_position_; }
  /// Everything below is on stable storage (memory/: was committed).
  [[nodiscard]] LogPosition durable_end() const { return durable_end_; }
  /// The oldest position that is still kept.
  [[nodiscard]] LogPosition first_position() const { return first_position_; }
  /// Raised durably each time a folder is opened; 1 for a new one.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

  /// Buffers `record`, 1 to kRecordBytesMax bytes, and returns its position. Cannot fail: whatever is wrong with the disk shows at commit().
  virtual LogPosition append(std::string_view record) = 0;

  /// Writes what was appended; returns durable_end(). With Sync::Yes that equals next_position(). With nothing to do it costs no
  /// system call. After an error all records not covered by an earlier success are still there: commit() again, or discard.
  /// Errors: NoSpace, Io, Fenced.
  virtual Result<LogPosition, JournalError> commit(Sync sync) = 0;

  /// Drops what was appended since the last commit() that succeeded, with whichever Sync; next_position() goes back there.
  virtual void discard_uncommitted() = 0;

  /// The record at `position`, committed or just appended, replaces what is in `out`. Errors: NotFound, Damaged, Io.
  virtual Result<Success, JournalError> read(LogPosition position, std::string& out) = 0;

  /// All committed records from `from` (a record's position, or the end) on. Errors: NotFound, Damaged, Io.
  /// The visitor must not call the journal.
  virtual Result<Success, JournalError> replay(LogPosition from, const RecordVisitor& visit) = 0;

  /// Gives up records below `keep_from` (at most durable_end()), as far as whole segments allow, and never beyond the newest
  /// snapshot, where recovery begins. Returns the new first_position(). Errors: Io, NoSpace, Fenced (nothing was given up).
  virtual Result<LogPosition, JournalError> trim(LogPosition keep_from) = 0;

  virtual SnapshotStore& snapshots() = 0;
  [[nodiscard]] virtual JournalStats stats() const = 0;

 protected:
  Journal() = default;

  LogPosition next_position_;
  LogPosition durable_end_;
  LogPosition first_position_;
  std::uint64_t epoch_ = 1;
};

}  // namespace fanfare::journal
