// What opening makes of a log whose last commit did not end: what is cut is cut for good.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "journal/file/journal_on_disk.h"
#include "journal/file/layout.h"
#include "journal/frame.h"

namespace fanfare::journal {
namespace {

TEST(FileJournal, ATailTornAnywhereIsCutAtItsLastWholeRecord) {
  JournalOnDisk it;
  Entries entries = it.fill(3, 150, 3);
  const std::size_t promised = entries.size();
  for (const std::size_t size : {1, 2, 200, 333}) entries.push_back(append(*it.journal, noise(size, size)));
  ASSERT_EQ(commit(*it.journal), "ok");
  const LogPosition end = it.journal->next_position();
  it.kill();
  const auto [file, begin] = it.place_of(entries[promised].position);
  const std::uint64_t stop = kSegmentHeaderBytes + end.value;
  for (std::uint64_t torn_from = begin; torn_from < stop; ++torn_from) {
    for (const char fill : {'\0', '\x5a'}) {
      const auto copy = it.disk->copy_of_disk(1);
      overwrite(*copy, file, torn_from, std::string(stop - torn_from, fill));
      auto opened = JournalOnDisk::try_open(*copy);
      ASSERT_EQ(outcome(opened), "ok") << torn_from;
      Entries expected;
      for (const Entry& entry : entries) {
        const std::uint64_t ends = kSegmentHeaderBytes + entry.position.value + frame_size(entry.record.size());
        const std::uint64_t zeros_matter = fill == '\0' ? ends - (frame_size(entry.record.size()) - kFrameHeaderBytes - entry.record.size()) : ends;
        if (zeros_matter <= torn_from) expected.push_back(entry);
      }
      // A record of which only zeros were lost is whole; the comparison allows for records that end in zero bytes.
      const Entries found = replayed(*opened->journal);
      ASSERT_GE(found.size(), expected.size()) << torn_from;
      ASSERT_LE(found.size(), expected.size() + 1) << torn_from;
      ASSERT_TRUE(std::equal(found.begin(), found.end(), entries.begin())) << torn_from;
      ASSERT_EQ(opened->report.end, opened->journal->next_position());
    }
  }
}

TEST(FileJournal, RecordsBehindAHoleInTheLastCommitAreCutAndNeverComeBack) {
  JournalOnDisk it;
  const Entries promised = it.fill(2, 200, 2);
  const Entries last = it.fill(5, 200, 5);
  it.kill();
  const auto [file, at] = it.place_of(last[1].position);
  it.disk->flip_bit(file, at + 50, 3);
  it.open();
  Entries expected = promised;
  expected.push_back(last[0]);
  EXPECT_EQ(replayed(*it.journal), expected);
  EXPECT_TRUE(it.report.tail_was_torn);
  EXPECT_EQ(it.report.records_cut, 3u);

  // A new record of the same length ends exactly where the third one lay.
  expected.push_back(append(*it.journal, noise(99, 200)));
  EXPECT_EQ(expected.back().position, last[1].position);
  ASSERT_EQ(commit(*it.journal), "ok");
  it.kill();
  it.open();
  EXPECT_EQ(replayed(*it.journal), expected);
  EXPECT_FALSE(it.report.tail_was_torn);
}

TEST(FileJournal, CutRecordsDoNotComeBackWhereAPageEndsBeforeThem) {
  constexpr std::uint64_t kPageBytes = 4096;
  JournalOnDisk it;
  // The second record of the last commit ends where a page does: its successor overwrites nothing of the third.
  const Entries promised = it.fill(1, 1000 - kFrameHeaderBytes);
  Entries last;
  last.push_back(append(*it.journal, noise(1, 1000 - kFrameHeaderBytes)));
  last.push_back(append(*it.journal, noise(2, kPageBytes - 2000 - kFrameHeaderBytes)));
  last.push_back(append(*it.journal, noise(3, 500)));
  ASSERT_EQ(last[2].position.value % kPageBytes, 0u);
  ASSERT_EQ(commit(*it.journal), "ok");
  it.kill();
  const auto [file, at] = it.place_of(last[1].position);
  it.disk->flip_bit(file, at + 50, 3);
  it.open();
  Entries expected = promised;
  expected.push_back(last[0]);
  ASSERT_EQ(replayed(*it.journal), expected);
  ASSERT_EQ(it.report.records_cut, 1u);

  expected.push_back(append(*it.journal, noise(99, last[1].record.size())));
  ASSERT_EQ(commit(*it.journal), "ok");
  it.kill();
  it.open();
  EXPECT_EQ(replayed(*it.journal), expected);
  EXPECT_FALSE(it.report.tail_was_torn);
}

TEST(FileJournal, AHeaderThatTheEndOfTheFileCutsDoesNotBecomeWholeByZeros) {
  for (std::uint64_t left = 1; left < kFrameHeaderBytes; ++left) {
    JournalOnDisk it;
    const Entries promised = it.fill(2, 200, 2);
    const LogPosition end = it.journal->next_position();
    it.kill();
    const std::string file = it.segments().back();
    const auto header = SegmentHeader::decode(it.disk->contents(file));
    ASSERT_TRUE(header.has_value());
    // Far beyond the end lies the begin of a frame that nothing is in; with zeros behind it, its header would hold.
    const LogPosition beyond = end + 2 * kSegmentHeaderBytes;
    std::string frame(frame_size(8), '\0');
    seal_frame(frame.data(), header->seed(), beyond, 8, 0);
    std::string content = it.disk->contents(file);
    content.resize(kSegmentHeaderBytes + beyond.value);
    it.disk->put(file, content + frame.substr(0, left));
    it.open();
    EXPECT_EQ(replayed(*it.journal), promised) << left;
    EXPECT_EQ(it.report.tail_was_torn, left != 8) << left;  // 8 bytes are before the sum, and zeros are no sum
    it.kill();
    content = it.disk->contents(file);
    content.resize(content.size() + kSegmentHeaderBytes);
    it.disk->put(file, content);
    it.open();
    EXPECT_EQ(replayed(*it.journal), promised) << left;
    EXPECT_FALSE(it.report.tail_was_torn) << left;
  }
}

TEST(FileJournal, WhatASegmentThatIsUsedAgainEndsInIsNoTornTail) {
  JournalOnDisk it;
  const Entries promised = it.fill(2, 200, 2);
  it.kill();
  const std::string file = it.segments().back();
  std::string content = it.disk->contents(file);
  content.resize(kSegmentBytes, '\0');
  content.replace(content.size() - 100, 100, noise(5, 100));
  it.disk->put(file, content);
  it.open();
  EXPECT_EQ(replayed(*it.journal), promised);
  EXPECT_FALSE(it.report.tail_was_torn);
  EXPECT_EQ(it.disk->contents(file), content) << "nothing had to be written";
}

TEST(FileJournal, ZerosUpToAPageDoNotMakeAHeaderOfWhatLiesBehind) {
  constexpr std::uint64_t kPageBytes = 4096;
  JournalOnDisk it;
  const Entries promised = it.fill(2, 200, 2);
  it.kill();
  const std::string file = it.segments().back();
  const auto header = SegmentHeader::decode(it.disk->contents(file));
  ASSERT_TRUE(header.has_value());
  // The second half of a header begins a page, the first half is lost: n and d would be 0.
  const LogPosition beyond{2 * kPageBytes - 8};
  std::string frame(kFrameHeaderBytes, '\0');
  seal_frame(frame.data(), header->seed(), beyond, 0, 0);
  frame[0] = 7;
  std::string content = it.disk->contents(file);
  content.resize(kSegmentHeaderBytes + beyond.value);
  it.disk->put(file, content + frame);
  it.open();
  ASSERT_EQ(replayed(*it.journal), promised);
  Entries expected = promised;
  expected.push_back(append(*it.journal, noise(1, kPageBytes)));  // into the page that ends within that header
  ASSERT_EQ(commit(*it.journal), "ok");
  it.kill();
  it.open();
  EXPECT_EQ(replayed(*it.journal), expected);
}

TEST(FileJournal, AHoleInACommitThatAnotherFollowedIsDamage) {
  JournalOnDisk it;
  it.fill(2, 200, 2);
  const Entries hit = it.fill(3, 200, 3);
  it.fill(4, 200, 4);
  it.kill();
  const auto [file, at] = it.place_of(hit[1].position);
  it.disk->flip_bit(file, at + 100, 0);
  const auto opened = JournalOnDisk::try_open(*it.disk);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().kind, OpenError::Kind::Damaged);
  ASSERT_EQ(opened.error().damage.size(), 1u);
  const Damage damage = opened.error().damage.front();  // error() gives a copy
  EXPECT_EQ(damage.file, file);
  EXPECT_EQ(damage.byte_offset, at);
  EXPECT_EQ(damage.position, hit[1].position);
  EXPECT_EQ(damage.records_beyond, 5u);
  EXPECT_NE(damage.expected.find("a record of 200 bytes whose checksum is 0x"), std::string::npos) << damage.expected;
  EXPECT_NE(opened.error().message.find(file + " at byte " + std::to_string(at)), std::string::npos) << opened.error().message;
}

TEST(FileJournal, TheLastCommitIsKnownToBeWholeOnceTheJournalWasClosed) {
  JournalOnDisk it;
  const Entries entries = it.fill(3, 200, 3);
  it.close();
  const auto [file, at] = it.place_of(entries[2].position);
  it.disk->flip_bit(file, at + 20, 0);
  const auto opened = JournalOnDisk::try_open(*it.disk);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().kind, OpenError::Kind::Damaged);
  EXPECT_NE(opened.error().message.find("according to CONTROL"), std::string::npos) << opened.error().message;
}

TEST(FileJournal, WhatWasReadAfterAFailedSyncIsWrittenAgain) {
  // fdatasync fails and the process dies: the records are in the page cache, not on the disk, and no later sync would bring them
  // there. Opening reads them; so opening must write them.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    JournalOnDisk it(seed);
    it.fill(2, 200);
    append(*it.journal, noise(1, 3000));
    ASSERT_EQ(commit(*it.journal, Sync::No), "ok");
    it.disk->fail_at(it.disk->steps() + 1, Fault::Io);  // after the look at the fence
    ASSERT_EQ(commit(*it.journal), "Io");
    it.disk->fail_never_more();
    it.kill();
    it.open();
    const Entries recovered = replayed(*it.journal);
    it.fill(2, 200);
    it.disk->cut_power();
    it.journal.reset();
    it.disk->restart();
    it.open();
    const Entries again = replayed(*it.journal);
    ASSERT_EQ(again.size(), recovered.size() + 2) << seed;
  }
}

TEST(FileJournal, AfterAFailedSyncTheNextCommitWritesAgainWhatThatSyncWasToCover) {
  // The kernel may have dropped the dirty pages: a later sync that succeeds says nothing about them.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const bool more : {false, true}) {
      JournalOnDisk it(seed);
      Entries entries = it.fill(2, 200);
      entries.push_back(append(*it.journal, noise(1, 3000)));
      ASSERT_EQ(commit(*it.journal, Sync::No), "ok");
      if (more) entries.push_back(append(*it.journal, noise(2, 300)));
      it.disk->fail_at(it.disk->steps() + (more ? 2 : 1), Fault::Io);  // after the look at the fence, and the write
      ASSERT_EQ(commit(*it.journal), "Io");
      ASSERT_TRUE(it.journal->stats().last_failure.starts_with("fdatasync")) << it.journal->stats().last_failure;
      it.disk->fail_never_more();
      ASSERT_EQ(commit(*it.journal), "ok");
      it.disk->cut_power();
      it.journal.reset();
      it.disk->restart();
      it.open();
      ASSERT_EQ(replayed(*it.journal), entries) << "seed " << seed << (more ? ", with a record more" : "");
    }
  }
}

}  // namespace
}  // namespace fanfare::journal
