// DeleteMessage and DeleteMessageBatch. [SQS DeleteMessage, DeleteMessageBatch]
#include "api/sqs/actions.h"
#include "api/sqs/batch_answer.h"
#include "api/sqs/validate.h"

namespace fanfare::api::sqs {

Result<Next, ApiError> delete_message(const model::DeleteMessageRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::DeleteMessage>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  auto handle = receipt_of(in.receipt_handle, call);
  if (!handle) return handle.error();
  command.handle = *handle;
  call.context.subject = in.receipt_handle.view();
  return Next::Engine;
}

Result<Next, ApiError> delete_message_batch(const model::DeleteMessageBatchRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::DeleteMessageBatch>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (auto error = check_batch(in.entries, "DeleteMessageBatchRequestEntry")) return *std::move(error);
  auto* const handles = call.arena.take_array<engine::ReceiptHandle>(in.entries.size());
  std::size_t count = 0;
  for (const auto& given : in.entries) {
    BatchEntry& entry = keep_entry(call.context, given.id.view(), given.receipt_handle.view());
    auto handle = receipt_of(given.receipt_handle, call);
    if (handle) {
      handles[count++] = *handle;
    } else {
      refuse_entry(call.context, entry, handle.error());
    }
  }
  command.handles = {handles, count};
  return Next::Engine;
}

void delete_message_batch_reply(const engine::BatchDone& done, ReplyCall& call) {
  BatchAnswer<model::DeleteMessageBatchResultEntry>(call).write<model::DeleteMessageBatchResult>(done);
}

}  // namespace fanfare::api::sqs
