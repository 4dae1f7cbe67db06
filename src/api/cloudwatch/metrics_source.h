// Where CloudWatch's actions get their numbers from.
#pragma once

#include <functional>

#include "base/time.h"
#include "core/metrics/history.h"

namespace fanfare::api::cloudwatch {

class MetricsSource {
 public:
  virtual ~MetricsSource() = default;
  /// Calls `use` once, with a history that holds everything up to `now`. Any thread; `use` must not call back.
  virtual void read(Timestamp now, const std::function<void(const metrics::History&)>& use) = 0;
};

}  // namespace fanfare::api::cloudwatch
