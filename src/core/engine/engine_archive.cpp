// Archives of FIFO topics, and what replays them to subscriptions.
//
// Rule 1: a replay is a part of its subscription's durable state; each slice is one record, so a restart goes on where the
//         process stopped. Nobody is handed a replayed message before its record is durable, so that none comes twice.
// Rule 2: while a replay runs its subscription gets everything through it, in the order of the topic. What is new follows
//         what is old, and nothing overtakes.
// Rule 3: a replay needs contents for filters and sizes. Those that are not in memory it asks the shell for, and waits: what cannot be
//         read now may be readable in a moment, and what is left out of a replay is left out for good.
// Rule 4: a replayed message passes by its queue's deduplication: it was asked for. What is new does not.
// Source: [SNS message archiving and replay], [SNS Subscribe ReplayPolicy].
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/engine/engine_core.h"
#include "core/engine/record.h"
#include "core/topic/archive_policy.h"

namespace fanfare::engine {
namespace {

using Code = TopicError::Code;
using Status = ReplayStatus;

// What a slice takes in hand, so that it holds the engine for some tenths of a millisecond. Filters on bodies parse them.
constexpr std::size_t kPerSlice = 128;
constexpr std::uint64_t kBytesPerSlice = 128 * 1024;
// Contents that are read ahead for the slices that follow.
constexpr std::size_t kReadAhead = 32;
constexpr std::uint64_t kReadAheadBytes = 256 * 1024;
constexpr std::size_t kRunningPerAccountMax = 100;
constexpr seconds kRetry{1};
constexpr milliseconds kMoment{1};

TopicError error(Code code, std::string detail = {}) { return {code, std::move(detail), std::nullopt}; }

}  // namespace

std::uint64_t TopicArchive::held_from() const {
  std::uint64_t held = ~std::uint64_t{0};
  for (const SubscriptionState* subscription : replaying) held = std::min(held, subscription->replay->holds_from());
  return held;
}

// ---- The archive --------------------------------------------------------------------------------------------------------

void EngineCore::set_archive(TopicState& topic) {
  TopicArchive& archive = topic.archive;
  const auto policy = topic::ArchivePolicy::parse(topic.settings.archive_policy);
  const bool wanted = topic.settings.fifo && policy && policy->days > 0;  // an older version took any JSON object
  if (wanted) {
    // Neither a longer retention nor a new policy brings back what is dead already: not even what was published in this millisecond.
    if (!archive.is_active()) {
      const auto held = archive.from_sequence(archive.held_from());
      TopicArchive::Messages kept(held, archive.messages.cend());
      archive.messages.erase(held, archive.messages.cend());
      discard_archived(topic, std::exchange(archive.messages, std::move(kept)));
    }
    archive.from = archive.is_active() ? std::max(archive.from, now_ - std::min(archive.retention, policy->retention())) : now_;
    archive.retention = policy->retention();
  } else if (archive.is_active()) {
    archive.from = TopicArchive::kNever;
    archive.retention = milliseconds{0};
    const std::vector<SubscriptionState*> replaying = archive.replaying;
    for (SubscriptionState* subscription : replaying) stop_replay(*subscription, Status::Failed);
  }
  note_archive(topic);
}

void EngineCore::trim_archive(TopicState& topic, std::size_t budget) {
  will_change(topic);
  TopicArchive& archive = topic.archive;
  const auto dead = static_cast<std::size_t>(archive.first_living(now_) - archive.messages.begin());
  if (dead > 0) expired_ = true;
  for (std::size_t i = 0; i < std::min(dead, budget); ++i) {
    keep_archived(topic, archive.messages.front());
    payloads_.release(archive.messages.front().payload);
    archive.messages.pop_front();
  }
}

void EngineCore::note_archive(TopicState& topic) {
  TopicArchive& archive = topic.archive;
  std::optional<Timestamp> next;
  if (!archive.messages.empty()) {
    const ArchivedMessage& oldest = archive.messages.front();
    // What is held without being alive goes when its replay has passed it, and that is told here.
    if (!archive.lives(oldest, now_)) next = now_;
    else if (archive.is_active() && oldest.published_at >= archive.beginning(now_)) next = oldest.published_at + archive.retention + kMoment;
  }
  if (archive.registered == next) return;
  if (archive.registered) archives_due_.erase({*archive.registered, topic.id.number});
  archive.registered = next;
  if (next) archives_due_.emplace(*next, topic.id.number);
}

void EngineCore::run_archives(std::size_t budget) {
  std::vector<std::uint32_t> due;
  for (const auto& [at, number] : archives_due_) {
    if (at > now_) break;
    due.push_back(number);
  }
  for (const std::uint32_t number : due) {
    trim_archive(*topics_[number], budget / due.size() + 1);
    note_archive(*topics_[number]);
  }
}

// ---- Beginning and ending a replay --------------------------------------------------------------------------------------

std::optional<TopicError> EngineCore::check_replay(const TopicState& topic, std::string_view account,
                                                   const topic::SubscriptionSettings& settings,
                                                   const SubscriptionState* replaces) const {
  if (settings.replay_policy.empty()) return std::nullopt;
  const auto policy = topic::ReplayPolicy::parse(settings.replay_policy);
  if (!policy) return error(Code::BadReplayPolicy, policy.error());
  if (!topic.settings.fifo) return error(Code::BadReplayPolicy, "ReplayPolicy: only subscriptions of FIFO topics have a replay policy.");
  if (!topic.archive.is_active())
    return error(Code::BadReplayPolicy, "ReplayPolicy: the topic has no active ArchivePolicy.");
  if (policy->start > now_) return error(Code::BadReplayPolicy, "ReplayPolicy: StartingPoint must not be in the future.");
  const auto running = std::count_if(replays_due_.begin(), replays_due_.end(), [&](const auto& entry) {
    const SubscriptionState* other = subscriptions_[entry.second].get();
    return other != replaces && other->owner == account;
  });
  if (static_cast<std::size_t>(running) >= kRunningPerAccountMax) return error(Code::TooManyReplays);
  return std::nullopt;
}

std::optional<ReplayStatus> EngineCore::replay_status(const SubscriptionState& subscription) {
  if (subscription.settings.replay_policy.empty()) return std::nullopt;
  return subscription.replay ? subscription.replay->status : Status::Pending;
}

void EngineCore::start_replay(SubscriptionState& subscription) {
  const auto policy = topic::ReplayPolicy::parse(subscription.settings.replay_policy);
  FANFARE_ASSERT(policy.has_value(), policy.error());
  const TopicState& topic = *topics_[subscription.topic.number];
  const TopicArchive& archive = topic.archive;
  ReplayStartedEvent event{subscription.id.number, policy->start, policy->end, topic.next_sequence.value, topic.next_sequence.value};
  const Replay* before = subscription.replay ? &*subscription.replay : nullptr;
  // What the replay that this one replaces still owes is new for this one, too.
  if (before != nullptr && before->running && before->goes_on()) event.live_from = std::max(before->next, before->live_from);
  if (archive.is_active()) {
    const Timestamp start = std::max(policy->start, archive.beginning(now_));
    const auto first = std::partition_point(archive.messages.begin(), archive.messages.end(),
                                            [&](const ArchivedMessage& message) { return message.published_at < start; });
    if (first != archive.messages.end()) event.next = first->sequence;
  }
  event.next = std::min(event.next, event.live_from);
  const std::uint32_t number = event.subscription;
  record(event);
  // The archive was ended while the subscription waited for its confirmation.
  if (!archive.is_active()) record(ReplayEndedEvent{number, Status::Failed});
  note_replay(*subscription_by_number(number));
}

bool EngineCore::owes_replay(const SubscriptionState& subscription) const {
  if (subscription.settings.replay_policy.empty() || subscription.replay || subscription.deleted) return false;
  return subscription.token.empty() && topics_[subscription.topic.number]->settings.fifo;
}

void EngineCore::start_owed_replays() {
  if (storage_full_) return;
  for (const std::uint32_t number : std::exchange(owed_replays_, {})) {
    SubscriptionState* subscription = subscription_by_number(number);
    if (subscription == nullptr || !owes_replay(*subscription)) continue;
    if (topic::ReplayPolicy::parse(subscription->settings.replay_policy)) start_replay(*subscription);
  }
}

void EngineCore::apply(const ReplayStartedEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  will_change_replay(subscription);
  TopicArchive& archive = topics_[subscription.topic.number]->archive;
  take_out_of_index(subscription);
  forget_replay(subscription);
  Replay& replay = subscription.replay.emplace();
  replay.start = event.start;
  replay.end = event.end;
  replay.next = event.next;
  replay.live_from = event.live_from;
  enter_replaying(archive, subscription);
}

void EngineCore::enter_replaying(TopicArchive& archive, SubscriptionState& subscription) {
  const auto by_age = [](const SubscriptionState* a, const SubscriptionState* b) { return a->id < b->id; };
  archive.replaying.insert(std::lower_bound(archive.replaying.begin(), archive.replaying.end(), &subscription, by_age), &subscription);
}

// Whatever it was about to do; the subscription's place in the index is the caller's matter.
void EngineCore::forget_replay(SubscriptionState& subscription) {
  if (!subscription.replay) return;
  will_change_replay(subscription);
  if (subscription.replay->at) replays_due_.erase({*subscription.replay->at, subscription.id.number});
  TopicState& topic = *topics_[subscription.topic.number];
  std::erase(topic.archive.replaying, &subscription);
  subscription.replay.reset();
  note_archive(topic);
}

// Part of applying an event: what is old is not replayed any more. What is new is still owed, if there was no end.
void EngineCore::stop_replay(SubscriptionState& subscription, Status status) {
  will_change_replay(subscription);
  Replay& replay = *subscription.replay;
  const bool stopped = status == Status::Stopped;
  if (replay.running && replay.goes_on()) {
    if (replay.status != Status::Stopped) replay.status = status;
    replay.next = std::max(replay.next, replay.live_from);
    note_archive(*topics_[subscription.topic.number]);
    return;
  }
  if (stopped) {
    forget_replay(subscription);
  } else if (replay.running) {
    end_replay(subscription, status);
  }
  take_out_of_index(subscription);
  put_in_index(subscription);
}

void EngineCore::end_replay(SubscriptionState& subscription, Status status) {
  will_change_replay(subscription);
  Replay& replay = *subscription.replay;
  if (replay.at) replays_due_.erase({*replay.at, subscription.id.number});
  replay.at.reset();
  replay.wanted.clear();
  replay.running = false;
  replay.status = status;
  TopicState& topic = *topics_[subscription.topic.number];
  std::erase(topic.archive.replaying, &subscription);
  note_archive(topic);
}

void EngineCore::apply(const ReplayEndedEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  end_replay(subscription, event.status);
  if (event.status == Status::Stopped) subscription.replay.reset();
  take_out_of_index(subscription);
  put_in_index(subscription);
}

// ---- Replaying ----------------------------------------------------------------------------------------------------------

// Brings replays_due_ in line with the subscription's replay.
void EngineCore::note_replay(SubscriptionState& subscription, std::optional<Timestamp> at) {
  if (!subscription.replay || !subscription.replay->running) return;
  Replay& replay = *subscription.replay;
  if (!at) {
    if (replay.at && !replay.wanted.empty()) return;
    const TopicArchive& archive = topics_[subscription.topic.number]->archive;
    const bool waits = replay.end && *replay.end >= now_ && archive.next_of(replay, now_) == archive.messages.end();
    at = waits ? *replay.end + kMoment : now_;
  }
  if (replay.at == at || (replay.at && *replay.at <= now_ && *at <= now_)) return;
  if (replay.at) replays_due_.erase({*replay.at, subscription.id.number});
  replay.at = at;
  replays_due_.emplace(*at, subscription.id.number);
}

void EngineCore::note_replays() {
  for (const auto& topic : topics_) {
    if (topic == nullptr) continue;
    note_archive(*topic);
    for (SubscriptionState* subscription : topic->archive.replaying) note_replay(*subscription);
  }
}

void EngineCore::run_replays() {
  std::vector<std::uint32_t> due;
  for (const auto& [at, number] : replays_due_) {
    if (at > now_) break;
    due.push_back(number);
  }
  for (const std::uint32_t number : due) {
    SubscriptionState& subscription = *subscription_by_number(number);
    if (storage_full_) {
      // At the next full second: when follows from the time alone.
      note_replay(subscription, timestamp_from_unix_ms((unix_ms(now_) / 1000) * 1000) + kRetry);
    } else {
      replay_slice(subscription, {}, kPerSlice / due.size() + 1);
    }
  }
}

void EngineCore::run(const ContentsRead& read) {
  if (storage_full_) return;  // it will be asked for again
  std::vector<std::uint32_t> waiting;
  for (const auto& [at, number] : replays_due_)
    if (!subscription_by_number(number)->replay->wanted.empty()) waiting.push_back(number);
  for (const std::uint32_t number : waiting)
    replay_slice(*subscription_by_number(number), read.contents, kPerSlice / waiting.size() + 1);
}

std::vector<LogPosition> EngineCore::wanted_contents() const {
  std::vector<LogPosition> wanted;
  for (const auto& [at, number] : replays_due_) {
    const auto& of_one = subscriptions_[number]->replay->wanted;
    wanted.insert(wanted.end(), of_one.begin(), of_one.end());
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

void EngineCore::want_contents(const TopicArchive& archive, TopicArchive::Messages::const_iterator from, Replay& replay) const {
  std::uint64_t bytes = 0;
  for (; from != archive.messages.end() && replay.wanted.size() < kReadAhead && bytes < kReadAheadBytes; ++from) {
    if (replay.end && from->published_at > *replay.end) break;
    if (!payloads_.content(from->payload).empty()) break;
    replay.wanted.push_back(payloads_.position(from->payload));
    bytes += payloads_.bytes(from->payload);
  }
}

void EngineCore::replay_slice(SubscriptionState& subscription, std::span<const ContentsRead::Content> read, std::size_t budget) {
  TopicState& topic = *topics_[subscription.topic.number];
  const TopicArchive& archive = topic.archive;
  Replay& replay = *subscription.replay;
  replay.wanted.clear();
  replayed_.subscription = subscription.id.number;
  replayed_.next = replay.next;
  replayed_.deliveries.clear();
  auto place = archive.next_of(replay, now_);
  std::uint64_t bytes = 0;
  bool done = false;
  while (true) {
    if (place == archive.messages.end()) {
      done = !replay.end || *replay.end < now_;
      break;
    }
    if (replay.end && place->published_at > *replay.end) {
      done = true;
      break;
    }
    if (budget == 0 || bytes >= kBytesPerSlice) break;
    std::string_view content = payloads_.content(place->payload);
    bool unreadable = false;
    if (content.empty()) {
      const auto found = std::find_if(read.begin(), read.end(), [&](const ContentsRead::Content& one) {
        return one.position == payloads_.position(place->payload);
      });
      if (found == read.end()) {
        want_contents(archive, place, replay);
        break;
      }
      content = content_of_record(found->record).value_or(std::string_view{});
      unreadable = content.empty();
    }
    --budget;
    bytes += content.size();
    const auto view = message::ContentView::decode(content);
    if (unreadable || !view || !view->publication()) {
      note_failure({now_, subscription.id, topic::subscription_arn(topic.key.view(), subscription.uuid).str(), subscription.endpoint,
                    PublicationId{}, FailedDelivery::Reason::ContentUnreadable, std::nullopt, false});
      ++topic.counters.failed;
    } else {
      replay_one(topic, subscription, *place, *view);
    }
    replayed_.next = place->sequence + 1;
    ++place;
  }
  const bool came_on = replayed_.next != replay.next;
  if (came_on) {
    const std::size_t before = replayed_.deliveries.size();
    record(replayed_);
    FANFARE_ASSERT(before == replayed_.deliveries.size());
    for (const auto& delivery : replayed_.deliveries) {
      QueueState& queue = *queue_by_number(delivery.queue);
      queue.planned = 0;
      queue.moved_in = {SequenceNumber{delivery.sequence}, log_end_};
    }
  }
  if (done) {
    const bool went_on = replay.status == Status::Pending || replay.status == Status::InProgress;
    record(ReplayEndedEvent{subscription.id.number, went_on ? Status::Completed : replay.status});
    return;
  }
  // What comes next is asked for at once; and again, if the answer does not come.
  note_replay(subscription, replay.wanted.empty() ? std::nullopt : std::optional{came_on ? now_ : now_ + kRetry});
}

void EngineCore::replay_one(TopicState& topic, SubscriptionState& subscription, const ArchivedMessage& message,
                            const message::ContentView& view) {
  std::vector<message::MessageAttribute> attributes;
  for (message::AttributeReader reader = view.attributes(); const auto attribute = reader.next();) attributes.push_back(*attribute);
  if (subscription.filter) {
    topic::LazyBody body{view.body()};
    switch (subscription.filter->matches(attributes, body)) {
      case topic::FilterOutcome::Passed: break;
      case topic::FilterOutcome::NoMessageAttributes: ++topic.counters.filtered_no_attributes; return;
      case topic::FilterOutcome::InvalidAttributes: ++topic.counters.filtered_invalid_attributes; return;
      case topic::FilterOutcome::InvalidMessageBody: ++topic.counters.filtered_invalid_body; return;
      case topic::FilterOutcome::Mismatch: ++topic.counters.filtered; return;
    }
  }
  const bool replayed = message.sequence < subscription.replay->live_from;
  message::Content content;
  content.body = view.body();
  content.attributes = attributes;
  content.group_id = view.group_id();
  if (!replayed) content.deduplication_id = view.deduplication_id();
  content.publication = view.publication();
  published_.deliveries.clear();
  deliver(topic, subscription, content);
  for (const PublishedEvent::Delivery& delivery : published_.deliveries) {
    ReplayedEvent::Delivery& out = replayed_.deliveries.emplace_back();
    out.publication = message.sequence;
    out.queue = delivery.queue;
    out.sequence = delivery.sequence;
    // The queue may still hold the first copy, or that of a replay before.
    out.id = MessageId{content.publication->id.derived(delivery.subscription).derived(delivery.sequence)};
    out.enveloped = delivery.enveloped;
    out.replayed = replayed;
    out.group = content.group_id;
    out.deduplication_id = content.deduplication_id;
  }
}

void EngineCore::apply(const ReplayedEvent& event) {
  SubscriptionState& subscription = *subscription_by_number(event.subscription);
  will_change_replay(subscription);
  Replay& replay = *subscription.replay;
  TopicState& topic = *topics_[subscription.topic.number];
  const TopicArchive& archive = topic.archive;
  if (replay.status == Status::Pending) replay.status = Status::InProgress;
  for (const ReplayedEvent::Delivery& delivery : event.deliveries) {
    const auto place = archive.from_sequence(delivery.publication);
    FANFARE_ASSERT(place != archive.messages.end() && place->sequence == delivery.publication, fmt::format("{}", delivery.publication));
    QueueState& queue = changing_queue(delivery.queue);
    bring_up_to_date(queue);
    payloads_.retain(place->payload);
    if (delivery.enveloped) ++subscription.references;
    const std::uint32_t mark = delivery.replayed ? kReplayedEnvelope : 0;
    queue::Arrived arrived{.id = delivery.id,
                           .sequence = {delivery.sequence},
                           .sent_at = now_,
                           .visible_at = now_ + queue.settings.delivery_delay.value(),
                           .at = now_,
                           .payload = place->payload,
                           .envelope = delivery.enveloped ? event.subscription | mark : 0};
    arrived.group = delivery.group;
    if (queue.settings.fifo && !delivery.deduplication_id.empty())
      arrived.deduplication = deduplication_key(queue, {delivery.group, delivery.deduplication_id});
    queue.messages.apply(arrived);
    ++queue.counters.sent;
    queue.counters.sent_bytes += payloads_.bytes(place->payload);
    queue.counters.sent_sizes.add(payloads_.bytes(place->payload));
    note_arrival(queue);
    note_deadline(queue);
  }
  replay.next = event.next;
  note_archive(topic);
}

// ---- Contents of the archive --------------------------------------------------------------------------------------------

void EngineCore::apply(const ArchiveRelocatedEvent& event, LogPosition position) {
  FANFARE_ASSERT(saving_ == nullptr, "a snapshot tells where contents lay at its begin");
  const TopicArchive& archive = topics_[event.topic]->archive;
  const auto place = archive.from_sequence(event.sequence);
  if (place != archive.messages.end() && place->sequence == event.sequence) payloads_.move(place->payload, position);
}

void EngineCore::apply(const ArchiveForgottenEvent& event) {
  TopicState& topic = changing_topic(event.topic);
  TopicArchive& archive = topic.archive;
  const auto place = archive.from_sequence(event.sequence);
  if (place == archive.messages.end() || place->sequence != event.sequence) return;
  keep_archived(topic, *place);
  payloads_.release(place->payload);
  archive.messages.erase(place);
}

}  // namespace fanfare::engine
