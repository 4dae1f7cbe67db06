#include "bench/histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace fanfare::bench {
namespace {

using namespace std::chrono_literals;

TEST(Histogram, AnEmptyOneTellsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(99), 0ns);
  EXPECT_EQ(histogram.mean(), 0ns);
  EXPECT_EQ(histogram.smallest(), 0ns);
  EXPECT_EQ(histogram.largest(), 0ns);
}

TEST(Histogram, PercentilesOfAThousandMicroseconds) {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.record(std::chrono::microseconds{i});
  const auto near = [](nanoseconds told, nanoseconds truth) {
    return told >= truth && static_cast<double>((told - truth).count()) <= 0.001 * static_cast<double>(truth.count());
  };
  EXPECT_TRUE(near(histogram.percentile(50), 500us)) << histogram.percentile(50).count();
  EXPECT_TRUE(near(histogram.percentile(99), 990us)) << histogram.percentile(99).count();
  EXPECT_TRUE(near(histogram.percentile(99.9), 999us)) << histogram.percentile(99.9).count();
  EXPECT_EQ(histogram.percentile(100), 1000us);
  EXPECT_TRUE(near(histogram.percentile(0), 1us)) << histogram.percentile(0).count();
  EXPECT_EQ(histogram.mean(), 500'500ns);
}

TEST(Histogram, OneSlowValueAmongAThousandShowsOnlyBeyondThem) {
  Histogram histogram;
  histogram.record(1ms, 999);
  histogram.record(2s);
  EXPECT_LT(histogram.percentile(99.9), 1002us);
  EXPECT_EQ(histogram.percentile(99.95), 2s);
  EXPECT_EQ(histogram.largest(), 2s);
}

TEST(Histogram, ValuesOutsideItsRangeAreKeptAtItsEdges) {
  Histogram histogram;
  histogram.record(-5ns);
  histogram.record(48h);
  EXPECT_EQ(histogram.smallest(), 0ns);
  EXPECT_EQ(histogram.percentile(100), nanoseconds{Histogram::kLargest});
}

RC_GTEST_PROP(Histogram, ABucketHoldsItsValuesAndIsNarrow, ()) {
  const auto bits = *rc::gen::inRange(0, 42);
  const auto value = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << bits);
  const std::size_t bucket = Histogram::bucket_of(value);
  const std::int64_t largest = Histogram::largest_of(bucket);
  RC_ASSERT(value <= largest);
  RC_ASSERT(static_cast<double>(largest - value) <= 0.001 * static_cast<double>(value));
  RC_ASSERT(Histogram::bucket_of(largest) == bucket);
  RC_ASSERT(Histogram::bucket_of(largest + 1) == bucket + 1);
}

RC_GTEST_PROP(Histogram, TellsWhatASortedListTells,
              (std::vector<std::uint32_t> values, std::vector<std::uint32_t> more)) {
  Histogram histogram;
  Histogram other;
  for (const std::uint32_t value : values) histogram.record(nanoseconds{value});
  for (const std::uint32_t value : more) other.record(nanoseconds{value});
  histogram.add(other);
  values.insert(values.end(), more.begin(), more.end());
  RC_ASSERT(histogram.count() == values.size());
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  for (const double percent : {0.0, 50.0, 90.0, 99.0, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent * static_cast<double>(values.size()) / 100));
    const double truth = values[rank == 0 ? 0 : rank - 1];
    const auto told = static_cast<double>(histogram.percentile(percent).count());
    RC_ASSERT(told >= truth);
    RC_ASSERT(told <= truth * 1.001);
  }
}

}  // namespace
}  // namespace fanfare::bench
