#include "core/metrics/history.h"

#include <gtest/gtest.h>

namespace fanfare::metrics {
namespace {

constexpr Timestamp kStart = timestamp_from_unix_ms(1'764'500'040'000);  // a whole minute, not a whole five
constexpr std::chrono::minutes kMinute{1};

class Metrics : public testing::Test {
 protected:
  static Resource queue(std::string name) { return {Service::Sqs, "000000000000", "us-east-1", std::move(name)}; }
  template <class Observe>
  void look(Timestamp at, Observe observe) {
    history.begin(at);
    observe();
    history.end();
  }
  std::vector<Point> points(std::string_view metric, milliseconds period = kMinute) {
    return history.query(work, metric, kStart - std::chrono::hours{10}, kStart + std::chrono::hours{100}, period);
  }
  const Resource work = queue("work");
  History history;
};

TEST_F(Metrics, ACounterGivesWhatWasAddedInEachMinute) {
  look(kStart, [&] { history.counter(work, "Sent", 3); });
  look(kStart + seconds{59}, [&] { history.counter(work, "Sent", 5); });
  look(kStart + kMinute, [&] { history.counter(work, "Sent", 6); });
  const auto got = points("Sent");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].at, kStart);
  EXPECT_EQ(got[0].values.sum, 5);
  EXPECT_EQ(got[0].values.samples, 5);
  EXPECT_EQ(got[0].values.minimum, 1);
  EXPECT_EQ(got[0].values.maximum, 1);
  EXPECT_EQ(got[1].values.sum, 1);
}

TEST_F(Metrics, AQuietMinuteHasNoPoint) {
  look(kStart, [&] { history.counter(work, "Sent", 3); });
  look(kStart + kMinute, [&] { history.counter(work, "Sent", 3); });
  EXPECT_EQ(points("Sent").size(), 1u);
  EXPECT_EQ(history.points(), 1u);
}

TEST_F(Metrics, ATotalThatFellHasStartedAnew) {
  look(kStart, [&] { history.counter(work, "Sent", 30); });
  look(kStart + kMinute, [&] { history.counter(work, "Sent", 2); });
  ASSERT_EQ(points("Sent").size(), 2u);
  EXPECT_EQ(points("Sent")[1].values.sum, 2);
}

TEST_F(Metrics, AQueueMadeAgainCountsFromZero) {
  look(kStart, [&] { history.counter(work, "Sent", 30); });
  look(kStart + kMinute, [&] {});  // deleted
  look(kStart + 2 * kMinute, [&] { history.counter(work, "Sent", 40); });
  ASSERT_EQ(points("Sent").size(), 2u);
  EXPECT_EQ(points("Sent")[1].values.sum, 40);
}

TEST_F(Metrics, AGaugeThatFallsToZeroSaysSoOnce) {
  for (int minute = 0; minute < 5; ++minute)
    look(kStart + minute * kMinute, [&] { history.gauge(work, "Visible", minute == 1 ? 7 : 0); });
  const auto got = points("Visible");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].at, kStart + kMinute);
  EXPECT_EQ(got[0].values.maximum, 7);
  EXPECT_EQ(got[1].values.maximum, 0);
  EXPECT_EQ(got[1].values.samples, 1);
}

TEST_F(Metrics, SizesKeepTheSmallestAndTheLargest) {
  look(kStart, [&] { history.sizes(work, "Size", 2, 300, 100, 200); });
  look(kStart + seconds{30}, [&] { history.sizes(work, "Size", 3, 350, 50, 50); });
  const auto got = points("Size");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].values.sum, 350);
  EXPECT_EQ(got[0].values.samples, 3);
  EXPECT_EQ(got[0].values.minimum, 50);
  EXPECT_EQ(got[0].values.maximum, 200);
  EXPECT_NEAR(got[0].values.average(), 116.67, 0.01);
}

TEST_F(Metrics, PeriodsAreCountedFromTheFirstMinuteAskedFor) {
  for (int minute = 0; minute < 6; ++minute)
    look(kStart + minute * kMinute, [&] { history.counter(work, "Sent", static_cast<std::uint64_t>(minute + 1)); });
  const auto got = history.query(work, "Sent", kStart - kMinute + seconds{30}, kStart + 6 * kMinute, 5 * kMinute);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].at, kStart - kMinute);
  EXPECT_EQ(got[0].values.sum, 4);
  EXPECT_EQ(got[1].at, kStart + 4 * kMinute);
  EXPECT_EQ(got[1].values.sum, 2);
}

TEST_F(Metrics, TheEndOfARangeIsNotInIt) {
  look(kStart, [&] { history.counter(work, "Sent", 1); });
  look(kStart + kMinute, [&] { history.counter(work, "Sent", 2); });
  EXPECT_EQ(history.query(work, "Sent", kStart, kStart + kMinute, kMinute).size(), 1u);
  EXPECT_EQ(history.query(work, "Sent", kStart + kMinute, kStart + kMinute, kMinute).size(), 0u);
  EXPECT_EQ(history.query(work, "Sent", kStart + seconds{59}, kStart + kMinute, kMinute).size(), 1u) << "from its minute on";
}

TEST_F(Metrics, WhatIsOlderThanThreeHoursIsGone) {
  look(kStart, [&] { history.counter(work, "Sent", 1); });
  look(kStart + 179 * kMinute, [&] { history.counter(work, "Sent", 1); });
  EXPECT_EQ(points("Sent").size(), 1u);
  look(kStart + 180 * kMinute, [&] { history.counter(work, "Sent", 1); });
  EXPECT_EQ(points("Sent").size(), 0u);
  EXPECT_EQ(history.points(), 0u);
}

TEST_F(Metrics, ADeletedQueueIsForgottenWithItsLastPoint) {
  look(kStart, [&] { history.counter(work, "Sent", 1); });
  int listed = 0;
  const auto count = [&](const Metric& metric) {
    EXPECT_EQ(metric.resource->name, "work");
    ++listed;
    return true;
  };
  look(kStart + kMinute, [] {});
  history.for_each(count);
  EXPECT_EQ(listed, 1);
  look(kStart + 180 * kMinute, [] {});
  history.for_each(count);
  EXPECT_EQ(listed, 1);
}

TEST_F(Metrics, TooManyPointsShortenTheHistory) {
  History small(100);
  for (int minute = 0; minute < 60; ++minute) {
    small.begin(kStart + minute * kMinute);
    for (int i = 0; i < 10; ++i) small.counter(queue("q" + std::to_string(i)), "Sent", static_cast<std::uint64_t>(minute + 1));
    small.end();
    EXPECT_LE(small.points(), 100u) << minute;
  }
  const auto got = small.query(queue("q3"), "Sent", kStart, kStart + std::chrono::hours{2}, kMinute);
  ASSERT_EQ(got.size(), 10u);
  EXPECT_EQ(got.back().at, kStart + 59 * kMinute) << "the newest stay";
}

}  // namespace
}  // namespace fanfare::metrics
