#include "server/clock.h"

namespace fanfare::server {

Timestamp Clock::now() {
  const auto wall = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::int64_t wanted = wall.count() + offset_ms_.load(std::memory_order_relaxed);
  std::int64_t last = last_ms_.load(std::memory_order_relaxed);
  while (last < wanted && !last_ms_.compare_exchange_weak(last, wanted)) {
  }
  return timestamp_from_unix_ms(last < wanted ? wanted : last);
}

void Clock::not_before(Timestamp floor) {
  std::int64_t last = last_ms_.load();
  while (last < unix_ms(floor) && !last_ms_.compare_exchange_weak(last, unix_ms(floor))) {
  }
}

}  // namespace fanfare::server
