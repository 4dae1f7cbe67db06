// Consumer: one queue, a table of handlers by event type, and the order of acknowledgements that loses nothing.
//
//   HandlerTable handlers;
//   handlers.on("document.uploaded", [](const Delivery& d) -> Awaitable<HandlerResult> { ...; co_return HandlerResult::done(); });
//   Consumer consumer{executor, sqs, queue_url, std::move(handlers)};
//   consumer.start();  ...  co_await consumer.stop(30s);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fanfare/sqs.h"

namespace fanfare::sdk {

/// A message as its handlers see it: the SNS envelope taken off, attributes from wherever they came.
struct Delivery {
  std::string message_id;  ///< SQS's id of this copy
  std::string event_id;    ///< attribute FanfareEventId, else the SNS MessageId, else the SQS MessageId
  std::string type;        ///< attribute `type`, else the member "type" of a JSON body; empty: none
  std::string body;        ///< the publisher's own text
  std::vector<MessageAttribute> attributes;
  std::string topic_arn;   ///< empty for raw delivery and direct sends
  int receive_count = 0;
  std::string group_id;

  /// Value of an attribute, or nullptr.
  [[nodiscard]] const std::string* attribute(std::string_view name) const;
};

/// How to tell an SNS envelope from a payload.
enum class EnvelopeMode {
  Auto,  ///< an object with all of Type, MessageId, TopicArn, Message, Timestamp is an envelope [S15]
  Raw,   ///< the body is the payload
  Sns,   ///< every body must be an envelope; another one fails the message
};

/// Takes an envelope off; Error kind Malformed when mode is Sns and there is none.
Result<Delivery, Error> open_message(const ReceivedMessage& message, EnvelopeMode mode);

struct HandlerResult {
  std::optional<std::string> failure;  ///< absent: done
  static HandlerResult done() { return {}; }
  static HandlerResult failed(std::string why) { return {std::move(why)}; }
};

using Handler = std::function<Awaitable<HandlerResult>(const Delivery&)>;

/// A value; given to one consumer, which owns it. [S7]
class HandlerTable {
 public:
  /// Several handlers of a type all run, whatever the others' result. [S9]
  HandlerTable& on(std::string type, Handler handler);
  /// For handlers that do not wait for anything.
  HandlerTable& on_sync(std::string type, std::function<HandlerResult(const Delivery&)> handler);
  /// For every type without a handler of its own.
  HandlerTable& otherwise(Handler handler);
  [[nodiscard]] const std::vector<Handler>* find(const std::string& type) const;

 private:
  std::map<std::string, std::vector<Handler>> handlers_;
  std::vector<Handler> otherwise_;
};

struct ConsumerOptions {
  ReceiveOptions receive;  ///< 10 messages, 20 s
  EnvelopeMode envelope = EnvelopeMode::Auto;
  /// Messages of one receive that are handled at the same time; those of one FIFO group stay one after another. [S11]
  int concurrency = 1;
  /// When a failed message may come again: at once by default. Absent: when its visibility ends by itself.
  std::optional<seconds> give_back_after = seconds{0};
  milliseconds backoff_first{200};  ///< after a failed receive; doubles with jitter
  milliseconds backoff_max{20'000};
  /// Each failed message with every handler's reason. Must not block.
  std::function<void(const Delivery&, const std::vector<std::string>& reasons)> on_failure;
  /// Each call of the service that failed. Must not block.
  std::function<void(const Error&)> on_error;
};

struct ConsumerCounters {
  std::uint64_t received = 0;
  std::uint64_t done = 0;      ///< all handlers succeeded
  std::uint64_t unhandled = 0; ///< no handler for the type: acknowledged [S8]
  std::uint64_t failed = 0;    ///< given back at once with visibility 0
  std::uint64_t deleted = 0;   ///< confirmed by the service
  std::uint64_t redelivered_done = 0;  ///< came again although done (its delete was lost): deleted, not run again
  std::uint64_t consecutive_errors = 0;
};

/// Messages of one receive are handled one after another unless concurrency is asked for [S11]; failed ones are given back in one batch call (visibility 0)
/// before the done ones are deleted [S10]. The poll loop ends only by stop(). Thread-safe.
class Consumer {
 public:
  Consumer(boost::asio::any_io_executor executor, std::shared_ptr<SqsClient> sqs, std::string queue_url, HandlerTable handlers,
           ConsumerOptions options = {});
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  void start();
  /// Starts no new poll, lets messages in hand finish, deletes the done ones. A running long poll is left to end by itself
  /// until `poll_grace`, then aborted: what a service had already assigned to it comes back when its visibility ends.
  /// Everything is bounded by `limit`; messages of the receive that were not started by then are given back.
  Awaitable<ConsumerCounters> stop(milliseconds limit, milliseconds poll_grace = milliseconds{250});

  [[nodiscard]] ConsumerCounters counters() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with the poll coroutine
};

}  // namespace fanfare::sdk
