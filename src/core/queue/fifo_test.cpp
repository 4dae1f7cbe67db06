#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/queue/queue.h"

namespace fanfare::queue {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kStart = timestamp_from_unix_ms(1'764'500'000'000);

Timestamp at(milliseconds after) { return kStart + after; }

/// Verbs over one FIFO queue; messages are named by their sequence numbers, which start at 1.
class FifoFixture {
 public:
  std::uint64_t send(std::string_view group, Timestamp now) {
    pass(now);
    const SequenceNumber sequence = queue.next_sequence();
    queue.apply(Arrived{.id = {}, .sequence = sequence, .sent_at = now, .visible_at = now, .at = now, .group = group});
    return sequence.value;
  }
  std::vector<std::uint64_t> receive(std::size_t max, Timestamp now, seconds visibility = 30s) {
    pass(now);
    std::vector<std::uint64_t> taken;
    const Entry* in_hand = nullptr;
    while (taken.size() < max) {
      const Entry* entry = queue.first_ready(in_hand);
      if (entry == nullptr) break;
      in_hand = entry;
      const SequenceNumber sequence = entry->sequence;
      queue.apply(Leased{sequence, 1, now, now + visibility});
      taken.push_back(sequence.value);
    }
    return taken;
  }
  ReceiptHandle handle(std::uint64_t sequence) const {
    const Entry* entry = queue.find({sequence});
    return {QueueId{1}, {sequence}, entry->receipt, entry->receive_epoch};
  }
  void remove(std::uint64_t sequence) { queue.apply(Removed{{sequence}}); }
  void pass(Timestamp now) {
    while (queue.advance(now, {}, 2, removed)) {
    }
  }

  Queue queue{{1}, true};
  std::vector<Entry> removed;
};

using Sequences = std::vector<std::uint64_t>;

TEST(FifoQueue, AGroupIsLockedWhileOneOfItsMessagesIsInFlight) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  const auto a2 = q.send("a", at(0s));
  const auto b1 = q.send("b", at(0s));
  EXPECT_EQ(q.receive(1, at(0s)), Sequences{a1});
  EXPECT_EQ(q.queue.locked_groups(), 1u);
  EXPECT_EQ(q.receive(10, at(0s)), Sequences{b1});
  EXPECT_EQ(q.receive(10, at(0s)), Sequences{});
  q.remove(a1);
  EXPECT_EQ(q.receive(10, at(0s)), Sequences{a2});
  EXPECT_EQ(q.queue.counts(), (Counts{0, 2, 0}));
}

TEST(FifoQueue, OneReceiveMayTakeSeveralOfAGroupInOrder) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  const auto b1 = q.send("b", at(0s));
  const auto a2 = q.send("a", at(0s));
  const auto b2 = q.send("b", at(0s));
  EXPECT_EQ(q.receive(3, at(0s)), (Sequences{a1, a2, b1})) << "as many as possible of one group first";
  EXPECT_EQ(q.receive(3, at(0s)), Sequences{}) << "b is locked, too";
  q.remove(b1);
  EXPECT_EQ(q.receive(3, at(0s)), Sequences{b2});
}

TEST(FifoQueue, WhatStandsBehindAMessageInFlightWaitsForIt) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  const auto a2 = q.send("a", at(0s));
  const auto a3 = q.send("a", at(0s));
  EXPECT_EQ(q.receive(2, at(0s)), (Sequences{a1, a2}));
  q.queue.apply(*q.queue.decide_change(q.handle(a2), *VisibilityTimeout::of(0), at(1s)));
  EXPECT_EQ(q.receive(10, at(1s)), Sequences{});
  EXPECT_EQ(q.receive(10, at(30s)), (Sequences{a1, a2, a3})) << "in their order again";
}

TEST(FifoQueue, WhatStandsBeforeAllThatAreInFlightIsGivenAgain) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  const auto a2 = q.send("a", at(0s));
  const auto a3 = q.send("a", at(0s));
  const auto a4 = q.send("a", at(0s));
  const auto b1 = q.send("b", at(0s));
  EXPECT_EQ(q.receive(3, at(0s)), (Sequences{a1, a2, a3}));
  for (const auto one : {a1, a2}) q.queue.apply(*q.queue.decide_change(q.handle(one), *VisibilityTimeout::of(0), at(1s)));
  EXPECT_EQ(q.receive(1, at(1s)), Sequences{b1}) << "a group that comes back stands behind the others";
  EXPECT_EQ(q.receive(1, at(1s)), Sequences{a1});
  EXPECT_EQ(q.receive(10, at(1s)), Sequences{}) << "a1 is in flight again, before a2; a4 is behind a3";
  q.queue.apply(*q.queue.decide_change(q.handle(a1), *VisibilityTimeout::of(0), at(2s)));
  EXPECT_EQ(q.receive(10, at(2s)), (Sequences{a1, a2}));
  q.remove(a1);
  q.remove(a2);
  EXPECT_EQ(q.receive(10, at(2s)), Sequences{});
  q.remove(a3);
  EXPECT_EQ(q.receive(10, at(2s)), Sequences{a4});
}

TEST(FifoQueue, ReturnedMessagesStandWhereTheyWere) {
  FifoFixture q;
  Sequences all;
  for (int i = 0; i < 5; ++i) all.push_back(q.send("a", at(0s)));
  EXPECT_EQ(q.receive(3, at(0s)).size(), 3u);
  for (const std::size_t i : {1u, 0u, 2u})
    q.queue.apply(*q.queue.decide_change(q.handle(all[i]), *VisibilityTimeout::of(0), at(1s)));
  EXPECT_EQ(q.receive(10, at(1s)), all);
}

TEST(FifoQueue, TheGroupWithTheOldestMessageGoesFirst) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  const auto b1 = q.send("b", at(0s));
  const auto a2 = q.send("a", at(0s));
  EXPECT_EQ(q.receive(1, at(0s)), Sequences{a1});
  EXPECT_EQ(q.receive(1, at(0s)), Sequences{b1});
  q.remove(b1);
  const auto b2 = q.send("b", at(1s));
  q.remove(a1);
  EXPECT_EQ(q.receive(1, at(1s)), Sequences{a2});
  EXPECT_EQ(q.receive(1, at(1s)), Sequences{b2});
}

TEST(FifoQueue, AGroupWhoseMessageCameBackStandsBehindWhatWaitedThen) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  const auto a2 = q.send("a", at(0s));
  const auto b1 = q.send("b", at(0s));
  const auto c1 = q.send("c", at(0s));
  EXPECT_EQ(q.receive(1, at(0s)), Sequences{a1});
  q.queue.apply(*q.queue.decide_change(q.handle(a1), *VisibilityTimeout::of(0), at(1s)));
  const auto d1 = q.send("d", at(1001ms));
  EXPECT_EQ(q.receive(1, at(2s)), Sequences{b1});
  EXPECT_EQ(q.receive(1, at(2s)), Sequences{c1});
  EXPECT_EQ(q.receive(1, at(2s)), Sequences{a1}) << "before what came after its return";
  q.remove(a1);
  EXPECT_EQ(q.receive(1, at(2s)), Sequences{a2}) << "it has been waiting longest";
  EXPECT_EQ(q.receive(1, at(2s)), Sequences{d1});
}

TEST(FifoQueue, AGroupThatAlwaysFailsHoldsUpNobodyElse) {
  FifoFixture q;
  Sequences all;
  for (const char* group : {"a", "b", "c"}) all.push_back(q.send(group, at(0s)));
  Sequences seen;
  for (int i = 0; i < 6; ++i) {
    const Sequences got = q.receive(1, at(seconds{i * 10}), seconds{5});
    seen.insert(seen.end(), got.begin(), got.end());
    q.pass(at(seconds{i * 10 + 5}));
  }
  EXPECT_EQ(seen, (Sequences{all[0], all[1], all[2], all[0], all[1], all[2]}));
}

TEST(FifoQueue, GroupsThatFailTakeTurnsThoughTheClockStands) {
  FifoFixture q;
  Sequences all;
  for (const char* group : {"a", "b", "c"}) all.push_back(q.send(group, at(0s)));
  Sequences seen;
  for (int i = 0; i < 7; ++i) {
    const Sequences got = q.receive(1, at(0s));
    seen.insert(seen.end(), got.begin(), got.end());
    q.queue.apply(*q.queue.decide_change(q.handle(got.at(0)), *VisibilityTimeout::of(0), at(0s)));
  }
  EXPECT_EQ(seen, (Sequences{all[0], all[1], all[2], all[0], all[1], all[2], all[0]}));
}

TEST(FifoQueue, AGroupWhoseMessageNeverReachedItsReceiverKeepsItsPlace) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  q.send("b", at(0s));
  EXPECT_EQ(q.receive(1, at(0s)), Sequences{a1});
  q.queue.apply(Undelivered{{a1}});
  EXPECT_EQ(q.receive(1, at(1s)), Sequences{a1});
}

TEST(FifoQueue, GroupsGoWithTheirLastMessageAndTheirNumbersAreUsedAgain) {
  FifoFixture q;
  for (int round = 0; round < 100; ++round) {
    const auto m = q.send("group-" + std::to_string(round), at(0s));
    EXPECT_LE(q.queue.find({m})->group, 1u);
    EXPECT_EQ(q.queue.group_of(*q.queue.find({m})), "group-" + std::to_string(round));
    EXPECT_EQ(q.receive(1, at(0s)), Sequences{m});
    q.remove(m);
  }
  std::size_t groups = 0;
  q.queue.for_each_group([&](std::uint32_t, std::string_view) { ++groups; });
  EXPECT_EQ(groups, 0u);
}

TEST(FifoQueue, AChangedDelayHoldsForWhatIsDelayed) {
  FifoFixture q;
  q.queue.set_delay(*DeliveryDelay::of(10));
  const auto a1 = q.send("a", at(0s));
  const auto a2 = q.send("a", at(2s));
  EXPECT_EQ(q.receive(10, at(3s)), Sequences{});
  EXPECT_EQ(q.queue.counts(), (Counts{0, 0, 2}));
  q.queue.set_delay(*DeliveryDelay::of(4));
  EXPECT_EQ(q.queue.next_visible(), at(4s));
  EXPECT_EQ(q.receive(1, at(5s)), Sequences{a1});
  EXPECT_EQ(q.queue.counts(), (Counts{0, 1, 1}));
  q.remove(a1);
  EXPECT_EQ(q.receive(1, at(6s)), Sequences{a2});
}

TEST(FifoQueue, NothingPassesADelayedMessageOfItsGroup) {
  FifoFixture q;
  q.queue.set_delay(*DeliveryDelay::of(10));
  Sequences all;
  for (int i = 0; i < 8; ++i) all.push_back(q.send("a", at(0s)));
  // The delay goes while they are delayed, and advance() works in slices.
  q.queue.set_delay(*DeliveryDelay::of(0));
  const SequenceNumber next = q.queue.next_sequence();
  q.queue.apply(Arrived{.id = {}, .sequence = next, .sent_at = at(1s), .visible_at = at(1s), .at = at(1s), .group = "a"});
  all.push_back(next.value);
  EXPECT_EQ(q.queue.first_ready(), nullptr);
  EXPECT_TRUE(q.queue.advance(at(1s), {}, 2, q.removed));
  EXPECT_EQ(q.queue.counts(), (Counts{2, 0, 7}));
  EXPECT_EQ(q.receive(10, at(1s)), all);
}

TEST(FifoQueue, ADelayedMessageCanLeave) {
  FifoFixture q;
  q.queue.set_delay(*DeliveryDelay::of(900));
  const auto a1 = q.send("a", at(0s));
  const auto a2 = q.send("a", at(1s));
  const auto a3 = q.send("a", at(2s));
  q.remove(a2);
  EXPECT_EQ(q.queue.counts(), (Counts{0, 0, 2}));
  q.remove(a1);
  EXPECT_EQ(q.queue.next_visible(), at(902s));
  EXPECT_EQ(q.receive(10, at(902s)), Sequences{a3});
}

TEST(FifoQueue, KnowsADeduplicationIdForFiveMinutesEvenWhenItsMessageIsGone) {
  FifoFixture q;
  const auto key = message::DeduplicationWindow::key_of("", "once");
  q.queue.apply(Arrived{.id = {}, .sequence = {1}, .sent_at = at(0s), .visible_at = at(0s), .at = at(0s), .group = "a",
                        .deduplication = key});
  q.remove(1);
  EXPECT_EQ(q.queue.next_change({}), at(5min));
  q.pass(at(5min - 1ms));
  ASSERT_NE(q.queue.find_duplicate(key, at(5min - 1ms)), nullptr);
  EXPECT_EQ(q.queue.find_duplicate(key, at(5min - 1ms))->sequence_number, 1u);
  EXPECT_EQ(q.queue.find_duplicate(key, at(5min)), nullptr) << "by the time, whatever advance() has forgotten";
  q.pass(at(5min));
  EXPECT_EQ(q.queue.next_change({}), std::nullopt);
}

TEST(FifoQueue, HandlesOfEndedLeasesHaveExpired) {
  FifoFixture q;
  const auto a1 = q.send("a", at(0s));
  q.receive(1, at(0s));
  const auto handle = q.handle(a1);
  EXPECT_FALSE(q.queue.has_expired(handle));
  q.pass(at(30s));
  EXPECT_TRUE(q.queue.has_expired(handle));
  EXPECT_FALSE(q.queue.has_expired({QueueId{1}, {a1}, 5, 1})) << "of a receive whose record a crash took";
  q.receive(1, at(31s));
  EXPECT_TRUE(q.queue.has_expired(handle));
  q.remove(a1);
  EXPECT_FALSE(q.queue.has_expired(handle)) << "gone is not expired";
}

// Against a model that scans a list: order within each group, and nothing passes what is in flight.
RC_GTEST_PROP(FifoQueue, AnswersAsANaiveModel, ()) {
  struct Message {
    std::uint64_t sequence;
    std::string group;
    std::int64_t hidden_until = 0;
    bool leased = false;
    std::int64_t waits_since = 0;
    std::uint32_t turn = 0;  // how often it was received
    bool returned = false;
    auto place() const { return std::tuple{waits_since, returned ? turn : 0, sequence}; }
  };
  std::vector<Message> model;
  FifoFixture q;
  std::int64_t now = 0;
  const auto steps = *rc::gen::container<std::vector<std::tuple<std::uint8_t, std::uint16_t, std::uint16_t>>>(
      rc::gen::arbitrary<std::tuple<std::uint8_t, std::uint16_t, std::uint16_t>>());
  for (const auto& [kind, a, b] : steps) {
    now += b % 7'000;
    const Timestamp time = at(milliseconds{now});
    q.pass(time);
    for (Message& m : model) {
      if (m.hidden_until == 0 || m.hidden_until > now) continue;
      m.waits_since = m.hidden_until;
      m.returned = true;
      m.hidden_until = 0;
      m.leased = false;
    }
    switch (kind % 5) {
      case 0:
      case 1: {
        const std::string group(1, static_cast<char>('a' + a % 4));
        model.push_back({q.send(group, time), group, 0, false, now});
        break;
      }
      case 2: {
        const std::size_t max = 1 + a % 10;
        Sequences expected;
        std::set<std::string> looked_at;
        while (expected.size() < max) {
          // The group whose first message has been waiting longest of those that are not in flight.
          std::map<std::string, const Message*> first_of_group;
          for (const Message& m : model) first_of_group.try_emplace(m.group, &m);
          const Message* first = nullptr;
          for (const auto& [group, m] : first_of_group)
            if (!looked_at.contains(group) && !m->leased && (first == nullptr || m->place() < first->place())) first = m;
          if (first == nullptr) break;
          const std::string group = first->group;
          looked_at.insert(group);
          for (Message& m : model) {
            if (m.group != group) continue;
            if (m.leased || expected.size() == max) break;
            expected.push_back(m.sequence);
            m.leased = true;
            ++m.turn;
            m.hidden_until = now + 1000 + (b % 20) * 1000;
          }
        }
        RC_ASSERT(q.receive(max, time, seconds{1 + b % 20}) == expected);
        break;
      }
      case 3: {
        if (model.empty()) break;
        const auto victim = model.begin() + a % static_cast<long>(model.size());
        q.remove(victim->sequence);
        model.erase(victim);
        break;
      }
      case 4: {
        if (model.empty()) break;
        Message& m = model[a % model.size()];
        const auto event = q.queue.decide_change(q.handle(m.sequence), *VisibilityTimeout::of(b % 2 == 0 ? 0 : b % 30), time);
        RC_ASSERT(event.has_value() == m.leased);
        if (!event) break;
        q.queue.apply(*event);
        m.hidden_until = event->until > time ? unix_ms(event->until) - unix_ms(kStart) : 0;
        m.leased = m.hidden_until != 0;
        m.returned = !m.leased;
        m.waits_since = now;
        break;
      }
    }
    std::set<std::string> locked;
    Counts counts;
    for (const Message& m : model) {
      ++(m.leased ? counts.in_flight : counts.visible);
      if (m.leased) locked.insert(m.group);
    }
    RC_ASSERT(q.queue.counts() == counts);
    RC_ASSERT(q.queue.locked_groups() == locked.size());
  }
}

}  // namespace
}  // namespace fanfare::queue
