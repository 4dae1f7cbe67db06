// Publish: which subscriptions want the message, which queues may have it, one record and one content for all of them.
#include <fmt/format.h>

#include <algorithm>

#include "core/engine/engine_core.h"
#include "core/engine/record.h"
#include "core/topic/envelope.h"

namespace fanfare::engine {
namespace {

using Code = TopicError::Code;
using Reason = FailedDelivery::Reason;

constexpr std::string_view kServicePrincipal = "sns.amazonaws.com";
constexpr std::size_t kFailedKept = 256;
// Raw delivery maps attributes to those of the queue's message, which has at most 10. [SNS raw message delivery]
constexpr std::size_t kRawAttributesMax = 10;
// Signature, certificate URL and unsubscribe URL are added when the message is received; they take less than this.
constexpr std::uint64_t kSignatureBytesMax = 1'536;

}  // namespace

std::optional<TopicError> EngineCore::check_publication(const TopicState& topic, const OutgoingPublication& publication) const {
  const message::Content& content = publication.content;
  const auto error = [](Code code) { return TopicError{code, {}, std::nullopt}; };
  if (topic.settings.fifo) {
    if (content.group_id.empty()) return error(Code::MessageGroupIdMissing);
    const bool from_content =
        topic.settings.content_based_deduplication && !publication.content_deduplication_id.empty();
    if (content.deduplication_id.empty() && !from_content) return error(Code::DeduplicationIdMissing);
  } else if (!content.deduplication_id.empty()) {
    return error(Code::DeduplicationIdOnStandardTopic);
  }
  return std::nullopt;
}

void EngineCore::run(const Caller& caller, const Publish& command) {
  TopicState* topic = topic_for(caller, command.topic, "sns:Publish");
  if (topic == nullptr || refused_by_storage(caller)) return;
  if (auto bad = check_publication(*topic, command.publication)) return reply(caller.id, std::move(*bad));
  const LogPosition before = log_end_;
  const Published published = publish(*topic, command.publication);
  // It reached no queue: there is nothing to keep. A duplicate waits for the first, which may be on its way to the disk.
  if (log_end_ == before && !topic->settings.fifo) return reply(caller.id, published);
  reply_when_durable(caller.id, published);
}

void EngineCore::run(const Caller& caller, const PublishBatch& command) {
  TopicState* topic = topic_for(caller, command.topic, "sns:Publish");
  if (topic == nullptr || refused_by_storage(caller)) return;
  BatchPublished published;
  published.results.reserve(command.publications.size());
  // An entry that cannot be published refuses the whole batch, as AWS does.
  for (const OutgoingPublication& publication : command.publications)
    if (auto bad = check_publication(*topic, publication)) return reply(caller.id, std::move(*bad));
  for (const OutgoingPublication& publication : command.publications) published.results.emplace_back(publish(*topic, publication));
  reply_when_durable(caller.id, std::move(published));
}

Published EngineCore::publish(TopicState& topic, const OutgoingPublication& publication) {
  message::Content content = publication.content;
  FANFARE_ASSERT(content.publication.has_value());
  content.publication->published_at = now_;
  const bool fifo = topic.settings.fifo;
  if (fifo) {
    if (content.deduplication_id.empty()) content.deduplication_id = publication.content_deduplication_id;
    const auto* first = topic.deduplication.find(deduplication_key(topic, {content.group_id, content.deduplication_id}), now_);
    if (first != nullptr) return {PublicationId{first->id}, SequenceNumber{first->sequence_number}};
    content.publication->sequence_number = topic.next_sequence.value;
  }
  ++topic.counters.published;
  const std::uint64_t counted = message::counted_bytes(content);
  topic.counters.published_bytes += counted;
  topic.counters.published_sizes.add(counted);
  published_.topic = topic.id.number;
  published_.deliveries.clear();
  topic::LazyBody body{content.body};
  captures_.clear();
  passed_.clear();
  if (topic.filtered.size() > 0) {
    topic::FilterTally tally;
    topic.filtered.match(content.attributes, body, passed_, tally);
    topic.counters.filtered_no_attributes += tally.no_attributes;
    topic.counters.filtered_invalid_attributes += tally.invalid_attributes;
    topic.counters.filtered_invalid_body += tally.invalid_body;
    topic.counters.filtered += tally.mismatch;
  }
  // Both lists by age, so that the order does not depend on who has a filter.
  auto filtered = passed_.begin();
  for (SubscriptionState* subscription : topic.unfiltered) {
    for (; filtered != passed_.end() && *filtered < subscription->id.number; ++filtered)
      deliver(topic, *subscriptions_[*filtered], content);
    deliver(topic, *subscription, content);
  }
  for (; filtered != passed_.end(); ++filtered) deliver(topic, *subscriptions_[*filtered], content);
  // Without a receiver there is nothing to keep, but for a FIFO topic's number and the id that it now knows.
  if (!published_.deliveries.empty() || fifo) {
    const std::size_t start = outputs_->record_bytes.size();
    const LogPosition position = log_end_;
    const std::string_view bytes = encode_record_with(published_, now_, content, outputs_->record_bytes);
    finish_record(start);
    const std::uint32_t references = static_cast<std::uint32_t>(published_.deliveries.size()) + (topic.archive.takes() ? 1 : 0);
    const std::uint32_t payload =
        references == 0 ? 0 : payloads_.add(position, bytes, static_cast<std::uint32_t>(bytes.size()), references);
    apply(published_, {content.group_id, content.deduplication_id}, *content.publication, payload);
    for (const auto& delivery : published_.deliveries) queue_by_number(delivery.queue)->planned = 0;
    note_archive(topic);
    for (SubscriptionState* replaying : topic.archive.replaying) note_replay(*replaying);
  }
  if (!captures_.empty()) capture(topic, content);
  Published published{content.publication->id, std::nullopt, 0, now_};
  const bool shown = std::any_of(published_.deliveries.begin(), published_.deliveries.end(), [](const auto& d) { return d.enveloped; });
  if (shown && !fifo) published.signature_version = topic.settings.signature_version == 2 ? 2 : 1;
  if (fifo) published.sequence_number = SequenceNumber{content.publication->sequence_number};
  return published;
}

QueueState* EngineCore::endpoint_of(const SubscriptionState& subscription) const {
  QueueState* known = subscription.endpoint_number == 0 ? nullptr : queue_by_number(subscription.endpoint_number);
  if (known != nullptr && !known->deleted) return known;
  known = find_queue(subscription.queue->view());
  subscription.endpoint_number = known == nullptr ? 0 : known->id.number;
  return known;
}

policy::Decision EngineCore::may_deliver(const SubscriptionState& subscription, const TopicState& topic,
                                         const QueueState& queue) const {
  if (!options_.enforce_resource_policies) return {policy::Verdict::Allow, std::nullopt, false};
  if (is_outbound(subscription.protocol) && queue.id.number == subscription.endpoint_number)
    return {policy::Verdict::Allow, std::nullopt, false};
  // Without a policy even the owner's own topic is refused. [SNS sending to SQS queues]
  if (!queue.policy) return {};
  const bool is_endpoint = queue.id.number == subscription.endpoint_number;
  auto& cached = subscription.verdict;
  if (is_endpoint && cached && cached->queue == queue.id.number && cached->policy_generation == queue.policy_generation)
    return cached->decision;
  const std::string_view source_arn = topic.arn;
  const std::string_view source_account = topic.key.account.str();
  const policy::ContextEntry context[] = {{"aws:SourceArn", {&source_arn, 1}}, {"aws:SourceAccount", {&source_account, 1}}};
  policy::Request request;
  request.principal.kind = policy::Principal::Kind::Service;
  request.principal.service = kServicePrincipal;
  request.action = "sqs:SendMessage";
  request.resource = queue.arn;
  request.service_context = context;
  const policy::Decision decision = policy::evaluate(*queue.policy, request);
  // All that the decision rests on is fixed for this subscription and this policy.
  if (is_endpoint) cached = SubscriptionState::Verdict{queue.id.number, queue.policy_generation, decision};
  return decision;
}

std::string EngineCore::why_not_delivered(const TopicState& topic, const QueueState& queue) const {
  const std::string_view source_arn = topic.arn;
  const std::string_view source_account = topic.key.account.str();
  const policy::ContextEntry context[] = {{"aws:SourceArn", {&source_arn, 1}}, {"aws:SourceAccount", {&source_account, 1}}};
  policy::Question question;
  question.request.principal.kind = policy::Principal::Kind::Service;
  question.request.principal.service = kServicePrincipal;
  question.request.action = "sqs:SendMessage";
  question.request.resource = queue.arn;
  question.request.service_context = context;
  question.resource_policy = queue.policy ? &*queue.policy : nullptr;
  const policy::Outcome outcome = policy::authorize(question);
  std::string why = policy::sentence(question, outcome);
  if (outcome.verdict != policy::Verdict::ExplicitDeny)
    why += fmt::format(
        R"(; the queue's policy wants {{"Effect":"Allow","Principal":{{"Service":"{}"}},"Action":"sqs:SendMessage","Resource":"{}","Condition":{{"ArnEquals":{{"aws:SourceArn":"{}"}}}}}})",
        kServicePrincipal, queue.arn, topic.arn);
  return why;
}

std::optional<Reason> EngineCore::obstacle(const TopicState& topic, const SubscriptionState& subscription,
                                           const QueueState* queue, const message::Content& content,
                                           std::optional<policy::Decision>& decision) const {
  if (queue == nullptr) return Reason::QueueDoesNotExist;
  if (queue->settings.fifo && !topic.settings.fifo) return Reason::QueueTypeMismatch;
  const policy::Decision verdict = may_deliver(subscription, topic, *queue);
  if (verdict.verdict != policy::Verdict::Allow) {
    decision = verdict;
    return Reason::AccessDenied;
  }
  const auto limit = static_cast<std::uint64_t>(queue->settings.maximum_message_size.count());
  std::uint64_t bytes = message::counted_bytes(content);
  if (subscription.settings.raw_delivery) {
    // Raw to an HTTP endpoint there are none.
    if (content.attributes.size() > kRawAttributesMax && subscription.protocol == topic::DeliveryProtocol::Sqs)
      return Reason::TooManyAttributes;
  } else if (bytes * 6 + kSignatureBytesMax * 2 > limit) {  // every byte may need six when it is escaped
    bytes = topic::envelope_bytes(content, {topic.arn, {}, topic::EnvelopeSignature{}}) + kSignatureBytesMax;
  }
  if (bytes > limit) return Reason::MessageTooLong;
  return std::nullopt;
}

void EngineCore::add_delivery(SubscriptionState& subscription, QueueState& queue, bool redriven) {
  published_.deliveries.push_back({subscription.id.number, queue.id.number,
                                   queue.messages.next_sequence().value + queue.planned++,
                                   !subscription.settings.raw_delivery, redriven});
}

void EngineCore::deliver(TopicState& topic, SubscriptionState& subscription, const message::Content& content) {
  if (is_captured(subscription.protocol)) {
    captures_.push_back(&subscription);
    return;
  }
  std::optional<policy::Decision> decision;
  QueueState* queue = endpoint_of(subscription);
  const auto reason = obstacle(topic, subscription, queue, content, decision);
  if (!reason) {
    if (!is_outbound(subscription.protocol)) ++topic.counters.delivered;  // else when it has reached its endpoint
    // A FIFO queue that has accepted this id already keeps the first.
    const ContentKeys keys{content.group_id, content.deduplication_id};
    const bool known =
        queue->settings.fifo && queue->messages.find_duplicate(deduplication_key(*queue, keys), now_) != nullptr;
    if (known) {
      ++queue->counters.deduplicated;
    } else {
      add_delivery(subscription, *queue, false);
    }
    return;
  }
  ++topic.counters.failed;
  FailedDelivery failed{now_,
                        subscription.id,
                        topic::subscription_arn(topic.key.view(), subscription.uuid).str(),
                        subscription.endpoint,
                        content.publication->id,
                        *reason,
                        decision,
                        false};
  if (*reason == Reason::AccessDenied) failed.why = why_not_delivered(topic, *queue);
  if (subscription.settings.redrive_policy) {
    const auto key = queue::parse_queue_arn(subscription.settings.redrive_policy->dead_letter_queue.str());
    QueueState* dead_letter_queue = key ? find_queue(*key) : nullptr;
    // What was too much for the endpoint may be fine here; the envelope or the raw form stays.
    const auto second = obstacle(topic, subscription, dead_letter_queue, content, decision);
    failed.redriven = !second || (*second == Reason::TooManyAttributes);
    if (failed.redriven) add_delivery(subscription, *dead_letter_queue, true);
    ++(failed.redriven ? topic.counters.redriven : topic.counters.redrive_failed);
  }
  note_failure(std::move(failed));
}

void EngineCore::note_failure(FailedDelivery failed) {
  failed_.push_back(std::move(failed));
  ++failed_count_;
  if (failed_.size() > kFailedKept) failed_.pop_front();
}

}  // namespace fanfare::engine
