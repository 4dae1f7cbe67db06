#include "core/queue/tenants.h"

#include <utility>

#include "base/assert.h"
#include "base/marks.h"

namespace fanfare::queue {
namespace {

// [SQS fair queues in detail]
constexpr std::uint32_t kNoisyFrom = 30;
constexpr std::uint64_t kNoisyShare = 10;  // more than one in this many

}  // namespace

void Tenants::take_out(Group& group) {
  if (group.place == kNone) return;
  const std::uint32_t position = std::exchange(group.place, kNone);
  if (group.noisy) {
    noisy_.erase(position, placing());
  } else {
    quiet_.erase(position, placing());
  }
}

void Tenants::update(const Slab<Entry>& entries, std::uint32_t number) {
  Group& group = groups_[number];
  if (group.waiting.empty()) {
    take_out(group);
    group.noisy = false;
    return;
  }
  const Place place = group.waiting.place(entries);
  if (group.noisy) {
    if (group.place != kNone && noisy_.at(group.place).key == Share{group.in_flight, place}) return;
    take_out(group);
    noisy_.push({group.in_flight, place}, number, placing());
  } else {
    if (group.place != kNone && quiet_.at(group.place).key == place) return;
    take_out(group);
    quiet_.push(place, number, placing());
  }
}

void Tenants::lease(const Slab<Entry>& entries, std::uint32_t number, std::uint64_t all_in_flight) {
  if (number >= groups_.size()) groups_.resize(number + 1);
  Group& group = groups_[number];
  ++group.in_flight;
  const bool loud = group.in_flight >= kNoisyFrom && group.in_flight * kNoisyShare > all_in_flight;
  if (!group.noisy && loud && !group.waiting.empty()) {
    FANFARE_MARK(noisy_group);
    take_out(group);
    group.noisy = true;
  }
  update(entries, number);
}

void Tenants::unlease(const Slab<Entry>& entries, std::uint32_t number) {
  FANFARE_ASSERT(groups_[number].in_flight > 0);
  --groups_[number].in_flight;
  update(entries, number);
}

void Tenants::restore_lease(const Slab<Entry>& entries, std::uint32_t number) {
  if (number >= groups_.size()) groups_.resize(number + 1);
  ++groups_[number].in_flight;
  update(entries, number);
}

void Tenants::restore_noisy(const Slab<Entry>& entries, std::uint32_t number) {
  if (number >= groups_.size() || groups_[number].waiting.empty() || groups_[number].noisy) return;
  take_out(groups_[number]);
  groups_[number].noisy = true;
  update(entries, number);
}

}  // namespace fanfare::queue
