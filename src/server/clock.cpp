#include "server/clock.h"

#include <algorithm>
#include <chrono>

namespace fanfare::server {

Instant Clock::steady() const { return std::chrono::steady_clock::now(); }

std::int64_t Clock::system() const {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Timestamp Clock::system_now() const { return timestamp_from_unix_ms(system()); }

Timestamp Clock::now() {
  return at(system(), steady());
}

Timestamp Clock::at(std::int64_t system, Instant steady) {
  const std::lock_guard lock{mutex_};
  const std::int64_t wall = system + offset_ms_;
  if (wall < last_ms_ && !lead_) lead_ = Lead{last_ms_, steady};
  std::int64_t time = wall;
  if (lead_) {
    const auto elapsed = std::chrono::duration_cast<milliseconds>(steady - lead_->since).count();
    time = lead_->from_ms + elapsed - elapsed / 8;
    if (wall >= time) {
      time = wall;
      lead_.reset();
    }
  }
  last_ms_ = std::max(last_ms_, time);
  return timestamp_from_unix_ms(last_ms_);
}

void Clock::not_before(Timestamp floor) {
  const std::lock_guard lock{mutex_};
  if (last_ms_ >= unix_ms(floor)) return;
  last_ms_ = unix_ms(floor);
  lead_.reset();  // begins at the next look, from here
}

bool Clock::advance(milliseconds step) {
  const std::lock_guard lock{mutex_};
  if (std::max(last_ms_, system() + offset_ms_) > unix_ms(kEnd) - step.count()) return false;
  offset_ms_ += step.count();
  if (lead_) lead_->from_ms += step.count();
  return true;
}

}  // namespace fanfare::server
