// Commands on topics and subscriptions.
#include <algorithm>

#include "base/arn.h"
#include "core/engine/engine_core.h"
#include "core/engine/record.h"

namespace fanfare::engine {
namespace {

using Code = TopicError::Code;

constexpr std::size_t kTagsMax = 50;

TopicError error(Code code, std::string detail = {}) { return {code, std::move(detail), std::nullopt}; }

TagMap owned(std::span<const Tag> tags) {
  TagMap map;
  for (const Tag& tag : tags) map.insert_or_assign(std::string{tag.key}, std::string{tag.value});
  return map;
}

}  // namespace

// ---- Topics -------------------------------------------------------------------------------------------------------------

TopicState* EngineCore::find_topic(const TopicKeyView& key) const {
  const auto found = topics_by_key_.find(key);
  return found == topics_by_key_.end() ? nullptr : found->second;
}

TopicState* EngineCore::topic_for(const Caller& caller, const TopicKeyView& key, std::string_view action, bool owner_only) {
  TopicState* topic = find_topic(key);
  if (topic == nullptr) {
    if (!refused_of_missing(caller, action, TopicKey{key}.arn().str())) reply(caller.id, error(Code::TopicDoesNotExist));
    return nullptr;
  }
  return refused(caller, action, *topic, owner_only) ? nullptr : topic;
}

std::optional<TopicError> EngineCore::check_topic_settings(const TopicKeyView& key, const topic::TopicSettings& settings,
                                                           const topic::TopicChanges& changes) const {
  if (settings.fifo != is_fifo_name(key.name)) return error(Code::InvalidTopicName);
  if (!settings.fifo && (changes.content_based_deduplication || changes.fifo_throughput_scope || changes.archive_policy))
    return error(Code::FifoAttributeOnStandardTopic);
  if (changes.policy && !settings.policy.empty()) {
    const auto policy = policy::Policy::parse(settings.policy);
    if (!policy) return error(Code::BadPolicy, policy.error().message());
    if (const auto fits = policy::check_topic_policy(*policy, settings.policy.size()); !fits)
      return error(Code::BadPolicy, fits.error().kind == policy::ErrorKind::OutOfScope
                                        ? "Policy statement action out of service scope!"
                                        : fits.error().message());
  }
  return std::nullopt;
}

void EngineCore::run(const Caller& caller, const CreateTopic& command) {
  const TopicKey key{command.topic};
  if (auto denied = refuses(caller, "sns:CreateTopic", command.topic.account, key.arn().str(), nullptr, true))
    return reply(caller.id, std::move(*denied));
  // [SNS CreateTopic: to tag on creation one must have sns:TagResource, too]
  if (!command.tags.empty())
    if (auto denied = refuses(caller, "sns:TagResource", command.topic.account, key.arn().str(), nullptr, true))
      return reply(caller.id, std::move(*denied));
  if (!topic::is_valid_topic_name(command.topic.name)) return reply(caller.id, error(Code::InvalidTopicName));
  TagMap tags = owned(command.tags);
  if (const TopicState* existing = find_topic(command.topic)) {
    if (topic::first_difference(existing->settings, command.attributes))
      return reply(caller.id, error(Code::TopicExistsWithOtherAttributes));
    if (!tags.empty() && tags != existing->tags) return reply(caller.id, error(Code::TopicExistsWithOtherTags));
    return reply_when_durable(caller.id, TopicFound{&existing->key});
  }
  if (tags.size() > kTagsMax) return reply(caller.id, error(Code::TooManyTags));
  const topic::TopicSettings settings = topic::with_changes({}, command.attributes);
  if (auto bad = check_topic_settings(command.topic, settings, command.attributes)) return reply(caller.id, std::move(*bad));
  if (refused_by_storage(caller) || refused_by_numbers(caller)) return;
  const auto number = static_cast<std::uint32_t>(topics_.size());
  record(TopicCreatedEvent{number, SequenceNumber::first_of(options_.epoch).value, key, settings, {tags.begin(), tags.end()}});
  reply_when_durable(caller.id, TopicFound{&topics_[number]->key});
}

void EngineCore::run(const Caller& caller, const ListTopics& command) {
  const std::string resource = TopicKey{TopicKeyView{command.account, command.region, "*"}}.arn().str();
  if (auto denied = refuses(caller, "sns:ListTopics", command.account, resource, nullptr, true))
    return reply(caller.id, std::move(*denied));
  TopicNames names;
  auto next = topic_names_.upper_bound({command.account, command.region, command.after});
  for (; next != topic_names_.end(); ++next) {
    if (next->first.account != command.account || next->first.region != command.region) break;
    names.more = names.keys.size() == command.limit;
    if (names.more) break;
    names.keys.push_back(next->second->key);
  }
  reply(caller.id, std::move(names));
}

void EngineCore::run(const Caller& caller, const DeleteTopic& command) {
  const TopicState* topic = find_topic(command.topic);
  if (topic == nullptr) {
    if (!refused_of_missing(caller, "sns:DeleteTopic", TopicKey{command.topic}.arn().str())) reply(caller.id, Done{});
    return;
  }
  if (refused(caller, "sns:DeleteTopic", *topic)) return;
  if (topic->archive.is_active()) return reply(caller.id, error(Code::ArchivePolicyInTheWay));
  for (const SubscriptionState* subscription : topic->subscriptions) delete_outbound_queue(*subscription);
  for (const SubscriptionState* subscription : topic->leaving) delete_outbound_queue(*subscription);
  record(TopicDeletedEvent{topic->id.number});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const DescribeTopic& command) {
  const TopicState* topic = topic_for(caller, command.topic, command.action);
  if (topic == nullptr) return;
  const auto pending = static_cast<std::uint64_t>(std::count_if(
      topic->subscriptions.begin(), topic->subscriptions.end(), [](const auto* s) { return !s->token.empty(); }));
  reply(caller.id, TopicDescription{&topic->key, &topic->settings, topic->subscriptions.size() - pending, pending,
                                    topic->subscriptions_deleted,
                                    topic->archive.is_active() ? std::optional{topic->archive.beginning(now_)} : std::nullopt});
}

void EngineCore::run(const Caller& caller, const ChangeTopic& command) {
  const TopicState* topic = topic_for(caller, command.topic, command.action);
  if (topic == nullptr) return;
  if (command.attributes.fifo && *command.attributes.fifo != topic->settings.fifo)
    return reply(caller.id, error(Code::CannotChangeTopicType));
  topic::TopicSettings settings = topic::with_changes(topic->settings, command.attributes);
  if (auto bad = check_topic_settings(command.topic, settings, command.attributes)) return reply(caller.id, std::move(*bad));
  if (refused_by_storage(caller)) return;
  record(TopicChangedEvent{topic->id.number, std::move(settings)});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const ListTopicTags& command) {
  const TopicState* topic = topic_for(caller, command.topic, "sns:ListTagsForResource");
  if (topic != nullptr) reply(caller.id, Tags{{topic->tags.begin(), topic->tags.end()}});
}

void EngineCore::run(const Caller& caller, const TagTopic& command) {
  const TopicState* topic = topic_for(caller, command.topic, "sns:TagResource", true);
  if (topic == nullptr) return;
  TagMap tags = topic->tags;
  for (const Tag& tag : command.tags) tags.insert_or_assign(std::string{tag.key}, std::string{tag.value});
  if (tags.size() > kTagsMax) return reply(caller.id, error(Code::TooManyTags));
  if (refused_by_storage(caller)) return;
  record(TopicTaggedEvent{topic->id.number, {tags.begin(), tags.end()}});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const UntagTopic& command) {
  const TopicState* topic = topic_for(caller, command.topic, "sns:UntagResource", true);
  if (topic == nullptr) return;
  TagMap tags = topic->tags;
  for (const std::string_view key : command.keys)
    if (const auto found = tags.find(key); found != tags.end()) tags.erase(found);
  record(TopicTaggedEvent{topic->id.number, {tags.begin(), tags.end()}});
  reply_when_durable(caller.id, Done{});
}

// ---- Subscriptions ------------------------------------------------------------------------------------------------------

SubscriptionState* EngineCore::subscription_by_number(std::uint32_t number) const {
  return number < subscriptions_.size() ? subscriptions_[number].get() : nullptr;
}

SubscriptionState* EngineCore::find_subscription(const SubscriptionKeyView& key) const {
  const auto found = subscriptions_by_uuid_.find(uuid_key(key.uuid));
  if (found == subscriptions_by_uuid_.end() || found->second->topic_key.view() != key.topic || found->second->left_at) return nullptr;
  return found->second;
}

SubscriptionSummary EngineCore::summary_of(const SubscriptionState& subscription) const {
  return {subscription.id,       subscription.topic_key, subscription.uuid,
          subscription.protocol, subscription.endpoint,  AccountId{subscription.owner},
          !subscription.token.empty()};
}

std::optional<TopicError> EngineCore::check_subscription(const TopicState& topic, std::string_view owner,
                                                         const topic::SubscriptionSettings& settings) const {
  if (!settings.filter_policy.empty()) {
    auto filter = topic::FilterPolicy::parse(settings.filter_policy, settings.filter_scope);
    if (!filter) {
      TopicError bad = error(Code::BadFilterPolicy, filter.error().message);
      bad.filter = filter.error();
      return bad;
    }
  }
  if (settings.redrive_policy) {
    const auto target = queue::parse_queue_arn(settings.redrive_policy->dead_letter_queue.str());
    if (!target) return error(Code::BadRedrivePolicy);
    // [SNS dead-letter queues: of the subscription's account and region]
    if (target->account != owner || target->region != topic.key.region.str())
      return error(Code::BadRedrivePolicy);
    const bool fifo_target = is_fifo_name(target->name);
    if (fifo_target != topic.settings.fifo) return error(Code::BadRedrivePolicy);
  }
  return std::nullopt;
}

void EngineCore::run(const Caller& caller, const Subscribe& command) {
  TopicState* topic = topic_for(caller, command.topic, "sns:Subscribe");
  if (topic == nullptr) return;
  const bool to_queue = command.protocol == topic::DeliveryProtocol::Sqs;
  const bool outbound = is_outbound(command.protocol);
  if (!to_queue && (topic->settings.fifo || (!outbound && !is_captured(command.protocol)))) {
    return reply(caller.id, error(topic->settings.fifo ? Code::ProtocolOnFifoTopic : Code::ProtocolNotSupported,
                                  std::string{topic::text_of(command.protocol)}));
  }
  const auto queue_key = to_queue ? queue::parse_queue_arn(command.endpoint) : std::nullopt;
  if (to_queue) {
    if (!queue_key) return reply(caller.id, error(Code::InvalidEndpoint));
    if (is_fifo_name(queue_key->name) && !topic->settings.fifo)
      return reply(caller.id, error(Code::FifoQueueOnStandardTopic));
  }

  const auto existing = subscriptions_by_endpoint_.find(endpoint_key(topic->id, command.protocol, command.endpoint));
  if (existing != subscriptions_by_endpoint_.end()) {
    SubscriptionState& subscription = *existing->second;
    if (topic::first_difference(subscription.settings, command.attributes))
      return reply(caller.id, error(Code::SubscriptionExistsWithOtherAttributes));
    start_owed_replays();
    // Asked for again, the confirmation goes out again.
    if (outbound && !subscription.token.empty() && !storage_full_) send_confirmation(subscription, command.fresh_message);
    return reply_when_durable(caller.id, Subscribed{topic->key, subscription.uuid, !subscription.token.empty()});
  }
  topic::SubscriptionSettings settings = topic::with_changes({}, command.attributes);
  const std::string owner = caller.principal.account.empty() ? topic->key.account.str() : std::string{caller.principal.account};
  if (auto bad = check_subscription(*topic, owner, settings)) return reply(caller.id, std::move(*bad));
  if (auto bad = check_replay(*topic, owner, settings)) return reply(caller.id, std::move(*bad));
  if (refused_by_storage(caller) || refused_by_numbers(caller)) return;
  // Whoever owns the queue needs no confirmation; anybody else's request must be confirmed by its owner.
  const bool confirmed = to_queue ? queue_key->account == caller.principal.account : !outbound;
  if (outbound) create_outbound_queue(command.topic, command.fresh_uuid);
  SubscriptionCreatedEvent event;
  event.subscription = static_cast<std::uint32_t>(subscriptions_.size());
  event.topic = topic->id.number;
  event.uuid = command.fresh_uuid;
  event.protocol = command.protocol;
  event.endpoint = command.endpoint;
  event.owner = owner;
  event.principal = caller.principal.arn;
  if (!confirmed) event.token = command.fresh_token;
  event.authenticated = confirmed;
  event.settings = std::move(settings);
  record(event);
  if (confirmed && !subscription_by_number(event.subscription)->settings.replay_policy.empty())
    start_replay(*subscription_by_number(event.subscription));
  if (outbound) send_confirmation(*subscription_by_number(event.subscription), command.fresh_message);
  reply_when_durable(caller.id, Subscribed{topic->key, command.fresh_uuid, !event.token.empty()});
}

void EngineCore::run(const Caller& caller, const ConfirmSubscription& command) {
  // The token is the permission.
  TopicState* topic = find_topic(command.topic);
  if (topic == nullptr) return reply(caller.id, error(Code::TopicDoesNotExist));
  const auto found = std::find_if(topic->subscriptions.begin(), topic->subscriptions.end(), [&](const auto* subscription) {
    return !subscription->token.empty() && subscription->token == command.token;
  });
  if (found == topic->subscriptions.end()) return restore(caller, *topic, command);
  if ((*found)->created_at + kTokenValidFor <= now_) return reply(caller.id, error(Code::InvalidToken));
  SubscriptionState& subscription = **found;
  if (topic->archive.is_active())
    if (auto bad = check_replay(*topic, subscription.owner, subscription.settings)) return reply(caller.id, std::move(*bad));
  const topic::SubscriptionUuid uuid = subscription.uuid;
  // Only a signed confirmation can ask for signatures later. [SNS ConfirmSubscription AuthenticateOnUnsubscribe]
  const bool is_signed = caller.principal.kind != policy::Principal::Kind::Anonymous;
  record(SubscriptionConfirmedEvent{subscription.id.number, command.authenticate_on_unsubscribe && is_signed});
  if (!subscription.settings.replay_policy.empty()) start_replay(subscription);
  reply_when_durable(caller.id, Subscribed{topic->key, uuid, false});
}

void EngineCore::restore(const Caller& caller, TopicState& topic, const ConfirmSubscription& command) {
  const auto found = std::find_if(topic.leaving.begin(), topic.leaving.end(), [&](const auto* subscription) {
    return subscription->token == command.token && *subscription->left_at + kTokenValidFor > now_;
  });
  if (found == topic.leaving.end()) return reply(caller.id, error(Code::InvalidToken));
  const SubscriptionState& subscription = **found;
  // The endpoint may have subscribed anew meanwhile; it cannot be there twice.
  const auto successor = subscriptions_by_endpoint_.find(endpoint_key(topic.id, subscription.protocol, subscription.endpoint));
  if (successor != subscriptions_by_endpoint_.end())
    return reply_when_durable(caller.id, Subscribed{topic.key, successor->second->uuid, !successor->second->token.empty()});
  const topic::SubscriptionUuid uuid = subscription.uuid;
  record(SubscriptionRestoredEvent{subscription.id.number, command.authenticate_on_unsubscribe});
  reply_when_durable(caller.id, Subscribed{topic.key, uuid, false});
}

void EngineCore::run(const Caller& caller, const Unsubscribe& command) {
  const SubscriptionState* subscription = find_subscription(command.subscription);
  if (subscription == nullptr) return reply(caller.id, Done{});
  // The owner of the subscription may leave, and the owner of the topic may send away; and whoever has the URL of a message,
  // unless the confirmation asked for a signature. [SNS ConfirmSubscription AuthenticateOnUnsubscribe]
  const bool by_url = command.by_url || caller.principal.kind == policy::Principal::Kind::Anonymous;
  if ((!by_url || subscription->authenticated) && refused(caller, "sns:Unsubscribe", *subscription)) return;
  const bool by_owner = !by_url && caller.principal.account == subscription->owner;
  const bool http = subscription->protocol == topic::DeliveryProtocol::Http || subscription->protocol == topic::DeliveryProtocol::Https;
  if (http && !by_owner && !subscription->authenticated && subscription->token.empty() && !command.fresh_token.empty() && !storage_full_) {
    const std::uint32_t number = subscription->id.number;
    record(SubscriptionLeftEvent{number, std::string{command.fresh_token}});
    send_farewell(*subscription_by_number(number), command.fresh_message);
    return reply_when_durable(caller.id, Done{});
  }
  delete_outbound_queue(*subscription);
  record(SubscriptionDeletedEvent{subscription->id.number});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const ListSubscriptions& command) {
  const std::string resource = TopicKey{TopicKeyView{command.account, command.region, "*"}}.arn().str();
  if (auto denied = refuses(caller, "sns:ListSubscriptions", command.account, resource, nullptr, true))
    return reply(caller.id, std::move(*denied));
  Subscriptions page;
  for (std::size_t number = command.after.number + 1; number < subscriptions_.size(); ++number) {
    const SubscriptionState* subscription = subscriptions_[number].get();
    if (subscription == nullptr || subscription->deleted || subscription->left_at || subscription->owner != command.account ||
        subscription->topic_key.region.str() != command.region)
      continue;
    if (page.subscriptions.size() == command.limit) {
      page.next = page.subscriptions.back().id;
      break;
    }
    page.subscriptions.push_back(summary_of(*subscription));
  }
  reply(caller.id, std::move(page));
}

void EngineCore::run(const Caller& caller, const ListSubscriptionsByTopic& command) {
  const TopicState* topic = topic_for(caller, command.topic, "sns:ListSubscriptionsByTopic");
  if (topic == nullptr) return;
  Subscriptions page;
  auto next = std::upper_bound(topic->subscriptions.begin(), topic->subscriptions.end(), command.after,
                               [](SubscriptionId after, const auto* subscription) { return after < subscription->id; });
  for (; next != topic->subscriptions.end(); ++next) {
    if (page.subscriptions.size() == command.limit) {
      page.next = page.subscriptions.back().id;
      break;
    }
    page.subscriptions.push_back(summary_of(**next));
  }
  reply(caller.id, std::move(page));
}

void EngineCore::run(const Caller& caller, const DescribeSubscription& command) {
  const SubscriptionState* subscription = find_subscription(command.subscription);
  if (subscription == nullptr) return reply(caller.id, error(Code::SubscriptionDoesNotExist));
  const TopicState& topic = *topics_[subscription->topic.number];
  if (refused(caller, "sns:GetSubscriptionAttributes", *subscription)) return;
  reply(caller.id, SubscriptionDescription{summary_of(*subscription), &subscription->settings, &topic.settings, subscription->principal,
                                           subscription->authenticated, replay_status(*subscription)});
}

void EngineCore::run(const Caller& caller, const ChangeSubscription& command) {
  SubscriptionState* subscription = find_subscription(command.subscription);
  if (subscription == nullptr) return reply(caller.id, error(Code::SubscriptionDoesNotExist));
  const TopicState& topic = *topics_[subscription->topic.number];
  if (refused(caller, "sns:SetSubscriptionAttributes", *subscription)) return;
  topic::SubscriptionSettings settings = topic::with_changes(subscription->settings, command.attributes);
  if (auto bad = check_subscription(topic, subscription->owner, settings)) return reply(caller.id, std::move(*bad));
  // Named again, even as it stands, the policy begins a replay that takes the place of the one before.
  const bool replays = command.attributes.replay_policy && !settings.replay_policy.empty();
  if (replays)
    if (auto bad = check_replay(topic, subscription->owner, settings, subscription)) return reply(caller.id, std::move(*bad));
  if (refused_by_storage(caller)) return;
  record(SubscriptionChangedEvent{subscription->id.number, std::move(settings)});
  if (replays && subscription->token.empty()) start_replay(*subscription);
  reply_when_durable(caller.id, Done{});
}

}  // namespace fanfare::engine
