// What processes of this machine have used: CPU time and memory, as the kernel tells in /proc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <span>

namespace fanfare::bench {

struct ProcessUsage {
  std::chrono::nanoseconds cpu{0};   ///< of all threads; those that have ended count in steps of 10 ms
  std::uint64_t resident_bytes = 0;  ///< pages in memory, those shared with others counted in full
  std::uint64_t threads = 0;
};

/// The sum over these processes and their living children. A process that is gone counts nothing.
ProcessUsage usage_of(std::span<const pid_t> processes);
/// CPU time of the calling process.
std::chrono::nanoseconds own_cpu();
bool is_running(pid_t process);

}  // namespace fanfare::bench
