#include "core/queue/tenants.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/queue/queue.h"

namespace fanfare::queue {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kStart = timestamp_from_unix_ms(1'764'500'000'000);

/// Verbs over one standard queue; messages are named by their sequence numbers, which start at 1.
class FairFixture {
 public:
  std::uint64_t send(std::string_view group) {
    const SequenceNumber sequence = queue.next_sequence();
    queue.apply(Arrived{.id = {}, .sequence = sequence, .sent_at = now, .visible_at = now, .at = now, .group = group});
    return sequence.value;
  }
  void send(std::string_view group, int count) {
    for (int i = 0; i < count; ++i) send(group);
  }
  /// The group of what a receive takes next, and takes it; "-" for none, "nothing" if nothing waits.
  std::string receive(seconds visibility = 30s) {
    const Entry* entry = queue.first_ready();
    if (entry == nullptr) return "nothing";
    const std::string group{queue.group_of(*entry)};
    last = entry->sequence;
    queue.apply(Leased{last, 1, now, now + visibility});
    return group.empty() ? "-" : group;
  }
  std::map<std::string, int> receive_many(int count) {
    std::map<std::string, int> groups;
    for (int i = 0; i < count; ++i) ++groups[receive()];
    return groups;
  }
  void pass(milliseconds time) {
    now += time;
    while (queue.advance(now, retention, 3, removed)) {
    }
  }
  /// Takes the next message, and deletes it so much later.
  std::string process(milliseconds time) {
    const std::string group = receive(600s);
    const SequenceNumber taken = last;
    pass(time);
    queue.apply(Removed{taken, now});
    return group;
  }
  /// The group's message arrives from another queue, where it has waited.
  void move_here(std::string_view group, seconds age) {
    queue.apply(Arrived{.id = {}, .sequence = queue.next_sequence(), .sent_at = now - age, .visible_at = now, .at = now, .group = group});
  }

  [[nodiscard]] std::set<std::string> noisy() const {
    std::set<std::string> groups;
    queue.for_each_noisy_group([&](std::string_view group, Timestamp) { groups.emplace(group); });
    return groups;
  }

  Queue queue;
  Timestamp now = kStart;
  SequenceNumber last;
  RetentionPeriod retention;
  std::vector<Entry> removed;
};

TEST(FairQueue, WithoutNoiseTheOrderIsThatOfArrival) {
  FairFixture q;
  q.send("a", 10);
  q.send("", 1);
  q.send("b", 1);
  EXPECT_EQ(q.receive_many(10), (std::map<std::string, int>{{"a", 10}}));
  EXPECT_EQ(q.receive(), "-");
  EXPECT_EQ(q.receive(), "b");
  EXPECT_EQ(q.receive(), "nothing");
}

TEST(FairQueue, AQuietGroupGoesBeforeANoisyOnesBacklog) {
  FairFixture q;
  q.send("noisy", 1'000);
  EXPECT_EQ(q.receive_many(29), (std::map<std::string, int>{{"noisy", 29}}));
  EXPECT_EQ(q.queue.noisy_groups(), 0u);
  EXPECT_EQ(q.receive(), "noisy");
  EXPECT_EQ(q.queue.noisy_groups(), 1u) << "30 in flight, and all that are";
  q.send("quiet", 2);
  q.send("", 1);
  EXPECT_EQ(q.receive(), "quiet");
  EXPECT_EQ(q.receive(), "quiet");
  EXPECT_EQ(q.receive(), "-") << "without a group a message is its own tenant";
  EXPECT_EQ(q.receive(), "noisy") << "nothing is held back";
}

TEST(FairQueue, AGroupWithASmallShareIsNotNoisy) {
  FairFixture q;
  q.send("", 400);
  q.send("busy", 100);
  for (int i = 0; i < 400; ++i) q.receive();
  EXPECT_EQ(q.receive_many(44), (std::map<std::string, int>{{"busy", 44}}));
  EXPECT_EQ(q.queue.noisy_groups(), 0u) << "44 of 444";
  EXPECT_EQ(q.receive(), "busy");
  EXPECT_EQ(q.queue.noisy_groups(), 1u) << "45 of 445";
}

TEST(FairQueue, AmongNoisyGroupsTheOneWithTheFewestInFlightGoesFirst) {
  FairFixture q;
  q.send("a", 100);
  for (int i = 0; i < 50; ++i) q.receive();
  q.send("b", 100);
  EXPECT_EQ(q.receive_many(30), (std::map<std::string, int>{{"b", 30}})) << "until it is noisy, too";
  EXPECT_EQ(q.queue.noisy_groups(), 2u);
  EXPECT_EQ(q.receive_many(20), (std::map<std::string, int>{{"b", 20}}));
  EXPECT_EQ(q.receive_many(10), (std::map<std::string, int>{{"a", 5}, {"b", 5}}));
}

TEST(FairQueue, ANoisyGroupIsQuietAgainWhenNothingOfItWaits) {
  FairFixture q;
  q.send("a", 31);
  for (int i = 0; i < 30; ++i) q.receive();
  EXPECT_EQ(q.queue.noisy_groups(), 1u);
  EXPECT_EQ(q.receive(), "a");
  EXPECT_EQ(q.queue.noisy_groups(), 0u);
  EXPECT_FALSE(q.queue.is_noisy(1));
  q.send("b", 1);
  q.send("a", 1);
  EXPECT_EQ(q.receive(), "b");
  EXPECT_EQ(q.receive(), "a");
}

TEST(FairQueue, WhatComesBackOfANoisyGroupWaitsWithItsBacklog) {
  FairFixture q;
  q.send("a", 100);
  for (int i = 0; i < 40; ++i) q.receive(5s);
  q.pass(10s);
  EXPECT_TRUE(q.queue.is_noisy(1)) << "its backlog is not drained";
  q.send("b", 1);
  EXPECT_EQ(q.receive(), "b");
  EXPECT_EQ(q.receive(), "a");
  EXPECT_EQ(q.last.value, 1u);
}

TEST(FairQueue, GroupsGoWithTheirLastMessage) {
  FairFixture q;
  for (int i = 0; i < 1'000; ++i) {
    q.send("tenant-" + std::to_string(i));
    q.receive();
    q.queue.apply(Removed{q.last});
  }
  std::size_t groups = 0;
  q.queue.for_each_group([&](std::uint32_t, std::string_view) { ++groups; });
  EXPECT_EQ(groups, 0u);
}

TEST(FairQueue, WhatComesBackBeforeTheRestExpiresKeepsAGroupNoisy) {
  for (const bool looked_at_between : {false, true}) {
    SCOPED_TRACE(looked_at_between);
    FairFixture q;
    q.retention = *RetentionPeriod::of(60);
    q.send("a", 39);
    q.move_here("a", 50s);
    q.receive(5s);
    for (int i = 1; i < 39; ++i) q.receive();
    EXPECT_EQ(q.queue.noisy_groups(), 1u);
    if (looked_at_between) q.pass(6s);
    q.pass(looked_at_between ? 14s : 20s);
    EXPECT_EQ(q.removed.size(), 1u) << "the one that was moved here";
    EXPECT_EQ(q.queue.noisy_groups(), 1u);
  }
}

RC_GTEST_PROP(FairQueue, HowOftenTimeIsLookedAtMakesNoDifference, ()) {
  FairFixture often;
  FairFixture seldom;
  often.retention = seldom.retention = *RetentionPeriod::of(60);
  const auto steps = *rc::gen::resize(120, rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint16_t>>>());
  for (const auto& [kind, a] : steps) {
    const int parts = 1 + a % 7;
    const milliseconds part{a % 13 == 0 ? 75'000 : a % 5'000};
    for (int i = 0; i < parts; ++i) often.pass(part);
    seldom.pass(parts * part);
    for (FairFixture* q : {&often, &seldom}) {
      const std::string group(1, static_cast<char>('a' + a % 2));
      switch (kind % 4) {
        case 0:
          for (int i = 0; i < a % 40; ++i) {
            if (a % 3 == 0) q->move_here(group, seconds{(a + i * 11) % 60});
            else q->send(group);
          }
          break;
        case 1:
          for (int i = 0; i < a % 20; ++i) {
            const SequenceNumber sequence{static_cast<std::uint64_t>(1 + a % 100 + i)};
            if (q->queue.find(sequence) != nullptr) q->queue.apply(Removed{sequence, q->now});
          }
          break;
        default:
          for (int i = 0; i < a % 60; ++i) q->receive(seconds{1 + (a + i) % (a % 2 == 0 ? 30 : 500)});
          break;
      }
    }
    RC_ASSERT(often.removed.size() == seldom.removed.size());
    RC_ASSERT(often.queue.counts() == seldom.queue.counts());
    RC_ASSERT(often.last == seldom.last);
    RC_ASSERT(often.noisy() == seldom.noisy());
    RC_ASSERT(often.queue.has_tenants() == seldom.queue.has_tenants());
    if (often.queue.has_tenants())
      for (const std::uint32_t group : {0u, 1u, 2u})
        RC_ASSERT(often.queue.processing_time(group).ended(unix_ms(often.now)) == seldom.queue.processing_time(group).ended(unix_ms(often.now)));
  }
}

/// As from a snapshot.
Queue restored(const Queue& queue, Timestamp now) {
  Queue copy(queue.next_sequence());
  queue.for_each({0}, [&](const Entry& entry) {
    copy.restore(entry, queue.rank_of(entry), queue.group_of(entry));
    return true;
  });
  queue.for_each_noisy_group([&](std::string_view group, Timestamp quiet_at) { copy.restore_noisy(group, quiet_at); });
  if (queue.has_tenants()) copy.restore_time(queue.processing_time().ended(unix_ms(now)));
  queue.for_each_group([&](std::uint32_t number, std::string_view group) {
    if (const auto ended = queue.processing_time(number).ended(unix_ms(now)); !ended.empty()) copy.restore_time(group, ended);
  });
  copy.restore_deliveries(now, queue.has_tenants());
  return copy;
}

TEST(FairQueue, ARestoredGroupIsAsNoisyAsItWasAndNoMore) {
  FairFixture q;
  q.send("a", 40);
  q.receive(1s);
  for (int i = 1; i < 40; ++i) q.receive();
  q.pass(2s);
  q.send("b", 1);
  q.send("a", 1);
  EXPECT_EQ(q.queue.noisy_groups(), 0u) << "39 in flight, and nothing of it has been received since something waits again";
  q.queue = restored(q.queue, q.now);
  EXPECT_EQ(q.queue.noisy_groups(), 0u);
  EXPECT_EQ(q.receive(), "a") << "the first came back and is older than b";
  EXPECT_EQ(q.queue.noisy_groups(), 1u) << "what is in flight was counted";
  q.queue = restored(q.queue, q.now);
  EXPECT_EQ(q.queue.noisy_groups(), 1u);
  EXPECT_EQ(q.receive(), "b");
}

// ---- Processing time --------------------------------------------------------------------------------------------------

TEST(FairQueue, AGroupThatTakesConsumersLongIsNoisyFromTheDeleteOfItsFirstSlowMessage) {
  FairFixture q;
  q.send("slow", 3);
  q.send("quick", 5);
  EXPECT_EQ(q.process(40s), "slow");
  EXPECT_EQ(q.noisy(), std::set<std::string>{"slow"}) << "all of 40 seconds, and nothing is in flight";
  q.send("", 1);
  EXPECT_EQ(q.receive_many(6), (std::map<std::string, int>{{"quick", 5}, {"-", 1}})) << "although it came later, and was never received";
  EXPECT_EQ(q.receive(), "slow") << "nothing is held back";
}

TEST(FairQueue, AShortTimeIsNoNoiseWhateverItsShare) {
  FairFixture q;
  q.send("", 1);
  q.send("a", 10);
  q.process(1s);
  for (int i = 0; i < 3; ++i) q.process(9'999ms);
  EXPECT_EQ(q.queue.noisy_groups(), 0u) << "29.997 s in all";
  q.receive(600s);
  q.pass(3ms);
  q.queue.apply(VisibilityChanged{q.last, q.now, q.now});
  EXPECT_EQ(q.queue.noisy_groups(), 1u) << "of its own 30 s and 1 s of nobody's group";
}

TEST(FairQueue, ALeaseThatEndedCountsUpToItsEndAndNoLonger) {
  FairFixture q;
  q.send("", 1);
  q.receive(600s);
  q.send("a", 10);
  q.receive(20s);
  q.pass(250s);
  EXPECT_EQ(q.queue.processing_time(1).at(unix_ms(q.now)), 20'000);
  EXPECT_EQ(q.queue.processing_time().at(unix_ms(q.now)), 270'000);
  q.receive();
  EXPECT_EQ(q.queue.noisy_groups(), 0u);
}

TEST(FairQueue, WhatWasGivenBackOrExpiredCountsUpToThen) {
  FairFixture q;
  q.retention = *RetentionPeriod::of(60);
  q.send("a", 3);
  q.receive(600s);
  q.pass(5s);
  q.queue.apply(Undelivered{q.last, q.now});
  q.queue.apply(Undelivered{q.last, q.now});
  EXPECT_EQ(q.queue.processing_time(1).at(unix_ms(q.now)), 5'000);
  q.receive(600s);
  q.pass(100s);
  EXPECT_EQ(q.queue.size(), 0u);
  EXPECT_EQ(q.queue.processing_time().at(unix_ms(q.now)), 60'000) << "the whole queue's, which forgets no group's";
  q.send("b", 1);
  EXPECT_EQ(q.queue.processing_time(1).at(unix_ms(q.now)), 0) << "a group that has the number of one that left";
}

TEST(FairQueue, DeliveriesThatRanBeforeTheFirstGroupCameCount) {
  FairFixture q;
  q.send("", 2);
  q.receive(600s);
  q.pass(100s);
  q.receive(50s);
  q.pass(20s);
  EXPECT_FALSE(q.queue.has_tenants());
  q.send("a", 1);
  EXPECT_EQ(q.queue.processing_time().at(unix_ms(q.now)), 140'000);
  q.pass(100s);
  EXPECT_EQ(q.queue.processing_time().at(unix_ms(q.now)), 270'000);
}

// ---- Five minutes without a send --------------------------------------------------------------------------------------

TEST(FairQueue, ANoisyGroupIsQuietAgainFiveMinutesAfterItsLastSend) {
  FairFixture q;
  q.send("a", 100);
  for (int i = 0; i < 30; ++i) q.receive(40'000s);
  q.pass(200s);
  q.send("b", 1);
  q.send("a", 1);
  q.pass(299'999ms);
  EXPECT_EQ(q.noisy(), std::set<std::string>{"a"});
  EXPECT_EQ(q.queue.next_change(q.retention), std::optional{q.now + 1ms});
  q.pass(1ms);
  EXPECT_EQ(q.queue.noisy_groups(), 0u) << "its last send was the second one";
  EXPECT_EQ(q.receive(), "a") << "and its backlog is older than what b has";
  EXPECT_EQ(q.noisy(), std::set<std::string>{"a"}) << "31 in flight, and all that are: noisy anew";
  EXPECT_EQ(q.receive(), "b");
  q.pass(300s);
  EXPECT_EQ(q.queue.noisy_groups(), 0u);
}

TEST(FairQueue, TheFiveMinutesDoNotBeginBeforeItIsNoisy) {
  FairFixture q;
  q.send("a", 100);
  q.pass(1'000s);
  for (int i = 0; i < 30; ++i) q.receive(40'000s);
  q.pass(299'999ms);
  EXPECT_EQ(q.queue.noisy_groups(), 1u);
  for (int i = 0; i < 30; ++i) q.receive(40'000s);
  q.pass(1ms);
  EXPECT_EQ(q.queue.noisy_groups(), 0u) << "what is received makes it no longer";
}

TEST(FairQueue, TheFiveMinutesEndAtTheirTimeEvenIfNobodyLookedThen) {
  FairFixture q;
  q.send("a", 100);
  for (int i = 0; i < 30; ++i) q.receive(40'000s);
  const Timestamp quiet_at = q.now + 300s;
  q.now = quiet_at;  // advance() is not called, as after more than one slice of other things
  q.send("a", 1);
  EXPECT_EQ(q.queue.noisy_groups(), 0u) << "a send does not prolong what is over";
  q.receive(40'000s);
  EXPECT_EQ(q.queue.noisy_groups(), 1u);
  q.now += 300s;
  q.queue.apply(Leased{{50}, 1, q.now, q.now + 1s});
  EXPECT_EQ(q.queue.next_change(q.retention), std::optional{q.now + 1s});
  q.pass(299s);
  EXPECT_EQ(q.queue.noisy_groups(), 1u) << "noisy anew at that receive";
}

// ---- Snapshots in slices ------------------------------------------------------------------------------------------------

TEST(FairQueue, WhatASavingTellsOfTimesIsTheStateOfItsBegin) {
  FairFixture q;
  for (const std::string_view group : {"a", "b", "c", "d"}) q.send(group, 2);
  for (int i = 0; i < 6; ++i) q.receive(600s);
  q.pass(10s);
  for (std::uint64_t sequence : {1, 3, 5, 6}) q.queue.apply(Removed{{sequence}, q.now});
  for (std::uint64_t sequence : {7, 8}) q.queue.apply(Removed{{sequence}, q.now});
  q.send("e");
  EXPECT_EQ(q.receive(4s), "e");
  q.pass(10s);
  // Each of a and b took 10 s, and one of its messages is in flight; c has left, d was never received; e took 4 s, and nothing of it is in flight.
  q.queue.begin_saving(q.now);
  std::map<std::string, ProcessingTime::Ended> told;
  const auto save = [&](std::size_t budget) {
    return q.queue.save_times(budget, [&](std::string_view group, const ProcessingTime::Ended& ended) { told.emplace(group, ended); });
  };
  q.pass(600s);  // a's and b's leases end, the five minutes are others
  for (std::uint64_t sequence : {2, 4, 9}) q.queue.apply(Removed{{sequence}, q.now});
  for (const std::string_view group : {"x", "y", "z"}) {
    q.send(group);
    for (int i = 0; i < 2; ++i) q.receive(600s);
  }
  q.pass(5s);
  for (std::uint64_t sequence = 10; sequence <= 12; ++sequence) q.queue.apply(Removed{{sequence}, q.now});
  while (save(1)) {
  }
  EXPECT_EQ(told.size(), 3u);
  EXPECT_EQ(told["e"].before + told["e"].here, 4'000);
  EXPECT_EQ(told["a"].before + told["a"].here, 10'000);
  EXPECT_EQ(told["b"].before + told["b"].here, 10'000);
  q.queue.end_saving();
}

// Against a list that is scanned: what comes next is the first of the quiet ones, else of the noisy group with the fewest in
// flight.
RC_GTEST_PROP(FairQueue, AnswersAsANaiveModel, ()) {
  struct Message {
    std::uint64_t sequence;
    std::string group;
    std::int64_t hidden_until = 0;
    bool leased = false;
    std::uint32_t count = 0;
    std::uint64_t rank = 0;
    std::size_t delivery = 0;
  };
  struct Delivery {
    std::string group;  // "gone": of one that left
    std::int64_t begun;
    std::optional<std::int64_t> ended;
  };
  std::vector<Message> model;
  std::vector<Delivery> deliveries;
  std::map<std::string, std::int64_t> noisy;  // until when
  bool had_group = false;
  FairFixture q;
  const auto in_flight = [&](const std::string& group) {
    return std::count_if(model.begin(), model.end(), [&](const Message& m) { return m.leased && m.group == group; });
  };
  const auto waits = [&](const std::string& group) {
    return std::any_of(model.begin(), model.end(), [&](const Message& m) { return m.group == group && m.hidden_until == 0; });
  };
  const auto drained = [&] {
    std::erase_if(noisy, [&](const auto& one) { return !waits(one.first); });
    for (Delivery& one : deliveries)
      if (!one.group.empty() && std::none_of(model.begin(), model.end(), [&](const Message& m) { return m.group == one.group; }))
        one.group = "gone";
  };
  const auto time = [&](std::int64_t now, const std::optional<std::string>& group) {
    const std::int64_t from = (now / 300'000 - 1) * 300'000;
    std::int64_t sum = 0;
    for (const Delivery& one : deliveries)
      if (!group || one.group == *group) sum += std::max<std::int64_t>(one.ended.value_or(now) - std::max(one.begun, from), 0);
    return sum;
  };
  const auto judge = [&](const std::string& group, std::int64_t now, bool received) {
    if (group.empty() || noisy.contains(group) || !waits(group)) return;
    const auto all = std::count_if(model.begin(), model.end(), [](const Message& m) { return m.leased; });
    const auto own = in_flight(group);
    const std::int64_t own_time = time(now, group);
    const std::int64_t all_time = time(now, {});
    const bool loud = received && own >= 30 && own * 10 > all;
    if (loud || (own_time >= 30'000 && own_time * 10 > all_time)) noisy[group] = now + 300'000;
  };
  const auto steps = *rc::gen::resize(120, rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint16_t>>>());
  for (const auto& [kind, a] : steps) {
    q.pass(milliseconds{a % 31 == 0 ? 300'000 : a % 5 == 0 ? a % 60'000 : a % 500});
    const std::int64_t now = unix_ms(q.now);
    for (Message& m : model) {
      if (m.hidden_until == 0 || m.hidden_until > now) continue;
      deliveries[m.delivery].ended = m.hidden_until;
      m.rank = m.count >= 3 ? q.queue.next_sequence().value : m.sequence;
      m.hidden_until = 0;
      m.leased = false;
    }
    std::erase_if(noisy, [&](const auto& one) { return one.second <= now; });
    switch (kind % 5) {
      case 0: {
        const std::string group = a % 5 == 0 ? "" : std::string(1, static_cast<char>('a' + a % 3));
        if (!group.empty() && a % 40 > 0 && !std::exchange(had_group, true))
          for (Delivery& one : deliveries)
            if (one.ended) one.ended = one.begun;  // what had ended before the first group came is not known
        for (int i = 0; i < a % 40; ++i) {
          const std::uint64_t sequence = q.send(group);
          model.push_back({sequence, group, 0, false, 0, sequence, 0});
          if (noisy.contains(group)) noisy[group] = now + 300'000;
        }
        break;
      }
      case 1:
      case 2:
        for (int i = 0; i < a % 40; ++i) {
          const Message* best = nullptr;
          for (const bool loud : {false, true}) {
            for (const Message& m : model) {
              if (best != nullptr && noisy.contains(best->group) != loud) break;
              if (m.hidden_until != 0 || noisy.contains(m.group) != loud) continue;
              const auto key = [&](const Message& x) { return std::tuple{loud ? in_flight(x.group) : 0, x.rank, x.rank == x.sequence ? UINT32_MAX : x.count, x.sequence}; };
              if (best == nullptr || key(m) < key(*best)) best = &m;
            }
          }
          const seconds visibility{a % 3 == 0 ? 1 + a % 700 : 1 + a % 10};
          const std::string got = q.receive(visibility);
          RC_ASSERT((got == "nothing") == (best == nullptr));
          if (best == nullptr) break;
          RC_ASSERT(q.last.value == best->sequence);
          Message& taken = model[static_cast<std::size_t>(best - model.data())];
          taken.leased = true;
          taken.hidden_until = now + visibility.count() * 1000;
          taken.delivery = deliveries.size();
          deliveries.push_back({taken.group, now, {}});
          ++taken.count;
          drained();
          judge(taken.group, now, true);
        }
        break;
      case 3:
        for (int i = 0; i < a % 20 && !model.empty(); ++i) {
          const auto victim = model.begin() + (a + i * 7) % static_cast<long>(model.size());
          const Message gone = *victim;
          q.queue.apply(Removed{{gone.sequence}, q.now});
          model.erase(victim);
          if (gone.leased) deliveries[gone.delivery].ended = now;
          drained();
          if (gone.leased) judge(gone.group, now, false);
        }
        break;
      case 4:
        for (int i = 0; i < a % 10 && !model.empty(); ++i) {
          Message& m = model[static_cast<std::size_t>(a + i * 7) % model.size()];
          if (!m.leased) continue;
          const seconds visibility{a % 2 == 0 ? 0 : a % 700};
          q.queue.apply(VisibilityChanged{{m.sequence}, q.now, q.now + visibility});
          m.hidden_until = now + visibility.count() * 1000;
          if (visibility.count() == 0) {
            deliveries[m.delivery].ended = now;
            m.rank = m.count >= 3 ? q.queue.next_sequence().value : m.sequence;
            m.hidden_until = 0;
            m.leased = false;
          }
          judge(m.group, now, visibility.count() != 0);
        }
        break;
    }
    drained();
    const auto same = [&] {
      std::map<std::string, std::int64_t> told;
      q.queue.for_each_noisy_group([&](std::string_view group, Timestamp quiet_at) { told.emplace(group, unix_ms(quiet_at)); });
      RC_ASSERT(told == noisy);
      RC_ASSERT(q.queue.noisy_groups() == noisy.size());
      if (had_group) RC_ASSERT(q.queue.processing_time().at(now) == time(now, {}));
      std::int64_t next = INT64_MAX;
      for (const Message& m : model) next = std::min(next, m.hidden_until == 0 ? INT64_MAX : m.hidden_until);
      for (const auto& one : noisy) next = std::min(next, one.second);
      const auto change = q.queue.next_change(*RetentionPeriod::of(1'209'600));
      if (next < now + 3'600'000) RC_ASSERT(change == timestamp_from_unix_ms(next));
    };
    same();
    if (a % 4 == 0) q.queue = restored(q.queue, q.now);
    same();
  }
}

}  // namespace
}  // namespace fanfare::queue
