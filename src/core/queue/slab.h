// Slab<T>: many small values under stable 32-bit indices, in chunks of 64.
//
// Rule 1: an index stays valid until free(); it is used again afterwards.
// Rule 2: memory follows the number of values: an empty chunk is given back, but for one that is kept in reserve.
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

template <class T>
class Slab {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  static constexpr std::uint32_t kNone = 0xffff'ffffu;

  /// A default-made value; O(1).
  std::uint32_t allocate() {
    if (partial_.empty()) {
      FANFARE_ASSERT(chunks_.size() < kNone / kPerChunk);
      chunks_.push_back({});
      partial_.push_back(static_cast<std::uint32_t>(chunks_.size() - 1));
    }
    const std::uint32_t number = partial_.back();
    Chunk& chunk = chunks_[number];
    if (chunk.items == nullptr) {
      chunk.items = std::make_unique_for_overwrite<std::array<T, kPerChunk>>();
    } else if (chunk.used == 0) {
      reserve_ = kNone;
    }
    const auto bit = static_cast<std::uint32_t>(std::countr_one(chunk.used));
    chunk.used |= std::uint64_t{1} << bit;
    if (chunk.used == ~std::uint64_t{0}) partial_.pop_back();
    ++size_;
    (*chunk.items)[bit] = T{};
    return number * kPerChunk + bit;
  }

  void free(std::uint32_t index) {
    const std::uint32_t number = index / kPerChunk;
    Chunk& chunk = chunks_[number];
    const std::uint64_t mask = std::uint64_t{1} << (index % kPerChunk);
    FANFARE_ASSERT((chunk.used & mask) != 0);
    if (chunk.used == ~std::uint64_t{0}) partial_.push_back(number);
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

  T& operator[](std::uint32_t index) { return (*chunks_[index / kPerChunk].items)[index % kPerChunk]; }
  const T& operator[](std::uint32_t index) const { return (*chunks_[index / kPerChunk].items)[index % kPerChunk]; }

  /// Begins to load the value into the processor's cache.
  void prefetch(std::uint32_t index) const {
    const auto* item = reinterpret_cast<const char*>(&(*this)[index]);
    fanfare::prefetch(item);
    fanfare::prefetch(item + sizeof(T) - 1);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Indices are below this.
  [[nodiscard]] std::uint32_t end() const { return static_cast<std::uint32_t>(chunks_.size()) * kPerChunk; }
  /// The first used index at or behind `from`; end() if there is none.
  [[nodiscard]] std::uint32_t next_used(std::uint32_t from) const {
    for (std::uint32_t number = from / kPerChunk; number < chunks_.size(); ++number) {
      std::uint64_t used = chunks_[number].used;
      if (number == from / kPerChunk) used &= ~std::uint64_t{0} << (from % kPerChunk);
      if (used != 0) return number * kPerChunk + static_cast<std::uint32_t>(std::countr_zero(used));
    }
    return end();
  }

 private:
  static constexpr std::uint32_t kPerChunk = 64;
  struct Chunk {
    std::uint64_t used = 0;                           // one bit an item
    std::unique_ptr<std::array<T, kPerChunk>> items;  // null: nothing used, memory given back
  };
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> partial_;  // chunks with a free place, each once; the last one is used first
  std::uint32_t reserve_ = kNone;       // the one empty chunk that keeps its memory
  std::size_t size_ = 0;
};

}  // namespace fanfare::queue
