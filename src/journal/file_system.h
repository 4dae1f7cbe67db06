// The few file operations that a journal needs, in one flat folder. Small, so that tests can fail each of them: faulty/.
//
// Rule 1: a name says nothing of a folder: no slashes.
// Rule 2: write_at may write less than asked, as the system call may; write_all() below goes on until all is written.
// Rule 3: after sync() has failed, nothing is known about what was written since the last one that succeeded, and a later success
//         says nothing about it: write it again, elsewhere [PostgreSQL wiki: Fsync Errors].
// Rule 4: a created, renamed or removed name is durable only after sync_directory().
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/journal.h"

namespace fanfare::journal {

/// A failed system call.
struct FileError {
  int number = 0;              ///< errno: ENOSPC, EIO, ...
  const char* operation = "";  ///< "pwrite"

  FileError() = default;
  FileError(int error_number, const char* system_call) : number(error_number), operation(system_call) {}
  /// "pwrite of 00000000000000000007.segment: Input/output error"
  [[nodiscard]] std::string describe(std::string_view file_name) const;
  /// NoSpace for a full disk or quota, else Io.
  [[nodiscard]] JournalError kind() const;
};

inline constexpr std::size_t kPageBytes = 4096;

/// Memory that begins at a page; what it holds at first means nothing.
class PageMemory {
 public:
  explicit PageMemory(std::size_t bytes);
  ~PageMemory();
  PageMemory(const PageMemory&) = delete;
  PageMemory& operator=(const PageMemory&) = delete;
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  char* data_;
  std::size_t bytes_;
};

/// An open file; closed by its destructor. Thread-safe as far as its ranges do not overlap.
class File {
 public:
  virtual ~File() = default;
  /// Writes the pieces one after the other from `offset` on; returns how much was written, at least one byte if there was one.
  /// Sync::Yes: what was written by this call is durable when it returns (O_DSYNC); earlier writes need not be.
  virtual Result<std::size_t, FileError> write_at(std::span<const std::string_view> pieces, std::uint64_t offset, Sync sync) = 0;
  /// The same for whole pages: address, size and offset are multiples of kPageBytes. Where the file system can, they go to the disk from
  /// where they are, with no copy in the page cache; reads find them all the same. May write less than asked, but whole pages.
  virtual Result<std::size_t, FileError> write_pages(std::string_view pages, std::uint64_t offset, Sync sync);
  /// Reads up to `size` bytes; fewer only at the end of the file.
  virtual Result<std::size_t, FileError> read_at(char* into, std::size_t size, std::uint64_t offset) = 0;
  /// Makes all that was written durable, and the size (fdatasync).
  virtual Result<Success, FileError> sync() = 0;
  virtual Result<std::uint64_t, FileError> size() = 0;
  virtual Result<Success, FileError> truncate(std::uint64_t bytes) = 0;
  /// Takes the file's lock for as long as it is open; false if another open file has it.
  virtual Result<bool, FileError> try_lock() = 0;
};

enum class OpenMode { Read, Write, Create };  // Write: also reads; Create: Write, and makes an empty file if it is missing

/// One folder. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>, FileError> open(const std::string& name, OpenMode mode) = 0;
  /// Replaces `to` if it is there.
  virtual Result<Success, FileError> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<Success, FileError> remove(const std::string& name) = 0;
  virtual Result<Success, FileError> sync_directory() = 0;
  /// What may still be written on its disk; the greatest number where that is not known.
  [[nodiscard]] virtual std::uint64_t free_bytes() { return std::numeric_limits<std::uint64_t>::max(); }
  /// Names of all files, sorted.
  virtual Result<std::vector<std::string>, FileError> list() = 0;
};

enum class MissingFolder { Make, Refuse };

/// The folder `path`; its parent must be there.
Result<std::unique_ptr<FileSystem>, FileError> open_folder(const std::string& path, MissingFolder missing = MissingFolder::Make);

/// write_at() until everything is written.
Result<Success, FileError> write_all(File& file, std::span<const std::string_view> pieces, std::uint64_t offset, Sync sync);
inline Result<Success, FileError> write_all(File& file, std::string_view bytes, std::uint64_t offset, Sync sync) {
  return write_all(file, std::span(&bytes, 1), offset, sync);
}

/// write_pages() until everything is written.
Result<Success, FileError> write_all_pages(File& file, std::string_view pages, std::uint64_t offset, Sync sync);

}  // namespace fanfare::journal
