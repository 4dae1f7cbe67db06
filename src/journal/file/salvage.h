// Reads everything that can be read of a journal folder, damaged or not, and names what cannot: the ground of `fanfare journal repair`.
//
// Rule 1: a record is taken only if its sums hold at its position, as always.
// Rule 2: what lies between two records that are read, and is no record, is a loss: it is named with file, bytes and positions.
// Rule 3: nothing is changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/file/file_journal.h"
#include "journal/file/frame_walker.h"
#include "journal/file/layout.h"
#include "journal/file/scan.h"
#include "journal/file_system.h"

namespace fanfare::journal {

/// A part of a file that held something and cannot be read any more.
struct Loss {
  std::string file;               ///< empty: the file itself is missing
  std::uint64_t byte_offset = 0;
  std::uint64_t bytes = 0;
  LogPosition from;               ///< positions whose records are lost; equal for what holds no records
  LogPosition to;
  std::string what;               ///< "a record of 600 bytes whose checksum is 0x1f3a55d0, found 0x00000000"
};

class SalvagedLog {
 public:
  /// Looks at all files. Errors: Io, Version. Damage is not an error. `files` outlives this.
  static Result<std::unique_ptr<SalvagedLog>, OpenError> open(FileSystem& files);

  /// Every record that holds, in order; returns false from the visitor to end. The losses are complete afterwards. Errors: Io.
  Result<Success, OpenError> walk(const std::function<void(LogPosition, std::string_view)>& visit);
  /// One record. Errors: NotFound (no whole record begins there), Io.
  Result<Success, JournalError> read(LogPosition position, std::string& out);
  /// The newest snapshot that is whole; a null pointer if there is none. Errors: Io, Damaged.
  Result<std::unique_ptr<SnapshotReader>, JournalError> snapshot();

  /// What verify finds: places, whether or not they cost anything.
  [[nodiscard]] const LogScan& scan() const { return scan_; }
  [[nodiscard]] const std::vector<Loss>& losses() const { return losses_; }
  /// After all records that walk() found.
  [[nodiscard]] LogPosition end() const { return end_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  struct Part {
    std::string name;
    SegmentHeader header;
    std::uint64_t file_bytes = 0;
    LogPosition end;
    bool is_last = false;
    std::uint32_t seed = 0;
    std::unique_ptr<File> file;
    std::unique_ptr<FrameWalker> walker;
  };

  SalvagedLog(FileSystem& files, LogScan scan) : files_(files), scan_(std::move(scan)) {}
  Result<Success, OpenError> gather();
  Result<bool, OpenError> rebuild_header(const std::string& name);
  Result<Success, OpenError> walk_part(Part& part, const std::function<void(LogPosition, std::string_view)>& visit);
  Result<Success, FileError> open_part(Part& part);
  void lost(Part& part, LogPosition from, LogPosition to, std::string what);

  FileSystem& files_;
  LogScan scan_;
  std::vector<Part> parts_;  // by position
  std::vector<Loss> losses_;
  LogPosition end_;
  std::uint64_t records_ = 0;
};

}  // namespace fanfare::journal
