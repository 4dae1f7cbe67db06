#include "core/queue/tenants.h"

#include <algorithm>
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
  if (group.is_noisy()) {
    noisy_.erase(position, placing());
  } else {
    quiet_.erase(position, placing());
  }
}

// Both leave it to update() to put the group in its place.
void Tenants::become_noisy(std::uint32_t number, std::int64_t quiet_at) {
  take_out(groups_[number]);
  ends_.push(quiet_at, number, end_placing());
}

void Tenants::become_quiet(Group& group) {
  take_out(group);
  ends_.erase(std::exchange(group.end_place, kNone), end_placing());
}

void Tenants::update(const Slab<Entry>& entries, std::uint32_t number) {
  Group& group = groups_[number];
  if (group.waiting.empty()) {
    take_out(group);
    if (group.is_noisy()) become_quiet(group);
    return;
  }
  const Place place = group.waiting.place(entries);
  if (group.is_noisy()) {
    if (group.place != kNone && noisy_.at(group.place).key == Share{group.in_flight, place}) return;
    take_out(group);
    noisy_.push({group.in_flight, place}, number, placing());
  } else {
    if (group.place != kNone && quiet_.at(group.place).key == place) return;
    take_out(group);
    quiet_.push(place, number, placing());
  }
}

void Tenants::lease(const Slab<Entry>& entries, std::uint32_t number, std::uint64_t all_in_flight, Timestamp at) {
  Group& group = group_of(number);
  ++group.in_flight;
  if (group.is_noisy() && ends_.at(group.end_place).key <= unix_ms(at)) become_quiet(group);
  if (!group.is_noisy() && !group.waiting.empty()) {
    const bool loud = group.in_flight >= kNoisyFrom && group.in_flight * kNoisyShare > all_in_flight;
    if (loud) FANFARE_MARK(noisy_group);
    if (loud || takes_long(number, at)) become_noisy(number, unix_ms(at + kQuietAfter));
  }
  update(entries, number);
}

void Tenants::unlease(const Slab<Entry>& entries, std::uint32_t number) {
  FANFARE_ASSERT(groups_[number].in_flight > 0);
  --groups_[number].in_flight;
  update(entries, number);
}

void Tenants::arrive(const Slab<Entry>& entries, std::uint32_t number, Timestamp at) {
  if (!is_noisy(number)) return;
  Group& group = groups_[number];
  const std::int64_t quiet_at = ends_.at(group.end_place).key;
  if (quiet_at <= unix_ms(at)) {
    become_quiet(group);
    update(entries, number);
  } else if (quiet_at < unix_ms(at + kQuietAfter)) {
    ends_.erase(group.end_place, end_placing());
    ends_.push(unix_ms(at + kQuietAfter), number, end_placing());
  }
}

bool Tenants::quieten(const Slab<Entry>& entries, Timestamp now, std::size_t budget) {
  for (; !ends_.empty() && ends_.top().key <= unix_ms(now); --budget) {
    if (budget == 0) return true;
    FANFARE_MARK(quiet_after_five_minutes);
    const std::uint32_t number = ends_.top().slot;
    become_quiet(groups_[number]);
    update(entries, number);
  }
  return false;
}

bool Tenants::takes_long(std::uint32_t group, Timestamp at) const {
  if (group >= times_.size()) return false;
  const std::int64_t own = times_[group].at(unix_ms(at));
  if (own < ProcessingTime::kNoticedFromMs || !takes_too_long(own, all_.at(unix_ms(at)))) return false;
  FANFARE_MARK(slow_group);
  return true;
}

void Tenants::begin(std::uint32_t group, Timestamp begun, Timestamp now) {
  all_.begin_earlier(unix_ms(begun), unix_ms(now));
  if (group != 0) time_of(group).begin_earlier(unix_ms(begun), unix_ms(now));
}

void Tenants::end(std::uint32_t group, Timestamp begun, Timestamp ended, Timestamp now) {
  all_.end(unix_ms(begun), unix_ms(ended), unix_ms(now));
  if (group != 0) time_of(group).end(unix_ms(begun), unix_ms(ended), unix_ms(now));
}

void Tenants::judge(const Slab<Entry>& entries, std::uint32_t number, Timestamp at) {
  if (number >= groups_.size() || groups_[number].is_noisy() || groups_[number].waiting.empty() || !takes_long(number, at)) return;
  become_noisy(number, unix_ms(at + kQuietAfter));
  update(entries, number);
}

void Tenants::restore_lease(const Slab<Entry>& entries, std::uint32_t number) {
  ++group_of(number).in_flight;
  update(entries, number);
}

void Tenants::restore_noisy(const Slab<Entry>& entries, std::uint32_t number, Timestamp quiet_at) {
  if (number >= groups_.size() || groups_[number].waiting.empty() || groups_[number].is_noisy()) return;
  become_noisy(number, unix_ms(quiet_at));
  update(entries, number);
}

void Tenants::restore_delivery(std::uint32_t group, Timestamp begun, Timestamp now) {
  all_.restore_running(unix_ms(begun), unix_ms(now));
  if (group != 0) time_of(group).restore_running(unix_ms(begun), unix_ms(now));
}

}  // namespace fanfare::queue
