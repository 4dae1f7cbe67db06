#include "bench/disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fanfare::bench {
namespace {

constexpr std::size_t kFileBytes = std::size_t{64} << 20;

}  // namespace

Result<DiskResult, Trouble> measure_disk(const std::string& folder, std::size_t bytes, nanoseconds duration) {
  using std::chrono::steady_clock;
  const std::string path = fmt::format("{}/fanfare-bench-{}.tmp", folder, ::getpid());
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  const auto failed = [&](std::string_view what) {
    return Trouble{fmt::format("{} {}: {}", what, path, std::strerror(errno))};
  };
  if (fd < 0) return failed("cannot make");
  ::unlink(path.c_str());
  const auto close_and = [fd](Trouble trouble) {
    ::close(fd);
    return trouble;
  };
  const std::string block(std::size_t{1} << 20, 'x');
  for (std::size_t at = 0; at < kFileBytes; at += block.size())
    if (::pwrite(fd, block.data(), block.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(block.size()))
      return close_and(failed("cannot write"));
  if (::fdatasync(fd) != 0) return close_and(failed("cannot sync"));

  DiskResult result;
  const std::string piece(std::min(bytes, kFileBytes), 'y');
  const Instant begin = steady_clock::now();
  Instant last = begin;
  for (std::size_t at = 0; last - begin < duration; at += piece.size()) {
    if (at + piece.size() > kFileBytes) at = 0;
    if (::pwrite(fd, piece.data(), piece.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(piece.size()) ||
        ::fdatasync(fd) != 0)
      return close_and(failed("cannot write"));
    const Instant now = steady_clock::now();
    result.latency.record(now - last);
    last = now;
  }
  result.seconds = std::chrono::duration<double>(last - begin).count();
  ::close(fd);
  return result;
}

}  // namespace fanfare::bench
