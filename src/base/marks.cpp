#include "base/marks.h"

namespace fanfare::marks {
namespace {
std::atomic<Mark*> first{nullptr};
}

Mark::Mark(const char* mark_name) : name(mark_name), next(first.load()) {
  while (!first.compare_exchange_weak(next, this)) {
  }
}

std::uint64_t count(std::string_view name) {
  std::uint64_t total = 0;
  for (const Mark* mark = first.load(); mark != nullptr; mark = mark->next)
    if (name == mark->name) total += mark->count.load(std::memory_order_relaxed);
  return total;
}

}  // namespace fanfare::marks
