#include "core/queue/queue.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/marks.h"

namespace fanfare::queue {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp kStart = timestamp_from_unix_ms(1'764'500'000'000);
constexpr std::uint32_t kEpoch = 3;

Timestamp at(milliseconds after) { return kStart + after; }

/// Verbs over one queue; applies each decided event, as the engine does. Messages are named by their sequence numbers,
/// which start at 1.
class QueueFixture {
 public:
  std::uint64_t send(Timestamp now, milliseconds delay = 0ms, std::optional<Timestamp> sent_at = {}) {
    pass(now);
    const SequenceNumber sequence = queue.next_sequence();
    queue.apply(Arrived{.id = {},
                        .sequence = sequence,
                        .sent_at = sent_at.value_or(now),
                        .visible_at = now + delay,
                        .at = now});
    return sequence.value;
  }
  /// 0: nothing visible.
  std::uint64_t receive(Timestamp now, seconds visibility = 30s) {
    pass(now);
    const Entry* entry = queue.first_ready();
    if (entry == nullptr) return 0;
    const SequenceNumber sequence = entry->sequence;
    queue.apply(Leased{sequence, epoch, now, now + visibility});
    return sequence.value;
  }
  ReceiptHandle handle(std::uint64_t sequence) const {
    const Entry* entry = queue.find({sequence});
    EXPECT_NE(entry, nullptr);
    return {QueueId{1}, {sequence}, entry->receipt, entry->receive_epoch};
  }
  bool remove(const ReceiptHandle& handle, Timestamp now) {
    pass(now);
    if (!queue.decide_delete(handle)) return false;
    queue.apply(Removed{handle.message});
    return true;
  }
  std::optional<VisibilityError> extend(const ReceiptHandle& handle, seconds timeout, Timestamp now) {
    pass(now);
    const auto event = queue.decide_change(handle, *VisibilityTimeout::of(timeout), now);
    if (!event) return event.error();
    queue.apply(*event);
    return std::nullopt;
  }
  void pass(Timestamp now) {
    while (queue.advance(now, retention, 2, expired)) {
    }
  }

  Queue queue;
  RetentionPeriod retention;
  std::uint32_t epoch = kEpoch;
  std::vector<Entry> expired;
};

TEST(Queue, LeaseEndsExactlyAtItsTimeout) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  EXPECT_EQ(q.receive(at(0s)), m1);
  EXPECT_EQ(q.receive(at(30s - 1ms)), 0u);
  EXPECT_EQ(q.receive(at(30s)), m1);
}

TEST(Queue, NextChangeNamesTheEndOfTheLease) {
  QueueFixture q;
  q.send(at(0s));
  EXPECT_EQ(q.queue.next_change(q.retention), at(0s) + q.retention.value());
  q.receive(at(1s));
  EXPECT_EQ(q.queue.next_change(q.retention), at(31s));
}

TEST(Queue, OutdatedReceiptSucceedsAndDeletesNothing) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s));
  const auto first = q.handle(m1);
  q.receive(at(30s));
  const auto second = q.handle(m1);
  EXPECT_MARKED(outdated_receipt, EXPECT_FALSE(q.remove(first, at(31s))));
  EXPECT_TRUE(q.remove(second, at(31s)));
  EXPECT_FALSE(q.remove(second, at(31s))) << "it is gone";
}

TEST(Queue, ReceiptOfAnEndedLeaseDeletesWhileNobodyElseReceived) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s));
  EXPECT_TRUE(q.remove(q.handle(m1), at(60s)));
  EXPECT_EQ(q.queue.size(), 0u);
}

TEST(Queue, ReceiptOfAReceiveThatTheCrashForgotDeletes) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  // The record of the receive was lost: the state knows none, or an older one.
  EXPECT_TRUE(q.queue.decide_delete({QueueId{1}, {m1}, 1, kEpoch - 1}));
  q.epoch = kEpoch - 1;
  q.receive(at(0s));
  EXPECT_TRUE(q.queue.decide_delete({QueueId{1}, {m1}, 2, kEpoch - 1}));
  EXPECT_FALSE(q.queue.decide_delete({QueueId{1}, {m1}, 1, kEpoch - 2}));
}

TEST(Queue, ReceiptFromBeforeTheCrashIsOutdatedOnceReceivedAgain) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s));
  EXPECT_FALSE(q.queue.decide_delete({QueueId{1}, {m1}, 1, kEpoch - 1}));
}

TEST(Queue, DelayHidesUntilItsEnd) {
  QueueFixture q;
  const auto late = q.send(at(0s), 10s);
  const auto now = q.send(at(1s));
  EXPECT_EQ(q.queue.counts(), (Counts{1, 0, 1}));
  EXPECT_EQ(q.receive(at(1s)), now);
  EXPECT_EQ(q.receive(at(10s - 1ms)), 0u);
  EXPECT_EQ(q.receive(at(10s)), late);
}

TEST(Queue, ArrivalOrderAlsoAfterALease) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  const auto m2 = q.send(at(0s));
  const auto m3 = q.send(at(0s));
  EXPECT_EQ(q.receive(at(0s)), m1);
  EXPECT_EQ(q.receive(at(1s)), m2);
  EXPECT_EQ(q.receive(at(40s)), m1);
  EXPECT_EQ(q.receive(at(40s)), m2);
  EXPECT_EQ(q.receive(at(40s)), m3);
}

TEST(Queue, AMessageThatFailedThreeTimesGoesToTheBack) {
  QueueFixture q;
  const auto poison = q.send(at(0s));
  const auto waiting = q.send(at(0s));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(q.receive(at(0s)), poison) << i;
    EXPECT_EQ(q.extend(q.handle(poison), 0s, at(0s)), std::nullopt);
  }
  EXPECT_EQ(q.receive(at(0s)), waiting);
  const auto newer = q.send(at(0s));
  EXPECT_EQ(q.receive(at(0s)), poison) << "before what was sent after its last failure";
  EXPECT_EQ(q.receive(at(0s)), newer);
}

TEST(Queue, VisibilityZeroMakesVisibleAtOnce) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s));
  const auto handle = q.handle(m1);
  EXPECT_EQ(q.extend(handle, 0s, at(1s)), std::nullopt);
  EXPECT_EQ(q.queue.counts().visible, 1u);
  EXPECT_EQ(q.extend(handle, 10s, at(1s)), VisibilityError::NotInflight);
}

TEST(Queue, ReceiveWithVisibilityZeroDoesNotTakeTheSameTwice) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.queue.apply(Leased{{m1}, kEpoch, at(0s), at(0s)});
  EXPECT_EQ(q.queue.first_ready(), nullptr);
  EXPECT_EQ(q.queue.next_change(q.retention), at(0s));
  EXPECT_EQ(q.receive(at(0s)), m1);
}

TEST(Queue, ChangeVisibilityCountsFromNow) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s));
  EXPECT_EQ(q.extend(q.handle(m1), 100s, at(20s)), std::nullopt);
  EXPECT_EQ(q.receive(at(120s - 1ms)), 0u);
  EXPECT_EQ(q.receive(at(120s)), m1);
}

TEST(Queue, ChangeVisibilityIsRefusedWhenTheLeaseHasRunOut) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s));
  const auto handle = q.handle(m1);
  EXPECT_EQ(q.extend(handle, 10s, at(30s)), VisibilityError::NotInflight);
  q.receive(at(31s));
  EXPECT_EQ(q.extend(handle, 10s, at(32s)), VisibilityError::NotInflight) << "somebody else has it";
  EXPECT_TRUE(q.remove(q.handle(m1), at(33s)));
  EXPECT_EQ(q.extend(handle, 10s, at(34s)), VisibilityError::MessageGone);
}

TEST(Queue, LeaseIsAtMostTwelveHoursLong) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s), 100s);
  EXPECT_EQ(q.extend(q.handle(m1), 43'200s, at(1ms)), VisibilityError::BeyondTwelveHours);
  EXPECT_EQ(q.extend(q.handle(m1), 43'199s, at(1s)), std::nullopt);
  EXPECT_EQ(q.receive(at(43'200s - 1ms)), 0u);
  EXPECT_EQ(q.receive(at(43'200s)), m1);
}

TEST(Queue, UndeliveredIsVisibleAtOnceAndNotCounted) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s));
  EXPECT_TRUE(q.queue.is_leased(q.handle(m1)));
  q.queue.apply(Undelivered{{m1}});
  EXPECT_EQ(q.queue.find({m1})->receive_count(), 0u);
  EXPECT_EQ(q.queue.find({m1})->first_received_ms, 0u);
  EXPECT_EQ(q.receive(at(1s)), m1);
  EXPECT_EQ(q.queue.find({m1})->receive_count(), 1u);
  EXPECT_EQ(q.queue.find({m1})->first_received_at(), at(1s));
  EXPECT_EQ(q.queue.find({m1})->receipt, 2u) << "handles still differ";
}

TEST(Queue, MessagesThatAlwaysFailTakeTurns) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  const auto m2 = q.send(at(0s));
  const auto m3 = q.send(at(0s));
  std::vector<std::uint64_t> seen;
  for (int i = 0; i < 15; ++i) {
    seen.push_back(q.receive(at(seconds{i}), seconds{1}));
    q.pass(at(seconds{i + 1}));
  }
  EXPECT_EQ(seen, (std::vector{m1, m1, m1, m2, m2, m2, m3, m3, m3, m1, m2, m3, m1, m2, m3}));
}

TEST(Queue, WhatIsGivenBackAfterItsLeaseIsNotCountedAndNotTwice) {
  QueueFixture q;
  const auto m1 = q.send(at(0s));
  q.receive(at(0s), 5s);
  const ReceiptHandle handle = q.handle(m1);
  q.pass(at(5s));
  ASSERT_FALSE(q.queue.is_leased(handle));
  EXPECT_TRUE(q.queue.may_give_back(handle)) << "nobody has received it since";
  q.queue.apply(Undelivered{{m1}});
  EXPECT_EQ(q.queue.find({m1})->receive_count(), 0u);
  EXPECT_EQ(q.queue.counts(), (Counts{1, 0, 0}));
  EXPECT_FALSE(q.queue.may_give_back(handle)) << "counted off already";

  q.receive(at(6s), 5s);
  EXPECT_FALSE(q.queue.may_give_back(handle)) << "received again since";
  EXPECT_TRUE(q.queue.may_give_back(q.handle(m1)));
}

TEST(Queue, RetentionRemovesInEveryState) {
  QueueFixture q;
  q.retention = *RetentionPeriod::of(60);
  const auto leased = q.send(at(0s));
  q.send(at(1s));
  q.send(at(2s), 90s);
  EXPECT_EQ(q.receive(at(2s), 600s), leased);
  q.pass(at(60s - 1ms));
  EXPECT_EQ(q.queue.size(), 3u);
  q.pass(at(60s));
  EXPECT_EQ(q.queue.size(), 2u);
  q.pass(at(62s));
  EXPECT_EQ(q.queue.size(), 0u);
  EXPECT_EQ(q.queue.counts(), Counts{});
  ASSERT_EQ(q.expired.size(), 3u);
  EXPECT_EQ(q.expired[0].sequence.value, leased);
  EXPECT_EQ(q.queue.next_change(q.retention), std::nullopt);
}

TEST(Queue, AMovedMessageKeepsItsOriginalTimeForRetention) {
  QueueFixture q;
  q.retention = *RetentionPeriod::of(60);
  const auto young = q.send(at(100s));
  const auto moved = q.send(at(110s), 0ms, at(70s));
  EXPECT_EQ(q.queue.next_change(q.retention), at(130s));
  q.pass(at(130s));
  EXPECT_EQ(q.queue.find({moved}), nullptr);
  EXPECT_NE(q.queue.find({young}), nullptr);
  EXPECT_EQ(q.queue.next_change(q.retention), at(160s));
}

TEST(Queue, ShorterRetentionAffectsWhatIsThere) {
  QueueFixture q;
  q.send(at(0s));
  q.pass(at(1h));
  EXPECT_EQ(q.queue.size(), 1u);
  q.retention = *RetentionPeriod::of(60);
  q.pass(at(1h));
  EXPECT_EQ(q.queue.size(), 0u);
}

TEST(Queue, AdvanceWorksInSlices) {
  QueueFixture q;
  for (int i = 0; i < 10; ++i) q.send(at(0s));
  for (int i = 0; i < 10; ++i) q.receive(at(0s));
  EXPECT_TRUE(q.queue.advance(at(30s), q.retention, 4, q.expired));
  EXPECT_EQ(q.queue.counts(), (Counts{4, 6, 0}));
  EXPECT_TRUE(q.queue.advance(at(30s), q.retention, 4, q.expired));
  EXPECT_FALSE(q.queue.advance(at(30s), q.retention, 4, q.expired));
  EXPECT_EQ(q.queue.counts(), (Counts{10, 0, 0}));
}

TEST(Queue, DrainTakesEverythingInSlices) {
  QueueFixture q;
  for (int i = 0; i < 5; ++i) q.send(at(0s), i % 2 == 0 ? 5s : 0s);
  q.receive(at(0s));
  q.queue.drain(3, q.expired);
  EXPECT_EQ(q.queue.size(), 2u);
  q.queue.drain(3, q.expired);
  EXPECT_EQ(q.queue.size(), 0u);
  EXPECT_EQ(q.expired.size(), 5u);
}

TEST(Queue, ReceiptsGoOnWhereTheMovedMessageStood) {
  QueueFixture q;
  q.queue.apply(Arrived{.id = {}, .sequence = {5}, .sent_at = at(0s), .visible_at = at(9s), .at = at(9s), .receipt = 4,
                        .undelivered = 1, .first_received_ms = 1001});
  EXPECT_EQ(q.receive(at(9s)), 5u);
  const Entry* entry = q.queue.find({5});
  EXPECT_EQ(entry->receive_count(), 4u);
  EXPECT_EQ(entry->first_received_at(), at(1s));
  EXPECT_EQ(entry->received_at(), at(9s));
  EXPECT_EQ(q.queue.next_sequence().value, 6u);
}

constexpr auto kNoPreparation = [](const Entry&) {};

TEST(Queue, IsSavedAsItWasWhateverHappensBetweenTheSlices) {
  QueueFixture q;
  for (int i = 0; i < 6; ++i) q.send(at(0s));
  q.receive(at(0s), 10s);
  q.queue.begin_saving(kStart);
  std::vector<std::pair<std::uint64_t, EntryState>> saved;
  const auto visit = [&](const Entry& entry, std::uint64_t, std::string_view) { saved.emplace_back(entry.sequence.value, entry.state); };
  EXPECT_TRUE(q.queue.save(2, kNoPreparation, visit));
  q.send(at(1s));                                  // later: no part of it
  EXPECT_EQ(q.receive(at(1s)), 2u);                // given out already
  EXPECT_EQ(q.receive(at(1s)), 3u);                // not yet
  EXPECT_TRUE(q.remove(q.handle(3), at(2s)));
  EXPECT_EQ(q.receive(at(2s)), 4u);
  q.pass(at(20s));                                 // the lease of 1 ends
  EXPECT_FALSE(q.queue.save(100, kNoPreparation, visit));
  using enum EntryState;
  EXPECT_EQ(saved, (std::vector<std::pair<std::uint64_t, EntryState>>{{1, Leased}, {2, Ready}, {3, Ready}, {4, Ready}, {5, Ready}, {6, Ready}}));
  q.queue.end_saving();
  EXPECT_FALSE(q.queue.save(100, kNoPreparation, visit));
  EXPECT_EQ(saved.size(), 6u);
}

TEST(Queue, IsSavedWholeAcrossGapsInSlicesOfAnySize) {
  for (const std::size_t slice : {1u, 7u, 64u, 65u, 1000u}) {
    QueueFixture q;
    for (int i = 0; i < 500; ++i) q.send(at(0s));
    std::vector<std::uint64_t> here;
    for (std::uint64_t n = 1; n <= 500; ++n) {
      // Single ones, a block and a half, and all at the end.
      if (n % 3 == 0 || (n >= 100 && n < 200) || n > 450) q.queue.apply(Removed{{n}});
      else here.push_back(n);
    }
    q.queue.begin_saving(kStart);
    std::vector<std::uint64_t> saved;
    std::set<std::uint64_t> prepared;
    const auto prepare = [&](const Entry& entry) { prepared.insert(entry.sequence.value); };
    const auto visit = [&](const Entry& entry, std::uint64_t, std::string_view) {
      EXPECT_TRUE(prepared.contains(entry.sequence.value)) << entry.sequence.value;
      saved.push_back(entry.sequence.value);
    };
    while (q.queue.save(slice, prepare, visit)) {}
    EXPECT_EQ(saved, here) << "slices of " << slice;
  }
}

TEST(Queue, AnAbandonedSavingForgetsWhatItKeptInSlices) {
  QueueFixture q;
  for (int i = 0; i < 5; ++i) q.send(at(0s));
  q.queue.begin_saving(kStart);
  for (int i = 0; i < 3; ++i) q.receive(at(1s));  // three are kept
  EXPECT_TRUE(q.queue.abandon_saving(2));
  q.receive(at(1s));  // is not kept any more
  const auto visit = [](const Entry& entry, std::uint64_t, std::string_view) { ADD_FAILURE() << entry.sequence.value; };
  EXPECT_FALSE(q.queue.abandon_saving(2));
  EXPECT_FALSE(q.queue.save(100, kNoPreparation, visit));
  EXPECT_FALSE(q.queue.abandon_saving(2)) << "there is nothing to abandon";
}

}  // namespace
}  // namespace fanfare::queue
