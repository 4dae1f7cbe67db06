// Queues, topics and subscriptions as such: do they exist, which settings hold, what can be moved where.
#include <fmt/format.h>

#include <algorithm>

#include "sim/oracle.h"
#include "sim/oracle_terms.h"

namespace fanfare::sim {

int Oracle::add_queue(const QueueSpec& spec) {
  Queue& queue = queues_.emplace_back();
  queue.name = spec.name;
  queue.fifo = spec.fifo;
  queue.hashes = spec.hashes;
  queue.by_group = spec.by_group;
  return static_cast<int>(queues_.size()) - 1;
}

int Oracle::add_topic(std::string name, bool fifo) {
  Topic& topic = topics_.emplace_back();
  topic.name = std::move(name);
  topic.fifo = fifo;
  return static_cast<int>(topics_.size()) - 1;
}

int Oracle::add_subscription(int topic, int queue) {
  Subscription& subscription = subscriptions_.emplace_back();
  subscription.topic = topic;
  subscription.queue = queue;
  return static_cast<int>(subscriptions_.size()) - 1;
}

std::string Oracle::target_of(const Call& call) const {
  if (!call.beside.empty()) return call.beside;
  if (call.topic >= 0) return topics_.at(static_cast<std::size_t>(call.topic)).name;
  if (call.queue >= 0) return queues_.at(static_cast<std::size_t>(call.queue)).name;
  return {};
}

int Oracle::add_instance(Instance instance) {
  const int index = static_cast<int>(instances_.size());
  by_token_[instance.token].push_back(index);
  instance.last_turn = instance.tried_turn = instance.first_turn;
  instance.sent_to = instance.queue;
  instances_.push_back(std::move(instance));
  list(index);
  return index;
}

/// Into the lists of all queues where it may ever come to be.
void Oracle::list(int index) {
  Instance& instance = instances_[static_cast<std::size_t>(index)];
  std::uint32_t places = instance.listed | bit(instance.queue);
  for (std::uint32_t before = 0; before != places;) {
    before = places;
    for (std::size_t queue = 0; queue < queues_.size(); ++queue)
      if ((before & bit(static_cast<int>(queue))) != 0) places |= queues_[queue].leads_to;
  }
  for (std::size_t queue = 0; queue < queues_.size(); ++queue)
    if ((places & ~instance.listed & bit(static_cast<int>(queue))) != 0) queues_[queue].instances.push_back(index);
  instance.listed = places;
}

void Oracle::add_path(int from, int to) {
  std::uint32_t& leads_to = queues_[static_cast<std::size_t>(from)].leads_to;
  if ((leads_to & bit(to)) != 0) return;
  leads_to |= bit(to);
  for (std::size_t i = 0; i < instances_.size(); ++i) list(static_cast<int>(i));
}

bool Oracle::may_be_dead_lettered(const Instance& instance, int from, int to) const {
  const Queue& queue = queues_[static_cast<std::size_t>(from)];
  const std::uint64_t since = std::max(instance.first_turn, instance.deliveries.empty() ? 0 : instance.deliveries.back().turn);
  std::optional<std::int64_t> receives;
  return queue.redrive.any(since, turn_, [&](const Redrive& redrive) {
    if (redrive.queue != to) return false;
    if (!receives) receives = possible_receives(instance, from);
    return *receives >= redrive.max;
  });
}

Oracle::Reach Oracle::reach_of(const Instance& instance) const {
  Reach reach{bit(instance.queue), 0};
  if (queues_[static_cast<std::size_t>(instance.queue)].leads_to == 0) return reach;
  const std::uint64_t since = std::max(instance.first_turn, instance.deliveries.empty() ? 0 : instance.deliveries.back().turn);
  for (Reach before{0, 0}; before.plain != reach.plain || before.by_task != reach.by_task;) {
    before = reach;
    for (int from = 0; from < static_cast<int>(queues_.size()); ++from) {
      const std::uint32_t leads_to = queues_[static_cast<std::size_t>(from)].leads_to;
      if (((before.plain | before.by_task) & bit(from)) == 0 || leads_to == 0) continue;
      for (int to = 0; to < static_cast<int>(queues_.size()); ++to) {
        if ((leads_to & bit(to)) == 0) continue;
        if (may_be_dead_lettered(instance, from, to)) {
          if ((before.plain & bit(from)) != 0) reach.plain |= bit(to);
          if ((before.by_task & bit(from)) != 0) reach.by_task |= bit(to);
        }
        if (std::any_of(tasks_.begin(), tasks_.end(), [&](const MoveTask& task) {
              return !task.refused && task.source == from && task.until >= since && (task.destination == to || (task.destination < 0 && may_come_from(from, to)));
            }))
          reach.by_task |= bit(to);
      }
    }
  }
  return reach;
}

/// Whether what lies in the dead-letter queue may have come from this one.
bool Oracle::may_come_from(int dead, int source) const {
  return queues_[static_cast<std::size_t>(source)].redrive.any(0, History<int>::kForever, [&](const Redrive& one) { return one.queue == dead; });
}

/// A purge, or the deletion of the queue.
void Oracle::handled_removal(Call& call) {
  for (const int index : queues_[static_cast<std::size_t>(call.queue)].instances) {
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    if (instance.sent_to == call.queue) instance.dedup_cleared_by.push_back(call.id);
    if ((reach(instance) & bit(call.queue)) == 0) continue;
    call.instances.push_back(index);
    ++instance.pending_deletes;
  }
}

void Oracle::answered_removal(Call& call, const Moment& moment) {
  std::optional<Timestamp>& purged_at = queues_[static_cast<std::size_t>(call.queue)].purged_at;
  if (call.action == Action::Purge) {
    require(Property::PurgeOnceAMinute, clock_back_ || !purged_at || call.handled_at >= *purged_at + kNameReserved,
            [&] { return fmt::format("call {} purges at {}, and a purge was told at {}", call.id, time_text(call.handled_at), time_text(*purged_at)); });
    purged_at = call.handled_at;
  } else {
    purged_at.reset();  // a queue of this name is another one
  }
  for (const int index : call.instances) {
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    --instance.pending_deletes;
    // Sends that nobody answered came before it or never; a publication may be repeated behind it.
    const bool surely_before = instance.tried_turn < call.handled_turn && (instance.open_attempts == 0 || instance.publication < 0);
    if (instance.gone != Gone::No) continue;
    if (surely_before && instance.queue == call.queue && !may_be_moved(instance)) {
      if (instance.sure && instance.sure_turn < call.handled_turn)
        note(call.action == Action::Purge ? Property::Purged : Property::QueueDeletedFull);
      instance.gone = Gone::Purged;
      instance.gone_turn = moment.turn;
    } else {
      instance.maybe_gone = true;
    }
  }
}

void Oracle::ask_settings(Queue& queue, const Call& call) {
  const QueueChange& change = call.queue_change;
  if (change.visibility) queue.visibility.ask(call.id, call.handled_turn, *change.visibility);
  if (change.delay) {
    queue.delay.ask(call.id, call.handled_turn, *change.delay);
    queue.delays_asked.emplace_back(call.handled_turn, call.handled_at);
  }
  if (change.wait) queue.wait.ask(call.id, call.handled_turn, *change.wait);
  if (change.retention) {
    queue.retention.ask(call.id, call.handled_turn, *change.retention);
    queue.shortest_retention = std::min(queue.shortest_retention, *change.retention);
    shortest_retention_ = std::min(shortest_retention_, *change.retention);
  }
  if (change.max_bytes) queue.max_bytes.ask(call.id, call.handled_turn, *change.max_bytes);
  if (change.policy) queue.policy.ask(call.id, call.handled_turn, *change.policy);
  if (!change.redrive) return;
  queue.redrive.ask(call.id, call.handled_turn, *change.redrive);
  if (change.redrive->queue < 0) return;
  add_path(call.queue, change.redrive->queue);
  for (const MoveTask& task : tasks_)
    if (task.source == change.redrive->queue && task.destination < 0) add_path(task.source, call.queue);
}

void Oracle::ask_settings(Subscription& subscription, const Call& call) {
  const SubscriptionChange& change = call.subscription_change;
  if (change.raw) subscription.raw.ask(call.id, call.handled_turn, *change.raw);
  if (change.filter) subscription.filter.ask(call.id, call.handled_turn, *change.filter);
  if (change.dead_letter) subscription.dead_letter.ask(call.id, call.handled_turn, *change.dead_letter);
}

void Oracle::ask_configuration(Call& call) {
  const std::uint64_t turn = call.handled_turn;
  Queue* queue = call.queue >= 0 ? &queues_[static_cast<std::size_t>(call.queue)] : nullptr;
  Topic* topic = call.topic >= 0 ? &topics_[static_cast<std::size_t>(call.topic)] : nullptr;
  Subscription* subscription = call.subscription >= 0 ? &subscriptions_[static_cast<std::size_t>(call.subscription)] : nullptr;
  switch (call.action) {
    case Action::CreateQueue:
      call.was_absent = !queue->may_exist(turn, turn);
      queue->exists.ask(call.id, turn, true);
      return ask_settings(*queue, call);
    case Action::SetAttributes: return ask_settings(*queue, call);
    case Action::DeleteQueue:
      queue->exists.ask(call.id, turn, false);
      queue->sequences.clear();
      queue->sequences_since = call.handled_order;
      return;
    case Action::CreateTopic: return topic->exists.ask(call.id, turn, true);
    case Action::DeleteTopic:
      topic->exists.ask(call.id, turn, false);
      topic->sequences.clear();
      topic->sequences_since = call.handled_order;
      ++topic->deletions;
      for (Publication& publication : publications_)
        if (publication.topic == call.topic) publication.dedup_cleared = true;
      for (Subscription& one : subscriptions_)
        if (one.topic == call.topic) one.exists.ask(call.id, turn, false);
      return;
    case Action::Subscribe:
      subscription->exists.ask(call.id, turn, true);
      return ask_settings(*subscription, call);
    case Action::Unsubscribe:
    case Action::SetSubscription:
      // An ARN of an earlier life names nothing any more.
      call.was_there = call.arn == subscription->arn && subscription->exists.must_be(true, turn, turn);
      if (call.arn != subscription->arn && subscription->exists.must_be(true, turn, turn)) return;
      if (call.action == Action::Unsubscribe) return subscription->exists.ask(call.id, turn, false);
      return ask_settings(*subscription, call);
    default: return;
  }
}

/// The answer to a request for settings: what is sure from now on.
void Oracle::settle_configuration(const Call& call, const Answer& answer, const Moment& moment) {
  const auto settle = [&](auto& history) {
    if (answer.ok()) history.told(call.id);
    else if (answer.status < 500) history.refused(call.id);
  };
  const auto settle_settings = [&](Queue& queue) {
    settle(queue.visibility);
    settle(queue.delay);
    settle(queue.wait);
    settle(queue.retention);
    settle(queue.max_bytes);
    settle(queue.policy);
    settle(queue.redrive);
  };
  switch (call.action) {
    case Action::CreateQueue: {
      Queue& queue = queues_[static_cast<std::size_t>(call.queue)];
      settle(queue.exists);
      settle_settings(queue);
      if (!answer.ok() || !call.was_absent || queue.deletions.empty()) return;
      note(Property::QueueMadeAgain);
      require(Property::NameReserved, clock_back_ || !queue.deleted_at || call.handled_at >= *queue.deleted_at + kNameReserved, [&] {
        return fmt::format("call {} of {} made {} again, which was deleted at {}", call.id, time_text(call.handled_at), queue.name, time_text(*queue.deleted_at));
      });
      return;
    }
    case Action::SetAttributes: {
      Queue& queue = queues_[static_cast<std::size_t>(call.queue)];
      if (answer.ok()) note(Property::AttributesChanged);
      return settle_settings(queue);
    }
    case Action::DeleteQueue:
      if (answer.ok()) queues_[static_cast<std::size_t>(call.queue)].deleted_at = call.handled_at;
      return settle(queues_[static_cast<std::size_t>(call.queue)].exists);
    case Action::CreateTopic:
      return settle(topics_[static_cast<std::size_t>(call.topic)].exists);
    case Action::DeleteTopic:
      settle(topics_[static_cast<std::size_t>(call.topic)].exists);
      if (answer.ok()) note(Property::TopicDeleted);
      for (Subscription& one : subscriptions_)
        if (one.topic == call.topic) settle(one.exists);
      return;
    case Action::Subscribe: {
      Subscription& subscription = subscriptions_[static_cast<std::size_t>(call.subscription)];
      settle(subscription.exists);
      settle(subscription.raw);
      settle(subscription.filter);
      settle(subscription.dead_letter);
      if (answer.ok()) subscription.arn = answer.text;
      return;
    }
    case Action::Unsubscribe: {
      Subscription& subscription = subscriptions_[static_cast<std::size_t>(call.subscription)];
      if (answer.ok() && call.was_there) {
        note(Property::Unsubscribed);
        subscription.exists.told(call.id);
      } else if (!answer.ok()) {
        settle(subscription.exists);
      }
      return;
    }
    case Action::SetSubscription: {
      Subscription& subscription = subscriptions_[static_cast<std::size_t>(call.subscription)];
      if (answer.ok() && !call.was_there && subscription.exists.must_be(true, call.handled_turn, moment.turn)) return;
      settle(subscription.raw);
      settle(subscription.filter);
      settle(subscription.dead_letter);
      return;
    }
    default: return;
  }
}

/// What GetQueueAttributes says about settings.
void Oracle::check_settings(const Call& call, const Answer& answer, const Moment& moment) const {
  const Queue& queue = queues_[static_cast<std::size_t>(call.queue)];
  for (const auto& [name, value] : answer.attributes) {
    const auto holds = [&](const History<int>& history) { return history.may_be(std::atoi(value.c_str()), call.handled_turn, moment.turn); };
    bool right = true;
    if (name == "VisibilityTimeout") right = holds(queue.visibility);
    else if (name == "DelaySeconds") right = holds(queue.delay);
    else if (name == "MessageRetentionPeriod") right = holds(queue.retention);
    else if (name == "MaximumMessageSize") right = holds(queue.max_bytes);
    else if (name == "ReceiveMessageWaitTimeSeconds") right = holds(queue.wait);
    else if (name == "ContentBasedDeduplication") right = (value == "true") == queue.hashes;
    else if (name == "DeduplicationScope") right = (value == "messageGroup") == queue.by_group;
    else if (name == "FifoThroughputLimit") right = (value == "perMessageGroupId") == queue.by_group;
    else if (name == "RedrivePolicy")
      right = queue.redrive.any(call.handled_turn, moment.turn, [&](const Redrive& redrive) {
        return redrive.queue >= 0 && value.find(queue_arn(queues_[static_cast<std::size_t>(redrive.queue)].name) + '"') != std::string::npos;
      });
    else continue;
    tally_.note(Property::SettingsHold);
    if (!right) fail(Property::SettingsHold, fmt::format("call {}: {} of {} is {}", call.id, name, queue.name, value));
  }
}

/// A change of the delay counts for what waits in a FIFO queue: it is handed out when it was, at some moment since it came, as old
/// as the delay that held at that moment. What was visible once stays visible. [SQS delay queues]
void Oracle::check_delay(const Instance& instance, const Queue& queue, const Moment& moment) {
  const auto visible_by = [&](std::uint64_t from, std::uint64_t to, Timestamp end) {
    return from <= to && instance.earliest + seconds{queue.delay.lowest(from, to)} <= end;
  };
  std::uint64_t since = instance.first_turn;
  bool visible = false;
  for (const auto& [turn, at] : queue.delays_asked) {
    if (turn < instance.first_turn || turn > moment.turn) continue;
    // Up to the change the value of before, and at its moment both; the change itself looks at what is visible so far.
    visible = visible || visible_by(since, turn - 1, at) || visible_by(turn, turn, at);
    since = turn + 1;
  }
  if (since == instance.first_turn) return;
  visible = visible || visible_by(since, std::max(since, moment.turn), moment.now);
  require(Property::DelayChange, visible, [&] { return fmt::format("handed out at {}, before the delay that was set: {}", time_text(moment.now), describe(instance)); });
}

void Oracle::answered_moves(const Call& call, const Answer& answer, const Moment& moment) {
  if (call.action == Action::StartMove) {
    note(Property::MoveStarted);
    for (MoveTask& task : tasks_) {
      if (task.call == call.id) task.handle = answer.text;
      else if (task.source == call.queue && task.from < call.handled_turn) task.until = std::min(task.until, call.handled_turn);
    }
    return;
  }
  if (call.action == Action::CancelMove) {
    note(Property::MoveCancelled);
    for (MoveTask& task : tasks_)
      if (task.handle == call.task) task.until = std::min(task.until, call.handled_turn);
    return;
  }
  std::size_t possible = 0;
  for (const MoveTask& task : tasks_) possible += task.source == call.queue && !task.refused && task.from <= moment.turn ? 1 : 0;
  std::size_t running = 0;
  for (const MoveTold& told : answer.moves) {
    if (told.status == "RUNNING") ++running;
    if (told.rate == 0) continue;
    // Message number n goes not before n / rate seconds have passed.
    const double passed = static_cast<double>(unix_ms(moment.now) - told.started_ms) / 1000.0;
    require(Property::MovePace, clock_back_ || static_cast<double>(told.moved) <= passed * told.rate + 1.001,
            [&] { return fmt::format("call {}: {} messages in {} s, and {} a second were asked for", call.id, told.moved, passed, told.rate); });
  }
  require(Property::MoveOnce, answer.moves.size() <= possible && running <= 1, [&] {
    return fmt::format("call {}: {} move tasks of {}, {} of them run; {} were asked for", call.id, answer.moves.size(), queues_[static_cast<std::size_t>(call.queue)].name, running, possible);
  });
  if (running == 0)
    for (MoveTask& task : tasks_)
      if (task.source == call.queue && task.from < call.handled_turn) task.until = std::min(task.until, call.handled_turn);
}

/// A group that surely has many messages in flight, or has taken much of the recent processing time, goes behind all others.
/// [SQS fair queues in detail]
void Oracle::check_tenants(const Call& call, const Moment& moment, const std::vector<int>& in_answer) const {
  constexpr int kManyInFlight = 30;
  constexpr std::int64_t kLongMs = 30'000;
  constexpr std::int64_t kSpanMs = 300'000;
  const std::int64_t handled = unix_ms(call.handled_at);
  const std::int64_t recent_from = (handled / kSpanMs - 1) * kSpanMs;
  const auto since = [&](Timestamp from) { return std::max<std::int64_t>(handled - std::max(unix_ms(from), recent_from), 0); };
  std::map<std::string_view, int> in_flight;  // surely, before this receive
  std::map<std::string_view, int> given_of;   // in this answer
  std::map<std::string_view, int> ever;       // were handed out, at any time
  int all = 0;
  std::map<std::string_view, std::int64_t> took;      // at least, of the recent time
  std::map<std::string_view, std::int64_t> may_have;  // at most: no message is processed longer than it is there
  std::int64_t all_may_have = 0;
  const auto& there = queues_[static_cast<std::size_t>(call.queue)].instances;
  for (const int index : there) {
    const Instance& one = instances_[static_cast<std::size_t>(index)];
    may_have[one.entry.group] += since(one.earliest);
    all_may_have += since(one.earliest);
    if (one.deliveries.empty()) continue;
    ++all;
    ++ever[one.entry.group];
    const Delivery& last = one.deliveries.back();
    const bool here = std::find(in_answer.begin(), in_answer.end(), index) != in_answer.end();
    if (!here && last.turn < call.handled_turn && last.queue == call.queue && !last.lost && last.until > moment.now && surely_there(one, call.handled_turn, moment.now) && !may_be_moved(one)) {
      ++in_flight[one.entry.group];
      took[one.entry.group] += since(last.at);
    }
  }
  const auto is_slow = [&](std::string_view group) {
    const std::int64_t own = took[group];
    return !clock_back_ && own >= kLongMs && own * 10 > all_may_have;
  };
  for (const int index : in_answer) {
    const Instance& given = instances_[static_cast<std::size_t>(index)];
    if (given.entry.group.empty()) continue;
    // Where nothing of it waited any more it was quiet again, up to the next one that is handed out.
    int& flying = in_flight[given.entry.group];
    const bool loud = flying >= kManyInFlight && flying * 10 > all;
    if (++given_of[given.entry.group] == 1 || (!loud && !is_slow(given.entry.group))) continue;
    tally_.note(loud ? Property::NoisyGroup : Property::SlowGroup);
    tally_.note(Property::QuietFirst);
    for (const int other : there) {
      const Instance& one = instances_[static_cast<std::size_t>(other)];
      if (one.queue != call.queue || one.entry.group == given.entry.group || std::find(in_answer.begin(), in_answer.end(), other) != in_answer.end()) continue;
      if (!one.entry.group.empty() && (ever[one.entry.group] >= kManyInFlight || may_have[one.entry.group] >= kLongMs || clock_back_)) continue;
      if (!surely_visible(one, call.handled_turn, call.handled_at)) continue;
      if (!one.deliveries.empty() && one.deliveries.back().turn >= call.handled_turn) continue;
      fail(Property::QuietFirst, fmt::format("call {} of turn {} got {} of {} in flight, and there was {}", call.id, call.handled_turn, describe(index), flying, describe(other)));
    }
  }
}

void Oracle::answered_attributes(const Call& call, const Answer& answer) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const int index : queues_[static_cast<std::size_t>(call.queue)].instances) {
    const Instance& instance = instances_[static_cast<std::size_t>(index)];
    if (instance.never) continue;
    std::uint32_t places = reach(instance);
    // An answer that stood still speaks of an earlier turn, when what was seen elsewhere since may not have been moved yet.
    for (const Instance::Left& left : instance.left)
      if (left.turn >= call.handled_turn) places |= left.places;
    const bool moved = places != bit(instance.queue);
    if ((places & bit(call.queue)) == 0) continue;
    if (instance.gone == Gone::No || instance.gone_turn >= call.handled_turn) {
      if (instance.first_turn <= call.handled_turn) high += 1;
    }
    if (instance.queue == call.queue && !moved && surely_there(instance, call.handled_turn, call.handled_at)) ++low;
  }
  const std::int64_t told = answer.visible + answer.in_flight + answer.delayed;
  require(Property::CountsAddUp, answer.visible >= 0 && answer.in_flight >= 0 && answer.delayed >= 0 && low <= told && told <= high, [&] {
    std::string text = fmt::format("call {} of turn {}: {} says {} visible, {} in flight, {} delayed; there are {} to {}", call.id, call.handled_turn,
                                   queues_[static_cast<std::size_t>(call.queue)].name, answer.visible, answer.in_flight, answer.delayed, low, high);
    for (const int index : queues_[static_cast<std::size_t>(call.queue)].instances) {
      const Instance& instance = instances_[static_cast<std::size_t>(index)];
      if (instance.queue == call.queue && !may_be_moved(instance) && surely_there(instance, call.handled_turn, call.handled_at)) text += "\n  " + describe(index);
    }
    return text;
  });
}

std::string Oracle::describe(const Instance& one) const {
  std::string text = fmt::format("{} in {}: arrived {}..{} turn {}..{}{}{}{}", one.token, queues_[static_cast<std::size_t>(one.queue)].name,
                                 time_text(one.earliest), time_text(one.latest), one.first_turn, one.last_turn,
                                 one.sure ? ", acknowledged" : ", without answer", one.moved ? ", moved" : "", one.by_task ? " by a task" : "");
  if (!one.entry.group.empty()) text += fmt::format(", group {} dedup {} sequence {}", one.entry.group, one.entry.dedup, one.sequence);
  if (one.entry.delay) text += fmt::format(", delay {} s", *one.entry.delay);
  for (const Delivery& d : one.deliveries)
    text += fmt::format("; delivered {} in {} turn {} count {} until {}{}", time_text(d.at), queues_[static_cast<std::size_t>(d.queue)].name,
                        d.turn, d.count, time_text(d.until), d.lost ? " (a crash may have lost it)" : "");
  if (one.maybe_gone) text += "; may be gone";
  if (one.gone != Gone::No) text += fmt::format("; {} in turn {}", one.gone == Gone::Deleted ? "deleted" : "purged", one.gone_turn);
  return text;
}

}  // namespace fanfare::sim
