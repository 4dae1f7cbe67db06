#include "core/inbox/event_stream.h"

#include <algorithm>

#include "base/assert.h"
#include "base/marks.h"

namespace fanfare::inbox {

EventStream::EventStream(InboxKey inbox, Limits limits)
    : inbox_(std::move(inbox)), limits_(limits), scope_(scope_of(inbox_)) {
  FANFARE_ASSERT(limits_.page >= 1 && limits_.page <= kPageMax);
}

Cursor EventStream::cursor() const { return {epoch_, scope_, position_}; }

std::vector<StreamOutput> EventStream::start(std::optional<Cursor> after) {
  FANFARE_ASSERT(phase_ == Phase::New);
  after_ = after;
  phase_ = Phase::Head;
  return {WantHead{}};
}

std::vector<StreamOutput> EventStream::on_head(const Head& head) {
  std::vector<StreamOutput> out;
  if (phase_ != Phase::Head) return out;
  const bool first = epoch_ == 0;
  FANFARE_ASSERT(head.cursor.epoch != 0 && (first || epoch_ == head.cursor.epoch));
  epoch_ = head.cursor.epoch;
  if (after_) {
    if (is_known(*after_, head)) {
      position_ = after_->sequence;
    } else {
      FANFARE_MARK(stream_cursor_unknown);
      out.push_back(SendReset{cursor()});
    }
    after_.reset();
  }
  buffer_.erase(buffer_.begin(), buffer_.upper_bound(position_));
  known_ = std::max(known_, head.cursor.sequence);
  if (head.counts.version > counts_.version) {  // counts that came live while the head was on its way may be newer
    counts_ = head.counts;
    counts_due_ = true;
  }
  if (first) counts_due_ = true;
  proceed(out);
  return out;
}

std::vector<StreamOutput> EventStream::on_page(StreamPage page) {
  std::vector<StreamOutput> out;
  if (phase_ != Phase::Paging) return out;
  for (StreamItem& item : page.items) {
    if (item.sequence <= position_ || item.sequence > paging_up_to_) continue;
    position_ = item.sequence;
    out.push_back(SendItem{std::move(item), cursor()});
  }
  // Without more, everything up to the bound was looked at; what was not in the page is not unread any more.
  if (!page.more) position_ = std::max(position_, paging_up_to_);
  buffer_.erase(buffer_.begin(), buffer_.upper_bound(position_));
  proceed(out);
  return out;
}

std::vector<StreamOutput> EventStream::on_item(StreamItem item) {
  std::vector<StreamOutput> out;
  known_ = std::max(known_, item.sequence);
  // Before the first head the client's place is unknown, and every item may be needed.
  if (item.sequence <= position_ && epoch_ != 0) {
    FANFARE_MARK(stream_item_again);
    return out;
  }
  if (buffer_.size() < limits_.buffered_items_max) {
    buffer_.try_emplace(item.sequence, std::move(item));
  } else {
    FANFARE_MARK(stream_buffer_full);  // known_ remembers it: it will be fetched
  }
  if (phase_ == Phase::Live) proceed(out);
  return out;
}

std::vector<StreamOutput> EventStream::on_counts(const Counts& counts) {
  std::vector<StreamOutput> out;
  if (counts.version <= counts_.version) return out;
  counts_ = counts;
  counts_due_ = true;
  if (phase_ == Phase::Live) proceed(out);
  return out;
}

std::vector<StreamOutput> EventStream::on_lost() {
  if (phase_ == Phase::Live) {
    phase_ = Phase::Head;
    return {WantHead{}};
  }
  head_again_ = phase_ != Phase::New;
  return {};
}

void EventStream::send_ready(std::vector<StreamOutput>& out) {
  for (auto next = buffer_.begin(); next != buffer_.end() && next->first == position_ + 1; next = buffer_.erase(next)) {
    position_ = next->first;
    out.push_back(SendItem{std::move(next->second), cursor()});
  }
}

void EventStream::proceed(std::vector<StreamOutput>& out) {
  if (std::exchange(head_again_, false)) {
    phase_ = Phase::Head;
    out.push_back(WantHead{});
    return;
  }
  send_ready(out);
  if (position_ < known_) {
    // Up to the first item that is in the buffer, so that a page does not fetch what is here already.
    phase_ = Phase::Paging;
    paging_up_to_ = buffer_.empty() ? known_ : std::min(known_, buffer_.begin()->first - 1);
    out.push_back(WantPage{cursor(), paging_up_to_, limits_.page});
    return;
  }
  phase_ = Phase::Live;
  if (std::exchange(counts_due_, false)) out.push_back(SendCounts{counts_, cursor()});
}

}  // namespace fanfare::inbox
