// The one wall clock of the process.
// Rule: it never runs back, neither within the process nor behind the last event that the journal holds.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace fanfare::server {

/// Thread-safe.
class Clock {
 public:
  /// Never gives less than it gave before, nor less than what not_before() was told.
  Timestamp now();
  /// From recovery: the newest time in the journal.
  void not_before(Timestamp floor);
  /// --clock manual: runs on from the real time and jumps by `step`.
  void advance(milliseconds step) { offset_ms_.fetch_add(step.count()); }

 private:
  std::atomic<std::int64_t> offset_ms_{0};
  std::atomic<std::int64_t> last_ms_{0};
};

}  // namespace fanfare::server
