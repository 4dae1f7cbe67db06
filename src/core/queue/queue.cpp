#include "core/queue/queue.h"

#include <algorithm>
#include <functional>

#include "base/assert.h"
#include "base/marks.h"

namespace fanfare::queue {
namespace {

constexpr std::uint32_t kNone = Slab<Entry>::kNone;
// Received this often and not deleted: to the back. [SQS CloudWatch metrics]
constexpr std::uint32_t kBackOfQueueAfter = 3;
constexpr seconds kVisibilityTotalMax{43'200};

std::uint32_t offset_ms(Timestamp from, Timestamp to) {
  const std::int64_t ms = (to - from).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, 0xffff'fffe));
}

// Deliveries are numbered per epoch: whether a handle names an earlier, this, or a later delivery than the last known.
std::strong_ordering compare_delivery(const ReceiptHandle& handle, const Entry& entry) {
  if (const auto order = handle.epoch <=> entry.receive_epoch; order != 0) return order;
  return handle.receipt <=> entry.receipt;
}

}  // namespace

const Entry* Queue::find(SequenceNumber sequence) const {
  const std::uint32_t slot = index_.find(sequence);
  return slot == SequenceIndex::kNone ? nullptr : &entries_[slot];
}

std::optional<Timestamp> Queue::oldest_sent() const {
  const std::uint32_t slot = index_.first();
  if (slot == SequenceIndex::kNone) return std::nullopt;
  return entries_[slot].sent_at;
}

std::optional<Timestamp> Queue::earliest_sent() const {
  if (entries_.size() == 0) return std::nullopt;
  if (!earliest_is_known_) {
    earliest_ = *oldest_sent();
    if (!early_.empty()) earliest_ = std::min(earliest_, timestamp_from_unix_ms(early_.front().sent_ms));
    earliest_is_known_ = true;
  }
  return earliest_;
}

std::optional<Timestamp> Queue::next_visible() const {
  std::optional<Timestamp> next;
  if (!hidden_.empty()) next = timestamp_from_unix_ms(hidden_.top().key);
  if (delayed_.head != kNone) {
    const Timestamp ends = entries_[delayed_.head].sent_at + fifo_delay_;
    if (!next || ends < *next) next = ends;
  }
  return next;
}

// Each command asks for it. An optional that is passed on waits each time until its two stores have left the processor, so
// there is none before the end.
std::optional<Timestamp> Queue::next_change(RetentionPeriod retention) const {
  constexpr Timestamp kNever = Timestamp::max();
  Timestamp next = hidden_.empty() ? kNever : timestamp_from_unix_ms(hidden_.top().key);
  if (entries_.size() > 0) {
    if (!earliest_is_known_) static_cast<void>(earliest_sent());
    next = std::min(next, earliest_ + retention.value());
  }
  if (groups_ != nullptr) {
    if (delayed_.head != kNone) next = std::min(next, entries_[delayed_.head].sent_at + fifo_delay_);
    if (const auto forgets = deduplication_.next_to_forget()) next = std::min(next, *forgets);
  }
  if (tenants_ != nullptr) {
    if (const auto quiet = tenants_->next_quiet()) next = std::min(next, *quiet);
  }
  if (next == kNever) return std::nullopt;
  return next;
}

const Entry* Queue::first_ready(const Entry* in_hand) const {
  if (groups_ != nullptr) {
    const std::uint32_t slot = groups_->first_ready(entries_, in_hand);
    return slot == kNone ? nullptr : &entries_[slot];
  }
  if (tenants_ == nullptr) return waiting_.empty() ? nullptr : &entries_[waiting_.first(entries_)];
  std::uint32_t group = tenants_->first_quiet();
  if (!waiting_.empty()) {
    if (group == 0 || waiting_.place(entries_) < tenants_->waiting(group).place(entries_))
      return &entries_[waiting_.first(entries_)];
  } else if (group == 0) {
    group = tenants_->first_noisy();
  }
  return group == 0 ? nullptr : &entries_[tenants_->waiting(group).first(entries_)];
}

bool Queue::decide_delete(const ReceiptHandle& handle) const {
  const Entry* entry = find(handle.message);
  if (entry == nullptr) return false;
  if (compare_delivery(handle, *entry) < 0) {
    FANFARE_MARK(outdated_receipt);
    return false;
  }
  return true;
}

bool Queue::has_expired(const ReceiptHandle& handle) const {
  const Entry* entry = find(handle.message);
  if (entry == nullptr) return false;
  const auto order = compare_delivery(handle, *entry);
  return order < 0 || (order == 0 && entry->state != EntryState::Leased);
}

bool Queue::is_leased(const ReceiptHandle& handle) const {
  const Entry* entry = find(handle.message);
  return entry != nullptr && entry->state == EntryState::Leased && compare_delivery(handle, *entry) == 0;
}

bool Queue::may_give_back(const ReceiptHandle& handle) const {
  const Entry* entry = find(handle.message);
  return entry != nullptr && entry->received_ms != Entry::kGivenBack && compare_delivery(handle, *entry) == 0;
}

Result<VisibilityChanged, VisibilityError> Queue::decide_change(const ReceiptHandle& handle, VisibilityTimeout timeout,
                                                                Timestamp now) const {
  const Entry* entry = find(handle.message);
  if (entry == nullptr) return VisibilityError::MessageGone;
  if (entry->state != EntryState::Leased || compare_delivery(handle, *entry) != 0) return VisibilityError::NotInflight;
  const Timestamp until = now + timeout.value();
  if (until - entry->received_at() > kVisibilityTotalMax) return VisibilityError::BeyondTwelveHours;
  return VisibilityChanged{handle.message, now, until};
}

void Queue::apply(const Arrived& event) {
  FANFARE_ASSERT(event.sequence >= next_);
  next_ = {event.sequence.value + 1};
  const std::uint32_t slot = entries_.allocate();
  Entry& entry = entries_[slot];
  entry.id = event.id;
  entry.sequence = event.sequence;
  entry.sent_at = event.sent_at;
  entry.payload = event.payload;
  entry.envelope = event.envelope;
  entry.dead_letter_source = event.dead_letter_source;
  entry.receipt = event.receipt;
  entry.undelivered = event.undelivered;
  entry.first_received_ms = event.first_received_ms;
  const bool had_tenants = tenants_ != nullptr;
  enter_group(slot, event.group);
  if (tenants_ != nullptr && entry.group != 0) {
    // What runs already has no group, and takes its time, too.
    if (!had_tenants) restore_deliveries(event.at, false);
    tenants_->arrive(entries_, entry.group, event.at);
  }
  if (groups_ != nullptr && event.deduplication)
    deduplication_.insert(*event.deduplication, {event.id, event.sequence.value, event.at});
  index_.insert(event.sequence, slot);
  note_retention(entry);
  if (groups_ != nullptr) {
    // Behind what is delayed, and be it that its delay has ended and advance() has not come to it yet.
    if (delayed_.head != kNone || entry.sent_at + fifo_delay_ > event.at) return append_delayed(slot);
    append_ready(slot);
  } else if (event.visible_at > event.at) {
    hide(slot, EntryState::Delayed, event.visible_at, event.at);
  } else {
    append_ready(slot);
  }
}

void Queue::apply(const Leased& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  Entry& entry = entries_[slot];
  if (tenants_ != nullptr) end_delivery(slot, event.at, event.at);
  leave_state(slot);
  ++entry.receipt;
  entry.receive_epoch = event.epoch;
  entry.received_ms = offset_ms(entry.sent_at, event.at);
  if (entry.first_received_ms == 0) entry.first_received_ms = entry.received_ms + 1;
  if (tenants_ != nullptr) begin_delivery(slot, event.at);
  hide(slot, EntryState::Leased, event.until, event.at);
}

void Queue::apply(const VisibilityChanged& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  Entry& entry = entries_[slot];
  const bool stays = event.until > event.at;
  if (tenants_ != nullptr) {
    if (!stays) end_delivery(slot, event.at, event.at);
    else if (entry.state != EntryState::Leased) begin_delivery(slot, event.at);
  }
  leave_state(slot);
  if (stays) return hide(slot, EntryState::Leased, event.until, event.at);
  entry.hidden_until_ms = offset_ms(entry.sent_at, event.at);
  make_visible(slot);
  if (tenants_ != nullptr) judge(entry.group, event.at);
}

void Queue::apply(const Undelivered& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  Entry& entry = entries_[slot];
  if (tenants_ != nullptr) end_delivery(slot, event.at, event.at);
  leave_state(slot);
  entry.received_ms = Entry::kGivenBack;
  if (entry.undelivered < entry.receipt && entry.undelivered < 0xffff) ++entry.undelivered;
  if (entry.receive_count() == 0) entry.first_received_ms = 0;
  // Nobody has had it: it is where it was.
  if (groups_ != nullptr) return append_ready(slot);
  make_visible(slot);
  if (tenants_ != nullptr) judge(entry.group, event.at);
}

Entry Queue::apply(const Removed& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  if (tenants_ == nullptr) return take_out(slot);
  const bool was_leased = entries_[slot].state == EntryState::Leased;
  end_delivery(slot, event.at, event.at);
  const Entry entry = take_out(slot);
  if (was_leased) judge(entry.group, event.at);
  return entry;
}

bool Queue::advance(Timestamp now, RetentionPeriod retention, std::size_t budget, std::vector<Entry>& removed) {
  std::size_t left = budget;
  std::size_t left_hidden = budget;
  const auto show_until = [&](std::int64_t ms) {
    for (; left_hidden > 0 && !hidden_.empty() && hidden_.top().key <= ms; --left_hidden) {
      const std::uint32_t slot = hidden_.top().slot;
      if (tenants_ != nullptr) end_delivery(slot, now, now);
      leave_state(slot);
      make_visible(slot);
    }
  };
  for (; left > 0; --left) {
    if (entries_.size() == 0) break;
    if (!earliest_is_known_) static_cast<void>(earliest_sent());
    const Timestamp expires = earliest_ + retention.value();
    if (expires > now) break;
    // A group stays noisy as long as something of it waits, so this goes in the order of time: what came back before this message
    // expired did not find it gone.
    if (tenants_ != nullptr) show_until(unix_ms(expires) - 1);
    if (left_hidden == 0) break;
    std::uint32_t slot = index_.first();
    if (!early_.empty() && timestamp_from_unix_ms(early_.front().sent_ms) < entries_[slot].sent_at)
      slot = index_.find(early_.front().sequence);
    if (tenants_ != nullptr) end_delivery(slot, expires, now);
    removed.push_back(take_out(slot));
  }
  const bool more_expired = left == 0;
  const bool more_forgotten = groups_ != nullptr && deduplication_.forget_old(now, budget);
  if (tenants_ == nullptr || !more_expired) show_until(unix_ms(now));
  for (left = left_hidden; left > 0; --left) {
    if (delayed_.head == kNone || entries_[delayed_.head].sent_at + fifo_delay_ > now) break;
    const std::uint32_t slot = delayed_.head;
    leave_state(slot);
    append_ready(slot);
  }
  const bool more_noisy = tenants_ != nullptr && tenants_->quieten(entries_, now, budget);
  return more_expired || more_forgotten || more_noisy || left == 0;
}

std::size_t Queue::drain(std::size_t budget, std::vector<Entry>& removed) {
  std::size_t left = budget;
  for (; left > 0; --left) {
    drained_ = entries_.next_used(drained_);
    if (drained_ == entries_.end()) {
      drained_ = 0;
      break;
    }
    removed.push_back(take_out(drained_));
  }
  const std::size_t ids = deduplication_.size();
  deduplication_.forget_old(Timestamp::max(), left);
  return budget - left + ids - deduplication_.size();
}

std::uint64_t Queue::rank_of(const Entry& entry) const {
  return entry.state == EntryState::Returned && groups_ == nullptr ? waiting_of(entry).returned.at(entry.link_a).key.rank : entry.sequence.value;
}

void Queue::enter_group(std::uint32_t slot, std::string_view group) {
  Entry& entry = entries_[slot];
  entry.group = group.empty() ? 0 : names_.enter(group);
  if (groups_ != nullptr) {
    groups_->enter(entry.group);
  } else if (entry.group != 0 && tenants_ == nullptr) {
    tenants_ = std::make_unique<Tenants>();
  }
}

void Queue::restore_noisy(std::string_view group, Timestamp quiet_at) {
  const std::uint32_t number = names_.number_of(group);
  if (number != 0 && tenants_ != nullptr) tenants_->restore_noisy(entries_, number, quiet_at);
}

void Queue::restore_time(const ProcessingTime::Ended& ended) {
  if (tenants_ == nullptr) tenants_ = std::make_unique<Tenants>();
  tenants_->restore_time(0, ended);
}

void Queue::restore_time(std::string_view group, const ProcessingTime::Ended& ended) {
  const std::uint32_t number = names_.number_of(group);
  if (number != 0 && tenants_ != nullptr) tenants_->restore_time(number, ended);
}

void Queue::restore_deliveries(Timestamp now, bool counted) {
  if (tenants_ == nullptr) return;
  for (std::uint32_t i = 0; i < hidden_.size(); ++i) {
    const std::uint32_t slot = hidden_.at(i).slot;
    const Entry& entry = entries_[slot];
    if (entry.state != EntryState::Leased) continue;
    if (counted) tenants_->restore_delivery(entry.group, std::min(entry.received_at(), now), now);
    else begin_delivery(slot, now);
  }
}

void Queue::restore(const Entry& entry, std::uint64_t rank, std::string_view group) {
  const std::uint32_t slot = entries_.allocate();
  entries_[slot] = entry;
  enter_group(slot, group);
  index_.insert(entry.sequence, slot);
  raise_next_sequence({entry.sequence.value + 1});
  note_retention(entry);
  switch (entry.state) {
    case EntryState::Ready: append_ready(slot); break;
    case EntryState::Returned:
      stand_returned(slot, rank);
      break;
    case EntryState::Delayed:
      if (groups_ != nullptr) return append_delayed(slot);
      count_hidden(slot, entry.state, entry.hidden_until());
      break;
    case EntryState::Leased:
      count_hidden(slot, entry.state, entry.hidden_until());
      if (groups_ != nullptr) groups_->lock(entries_, slot);
      else if (entries_[slot].group != 0) tenants_->restore_lease(entries_, entries_[slot].group);
      break;
  }
}

// The slot is in no list, no heap and no count.
void Queue::make_visible(std::uint32_t slot) {
  Entry& entry = entries_[slot];
  entry.state = EntryState::Returned;
  stand_returned(slot, entry.receive_count() >= kBackOfQueueAfter ? next_.value : entry.sequence.value);
}

void Queue::stand_returned(std::uint32_t slot, std::uint64_t rank) {
  const Entry& entry = entries_[slot];
  ++counts_.visible;
  if (groups_ != nullptr) return groups_->insert(entries_, slot);
  const std::uint64_t sequence = entry.sequence.value;
  waiting_of(entry).returned.push({rank, rank == sequence ? Place::kOwnPlace : entry.receive_count(), sequence}, slot, place());
  update_tenant(entry.group);
}

void Queue::hide(std::uint32_t slot, EntryState state, Timestamp until, Timestamp at) {
  count_hidden(slot, state, until);
  const std::uint32_t group = entries_[slot].group;
  if (state != EntryState::Leased || group == 0) return;
  if (groups_ != nullptr) {
    groups_->lock(entries_, slot);
  } else {
    tenants_->lease(entries_, group, counts_.in_flight, at);
  }
}

void Queue::begin_delivery(std::uint32_t slot, Timestamp at) {
  const Entry& entry = entries_[slot];
  if (saving_ != nullptr) keep_time(entry.group);
  tenants_->begin(entry.group, std::min(entry.received_at(), at), at);
}

void Queue::end_delivery(std::uint32_t slot, Timestamp at, Timestamp now) {
  const Entry& entry = entries_[slot];
  if (entry.state != EntryState::Leased) return;
  if (saving_ != nullptr) keep_time(entry.group);
  const Timestamp begun = std::min(entry.received_at(), now);
  tenants_->end(entry.group, begun, std::max(begun, std::min(at, entry.hidden_until())), now);
}

void Queue::count_hidden(std::uint32_t slot, EntryState state, Timestamp until) {
  Entry& entry = entries_[slot];
  entry.state = state;
  entry.hidden_until_ms = offset_ms(entry.sent_at, until);
  ++(state == EntryState::Leased ? counts_.in_flight : counts_.delayed);
  hidden_.push(unix_ms(entry.hidden_until()), slot, place());
}

void Queue::append_ready(std::uint32_t slot) {
  Entry& entry = entries_[slot];
  entry.state = EntryState::Ready;
  ++counts_.visible;
  if (groups_ != nullptr) return groups_->insert(entries_, slot);
  waiting_of(entry).ready.append(entries_, slot);
  update_tenant(entry.group);
}

void Queue::append_delayed(std::uint32_t slot) {
  entries_[slot].state = EntryState::Delayed;
  ++counts_.delayed;
  delayed_.append(entries_, slot);
}

void Queue::begin_saving(Timestamp now) {
  saving_ = std::make_unique<Saving>();
  saving_->below = next_;
  saving_->now = unix_ms(now);
  if (tenants_ != nullptr) saving_->times_end = tenants_->times_end();
}

bool Queue::abandon_saving(std::size_t budget) {
  if (saving_ == nullptr) return false;
  saving_->below = {0};
  saving_->times_end = 0;
  for (; budget > 0 && !saving_->kept.empty(); --budget) saving_->kept.erase(saving_->kept.begin());
  for (; budget > 0 && !saving_->kept_times.empty(); --budget) saving_->kept_times.erase(saving_->kept_times.begin());
  if (!saving_->kept.empty() || !saving_->kept_times.empty()) return true;
  saving_.reset();
  return false;
}

// All that changes or removes an entry begins with leave_state().
void Queue::keep(std::uint32_t slot) {
  const Entry& entry = entries_[slot];
  if (entry.sequence < saving_->from || entry.sequence >= saving_->below) return;
  const auto place = saving_->kept.lower_bound(entry.sequence.value);
  if (place != saving_->kept.end() && place->first == entry.sequence.value) return;
  saving_->kept.emplace_hint(place, entry.sequence.value, Saving::Kept{entry, rank_of(entry), std::string{group_of(entry)}});
}

// All that changes or forgets a group's time begins with this.
void Queue::keep_time(std::uint32_t group) {
  if (group < saving_->next_time || group >= saving_->times_end) return;
  const auto place = saving_->kept_times.lower_bound(group);
  if (place != saving_->kept_times.end() && place->first == group) return;
  saving_->kept_times.emplace_hint(place, group, Saving::KeptTime{std::string{names_.name_of(group)}, tenants_->time(group).ended(saving_->now)});
}

// Takes the slot out of the list or heap and the count of its state.
void Queue::leave_state(std::uint32_t slot) {
  if (saving_ != nullptr) keep(slot);
  const Entry& entry = entries_[slot];
  switch (entry.state) {
    case EntryState::Ready:
      --counts_.visible;
      if (groups_ != nullptr) return groups_->erase(entries_, slot);
      waiting_of(entry).ready.unlink(entries_, entry);
      return update_tenant(entry.group);
    case EntryState::Returned:
      --counts_.visible;
      if (groups_ != nullptr) return groups_->erase(entries_, slot);
      waiting_of(entry).returned.erase(entry.link_a, place());
      return update_tenant(entry.group);
    case EntryState::Leased:
      --counts_.in_flight;
      hidden_.erase(entry.link_a, place());
      if (entry.group == 0) return;
      return groups_ != nullptr ? groups_->unlock(entries_, slot) : tenants_->unlease(entries_, entry.group);
    case EntryState::Delayed:
      --counts_.delayed;
      if (groups_ != nullptr) return delayed_.unlink(entries_, entry);
      hidden_.erase(entry.link_a, place());
      return;
  }
}

Entry Queue::take_out(std::uint32_t slot) {
  leave_state(slot);
  const Entry entry = entries_[slot];
  index_.erase(entry.sequence);
  entries_.free(slot);
  if (entry.group != 0) {
    if (saving_ != nullptr && tenants_ != nullptr) keep_time(entry.group);
    if (names_.leave(entry.group)) {
      if (groups_ != nullptr) groups_->leave(entry.group);
      else tenants_->forget(entry.group);
    }
  }
  if (!early_.empty()) drop_stale_early();
  if (entry.sent_at <= earliest_) earliest_is_known_ = false;
  return entry;
}

void Queue::note_retention(const Entry& entry) {
  earliest_ = std::min(earliest_, entry.sent_at);  // if it is known; else nobody looks at it
  const std::int64_t sent_ms = unix_ms(entry.sent_at);
  if (sent_ms >= latest_sent_ms_) {
    latest_sent_ms_ = sent_ms;
    return;
  }
  // When most are gone, forget them: rebuilding costs what was pushed since.
  if (early_.size() > 64 && early_.size() > 2 * entries_.size()) {
    std::erase_if(early_, [&](const Early& e) { return index_.find(e.sequence) == SequenceIndex::kNone; });
    std::make_heap(early_.begin(), early_.end(), std::greater<>{});
  }
  early_.push_back({sent_ms, entry.sequence});
  std::push_heap(early_.begin(), early_.end(), std::greater<>{});
}

// Keeps the top of `early_` a live message, so that earliest_sent() is exact.
void Queue::drop_stale_early() {
  while (!early_.empty() && index_.find(early_.front().sequence) == SequenceIndex::kNone) {
    std::pop_heap(early_.begin(), early_.end(), std::greater<>{});
    early_.pop_back();
  }
}

}  // namespace fanfare::queue
