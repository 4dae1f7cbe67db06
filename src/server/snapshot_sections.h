// Between the engine's snapshot, a row of sections, and the journal's, a stream of bytes: each section travels behind its length (u64),
// so that the reader finds the same sections again whatever pieces the disk yields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.h"

namespace fanfare::server {

void append_framed(std::string& out, std::string_view section);

/// Hands out the sections of a snapshot that was taken before.
journal::SnapshotSource source_of(std::vector<std::string> sections);

/// The sections again, from the pieces of a SnapshotReader, which outlives this.
class SectionReader {
 public:
  explicit SectionReader(journal::SnapshotReader& reader) : reader_(reader) {}
  /// Nullopt at the end, and where the snapshot cannot be read on: then broken().
  std::optional<std::string> next();
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  bool fill(std::uint64_t bytes);

  journal::SnapshotReader& reader_;
  std::string buffer_;
  std::size_t used_ = 0;
  bool broken_ = false;
};

}  // namespace fanfare::server
