// SlotHeap: the smallest of many keys, each belonging to a slot of a slab; any slot can be taken out.
//
// Rule 1: equal keys come out in no particular order; make keys unique where order matters.
// Rule 2: the slot's owner keeps its place in the heap (`place(slot, position)` tells it), so erase() needs no search.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace fanfare::queue {

/// Key is small and ordered.
template <class Key>
class SlotHeap {
 public:
  struct Item {
    Key key;
    std::uint32_t slot;
  };

  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] const Item& top() const { return items_.front(); }
  [[nodiscard]] const Item& at(std::uint32_t position) const { return items_[position]; }

  template <class Place>
  void push(Key key, std::uint32_t slot, Place&& place) {
    items_.push_back({key, slot});
    rise(static_cast<std::uint32_t>(items_.size() - 1), place);
  }

  template <class Place>
  void erase(std::uint32_t position, Place&& place) {
    const Item moved = items_.back();
    items_.pop_back();
    if (position == items_.size()) return shrink();
    items_[position] = moved;
    place(moved.slot, position);
    if (position > 0 && moved.key < items_[parent(position)].key) {
      rise(position, place);
    } else {
      sink(position, place);
    }
    shrink();
  }

 private:
  static constexpr std::uint32_t kFanout = 4;
  static constexpr std::uint32_t parent(std::uint32_t position) { return (position - 1) / kFanout; }

  template <class Place>
  void rise(std::uint32_t position, Place& place) {
    const Item item = items_[position];
    while (position > 0 && item.key < items_[parent(position)].key) {
      items_[position] = items_[parent(position)];
      place(items_[position].slot, position);
      position = parent(position);
    }
    items_[position] = item;
    place(item.slot, position);
  }

  template <class Place>
  void sink(std::uint32_t position, Place& place) {
    const Item item = items_[position];
    const auto size = static_cast<std::uint32_t>(items_.size());
    for (;;) {
      const std::uint32_t first = position * kFanout + 1;
      if (first >= size) break;
      std::uint32_t smallest = first;
      for (std::uint32_t child = first + 1; child < size && child < first + kFanout; ++child)
        if (items_[child].key < items_[smallest].key) smallest = child;
      if (!(items_[smallest].key < item.key)) break;
      items_[position] = items_[smallest];
      place(items_[position].slot, position);
      position = smallest;
    }
    items_[position] = item;
    place(item.slot, position);
  }

  // A burst of a million leases must not keep its memory for good.
  void shrink() {
    if (items_.capacity() > 1024 && items_.size() < items_.capacity() / 8) {
      std::vector<Item> smaller;
      smaller.reserve(items_.size() * 2);
      smaller.assign(items_.begin(), items_.end());
      items_.swap(smaller);
    }
  }

  std::vector<Item> items_;
};

}  // namespace fanfare::queue
