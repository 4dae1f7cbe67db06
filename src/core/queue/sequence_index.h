// SequenceIndex: from a message's sequence number to its slot, for live messages only.
//
// Rule 1: about 5 bytes a message when the live numbers are dense, one block when a single one is left of its neighbours.
// Rule 2: O(log n) in the number of blocks; the block used last is found at once, which serves appending and batches.
// Rule 3: numbers are inserted in increasing order. Only the newest block may be empty: a queue that is emptied as fast
//         as it is filled then allocates nothing.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "base/assert.h"
#include "core/queue/names.h"

namespace fanfare::queue {

class SequenceIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffffu;

  SequenceIndex() = default;
  SequenceIndex(SequenceIndex&& other) noexcept : blocks_(std::move(other.blocks_)) { other.forget(); }
  SequenceIndex& operator=(SequenceIndex&& other) noexcept {
    blocks_ = std::move(other.blocks_);
    forget();
    other.forget();
    return *this;
  }

  /// `sequence` is larger than every number inserted before.
  void insert(SequenceNumber sequence, std::uint32_t slot) {
    const std::uint64_t number = sequence.value / kPerBlock;
    if (blocks_.empty() || blocks_.rbegin()->first != number) append_block(number);
    Block& block = blocks_.rbegin()->second;
    const std::uint64_t bit = sequence.value % kPerBlock;
    block.used |= std::uint64_t{1} << bit;
    block.slots[bit] = slot;
  }
  /// kNone if there is no such message.
  [[nodiscard]] std::uint32_t find(SequenceNumber sequence) const {
    const Block* block = find_block(sequence.value / kPerBlock);
    if (block == nullptr) return kNone;
    const std::uint64_t bit = sequence.value % kPerBlock;
    return (block->used >> bit & 1) != 0 ? block->slots[bit] : kNone;
  }
  void erase(SequenceNumber sequence) {
    const std::uint64_t number = sequence.value / kPerBlock;
    Block* block = find_block(number);
    if (block == nullptr) return;
    block->used &= ~(std::uint64_t{1} << (sequence.value % kPerBlock));
    if (block->used != 0 || number == blocks_.rbegin()->first) return;
    blocks_.erase(number);
    forget();
  }
  /// The slot of the smallest number; kNone if empty.
  [[nodiscard]] std::uint32_t first() const {
    if (blocks_.empty()) return kNone;
    const Block& block = blocks_.begin()->second;
    if (block.used == 0) return kNone;  // then it is the newest, and the only one
    return block.slots[static_cast<std::size_t>(std::countr_zero(block.used))];
  }
  /// Calls visit(slot) in the order of the numbers, from `from` on, until it returns false.
  template <class Visit>
  void for_each(SequenceNumber from, Visit&& visit) const {
    for (auto block = blocks_.lower_bound(from.value / kPerBlock); block != blocks_.end(); ++block) {
      std::uint64_t used = block->second.used;
      if (block->first == from.value / kPerBlock) used &= ~std::uint64_t{0} << (from.value % kPerBlock);
      for (; used != 0; used &= used - 1)
        if (!visit(block->second.slots[static_cast<std::size_t>(std::countr_zero(used))])) return;
    }
  }

 private:
  static constexpr std::uint64_t kPerBlock = 64;
  struct Block {
    std::uint64_t used = 0;
    std::array<std::uint32_t, kPerBlock> slots;
  };
  Block* find_block(std::uint64_t number) const {
    if (last_ != nullptr && last_number_ == number) return last_;
    const auto found = blocks_.find(number);
    if (found == blocks_.end()) return nullptr;
    last_number_ = number;
    return last_ = const_cast<Block*>(&found->second);
  }
  void append_block(std::uint64_t number) {
    FANFARE_ASSERT(blocks_.empty() || blocks_.rbegin()->first < number);
    forget();
    if (!blocks_.empty() && blocks_.rbegin()->second.used == 0) {
      auto node = blocks_.extract(std::prev(blocks_.end()));
      node.key() = number;
      blocks_.insert(blocks_.end(), std::move(node));
    } else {
      blocks_.try_emplace(blocks_.end(), number);
    }
  }
  void forget() { last_ = nullptr; }

  std::map<std::uint64_t, Block> blocks_;
  mutable Block* last_ = nullptr;  // map nodes do not move
  mutable std::uint64_t last_number_ = 0;
};

}  // namespace fanfare::queue
