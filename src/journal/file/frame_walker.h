// Reads the frames of one segment file from front to back, in blocks, checking every sum; and searches for frames in damaged bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "journal/file/layout.h"
#include "journal/file_system.h"
#include "journal/frame.h"

namespace fanfare::journal {

class FrameWalker {
 public:
  enum class Step {
    Record,  ///< record() is whole; advance() goes to the next
    Bad,     ///< no whole record begins at position()
    Error,   ///< error() says why the file could not be read
  };

  /// Over the segment with this header; `file` and the walker are used by one thread. `file_bytes` is the file's size.
  FrameWalker(File& file, const SegmentHeader& header, std::uint64_t file_bytes, LogPosition start)
      : FrameWalker(file, header.first, header.seed(), file_bytes, start) {}
  /// For a segment whose header is known by other means.
  FrameWalker(File& file, LogPosition first, std::uint32_t seed, std::uint64_t file_bytes, LogPosition start)
      : file_(file), first_(first), seed_(seed), file_bytes_(file_bytes), position_(start) {}

  /// Looks at position().
  Step look();
  /// Over the record that look() found.
  void advance() { position_ = position_ + frame_size(header_.record_bytes); }
  /// On to another position of the segment, at or above its first; what look() and search() said is forgotten.
  void seek(LogPosition position) { position_ = position; }
  /// From the next multiple of 8 on to the first position where a frame's header holds; header() is it. False at the end of the file or after an
  /// Error (error() then has a value).
  bool search();

  [[nodiscard]] LogPosition position() const { return position_; }
  [[nodiscard]] std::uint64_t byte_offset() const { return kSegmentHeaderBytes + (position_ - first_); }
  /// Valid until the next look() or search().
  [[nodiscard]] std::string_view record() const { return record_; }
  [[nodiscard]] const FrameHeader& header() const { return header_; }
  /// After Bad: the header holds, the record does not.
  [[nodiscard]] bool header_held() const { return header_held_; }
  [[nodiscard]] const std::optional<FileError>& error() const { return error_; }
  /// What look() expected where it found nothing whole: "a record of 600 bytes whose checksum is 0x1f3a55d0, found 0x00000000".
  [[nodiscard]] std::string expectation();

 private:
  /// `size` bytes at the file offset, from the window or read into it; empty if the file ends before, or cannot be read.
  std::string_view bytes_at(std::uint64_t offset, std::uint64_t size);

  File& file_;
  LogPosition first_;
  std::uint32_t seed_;
  std::uint64_t file_bytes_;
  LogPosition position_;

  std::string window_;
  std::uint64_t window_offset_ = 0;
  FrameHeader header_;
  std::string_view record_;
  bool header_held_ = false;
  std::optional<FileError> error_;
};

}  // namespace fanfare::journal
