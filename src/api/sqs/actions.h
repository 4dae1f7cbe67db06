// SQS's actions: each has a function from its decoded input to a command, and one from the engine's reply to its
// output. The registry (handler_of) is one exhaustive switch, so no action of the model can be forgotten.
#pragma once

#include "api/aws/call.h"
#include "api/aws/sqs_model.h"

namespace fanfare::api::sqs {

const aws::Handler& handler_of(Action action);

using aws::ApiError;
using aws::Call;
using aws::Next;
using aws::ReplyCall;

// send_message.cpp
Result<Next, ApiError> send_message(const model::SendMessageRequest& in, Call& call);
void send_message_reply(const engine::MessageSent& sent, ReplyCall& call);
Result<Next, ApiError> send_message_batch(const model::SendMessageBatchRequest& in, Call& call);
void send_message_batch_reply(const engine::BatchSent& sent, ReplyCall& call);

// receive_message.cpp
Result<Next, ApiError> receive_message(const model::ReceiveMessageRequest& in, Call& call);
void receive_message_reply(const engine::MessagesReceived& received, ReplyCall& call);

// delete_message.cpp
Result<Next, ApiError> delete_message(const model::DeleteMessageRequest& in, Call& call);
Result<Next, ApiError> delete_message_batch(const model::DeleteMessageBatchRequest& in, Call& call);
void delete_message_batch_reply(const engine::BatchDone& done, ReplyCall& call);

// change_visibility.cpp
Result<Next, ApiError> change_visibility(const model::ChangeMessageVisibilityRequest& in, Call& call);
Result<Next, ApiError> change_visibility_batch(const model::ChangeMessageVisibilityBatchRequest& in, Call& call);
void change_visibility_batch_reply(const engine::BatchDone& done, ReplyCall& call);

// queues.cpp
Result<Next, ApiError> create_queue(const model::CreateQueueRequest& in, Call& call);
void create_queue_reply(const engine::QueueFound& found, ReplyCall& call);
Result<Next, ApiError> get_queue_url(const model::GetQueueUrlRequest& in, Call& call);
void get_queue_url_reply(const engine::QueueFound& found, ReplyCall& call);
Result<Next, ApiError> list_queues(const model::ListQueuesRequest& in, Call& call);
void list_queues_reply(const engine::QueueNames& names, ReplyCall& call);
Result<Next, ApiError> list_dead_letter_source_queues(const model::ListDeadLetterSourceQueuesRequest& in, Call& call);
void list_dead_letter_source_queues_reply(const engine::QueueNames& names, ReplyCall& call);
Result<Next, ApiError> delete_queue(const model::DeleteQueueRequest& in, Call& call);
Result<Next, ApiError> purge_queue(const model::PurgeQueueRequest& in, Call& call);

// queue_attributes.cpp
Result<Next, ApiError> get_queue_attributes(const model::GetQueueAttributesRequest& in, Call& call);
void get_queue_attributes_reply(const engine::QueueDescription& description, ReplyCall& call);
Result<Next, ApiError> set_queue_attributes(const model::SetQueueAttributesRequest& in, Call& call);
/// What CreateQueue and SetQueueAttributes are given, checked. The redrive policy's text is kept in `context.subject`
/// for errors.
Result<queue::AttributeChanges, ApiError> read_attributes(const wire::aws::Map<wire::aws::Text>& given,
                                                          ReplyContext& context);

// permissions.cpp
Result<Next, ApiError> add_permission(const model::AddPermissionRequest& in, Call& call);
Result<Next, ApiError> remove_permission(const model::RemovePermissionRequest& in, Call& call);

// move_tasks.cpp
Result<Next, ApiError> start_message_move_task(const model::StartMessageMoveTaskRequest& in, Call& call);
void start_message_move_task_reply(const engine::MoveTaskStarted& started, ReplyCall& call);
Result<Next, ApiError> cancel_message_move_task(const model::CancelMessageMoveTaskRequest& in, Call& call);
void cancel_message_move_task_reply(const engine::MoveTaskCancelled& cancelled, ReplyCall& call);
Result<Next, ApiError> list_message_move_tasks(const model::ListMessageMoveTasksRequest& in, Call& call);
void list_message_move_tasks_reply(const engine::MoveTasks& tasks, ReplyCall& call);

// tags.cpp
Result<Next, ApiError> tag_queue(const model::TagQueueRequest& in, Call& call);
Result<Next, ApiError> untag_queue(const model::UntagQueueRequest& in, Call& call);
Result<Next, ApiError> list_queue_tags(const model::ListQueueTagsRequest& in, Call& call);
void list_queue_tags_reply(const engine::Tags& tags, ReplyCall& call);
/// Keys 1 to 128 characters, values up to 256, at most 50 of them.
Result<std::span<const engine::Tag>, ApiError> read_tags(const wire::aws::Map<wire::aws::Text>& given, Call& call);

}  // namespace fanfare::api::sqs
