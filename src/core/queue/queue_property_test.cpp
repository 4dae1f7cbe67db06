// One queue against a naive model: a vector of messages that is scanned for everything.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>

#include "core/queue/queue.h"

namespace fanfare::queue {
namespace {

struct Model {
  struct Message {
    std::uint64_t sequence;
    std::int64_t sent;
    std::int64_t hidden_until;
    bool leased;
    std::uint32_t count;
    std::uint64_t rank;
    /// Smallest rank; where a rank is shared, what was sent to the back by how often it was received, then what was not.
    auto place() const { return std::tuple{rank, rank == sequence ? UINT32_MAX : count, sequence}; }
  };
  std::vector<Message> messages;
  std::int64_t retention;

  void pass(std::int64_t now, std::uint64_t next) {
    std::erase_if(messages, [&](const Message& m) { return m.sent + retention <= now; });
    for (Message& m : messages) {
      if (m.hidden_until == 0 || m.hidden_until > now) continue;
      m.rank = m.count >= 3 ? next : m.sequence;
      m.hidden_until = 0;
      m.leased = false;
    }
  }
  const Message* first_ready() const {
    const Message* best = nullptr;
    for (const Message& m : messages)
      if (m.hidden_until == 0 && (best == nullptr || m.place() < best->place()))
        best = &m;
    return best;
  }
  Message* find(std::uint64_t sequence) {
    const auto found = std::find_if(messages.begin(), messages.end(), [&](auto& m) { return m.sequence == sequence; });
    return found == messages.end() ? nullptr : &*found;
  }
};

RC_GTEST_PROP(Queue, AnswersAsANaiveModel, ()) {
  const std::int64_t retention_s = *rc::gen::element(60, 100, 345'600);
  const auto retention = *RetentionPeriod::of(retention_s);
  Model model;
  model.retention = retention_s * 1000;
  Queue queue;
  std::vector<Entry> expired;
  std::int64_t now = 1'764'500'000'000;
  const auto steps = *rc::gen::container<std::vector<std::tuple<std::uint8_t, std::uint16_t, std::uint16_t>>>(
      rc::gen::arbitrary<std::tuple<std::uint8_t, std::uint16_t, std::uint16_t>>());
  for (const auto& [kind, a, b] : steps) {
    now += (a % 5 == 0 ? b % 40'000 : b % 1'500);
    const Timestamp time = timestamp_from_unix_ms(now);
    while (queue.advance(time, retention, 3, expired)) {
    }
    model.pass(now, queue.next_sequence().value);
    switch (kind % 6) {
      case 0:
      case 1: {  // send, sometimes with a delay, sometimes an old message that was moved here
        const std::int64_t delay = a % 4 == 0 ? (b % 20) * 1000 : 0;
        const std::int64_t sent = a % 7 == 0 ? now - (b % 50) * 1000 : now;
        const SequenceNumber sequence = queue.next_sequence();
        queue.apply(Arrived{.id = {}, .sequence = sequence, .sent_at = timestamp_from_unix_ms(sent),
                            .visible_at = timestamp_from_unix_ms(now + delay), .at = time});
        model.messages.push_back({sequence.value, sent, delay == 0 ? 0 : now + delay, false, 0, sequence.value});
        break;
      }
      case 2:
      case 3: {  // receive
        const Entry* entry = queue.first_ready();
        const Model::Message* expected = model.first_ready();
        RC_ASSERT((entry == nullptr) == (expected == nullptr));
        if (entry == nullptr) break;
        Model::Message* got = model.find(entry->sequence.value);
        RC_ASSERT(got != nullptr);
        RC_ASSERT(got->hidden_until == 0);
        RC_ASSERT(got->sequence == expected->sequence);
        const std::int64_t visibility = 1 + b % 60;
        queue.apply(Leased{entry->sequence, 1, time, time + seconds{visibility}});
        got->hidden_until = now + visibility * 1000;
        got->leased = true;
        ++got->count;
        break;
      }
      case 4: {  // delete by any handle
        if (model.messages.empty()) break;
        const Model::Message m = model.messages[a % model.messages.size()];
        const std::uint32_t receipt = b % 3 == 0 && m.count > 0 ? m.count - 1 : m.count;
        const bool deletes = queue.decide_delete({QueueId{1}, {m.sequence}, receipt, m.count == 0 ? 0u : 1u});
        RC_ASSERT(deletes == (receipt == m.count));
        if (!deletes) break;
        queue.apply(Removed{{m.sequence}});
        std::erase_if(model.messages, [&](auto& x) { return x.sequence == m.sequence; });
        break;
      }
      case 5: {  // change visibility
        if (model.messages.empty()) break;
        Model::Message& m = model.messages[a % model.messages.size()];
        const auto timeout = *VisibilityTimeout::of(b % 3 == 0 ? 0 : b % 100);
        const auto event = queue.decide_change({QueueId{1}, {m.sequence}, m.count, 1}, timeout, time);
        RC_ASSERT(event.has_value() == m.leased);
        if (!event) break;
        queue.apply(*event);
        m.hidden_until = now + timeout.count() * 1000;
        if (timeout.count() == 0) model.pass(now, queue.next_sequence().value);
        break;
      }
    }
    Counts counts;
    std::optional<std::int64_t> next;
    for (const Model::Message& m : model.messages) {
      ++(m.hidden_until == 0 ? counts.visible : m.leased ? counts.in_flight : counts.delayed);
      const std::int64_t due = std::min(m.sent + model.retention, m.hidden_until == 0 ? INT64_MAX : m.hidden_until);
      next = std::min(next.value_or(INT64_MAX), due);
    }
    RC_ASSERT(queue.counts() == counts);
    RC_ASSERT(queue.size() == model.messages.size());
    const auto change = queue.next_change(retention);
    RC_ASSERT(change.has_value() == next.has_value());
    if (next) {
      RC_ASSERT(unix_ms(*change) == *next);
    }
  }
}

}  // namespace
}  // namespace fanfare::queue
