// For tests of the journal's files: a journal on a disk in memory, that can be closed, killed, damaged and opened again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/file/layout.h"
#include "journal/file/verify.h"
#include "journal/test_support.h"

namespace fanfare::journal {

inline constexpr std::uint64_t kSegmentBytes = 12 << 10;
inline const FileJournalOptions kInline{kSegmentBytes, 0, false};

/// "ok", or what the error says.
inline std::string outcome(const Result<OpenedJournal, OpenError>& opened) { return opened ? "ok" : opened.error().message; }

/// A disk with one journal on it.
class JournalOnDisk {
 public:
  explicit JournalOnDisk(std::uint64_t seed = 1) : disk(std::make_unique<FaultyFileSystem>(seed)) { open(); }

  void open() {
    journal.reset();
    auto opened = try_open(*disk);
    ASSERT_EQ(outcome(opened), "ok");
    journal = std::move(opened->journal);
    report = opened->report;
  }
  static Result<OpenedJournal, OpenError> try_open(FaultyFileSystem& files) {
    SeededSecrets secrets(3);
    return open_file_journal(files, secrets, kInline);
  }
  void close() { journal.reset(); }
  /// As kill -9: no last words of the journal.
  void kill() {
    disk->cut_power();
    journal.reset();
    disk->restart_after_kill();
  }
  Entries fill(std::size_t records, std::size_t record_bytes, std::size_t per_commit = 1) {
    Entries entries;
    for (std::size_t i = 0; i < records; ++i) {
      entries.push_back(append(*journal, noise(++serial, record_bytes)));
      if ((i + 1) % per_commit == 0) {
        EXPECT_EQ(commit(*journal), "ok");
      }
    }
    EXPECT_EQ(commit(*journal), "ok");
    return entries;
  }
  [[nodiscard]] std::vector<std::string> segments() const {
    std::vector<std::string> names;
    const auto all = disk->list();
    for (const std::string& name : *all) {
      if (sequence_of_segment_name(name)) names.push_back(name);
    }
    return names;
  }
  void remove(const std::string& name) const {
    EXPECT_TRUE(disk->remove(name).has_value());
    EXPECT_TRUE(disk->sync_directory().has_value());
  }
  /// Where the record at `position` lies: file and byte of its header.
  [[nodiscard]] std::pair<std::string, std::uint64_t> place_of(LogPosition position) const {
    const auto verified = verify_journal(*disk);
    for (const auto& segment : verified->segments) {
      if (segment.first <= position && position < segment.end) {
        return {segment.file, kSegmentHeaderBytes + (position - segment.first)};
      }
    }
    ADD_FAILURE() << position << " is in no segment";
    return {};
  }

  std::unique_ptr<FaultyFileSystem> disk;
  std::unique_ptr<Journal> journal;
  RecoveryReport report;
  std::uint64_t serial = 0;
};

/// Overwrites part of a file, as if it had never been different.
inline void overwrite(FaultyFileSystem& disk, const std::string& name, std::uint64_t at, std::string_view bytes) {
  std::string content = disk.contents(name);
  content.replace(at, bytes.size(), bytes);
  disk.put(name, content);
}

}  // namespace fanfare::journal
