// What the engine counts, under CloudWatch's names.
#pragma once

#include <cstdint>
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

/// Hands every metric of every queue and topic to the sink. [SQS Available CloudWatch metrics] [SNS Monitoring topics]
void visit(const engine::Engine& engine, Timestamp now, MetricSink& sink);

/// One look of `history` at everything that the engine has.
void feed(metrics::History& history, engine::Engine& engine, Timestamp now);

}  // namespace fanfare::api::cloudwatch
