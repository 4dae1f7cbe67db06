// Send, receive, delete and change visibility: the hot paths.
#include <algorithm>

#include "base/arn.h"
#include "base/assert.h"
#include "base/marks.h"
#include "core/engine/engine_core.h"
#include "core/engine/record.h"

namespace fanfare::engine {
namespace {

using Code = QueueError::Code;

// A receive that finds only messages to dead-letter or to drop does this many of them and then answers with what it has.
constexpr int kMovesPerReceive = 2'048;
// Queues with fewer messages are in the processor's cache: to load them before they are needed costs more than it saves.
constexpr std::size_t kMessagesInCache = 10'000;

QueueError error(Code code) { return {code, {}, {}, 0, 0}; }

}  // namespace

// ---- Send ---------------------------------------------------------------------------------------------------------------

std::optional<QueueError> EngineCore::check_message(const QueueState& queue, const OutgoingMessage& message) const {
  const queue::QueueSettings& settings = queue.settings;
  const std::uint64_t bytes = message::counted_bytes(message.content);
  const auto limit = static_cast<std::uint64_t>(settings.maximum_message_size.count());
  if (bytes > limit) return QueueError{Code::MessageTooLong, {}, {}, limit, bytes};
  if (settings.fifo) {
    if (message.content.group_id.empty()) return error(Code::MessageGroupIdMissing);
    const bool from_content = settings.content_based_deduplication && !message.content_deduplication_id.empty();
    if (message.content.deduplication_id.empty() && !from_content) return error(Code::DeduplicationIdMissing);
    if (message.delay && message.delay->count() != 0)
      return QueueError{Code::DelayOnFifoQueue, {}, {}, 0, static_cast<std::uint64_t>(message.delay->count())};
  } else if (!message.content.deduplication_id.empty()) {
    return error(Code::DeduplicationIdOnStandardQueue);
  }
  return std::nullopt;
}

MessageSent EngineCore::send(QueueState& queue, const OutgoingMessage& message,
                             const std::optional<message::DeduplicationWindow::Key>& deduplication) {
  const message::Content* content_in = &message.content;
  std::optional<message::Content> with_id;
  if (queue.settings.fifo) {
    if (message.content.deduplication_id.empty()) {
      content_in = &with_id.emplace(message.content);
      with_id->deduplication_id = message.content_deduplication_id;
    }
    if (const auto* first = queue.messages.find_duplicate(*deduplication, now_)) {
      ++queue.counters.deduplicated;
      return {MessageId{first->id}, SequenceNumber{first->sequence_number}};
    }
  }
  // A FIFO queue takes no delay of a message but zero, and that means the queue's. [quirk: zero-delay-of-fifo]
  const queue::DeliveryDelay delay =
      queue.settings.fifo ? queue.settings.delivery_delay : message.delay.value_or(queue.settings.delivery_delay);
  const SentEvent event{queue.id.number, queue.messages.next_sequence().value, message.id, now_ + delay.value()};
  const std::size_t start = outputs_->record_bytes.size();
  const LogPosition position = log_end_;
  const std::string_view content = encode_record_with(event, now_, *content_in, outputs_->record_bytes);
  finish_record(start);
  const std::uint32_t payload = payloads_.add(position, content, static_cast<std::uint32_t>(content.size()), 1);
  apply(event, content_in->group_id, deduplication, payload);
  ++queue.counters.sent;
  const std::uint64_t counted = message::counted_bytes(message.content);
  queue.counters.sent_bytes += counted;
  queue.counters.sent_sizes.add(counted);
  note_arrival(queue);
  MessageSent sent{message.id, std::nullopt};
  if (queue.settings.fifo) sent.sequence_number = SequenceNumber{event.sequence};
  return sent;
}

void EngineCore::run(const Caller& caller, const SendMessage& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:SendMessage");
  if (queue == nullptr || refused_by_storage(caller)) return;
  if (auto bad = check_message(*queue, command.message)) return reply(caller.id, std::move(*bad));
  std::optional<message::DeduplicationWindow::Key> deduplication;
  if (queue->settings.fifo) deduplication = deduplication_key(*queue, command.message);
  const MessageSent sent = send(*queue, command.message, deduplication);
  note_deadline(*queue);
  reply_when_durable(caller.id, sent);
}

void EngineCore::run(const Caller& caller, const SendMessageBatch& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:SendMessage");
  if (queue == nullptr || refused_by_storage(caller)) return;
  if (queue->settings.fifo) {
    // What a FIFO queue cannot do without refuses the batch, not the entry. [quirk: fifo-batches-fail-whole]
    for (const OutgoingMessage& message : command.messages) {
      auto bad = check_message(*queue, message);
      if (bad && (bad->code == Code::MessageGroupIdMissing || bad->code == Code::DeduplicationIdMissing))
        return reply(caller.id, std::move(*bad));
    }
  }
  deduplications_.assign(command.messages.size(), std::nullopt);
  if (queue->settings.fifo) {
    for (std::size_t i = 0; i < command.messages.size(); ++i) {
      deduplications_[i] = deduplication_key(*queue, command.messages[i]);
      queue->messages.prefetch_places(*deduplications_[i], command.messages[i].content.group_id);
    }
    for (std::size_t i = 0; i < command.messages.size(); ++i)
      queue->messages.prefetch(*deduplications_[i], command.messages[i].content.group_id);
  }
  BatchSent sent;
  sent.results.reserve(command.messages.size());
  for (std::size_t i = 0; i < command.messages.size(); ++i) {
    if (auto bad = check_message(*queue, command.messages[i])) {
      sent.results.emplace_back(std::move(*bad));
    } else {
      sent.results.emplace_back(send(*queue, command.messages[i], deduplications_[i]));
    }
  }
  note_deadline(*queue);
  reply_when_durable(caller.id, std::move(sent));
}

// ---- Receive ------------------------------------------------------------------------------------------------------------

ReceivedMessage EngineCore::describe(const QueueState& queue, const queue::Entry& entry) const {
  ReceivedMessage message;
  message.id = entry.id;
  message.handle = {queue.id, entry.sequence, entry.receipt, entry.receive_epoch};
  message.receive_count = entry.receive_count();
  message.sent_at = entry.sent_at;
  message.first_received_at = entry.first_received_at();
  message.sequence_number = entry.sequence;
  if (entry.dead_letter_source != 0) {
    // What came out of an outbound queue has no source that anybody could name.
    const QueueKey& source = queue_by_number(entry.dead_letter_source)->key;
    if (source.account.str() != kOutboundAccount) message.dead_letter_source = &source;
  }
  message.content = payloads_.content(entry.payload);
  message.position = payloads_.position(entry.payload);
  if (entry.envelope != 0) {
    const SubscriptionState& subscription = *subscription_by_number(subscription_of_envelope(entry.envelope));
    const TopicState* topic = topics_[subscription.topic.number].get();
    const std::uint8_t version = topic == nullptr || topic->settings.signature_version == 0 ? std::uint8_t{1}
                                                                                            : topic->settings.signature_version;
    message.envelope.emplace(EnvelopeOf{&subscription.topic_key, subscription.uuid, version,
                                        is_fifo_name(subscription.topic_key.name.str()),
                                        (entry.envelope & kReplayedEnvelope) != 0});
  }
  return message;
}

bool EngineCore::take(QueueState& queue, std::int64_t max, seconds visibility, std::string_view attempt_id,
                      std::vector<ReceivedMessage>& out) {
  QueueState* dead_letter_queue = nullptr;
  if (queue.settings.redrive_policy) dead_letter_queue = find_queue(queue.settings.redrive_policy->dead_letter_queue.view());
  taken_.queue = queue.id.number;
  taken_.epoch = options_.epoch;
  taken_.until = now_ + visibility;
  taken_.sequences.clear();
  entries_.clear();
  bool at_limit = false;
  for (int moves = 0; static_cast<std::int64_t>(taken_.sequences.size()) < max && moves < kMovesPerReceive;) {
    const queue::Entry* entry = queue.messages.first_ready(entries_.empty() ? nullptr : entries_.back());
    if (entry == nullptr) break;
    if (entry->sent_at + queue.settings.retention_period.value() <= now_) {
      // Older than the retention period, and behind more of its kind than one slice removes.
      removed_.push_back(queue.messages.apply(queue::Removed{entry->sequence, now_}));
      release_expired(queue);
      ++moves;
      continue;
    }
    // What was moved here is handed out here once before it can move on: queues that are each other's dead-letter queue
    // would pass it to and fro for ever.
    const bool received_here = entry->receive_epoch != 0;
    if (dead_letter_queue != nullptr && received_here &&
        entry->receive_count() >= queue.settings.redrive_policy->max_receive_count) {
      dead_letter(queue, *entry, *dead_letter_queue);
      ++moves;
      continue;
    }
    at_limit = queue.messages.counts().in_flight >= options_.in_flight_max;
    if (at_limit) break;
    const SequenceNumber sequence = entry->sequence;
    queue.messages.apply(queue::Leased{sequence, taken_.epoch, now_, taken_.until});
    taken_.sequences.push_back(sequence.value);
    payloads_.prefetch(entry->payload);
    entries_.push_back(entry);
  }
  for (const queue::Entry* entry : entries_) payloads_.prefetch_content(entry->payload, 512);
  for (const queue::Entry* entry : entries_) out.push_back(describe(queue, *entry));
  if (!taken_.sequences.empty()) {
    const std::size_t start = outputs_->record_bytes.size();
    if (attempt_id.empty()) {
      encode_record<ReceivedEvent>(taken_, now_, {}, outputs_->record_bytes);
    } else {
      taken_.attempt = Attempt::key_of(attempt_id);
      encode_record(taken_, now_, {}, outputs_->record_bytes);
      note_attempt(queue, taken_);
    }
    finish_record(start);
    queue.counters.received += taken_.sequences.size();
  }
  note_deadline(queue);
  return at_limit;
}

void EngineCore::dead_letter(QueueState& from, const queue::Entry& entry, QueueState& to) {
  bring_up_to_date(to);
  const SequenceNumber sequence = to.messages.next_sequence();
  record(DeadLetteredEvent{from.id.number, entry.sequence.value, to.id.number, sequence.value, now_});
  to.moved_in = {sequence, log_end_};
  ++from.counters.dead_lettered;
  note_deadline(to);
  note_arrival(to);
}

void EngineCore::reply_received(const QueueState& queue, CallerId caller, const std::vector<ReceivedMessage>& messages) {
  const bool moved = std::any_of(messages.begin(), messages.end(), [&](const ReceivedMessage& message) {
    return message.sequence_number <= queue.moved_in.sequence;
  });
  outputs_->replies.push_back({caller, moved ? std::optional{queue.moved_in.log_end} : std::nullopt, MessagesReceived{messages}});
}

bool EngineCore::repeat_attempt(QueueState& queue, std::string_view attempt_id, seconds visibility,
                                std::vector<ReceivedMessage>& out) {
  const Attempt::Key key = Attempt::key_of(attempt_id);
  const Attempt* attempt = queue.attempts.find(key, now_);
  if (attempt == nullptr || !attempt->is_unchanged(queue.messages)) return false;
  RepeatedEvent event{queue.id.number, now_ + visibility, {}, key};
  for (const ReceiptHandle& handle : attempt->handles) {
    event.sequences.push_back(handle.message.value);
    out.push_back(describe(queue, *queue.messages.find(handle.message)));
  }
  record(event);
  queue.attempts.note_repeated(attempt->handles, queue.messages);
  note_arrival(queue);  // with no lease they are there for the next who asks, or waits
  note_deadline(queue);
  return true;
}

void EngineCore::note_attempt(QueueState& queue, const AttemptedEvent& event) {
  if (!queue.settings.fifo) return;  // a repaired journal has made it up
  if (event.sequences.size() > queue::MaxMessages::kMax) return;  // a record that makes no sense
  Attempt attempt{event.attempt, now_, event.until, {}};
  attempt.handles.reserve(event.sequences.size());
  for (const std::uint64_t sequence : event.sequences) {
    const queue::Entry* entry = queue.messages.find({sequence});
    if (entry == nullptr) return;
    attempt.handles.push_back({queue.id, entry->sequence, entry->receipt, event.epoch});
  }
  if (!attempt.handles.empty()) queue.attempts.note(std::move(attempt), queue.messages);
}

void EngineCore::run(const Caller& caller, const ReceiveMessages& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:ReceiveMessage");
  if (queue == nullptr) return;
  if (!command.attempt_id.empty() && !queue->settings.fifo) return reply(caller.id, error(Code::AttemptIdOnStandardQueue));
  const auto visibility = command.visibility_timeout.value_or(queue->settings.visibility_timeout);
  const auto wait = command.wait.value_or(queue->settings.receive_wait);
  // Who waits already comes first.
  serve_waiters();
  std::vector<ReceivedMessage>& messages = fresh_received();
  if (!command.attempt_id.empty() && repeat_attempt(*queue, command.attempt_id, visibility.value(), messages))
    return reply_received(*queue, caller.id, messages);
  const bool at_limit = take(*queue, command.max_messages.count(), visibility.value(), command.attempt_id, messages);
  if (!messages.empty()) return reply_received(*queue, caller.id, messages);
  if (wait.count() == 0) {
    if (at_limit && !queue->settings.fifo) return reply(caller.id, error(Code::TooManyInFlight));
    ++queue->counters.empty_receives;
    return reply(caller.id, MessagesReceived{});
  }
  const Timestamp until = now_ + wait.value();
  queue->waiters.push_back({caller.id, until, command.max_messages.count(), command.visibility_timeout,
                            std::string{command.attempt_id}});
  const bool fresh = waiters_.emplace(caller.id.value, WaiterPlace{queue->id.number, std::prev(queue->waiters.end())}).second;
  FANFARE_ASSERT(fresh);
  wait_ends_.emplace(until, caller.id.value);
}

void EngineCore::run(const ReceiveUndelivered& undelivered) {
  UndeliveredEvent event;
  for (const ReceiptHandle& handle : undelivered.handles) {
    QueueState* queue = queue_by_number(handle.queue.number);
    if (queue == nullptr || queue->deleted) continue;
    bring_up_to_date(*queue);
    if (!queue->messages.may_give_back(handle)) continue;
    // The caller asked for it again, over another connection or this one: it may have the other answer.
    if (queue->attempts.was_repeated(handle)) continue;
    event.queue = queue->id.number;
    event.sequences.assign(1, handle.message.value);
    record(event);
    note_arrival(*queue);
    note_deadline(*queue);
  }
}

// ---- Delete -------------------------------------------------------------------------------------------------------------

void EngineCore::prefetch_for_delete(const QueueState& queue, std::span<const ReceiptHandle> handles) {
  if (handles.size() < 2 || queue.messages.size() < kMessagesInCache) return;
  for (const ReceiptHandle& handle : handles) queue.messages.prefetch(handle.message);
  entries_.clear();
  for (const ReceiptHandle& handle : handles)
    if (const queue::Entry* entry = queue.messages.find(handle.message)) entries_.push_back(entry);
  for (const queue::Entry* entry : entries_) payloads_.prefetch(entry->payload);
  for (const queue::Entry* entry : entries_) payloads_.prefetch_content(entry->payload, 0);
  for (const queue::Entry* entry : entries_) payloads_.prefetch_neighbours(entry->payload);
}

std::optional<QueueError> EngineCore::decide_delete(QueueState& queue, const ReceiptHandle& handle, DeletedEvent& event) const {
  if (handle.queue != queue.id) return error(Code::ReceiptHandleOfOtherQueue);
  if (queue.settings.fifo && queue.messages.has_expired(handle)) return error(Code::ReceiptHandleExpired);
  if (queue.messages.decide_delete(handle)) event.sequences.push_back(handle.message.value);
  return std::nullopt;
}

void EngineCore::note_deleted(QueueState& queue) {
  note_arrival(queue);  // what the limit of messages in flight, or the group, kept waiting
  if (queue.messages.noisy_groups() > 0) note_deadline(queue);  // the group may be noisy since, for a time
}

void EngineCore::run(const Caller& caller, const DeleteMessage& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:DeleteMessage");
  if (queue == nullptr) return;
  deleted_.queue = queue->id.number;
  deleted_.sequences.clear();
  if (auto bad = decide_delete(*queue, command.handle, deleted_)) return reply(caller.id, std::move(*bad));
  if (deleted_.sequences.empty()) return reply(caller.id, Done{});
  record(deleted_);
  note_deleted(*queue);
  reply_when_durable(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const DeleteMessageBatch& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:DeleteMessage");
  if (queue == nullptr) return;
  BatchDone done;
  done.errors.reserve(command.handles.size());
  deleted_.queue = queue->id.number;
  deleted_.sequences.clear();
  prefetch_for_delete(*queue, command.handles);
  for (const ReceiptHandle& handle : command.handles) done.errors.push_back(decide_delete(*queue, handle, deleted_));
  if (deleted_.sequences.empty()) return reply(caller.id, std::move(done));
  record(deleted_);
  note_deleted(*queue);
  reply_when_durable(caller.id, std::move(done));
}

// ---- Change visibility --------------------------------------------------------------------------------------------------

std::optional<QueueError> EngineCore::decide_change(QueueState& queue, const ReceiptHandle& handle,
                                                    queue::VisibilityTimeout timeout, VisibilityChangedEvent& event) const {
  if (handle.queue != queue.id) return error(Code::ReceiptHandleOfOtherQueue);
  const auto change = queue.messages.decide_change(handle, timeout, now_);
  if (change) {
    event.changes.push_back({change->sequence.value, change->until});
    return std::nullopt;
  }
  switch (change.error()) {
    case queue::VisibilityError::MessageGone: return error(Code::MessageNotAvailable);
    case queue::VisibilityError::NotInflight: return std::nullopt;  // [quirk: late-change-is-taken]
    case queue::VisibilityError::BeyondTwelveHours: return error(Code::TotalVisibilityExceeded);
  }
  return std::nullopt;
}

void EngineCore::run(const Caller& caller, const ChangeVisibility& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:ChangeMessageVisibility");
  if (queue == nullptr) return;
  VisibilityChangedEvent event{queue->id.number, {}};
  if (auto bad = decide_change(*queue, command.handle, command.timeout, event)) return reply(caller.id, std::move(*bad));
  if (event.changes.empty()) return reply(caller.id, Done{});
  record(event);
  note_arrival(*queue);
  note_deadline(*queue);
  // Not waited for, like a receive: losing the record can only make the message visible earlier.
  reply(caller.id, Done{});
}

void EngineCore::run(const Caller& caller, const ChangeVisibilityBatch& command) {
  QueueState* queue = queue_for(caller, command.queue, "sqs:ChangeMessageVisibility");
  if (queue == nullptr) return;
  BatchDone done;
  VisibilityChangedEvent event{queue->id.number, {}};
  for (const auto& [handle, timeout] : command.entries) done.errors.push_back(decide_change(*queue, handle, timeout, event));
  if (!event.changes.empty()) record(event);
  note_arrival(*queue);
  note_deadline(*queue);
  reply(caller.id, std::move(done));
}

}  // namespace fanfare::engine
