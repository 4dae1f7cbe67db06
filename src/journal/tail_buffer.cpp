#include "journal/tail_buffer.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace fanfare::journal {

void TailBuffer::add_chunk(std::uint64_t frame_bytes) {
  Chunk chunk;
  chunk.first = end_;
  chunk.capacity = std::max(kChunkBytes, frame_bytes);
  if (chunk.capacity == kChunkBytes && !idle_.empty()) {
    chunk.memory = std::move(idle_.back());
    idle_.pop_back();
  } else {
    chunk.memory = std::make_unique_for_overwrite<char[]>(chunk.capacity);
  }
  bytes_ += chunk.capacity;
  chunks_.push_back(std::move(chunk));
}

void TailBuffer::retire(Chunk&& chunk) {
  bytes_ -= chunk.capacity;
  if (chunk.capacity == kChunkBytes && idle_.size() < kIdleChunksMax) idle_.push_back(std::move(chunk.memory));
}

std::size_t TailBuffer::index_of(LogPosition position) const {
  FANFARE_ASSERT(begin_ <= position && position < end_);
  const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), position,
                                      [](LogPosition wanted, const Chunk& chunk) { return wanted < chunk.first; });
  return static_cast<std::size_t>(after - chunks_.begin()) - 1;
}

std::string_view TailBuffer::at(LogPosition position) const {
  const Chunk& chunk = chunks_[index_of(position)];
  const std::uint64_t offset = position - chunk.first;
  return {chunk.memory.get() + offset, chunk.used - offset};
}

char* TailBuffer::mutable_at(LogPosition position) {
  Chunk& chunk = chunks_[index_of(position)];
  return chunk.memory.get() + (position - chunk.first);
}

void TailBuffer::collect(LogPosition from, LogPosition to, std::vector<std::string_view>& pieces) const {
  if (from == to) return;
  for (std::size_t i = index_of(from); from < to; ++i) {
    const Chunk& chunk = chunks_[i];
    const std::uint64_t offset = from - chunk.first;
    const std::uint64_t size = std::min(chunk.used - offset, to - from);
    pieces.emplace_back(chunk.memory.get() + offset, size);
    from = from + size;
  }
}

void TailBuffer::drop_before(LogPosition position, std::uint64_t keep_bytes) {
  while (!chunks_.empty() && bytes_ > keep_bytes) {
    Chunk& oldest = chunks_.front();
    if (oldest.first + oldest.used > position) return;
    begin_ = oldest.first + oldest.used;
    retire(std::move(oldest));
    chunks_.pop_front();
  }
}

void TailBuffer::truncate(LogPosition position) {
  FANFARE_ASSERT(begin_ <= position && position <= end_);
  while (!chunks_.empty() && position <= chunks_.back().first) {
    retire(std::move(chunks_.back()));
    chunks_.pop_back();
  }
  if (!chunks_.empty()) chunks_.back().used = position - chunks_.back().first;
  end_ = position;
}

}  // namespace fanfare::journal
