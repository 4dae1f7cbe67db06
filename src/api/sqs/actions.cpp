#include "api/sqs/actions.h"

#include "api/sqs/errors.h"
#include "base/assert.h"

namespace fanfare::api::sqs {
namespace {

template <Action action, auto Decode, auto Encode>
constexpr const aws::Handler& handler = aws::HandlerOf<Types<action>, Decode, Encode>::value;

}  // namespace

const aws::Handler& handler_of(Action action) {
  switch (action) {
    case Action::AddPermission: return handler<Action::AddPermission, add_permission, aws::done_reply>;
    case Action::CancelMessageMoveTask:
      return handler<Action::CancelMessageMoveTask, cancel_message_move_task, cancel_message_move_task_reply>;
    case Action::ChangeMessageVisibility:
      return handler<Action::ChangeMessageVisibility, change_visibility, aws::done_reply>;
    case Action::ChangeMessageVisibilityBatch:
      return handler<Action::ChangeMessageVisibilityBatch, change_visibility_batch, change_visibility_batch_reply>;
    case Action::CreateQueue: return handler<Action::CreateQueue, create_queue, create_queue_reply>;
    case Action::DeleteMessage: return handler<Action::DeleteMessage, delete_message, aws::done_reply>;
    case Action::DeleteMessageBatch:
      return handler<Action::DeleteMessageBatch, delete_message_batch, delete_message_batch_reply>;
    case Action::DeleteQueue: return handler<Action::DeleteQueue, delete_queue, aws::done_reply>;
    case Action::GetQueueAttributes:
      return handler<Action::GetQueueAttributes, get_queue_attributes, get_queue_attributes_reply>;
    case Action::GetQueueUrl: return handler<Action::GetQueueUrl, get_queue_url, get_queue_url_reply>;
    case Action::ListDeadLetterSourceQueues:
      return handler<Action::ListDeadLetterSourceQueues, list_dead_letter_source_queues,
                     list_dead_letter_source_queues_reply>;
    case Action::ListMessageMoveTasks:
      return handler<Action::ListMessageMoveTasks, list_message_move_tasks, list_message_move_tasks_reply>;
    case Action::ListQueueTags: return handler<Action::ListQueueTags, list_queue_tags, list_queue_tags_reply>;
    case Action::ListQueues: return handler<Action::ListQueues, list_queues, list_queues_reply>;
    case Action::PurgeQueue: return handler<Action::PurgeQueue, purge_queue, aws::done_reply>;
    case Action::ReceiveMessage: return handler<Action::ReceiveMessage, receive_message, receive_message_reply>;
    case Action::RemovePermission: return handler<Action::RemovePermission, remove_permission, aws::done_reply>;
    case Action::SendMessage: return handler<Action::SendMessage, send_message, send_message_reply>;
    case Action::SendMessageBatch:
      return handler<Action::SendMessageBatch, send_message_batch, send_message_batch_reply>;
    case Action::SetQueueAttributes: return handler<Action::SetQueueAttributes, set_queue_attributes, aws::done_reply>;
    case Action::StartMessageMoveTask:
      return handler<Action::StartMessageMoveTask, start_message_move_task, start_message_move_task_reply>;
    case Action::TagQueue: return handler<Action::TagQueue, tag_queue, aws::done_reply>;
    case Action::UntagQueue: return handler<Action::UntagQueue, untag_queue, aws::done_reply>;
  }
  FANFARE_ASSERT(false, "an action outside its enumeration");
  return handler<Action::UntagQueue, untag_queue, aws::done_reply>;
}

}  // namespace fanfare::api::sqs
