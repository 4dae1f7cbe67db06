// The one wall clock of the process.
// Rule 1: it never runs back, neither within the process nor behind the last event that the journal holds.
// Rule 2: it never stands still either, or leases and long polls would not end. When the system's clock was set back, or lies
//         behind the journal, it goes on from where it was, an eighth slower, until the system's clock has caught up.
// Rule 3: it is not moved into the last year that the journal can hold, 9999: what happened there could not be read again.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "base/time.h"

namespace fanfare::server {

/// Thread-safe. Its two sources are virtual for the simulator, where time moves with events only.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Never gives less than it gave before, nor less than what not_before() was told.
  Timestamp now();
  /// What the system's clock shows, whatever was moved: signatures are checked by it, and Date fields show it. May run back.
  Timestamp system_now() const;
  /// From recovery: the newest time in the journal.
  void not_before(Timestamp floor);
  /// --clock manual: runs on from the real time and jumps by `step`. False, and nothing happens, beyond kEnd.
  bool advance(milliseconds step);
  static constexpr Timestamp kEnd = timestamp_from_unix_ms(253'370'764'800'000);  ///< 9999-01-01T00:00:00Z

  /// now() when the system's clock shows `system` and the steady one `steady`; for tests.
  Timestamp at(std::int64_t system, Instant steady);

  /// Time that never jumps, for limits inside the process.
  [[nodiscard]] virtual Instant steady() const;

 protected:
  /// What the system's clock shows, Unix milliseconds; may run back.
  [[nodiscard]] virtual std::int64_t system() const;

 private:
  /// Ahead of the system's clock: since when, and what was shown then.
  struct Lead {
    std::int64_t from_ms;
    Instant since;
  };
  // Protected by mutex_.
  std::mutex mutex_;
  std::int64_t offset_ms_ = 0;
  std::int64_t last_ms_ = 0;
  std::optional<Lead> lead_;
};

}  // namespace fanfare::server
