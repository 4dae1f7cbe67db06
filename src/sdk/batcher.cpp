#include "sdk/batcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"

namespace fanfare::sdk {

std::size_t counted_bytes(const Event& event) {
  std::size_t bytes = counted_bytes(event.body, event.attributes);
  if (!event.type.empty()) bytes += std::string_view{"type"}.size() + std::string_view{"String"}.size() + event.type.size();
  return bytes;
}

Batcher::Added Batcher::add(Event event, Instant now) {
  Added added;
  const auto refuse = [&](std::string why) {
    added.refused = Refused{std::move(event), Error{.kind = ErrorKind::Invalid, .message = std::move(why)}};
    return std::move(added);
  };
  if (closed_) return refuse("the publisher is closed: publish before drain()");
  const std::size_t bytes = counted_bytes(event);
  if (event.body.empty()) return refuse("the event's body is empty: SNS and SQS want at least one byte");
  if (bytes > limits_.batch_bytes)
    return refuse(fmt::format("the event has {} bytes with its attributes; the destination takes {}", bytes, limits_.batch_bytes));
  if (buffered() >= limits_.max_buffered) {
    if (limits_.when_full == WhenFull::Fail || open_.empty())
      return refuse(fmt::format("the buffer is full ({} events): the service answers too slowly", limits_.max_buffered));
    Entry oldest = std::move(open_.front().entry);
    open_.pop_front();
    open_bytes_ -= oldest.bytes;
    added.refused_ticket = oldest.ticket;
    added.refused = Refused{std::move(oldest.event), Error{.kind = ErrorKind::Invalid, .message = "dropped as the oldest of a full buffer"}};
  }
  added.ticket = next_ticket_++;
  open_bytes_ += bytes;
  open_.push_back(Waiting{Entry{*added.ticket, std::move(event), bytes, 1}, now});
  return added;
}

void Batcher::flush() {
  flush_through_ = next_ticket_;
  for (Retry& retry : retries_) retry.not_before = Instant::min();
}

bool Batcher::open_fills_a_batch() const {
  return open_.size() >= limits_.batch_entries || open_bytes_ >= limits_.batch_bytes ||
         // The next event might not fit: a batch that cannot take even an average one more is as good as full.
         (!open_.empty() && open_bytes_ + open_bytes_ / open_.size() > limits_.batch_bytes);
}

bool Batcher::open_is_due(Instant now) const {
  if (open_.empty()) return false;
  const Waiting& oldest = open_.front();
  return oldest.entry.ticket < flush_through_ || now - oldest.since >= limits_.flush_interval || open_fills_a_batch();
}

std::optional<Batcher::Batch> Batcher::take_batch(Instant now) {
  if (in_flight_batches_ >= in_flight_max()) return std::nullopt;
  Batch batch;
  std::size_t bytes = 0;
  const auto fits = [&](const Entry& entry) {
    return batch.entries.size() < limits_.batch_entries && bytes + entry.bytes <= limits_.batch_bytes;
  };
  const auto take = [&](Entry entry) {
    bytes += entry.bytes;
    batch.entries.push_back(std::move(entry));
  };
  if (limits_.fifo) {
    if (!retries_.empty()) {
      if (retries_.front().not_before > now) return std::nullopt;  // nothing younger may overtake it
      while (!retries_.empty() && fits(retries_.front().entry)) {
        take(std::move(retries_.front().entry));
        retries_.pop_front();
      }
    }
  } else {
    for (auto it = retries_.begin(); it != retries_.end();) {
      if (it->not_before <= now && fits(it->entry)) {
        take(std::move(it->entry));
        it = retries_.erase(it);
      } else {
        ++it;
      }
    }
  }
  if (!batch.entries.empty() || open_is_due(now)) {
    while (!open_.empty() && fits(open_.front().entry)) {
      open_bytes_ -= open_.front().entry.bytes;
      take(std::move(open_.front().entry));
      open_.pop_front();
    }
  }
  if (batch.entries.empty()) return std::nullopt;
  FANFARE_ASSERT(batch.entries.size() <= limits_.batch_entries && bytes <= limits_.batch_bytes);
  ++in_flight_batches_;
  in_flight_entries_ += batch.entries.size();
  return batch;
}

std::vector<Batcher::Settled> Batcher::settle(Batch batch, Result<BatchResults<SendReceipt>, Error> results, Instant now) {
  FANFARE_ASSERT(in_flight_batches_ > 0 && in_flight_entries_ >= batch.entries.size());
  --in_flight_batches_;
  in_flight_entries_ -= batch.entries.size();
  std::vector<Settled> settled;
  std::vector<Retry> again;
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    Entry& entry = batch.entries[i];
    if (results && i < results->size() && (*results)[i]) {
      const SendReceipt& receipt = *(*results)[i];
      settled.push_back(Settled{entry.ticket, std::move(entry.event), PublishReceipt{receipt.message_id, receipt.sequence_number}});
      continue;
    }
    Error error = !results ? results.error()
                  : i < results->size()
                      ? (*results)[i].error()
                      : Error{.kind = ErrorKind::Malformed, .message = "the service named the entry in neither list"};
    if (error.retryable() && !abandoned_ && entry.attempt < limits_.max_attempts) {
      milliseconds backoff = limits_.backoff_first;
      for (int i_attempt = 1; i_attempt < entry.attempt && backoff < limits_.backoff_max; ++i_attempt) backoff *= 2;
      backoff = std::min(backoff, limits_.backoff_max);
      const milliseconds jittered{rng_.between(backoff.count() / 2, backoff.count())};
      ++entry.attempt;
      again.push_back(Retry{std::move(entry), now + jittered});
    } else {
      settled.push_back(Settled{entry.ticket, std::move(entry.event), std::move(error)});
    }
  }
  if (limits_.fifo)  // before everything younger, in the old order
    retries_.insert(retries_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
  else
    retries_.insert(retries_.end(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
  return settled;
}

std::optional<Instant> Batcher::next_wake() const {
  std::optional<Instant> wake;
  if (in_flight_batches_ >= in_flight_max()) return wake;  // what is due waits for settle(), not for the clock
  const auto consider = [&](Instant at) {
    if (!wake || at < *wake) wake = at;
  };
  for (const Retry& retry : retries_) {
    consider(retry.not_before);
    if (limits_.fifo) return wake;
  }
  if (!open_.empty()) consider(open_.front().since + limits_.flush_interval);
  return wake;
}

std::vector<Event> Batcher::abandon() {
  abandoned_ = true;
  std::vector<Event> events;
  for (Retry& retry : retries_) events.push_back(std::move(retry.entry.event));
  for (Waiting& waiting : open_) events.push_back(std::move(waiting.entry.event));
  retries_.clear();
  open_.clear();
  open_bytes_ = 0;
  return events;
}

}  // namespace fanfare::sdk
