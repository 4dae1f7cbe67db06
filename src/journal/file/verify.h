// Looks through a journal folder and says what is in it and what is wrong with it: the ground of `fanfare journal verify`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/file/file_journal.h"
#include "journal/journal.h"

namespace fanfare::journal {

class FileSystem;

struct VerifyReport {
  struct Segment {
    std::string file;
    LogPosition first;
    LogPosition end;
    std::uint64_t records = 0;
    std::uint64_t file_bytes = 0;
  };
  struct Snapshot {
    std::string file;
    LogPosition position;
    std::uint64_t bytes = 0;
  };

  /// A process has the folder open: what its last commit wrote may look like a torn tail.
  bool in_use = false;
  std::string journal_id;  ///< "8f2c1d0e5a634f7e9c1b2d3e4f506172"; empty if CONTROL is damaged or missing
  std::uint64_t epoch = 0;
  LogPosition first;
  LogPosition end;
  std::uint64_t records = 0;
  std::uint64_t bytes_on_disk = 0;  ///< segments, those of no use and spares included, without snapshots
  std::vector<Segment> segments;
  std::vector<Snapshot> snapshots;
  std::uint64_t spare_files = 0;
  bool tail_is_torn = false;        ///< an unfinished commit: the next opening cuts it, and nothing is lost
  std::uint64_t records_to_cut = 0;
  std::vector<Damage> damage;       ///< the journal does not open
  std::vector<Damage> set_aside;    ///< damage that something else makes good

  [[nodiscard]] bool sound() const { return damage.empty(); }
  /// For people, several lines, each ended by a line feed.
  [[nodiscard]] std::string describe() const;
};

/// Reads every record and every snapshot, and changes nothing. Errors: Io, Version. A folder that does not exist is Io.
Result<VerifyReport, OpenError> verify_journal(const std::string& folder);
Result<VerifyReport, OpenError> verify_journal(FileSystem& files);

}  // namespace fanfare::journal
