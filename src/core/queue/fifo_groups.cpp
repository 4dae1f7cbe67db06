#include "core/queue/fifo_groups.h"

#include <utility>

#include "base/assert.h"

namespace fanfare::queue {

void FifoGroups::leave(std::uint32_t number) const {
  const Group& group = groups_[number];
  FANFARE_ASSERT(group.head == kNone && group.first_in_flight == kNone && group.place == kNone);
}

void FifoGroups::insert(Slab<Entry>& entries, std::uint32_t slot) {
  Entry& entry = entries[slot];
  Group& group = groups_[entry.group];
  // New ones go to the end. What comes back from a lease was among the first: few are before it.
  std::uint32_t after = group.tail;
  if (after != kNone && entry.sequence < entries[after].sequence) {
    after = kNone;
    for (std::uint32_t next = group.head; entries[next].sequence < entry.sequence; next = entries[next].link_b) after = next;
  }
  const std::uint32_t before = after == kNone ? group.head : entries[after].link_b;
  entry.link_a = after;
  entry.link_b = before;
  (after == kNone ? group.head : entries[after].link_b) = slot;
  (before == kNone ? group.tail : entries[before].link_a) = slot;
  update(entries, entry.group);
}

void FifoGroups::erase(Slab<Entry>& entries, std::uint32_t slot) {
  const Entry& entry = entries[slot];
  Group& group = groups_[entry.group];
  (entry.link_a == kNone ? group.head : entries[entry.link_a].link_b) = entry.link_b;
  (entry.link_b == kNone ? group.tail : entries[entry.link_b].link_a) = entry.link_a;
  update(entries, entry.group);
  // A receive goes on with the group, and of a long backlog the message behind the next one is in no cache.
  if (group.head != kNone && entries[group.head].link_b != kNone) entries.prefetch(entries[group.head].link_b);
}

void FifoGroups::lock(Slab<Entry>& entries, std::uint32_t slot) {
  Entry& entry = entries[slot];
  Group& group = groups_[entry.group];
  if (group.first_in_flight == kNone) ++locked_;
  std::uint32_t* link = &group.first_in_flight;
  while (*link != kNone && entries[*link].sequence < entry.sequence) link = &entries[*link].link_b;
  entry.link_b = *link;
  *link = slot;
  update(entries, entry.group);
}

void FifoGroups::unlock(Slab<Entry>& entries, std::uint32_t slot) {
  const Entry& entry = entries[slot];
  Group& group = groups_[entry.group];
  std::uint32_t* link = &group.first_in_flight;
  while (*link != slot) link = &entries[*link].link_b;
  *link = entry.link_b;
  if (group.first_in_flight == kNone) --locked_;
  update(entries, entry.group);
}

std::uint32_t FifoGroups::first_ready(const Slab<Entry>& entries, const Entry* in_hand) const {
  // What this receive took of the group are the first in flight: the next one behind `in_hand` is another's.
  if (in_hand != nullptr && may_give(entries, groups_[in_hand->group], in_hand->link_b)) return groups_[in_hand->group].head;
  return available_.empty() ? kNone : groups_[available_.top().slot].head;
}

Place FifoGroups::place_of(const Entry& head) {
  const bool returned = head.state == EntryState::Returned;
  const Timestamp since = returned ? head.hidden_until() : head.sent_at;
  return {static_cast<std::uint64_t>(unix_ms(since)), returned ? head.receive_count() : 0, head.sequence.value};
}

void FifoGroups::update(const Slab<Entry>& entries, std::uint32_t number) {
  Group& group = groups_[number];
  const auto place = [this](std::uint32_t slot, std::uint32_t position) { groups_[slot].place = position; };
  const bool gives = may_give(entries, group, group.first_in_flight);
  if (group.place != kNone) {
    if (gives && available_.at(group.place).key == place_of(entries[group.head])) return;
    const std::uint32_t position = std::exchange(group.place, kNone);
    available_.erase(position, place);
  }
  if (gives) available_.push(place_of(entries[group.head]), number, place);
}

}  // namespace fanfare::queue
