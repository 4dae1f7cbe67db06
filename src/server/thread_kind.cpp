#include "server/thread_kind.h"

#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace fanfare::server {
namespace {

constexpr std::uint64_t kLoopSliceNs = 100'000;  // the shortest that the kernel takes
constexpr std::int32_t kBackgroundNice = 10;

}  // namespace

void run_as(ThreadKind kind) {
  sched_attr attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  const bool loop = kind == ThreadKind::Loop;
  if (!loop) attributes.sched_nice = std::max(attributes.sched_nice, kBackgroundNice);
  attributes.sched_runtime = loop ? kLoopSliceNs : 0;  // 0: the usual
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

}  // namespace fanfare::server
