#include "journal/file/log_reader.h"

#include <algorithm>

namespace fanfare::journal {

Result<std::optional<LogEntry>, JournalError> FileLogReader::next() {
  if (position_ >= to_) return std::optional<LogEntry>{};
  while (part_ < parts_.size() && parts_[part_].end <= position_) {
    ++part_;
    walker_.reset();
    file_.reset();
  }
  if (part_ == parts_.size()) return JournalError::Damaged;
  const Part& part = parts_[part_];
  if (walker_ == nullptr) {
    auto file = files_.open(segment_name(part.header.sequence), OpenMode::Read);
    if (!file) return file.error().kind();
    file_ = std::move(*file);
    // Only what was durable when the reader was made is looked at, whatever the owner is writing behind it.
    const std::uint64_t bytes = kSegmentHeaderBytes + (std::min(part.end, to_) - part.header.first);
    walker_ = std::make_unique<FrameWalker>(*file_, part.header, bytes, position_);
    walker_->go_around_the_cache();
  }
  switch (walker_->look()) {
    case FrameWalker::Step::Error: return walker_->error()->kind();
    case FrameWalker::Step::Bad: return JournalError::Damaged;
    case FrameWalker::Step::Record: break;
  }
  const LogEntry entry{walker_->position(), walker_->record()};
  walker_->advance();
  position_ = walker_->position();
  return std::optional<LogEntry>(entry);
}

}  // namespace fanfare::journal
