#include "bench/message_callers.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/answer.h"

namespace fanfare::bench {
namespace {

constexpr std::chrono::minutes kSignatureAge{4};  // the services accept fifteen
constexpr std::uint32_t kReceiveMost = 10;        // messages a receive [SQS ReceiveMessage]

void write_receive(Body& body, std::string_view queue_url, std::uint32_t batch, int wait_seconds) {
  body.text("QueueUrl", queue_url)
      .number("MaxNumberOfMessages", std::min(batch, kReceiveMost))
      .number("WaitTimeSeconds", wait_seconds);
}

void write_delete(Body& body, std::string_view queue_url, std::span<const std::string> handles, bool as_batch) {
  body.text("QueueUrl", queue_url);
  if (!as_batch) {
    body.text("ReceiptHandle", handles.front());
    return;
  }
  body.entries("Entries", "DeleteMessageBatchRequestEntry");
  int id = 0;
  for (const std::string& handle : handles)
    body.entry().text("Id", fmt::format("{}", id++)).text("ReceiptHandle", handle);
}

}  // namespace

Prepared::Prepared(Workbench& bench, Action action, const WriteBody& write) : bench_(bench), action_(action) {
  Body body{bench.writer.protocol(), action, body_};
  write(body);
  body.finish();
}

std::string_view Prepared::bytes(Instant now) {
  if (bytes_.empty() || now - made_ > kSignatureAge) {
    bytes_.clear();
    bench_.writer.append(bytes_, action_, body_, bench_.wall(now));
    made_ = now;
  }
  return bytes_;
}

RepeatCaller::RepeatCaller(Workbench& bench, Quota& quota, Action action, std::uint64_t messages,
                           const WriteBody& write)
    : quota_(quota),
      protocol_(is_of_sns(action) ? Protocol::Query : bench.writer.protocol()),
      messages_(messages),
      is_batch_(action == Action::SendMessageBatch),
      request_(bench, action, write) {}

std::optional<Caller::Call> RepeatCaller::next(Instant now) {
  if (quota_.most != UINT64_MAX && quota_.begun.fetch_add(1, std::memory_order_relaxed) >= quota_.most)
    return std::nullopt;
  return Call{0, request_.bytes(now)};
}

void RepeatCaller::answered(const Answer& answer, Tally& tally) {
  const std::uint64_t refused = is_batch_ ? count_refused(answer.body, protocol_) : 0;
  if (refused > 0) tally.error(answer.body.substr(0, 300));
  quota_.finished.fetch_add(messages_ - refused, std::memory_order_relaxed);
  tally.add(0, answer.now - answer.begun, messages_ - refused);
}

void write_send(Body& body, std::string_view queue_url, const MessageShape& shape, std::uint64_t& number, Rng& rng) {
  const auto message = [&](std::uint64_t one) {
    body.text("MessageBody", std::string(shape.body_bytes, 'x'));
    if (shape.groups == 0) return;
    body.text("MessageGroupId", fmt::format("group-{}", rng.below(shape.groups)));
    body.text("MessageDeduplicationId", fmt::format("{}-{}", shape.run, one));
  };
  body.text("QueueUrl", queue_url);
  if (shape.batch <= 1) {
    message(number++);
    return;
  }
  body.entries("Entries", "SendMessageBatchRequestEntry");
  for (std::uint32_t i = 0; i < shape.batch; ++i) {
    body.entry().text("Id", fmt::format("{}", i));
    message(number++);
  }
}

FifoFillCaller::FifoFillCaller(Workbench& bench, Quota& quota, std::string queue_url, const MessageShape& shape,
                               std::uint64_t first_number, std::uint64_t seed)
    : bench_(bench),
      quota_(quota),
      queue_url_(std::move(queue_url)),
      shape_(shape),
      number_(first_number),
      rng_(seed) {}

std::optional<Caller::Call> FifoFillCaller::next(Instant now) {
  if (quota_.begun.fetch_add(shape_.batch) >= quota_.most) return std::nullopt;
  const Action action = shape_.batch > 1 ? Action::SendMessageBatch : Action::SendMessage;
  body_.clear();
  bytes_.clear();
  Body body{bench_.writer.protocol(), action, body_};
  write_send(body, queue_url_, shape_, number_, rng_);
  body.finish();
  bench_.writer.append(bytes_, action, body_, bench_.wall(now));
  return Call{0, bytes_};
}

void FifoFillCaller::answered(const Answer& answer, Tally& tally) {
  const std::uint64_t refused = count_refused(answer.body, bench_.writer.protocol());
  if (refused > 0) tally.error(answer.body.substr(0, 300));
  tally.add(0, answer.now - answer.begun, shape_.batch - refused);
}

ReceiveCaller::ReceiveCaller(Workbench& bench, Quota& quota, const std::vector<std::string>& queue_urls,
                             std::uint32_t batch, std::uint32_t index, Received& received)
    : quota_(quota), protocol_(bench.writer.protocol()), queue_(index % queue_urls.size()), received_(received) {
  received_.resize(queue_urls.size());
  for (const std::string& url : queue_urls)
    requests_.emplace_back(bench, Action::ReceiveMessage, [&](Body& body) { write_receive(body, url, batch, 0); });
}

std::optional<Caller::Call> ReceiveCaller::next(Instant now) {
  if (quota_.finished >= quota_.most || empty_in_a_row_ >= 3 * requests_.size()) return std::nullopt;
  queue_ = (queue_ + 1) % requests_.size();
  return Call{0, requests_[queue_].bytes(now)};
}

void ReceiveCaller::answered(const Answer& answer, Tally& tally) {
  std::vector<std::string>& handles = received_[queue_];
  const std::size_t before = handles.size();
  find_texts(answer.body, protocol_, "ReceiptHandle", handles);
  const std::size_t got = handles.size() - before;
  empty_in_a_row_ = got == 0 ? empty_in_a_row_ + 1 : 0;
  quota_.finished += got;
  tally.add(0, answer.now - answer.begun, got);
}

DeleteCaller::DeleteCaller(Workbench& bench, const std::vector<std::string>& queue_urls, std::uint32_t batch,
                           const Received& received)
    : bench_(bench), queue_urls_(queue_urls), batch_(batch), received_(received) {}

std::optional<Caller::Call> DeleteCaller::next(Instant now) {
  while (queue_ < received_.size() && at_ == received_[queue_].size()) {
    ++queue_;
    at_ = 0;
  }
  if (queue_ == received_.size()) return std::nullopt;
  const Action action = batch_ > 1 ? Action::DeleteMessageBatch : Action::DeleteMessage;
  const std::span<const std::string> handles{received_[queue_]};
  taken_ = std::min<std::size_t>(batch_, handles.size() - at_);
  body_.clear();
  bytes_.clear();
  Body body{bench_.writer.protocol(), action, body_};
  write_delete(body, queue_urls_[queue_], handles.subspan(at_, taken_), batch_ > 1);
  body.finish();
  at_ += taken_;
  bench_.writer.append(bytes_, action, body_, bench_.wall(now));
  return Call{0, bytes_};
}

void DeleteCaller::answered(const Answer& answer, Tally& tally) {
  const std::uint64_t refused = count_refused(answer.body, bench_.writer.protocol());
  if (refused > 0) tally.error(answer.body.substr(0, 300));
  tally.add(0, answer.now - answer.begun, taken_ - refused);
}

std::vector<std::string> CycleCaller::steps(std::uint32_t batch) {
  return {batch > 1 ? "SendMessageBatch" : "SendMessage", "ReceiveMessage",
          batch > 1 ? "DeleteMessageBatch" : "DeleteMessage", "cycle", "ReceiveMessage (empty)"};
}

CycleCaller::CycleCaller(Workbench& bench, Quota& quota, std::string queue_url, const MessageShape& shape,
                         std::uint64_t first_number, std::uint64_t seed)
    : bench_(bench),
      quota_(quota),
      queue_url_(std::move(queue_url)),
      shape_(shape),
      number_(first_number),
      rng_(seed) {
  for (std::uint32_t most = 1; most <= std::max(shape.batch, 1U); ++most)
    receives_.emplace_back(bench, Action::ReceiveMessage, [&](Body& body) { write_receive(body, queue_url_, most, 1); });
  if (shape.groups == 0)
    send_.emplace(bench, shape.batch > 1 ? Action::SendMessageBatch : Action::SendMessage,
                  [&](Body& body) { write_send(body, queue_url_, shape, number_, rng_); });
}

std::string_view CycleCaller::make(Action action, Instant now) {
  body_.clear();
  bytes_.clear();
  Body body{bench_.writer.protocol(), action, body_};
  if (state_ == State::Send) {
    write_send(body, queue_url_, shape_, number_, rng_);
  } else {
    write_delete(body, queue_url_, handles_, action == Action::DeleteMessageBatch);
  }
  body.finish();
  bench_.writer.append(bytes_, action, body_, bench_.wall(now));
  return bytes_;
}

std::optional<Caller::Call> CycleCaller::next(Instant now) {
  const bool batch = shape_.batch > 1;
  switch (state_) {
    case State::Send:
      if (quota_.most != UINT64_MAX && quota_.begun.fetch_add(1) >= quota_.most) return std::nullopt;
      cycle_begun_ = false;
      deleted_ = 0;
      return Call{0, send_ ? send_->bytes(now) : make(batch ? Action::SendMessageBatch : Action::SendMessage, now)};
    case State::Receive: return Call{1, receives_[std::max(shape_.batch, 1U) - deleted_ - 1].bytes(now)};
    case State::Delete: return Call{2, make(batch ? Action::DeleteMessageBatch : Action::DeleteMessage, now)};
  }
  return std::nullopt;
}

void CycleCaller::answered(const Answer& answer, Tally& tally) {
  const Protocol protocol = bench_.writer.protocol();
  const nanoseconds latency = answer.now - answer.begun;
  if (!std::exchange(cycle_begun_, true)) cycle_begin_ = answer.begun;
  switch (state_) {
    case State::Send: {
      const std::uint64_t refused = shape_.batch > 1 ? count_refused(answer.body, protocol) : 0;
      if (refused > 0) tally.error(answer.body.substr(0, 300));
      tally.add(0, latency, shape_.batch - refused);
      state_ = State::Receive;
      return;
    }
    case State::Receive:
      handles_.clear();
      find_texts(answer.body, protocol, "ReceiptHandle", handles_);
      tally.add(handles_.empty() ? 4 : 1, latency, handles_.size());
      if (!handles_.empty()) state_ = State::Delete;
      return;
    case State::Delete: {
      const std::uint64_t refused = shape_.batch > 1 ? count_refused(answer.body, protocol) : 0;
      if (refused > 0) tally.error(answer.body.substr(0, 300));
      tally.add(2, latency, handles_.size() - refused);
      deleted_ += static_cast<std::uint32_t>(handles_.size());
      if (deleted_ < shape_.batch) {
        state_ = State::Receive;
        return;
      }
      quota_.finished += deleted_;
      tally.add(3, answer.now - cycle_begin_, deleted_);
      state_ = State::Send;
      return;
    }
  }
}

}  // namespace fanfare::bench
