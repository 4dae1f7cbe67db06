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
  enter_group(slot, event.group);
  if (groups_ != nullptr && event.deduplication)
    deduplication_.insert(*event.deduplication, {event.id, event.sequence.value, event.at});
  index_.insert(event.sequence, slot);
  note_retention(entry);
  if (groups_ != nullptr) {
    // Behind what is delayed, and be it that its delay has ended and advance() has not come to it yet.
    if (delayed_.head != kNone || entry.sent_at + fifo_delay_ > event.at) return append_delayed(slot);
    append_ready(slot);
  } else if (event.visible_at > event.at) {
    hide(slot, EntryState::Delayed, event.visible_at);
  } else {
    append_ready(slot);
  }
}

void Queue::apply(const Leased& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  Entry& entry = entries_[slot];
  leave_state(slot);
  ++entry.receipt;
  entry.receive_epoch = event.epoch;
  entry.received_ms = offset_ms(entry.sent_at, event.at);
  if (entry.first_received_ms == 0) entry.first_received_ms = entry.received_ms + 1;
  hide(slot, EntryState::Leased, event.until);
}

void Queue::apply(const VisibilityChanged& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  leave_state(slot);
  if (event.until > event.at) return hide(slot, EntryState::Leased, event.until);
  Entry& entry = entries_[slot];
  entry.hidden_until_ms = offset_ms(entry.sent_at, event.at);
  make_visible(slot);
}

void Queue::apply(const Undelivered& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  Entry& entry = entries_[slot];
  leave_state(slot);
  entry.received_ms = Entry::kGivenBack;
  if (entry.undelivered < entry.receipt && entry.undelivered < 0xffff) ++entry.undelivered;
  if (entry.receive_count() == 0) entry.first_received_ms = 0;
  // Nobody has had it: it is where it was.
  if (groups_ != nullptr) return append_ready(slot);
  make_visible(slot);
}

Entry Queue::apply(const Removed& event) {
  const std::uint32_t slot = index_.find(event.sequence);
  FANFARE_ASSERT(slot != SequenceIndex::kNone);
  return take_out(slot);
}

bool Queue::advance(Timestamp now, RetentionPeriod retention, std::size_t budget, std::vector<Entry>& removed) {
  std::size_t left = budget;
  std::size_t left_hidden = budget;
  const auto show_until = [&](std::int64_t ms) {
    for (; left_hidden > 0 && !hidden_.empty() && hidden_.top().key <= ms; --left_hidden) {
      const std::uint32_t slot = hidden_.top().slot;
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
  return more_expired || more_forgotten || left == 0;
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

void Queue::restore_noisy(std::string_view group) {
  const std::uint32_t number = names_.number_of(group);
  if (number != 0 && tenants_ != nullptr) tenants_->restore_noisy(entries_, number);
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

void Queue::hide(std::uint32_t slot, EntryState state, Timestamp until) {
  count_hidden(slot, state, until);
  const std::uint32_t group = entries_[slot].group;
  if (state != EntryState::Leased || group == 0) return;
  if (groups_ != nullptr) {
    groups_->lock(entries_, slot);
  } else {
    tenants_->lease(entries_, group, counts_.in_flight);
  }
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

void Queue::begin_saving() {
  saving_ = std::make_unique<Saving>();
  saving_->below = next_;
}

bool Queue::abandon_saving(std::size_t budget) {
  if (saving_ == nullptr) return false;
  saving_->below = {0};
  for (; budget > 0 && !saving_->kept.empty(); --budget) saving_->kept.erase(saving_->kept.begin());
  if (!saving_->kept.empty()) return true;
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
  if (entry.group != 0 && names_.leave(entry.group) && groups_ != nullptr) groups_->leave(entry.group);
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
