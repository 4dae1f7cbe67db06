// Looks at all files of a journal folder and says what they hold: where the log begins and ends, and what is damaged.
// Opening and `journal verify` both stand on it. Changes nothing.
//
// How a torn tail is told from damage. Each frame names its floor: the position up to which the log was durable when the frame was
// appended. So every frame that can be found, before or after a bad place, is a witness: what lies below its floor had been
// promised. A bad place below the highest floor (or below CONTROL's known_durable, or the newest snapshot's position) is damage.
// A bad place at or above it is the unfinished last commit, of which blocks may have reached the disk in any order: the log ends
// there, and whole frames beyond, which nobody was promised, are cut with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/file/control_file.h"
#include "journal/file/file_journal.h"
#include "journal/file/layout.h"
#include "journal/file_system.h"

namespace fanfare::journal {

struct ScannedSegment {
  std::string name;
  SegmentHeader header;
  std::uint64_t file_bytes = 0;
  LogPosition end;            ///< first position that is not in it
  bool checked = false;       ///< every record of it was read
  std::uint64_t records = 0;  ///< if checked
};

struct ScannedSnapshot {
  std::string name;
  LogPosition position;
  std::uint64_t content_bytes = 0;
};

struct LogScan {
  std::optional<Control> control;
  std::uint64_t epoch_max = 0;          ///< over CONTROL and all headers
  std::uint64_t sequence_max = 0;       ///< over all segment names
  std::uint64_t spare_number_max = 0;
  std::vector<ScannedSegment> segments; ///< of the log, in order
  std::vector<std::string> obsolete;    ///< segments of no use any more: trimmed, or overtaken after a failed commit
  std::vector<std::string> spares;
  std::vector<ScannedSnapshot> snapshots;  ///< whole ones, newest first
  std::vector<std::string> obsolete_snapshots;  ///< of no use: the log begins after them, and none is needed
  bool temporary_left = false;          ///< snapshot.tmp is there

  LogPosition first;        ///< where the kept log begins
  LogPosition check_from;   ///< newest usable snapshot, else `first`
  LogPosition end;          ///< where the next record goes
  LogPosition floor;        ///< known to be durable up to here
  LogPosition cut_end;      ///< end of the last frame header beyond `end`, whole or cut by the file's end; equal to `end` if there is none
  std::uint64_t records = 0;       ///< checked ones
  std::uint64_t records_cut = 0;
  bool tail_was_torn = false;
  std::vector<Damage> damage;      ///< not empty: the log must not be used as it is
  std::vector<Damage> set_aside;   ///< see RecoveryReport

  [[nodiscard]] bool is_new() const { return segments.empty() && damage.empty(); }
};

enum class ScanDepth {
  SinceSnapshot,  ///< records of segments wholly below the newest usable snapshot are not read
  All,
};

/// Errors: Io, Version. Damage is not an error here but a finding.
Result<LogScan, OpenError> scan_log(FileSystem& files, ScanDepth depth);

OpenError io_failure(const FileError& error, const std::string& file_name);

}  // namespace fanfare::journal
