#include "journal/file/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "journal/file/frame_walker.h"
#include "journal/file/snapshot_file.h"

namespace fanfare::journal {
namespace {

using Outcome = Result<Success, OpenError>;

class Scanner {
 public:
  Scanner(FileSystem& files, ScanDepth depth) : files_(files), depth_(depth) {}

  Result<LogScan, OpenError> run() {
    const auto names = files_.list();
    if (!names) return io_failure(names.error(), "the folder");
    sort_names(*names);
    for (const auto step : {&Scanner::read_control_slots, &Scanner::read_segment_headers, &Scanner::read_snapshots,
                            &Scanner::chain_segments, &Scanner::check_records, &Scanner::compare_with_floor}) {
      if (const auto done = (this->*step)(); !done) return done.error();
    }
    return std::move(scan_);
  }

 private:
  void sort_names(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (const auto sequence = sequence_of_segment_name(name)) {
        segment_names_.push_back(name);  // the list is sorted, so these are too
        scan_.sequence_max = std::max(scan_.sequence_max, *sequence);
      } else if (position_of_snapshot_name(name)) {
        snapshot_names_.push_back(name);
      } else if (const auto number = number_of_spare_name(name)) {
        scan_.spares.push_back(name);
        scan_.spare_number_max = std::max(scan_.spare_number_max, *number);
      } else if (name == kSnapshotTempName) {
        scan_.temporary_left = true;
      }
    }
  }

  void damaged(std::string file, std::uint64_t byte_offset, LogPosition position, std::string expected, std::uint64_t beyond = 0) {
    scan_.damage.push_back({std::move(file), byte_offset, position, std::move(expected), beyond});
  }

  Outcome read_control_slots() {
    auto slots = read_control(files_);
    if (!slots) return io_failure(slots.error(), kControlName);
    scan_.control = slots->newest;
    if (slots->newest) {
      scan_.epoch_max = slots->newest->epoch;
      // A slot that was being written when the power went is expected; the other one stands.
      if (!slots->faults.empty()) scan_.epoch_max += 1;
      return Success{};
    }
    for (const LayoutFault& fault : slots->faults) {
      if (fault.version) return OpenError{OpenError::Kind::Version, fmt::format("{}: expected {}", kControlName, fault.expected), {}};
    }
    // Nothing valid is what a crash during the very first opening leaves; with segments or snapshots there it is damage.
    if (!segment_names_.empty() || !snapshot_names_.empty()) {
      const std::string found = slots->faults.empty() ? "a control slot, found none" : slots->faults.front().expected;
      damaged(kControlName, 0, {}, found);
    }
    return Success{};
  }

  Outcome read_segment_headers() {
    for (const std::string& name : segment_names_) {
      auto file = files_.open(name, OpenMode::Read);
      if (!file) return io_failure(file.error(), name);
      const auto file_bytes = (*file)->size();
      if (!file_bytes) return io_failure(file_bytes.error(), name);
      std::string block(kSegmentHeaderBytes, '\0');
      const auto got = (*file)->read_at(block.data(), block.size(), 0);
      if (!got) return io_failure(got.error(), name);
      block.resize(*got);
      const auto header = SegmentHeader::decode(block);
      if (!header) {
        if (header.error().version) {
          return OpenError{OpenError::Kind::Version, fmt::format("{}: expected {}", name, header.error().expected), {}};
        }
        damaged(name, 0, {}, header.error().expected);
        continue;
      }
      if (header->sequence != *sequence_of_segment_name(name)) {
        damaged(name, 0, header->first, fmt::format("a header with the sequence number of the file's name, found {}", header->sequence));
        continue;
      }
      if (scan_.control && header->journal != scan_.control->journal) {
        damaged(name, 0, header->first, "a header with CONTROL's journal id, found that of another journal");
        continue;
      }
      scan_.epoch_max = std::max(scan_.epoch_max, header->epoch);
      scan_.segments.push_back({name, *header, *file_bytes, {}, false, 0});
    }
    return Success{};
  }

  Outcome read_snapshots() {
    const bool one_is_needed = scan_.control && scan_.control->needed_snapshot.has_value();
    const LogPosition needed = one_is_needed ? *scan_.control->needed_snapshot : LogPosition{};
    const LogPosition of_use_from = std::max(needed, scan_.control ? scan_.control->kept_from : LogPosition{});
    std::vector<Damage> bad;
    for (auto name = snapshot_names_.rbegin(); name != snapshot_names_.rend(); ++name) {
      auto reader = SnapshotFileReader::open(files_, *name);
      SnapshotFault fault;
      if (reader) {
        const SnapshotHeader& header = (*reader)->header();
        if (header.position != *position_of_snapshot_name(*name)) {
          bad.push_back({*name, 0, header.position, "a header with the position of the file's name", 0});
          continue;
        }
        if (scan_.control && header.journal != scan_.control->journal) {
          bad.push_back({*name, 0, header.position, "a header with CONTROL's journal id, found that of another journal", 0});
          continue;
        }
        const auto checked = (*reader)->check_rest();
        if (checked) {
          if (header.position < of_use_from) {
            scan_.obsolete_snapshots.push_back(*name);
          } else {
            scan_.snapshots.push_back({*name, header.position, (*reader)->bytes()});
          }
          continue;
        }
        fault = checked.error();
      } else {
        fault = reader.error();
      }
      if (fault.kind == SnapshotFault::Kind::Io) return io_failure(fault.error, *name);
      if (fault.kind == SnapshotFault::Kind::Version) {
        return OpenError{OpenError::Kind::Version, fmt::format("{}: expected {}", *name, fault.expected), {}};
      }
      bad.push_back({*name, fault.byte_offset, {}, fault.expected, 0});
    }
    // A bad snapshot costs nothing if another one stands in for it, or if the log alone is enough.
    const bool missing = scan_.snapshots.empty() && one_is_needed;
    auto& where = missing ? scan_.damage : scan_.set_aside;
    where.insert(where.end(), bad.begin(), bad.end());
    if (missing && bad.empty()) damaged(snapshot_name(needed), 0, needed, "this snapshot or a newer one, found none");
    return Success{};
  }

  /// Drops segments that are trimmed or overtaken, gives each other its end, and looks for missing ones.
  Outcome chain_segments() {
    std::vector<ScannedSegment> chain;
    LogPosition limit{~std::uint64_t{0}};
    for (auto segment = scan_.segments.rbegin(); segment != scan_.segments.rend(); ++segment) {
      // After a failed commit the log goes on in a later segment from the last promised position on; what earlier ones hold from
      // there on was given up.
      if (segment->header.first >= limit) {
        scan_.obsolete.push_back(segment->name);
        continue;
      }
      segment->end = limit;
      limit = segment->header.first;
      chain.push_back(std::move(*segment));
    }
    std::reverse(chain.begin(), chain.end());
    const LogPosition kept_from = scan_.control ? scan_.control->kept_from : LogPosition{};
    auto keep = chain.begin();
    for (; keep != chain.end() && keep->end <= kept_from; ++keep) scan_.obsolete.push_back(keep->name);
    chain.erase(chain.begin(), keep);
    scan_.segments = std::move(chain);

    const auto& segments = scan_.segments;
    scan_.first = segments.empty() ? kept_from : segments.front().header.first;
    scan_.check_from = scan_.snapshots.empty() ? scan_.first : scan_.snapshots.front().position;
    if (segments.empty()) {
      if (kept_from > LogPosition{} || (scan_.control && scan_.control->known_durable > LogPosition{}) || !scan_.snapshots.empty()) {
        damaged(segment_name(scan_.sequence_max + 1), 0, kept_from, "a segment file, found none");
      }
      return Success{};
    }
    if (scan_.first > std::max(kept_from, LogPosition{})) {
      damaged(segments.front().name, 0, scan_.first,
              fmt::format("a segment that begins at or below position {}, found none: files are missing", kept_from.value));
    }
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
      const std::uint64_t holds = segments[i].file_bytes - std::min(segments[i].file_bytes, kSegmentHeaderBytes);
      if (segments[i].end - segments[i].header.first > holds) {
        damaged(segments[i].name, segments[i].file_bytes, segments[i].header.first + holds,
                fmt::format("records up to position {}, where {} begins: this file is too short, or one between is missing",
                            segments[i].end.value, segments[i + 1].name));
      }
    }
    return Success{};
  }

  Outcome check_records() {
    if (scan_.segments.empty()) {
      scan_.end = scan_.floor = scan_.cut_end = scan_.first;
      return Success{};
    }
    for (std::size_t i = 0; i + 1 < scan_.segments.size(); ++i) {
      ScannedSegment& segment = scan_.segments[i];
      if (depth_ == ScanDepth::SinceSnapshot && segment.end <= scan_.check_from) continue;
      if (const auto done = check_inner(segment); !done) return done;
    }
    return check_last(scan_.segments.back());
  }

  Result<std::unique_ptr<File>, OpenError> open_segment(const ScannedSegment& segment) {
    auto file = files_.open(segment.name, OpenMode::Read);
    if (!file) return io_failure(file.error(), segment.name);
    return std::move(*file);
  }

  /// A segment that another follows: its records end exactly where the next one begins.
  Outcome check_inner(ScannedSegment& segment) {
    auto file = open_segment(segment);
    if (!file) return file.error();
    FrameWalker walker(**file, segment.header, segment.file_bytes, segment.header.first);
    segment.checked = true;
    while (walker.position() < segment.end) {
      const auto step = walker.look();
      if (step == FrameWalker::Step::Error) return io_failure(*walker.error(), segment.name);
      if (step == FrameWalker::Step::Record && walker.position() + frame_size(walker.header().record_bytes) <= segment.end) {
        ++segment.records;
        ++scan_.records;
        walker.advance();
        continue;
      }
      const LogPosition bad = walker.position();
      const std::uint64_t offset = walker.byte_offset();
      std::string expected = walker.expectation();
      std::uint64_t beyond = 0;
      while (walker.search() && walker.position() < segment.end) {
        if (walker.look() == FrameWalker::Step::Record) ++beyond;
      }
      if (walker.error()) return io_failure(*walker.error(), segment.name);
      damaged(segment.name, offset, bad, std::move(expected), beyond);
      break;
    }
    return Success{};
  }

  Outcome check_last(ScannedSegment& segment) {
    auto file = open_segment(segment);
    if (!file) return file.error();
    FrameWalker walker(**file, segment.header, segment.file_bytes, segment.header.first);
    segment.checked = true;
    LogPosition witness = segment.header.first;  // a later segment is begun only when the one before is durable
    FrameWalker::Step step;
    while ((step = walker.look()) == FrameWalker::Step::Record) {
      witness = std::max(witness, floor_of(walker.header(), walker.position()));
      ++segment.records;
      ++scan_.records;
      walker.advance();
    }
    if (step == FrameWalker::Step::Error) return io_failure(*walker.error(), segment.name);

    segment.end = scan_.end = scan_.cut_end = walker.position();
    end_offset_ = walker.byte_offset();
    end_expectation_ = walker.expectation();
    scan_.tail_was_torn = walker.header_held();
    if (walker.header_held()) {
      witness = std::max(witness, floor_of(walker.header(), walker.position()));
      scan_.cut_end = walker.position() + frame_size(walker.header().record_bytes);
    }
    while (walker.search()) {
      scan_.tail_was_torn = true;
      witness = std::max(witness, floor_of(walker.header(), walker.position()));
      if (walker.look() == FrameWalker::Step::Record) ++scan_.records_cut;
      if (walker.error()) break;
      scan_.cut_end = std::max(scan_.cut_end, walker.position() + frame_size(walker.header().record_bytes));
    }
    if (walker.error()) return io_failure(*walker.error(), segment.name);
    if (const auto done = cut_half_header(**file, segment); !done) return done;
    scan_.floor = witness;
    return Success{};
  }

  /// The file may end within a header. Zeros that come behind it when the file grows could make that header whole, if a part of its sum is
  /// there: not where the file's size is a multiple of 8, as that of prewritten segments and of those used again, which end in anything.
  Outcome cut_half_header(File& file, const ScannedSegment& segment) {
    const std::uint64_t log_end = kSegmentHeaderBytes + (scan_.end - segment.header.first);
    if (segment.file_bytes <= log_end || segment.file_bytes % 8 == 0) return Success{};
    std::array<char, kFrameHeaderBytes> last{};
    const std::uint64_t size = std::min<std::uint64_t>(segment.file_bytes - log_end, last.size());
    const auto got = file.read_at(last.data(), size, segment.file_bytes - size);
    if (!got) return io_failure(got.error(), segment.name);
    if (std::all_of(last.begin(), last.end(), [](char c) { return c == '\0'; })) return Success{};
    scan_.tail_was_torn = true;
    scan_.cut_end = std::max(scan_.cut_end, scan_.end + (segment.file_bytes - log_end));
    return Success{};
  }

  Outcome compare_with_floor() {
    if (scan_.segments.empty()) return Success{};
    std::string why = "a record that a later one relies on";
    const auto raise = [&](LogPosition floor, std::string reason) {
      if (floor <= scan_.floor) return;
      scan_.floor = floor;
      why = std::move(reason);
    };
    if (scan_.control) raise(scan_.control->known_durable, "CONTROL");
    for (const ScannedSnapshot& snapshot : scan_.snapshots) raise(snapshot.position, snapshot.name);
    if (scan_.floor > scan_.end) {
      damaged(scan_.segments.back().name, end_offset_, scan_.end,
              fmt::format("{}; the log was durable up to position {} according to {}", end_expectation_, scan_.floor.value, why),
              scan_.records_cut);
    }
    return Success{};
  }

  FileSystem& files_;
  ScanDepth depth_;
  LogScan scan_;
  std::vector<std::string> segment_names_;
  std::vector<std::string> snapshot_names_;
  std::uint64_t end_offset_ = 0;
  std::string end_expectation_;
};

}  // namespace

Result<LogScan, OpenError> scan_log(FileSystem& files, ScanDepth depth) { return Scanner(files, depth).run(); }

OpenError io_failure(const FileError& error, const std::string& file_name) {
  const auto kind = error.kind() == JournalError::NoSpace ? OpenError::Kind::NoSpace : OpenError::Kind::Io;
  return {kind, error.describe(file_name), {}};
}

}  // namespace fanfare::journal
