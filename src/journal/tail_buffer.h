// The youngest stretch of the log in memory: what is not yet durable, and, below it, a bounded cache of what has just been.
//
// Rule 1: the stretch [begin(), end()) has no holes; each frame lies in one piece.
// Rule 2: only drop_before() and truncate() take anything away: what is not durable stays until the journal says otherwise.
// Memory comes in chunks of 256 KiB (a longer frame gets a chunk of its own) that are used again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "journal/journal.h"

namespace fanfare::journal {

class TailBuffer {
 public:
  explicit TailBuffer(LogPosition start) : begin_(start), end_(start) {}

  [[nodiscard]] LogPosition begin() const { return begin_; }
  [[nodiscard]] LogPosition end() const { return end_; }
  /// Memory that the chunks hold.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Room for a frame at end(), which moves on by `frame_bytes`. The room holds what it held before: fill all of it.
  char* extend(std::uint64_t frame_bytes) {
    if (chunks_.empty() || chunks_.back().capacity - chunks_.back().used < frame_bytes) add_chunk(frame_bytes);
    Chunk& chunk = chunks_.back();
    char* at = chunk.memory.get() + chunk.used;
    chunk.used += frame_bytes;
    end_ = end_ + frame_bytes;
    return at;
  }

  /// From `position`, which is inside, to the end of its chunk; whole frames follow if a frame begins at `position`.
  [[nodiscard]] std::string_view at(LogPosition position) const;
  [[nodiscard]] char* mutable_at(LogPosition position);

  /// Appends the pieces that make up [from, to) to `pieces`.
  void collect(LogPosition from, LogPosition to, std::vector<std::string_view>& pieces) const;

  /// Drops whole chunks below `position`, as long as more than `keep_bytes` would remain.
  void drop_before(LogPosition position, std::uint64_t keep_bytes);
  /// Drops everything from `position` on; position must be inside or the end.
  void truncate(LogPosition position);

 private:
  static constexpr std::uint64_t kChunkBytes = 256u << 10;
  static constexpr std::size_t kIdleChunksMax = 4;

  struct Chunk {
    LogPosition first;
    std::uint64_t used = 0;
    std::uint64_t capacity = 0;
    std::unique_ptr<char[]> memory;
  };

  void add_chunk(std::uint64_t frame_bytes);
  [[nodiscard]] std::size_t index_of(LogPosition position) const;
  void retire(Chunk&& chunk);

  std::deque<Chunk> chunks_;  // ordered by `first`, none empty except perhaps the last
  std::vector<std::unique_ptr<char[]>> idle_;  // chunks kept for reuse: fresh memory costs a page fault every 4 KiB
  LogPosition begin_;
  LogPosition end_;
  std::uint64_t bytes_ = 0;
};

}  // namespace fanfare::journal
