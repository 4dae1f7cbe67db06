// Message move tasks: what takes the messages of a dead-letter queue back, at the pace that was asked for.
//
// Rule 1: a task is a part of its source queue's durable state; each moved message is one record, so a restart goes on where
//         the process stopped. When a slice is due follows from the task alone.
// Rule 2: a task takes what is visible. It ends when nothing is visible any more; what is in flight or delayed stays.
// Rule 3: a moved message is a new one: new id, new age, not received yet. It keeps its content and its group.
// Source: [SQS StartMessageMoveTask, ListMessageMoveTasks], [SQS dead-letter queue redrive].
#include <algorithm>

#include "base/marks.h"
#include "core/engine/engine_core.h"
#include "core/engine/record.h"

namespace fanfare::engine {
namespace {

using Code = QueueError::Code;
using Status = MoveTask::Status;
using Failure = MoveTask::Failure;

constexpr std::size_t kRunningPerAccountMax = 100;
constexpr std::chrono::hours kLongest{36};
// A slice moves this many, so that it holds the engine for some tenths of a millisecond.
constexpr std::uint64_t kPerSlice = 256;
// Below this time two slices become one: each costs a commit.
constexpr milliseconds kBetweenSlices{20};
constexpr seconds kRetry{1};

QueueError error(Code code) { return {code, {}, {}, 0, 0}; }

/// When the message that would be the task's number `moved` may go.
Timestamp due(const MoveTask& task, std::uint64_t moved) {
  const std::uint64_t ahead = moved - task.paced_moved;
  return task.paced_from + milliseconds{static_cast<std::int64_t>(ahead * 1000 / task.per_second_max)};
}

Timestamp next_slice(const MoveTask& task, Timestamp now) {
  if (task.per_second_max == 0) return now;
  const auto together = std::max<std::uint64_t>(
      1, task.per_second_max * static_cast<std::uint64_t>(kBetweenSlices.count()) / 1000);
  return due(task, task.moved + together - 1);
}

/// How many messages may go now.
std::uint64_t allowed(const MoveTask& task, Timestamp now) {
  if (task.per_second_max == 0) return kPerSlice;
  std::uint64_t count = 0;
  while (count < kPerSlice && count < task.per_second_max && due(task, task.moved + count) <= now) ++count;
  return count;
}

}  // namespace

void count_moved(MoveTask& task, Timestamp now) {
  // Time in which nothing could be moved is not made up for in a burst.
  if (task.per_second_max != 0 && due(task, task.moved) + seconds{1} < now) {
    task.paced_from = now;
    task.paced_moved = task.moved;
  }
  ++task.moved;
}

bool EngineCore::is_dead_letter_queue(const QueueState& queue) const {
  const QueueKeyView key = queue.key.view();
  auto next = queue_names_.lower_bound({key.account, key.region, {}});
  for (; next != queue_names_.end() && next->first.account == key.account && next->first.region == key.region; ++next) {
    const auto& redrive = next->second->settings.redrive_policy;
    if (redrive && redrive->dead_letter_queue == queue.key) return true;
  }
  return false;
}

QueueState* EngineCore::move_source_for(const Caller& caller, const QueueKeyView& key, std::string_view action) {
  if (find_queue(key) == nullptr) {
    if (!refused_of_missing(caller, action, QueueKey{key}.arn().str())) reply(caller.id, error(Code::MoveSourceMissing));
    return nullptr;
  }
  return queue_for(caller, key, action, true);
}

void EngineCore::run(const Caller& caller, const StartMoveTask& command) {
  QueueState* source = move_source_for(caller, command.source, "sqs:StartMessageMoveTask");
  if (source == nullptr || refused_by_storage(caller)) return;
  // A task takes messages out and sends them in its caller's name. [SQS API permissions: StartMessageMoveTask]
  for (const std::string_view action : {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"})
    if (refused(caller, action, *source, true)) return;
  if (!is_dead_letter_queue(*source)) return reply(caller.id, error(Code::MoveSourceIsNoDeadLetterQueue));
  if (command.destination) {
    const QueueState* destination = find_queue(*command.destination);
    if (destination == nullptr) return reply(caller.id, error(Code::MoveDestinationMissing));
    if (destination == source) return reply(caller.id, error(Code::MoveDestinationIsSource));
    if (destination->settings.fifo != source->settings.fifo) return reply(caller.id, error(Code::MoveDestinationOfOtherType));
    if (refused(caller, "sqs:SendMessage", *destination, true)) return;
  } else {
    // Back to where they came from.
    for (const auto& [key, queue] : queue_names_) {
      const auto& redrive = queue->settings.redrive_policy;
      if (redrive && redrive->dead_letter_queue == source->key && refused(caller, "sqs:SendMessage", *queue, true)) return;
    }
  }
  if (source->running_move() != nullptr) return reply(caller.id, error(Code::MoveTaskRunning));
  const auto running = std::count_if(moves_due_.begin(), moves_due_.end(), [&](const auto& entry) {
    return queue_by_number(entry.second)->key.account == source->key.account;
  });
  if (static_cast<std::size_t>(running) >= kRunningPerAccountMax) return reply(caller.id, error(Code::TooManyMoveTasks));
  MoveTaskStartedEvent event{source->id.number, command.fresh_id, std::nullopt, command.per_second_max,
                             source->messages.counts().visible};
  if (command.destination) event.destination.emplace(*command.destination);
  record(event);
  note_move(*source);
  reply_when_durable(caller.id, MoveTaskStarted{&source->key, command.fresh_id});
}

void EngineCore::run(const Caller& caller, const CancelMoveTask& command) {
  QueueState* source = move_source_for(caller, command.source, "sqs:CancelMessageMoveTask");
  if (source == nullptr) return;
  const auto task = std::find_if(source->move_tasks.begin(), source->move_tasks.end(),
                                 [&](const MoveTask& one) { return one.id == command.task; });
  if (task == source->move_tasks.end()) return reply(caller.id, error(Code::MoveTaskMissing));
  if (task->status != Status::Running) return reply(caller.id, error(Code::MoveTaskNotRunning));
  record(MoveTaskEndedEvent{source->id.number, Status::Cancelled, Failure::None});
  note_move(*source);
  reply_when_durable(caller.id, MoveTaskCancelled{source->move_tasks.back().moved});
}

void EngineCore::run(const Caller& caller, const ListMoveTasks& command) {
  QueueState* source = move_source_for(caller, command.source, "sqs:ListMessageMoveTasks");
  if (source == nullptr) return;
  MoveTasks tasks{&source->key, {}};
  for (auto task = source->move_tasks.rbegin(); task != source->move_tasks.rend() && tasks.tasks.size() < command.limit; ++task)
    tasks.tasks.push_back(*task);
  reply(caller.id, std::move(tasks));
}

// Brings moves_due_ in line with the queue's running task, or takes it out if there is none.
void EngineCore::note_move(QueueState& source, std::optional<Timestamp> at) {
  if (source.move_at) moves_due_.erase({*source.move_at, source.id.number});
  source.move_at.reset();
  const MoveTask* task = source.running_move();
  if (task == nullptr || source.deleted) return;
  source.move_at = at ? *at : std::max(now_, next_slice(*task, now_));
  moves_due_.emplace(*source.move_at, source.id.number);
}

void EngineCore::run_moves() {
  std::vector<std::uint32_t> due_now;
  for (const auto& [at, number] : moves_due_) {
    if (at > now_) break;
    due_now.push_back(number);
  }
  for (const std::uint32_t number : due_now) {
    QueueState& source = *queue_by_number(number);
    if (storage_full_ || !move_slice(source)) {
      // At the next full second: when follows from the time alone.
      note_move(source, timestamp_from_unix_ms((unix_ms(now_) / 1000) * 1000) + kRetry);
    } else {
      note_move(source);
    }
  }
}

// False if there are messages and none of them can go now.
bool EngineCore::move_slice(QueueState& source) {
  bring_up_to_date(source);
  const MoveTask& task = source.move_tasks.back();
  const auto end = [&](Status status, Failure failure) {
    record(MoveTaskEndedEvent{source.id.number, status, failure});
    return true;
  };
  if (task.started_at + kLongest <= now_) return end(Status::Failed, Failure::TimedOut);
  for (std::uint64_t left = allowed(task, now_); left > 0; --left) {
    const queue::Entry* entry = source.messages.first_ready();
    if (entry == nullptr) {
      if (source.messages.counts().visible == 0) return end(Status::Completed, Failure::None);
      return false;  // groups that are in flight
    }
    if (entry->sent_at + source.settings.retention_period.value() <= now_) {
      removed_.push_back(source.messages.apply(queue::Removed{entry->sequence, now_}));
      release_expired(source);
      continue;
    }
    QueueState* to = nullptr;
    if (task.destination) {
      to = find_queue(task.destination->view());
    } else {
      if (entry->dead_letter_source == 0) return end(Status::Failed, Failure::SourceUnknown);
      to = find_queue(queue_by_number(entry->dead_letter_source)->key.view());
    }
    if (to == nullptr || to == &source || to->settings.fifo != source.settings.fifo)
      return end(Status::Failed, Failure::DestinationMissing);
    bring_up_to_date(*to);
    const SequenceNumber sequence = to->messages.next_sequence();
    record(MessageMovedEvent{source.id.number, entry->sequence.value, to->id.number, sequence.value});
    to->moved_in = {sequence, log_end_};
    note_arrival(*to);
    note_deadline(*to);
  }
  if (source.messages.counts().visible == 0) end(Status::Completed, Failure::None);
  note_deadline(source);
  return true;
}

}  // namespace fanfare::engine
