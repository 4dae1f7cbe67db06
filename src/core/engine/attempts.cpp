#include "core/engine/attempts.h"

#include "base/assert.h"

namespace fanfare::engine {

const Attempt* Attempts::find(const Attempt::Key& key, Timestamp now) const {
  const auto number = numbers_.find(halves(key));
  if (number == numbers_.end()) return nullptr;
  const Attempt& attempt = rows_.at(number->second);
  return attempt.is_old(now) ? nullptr : &attempt;
}

void Attempts::note(Attempt attempt, const queue::Queue& messages) {
  // More than come in: what is kept follows the messages in flight.
  for (int i = 0; i < 2 && !rows_.empty(); ++i) {
    auto row = rows_.upper_bound(looked_at_);
    if (row == rows_.end()) row = rows_.begin();
    looked_at_ = row->first;
    if (row->second.is_over(messages, attempt.at)) forget(row);
  }
  restore(std::move(attempt));
}

void Attempts::restore(Attempt attempt) {
  FANFARE_ASSERT(!attempt.handles.empty());
  if (const auto older = numbers_.find(halves(attempt.key)); older != numbers_.end()) forget(rows_.find(older->second));
  numbers_.emplace(halves(attempt.key), next_);
  rows_.emplace_hint(rows_.end(), next_, std::move(attempt));
  ++next_;
}

void Attempts::lease(const Attempt::Key& key, Timestamp until) {
  const auto number = numbers_.find(halves(key));
  if (number == numbers_.end()) return;
  Attempt& attempt = rows_.at(number->second);
  if (is_to_be_saved(number->second)) kept_.try_emplace(number->second, attempt);
  attempt.until = until;
}

void Attempts::forget(Rows::iterator row) {
  numbers_.erase(halves(row->second.key));
  if (is_to_be_saved(row->first)) {
    kept_.insert(rows_.extract(row));  // unless it was kept before
  } else {
    rows_.erase(row);
  }
}

bool Attempts::abandon_saving(std::size_t budget) {
  saving_end_ = 0;
  for (; budget > 0 && !kept_.empty(); --budget) kept_.erase(kept_.begin());
  return !kept_.empty();
}

void Attempts::note_repeated(const std::vector<ReceiptHandle>& handles, const queue::Queue& messages) {
  for (const ReceiptHandle& handle : handles) repeated_.insert_or_assign(handle.message.value, handle);
  if (repeated_.size() < 2 * repeated_kept_ + 16) return;
  std::erase_if(repeated_, [&](const auto& one) { return !messages.may_give_back(one.second); });
  repeated_kept_ = repeated_.size();
}

}  // namespace fanfare::engine
