#include "journal/file/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "journal/file/snapshot_file.h"

namespace fanfare::journal {
namespace {

constexpr std::size_t kSeedOffset = 56;
constexpr LogPosition kNoLimit{~std::uint64_t{0}};

bool has_damaged_header(const LogScan& scan, const std::string& name) {
  const auto at_start = [&](const Damage& damage) { return damage.file == name && damage.byte_offset == 0; };
  return std::any_of(scan.damage.begin(), scan.damage.end(), at_start);
}

}  // namespace

Result<std::unique_ptr<SalvagedLog>, OpenError> SalvagedLog::open(FileSystem& files) {
  auto scan = scan_log(files, ScanDepth::All);
  if (!scan) return scan.error();
  std::unique_ptr<SalvagedLog> log(new SalvagedLog(files, std::move(*scan)));
  if (const auto gathered = log->gather(); !gathered) return gathered.error();
  return log;
}

Result<Success, OpenError> SalvagedLog::gather() {
  for (const ScannedSegment& segment : scan_.segments) {
    parts_.push_back({segment.name, segment.header, segment.file_bytes, segment.end, false, segment.header.seed(), nullptr, nullptr});
  }
  const auto names = files_.list();
  if (!names) return io_failure(names.error(), "the folder");
  for (const std::string& name : *names) {
    if (!sequence_of_segment_name(name) || !has_damaged_header(scan_, name)) continue;
    const auto rebuilt = rebuild_header(name);
    if (!rebuilt) return rebuilt.error();
    if (!*rebuilt) losses_.push_back({name, 0, 0, {}, {}, "a segment header; without it no record of this file can be told from old bytes"});
  }
  for (const Damage& damage : scan_.damage) {
    if (position_of_snapshot_name(damage.file)) losses_.push_back({damage.file, damage.byte_offset, 0, {}, {}, damage.expected});
  }
  // A later segment wins from where it begins, as at opening.
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.header.sequence > b.header.sequence; });
  LogPosition limit = kNoLimit;
  std::erase_if(parts_, [&](Part& part) {
    if (part.header.first >= limit) return true;
    part.end = limit;
    limit = part.header.first;
    return false;
  });
  std::reverse(parts_.begin(), parts_.end());
  if (!parts_.empty()) parts_.back().is_last = true;
  if (scan_.control) end_ = scan_.control->kept_from;  // the oldest segment begins there
  else if (!parts_.empty()) end_ = parts_.front().header.first;
  return Success{};
}

/// A header is told by what it must be: its fields, or the seed beside them, or the end of the segment before it. It is right if a frame
/// holds with it.
Result<bool, OpenError> SalvagedLog::rebuild_header(const std::string& name) {
  auto file = files_.open(name, OpenMode::Read);
  if (!file) return io_failure(file.error(), name);
  const auto file_bytes = (*file)->size();
  if (!file_bytes) return io_failure(file_bytes.error(), name);
  std::string block(kSegmentHeaderBytes, '\0');
  const auto got = (*file)->read_at(block.data(), block.size(), 0);
  if (!got) return io_failure(got.error(), name);
  if (*got < kSegmentHeaderBytes) return false;
  SegmentHeader header;
  header.sequence = *sequence_of_segment_name(name);
  if (scan_.control) header.journal = scan_.control->journal;
  else if (!scan_.segments.empty()) header.journal = scan_.segments.front().header.journal;
  header.epoch = load_le<std::uint64_t>(block.data() + 48);
  std::vector<LogPosition> firsts{LogPosition{load_le<std::uint64_t>(block.data() + 40)}};
  firsts.push_back(scan_.control ? scan_.control->kept_from : LogPosition{});  // the oldest one begins there
  std::vector<std::uint64_t> epochs{header.epoch, 1};
  if (scan_.control) epochs.push_back(scan_.control->epoch);
  for (const ScannedSegment& other : scan_.segments) {
    epochs.push_back(other.header.epoch);
    if (other.header.sequence + 1 != header.sequence) continue;
    // The one before it ends where this one begins.
    auto before = files_.open(other.name, OpenMode::Read);
    if (!before) return io_failure(before.error(), other.name);
    FrameWalker walker(**before, other.header, other.file_bytes, other.header.first);
    while (walker.look() == FrameWalker::Step::Record) walker.advance();
    if (walker.error()) return io_failure(*walker.error(), other.name);
    firsts.push_back(walker.position());
  }
  std::string frame(kFrameHeaderBytes, '\0');
  const auto first_frame = (*file)->read_at(frame.data(), frame.size(), kSegmentHeaderBytes);
  if (!first_frame) return io_failure(first_frame.error(), name);
  if (*first_frame < kFrameHeaderBytes) return false;
  const FrameHeader found = load_frame_header(frame.data());
  const auto stored_seed = load_le<std::uint32_t>(block.data() + kSeedOffset);
  for (const LogPosition first : firsts) {
    header.first = first;
    for (const std::uint64_t epoch : epochs) {
      header.epoch = epoch;
      for (const std::uint32_t seed : {header.seed(), stored_seed}) {
        if (!header_holds(found, seed, first)) continue;
        parts_.push_back({name, header, *file_bytes, {}, false, seed, nullptr, nullptr});
        return true;
      }
    }
  }
  return false;
}

Result<Success, FileError> SalvagedLog::open_part(Part& part) {
  if (part.walker != nullptr) return Success{};
  auto file = files_.open(part.name, OpenMode::Read);
  if (!file) return file.error();
  part.file = std::move(*file);
  part.walker = std::make_unique<FrameWalker>(*part.file, part.header.first, part.seed, part.file_bytes, part.header.first);
  return Success{};
}

void SalvagedLog::lost(Part& part, LogPosition from, LogPosition to, std::string what) {
  const std::uint64_t offset = kSegmentHeaderBytes + (from - part.header.first);
  const std::uint64_t bytes = offset < part.file_bytes ? std::min(to - from, part.file_bytes - offset) : 0;
  losses_.push_back({part.name, offset, bytes, from, to, std::move(what)});
}

Result<Success, OpenError> SalvagedLog::walk_part(Part& part, const std::function<void(LogPosition, std::string_view)>& visit) {
  if (const auto opened = open_part(part); !opened) return io_failure(opened.error(), part.name);
  FrameWalker& walker = *part.walker;
  walker.seek(part.header.first);
  while (walker.position() < part.end) {
    const auto step = walker.look();
    if (step == FrameWalker::Step::Error) return io_failure(*walker.error(), part.name);
    if (step == FrameWalker::Step::Record) {
      visit(walker.position(), walker.record());
      ++records_;
      walker.advance();
      end_ = walker.position();
      continue;
    }
    const LogPosition bad = walker.position();
    // Where the log ends, and at an unfinished commit, nothing is lost.
    if (part.is_last && bad >= scan_.floor) break;
    std::string what = walker.expectation();
    const bool length_is_known = walker.header_held();
    const std::uint32_t length = walker.header().record_bytes;
    bool again = false;
    if (length_is_known) {
      walker.seek(bad + frame_size(length));
      const auto next = walker.look();
      if (next == FrameWalker::Step::Error) return io_failure(*walker.error(), part.name);
      again = next == FrameWalker::Step::Record;
      if (!again) walker.seek(bad);
    }
    while (!again && walker.search()) {
      if (walker.position() >= part.end) break;
      again = walker.look() == FrameWalker::Step::Record;
      if (walker.error()) break;
    }
    if (walker.error()) return io_failure(*walker.error(), part.name);
    if (again && walker.position() < part.end) {
      lost(part, bad, walker.position(), std::move(what));
      continue;
    }
    lost(part, bad, part.is_last ? std::max(bad, scan_.floor) : part.end, std::move(what));
    break;
  }
  return Success{};
}

Result<Success, OpenError> SalvagedLog::walk(const std::function<void(LogPosition, std::string_view)>& visit) {
  for (Part& part : parts_) {
    if (part.header.first > end_) {
      const bool known = !losses_.empty() && losses_.back().to == part.header.first;
      if (!known) losses_.push_back({"", 0, 0, end_, part.header.first, "a segment file, found none"});
    }
    end_ = std::max(end_, part.header.first);
    if (const auto walked = walk_part(part, visit); !walked) return walked.error();
  }
  const LogPosition promised = std::max(scan_.floor, scan_.control ? scan_.control->known_durable : LogPosition{});
  if (promised > end_ && (losses_.empty() || losses_.back().to < promised)) {
    losses_.push_back({"", 0, 0, end_, promised, "records up to the position that was known to be durable, found none"});
  }
  end_ = std::max(end_, promised);
  return Success{};
}

Result<Success, JournalError> SalvagedLog::read(LogPosition position, std::string& out) {
  auto after = std::upper_bound(parts_.begin(), parts_.end(), position, [](LogPosition wanted, const Part& part) { return wanted < part.header.first; });
  if (after == parts_.begin() || position.value % 8 != 0) return JournalError::NotFound;
  Part& part = *std::prev(after);
  if (position >= part.end) return JournalError::NotFound;
  if (const auto opened = open_part(part); !opened) return opened.error().kind();
  part.walker->seek(position);
  switch (part.walker->look()) {
    case FrameWalker::Step::Error: return part.walker->error()->kind();
    case FrameWalker::Step::Bad: return JournalError::NotFound;
    case FrameWalker::Step::Record: break;
  }
  out.assign(part.walker->record());
  return Success{};
}

Result<std::unique_ptr<SnapshotReader>, JournalError> SalvagedLog::snapshot() {
  if (scan_.snapshots.empty()) return std::unique_ptr<SnapshotReader>();
  auto reader = SnapshotFileReader::open(files_, scan_.snapshots.front().name);
  if (!reader) return reader.error().kind == SnapshotFault::Kind::Io ? reader.error().error.kind() : JournalError::Damaged;
  return std::unique_ptr<SnapshotReader>(std::move(*reader));
}

}  // namespace fanfare::journal
