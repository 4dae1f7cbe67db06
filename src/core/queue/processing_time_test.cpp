#include "core/queue/processing_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace fanfare::queue {
namespace {

constexpr std::int64_t kStart = 6'000'000 * ProcessingTime::kSpanMs;

/// Keeps every delivery, and adds up what of it is recent.
struct Naive {
  struct Delivery {
    std::int64_t begun;
    std::optional<std::int64_t> ended;
  };
  std::vector<Delivery> deliveries;

  [[nodiscard]] std::int64_t at(std::int64_t now) const {
    const std::int64_t from = (now / ProcessingTime::kSpanMs - 1) * ProcessingTime::kSpanMs;
    std::int64_t sum = 0;
    for (const Delivery& one : deliveries) sum += std::max<std::int64_t>(one.ended.value_or(now) - std::max(one.begun, from), 0);
    return sum;
  }
};

TEST(ProcessingTime, ADeliveryThatRunsCountsUpToNow) {
  ProcessingTime time;
  time.begin(kStart + 1'000);
  EXPECT_EQ(time.at(kStart + 61'000), 60'000);
}

TEST(ProcessingTime, WhatEndedCountsUntilTheFiveMinutesAfterItsOwnAreOver) {
  ProcessingTime time;
  time.begin(kStart);
  time.end(kStart, kStart + 40'000, kStart + 40'000);
  EXPECT_EQ(time.at(kStart + 2 * ProcessingTime::kSpanMs - 1), 40'000);
  EXPECT_EQ(time.at(kStart + 2 * ProcessingTime::kSpanMs), 0);
}

TEST(ProcessingTime, ALeaseThatIsSeenToHaveEndedLateCountsUpToItsEnd) {
  ProcessingTime time;
  time.begin(kStart + 100'000);
  const std::int64_t now = kStart + ProcessingTime::kSpanMs + 5'000;
  EXPECT_EQ(time.at(now), 205'000);
  time.end(kStart + 100'000, kStart + 130'000, now);
  EXPECT_EQ(time.at(now), 30'000);
}

TEST(ProcessingTime, AGroupIsNoisyFromHalfAMinuteAndMoreThanATenth) {
  EXPECT_TRUE(takes_too_long(30'000, 299'999));
  EXPECT_FALSE(takes_too_long(30'000, 300'000)) << "a tenth is not more than a tenth";
  EXPECT_FALSE(takes_too_long(29'999, 40'000)) << "a handful of short messages";
  EXPECT_TRUE(takes_too_long(90'000, 90'000)) << "who comes next has taken nothing yet";
}

TEST(ProcessingTime, WhatRanBeforeAnybodyCountedIsAddedAsFarAsItIsRecent) {
  const std::int64_t now = kStart + 2 * ProcessingTime::kSpanMs + 1'000;
  ProcessingTime time;
  time.begin_earlier(kStart, now);
  EXPECT_EQ(time.at(now), ProcessingTime::kSpanMs + 1'000);
  time.begin_earlier(now - 2'000, now);
  time.begin_earlier(now - 500, now);
  EXPECT_EQ(time.at(now), ProcessingTime::kSpanMs + 3'500);
  time.end(kStart, now - 1'001, now);
  EXPECT_EQ(time.at(now), ProcessingTime::kSpanMs - 1 + 2'500);
}

RC_GTEST_PROP(ProcessingTime, IsThatOfANaiveModelHoweverOftenItIsAskedOrRestored, ()) {
  ProcessingTime time;
  Naive naive;
  std::int64_t now = kStart + *rc::gen::inRange<std::int64_t>(0, ProcessingTime::kSpanMs);
  std::vector<std::size_t> running;
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    now += *rc::gen::element<std::int64_t>(0, 1, 1'000, 29'999, 150'000, ProcessingTime::kSpanMs, 2 * ProcessingTime::kSpanMs);
    const int what = *rc::gen::inRange(0, 4);
    if (what <= 1 || running.empty()) {
      running.push_back(naive.deliveries.size());
      naive.deliveries.push_back({now, {}});
      time.begin(now);
    } else if (what == 2) {
      const std::size_t place = *rc::gen::inRange<std::size_t>(0, running.size());
      Naive::Delivery& one = naive.deliveries[running[place]];
      // It ends now, or ended at some time since it began and nobody has said so yet.
      one.ended = *rc::gen::inRange<std::int64_t>(0, 2) == 0 ? now : one.begun + *rc::gen::inRange<std::int64_t>(0, now - one.begun + 1);
      time.end(one.begun, *one.ended, now);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(place));
    } else {
      ProcessingTime again;
      again.restore(time.ended(now));
      for (const std::size_t one : running) again.restore_running(naive.deliveries[one].begun, now);
      time = again;
    }
    RC_ASSERT(time.at(now) == naive.at(now));
  }
}

}  // namespace
}  // namespace fanfare::queue
