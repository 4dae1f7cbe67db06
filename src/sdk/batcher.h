// What a publisher has buffered, in which batch it goes out, and what becomes of each entry: no loop, no lock, no network.
// Rule 1: the room check and the append are one step: no batch ever exceeds its entries or bytes, however add() and
//         take_batch() interleave. [S4]
// Rule 2: an entry is in exactly one place: open batch, retry list, in flight, or settled.
// Rule 3: FIFO: one batch in flight, and a failed entry goes out again before anything younger.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "fanfare/publisher.h"

namespace fanfare::sdk {

struct BatcherLimits {
  std::size_t batch_entries = 10;  // [SQS SendMessageBatch], [SNS PublishBatch]
  std::size_t batch_bytes = 0;     // also of one message
  std::size_t max_buffered = 0;
  WhenFull when_full = WhenFull::Fail;
  milliseconds flush_interval{};
  int max_in_flight = 1;
  int max_attempts = 1;
  milliseconds backoff_first{};
  milliseconds backoff_max{};
  bool fifo = false;
};

class Batcher {
 public:
  using Ticket = std::uint64_t;  // names an accepted event until it is settled
  struct Entry {
    Ticket ticket;
    Event event;
    std::size_t bytes;
    int attempt;  // 1 at the first
  };
  struct Batch {
    std::vector<Entry> entries;
  };
  struct Refused {
    Event event;
    Error error;
  };

  Batcher(BatcherLimits limits, std::uint64_t seed) : limits_(limits), rng_(seed) {}

  /// The ticket, or the event that is not taken: the new one, or with DropOldest the oldest buffered one beside the ticket.
  struct Added {
    std::optional<Ticket> ticket;
    std::optional<Refused> refused;
    std::optional<Ticket> refused_ticket;  // when the refused event had been accepted before
  };
  Added add(Event event, Instant now);

  /// A batch that may go out now: a full one, one whose time has come, one asked for by flush(), or a retry that is due.
  std::optional<Batch> take_batch(Instant now);

  struct Settled {
    Ticket ticket;
    Event event;
    Result<PublishReceipt, Error> outcome;
  };
  /// Results in the order of the batch's entries. Retryable failures go back; what is settled for good is returned.
  std::vector<Settled> settle(Batch batch, Result<BatchResults<SendReceipt>, Error> results, Instant now);

  /// Everything that is buffered goes out now, without waiting for interval or backoff.
  /// What fails after this call waits for its backoff again, or a service that is away for a second would cost every attempt.
  void flush();
  /// No entry is accepted any more; implies flush().
  void close() {
    closed_ = true;
    flush();
  }
  [[nodiscard]] bool closed() const { return closed_; }

  /// When take_batch may next have something that it has not now; absent: only another call can change that.
  [[nodiscard]] std::optional<Instant> next_wake() const;
  [[nodiscard]] bool idle() const { return buffered() == 0 && in_flight_entries_ == 0; }
  [[nodiscard]] std::size_t buffered() const { return open_.size() + retries_.size(); }
  [[nodiscard]] std::size_t sending() const { return in_flight_entries_; }

  /// At the end: every entry that is still buffered, taken out. What is in flight is not tried again.
  std::vector<Event> abandon();

 private:
  struct Waiting {
    Entry entry;
    Instant since;
  };
  struct Retry {
    Entry entry;
    Instant not_before;
  };

  [[nodiscard]] std::size_t in_flight_max() const { return limits_.fifo ? 1 : static_cast<std::size_t>(limits_.max_in_flight); }
  [[nodiscard]] bool open_is_due(Instant now) const;
  [[nodiscard]] bool open_fills_a_batch() const;

  BatcherLimits limits_;
  Rng rng_;
  std::deque<Waiting> open_;   // in order of arrival
  std::deque<Retry> retries_;  // in order of age
  std::size_t open_bytes_ = 0;
  std::size_t in_flight_batches_ = 0;
  std::size_t in_flight_entries_ = 0;
  Ticket next_ticket_ = 1;
  Ticket flush_through_ = 0;  // entries below it need not wait
  bool closed_ = false;
  bool abandoned_ = false;
};

/// Bytes of an event as the service counts them, its `type` attribute included.
std::size_t counted_bytes(const Event& event);

}  // namespace fanfare::sdk
