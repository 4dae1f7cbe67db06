#include "core/metrics/history.h"

#include <algorithm>

#include "base/assert.h"

namespace fanfare::metrics {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kMinutesKept = History::kKept.count() / kMinuteMs;

std::int64_t minute_of(Timestamp time) {
  const std::int64_t ms = unix_ms(time);
  return ms >= 0 ? ms / kMinuteMs : -((-ms + kMinuteMs - 1) / kMinuteMs);
}

}  // namespace

void Statistics::add(const Statistics& other) {
  if (other.samples == 0) return;
  minimum = samples == 0 ? other.minimum : std::min(minimum, other.minimum);
  maximum = samples == 0 ? other.maximum : std::max(maximum, other.maximum);
  sum += other.sum;
  samples += other.samples;
}

void History::begin(Timestamp now) {
  minute_ = std::max(minute_, minute_of(now));
  if (points_ == 0) oldest_ = minute_;
}

History::Series& History::series(const Resource& resource, std::string_view metric) {
  Series& found = resources_[resource][metric];
  found.seen = true;
  return found;
}

Statistics& History::current(Series& series) {
  if (series.minutes.empty() || series.minutes.back().minute != minute_) {
    series.minutes.push_back({minute_, {}});
    ++points_;
  }
  return series.minutes.back().values;
}

void History::counter(const Resource& resource, std::string_view metric, std::uint64_t total) {
  Series& of = series(resource, metric);
  const std::uint64_t added = total >= of.total ? total - of.total : total;
  of.total = total;
  if (added == 0) return;
  const auto events = static_cast<double>(added);
  current(of).add({events, 1, 1, events});
}

void History::sizes(const Resource& resource, std::string_view metric, std::uint64_t events, std::uint64_t bytes,
                    std::uint64_t smallest, std::uint64_t largest) {
  Series& of = series(resource, metric);
  const bool anew = events < of.total || bytes < of.bytes;
  const std::uint64_t added = anew ? events : events - of.total;
  const std::uint64_t added_bytes = anew ? bytes : bytes - of.bytes;
  of.total = events;
  of.bytes = bytes;
  if (added == 0) return;
  current(of).add({static_cast<double>(added_bytes), static_cast<double>(smallest), static_cast<double>(largest),
                   static_cast<double>(added)});
}

void History::gauge(const Resource& resource, std::string_view metric, double value) {
  Series& of = series(resource, metric);
  const bool quiet = value == 0 && of.last == 0;
  of.last = value;
  if (!quiet) current(of).add({value, value, value, 1});
}

void History::end() {
  for (auto resource = resources_.begin(); resource != resources_.end();) {
    for (auto metric = resource->second.begin(); metric != resource->second.end();) {
      Series& series = metric->second;
      if (!series.seen) series.total = series.bytes = 0, series.last = 0;
      const bool gone = !series.seen && series.minutes.empty();
      series.seen = false;
      metric = gone ? resource->second.erase(metric) : std::next(metric);
    }
    resource = resource->second.empty() ? resources_.erase(resource) : std::next(resource);
  }
  drop_before(minute_ - kMinutesKept + 1);
  while (points_ > points_max_ && oldest_ < minute_) drop_before(oldest_ + 1);
}

void History::drop_before(std::int64_t minute) {
  if (minute <= oldest_) return;
  oldest_ = minute;
  for (auto& [resource, metrics] : resources_) {
    for (auto& [name, series] : metrics) {
      while (!series.minutes.empty() && series.minutes.front().minute < minute) {
        series.minutes.pop_front();
        --points_;
      }
    }
  }
}

void History::for_each(const std::function<bool(const Metric&)>& visit) const {
  for (const auto& [resource, metrics] : resources_) {
    for (const auto& [name, series] : metrics) {
      if (!series.minutes.empty() && !visit({&resource, name})) return;
    }
  }
}

std::vector<Point> History::query(const Resource& resource, std::string_view metric, Timestamp from, Timestamp to,
                                  milliseconds period) const {
  FANFARE_ASSERT(period.count() > 0 && period.count() % kMinuteMs == 0, "a period is a multiple of a minute");
  std::vector<Point> out;
  const auto metrics = resources_.find(resource);
  if (metrics == resources_.end()) return out;
  const auto series = metrics->second.find(metric);
  if (series == metrics->second.end()) return out;
  const std::int64_t minutes = period.count() / kMinuteMs;
  const std::int64_t first = minute_of(from);
  for (const Minute& one : series->second.minutes) {
    if (one.minute < first || timestamp_from_unix_ms(one.minute * kMinuteMs) >= to) continue;
    const std::int64_t start = first + (one.minute - first) / minutes * minutes;
    const Timestamp at = timestamp_from_unix_ms(start * kMinuteMs);
    if (out.empty() || out.back().at != at) out.push_back({at, {}});
    out.back().values.add(one.values);
  }
  return out;
}

}  // namespace fanfare::metrics
