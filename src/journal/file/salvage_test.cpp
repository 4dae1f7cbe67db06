// What can be read of a damaged folder: everything but what is damaged.
#include "journal/file/salvage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "journal/faulty/faulty_file_system.h"
#include "journal/test_support.h"

namespace fanfare::journal {
namespace {

struct Found {
  Entries entries;
  std::vector<Loss> losses;
  LogPosition end;
};

Found salvage(FileSystem& files) {
  Found found;
  auto log = SalvagedLog::open(files);
  if (!log) {
    ADD_FAILURE() << log.error().message;
    return found;
  }
  const auto walked = (*log)->walk([&](LogPosition position, std::string_view record) { found.entries.push_back({position, std::string(record)}); });
  EXPECT_TRUE(walked.has_value());
  for (const Entry& entry : found.entries) {
    std::string again;
    EXPECT_TRUE((*log)->read(entry.position, again).has_value());
    EXPECT_EQ(again, entry.record);
  }
  found.losses = (*log)->losses();
  found.end = (*log)->end();
  return found;
}

struct ClosedJournal {
  ClosedJournal() {
    SeededSecrets secrets(3);
    auto opened = open_file_journal(disk, secrets, {12 << 10, 0, false});
    EXPECT_TRUE(opened.has_value());
    for (int i = 0; i < 40; ++i) {
      entries.push_back(append(*opened->journal, noise(static_cast<std::uint64_t>(i), 500)));
      EXPECT_EQ(commit(*opened->journal), "ok");
    }
    end = opened->journal->durable_end();
  }
  FaultyFileSystem disk{1};
  Entries entries;
  LogPosition end;
};

TEST(Salvage, ASoundJournalLosesNothing) {
  ClosedJournal it;
  const Found found = salvage(it.disk);
  EXPECT_EQ(found.entries, it.entries);
  EXPECT_TRUE(found.losses.empty());
  EXPECT_EQ(found.end, it.end);
}

TEST(Salvage, EveryFlippedBitCostsAtMostTheRecordThatItIsIn) {
  ClosedJournal it;
  const auto names = it.disk.list();
  for (const std::string& name : *names) {
    if (!sequence_of_segment_name(name)) continue;
    const std::uint64_t bytes = it.disk.contents(name).size();
    for (std::uint64_t byte = 0; byte < bytes; byte += byte < 64 ? 1 : 31) {
      if (byte >= 8 && byte < 12) continue;  // the version: whole blocks of another one are refused
      const auto copy = it.disk.copy_of_disk(1);
      copy->flip_bit(name, byte, byte % 8);
      const Found found = salvage(*copy);
      ASSERT_GE(found.entries.size(), 39u) << name << " byte " << byte;
      ASSERT_EQ(found.losses.size(), 40 - found.entries.size()) << name << " byte " << byte;
      if (found.losses.empty()) continue;
      const Loss& loss = found.losses.front();
      EXPECT_EQ(loss.file, name);
      EXPECT_LE(loss.byte_offset, byte);
      EXPECT_LT(byte, loss.byte_offset + loss.bytes);
      EXPECT_EQ(loss.to - loss.from, frame_size(500));
      for (const Entry& entry : it.entries) {
        const bool is_lost = entry.position == loss.from;
        EXPECT_EQ(std::count(found.entries.begin(), found.entries.end(), entry), is_lost ? 0 : 1) << name << " byte " << byte << ' ' << entry;
      }
      EXPECT_EQ(found.end, it.end) << "positions go on above everything that was ever given out";
    }
  }
}

TEST(Salvage, AMissingSegmentIsNamedByItsPositions) {
  ClosedJournal it;
  ASSERT_TRUE(it.disk.remove("00000000000000000002.segment").has_value());
  const Found found = salvage(it.disk);
  ASSERT_EQ(found.losses.size(), 1u);
  const std::uint64_t lost = (found.losses.front().to - found.losses.front().from) / frame_size(500);
  EXPECT_GT(lost, 5u);
  EXPECT_EQ(found.entries.size(), 40 - lost);
}

TEST(Salvage, AMissingBeginningIsALoss) {
  ClosedJournal it;
  ASSERT_TRUE(it.disk.remove("00000000000000000001.segment").has_value());
  const Found found = salvage(it.disk);
  ASSERT_EQ(found.losses.size(), 1u);
  EXPECT_EQ(found.losses.front().file, "");
  EXPECT_EQ(found.losses.front().from, LogPosition{});
  ASSERT_FALSE(found.entries.empty());
  EXPECT_EQ(found.losses.front().to, found.entries.front().position);
}

TEST(Salvage, WithoutTheLastSegmentTheEndIsWhatWasPromised) {
  ClosedJournal it;
  ASSERT_TRUE(it.disk.remove("00000000000000000003.segment").has_value());
  const Found found = salvage(it.disk);
  EXPECT_EQ(found.end, it.end);
  ASSERT_EQ(found.losses.size(), 1u);
  EXPECT_EQ(found.losses.front().to, it.end);
}

TEST(Salvage, ATornTailIsNoLoss) {
  FaultyFileSystem disk(5);
  SeededSecrets secrets(3);
  auto opened = open_file_journal(disk, secrets, {12 << 10, 0, false});
  ASSERT_TRUE(opened.has_value());
  Entries entries{append(*opened->journal, noise(1, 500))};
  ASSERT_EQ(commit(*opened->journal), "ok");
  append(*opened->journal, noise(2, 3000));
  disk.fail_at(disk.steps() + 1, Fault::PowerCut);
  EXPECT_EQ(commit(*opened->journal), "Io");
  opened->journal.reset();
  disk.restart();
  const Found found = salvage(disk);
  ASSERT_GE(found.entries.size(), 1u);
  EXPECT_EQ(found.entries.front(), entries.front());
  EXPECT_TRUE(found.losses.empty());
}

TEST(Salvage, ANewJournalTakesUpPositionsAndEpochsOfTheOldOne) {
  FaultyFileSystem disk(5);
  SeededSecrets secrets(3);
  FileJournalOptions options{12 << 10, 0, false};
  options.new_first = LogPosition{1 << 20};
  options.new_epoch_above = 41;
  Entries entries;
  for (std::uint64_t life = 0; life < 3; ++life) {
    auto opened = open_file_journal(disk, secrets, options);
    ASSERT_TRUE(opened.has_value());
    EXPECT_EQ(opened->journal->epoch(), 42 + life);
    EXPECT_EQ(opened->journal->first_position(), options.new_first);
    entries.push_back(append(*opened->journal, noise(life, 700)));
    ASSERT_EQ(commit(*opened->journal), "ok");
    EXPECT_EQ(replayed(*opened->journal), entries);
  }
  EXPECT_EQ(entries.front().position, options.new_first);
}

}  // namespace
}  // namespace fanfare::journal
