#include "core/live/duplicate_window.h"

namespace fanfare::live {

void DuplicateWindow::forget_old(Timestamp now) {
  while (!order_.empty() && (now - order_.front().at >= limits_.age || order_.size() > limits_.count)) {
    ids_.erase(ids_.find(*order_.front().id));
    order_.pop_front();
  }
}

bool DuplicateWindow::contains(const EventId& id, Timestamp now) {
  forget_old(now);
  return !id.empty() && ids_.contains(id.str());
}

void DuplicateWindow::remember(const EventId& id, Timestamp now) {
  if (id.empty()) return;
  const auto [at, fresh] = ids_.insert(id.str());
  if (fresh) order_.push_back({now, &*at});
  forget_old(now);
}

}  // namespace fanfare::live
