#include "core/queue/tenants.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

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
  /// The group's message arrives from another queue, where it has waited.
  void move_here(std::string_view group, seconds age) {
    queue.apply(Arrived{.id = {}, .sequence = queue.next_sequence(), .sent_at = now - age, .visible_at = now, .at = now, .group = group});
  }

  [[nodiscard]] std::set<std::string> noisy() const {
    std::set<std::string> groups;
    queue.for_each_noisy_group([&](std::string_view group) { groups.emplace(group); });
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
    const milliseconds part{a % 5'000};
    for (int i = 0; i < parts; ++i) often.pass(part);
    seldom.pass(parts * part);
    for (FairFixture* q : {&often, &seldom}) {
      const std::string group(1, static_cast<char>('a' + a % 2));
      switch (kind % 3) {
        case 0:
          for (int i = 0; i < a % 40; ++i) {
            if (a % 3 == 0) q->move_here(group, seconds{(a + i * 11) % 60});
            else q->send(group);
          }
          break;
        default:
          for (int i = 0; i < a % 60; ++i) q->receive(seconds{1 + (a + i) % 30});
          break;
      }
    }
    RC_ASSERT(often.removed.size() == seldom.removed.size());
    RC_ASSERT(often.queue.counts() == seldom.queue.counts());
    RC_ASSERT(often.last == seldom.last);
    RC_ASSERT(often.noisy() == seldom.noisy());
  }
}

/// As from a snapshot.
Queue restored(const Queue& queue) {
  Queue copy(queue.next_sequence());
  queue.for_each({0}, [&](const Entry& entry) {
    copy.restore(entry, queue.rank_of(entry), queue.group_of(entry));
    return true;
  });
  queue.for_each_noisy_group([&](std::string_view group) { copy.restore_noisy(group); });
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
  q.queue = restored(q.queue);
  EXPECT_EQ(q.queue.noisy_groups(), 0u);
  EXPECT_EQ(q.receive(), "a") << "the first came back and is older than b";
  EXPECT_EQ(q.queue.noisy_groups(), 1u) << "what is in flight was counted";
  q.queue = restored(q.queue);
  EXPECT_EQ(q.queue.noisy_groups(), 1u);
  EXPECT_EQ(q.receive(), "b");
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
  };
  std::vector<Message> model;
  std::set<std::string> noisy;
  FairFixture q;
  const auto in_flight = [&](const std::string& group) {
    return std::count_if(model.begin(), model.end(), [&](const Message& m) { return m.leased && m.group == group; });
  };
  const auto drained = [&] {
    std::erase_if(noisy, [&](const std::string& group) {
      return std::none_of(model.begin(), model.end(), [&](const Message& m) { return m.group == group && m.hidden_until == 0; });
    });
  };
  const auto steps = *rc::gen::resize(120, rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint16_t>>>());
  for (const auto& [kind, a] : steps) {
    q.pass(milliseconds{a % 500});
    const std::int64_t now = unix_ms(q.now);
    for (Message& m : model) {
      if (m.hidden_until == 0 || m.hidden_until > now) continue;
      m.rank = m.count >= 3 ? q.queue.next_sequence().value : m.sequence;
      m.hidden_until = 0;
      m.leased = false;
    }
    switch (kind % 4) {
      case 0: {
        const std::string group = a % 5 == 0 ? "" : std::string(1, static_cast<char>('a' + a % 3));
        for (int i = 0; i < a % 40; ++i) {
          const std::uint64_t sequence = q.send(group);
          model.push_back({sequence, group, 0, false, 0, sequence});
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
          const seconds visibility{1 + a % 10};
          const std::string got = q.receive(visibility);
          RC_ASSERT((got == "nothing") == (best == nullptr));
          if (best == nullptr) break;
          RC_ASSERT(q.last.value == best->sequence);
          Message& taken = model[static_cast<std::size_t>(best - model.data())];
          taken.leased = true;
          taken.hidden_until = now + visibility.count() * 1000;
          ++taken.count;
          drained();
          const auto all = std::count_if(model.begin(), model.end(), [](const Message& m) { return m.leased; });
          const auto own = in_flight(taken.group);
          if (!taken.group.empty() && own >= 30 && own * 10 > all) noisy.insert(taken.group);
          drained();
        }
        break;
      case 3:
        for (int i = 0; i < a % 20 && !model.empty(); ++i) {
          const auto victim = model.begin() + (a + i * 7) % static_cast<long>(model.size());
          q.queue.apply(Removed{{victim->sequence}});
          model.erase(victim);
        }
        break;
    }
    drained();
    RC_ASSERT(q.queue.noisy_groups() == noisy.size());
    if (a % 4 == 0) q.queue = restored(q.queue);
    RC_ASSERT(q.queue.noisy_groups() == noisy.size());
  }
}

}  // namespace
}  // namespace fanfare::queue
