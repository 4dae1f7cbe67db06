// The choices of a client: new work, messages to settle, requests to repeat.
#include "sim/clients.h"

#include <fmt/format.h>

#include <algorithm>

namespace fanfare::sim {

Client::Client(int number, const Plan& plan, std::uint64_t seed, Tally& tally) : number_(number), plan_(plan), rng_(seed), tally_(tally) {
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
  if (queue >= 0 && plan_.queues[static_cast<std::size_t>(queue)].fifo) {
    entry.group = fmt::format("g{}", rng_.below(3));
    entry.dedup = entry.token;
    if (plan_.has(Feature::Duplicates) && rng_.chance(1, 4) && !sent_.empty()) {
      const Sent& before = sent_[rng_.below(sent_.size())];
      if (before.queue == queue) {
        entry.dedup = before.entry.dedup;
        entry.group = before.entry.group;
      }
    }
  } else if (queue >= 0 && plan_.has(Feature::Delay) && rng_.chance(1, 5)) {
    entry.delay = static_cast<int>(rng_.below(4));
  }
  return entry;
}

CallPtr Client::fresh(Action action, int queue) {
  auto call = std::make_shared<Call>();
  call->action = action;
  call->queue = queue;
  call->protocol = plan_.has(Feature::Query) && rng_.chance(1, 2) ? Protocol::Query : Protocol::Json;
  return call;
}

CallPtr Client::send() {
  const int queue = random_queue();
  const bool batch = plan_.has(Feature::Batch) && rng_.chance(1, 3);
  CallPtr call = fresh(batch ? Action::SendBatch : Action::Send, queue);
  const std::uint64_t entries = batch ? 1 + rng_.below(10) : 1;
  for (std::uint64_t i = 0; i < entries; ++i) {
    Entry entry = fresh_entry(queue);
    // Inside one batch each deduplication id once: which of two is the original would not be told.
    if (std::any_of(call->entries.begin(), call->entries.end(), [&](const Entry& other) { return other.dedup == entry.dedup; }) && !entry.dedup.empty())
      entry.dedup = entry.token;
    call->entries.push_back(std::move(entry));
  }
  return call;
}

CallPtr Client::publish() {
  CallPtr call = fresh(plan_.has(Feature::Batch) && rng_.chance(1, 3) ? Action::PublishBatch : Action::Publish, -1);
  call->topic = static_cast<int>(rng_.below(plan_.topics.size()));
  const std::uint64_t entries = call->action == Action::PublishBatch ? 1 + rng_.below(5) : 1;
  for (std::uint64_t i = 0; i < entries; ++i) call->entries.push_back(fresh_entry(-1));
  return call;
}

CallPtr Client::receive() {
  CallPtr call = fresh(Action::Receive, random_queue());
  call->max = static_cast<int>(rng_.chance(1, 2) ? 1 + rng_.below(10) : 1);
  if (rng_.chance(1, 3)) call->visibility = static_cast<int>(rng_.chance(1, 20) ? 43'200 : rng_.below(6));
  call->wait = plan_.has(Feature::LongPoll) && rng_.chance(1, 2) ? static_cast<int>(1 + rng_.below(rng_.chance(1, 4) ? 20 : 3)) : 0;
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
    switch (rng_.below(12)) {
      case 0: case 1: case 2: return send();
      case 3: case 4: case 5: return receive();
      case 6: case 7: case 8:
        if (!held_.empty()) return settle(true);
        break;
      case 9:
        if (plan_.has(Feature::ChangeVisibility) && !held_.empty()) return settle(false);
        break;
      case 10:
        if (!plan_.subscriptions.empty()) return publish();
        break;
      default:
        if (plan_.has(Feature::Purge) && rng_.chance(1, 10)) return fresh(Action::Purge, random_queue());
        if (rng_.chance(1, 2)) return fresh(Action::Attributes, random_queue());
    }
  }
}

void Client::told(const Call& call, const Answer& answer) {
  if (answer.status >= 500) return lost(call);
  if (!answer.ok()) return;
  for (const ReceivedMessage& message : answer.messages) held_.push_back({call.queue, message.handle});
  while (held_.size() > 40) held_.pop_front();
  remember(call);
}

void Client::remember(const Call& call) {
  if (call.action != Action::Send && call.action != Action::SendBatch) return;
  for (const Entry& entry : call.entries)
    if (!entry.dedup.empty()) sent_.push_back({call.queue, entry});
  while (sent_.size() > 20) sent_.pop_front();
}

void Client::lost(const Call& call) {
  if (call.action == Action::Receive || call.action == Action::Attributes) return;
  Call again;
  again.action = call.action;
  again.protocol = call.protocol;
  again.queue = call.queue;
  again.topic = call.topic;
  again.entries = call.entries;
  const bool fifo = call.queue >= 0 && plan_.queues[static_cast<std::size_t>(call.queue)].fifo;
  const bool carries = call.action == Action::Send || call.action == Action::SendBatch || call.action == Action::Publish || call.action == Action::PublishBatch;
  // On a standard queue the second attempt is a second message; its name says so.
  if (carries && !fifo)
    for (Entry& entry : again.entries) entry.token += 'r';
  remember(call);
  again_.push_back(std::move(again));
}

}  // namespace fanfare::sim
