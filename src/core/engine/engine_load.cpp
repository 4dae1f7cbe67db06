// Loading a snapshot. Whatever a damaged file holds is refused or makes a state that works.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/engine/archive.h"
#include "core/engine/engine_core.h"
#include "core/engine/entries_section.h"
#include "core/engine/snapshot_sections.h"

namespace fanfare::engine {
namespace {

constexpr std::uint64_t kLogSpanMax = std::uint64_t{1} << 42;  // 4 TiB
constexpr std::int64_t kProcessingMax = std::int64_t{1} << 48;  // ms; a billion deliveries at once for five minutes

/// Everything in the section, and nothing behind it.
template <class Image>
bool read_image(Reader& reader, Image& image) {
  reader(image);
  return reader.ok() && reader.remaining() == 0;
}

}  // namespace

/// What a snapshot's sections say for those behind them.
struct EngineCore::Loading {
  static constexpr std::uint32_t kNone = queue::Slab<queue::Entry>::kNone;
  static constexpr std::uint32_t kPerBlock = 64;  // a damaged number costs no more than this many

  /// The payload of a content that several entries share; kNone: none yet.
  std::uint32_t& shared_content(std::uint32_t number) {
    const auto [block, fresh] = shared.try_emplace(number / kPerBlock);
    if (fresh) block->second.fill(kNone);
    return block->second[number % kPerBlock];
  }

  std::uint8_t version = 0;
  bool begun = false;
  bool ended = false;
  std::uint64_t entries = 0;
  std::map<std::uint32_t, SequenceNumber> last;  ///< of each queue's entries
  std::unordered_map<std::uint32_t, std::array<std::uint32_t, kPerBlock>> shared;
  std::vector<std::pair<std::uint32_t, std::string>> noisy_names;  ///< queue and name
  std::set<std::uint32_t> with_tenants;  ///< queues whose sections came
  // Of version 2.
  std::vector<std::uint32_t> payloads;  ///< by number; each holds a reference of ours until the end
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> groups;  ///< by queue and number
  std::vector<std::pair<std::uint32_t, std::uint32_t>> noisy;             ///< queue and number
};

// `content` gives the payload, and is not called for an entry that makes no sense.
template <class Content>
bool EngineCore::restore_entry(QueueState& queue, queue::Entry& entry, std::uint64_t rank, std::string_view group, SequenceNumber& last,
                               Content&& content) {
  // Sequence numbers grow within a section and from section to section, below the queue's next one.
  if (entry.sequence <= last || entry.sequence >= queue.messages.next_sequence()) return false;
  if (entry.undelivered > entry.receipt) return false;
  if (queue.settings.fifo && group.empty()) return false;
  SubscriptionState* subscription = entry.envelope == 0 ? nullptr : subscription_by_number(subscription_of_envelope(entry.envelope));
  QueueState* source = entry.dead_letter_source == 0 ? nullptr : queue_by_number(entry.dead_letter_source);
  if ((entry.envelope != 0 && subscription == nullptr) || (entry.dead_letter_source != 0 && source == nullptr)) return false;
  const std::optional<std::uint32_t> payload = content();
  if (!payload) return false;
  if (subscription != nullptr) ++subscription->references;
  if (source != nullptr) ++source->references;
  entry.payload = *payload;
  queue.messages.restore(entry, rank, group);
  last = entry.sequence;
  return true;
}

Result<Success, ReplayError> EngineCore::load(const std::function<std::optional<std::string>()>& next) {
  Loading loading;
  while (const auto section = next()) {
    if (loading.ended || section->size() < 2) return ReplayError::Damaged;
    const auto version = static_cast<std::uint8_t>((*section)[0]);
    if (version != kSnapshotVersion && version != kSnapshotVersionWithNumberedPayloads) return ReplayError::UnknownVersion;
    if (std::exchange(loading.version, version) != version && loading.begun) return ReplayError::Damaged;
    loading.begun = true;
    if (!load_section(*section, loading)) return ReplayError::Damaged;
  }
  if (!loading.ended) return ReplayError::Damaged;
  const Timestamp quiet_at = now_ + queue::Tenants::kQuietAfter;  // of what was written before the end of noise was
  for (const auto& place : loading.noisy) {
    QueueState* queue = queue_by_number(place.first);
    const auto name = loading.groups.find(place);
    if (queue == nullptr || name == loading.groups.end()) return ReplayError::Damaged;
    queue->messages.restore_noisy(name->second, quiet_at);
  }
  for (const auto& [number, name] : loading.noisy_names) queue_by_number(number)->messages.restore_noisy(name, quiet_at);
  for (const auto& queue : queues_)
    if (queue != nullptr) queue->messages.restore_deliveries(now_, loading.with_tenants.contains(queue->id.number));
  for (const std::uint32_t payload : loading.payloads) payloads_.release(payload);
  for (const auto& queue : queues_)
    if (queue != nullptr && !queue->deleted) {
      note_deadline(*queue);
      note_move(*queue);
    }
  // A deleted one of which only garbage knew when the snapshot began: that is not in it, and nobody will let go of it.
  for (const auto& queue : queues_)
    if (queue != nullptr) forget_if_unused(*queue);
  for (const auto& subscription : subscriptions_)
    if (subscription != nullptr) forget_if_unused(*subscription);
  note_replays();
  payloads_.free_condemned();
  return Success{};
}

bool EngineCore::load_section(std::string_view section, Loading& loading) {
  std::vector<std::uint32_t>& payloads = loading.payloads;
  Reader reader(section.substr(1));
  SectionKind kind{};
  reader(kind);
  if (!reader.ok()) return false;
  switch (kind) {
    case SectionKind::Head: {
      HeadImage head;
      if (!read_image(reader, head) || head.queues_end == 0 || head.topics_end == 0 || head.subscriptions_end == 0) return false;
      if (std::max<std::size_t>({head.queues_end, head.topics_end, head.subscriptions_end}) > kNumbersMax) return false;
      log_end_ = {head.log_end};
      now_ = head.now;
      queues_.resize(head.queues_end);
      topics_.resize(head.topics_end);
      subscriptions_.resize(head.subscriptions_end);
      deleted_queues_ = {head.deleted_queues.begin(), head.deleted_queues.end()};
      for (const auto& [key, at] : deleted_queues_) deletions_.emplace_back(at, key);
      std::stable_sort(deletions_.begin(), deletions_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      return true;
    }
    case SectionKind::Queue: {
      QueueImage image;
      if (!read_image(reader, image) || image.number == 0 || image.number >= queues_.size()) return false;
      if (queues_[image.number] != nullptr || (!image.deleted && find_queue(image.key.view()) != nullptr)) return false;
      if (!image.settings.policy.empty() && !policy::Policy::parse(image.settings.policy)) return false;
      auto fresh = std::make_unique<QueueState>(QueueId{image.number}, image.key, SequenceNumber{image.next_sequence},
                                                image.settings.fifo);
      fresh->deleted = image.deleted;
      QueueState& queue = insert_queue(std::move(fresh));
      set_settings(queue, image.settings);
      queue.created_at = image.created_at;
      queue.changed_at = image.changed_at;
      queue.purged_at = image.purged_at;
      queue.tags = {image.tags.begin(), image.tags.end()};
      for (const MoveTask& task : image.move_tasks)
        if (task.per_second_max > kMovesPerSecondMax || task.moved < task.paced_moved) return false;
      queue.move_tasks = std::move(image.move_tasks);
      return true;
    }
    case SectionKind::Topic: {
      TopicImage image;
      if (!read_image(reader, image) || image.number == 0 || image.number >= topics_.size()) return false;
      if (topics_[image.number] != nullptr || find_topic(image.key.view()) != nullptr) return false;
      if (!image.settings.policy.empty() && !policy::Policy::parse(image.settings.policy)) return false;
      auto fresh = std::make_unique<TopicState>();
      fresh->id = {image.number};
      fresh->key = image.key;
      fresh->arn = image.key.arn().str();
      fresh->created_at = image.created_at;
      fresh->tags = {image.tags.begin(), image.tags.end()};
      fresh->subscriptions_deleted = image.subscriptions_deleted;
      fresh->next_sequence = {image.next_sequence};
      set_settings(insert_topic(std::move(fresh)), image.settings);
      return true;
    }
    case SectionKind::Subscription: {
      SubscriptionImage image;
      if (!read_image(reader, image) || image.number == 0 || image.number >= subscriptions_.size()) return false;
      if (subscriptions_[image.number] != nullptr || image.topic >= topics_.size()) return false;
      if (!image.deleted && topics_[image.topic] == nullptr) return false;
      const auto& settings = image.settings;
      if (!settings.filter_policy.empty() && !topic::FilterPolicy::parse(settings.filter_policy, settings.filter_scope))
        return false;
      auto fresh = std::make_unique<SubscriptionState>();
      fresh->id = {image.number};
      fresh->topic = {image.topic};
      fresh->topic_key = image.topic_key;
      fresh->uuid = image.uuid;
      fresh->protocol = image.protocol;
      fresh->endpoint = image.endpoint;
      fresh->owner = image.owner;
      fresh->principal = image.principal;
      fresh->created_at = image.created_at;
      fresh->token = image.token;
      fresh->authenticated = image.authenticated;
      fresh->deleted = image.deleted;
      set_settings(insert_subscription(std::move(fresh)), settings);
      note_pending(*subscriptions_[image.number]);
      return true;
    }
    case SectionKind::Payloads: {
      PayloadsImage image;
      if (!read_image(reader, image)) return false;
      for (const auto& [position, bytes] : image.payloads) {
        if (!is_in_log({position})) return false;
        payloads.push_back(payloads_.add(LogPosition{position}, {}, bytes, 1));
      }
      return true;
    }
    case SectionKind::Directory: {
      DirectoryImage image;
      if (!read_image(reader, image)) return false;
      for (const topic::DirectoryChange& entry : image.entries) {
        if (entry.removed || entry.kind < topic::DirectoryKind::Application) return false;
        directory_.apply(entry);
      }
      return true;
    }
    case SectionKind::Groups: {
      GroupsImage image;
      if (!read_image(reader, image)) return false;
      for (auto& [number, name] : image.names) {
        if (number == 0 || name.empty()) return false;
        if (!loading.groups.emplace(std::pair{image.queue, number}, std::move(name)).second) return false;
      }
      for (const std::uint32_t number : image.noisy) loading.noisy.emplace_back(image.queue, number);
      return true;
    }
    case SectionKind::Duplicates: {
      DuplicatesImage image;
      if (!read_image(reader, image)) return false;
      QueueState* queue = queue_by_number(image.queue);
      TopicState* topic = image.topic < topics_.size() ? topics_[image.topic].get() : nullptr;
      if (image.queue != 0 ? queue == nullptr || !queue->settings.fifo : topic == nullptr) return false;
      for (const DuplicateImage& one : image.duplicates) {
        if (image.queue != 0) {
          queue->messages.restore_duplicate(one.key, one.accepted);
        } else {
          topic->deduplication.insert(one.key, one.accepted);
        }
      }
      return true;
    }
    case SectionKind::Noisy: {
      NoisyImage image;
      if (!read_image(reader, image) || queue_by_number(image.queue) == nullptr) return false;
      for (std::string& name : image.groups) loading.noisy_names.emplace_back(image.queue, std::move(name));
      return true;
    }
    case SectionKind::Attempts: {
      AttemptsImage image;
      if (!read_image(reader, image)) return false;
      QueueState* queue = queue_by_number(image.queue);
      if (queue == nullptr || queue->deleted || !queue->settings.fifo) return false;
      for (const AttemptImage& one : image.attempts) {
        if (one.messages.empty() || one.messages.size() > queue::MaxMessages::kMax || one.at > now_) return false;
        Attempt attempt{one.key, one.at, one.until, {}};
        for (const auto& [sequence, receipt] : one.messages) attempt.handles.push_back({queue->id, {sequence}, receipt, one.epoch});
        queue->attempts.restore(std::move(attempt));
      }
      return true;
    }
    case SectionKind::Tenants: {
      TenantsImage image;
      if (!read_image(reader, image)) return false;
      QueueState* queue = queue_by_number(image.queue);
      if (queue == nullptr || queue->deleted || queue->settings.fifo) return false;
      const auto ended = [this](const TimeImage& time) {
        return queue::ProcessingTime::Ended{unix_ms(now_) / queue::ProcessingTime::kSpanMs, time.before, time.here};
      };
      // Not below zero either, but a state that damage has made may say so.
      const auto is_plausible = [](const TimeImage& time) {
        return std::min(time.before, time.here) >= -kProcessingMax && std::max(time.before, time.here) <= kProcessingMax;
      };
      if (!is_plausible(image.all)) return false;
      loading.with_tenants.insert(image.queue);
      queue->messages.restore_time(ended(image.all));
      for (const auto& [name, until] : image.noisy) {
        if (!queue->messages.has_group(name)) return false;
        queue->messages.restore_noisy(name, until);
      }
      for (const auto& [name, time] : image.times) {
        if (!queue->messages.has_group(name) || !is_plausible(time)) return false;
        queue->messages.restore_time(name, ended(time));
      }
      return true;
    }
    case SectionKind::PackedEntries: {
      EntriesReader entries(reader);
      QueueState* queue = queue_by_number(entries.queue());
      if (queue == nullptr || queue->deleted) return false;
      SequenceNumber& last = loading.last[entries.queue()];
      EntriesReader::Item item;
      while (entries.next(item)) {
        if (!restore_entry(*queue, item.entry, item.rank, item.group, last, [&] { return load_content(item.content, loading); })) return false;
        ++loading.entries;
      }
      return entries.ok();
    }
    case SectionKind::Entries: {
      EntriesImage image;
      if (!read_image(reader, image)) return false;
      QueueState* queue = queue_by_number(image.queue);
      if (queue == nullptr || queue->deleted) return false;
      SequenceNumber& last = loading.last[image.queue];
      for (EntryImage& one : image.entries) {
        std::string_view group;
        if (queue->settings.fifo || one.entry.group != 0) {
          const auto name = loading.groups.find({image.queue, one.entry.group});
          if (name == loading.groups.end()) return false;
          group = name->second;
        }
        const auto content = [&]() -> std::optional<std::uint32_t> {
          if (one.entry.payload >= payloads.size()) return std::nullopt;
          payloads_.retain(payloads[one.entry.payload]);
          return payloads[one.entry.payload];
        };
        if (!restore_entry(*queue, one.entry, one.rank, group, last, content)) return false;
      }
      return true;
    }
    case SectionKind::Archive: {
      ArchiveImage image;
      if (!read_image(reader, image) || image.topic >= topics_.size() || topics_[image.topic] == nullptr) return false;
      TopicState& topic = *topics_[image.topic];
      if (!restore_archive(topic, image.from)) return false;
      for (const ArchivedImage& one : image.messages) {
        if (one.payload >= payloads.size() || !restore_archived(topic, {one.sequence, one.published_at, payloads[one.payload]})) return false;
        payloads_.retain(payloads[one.payload]);
      }
      return true;
    }
    case SectionKind::PackedArchive: {
      ArchiveReader messages(reader);
      if (messages.topic() >= topics_.size() || topics_[messages.topic()] == nullptr) return false;
      TopicState& topic = *topics_[messages.topic()];
      if (!restore_archive(topic, messages.from())) return false;
      ArchiveReader::Item item;
      while (messages.next(item)) {
        const std::optional<std::uint32_t> payload = load_content(item.content, loading);
        if (!payload) return false;
        item.message.payload = *payload;
        if (!restore_archived(topic, item.message)) return false;
        ++loading.entries;
      }
      return messages.ok();
    }
    case SectionKind::Replay: {
      ReplayImage image;
      if (!read_image(reader, image)) return false;
      SubscriptionState* subscription = subscription_by_number(image.subscription);
      if (subscription == nullptr || subscription->deleted || subscription->replay) return false;
      TopicState& topic = *topics_[subscription->topic.number];
      if (!topic.settings.fifo) return false;
      take_out_of_index(*subscription);
      subscription->replay = image.replay;
      if (image.replay.running) enter_replaying(topic.archive, *subscription);
      put_in_index(*subscription);
      return true;
    }
    case SectionKind::Left: {
      LeftImage image;
      if (!read_image(reader, image)) return false;
      SubscriptionState* subscription = subscription_by_number(image.subscription);
      if (subscription == nullptr || subscription->deleted || subscription->left_at || subscription->token.empty()) return false;
      if (!is_outbound(subscription->protocol)) return false;
      forget_pending(*subscription);
      set_leaving(*subscription, image.at);
      // It stood in the way of the name of whoever came after it.
      for (SubscriptionState* other : topics_[subscription->topic.number]->subscriptions)
        if (other->protocol == subscription->protocol && other->endpoint == subscription->endpoint)
          subscriptions_by_endpoint_.emplace(endpoint_key(other->topic, other->protocol, other->endpoint), other);
      return true;
    }
    case SectionKind::End: {
      loading.ended = true;
      if (loading.version == kSnapshotVersionWithNumberedPayloads) {
        std::uint32_t count = 0;
        return read_image(reader, count) && count == payloads.size();
      }
      std::uint64_t count = 0;
      return read_image(reader, count) && count == loading.entries;
    }
  }
  return false;
}

bool EngineCore::restore_archive(TopicState& topic, const std::optional<Timestamp>& from) {
  if (from.has_value() != topic.archive.is_active()) return false;
  if (from) topic.archive.from = *from;
  return true;
}

bool EngineCore::restore_archived(TopicState& topic, const ArchivedMessage& message) {
  TopicArchive::Messages& messages = topic.archive.messages;
  const bool grows = messages.empty() || (messages.back().sequence < message.sequence && messages.back().published_at <= message.published_at);
  if (!grows || message.sequence >= topic.next_sequence.value || message.published_at > now_) return false;
  messages.push_back(message);
  return true;
}

// The log is never longer than this: a position elsewhere is damage, and the count by regions would take all memory.
bool EngineCore::is_in_log(LogPosition position) const {
  return position <= log_end_ && log_end_ - position <= kLogSpanMax;
}

// The payload of one more entry; nullopt if it makes no sense.
std::optional<std::uint32_t> EngineCore::load_content(const ContentPlace& content, Loading& loading) {
  if (!is_in_log(content.position)) return std::nullopt;
  if (!content.shared) return payloads_.add(content.position, {}, content.bytes, 1);
  std::uint32_t& payload = loading.shared_content(content.number);
  if (payload == Loading::kNone) return payload = payloads_.add(content.position, {}, content.bytes, 1);
  if (payloads_.position(payload) != content.position || payloads_.bytes(payload) != content.bytes) return std::nullopt;
  payloads_.retain(payload);
  return payload;
}

}  // namespace fanfare::engine
