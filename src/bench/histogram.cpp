#include "bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fanfare::bench {
namespace {

constexpr int kExactBits = 11;                                  // values below 2^11 have a bucket each
constexpr std::int64_t kExact = std::int64_t{1} << kExactBits;  // 2,048
constexpr std::int64_t kPerDoubling = std::int64_t{1} << (kExactBits - 1);

}  // namespace

std::size_t Histogram::bucket_of(std::int64_t value) {
  if (value < kExact) return static_cast<std::size_t>(value);
  const int shift = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - kExactBits;
  return static_cast<std::size_t>(kExact + (shift - 1) * kPerDoubling + ((value >> shift) - kPerDoubling));
}

std::int64_t Histogram::largest_of(std::size_t bucket) {
  const auto index = static_cast<std::int64_t>(bucket);
  if (index < kExact) return index;
  const std::int64_t shift = (index - kExact) / kPerDoubling + 1;
  const std::int64_t place = (index - kExact) % kPerDoubling + kPerDoubling;
  return ((place + 1) << shift) - 1;
}

void Histogram::record(nanoseconds value, std::uint64_t times) {
  if (times == 0) return;
  const std::int64_t clamped = std::clamp<std::int64_t>(value.count(), 0, kLargest);
  const std::size_t bucket = bucket_of(clamped);
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  counts_[bucket] += times;
  count_ += times;
  smallest_ = std::min(smallest_, clamped);
  largest_ = std::max(largest_, clamped);
  sum_ += static_cast<double>(clamped) * static_cast<double>(times);
}

void Histogram::add(const Histogram& other) {
  if (other.empty()) return;
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  smallest_ = std::min(smallest_, other.smallest_);
  largest_ = std::max(largest_, other.largest_);
  sum_ += other.sum_;
}

nanoseconds Histogram::mean() const {
  return nanoseconds{empty() ? 0 : std::llround(sum_ / static_cast<double>(count_))};
}

nanoseconds Histogram::percentile(double percent) const {
  if (empty()) return nanoseconds{0};
  const double share = std::clamp(percent, 0.0, 100.0) / 100.0;
  // 99.9 % of 1,000 is 999, although the product of the doubles is a little more.
  const double rank = std::ceil(share * static_cast<double>(count_) - 1e-6);
  const auto wanted = static_cast<std::uint64_t>(std::max(1.0, rank));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted) return nanoseconds{std::min(largest_of(i), largest_)};
  }
  return largest();
}

}  // namespace fanfare::bench
