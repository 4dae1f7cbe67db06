// NumberTable: numbers by a hash of what they stand for; the owner says which of those with one hash is meant.
//
// Rule 1: no pause: a segment of 128 places that is full is split in two, and one that has emptied is merged with its
//         sibling; the rest of the table stays where it is. About 16 bytes a number.
// Rule 2: a hash finds its segment by the upper bits, its place by the lower ones. Hashes that splitting does not tell
//         apart, because somebody chose them so, go to a map of their own: the directory stays smaller than what it holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/prefetch.h"

namespace fanfare::message {

class NumberTable {
 public:
  NumberTable() = default;
  NumberTable(NumberTable&& other) noexcept { swap(other); }
  NumberTable& operator=(NumberTable&& other) noexcept {
    NumberTable moved{std::move(other)};
    swap(moved);
    return *this;
  }
  ~NumberTable() { clear(); }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The number of this hash for which `is_it(number)` holds; nullopt if there is none.
  template <class IsIt>
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint32_t hash, IsIt&& is_it) const {
    if (size_ == 0) return std::nullopt;
    hash |= kUsed;
    const Segment& segment = *directory_[directory_place(hash)];
    for (std::uint32_t place = home(hash); segment.slots[place].hash != 0; place = next(place))
      if (segment.slots[place].hash == hash && is_it(segment.slots[place].number)) return segment.slots[place].number;
    if (spilled_.empty()) return std::nullopt;
    const auto [first, last] = spilled_.equal_range(hash);
    for (auto one = first; one != last; ++one)
      if (is_it(one->second)) return one->second;
    return std::nullopt;
  }
  /// Begin to load what find() and insert() will look at into the processor's cache: where it is, then, which waits for the first, what it is.
  void prefetch_place(std::uint32_t hash) const {
    if (size_ > 0) fanfare::prefetch(&directory_[directory_place(hash)]);
  }
  void prefetch(std::uint32_t hash) const {
    if (size_ > 0) fanfare::prefetch(&directory_[directory_place(hash)]->slots[home(hash)]);
  }
  void insert(std::uint32_t hash, std::uint32_t number);
  /// False if it is not there.
  bool erase(std::uint32_t hash, std::uint32_t number);

 private:
  static constexpr std::uint32_t kPlaces = 128;
  static constexpr std::uint32_t kFull = kPlaces * 3 / 4;
  static constexpr std::uint32_t kMerged = kPlaces / 4;  // two siblings with this many in all become one
  static constexpr std::uint32_t kUsed = 1;              // a slot's hash has it
  static constexpr std::uint32_t kDepthMax = 24;         // upper bits; the seven of home() and kUsed lie below them
  struct Slot {
    std::uint32_t hash = 0;  // 0: empty
    std::uint32_t number = 0;
  };
  struct Segment {
    explicit Segment(std::uint32_t its_depth) : depth(its_depth) {}
    std::uint32_t depth;  // how many upper bits its hashes have in common
    std::uint32_t used = 0;
    std::array<Slot, kPlaces> slots{};
  };

  static std::uint32_t home(std::uint32_t hash) { return hash >> 1 & (kPlaces - 1); }
  static std::uint32_t next(std::uint32_t place) { return (place + 1) & (kPlaces - 1); }
  // The first `depth` bits of the hash.
  static std::size_t prefix(std::uint32_t hash, std::uint32_t depth) {
    return static_cast<std::size_t>(std::uint64_t{hash} >> (32 - depth));
  }
  [[nodiscard]] std::size_t directory_place(std::uint32_t hash) const { return prefix(hash, depth_); }
  static void put(Segment& segment, Slot slot);
  static void take_out(Segment& segment, std::uint32_t place);
  void point_to(Segment* segment, std::uint32_t hash);
  void split(std::uint32_t hash);
  void merge(std::uint32_t hash);
  void clear();
  void swap(NumberTable& other) noexcept {
    directory_.swap(other.directory_);
    segments_.swap(other.segments_);
    std::swap(depth_, other.depth_);
    std::swap(size_, other.size_);
    spilled_.swap(other.spilled_);
  }

  std::vector<Segment*> directory_;  // by the first depth_ bits; segments of fewer bits stand there more than once
  std::array<std::uint32_t, kDepthMax + 1> segments_{};  // how many there are of each depth
  std::uint32_t depth_ = 0;
  std::size_t size_ = 0;
  std::unordered_multimap<std::uint32_t, std::uint32_t> spilled_;
};

}  // namespace fanfare::message
