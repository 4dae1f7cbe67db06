// Applying events, live and at replay: the only places where durable state changes.
#include <algorithm>

#include "base/assert.h"
#include "core/engine/engine_core.h"

namespace fanfare::engine {
namespace {

std::optional<policy::Policy> parsed(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto policy = policy::Policy::parse(text);
  // It was parsed when it was set; a version that understands less would refuse what a newer one took.
  FANFARE_ASSERT(policy.has_value(), policy.error().message());
  return std::move(*policy);
}

}  // namespace

// ---- Messages -----------------------------------------------------------------------------------------------------------

message::DeduplicationWindow::Key EngineCore::deduplication_key(const QueueState& queue, const ContentKeys& keys) {
  const bool by_group = queue.settings.deduplication_scope == queue::DeduplicationScope::MessageGroup;
  return message::DeduplicationWindow::key_of(by_group ? keys.group : std::string_view{}, keys.deduplication_id);
}

message::DeduplicationWindow::Key EngineCore::deduplication_key(const QueueState& queue, const OutgoingMessage& message) {
  const std::string_view own = message.content.deduplication_id;
  return deduplication_key(queue, ContentKeys{message.content.group_id, own.empty() ? message.content_deduplication_id : own});
}

message::DeduplicationWindow::Key EngineCore::deduplication_key(const TopicState& topic, const ContentKeys& keys) {
  const bool by_group = topic.settings.fifo_throughput_scope == topic::FifoThroughputScope::MessageGroup;
  return message::DeduplicationWindow::key_of(by_group ? keys.group : std::string_view{}, keys.deduplication_id);
}

void EngineCore::apply(const SentEvent& event, std::string_view group,
                       const std::optional<message::DeduplicationWindow::Key>& deduplication, std::uint32_t payload) {
  QueueState& queue = changing_queue(event.queue);
  queue::Arrived arrived{.id = event.id,
                         .sequence = {event.sequence},
                         .sent_at = now_,
                         .visible_at = event.visible_at,
                         .at = now_,
                         .payload = payload};
  arrived.group = group;
  arrived.deduplication = deduplication;
  queue.messages.apply(arrived);
}

void EngineCore::apply(const PublishedEvent& event, const ContentKeys& keys, const message::PublicationFields& publication,
                       std::uint32_t payload) {
  TopicState& topic = *topics_[event.topic];
  if (topic.settings.fifo) {
    will_change(topic);
    topic.deduplication.forget_old(now_);
    topic.deduplication.insert(deduplication_key(topic, keys), {publication.id, publication.sequence_number, now_});
    topic.next_sequence = {publication.sequence_number + 1};
    if (topic.archive.takes()) {
      topic.archive.messages.push_back({publication.sequence_number, now_, payload});
      trim_archive(topic, 2);  // more than comes in
    }
  }
  for (const PublishedEvent::Delivery& delivery : event.deliveries) {
    QueueState& queue = changing_queue(delivery.queue);
    if (may_be_due(queue)) bring_up_to_date(queue);
    if (delivery.enveloped) ++subscription_by_number(delivery.subscription)->references;
    queue::Arrived arrived{.id = MessageId{publication.id.derived(delivery.subscription)},
                           .sequence = {delivery.sequence},
                           .sent_at = now_,
                           .visible_at = now_ + queue.settings.delivery_delay.value(),
                           .at = now_,
                           .payload = payload,
                           .envelope = delivery.enveloped ? delivery.subscription : 0};
    arrived.group = keys.group;
    if (queue.settings.fifo) arrived.deduplication = deduplication_key(queue, keys);
    queue.messages.apply(arrived);
    ++queue.counters.sent;
    queue.counters.sent_bytes += payloads_.bytes(payload);
    queue.counters.sent_sizes.add(payloads_.bytes(payload));
    note_arrival(queue);
    note_deadline_of_arrival(queue, arrived.visible_at);
  }
}

void EngineCore::apply(const ReceivedEvent& event) {
  queue::Queue& messages = changing_queue(event.queue).messages;
  for (const std::uint64_t sequence : event.sequences)
    if (messages.find({sequence}) != nullptr) messages.apply(queue::Leased{{sequence}, event.epoch, now_, event.until});
}

void EngineCore::apply(const AttemptedEvent& event) {
  apply(static_cast<const ReceivedEvent&>(event));
  note_attempt(*queue_by_number(event.queue), event);
}

void EngineCore::apply(const RepeatedEvent& event) {
  QueueState& queue = changing_queue(event.queue);
  for (const std::uint64_t sequence : event.sequences)
    if (queue.messages.find({sequence}) != nullptr) queue.messages.apply(queue::VisibilityChanged{{sequence}, now_, event.until});
  queue.attempts.lease(event.attempt, event.until);
}

void EngineCore::apply(const DeletedEvent& event) {
  QueueState& queue = changing_queue(event.queue);
  for (const std::uint64_t sequence : event.sequences) {
    if (queue.messages.find({sequence}) == nullptr) continue;  // a batch may name one message twice
    release(queue.messages.apply(queue::Removed{{sequence}, now_}));
    ++queue.counters.deleted;
  }
}

void EngineCore::apply(const VisibilityChangedEvent& event) {
  queue::Queue& messages = changing_queue(event.queue).messages;
  for (const auto& [sequence, until] : event.changes)
    if (messages.find({sequence}) != nullptr) messages.apply(queue::VisibilityChanged{{sequence}, now_, until});
}

void EngineCore::apply(const DeadLetteredEvent& event) {
  QueueState& from = changing_queue(event.queue);
  QueueState& to = changing_queue(event.to_queue);
  if (from.messages.find({event.sequence}) == nullptr) return;
  // The group may go with its last message.
  const std::string group{from.messages.group_of(*from.messages.find({event.sequence}))};
  const queue::Entry entry = from.messages.apply(queue::Removed{{event.sequence}, now_});
  if (entry.dead_letter_source != 0) {
    QueueState& source = *queue_by_number(entry.dead_letter_source);
    --source.references;
    forget_if_unused(source);
  }
  ++from.references;
  // A standard queue's message keeps its age, a FIFO queue's begins anew. [SQS dead-letter queues]
  const bool anew = to.settings.fifo;
  to.messages.apply(queue::Arrived{.id = entry.id,
                                   .sequence = {event.to_sequence},
                                   .sent_at = anew ? now_ : entry.sent_at,
                                   .visible_at = event.visible_at,
                                   .at = now_,
                                   .payload = entry.payload,
                                   .group = group,
                                   .envelope = entry.envelope,
                                   .dead_letter_source = from.id.number,
                                   .receipt = entry.receipt,
                                   .undelivered = entry.undelivered,
                                   .first_received_ms = anew ? std::min(entry.first_received_ms, 1u)
                                                             : entry.first_received_ms});
}

void EngineCore::apply(const MessageMovedEvent& event) {
  QueueState& from = changing_queue(event.queue);
  QueueState& to = changing_queue(event.to_queue);
  if (MoveTask* task = from.running_move()) count_moved(*task, now_);
  if (from.messages.find({event.sequence}) == nullptr) return;
  const std::string group{from.messages.group_of(*from.messages.find({event.sequence}))};
  const queue::Entry entry = from.messages.apply(queue::Removed{{event.sequence}, now_});
  if (entry.dead_letter_source != 0) {
    QueueState& source = *queue_by_number(entry.dead_letter_source);
    --source.references;
    forget_if_unused(source);
  }
  to.messages.apply(queue::Arrived{.id = MessageId{entry.id.derived(event.to_sequence)},
                                   .sequence = {event.to_sequence},
                                   .sent_at = now_,
                                   .visible_at = now_ + to.settings.delivery_delay.value(),
                                   .at = now_,
                                   .payload = entry.payload,
                                   .group = group,
                                   .envelope = entry.envelope});
}

void EngineCore::apply(const MoveTaskStartedEvent& event) {
  constexpr std::size_t kTasksKept = 10;
  std::vector<MoveTask>& tasks = changing_queue(event.queue).move_tasks;
  if (tasks.size() == kTasksKept) tasks.erase(tasks.begin());
  MoveTask& task = tasks.emplace_back();
  task.id = event.task;
  task.destination = event.destination;
  task.per_second_max = event.per_second_max;
  task.to_move = event.to_move;
  task.started_at = task.paced_from = now_;
}

void EngineCore::apply(const MoveTaskEndedEvent& event) {
  MoveTask* task = changing_queue(event.queue).running_move();
  if (task == nullptr) return;
  task->status = event.status;
  task->failure = event.failure;
}

void EngineCore::apply(const UndeliveredEvent& event) {
  queue::Queue& messages = changing_queue(event.queue).messages;
  for (const std::uint64_t sequence : event.sequences)
    if (messages.find({sequence}) != nullptr) messages.apply(queue::Undelivered{{sequence}, now_});
}

void EngineCore::apply(const RelocatedEvent& event, LogPosition position) {
  FANFARE_ASSERT(saving_ == nullptr, "a snapshot tells where contents lay at its begin");
  const queue::Entry* entry = queue_by_number(event.queue)->messages.find({event.sequence});
  if (entry != nullptr) payloads_.move(entry->payload, position);
}

// ---- Queues -------------------------------------------------------------------------------------------------------------

QueueState& EngineCore::insert_queue(std::unique_ptr<QueueState> queue) {
  QueueState& inserted = *queue;
  const std::uint32_t number = inserted.id.number;
  if (queues_.size() <= number) queues_.resize(number + 1);
  queues_[number] = std::move(queue);
  if (!inserted.deleted) {
    queues_by_key_.emplace(inserted.key.view(), &inserted);
    queue_names_.emplace(inserted.key.view(), &inserted);
  }
  return inserted;
}

void EngineCore::set_settings(QueueState& queue, const queue::QueueSettings& settings) {
  if (queue.settings.policy != settings.policy) {
    queue.policy = parsed(settings.policy);
    ++queue.policy_generation;
  }
  queue.settings = settings;
  queue.messages.set_delay(settings.delivery_delay);
}

void EngineCore::apply(const QueueCreatedEvent& event) {
  QueueState& queue =
      insert_queue(std::make_unique<QueueState>(QueueId{event.queue}, event.key, SequenceNumber{event.first_sequence},
                                                event.settings.fifo));
  set_settings(queue, event.settings);
  queue.created_at = queue.changed_at = now_;
  queue.tags = {event.tags.begin(), event.tags.end()};
  deleted_queues_.erase(event.key);
}

void EngineCore::apply(const QueueChangedEvent& event) {
  QueueState& queue = changing_queue(event.queue);
  set_settings(queue, event.settings);
  queue.changed_at = now_;
}

void EngineCore::apply(const QueueDeletedEvent& event) {
  QueueState& queue = changing_queue(event.queue);
  queues_by_key_.erase(queue.key.view());
  queue_names_.erase(queue.key.view());
  if (queue.registered) due_.erase({*queue.registered, queue.id.number});
  queue.registered.reset();
  queue.move_tasks.clear();
  note_move(queue);
  for (; !deletions_.empty() && deletions_.front().first + kNameReservedFor <= now_; deletions_.pop_front()) {
    const auto deleted = deleted_queues_.find(deletions_.front().second);
    if (deleted != deleted_queues_.end() && deleted->second == deletions_.front().first) deleted_queues_.erase(deleted);
  }
  deleted_queues_.insert_or_assign(queue.key, now_);
  deletions_.emplace_back(now_, queue.key);
  queue.deleted = true;
  discard_attempts(queue);
  discard_messages(queue, queue::Queue{});
  forget_if_unused(queue);
}

void EngineCore::apply(const QueuePurgedEvent& event) {
  QueueState& queue = changing_queue(event.queue);
  const SequenceNumber next = queue.messages.next_sequence();
  discard_messages(queue, queue::Queue{next, queue.settings.fifo});
  queue.messages.set_delay(queue.settings.delivery_delay);
  queue.purged_at = now_;
}

void EngineCore::apply(const QueueTaggedEvent& event) {
  changing_queue(event.queue).tags = {event.tags.begin(), event.tags.end()};
}

// ---- Topics and subscriptions -------------------------------------------------------------------------------------------

TopicState& EngineCore::insert_topic(std::unique_ptr<TopicState> topic) {
  TopicState& inserted = *topic;
  const std::uint32_t number = inserted.id.number;
  if (topics_.size() <= number) topics_.resize(number + 1);
  topics_[number] = std::move(topic);
  topics_by_key_.emplace(inserted.key.view(), &inserted);
  topic_names_.emplace(inserted.key.view(), &inserted);
  return inserted;
}

void EngineCore::set_settings(TopicState& topic, const topic::TopicSettings& settings) {
  if (topic.settings.policy != settings.policy) topic.policy = parsed(settings.policy);
  ++outbound_generation_;
  topic.settings = settings;
  set_archive(topic);
}

void EngineCore::apply(const TopicCreatedEvent& event) {
  auto fresh = std::make_unique<TopicState>();
  fresh->id = {event.topic};
  fresh->key = event.key;
  fresh->arn = event.key.arn().str();
  fresh->created_at = now_;
  fresh->next_sequence = {event.first_sequence};
  TopicState& topic = insert_topic(std::move(fresh));
  set_settings(topic, event.settings);
  topic.tags = {event.tags.begin(), event.tags.end()};
}

void EngineCore::apply(const TopicChangedEvent& event) { set_settings(changing_topic(event.topic), event.settings); }

void EngineCore::apply(const TopicDeletedEvent& event) {
  TopicState& topic = changing_topic(event.topic);
  ++outbound_generation_;
  std::vector<SubscriptionState*> subscriptions = topic.subscriptions;
  subscriptions.insert(subscriptions.end(), topic.leaving.begin(), topic.leaving.end());
  for (SubscriptionState* subscription : subscriptions) {
    will_change(*subscription);
    forget_pending(*subscription);
    forget_replay(*subscription);
    forget_names(*subscription);
    subscription->deleted = true;
    forget_if_unused(*subscription);
  }
  discard_archived(topic, std::exchange(topic.archive.messages, {}));
  note_archive(topic);
  topics_by_key_.erase(topic.key.view());
  topic_names_.erase(topic.key.view());
  window_garbage_.push_back(std::move(topic.deduplication));
  if (saving_ != nullptr) {
    // Garbage stays where it is while a snapshot is made.
    if (const auto window = saving_->windows.find(event.topic); window != saving_->windows.end()) window->second.ids = &window_garbage_.back();
    if (const auto archive = saving_->archives.find(event.topic); archive != saving_->archives.end()) archive->second.places.pop_back();
  }
  topics_[event.topic].reset();
}

void EngineCore::apply(const TopicTaggedEvent& event) {
  changing_topic(event.topic).tags = {event.tags.begin(), event.tags.end()};
}

SubscriptionState& EngineCore::insert_subscription(std::unique_ptr<SubscriptionState> subscription) {
  SubscriptionState& inserted = *subscription;
  const std::uint32_t number = inserted.id.number;
  if (subscriptions_.size() <= number) subscriptions_.resize(number + 1);
  subscriptions_[number] = std::move(subscription);
  if (inserted.protocol == topic::DeliveryProtocol::Sqs) {
    if (const auto key = queue::parse_queue_arn(inserted.endpoint)) inserted.queue.emplace(*key);
  } else if (is_outbound(inserted.protocol)) {
    inserted.queue.emplace(AccountId{kOutboundAccount}, inserted.topic_key.region, QueueName{inserted.uuid.str()});
    ++outbound_generation_;
  }
  if (!inserted.deleted) {
    topics_[inserted.topic.number]->subscriptions.push_back(&inserted);
    subscriptions_by_uuid_.emplace(uuid_key(inserted.uuid), &inserted);
    subscriptions_by_endpoint_.emplace(endpoint_key(inserted.topic, inserted.protocol, inserted.endpoint), &inserted);
  }
  return inserted;
}

void EngineCore::forget_names(const SubscriptionState& subscription) {
  subscriptions_by_uuid_.erase(uuid_key(subscription.uuid));
  forget_endpoint(subscription);
}

// Another subscription may have taken its place since it left.
void EngineCore::forget_endpoint(const SubscriptionState& subscription) {
  const auto place = subscriptions_by_endpoint_.find(endpoint_key(subscription.topic, subscription.protocol, subscription.endpoint));
  if (place != subscriptions_by_endpoint_.end() && place->second == &subscription) subscriptions_by_endpoint_.erase(place);
}

void EngineCore::set_settings(SubscriptionState& subscription, const topic::SubscriptionSettings& settings) {
  take_out_of_index(subscription);
  if (is_outbound(subscription.protocol)) ++outbound_generation_;
  const topic::SubscriptionSettings& before = subscription.settings;
  if (before.filter_policy != settings.filter_policy || before.filter_scope != settings.filter_scope) {
    subscription.filter.reset();
    if (!settings.filter_policy.empty()) {
      auto filter = topic::FilterPolicy::parse(settings.filter_policy, settings.filter_scope);
      FANFARE_ASSERT(filter.has_value(), filter.error().message);
      subscription.filter.emplace(std::move(*filter));
    }
  }
  subscription.settings = settings;
  put_in_index(subscription);
}

void EngineCore::put_in_index(SubscriptionState& subscription) {
  if (subscription.deleted || !subscription.token.empty() || owes_replay(subscription)) return;
  if (subscription.replay && (subscription.replay->running || subscription.replay->is_closed())) return;
  TopicState& topic = *topics_[subscription.topic.number];
  if (subscription.filter) return topic.filtered.add(subscription.id.number, *subscription.filter);
  const auto by_age = [](const SubscriptionState* a, const SubscriptionState* b) { return a->id < b->id; };
  topic.unfiltered.insert(std::lower_bound(topic.unfiltered.begin(), topic.unfiltered.end(), &subscription, by_age), &subscription);
}

void EngineCore::take_out_of_index(SubscriptionState& subscription) {
  if (subscription.deleted) return;
  TopicState& topic = *topics_[subscription.topic.number];
  topic.filtered.remove(subscription.id.number);
  std::erase(topic.unfiltered, &subscription);
}

void EngineCore::apply(const SubscriptionCreatedEvent& event) {
  auto fresh = std::make_unique<SubscriptionState>();
  fresh->id = {event.subscription};
  fresh->topic = {event.topic};
  fresh->topic_key = topics_[event.topic]->key;
  fresh->uuid = event.uuid;
  fresh->protocol = event.protocol;
  fresh->endpoint = event.endpoint;
  fresh->owner = event.owner;
  fresh->principal = event.principal;
  fresh->token = event.token;
  fresh->authenticated = event.authenticated;
  fresh->created_at = now_;
  set_settings(insert_subscription(std::move(fresh)), event.settings);
  note_pending(*subscription_by_number(event.subscription));
}

void EngineCore::apply(const SubscriptionChangedEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  will_change(subscription);
  set_settings(subscription, event.settings);
  if (subscription.replay && event.settings.replay_policy.empty()) stop_replay(subscription, ReplayStatus::Stopped);
}

void EngineCore::apply(const SubscriptionDeletedEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  will_change(subscription);
  TopicState& topic = changing_topic(subscription.topic.number);
  take_out_of_index(subscription);
  forget_replay(subscription);
  if (is_outbound(subscription.protocol)) ++outbound_generation_;
  forget_pending(subscription);
  std::erase(topic.subscriptions, &subscription);
  std::erase(topic.leaving, &subscription);
  if (subscription.token.empty()) ++topic.subscriptions_deleted;
  forget_names(subscription);
  subscription.deleted = true;
  forget_if_unused(subscription);
}

void EngineCore::apply(const SubscriptionConfirmedEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  will_change(subscription);
  forget_pending(subscription);
  subscription.token.clear();
  subscription.authenticated = event.authenticated;
  if (is_outbound(subscription.protocol)) ++outbound_generation_;
  take_out_of_index(subscription);
  put_in_index(subscription);
}

void EngineCore::apply(const SubscriptionLeftEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  will_change(subscription);
  subscription.token = event.token;
  ++changing_topic(subscription.topic.number).subscriptions_deleted;
  set_leaving(subscription, now_);
}

void EngineCore::set_leaving(SubscriptionState& subscription, Timestamp at) {
  TopicState& topic = *topics_[subscription.topic.number];
  ++outbound_generation_;
  take_out_of_index(subscription);
  std::erase(topic.subscriptions, &subscription);
  forget_endpoint(subscription);
  topic.leaving.push_back(&subscription);
  subscription.left_at = at;
  note_pending(subscription);
}

void EngineCore::apply(const SubscriptionRestoredEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  will_change(subscription);
  TopicState& topic = changing_topic(subscription.topic.number);
  forget_pending(subscription);
  std::erase(topic.leaving, &subscription);
  subscription.left_at.reset();
  subscription.token.clear();
  subscription.authenticated = event.authenticated;
  --topic.subscriptions_deleted;
  const auto by_age = [](const SubscriptionState* a, const SubscriptionState* b) { return a->id < b->id; };
  topic.subscriptions.insert(std::lower_bound(topic.subscriptions.begin(), topic.subscriptions.end(), &subscription, by_age), &subscription);
  subscriptions_by_endpoint_.emplace(endpoint_key(subscription.topic, subscription.protocol, subscription.endpoint), &subscription);
  ++outbound_generation_;
  put_in_index(subscription);
}

void EngineCore::apply(const DirectoryChangedEvent& event) {
  for (const topic::DirectoryChange& change : event.changes) directory_.apply(change);
}

// ---- Replay -------------------------------------------------------------------------------------------------------------

namespace {

bool names_live(const QueueState* queue) { return queue != nullptr && !queue->deleted; }

}  // namespace

// False if the event names what is not there: the record is damaged, or one before it is missing.
bool EngineCore::replay_event(const DecodedRecord& record, LogPosition position) {
  const auto queue_of = [&](std::uint32_t number) { return names_live(queue_by_number(number)); };
  const auto topic_of = [&](std::uint32_t number) { return number < topics_.size() && topics_[number] != nullptr; };
  const auto subscription_of = [&](std::uint32_t number) {
    const SubscriptionState* subscription = subscription_by_number(number);
    return subscription != nullptr && !subscription->deleted;
  };
  const auto content_bytes = static_cast<std::uint32_t>(record.content.size());
  return std::visit(
      [&](const auto& event) {
        using E = std::decay_t<decltype(event)>;
        if constexpr (std::is_same_v<E, PublishedEvent>) {
          const auto content = message::ContentView::decode(record.content);
          if (!content || !content->publication() || !topic_of(event.topic)) return false;
          const TopicState& topic = *topics_[event.topic];
          const std::uint64_t sequence = content->publication()->sequence_number;
          if (topic.settings.fifo && (sequence < topic.next_sequence.value || content->group_id().empty())) return false;
          for (const PublishedEvent::Delivery& delivery : event.deliveries)
            if (!queue_of(delivery.queue) || !subscription_of(delivery.subscription) ||
                delivery.sequence < queue_by_number(delivery.queue)->messages.next_sequence().value ||
                (queue_by_number(delivery.queue)->settings.fifo && content->group_id().empty()))
              return false;
          const std::uint32_t references = static_cast<std::uint32_t>(event.deliveries.size()) + (topic.archive.takes() ? 1 : 0);
          const std::uint32_t payload =
              references == 0 ? 0 : payloads_.add(position, record.content, content_bytes, references);
          apply(event, {content->group_id(), content->deduplication_id()}, *content->publication(), payload);
        } else if constexpr (std::is_same_v<E, DirectoryChangedEvent>) {
          for (const topic::DirectoryChange& change : event.changes)
            if (change.kind < topic::DirectoryKind::Application) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, TopicCreatedEvent>) {
          if (event.topic != topics_.size() || find_topic(event.key.view()) != nullptr) return false;
          if (!event.settings.policy.empty() && !policy::Policy::parse(event.settings.policy)) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, TopicChangedEvent>) {
          if (!topic_of(event.topic) || topics_[event.topic]->settings.fifo != event.settings.fifo) return false;
          if (!event.settings.policy.empty() && !policy::Policy::parse(event.settings.policy)) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, TopicDeletedEvent> || std::is_same_v<E, TopicTaggedEvent>) {
          if (!topic_of(event.topic)) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, SubscriptionCreatedEvent> || std::is_same_v<E, SubscriptionChangedEvent>) {
          if constexpr (std::is_same_v<E, SubscriptionCreatedEvent>) {
            if (!topic_of(event.topic) || event.subscription != subscriptions_.size()) return false;
          } else if (!subscription_of(event.subscription)) {
            return false;
          }
          if (!event.settings.filter_policy.empty() &&
              !topic::FilterPolicy::parse(event.settings.filter_policy, event.settings.filter_scope))
            return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, SubscriptionDeletedEvent> || std::is_same_v<E, SubscriptionConfirmedEvent>) {
          if (!subscription_of(event.subscription)) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, SubscriptionLeftEvent>) {
          if (!subscription_of(event.subscription) || event.token.empty()) return false;
          const SubscriptionState& subscription = *subscription_by_number(event.subscription);
          if (subscription.left_at || !is_outbound(subscription.protocol)) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, SubscriptionRestoredEvent>) {
          if (!subscription_of(event.subscription) || !subscription_by_number(event.subscription)->left_at) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, ReplayStartedEvent>) {
          if (!subscription_of(event.subscription)) return false;
          // The topic's next number may still be one of an earlier start of the process: these are of the start that wrote them.
          const TopicState& topic = *topics_[subscription_by_number(event.subscription)->topic.number];
          if (!topic.settings.fifo || event.next > event.live_from) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, ReplayEndedEvent> || std::is_same_v<E, ReplayedEvent>) {
          if (!subscription_of(event.subscription)) return false;
          const SubscriptionState& subscription = *subscription_by_number(event.subscription);
          if (!subscription.replay || !subscription.replay->running) return false;
          if constexpr (std::is_same_v<E, ReplayedEvent>) {
            const TopicState& topic = *topics_[subscription.topic.number];
            if (event.next < subscription.replay->next) return false;
            std::map<std::uint32_t, std::uint64_t> next_sequences;
            for (const ReplayedEvent::Delivery& delivery : event.deliveries) {
              const auto place = topic.archive.from_sequence(delivery.publication);
              if (place == topic.archive.messages.end() || place->sequence != delivery.publication) return false;
              if (!queue_of(delivery.queue)) return false;
              const QueueState& queue = *queue_by_number(delivery.queue);
              if (queue.settings.fifo && delivery.group.empty()) return false;
              std::uint64_t& next = next_sequences.emplace(delivery.queue, queue.messages.next_sequence().value).first->second;
              if (delivery.sequence < next) return false;
              next = delivery.sequence + 1;
            }
          }
          apply(event);
        } else if constexpr (std::is_same_v<E, ArchiveRelocatedEvent>) {
          if (!topic_of(event.topic) || record.content.empty()) return false;
          apply(event, position);
        } else if constexpr (std::is_same_v<E, ArchiveForgottenEvent>) {
          if (!topic_of(event.topic)) return false;
          apply(event);
        } else if constexpr (std::is_same_v<E, QueueCreatedEvent>) {
          if (event.queue != queues_.size() || find_queue(event.key.view()) != nullptr) return false;
          if (!event.settings.policy.empty() && !policy::Policy::parse(event.settings.policy)) return false;
          apply(event);
        } else {
          // All others are about one queue.
          if (!queue_of(event.queue)) return false;
          QueueState& queue = changing_queue(event.queue);
          bring_up_to_date(queue);
          if constexpr (std::is_same_v<E, SentEvent>) {
            if (record.content.empty() || event.sequence < queue.messages.next_sequence().value) return false;
            const auto content = message::ContentView::decode(record.content);
            if (!content || (queue.settings.fifo && content->group_id().empty())) return false;
            const ContentKeys keys{content->group_id(), content->deduplication_id()};
            std::optional<message::DeduplicationWindow::Key> deduplication;
            if (queue.settings.fifo) deduplication = deduplication_key(queue, keys);
            apply(event, keys.group, deduplication, payloads_.add(position, record.content, content_bytes, 1));
          } else if constexpr (std::is_same_v<E, RelocatedEvent>) {
            apply(event, position);
          } else if constexpr (std::is_same_v<E, DeadLetteredEvent> || std::is_same_v<E, MessageMovedEvent>) {
            if (!queue_of(event.to_queue) || event.to_queue == event.queue) return false;
            QueueState& to = *queue_by_number(event.to_queue);
            if (to.settings.fifo != queue.settings.fifo) return false;
            bring_up_to_date(to);
            if (event.to_sequence < to.messages.next_sequence().value) return false;
            apply(event);
            note_deadline(to);
          } else {
            if constexpr (std::is_same_v<E, MoveTaskStartedEvent>) {
              if (queue.running_move() != nullptr || event.per_second_max > kMovesPerSecondMax) return false;
            }
            if constexpr (std::is_same_v<E, QueueChangedEvent>) {
              if (!event.settings.policy.empty() && !policy::Policy::parse(event.settings.policy)) return false;
              if (event.settings.fifo != queue.settings.fifo) return false;
            }
            apply(event);
          }
          if (queue_of(event.queue)) note_deadline(queue);
        }
        return true;
      },
      record.event);
}

Result<Success, ReplayError> EngineCore::replay(std::string_view record, LogPosition position) {
  const auto decoded = decode_record(record);
  if (!decoded) return decoded.error() == RecordError::Damaged ? ReplayError::Damaged : ReplayError::UnknownVersion;
  now_ = std::max(now_, decoded->at);
  recorded_at_ = now_;
  payloads_.free_condemned();
  if (!replay_event(*decoded, position)) return ReplayError::Damaged;
  log_end_ = options_.frame.after(position, record.size());
  collect_garbage(64);
  return Success{};
}

void EngineCore::start(LogPosition log_end, Timestamp now) {
  FANFARE_ASSERT(saving_ == nullptr);
  log_end_ = log_end;
  // What had expired when the log ended has gone already.
  while (!due_.empty() && due_.begin()->first <= now_) advance_due();
  for (const auto& topic : topics_)
    if (topic != nullptr) trim_archive(*topic, topic->archive.messages.size());
  expired_ = false;
  now_ = std::max(now_, now);
  const SequenceNumber first = SequenceNumber::first_of(options_.epoch);
  for (const auto& queue : queues_) {
    if (queue == nullptr || queue->deleted) continue;
    queue->messages.raise_next_sequence(first);
    queue->counters = {};
    note_move(*queue);
  }
  for (const auto& topic : topics_)
    if (topic != nullptr && topic->next_sequence < first) topic->next_sequence = first;
  owed_replays_.clear();
  for (const auto& subscription : subscriptions_)
    if (subscription != nullptr && owes_replay(*subscription)) owed_replays_.push_back(subscription->id.number);
  note_replays();
  payloads_.free_condemned();
}

}  // namespace fanfare::engine
