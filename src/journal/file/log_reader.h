// Reads durable records of a file journal beside its owner, through file handles of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "journal/file/frame_walker.h"
#include "journal/file/layout.h"
#include "journal/file_system.h"
#include "journal/journal.h"

namespace fanfare::journal {

class FileLogReader final : public LogReader {
 public:
  struct Part {
    SegmentHeader header;
    LogPosition end;
  };
  /// `parts` in order, covering [from, to); `files` outlives the reader.
  FileLogReader(FileSystem& files, std::vector<Part> parts, LogPosition from, LogPosition to)
      : files_(files), parts_(std::move(parts)), position_(from), to_(to) {}

  [[nodiscard]] LogPosition end() const override { return to_; }
  Result<std::optional<LogEntry>, JournalError> next() override;

 private:
  FileSystem& files_;
  std::vector<Part> parts_;
  std::size_t part_ = 0;
  LogPosition position_;
  LogPosition to_;
  std::unique_ptr<File> file_;
  std::unique_ptr<FrameWalker> walker_;
};

}  // namespace fanfare::journal
