// What the engine counts, under CloudWatch's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "core/engine/engine.h"
#include "core/metrics/history.h"

namespace fanfare::api::cloudwatch {

/// Takes one metric after another, those of one queue or topic together. Names live for ever.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// Events since the engine was made.
  virtual void counter(const metrics::Resource& of, std::string_view name, std::uint64_t total) = 0;
  /// Events and their bytes since the engine was made; the range is that since Engine::forget_size_ranges().
  virtual void sizes(const metrics::Resource& of, std::string_view name, std::uint64_t events, std::uint64_t bytes,
                     const engine::SizeRange& range) = 0;
  virtual void gauge(const metrics::Resource& of, std::string_view name, double value) = 0;
};

/// Hands every metric of each queue and topic that it visits to the sink. [SQS Available CloudWatch metrics]
/// [SNS Monitoring topics]
class MetricNames final : public engine::MetricsVisitor {
 public:
  MetricNames(MetricSink& sink, Timestamp now) : sink_(sink), now_(now) {}
  void queue(const engine::QueueKey& key, const engine::MessageCounts& counts, std::optional<Timestamp> oldest_sent,
             const engine::QueueCounters& counters) override;
  void topic(const engine::TopicKey& key, const engine::TopicCounters& counters) override;

 private:
  MetricSink& sink_;
  Timestamp now_;
};

/// Puts metrics into a history, between its begin() and end().
class IntoHistory final : public MetricSink {
 public:
  explicit IntoHistory(metrics::History& history) : history_(history) {}
  void counter(const metrics::Resource& of, std::string_view name, std::uint64_t total) override;
  void sizes(const metrics::Resource& of, std::string_view name, std::uint64_t events, std::uint64_t bytes,
             const engine::SizeRange& range) override;
  void gauge(const metrics::Resource& of, std::string_view name, double value) override;

 private:
  metrics::History& history_;
};

}  // namespace fanfare::api::cloudwatch
