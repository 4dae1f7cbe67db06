// Arena: memory that is handed out from front to back and given up all at once. The documents, schemas, plans and
// executions of this module live in arenas, so that steady work allocates nothing.
//
// Rules
// 1. Only trivially destructible things live here: nobody runs destructors.
// 2. reset() keeps the largest block, so that an arena which is used again stops allocating.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fanfare::graphql {

/// Not thread-safe. Moving it keeps every address that it has handed out.
class Arena {
 public:
  explicit Arena(std::size_t block_bytes = 4096) : next_bytes_(block_bytes) {}
  /// With a first block that the caller owns and that outlives the arena.
  explicit Arena(std::span<char> lent)
      : lent_(lent), at_(lent.data()), end_(lent.data() + lent.size()), next_bytes_(std::max<std::size_t>(lent.size(), 4096)) {}
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    const auto start = (reinterpret_cast<std::uintptr_t>(at_) + alignment - 1) & ~(alignment - 1);
    if (start + bytes > reinterpret_cast<std::uintptr_t>(end_)) [[unlikely]] return allocate_in_new_block(bytes, alignment);
    at_ = reinterpret_cast<char*>(start + bytes);
    return reinterpret_cast<void*>(start);
  }

  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Arguments>(arguments)...};
  }

  /// `count` value-initialised elements.
  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    T* first = static_cast<T*>(allocate(sizeof(T) * count, alignof(T)));
    for (std::size_t i = 0; i < count; ++i) new (first + i) T{};
    return {first, count};
  }

  template <class T>
  std::span<T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    if (items.empty()) return {};
    T* first = static_cast<T*>(allocate(sizeof(T) * items.size(), alignof(T)));
    std::memcpy(static_cast<void*>(first), items.data(), sizeof(T) * items.size());
    return {first, items.size()};
  }

  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* first = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(first, text.data(), text.size());
    return {first, text.size()};
  }

  /// Everything handed out so far is gone.
  void reset() {
    if (blocks_.size() > 1) {
      std::swap(blocks_.front(), blocks_.back());  // blocks grow, so the last one is the largest
      blocks_.resize(1);
    }
    if (!blocks_.empty()) {
      at_ = blocks_.front().bytes.get();
      end_ = at_ + blocks_.front().size;
    } else {
      at_ = lent_.data();
      end_ = at_ + lent_.size();
    }
  }

  /// Bytes of all blocks, a lent one included; what the arena costs.
  [[nodiscard]] std::size_t reserved() const {
    std::size_t sum = lent_.size();
    for (const Block& block : blocks_) sum += block.size;
    return sum;
  }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };

  [[gnu::noinline, gnu::cold]] void* allocate_in_new_block(std::size_t bytes, std::size_t alignment) {
    add_block(bytes + alignment);
    return allocate(bytes, alignment);
  }

  void add_block(std::size_t at_least) {
    const std::size_t size = std::max(next_bytes_, at_least);
    blocks_.push_back({std::unique_ptr<char[]>(new char[size]), size});
    at_ = blocks_.back().bytes.get();
    end_ = at_ + size;
    next_bytes_ = std::max(next_bytes_, std::min<std::size_t>(size * 2, 1 << 20));
  }

  void swap(Arena& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(lent_, other.lent_);
    std::swap(at_, other.at_);
    std::swap(end_, other.end_);
    std::swap(next_bytes_, other.next_bytes_);
  }

  std::vector<Block> blocks_;
  std::span<char> lent_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::size_t next_bytes_ = 4096;
};

}  // namespace fanfare::graphql
