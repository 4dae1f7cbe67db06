// A snapshot file: a header of 64 bytes, chunks, a footer.
//
//   chunk   u32 bytes (1 to 256 KiB), u32 sum (CRC-32C over index as u64 and the bytes, begun with the header's), the bytes
//   footer  u32 0, u32 sum (over index and the next field), u64 bytes in all chunks; nothing follows it
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "journal/file/layout.h"
#include "journal/file_system.h"

namespace fanfare::journal {

/// Why a snapshot cannot be used.
struct SnapshotFault {
  enum class Kind { Damaged, Version, Io, Abandoned };
  Kind kind;
  std::uint64_t byte_offset = 0;  ///< in the file
  std::string expected;           ///< Damaged and Version
  FileError error;                ///< Io
};

/// Reads one file; checks as it goes.
class SnapshotFileReader final : public SnapshotReader {
 public:
  static Result<std::unique_ptr<SnapshotFileReader>, SnapshotFault> open(FileSystem& files, const std::string& name);
  /// The whole file, from here on; the reader is then at its end.
  Result<Success, SnapshotFault> check_rest();

  [[nodiscard]] LogPosition position() const override { return header_.position; }
  [[nodiscard]] std::uint64_t bytes() const override { return content_bytes_; }
  Result<std::string_view, JournalError> next() override;
  [[nodiscard]] const SnapshotHeader& header() const { return header_; }

 private:
  SnapshotFileReader(std::unique_ptr<File> file, const SnapshotHeader& header, std::uint64_t file_bytes)
      : file_(std::move(file)), header_(header), seed_(header.seed()), file_bytes_(file_bytes) {}
  Result<std::string_view, SnapshotFault> next_chunk();

  std::unique_ptr<File> file_;
  SnapshotHeader header_;
  std::uint32_t seed_;
  std::uint64_t file_bytes_;
  std::uint64_t content_bytes_ = 0;  // as the footer says
  std::uint64_t offset_ = kSnapshotHeaderBytes;
  std::uint64_t index_ = 0;
  std::uint64_t content_read_ = 0;
  bool done_ = false;
  std::string chunk_;
};

/// Writes `source` to the file `name`, durably (its name is not). Errors: Io, Abandoned.
Result<Success, SnapshotFault> write_snapshot_file(FileSystem& files, const std::string& name, const SnapshotHeader& header,
                                                   const SnapshotSource& source);

}  // namespace fanfare::journal
