#include "bench/process_usage.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace fanfare::bench {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t living_threads_ns(const std::string& folder) {
  std::uint64_t sum = 0;
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator{folder + "/task", ignored}) {
    std::istringstream fields{content_of(thread.path().string() + "/schedstat")};
    std::uint64_t on_cpu = 0;
    if (fields >> on_cpu) sum += on_cpu;
  }
  return sum;
}

void add(pid_t process, ProcessUsage& sum, std::set<pid_t>& seen) {
  if (!seen.insert(process).second) return;
  const std::string folder = fmt::format("/proc/{}", process);
  const std::string stat = content_of(folder + "/stat");
  const std::size_t name_end = stat.rfind(')');  // the name may contain anything
  if (name_end == std::string::npos) return;
  std::istringstream fields{stat.substr(name_end + 1)};
  std::vector<std::string> values;
  for (std::string value; fields >> value;) values.push_back(value);
  if (values.size() < 22) return;
  // Fields 14, 15, 20 and 24 of the page; the first two stand before the parenthesis.
  const std::uint64_t ticks = std::stoull(values[11]) + std::stoull(values[12]);
  const auto ticks_a_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  // The process's own clock has steps of 10 ms and knows threads that have ended; the threads' clocks are exact, and go
  // with the thread. Where both tell of the same, the exact one is not smaller.
  sum.cpu += std::chrono::nanoseconds{
      std::max<std::uint64_t>(ticks * 1'000'000'000ull / ticks_a_second, living_threads_ns(folder))};
  sum.threads += std::stoull(values[17]);
  sum.resident_bytes += std::stoull(values[21]) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::istringstream children{content_of(fmt::format("{}/task/{}/children", folder, process))};
  for (pid_t child = 0; children >> child;) add(child, sum, seen);
}

}  // namespace

ProcessUsage usage_of(std::span<const pid_t> processes) {
  ProcessUsage sum;
  std::set<pid_t> seen;
  for (const pid_t process : processes) add(process, sum, seen);
  return sum;
}

std::chrono::nanoseconds own_cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

bool is_running(pid_t process) { return ::kill(process, 0) == 0 || errno == EPERM; }

}  // namespace fanfare::bench
