// StartMessageMoveTask, CancelMessageMoveTask, ListMessageMoveTasks. [SQS StartMessageMoveTask]
#include <fmt/format.h>

#include "api/sqs/actions.h"
#include "api/sqs/errors.h"
#include "api/sqs/validate.h"
#include "wire/digest/encoding.h"
#include "wire/json/value.h"

namespace fanfare::api::sqs {
namespace {

constexpr std::int64_t kPerSecondMax = 500;
constexpr std::int64_t kListedMax = 10;

ApiError no_such_resource(std::string_view parameter) {
  return api_error(Error::ResourceNotFoundException,
                   fmt::format("The resource that you specified for the {} parameter doesn't exist.", parameter));
}

/// An ARN that names no queue names none that exists, and so does one of another region: each region is a service of its
/// own, which knows nothing of the others.
Result<queue::QueueKeyView, ApiError> queue_of_arn(const wire::aws::Text& arn, std::string_view parameter,
                                                   const Call& call) {
  if (arn.empty()) return missing_parameter(parameter);
  const auto key = queue::parse_queue_arn(arn.view());
  if (!key || key->region != call.region) return no_such_resource(parameter);
  return *key;
}

/// The base64 of {"taskId":"...","sourceArn":"..."}, as AWS writes it.
std::string task_handle(const Uuid& task, const queue::QueueKey& source) {
  return wire::digest::base64(fmt::format(R"({{"taskId":"{}","sourceArn":"{}"}})", task.str(), source.arn().str()));
}

std::string_view text_of(engine::MoveTask::Status status) {
  using enum engine::MoveTask::Status;
  switch (status) {
    case Running: return "RUNNING";
    case Completed: return "COMPLETED";
    case Cancelled: return "CANCELLED";
    case Failed: return "FAILED";
  }
  return {};
}

std::string_view text_of(engine::MoveTask::Failure failure) {
  using enum engine::MoveTask::Failure;
  switch (failure) {
    case None: return {};
    case DestinationMissing: return "AWS.SimpleQueueService.NonExistentQueue";
    case SourceUnknown: return "CouldNotDetermineMessageSource";
    case TimedOut: return "TaskTimedOut";
  }
  return {};
}

}  // namespace

Result<Next, ApiError> start_message_move_task(const model::StartMessageMoveTaskRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::StartMoveTask>();
  auto source = queue_of_arn(in.source_arn, "SourceArn", call);
  if (!source) return source.error();
  command.source = *source;
  if (in.destination_arn.has_value()) {
    auto destination = queue_of_arn(in.destination_arn, "DestinationArn", call);
    if (!destination) return destination.error();
    command.destination = *destination;
  }
  if (const auto& rate = in.max_number_of_messages_per_second; rate.has_value()) {
    if (*rate < 1 || *rate > kPerSecondMax) {
      return invalid_value(std::to_string(*rate), "MaxNumberOfMessagesPerSecond",
                           "Must be between 1 and 500, if provided.");
    }
    command.per_second_max = static_cast<std::uint32_t>(*rate);
  }
  command.fresh_id = Uuid::from_random(call.secrets.bytes16());
  return Next::Engine;
}

void start_message_move_task_reply(const engine::MoveTaskStarted& started, ReplyCall& call) {
  model::StartMessageMoveTaskResult out;
  out.task_handle = call.answer.arena.copy(task_handle(started.task, *started.source));
  call.answer.write(out);
}

Result<Next, ApiError> cancel_message_move_task(const model::CancelMessageMoveTaskRequest& in, Call& call) {
  if (in.task_handle.empty()) return missing_parameter("TaskHandle");
  auto& command = call.request.emplace<engine::CancelMoveTask>();
  const auto invalid = [] {
    return api_error(Error::InvalidParameterValue, "Value for parameter TaskHandle is invalid.");
  };
  const auto text = wire::digest::decode_base64(in.task_handle.view());
  if (!text) return invalid();
  const auto handle = wire::json::parse(*text);
  if (!handle || !handle->is_object()) return invalid();
  const auto task = Uuid::parse(handle->find_string("taskId").value_or(""));
  const auto source = queue::parse_queue_arn(call.arena.copy(handle->find_string("sourceArn").value_or("")));
  if (!task || !source) return invalid();
  if (source->region != call.region) return api_error(Error::ResourceNotFoundException, "Task does not exist.");
  command.task = *task;
  command.source = *source;
  return Next::Engine;
}

void cancel_message_move_task_reply(const engine::MoveTaskCancelled& cancelled, ReplyCall& call) {
  model::CancelMessageMoveTaskResult out;
  out.approximate_number_of_messages_moved = static_cast<std::int64_t>(cancelled.moved);
  call.answer.write(out);
}

Result<Next, ApiError> list_message_move_tasks(const model::ListMessageMoveTasksRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::ListMoveTasks>();
  auto source = queue_of_arn(in.source_arn, "SourceArn", call);
  if (!source) return source.error();
  command.source = *source;
  if (in.max_results.has_value()) {
    if (*in.max_results < 1 || *in.max_results > kListedMax) {
      return invalid_value(std::to_string(*in.max_results), "MaxResults", "Must be between 1 and 10, if provided.");
    }
    command.limit = static_cast<std::size_t>(*in.max_results);
  }
  return Next::Engine;
}

void list_message_move_tasks_reply(const engine::MoveTasks& tasks, ReplyCall& call) {
  wire::aws::Arena& arena = call.answer.arena;
  auto* const entries = arena.take_array<model::ListMessageMoveTasksResultEntry>(tasks.tasks.size());
  const std::string_view source_arn = arena.copy(tasks.source->arn().str());
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    const engine::MoveTask& task = tasks.tasks[i];
    auto& out = entries[i];
    out.approximate_number_of_messages_moved = static_cast<std::int64_t>(task.moved);
    out.approximate_number_of_messages_to_move = static_cast<std::int64_t>(task.to_move);
    if (task.destination) out.destination_arn = arena.copy(task.destination->arn().str());
    if (task.failure != engine::MoveTask::Failure::None) out.failure_reason = text_of(task.failure);
    if (task.per_second_max != 0) out.max_number_of_messages_per_second = static_cast<std::int64_t>(task.per_second_max);
    out.source_arn = source_arn;
    out.started_timestamp = unix_ms(task.started_at);
    out.status = text_of(task.status);
    // Only a running task can be cancelled, and only its handle is told. [SQS ListMessageMoveTasks]
    if (task.status == engine::MoveTask::Status::Running) out.task_handle = arena.copy(task_handle(task.id, *tasks.source));
  }
  model::ListMessageMoveTasksResult out;
  out.results = {entries, tasks.tasks.size()};
  call.answer.write(out);
}

}  // namespace fanfare::api::sqs
