// What only the SQLite store promises: files, restarts, crashes, full disks.
#include "store/sqlite_inbox_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "base/rng.h"

namespace fanfare::store {
namespace {

using namespace inbox;

const InboxKey kInbox{Recipient{"alice"}, Workspace{"docs"}};
const Timestamp kNow = timestamp_from_unix_ms(1'800'000'000'000);

class SqliteInboxStoreFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "fanfare-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.path = (folder / "inbox.sqlite").string();
    options.epoch_if_new = 7;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<InboxStore> open() {
    auto opened = open_sqlite_inbox_store(options);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().detail);
    return opened ? std::move(*opened) : nullptr;
  }
  StoreError open_error() {
    auto opened = open_sqlite_inbox_store(options);
    EXPECT_FALSE(opened.has_value());
    return opened ? StoreError{} : opened.error();
  }
  static Create create(std::uint64_t number, std::size_t data_bytes = 2) {
    Create c;
    c.intent.key = IdempotencyKey{"k" + std::to_string(number)};
    c.intent.workspace = kInbox.workspace;
    c.intent.kind = Kind{"ready"};
    c.intent.object_id = ObjectId{"d-" + std::to_string(number)};
    c.intent.recipients = {kInbox.recipient};
    c.intent.data = '"' + std::string(data_bytes, 'x') + '"';
    SeededSecrets secrets{number};
    c.fresh = NotificationId{Uuid::from_random(secrets.bytes16())};
    return c;
  }
  static Result<std::vector<Answer>, StoreError> run(InboxStore& store, std::vector<Operation> operations) {
    return store.execute(operations, kNow);
  }
  static Page list_all(InboxStore& store, std::optional<Cursor> after = {}) {
    auto answers = run(store, {ListPage{.inbox = kInbox, .after = after, .up_to = {}, .limit = kPageMax, .kind = {}}});
    EXPECT_TRUE(answers.has_value());
    return answers ? std::get<Page>(answers->front()) : Page{};
  }
  void sql(const char* statement) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(options.path.c_str(), &handle), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, statement, nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(handle);
  }

  std::filesystem::path folder;
  SqliteOptions options;
};

TEST_F(SqliteInboxStoreFile, ARestartChangesNoCursorIdOrSequence) {
  Page before;
  std::uint64_t token = 0;
  {
    const auto store = open();
    EXPECT_EQ(store->epoch(), 7u);
    ASSERT_TRUE(run(*store, {create(1), create(2)}).has_value());
    before = list_all(*store);
    token = std::get<Claimed>(run(*store, {Claim{.owner = "w", .limit = 1, .inboxes = {}}})->front()).token.value;
  }
  options.epoch_if_new = 8;  // counts for a new file only
  const auto store = open();
  EXPECT_EQ(store->epoch(), 7u);
  const Page after = list_all(*store);
  ASSERT_EQ(after.items.size(), 2u);
  EXPECT_EQ(after.items[1], before.items[1]);
  EXPECT_EQ(after.cursor, before.cursor);
  EXPECT_EQ(after.counts, before.counts);
  EXPECT_FALSE(list_all(*store, before.cursor).reset);
  EXPECT_EQ(std::get<Claimed>(run(*store, {Claim{.owner = "w", .inboxes = {}}})->front()).token.value, token + 1)
      << "tokens grow over restarts";
  EXPECT_TRUE(std::get<Created>(run(*store, {create(1)})->front()).duplicate);
}

TEST_F(SqliteInboxStoreFile, ASecondOpenerIsRefusedWhileTheFirstIsThere) {
  {
    const auto store = open();
    const StoreError error = open_error();
    EXPECT_EQ(error.kind, StoreErrorKind::Unavailable) << error.detail;
    EXPECT_NE(error.detail.find(options.path), std::string::npos) << error.detail;
    EXPECT_TRUE(run(*store, {create(1)}).has_value());
  }
  EXPECT_NE(open(), nullptr);
}

TEST_F(SqliteInboxStoreFile, RefusesWhatIsNoDatabase) {
  std::ofstream{options.path} << std::string(8192, 'x');
  EXPECT_EQ(open_error().kind, StoreErrorKind::Damaged);
}

TEST_F(SqliteInboxStoreFile, RefusesAnotherProgramsDatabaseAndLeavesItAlone) {
  sql("CREATE TABLE theirs (a); PRAGMA application_id = 5");
  EXPECT_EQ(open_error().kind, StoreErrorKind::Damaged);
  sql("PRAGMA application_id = 0");
  EXPECT_EQ(open_error().kind, StoreErrorKind::Damaged);
  sql("INSERT INTO theirs VALUES (1)");
}

TEST_F(SqliteInboxStoreFile, RefusesANewerSchema) {
  open();
  sql("PRAGMA user_version = 1000");
  const StoreError error = open_error();
  EXPECT_EQ(error.kind, StoreErrorKind::Damaged);
  EXPECT_NE(error.detail.find("schema version 1000"), std::string::npos) << error.detail;
}

TEST_F(SqliteInboxStoreFile, RefusesAFolderThatIsNotThere) {
  options.path = (folder / "missing" / "inbox.sqlite").string();
  EXPECT_EQ(open_error().kind, StoreErrorKind::Unavailable);
}

TEST_F(SqliteInboxStoreFile, N2AFullStoreRefusesLoudlyAndKeepsWhatItHas) {
  options.bytes_max = 1024 * 1024;
  const auto store = open();
  std::uint64_t stored = 0;
  for (;; ++stored) {
    ASSERT_LT(stored, 1000u) << "the bound does not hold";
    const auto answers = run(*store, {create(stored, 20'000)});
    if (answers) continue;
    EXPECT_EQ(answers.error().kind, StoreErrorKind::Unavailable) << answers.error().detail;
    break;
  }
  ASSERT_GT(stored, 10u);
  const auto whole_batch = run(*store, {ReadHead{kInbox}, create(stored, 20'000), create(stored + 1, 20'000)});
  EXPECT_FALSE(whole_batch.has_value()) << "an error concerns the batch";
  EXPECT_EQ(list_all(*store).items.size(), stored);
  EXPECT_EQ(list_all(*store).counts.unread, stored);
  // Room again: the same key is new, because nothing of the failed creates was left behind.
  ASSERT_TRUE(run(*store, {Retain{kNow + seconds{1}, 5}}).has_value());
  const auto again = run(*store, {create(stored, 100)});
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  EXPECT_FALSE(std::get<Created>(again->front()).duplicate);
  EXPECT_EQ(std::get<Created>(again->front()).items.at(0).sequence, stored + 1) << "no sequence was lost either";
}

TEST_F(SqliteInboxStoreFile, TheLogIsWrittenBackWhenItHasGrown) {
  const auto store = open();
  for (std::uint64_t number = 0; number < 3; ++number) ASSERT_TRUE(run(*store, {create(number, 60'000)}).has_value());
  ASSERT_TRUE(store->tidy().has_value());
  std::uint64_t number = 3;
  const auto log_bytes = [&] { return std::filesystem::file_size(options.path + "-wal"); };
  const auto grown = [&] { return std::filesystem::file_size(options.path) > 8 * 1024 * 1024; };
  while (!grown() && number < 2000) {
    ASSERT_TRUE(run(*store, {create(number++, 60'000)}).has_value());
    ASSERT_TRUE(store->tidy().has_value());
  }
  EXPECT_TRUE(grown()) << "nothing was written back; the log has " << log_bytes() << " bytes";
  EXPECT_LT(log_bytes(), 40u * 1024 * 1024);
}

TEST_F(SqliteInboxStoreFile, TheSchemaCanBePrinted) {
  EXPECT_NE(sqlite_inbox_schema().find("CREATE TABLE notification"), std::string_view::npos);
  sql(std::string{sqlite_inbox_schema()}.c_str());
}

// A child creates and says on a pipe what was acknowledged; it is killed after a random number of acknowledgements.
// Everything it was told must be there, once, with dense sequences and exact counts. (The page cache survives a kill:
// this tests recovery and transactions; losing unsynced writes is the simulator's part.)
TEST_F(SqliteInboxStoreFile, N2N12WhatWasAcknowledgedSurvivesAKill) {
  Rng rng{20'260'101};
  std::uint64_t next = 0;
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const std::uint64_t batch = 1 + rng.below(8);
    const std::uint64_t acks_before_kill = 1 + rng.below(12);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      auto store = open_sqlite_inbox_store(options);
      if (!store) _exit(2);
      for (std::uint64_t number = next;; number += batch) {
        std::vector<Operation> operations;
        for (std::uint64_t i = 0; i < batch; ++i) operations.push_back(create(number + i));
        if (!(*store)->execute(operations, kNow)) _exit(3);
        const std::uint64_t told = number + batch;
        if (write(ends[1], &told, sizeof told) != sizeof told) _exit(4);
      }
    }
    close(ends[1]);
    std::uint64_t told = 0;
    std::uint64_t acks = 0;
    while (read(ends[0], &told, sizeof told) == sizeof told) {
      acknowledged = told;
      if (++acks == acks_before_kill) kill(child, SIGKILL);
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);

    const auto store = open();
    ASSERT_NE(store, nullptr);
    std::vector<Notification> items;
    Page page = list_all(*store);
    while (!page.items.empty()) {
      items.insert(items.end(), page.items.begin(), page.items.end());
      page = list_all(*store, page.cursor);
    }
    ASSERT_GE(items.size(), acknowledged) << "acknowledged rows are lost in round " << round;
    for (std::size_t i = 0; i < items.size(); ++i) {
      ASSERT_EQ(items[i].sequence, i + 1);
      ASSERT_EQ(items[i].object_id.str(), "d-" + std::to_string(i));
    }
    ASSERT_EQ(page.counts.unread, items.size());
    ASSERT_EQ((items.size() - next) % batch, 0u) << "a transaction is there as a whole or not at all";
    next = items.size();
  }
  EXPECT_GT(acknowledged, 20u);
}

}  // namespace
}  // namespace fanfare::store
