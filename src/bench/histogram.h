// Counts of durations in buckets of equal relative width, so that p99.9 of millions of values costs a few hundred KiB
// and is right to a thousandth.
//
// Rule 1: a value below 2,048 ns has a bucket of its own; above, each doubling has 1,024 buckets, so that a bucket is
//         never wider than a thousandth of what it holds.
// Rule 2: a percentile is never told smaller than it was: it is the largest value of its bucket, or the largest seen.
// Source: the shape of HdrHistogram (hdrhistogram.org) with three significant digits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace fanfare::bench {

using std::chrono::nanoseconds;

/// Not thread-safe: one a thread, added up at the end.
class Histogram {
 public:
  /// Negative values count as 0, values above kLargest as kLargest.
  void record(nanoseconds value, std::uint64_t times = 1);
  void add(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Of an empty histogram all of these are 0.
  [[nodiscard]] nanoseconds smallest() const { return nanoseconds{empty() ? 0 : smallest_}; }
  [[nodiscard]] nanoseconds largest() const { return nanoseconds{largest_}; }
  [[nodiscard]] nanoseconds mean() const;
  /// A value that at least `percent` of a hundred of the recorded values do not exceed. `percent` from 0 to 100.
  [[nodiscard]] nanoseconds percentile(double percent) const;

  /// About 73 minutes.
  static constexpr std::int64_t kLargest = (std::int64_t{1} << 42) - 1;
  /// Number of the bucket of a value from 0 to kLargest, and the largest value of a bucket.
  static std::size_t bucket_of(std::int64_t value);
  static std::int64_t largest_of(std::size_t bucket);

 private:
  std::vector<std::uint64_t> counts_;  // grows to the largest bucket in use
  std::uint64_t count_ = 0;
  std::int64_t smallest_ = kLargest;
  std::int64_t largest_ = 0;
  double sum_ = 0;
};

}  // namespace fanfare::bench
