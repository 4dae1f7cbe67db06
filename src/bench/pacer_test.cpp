#include "bench/pacer.h"

#include <gtest/gtest.h>

#include "bench/histogram.h"

namespace fanfare::bench {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1h};

TEST(Pacer, RequestsAreDueAtEvenIntervalsFromTheStart) {
  Pacer pacer{1000, kStart};
  EXPECT_EQ(pacer.take(kStart), kStart);
  EXPECT_EQ(pacer.take(kStart), std::nullopt);
  EXPECT_EQ(pacer.take(kStart + 999us), std::nullopt);
  EXPECT_EQ(pacer.take(kStart + 1ms), kStart + 1ms);
  EXPECT_EQ(pacer.next(), kStart + 2ms);
}

TEST(Pacer, WhoComesLateGetsEveryRequestThatWasDueWithItsOwnTime) {
  Pacer pacer{100, kStart};
  int taken = 0;
  while (const auto due = pacer.take(kStart + 1s)) {
    EXPECT_EQ(*due, kStart + taken * 10ms);
    ++taken;
  }
  EXPECT_EQ(taken, 101);
}

TEST(Pacer, ARateThatDividesNoNanosecondDoesNotDrift) {
  Pacer pacer{300'000, kStart};
  while (pacer.take(kStart + 10s)) {
  }
  EXPECT_EQ(pacer.taken(), 3'000'001u);
}

TEST(Pacer, SeveralSharingARateInterleave) {
  Pacer first{1000, kStart, 0, 2};
  Pacer second{1000, kStart, 1, 2};
  EXPECT_EQ(first.take(kStart + 1ms), kStart);
  EXPECT_EQ(first.take(kStart + 1ms), std::nullopt);
  EXPECT_EQ(second.take(kStart + 1ms), kStart + 1ms);
  EXPECT_EQ(first.next(), kStart + 2ms);
  EXPECT_EQ(second.next(), kStart + 3ms);
}

/// One connection, a server that answers in 1 ms but stands still for the whole second `stall`: what is told of it.
Histogram told_of_a_stall(bool from_due) {
  Pacer pacer{100, kStart};
  Histogram histogram;
  Instant now = kStart;
  while (pacer.next() < kStart + 10s) {
    if (now < pacer.next()) now = pacer.next();
    const Instant due = pacer.take(now).value();
    const Instant sent = now;
    const bool stalled = now >= kStart + 5s && now < kStart + 6s;
    now = stalled ? kStart + 6s : now + 1ms;
    histogram.record(now - (from_due ? due : sent));
  }
  return histogram;
}

TEST(Pacer, AStallMakesAllRequestsThatWereDueInItLate) {
  const Histogram honest = told_of_a_stall(true);
  EXPECT_EQ(honest.count(), 1000u);
  // A tenth of the requests fell into the stalled second and waited half of it on average; catching up delays a few
  // more.
  EXPECT_GT(honest.percentile(95), 400ms);
  EXPECT_LT(honest.percentile(85), 100ms);
  // What would be told without regard to when requests were due: one late request in a thousand.
  const Histogram omitting = told_of_a_stall(false);
  EXPECT_LT(omitting.percentile(99.8), 2ms);
}

}  // namespace
}  // namespace fanfare::bench
