// Commands on queues as such: make, find, describe, change, tag, purge, delete.
#include <algorithm>

#include "base/arn.h"
#include "base/assert.h"
#include "core/engine/engine_core.h"
#include "core/engine/record.h"
#include "policy/permissions.h"

namespace fanfare::engine {
namespace {

using Code = QueueError::Code;

constexpr std::size_t kTagsMax = 50;
constexpr seconds kPurgeInterval{60};

QueueError error(Code code, std::optional<queue::QueueAttribute> attribute = {}, std::string detail = {}) {
  return {code, attribute, std::move(detail), 0, 0};
}

Tagging owned(std::span<const Tag> tags) {
  std::map<std::string, std::string> sorted;
  for (const Tag& tag : tags) sorted.insert_or_assign(std::string{tag.key}, std::string{tag.value});
  return {sorted.begin(), sorted.end()};
}

}  // namespace

QueueState* EngineCore::find_queue(const QueueKeyView& key) const {
  const auto found = queues_by_key_.find(key);
  return found == queues_by_key_.end() ? nullptr : found->second;
}

QueueState* EngineCore::queue_by_number(std::uint32_t number) const {
  return number < queues_.size() ? queues_[number].get() : nullptr;
}

QueueState* EngineCore::queue_for(const Caller& caller, const QueueKeyView& key, std::string_view action, bool owner_only) {
  QueueState* queue = find_queue(key);
  if (queue == nullptr) {
    if (!refused_of_missing(caller, action, QueueKey{key}.arn().str())) reply(caller.id, error(Code::QueueDoesNotExist));
    return nullptr;
  }
  if (refused(caller, action, *queue, owner_only)) return nullptr;
  bring_up_to_date(*queue);
  return queue;
}

std::optional<QueueError> EngineCore::check_settings(const QueueKeyView& key, const queue::QueueSettings& before,
                                                     const queue::QueueSettings& after,
                                                     const queue::AttributeChanges& changes) const {
  using queue::QueueAttribute;
  if (!after.fifo) {
    if (changes.content_based_deduplication)
      return error(Code::FifoAttributeOnStandardQueue, QueueAttribute::ContentBasedDeduplication);
    if (changes.deduplication_scope) return error(Code::FifoAttributeOnStandardQueue, QueueAttribute::DeduplicationScope);
    if (changes.fifo_throughput_limit)
      return error(Code::FifoAttributeOnStandardQueue, QueueAttribute::FifoThroughputLimit);
  }
  if (after.fifo_throughput_limit == queue::FifoThroughputLimit::PerMessageGroupId &&
      after.deduplication_scope != queue::DeduplicationScope::MessageGroup)
    return error(Code::InvalidThroughputLimit, QueueAttribute::FifoThroughputLimit);
  if (changes.policy && !after.policy.empty()) {
    const auto policy = policy::Policy::parse(after.policy);
    if (!policy) return error(Code::BadPolicy, QueueAttribute::Policy, policy.error().message());
    if (const auto fits = policy::check_queue_policy(*policy, after.policy.size()); !fits)
      return error(Code::BadPolicy, QueueAttribute::Policy, fits.error().message());
  }
  if (after.redrive_policy && after.redrive_policy != before.redrive_policy) {
    const QueueKeyView target = after.redrive_policy->dead_letter_queue.view();
    const auto refuse = [&](Code code) { return error(code, QueueAttribute::RedrivePolicy); };
    if (target.account != key.account || target.region != key.region) return refuse(Code::DeadLetterQueueElsewhere);
    if (target == key) return refuse(Code::DeadLetterQueueIsSource);
    const QueueState* dead_letter_queue = find_queue(target);
    if (dead_letter_queue == nullptr) return refuse(Code::DeadLetterQueueMissing);
    if (dead_letter_queue->settings.fifo != after.fifo) return refuse(Code::DeadLetterQueueOfOtherType);
    const auto& allow = dead_letter_queue->settings.redrive_allow_policy;
    if (allow && !allow->allows(key)) return refuse(Code::DeadLetterQueueRefuses);
  }
  return std::nullopt;
}

void EngineCore::run(const Caller& caller, const CreateQueue& command) {
  const QueueKey key{command.queue};
  if (auto denied = refuses(caller, "sqs:CreateQueue", command.queue.account, key.arn().str(), nullptr, true))
    return reply(caller.id, std::move(*denied));
  // [SQS CreateQueue: to tag on creation one must have sqs:TagQueue, too]
  if (!command.tags.empty())
    if (auto denied = refuses(caller, "sqs:TagQueue", command.queue.account, key.arn().str(), nullptr, true))
      return reply(caller.id, std::move(*denied));
  if (!queue::is_valid_queue_name(command.queue.name)) return reply(caller.id, error(Code::InvalidQueueName));
  if (is_fifo_name(command.queue.name) != command.attributes.fifo.value_or(false))
    return reply(caller.id, error(Code::NameAndTypeDisagree, queue::QueueAttribute::FifoQueue));
  if (const QueueState* existing = find_queue(command.queue)) {
    if (const auto attribute = queue::first_difference(existing->settings, command.attributes))
      return reply(caller.id, error(Code::QueueExistsWithOtherAttributes, attribute));
    return reply_when_durable(caller.id, QueueFound{&existing->key, existing->id});
  }
  const auto deleted = deleted_queues_.find(key);
  if (options_.enforce_deleted_recently && deleted != deleted_queues_.end() && now_ < deleted->second + kNameReservedFor)
    return reply(caller.id, error(Code::QueueDeletedRecently));
  if (command.tags.size() > kTagsMax) return reply(caller.id, error(Code::TooManyTags));
  const queue::QueueSettings settings = queue::with_changes({}, command.attributes);
  if (auto bad = check_settings(command.queue, {}, settings, command.attributes)) return reply(caller.id, std::move(*bad));
  if (refused_by_storage(caller) || refused_by_numbers(caller)) return;
  const auto number = static_cast<std::uint32_t>(queues_.size());
  record(QueueCreatedEvent{number, SequenceNumber::first_of(options_.epoch).value, key, settings, owned(command.tags)});
  const QueueState& created = *queues_[number];
  reply_when_durable(caller.id, QueueFound{&created.key, created.id});
}

void EngineCore::run(const Caller& caller, const FindQueue& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:GetQueueUrl");
  if (queue != nullptr) reply(caller.id, QueueFound{&queue->key, queue->id});
}

void EngineCore::run(const Caller& caller, const ListQueues& command) {
  const std::string resource = QueueKey{QueueKeyView{command.account, command.region, "*"}}.arn().str();
  if (auto denied = refuses(caller, "sqs:ListQueues", command.account, resource, nullptr, true))
    return reply(caller.id, std::move(*denied));
  QueueNames names;
  auto next = queue_names_.lower_bound({command.account, command.region, std::max(command.prefix, command.after)});
  for (; next != queue_names_.end(); ++next) {
    const QueueKeyView& key = next->first;
    if (key.account != command.account || key.region != command.region || !key.name.starts_with(command.prefix)) break;
    if (!command.after.empty() && key.name <= command.after) continue;
    names.more = names.keys.size() == command.limit;
    if (names.more) break;
    names.keys.push_back(next->second->key);
  }
  reply(caller.id, std::move(names));
}

void EngineCore::run(const Caller& caller, const ListDeadLetterSourceQueues& command) {
  QueueState* target = queue_for(caller, command.queue, "sqs:ListDeadLetterSourceQueues");
  if (target == nullptr) return;
  QueueNames names;
  // A source lies in the same account and region.
  auto next = queue_names_.lower_bound({command.queue.account, command.queue.region, command.after});
  for (; next != queue_names_.end(); ++next) {
    const QueueKeyView& key = next->first;
    if (key.account != command.queue.account || key.region != command.queue.region) break;
    const auto& redrive = next->second->settings.redrive_policy;
    if (!redrive || redrive->dead_letter_queue != target->key) continue;
    if (!command.after.empty() && key.name <= command.after) continue;
    names.more = names.keys.size() == command.limit;
    if (names.more) break;
    names.keys.push_back(next->second->key);
  }
  reply(caller.id, std::move(names));
}

void EngineCore::run(const Caller& caller, const DeleteQueue& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:DeleteQueue", true);
  if (queue == nullptr) return;
  while (!queue->waiters.empty()) {
    reply(queue->waiters.front().caller, error(Code::QueueDoesNotExist));
    end_waiter(*queue, queue->waiters.begin());
  }
  std::erase(arrivals_, queue);
  record(QueueDeletedEvent{queue->id.number});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const DescribeQueue& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:GetQueueAttributes");
  if (queue == nullptr) return;
  const queue::Counts& counts = queue->messages.counts();
  reply(caller.id, QueueDescription{&queue->key, &queue->settings, {counts.visible, counts.in_flight, counts.delayed},
                                    queue->created_at, queue->changed_at});
}

void EngineCore::run(const Caller& caller, const ChangeQueue& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:SetQueueAttributes", true);
  if (queue == nullptr) return;
  if (command.attributes.fifo && !queue->settings.fifo)  // a standard queue does not know the attribute, whatever its value
    return reply(caller.id, error(Code::FifoAttributeOnStandardQueue, queue::QueueAttribute::FifoQueue));
  if (command.attributes.fifo && *command.attributes.fifo != queue->settings.fifo)
    return reply(caller.id, error(Code::CannotChangeQueueType, queue::QueueAttribute::FifoQueue));
  queue::QueueSettings settings = queue::with_changes(queue->settings, command.attributes);
  if (auto bad = check_settings(command.queue, queue->settings, settings, command.attributes))
    return reply(caller.id, std::move(*bad));
  if (refused_by_storage(caller)) return;
  record(QueueChangedEvent{queue->id.number, std::move(settings)});
  bring_up_to_date(*queue);
  note_deadline(*queue);
  reply_when_durable(caller.id, Done{});
}

// ---- Permissions --------------------------------------------------------------------------------------------------------

namespace {

QueueError permission_error(const policy::PermissionError& bad, std::size_t actions) {
  using Kind = policy::PermissionError::Kind;
  switch (bad.kind) {
    case Kind::LabelExists: return error(Code::PermissionLabelExists);
    case Kind::LabelUnknown: return error(Code::PermissionLabelUnknown);
    case Kind::TooManyActions: return {Code::PermissionActionsTooMany, {}, {}, 7, actions};
    case Kind::OwnerOnlyAction: return error(Code::PermissionActionOwnerOnly, {}, bad.detail);
    case Kind::UnknownAction: return error(Code::PermissionActionUnknown, {}, bad.detail);
    case Kind::BadAccount: return error(Code::PermissionAccountInvalid, {}, bad.detail);
    case Kind::TooManyStatements: return {Code::PermissionStatementsTooMany, {}, {}, 20, 0};
    case Kind::BadDocument: return error(Code::BadPolicy, queue::QueueAttribute::Policy, bad.detail);
  }
  return error(Code::BadPolicy, queue::QueueAttribute::Policy, bad.detail);
}

}  // namespace

void EngineCore::change_policy(const Caller& caller, QueueState& queue, std::string policy) {
  queue::AttributeChanges changes;
  changes.policy = std::move(policy);
  queue::QueueSettings settings = queue::with_changes(queue.settings, changes);
  if (auto bad = check_settings(queue.key.view(), queue.settings, settings, changes)) return reply(caller.id, std::move(*bad));
  record(QueueChangedEvent{queue.id.number, std::move(settings)});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const AddPermission& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:AddPermission", true);
  if (queue == nullptr || refused_by_storage(caller)) return;
  auto policy = policy::add_permission(queue->settings.policy, command.label, command.accounts, command.actions, queue->arn);
  if (!policy) return reply(caller.id, permission_error(policy.error(), command.actions.size()));
  change_policy(caller, *queue, std::move(*policy));
}

void EngineCore::run(const Caller& caller, const RemovePermission& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:RemovePermission", true);
  if (queue == nullptr) return;
  auto policy = policy::remove_permission(queue->settings.policy, command.label);
  if (!policy) return reply(caller.id, permission_error(policy.error(), 0));
  change_policy(caller, *queue, std::move(*policy));
}

void EngineCore::run(const Caller& caller, const ListQueueTags& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:ListQueueTags", true);
  if (queue != nullptr) reply(caller.id, Tags{{queue->tags.begin(), queue->tags.end()}});
}

void EngineCore::run(const Caller& caller, const TagQueue& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:TagQueue", true);
  if (queue == nullptr) return;
  TagMap tags = queue->tags;
  for (const Tag& tag : command.tags) tags.insert_or_assign(std::string{tag.key}, std::string{tag.value});
  if (tags.size() > kTagsMax) return reply(caller.id, error(Code::TooManyTags));
  if (refused_by_storage(caller)) return;
  record(QueueTaggedEvent{queue->id.number, {tags.begin(), tags.end()}});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const UntagQueue& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:UntagQueue", true);
  if (queue == nullptr) return;
  TagMap tags = queue->tags;
  for (const std::string_view key : command.keys)
    if (const auto found = tags.find(key); found != tags.end()) tags.erase(found);
  record(QueueTaggedEvent{queue->id.number, {tags.begin(), tags.end()}});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const PurgeQueue& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:PurgeQueue");
  if (queue == nullptr) return;
  if (options_.enforce_purge_interval && queue->purged_at && now_ < *queue->purged_at + kPurgeInterval)
    return reply(caller.id, error(Code::PurgeInProgress));
  queue->counters.purged += queue->messages.size();
  record(QueuePurgedEvent{queue->id.number});
  reply_when_durable(caller.id, Done{});
}

}  // namespace fanfare::engine
