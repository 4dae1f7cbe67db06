// The swarm: what a seed takes part in.
#include "sim/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"
#include "sim/protocol.h"

namespace fanfare::sim {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Feature::Count)> kNames{
    "fifo", "dead-letter", "delay", "long-poll", "batch", "purge", "topics", "change-visibility", "retention", "duplicates", "query",
    "kill", "power-cut", "clean-restart", "crash-in-turn", "disk-error", "disk-full", "connection-dies", "reply-lost", "slow-network",
    "fragments", "stall", "half-close", "clock-jump", "clock-back", "snapshots", "small-memory", "large-bodies",
    "change-attributes", "delete-queue", "message-size", "unsubscribe", "delete-topic", "filter-policy", "queue-policy",
    "subscription-dead-letter", "fifo-topic", "tenants", "move-tasks", "archive", "attempt-ids", "hashed-ids", "group-scope",
    "long-times", "queue-wait"};

}  // namespace

std::string_view name_of(Feature feature) { return kNames[static_cast<std::size_t>(feature)]; }

std::string Plan::describe() const {
  std::string text = fmt::format("{} clients, {} operations, segments {}, snapshots {} in slices of {}, resident {};", clients, operations, segment_bytes,
                                 snapshot_bytes, snapshot_slice, resident_bytes);
  for (std::size_t i = 0; i < features.size(); ++i)
    if (features[i]) text += fmt::format(" {}", kNames[i]);
  for (const QueueSpec& queue : queues) {
    text += fmt::format("\n  {}: visibility {} s, delay {} s, wait {} s, retention {} s, {} bytes, policy {}{}{}", queue.name, queue.visibility, queue.delay, queue.wait.value_or(0), queue.retention,
                        queue.max_bytes, static_cast<int>(queue.policy), queue.hashes ? ", ids of bodies" : "", queue.by_group ? ", ids by group" : "");
    if (queue.dead_letter >= 0)
      text += fmt::format(", after {} receives to {}", queue.max_receives, queues[static_cast<std::size_t>(queue.dead_letter)].name);
  }
  for (const SubscriptionSpec& one : subscriptions)
    text += fmt::format("\n  {} -> {}{}", topics[static_cast<std::size_t>(one.topic)].first, queues[static_cast<std::size_t>(one.queue)].name,
                        one.raw ? " raw" : "") +
            (one.filter == 0 ? "" : fmt::format(" filter {}", kFilters[static_cast<std::size_t>(one.filter)].policy)) +
            (one.dead_letter < 0 ? "" : " else " + queues[static_cast<std::size_t>(one.dead_letter)].name);
  return text;
}

Plan make_plan(std::uint64_t seed, const PlanChanges& changes) {
  Rng rng{seed * 0x9e37'79b9'7f4a'7c15ULL + 1};
  Plan plan;
  plan.seed = seed;
  plan.canary = changes.canary;
  Rng own{seed * 0x9e37'79b9'7f4a'7c15ULL + 2};
  for (std::size_t i = 0; i < plan.features.size(); ++i)
    plan.features[i] = (i < static_cast<std::size_t>(kFirstOfOwnChance) ? rng : own).chance(1, 2);
  if (!kFifoIsThere) plan.features[static_cast<std::size_t>(Feature::Fifo)] = false;
  // A canary needs what shows it; the rest of the swarm stays.
  if (plan.canary != Canary::None) {
    plan.features[static_cast<std::size_t>(Feature::PowerCut)] = true;
    plan.features[static_cast<std::size_t>(Feature::CleanRestart)] = false;
  }
  if (plan.has(Feature::Archive)) plan.features[static_cast<std::size_t>(Feature::FifoTopic)] = true;
  for (const Feature feature : changes.without) plan.features[static_cast<std::size_t>(feature)] = false;

  Rng shape{rng.next()};
  const auto pick = [&](std::initializer_list<int> values) { return *(values.begin() + shape.below(values.size())); };
  const auto queues = static_cast<int>(1 + shape.below(3));
  for (int i = 0; i < queues; ++i) {
    QueueSpec queue;
    queue.fifo = plan.has(Feature::Fifo) && shape.chance(2, 3);
    queue.name = fmt::format("q{}{}", i, queue.fifo ? ".fifo" : "");
    queue.visibility = plan.has(Feature::Tenants) && shape.chance(1, 2) ? 600 : pick({0, 1, 2, 5, 30, 600});
    const int delay = pick({0, 0, 1, 5});
    if (plan.has(Feature::Delay)) queue.delay = delay;
    if (plan.has(Feature::MessageSize)) queue.max_bytes = pick({1024, 4096, 1'048'576});
    const int retention = pick({60, 90, 345'600});
    // Not together with a clock that is set back: what had expired, and whose log was given up, would be there again after a crash.
    if (plan.has(Feature::Retention) && !plan.has(Feature::ClockBack)) queue.retention = retention;
    queue.hashes = queue.fifo && plan.has(Feature::HashedIds) && own.chance(3, 4);
    queue.by_group = queue.fifo && plan.has(Feature::GroupScope) && own.chance(1, 2);
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
    for (QueueSpec& queue : plan.queues) {
      queue.policy = Admission::Everybody;
      if (plan.has(Feature::QueuePolicy) && shape.chance(1, 4)) queue.policy = static_cast<Admission>(shape.below(4));
    }
    int rest = -1;
    if (plan.has(Feature::SubscriptionDeadLetter)) {
      rest = static_cast<int>(plan.queues.size());
      QueueSpec dead;
      dead.name = "rest";
      dead.visibility = 5;
      dead.policy = Admission::Everybody;
      plan.queues.push_back(dead);
      if (plan.has(Feature::FifoTopic)) {
        dead.name = "rest.fifo";
        dead.fifo = true;
        plan.queues.push_back(dead);
      }
    }
    for (int topic = 0; topic < topics; ++topic) {
      const bool fifo = plan.has(Feature::FifoTopic) && shape.chance(plan.has(Feature::Archive) ? 3 : 2, 4);
      plan.topics.emplace_back(fmt::format("t{}{}", topic, fifo ? ".fifo" : ""), fifo);
      for (int queue = 0; queue < queues; ++queue) {
        if ((plan.queues[static_cast<std::size_t>(queue)].fifo && !fifo) || !shape.chance(3, 4)) continue;
        SubscriptionSpec subscription{topic, queue, shape.chance(1, 2), 0, -1};
        if (plan.has(Feature::FilterPolicy)) subscription.filter = static_cast<int>(shape.below(kFilters.size()));
        if (rest >= 0 && shape.chance(1, 2)) subscription.dead_letter = fifo ? rest + 1 : rest;
        plan.subscriptions.push_back(subscription);
      }
    }
  }
  if (plan.has(Feature::QueueWait))
    for (QueueSpec& queue : plan.queues) queue.wait = static_cast<int>(own.below(4));
  plan.replays = plan.has(Feature::Archive) ? static_cast<int>(1 + shape.below(3)) : 0;
  plan.clients = static_cast<int>(2 + shape.below(5));
  plan.operations = changes.operations > 0 ? changes.operations : static_cast<int>(50 + shape.below(250));
  plan.segment_bytes = static_cast<std::uint64_t>(pick({8, 16, 64})) * 1024;
  plan.snapshot_bytes = plan.has(Feature::Snapshots) ? static_cast<std::uint64_t>(pick({4, 16, 64})) * 1024 : 1ull << 30;
  plan.resident_bytes = plan.has(Feature::SmallMemory) ? static_cast<std::uint64_t>(pick({1, 1000, 10'000})) : 64ull << 20;
  plan.tail_cache_bytes = static_cast<std::uint64_t>(pick({0, 4096, 1 << 20}));
  plan.snapshot_slice = static_cast<std::size_t>(pick({1, 8, 64}));
  return plan;
}

QueueChange settings_of(const QueueSpec& queue) {
  QueueChange change;
  change.visibility = queue.visibility;
  change.delay = queue.delay;
  change.retention = queue.retention;
  change.wait = queue.wait;
  change.max_bytes = queue.max_bytes;
  change.redrive = Redrive{queue.dead_letter, queue.dead_letter < 0 ? 0 : queue.max_receives};
  change.policy = queue.policy;
  return change;
}

QueueChange random_change(const Plan& plan, int number, Rng& rng) {
  const QueueSpec& queue = plan.queues[static_cast<std::size_t>(number)];
  const auto pick = [&](std::initializer_list<int> values) { return *(values.begin() + rng.below(values.size())); };
  QueueChange change;
  do {
    if (rng.chance(1, 3)) change.visibility = pick({0, 1, 5, 30});
    if (plan.has(Feature::Delay) && rng.chance(1, 3)) change.delay = pick({0, 1, 5});
    // With a clock that is set back, and in plan.cpp the same: what had expired would be there again.
    if (plan.has(Feature::Retention) && !plan.has(Feature::ClockBack) && rng.chance(1, 4)) change.retention = pick({60, 120, 345'600});
    if (plan.has(Feature::MessageSize) && rng.chance(1, 4)) change.max_bytes = pick({1024, 4096, 1'048'576});
    if (plan.has(Feature::QueuePolicy) && !plan.topics.empty() && rng.chance(1, 3)) change.policy = static_cast<Admission>(rng.below(4));
    if (queue.dead_letter >= 0 && rng.chance(1, 3)) change.redrive = rng.chance(1, 3) ? Redrive{} : Redrive{queue.dead_letter, pick({1, 2, 3, 5})};
    if (plan.has(Feature::QueueWait) && rng.chance(1, 3)) change.wait = pick({0, 1, 3, 20});
  } while (!change.visibility && !change.delay && !change.retention && !change.wait && !change.max_bytes && !change.policy && !change.redrive);
  return change;
}

namespace {

std::string policy_text(Admission policy, std::string_view queue, const Plan& plan) {
  if (policy == Admission::Nobody) return {};
  const auto statement = [&](std::string_view effect, bool first_topic) {
    std::string condition;
    if (first_topic) condition = fmt::format(R"(,"Condition":{{"ArnEquals":{{"aws:SourceArn":"{}"}}}})", topic_arn(plan.topics.at(0).first));
    return fmt::format(R"({{"Effect":"{}","Principal":{{"Service":"sns.amazonaws.com"}},"Action":"sqs:SendMessage","Resource":"{}"{}}})", effect,
                       queue_arn(queue), condition);
  };
  std::string statements = statement("Allow", policy == Admission::FirstTopic);
  if (policy == Admission::NotFirstTopic) statements += "," + statement("Deny", true);
  return fmt::format(R"({{"Version":"2012-10-17","Statement":[{}]}})", statements);
}

}  // namespace

void fill_attributes(Call& call, const Plan& plan) {
  call.attributes.clear();
  const auto add = [&](std::string_view name, std::string value) { call.attributes.emplace_back(name, std::move(value)); };
  const auto name_of_queue = [&](int queue) -> const std::string& { return plan.queues[static_cast<std::size_t>(queue)].name; };
  if (call.action == Action::CreateQueue || call.action == Action::SetAttributes) {
    const QueueChange& change = call.queue_change;
    if (change.visibility) add("VisibilityTimeout", std::to_string(*change.visibility));
    if (change.delay) add("DelaySeconds", std::to_string(*change.delay));
    if (change.retention) add("MessageRetentionPeriod", std::to_string(*change.retention));
    if (change.wait) add("ReceiveMessageWaitTimeSeconds", std::to_string(*change.wait));
    if (change.max_bytes) add("MaximumMessageSize", std::to_string(*change.max_bytes));
    if (change.redrive)
      add("RedrivePolicy", change.redrive->queue < 0 ? "" : fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":{}}})", queue_arn(name_of_queue(change.redrive->queue)), change.redrive->max));
    if (change.policy) add("Policy", policy_text(*change.policy, name_of_queue(call.queue), plan));
    if (call.action == Action::CreateQueue && plan.queues[static_cast<std::size_t>(call.queue)].fifo) {
      add("FifoQueue", "true");
      if (plan.queues[static_cast<std::size_t>(call.queue)].hashes) add("ContentBasedDeduplication", "true");
      if (plan.queues[static_cast<std::size_t>(call.queue)].by_group) {
        add("DeduplicationScope", "messageGroup");
        add("FifoThroughputLimit", "perMessageGroupId");
      }
    }
  } else if (call.action == Action::CreateTopic) {
    if (plan.topics[static_cast<std::size_t>(call.topic)].second) add("FifoTopic", "true");
    if (plan.archives(call.topic)) add("ArchivePolicy", R"({"MessageRetentionPeriod":"365"})");
  } else {
    const SubscriptionChange& change = call.subscription_change;
    if (change.raw) add("RawMessageDelivery", *change.raw ? "true" : "false");
    if (change.filter) add("FilterPolicy", std::string{kFilters[static_cast<std::size_t>(*change.filter)].policy});
    if (change.dead_letter)
      add("RedrivePolicy", *change.dead_letter < 0 ? "" : fmt::format(R"({{"deadLetterTargetArn":"{}"}})", queue_arn(name_of_queue(*change.dead_letter))));
  }
}

}  // namespace fanfare::sim
