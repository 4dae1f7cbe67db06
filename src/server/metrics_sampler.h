// The history of metrics of this process's broker: looks once a minute, and whenever somebody asks.
#pragma once

#include <mutex>

#include "api/cloudwatch/metrics_source.h"
#include "core/metrics/history.h"
#include "server/broker.h"

namespace fanfare::server {

/// Thread-safe. Takes the broker's lock, so nobody may call it who holds that already.
class MetricsSampler final : public api::cloudwatch::MetricsSource {
 public:
  explicit MetricsSampler(Broker& broker) : broker_(broker) {}

  void read(Timestamp now, const std::function<void(const metrics::History&)>& use) override;
  /// About once a second: looks when a minute is about to be over since the last look.
  void tick(Timestamp now);

 private:
  void look(Timestamp now);

  Broker& broker_;
  std::mutex mutex_;
  metrics::History history_;  ///< protected by mutex_, which is taken before the broker's lock
  Timestamp last_{};
};

}  // namespace fanfare::server
