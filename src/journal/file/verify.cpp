#include "journal/file/verify.h"

#include <fmt/format.h>

#include "journal/file/layout.h"
#include "journal/file/scan.h"
#include "journal/file_system.h"

namespace fanfare::journal {
namespace {

bool is_locked(FileSystem& files) {
  const auto lock = files.open(kLockName, OpenMode::Read);
  if (!lock) return false;
  const auto free = (*lock)->try_lock();
  return free.has_value() && !*free;
}

void describe_damage(std::string& text, std::string_view heading, const std::vector<Damage>& places) {
  for (const Damage& place : places) {
    text += fmt::format("{} {} at byte {} (position {}): expected {}", heading, place.file, place.byte_offset, place.position.value,
                        place.expected);
    if (place.records_beyond > 0) text += fmt::format("; {} whole records lie beyond", place.records_beyond);
    text += '\n';
  }
}

}  // namespace

Result<VerifyReport, OpenError> verify_journal(FileSystem& files) {
  VerifyReport report;
  report.in_use = is_locked(files);
  auto scanned = scan_log(files, ScanDepth::All);
  if (!scanned) return scanned.error();
  LogScan& scan = *scanned;
  if (scan.control) {
    for (const std::uint8_t byte : scan.control->journal) report.journal_id += fmt::format("{:02x}", byte);
    report.epoch = scan.control->epoch;
  }
  report.first = scan.first;
  report.end = scan.end;
  report.records = scan.records;
  for (const ScannedSegment& segment : scan.segments) {
    report.segments.push_back({segment.name, segment.header.first, segment.end, segment.records, segment.file_bytes});
    report.bytes_on_disk += segment.file_bytes;
  }
  for (const auto* names : {&scan.spares, &scan.obsolete}) {
    for (const std::string& name : *names) {
      const auto file = files.open(name, OpenMode::Read);
      if (!file) continue;  // a journal in use has just taken it
      if (const auto bytes = (*file)->size(); bytes) report.bytes_on_disk += *bytes;
    }
  }
  for (const ScannedSnapshot& snapshot : scan.snapshots) {
    report.snapshots.push_back({snapshot.name, snapshot.position, snapshot.content_bytes});
  }
  report.spare_files = scan.spares.size();
  report.tail_is_torn = scan.tail_was_torn;
  report.records_to_cut = scan.records_cut;
  report.damage = std::move(scan.damage);
  report.set_aside = std::move(scan.set_aside);
  return report;
}

Result<VerifyReport, OpenError> verify_journal(const std::string& folder) {
  auto files = open_folder(folder, MissingFolder::Refuse);
  if (!files) return io_failure(files.error(), folder);
  return verify_journal(**files);
}

std::string VerifyReport::describe() const {
  std::string text = fmt::format("journal {} epoch {}{}\n", journal_id.empty() ? "without an id" : journal_id, epoch,
                                 in_use ? ", in use: its last commit may be under way" : "");
  text += fmt::format("positions {} to {}, {} records, {} segments, {} spare files, {} bytes on disk\n", first.value, end.value, records,
                      segments.size(), spare_files, bytes_on_disk);
  for (const Segment& segment : segments) {
    text += fmt::format("segment {} positions {} to {}, {} records\n", segment.file, segment.first.value, segment.end.value, segment.records);
  }
  for (const Snapshot& snapshot : snapshots) {
    text += fmt::format("snapshot {} position {}, {} bytes\n", snapshot.file, snapshot.position.value, snapshot.bytes);
  }
  // What follows damage was acknowledged, or may have been.
  if (tail_is_torn && damage.empty()) {
    text += fmt::format("torn tail at position {}: an unfinished commit, {} whole records of which are cut at the next start; none was "
                        "acknowledged\n",
                        end.value, records_to_cut);
  }
  describe_damage(text, "set aside:", set_aside);
  describe_damage(text, "damaged:", damage);
  text += sound() ? "sound\n" : fmt::format("damaged in {} places\n", damage.size());
  return text;
}

}  // namespace fanfare::journal
