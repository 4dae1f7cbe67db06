// The journal on disk: prewritten, recycled segment files in one folder. docs/journal-format.md names every byte.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "journal/journal.h"

namespace fanfare::journal {

class File;
class FileSystem;

struct FileJournalOptions {
  std::uint64_t segment_bytes = 64u << 20;  ///< at least 8 KiB; a record that is longer gets a longer segment of its own
  std::uint64_t tail_cache_bytes = 8u << 20;  ///< recent records answered without a system call; 0 keeps only what is not durable
  /// Spare segments are made, and old ones given up, by a thread of the journal. False: inline, when commit() or trim() needs it.
  bool background = true;
  /// What a journal that is made now begins with; for one that takes the place of another. A multiple of 8.
  LogPosition new_first{};
  std::uint64_t new_epoch_above = 0;  ///< the first opening's epoch is above this one
};

/// One place where the stored bytes are not what they must be.
struct Damage {
  std::string file;            ///< "00000000000000000007.segment"
  std::uint64_t byte_offset;   ///< in the file
  LogPosition position;        ///< in the log; zero where it means nothing (snapshots, headers)
  std::string expected;        ///< "a record whose checksum is 0x1f3a55d0, found 0x00000000"
  std::uint64_t records_beyond = 0;  ///< whole records found after it
};

/// What opening found and did, for the log.
struct RecoveryReport {
  LogPosition first;             ///< oldest kept position
  LogPosition snapshot;          ///< position of the snapshot that recovery starts from; `first` if there is none
  LogPosition end;               ///< where the next record goes
  std::uint64_t records = 0;     ///< checked, from `snapshot` on
  bool tail_was_torn = false;    ///< an unfinished commit was cut at `end`; nothing of it had been acknowledged
  std::uint64_t records_cut = 0; ///< whole records of that commit, dropped with it
  std::vector<Damage> set_aside; ///< damage that cost nothing: a newer snapshot that an older one and the log stand in for
};

struct OpenError {
  enum class Kind {
    Locked,   ///< another process has the folder open; the message names it, the folder and what helps
    Damaged,  ///< see `damage`; nothing was changed
    NoSpace,
    Io,       ///< includes a folder that cannot be made or read
    Version,  ///< written by a version of the format that this program does not know
  };
  Kind kind;
  std::string message;  ///< one sentence for the person who starts the server
  std::vector<Damage> damage;
};

struct OpenedJournal {
  std::unique_ptr<Journal> journal;
  RecoveryReport report;
};

/// Who holds a lock file that could not be locked, for messages: `process 4711`; `another process` where its line does not tell.
std::string holder_of(File& lock);

/// Opens the journal in `folder`, making both if they are missing: takes the lock, checks the newest snapshot and every record
/// from there on, cuts a torn tail, and raises the epoch durably. `secrets` gives a new journal its id.
Result<OpenedJournal, OpenError> open_file_journal(const std::string& folder, Secrets& secrets, FileJournalOptions options = {});

/// The same on a file system of the caller's, which outlives the journal.
Result<OpenedJournal, OpenError> open_file_journal(FileSystem& files, Secrets& secrets, FileJournalOptions options = {});

}  // namespace fanfare::journal
