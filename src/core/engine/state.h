// What the engine holds for each queue, topic and subscription, and the tables that find them.
//
// Rule 1: durable fields change only in EngineCore::apply(); transient ones (waiters, counters, caches) are marked so and
//         are no part of snapshots and of debug_state().
// Rule 2: nothing here iterates over a hash table where the order could be seen from outside.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "core/engine/attempts.h"
#include "core/engine/commands.h"
#include "core/engine/engine.h"
#include "core/engine/topic_archive.h"
#include "core/queue/queue.h"
#include "core/topic/filter_index.h"
#include "core/topic/filter_policy.h"
#include "policy/policy.h"

namespace fanfare::engine {

using TagMap = std::map<std::string, std::string, std::less<>>;

/// A receive that waits for a message.
struct Waiter {
  CallerId caller;
  Timestamp until{};
  std::int64_t max_messages = 1;
  std::optional<queue::VisibilityTimeout> visibility_timeout;
  std::string attempt_id;  ///< empty: none
};

constexpr std::uint32_t kMovesPerSecondMax = 500;  // [SQS StartMessageMoveTask]
/// One message more was moved at `now`; engine_moves.cpp.
void count_moved(MoveTask& task, Timestamp now);

struct QueueState {
  QueueState(QueueId its_id, QueueKey its_key, SequenceNumber first, bool fifo)
      : id(its_id), key(std::move(its_key)), arn(key.arn().str()), messages(first, fifo) {}

  // Constant after construction.
  QueueId id;
  QueueKey key;
  std::string arn;

  queue::QueueSettings settings;
  std::optional<policy::Policy> policy;  ///< settings.policy, parsed
  Timestamp created_at{};
  Timestamp changed_at{};
  std::optional<Timestamp> purged_at;
  TagMap tags;
  queue::Queue messages;
  Attempts attempts;  ///< FIFO queues only; what it says of answers is transient
  std::vector<MoveTask> move_tasks;  ///< that took messages from here, by age, at most 10; only the last can be running
  /// Deleted: only its name is still needed, by messages of other queues that came from here.
  bool deleted = false;
  std::uint64_t references = 0;  ///< entries elsewhere that name this queue as their dead_letter_source

  // Transient.
  std::list<Waiter> waiters;  ///< first come, first served
  QueueCounters counters;
  std::optional<Timestamp> registered;  ///< the deadline that stands for this queue in EngineCore::due_
  std::uint32_t policy_generation = 0;  ///< changes with the policy; for SubscriptionState's cache
  std::uint32_t planned = 0;            ///< deliveries of the publication that is being decided
  /// The last message that was moved here from another queue or an archive, and where the log ended behind that.
  struct MovedIn {
    SequenceNumber sequence{0};
    LogPosition log_end{};
  } moved_in;
  std::optional<Timestamp> move_at;     ///< when the running move task goes on, see EngineCore::moves_due_

  [[nodiscard]] MoveTask* running_move() {
    return move_tasks.empty() || move_tasks.back().status != MoveTask::Status::Running ? nullptr : &move_tasks.back();
  }
};

struct SubscriptionState {
  // Constant after construction.
  SubscriptionId id;
  TopicId topic;
  TopicKey topic_key;  ///< outlives the topic: copies on queues still need the name
  topic::SubscriptionUuid uuid;
  topic::DeliveryProtocol protocol = topic::DeliveryProtocol::Sqs;
  std::string endpoint;
  std::string owner;
  std::string principal;
  std::optional<QueueKey> queue;  ///< of an sqs subscription the endpoint, of one that leaves the process its outbound queue
  Timestamp created_at{};

  topic::SubscriptionSettings settings;
  std::optional<topic::FilterPolicy> filter;  ///< settings.filter_policy, parsed
  std::string token;                          ///< not empty: waits for its confirmation, or, left, can be restored by it
  std::optional<Timestamp> left_at;           ///< ended by somebody else than its owner; not shown, in TopicState::leaving
  bool authenticated = false;
  bool deleted = false;          ///< only its names are still needed, by copies that wait on queues
  std::uint64_t references = 0;  ///< entries that need its envelope
  std::optional<Replay> replay;  ///< the last one, until its policy is taken away

  // Transient: what the queue's policy said last about this topic.
  struct Verdict {
    std::uint32_t queue = 0;
    std::uint32_t policy_generation = 0;
    policy::Decision decision;
  };
  mutable std::optional<Verdict> verdict;
  mutable std::uint32_t endpoint_number = 0;  ///< the queue that `queue` named last; 0: look it up
};

struct TopicState {
  // Constant after construction.
  TopicId id;
  TopicKey key;
  std::string arn;
  Timestamp created_at{};

  topic::TopicSettings settings;
  std::optional<policy::Policy> policy;
  TagMap tags;
  std::vector<SubscriptionState*> subscriptions;  ///< by age
  std::vector<SubscriptionState*> leaving;        ///< that can still be restored
  std::uint64_t subscriptions_deleted = 0;
  SequenceNumber next_sequence{1};                  ///< FIFO topics only
  message::DeduplicationWindow deduplication;       ///< FIFO topics only
  TopicArchive archive;                             ///< FIFO topics only

  // Transient.
  TopicCounters counters;
  // What subscriptions are, as a publication asks: confirmed ones only.
  topic::FilterIndex filtered;
  std::vector<SubscriptionState*> unfiltered;  ///< by age
};

/// Set in an entry's `envelope` beside the subscription's number: the copy comes from the topic's archive.
constexpr std::uint32_t kReplayedEnvelope = std::uint32_t{1} << 31;
constexpr std::uint32_t subscription_of_envelope(std::uint32_t envelope) { return envelope & ~kReplayedEnvelope; }

/// Whether messages of this protocol leave the process, and so wait in an outbound queue.
constexpr bool is_outbound(topic::DeliveryProtocol protocol) {
  using topic::DeliveryProtocol;
  return protocol == DeliveryProtocol::Http || protocol == DeliveryProtocol::Https || protocol == DeliveryProtocol::Email ||
         protocol == DeliveryProtocol::EmailJson;
}
/// Whether they go to a phone or a device: they are captured.
constexpr bool is_captured(topic::DeliveryProtocol protocol) {
  return protocol == topic::DeliveryProtocol::Sms || protocol == topic::DeliveryProtocol::Application;
}

/// What a topic has at most one subscription for.
inline std::string endpoint_key(TopicId topic, topic::DeliveryProtocol protocol, std::string_view endpoint) {
  std::string key;
  append_le(key, topic.number);
  append_le(key, static_cast<std::uint8_t>(protocol));
  key += endpoint;
  return key;
}
inline std::string uuid_key(const Uuid& uuid) { return {reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()}; }

struct KeyHash {
  using is_transparent = void;
  static std::size_t mix(std::string_view account, std::string_view region, std::string_view name) {
    const std::hash<std::string_view> hash;
    return hash(name) ^ (hash(account) * 0x9e3779b97f4a7c15ULL) ^ (hash(region) << 1);
  }
  template <class View>
  static std::size_t of(const View& key) {
    return mix(key.account, key.region, key.name);
  }
  std::size_t operator()(const QueueKeyView& key) const { return of(key); }
  std::size_t operator()(const TopicKeyView& key) const { return of(key); }
};

}  // namespace fanfare::engine
