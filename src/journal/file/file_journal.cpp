#include "journal/file/file_journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/marks.h"
#include "journal/file/control_file.h"
#include "journal/file/frame_walker.h"
#include "journal/file/layout.h"
#include "journal/file/scan.h"
#include "journal/file/segment_pool.h"
#include "journal/file/snapshots.h"
#include "journal/file_system.h"
#include "journal/frame.h"
#include "journal/tail_buffer.h"

namespace fanfare::journal {
namespace {

/// With Sync::No, so much may wait for a sync before commit() makes one: it stays in memory, and is written again after a failure.
constexpr std::uint64_t kUnsyncedBytesMax = 8u << 20;
/// One read answers most records; readers that go on in order get a longer one.
constexpr std::uint64_t kReadBytes = 4096;
constexpr std::uint64_t kReadAheadBytes = 64u << 10;
constexpr std::size_t kOpenFilesMax = 128;
/// Longer commits take several writes.
constexpr std::size_t kPagesBytes = 1u << 20;

/// A segment of the log, or one that the records in memory will need.
struct Segment {
  SegmentHeader header;
  std::uint32_t seed = 0;
  LogPosition end;  // of what is written; the newest segment's moves on
  std::uint64_t file_bytes = 0;  // prewritten or written
  std::unique_ptr<File> file;    // null: not open now
  std::uint64_t last_use = 0;
};

/// What guards the folder: the lock, and its text, which a later holder overwrites.
class Fence {
 public:
  Fence(std::unique_ptr<File> file, std::uint64_t epoch) : file_(std::move(file)), line_(lock_line(::getpid(), epoch)) {}

  Result<Success, FileError> raise() { return write_all(*file_, line_, 0, Sync::No); }

  Result<Success, JournalError> check() {
    std::array<char, kLockLineBytes> now;
    const auto got = file_->read_at(now.data(), now.size(), 0);
    if (!got) return JournalError::Io;
    if (std::string_view(now.data(), *got) != line_) return JournalError::Fenced;
    return Success{};
  }

 private:
  std::unique_ptr<File> file_;
  std::string line_;
};

// Rule 1: records in [durable_end_, next_position_) are in tail_; only what is durable leaves it.
// Rule 2: after a write or sync has failed, the newest segment's tail is unknown. Nothing more is written there: the log goes on in
//         a new segment that begins at durable_end_, with what tail_ still holds; recovery lets the later segment win.
// Rule 3: durable_end_ moves only when a whole commit is durable, and never back.
class FileJournal final : public Journal {
 public:
  FileJournal(std::unique_ptr<FileSystem> owned, FileSystem& files, const FileJournalOptions& options, std::unique_ptr<Fence> fence,
              std::unique_ptr<ControlFile> control, const LogScan& scan)
      : owned_files_(std::move(owned)),
        files_(files),
        options_(options),
        fence_(std::move(fence)),
        control_(std::move(control)),
        journal_(control_->current().journal),
        snapshots_(files_, journal_, control_->current().epoch,
                   scan.snapshots.empty() ? std::nullopt : std::optional(scan.snapshots.front().position), [this] { return fence_->check(); },
                   [this](bool writing) { pool_.hold_back(writing); }),
        pool_(files_, options_.segment_bytes, scan.spare_number_max + 1, options_.background),
        tail_(scan.end),
        committed_end_(scan.end),
        written_end_(scan.end),
        synced_end_(scan.end),
        next_sequence_(scan.sequence_max + 1),
        disk_is_low_(files_.free_bytes() < 2 * options_.segment_bytes) {
    epoch_ = control_->current().epoch;
    first_position_ = scan.first;
    next_position_ = durable_end_ = scan.end;
    for (const ScannedSegment& found : scan.segments) {
      segments_.push_back({found.header, found.header.seed(), found.end, found.file_bytes, nullptr, 0});
    }
    if (!segments_.empty()) aim_at(segments_.back().header, segments_.back().seed);
  }

  ~FileJournal() override {
    // What was acknowledged is durable already; the note in CONTROL lets the next opening notice if any of it is missing.
    if (suspect_ || fenced_ || segments_.empty()) return;
    if (durable_end_ < committed_end_) {
      discard_uncommitted();
      if (!commit(Sync::Yes)) return;
    }
    if (fence_->check()) note_durable(durable_end_);
  }

  /// The last steps of opening. Removes what is of no use, and gives a new journal its first segment.
  Result<Success, OpenError> settle(const LogScan& scan) {
    if (segments_.empty()) {
      if (const auto begun = begin_segment(next_position_); !begun) {
        const auto kind = begun.error() == JournalError::NoSpace ? OpenError::Kind::NoSpace : OpenError::Kind::Io;
        return OpenError{kind, failure_, {}};
      }
      aim_at(segments_.back().header, segments_.back().seed);
    }
    if (scan.temporary_left) (void)files_.remove(kSnapshotTempName);
    for (const std::string& name : scan.obsolete_snapshots) (void)files_.remove(name);
    for (const std::string& name : scan.spares) adopt_spare(name);
    pool_.recycle(scan.obsolete);
    return Success{};
  }

  LogPosition append(std::string_view record) override {
    FANFARE_ASSERT(!record.empty() && record.size() <= kRecordBytesMax, fmt::format("a record of {} bytes", record.size()));
    const LogPosition position = next_position_;
    const std::uint64_t frame_bytes = frame_size(record.size());
    if (aim_room_ < frame_bytes && position != aim_first_) plan_segment(position);
    char* at = tail_.extend(frame_bytes);
    std::memset(at + frame_bytes - 8, 0, 8);  // the padding; overwritten where there is none
    std::memcpy(at + kFrameHeaderBytes, record.data(), record.size());
    const std::uint64_t floor_distance = position - durable_end_;
    FANFARE_ASSERT(floor_distance <= std::numeric_limits<std::uint32_t>::max());
    seal_frame(at, aim_seed_, position, static_cast<std::uint32_t>(record.size()), static_cast<std::uint32_t>(floor_distance));
    aim_room_ -= std::min(aim_room_, frame_bytes);
    next_position_ = position + frame_bytes;
    ++stats_.records_appended;
    stats_.bytes_appended += frame_bytes;
    return position;
  }

  Result<LogPosition, JournalError> commit(Sync sync) override {
    // A suspect tail may hold frames of what was discarded: also an empty commit has to leave them behind before it succeeds.
    const bool nothing_to_write = written_end_ == next_position_ && !suspect_;
    if (nothing_to_write && (sync == Sync::No || durable_end_ == next_position_)) {
      // The pool's thread tries again by itself; without one this is the moment, or a disk that was full would stay so.
      if (!options_.background && pool_.state().space_is_short) pool_.want(false);
      return durable_end_;
    }
    if (fenced_) return JournalError::Fenced;
    if (const auto mine = fence_->check(); !mine) {
      fenced_ = mine.error() == JournalError::Fenced;
      return failed(mine.error(), fenced_ ? "another process has opened the folder" : "the lock file cannot be read");
    }
    ++stats_.commits;
    const auto done = write_appended(sync == Sync::Yes || next_position_ - durable_end_ > kUnsyncedBytesMax);
    if (!done) {
      // Whatever reached the newest segment of this commit must not be taken for part of the log later.
      suspect_ = suspect_ || written_end_ != committed_end_;
      return done.error();
    }
    committed_end_ = next_position_;
    tail_.drop_before(durable_end_, options_.tail_cache_bytes);
    after_commit();
    return durable_end_;
  }

  void discard_uncommitted() override {
    if (next_position_ == committed_end_) return;
    tail_.truncate(committed_end_);
    next_position_ = committed_end_;
    while (!planned_.empty() && planned_.back().header.first >= committed_end_) planned_.pop_back();
    const Segment& last = planned_.empty() ? segments_.back() : planned_.back();
    aim_at(last.header, last.seed);
  }

  Result<Success, JournalError> read(LogPosition position, std::string& out) override {
    if (position < first_position_ || next_position_ <= position || position.value % 8 != 0) return JournalError::NotFound;
    if (position >= tail_.begin()) return read_from_tail(position, out);
    const auto read = read_from_file(position, out);
    if (!read) window_bytes_ = 0;  // what a disk misread once it may read rightly the next time
    return read;
  }

  Result<Success, JournalError> replay(LogPosition from, const RecordVisitor& visit) override {
    if (from < first_position_ || committed_end_ < from || from.value % 8 != 0) return JournalError::NotFound;
    for (std::size_t i = index_of(from); i < segments_.size() && from < std::min(tail_.begin(), committed_end_); ++i) {
      Segment& segment = segments_[i];
      auto file = file_of(segment);
      if (!file) return failed(file.error(), segment_name(segment.header.sequence));
      const LogPosition stop = std::min({segment.end, tail_.begin(), committed_end_});
      FrameWalker walker(**file, segment.header, kSegmentHeaderBytes + (segment.end - segment.header.first), from);
      for (bool first = true; walker.position() < stop; first = false) {
        switch (walker.look()) {
          case FrameWalker::Step::Error: return failed(*walker.error(), segment_name(segment.header.sequence));
          case FrameWalker::Step::Bad: return first ? judge_bad(from) : JournalError::Damaged;
          case FrameWalker::Step::Record: break;
        }
        if (!visit(walker.position(), walker.record())) return Success{};
        walker.advance();
      }
      from = walker.position();
    }
    while (from < committed_end_) {
      const std::string_view frame = tail_.at(from);
      const FrameHeader header = load_frame_header(frame.data());
      if (frame.size() < kFrameHeaderBytes || !header_holds(header, seed_at(from), from)) return JournalError::NotFound;
      if (!visit(from, frame.substr(kFrameHeaderBytes, header.record_bytes))) return Success{};
      from = from + frame_size(header.record_bytes);
    }
    return Success{};
  }

  Result<LogPosition, JournalError> trim(LogPosition keep_from) override {
    FANFARE_ASSERT(keep_from <= durable_end_);
    const auto newest = snapshots_.newest();
    if (newest) keep_from = std::min(keep_from, *newest);
    std::size_t unneeded = 0;
    while (unneeded + 1 < segments_.size() && segments_[unneeded].end <= keep_from) ++unneeded;
    if (unneeded == 0) return first_position_;
    if (fenced_) return JournalError::Fenced;
    if (const auto mine = fence_->check(); !mine) return failed(mine.error(), "the lock file");
    const LogPosition first = segments_[unneeded].header.first;
    const auto noted = control_->update([&](Control& control) {
      control.kept_from = first;
      control.needed_snapshot = newest;
    });
    if (!noted) return failed(noted.error(), kControlName);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < unneeded; ++i) names.push_back(segment_name(segments_[i].header.sequence));
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(unneeded));
    first_position_ = first;
    pool_.recycle(std::move(names));
    return first_position_;
  }

  SnapshotStore& snapshots() override { return snapshots_; }

  [[nodiscard]] JournalStats stats() const override {
    JournalStats now = stats_;
    const SegmentPool::State pool = pool_.state();
    now.segments = segments_.size();
    for (const Segment& segment : segments_) now.bytes_on_disk += segment.file_bytes;
    now.older_bytes = now.bytes_on_disk - segments_.back().file_bytes;
    now.segment_bytes = options_.segment_bytes;
    now.newest_segment = segments_.back().header.first;
    now.bytes_on_disk += pool.ready * options_.segment_bytes;
    now.log_bytes = durable_end_ - first_position_;
    now.room_bytes = prewritten_room() + pool.ready * (options_.segment_bytes - kSegmentHeaderBytes);
    now.space_is_short = pool.space_is_short;
    now.disk_free_bytes = files_.free_bytes();
    now.writable = !suspect_ && !fenced_;
    now.failures += pool.failures;
    now.last_failure = failure_.empty() ? pool.last_failure : failure_;
    return now;
  }

 private:
  // ---- Where appended records will lie -------------------------------------------------------------------------------------

  /// Records that are appended from now on go to this segment, at its end.
  void aim_at(const SegmentHeader& header, std::uint32_t seed) {
    aim_first_ = header.first;
    aim_seed_ = seed;
    const std::uint64_t used = kSegmentHeaderBytes + (next_position_ - header.first);
    aim_room_ = options_.segment_bytes - std::min(options_.segment_bytes, used);
  }

  void plan_segment(LogPosition first) {
    Segment planned;
    planned.header = {journal_, next_sequence_ + planned_.size(), first, epoch_};
    planned.seed = planned.header.seed();
    planned.end = first;
    aim_first_ = first;
    aim_seed_ = planned.seed;
    aim_room_ = options_.segment_bytes - kSegmentHeaderBytes;
    planned_.push_back(std::move(planned));
  }

  /// Lays out everything from durable_end_ on anew, beginning with a new segment, and sums it again.
  void plan_again() {
    planned_.clear();
    const LogPosition stop = next_position_;
    next_position_ = durable_end_;
    plan_segment(next_position_);
    while (next_position_ < stop) {
      char* at = tail_.mutable_at(next_position_);
      const std::uint32_t record_bytes = load_frame_header(at).record_bytes;
      const std::uint64_t frame_bytes = frame_size(record_bytes);
      if (aim_room_ < frame_bytes && next_position_ != aim_first_) plan_segment(next_position_);
      seal_frame(at, aim_seed_, next_position_, record_bytes, static_cast<std::uint32_t>(next_position_ - durable_end_));
      aim_room_ -= std::min(aim_room_, frame_bytes);
      next_position_ = next_position_ + frame_bytes;
    }
  }

  [[nodiscard]] std::uint32_t seed_at(LogPosition position) const {
    for (auto planned = planned_.rbegin(); planned != planned_.rend(); ++planned) {
      if (planned->header.first <= position) return planned->seed;
    }
    return segments_[index_of(position)].seed;
  }

  /// The segment that position lies in, or the newest one.
  [[nodiscard]] std::size_t index_of(LogPosition position) const {
    const auto after = std::upper_bound(segments_.begin(), segments_.end(), position,
                                        [](LogPosition wanted, const Segment& segment) { return wanted < segment.header.first; });
    FANFARE_ASSERT(after != segments_.begin());
    return static_cast<std::size_t>(after - segments_.begin()) - 1;
  }

  [[nodiscard]] std::uint64_t prewritten_room() const {
    const Segment& newest = segments_.back();
    const std::uint64_t used = kSegmentHeaderBytes + (next_position_ - std::min(next_position_, newest.header.first));
    return planned_.empty() && !suspect_ && newest.file_bytes >= options_.segment_bytes ? newest.file_bytes - std::min(newest.file_bytes, used) : 0;
  }

  // ---- Writing ------------------------------------------------------------------------------------------------------------

  Result<Success, JournalError> write_appended(bool durably) {
    if (suspect_) {
      if (const auto moved = move_on(); !moved) return moved.error();
    }
    // Found out before anything of this commit is written, so that a full disk leaves the rest of the segment for smaller records.
    if (!planned_.empty()) {
      if (const auto made = prepare(planned_.front().header); !made) return made.error();
    }
    while (written_end_ < next_position_) {
      if (!planned_.empty() && planned_.front().header.first == written_end_) {
        if (const auto synced = sync_newest(); !synced) return synced.error();
        if (const auto begun = begin_segment(written_end_); !begun) return begun.error();
        planned_.pop_front();
        continue;
      }
      const LogPosition stop = planned_.empty() ? next_position_ : planned_.front().header.first;
      if (const auto written = write_up_to(stop, durably); !written) return written.error();
    }
    if (!durably) return Success{};
    if (const auto synced = sync_newest(); !synced) return synced.error();
    durable_end_ = next_position_;
    return Success{};
  }

  Result<Success, JournalError> write_up_to(LogPosition stop, bool durably) {
    Segment& newest = segments_.back();
    pieces_.clear();
    tail_.collect(written_end_, stop, pieces_);
    // One system call writes and syncs, unless something older in this file waits for a sync as well.
    const bool in_one = durably && synced_end_ == written_end_;
    const std::uint64_t offset = kSegmentHeaderBytes + (written_end_ - newest.header.first);
    const std::uint64_t end = kSegmentHeaderBytes + (stop - newest.header.first);
    if (in_one) {
      if (const auto read = load_last_page(newest, offset); !read) return read.error();
    }
    const auto written = in_one ? write_pieces_as_pages(newest, offset) : write_all(*newest.file, pieces_, offset, Sync::No);
    if (!written) {
      suspect_ = true;
      return failed(written.error(), segment_name(newest.header.sequence));
    }
    if (in_one) {
      ++stats_.syncs;
      synced_end_ = stop;
    }
    written_end_ = newest.end = stop;
    newest.file_bytes = std::max(newest.file_bytes, in_one ? (end + kPageBytes - 1) / kPageBytes * kPageBytes : end);
    return Success{};
  }

  /// Puts into pages_ what the newest segment has before `offset` in that page, if it is not there from the commit before.
  Result<Success, JournalError> load_last_page(Segment& newest, std::uint64_t offset) {
    const std::uint64_t before = offset % kPageBytes;
    if (before == 0 || (paged_sequence_ == newest.header.sequence && paged_end_ == offset)) return Success{};
    const auto got = newest.file->read_at(pages_.data(), before, offset - before);
    if (!got) return failed(got.error(), segment_name(newest.header.sequence));
    if (*got != before) return failed(FileError{EIO, "pread"}, segment_name(newest.header.sequence));
    return Success{};
  }

  /// Writes pieces_ durably at `offset`, in whole pages: the first one again from its beginning, the last one filled up with zeros, as
  /// a prewritten segment has them behind its end. What was durable in the first page is written as it was.
  Result<Success, FileError> write_pieces_as_pages(const Segment& newest, std::uint64_t offset) {
    paged_sequence_ = 0;  // until it has succeeded
    std::uint64_t used = offset % kPageBytes;
    std::uint64_t page_offset = offset - used;
    const auto flush = [&]() -> Result<Success, FileError> {
      const std::uint64_t size = (used + kPageBytes - 1) / kPageBytes * kPageBytes;
      std::memset(pages_.data() + used, 0, size - used);
      if (const auto written = write_all_pages(*newest.file, {pages_.data(), size}, page_offset, Sync::Yes); !written) return written.error();
      const std::uint64_t whole = used / kPageBytes * kPageBytes;
      if (whole > 0) std::memcpy(pages_.data(), pages_.data() + whole, used - whole);
      page_offset += whole;
      used -= whole;
      return Success{};
    };
    for (std::string_view piece : pieces_) {
      while (!piece.empty()) {
        const std::size_t part = std::min<std::size_t>(piece.size(), pages_.size() - used);
        std::memcpy(pages_.data() + used, piece.data(), part);
        used += part;
        piece.remove_prefix(part);
        if (used < pages_.size()) continue;
        if (const auto written = flush(); !written) return written;
      }
    }
    if (used > 0) {
      if (const auto written = flush(); !written) return written;
    }
    paged_sequence_ = newest.header.sequence;
    paged_end_ = page_offset + used;
    return Success{};
  }

  Result<Success, JournalError> sync_newest() {
    if (synced_end_ == written_end_) return Success{};
    Segment& newest = segments_.back();
    if (const auto synced = newest.file->sync(); !synced) {
      suspect_ = true;
      return failed(synced.error(), segment_name(newest.header.sequence));
    }
    ++stats_.syncs;
    synced_end_ = written_end_;
    return Success{};
  }

  /// Makes a file ready to become the segment with this header, under a spare's name.
  Result<Success, JournalError> prepare(const SegmentHeader& header) {
    if (prepared_ && prepared_->header == header) return Success{};
    if (!prepared_) {
      std::optional<std::string> name = pool_.take();
      prepared_name_ = name ? std::move(*name) : pool_.fresh_name();
      auto file = files_.open(prepared_name_, OpenMode::Create);
      if (!file) return failed(file.error(), prepared_name_);
      const auto bytes = (*file)->size();
      if (!bytes) return failed(bytes.error(), prepared_name_);
      prepared_.emplace();
      prepared_->file = std::move(*file);
      prepared_->file_bytes = *bytes;
    }
    if (const auto written = write_all(*prepared_->file, header.encode(), 0, Sync::Yes); !written) {
      prepared_.reset();
      (void)files_.remove(prepared_name_);
      return failed(written.error(), prepared_name_);
    }
    prepared_->header = header;
    prepared_->seed = header.seed();
    prepared_->end = header.first;
    prepared_->file_bytes = std::max(prepared_->file_bytes, kSegmentHeaderBytes);
    return Success{};
  }

  /// The log goes on in a new segment from `first`, which is written_end_.
  Result<Success, JournalError> begin_segment(LogPosition first) {
    const SegmentHeader header{journal_, next_sequence_, first, epoch_};
    if (const auto made = prepare(header); !made) return made.error();
    const std::string name = segment_name(header.sequence);
    auto named = files_.rename(prepared_name_, name);
    if (named) named = files_.sync_directory();
    if (!named) {
      // Whether the name will be there after a crash is unknown. Whatever happens next, a later segment overtakes it.
      FANFARE_MARK(journal_segment_name_in_doubt);
      overtaken_.push_back(name);
      prepared_.reset();
      ++next_sequence_;
      suspect_ = true;
      return failed(named.error(), name);
    }
    ++next_sequence_;
    if (!segments_.empty()) segments_.back().end = first;
    segments_.push_back(std::move(*prepared_));
    prepared_.reset();
    written_end_ = synced_end_ = first;
    begun_ = true;
    return Success{};
  }

  /// Rule 2: a new segment takes over from durable_end_ on.
  Result<Success, JournalError> move_on() {
    FANFARE_MARK(journal_moves_on_after_failure);
    plan_again();
    if (const auto begun = begin_segment(durable_end_); !begun) return begun.error();
    planned_.pop_front();
    while (segments_.size() > 1 && segments_[segments_.size() - 2].header.first >= durable_end_) {
      const auto gone = segments_.end() - 2;
      overtaken_.push_back(segment_name(gone->header.sequence));
      segments_.erase(gone);
    }
    if (segments_.size() > 1) segments_[segments_.size() - 2].end = durable_end_;
    pool_.recycle(std::exchange(overtaken_, {}));
    window_bytes_ = 0;
    suspect_ = false;
    return Success{};
  }

  /// Asks for a spare in time, and lets CONTROL know how far the log has come.
  void after_commit() {
    const std::uint64_t used = kSegmentHeaderBytes + (next_position_ - segments_.back().header.first);
    // Not before half of the segment is used: a young journal stays small, and an old segment may become free until then. Where there
    // may be no room for a spare, its owner must know while most of the segment is left.
    if (used >= options_.segment_bytes / 2 || disk_is_low_ || pool_.space_is_short()) pool_.want(used >= options_.segment_bytes / 4 * 3);
    if (!std::exchange(begun_, false)) return;
    disk_is_low_ = files_.free_bytes() < 2 * options_.segment_bytes;
    pool_.post([this, durable = durable_end_] { note_durable(durable); });
  }

  void note_durable(LogPosition durable) {
    (void)control_->update([&](Control& control) { control.known_durable = std::max(control.known_durable, durable); });
  }

  void adopt_spare(const std::string& name) {
    const auto file = files_.open(name, OpenMode::Read);
    const auto bytes = file ? (*file)->size() : Result<std::uint64_t, FileError>(file.error());
    if (bytes && *bytes == options_.segment_bytes && pool_.state().ready < 1) {
      pool_.adopt(name);
    } else {
      (void)files_.remove(name);
    }
  }

  // ---- Reading ------------------------------------------------------------------------------------------------------------

  Result<Success, JournalError> read_from_tail(LogPosition position, std::string& out) {
    const std::string_view frame = tail_.at(position);
    if (frame.size() < kFrameHeaderBytes) return JournalError::NotFound;
    const FrameHeader header = load_frame_header(frame.data());
    if (!header_holds(header, seed_at(position), position)) return JournalError::NotFound;
    out.assign(frame.substr(kFrameHeaderBytes, header.record_bytes));
    return Success{};
  }

  Result<Success, JournalError> read_from_file(LogPosition position, std::string& out) {
    Segment& segment = segments_[index_of(position)];
    std::string_view frame;
    FrameHeader header;
    std::uint64_t wanted = kFrameHeaderBytes;
    for (int round = 0;; ++round) {
      const auto bytes = bytes_at(segment, position, wanted);
      if (!bytes) return bytes.error();
      frame = *bytes;
      if (frame.size() < wanted) return judge_bad(position);
      if (round == 1) break;
      header = load_frame_header(frame.data());
      if (!header_holds(header, segment.seed, position)) return judge_bad(position);
      wanted = frame_size(header.record_bytes);
      if (frame.size() >= wanted) break;
    }
    frame = frame.substr(0, wanted);
    if (record_sum(header, frame.substr(kFrameHeaderBytes)) != header.record_sum) return JournalError::Damaged;
    out.assign(frame.substr(kFrameHeaderBytes, header.record_bytes));
    window_next_ = position + wanted;
    return Success{};
  }

  /// From the window, or read into it: `wanted` bytes or more of the segment, fewer only at its end.
  Result<std::string_view, JournalError> bytes_at(Segment& segment, LogPosition position, std::uint64_t wanted) {
    const bool inside = window_bytes_ > 0 && window_first_ <= position && position + wanted <= window_first_ + window_bytes_;
    if (!inside || window_sequence_ != segment.header.sequence) {
      const std::uint64_t ahead = position == window_next_ ? kReadAheadBytes : kReadBytes;
      const std::uint64_t size = std::min(std::max(wanted, ahead), segment.end - position);
      if (window_.size() < size) window_.resize(size);
      auto file = file_of(segment);
      if (!file) return failed(file.error(), segment_name(segment.header.sequence));
      window_bytes_ = 0;
      const auto got = (*file)->read_at(window_.data(), size, kSegmentHeaderBytes + (position - segment.header.first));
      if (!got) return failed(got.error(), segment_name(segment.header.sequence));
      window_bytes_ = *got;
      window_first_ = position;
      window_sequence_ = segment.header.sequence;
    }
    const std::uint64_t offset = position - window_first_;
    return std::string_view(window_).substr(offset, window_bytes_ - offset);
  }

  /// A position whose header does not hold is damage if it is a record's start, else it was never one. A walk over the headers
  /// from the segment's beginning tells.
  JournalError judge_bad(LogPosition position) {
    Segment& segment = segments_[index_of(position)];
    auto file = file_of(segment);
    if (!file) return failed(file.error(), segment_name(segment.header.sequence));
    FrameWalker walker(**file, segment.header, kSegmentHeaderBytes + (segment.end - segment.header.first), segment.header.first);
    while (walker.position() < position) {
      const auto step = walker.look();
      if (step == FrameWalker::Step::Error) return failed(*walker.error(), segment_name(segment.header.sequence));
      if (step == FrameWalker::Step::Bad && !walker.header_held()) return JournalError::Damaged;
      walker.advance();
    }
    return walker.position() == position ? JournalError::Damaged : JournalError::NotFound;
  }

  Result<File*, FileError> file_of(Segment& segment) {
    segment.last_use = ++uses_;
    if (segment.file != nullptr) return segment.file.get();
    std::size_t open_files = 0;
    Segment* oldest = nullptr;
    for (Segment& other : segments_) {
      if (other.file == nullptr || &other == &segments_.back()) continue;
      ++open_files;
      if (oldest == nullptr || other.last_use < oldest->last_use) oldest = &other;
    }
    if (open_files >= kOpenFilesMax) oldest->file.reset();
    auto file = files_.open(segment_name(segment.header.sequence), OpenMode::Write);
    if (!file) return file.error();
    segment.file = std::move(*file);
    return segment.file.get();
  }

  // ---- Failures -----------------------------------------------------------------------------------------------------------

  JournalError failed(const FileError& error, const std::string& name) { return failed(error.kind(), error.describe(name)); }
  JournalError failed(JournalError error, std::string what) {
    ++stats_.failures;
    failure_ = std::move(what);
    return error;
  }

 public:
  /// Opens the newest segment for writing; part of opening.
  Result<Success, FileError> open_newest() {
    if (segments_.empty()) return Success{};
    auto file = file_of(segments_.back());
    if (!file) return file.error();
    return Success{};
  }

 private:
  // Constant after construction:
  std::unique_ptr<FileSystem> owned_files_;
  FileSystem& files_;
  const FileJournalOptions options_;
  std::unique_ptr<Fence> fence_;
  std::unique_ptr<ControlFile> control_;
  const JournalId journal_;

  // With locks of their own:
  FileSnapshots snapshots_;
  SegmentPool pool_;

  // The owner thread's, like everything in Journal:
  TailBuffer tail_;
  LogPosition committed_end_;  // after the last commit() that succeeded
  LogPosition written_end_;    // of what the newest segment's file holds, as far as is known
  LogPosition synced_end_;     // of what is durable in the newest segment's file; at or below written_end_
  std::uint64_t next_sequence_;
  std::vector<Segment> segments_;  // by position; the last one is written to
  std::deque<Segment> planned_;    // segments that records in tail_ were summed for and that are not begun yet
  std::optional<Segment> prepared_;
  std::string prepared_name_;
  std::vector<std::string> overtaken_;  // segment names that a later segment makes obsolete
  bool suspect_ = false;                // rule 2
  bool fenced_ = false;
  bool begun_ = false;  // a segment since the last note in CONTROL
  bool disk_is_low_;    // when the newest segment was begun, there was hardly room for another

  LogPosition aim_first_;  // the segment that append() sums for: its first position, seed, and what is left of it
  std::uint32_t aim_seed_ = 0;
  std::uint64_t aim_room_ = 0;

  std::vector<std::string_view> pieces_;
  PageMemory pages_{kPagesBytes};     // what a commit writes; afterwards it begins with the page that the log ends in
  std::uint64_t paged_sequence_ = 0;  // of the segment that this page is of; 0: of none
  std::uint64_t paged_end_ = 0;       // the byte of its file that the log ended at
  std::string window_;  // what the last read from a file brought
  LogPosition window_first_;
  LogPosition window_next_;
  std::uint64_t window_bytes_ = 0;
  std::uint64_t window_sequence_ = 0;
  std::uint64_t uses_ = 0;

  JournalStats stats_;
  std::string failure_;
};

std::string damage_summary(const LogScan& scan) {
  const Damage& first = scan.damage.front();
  std::string text = fmt::format("the journal is damaged: {} at byte {}: expected {}", first.file, first.byte_offset, first.expected);
  if (first.records_beyond > 0) text += fmt::format("; {} whole records lie beyond", first.records_beyond);
  if (scan.damage.size() > 1) text += fmt::format("; and {} more places", scan.damage.size() - 1);
  return text + ". Nothing was changed; `fanfare journal verify` lists all of it.";
}

/// Writes [scan.floor, scan.end) again and zeros over what is cut, durably.
/// Again: these records were read from the page cache, perhaps after a sync that failed; only a fresh write makes them dirty once
/// more. Zeros: a frame that was cut must not come back when the log grows up to it.
Result<Success, OpenError> mend_tail(FileSystem& files, const LogScan& scan) {
  if (scan.segments.empty() || scan.floor == scan.cut_end) return Success{};
  const ScannedSegment& last = scan.segments.back();
  auto file = files.open(last.name, OpenMode::Write);
  if (!file) return io_failure(file.error(), last.name);
  std::uint64_t offset = kSegmentHeaderBytes + (scan.floor - last.header.first);
  std::uint64_t keep = scan.end - scan.floor;
  std::uint64_t clear = scan.cut_end - scan.end;
  std::string block;
  constexpr std::uint64_t kBlockBytes = 1u << 20;
  while (keep + clear > 0) {
    block.resize(std::min(keep > 0 ? keep : clear, kBlockBytes));
    if (keep > 0) {
      const auto got = (*file)->read_at(block.data(), block.size(), offset);
      if (!got) return io_failure(got.error(), last.name);
      if (*got != block.size()) return io_failure({EIO, "pread"}, last.name);
      keep -= block.size();
    } else {
      std::fill(block.begin(), block.end(), '\0');
      clear -= block.size();
    }
    if (const auto written = write_all(**file, block, offset, Sync::No); !written) return io_failure(written.error(), last.name);
    offset += block.size();
  }
  if (const auto synced = (*file)->sync(); !synced) return io_failure(synced.error(), last.name);
  return Success{};
}

/// `where` is the folder's name, for messages.
Result<OpenedJournal, OpenError> open_journal(std::unique_ptr<FileSystem> owned, FileSystem& files, Secrets& secrets,
                                              FileJournalOptions options, const std::string& where) {
  FANFARE_ASSERT(options.segment_bytes >= 2 * kSegmentHeaderBytes && options.segment_bytes % kSegmentHeaderBytes == 0,
                 fmt::format("segment_bytes is {}", options.segment_bytes));
  auto lock = files.open(kLockName, OpenMode::Create);
  if (!lock) return io_failure(lock.error(), kLockName);
  const auto locked = (*lock)->try_lock();
  if (!locked) return io_failure(locked.error(), kLockName);
  if (!*locked) {
    return OpenError{OpenError::Kind::Locked, fmt::format("{} is in use by {}: stop that one first, or name another folder", where, holder_of(**lock)), {}};
  }

  auto scanned = scan_log(files, ScanDepth::SinceSnapshot);
  if (!scanned) return scanned.error();
  LogScan& scan = *scanned;
  if (!scan.damage.empty()) return OpenError{OpenError::Kind::Damaged, damage_summary(scan), scan.damage};

  Control control;
  if (scan.control) {
    control = *scan.control;
  } else {
    secrets.fill(control.journal);
    scan.epoch_max = options.new_epoch_above;
    control.kept_from = scan.first = scan.check_from = scan.end = scan.floor = scan.cut_end = options.new_first;
  }
  auto fence = std::make_unique<Fence>(std::move(*lock), scan.epoch_max + 1);
  if (const auto raised = fence->raise(); !raised) return io_failure(raised.error(), kLockName);
  if (const auto mended = mend_tail(files, scan); !mended) return mended.error();
  auto control_file = ControlFile::open(files, control);
  if (!control_file) return io_failure(control_file.error(), kControlName);
  const auto noted = (*control_file)->update([&](Control& now) {
    now.epoch = scan.epoch_max + 1;
    now.known_durable = std::max(now.known_durable, scan.end);
  });
  if (!noted) return io_failure(noted.error(), kControlName);
  // Also the names that were found: a process that was killed may not have made them durable.
  if (const auto synced = files.sync_directory(); !synced) return io_failure(synced.error(), "the folder");

  auto journal = std::make_unique<FileJournal>(std::move(owned), files, options, std::move(fence), std::move(*control_file), scan);
  if (const auto opened = journal->open_newest(); !opened) return io_failure(opened.error(), scan.segments.back().name);
  if (const auto settled = journal->settle(scan); !settled) return settled.error();

  RecoveryReport report;
  report.first = scan.first;
  report.snapshot = scan.check_from;
  report.end = scan.end;
  report.records = scan.records;
  report.tail_was_torn = scan.tail_was_torn;
  report.records_cut = scan.records_cut;
  report.set_aside = scan.set_aside;
  return OpenedJournal{std::move(journal), std::move(report)};
}

}  // namespace

std::string holder_of(File& lock) {
  std::string line(kLockLineBytes, '\0');  // "pid 4711 epoch 3\n"
  const auto got = lock.read_at(line.data(), line.size(), 0);
  line.resize(got ? *got : 0);
  const std::size_t end = line.find(' ', 4);
  const std::string_view pid = line.starts_with("pid ") && end != std::string::npos ? std::string_view{line}.substr(4, end - 4) : std::string_view{};
  const bool is_number = !pid.empty() && pid.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? fmt::format("process {}", pid) : "another process";
}

Result<OpenedJournal, OpenError> open_file_journal(const std::string& folder, Secrets& secrets, FileJournalOptions options) {
  auto files = open_folder(folder);
  if (!files) return io_failure(files.error(), folder);
  FileSystem& port = **files;
  return open_journal(std::move(*files), port, secrets, options, folder);
}

Result<OpenedJournal, OpenError> open_file_journal(FileSystem& files, Secrets& secrets, FileJournalOptions options) {
  return open_journal(nullptr, files, secrets, options, "the journal");
}

}  // namespace fanfare::journal
