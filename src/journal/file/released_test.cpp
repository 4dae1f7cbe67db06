// Folders that earlier versions wrote are read by this one. src/journal/testdata/version-N was written once, by the version that made
// the format, and is never written again: a new format gets a new folder.
//
//   FANFARE_WRITE_FIXTURE=DIR build/dev/src/journal/fanfare_journal_test --gtest_filter='Released.*'     // makes such a folder
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/file/verify.h"
#include "journal/test_support.h"

namespace fanfare::journal {
namespace {

const FileJournalOptions kSmall{8192, 0, false};
constexpr std::size_t kRecords = 40;
const std::string kState = "the state after twenty-five records";

std::string record(std::size_t number) { return noise(number, 50 + 17 * number); }

/// What every fixture holds: records of rising length, a snapshot after 25 of them, the log before it given up, and a commit that
/// the end of the process came between.
Entries write_fixture(FileSystem& files) {
  SeededSecrets secrets(1);
  auto opened = open_file_journal(files, secrets, kSmall);
  EXPECT_TRUE(opened.has_value());
  Journal& journal = *opened->journal;
  Entries entries;
  for (std::size_t i = 0; i < kRecords; ++i) {
    entries.push_back(append(journal, record(i)));
    EXPECT_EQ(commit(journal), "ok");
    if (i == 24) {
      EXPECT_EQ(write_snapshot(journal, journal.durable_end(), kState), "ok");
      EXPECT_TRUE(journal.trim(journal.durable_end()).has_value());
    }
  }
  return entries;
}

Entries expected() {
  FaultyFileSystem files(1);
  return write_fixture(files);
}

TEST(Released, FixturesAreWrittenWhenAskedFor) {
  const char* folder = std::getenv("FANFARE_WRITE_FIXTURE");
  if (folder == nullptr) return;
  auto files = open_folder(folder);
  ASSERT_TRUE(files.has_value());
  write_fixture(**files);
}

TEST(Released, FoldersOfEveryVersionAreRead) {
  const std::filesystem::path root = std::filesystem::path(FANFARE_SOURCE_DIR) / "src/journal/testdata";
  const Entries all = expected();
  int versions = 0;
  for (const auto& version : std::filesystem::directory_iterator(root)) {
    if (!version.is_directory()) continue;
    ++versions;
    FaultyFileSystem files(1);
    for (const auto& file : std::filesystem::directory_iterator(version.path())) {
      std::ifstream in(file.path(), std::ios::binary);
      files.put(file.path().filename().string(), std::string(std::istreambuf_iterator<char>(in), {}));
    }
    const auto verified = verify_journal(files);
    ASSERT_TRUE(verified.has_value()) << version.path() << ": " << verified.error().message;
    EXPECT_TRUE(verified->sound()) << version.path() << ": " << verified->describe();
    SeededSecrets secrets(2);
    auto opened = open_file_journal(files, secrets, kSmall);
    ASSERT_TRUE(opened.has_value()) << version.path() << ": " << opened.error().message;
    Journal& journal = *opened->journal;
    EXPECT_EQ(latest_snapshot(journal), (Entry{all[25].position, kState})) << version.path();
    Entries entries = replayed(journal);
    ASSERT_GE(entries.size(), kRecords - 25) << version.path();
    EXPECT_EQ(entries, Entries(all.end() - static_cast<std::ptrdiff_t>(entries.size()), all.end())) << version.path();
    entries.push_back(append(journal, "and it goes on"));
    EXPECT_EQ(commit(journal), "ok");
    EXPECT_EQ(replayed(journal), entries);
  }
  EXPECT_GE(versions, 1);
}

}  // namespace
}  // namespace fanfare::journal
