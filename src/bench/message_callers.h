// The callers of the message loads: the same request again and again; receives; deletes; whole cycles.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/rng.h"
#include "bench/caller.h"

namespace fanfare::bench {

/// Appends the body of a request.
using WriteBody = std::function<void(Body& body)>;

/// A request that stays the same; its signature is made anew every few minutes.
class Prepared {
 public:
  Prepared(Workbench& bench, Action action, const WriteBody& write);
  std::string_view bytes(Instant now);

 private:
  Workbench& bench_;
  Action action_;
  std::string body_;
  std::string bytes_;
  Instant made_{};
};

/// What the callers of one phase share.
struct Quota {
  std::atomic<std::uint64_t> begun{0};     ///< requests or messages that somebody has taken on
  std::atomic<std::uint64_t> finished{0};  ///< messages that were accepted or received, measured or not
  std::uint64_t most = UINT64_MAX;         ///< of `begun`
};

/// Step 0: one request of `messages` messages over and over, `quota.most` times in all.
class RepeatCaller final : public Caller {
 public:
  RepeatCaller(Workbench& bench, Quota& quota, Action action, std::uint64_t messages, const WriteBody& write);
  std::optional<Call> next(Instant now) override;
  void answered(const Answer& answer, Tally& tally) override;

 private:
  Quota& quota_;
  Protocol protocol_;
  std::uint64_t messages_;
  bool is_batch_;
  Prepared request_;
};

/// What a message to a queue needs.
struct MessageShape {
  std::size_t body_bytes = 400;
  std::uint32_t batch = 1;
  std::uint32_t groups = 0;  ///< 0: a standard queue
  std::string run = "1";     ///< part of deduplication ids, so that two runs over one queue do not send the same ones
};
/// Writes a SendMessage, or a SendMessageBatch if shape.batch > 1. FIFO messages get groups and ids by number, so that
/// no two are duplicates; `number` counts on by the batch.
void write_send(Body& body, std::string_view queue_url, const MessageShape& shape, std::uint64_t& number, Rng& rng);

/// Step 0: fills a FIFO queue; each message has another id.
class FifoFillCaller final : public Caller {
 public:
  FifoFillCaller(Workbench& bench, Quota& quota, std::string queue_url, const MessageShape& shape,
                 std::uint64_t first_number, std::uint64_t seed);
  std::optional<Call> next(Instant now) override;
  void answered(const Answer& answer, Tally& tally) override;

 private:
  Workbench& bench_;
  Quota& quota_;
  std::string queue_url_;
  MessageShape shape_;
  std::uint64_t number_;
  Rng rng_;
  std::string body_;
  std::string bytes_;
};

/// Handles that one connection has received, by queue.
using Received = std::vector<std::vector<std::string>>;

/// Step 0: receives from the queues in turn, `quota.most` messages in all. Ends also when all queues answer empty.
class ReceiveCaller final : public Caller {
 public:
  ReceiveCaller(Workbench& bench, Quota& quota, const std::vector<std::string>& queue_urls, std::uint32_t batch,
                std::uint32_t index, Received& received);
  std::optional<Call> next(Instant now) override;
  void answered(const Answer& answer, Tally& tally) override;

 private:
  Quota& quota_;
  Protocol protocol_;
  std::vector<Prepared> requests_;
  std::size_t queue_;
  std::size_t empty_in_a_row_ = 0;
  Received& received_;
};

/// Step 0: deletes what was received, `batch` a request.
class DeleteCaller final : public Caller {
 public:
  DeleteCaller(Workbench& bench, const std::vector<std::string>& queue_urls, std::uint32_t batch,
               const Received& received);
  std::optional<Call> next(Instant now) override;
  void answered(const Answer& answer, Tally& tally) override;

 private:
  Workbench& bench_;
  const std::vector<std::string>& queue_urls_;
  std::uint32_t batch_;
  const Received& received_;
  std::size_t queue_ = 0;
  std::size_t at_ = 0;
  std::size_t taken_ = 0;
  std::string body_;
  std::string bytes_;
};

/// Sends a batch, receives until as many have come (anybody's), deletes each as it comes. Steps: 0 send, 1 receive,
/// 2 delete, 3 the whole cycle; 4 receives that came back empty.
class CycleCaller final : public Caller {
 public:
  static std::vector<std::string> steps(std::uint32_t batch);

  CycleCaller(Workbench& bench, Quota& quota, std::string queue_url, const MessageShape& shape,
              std::uint64_t first_number, std::uint64_t seed);
  std::optional<Call> next(Instant now) override;
  void answered(const Answer& answer, Tally& tally) override;
  void failed() override { state_ = State::Send; }

 private:
  enum class State { Send, Receive, Delete };
  std::string_view make(Action action, Instant now);
  Workbench& bench_;
  Quota& quota_;
  std::string queue_url_;
  MessageShape shape_;
  std::uint64_t number_;
  Rng rng_;
  std::vector<Prepared> receives_;  // of 1, 2, ... messages: who took more than it sent would leave another waiting for ever
  std::optional<Prepared> send_;  // of a standard queue
  State state_ = State::Send;
  bool cycle_begun_ = false;
  Instant cycle_begin_{};
  std::uint32_t deleted_ = 0;  // in this cycle
  std::vector<std::string> handles_;
  std::string body_;
  std::string bytes_;
};

}  // namespace fanfare::bench
