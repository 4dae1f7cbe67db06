// What the tests of the journal share: folders that vanish, records that can be told apart, short ways to say what is expected.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // mkdtemp
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/journal.h"

namespace fanfare {
inline std::ostream& operator<<(std::ostream& out, LogPosition position) { return out << "@" << position.value; }
}  // namespace fanfare

namespace fanfare::journal {

inline std::ostream& operator<<(std::ostream& out, JournalError error) { return out << name_of(error); }

inline std::ostream& operator<<(std::ostream& out, Fault fault) {
  switch (fault) {
    case Fault::Io: return out << "Io";
    case Fault::NoSpace: return out << "NoSpace";
    case Fault::ShortWrite: return out << "ShortWrite";
    case Fault::PowerCut: return out << "PowerCut";
  }
  return out;
}

/// An empty folder, removed with everything in it at the end. In memory where the machine offers that: these tests are about what
/// the journal does, and a busy disk would make each of their many syncs take milliseconds.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const bool in_memory = ::access("/dev/shm", W_OK) == 0;
    const auto parent = in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "fanfare-journal-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Entry {
  LogPosition position;
  std::string record;
  friend bool operator==(const Entry&, const Entry&) = default;
};
using Entries = std::vector<Entry>;

inline std::ostream& operator<<(std::ostream& out, const Entry& entry) {
  return out << entry.position << ":" << entry.record.substr(0, 24) << (entry.record.size() > 24 ? "..." : "") << "(" << entry.record.size() << ")";
}

/// Bytes that differ from those of every other seed, and that look like nothing.
inline std::string noise(std::uint64_t seed, std::size_t size) {
  Rng rng(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

inline Entry append(Journal& journal, std::string record) {
  const LogPosition position = journal.append(record);
  return {position, std::move(record)};
}

inline Entries replayed(Journal& journal, LogPosition from) {
  Entries entries;
  const auto done = journal.replay(from, [&](LogPosition position, std::string_view record) {
    entries.push_back({position, std::string(record)});
    return true;
  });
  if (!done) ADD_FAILURE() << "replay from " << from << ": " << name_of(done.error());
  return entries;
}
inline Entries replayed(Journal& journal) { return replayed(journal, journal.first_position()); }

/// The record, or the name of the error in angle brackets.
inline std::string read(Journal& journal, LogPosition position) {
  std::string out = "left over";
  const auto done = journal.read(position, out);
  return done ? out : "<" + std::string(name_of(done.error())) + ">";
}

inline std::string commit(Journal& journal, Sync sync = Sync::Yes) {
  const auto done = journal.commit(sync);
  if (!done) return std::string(name_of(done.error()));
  EXPECT_EQ(*done, journal.durable_end());
  if (sync == Sync::Yes) {
    EXPECT_EQ(*done, journal.next_position());
  }
  return "ok";
}

/// A source over one string, in pieces of `piece_bytes`; the string outlives it.
inline SnapshotSource pieces_of(const std::string& content, std::size_t piece_bytes) {
  return [&content, piece_bytes, at = std::size_t{0}]() mutable -> std::optional<std::string_view> {
    const std::string_view piece = std::string_view(content).substr(at, piece_bytes);
    at += piece.size();
    return piece;
  };
}

/// "ok" or the error's name.
inline std::string write_snapshot(Journal& journal, LogPosition position, const std::string& content, std::size_t piece_bytes = 1000) {
  const auto done = journal.snapshots().write(position, pieces_of(content, piece_bytes));
  return done ? "ok" : std::string(name_of(done.error()));
}

/// Position and content; position ~0 and the error's name if it cannot be read; nullopt if there is none.
inline std::optional<Entry> latest_snapshot(Journal& journal) {
  const auto failed = [](JournalError error) { return Entry{{~std::uint64_t{0}}, std::string(name_of(error))}; };
  auto reader = journal.snapshots().latest();
  if (!reader) return failed(reader.error());
  if (*reader == nullptr) return {};
  Entry found{(*reader)->position(), {}};
  while (true) {
    const auto piece = (*reader)->next();
    if (!piece) return failed(piece.error());
    if (piece->empty()) break;
    found.record.append(*piece);
  }
  EXPECT_EQ(found.record.size(), (*reader)->bytes());
  return found;
}

}  // namespace fanfare::journal
