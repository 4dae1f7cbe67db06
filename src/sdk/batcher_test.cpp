#include "sdk/batcher.h"

#include <gtest/gtest.h>

#include <set>

namespace fanfare::sdk {
namespace {

using namespace std::chrono_literals;

BatcherLimits limits() {
  return {.batch_entries = 10, .batch_bytes = 1000, .max_buffered = 100, .when_full = WhenFull::Fail, .flush_interval = 10s,
          .max_in_flight = 4, .max_attempts = 3, .backoff_first = 100ms, .backoff_max = 1s, .fifo = false};
}

Event event_of(std::size_t bytes, std::string id = "e") { return {.id = std::move(id), .type = "", .body = std::string(bytes, 'x'), .attributes = {}, .group_id = {}}; }

Result<BatchResults<SendReceipt>, Error> all_ok(std::size_t count) {
  BatchResults<SendReceipt> results;
  for (std::size_t i = 0; i < count; ++i) results.emplace_back(SendReceipt{"m" + std::to_string(i), ""});
  return results;
}

const Error kThrottled{.kind = ErrorKind::Throttled, .code = "Throttled", .message = "slow down", .request_id = {}, .status = 400};
const Instant t0{};

TEST(Batcher, S1_ABatchGoesOutAtTenEntries) {
  Batcher batcher{limits(), 1};
  for (int i = 0; i < 9; ++i) batcher.add(event_of(1), t0);
  EXPECT_FALSE(batcher.take_batch(t0));
  batcher.add(event_of(1), t0);
  const auto batch = batcher.take_batch(t0);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->entries.size(), 10u);
}

TEST(Batcher, S1_ABatchGoesOutAtTheByteLimit) {
  Batcher batcher{limits(), 1};
  batcher.add(event_of(400), t0);
  EXPECT_FALSE(batcher.take_batch(t0));
  batcher.add(event_of(400), t0);  // a third of that size would not fit
  const auto batch = batcher.take_batch(t0);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->entries.size(), 2u);
}

TEST(Batcher, S1_ABatchGoesOutAtTheFlushInterval) {
  Batcher batcher{limits(), 1};
  batcher.add(event_of(1), t0 + 1s);
  EXPECT_EQ(batcher.next_wake(), t0 + 11s);
  EXPECT_FALSE(batcher.take_batch(t0 + 11s - 1ns));
  EXPECT_TRUE(batcher.take_batch(t0 + 11s));
}

TEST(Batcher, S4_NoBatchEverExceedsEntriesOrBytes) {
  Rng rng{7};
  Batcher batcher{limits(), 1};
  std::size_t in = 0;
  std::size_t out = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (rng.chance(3, 4)) {
      in += batcher.add(event_of(1 + rng.below(1000)), t0).ticket ? 1 : 0;
    } else if (auto batch = batcher.take_batch(t0)) {
      std::size_t bytes = 0;
      for (const auto& entry : batch->entries) bytes += counted_bytes(entry.event);
      EXPECT_LE(batch->entries.size(), 10u);
      EXPECT_LE(bytes, 1000u);
      out += batch->entries.size();
      const std::size_t count = batch->entries.size();
      batcher.settle(std::move(*batch), all_ok(count), t0);
    }
  }
  EXPECT_EQ(in, out + batcher.buffered());
  EXPECT_GT(out, 1000u);
}

TEST(Batcher, RefusesWhatIsTooLargeEmptyOrLate) {
  Batcher batcher{limits(), 1};
  EXPECT_EQ(batcher.add(event_of(1001), t0).refused->error.message,
            "the event has 1001 bytes with its attributes; the destination takes 1000");
  EXPECT_TRUE(batcher.add(event_of(0), t0).refused);
  EXPECT_TRUE(batcher.add(event_of(1000), t0).ticket);
  batcher.close();
  EXPECT_TRUE(batcher.add(event_of(1), t0).refused);
}

TEST(Batcher, AFullBufferFailsTheNewOrDropsTheOldest) {
  auto small = limits();
  small.max_buffered = 2;
  Batcher failing{small, 1};
  failing.add(event_of(1, "a"), t0);
  failing.add(event_of(1, "b"), t0);
  EXPECT_EQ(failing.add(event_of(1, "c"), t0).refused->event.id, "c");
  small.when_full = WhenFull::DropOldest;
  Batcher dropping{small, 1};
  const auto first = dropping.add(event_of(1, "a"), t0).ticket;
  dropping.add(event_of(1, "b"), t0);
  const auto added = dropping.add(event_of(1, "c"), t0);
  EXPECT_TRUE(added.ticket);
  EXPECT_EQ(added.refused->event.id, "a");
  EXPECT_EQ(added.refused_ticket, first);
  EXPECT_EQ(dropping.buffered(), 2u);
}

TEST(Batcher, RetriesWhatMayHealAndReportsTheRest) {
  Batcher batcher{limits(), 1};
  for (int i = 0; i < 3; ++i) batcher.add(event_of(1, std::to_string(i)), t0);
  batcher.flush();
  auto batch = batcher.take_batch(t0);
  BatchResults<SendReceipt> results;
  results.emplace_back(SendReceipt{"m0", ""});
  results.emplace_back(kThrottled);
  results.emplace_back(Error{.kind = ErrorKind::Service, .code = "InvalidParameterValue", .message = "no", .request_id = {}, .status = 400});
  const auto settled = batcher.settle(std::move(*batch), std::move(results), t0);
  ASSERT_EQ(settled.size(), 2u);
  EXPECT_EQ(settled[0].outcome->message_id, "m0");
  EXPECT_EQ(settled[1].outcome.error().code, "InvalidParameterValue");
  EXPECT_EQ(batcher.buffered(), 1u);
  const auto wake = batcher.next_wake();
  ASSERT_TRUE(wake);
  EXPECT_GE(*wake, t0 + 50ms);
  EXPECT_LE(*wake, t0 + 100ms);
  EXPECT_EQ(batcher.take_batch(*wake)->entries.at(0).event.id, "1");
}

TEST(Batcher, AnEntryInNeitherListIsAFailure) {
  Batcher batcher{limits(), 1};
  batcher.add(event_of(1), t0);
  batcher.flush();
  const auto settled = batcher.settle(*batcher.take_batch(t0), BatchResults<SendReceipt>{}, t0);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].outcome.error().kind, ErrorKind::Malformed);
}

TEST(Batcher, GivesUpAfterTheLastAttempt) {
  Batcher batcher{limits(), 1};
  batcher.add(event_of(1), t0);
  batcher.flush();
  Instant now = t0;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    auto batch = batcher.take_batch(now);
    ASSERT_TRUE(batch) << attempt;
    const auto settled = batcher.settle(std::move(*batch), kThrottled, now);
    EXPECT_EQ(settled.size(), attempt == 3 ? 1u : 0u) << attempt;
    if (attempt < 3) now = *batcher.next_wake();
  }
  EXPECT_TRUE(batcher.idle());
}

TEST(Batcher, S6_FifoKeepsOneBatchInFlightAndOrderAfterFailure) {
  auto fifo = limits();
  fifo.fifo = true;
  Batcher batcher{fifo, 1};
  for (int i = 0; i < 15; ++i) batcher.add(event_of(1, std::to_string(i)), t0);
  auto first = batcher.take_batch(t0);
  ASSERT_TRUE(first);
  EXPECT_FALSE(batcher.take_batch(t0)) << "a second batch while the first is in flight";
  batcher.settle(std::move(*first), kThrottled, t0);
  EXPECT_FALSE(batcher.take_batch(t0)) << "younger events overtook a retry";
  auto again = batcher.take_batch(*batcher.next_wake());
  ASSERT_TRUE(again);
  for (std::size_t i = 0; i < again->entries.size(); ++i) EXPECT_EQ(again->entries[i].event.id, std::to_string(i));
}

TEST(Batcher, S3_ClosingSendsEverythingAtOnce) {
  Batcher batcher{limits(), 1};
  for (int i = 0; i < 25; ++i) batcher.add(event_of(1), t0);
  batcher.close();
  std::size_t out = 0;
  while (auto batch = batcher.take_batch(t0)) out += batch->entries.size();
  EXPECT_EQ(out, 25u);
  EXPECT_EQ(batcher.sending(), 25u);
  EXPECT_TRUE(batcher.abandon().empty());
}

TEST(Batcher, WantsNoWakeUpWhileEverythingThatMayBeInFlightIs) {
  auto one = limits();
  one.max_in_flight = 1;
  Batcher batcher{one, 1};
  for (int i = 0; i < 11; ++i) batcher.add(event_of(1), t0);
  auto batch = batcher.take_batch(t0);
  ASSERT_TRUE(batch);
  // The eleventh is overdue; a clock that woke somebody for it would do so again and again until the service answers.
  EXPECT_FALSE(batcher.take_batch(t0 + 60s));
  EXPECT_FALSE(batcher.next_wake());
  batcher.settle(std::move(*batch), all_ok(10), t0 + 60s);
  EXPECT_TRUE(batcher.next_wake());
  EXPECT_TRUE(batcher.take_batch(t0 + 60s));
}

TEST(Batcher, S3_WhatFailsDuringTheDrainWaitsForItsBackoff) {
  for (const bool fifo : {false, true}) {
    auto rules = limits();
    rules.fifo = fifo;
    Batcher batcher{rules, 1};
    batcher.add(event_of(1), t0);
    batcher.close();
    batcher.settle(*batcher.take_batch(t0), kThrottled, t0);
    EXPECT_FALSE(batcher.take_batch(t0)) << "every attempt would be spent within a moment of the service's absence";
    EXPECT_TRUE(batcher.take_batch(t0 + 100ms));
  }
}

TEST(Batcher, S3_WhatIsAbandonedIsNotTriedAgain) {
  Batcher batcher{limits(), 1};
  batcher.add(event_of(1), t0);
  batcher.close();
  auto batch = batcher.take_batch(t0);
  EXPECT_TRUE(batcher.abandon().empty());
  EXPECT_EQ(batcher.settle(std::move(*batch), kThrottled, t0).size(), 1u);
  EXPECT_TRUE(batcher.idle());
}

}  // namespace
}  // namespace fanfare::sdk
