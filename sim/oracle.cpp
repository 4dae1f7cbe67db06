// The checks, in the order in which a request lives: handed in, answered, or never.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/oracle.h"
#include "sim/oracle_terms.h"
#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"

namespace fanfare::sim {
void Oracle::fail(Property property, const std::string& text) const { throw Failure(std::string{text_of(property).name}, text); }

// ---- What is handed in ----------------------------------------------------------------------------------------------

void Oracle::handled(const CallPtr& pointer, const Moment& moment) {
  Call& call = *pointer;
  call.handled_turn = moment.turn;
  if (!call.beside.empty()) return;
  turn_ = std::max(turn_, moment.turn);
  call.handled_order = ++handled_count_;
  if (call.action == Action::Receive) open_receives_.push_back(pointer);
  call.handled_at = moment.now;
  if (!call.attempt.empty()) handled_attempt(call, moment);
  switch (call.action) {
    case Action::Send:
    case Action::SendBatch: return handled_send(call, moment);
    case Action::Publish:
    case Action::PublishBatch: return handled_publish(call, moment);
    case Action::Delete:
    case Action::DeleteBatch:
    case Action::Change:
    case Action::ChangeBatch:
      for (const Entry& entry : call.entries) {
        const auto found = by_handle_.find(entry.handle);
        call.instances.push_back(found == by_handle_.end() ? -1 : found->second.first);
        if (found == by_handle_.end()) continue;
        Instance& instance = instances_[static_cast<std::size_t>(found->second.first)];
        if (call.action == Action::Delete || call.action == Action::DeleteBatch) ++instance.pending_deletes;
      }
      if (call.action == Action::Change || call.action == Action::ChangeBatch) handled_change(call);
      return;
    case Action::Purge:
      queues_[static_cast<std::size_t>(call.queue)].purges.push_back(moment.now);
      return handled_removal(call);
    case Action::DeleteQueue:
      queues_[static_cast<std::size_t>(call.queue)].deletions.push_back(moment.now);
      handled_removal(call);
      return ask_configuration(call);
    case Action::StartMove: {
      MoveTask task;
      task.call = call.id;
      task.source = call.queue;
      task.destination = call.destination;
      task.rate = call.rate;
      task.from = moment.turn;
      task.began = moment.now;
      tasks_.push_back(std::move(task));
      if (call.destination >= 0) return add_path(call.queue, call.destination);
      for (int queue = 0; queue < static_cast<int>(queues_.size()); ++queue)
        if (queues_[static_cast<std::size_t>(queue)].redrive.any(0, History<int>::kForever, [&](const Redrive& one) { return one.queue == call.queue; }))
          add_path(call.queue, queue);
      return;
    }
    default: return ask_configuration(call);
  }
}

void Oracle::handled_send(Call& call, const Moment& moment) {
  const Queue& queue = queues_[static_cast<std::size_t>(call.queue)];
  for (const Entry& entry : call.entries) {
    int index = -1;
    if (queue.fifo) {  // a retry: the same message again
      if (const auto found = by_token_.find(entry.token); found != by_token_.end())
        for (const int known : found->second)
          if (is_duplicate(queue, instances_[static_cast<std::size_t>(known)].entry, entry)) index = known;
      // Behind the window it is another message, and behind a purge it may be one.
      if (index >= 0) {
        const Instance& before = instances_[static_cast<std::size_t>(index)];
        if (before.never || before.gone != Gone::No || moment.now >= before.earliest + kDedupWindow || before.by_task || !before.dedup_cleared_by.empty())
          index = -1;
      }
    }
    if (index < 0) {
      Instance fresh;
      fresh.token = entry.token;
      fresh.queue = call.queue;
      fresh.entry = entry;
      fresh.earliest = fresh.latest = moment.now;
      fresh.first_turn = moment.turn;
      fresh.starts = starts_;
      index = add_instance(std::move(fresh));
    }
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    const bool other = entry.attribute != instance.entry.attribute || entry.kind != instance.entry.kind || entry.group != instance.entry.group;
    if (!instance.sure) {
      instance.mixed = instance.mixed || other;
      instance.earliest = std::min(instance.earliest, moment.now);  // the clock may have run back over a crash
      instance.latest = std::max(instance.latest, moment.now);
      instance.last_turn = moment.turn;
    } else if (!instance.repeated || moment.now < instance.repeated->earliest) {
      instance.repeated = {moment.now, moment.turn, other};
    }
    ++instance.open_attempts;
    instance.tried_turn = moment.turn;
    call.instances.push_back(index);
  }
}

// ---- What is told ---------------------------------------------------------------------------------------------------

void Oracle::end_attempt(int index, bool applied_is_possible) {
  if (index < 0 || applied_is_possible) return;  // what may have been applied stays an open attempt
  Instance& instance = instances_[static_cast<std::size_t>(index)];
  if (--instance.open_attempts == 0 && !instance.sure) instance.never = true;
}

void Oracle::answered(const CallPtr& pointer, const Answer& answer, const Moment& moment) {
  Call& call = *pointer;
  call.finished = true;
  require(Property::Answered, answer.broken.empty(), [&] { return fmt::format("call {}: {}", call.id, answer.broken); });
  if (!call.beside.empty()) return;
  turn_ = std::max(turn_, moment.turn);
  settle_configuration(call, answer, moment);
  if (!answer.ok()) {
    check_error(call, answer, moment);
    return;
  }
  if (call.queue >= 0 && call.action != Action::CreateQueue && call.action != Action::DeleteQueue) {
    Queue& queue = queues_[static_cast<std::size_t>(call.queue)];
    require(Property::GoneIsGone, queue.may_exist(call.handled_turn, moment.turn),
            [&] { return fmt::format("call {} of turn {} is answered by {}, which was deleted", call.id, call.handled_turn, queue.name); });
    if (call.action == Action::Send || call.action == Action::SendBatch) queue.exists.seen(true, call.handled_turn);
  }
  if (call.topic >= 0 && (call.action == Action::Publish || call.action == Action::PublishBatch || call.action == Action::Subscribe)) {
    Topic& topic = topics_[static_cast<std::size_t>(call.topic)];
    require(Property::GoneIsGone, topic.exists.may_be(true, call.handled_turn, moment.turn),
            [&] { return fmt::format("call {} of turn {} is answered by {}, which was deleted", call.id, call.handled_turn, topic.name); });
  }
  switch (call.action) {
    case Action::Send:
    case Action::SendBatch: return answered_send(call, answer, moment);
    case Action::Publish:
    case Action::PublishBatch: return answered_publish(call, answer, moment);
    case Action::Receive:
      answered_receive(call, answer, moment);
      if (answer.messages.empty()) empties_.push_back({pointer, moment});
      return;
    case Action::Delete:
    case Action::DeleteBatch: return answered_delete(call, answer, moment);
    case Action::Change:
    case Action::ChangeBatch: return answered_change(call, answer, moment);
    case Action::Attributes:
      check_settings(call, answer, moment);
      return answered_attributes(call, answer);
    case Action::Purge:
    case Action::DeleteQueue: return answered_removal(call, moment);
    case Action::StartMove:
    case Action::CancelMove:
    case Action::ListMoves: return answered_moves(call, answer, moment);
    default: return;
  }
}

Oracle::Delivery* Oracle::delivery_of(const Call& call, std::size_t entry) {
  const int index = call.instances[entry];
  const int number = index < 0 ? -1 : by_handle_.at(call.entries[entry].handle).second;
  return number < 0 ? nullptr : &instances_[static_cast<std::size_t>(index)].deliveries[static_cast<std::size_t>(number)];
}

void Oracle::check_error(const Call& call, const Answer& answer, const Moment& moment) {
  const bool maybe_done = answer.status >= 500;
  const std::uint64_t from = call.handled_turn;
  const std::uint64_t to = moment.turn;
  const Queue* queue = call.queue >= 0 ? &queues_[static_cast<std::size_t>(call.queue)] : nullptr;
  const auto subscription_may_be_missing = [&] {
    return call.subscription >= 0 && (subscriptions_[static_cast<std::size_t>(call.subscription)].exists.may_be(false, from, to) ||
                                      call.arn != subscriptions_[static_cast<std::size_t>(call.subscription)].arn);
  };
  const auto any_may_be_missing = [&] {
    return std::any_of(queues_.begin(), queues_.end(), [&](const Queue& one) { return one.may_be_missing(from, to); });
  };
  const auto expected = [&] {
    if (answer.status == 503) {
      note(Property::DiskFull);
      return !moment.disk_in_order;
    }
    if (says(answer, "NonExistentQueue") || says(answer, "QueueDoesNotExist")) {
      if (queue == nullptr || !queue->may_be_missing(from, to)) return false;
      note(Property::QueueMissing);
      if (call.waited) note(Property::WaiterOfDeleted);
      return true;
    }
    if (says(answer, "NotFound") && call.topic >= 0)
      return topics_[static_cast<std::size_t>(call.topic)].exists.may_be(false, from, to) || subscription_may_be_missing();
    if (says(answer, "ReceiptHandleIsInvalid")) return queue != nullptr && !queue->deletions.empty();
    switch (call.action) {
      case Action::Send: {
        const std::int64_t bytes = counted_bytes(call.entries[0]);
        if (!says(answer, "InvalidParameterValue") || bytes <= queue->max_bytes.lowest(from, to)) return false;
        note(Property::TooLong);
        return true;
      }
      case Action::CreateQueue:
        if (says(answer, "QueueDeletedRecently"))
          return std::any_of(queue->deletions.begin(), queue->deletions.end(),
                             [&](Timestamp at) { return clock_back_ || call.handled_at < at + kNameReserved; });
        if (says(answer, "InvalidParameterValue")) return any_may_be_missing();  // its dead-letter queue
        return says(answer, "QueueNameExists") || says(answer, "QueueAlreadyExists");
      case Action::SetAttributes: return says(answer, "InvalidParameterValue") && any_may_be_missing();
      case Action::Delete:
        // FIFO: the lease of the handle has ended. [SQS DeleteMessage]
        return queue->fifo && (says(answer, "InvalidParameterValue") || says(answer, "ReceiptHandle"));
      case Action::Change:
        if (answer.text.find("Total VisibilityTimeout") != std::string::npos) check_too_long(call, 0);
        return says(answer, "InvalidParameterValue");
      case Action::Purge:
        note(Property::PurgeRefused);
        return says(answer, "PurgeQueueInProgress") && std::any_of(queue->purges.begin(), queue->purges.end() - 1, [&](Timestamp at) {
                 return clock_back_ || call.handled_at < at + kNameReserved;
               });
      case Action::Receive: return says(answer, "OverLimit");
      case Action::Subscribe: return says(answer, "InvalidParameter");  // there is one with other attributes
      case Action::StartMove:
        if (says(answer, "ResourceNotFound")) return any_may_be_missing();
        if (!says(answer, "InvalidParameterValue")) return false;
        if (answer.text.find("already a task") == std::string::npos) return true;  // no queue's dead-letter queue
        return std::any_of(tasks_.begin(), tasks_.end(), [&](const MoveTask& one) {
          return one.call != call.id && one.source == call.queue && !one.refused && one.from <= to && one.until >= from;
        });
      case Action::CancelMove: return says(answer, "ResourceNotFound") || says(answer, "UnsupportedOperation");
      case Action::ListMoves: return says(answer, "ResourceNotFound") && queue->may_be_missing(from, to);
      default: return false;
    }
  };
  require(Property::ErrorsExpected, expected(), [&] {
    return fmt::format("call {}: {} {} {}", call.id, answer.status, answer.code, answer.text);
  });
  if (call.action == Action::Change && !maybe_done) refused_change(call, 0);
  if (call.asked_as >= 0) ended_attempt(call);
  // What it took is given back; and that may be lost by a crash. Without a lease another receive of this turn may have had it
  // before that.
  if (call.action == Action::Receive && maybe_done) {
    const bool contested = std::any_of(open_receives_.begin(), open_receives_.end(),
                                       [&](const CallPtr& one) { return one.get() != &call && one->queue == call.queue; });
    const bool late = contested && lease_may_be_over(call, call.waited ? moment.now : call.handled_at, moment);
    lost_receives_.push_back({call.queue, call.waited ? moment.turn : call.handled_turn, false, late, crashes_, moment.turn, call.asked_as, call.handled_at});
  }
  if ((call.action == Action::Purge || call.action == Action::DeleteQueue) && !maybe_done)
    for (const int index : queue->instances) std::erase(instances_[static_cast<std::size_t>(index)].dedup_cleared_by, call.id);
  if (call.action == Action::StartMove && !maybe_done)
    for (MoveTask& task : tasks_)
      if (task.call == call.id) task.refused = true;
  for (const int index : call.instances) {
    switch (call.action) {
      case Action::Send:
      case Action::SendBatch: end_attempt(index, maybe_done); break;
      case Action::Publish:
      case Action::PublishBatch:
        for (const int copy : publications_[static_cast<std::size_t>(index)].copies) end_attempt(copy, maybe_done);
        if (!maybe_done) --publications_[static_cast<std::size_t>(index)].open_attempts;
        break;
      case Action::Delete:
      case Action::DeleteBatch:
      case Action::DeleteQueue:
      case Action::Purge:
        if (index < 0) break;
        --instances_[static_cast<std::size_t>(index)].pending_deletes;
        if (maybe_done) instances_[static_cast<std::size_t>(index)].maybe_gone = true;
        break;
      default: break;
    }
  }
}

void Oracle::answered_send(Call& call, const Answer& answer, const Moment& moment) {
  const Queue& spec = queues_[static_cast<std::size_t>(call.queue)];
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    const EntryAnswer& entry = answer.entries[i];
    const int index = call.instances[i];
    const std::int64_t bytes = counted_bytes(call.entries[i]);
    if (!entry.ok) {
      require(Property::ErrorsExpected, entry.code.find("InvalidParameterValue") != std::string::npos && bytes > spec.max_bytes.lowest(call.handled_turn, moment.turn),
              [&] { return fmt::format("call {} entry {}: {}", call.id, i, entry.code); });
      note(Property::TooLong);
      end_attempt(index, false);
      continue;
    }
    require(Property::SizeRespected, bytes <= spec.max_bytes.highest(call.handled_turn, moment.turn),
            [&] { return fmt::format("call {} entry {}: {} bytes are accepted by {}", call.id, i, bytes, spec.name); });
    if (spec.fifo) {
      accepted_fifo(call, i, index, entry, moment);
      continue;
    }
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    require(Property::Invented, instance.message_id.empty() || instance.message_id == entry.message_id || instance.by_task,
            [&] { return fmt::format("the send of {} is answered with id {}", describe(index), entry.message_id); });
    if (!instance.by_task) instance.message_id = entry.message_id;
    instance.first_id = entry.message_id;
    instance.sure = true;
    instance.sure_turn = moment.turn;
    --instance.open_attempts;
  }
}

void Oracle::accepted_fifo(Call& call, std::size_t i, int index, const EntryAnswer& answer, const Moment& moment) {
  const auto queue = static_cast<std::size_t>(call.queue);
  const Entry& entry = call.entries[i];
  // Whose id is it?
  int owner = -1;
  for (const int other : queues_[queue].instances)
    if (instances_[static_cast<std::size_t>(other)].first_id == answer.message_id) owner = other;
  const auto note_hit = [&](const Instance& original) {
    note(Property::DedupHit);
    if (original.starts < starts_) note(Property::DedupHitAfterRestart);
  };
  if (owner >= 0) {
    const Instance& original = instances_[static_cast<std::size_t>(owner)];
    require(Property::DedupHolds, is_duplicate(queues_[queue], original.entry, entry),
            [&] { return fmt::format("{} of group {} is answered with the id of {}", entry.token, entry.group, describe(owner)); });
    require(Property::DedupHolds, original.sent_sequence.empty() || original.sent_sequence == answer.sequence,
            [&] { return fmt::format("{} is a duplicate of {} and gets sequence {}", entry.token, describe(owner), answer.sequence); });
    if (owner != index || original.sure) {
      require(Property::DedupEnds, call.handled_at < original.latest + kDedupWindow,
              [&] { return fmt::format("{} at {} is taken for a duplicate of {}", entry.token, time_text(call.handled_at), describe(owner)); });
      note_hit(original);
      if (entry.hashed && original.entry.hashed) note(Property::EqualBodies);
      if (entry.hashed != original.entry.hashed) note(Property::HashGiven);
      if (entry.group != original.entry.group) note(Property::DuplicateOfOtherGroup);
    }
    if (owner != index) {
      end_attempt(index, false);
      if (instances_[static_cast<std::size_t>(index)].open_attempts > 0 && !instances_[static_cast<std::size_t>(index)].sure)
        instances_[static_cast<std::size_t>(index)].never = true;  // an earlier attempt would be the original
    }
  } else {
    // Was there one that should have stopped it?
    for (const int other : queues_[queue].instances) {
      const Instance& earlier = instances_[static_cast<std::size_t>(other)];
      if (earlier.entry.dedup == entry.dedup && earlier.entry.group != entry.group && earlier.sure) note(Property::OwnWindowOfGroup);
      if (earlier.token == entry.token && earlier.entry.dedup != entry.dedup && earlier.sure) note(Property::OwnIdOfEqualBody);
      if (!is_duplicate(queues_[queue], earlier.entry, entry) || earlier.queue != call.queue || !earlier.sure || earlier.first_id.empty() || earlier.by_task) continue;
      if (earlier.sure_turn >= call.handled_turn || !earlier.dedup_cleared_by.empty()) continue;
      require(Property::DedupHolds, call.handled_at >= earlier.earliest + kDedupWindow,
              [&] { return fmt::format("{} at {} is accepted in spite of {}", entry.token, time_text(call.handled_at), describe(other)); });
    }
    // The id of a message that was sent without an answer, and is not known yet? What a purge took before is not it.
    for (const int other : queues_[queue].instances) {
      const Instance& open = instances_[static_cast<std::size_t>(other)];
      if (other != index && is_duplicate(queues_[queue], open.entry, entry) && !open.never && (open.gone != Gone::Purged || open.gone_turn >= call.handled_turn) && open.first_id.empty() && open.open_attempts > 0) return;
    }
    // A new message.
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    if (!instance.first_id.empty()) {
      // The same message was accepted before, and again when the window was over.
      Instance again;
      again.token = entry.token;
      again.queue = call.queue;
      again.entry = entry;
      again.earliest = again.latest = call.handled_at;
      again.first_turn = call.handled_turn;
      // An attempt before this one, without an answer, may be what this one repeats.
      if (instance.open_attempts > 1 && instance.repeated) {
        again.earliest = std::min(again.earliest, instance.repeated->earliest);
        again.first_turn = std::min(again.first_turn, instance.repeated->first_turn);
        again.mixed = instance.repeated->other || instance.mixed;
      }
      again.starts = starts_;
      again.open_attempts = 1;
      --instance.open_attempts;
      index = add_instance(std::move(again));
    }
  }
  if (owner < 0 || owner == index) {
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    instance.never = false;
    // A task may have given it another since, also to one that was moved to its dead-letter queue after that.
    if (!instance.by_task && instance.message_id.empty()) instance.message_id = answer.message_id;
    instance.first_id = answer.message_id;
    instance.sent_sequence = answer.sequence;
    if (!instance.moved && !instance.by_task) instance.sequence = answer.sequence;
    if (!instance.sure) instance.sure_turn = moment.turn;
    instance.sure = true;
    --instance.open_attempts;
  }
  // Of one that was repeated nobody knows which attempt was the one.
  if (owner >= 0 || instances_[static_cast<std::size_t>(index)].earliest != call.handled_at) return;
  if (call.handled_order <= queues_[queue].sequences_since) return;
  auto& sequences = queues_[queue].sequences;
  const auto place = sequences.emplace(call.handled_order * 16 + i, answer.sequence).first;
  const bool rises = (place == sequences.begin() || std::prev(place)->second < answer.sequence) &&
                     (std::next(place) == sequences.end() || answer.sequence < std::next(place)->second);
  require(Property::SequenceRises, rises && answer.sequence.size() == 20, [&] {
    return fmt::format("{} in {} gets {}, the one before {}", entry.token, queues_[queue].name, answer.sequence,
                       place == sequences.begin() ? "nothing" : std::prev(place)->second);
  });
}

bool Oracle::may_be_expired(const Instance& instance, Timestamp now) const {
  if (now < instance.earliest + seconds{shortest_retention_}) return false;
  int retention = queues_[static_cast<std::size_t>(instance.queue)].retention.lowest(instance.first_turn, turn_);
  for (std::size_t queue = 0; queue < queues_.size(); ++queue)
    if (static_cast<int>(queue) != instance.queue && (instance.listed & bit(static_cast<int>(queue))) != 0)
      retention = std::min(retention, queues_[queue].shortest_retention);
  return now >= instance.earliest + seconds{retention};
}

std::int64_t Oracle::possible_receives(const Instance& instance, int queue) const {
  std::int64_t count = 0;
  for (const Delivery& delivery : instance.deliveries) count += delivery.queue == queue ? 1 : 0;
  for (const LostReceive& lost : lost_receives_)
    if (lost.queue == queue && lost.turn >= instance.first_turn && counts(lost)) ++count;
  for (const CallPtr& open : open_receives_)
    if (!open->finished && open->queue == queue && open->stalled) ++count;
  return count;
}

bool Oracle::lease_may_be_over(const Call& call, Timestamp began, const Moment& moment) const {
  const Queue& spec = queues_[static_cast<std::size_t>(call.queue)];
  return moment.now >= began + seconds{call.visibility.value_or(spec.visibility.lowest(call.handled_turn, moment.turn))};
}

bool Oracle::surely_there(const Instance& instance, std::uint64_t turn, Timestamp now) const {
  return instance.sure && instance.sure_turn < turn && !instance.never && instance.pending_deletes == 0 && !instance.maybe_gone &&
         instance.gone == Gone::No && !may_be_expired(instance, now);
}

bool Oracle::surely_visible(const Instance& instance, std::uint64_t turn, Timestamp now, const Call* asking) const {
  if (!surely_there(instance, turn, now) || may_be_moved(instance)) return false;
  const Queue& spec = queues_[static_cast<std::size_t>(instance.queue)];
  // Of a FIFO queue's delay the one that holds now decides, for what waits already too. [SQS delay queues]
  const int delay = instance.entry.delay.value_or(spec.fifo ? spec.delay.highest(clock_back_ ? instance.first_turn : turn, turn_) : spec.delay.highest(instance.first_turn, instance.last_turn));
  if (instance.latest + seconds{delay} > now) return false;
  if (!instance.deliveries.empty() && instance.deliveries.back().until > now) return false;
  for (const Delivery& delivery : instance.deliveries)
    if (delivery.before_change && std::max(delivery.until, *delivery.before_change) > now) return false;
  // A receive without an answer may hold it.
  for (const LostReceive& lost : lost_receives_)
    if (lost.queue == instance.queue && lost.turn >= instance.first_turn && counts(lost) && (asking == nullptr || !surely_asks_again(*asking, lost))) return false;
  for (const CallPtr& open : open_receives_)
    if (!open->finished && open->queue == instance.queue && open->stalled) return false;
  return true;
}

int Oracle::find(const Call& call, const ReceivedMessage& message, const std::string& token, std::vector<int>& others) const {
  const auto found = by_token_.find(token);
  if (found == by_token_.end()) return -1;
  const bool enveloped = message.body.starts_with('{');
  int fallback = -1;
  std::vector<int> plausible;
  for (const int index : found->second) {
    const Instance& instance = instances_[static_cast<std::size_t>(index)];
    const bool here = instance.queue == call.queue;
    if (!instance.message_id.empty() && instance.message_id == message.id) return index;
    if (here || (instance.listed & bit(call.queue)) != 0 || fallback < 0) fallback = index;
    const Reach reach = reach_of(instance);
    const bool by_task = !tasks_.empty() && (reach.by_task & bit(call.queue)) != 0;
    if (instance.never || instance.gone != Gone::No || (instance.raw && *instance.raw == enveloped)) continue;
    if (!message.dedup.empty() && message.dedup != instance.entry.dedup) continue;
    if (!by_task) {
      if (!instance.message_id.empty() || (reach.plain & bit(call.queue)) == 0) continue;
      if (!here && message.dead_letter_source != queue_arn(queues_[static_cast<std::size_t>(instance.queue)].name)) continue;
      const bool of_its_time = message.sent_ms >= unix_ms(instance.earliest) && message.sent_ms <= unix_ms(instance.latest);
      if (here && !of_its_time && !instance.moved) continue;
    }
    plausible.push_back(index);
  }
  if (plausible.empty()) return fallback;
  others.assign(plausible.begin() + 1, plausible.end());
  return plausible.front();
}

void Oracle::answered_receive(Call& call, const Answer& answer, const Moment& moment) {
  // What a disk with errors cannot read is left out of the answer and given back; who it was is not told.
  const bool whole = moment.disk_in_order || answer.messages.size() == static_cast<std::size_t>(call.max);
  if (!whole) lost_receives_.push_back({call.queue, moment.turn, true, true, crashes_, moment.turn});
  if (call.waited) note(answer.messages.empty() ? Property::LongPollEmpty : Property::LongPollWoken);
  const bool repeated = call.asked_as >= 0 && is_repeated(call, answer, moment, whole);
  if (answer.messages.empty()) {
    const int wait = call.wait.value_or(queues_[static_cast<std::size_t>(call.queue)].wait.lowest(call.handled_turn, call.handled_turn));
    if (wait > 0 && !call.wait) note(Property::QueueWait);
    if (wait > 0 && !draining_ && whole)
      require(Property::LongPollWaits, moment.now >= call.handled_at + seconds{wait}, [&] {
        return fmt::format("call {}: a wait of {} s from {} ended with nothing at {}", call.id, wait, time_text(call.handled_at), time_text(moment.now));
      });
    return;
  }
  require(Property::Invented, answer.messages.size() <= static_cast<std::size_t>(call.max),
          [&] { return fmt::format("call {} asked for {} messages and got {}", call.id, call.max, answer.messages.size()); });
  if (repeated) return;
  std::vector<int> in_answer;
  for (const ReceivedMessage& message : answer.messages) deliver(call, message, moment, in_answer);
  if (call.asked_as >= 0) note_attempt(call, answer, moment, whole);
  const bool grouped = std::any_of(in_answer.begin(), in_answer.end(), [&](int index) { return !instances_[static_cast<std::size_t>(index)].entry.group.empty(); });
  if (grouped && !queues_[static_cast<std::size_t>(call.queue)].fifo && !call.waited && !call.stalled && moment.disk_in_order) check_tenants(call, moment, in_answer);
}

void Oracle::end_of_turn() {
  for (const CallPtr& call : open_receives_)
    // A receive that repeats is answered at once, if the process lives on.
    if (call->waited && !call->finished && !call->given.empty()) left_alone(*call);
  for (const Empty& empty : empties_) check_empty(*empty.call, empty.moment);
  empties_.clear();
  std::erase_if(open_receives_, [](const CallPtr& call) { return call->finished; });
}

void Oracle::check_empty(const Call& call, const Moment& moment) const {
  // Seen from the turn in which it was handed in: what came later in that turn may have come behind it. A poll that waited
  // saw what came up to the turn before its end.
  const std::uint64_t turn = call.waited ? moment.turn : call.handled_turn;
  const auto queue = static_cast<std::size_t>(call.queue);
  tally_.note(Property::EmptyIsEmpty);
  for (const LostReceive& lost : lost_receives_)
    if (lost.queue == call.queue && lost.end_turn >= turn) return;  // it may have held what was given back meanwhile
  for (const int index : queues_[queue].instances) {
    const Instance& instance = instances_[static_cast<std::size_t>(index)];
    // A poll that draining ended is not asked what became visible since the last turn, when nobody has looked yet.
    if (instance.queue != call.queue || !surely_visible(instance, turn, call.waited && !draining_ ? moment.now : call.handled_at, &call)) continue;
    // A delivery in this very turn by another request, or a change of visibility: the order is not known.
    if (!instance.deliveries.empty() && instance.deliveries.back().turn >= turn) continue;
    if (queues_[queue].fifo) {
      const bool group_is_free = std::none_of(queues_[queue].instances.begin(), queues_[queue].instances.end(), [&](int other) {
        const Instance& one = instances_[static_cast<std::size_t>(other)];
        return other != index && (one.mixed || one.entry.group == instance.entry.group) && !one.never &&
               (one.gone == Gone::No || one.gone_turn >= turn) &&
               // One that this very turn handed out without a lease stands before it until time moves.
               (!surely_visible(one, turn, call.handled_at, &call) || (!one.deliveries.empty() && one.deliveries.back().turn >= turn));
      });
      if (!group_is_free) continue;
    }
    fail(Property::EmptyIsEmpty, fmt::format("call {} of turn {} found nothing at {} in {}, and there was {}", call.id, call.handled_turn,
                                             time_text(moment.now), queues_[queue].name, describe(index)));
  }
}

void Oracle::deliver(Call& call, const ReceivedMessage& message, const Moment& moment, std::vector<int>& in_answer) {
  const auto queue = static_cast<std::size_t>(call.queue);
  const Queue& spec = queues_[queue];
  std::string body = message.body;
  std::optional<Envelope> envelope;
  if (body.starts_with('{')) {
    envelope = unwrap(body);
    if (envelope) body = envelope->message;
  }
  const std::string token = body.substr(0, body.find('|'));
  std::vector<int> others;
  const int index = find(call, message, token, others);
  require(Property::Invented, index >= 0, [&] { return fmt::format("call {} got '{}' from {}", call.id, token, spec.name); });
  Instance& instance = instances_[static_cast<std::size_t>(index)];
  if (!others.empty()) {
    // One of several that carry this, under an id that nobody was told: nothing more is known of any of them.
    others.push_back(index);
    for (const int other : others) instances_[static_cast<std::size_t>(other)].maybe_gone = true;
    by_handle_[message.handle] = {index, -1};
    lost_receives_.push_back({call.queue, moment.turn, true, false, crashes_, moment.turn});
    in_answer.push_back(index);
    return;
  }
  require(Property::Invented, body == body_of(token, instance.entry.body_bytes), [&] { return "other content: " + describe(index); });
  require(Property::Invented, message.md5 == wire::digest::hex(wire::digest::bytes_of(wire::digest::md5(message.body))) || envelope,
          [&] { return fmt::format("MD5OfBody {} of {}", message.md5, describe(index)); });
  require(Property::Invented, !instance.raw || envelope.has_value() == !*instance.raw, [&] { return "raw and enveloped mixed up: " + describe(index); });
  // A move task makes it a new message.
  const bool may_be_by_task = reached_by_task(instance, call.queue);
  const bool other_id = !instance.message_id.empty() && instance.message_id != message.id;
  require(Property::Invented, !other_id || may_be_by_task,
          [&] { return fmt::format("id {} of {}, whose id is {}", message.id, describe(index), instance.message_id); });
  if (!envelope) {
    require(Property::Invented, instance.mixed || message.attribute == (instance.entry.attribute ? token : ""),
            [&] { return fmt::format("message attribute '{}' of {}", message.attribute, describe(index)); });
    require(Property::Invented, instance.mixed || message.kind == instance.entry.kind,
            [&] { return fmt::format("message attribute '{}' of {}, which has '{}'", message.kind, describe(index), instance.entry.kind); });
  }
  if (instance.publication >= 0) {
    const Publication& publication = publications_[static_cast<std::size_t>(instance.publication)];
    note(envelope ? Property::Enveloped : Property::RawCopy);
    if (topics_[static_cast<std::size_t>(publication.topic)].fifo) note(Property::FifoCopy);
    if (instance.subscription >= 0 && subscriptions_[static_cast<std::size_t>(instance.subscription)].queue != instance.queue && !instance.moved && !instance.by_task)
      note(Property::CopyDeadLettered);
    if (envelope) {
      require(Property::Invented, envelope->type == "Notification" && envelope->topic == topic_arn(topics_[static_cast<std::size_t>(publication.topic)].name),
              [&] { return "envelope of " + describe(index); });
      require(Property::Invented, publication.id.empty() || publication.id == envelope->id, [&] { return "publication id of " + describe(index); });
    }
  }
  require(Property::Invented, !instance.never, [&] {
    return fmt::format("it was refused or suppressed as a duplicate: {}", describe(index));
  });
  const auto had_since = [&](const Delivery& last) {
    return last.turn > moment.turn || (call.stalled && last.turn == moment.turn && last.count > message.receive_count);
  };
  if (!instance.deliveries.empty() && had_since(instance.deliveries.back())) {
    // Told late, over a connection that stood still; others have had it since. What it says is old.
    by_handle_[message.handle] = {index, -1};
    lost_receives_.push_back({call.queue, moment.turn, true, false, crashes_, moment.turn});
    in_answer.push_back(index);
    return;
  }
  // So does its age, if it is not that of the message that was sent; a dead-letter queue that is FIFO gives a new one too.
  const bool of_its_time = message.sent_ms >= unix_ms(instance.earliest) && message.sent_ms <= unix_ms(instance.latest);
  const bool of_another = !of_its_time && !(spec.fifo && (instance.moved || !message.dead_letter_source.empty()));
  const bool by_task = other_id || (may_be_by_task && instance.message_id.empty() &&
                                    (of_another || (instance.queue != call.queue && message.dead_letter_source.empty())));
  if (by_task) {
    note(Property::MovedByTask);
    // Its handles of before name nothing any more.
    instance.left.push_back({reach(instance), moment.turn});
    for (const Delivery& delivery : instance.deliveries) by_handle_[delivery.handle] = {index, kOfAnotherLife};
    instance.deliveries.clear();
    instance.queue = call.queue;
    instance.moved = !message.dead_letter_source.empty();  // since then
    instance.by_task = true;
    instance.source = -1;
    instance.sequence.clear();
    std::uint64_t first = moment.turn;
    for (const MoveTask& task : tasks_)
      if (!task.refused) first = std::min(first, task.from);
    instance.first_turn = instance.last_turn = std::max(first, instance.first_turn);
    instance.earliest = instance.latest = timestamp_from_unix_ms(message.sent_ms);
    instance.entry.delay.reset();
  }
  if (instance.first_id.empty() && !instance.by_task && !instance.moved) instance.first_id = message.id;
  instance.message_id = message.id;
  if (!instance.sure) note(Property::UnknownSurvived);
  if (nothing_resident_ && instance.first_turn < moment.turn) note(Property::ReadBack);
  if (spec.fifo) {
    require(Property::SequenceRises, instance.moved || instance.queue != call.queue || instance.sequence.empty() || instance.sequence == message.sequence,
            [&] { return fmt::format("sequence number {} of {}", message.sequence, describe(index)); });
  }
  if (spec.fifo)
    require(Property::DedupIdTold, message.dedup == instance.entry.dedup, [&] { return fmt::format("MessageDeduplicationId '{}' of {}", message.dedup, describe(index)); });
  if (instance.mixed) instance.entry.group = message.group;
  require(Property::Invented, message.group == instance.entry.group, [&] { return fmt::format("group '{}' of {}", message.group, describe(index)); });

  // Moved away?
  if (instance.queue != call.queue) {
    require(Property::MovedStaysMoved, !instance.moved, [&] { return "seen in its source again: " + describe(index); });
    const Queue& source = queues_[static_cast<std::size_t>(instance.queue)];
    require(Property::DeadLetterRule, may_be_dead_lettered(instance, instance.queue, call.queue),
            [&] { return fmt::format("{} possible receives: {}", possible_receives(instance, instance.queue), describe(index)); });
    require(Property::DeadLetterRule, message.dead_letter_source == queue_arn(source.name),
            [&] { return fmt::format("DeadLetterQueueSourceArn '{}' of {}", message.dead_letter_source, describe(index)); });
    note(Property::DeadLettered);
    instance.left.push_back({reach(instance), moment.turn});
    if (!instance.deliveries.empty() && instance.starts < starts_) note(Property::DeadLetterAfterCrash);
    instance.source = instance.queue;
    instance.queue = call.queue;
    instance.moved = true;
    instance.by_task = false;
    instance.sequence.clear();
  } else if (!instance.deliveries.empty() && instance.deliveries.back().queue == call.queue && instance.deliveries.back().lost) {
    note(Property::LostReceive);
  }
  if (spec.fifo) {
    instance.sequence = message.sequence;
    if (!instance.moved && !instance.by_task) instance.sent_sequence = message.sequence;
  }

  // Gone?
  tally_.note(Property::DeletedStaysDeleted);
  tally_.note(Property::PurgedStaysGone);
  if (instance.gone != Gone::No && instance.gone_turn < moment.turn)
    fail(instance.gone == Gone::Deleted ? Property::DeletedStaysDeleted : Property::PurgedStaysGone,
         fmt::format("call {} of turn {} at {} got {}", call.id, moment.turn, time_text(moment.now), describe(index)));
  require(Property::ExpiredStaysGone, unix_ms(moment.now) < message.sent_ms + std::int64_t{spec.retention.highest(call.handled_turn, moment.turn)} * 1000,
          [&] { return fmt::format("retention {} s, sent {}: {}", spec.retention.highest(call.handled_turn, moment.turn), message.sent_ms, describe(index)); });
  require(Property::Invented,
          (message.sent_ms >= unix_ms(instance.earliest) && message.sent_ms <= unix_ms(instance.latest)) || (instance.moved && spec.fifo) || may_be_by_task,
          [&] { return fmt::format("SentTimestamp {} of {}", message.sent_ms, describe(index)); });

  // Delay, lease, count.
  if (instance.deliveries.empty() && !instance.moved && !may_be_by_task) {
    const int delay = instance.entry.delay.value_or(spec.delay.lowest(instance.first_turn, spec.fifo ? moment.turn : instance.last_turn));
    require(Property::DelayRespected, moment.now >= instance.earliest + seconds{delay},
            [&] { return fmt::format("delay {} s, handed out at {}: {}", delay, time_text(moment.now), describe(index)); });
    if (spec.fifo && !clock_back_) check_delay(instance, spec, moment);
  }
  const Delivery* previous = instance.deliveries.empty() ? nullptr : &instance.deliveries.back();
  if (previous != nullptr && previous->queue == call.queue) {
    require(Property::LeaseRespected, previous->lost || moment.now >= previous->until,
            [&] { return fmt::format("call {} of turn {} at {} got {}", call.id, moment.turn, time_text(moment.now), describe(index)); });
  }
  if (previous != nullptr)
    require(Property::CountsRise, previous->lost || message.receive_count > previous->count,
            [&] { return fmt::format("count {} of {}", message.receive_count, describe(index)); });
  std::int64_t possible = 1 + static_cast<std::int64_t>(instance.deliveries.size());
  for (const LostReceive& lost : lost_receives_)
    if (lost.turn >= instance.first_turn && counts(lost)) ++possible;
  for (const CallPtr& open : open_receives_)
    if (!open->finished && open->stalled && open.get() != &call) ++possible;
  require(Property::CountNotTooHigh, message.receive_count <= possible && message.receive_count >= 1,
          [&] { return fmt::format("count {}, at most {} possible: {}", message.receive_count, possible, describe(index)); });

  if (spec.fifo && !call.stalled) check_fifo(call, index, moment, in_answer);
  in_answer.push_back(index);
  const auto lease = seconds{call.visibility.value_or(spec.visibility.lowest(call.handled_turn, moment.turn))};
  const auto longest = seconds{call.visibility.value_or(spec.visibility.highest(call.handled_turn, moment.turn))};
  by_handle_[message.handle] = {index, static_cast<int>(instance.deliveries.size())};
  instance.deliveries.push_back({message.handle, call.queue, moment.now, moment.turn, message.receive_count, moment.now + lease, moment.log_end, moment.micros, false, moment.now + lease});
  if (longest > lease) instance.deliveries.back().before_change = moment.now + longest;
  trace([&] { return fmt::format("      {} count {} until {}", token, message.receive_count, time_text(moment.now + lease)); });
}

void Oracle::check_fifo(const Call& call, int index, const Moment& moment, const std::vector<int>& in_answer) {
  const Instance& instance = instances_[static_cast<std::size_t>(index)];
  tally_.note(Property::FifoOrder);
  tally_.note(Property::OneFlight);
  int of_group = 0;
  for (const int other : in_answer)
    if (instances_[static_cast<std::size_t>(other)].entry.group == instance.entry.group) {
      ++of_group;
      const Instance& one = instances_[static_cast<std::size_t>(other)];
      if (one.deliveries.empty() || one.deliveries.back().turn != moment.turn) continue;  // it is not sure that it was this one
      if (one.sequence >= instance.sequence)
        fail(Property::FifoOrder, fmt::format("call {}: {} behind {}", call.id, describe(index), describe(other)));
    }
  if (of_group == 1) note(Property::GroupBatch);
  for (const int other : queues_[static_cast<std::size_t>(call.queue)].instances) {
    if (other == index) continue;
    const Instance& one = instances_[static_cast<std::size_t>(other)];
    if (one.queue != call.queue || one.entry.group != instance.entry.group || (one.mixed && one.deliveries.empty())) continue;
    if (std::find(in_answer.begin(), in_answer.end(), other) != in_answer.end()) continue;
    const bool there = surely_there(one, call.waited ? moment.turn : call.handled_turn, moment.now) && !may_be_moved(one);
    const bool both_came = !one.moved && !one.by_task && !instance.moved && !instance.by_task;
    const bool earlier = one.sequence.empty() ? both_came && one.last_turn < instance.first_turn : one.sequence < instance.sequence;
    if (there && earlier)
      fail(Property::FifoOrder, fmt::format("call {} of turn {} got {} before {}", call.id, moment.turn, describe(index), describe(other)));
    if (one.gone != Gone::No || one.maybe_gone || one.pending_deletes > 0 || one.deliveries.empty() || may_be_moved(one) || may_be_expired(one, moment.now)) continue;
    const Delivery& flight = one.deliveries.back();
    if (flight.queue == call.queue && !flight.lost && flight.until > moment.now && one.sequence < instance.sequence)
      fail(Property::OneFlight, fmt::format("call {} of turn {} at {} got {} while in flight is {}", call.id, moment.turn,
                                            time_text(moment.now), describe(index), describe(other)));
  }
}

void Oracle::answered_delete(Call& call, const Answer& answer, const Moment& moment) {
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    const int index = call.instances[i];
    if (index < 0) continue;
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    --instance.pending_deletes;
    const bool fifo = queues_[static_cast<std::size_t>(call.queue)].fifo;
    if (!answer.entries[i].ok) {
      require(Property::ErrorsExpected, fifo || !queues_[static_cast<std::size_t>(call.queue)].deletions.empty(), [&] { return fmt::format("call {} entry {}: {}", call.id, i, answer.entries[i].code); });
      continue;
    }
    const int number = by_handle_.at(call.entries[i].handle).second;
    if (number == kOfAnotherLife) continue;
    if (number < 0) {  // of a delivery that was told late: is it the last?
      instance.maybe_gone = true;
      continue;
    }
    const Delivery& delivery = instance.deliveries[static_cast<std::size_t>(number)];
    // Is it the last delivery, for sure?
    bool last = static_cast<std::size_t>(number) + 1 == instance.deliveries.size() && instance.queue == call.queue && !may_be_moved(instance);
    // One that has expired already is gone without a record: nothing was deleted, and the clock may have run back after a crash.
    if (may_be_expired(instance, call.handled_at)) last = false;
    bool newer_is_sure = false;
    for (std::size_t later = static_cast<std::size_t>(number) + 1; later < instance.deliveries.size(); ++later)
      newer_is_sure = newer_is_sure || (!instance.deliveries[later].lost && instance.deliveries[later].turn < call.handled_turn);
    for (const LostReceive& lost : lost_receives_)
      if (lost.queue == call.queue && lost.turn >= delivery.turn) last = false;
    for (const CallPtr& open : open_receives_)
      if (!open->finished && open->stalled && open->queue == call.queue) last = false;
    if (instance.deliveries.back().turn >= call.handled_turn && static_cast<std::size_t>(number) + 1 < instance.deliveries.size()) last = false;
    if (instance.gone != Gone::No) continue;
    // A crash may have taken the message with the receive, and a later send made it anew. By turns: the clock may run back then.
    if (last && delivery.lost && (!instance.sure || instance.last_turn > delivery.turn)) last = false;
    if (last) {
      if (delivery.until < call.handled_at) note(Property::LateDelete);
      instance.gone = Gone::Deleted;
      instance.gone_turn = moment.turn;
      if (instance.publication >= 0 && !instance.sure && !delivery.lost) {
        // It is durable that this copy was there; so are the others of one record.
        for (const int copy : publications_[static_cast<std::size_t>(instance.publication)].copies) {
          Instance& other = instances_[static_cast<std::size_t>(copy)];
          if (other.sure || !other.certain) continue;
          other.sure = true;
          other.sure_turn = moment.turn;
        }
      }
    } else if (newer_is_sure && !fifo) {
      note(Property::OutdatedHandle);  // deletes nothing: the message must still be found
    } else {
      instance.maybe_gone = true;
    }
  }
}

// ---- What is never told ---------------------------------------------------------------------------------------------

void Oracle::unanswered(Call& call, Unanswered why, const Moment& began, const Moment& ended) {
  if (call.finished) return;
  call.finished = true;
  if (why == Unanswered::NotHandedIn || call.handled_turn == 0 || !call.beside.empty()) return;
  switch (call.action) {
    case Action::Receive:
      lost_receives_.push_back(
          {call.queue, call.waited || call.stalled ? began.turn : call.handled_turn, why == Unanswered::Crash,
           lease_may_be_over(call, began.now, ended), crashes_, ended.turn, call.asked_as, call.handled_at});
      if (call.asked_as >= 0) ended_attempt(call);
      break;
    case Action::Delete:
    case Action::DeleteBatch:
    case Action::DeleteQueue:
    case Action::Purge:
      for (const int index : call.instances) {
        if (index < 0) continue;
        --instances_[static_cast<std::size_t>(index)].pending_deletes;
        instances_[static_cast<std::size_t>(index)].maybe_gone = true;
      }
      break;
    default: break;
  }
}

void Oracle::crashed(LogPosition durable_end, std::int64_t micros, bool disk_in_order) {
  if (std::any_of(tasks_.begin(), tasks_.end(), [&](const MoveTask& task) { return !task.refused && !task.handle.empty() && task.until >= turn_; }))
    note(Property::MoveAndCrash);
  ++crashes_;
  ++starts_;
  for (Instance& instance : instances_) {
    // What nobody was told may be gone with the log's end, and a repeated send makes it anew, with another id.
    if (!instance.sure) {
      for (Delivery& delivery : instance.deliveries) delivery.lost = true;
      if (!instance.entry.dedup.empty()) {
        instance.message_id.clear();
        instance.first_id.clear();
      }
      instance.sequence.clear();
      instance.sent_sequence.clear();
    }
    for (Delivery& delivery : instance.deliveries) {
      if (delivery.log_end > durable_end && !delivery.lost) {
        delivery.lost = true;
        require(Property::ReceiveSoonDurable, !disk_in_order || micros < delivery.micros + 100'000,
                [&] { return fmt::format("log end {}, durable {}: {}", delivery.log_end.value, durable_end.value, instance.token); });
      }
      if (delivery.before_change && delivery.change_log_end > durable_end) {
        delivery.before_change = std::max(*delivery.before_change, delivery.until);
        delivery.until = delivery.lowest;
        delivery.change_in_doubt = true;
      }
    }
  }
  for (Attempt& attempt : attempts_)
    if (attempt.log_end > durable_end) {
      attempt.sure = false;
      attempt.may_be_earlier = true;
    }
}

void Oracle::check_end(const Moment& moment) {
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    const Instance& instance = instances_[i];
    if (may_be_expired(instance, moment.now)) {
      if (instance.sure && instance.gone == Gone::No && !instance.maybe_gone) note(Property::Expired);
      continue;
    }
    if (!instance.sure || instance.maybe_gone || instance.never) continue;
    const Property property = instance.publication < 0                                                     ? Property::AcknowledgedIsKept
                              : publications_[static_cast<std::size_t>(instance.publication)].id.empty() ? Property::FanOutWhole
                                                                                                           : Property::FanOut;
    require(property, instance.gone != Gone::No, [&] { return "lost: " + describe(static_cast<int>(i)); });
  }
}

}  // namespace fanfare::sim
