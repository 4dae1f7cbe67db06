// The choices of a client: new work, messages to settle, requests to repeat.
#include "sim/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"

namespace fanfare::sim {
namespace {

std::string hash_of(const Entry& entry) {
  return std::string{wire::digest::hex(wire::digest::bytes_of(wire::digest::sha256(body_of(entry.token, entry.body_bytes))))};
}

}  // namespace

Client::Client(int number, const Plan& plan, std::uint64_t seed, Tally& tally, Board& board)
    : number_(number), plan_(plan), rng_(seed), tally_(tally), board_(board) {
  favourite_ = static_cast<int>(rng_.below(plan.queues.size()));
}

int Client::random_queue() {
  return rng_.chance(1, 2) ? favourite_ : static_cast<int>(rng_.below(plan_.queues.size()));
}

Entry Client::fresh_entry(int queue) {
  Entry entry;
  entry.token = fmt::format("m{}-{}", number_, ++tokens_);
  entry.body_bytes = static_cast<std::uint32_t>(rng_.below(4));
  if (plan_.has(Feature::LargeBodies) && rng_.chance(1, 8)) entry.body_bytes = static_cast<std::uint32_t>(rng_.below(600));
  entry.attribute = rng_.chance(1, 4);
  constexpr std::array<std::string_view, 6> kKinds{"", "", "a", "b", "bc", "d"};
  if (plan_.has(Feature::FilterPolicy)) entry.kind = kKinds[rng_.below(kKinds.size())];
  if (queue >= 0 && plan_.queues[static_cast<std::size_t>(queue)].fifo) {
    entry.group = fmt::format("g{}", rng_.below(3));
    entry.dedup = entry.token;
    if (plan_.queues[static_cast<std::size_t>(queue)].hashes && rng_.chance(2, 3)) {
      entry.dedup = hash_of(entry);
      entry.hashed = true;
    }
    if (plan_.has(Feature::Duplicates) && rng_.chance(1, 4) && !sent_.empty()) {
      const Sent& before = sent_[rng_.below(sent_.size())];
      if (before.queue == queue) make_duplicate(entry, before);
    }
  } else {
    // One tenant that floods, and some that do not.
    if (plan_.has(Feature::Tenants) && rng_.chance(3, 4)) entry.group = rng_.chance(3, 4) ? "noisy" : fmt::format("g{}", rng_.below(3));
    if (queue >= 0 && plan_.has(Feature::Delay) && rng_.chance(1, 5)) entry.delay = static_cast<int>(rng_.below(4));
    if (entry.delay && plan_.has(Feature::LongTimes) && rng_.chance(1, 4)) entry.delay = 900;
  }
  return entry;
}

void Client::make_duplicate(Entry& entry, const Sent& before) {
  if (before.entry.hashed && rng_.chance(1, 2)) {
    // The same body once more, with other attributes: with no id a duplicate, with one of its own not.
    entry.token = before.entry.token;
    entry.body_bytes = before.entry.body_bytes;
    entry.hashed = rng_.chance(2, 3);
    entry.dedup = entry.hashed ? before.entry.dedup : fmt::format("e{}-{}", number_, tokens_);
  } else {
    entry.hashed = false;
    entry.dedup = before.entry.dedup;
  }
  entry.group = before.entry.group;
  // Of two that nobody answered it would not be known which one is there, nor in which group.
  if (before.accepted && plan_.has(Feature::GroupScope) && rng_.chance(1, 3)) entry.group = fmt::format("g{}", rng_.below(3));
}

CallPtr Client::fresh(Action action, int queue) {
  auto call = std::make_shared<Call>();
  call->action = action;
  call->queue = queue;
  call->protocol = plan_.has(Feature::Query) && rng_.chance(1, 2) ? Protocol::Query : Protocol::Json;
  return call;
}

CallPtr Client::send() {
  int queue = random_queue();
  // What came from nowhere ends a move task: not often.
  if (plan_.has(Feature::MoveTasks) && rng_.chance(7, 8))
    for (int source = 0; source < static_cast<int>(plan_.queues.size()); ++source)
      if (plan_.queues[static_cast<std::size_t>(source)].dead_letter == queue) queue = source;
  const bool batch = plan_.has(Feature::Batch) && rng_.chance(1, 3);
  CallPtr call = fresh(batch ? Action::SendBatch : Action::Send, queue);
  const std::uint64_t entries = batch ? 1 + rng_.below(10) : 1;
  for (std::uint64_t i = 0; i < entries; ++i) {
    Entry entry = fresh_entry(queue);
    // Inside one batch each deduplication id once: which of two is the original would not be told.
    if (std::any_of(call->entries.begin(), call->entries.end(), [&](const Entry& other) { return other.dedup == entry.dedup; }) && !entry.dedup.empty()) {
      entry.dedup = entry.hashed ? fmt::format("e{}-{}", number_, ++tokens_) : entry.token;
      entry.hashed = false;
    }
    call->entries.push_back(std::move(entry));
  }
  return call;
}

CallPtr Client::publish() {
  CallPtr call = fresh(plan_.has(Feature::Batch) && rng_.chance(1, 3) ? Action::PublishBatch : Action::Publish, -1);
  call->topic = static_cast<int>(rng_.below(plan_.topics.size()));
  const std::uint64_t entries = call->action == Action::PublishBatch ? 1 + rng_.below(5) : 1;
  for (std::uint64_t i = 0; i < entries; ++i) {
    Entry entry = fresh_entry(-1);
    if (plan_.topics[static_cast<std::size_t>(call->topic)].second) {
      entry.group = fmt::format("g{}", rng_.below(3));
      entry.dedup = "p" + entry.token;
      if (plan_.has(Feature::Duplicates) && rng_.chance(1, 4) && !published_.empty()) {
        const Sent& before = published_[rng_.below(published_.size())];
        const bool twice = std::any_of(call->entries.begin(), call->entries.end(), [&](const Entry& other) { return other.dedup == before.entry.dedup; });
        if (before.queue == call->topic && !twice) {
          entry.dedup = before.entry.dedup;
          entry.group = before.entry.group;
        }
      }
    }
    call->entries.push_back(std::move(entry));
  }
  return call;
}

CallPtr Client::create_queue(int queue) {
  CallPtr call = fresh(Action::CreateQueue, queue);
  call->queue_change = settings_of(plan_.queues[static_cast<std::size_t>(queue)]);
  if (plan_.has(Feature::ChangeAttributes) && rng_.chance(1, 2)) call->queue_change.visibility = 2;
  fill_attributes(*call, plan_);
  return call;
}

CallPtr Client::subscribe(int subscription) {
  const SubscriptionSpec& spec = plan_.subscriptions[static_cast<std::size_t>(subscription)];
  CallPtr call = fresh(Action::Subscribe, -1);
  call->topic = spec.topic;
  call->subscription = subscription;
  call->arn = queue_arn(plan_.queues[static_cast<std::size_t>(spec.queue)].name);
  call->subscription_change = {rng_.chance(1, 4) ? !spec.raw : spec.raw, spec.filter, spec.dead_letter};
  fill_attributes(*call, plan_);
  return call;
}

CallPtr Client::change_subscription() {
  const auto subscription = static_cast<int>(rng_.below(plan_.subscriptions.size()));
  const SubscriptionSpec& spec = plan_.subscriptions[static_cast<std::size_t>(subscription)];
  const std::string& arn = board_.subscriptions[static_cast<std::size_t>(subscription)];
  if (arn.empty() || (plan_.has(Feature::Unsubscribe) && rng_.chance(1, 3))) return subscribe(subscription);
  CallPtr call = fresh(Action::SetSubscription, -1);
  call->topic = spec.topic;
  call->subscription = subscription;
  call->arn = arn;
  switch (rng_.below(4)) {
    case 0:
      if (!plan_.has(Feature::FilterPolicy)) return nullptr;
      call->subscription_change.filter = static_cast<int>(rng_.below(kFilters.size()));
      break;
    case 1:
      if (spec.dead_letter < 0) return nullptr;
      call->subscription_change.dead_letter = rng_.chance(1, 2) ? spec.dead_letter : -1;
      break;
    case 2:
      if (!plan_.has(Feature::Unsubscribe)) return nullptr;
      call->action = Action::Unsubscribe;
      break;
    default: call->subscription_change.raw = rng_.chance(1, 2);
  }
  fill_attributes(*call, plan_);
  return call;
}

CallPtr Client::move() {
  std::vector<int> sources;
  for (const QueueSpec& queue : plan_.queues)
    if (queue.dead_letter >= 0) sources.push_back(queue.dead_letter);
  if (sources.empty()) return nullptr;
  const int source = sources[rng_.below(sources.size())];
  switch (rng_.below(5)) {
    case 0: {
      CallPtr call = fresh(Action::ListMoves, source);
      call->protocol = Protocol::Json;
      return call;
    }
    case 1: {
      if (board_.move_tasks.empty()) return nullptr;
      const auto& [queue, task] = board_.move_tasks.back();
      CallPtr call = fresh(Action::CancelMove, queue);
      call->task = task;
      return call;
    }
    default: break;
  }
  CallPtr call = fresh(Action::StartMove, source);
  constexpr std::array<int, 4> kRates{0, 1, 1, 5};
  call->rate = kRates[rng_.below(kRates.size())];
  if (rng_.chance(1, 3)) {
    const auto to = static_cast<int>(rng_.below(plan_.queues.size()));
    if (to != source && plan_.queues[static_cast<std::size_t>(to)].fifo == plan_.queues[static_cast<std::size_t>(source)].fifo) {
      call->destination = to;
      call->arn = queue_arn(plan_.queues[static_cast<std::size_t>(to)].name);
    }
  }
  return call;
}

CallPtr Client::configure() {
  switch (rng_.below(8)) {
    case 0:
      if (!plan_.has(Feature::ChangeAttributes)) return nullptr;
      {
        CallPtr call = fresh(Action::SetAttributes, random_queue());
        call->queue_change = random_change(plan_, call->queue, rng_);
        fill_attributes(*call, plan_);
        return call;
      }
    case 1:
      if (!plan_.has(Feature::DeleteQueue) || !rng_.chance(1, 4)) return nullptr;
      if (rng_.chance(1, 2)) return create_queue(random_queue());
      return fresh(Action::DeleteQueue, random_queue());
    case 2:
      if (!plan_.has(Feature::DeleteTopic) || plan_.topics.empty() || !rng_.chance(1, 4)) return nullptr;
      {
        CallPtr call = fresh(rng_.chance(1, 2) ? Action::DeleteTopic : Action::CreateTopic, -1);
        call->topic = static_cast<int>(rng_.below(plan_.topics.size()));
        if (plan_.archives(call->topic)) return nullptr;  // it is not deleted as long as it archives
        fill_attributes(*call, plan_);
        return call;
      }
    case 3:
    case 4:
      if (plan_.subscriptions.empty() || !plan_.has(Feature::ChangeAttributes)) return nullptr;
      return change_subscription();
    default:
      if (!plan_.has(Feature::MoveTasks)) return nullptr;
      return move();
  }
}

CallPtr Client::receive() {
  CallPtr call = fresh(Action::Receive, random_queue());
  call->max = static_cast<int>(rng_.chance(1, 2) ? 1 + rng_.below(10) : 1);
  if (plan_.has(Feature::Tenants) && rng_.chance(1, 2)) call->max = 10;
  if (rng_.chance(1, 3)) call->visibility = static_cast<int>(rng_.chance(1, 20) ? 43'200 : rng_.below(6));
  call->wait = plan_.has(Feature::LongPoll) && rng_.chance(1, 2) ? static_cast<int>(1 + rng_.below(rng_.chance(1, 4) ? 20 : 3)) : 0;
  if (plan_.has(Feature::QueueWait) && rng_.chance(1, 2)) call->wait.reset();
  if (!plan_.has(Feature::AttemptIds) || !plan_.queues[static_cast<std::size_t>(call->queue)].fifo) return call;
  if (!asked_.empty() && rng_.chance(1, 3)) {
    const Asked& before = asked_[rng_.below(asked_.size())];
    call->queue = before.queue;
    call->max = before.max;
    call->attempt = before.attempt;
  } else if (rng_.chance(2, 3)) {
    call->attempt = fmt::format("a{}-{}", number_, ++tokens_);
    asked_.push_back({call->queue, call->max, call->attempt});
    if (asked_.size() > 6) asked_.pop_front();
  }
  return call;
}

CallPtr Client::settle(bool remove) {
  const bool batch = plan_.has(Feature::Batch) && rng_.chance(1, 2);
  const std::size_t at = rng_.below(held_.size());
  const int queue = held_[at].queue;
  CallPtr call = fresh(remove ? batch ? Action::DeleteBatch : Action::Delete : batch ? Action::ChangeBatch : Action::Change, queue);
  const auto add = [&](std::size_t index) {
    Entry entry;
    entry.handle = held_[index].handle;
    entry.timeout = static_cast<int>(rng_.chance(1, 3) ? 0 : rng_.below(10));
    // Twelve hours from the receive are the most.
    if (plan_.has(Feature::LongTimes) && rng_.chance(1, 6)) entry.timeout = 43'200 - static_cast<int>(rng_.below(3));
    call->entries.push_back(std::move(entry));
    // Most are done with; some are kept, and come again with an old handle.
    if (remove && rng_.chance(7, 8)) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  };
  add(at);
  if (batch) {
    for (std::size_t i = held_.size(); i-- > 0 && call->entries.size() < 10;) {
      if (held_[i].queue != queue || held_[i].handle == call->entries[0].handle) continue;
      add(i);
    }
  }
  return call;
}

CallPtr Client::next() {
  if (!again_.empty() && rng_.chance(3, 4)) {
    auto call = std::make_shared<Call>(std::move(again_.front()));
    again_.pop_front();
    tally_.note(Property::Retried);
    return call;
  }
  while (true) {
    switch (rng_.below(14)) {
      case 12:
      case 13:
        if (CallPtr call = configure()) return call;
        break;
      case 0: case 1: case 2: return send();
      case 3: case 4: case 5: return receive();
      case 6: case 7: case 8:
        if (plan_.has(Feature::Tenants) && rng_.chance(1, 2)) return rng_.chance(1, 2) ? send() : receive();
        if (!held_.empty()) return settle(true);
        break;
      case 9:
        if (plan_.has(Feature::ChangeVisibility) && !held_.empty()) return settle(false);
        break;
      case 10:
        if (!plan_.subscriptions.empty()) return publish();
        break;
      case 11:
        if (plan_.replays > 0 && !plan_.subscriptions.empty() && rng_.chance(2, 3)) return publish();
        [[fallthrough]];
      default:
        if (plan_.has(Feature::Purge) && rng_.chance(1, 10)) return fresh(Action::Purge, random_queue());
        if (rng_.chance(1, 2)) return fresh(Action::Attributes, random_queue());
    }
  }
}

void Client::told(const Call& call, const Answer& answer) {
  if (answer.status >= 500) return lost(call);
  if (!answer.ok()) {
    const bool no_queue = answer.code.find("NonExistentQueue") != std::string::npos || answer.code.find("QueueDoesNotExist") != std::string::npos;
    if (no_queue && call.queue >= 0 && rng_.chance(1, 2)) again_.push_back(std::move(*create_queue(call.queue)));
    if (answer.code.find("QueueDeletedRecently") != std::string::npos && rng_.chance(3, 4)) again_.push_back(std::move(*create_queue(call.queue)));
    if (answer.code.find("NotFound") != std::string::npos && call.topic >= 0 && rng_.chance(1, 2)) {
      CallPtr create = fresh(Action::CreateTopic, -1);
      create->topic = call.topic;
      fill_attributes(*create, plan_);
      again_.push_back(std::move(*create));
    }
    return;
  }
  if (call.action == Action::Subscribe) board_.subscriptions[static_cast<std::size_t>(call.subscription)] = answer.text;
  if (call.action == Action::StartMove) {
    board_.move_tasks.emplace_back(call.queue, answer.text);
    if (board_.move_tasks.size() > 4) board_.move_tasks.pop_front();
  }
  for (const ReceivedMessage& message : answer.messages) held_.push_back({call.queue, message.handle});
  while (held_.size() > 40) held_.pop_front();
  remember(call, true);
}

void Client::remember(const Call& call, bool accepted) {
  if (call.action == Action::Publish || call.action == Action::PublishBatch)
    for (const Entry& entry : call.entries)
      if (!entry.dedup.empty()) published_.push_back({call.topic, entry, accepted});
  if (call.action == Action::Send || call.action == Action::SendBatch)
    for (const Entry& entry : call.entries)
      if (!entry.dedup.empty()) sent_.push_back({call.queue, entry, accepted});
  while (sent_.size() > 20) sent_.pop_front();
  while (published_.size() > 20) published_.pop_front();
}

void Client::lost(const Call& call) {
  if ((call.action == Action::Receive && call.attempt.empty()) || call.action == Action::Attributes || call.action == Action::ListMoves) return;
  Call again;
  again.action = call.action;
  again.protocol = call.protocol;
  again.queue = call.queue;
  again.topic = call.topic;
  again.entries = call.entries;
  again.subscription = call.subscription;
  again.queue_change = call.queue_change;
  again.subscription_change = call.subscription_change;
  again.destination = call.destination;
  again.rate = call.rate;
  again.max = call.max;
  again.visibility = call.visibility;
  again.wait = call.wait;
  again.attempt = call.attempt;
  again.task = call.task;
  again.attributes = call.attributes;
  again.arn = call.arn;
  const bool fifo = (call.queue >= 0 && plan_.queues[static_cast<std::size_t>(call.queue)].fifo) ||
                    (call.topic >= 0 && plan_.topics[static_cast<std::size_t>(call.topic)].second);
  const bool carries = call.action == Action::Send || call.action == Action::SendBatch || call.action == Action::Publish || call.action == Action::PublishBatch;
  // On a standard queue the second attempt is a second message; its name says so.
  if (carries && !fifo)
    for (Entry& entry : again.entries) entry.token += 'r';
  remember(call, false);
  again_.push_back(std::move(again));
}

}  // namespace fanfare::sim
