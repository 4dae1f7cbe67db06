// The journal on disk: who may open it, what it makes of damaged files, how it lives with a full or failing disk.
#include "journal/file/file_journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/marks.h"
#include "journal/crc32c.h"
#include "journal/faulty/faulty_file_system.h"
#include "journal/file/journal_on_disk.h"
#include "journal/file/layout.h"
#include "journal/file/verify.h"
#include "journal/frame.h"
#include "journal/test_support.h"

namespace fanfare::journal {
namespace {

// ---- Pages ------------------------------------------------------------------------------------------------------------------

/// Commits that end at, before and behind the ends of pages and of the memory in which pages are put together.
void commit_at_all_boundaries(const std::function<Result<OpenedJournal, OpenError>()>& open) {
  constexpr std::uint64_t kPagesBytes = 1 << 20;
  auto opened = open();
  ASSERT_EQ(outcome(opened), "ok");
  Entries entries;
  std::uint64_t serial = 0;
  const auto add = [&](std::uint64_t frame_bytes) {
    entries.push_back(append(*opened->journal, noise(++serial, frame_bytes - kFrameHeaderBytes)));
  };
  const auto end_at = [&](std::uint64_t end) {  // of the file, modulo a page
    const std::uint64_t now = opened->journal->next_position().value % kPageBytes;
    add((end + 2 * kPageBytes - now) % kPageBytes + kPageBytes);
  };
  for (const std::uint64_t end : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{24}, kPageBytes - 8, std::uint64_t{0}}) {
    end_at(end);
    ASSERT_EQ(commit(*opened->journal), "ok") << end;
    add(24);
    ASSERT_EQ(commit(*opened->journal), "ok") << end;
  }
  // One commit as long as the memory, a little less, more, and three times so, from the beginning of a page and from its middle.
  for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{2048}}) {
    for (const std::uint64_t bytes : {kPagesBytes - begin, kPagesBytes - begin - 8, kPagesBytes - begin + 8, 3 * kPagesBytes - begin}) {
      end_at(begin);
      ASSERT_EQ(commit(*opened->journal), "ok");
      for (std::uint64_t left = bytes; left > 0;) {
        const std::uint64_t part = left < (512 << 10) ? left : 256 << 10;
        add(part);
        left -= part;
      }
      ASSERT_EQ(commit(*opened->journal), "ok") << begin << ' ' << bytes;
    }
  }
  opened->journal.reset();
  opened = open();
  ASSERT_EQ(outcome(opened), "ok");
  std::size_t seen = 0;
  const auto replayed = opened->journal->replay(opened->journal->first_position(), [&](LogPosition position, std::string_view record) {
    EXPECT_LT(seen, entries.size());
    const bool same = seen < entries.size() && entries[seen].position == position && entries[seen].record == record;
    EXPECT_TRUE(same) << seen;
    ++seen;
    return same;
  });
  EXPECT_TRUE(replayed.has_value());
  EXPECT_EQ(seen, entries.size());
  // It goes on in the middle of a page, whose beginning it has to read first.
  entries.push_back(append(*opened->journal, "behind"));
  ASSERT_EQ(commit(*opened->journal), "ok");
  opened->journal.reset();
  opened = open();
  ASSERT_EQ(outcome(opened), "ok");
  EXPECT_EQ(opened->report.records, entries.size());
}

TEST(FileJournal, CommitsEndAnywhereInAPageOnADisk) {
  TemporaryFolder folder;
  SeededSecrets secrets(1);
  commit_at_all_boundaries([&] { return open_file_journal(folder.path(), secrets, {64 << 20, 0, false}); });
}

TEST(FileJournal, CommitsEndAnywhereInAPageInMemory) {
  FaultyFileSystem disk(1);
  SeededSecrets secrets(1);
  commit_at_all_boundaries([&] { return open_file_journal(disk, secrets, {64 << 20, 0, false}); });
}

TEST(FileJournal, ASegmentEndsInZerosUpToThePage) {
  JournalOnDisk it;
  it.fill(1, 100);
  const std::string segment = it.disk->contents(it.segments().front());
  ASSERT_EQ(segment.size() % kPageBytes, 0u);
  const std::uint64_t end = kSegmentHeaderBytes + frame_size(100);
  EXPECT_EQ(segment.find_first_not_of('\0', end), std::string::npos);
}

// ---- Who may open -----------------------------------------------------------------------------------------------------------

TEST(FileJournal, ASecondOpenerIsToldWhoHasTheFolder) {
  TemporaryFolder folder;
  SeededSecrets secrets(1);
  auto first = open_file_journal(folder.path(), secrets);
  ASSERT_EQ(outcome(first), "ok");
  const auto second = open_file_journal(folder.path(), secrets);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, OpenError::Kind::Locked);
  EXPECT_EQ(second.error().message, folder.path() + " is in use by process " + std::to_string(::getpid()) + ": stop that one first, or name another folder");
  const auto files = open_folder(folder.path());
  ASSERT_TRUE(files.has_value());
  const auto lock = (*files)->open(kLockName, OpenMode::Write);
  ASSERT_TRUE(lock.has_value());
  for (const std::string_view line : {"pid x epoch 1\n            ", "                         ", "pid 12                   "}) {
    ASSERT_TRUE(write_all(**lock, line, 0, Sync::No).has_value());
    EXPECT_EQ(holder_of(**lock), line.starts_with("pid 12") ? "process 12" : "another process") << line;
  }
  first->journal.reset();
  EXPECT_EQ(outcome(open_file_journal(folder.path(), secrets)), "ok");
}

TEST(FileJournal, AWriterOfAnOldEpochNeverWritesAgain) {
  JournalOnDisk it;
  const Entries entries = it.fill(3, 100);
  const std::string segment = it.segments().front();
  // Where locks do not reach (some network file systems), a second process could get in: it leaves its line in LOCK.
  const auto lock = it.disk->open(kLockName, OpenMode::Write);
  ASSERT_TRUE(write_all(**lock, lock_line(4711, 2), 0, Sync::Yes).has_value());
  const std::string before = it.disk->contents(segment);
  append(*it.journal, "late");
  EXPECT_EQ(commit(*it.journal), "Fenced");
  EXPECT_EQ(commit(*it.journal), "Fenced");
  it.journal->discard_uncommitted();
  append(*it.journal, "later");
  EXPECT_EQ(commit(*it.journal, Sync::No), "Fenced");
  EXPECT_EQ(write_snapshot(*it.journal, it.journal->durable_end(), "state"), "Fenced");
  EXPECT_FALSE(it.journal->stats().writable);
  EXPECT_EQ(read(*it.journal, entries[1].position), entries[1].record) << "reading is no harm";
  const std::string control = it.disk->contents(kControlName);
  it.close();
  EXPECT_EQ(it.disk->contents(segment), before);
  EXPECT_EQ(it.disk->contents(kControlName), control);
}

TEST(FileJournal, TheEpochRisesAtEveryOpeningEvenIfNothingElseIsWritten) {
  JournalOnDisk it;
  for (std::uint64_t epoch = 2; epoch < 20; ++epoch) {
    it.disk->cut_power();
    it.journal.reset();
    it.disk->restart();
    it.open();
    EXPECT_EQ(it.journal->epoch(), epoch);
  }
}

TEST(FileJournal, AFolderThatCannotBeMadeIsNamed) {
  TemporaryFolder folder;
  SeededSecrets secrets(1);
  const std::string path = folder.path() + "/no/such";
  const auto opened = open_file_journal(path, secrets);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().kind, OpenError::Kind::Io);
  EXPECT_EQ(opened.error().message, "mkdir of " + path + ": No such file or directory");
}

TEST(FileJournal, LeftoversAreTidiedAndStrangersLeftAlone) {
  JournalOnDisk it;
  it.fill(3, 100);
  it.close();
  it.disk->put("snapshot.tmp", "half a snap");
  it.disk->put("spare-00000000000000000077", "half made");
  it.disk->put("notes.txt", "a stranger");
  it.open();
  EXPECT_EQ(it.disk->contents("snapshot.tmp"), "");
  EXPECT_EQ(it.disk->contents("spare-00000000000000000077"), "");
  EXPECT_EQ(it.disk->contents("notes.txt"), "a stranger");
}

// ---- Damage -----------------------------------------------------------------------------------------------------------------

TEST(FileJournal, EveryFlippedBitOfTheLogIsNoticed) {
  JournalOnDisk it;
  const Entries entries = it.fill(40, 500, 3);
  const LogPosition end = it.journal->durable_end();
  it.close();
  const auto verified = verify_journal(*it.disk);
  ASSERT_TRUE(verified.has_value());
  ASSERT_EQ(verified->segments.size(), 3u);
  for (const auto& segment : verified->segments) {
    const std::uint64_t stop = kSegmentHeaderBytes + (std::min(segment.end, end) - segment.first);
    for (std::uint64_t byte = 0; byte < stop; byte += byte < 64 || byte >= kSegmentHeaderBytes ? 1 : 512) {
      const auto copy = it.disk->copy_of_disk(1);
      copy->flip_bit(segment.file, byte, byte % 8);
      const auto opened = JournalOnDisk::try_open(*copy);
      if (byte >= 60 && byte < kSegmentHeaderBytes) {
        ASSERT_EQ(outcome(opened), "ok") << "nothing lies at byte " << byte;
        continue;
      }
      ASSERT_FALSE(opened.has_value()) << segment.file << " byte " << byte;
      // A flipped bit of the version is not told from a version that is not known yet; its checksum does not hold, though.
      ASSERT_EQ(opened.error().kind, OpenError::Kind::Damaged) << segment.file << " byte " << byte;
      ASSERT_EQ(opened.error().damage.front().file, segment.file) << byte;
    }
  }
}

TEST(FileJournal, AMissingSegmentIsDamageWhereverItWas) {
  JournalOnDisk it;
  it.fill(100, 500, 3);
  it.close();
  const auto names = it.segments();
  ASSERT_GT(names.size(), 4u);
  for (const std::string& name : names) {
    const auto copy = it.disk->copy_of_disk(1);
    ASSERT_TRUE(copy->remove(name).has_value());
    const auto opened = JournalOnDisk::try_open(*copy);
    ASSERT_FALSE(opened.has_value()) << name;
    EXPECT_EQ(opened.error().kind, OpenError::Kind::Damaged) << opened.error().message;
  }
  for (const std::string& name : names) it.remove(name);
  const auto opened = JournalOnDisk::try_open(*it.disk);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().kind, OpenError::Kind::Damaged) << opened.error().message;
}

TEST(FileJournal, AMissingSegmentBelowTheSnapshotIsDamageToo) {
  JournalOnDisk it;
  it.fill(100, 500, 3);
  ASSERT_EQ(write_snapshot(*it.journal, it.journal->durable_end(), "state"), "ok");
  it.close();
  const auto names = it.segments();
  for (const std::string& name : names) {
    const auto copy = it.disk->copy_of_disk(1);
    ASSERT_TRUE(copy->remove(name).has_value());
    const auto opened = JournalOnDisk::try_open(*copy);
    ASSERT_FALSE(opened.has_value()) << name;
    EXPECT_EQ(opened.error().kind, OpenError::Kind::Damaged) << opened.error().message;
  }
}

TEST(FileJournal, ASegmentOfAnotherJournalIsDamage) {
  JournalOnDisk it;
  it.fill(100, 500, 3);
  it.close();
  FaultyFileSystem other(9);
  {
    SeededSecrets secrets(77);
    auto opened = open_file_journal(other, secrets, kInline);
    ASSERT_EQ(outcome(opened), "ok");
  }
  it.disk->put(it.segments().front(), other.contents(segment_name(1)));
  const auto opened = JournalOnDisk::try_open(*it.disk);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message.find("found that of another journal"), std::string::npos) << opened.error().message;
}

TEST(FileJournal, AnUnknownVersionIsToldFromDamage) {
  const auto with_version_2 = [](std::string block, std::size_t summed_bytes) {
    block[8] = 2;
    const std::uint32_t sum = crc32c(0, std::string_view(block).substr(0, summed_bytes));
    std::memcpy(block.data() + summed_bytes, &sum, sizeof sum);
    return block;
  };
  JournalOnDisk it;
  it.fill(3, 100);
  ASSERT_EQ(write_snapshot(*it.journal, it.journal->durable_end(), "state"), "ok");
  it.close();
  const std::string snapshot = snapshot_name(verify_journal(*it.disk)->snapshots.front().position);
  struct Case {
    std::string file;
    std::size_t summed_bytes;
  };
  for (const Case& each : {Case{segment_name(1), 56}, Case{snapshot, 48}}) {
    const auto copy = it.disk->copy_of_disk(1);
    copy->put(each.file, with_version_2(copy->contents(each.file), each.summed_bytes));
    const auto opened = JournalOnDisk::try_open(*copy);
    ASSERT_FALSE(opened.has_value()) << each.file;
    EXPECT_EQ(opened.error().kind, OpenError::Kind::Version) << opened.error().message;
    EXPECT_NE(opened.error().message.find("of format version 1, found version 2"), std::string::npos) << opened.error().message;
  }
}

TEST(FileJournal, OneBadSlotOfControlIsMadeGoodByTheOther) {
  JournalOnDisk it;
  const Entries entries = it.fill(3, 100);
  it.close();
  for (const std::uint64_t slot : {std::uint64_t{0}, kControlSlotBytes}) {
    const auto copy = it.disk->copy_of_disk(1);
    copy->flip_bit(kControlName, slot + 30, 1);
    auto opened = JournalOnDisk::try_open(*copy);
    ASSERT_EQ(outcome(opened), "ok");
    EXPECT_GT(opened->journal->epoch(), 1u) << "an epoch is never used twice";
    EXPECT_EQ(replayed(*opened->journal), entries);
  }
  it.disk->flip_bit(kControlName, 30, 1);
  it.disk->flip_bit(kControlName, kControlSlotBytes + 30, 1);
  EXPECT_EQ(JournalOnDisk::try_open(*it.disk).error().kind, OpenError::Kind::Damaged);
  it.remove(kControlName);
  EXPECT_EQ(JournalOnDisk::try_open(*it.disk).error().kind, OpenError::Kind::Damaged);
}

TEST(FileJournal, EveryFlippedBitOfASnapshotIsNoticed) {
  JournalOnDisk it;
  it.fill(60, 500, 3);
  ASSERT_EQ(write_snapshot(*it.journal, it.journal->durable_end(), noise(1, 900), 250), "ok");
  const auto make_copies_fail = [&](OpenError::Kind expected, bool opens) {
    const std::string name = verify_journal(*it.disk)->snapshots.front().file;
    const std::size_t bytes = it.disk->contents(name).size();
    for (std::uint64_t byte = 0; byte < bytes; ++byte) {
      if (byte >= 52 && byte < 64) continue;  // nothing lies there
      const auto copy = it.disk->copy_of_disk(1);
      copy->flip_bit(name, byte, byte % 8);
      auto opened = JournalOnDisk::try_open(*copy);
      ASSERT_EQ(opened.has_value(), opens) << byte << " " << outcome(opened);
      if (opens) {
        ASSERT_EQ(opened->report.set_aside.size(), 1u) << byte;
        ASSERT_EQ(latest_snapshot(*opened->journal), std::nullopt);
      } else {
        ASSERT_EQ(opened.error().kind, expected) << byte;
      }
    }
  };
  // As long as the log reaches back to its birth, it stands in for the snapshot.
  const auto disk_before = it.disk->copy_of_disk(1);
  it.close();
  make_copies_fail(OpenError::Kind::Damaged, true);
  it.open();
  ASSERT_GT(it.journal->trim(it.journal->durable_end())->value, 0u);
  it.close();
  make_copies_fail(OpenError::Kind::Damaged, false);
  it.remove(verify_journal(*it.disk)->snapshots.front().file);
  EXPECT_EQ(JournalOnDisk::try_open(*it.disk).error().kind, OpenError::Kind::Damaged);
}

TEST(FileJournal, ADamagedRecordIsReportedByReadAndReplay) {
  JournalOnDisk it;
  const Entries entries = it.fill(60, 500, 3);
  const auto [file, at] = it.place_of(entries[2].position);
  for (const std::uint64_t byte : {at + 100, at + 4}) {  // first the record alone, then its header as well
    it.disk->flip_bit(file, byte, 2);
    EXPECT_EQ(read(*it.journal, entries[2].position), "<Damaged>");
    EXPECT_EQ(read(*it.journal, entries[1].position), entries[1].record);
    EXPECT_EQ(read(*it.journal, entries[3].position), entries[3].record);
    EXPECT_EQ(read(*it.journal, entries[1].position + 8), "<NotFound>");
    for (const LogPosition from : {LogPosition{}, entries[2].position}) {
      const auto done = it.journal->replay(from, [](LogPosition, std::string_view) { return true; });
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error(), JournalError::Damaged);
    }
  }
}

// ---- Full and failing disks ---------------------------------------------------------------------------------------------------

std::uint64_t used_bytes(FaultyFileSystem& disk) {
  std::uint64_t bytes = 0;
  const auto names = disk.list();
  for (const std::string& name : *names) bytes += disk.contents(name).size();
  return bytes;
}

TEST(FileJournal, OnAFullDiskNothingIsHalfAcknowledgedAndRoomBringsItBack) {
  JournalOnDisk it;
  Entries entries = it.fill(20, 500, 2);
  it.disk->set_capacity(used_bytes(*it.disk));
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const Entry big = append(*it.journal, noise(1000 + i, 1500));
    const std::string done = commit(*it.journal);
    if (done == "ok") {
      entries.push_back(big);
      continue;
    }
    ASSERT_EQ(done, "NoSpace");
    ++refused;
    it.journal->discard_uncommitted();
    EXPECT_EQ(read(*it.journal, big.position), "<NotFound>");
    if (refused > 3) break;
  }
  ASSERT_GT(refused, 3);
  EXPECT_TRUE(it.journal->stats().space_is_short);
  EXPECT_TRUE(it.journal->stats().writable);
  EXPECT_NE(it.journal->stats().last_failure.find("No space left on device"), std::string::npos) << it.journal->stats().last_failure;

  // What is smaller than the rest of the segment still goes in: deletes make room again.
  ASSERT_GT(it.journal->stats().room_bytes, 100u);
  entries.push_back(append(*it.journal, "delete 1"));
  EXPECT_EQ(commit(*it.journal), "ok");
  EXPECT_EQ(replayed(*it.journal), entries);

  it.disk->set_capacity(~std::uint64_t{0});
  entries.push_back(append(*it.journal, noise(7, 1500)));
  EXPECT_EQ(commit(*it.journal), "ok");
  EXPECT_FALSE(it.journal->stats().space_is_short);
  EXPECT_EQ(replayed(*it.journal), entries);
  it.kill();
  it.open();
  EXPECT_EQ(replayed(*it.journal), entries);
}

TEST(FileJournal, ARetryAfterAFullDiskNeedsNoNewAppend) {
  JournalOnDisk it;
  Entries entries = it.fill(20, 500, 2);
  it.disk->set_capacity(used_bytes(*it.disk));
  for (int i = 0; i < 40; ++i) entries.push_back(append(*it.journal, noise(1000 + i, 1500)));
  ASSERT_EQ(commit(*it.journal), "NoSpace");
  ASSERT_EQ(commit(*it.journal), "NoSpace");
  for (const Entry& entry : entries) EXPECT_EQ(read(*it.journal, entry.position), entry.record);
  it.disk->set_capacity(~std::uint64_t{0});
  ASSERT_EQ(commit(*it.journal), "ok");
  EXPECT_EQ(replayed(*it.journal), entries);
  it.open();
  EXPECT_EQ(replayed(*it.journal), entries);
}

TEST(FileJournal, AfterAFailedWriteTheLogGoesOnInANewSegment) {
  JournalOnDisk it;
  Entries entries = it.fill(3, 500);
  const std::size_t before = it.segments().size();
  it.disk->fail_at(it.disk->steps() + 1, Fault::Io);  // after the look at the fence
  entries.push_back(append(*it.journal, noise(50, 700)));
  EXPECT_EQ(commit(*it.journal), "Io");
  EXPECT_FALSE(it.journal->stats().writable);
  EXPECT_EQ(it.journal->durable_end(), entries.back().position);
  EXPECT_EQ(it.journal->stats().last_failure, "pwrite of " + segment_name(1) + ": Input/output error");
  EXPECT_MARKED(journal_moves_on_after_failure, EXPECT_EQ(commit(*it.journal), "ok"));
  EXPECT_TRUE(it.journal->stats().writable);
  EXPECT_EQ(it.segments().size(), before + 1);
  EXPECT_EQ(replayed(*it.journal), entries);
  it.kill();
  it.open();
  EXPECT_EQ(replayed(*it.journal), entries);
}

TEST(FileJournal, RecordsThatWereDiscardedAfterAFailedSyncDoNotComeBack) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    JournalOnDisk it(seed);
    Entries entries = it.fill(3, 500);
    for (int i = 0; i < 4; ++i) append(*it.journal, noise(100 + i, 400));
    it.disk->fail_at(it.disk->steps() + 1, Fault::Io);
    ASSERT_EQ(commit(*it.journal), "Io");
    it.journal->discard_uncommitted();
    entries.push_back(append(*it.journal, noise(200, 400)));
    ASSERT_EQ(commit(*it.journal), "ok");
    it.disk->cut_power();
    it.journal.reset();
    it.disk->restart();
    it.open();
    ASSERT_EQ(replayed(*it.journal), entries) << seed;
  }
}

// ---- Segments -----------------------------------------------------------------------------------------------------------------

TEST(FileJournal, AnEmptyCommitAfterADiscardSucceedsOnlyWhenNothingCanComeBack) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    JournalOnDisk it(seed);
    const Entries entries = it.fill(3, 500);
    for (int i = 0; i < 4; ++i) append(*it.journal, noise(100 + i, 400));
    it.disk->fail_from(it.disk->steps() + 1, Fault::Io);
    ASSERT_EQ(commit(*it.journal), "Io");
    it.journal->discard_uncommitted();
    EXPECT_EQ(commit(*it.journal), "Io") << "the discarded records may lie in the file, and nothing overtakes them yet";
    EXPECT_EQ(commit(*it.journal, Sync::No), "Io");
    it.disk->fail_never_more();
    const std::size_t segments = it.segments().size();
    for (int i = 0; i < 5; ++i) ASSERT_EQ(commit(*it.journal), "ok");
    EXPECT_LE(it.segments().size(), segments + 1) << "one new segment leaves them behind, not one each commit";
    it.disk->cut_power();
    it.journal.reset();
    it.disk->restart();
    it.open();
    ASSERT_EQ(replayed(*it.journal), entries) << "seed " << seed;
  }
}

TEST(FileJournal, RecycledSegmentsBringNothingBackAndTheFolderStaysSmall) {
  JournalOnDisk it;
  std::size_t most_files = 0;
  for (int round = 0; round < 60; ++round) {
    const Entries entries = it.fill(20, 500, 4);
    ASSERT_TRUE(it.journal->trim(it.journal->durable_end()).has_value());
    most_files = std::max(most_files, it.disk->list()->size());
    if (round % 3 == 0) {
      it.kill();
      it.open();
      EXPECT_FALSE(it.report.tail_was_torn) << round;
    }
    const Entries left = replayed(*it.journal);
    ASSERT_LE(left.size(), entries.size());
    ASSERT_TRUE(std::equal(left.rbegin(), left.rend(), entries.rbegin())) << round;
  }
  EXPECT_LE(most_files, 7u) << "LOCK, CONTROL, a segment or two, up to two spares, one being recycled";
}

TEST(FileJournal, ARecordHoldsOnlyWhereItWasWritten) {
  JournalOnDisk it;
  const Entries entries = it.fill(5, 500);
  const LogPosition end = it.journal->durable_end();
  const auto [file, third] = it.place_of(entries[2].position);
  const auto [same_file, last] = it.place_of(entries[4].position);
  it.kill();
  // Stray bytes of the same file, just where the next record would be: whole, with sums that were right elsewhere.
  overwrite(*it.disk, file, last + frame_size(500), it.disk->contents(file).substr(third, frame_size(500)));
  it.open();
  EXPECT_EQ(it.journal->next_position(), end);
  EXPECT_EQ(replayed(*it.journal), entries);
  EXPECT_FALSE(it.report.tail_was_torn);
}

TEST(FileJournal, ARecycledSegmentIsNotOverwrittenWhileAPowerCutCanBringItsNameBack) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (std::uint64_t cut = 0; cut < 80; ++cut) {
      JournalOnDisk it(seed);
      Entries entries = it.fill(46, 500);  // one in the fourth segment: no spare is ready, so an old one becomes it
      it.disk->fail_at(it.disk->steps() + cut, Fault::PowerCut);
      (void)it.journal->trim(it.journal->durable_end());
      for (int i = 0; i < 20 && !it.disk->power_is_off(); ++i) {
        const Entry entry = append(*it.journal, noise(500 + i, 900));
        if (commit(*it.journal) == "ok") entries.push_back(entry);
      }
      if (!it.disk->power_is_off()) break;  // the steps are over
      it.journal.reset();
      it.disk->restart();
      auto opened = JournalOnDisk::try_open(*it.disk);
      ASSERT_EQ(outcome(opened), "ok") << "seed " << seed << ", cut " << cut;
      const Entries found = replayed(*opened->journal);
      const auto kept = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.position >= opened->journal->first_position(); });
      const auto wanted = static_cast<std::size_t>(entries.end() - kept);
      ASSERT_GE(found.size(), wanted) << "seed " << seed << ", cut " << cut;
      ASSERT_TRUE(std::equal(kept, entries.end(), found.begin())) << "seed " << seed << ", cut " << cut;
    }
  }
}

TEST(FileJournal, ReadsFromMoreSegmentsThanItKeepsOpen) {
  JournalOnDisk it;
  const Entries entries = it.fill(400, 4000, 10);
  ASSERT_GT(it.segments().size(), 190u);
  Rng rng(4);
  for (int i = 0; i < 2000; ++i) {
    const Entry& entry = entries[rng.below(entries.size())];
    ASSERT_EQ(read(*it.journal, entry.position), entry.record);
  }
}

/// True as soon as it is, false after ten seconds.
bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(FileJournal, ASpareIsMadeInTheBackgroundAndUsed) {
  TemporaryFolder folder;
  SeededSecrets secrets(1);
  auto opened = open_file_journal(folder.path(), secrets, {4u << 20, 1u << 20, true});
  ASSERT_EQ(outcome(opened), "ok");
  Journal& journal = *opened->journal;
  EXPECT_EQ(journal.stats().room_bytes, 0u) << "a young journal is small";
  Entries entries;
  const auto grow_by = [&](std::size_t records) {
    for (std::size_t i = 0; i < records; ++i) {
      entries.push_back(append(journal, noise(entries.size(), 10'000)));
      ASSERT_EQ(commit(journal, Sync::No), "ok");
    }
  };
  grow_by(220);
  EXPECT_TRUE(eventually([&] { return journal.stats().room_bytes == (4u << 20) - kSegmentHeaderBytes; }));
  grow_by(280);
  EXPECT_EQ(journal.stats().segments, 2u);
  EXPECT_GT(journal.stats().room_bytes, 1u << 20) << "the second segment was prewritten";
  EXPECT_EQ(replayed(journal), entries);
  opened->journal.reset();
  auto again = open_file_journal(folder.path(), secrets, {4u << 20, 1u << 20, true});
  ASSERT_EQ(outcome(again), "ok");
  EXPECT_EQ(replayed(*again->journal), entries);
}

TEST(FileJournal, SnapshotsAreWrittenBesideCommits) {
  TemporaryFolder folder;
  SeededSecrets secrets(1);
  auto opened = open_file_journal(folder.path(), secrets, {1u << 20, 64u << 10, true});
  ASSERT_EQ(outcome(opened), "ok");
  Journal& journal = *opened->journal;
  const Entry one = append(journal, "one");
  ASSERT_EQ(commit(journal), "ok");
  const LogPosition position = journal.durable_end();
  const std::string content = noise(5, 3'000'000);
  std::thread writer([&] { EXPECT_EQ(write_snapshot(journal, position, content, 10'000), "ok"); });
  Entries entries{one};
  for (int i = 0; i < 300; ++i) {
    entries.push_back(append(journal, noise(i, 5000)));
    EXPECT_EQ(commit(journal, i % 10 == 0 ? Sync::Yes : Sync::No), "ok");
  }
  writer.join();
  EXPECT_EQ(latest_snapshot(journal), (Entry{position, content}));
  EXPECT_EQ(replayed(journal), entries);
  EXPECT_LE(*journal.trim(journal.durable_end()), position);
}

// ---- Verify -------------------------------------------------------------------------------------------------------------------

TEST(Verify, SaysWhatASoundJournalHolds) {
  JournalOnDisk it;
  const Entries entries = it.fill(60, 500, 3);
  ASSERT_EQ(write_snapshot(*it.journal, entries[30].position, "state"), "ok");
  const auto open = verify_journal(*it.disk);
  ASSERT_TRUE(open.has_value());
  EXPECT_TRUE(open->in_use);
  it.close();
  const auto report = verify_journal(*it.disk);
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->in_use);
  EXPECT_TRUE(report->sound());
  EXPECT_EQ(report->epoch, 1u);
  EXPECT_EQ(report->records, 60u);
  EXPECT_EQ(report->first, LogPosition{0});
  EXPECT_EQ(report->end, LogPosition{60 * frame_size(500)});
  ASSERT_EQ(report->snapshots.size(), 1u);
  EXPECT_EQ(report->snapshots.front().position, entries[30].position);
  EXPECT_EQ(report->snapshots.front().bytes, 5u);
  std::uint64_t records = 0;
  for (const auto& segment : report->segments) records += segment.records;
  EXPECT_EQ(records, 60u);
  EXPECT_NE(report->describe().find("positions 0 to 31200, 60 records"), std::string::npos) << report->describe();
  EXPECT_TRUE(report->describe().ends_with("\nsound\n")) << report->describe();
}

TEST(Verify, ListsEveryDamagedPlace) {
  JournalOnDisk it;
  const Entries entries = it.fill(60, 500, 3);
  it.close();
  std::vector<std::pair<std::string, std::uint64_t>> places;
  for (const std::size_t i : {2u, 20u, 40u}) places.push_back(it.place_of(entries[i].position));
  for (const auto& [file, at] : places) it.disk->flip_bit(file, at + 17, 5);
  const auto report = verify_journal(*it.disk);
  ASSERT_TRUE(report.has_value());
  EXPECT_FALSE(report->sound());
  ASSERT_EQ(report->damage.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(report->damage[i].file, places[i].first);
    EXPECT_EQ(report->damage[i].byte_offset, places[i].second);
    EXPECT_GT(report->damage[i].records_beyond, 0u);
  }
  EXPECT_TRUE(report->describe().ends_with("\ndamaged in 3 places\n")) << report->describe();
}

TEST(Verify, SaysThatATornTailIsNoLoss) {
  JournalOnDisk it;
  it.fill(2, 200, 2);
  const Entries last = it.fill(5, 200, 5);
  it.kill();
  const auto [file, at] = it.place_of(last[1].position);
  it.disk->flip_bit(file, at + 50, 3);
  const auto report = verify_journal(*it.disk);
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->sound());
  EXPECT_TRUE(report->tail_is_torn);
  EXPECT_EQ(report->records_to_cut, 3u);
  EXPECT_NE(report->describe().find("torn tail at position"), std::string::npos);
}

TEST(Verify, AFolderThatIsNotThereIsAnErrorAndIsNotMade) {
  TemporaryFolder folder;
  const auto report = verify_journal(folder.path() + "/missing");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, OpenError::Kind::Io);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/missing"));
}

}  // namespace
}  // namespace fanfare::journal
