// When the requests of an open loop are due: request n at start + n / rate, whatever the server does.
//
// Rule: latency is counted from the time at which a request was due, not from when it could be sent. A server that
// stands
//       still for a second so makes every request of that second late, as its users would see it; counted from sending,
//       only those on the wire would be late («coordinated omission»).
#pragma once

#include <cstdint>
#include <optional>

#include "base/assert.h"
#include "base/time.h"

namespace fanfare::bench {

class Pacer {
 public:
  /// `per_second` above 0. With `ways` pacers of one rate, the requests of number `way` lie evenly between the others'.
  Pacer(double per_second, Instant start, std::uint32_t way = 0, std::uint32_t ways = 1)
      : interval_ns_(1e9 * ways / per_second), start_(start) {
    FANFARE_ASSERT(per_second > 0 && way < ways);
    first_ns_ = 1e9 * way / per_second;
  }

  /// When the next request is due.
  [[nodiscard]] Instant next() const { return due(taken_); }
  /// Takes the next request if it is due: the time at which it was. Late ones come one by one, in order.
  std::optional<Instant> take(Instant now) {
    const Instant at = next();
    if (at > now) return std::nullopt;
    ++taken_;
    return at;
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  // From the start each time: adding up rounded intervals would drift.
  [[nodiscard]] Instant due(std::uint64_t number) const {
    const double after = first_ns_ + interval_ns_ * static_cast<double>(number);
    return start_ + std::chrono::nanoseconds{static_cast<std::int64_t>(after)};
  }
  double interval_ns_;
  double first_ns_ = 0;
  Instant start_;
  std::uint64_t taken_ = 0;
};

}  // namespace fanfare::bench
