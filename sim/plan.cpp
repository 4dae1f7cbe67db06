// The swarm: what a seed takes part in.
#include "sim/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"

namespace fanfare::sim {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Feature::Count)> kNames{
    "fifo", "dead-letter", "delay", "long-poll", "batch", "purge", "topics", "change-visibility", "retention", "duplicates", "query",
    "kill", "power-cut", "clean-restart", "crash-in-turn", "disk-error", "disk-full", "connection-dies", "reply-lost", "slow-network",
    "fragments", "stall", "half-close", "clock-jump", "clock-back", "snapshots", "small-memory", "large-bodies"};

}  // namespace

std::string_view name_of(Feature feature) { return kNames[static_cast<std::size_t>(feature)]; }

std::string Plan::describe() const {
  std::string text = fmt::format("{} clients, {} operations, segments {}, snapshots {}, resident {};", clients, operations, segment_bytes,
                                 snapshot_bytes, resident_bytes);
  for (std::size_t i = 0; i < features.size(); ++i)
    if (features[i]) text += fmt::format(" {}", kNames[i]);
  for (const QueueSpec& queue : queues) {
    text += fmt::format("\n  {}: visibility {} s, delay {} s, retention {} s", queue.name, queue.visibility, queue.delay, queue.retention);
    if (queue.dead_letter >= 0)
      text += fmt::format(", after {} receives to {}", queue.max_receives, queues[static_cast<std::size_t>(queue.dead_letter)].name);
  }
  for (const SubscriptionSpec& one : subscriptions)
    text += fmt::format("\n  {} -> {}{}", topics[static_cast<std::size_t>(one.topic)].first, queues[static_cast<std::size_t>(one.queue)].name,
                        one.raw ? " raw" : "");
  return text;
}

Plan make_plan(std::uint64_t seed, const PlanChanges& changes) {
  Rng rng{seed * 0x9e37'79b9'7f4a'7c15ULL + 1};
  Plan plan;
  plan.seed = seed;
  plan.canary = changes.canary;
  for (bool& feature : plan.features) feature = rng.chance(1, 2);
  if (!kFifoIsThere) plan.features[static_cast<std::size_t>(Feature::Fifo)] = false;
  // A canary needs what shows it; the rest of the swarm stays.
  if (plan.canary != Canary::None) {
    plan.features[static_cast<std::size_t>(Feature::PowerCut)] = true;
    plan.features[static_cast<std::size_t>(Feature::CleanRestart)] = false;
  }
  for (const Feature feature : changes.without) plan.features[static_cast<std::size_t>(feature)] = false;

  Rng shape{rng.next()};
  const auto pick = [&](std::initializer_list<int> values) { return *(values.begin() + shape.below(values.size())); };
  const auto queues = static_cast<int>(1 + shape.below(3));
  for (int i = 0; i < queues; ++i) {
    QueueSpec queue;
    queue.fifo = plan.has(Feature::Fifo) && shape.chance(2, 3);
    queue.name = fmt::format("q{}{}", i, queue.fifo ? ".fifo" : "");
    queue.visibility = pick({0, 1, 2, 5, 30, 600});
    const int delay = pick({0, 0, 1, 5});
    if (plan.has(Feature::Delay)) queue.delay = delay;
    const int retention = pick({60, 90, 345'600});
    // Not together with a clock that is set back: what had expired, and whose log was given up, would be there again after a crash.
    if (plan.has(Feature::Retention) && !plan.has(Feature::ClockBack)) queue.retention = retention;
    plan.queues.push_back(queue);
  }
  if (plan.has(Feature::DeadLetter)) {
    for (int i = 0; i < queues; ++i) {
      if (!shape.chance(2, 3)) continue;
      const int max = pick({1, 2, 3});
      QueueSpec dead;
      dead.fifo = plan.queues[static_cast<std::size_t>(i)].fifo;
      dead.name = fmt::format("q{}-dead{}", i, dead.fifo ? ".fifo" : "");
      dead.visibility = pick({1, 5, 30});
      plan.queues[static_cast<std::size_t>(i)].dead_letter = static_cast<int>(plan.queues.size());
      plan.queues[static_cast<std::size_t>(i)].max_receives = max;
      plan.queues.push_back(dead);
    }
  }
  if (plan.has(Feature::Topics)) {
    const auto topics = static_cast<int>(1 + shape.below(2));
    for (int topic = 0; topic < topics; ++topic) {
      plan.topics.emplace_back(fmt::format("t{}", topic), false);
      for (int queue = 0; queue < queues; ++queue) {
        if (plan.queues[static_cast<std::size_t>(queue)].fifo || !shape.chance(3, 4)) continue;
        plan.subscriptions.push_back({topic, queue, shape.chance(1, 2)});
      }
    }
  }
  plan.clients = static_cast<int>(2 + shape.below(5));
  plan.operations = changes.operations > 0 ? changes.operations : static_cast<int>(50 + shape.below(250));
  plan.segment_bytes = static_cast<std::uint64_t>(pick({8, 16, 64})) * 1024;
  plan.snapshot_bytes = plan.has(Feature::Snapshots) ? static_cast<std::uint64_t>(pick({4, 16, 64})) * 1024 : 1ull << 30;
  plan.resident_bytes = plan.has(Feature::SmallMemory) ? static_cast<std::uint64_t>(pick({1, 1000, 10'000})) : 64ull << 20;
  plan.tail_cache_bytes = static_cast<std::uint64_t>(pick({0, 4096, 1 << 20}));
  return plan;
}

}  // namespace fanfare::sim
