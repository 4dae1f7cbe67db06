// Copies of what the engine counts, so that its lock is held for the copying only.
#pragma once

#include <optional>
#include <vector>

#include "api/cloudwatch/feed.h"
#include "core/engine/engine.h"

namespace fanfare::server {

/// Filled under the broker's lock by Engine::visit_metrics; read without it.
struct CollectedMetrics final : engine::MetricsVisitor {
  struct QueueRow {
    engine::QueueKey key;
    engine::MessageCounts counts;
    std::optional<Timestamp> oldest_sent;
    engine::QueueCounters counters;
  };
  struct TopicRow {
    engine::TopicKey key;
    engine::TopicCounters counters;
  };
  std::vector<QueueRow> queues;
  std::vector<TopicRow> topics;

  void queue(const engine::QueueKey& key, const engine::MessageCounts& counts, std::optional<Timestamp> oldest,
             const engine::QueueCounters& counters) override {
    queues.push_back({key, counts, oldest, counters});
  }
  void topic(const engine::TopicKey& key, const engine::TopicCounters& counters) override { topics.push_back({key, counters}); }

  /// Hands everything to `sink` under CloudWatch's names.
  void name(Timestamp now, api::cloudwatch::MetricSink& sink) const {
    api::cloudwatch::MetricNames names{sink, now};
    for (const QueueRow& row : queues) names.queue(row.key, row.counts, row.oldest_sent, row.counters);
    for (const TopicRow& row : topics) names.topic(row.key, row.counters);
  }
};

}  // namespace fanfare::server
