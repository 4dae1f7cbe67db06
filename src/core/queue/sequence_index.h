// SequenceIndex: from a message's sequence number to its slot, for live messages only.
//
// Rule 1: about 5 bytes a message when the live numbers are dense, one block when a single one is left of its neighbours.
// Rule 2: a number's block is where its distance from the first one says, when no number between is missing; else it is
//         searched for. The block used last is found at once, which serves appending and batches.
// Rule 3: numbers are inserted in increasing order. Only the newest block may be empty: a queue that is emptied as fast
//         as it is filled then allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/prefetch.h"
#include "core/queue/names.h"

namespace fanfare::queue {

class SequenceIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffff'ffffu;

  SequenceIndex() = default;
  SequenceIndex(SequenceIndex&& other) noexcept { swap(other); }
  SequenceIndex& operator=(SequenceIndex&& other) noexcept {
    SequenceIndex moved{std::move(other)};
    swap(moved);
    return *this;
  }

  /// `sequence` is larger than every number inserted before.
  void insert(SequenceNumber sequence, std::uint32_t slot) {
    const std::uint64_t number = sequence.value / kPerBlock;
    if (places_.empty() || places_.back().number != number) append_block(number);
    Block& block = *places_.back().block;
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
    if (block->used != 0 || number == places_.back().number) return;
    last_ = nullptr;
    spare_ = std::move(places_[place_of(number)].block);
    ++emptied_;
    while (places_.front().block == nullptr) {  // ends at the newest
      places_.pop_front();
      --emptied_;
    }
    if (emptied_ <= places_.size() / 2) return;
    std::erase_if(places_, [](const Place& place) { return place.block == nullptr; });
    emptied_ = 0;
  }
  /// The slot of the smallest number; kNone if empty.
  [[nodiscard]] std::uint32_t first() const {
    if (places_.empty()) return kNone;
    const Block& block = *places_.front().block;
    if (block.used == 0) return kNone;  // then it is the newest, and the only one
    return block.slots[static_cast<std::size_t>(std::countr_zero(block.used))];
  }
  /// Calls visit(slot) in the order of the numbers, from `from` on, until it returns false.
  template <class Visit>
  void for_each(SequenceNumber from, Visit&& visit) const {
    const std::uint64_t first = from.value / kPerBlock;
    for (auto place = at_or_behind(first, places_.end()); place != places_.end(); ++place) {
      if (place->block == nullptr) continue;
      std::uint64_t used = place->block->used;
      if (place->number == first) used &= ~std::uint64_t{0} << (from.value % kPerBlock);
      for (; used != 0; used &= used - 1)
        if (!visit(place->block->slots[static_cast<std::size_t>(std::countr_zero(used))])) return;
    }
  }

  /// Calls visit(slots, next) with the slots of a block, in the order of the numbers, from `from` on, until it returns false; `next` are
  /// those of the next call, so that what they stand for can be on its way into the processor's cache.
  template <class Visit>
  void for_each_block(SequenceNumber from, Visit&& visit) const {
    const std::uint64_t first = from.value / kPerBlock;
    auto place = at_or_behind(first, places_.end());
    struct Slots {
      std::array<std::uint32_t, kPerBlock> slots;
      std::size_t count = 0;
      [[nodiscard]] std::span<const std::uint32_t> span() const { return {slots.data(), count}; }
    };
    const auto take = [&](Slots& into) {
      for (into.count = 0; into.count == 0 && place != places_.end(); ++place) {
        if (places_.end() - place > kBlocksAhead) prefetch_block(place[kBlocksAhead].block.get());
        if (place->block == nullptr) continue;
        std::uint64_t used = place->block->used;
        if (place->number == first) used &= ~std::uint64_t{0} << (from.value % kPerBlock);
        for (; used != 0; used &= used - 1)
          into.slots[into.count++] = place->block->slots[static_cast<std::size_t>(std::countr_zero(used))];
      }
    };
    std::array<Slots, 2> two;
    take(two[0]);
    for (std::size_t now = 0; two[now].count > 0; now = 1 - now) {
      take(two[1 - now]);
      if (!visit(two[now].span(), two[1 - now].span())) return;
    }
  }

 private:
  static constexpr std::uint64_t kPerBlock = 64;
  static constexpr std::ptrdiff_t kBlocksAhead = 3;
  struct Block {
    std::uint64_t used = 0;
    std::array<std::uint32_t, kPerBlock> slots;
  };
  struct Place {
    std::uint64_t number = 0;  // of the block: the sequence numbers divided by kPerBlock
    std::unique_ptr<Block> block;  // null: it is empty; neither the first nor the last
  };
  using Places = std::deque<Place>;

  static void prefetch_block(const Block* block) {
    for (std::size_t at = 0; at < sizeof(Block); at += 64) fanfare::prefetch(reinterpret_cast<const char*>(block) + at);
  }
  [[nodiscard]] Places::const_iterator at_or_behind(std::uint64_t number, Places::const_iterator end) const {
    return std::lower_bound(places_.begin(), end, number, [](const Place& place, std::uint64_t n) { return place.number < n; });
  }
  // places_.size() if there is none.
  [[nodiscard]] std::size_t place_of(std::uint64_t number) const {
    if (places_.empty() || number < places_.front().number) return places_.size();
    // Numbers increase by one or more from place to place: it is here, or before this.
    const std::size_t latest = std::min<std::uint64_t>(number - places_.front().number, places_.size() - 1);
    if (places_[latest].number == number) return latest;
    const auto found = at_or_behind(number, places_.begin() + static_cast<std::ptrdiff_t>(latest));
    return found->number == number ? static_cast<std::size_t>(found - places_.begin()) : places_.size();
  }
  Block* find_block(std::uint64_t number) const {
    if (last_ != nullptr && last_number_ == number) return last_;
    const std::size_t place = place_of(number);
    if (place == places_.size() || places_[place].block == nullptr) return nullptr;
    last_number_ = number;
    return last_ = places_[place].block.get();
  }
  void append_block(std::uint64_t number) {
    FANFARE_ASSERT(places_.empty() || places_.back().number < number);
    last_ = nullptr;
    if (!places_.empty() && places_.back().block->used == 0) {
      places_.back().number = number;
      return;
    }
    if (spare_ == nullptr) spare_ = std::make_unique<Block>();
    places_.push_back({number, std::move(spare_)});
  }
  void swap(SequenceIndex& other) noexcept {
    places_.swap(other.places_);
    spare_.swap(other.spare_);
    std::swap(emptied_, other.emptied_);
    last_ = other.last_ = nullptr;
  }

  Places places_;
  std::size_t emptied_ = 0;       // places without a block
  std::unique_ptr<Block> spare_;  // empty
  mutable Block* last_ = nullptr;
  mutable std::uint64_t last_number_ = 0;
};

}  // namespace fanfare::queue
