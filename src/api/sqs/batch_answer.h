// The two lists that answer every SQS batch: what succeeded and what failed, each in the order of the request.
#pragma once

#include "api/aws/call.h"
#include "api/aws/sqs_model.h"
#include "api/sqs/errors.h"

namespace fanfare::api::sqs {

/// `Entry` is the action's result entry.
template <class Entry>
class BatchAnswer {
 public:
  explicit BatchAnswer(aws::ReplyCall& call)
      : call_(call),
        successful_(call.answer.arena.take_array<Entry>(call.context.batch.size())),
        failed_(call.answer.arena.take_array<model::BatchResultErrorEntry>(call.context.batch.size())) {}

  /// An entry that never reached the engine is written as failed; then the engine has no result for it.
  bool was_refused(const BatchEntry& entry) {
    if (entry.error < 0) return false;
    fail(entry, call_.context.errors[static_cast<std::size_t>(entry.error)]);
    return true;
  }
  Entry& succeed(const BatchEntry& entry) {
    Entry& out = successful_[successes_++];
    out.id = entry.id(call_.context.texts);
    return out;
  }
  void fail(const BatchEntry& entry, const engine::QueueError& error) {
    fail(entry, api_error(error, {.named = entry.handle(call_.context.texts),
                                  .visibility_timeout = entry.visibility_timeout,
                                  .fifo_name = false,
                                  .in_batch = true}));
  }
  void fail(const BatchEntry& entry, const aws::ApiError& error) {
    auto& out = failed_[failures_++];
    out.id = entry.id(call_.context.texts);
    out.code = error.kind.query_code;
    out.message = call_.answer.arena.copy(error.message);
    out.sender_fault = error.kind.sender_fault;
  }
  /// The answer of batches whose entries succeed without saying more.
  template <class Output>
  void write(const engine::BatchDone& done) {
    std::size_t next = 0;
    for (const BatchEntry& entry : call_.context.batch) {
      if (was_refused(entry)) continue;
      if (const auto& error = done.errors[next++]) {
        fail(entry, *error);
      } else {
        succeed(entry);
      }
    }
    write<Output>();
  }
  template <class Output>
  void write() {
    Output out;
    out.successful = {successful_, successes_};
    out.failed = {failed_, failures_};
    // A list without entries is left out, as AWS does.
    if (failures_ == 0) out.failed = {};
    if (successes_ == 0) out.successful = {};
    call_.answer.write(out);
  }

 private:
  aws::ReplyCall& call_;
  Entry* successful_;
  model::BatchResultErrorEntry* failed_;
  std::size_t successes_ = 0;
  std::size_t failures_ = 0;
};

}  // namespace fanfare::api::sqs
