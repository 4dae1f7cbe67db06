#include "core/message/number_table.h"

#include <algorithm>

namespace fanfare::message {

void NumberTable::insert(std::uint32_t hash, std::uint32_t number) {
  hash |= kUsed;
  if (directory_.empty()) {
    directory_.push_back(new Segment{0});
    segments_[0] = 1;
  }
  ++size_;
  Segment* segment = directory_[directory_place(hash)];
  while (segment->used == kFull) {
    if (segment->depth == kDepthMax || (segment->depth == depth_ && directory_.size() >= size_)) {
      spilled_.emplace(hash, number);
      return;
    }
    split(hash);
    segment = directory_[directory_place(hash)];
  }
  put(*segment, {hash, number});
}

bool NumberTable::erase(std::uint32_t hash, std::uint32_t number) {
  if (size_ == 0) return false;
  hash |= kUsed;
  Segment& segment = *directory_[directory_place(hash)];
  std::uint32_t place = home(hash);
  while (segment.slots[place].hash != 0 && (segment.slots[place].hash != hash || segment.slots[place].number != number))
    place = next(place);
  if (segment.slots[place].hash != 0) {
    take_out(segment, place);
    --size_;
    if (size_ == 0) clear();
    else if (segment.used <= kMerged) merge(hash);
    return true;
  }
  const auto [first, last] = spilled_.equal_range(hash);
  const auto found = std::find_if(first, last, [&](const auto& one) { return one.second == number; });
  if (found == last) return false;
  spilled_.erase(found);
  if (--size_ == 0) clear();
  return true;
}

void NumberTable::put(Segment& segment, Slot slot) {
  std::uint32_t place = home(slot.hash);
  while (segment.slots[place].hash != 0) place = next(place);
  segment.slots[place] = slot;
  ++segment.used;
}

// Those behind it move up, as far as they were kept from their home by it.
void NumberTable::take_out(Segment& segment, std::uint32_t place) {
  std::uint32_t hole = place;
  for (std::uint32_t at = next(place); segment.slots[at].hash != 0; at = next(at)) {
    const std::uint32_t from_home = (at - home(segment.slots[at].hash)) & (kPlaces - 1);
    if (from_home < ((at - hole) & (kPlaces - 1))) continue;
    segment.slots[hole] = segment.slots[at];
    hole = at;
  }
  segment.slots[hole] = {};
  --segment.used;
}

// At all places of the directory that share the segment's bits with `hash`.
void NumberTable::point_to(Segment* segment, std::uint32_t hash) {
  const std::uint32_t more = depth_ - segment->depth;
  const std::size_t begin = prefix(hash, segment->depth) << more;
  std::fill_n(directory_.begin() + static_cast<std::ptrdiff_t>(begin), std::size_t{1} << more, segment);
}

void NumberTable::split(std::uint32_t hash) {
  Segment* whole = directory_[directory_place(hash)];
  const std::uint32_t depth = whole->depth + 1;
  if (depth > depth_) {
    std::vector<Segment*> twice(directory_.size() * 2);
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = directory_[i / 2];
    directory_ = std::move(twice);
    depth_ = depth;
  }
  auto* zero = new Segment{depth};
  auto* one = new Segment{depth};
  const std::uint32_t bit = std::uint32_t{1} << (32 - depth);
  for (const Slot& slot : whole->slots)
    if (slot.hash != 0) put((slot.hash & bit) == 0 ? *zero : *one, slot);
  --segments_[whole->depth];
  segments_[depth] += 2;
  delete whole;
  point_to(zero, hash & ~bit);
  point_to(one, hash | bit);
}

// With the sibling, as long as both together have few.
void NumberTable::merge(std::uint32_t hash) {
  for (;;) {
    Segment* segment = directory_[directory_place(hash)];
    if (segment->depth == 0) return;
    Segment* sibling = directory_[directory_place(hash ^ (std::uint32_t{1} << (32 - segment->depth)))];
    if (sibling->depth != segment->depth || segment->used + sibling->used > kMerged) return;
    for (const Slot& slot : sibling->slots)
      if (slot.hash != 0) put(*segment, slot);
    segments_[segment->depth] -= 2;
    --segment->depth;
    ++segments_[segment->depth];
    delete sibling;
    point_to(segment, hash);
    while (depth_ > 0 && segments_[depth_] == 0) {
      for (std::size_t i = 0; i < directory_.size() / 2; ++i) directory_[i] = directory_[2 * i];
      directory_.resize(directory_.size() / 2);
      directory_.shrink_to_fit();
      --depth_;
    }
  }
}

void NumberTable::clear() {
  for (std::size_t i = 0; i < directory_.size();) {
    const std::uint32_t more = depth_ - directory_[i]->depth;
    delete directory_[i];
    i += std::size_t{1} << more;
  }
  directory_.clear();
  segments_ = {};
  depth_ = 0;
  spilled_.clear();
}

}  // namespace fanfare::message
