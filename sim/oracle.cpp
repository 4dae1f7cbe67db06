// The checks, in the order in which a request lives: handed in, answered, or never.
#include "sim/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"
#include "wire/json/reader.h"

namespace fanfare::sim {
namespace {

constexpr seconds kDedupWindow{300};

std::string time_text(Timestamp at) { return fmt::format("{}", unix_ms(at) % 100'000'000); }

/// What an envelope wraps; nullopt if it is none.
struct Envelope {
  std::string message;
  std::string id;
  std::string topic;
  std::string type;
};
std::optional<Envelope> unwrap(std::string_view body) {
  static thread_local wire::json::Reader reader;
  const auto root = reader.parse(body);
  if (!root) return std::nullopt;
  const auto text = [&](std::string_view key) {
    const auto found = root->find(key);
    return std::string{found ? found->as_string().value_or("") : ""};
  };
  return Envelope{text("Message"), text("MessageId"), text("TopicArn"), text("Type")};
}

}  // namespace

void Oracle::fail(Property property, const std::string& text) const { throw Failure(std::string{text_of(property).name}, text); }

int Oracle::add_queue(QueueSpec spec) {
  queues_.push_back(std::move(spec));
  by_queue_.emplace_back();
  sequences_.emplace_back();
  last_purge_.emplace_back();
  last_purge_turn_.push_back(0);
  return static_cast<int>(queues_.size()) - 1;
}

int Oracle::add_topic(std::string name) {
  topics_.push_back(std::move(name));
  return static_cast<int>(topics_.size()) - 1;
}

std::string Oracle::target_of(const Call& call) const {
  if (call.topic >= 0) return topics_.at(static_cast<std::size_t>(call.topic));
  if (call.queue >= 0) return queues_.at(static_cast<std::size_t>(call.queue)).name;
  return call.name;
}

std::string Oracle::describe(int index) const {
  const Instance& one = instances_.at(static_cast<std::size_t>(index));
  std::string text = fmt::format("{} in {}: arrived {}..{}{}{}", one.token, queues_[static_cast<std::size_t>(one.queue)].name,
                                 time_text(one.earliest), time_text(one.latest), one.sure ? ", acknowledged" : ", without answer",
                                 one.moved ? ", moved" : "");
  if (!one.entry.group.empty()) text += fmt::format(", group {} dedup {} sequence {}", one.entry.group, one.entry.dedup, one.sequence);
  if (one.entry.delay) text += fmt::format(", delay {} s", *one.entry.delay);
  for (const Delivery& d : one.deliveries)
    text += fmt::format("; delivered {} in {} turn {} count {} until {}{}", time_text(d.at), queues_[static_cast<std::size_t>(d.queue)].name,
                        d.turn, d.count, time_text(d.until), d.lost ? " (a crash may have lost it)" : "");
  if (one.maybe_gone) text += "; may be gone";
  if (one.gone != Gone::No) text += fmt::format("; {} in turn {}", one.gone == Gone::Deleted ? "deleted" : "purged", one.gone_turn);
  return text;
}

int Oracle::add_instance(Instance instance) {
  const int index = static_cast<int>(instances_.size());
  by_token_[instance.token].push_back(index);
  const auto queue = static_cast<std::size_t>(instance.queue);
  by_queue_[queue].push_back(index);
  if (queues_[queue].dead_letter >= 0) by_queue_[static_cast<std::size_t>(queues_[queue].dead_letter)].push_back(index);
  instances_.push_back(std::move(instance));
  return index;
}

// ---- What is handed in ----------------------------------------------------------------------------------------------

void Oracle::handled(const CallPtr& pointer, const Moment& moment) {
  Call& call = *pointer;
  call.handled_turn = moment.turn;
  call.handled_order = ++handled_count_;
  if (call.action == Action::Receive) open_receives_.push_back(pointer);
  call.handled_at = moment.now;
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
      if (call.action == Action::Delete || call.action == Action::DeleteBatch) return;
      for (std::size_t i = 0; i < call.entries.size(); ++i) {
        call.leases.emplace_back();
        Delivery* delivery = delivery_of(call, i);
        if (delivery == nullptr) continue;
        call.leases.back() = {delivery->until, delivery->before_change};
        const Timestamp until = call.handled_at + seconds{call.entries[i].timeout};
        delivery->before_change = std::max({delivery->before_change.value_or(delivery->until), delivery->until, until});
        delivery->until = std::min(delivery->until, until);
        delivery->lowest = std::min(delivery->lowest, until);
      }
      return;
    case Action::Purge: {
      const auto queue = static_cast<std::size_t>(call.queue);
      last_purge_[queue] = moment.now;
      last_purge_turn_[queue] = moment.turn;
      for (const int index : by_queue_[queue]) {
        Instance& instance = instances_[static_cast<std::size_t>(index)];
        instance.purge_cleared_dedup = true;
        if (instance.queue == call.queue || may_be_moved(instance)) {
          call.instances.push_back(index);
          ++instance.pending_deletes;
        }
      }
      return;
    }
    default: return;
  }
}

void Oracle::handled_send(Call& call, const Moment& moment) {
  const QueueSpec& spec = queues_[static_cast<std::size_t>(call.queue)];
  for (const Entry& entry : call.entries) {
    int index = -1;
    if (spec.fifo) {  // a retry: the same message again
      if (const auto found = by_token_.find(entry.token); found != by_token_.end()) index = found->second.back();
      // Behind the window it is another message.
      if (index >= 0) {
        const Instance& before = instances_[static_cast<std::size_t>(index)];
        if (before.never || before.gone != Gone::No || moment.now >= before.earliest + kDedupWindow) index = -1;
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
    if (!instance.sure) {
      instance.earliest = std::min(instance.earliest, moment.now);  // the clock may have run back over a crash
      instance.latest = std::max(instance.latest, moment.now);
    }
    ++instance.open_attempts;
    call.instances.push_back(index);
  }
}

void Oracle::handled_publish(Call& call, const Moment& moment) {
  for (const Entry& entry : call.entries) {
    const int publication = static_cast<int>(publications_.size());
    publications_.push_back({{}, {}, call.topic});
    for (const SubscriptionSpec& subscription : subscriptions_) {
      if (subscription.topic != call.topic) continue;
      Instance copy;
      copy.token = entry.token;
      copy.queue = subscription.queue;
      copy.entry = entry;
      copy.publication = publication;
      copy.raw = subscription.raw;
      copy.earliest = copy.latest = moment.now;
      copy.first_turn = moment.turn;
      copy.starts = starts_;
      copy.open_attempts = 1;
      const int index = add_instance(std::move(copy));
      publications_.back().copies.push_back(index);
    }
    call.instances.push_back(publication);
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
  if (!answer.ok()) {
    check_error(call, answer, moment);
    return;
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
    case Action::Attributes: return answered_attributes(call, answer);
    case Action::Purge:
      for (const int index : call.instances) {
        Instance& instance = instances_[static_cast<std::size_t>(index)];
        --instance.pending_deletes;
        const bool surely_before = instance.first_turn < call.handled_turn && instance.open_attempts == 0;
        if (instance.gone != Gone::No) continue;
        if (surely_before && instance.queue == call.queue && !may_be_moved(instance)) {
          if (instance.sure && instance.sure_turn < call.handled_turn) note(Property::Purged);
          instance.gone = Gone::Purged;
          instance.gone_turn = moment.turn;
        } else {
          instance.maybe_gone = true;
        }
      }
      return;
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
  const auto expected = [&] {
    if (answer.status == 503) {
      note(Property::DiskFull);
      return !moment.disk_in_order;
    }
    switch (call.action) {
      case Action::Delete:
        // FIFO: the lease of the handle has ended. [SQS DeleteMessage]
        return queues_[static_cast<std::size_t>(call.queue)].fifo && (answer.code.find("InvalidParameterValue") != std::string::npos ||
                                                                      answer.code.find("ReceiptHandle") != std::string::npos);
      case Action::Change: return answer.code.find("MessageNotInflight") != std::string::npos || answer.code.find("InvalidParameterValue") != std::string::npos;
      case Action::Purge: return answer.code.find("PurgeQueueInProgress") != std::string::npos;
      case Action::Receive: return answer.code.find("OverLimit") != std::string::npos;
      default: return false;
    }
  };
  require(Property::ErrorsExpected, expected(), [&] {
    return fmt::format("call {}: {} {} {}", call.id, answer.status, answer.code, answer.text);
  });
  if (call.action == Action::Change && !maybe_done)
    if (Delivery* delivery = delivery_of(call, 0)) std::tie(delivery->until, delivery->before_change) = call.leases[0];
  for (const int index : call.instances) {
    switch (call.action) {
      case Action::Send:
      case Action::SendBatch: end_attempt(index, maybe_done); break;
      case Action::Publish:
      case Action::PublishBatch:
        for (const int copy : publications_[static_cast<std::size_t>(index)].copies) end_attempt(copy, maybe_done);
        break;
      case Action::Delete:
      case Action::DeleteBatch:
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
  const QueueSpec& spec = queues_[static_cast<std::size_t>(call.queue)];
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    const EntryAnswer& entry = answer.entries[i];
    const int index = call.instances[i];
    if (!entry.ok) {
      require(Property::ErrorsExpected, false, [&] { return fmt::format("call {} entry {}: {}", call.id, i, entry.code); });
      continue;
    }
    if (spec.fifo) {
      accepted_fifo(call, i, index, entry, moment);
      continue;
    }
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    require(Property::Invented, instance.message_id.empty() || instance.message_id == entry.message_id,
            [&] { return fmt::format("the send of {} is answered with id {}", describe(index), entry.message_id); });
    instance.message_id = entry.message_id;
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
  for (const int other : by_queue_[queue])
    if (instances_[static_cast<std::size_t>(other)].message_id == answer.message_id) owner = other;
  const auto note_hit = [&](const Instance& original) {
    note(Property::DedupHit);
    if (original.starts < starts_) note(Property::DedupHitAfterRestart);
  };
  if (owner >= 0) {
    const Instance& original = instances_[static_cast<std::size_t>(owner)];
    require(Property::DedupHolds, original.entry.dedup == entry.dedup,
            [&] { return fmt::format("{} is answered with the id of {}", entry.token, describe(owner)); });
    require(Property::DedupHolds, original.sent_sequence.empty() || original.sent_sequence == answer.sequence,
            [&] { return fmt::format("{} is a duplicate of {} and gets sequence {}", entry.token, describe(owner), answer.sequence); });
    if (owner != index || original.sure) {
      require(Property::DedupEnds, call.handled_at < original.latest + kDedupWindow,
              [&] { return fmt::format("{} at {} is taken for a duplicate of {}", entry.token, time_text(call.handled_at), describe(owner)); });
      note_hit(original);
    }
    if (owner != index) {
      end_attempt(index, false);
      if (instances_[static_cast<std::size_t>(index)].open_attempts > 0 && !instances_[static_cast<std::size_t>(index)].sure)
        instances_[static_cast<std::size_t>(index)].never = true;  // an earlier attempt would be the original
    }
  } else {
    // The id of a message that was sent without an answer, and is not known yet?
    for (const int other : by_queue_[queue]) {
      const Instance& open = instances_[static_cast<std::size_t>(other)];
      if (other != index && open.entry.dedup == entry.dedup && !open.never && open.message_id.empty() && open.open_attempts > 0) return;
    }
    // A new message. Was there one that should have stopped it?
    for (const int other : by_queue_[queue]) {
      const Instance& earlier = instances_[static_cast<std::size_t>(other)];
      if (earlier.entry.dedup != entry.dedup || earlier.queue != call.queue || !earlier.sure || earlier.message_id.empty()) continue;
      if (earlier.sure_turn >= call.handled_turn || earlier.purge_cleared_dedup) continue;
      require(Property::DedupHolds, call.handled_at >= earlier.earliest + kDedupWindow,
              [&] { return fmt::format("{} at {} is accepted in spite of {}", entry.token, time_text(call.handled_at), describe(other)); });
    }
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    if (!instance.message_id.empty()) {
      // The same message was accepted before, and again when the window was over.
      Instance again;
      again.token = entry.token;
      again.queue = call.queue;
      again.entry = entry;
      again.earliest = again.latest = call.handled_at;
      again.first_turn = call.handled_turn;
      again.starts = starts_;
      again.open_attempts = 1;
      --instance.open_attempts;
      index = add_instance(std::move(again));
    }
  }
  if (owner < 0 || owner == index) {
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    instance.never = false;
    instance.message_id = answer.message_id;
    instance.sent_sequence = answer.sequence;
    if (!instance.moved) instance.sequence = answer.sequence;
    if (!instance.sure) instance.sure_turn = moment.turn;
    instance.sure = true;
    --instance.open_attempts;
  }
  // Of one that was repeated nobody knows which attempt was the one.
  if (owner >= 0 || instances_[static_cast<std::size_t>(index)].earliest != call.handled_at) return;
  auto& sequences = sequences_[queue];
  const auto place = sequences.emplace(call.handled_order * 16 + i, answer.sequence).first;
  const bool rises = (place == sequences.begin() || std::prev(place)->second < answer.sequence) &&
                     (std::next(place) == sequences.end() || answer.sequence < std::next(place)->second);
  require(Property::SequenceRises, rises && answer.sequence.size() == 20, [&] {
    return fmt::format("{} in {} gets {}, the one before {}", entry.token, queues_[queue].name, answer.sequence,
                       place == sequences.begin() ? "nothing" : std::prev(place)->second);
  });
}

void Oracle::answered_publish(Call& call, const Answer& answer, const Moment& moment) {
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    Publication& publication = publications_[static_cast<std::size_t>(call.instances[i])];
    if (!answer.entries[i].ok) {
      require(Property::ErrorsExpected, false, [&] { return fmt::format("call {} entry {}: {}", call.id, i, answer.entries[i].code); });
      continue;
    }
    publication.id = answer.entries[i].message_id;
    for (const int index : publication.copies) {
      Instance& copy = instances_[static_cast<std::size_t>(index)];
      copy.sure = true;
      copy.sure_turn = moment.turn;
      --copy.open_attempts;
    }
  }
}

bool Oracle::may_be_expired(const Instance& instance, Timestamp now) const {
  const QueueSpec& spec = queues_[static_cast<std::size_t>(instance.queue)];
  int retention = spec.retention;
  if (spec.dead_letter >= 0) retention = std::min(retention, queues_[static_cast<std::size_t>(spec.dead_letter)].retention);
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

bool Oracle::may_be_moved(const Instance& instance) const {
  const QueueSpec& spec = queues_[static_cast<std::size_t>(instance.queue)];
  return !instance.moved && spec.dead_letter >= 0 && possible_receives(instance, instance.queue) >= spec.max_receives;
}

bool Oracle::surely_there(const Instance& instance, std::uint64_t turn, Timestamp now) const {
  return instance.sure && instance.sure_turn < turn && !instance.never && instance.pending_deletes == 0 && !instance.maybe_gone &&
         instance.gone == Gone::No && !may_be_expired(instance, now);
}

bool Oracle::surely_visible(const Instance& instance, std::uint64_t turn, Timestamp now) const {
  if (!surely_there(instance, turn, now) || may_be_moved(instance)) return false;
  const QueueSpec& spec = queues_[static_cast<std::size_t>(instance.queue)];
  if (instance.latest + seconds{instance.entry.delay.value_or(spec.delay)} > now) return false;
  if (!instance.deliveries.empty() && instance.deliveries.back().until > now) return false;
  for (const Delivery& delivery : instance.deliveries)
    if (delivery.before_change && std::max(delivery.until, *delivery.before_change) > now) return false;
  // A receive without an answer may hold it.
  for (const LostReceive& lost : lost_receives_)
    if (lost.queue == instance.queue && lost.turn >= instance.first_turn && counts(lost)) return false;
  for (const CallPtr& open : open_receives_)
    if (!open->finished && open->queue == instance.queue && open->stalled) return false;
  return true;
}

int Oracle::find(const Call& call, const ReceivedMessage& message, const std::string& token) const {
  const auto found = by_token_.find(token);
  if (found == by_token_.end()) return -1;
  int best = -1;
  for (const int index : found->second) {
    const Instance& instance = instances_[static_cast<std::size_t>(index)];
    const bool here = instance.queue == call.queue ||
                      queues_[static_cast<std::size_t>(instance.queue)].dead_letter == call.queue ||
                      (instance.moved && queues_[static_cast<std::size_t>(call.queue)].dead_letter == instance.queue);
    if (!here) continue;
    if (!instance.message_id.empty() && instance.message_id == message.id) return index;
    if (queues_[static_cast<std::size_t>(call.queue)].fifo && !instance.message_id.empty()) continue;
    const bool of_its_time = message.sent_ms >= unix_ms(instance.earliest) && message.sent_ms <= unix_ms(instance.latest);
    if (queues_[static_cast<std::size_t>(call.queue)].fifo && !of_its_time && !instance.moved && instance.queue == call.queue && best >= 0) continue;
    if (best < 0 || instance.queue == call.queue) best = index;
  }
  return best;
}

void Oracle::answered_receive(Call& call, const Answer& answer, const Moment& moment) {
  // What a disk with errors cannot read is left out of the answer and given back; who it was is not told.
  const bool whole = moment.disk_in_order || answer.messages.size() == static_cast<std::size_t>(call.max);
  if (!whole) lost_receives_.push_back({call.queue, moment.turn, true, true, crashes_, moment.turn});
  if (call.waited) note(answer.messages.empty() ? Property::LongPollEmpty : Property::LongPollWoken);
  if (answer.messages.empty()) {
    if (call.wait.value_or(0) > 0 && !draining_ && whole)
      require(Property::LongPollWaits, moment.now >= call.handled_at + seconds{*call.wait}, [&] {
        return fmt::format("call {}: a wait of {} s from {} ended with nothing at {}", call.id, *call.wait, time_text(call.handled_at), time_text(moment.now));
      });
    return;
  }
  require(Property::Invented, answer.messages.size() <= static_cast<std::size_t>(call.max),
          [&] { return fmt::format("call {} asked for {} messages and got {}", call.id, call.max, answer.messages.size()); });
  std::vector<int> in_answer;
  for (const ReceivedMessage& message : answer.messages) deliver(call, message, moment, in_answer);
}

void Oracle::end_of_turn() {
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
  for (const int index : by_queue_[queue]) {
    const Instance& instance = instances_[static_cast<std::size_t>(index)];
    if (instance.queue != call.queue || !surely_visible(instance, turn, call.waited ? moment.now : call.handled_at)) continue;
    // A delivery in this very turn by another request, or a change of visibility: the order is not known.
    if (!instance.deliveries.empty() && instance.deliveries.back().turn >= turn) continue;
    if (queues_[queue].fifo) {
      const bool group_is_free = std::none_of(by_queue_[queue].begin(), by_queue_[queue].end(), [&](int other) {
        const Instance& one = instances_[static_cast<std::size_t>(other)];
        return other != index && one.entry.group == instance.entry.group && !one.never &&
               (one.gone == Gone::No || one.gone_turn >= turn) && !surely_visible(one, turn, call.handled_at);
      });
      if (!group_is_free) continue;
    }
    fail(Property::EmptyIsEmpty, fmt::format("call {} of turn {} found nothing at {} in {}, and there was {}", call.id, call.handled_turn,
                                             time_text(moment.now), queues_[queue].name, describe(index)));
  }
}

void Oracle::deliver(Call& call, const ReceivedMessage& message, const Moment& moment, std::vector<int>& in_answer) {
  const auto queue = static_cast<std::size_t>(call.queue);
  const QueueSpec& spec = queues_[queue];
  std::string body = message.body;
  std::optional<Envelope> envelope;
  if (body.starts_with('{')) {
    envelope = unwrap(body);
    if (envelope) body = envelope->message;
  }
  const std::string token = body.substr(0, body.find('|'));
  const int index = find(call, message, token);
  require(Property::Invented, index >= 0, [&] { return fmt::format("call {} got '{}' from {}", call.id, token, spec.name); });
  Instance& instance = instances_[static_cast<std::size_t>(index)];
  require(Property::Invented, body == body_of(token, instance.entry.body_bytes), [&] { return "other content: " + describe(index); });
  require(Property::Invented, message.md5 == wire::digest::hex(wire::digest::bytes_of(wire::digest::md5(message.body))) || envelope,
          [&] { return fmt::format("MD5OfBody {} of {}", message.md5, describe(index)); });
  require(Property::Invented, envelope.has_value() == !instance.raw, [&] { return "raw and enveloped mixed up: " + describe(index); });
  require(Property::Invented, instance.message_id.empty() || instance.message_id == message.id,
          [&] { return fmt::format("id {} of {}, whose id is {}", message.id, describe(index), instance.message_id); });
  if (instance.raw)
    require(Property::Invented, message.attribute == (instance.entry.attribute ? token : ""),
            [&] { return fmt::format("message attribute '{}' of {}", message.attribute, describe(index)); });
  if (instance.publication >= 0) {
    const Publication& publication = publications_[static_cast<std::size_t>(instance.publication)];
    note(instance.raw ? Property::RawCopy : Property::Enveloped);
    if (envelope) {
      require(Property::Invented, envelope->type == "Notification" && envelope->topic == topic_arn(topics_[static_cast<std::size_t>(publication.topic)]),
              [&] { return "envelope of " + describe(index); });
      require(Property::Invented, publication.id.empty() || publication.id == envelope->id, [&] { return "publication id of " + describe(index); });
    }
  }
  require(Property::Invented, !instance.never, [&] {
    return fmt::format("it was refused or suppressed as a duplicate: {}", describe(index));
  });
  if (!instance.deliveries.empty() && instance.deliveries.back().turn > moment.turn) {
    // Told late, over a connection that stood still; others have had it since. What it says is old.
    by_handle_[message.handle] = {index, -1};
    lost_receives_.push_back({call.queue, moment.turn, true, false, crashes_, moment.turn});
    in_answer.push_back(index);
    return;
  }
  instance.message_id = message.id;
  if (!instance.sure) note(Property::UnknownSurvived);
  if (nothing_resident_ && instance.first_turn < moment.turn) note(Property::ReadBack);
  if (spec.fifo) {
    require(Property::SequenceRises, instance.moved || instance.queue != call.queue || instance.sequence.empty() || instance.sequence == message.sequence,
            [&] { return fmt::format("sequence number {} of {}", message.sequence, describe(index)); });
    require(Property::Invented, message.group == instance.entry.group, [&] { return "group of " + describe(index); });
  }

  // Moved away?
  if (instance.queue != call.queue) {
    require(Property::MovedStaysMoved, !instance.moved, [&] { return "seen in its source again: " + describe(index); });
    const QueueSpec& source = queues_[static_cast<std::size_t>(instance.queue)];
    require(Property::DeadLetterRule, possible_receives(instance, instance.queue) >= source.max_receives,
            [&] { return fmt::format("maxReceiveCount {}: {}", source.max_receives, describe(index)); });
    require(Property::DeadLetterRule, message.dead_letter_source == queue_arn(source.name),
            [&] { return fmt::format("DeadLetterQueueSourceArn '{}' of {}", message.dead_letter_source, describe(index)); });
    note(Property::DeadLettered);
    if (!instance.deliveries.empty() && instance.starts < starts_) note(Property::DeadLetterAfterCrash);
    instance.source = instance.queue;
    instance.queue = call.queue;
    instance.moved = true;
    instance.sequence.clear();
  } else if (!instance.deliveries.empty() && instance.deliveries.back().queue == call.queue && instance.deliveries.back().lost) {
    note(Property::LostReceive);
  }
  if (spec.fifo) {
    instance.sequence = message.sequence;
    if (!instance.moved) instance.sent_sequence = message.sequence;
  }

  // Gone?
  tally_.note(Property::DeletedStaysDeleted);
  tally_.note(Property::PurgedStaysGone);
  if (instance.gone != Gone::No && instance.gone_turn < moment.turn)
    fail(instance.gone == Gone::Deleted ? Property::DeletedStaysDeleted : Property::PurgedStaysGone,
         fmt::format("call {} of turn {} at {} got {}", call.id, moment.turn, time_text(moment.now), describe(index)));
  require(Property::ExpiredStaysGone, unix_ms(moment.now) < message.sent_ms + std::int64_t{spec.retention} * 1000,
          [&] { return fmt::format("retention {} s, sent {}: {}", spec.retention, message.sent_ms, describe(index)); });
  require(Property::Invented,
          (message.sent_ms >= unix_ms(instance.earliest) && message.sent_ms <= unix_ms(instance.latest)) || (instance.moved && spec.fifo),
          [&] { return fmt::format("SentTimestamp {} of {}", message.sent_ms, describe(index)); });

  // Delay, lease, count.
  if (instance.deliveries.empty()) {
    const int delay = instance.entry.delay.value_or(spec.delay);
    require(Property::DelayRespected, moment.now >= instance.earliest + seconds{delay},
            [&] { return fmt::format("delay {} s, handed out at {}: {}", delay, time_text(moment.now), describe(index)); });
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

  // A disk that cannot read a content leaves it out.
  if (spec.fifo && moment.disk_in_order && !call.stalled) check_fifo(call, index, moment, in_answer);
  in_answer.push_back(index);
  const auto lease = seconds{call.visibility.value_or(spec.visibility)};
  by_handle_[message.handle] = {index, static_cast<int>(instance.deliveries.size())};
  instance.deliveries.push_back({message.handle, call.queue, moment.now, moment.turn, message.receive_count, moment.now + lease, moment.log_end, moment.micros, false, moment.now + lease});
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
      if (instances_[static_cast<std::size_t>(other)].sequence >= instance.sequence)
        fail(Property::FifoOrder, fmt::format("call {}: {} behind {}", call.id, describe(index), describe(other)));
    }
  if (of_group == 1) note(Property::GroupBatch);
  for (const int other : by_queue_[static_cast<std::size_t>(call.queue)]) {
    if (other == index) continue;
    const Instance& one = instances_[static_cast<std::size_t>(other)];
    if (one.queue != call.queue || one.entry.group != instance.entry.group) continue;
    if (std::find(in_answer.begin(), in_answer.end(), other) != in_answer.end()) continue;
    const bool there = surely_there(one, call.waited ? moment.turn : call.handled_turn, moment.now) && !may_be_moved(one) && !one.sequence.empty();
    if (there && one.sequence < instance.sequence)
      fail(Property::FifoOrder, fmt::format("call {} of turn {} got {} before {}", call.id, moment.turn, describe(index), describe(other)));
    if (one.gone != Gone::No || one.maybe_gone || one.pending_deletes > 0 || one.deliveries.empty() || may_be_moved(one) || may_be_expired(one, moment.now)) continue;
    const Delivery& flight = one.deliveries.back();
    if (flight.queue == call.queue && !flight.lost && flight.until > moment.now)
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
      require(Property::ErrorsExpected, fifo, [&] { return fmt::format("call {} entry {}: {}", call.id, i, answer.entries[i].code); });
      continue;
    }
    const int number = by_handle_.at(call.entries[i].handle).second;
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
    if (last && delivery.lost && (!instance.sure || instance.latest > delivery.at)) last = false;
    if (last) {
      if (delivery.until < call.handled_at) note(Property::LateDelete);
      instance.gone = Gone::Deleted;
      instance.gone_turn = moment.turn;
      if (instance.publication >= 0 && !instance.sure && !delivery.lost) {
        // It is durable that this copy was there; so are the others of one record.
        for (const int copy : publications_[static_cast<std::size_t>(instance.publication)].copies) {
          Instance& other = instances_[static_cast<std::size_t>(copy)];
          if (other.sure) continue;
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

void Oracle::answered_change(Call& call, const Answer& answer, const Moment& moment) {
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    Delivery* delivery = delivery_of(call, i);
    if (delivery == nullptr) continue;
    if (!answer.entries[i].ok) {
      std::tie(delivery->until, delivery->before_change) = call.leases[i];
      continue;
    }
    delivery->before_change = std::max(call.leases[i].first, call.leases[i].second.value_or(call.leases[i].first));
    delivery->until = call.handled_at + seconds{call.entries[i].timeout};
    delivery->change_log_end = moment.log_end;
  }
}

void Oracle::answered_attributes(const Call& call, const Answer& answer) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (const int index : by_queue_[static_cast<std::size_t>(call.queue)]) {
    const Instance& instance = instances_[static_cast<std::size_t>(index)];
    if (instance.never) continue;
    const bool moved = may_be_moved(instance);
    if (instance.queue != call.queue && !moved) continue;
    if (instance.gone == Gone::No || instance.gone_turn >= call.handled_turn) {
      if (instance.first_turn <= call.handled_turn) high += 1;
    }
    if (instance.queue == call.queue && !moved && surely_there(instance, call.handled_turn, call.handled_at)) ++low;
  }
  const std::int64_t told = answer.visible + answer.in_flight + answer.delayed;
  require(Property::CountsAddUp, answer.visible >= 0 && answer.in_flight >= 0 && answer.delayed >= 0 && low <= told && told <= high, [&] {
    return fmt::format("call {} of turn {}: {} says {} visible, {} in flight, {} delayed; there are {} to {}", call.id, call.handled_turn,
                       queues_[static_cast<std::size_t>(call.queue)].name, answer.visible, answer.in_flight, answer.delayed, low, high);
  });
}

// ---- What is never told ---------------------------------------------------------------------------------------------

void Oracle::unanswered(Call& call, Unanswered why, const Moment& began, const Moment& ended) {
  if (call.finished) return;
  call.finished = true;
  if (why == Unanswered::NotHandedIn || call.handled_turn == 0) return;
  switch (call.action) {
    case Action::Receive:
      lost_receives_.push_back(
          {call.queue, call.waited || call.stalled ? began.turn : call.handled_turn, why == Unanswered::Crash,
           ended.now >= began.now + seconds{call.visibility.value_or(queues_[static_cast<std::size_t>(call.queue)].visibility)}, crashes_, ended.turn});
      break;
    case Action::Delete:
    case Action::DeleteBatch:
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
  ++crashes_;
  ++starts_;
  for (Instance& instance : instances_) {
    // What nobody was told may be gone with the log's end, and a repeated send makes it anew, with another id.
    if (!instance.sure) {
      for (Delivery& delivery : instance.deliveries) delivery.lost = true;
      instance.message_id.clear();
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
      }
    }
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
