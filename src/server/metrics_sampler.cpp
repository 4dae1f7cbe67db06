#include "server/metrics_sampler.h"

#include "server/collected_metrics.h"

namespace fanfare::server {

void MetricsSampler::look(Timestamp now) {
  CollectedMetrics all;
  broker_.locked([&](engine::Engine& engine, journal::Journal&) {
    engine.visit_metrics(all);
    engine.forget_size_ranges();
  });
  api::cloudwatch::IntoHistory sink{history_};
  history_.begin(now);
  all.name(now, sink);
  history_.end();
  last_ = now;
}

void MetricsSampler::read(Timestamp now, const std::function<void(const metrics::History&)>& use) {
  const std::lock_guard lock{mutex_};
  look(now);
  use(history_);
}

void MetricsSampler::tick(Timestamp now) {
  const std::lock_guard lock{mutex_};
  // Shortly before the minute ends, so that what belongs to it is counted in it; at the latest after one minute.
  const bool last_seconds = unix_ms(now) % 60'000 >= 58'000 && now - last_ >= seconds{10};
  if (last_seconds || now - last_ >= seconds{60} || now < last_) look(now);
}

}  // namespace fanfare::server
