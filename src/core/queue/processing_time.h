// Recent consumer processing time of a message group, or of a whole standard queue. [SQS fair queues in detail]
//
// Rule 1: a delivery takes from its receive until its message is deleted or visible again, be it that the lease ended. One that
//         still runs counts up to now, so that a slow group is seen before its first message is done.
// Rule 2: recent is the five minutes of the clock that run now and those before them: five to ten minutes.
// Rule 3: what comes out depends on when deliveries began and ended, not on when or how often anybody asked, nor on the order in which
//         it was told of ends: the living engine and a replay of its log end leases in other steps.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fanfare::queue {

/// Times are Unix milliseconds, not before 1970. `now` never goes back.
class ProcessingTime {
 public:
  static constexpr std::int64_t kSpanMs = 300'000;
  static constexpr std::int64_t kShare = 10;                        ///< more than one in this many is too much,
  static constexpr std::int64_t kNoticedFromMs = kSpanMs / kShare;  ///< from half a minute on
  /// What a snapshot has to keep; the deliveries that run are in the entries.
  struct Ended {
    std::int64_t span = 0;    ///< number of the five minutes since 1970
    std::int64_t before = 0;  ///< in the five minutes before those, all that had begun by then, up to their end
    std::int64_t here = 0;    ///< in these five minutes, without what runs
    [[nodiscard]] bool empty() const { return before == 0 && here == 0; }
    friend bool operator==(const Ended&, const Ended&) = default;
  };

  void begin(std::int64_t now) {
    roll(now);
    ++running_;
    begun_ += now - from();
  }
  /// A delivery that began at `begun` ended at `ended`, at the latest now.
  void end(std::int64_t begun, std::int64_t ended, std::int64_t now) {
    roll(now);
    const std::int64_t offset = std::max<std::int64_t>(begun - from(), 0);
    --running_;
    begun_ -= offset;
    if (ended >= from()) {
      ended_.here += ended - from() - offset;
    } else {
      // It was counted up to the end of those five minutes, for nobody had said that it is over.
      ended_.before -= from() - std::max({ended, begun, from() - kSpanMs});
    }
  }
  /// How much in the recent time, in milliseconds.
  [[nodiscard]] std::int64_t at(std::int64_t now) const {
    ProcessingTime then = *this;
    then.roll(now);
    return then.ended_.before + then.ended_.here + then.running_ * (now - then.from()) - then.begun_;
  }
  [[nodiscard]] Ended ended(std::int64_t now) const {
    ProcessingTime then = *this;
    then.roll(now);
    return then.ended_;
  }
  /// As a snapshot tells it, before the deliveries that run.
  void restore(const Ended& ended) { ended_ = ended; }
  void restore_running(std::int64_t begun, std::int64_t now) {
    roll(now);
    ++running_;
    begun_ += std::max<std::int64_t>(begun - from(), 0);
  }
  /// A delivery that runs began earlier, and nothing has counted it yet.
  void begin_earlier(std::int64_t begun, std::int64_t now) {
    restore_running(begun, now);
    if (begun < from()) ended_.before += from() - std::max(begun, from() - kSpanMs);
  }

 private:
  [[nodiscard]] std::int64_t from() const { return ended_.span * kSpanMs; }
  void roll(std::int64_t now) {
    const std::int64_t span = now / kSpanMs;
    if (span <= ended_.span) return;
    const std::int64_t whole = running_ * kSpanMs;
    ended_.before = span == ended_.span + 1 ? ended_.here + whole - begun_ : whole;
    ended_.here = 0;
    begun_ = 0;
    ended_.span = span;
  }

  Ended ended_;
  std::int64_t running_ = 0;
  std::int64_t begun_ = 0;  // of those that run: how long after from() they began, in all
};

/// Whether a group whose recent processing time is `own` of the queue's `all` is noisy by that: more than a tenth. Who is alone in it is,
/// too: it is in the way of whoever comes next, and has taken nothing yet. Half a minute is a tenth of what one consumer has in five: a group that took less holds nobody up, whatever its share.
[[nodiscard]] constexpr bool takes_too_long(std::int64_t own, std::int64_t all) {
  return own >= ProcessingTime::kNoticedFromMs && own * ProcessingTime::kShare > all;
}

}  // namespace fanfare::queue
