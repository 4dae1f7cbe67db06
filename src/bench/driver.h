// Runs one phase of a load: threads, each with its share of the connections on an epoll set of its own.
//
// Rule 1: a connection has one request on the way at most.
// Rule 2: closed loop (no rate): the next request follows the answer. Open loop: requests are due at a fixed rate
// (pacer.h);
//         one that finds every connection busy waits, and its latency counts from when it was due.
// Rule 3: nothing is counted during the warm-up; the server's CPU is read at both ends of what is counted.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "bench/caller.h"
#include "bench/process_usage.h"

namespace fanfare::bench {

struct PhaseOptions {
  Endpoint endpoint;
  std::uint32_t connections = 1;
  std::uint32_t threads = 1;
  std::optional<double> per_second;  ///< over all connections; none: closed loop
  nanoseconds warm_up{0};
  nanoseconds duration{0};  ///< 0: until every caller is done
  std::vector<pid_t> processes;
  std::vector<std::string> steps;  ///< names, by the number that callers give
};

struct StepResult {
  std::string name;
  StepTally tally;
};

struct PhaseResult {
  double seconds = 0;  ///< of what was counted
  std::vector<StepResult> steps;
  std::uint64_t errors = 0;
  std::string first_error;
  std::optional<ProcessUsage> before;  ///< of the server's processes, when counting began
  std::optional<ProcessUsage> after;
  nanoseconds own_cpu{0};
  /// The load could not go on: `cannot connect to 127.0.0.1:4566: Connection refused`. Empty: it ran to its end.
  std::string failure;
};

PhaseResult run_phase(const PhaseOptions& options, const CallerFactory& make_caller);

/// One request and its answer's body, for preparing a load.
Result<std::string, Trouble> call_once(const Endpoint& endpoint, Action action, std::string_view body);

}  // namespace fanfare::bench
