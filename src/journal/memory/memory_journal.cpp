#include "journal/memory/memory_journal.h"

#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "journal/frame.h"
#include "journal/tail_buffer.h"

namespace fanfare::journal {
namespace {

using Bytes = std::shared_ptr<const std::string>;  // shared: a reader outlives the snapshot that replaces its own

class MemorySnapshotReader final : public SnapshotReader {
 public:
  MemorySnapshotReader(LogPosition position, Bytes content) : position_(position), content_(std::move(content)) {}
  [[nodiscard]] LogPosition position() const override { return position_; }
  [[nodiscard]] std::uint64_t bytes() const override { return content_->size(); }
  Result<std::string_view, JournalError> next() override {
    return std::exchange(done_, true) ? std::string_view{} : std::string_view(*content_);
  }

 private:
  LogPosition position_;
  Bytes content_;
  bool done_ = false;
};

class MemorySnapshots final : public SnapshotStore {
 public:
  Result<Success, JournalError> write(LogPosition position, const SnapshotSource& source) override {
    std::string content;
    while (true) {
      const std::optional<std::string_view> piece = source();
      if (!piece) return JournalError::Abandoned;
      if (piece->empty()) break;
      content.append(*piece);
    }
    const std::scoped_lock lock(mutex_);
    position_ = position;
    content_ = std::make_shared<const std::string>(std::move(content));
    return Success{};
  }
  Result<std::unique_ptr<SnapshotReader>, JournalError> latest() override {
    const std::scoped_lock lock(mutex_);
    if (content_ == nullptr) return std::unique_ptr<SnapshotReader>{};
    return std::unique_ptr<SnapshotReader>{std::make_unique<MemorySnapshotReader>(position_, content_)};
  }
  /// Where trim() must stop.
  [[nodiscard]] std::optional<LogPosition> newest() const {
    const std::scoped_lock lock(mutex_);
    return content_ == nullptr ? std::nullopt : std::optional(position_);
  }

 private:
  mutable std::mutex mutex_;
  LogPosition position_;
  Bytes content_;
};

/// Frames as in a segment, so that positions are the same. The header is summed, for a position that is not a record's start must
/// be noticed; the record is not.
class MemoryJournal final : public Journal {
 public:
  LogPosition append(std::string_view record) override {
    FANFARE_ASSERT(!record.empty() && record.size() <= kRecordBytesMax);
    const LogPosition position = next_position_;
    char* at = log_.extend(frame_size(record.size()));
    const auto record_bytes = static_cast<std::uint32_t>(record.size());
    const std::uint32_t sum = header_sum(kSeed, position, record_bytes, 0);
    std::memset(at, 0, kFrameHeaderBytes);
    std::memcpy(at, &record_bytes, sizeof record_bytes);
    std::memcpy(at + 8, &sum, sizeof sum);
    if (!record.empty()) std::memcpy(at + kFrameHeaderBytes, record.data(), record.size());
    next_position_ = log_.end();
    ++stats_.records_appended;
    stats_.bytes_appended += next_position_ - position;
    return position;
  }

  Result<LogPosition, JournalError> commit(Sync sync) override {
    if (durable_end_ < next_position_) {
      ++stats_.commits;
      if (sync == Sync::Yes) ++stats_.syncs;
    }
    durable_end_ = next_position_;
    return durable_end_;
  }

  void discard_uncommitted() override {
    log_.truncate(durable_end_);
    next_position_ = durable_end_;
  }

  Result<Success, JournalError> read(LogPosition position, std::string& out) override {
    if (position < first_position_ || next_position_ <= position) return JournalError::NotFound;
    const std::string_view frame = log_.at(position);
    if (!begins_record(position, frame)) return JournalError::NotFound;
    out.assign(frame.substr(kFrameHeaderBytes, load_frame_header(frame.data()).record_bytes));
    return Success{};
  }

  Result<Success, JournalError> replay(LogPosition from, const RecordVisitor& visit) override {
    if (from < first_position_ || durable_end_ < from) return JournalError::NotFound;
    if (from < durable_end_ && !begins_record(from, log_.at(from))) return JournalError::NotFound;
    while (from < durable_end_) {
      const std::string_view frame = log_.at(from);
      const std::uint32_t record_bytes = load_frame_header(frame.data()).record_bytes;
      if (!visit(from, frame.substr(kFrameHeaderBytes, record_bytes))) break;
      from = from + frame_size(record_bytes);
    }
    return Success{};
  }

  Result<LogPosition, JournalError> trim(LogPosition keep_from) override {
    FANFARE_ASSERT(keep_from <= durable_end_);
    if (const auto newest = snapshots_.newest(); newest && *newest < keep_from) keep_from = *newest;
    log_.drop_before(keep_from, 0);
    first_position_ = log_.begin();
    return first_position_;
  }

  SnapshotStore& snapshots() override { return snapshots_; }

  [[nodiscard]] JournalStats stats() const override {
    JournalStats now = stats_;
    now.log_bytes = durable_end_ - first_position_;
    now.room_bytes = ~std::uint64_t{0};
    return now;
  }

 private:
  static constexpr std::uint32_t kSeed = 0x6d656d6f;

  [[nodiscard]] static bool begins_record(LogPosition position, std::string_view rest) {
    return position.value % 8 == 0 && rest.size() >= kFrameHeaderBytes && header_holds(load_frame_header(rest.data()), kSeed, position);
  }

  TailBuffer log_{LogPosition{}};
  MemorySnapshots snapshots_;
  JournalStats stats_;
};

}  // namespace

std::unique_ptr<Journal> make_memory_journal() { return std::make_unique<MemoryJournal>(); }

}  // namespace fanfare::journal
