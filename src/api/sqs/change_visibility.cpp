// ChangeMessageVisibility and its batch. [SQS ChangeMessageVisibility, ChangeMessageVisibilityBatch]
#include "api/sqs/actions.h"
#include "api/sqs/batch_answer.h"
#include "api/sqs/validate.h"

namespace fanfare::api::sqs {
namespace {

Result<queue::VisibilityTimeout, ApiError> timeout_of(const wire::aws::Number& given) {
  auto timeout = setting_of<queue::VisibilityTimeout>(given, "VisibilityTimeout",
                                                      "VisibilityTimeout must be an integer between 0 and 43200.");
  if (!timeout) return timeout.error();
  if (!*timeout) return missing_parameter("VisibilityTimeout");
  return **timeout;
}

}  // namespace

Result<Next, ApiError> change_visibility(const model::ChangeMessageVisibilityRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::ChangeVisibility>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  auto handle = receipt_of(in.receipt_handle, call);
  if (!handle) return handle.error();
  command.handle = *handle;
  auto timeout = timeout_of(in.visibility_timeout);
  if (!timeout) return timeout.error();
  command.timeout = *timeout;
  call.context.visibility_timeout = static_cast<std::uint32_t>(timeout->count());
  call.context.subject = in.receipt_handle.view();
  return Next::Engine;
}

Result<Next, ApiError> change_visibility_batch(const model::ChangeMessageVisibilityBatchRequest& in, Call& call) {
  using Change = engine::ChangeVisibilityBatch::Entry;
  auto& command = call.request.emplace<engine::ChangeVisibilityBatch>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (auto error = check_batch(in.entries, "ChangeMessageVisibilityBatchRequestEntry")) return *std::move(error);
  auto* const changes = call.arena.take_array<Change>(in.entries.size());
  std::size_t count = 0;
  for (const auto& given : in.entries) {
    BatchEntry& entry = keep_entry(call.context, given.id.view(), given.receipt_handle.view());
    auto handle = receipt_of(given.receipt_handle, call);
    auto timeout = timeout_of(given.visibility_timeout);
    if (!handle) {
      refuse_entry(call.context, entry, handle.error());
    } else if (!timeout) {
      refuse_entry(call.context, entry, timeout.error());
    } else {
      changes[count++] = {*handle, *timeout};
      entry.visibility_timeout = static_cast<std::uint32_t>(timeout->count());
    }
  }
  command.entries = {changes, count};
  return Next::Engine;
}

void change_visibility_batch_reply(const engine::BatchDone& done, ReplyCall& call) {
  BatchAnswer<model::ChangeMessageVisibilityBatchResultEntry>(call).write<model::ChangeMessageVisibilityBatchResult>(
      done);
}

}  // namespace fanfare::api::sqs
