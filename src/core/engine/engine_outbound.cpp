// Subscriptions whose messages leave the process, and the directory of phones and devices.
//
// Rule 1: an outbound subscription has a queue of its own: waiting, attempts (receive counts), backoff (visibility), restart
//         and snapshots are those of queues.
// Rule 2: what goes to phones and devices is captured in the directory, never delivered.
#include <algorithm>

#include "core/engine/engine_core.h"
#include "core/engine/record.h"
#include "core/topic/envelope_confirmation.h"
#include "policy/permissions.h"

namespace fanfare::engine {
namespace {

using Code = TopicError::Code;
using Action = topic::DirectoryCommand::Action;

TopicError error(Code code, std::string detail = {}) { return {code, std::move(detail), std::nullopt}; }

}  // namespace

// ---- Outbound queues ------------------------------------------------------------------------------------------------

void EngineCore::create_outbound_queue(const TopicKeyView& topic, const topic::SubscriptionUuid& uuid) {
  QueueCreatedEvent event;
  event.queue = static_cast<std::uint32_t>(queues_.size());
  event.first_sequence = SequenceNumber::first_of(options_.epoch).value;
  event.key = QueueKey{QueueKeyView{kOutboundAccount, topic.region, uuid.str()}};
  record(event);
}

void EngineCore::delete_outbound_queue(const SubscriptionState& subscription) {
  if (!is_outbound(subscription.protocol)) return;
  const QueueState* queue = endpoint_of(subscription);
  if (queue == nullptr) return;
  while (!queue->waiters.empty()) {
    const CallerId caller = queue->waiters.front().caller;
    end_waiter(*queue_by_number(queue->id.number), queue_by_number(queue->id.number)->waiters.begin());
    reply(caller, QueueError{QueueError::Code::QueueDoesNotExist, {}, {}, 0, 0});
  }
  record(QueueDeletedEvent{queue->id.number});
}

void EngineCore::send_confirmation(const SubscriptionState& subscription, const MessageId& id) {
  QueueState* queue = endpoint_of(subscription);
  if (queue == nullptr) return;
  const std::string body = topic::confirmation_text(subscription.topic_key.arn().str());
  const message::MessageAttribute token{"Token", "String", subscription.token};
  OutgoingMessage message;
  message.id = id;
  message.content.body = body;
  message.content.attributes = {&token, 1};
  bring_up_to_date(*queue);
  send(*queue, message, std::nullopt);
  note_deadline(*queue);
}

void EngineCore::send_farewell(const SubscriptionState& subscription, const MessageId& id) {
  QueueState* queue = endpoint_of(subscription);
  if (queue == nullptr) return;
  // What waits there was meant for a subscriber.
  if (queue->messages.size() > 0) record(QueuePurgedEvent{queue->id.number});
  const std::string body = topic::farewell_text(topic::subscription_arn(subscription.topic_key.view(), subscription.uuid).str());
  const message::MessageAttribute attributes[] = {{"Token", "String", subscription.token}, {"Type", "String", topic::kUnsubscribeConfirmation}};
  OutgoingMessage message;
  message.id = id;
  message.content.body = body;
  message.content.attributes = attributes;
  bring_up_to_date(*queue);
  send(*queue, message, std::nullopt);
  note_deadline(*queue);
}

// ---- Subscriptions that wait for their token ------------------------------------------------------------------------

namespace {

std::pair<Timestamp, std::uint32_t> end_of_token(const SubscriptionState& subscription) {
  return {subscription.left_at.value_or(subscription.created_at) + kTokenValidFor, subscription.id.number};
}

}  // namespace

void EngineCore::note_pending(const SubscriptionState& subscription) {
  if (!subscription.deleted && !subscription.token.empty()) pending_due_.insert(end_of_token(subscription));
}

void EngineCore::forget_pending(const SubscriptionState& subscription) { pending_due_.erase(end_of_token(subscription)); }

void EngineCore::run_pending() {
  constexpr int kPerDeadline = 64;
  for (int i = 0; i < kPerDeadline && !pending_due_.empty() && pending_due_.begin()->first <= now_; ++i) {
    const SubscriptionState& subscription = *subscription_by_number(pending_due_.begin()->second);
    delete_outbound_queue(subscription);
    record(SubscriptionDeletedEvent{subscription.id.number});
  }
}

std::vector<OutboundEndpoint> EngineCore::outbound_endpoints() const {
  std::vector<OutboundEndpoint> all;
  for (const auto& subscription : subscriptions_) {
    if (subscription == nullptr || subscription->deleted || !is_outbound(subscription->protocol)) continue;
    const TopicState& topic = *topics_[subscription->topic.number];
    all.push_back({*subscription->queue, topic.key, subscription->uuid, subscription->protocol, subscription->endpoint,
                   subscription->settings.raw_delivery, topic.settings.signature_version == 2 ? std::uint8_t{2} : std::uint8_t{1},
                   topic.settings.delivery_policy, subscription->settings.delivery_policy, topic.settings.display_name});
  }
  return all;
}

void EngineCore::run(const Caller& caller, const SettleDelivery& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:DeleteMessage");
  if (queue == nullptr) return;
  const auto uuid = Uuid::parse(command.queue.name);
  const auto found = uuid ? subscriptions_by_uuid_.find(uuid_key(*uuid)) : subscriptions_by_uuid_.end();
  if (found == subscriptions_by_uuid_.end() || !queue->messages.is_leased(command.handle)) return reply(caller.id, Done{});
  SubscriptionState& subscription = *found->second;
  TopicState& topic = *topics_[subscription.topic.number];
  const queue::Entry entry = *queue->messages.find(command.handle.message);
  const bool confirmation = !subscription.token.empty();
  QueueState* dead_letter_queue = nullptr;
  if (command.delivered) {
    if (!confirmation) ++topic.counters.delivered;
  } else {
    FailedDelivery failed{now_,
                          subscription.id,
                          topic::subscription_arn(topic.key.view(), subscription.uuid).str(),
                          subscription.endpoint,
                          PublicationId{entry.id},
                          FailedDelivery::Reason::EndpointFailed,
                          std::nullopt,
                          false,
                          std::string{command.detail}};
    if (!confirmation) ++topic.counters.failed;
    if (subscription.settings.redrive_policy && !confirmation) {
      const auto key = queue::parse_queue_arn(subscription.settings.redrive_policy->dead_letter_queue.str());
      dead_letter_queue = key ? find_queue(*key) : nullptr;
      const bool admitted = dead_letter_queue != nullptr && !dead_letter_queue->settings.fifo &&
                            may_deliver(subscription, topic, *dead_letter_queue).verdict == policy::Verdict::Allow;
      if (!admitted) dead_letter_queue = nullptr;
      failed.redriven = admitted;
      ++(admitted ? topic.counters.redriven : topic.counters.redrive_failed);
    }
    note_failure(std::move(failed));
  }
  if (dead_letter_queue != nullptr) {
    dead_letter(*queue, entry, *dead_letter_queue);
  } else {
    record(DeletedEvent{queue->id.number, {command.handle.message.value}});
  }
  note_arrival(*queue);
  reply_when_durable(caller.id, Done{});
}

// ---- The directory --------------------------------------------------------------------------------------------------

void EngineCore::run(const Caller& caller, const UseDirectory& command) {
  const std::string_view resource = command.command.target.starts_with("arn:") ? command.command.target : std::string_view{"*"};
  if (auto denied = refuses(caller, command.command.operation, command.command.account, resource, nullptr))
    return reply(caller.id, std::move(*denied));
  auto decision = directory_.decide(command.command, now_);
  if (!decision) return reply(caller.id, decision.error());
  if (!decision->changes.empty()) {
    if (refused_by_storage(caller)) return;
    record(DirectoryChangedEvent{std::move(decision->changes)});
  }
  if (command.publication) return reply_when_durable(caller.id, Published{*command.publication, std::nullopt, 0, now_});
  reply_when_durable(caller.id, std::move(decision->answer));
}

std::vector<topic::DirectoryEntry> EngineCore::captured_messages() const {
  topic::DirectoryCommand command;
  command.action = Action::ListCaptured;
  command.limit = 10'000;
  auto decision = directory_.decide(command, now_);
  return decision ? std::move(decision->answer.entries) : std::vector<topic::DirectoryEntry>{};
}

void EngineCore::capture(const TopicState& topic, const message::Content& content) {
  DirectoryChangedEvent event;
  const std::string id = content.publication->id.str();
  const std::pair<std::string_view, std::string_view> attributes[] = {
      {"message", content.body}, {"id", id}, {"topic", topic.arn}, {"subject", content.publication->subject}};
  for (const SubscriptionState* subscription : captures_) {
    topic::DirectoryCommand command;
    const bool push = subscription->protocol == topic::DeliveryProtocol::Application;
    command.action = push ? Action::CaptureForEndpoint : Action::Capture;
    command.account = topic.key.account.str();
    command.region = topic.key.region.str();
    command.target = subscription->endpoint;
    command.attributes = std::span(attributes).first(content.publication->subject.empty() ? 3 : 4);
    auto decision = directory_.decide(command, now_);
    if (!decision) continue;  // an endpoint that is gone or disabled
    event.changes = std::move(decision->changes);
    record(event);
  }
}

// ---- Permissions ----------------------------------------------------------------------------------------------------

void EngineCore::run(const Caller& caller, const AddTopicPermission& command) {
  const TopicState* topic = topic_for(caller, command.topic, "sns:AddPermission");
  if (topic == nullptr) return;
  topic::TopicSettings settings = topic->settings;
  if (settings.policy.empty()) settings.policy = policy::default_topic_policy(topic->arn, topic->key.account.str());
  auto document = policy::add_permission(settings.policy, command.label, command.accounts, command.actions, topic->arn);
  if (!document) {
    using Kind = policy::PermissionError::Kind;
    switch (document.error().kind) {
      case Kind::LabelExists: return reply(caller.id, error(Code::StatementExists));
      case Kind::UnknownAction: return reply(caller.id, error(Code::ActionOutOfScope));
      default: return reply(caller.id, error(Code::BadPolicy, document.error().detail));
    }
  }
  settings.policy = std::move(*document);
  if (const auto parsed = policy::Policy::parse(settings.policy); !parsed)
    return reply(caller.id, error(Code::BadPolicy, parsed.error().message()));
  if (refused_by_storage(caller)) return;
  record(TopicChangedEvent{topic->id.number, std::move(settings)});
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const RemoveTopicPermission& command) {
  const TopicState* topic = topic_for(caller, command.topic, "sns:RemovePermission");
  if (topic == nullptr) return;
  topic::TopicSettings settings = topic->settings;
  auto document = policy::remove_permission(settings.policy, command.label);
  if (!document) return reply_when_durable(caller.id, Done{});  // SNS says nothing of a label that it does not know
  settings.policy = std::move(*document);
  if (refused_by_storage(caller)) return;
  record(TopicChangedEvent{topic->id.number, std::move(settings)});
  reply_when_durable(caller.id, Done{});
}

}  // namespace fanfare::engine
