// Slab<T>: many small values under stable 32-bit indices, in chunks of 64.
//
// Rule 1: an index stays valid until free(); it is used again afterwards.
// Rule 2: memory follows the number of values: an empty chunk is given back, but for one that is kept in reserve.
// Rule 3: from the 64th chunk on 16 of them share one piece of memory, and are given back together. Pieces of a few kilobytes between
//         contents of messages of about their size leave gaps that nothing fits: they took 7 % of the memory of ten million messages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "base/assert.h"
#include "base/prefetch.h"

namespace fanfare::queue {

template <class T>
class Slab {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

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
    if (chunk.used == 0) chunk.items = take_memory(number);
    const auto bit = static_cast<std::uint32_t>(std::countr_one(chunk.used));
    chunk.used |= std::uint64_t{1} << bit;
    if (chunk.used == ~std::uint64_t{0}) partial_.pop_back();
    ++size_;
    chunk.items[bit] = T{};
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
    // The chunk's number stays among the partial ones; its memory comes back when it is needed.
    if (chunk.used == 0) leave_memory(number);
  }

  T& operator[](std::uint32_t index) { return chunks_[index / kPerChunk].items[index % kPerChunk]; }
  const T& operator[](std::uint32_t index) const { return chunks_[index / kPerChunk].items[index % kPerChunk]; }

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
  static constexpr std::uint32_t kAlone = 64;  // chunks before this one have their own memory
  static constexpr std::uint32_t kPerPiece = 16;
  struct Chunk {
    std::uint64_t used = 0;  // one bit an item
    T* items = nullptr;      // in its piece; valid while something is used
  };
  /// Memory of one chunk, or of kPerPiece.
  struct Piece {
    struct Free {
      void operator()(T* memory) const { ::operator delete(memory); }
    };
    std::unique_ptr<T, Free> memory;  // null: given back; values are made one by one, so that no page is touched before its time
    std::uint32_t chunks = 0;         // that are not empty
  };

  static constexpr std::uint32_t piece_of(std::uint32_t chunk) { return chunk < kAlone ? chunk : kAlone + (chunk - kAlone) / kPerPiece; }
  T* take_memory(std::uint32_t chunk) {
    const std::uint32_t number = piece_of(chunk);
    if (number >= pieces_.size()) pieces_.resize(number + 1);
    Piece& piece = pieces_[number];
    const bool alone = chunk < kAlone;
    const std::size_t values = alone ? kPerChunk : kPerChunk * kPerPiece;
    if (piece.memory == nullptr) piece.memory.reset(static_cast<T*>(::operator new(values * sizeof(T))));
    if (piece.chunks++ == 0 && reserve_ == number) reserve_ = kNone;
    return piece.memory.get() + (alone ? 0 : (chunk - kAlone) % kPerPiece * kPerChunk);
  }
  void leave_memory(std::uint32_t chunk) {
    const std::uint32_t number = piece_of(chunk);
    Piece& piece = pieces_[number];
    if (--piece.chunks > 0) return;
    if (reserve_ == kNone) reserve_ = number;
    else piece.memory.reset();
  }

  std::vector<Chunk> chunks_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> partial_;  // chunks with a free place, each once; the last one is used first
  std::uint32_t reserve_ = kNone;       // the one empty piece that keeps its memory
  std::size_t size_ = 0;
};

}  // namespace fanfare::queue
