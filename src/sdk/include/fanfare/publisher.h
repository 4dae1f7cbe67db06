// Publisher: events into SNS topics or SQS queues, in batches, without making anybody wait for the network.
//
//   Publisher publisher{executor, topic_destination(sns, topic_arn), options};
//   publisher.publish({.id = "evt-1", .type = "document.uploaded", .body = json});   // returns at once
//   auto receipt = co_await publisher.publish_confirmed(event);                       // once the broker acknowledged it
//   DrainReport report = co_await publisher.drain(10s);                                // at shutdown
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fanfare/sns.h"

namespace fanfare::sdk {

/// One fact that others may want to know.
struct Event {
  std::string id;    ///< unique; the deduplication id of FIFO destinations; empty: made by the publisher
  std::string type;  ///< "document.uploaded"; travels as the message attribute `type`, which handlers and filters use
  std::string body;  ///< usually JSON
  std::vector<MessageAttribute> attributes;
  std::string group_id;  ///< FIFO: ordered within; empty: ordered against nothing
};

struct PublishReceipt {
  std::string message_id;       ///< what the service returned for this entry
  std::string sequence_number;  ///< FIFO only
};

/// Where a publisher sends to.
struct Destination {
  std::string name;  ///< topic ARN or queue URL; FIFO when it ends in .fifo
  std::size_t max_bytes = 0;  ///< of one message and of one batch, as the service counts
  std::function<Awaitable<Result<BatchResults<SendReceipt>, Error>>(const std::vector<Event>& events)> send;
};
Destination topic_destination(std::shared_ptr<SnsClient> sns, std::string topic_arn);
Destination queue_destination(std::shared_ptr<SqsClient> sqs, std::string queue_url);

enum class WhenFull {
  Fail,        ///< the event goes to on_error at once
  DropOldest,  ///< the oldest buffered event goes to on_error, the new one stays
};

struct PublisherOptions {
  milliseconds flush_interval{10'000};  ///< no event waits longer in an open batch
  std::size_t max_buffered_events = 100'000;
  WhenFull when_full = WhenFull::Fail;
  int max_batches_in_flight = 4;  ///< 1 for FIFO destinations, whatever is said here: order
  int max_attempts = 6;           ///< of one entry, the first included
  milliseconds backoff_first{100};
  milliseconds backoff_max{5'000};
  /// Called for each event that will not be sent, with the cause; on the publisher's executor, or on the thread that
  /// called publish() when it was refused there. Must not block.
  std::function<void(const Event&, const Error&)> on_error;
  /// L14: called with the message id that the service gave an event. Same rules.
  std::function<void(const Event&, const PublishReceipt&)> on_published;
};

struct DrainReport {
  std::uint64_t sent = 0;    ///< acknowledged by the service, over the publisher's life
  std::uint64_t failed = 0;  ///< given to on_error
  std::vector<Event> abandoned;  ///< not acknowledged when the deadline came; they may or may not have arrived
};

struct PublisherCounters {
  std::uint64_t buffered = 0;
  std::uint64_t sending = 0;
  std::uint64_t sent = 0;
  std::uint64_t failed = 0;
};

/// Thread-safe. Destroying an open publisher abandons what it holds: drain first.
class Publisher {
 public:
  Publisher(boost::asio::any_io_executor executor, Destination destination, PublisherOptions options = {});
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// Buffers the event and returns. Never blocks on the network, never throws for what can go wrong later: that goes to
  /// on_error (too large, buffer full, already closed, refused by the service). [S1]
  void publish(Event event);
  template <class... Events>
  void publish(Event first, Events... more) {
    publish(std::move(first));
    publish(Event(std::move(more))...);
  }

  /// Resumes once the broker has acknowledged this entry, or it has failed for good. [S2]
  Awaitable<Result<PublishReceipt, Error>> publish_confirmed(Event event);

  /// Sends what is buffered without waiting for the interval.
  void flush();

  /// Stops accepting, flushes, settles what is being sent; one failure does not stop the wait for the rest. Bounded by
  /// `limit`. Idempotent: later calls give the same report. [S3]
  Awaitable<DrainReport> drain(milliseconds limit);

  [[nodiscard]] PublisherCounters counters() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with the sending coroutines, which may outlive this object until their call ends
};

}  // namespace fanfare::sdk
