// The loads that `fanfare bench` knows: each makes its queues, runs its phases, takes its queues away again.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/report.h"

namespace fanfare::bench {

enum class Workload {
  Send,
  SendBatch,
  ReceiveDelete,
  RoundTrip,
  FanOut,
  Idle,
  FifoBacklog,
  Backlog,
};
struct WorkloadName {
  Workload workload;
  std::string_view name;  ///< `send-batch`
  std::string_view help;  ///< one line
};
const std::vector<WorkloadName>& workloads();

struct WorkloadOptions {
  Endpoint sqs;
  Endpoint sns;
  std::string queue_url;  ///< send to this queue, which exists; nothing is created or deleted
  std::uint32_t connections = 64;
  std::uint32_t threads = 1;
  std::size_t body_bytes = 400;
  std::uint32_t batch = 10;     ///< messages a request where the action has a batch; 1: the action without one
  std::uint64_t messages = 0;   ///< how many wait, or are received; 0: as the workload says
  std::uint64_t requests = 0;   ///< ends the load after so many, 0: after `duration`
  std::uint32_t queues = 0;     ///< 0: as the workload says
  std::uint32_t groups = 1000;  ///< message groups of FIFO queues
  nanoseconds duration{seconds{10}};
  nanoseconds warm_up{milliseconds{500}};
  std::optional<double> per_second;
  std::vector<pid_t> processes;                                          ///< the server's, on this machine
  bool fifo = false;                                                     ///< round-trip over a FIFO queue
  bool envelope = false;                                                 ///< fan-out without raw delivery
  bool keep = false;                                                     ///< leaves queues and topics
  std::string run_id = "1";                                              ///< part of the names that are made
  std::function<void(std::string_view)> tell = [](std::string_view) {};  ///< what is being done
};

/// Queues that were made are taken away also after an error, as far as possible.
Result<std::vector<Row>, Trouble> run_workload(Workload workload, const WorkloadOptions& options);

}  // namespace fanfare::bench
