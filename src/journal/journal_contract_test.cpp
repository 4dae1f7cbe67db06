// What every journal does, held against each implementation.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/file_system.h"
#include "journal/journal.h"
#include "journal/memory/memory_journal.h"
#include "journal/test_support.h"

namespace fanfare::journal {
namespace {

constexpr std::uint64_t kSegmentBytes = 16 << 10;

/// A place where a journal lies; open() gives a journal with what the last one left there.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::unique_ptr<Journal> open() = 0;
  [[nodiscard]] virtual bool is_durable() const { return true; }

 protected:
  static std::unique_ptr<Journal> expect_open(Result<OpenedJournal, OpenError> opened) {
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      return nullptr;
    }
    return std::move(opened->journal);
  }
  SeededSecrets secrets_{7};
};

class Memory final : public Place {
 public:
  std::unique_ptr<Journal> open() override { return make_memory_journal(); }
  [[nodiscard]] bool is_durable() const override { return false; }
};

class Folder final : public Place {
 public:
  explicit Folder(FileJournalOptions options) : options_(options) {}
  std::unique_ptr<Journal> open() override { return expect_open(open_file_journal(folder_.path(), secrets_, options_)); }

 private:
  TemporaryFolder folder_;
  FileJournalOptions options_;
};

class FaultyDisk final : public Place {
 public:
  std::unique_ptr<Journal> open() override { return expect_open(open_file_journal(disk_, secrets_, {kSegmentBytes, 0, false})); }

 private:
  FaultyFileSystem disk_{1};
};

struct Kind {
  const char* name;
  std::unique_ptr<Place> (*make)();
  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

std::unique_ptr<Place> memory() { return std::make_unique<Memory>(); }
std::unique_ptr<Place> small_segments() { return std::make_unique<Folder>(FileJournalOptions{kSegmentBytes, 0, true}); }
std::unique_ptr<Place> as_served() { return std::make_unique<Folder>(FileJournalOptions{}); }
std::unique_ptr<Place> faulty_disk() { return std::make_unique<FaultyDisk>(); }

class JournalContract : public testing::TestWithParam<Kind> {
 protected:
  void reopen() {
    journal_.reset();
    journal_ = place_->open();
    ASSERT_NE(journal_, nullptr);
  }
  void SetUp() override { reopen(); }

  std::unique_ptr<Place> place_ = GetParam().make();
  std::unique_ptr<Journal> journal_;
};

INSTANTIATE_TEST_SUITE_P(Each, JournalContract,
                         testing::Values(Kind{"Memory", memory}, Kind{"SmallSegments", small_segments}, Kind{"AsServed", as_served},
                                         Kind{"FaultyDisk", faulty_disk}),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(JournalContract, IsEmptyAtFirst) {
  EXPECT_EQ(journal_->next_position(), LogPosition{0});
  EXPECT_EQ(journal_->durable_end(), LogPosition{0});
  EXPECT_EQ(journal_->first_position(), LogPosition{0});
  EXPECT_EQ(journal_->epoch(), 1u);
  EXPECT_EQ(replayed(*journal_), Entries{});
  EXPECT_EQ(latest_snapshot(*journal_), std::nullopt);
}

TEST_P(JournalContract, PositionsMoveByTheFrameSizeAcrossSegmentsToo) {
  LogPosition expected;
  for (std::size_t size = 1; size < 200; ++size) {
    EXPECT_EQ(journal_->next_position(), expected);
    EXPECT_EQ(journal_->append(noise(size, 7 * size)), expected);
    expected = expected + frame_size(7 * size);
    if (size % 5 == 0) {
      EXPECT_EQ(commit(*journal_), "ok");
    }
  }
  EXPECT_EQ(journal_->next_position(), expected);
}

TEST_P(JournalContract, ReadsWhatWasCommittedAndWhatWasJustAppended) {
  Entries entries;
  for (std::size_t i = 0; i < 300; ++i) {
    entries.push_back(append(*journal_, noise(i, 1 + i * 13 % 1500)));
    if (i % 7 == 0) {
      EXPECT_EQ(commit(*journal_, i % 2 == 0 ? Sync::Yes : Sync::No), "ok");
    }
  }
  for (const Entry& entry : entries) EXPECT_EQ(read(*journal_, entry.position), entry.record) << entry;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) EXPECT_EQ(read(*journal_, entry->position), entry->record) << *entry;
}

TEST_P(JournalContract, ReadFindsNothingWhereNoRecordBegins) {
  const Entry first = append(*journal_, noise(1, 600));
  ASSERT_EQ(commit(*journal_), "ok");
  const Entry second = append(*journal_, noise(2, 600));
  for (const bool committed : {false, true}) {
    for (std::uint64_t at = 0; at < journal_->next_position().value + 64; ++at) {
      if (at == first.position.value || at == second.position.value) continue;
      ASSERT_EQ(read(*journal_, {at}), "<NotFound>") << at << (committed ? " committed" : " appended");
    }
    ASSERT_EQ(commit(*journal_), "ok");
  }
}

TEST_P(JournalContract, CommitWithoutSyncPromisesNothingUntilASyncFollows) {
  append(*journal_, "one");
  ASSERT_EQ(commit(*journal_), "ok");
  const LogPosition promised = journal_->durable_end();
  append(*journal_, "two");
  const auto unsynced = journal_->commit(Sync::No);
  ASSERT_TRUE(unsynced.has_value());
  EXPECT_GE(*unsynced, promised);
  EXPECT_LE(*unsynced, journal_->next_position());
  EXPECT_EQ(*journal_->commit(Sync::Yes), journal_->next_position());
  EXPECT_EQ(*journal_->commit(Sync::Yes), journal_->next_position());
}

TEST_P(JournalContract, ReplayVisitsWhatIsCommittedInOrder) {
  Entries entries;
  for (std::size_t i = 0; i < 100; ++i) entries.push_back(append(*journal_, noise(i, 300 + i)));
  EXPECT_EQ(replayed(*journal_), Entries{}) << "nothing is committed yet";
  ASSERT_EQ(commit(*journal_, Sync::No), "ok");
  append(*journal_, "not committed");
  EXPECT_EQ(replayed(*journal_), entries);
  EXPECT_EQ(replayed(*journal_, entries[60].position), Entries(entries.begin() + 60, entries.end()));
  EXPECT_EQ(replayed(*journal_, entries.back().position + frame_size(entries.back().record.size())), Entries{});
}

TEST_P(JournalContract, ReplayEndsWhenTheVisitorHasSeenEnough) {
  for (std::size_t i = 0; i < 100; ++i) append(*journal_, noise(i, 400));
  ASSERT_EQ(commit(*journal_), "ok");
  for (const int enough : {1, 2, 50, 99}) {
    int seen = 0;
    const auto done = journal_->replay({}, [&](LogPosition, std::string_view) { return ++seen < enough; });
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(seen, enough);
  }
}

TEST_P(JournalContract, ReplayStartsOnlyAtARecord) {
  append(*journal_, noise(1, 100));
  append(*journal_, noise(2, 100));
  ASSERT_EQ(commit(*journal_), "ok");
  const auto nothing = [](LogPosition, std::string_view) { return true; };
  for (const std::uint64_t from : {1u, 8u, 16u, 128u, 248u, 1000u}) {
    const auto done = journal_->replay({from}, nothing);
    ASSERT_FALSE(done.has_value()) << from;
    EXPECT_EQ(done.error(), JournalError::NotFound) << from;
  }
}

TEST_P(JournalContract, DiscardGoesBackToTheLastCommit) {
  Entries entries{append(*journal_, "kept")};
  ASSERT_EQ(commit(*journal_), "ok");
  const LogPosition before = journal_->next_position();
  for (std::size_t i = 0; i < 100; ++i) append(*journal_, noise(i, 900));
  journal_->discard_uncommitted();
  EXPECT_EQ(journal_->next_position(), before);
  EXPECT_EQ(read(*journal_, before), "<NotFound>");
  for (std::size_t i = 0; i < 50; ++i) entries.push_back(append(*journal_, noise(1000 + i, 800)));
  EXPECT_EQ(entries[1].position, before);
  ASSERT_EQ(commit(*journal_), "ok");
  EXPECT_EQ(replayed(*journal_), entries);
  for (const Entry& entry : entries) EXPECT_EQ(read(*journal_, entry.position), entry.record);
}

TEST_P(JournalContract, TakesTheShortestRecordsAndTheLongest) {
  Entries entries;
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{kRecordBytesMax}, std::size_t{1}, std::size_t{40'000},
                                 std::size_t{kRecordBytesMax - 3}, std::size_t{7}}) {
    entries.push_back(append(*journal_, noise(size, size)));
    if (size % 2 == 0) {
      EXPECT_EQ(commit(*journal_), "ok");
    }
  }
  ASSERT_EQ(commit(*journal_), "ok");
  EXPECT_EQ(replayed(*journal_), entries);
  for (const Entry& entry : entries) EXPECT_EQ(read(*journal_, entry.position), entry.record);
  if (!place_->is_durable()) return;
  reopen();
  EXPECT_EQ(replayed(*journal_), entries);
}

TEST_P(JournalContract, RefusesALongerRecordAndAnEmptyOneLoudly) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // some of these journals have a thread
  EXPECT_DEATH(journal_->append(std::string(kRecordBytesMax + 1, 'x')), "assertion failed");
  EXPECT_DEATH(journal_->append(""), "assertion failed");
}

TEST_P(JournalContract, TrimKeepsEverythingFromThePositionOn) {
  Entries entries;
  for (std::size_t i = 0; i < 2000; ++i) {
    entries.push_back(append(*journal_, noise(i, 500)));
    if (i % 16 == 0) {
      ASSERT_EQ(commit(*journal_), "ok");
    }
  }
  ASSERT_EQ(commit(*journal_), "ok");
  const Entry& kept = entries[1500];
  const auto first = journal_->trim(kept.position);
  ASSERT_TRUE(first.has_value()) << first.error();
  EXPECT_EQ(*first, journal_->first_position());
  EXPECT_LE(*first, kept.position);
  const Entries left = replayed(*journal_);
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left.front().position, *first);
  EXPECT_EQ(left, Entries(entries.end() - static_cast<std::ptrdiff_t>(left.size()), entries.end()));
  if (*first > LogPosition{}) {
    EXPECT_EQ(read(*journal_, {}), "<NotFound>");
  }
  EXPECT_EQ(read(*journal_, kept.position), kept.record);
  EXPECT_EQ(*journal_->trim({}), *first) << "trimming less changes nothing";
  EXPECT_EQ(journal_->stats().log_bytes, journal_->durable_end() - *first);
}

TEST_P(JournalContract, TrimStopsAtTheNewestSnapshot) {
  Entries entries;
  for (std::size_t i = 0; i < 2000; ++i) entries.push_back(append(*journal_, noise(i, 500)));
  ASSERT_EQ(commit(*journal_), "ok");
  const LogPosition snapshot = entries[900].position;
  ASSERT_EQ(write_snapshot(*journal_, snapshot, "state"), "ok");
  const auto first = journal_->trim(journal_->durable_end());
  ASSERT_TRUE(first.has_value());
  EXPECT_LE(*first, snapshot);
  EXPECT_EQ(read(*journal_, snapshot), entries[900].record);
}

TEST_P(JournalContract, KeepsTheNewestSnapshot) {
  append(*journal_, "one");
  ASSERT_EQ(commit(*journal_), "ok");
  const LogPosition position = journal_->durable_end();
  const std::string small = "state";
  const std::string large = noise(3, 1'500'000);
  ASSERT_EQ(write_snapshot(*journal_, {}, large, 999), "ok");
  EXPECT_EQ(latest_snapshot(*journal_), (Entry{{}, large}));
  ASSERT_EQ(write_snapshot(*journal_, position, small, 1), "ok");
  EXPECT_EQ(latest_snapshot(*journal_), (Entry{position, small}));
  ASSERT_EQ(write_snapshot(*journal_, position, large, 5'000'000), "ok");
  EXPECT_EQ(latest_snapshot(*journal_), (Entry{position, large}));
  ASSERT_EQ(write_snapshot(*journal_, position, ""), "ok");
  EXPECT_EQ(latest_snapshot(*journal_), (Entry{position, ""}));
  if (!place_->is_durable()) return;
  ASSERT_EQ(write_snapshot(*journal_, position, large), "ok");
  reopen();
  EXPECT_EQ(latest_snapshot(*journal_), (Entry{position, large}));
}

TEST_P(JournalContract, ASnapshotThatGivesUpLeavesTheOneBefore) {
  ASSERT_EQ(write_snapshot(*journal_, {}, "before"), "ok");
  int pieces = 0;
  const auto done = journal_->snapshots().write({}, [&]() -> std::optional<std::string_view> {
    if (++pieces < 3) return "piece";
    return std::nullopt;
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error(), JournalError::Abandoned);
  EXPECT_EQ(latest_snapshot(*journal_), (Entry{{}, "before"}));
}

TEST_P(JournalContract, CountsWhatItDid) {
  append(*journal_, noise(1, 100));
  append(*journal_, noise(2, 200));
  ASSERT_EQ(commit(*journal_), "ok");
  ASSERT_EQ(commit(*journal_), "ok");
  const JournalStats stats = journal_->stats();
  EXPECT_EQ(stats.records_appended, 2u);
  EXPECT_EQ(stats.bytes_appended, frame_size(100) + frame_size(200));
  EXPECT_EQ(stats.commits, 1u) << "the second had nothing to do";
  EXPECT_EQ(stats.syncs, 1u);
  EXPECT_EQ(stats.failures, 0u);
  EXPECT_EQ(stats.log_bytes, frame_size(100) + frame_size(200));
  EXPECT_TRUE(stats.writable);
  EXPECT_EQ(stats.last_failure, "");
}

TEST_P(JournalContract, ReopenedGoesOnWhereItStopped) {
  if (!place_->is_durable()) return;  // the memory journal's promise ends with the process
  Entries entries;
  for (std::uint64_t round = 1; round <= 5; ++round) {
    EXPECT_EQ(journal_->epoch(), round);
    for (std::size_t i = 0; i < 40; ++i) entries.push_back(append(*journal_, noise(100 * round + i, 700)));
    ASSERT_EQ(commit(*journal_, round % 2 == 0 ? Sync::Yes : Sync::No), "ok");
    append(*journal_, "never committed");
    reopen();
    EXPECT_EQ(journal_->next_position(), journal_->durable_end());
    EXPECT_EQ(replayed(*journal_), entries);
  }
}

TEST_P(JournalContract, ReopenedKeepsWhatWasTrimmedAway) {
  if (!place_->is_durable()) return;
  for (std::size_t i = 0; i < 1000; ++i) append(*journal_, noise(i, 500));
  ASSERT_EQ(commit(*journal_), "ok");
  const auto first = journal_->trim(journal_->durable_end());
  ASSERT_TRUE(first.has_value());
  const Entries before = replayed(*journal_);
  reopen();
  EXPECT_EQ(journal_->first_position(), *first);
  EXPECT_EQ(replayed(*journal_), before);
}

}  // namespace
}  // namespace fanfare::journal
