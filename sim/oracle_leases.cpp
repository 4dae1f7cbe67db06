// Leases that change after the receive: changes of visibility, and receives that are asked for again.
//
// A change of visibility with a handle that holds nothing any more is taken and changes nothing: from the answer alone nobody knows.
//
// What an attempt id promises: for five minutes from the receive that took something, the same id gives the same messages under
// the same handles, leased anew, as long as none of them was deleted, was changed or became visible. [SQS ReceiveMessage]
// Allowances:
// - a crash may lose the record of what was taken, or leased anew, last: then it may be repeated and need not;
// - of two receives with one id whose answers are not both known, nobody knows which one a third repeats;
// - what an attempt without an answer took may be what the next one repeats: then its five minutes began earlier;
// - where a crash lost what an attempt gave last, it may be what it gave before that;
// - a change of visibility to the very moment at which the lease ended anyway is none.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/oracle.h"
#include "sim/oracle_terms.h"

namespace fanfare::sim {
namespace {

constexpr seconds kAttemptKnown{300};      // [SQS ReceiveMessage, ReceiveRequestAttemptId]
constexpr seconds kLongestLease{43'200};   // since the receive [SQS ChangeMessageVisibility]

}  // namespace

// ---- Changes of visibility --------------------------------------------------------------------------------------------

void Oracle::handled_change(Call& call) {
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    call.leases.emplace_back();
    Delivery* delivery = delivery_of(call, i);
    if (delivery == nullptr) continue;
    ++delivery->changes;
    ++delivery->open_changes;
    call.leases.back() = {delivery->until, delivery->before_change};
    const Timestamp until = call.handled_at + seconds{call.entries[i].timeout};
    may_change(*delivery, until, until);
  }
}

/// From now on its lease ends where it did or there.
void Oracle::may_change(Delivery& delivery, Timestamp low, Timestamp high) {
  delivery.before_change = std::max({delivery.before_change.value_or(delivery.until), delivery.until, high});
  delivery.until = std::min(delivery.until, low);
  delivery.lowest = std::min(delivery.lowest, low);
}

void Oracle::refused_change(const Call& call, std::size_t entry) {
  Delivery* delivery = delivery_of(call, entry);
  if (delivery == nullptr) return;
  --delivery->open_changes;
  std::tie(delivery->until, delivery->before_change) = call.leases[entry];
}

void Oracle::check_too_long(const Call& call, std::size_t entry) {
  const Delivery* delivery = delivery_of(call, entry);
  note(Property::BeyondTwelveHours);
  require(Property::TwelveHours, delivery == nullptr || call.handled_at + seconds{call.entries[entry].timeout} > delivery->at + kLongestLease,
          [&] { return fmt::format("call {} at {}: {} s are refused for {}", call.id, time_text(call.handled_at), call.entries[entry].timeout, describe(call.instances[entry])); });
}

void Oracle::answered_change(Call& call, const Answer& answer, const Moment& moment) {
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    Delivery* delivery = delivery_of(call, i);
    if (delivery == nullptr) continue;
    if (!answer.entries[i].ok) {
      refused_change(call, i);
      continue;
    }
    const Instance& instance = instances_[static_cast<std::size_t>(call.instances[i])];
    const auto [low, high] = call.leases[i];
    const bool last = delivery == &instance.deliveries.back() && instance.queue == call.queue;
    const bool surely_over = !clock_back_ && std::max(low, high.value_or(low)) <= call.handled_at;
    const bool surely_passed_on = !last && instance.queue == call.queue && !instance.deliveries.back().lost && instance.deliveries.back().turn < call.handled_turn;
    if (surely_over || surely_passed_on) {
      note(Property::LateChange);
      refused_change(call, i);
      continue;
    }
    --delivery->open_changes;
    if (!last || clock_back_ || delivery->lost || low <= call.handled_at) {
      // One or the other; what was thought may have been put back by a refusal of the same batch.
      const Timestamp until = call.handled_at + seconds{call.entries[i].timeout};
      may_change(*delivery, until, until);
      delivery->change_in_doubt = true;
      continue;
    }
    require(Property::TwelveHours, call.handled_at + seconds{call.entries[i].timeout} <= delivery->at + kLongestLease,
            [&] { return fmt::format("call {} at {}: {} s for {}", call.id, time_text(call.handled_at), call.entries[i].timeout, describe(call.instances[i])); });
    delivery->before_change = std::max(call.leases[i].first, call.leases[i].second.value_or(call.leases[i].first));
    delivery->until = call.handled_at + seconds{call.entries[i].timeout};
    delivery->change_log_end = moment.log_end;
    delivery->change_in_doubt = false;
  }
}

// ---- Receives that are asked for again ----------------------------------------------------------------------------------

std::pair<Timestamp, Timestamp> Oracle::lease_of(const Call& call, Timestamp from, std::uint64_t turn) const {
  const Queue& spec = queues_[static_cast<std::size_t>(call.queue)];
  return {from + seconds{call.visibility.value_or(spec.visibility.lowest(call.handled_turn, turn))},
          from + seconds{call.visibility.value_or(spec.visibility.highest(call.handled_turn, turn))}};
}

Oracle::Delivery* Oracle::delivery_of(const std::string& handle) {
  const auto [index, number] = by_handle_.at(handle);
  return number < 0 ? nullptr : &instances_[static_cast<std::size_t>(index)].deliveries[static_cast<std::size_t>(number)];
}

void Oracle::handled_attempt(Call& call, const Moment& moment) {
  const auto [found, fresh] = attempt_by_id_.emplace(std::pair{call.queue, call.attempt}, static_cast<int>(attempts_.size()));
  if (fresh) attempts_.emplace_back();
  call.asked_as = found->second;
  Attempt& attempt = attempts_[static_cast<std::size_t>(call.asked_as)];
  ++attempt.calls;
  call.repeat_in_doubt = attempt.open++ > 0;
  call.must_repeat = attempt.sure && !call.repeat_in_doubt && !attempt.given.empty() && !clock_back_ && moment.now < attempt.earliest + kAttemptKnown;
  call.may_repeat = !attempt.given.empty() && (clock_back_ || moment.now < attempt.latest + kAttemptKnown);
  for (const std::string& handle : attempt.given) {
    const Instance& instance = instances_[static_cast<std::size_t>(by_handle_.at(handle).first)];
    const Delivery* delivery = delivery_of(handle);
    if (delivery == nullptr) {
      call.must_repeat = false;
      continue;
    }
    const bool last = delivery == &instance.deliveries.back() && instance.queue == call.queue;
    const bool surely_over = std::max(delivery->until, delivery->before_change.value_or(delivery->until)) <= moment.now;
    const bool surely_changed = !delivery->change_in_doubt && delivery->open_changes == 0 && (delivery->until < attempt.low || delivery->until > attempt.high);
    // Of a later receive the crash may have lost the record, and where the clock ran back this one's lease goes on.
    const bool surely_passed_on = instance.queue != call.queue || std::any_of(std::next(instance.deliveries.begin(), by_handle_.at(handle).second + 1), instance.deliveries.end(),
                                                                              [](const Delivery& later) { return !later.lost; });
    if (surely_passed_on || surely_over || surely_changed || instance.gone != Gone::No) call.may_repeat = false;
    const bool surely_held = last && !delivery->lost && delivery->until > moment.now && surely_there(instance, moment.turn, moment.now);
    const bool surely_same = !delivery->change_in_doubt && delivery->open_changes == 0 && attempt.low == attempt.high && delivery->until == attempt.low;
    if (!surely_held || !surely_same) call.must_repeat = false;
  }
  if (!call.may_repeat) return;
  const auto [low, high] = lease_of(call, moment.now, moment.turn);
  call.given = attempt.given;
  for (const std::string& handle : call.given) {
    call.leases.emplace_back();
    call.changes.push_back(-1);
    Delivery* delivery = delivery_of(handle);
    if (delivery == nullptr) continue;
    call.leases.back() = {delivery->until, delivery->before_change};
    call.changes.back() = delivery->changes;
    may_change(*delivery, low, high);
  }
}

/// It did not repeat what was given before, so that holds on as it did; unless a change of visibility was asked for meanwhile.
void Oracle::left_alone(Call& call) {
  for (std::size_t i = 0; i < call.given.size(); ++i) {
    Delivery* delivery = delivery_of(call.given[i]);
    if (delivery != nullptr && delivery->changes == call.changes[i]) std::tie(delivery->until, delivery->before_change) = call.leases[i];
  }
  call.given.clear();
}

void Oracle::ended_attempt(const Call& call) {
  Attempt& attempt = attempts_[static_cast<std::size_t>(call.asked_as)];
  --attempt.open;
  attempt.sure = false;
  attempt.earliest_lost = std::min(attempt.earliest_lost, call.handled_at);
  if (call.given.empty()) return;
  // It may have repeated what was given, and then the lease is this one: no change that ends the attempt.
  const auto [low, high] = lease_of(call, call.handled_at, turn_);
  attempt.low = std::min(attempt.low, low);
  attempt.high = std::max(attempt.high, high);
}

bool Oracle::is_repeated(Call& call, const Answer& answer, const Moment& moment, bool whole) {
  Attempt& attempt = attempts_[static_cast<std::size_t>(call.asked_as)];
  --attempt.open;
  const bool doubt = call.repeat_in_doubt || attempt.open > 0;
  const auto known = static_cast<std::size_t>(std::count_if(answer.messages.begin(), answer.messages.end(), [&](const ReceivedMessage& one) { return by_handle_.contains(one.handle); }));
  const auto text = [&] {
    std::string all = fmt::format("call {} of turn {} at {}, attempt {}: {} messages, {} of them under handles that were told before; before there were {}:", call.id, call.handled_turn,
                                  time_text(call.handled_at), call.attempt, answer.messages.size(), known, attempt.given.size());
    for (const std::string& handle : attempt.given) all += "\n  " + describe(by_handle_.at(handle).first);
    return all;
  };
  require(Property::AttemptRepeats, known == 0 || known == answer.messages.size() || attempt.partial, text);
  require(Property::AttemptRepeats, !call.must_repeat || known == attempt.given.size() || !whole, text);
  if (known == 0) {
    if (!attempt.given.empty() && !answer.messages.empty()) note(Property::AttemptAnew);
    // Where the disk could not read what was repeated, the lease is a new one although nothing says so.
    if (whole) left_alone(call);
    else call.given.clear();
    // An answer without messages changes nothing of the attempt.
    attempt.sure = whole && !doubt && (attempt.sure || !answer.messages.empty());
    return false;
  }
  require(Property::AttemptEnds, call.may_repeat || doubt || attempt.may_be_earlier, text);
  note(Property::AttemptRepeated);
  if (attempt.starts < starts_) note(Property::AttemptRepeatedAfterRestart);
  const auto [low, high] = lease_of(call, moment.now, moment.turn);
  // What the disk could not read is leased anew like the others, and not told.
  if (!whole)
    for (const std::string& handle : attempt.given)
      if (Delivery* delivery = delivery_of(handle)) delivery->change_in_doubt = true;
  std::vector<int> in_answer;
  std::vector<const ReceivedMessage*> left_out_before;
  for (const ReceivedMessage& message : answer.messages) {
    if (!by_handle_.contains(message.handle)) {
      left_out_before.push_back(&message);
      continue;
    }
    in_answer.push_back(by_handle_.at(message.handle).first);
    const auto place = std::find(attempt.given.begin(), attempt.given.end(), message.handle);
    require(Property::AttemptEnds, place != attempt.given.end() || doubt || attempt.may_be_earlier, text);
    const int index = by_handle_.at(message.handle).first;
    Instance& instance = instances_[static_cast<std::size_t>(index)];
    Delivery* delivery = delivery_of(message.handle);
    if (delivery == nullptr) {
      attempt.sure = false;
      continue;
    }
    require(Property::AttemptEnds, delivery->attempt == call.asked_as, text);
    // With no lease the next receive may have had it in this very turn, and have moved it to its dead-letter queue.
    const bool moved_since = instance.queue != call.queue;
    // What a crash may have lost has no id and number that are known until it comes again.
    const auto same = [](const std::string& known_one, const std::string& one) { return known_one.empty() || known_one == one; };
    require(Property::AttemptRepeats, same(instance.message_id, message.id) && message.receive_count == delivery->count && (moved_since || same(instance.sequence, message.sequence)),
            [&] { return fmt::format("id {}, count {}, sequence {} of {}", message.id, message.receive_count, message.sequence, describe(index)); });
    instance.message_id = message.id;
    if (!moved_since) {
      instance.sequence = message.sequence;
      if (!instance.moved && !instance.by_task) instance.sent_sequence = message.sequence;
    }
    const auto at = static_cast<std::size_t>(std::find(call.given.begin(), call.given.end(), message.handle) - call.given.begin());
    const bool as_before = at < call.given.size();
    if (doubt || (as_before ? delivery->changes != call.changes[at] : !attempt.may_be_earlier)) {
      may_change(*delivery, low, high);
      continue;
    }
    const auto [low_before, high_before] = as_before ? call.leases[at] : std::pair{delivery->until, delivery->before_change};
    delivery->before_change = std::max({low_before, high_before.value_or(low_before), high});
    delivery->until = low;
    delivery->change_log_end = moment.log_end;
    delivery->change_in_doubt = false;
    trace([&] { return fmt::format("      {} again, until {}", instance.token, time_text(low)); });
  }
  for (const ReceivedMessage* message : left_out_before) {
    deliver(call, *message, moment, in_answer);
    attempt.given.push_back(message->handle);
    if (Delivery* delivery = delivery_of(message->handle)) delivery->attempt = call.asked_as;
  }
  if (std::exchange(attempt.may_be_earlier, false)) {
    attempt.given.clear();
    for (const ReceivedMessage& message : answer.messages) attempt.given.push_back(message.handle);
    attempt.sure = false;
  }
  attempt.low = doubt ? std::min(attempt.low, low) : low;
  attempt.high = doubt ? std::max(attempt.high, high) : high;
  attempt.sure = attempt.sure && whole && !doubt;
  attempt.starts = starts_;
  attempt.log_end = moment.log_end;
  return true;
}

void Oracle::note_attempt(const Call& call, const Answer& answer, const Moment& moment, bool whole) {
  Attempt& attempt = attempts_[static_cast<std::size_t>(call.asked_as)];
  attempt.partial = !whole;
  attempt.may_be_earlier = false;
  attempt.given.clear();
  for (const ReceivedMessage& message : answer.messages) {
    attempt.given.push_back(message.handle);
    if (Delivery* delivery = delivery_of(message.handle)) delivery->attempt = call.asked_as;
    else attempt.sure = false;
  }
  attempt.earliest = std::min(call.handled_at, attempt.earliest_lost);
  attempt.latest = moment.now;
  std::tie(attempt.low, attempt.high) = lease_of(call, moment.now, moment.turn);
  attempt.starts = starts_;
  attempt.log_end = moment.log_end;
}

/// Two things may have come of the first: its record is lost with the crash, and what it took is there as before; or it is not, and the
/// second gives the same. Either way it is no reason to give nothing.
bool Oracle::surely_asks_again(const Call& call, const LostReceive& lost) const {
  if (call.asked_as < 0 || lost.attempt != call.asked_as || clock_back_ || call.handled_at >= lost.at + kAttemptKnown) return false;
  const Attempt& attempt = attempts_[static_cast<std::size_t>(call.asked_as)];
  if (attempt.calls != 2 || !attempt.given.empty()) return false;
  const Queue& queue = queues_[static_cast<std::size_t>(call.queue)];
  if (!queue.purges.empty() || !queue.deletions.empty()) return false;
  // A part of what it took may have gone by its age, and then the rest is held by a receive that cannot be repeated.
  return std::none_of(queue.instances.begin(), queue.instances.end(), [&](int index) { return may_be_expired(instances_[static_cast<std::size_t>(index)], call.handled_at); });
}

}  // namespace fanfare::sim
