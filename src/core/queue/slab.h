// Slab<T>: many small values under stable 32-bit indices, in chunks of 64 or fewer.
//
// Rule 1: an index stays valid until free(); it is used again afterwards.
// Rule 2: memory follows the number of values: an empty chunk is given back, but for one that is kept in reserve.
// Rule 3: nothing that grows with the number of values is ever copied as a whole, but the list of tables: 8 bytes for some thousands of values.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "base/prefetch.h"

namespace fanfare::queue {

template <class T, std::uint32_t kPerChunk = 64>
class Slab {
  static_assert(std::has_single_bit(kPerChunk) && kPerChunk <= 64);
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  static constexpr std::uint32_t kNone = 0xffff'ffffu;

  /// A default-made value; O(1).
  std::uint32_t allocate() {
    if (partial_.empty()) {
      FANFARE_ASSERT(chunk_count_ < kNone / kPerChunk);
      if (chunk_count_ % kPerTable == 0) tables_.push_back(std::make_unique<Table>());
      partial_.push_back(chunk_count_++);
    }
    const std::uint32_t number = partial_.back();
    Chunk& chunk = chunk_at(number);
    if (chunk.items == nullptr) {
      chunk.items = std::make_unique_for_overwrite<std::array<T, kPerChunk>>();
    } else if (chunk.used == 0) {
      reserve_ = kNone;
    }
    const auto bit = static_cast<std::uint32_t>(std::countr_one(chunk.used));
    chunk.used |= std::uint64_t{1} << bit;
    if (chunk.used == kFull) partial_.pop_back();
    ++size_;
    (*chunk.items)[bit] = T{};
    return number * kPerChunk + bit;
  }

  void free(std::uint32_t index) {
    const std::uint32_t number = index / kPerChunk;
    Chunk& chunk = chunk_at(number);
    const std::uint64_t mask = std::uint64_t{1} << (index % kPerChunk);
    FANFARE_ASSERT((chunk.used & mask) != 0);
    if (chunk.used == kFull) partial_.push_back(number);
    chunk.used &= ~mask;
    --size_;
    if (chunk.used != 0) return;
    // The chunk's number stays among the partial ones; its memory comes back when it is needed.
    if (reserve_ == kNone) {
      reserve_ = number;
    } else {
      chunk.items.reset();
    }
  }

  T& operator[](std::uint32_t index) { return (*chunk_at(index / kPerChunk).items)[index % kPerChunk]; }
  const T& operator[](std::uint32_t index) const { return (*chunk_at(index / kPerChunk).items)[index % kPerChunk]; }

  /// Begins to load the value into the processor's cache.
  void prefetch(std::uint32_t index) const {
    const auto* item = reinterpret_cast<const char*>(&(*this)[index]);
    fanfare::prefetch(item);
    fanfare::prefetch(item + sizeof(T) - 1);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Indices are below this.
  [[nodiscard]] std::uint32_t end() const { return chunk_count_ * kPerChunk; }
  /// The first used index at or behind `from`; end() if there is none.
  [[nodiscard]] std::uint32_t next_used(std::uint32_t from) const {
    for (std::uint32_t number = from / kPerChunk; number < chunk_count_; ++number) {
      std::uint64_t used = chunk_at(number).used;
      if (number == from / kPerChunk) used &= ~std::uint64_t{0} << (from % kPerChunk);
      if (used != 0) return number * kPerChunk + static_cast<std::uint32_t>(std::countr_zero(used));
    }
    return end();
  }

 private:
  static constexpr std::uint32_t kPerTable = 64;
  static constexpr std::uint64_t kFull = kPerChunk == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (kPerChunk % 64)) - 1;
  struct Chunk {
    std::uint64_t used = 0;                           // one bit an item
    std::unique_ptr<std::array<T, kPerChunk>> items;  // null: nothing used, memory given back
  };
  using Table = std::array<Chunk, kPerTable>;
  Chunk& chunk_at(std::uint32_t number) { return (*tables_[number / kPerTable])[number % kPerTable]; }
  const Chunk& chunk_at(std::uint32_t number) const { return (*tables_[number / kPerTable])[number % kPerTable]; }

  std::vector<std::unique_ptr<Table>> tables_;
  std::uint32_t chunk_count_ = 0;
  std::vector<std::uint32_t> partial_;  // chunks with a free place, each once; the last one is used first
  std::uint32_t reserve_ = kNone;       // the one empty chunk that keeps its memory
  std::size_t size_ = 0;
};

}  // namespace fanfare::queue
