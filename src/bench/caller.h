// What a load consists of: one Caller a connection says which request comes next and looks at its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/call.h"
#include "bench/histogram.h"

namespace fanfare::bench {

/// What a thread needs to make requests.
class Workbench {
 public:
  Workbench(const Endpoint& endpoint, Timestamp wall, Instant steady)
      : writer(endpoint), wall_(wall), steady_(steady) {}
  CallWriter writer;
  /// The wall time of a steady one.
  [[nodiscard]] Timestamp wall(Instant now) const {
    return wall_ + std::chrono::duration_cast<milliseconds>(now - steady_);
  }

 private:
  Timestamp wall_;
  Instant steady_;
};

/// What has been measured of one step (`SendMessage`, `cycle`).
struct StepTally {
  Histogram latency;
  std::uint64_t requests = 0;
  std::uint64_t messages = 0;
};

/// One thread's counts. Nothing is counted while not measuring.
class Tally {
 public:
  explicit Tally(std::size_t steps) : steps_(steps) {}
  void measure(bool on) { on_ = on; }

  void add(std::size_t step, nanoseconds latency, std::uint64_t messages) {
    if (!on_) return;
    StepTally& tally = steps_[step];
    tally.latency.record(latency);
    ++tally.requests;
    tally.messages += messages;
  }
  /// Counted also before measuring begins, so that a load that never works is not silent. The first text is kept.
  void error(std::string_view text) {
    if (errors_++ == 0) first_error_ = text;
  }
  [[nodiscard]] const std::vector<StepTally>& steps() const { return steps_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }
  [[nodiscard]] const std::string& first_error() const { return first_error_; }

 private:
  bool on_ = false;
  std::vector<StepTally> steps_;
  std::uint64_t errors_ = 0;
  std::string first_error_;
};

struct Answer {
  std::string_view body;
  Instant begun;  ///< when the request was due (open loop) or its turn had come (closed loop)
  Instant now;
};

class Caller {
 public:
  struct Call {
    std::size_t step;
    std::string_view bytes;  ///< unchanged until the answer has been given
  };
  virtual ~Caller() = default;

  /// The next request, or nullopt: this caller is done.
  virtual std::optional<Call> next(Instant now) = 0;
  /// An answer with status 200 to the last request. Adds to `tally` what it is worth.
  virtual void answered(const Answer& answer, Tally& tally) = 0;
  /// Another status, or no answer. The tally knows; the next request follows.
  virtual void failed() {}
};

/// Makes the caller of connection number `index` of a phase.
using CallerFactory = std::function<std::unique_ptr<Caller>(Workbench& bench, std::uint32_t index)>;

}  // namespace fanfare::bench
