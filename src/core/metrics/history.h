// What the metrics of queues and topics were, minute by minute, for the calls that CloudWatch answers.
//
// Rule 1: no clock: time is an argument, and never runs back.
// Rule 2: a minute in which a resource did nothing has no point, so idle queues cost nothing; a gauge that falls to 0 gets one
//         last point of 0. A query for a quiet minute finds no data, as CloudWatch does for a queue that is not in use.
// Rule 3: points older than kKept are gone; so are the oldest minutes, earlier than that, when there are more than
//         `points_max` points.
// Source of truth: [SQS Available CloudWatch metrics], [SNS Monitoring topics using CloudWatch].
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace fanfare::metrics {

enum class Service : std::uint8_t { Sqs, Sns };

/// A queue or a topic.
struct Resource {
  Service service = Service::Sqs;
  std::string account;  ///< "000000000000"
  std::string region;   ///< "us-east-1"
  std::string name;     ///< "work"
  friend auto operator<=>(const Resource&, const Resource&) = default;
};

/// The values of a stretch of time, as CloudWatch keeps them.
struct Statistics {
  double sum = 0;
  double minimum = 0;
  double maximum = 0;
  double samples = 0;  ///< 0: no data

  void add(const Statistics& other);
  [[nodiscard]] double average() const { return samples == 0 ? 0 : sum / samples; }
};

struct Point {
  Timestamp at{};  ///< the start of its period
  Statistics values;
};

/// One metric of one resource.
struct Metric {
  const Resource* resource = nullptr;
  std::string_view name;  ///< "NumberOfMessagesSent"
};

class History {
 public:
  static constexpr milliseconds kKept = std::chrono::hours{3};
  static constexpr std::size_t kPointsMax = 200'000;  ///< of 40 bytes each

  explicit History(std::size_t points_max = kPointsMax) : points_max_(points_max) {}

  /// One look at everything at one moment: begin(), then the observations of each resource, then end().
  void begin(Timestamp now);
  /// `total` counts events since some start; what was added since the last look goes into this minute. A total that is
  /// smaller than before has started anew. Each event is a sample of value 1, as SNS and SQS report them. `metric` is a text
  /// that lives for ever.
  void counter(const Resource& resource, std::string_view metric, std::uint64_t total);
  /// The same for sizes: `events` and `bytes` are totals; `smallest` and `largest` are of what came since the last look.
  void sizes(const Resource& resource, std::string_view metric, std::uint64_t events, std::uint64_t bytes,
             std::uint64_t smallest, std::uint64_t largest);
  void gauge(const Resource& resource, std::string_view metric, double value);
  /// Forgets the totals of resources that this look did not name (they are deleted; their points stay), and what is too old.
  void end();

  /// Metrics that have a point, in the order of their resources. `visit` returns false to stop.
  void for_each(const std::function<bool(const Metric&)>& visit) const;
  /// The metric's points from the minute of `from` until before `to`, put together in periods of `period` (a multiple of a
  /// minute), of which the first begins with the minute of `from`; oldest first. A period without data is left out.
  [[nodiscard]] std::vector<Point> query(const Resource& resource, std::string_view metric, Timestamp from, Timestamp to,
                                         milliseconds period) const;
  [[nodiscard]] std::size_t points() const { return points_; }

 private:
  struct Minute {
    std::int64_t minute;  ///< since 1970
    Statistics values;
  };
  struct Series {
    std::deque<Minute> minutes;
    std::uint64_t total = 0;
    std::uint64_t bytes = 0;
    double last = 0;  ///< of a gauge
    bool seen = false;
  };
  using SeriesOf = std::map<std::string_view, Series>;

  Series& series(const Resource& resource, std::string_view metric);
  Statistics& current(Series& series);
  void drop_before(std::int64_t minute);

  std::size_t points_max_;
  std::size_t points_ = 0;
  std::int64_t minute_ = 0;
  std::int64_t oldest_ = 0;  ///< no series has a point before this minute
  std::map<Resource, SeriesOf> resources_;
};

}  // namespace fanfare::metrics
