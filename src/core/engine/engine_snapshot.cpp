// The state as a whole: snapshot and load, relocation of contents, and the state as text.
//
// A snapshot is a row of sections. Each begins with u8 version = 2 and u8 kind; the rest is the fields of the struct of that
// name below, as archive.h writes them. Order: Head, queues, topics, subscriptions, directory, duplicates, payloads, for each queue its
// groups (FIFO) and entries, archives, replays, what was left, End.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/engine/archive.h"
#include "core/engine/engine_core.h"

namespace fanfare::queue {

inline EntryState last_of(EntryState) { return EntryState::Delayed; }

}  // namespace fanfare::queue

namespace fanfare::engine {
namespace {

constexpr std::uint64_t kLogSpanMax = std::uint64_t{1} << 42;  // 4 TiB

constexpr std::uint8_t kVersion = 2;
constexpr std::size_t kPayloadsPerSection = 65'536;
constexpr std::size_t kEntriesPerSection = 8'192;
constexpr std::size_t kDuplicatesPerSection = 16'384;
constexpr std::size_t kGroupsPerSection = 8'192;
constexpr std::size_t kDirectoryPerSection = 512;
constexpr std::size_t kArchivedPerSection = 32'768;
constexpr std::size_t kRelocationLooksAt = 4'096;  // a few tenths of a millisecond

/// Numbers are durable: never change or reuse one.
enum class SectionKind : std::uint8_t { Head = 1, Queue = 2, Topic = 3, Subscription = 4, Payloads = 5, Entries = 6, End = 7,
                                        Groups = 8, Duplicates = 9, Directory = 10, Archive = 11, Replay = 12, Left = 13 };
SectionKind last_of(SectionKind) { return SectionKind::Left; }

struct HeadImage {
  std::uint64_t log_end = 0;
  Timestamp now{};
  std::uint32_t queues_end = 0;  ///< the next number that is given out
  std::uint32_t topics_end = 0;
  std::uint32_t subscriptions_end = 0;
  std::vector<std::pair<QueueKey, Timestamp>> deleted_queues;
};
template <class A>
void fields(A& a, Arg<A, HeadImage>& h) {
  a(h.log_end), a(h.now), a(h.queues_end), a(h.topics_end), a(h.subscriptions_end), a(h.deleted_queues);
}

struct QueueImage {
  std::uint32_t number = 0;
  QueueKey key;
  queue::QueueSettings settings;
  Timestamp created_at{};
  Timestamp changed_at{};
  std::optional<Timestamp> purged_at;
  Tagging tags;
  std::uint64_t next_sequence = 0;
  bool deleted = false;
  std::vector<MoveTask> move_tasks;
};
template <class A>
void fields(A& a, Arg<A, QueueImage>& q) {
  a(q.number), a(q.key), a(q.settings), a(q.created_at), a(q.changed_at), a(q.purged_at), a(q.tags), a(q.next_sequence);
  a(q.deleted), a(q.move_tasks);
}

struct TopicImage {
  std::uint32_t number = 0;
  TopicKey key;
  topic::TopicSettings settings;
  Timestamp created_at{};
  Tagging tags;
  std::uint64_t subscriptions_deleted = 0;
  std::uint64_t next_sequence = 0;
};
template <class A>
void fields(A& a, Arg<A, TopicImage>& t) {
  a(t.number), a(t.key), a(t.settings), a(t.created_at), a(t.tags), a(t.subscriptions_deleted), a(t.next_sequence);
}

struct SubscriptionImage {
  std::uint32_t number = 0;
  std::uint32_t topic = 0;
  TopicKey topic_key;
  topic::SubscriptionUuid uuid;
  topic::DeliveryProtocol protocol = topic::DeliveryProtocol::Sqs;
  std::string endpoint;
  std::string owner;
  std::string principal;
  Timestamp created_at{};
  topic::SubscriptionSettings settings;
  std::string token;
  bool authenticated = false;
  bool deleted = false;
};
template <class A>
void fields(A& a, Arg<A, SubscriptionImage>& s) {
  a(s.number), a(s.topic), a(s.topic_key), a(s.uuid), a(s.protocol), a(s.endpoint), a(s.owner), a(s.principal);
  a(s.created_at), a(s.settings), a(s.token), a(s.authenticated), a(s.deleted);
}

/// Entries of the directory, as changes that make an empty one equal to it.
struct DirectoryImage {
  std::vector<topic::DirectoryChange> entries;
};
template <class A>
void fields(A& a, Arg<A, DirectoryImage>& d) {
  a(d.entries);
}
struct PayloadImage {
  std::uint64_t position = 0;
  std::uint32_t bytes = 0;
};
template <class A>
void fields(A& a, Arg<A, PayloadImage>& p) {
  a(p.position), a(p.bytes);
}
/// Payloads in the order of their numbers, which go on where the section before ended.
struct PayloadsImage {
  std::vector<PayloadImage> payloads;
};
template <class A>
void fields(A& a, Arg<A, PayloadsImage>& p) {
  a(p.payloads);
}

struct EntryImage {
  queue::Entry entry;  ///< its payload is the number in the payload sections
  std::uint64_t rank = 0;
};
template <class A>
void fields(A& a, Arg<A, EntryImage>& image) {
  auto& e = image.entry;
  a(e.id), a(e.sequence.value), a(e.sent_at), a(e.payload), a(e.hidden_until_ms), a(e.first_received_ms), a(e.received_ms);
  a(e.receipt), a(e.receive_epoch), a(e.undelivered), a(e.state), a(e.group), a(e.envelope), a(e.dead_letter_source);
  a(image.rank);
}
/// The names of a queue's groups, by the numbers that its entries have, and which of them are noisy.
struct GroupsImage {
  std::uint32_t queue = 0;
  std::vector<std::pair<std::uint32_t, std::string>> names;
  std::vector<std::uint32_t> noisy;
};
template <class A>
void fields(A& a, Arg<A, GroupsImage>& g) {
  a(g.queue), a(g.names), a(g.noisy);
}
struct DuplicateImage {
  message::DeduplicationWindow::Key key;
  message::DeduplicationWindow::Accepted accepted;
};
template <class A>
void fields(A& a, Arg<A, DuplicateImage>& d) {
  a(d.key.high), a(d.key.low), a(d.accepted.id), a(d.accepted.sequence_number), a(d.accepted.at);
}
/// The deduplication ids that a FIFO queue (or, without one, a FIFO topic) knows, in the order of their acceptance.
struct DuplicatesImage {
  std::uint32_t queue = 0;  ///< 0: of the topic
  std::uint32_t topic = 0;
  std::vector<DuplicateImage> duplicates;
};
template <class A>
void fields(A& a, Arg<A, DuplicatesImage>& d) {
  a(d.queue), a(d.topic), a(d.duplicates);
}
struct EntriesImage {
  std::uint32_t queue = 0;
  std::vector<EntryImage> entries;
};
template <class A>
void fields(A& a, Arg<A, EntriesImage>& e) {
  a(e.queue), a(e.entries);
}

struct ArchivedImage {
  std::uint64_t sequence = 0;
  Timestamp published_at{};
  std::uint32_t payload = 0;  ///< the number in the payload sections
};
template <class A>
void fields(A& a, Arg<A, ArchivedImage>& m) {
  a(m.sequence), a(m.published_at), a(m.payload);
}
/// Messages of a topic's archive, in the order of their numbers, which go on where the section before ended.
struct ArchiveImage {
  std::uint32_t topic = 0;
  std::optional<Timestamp> from;  ///< nullopt: no archive policy
  std::vector<ArchivedImage> messages;
};
template <class A>
void fields(A& a, Arg<A, ArchiveImage>& i) {
  a(i.topic), a(i.from), a(i.messages);
}
/// A subscription that can be restored.
struct LeftImage {
  std::uint32_t subscription = 0;
  Timestamp at{};
};
template <class A>
void fields(A& a, Arg<A, LeftImage>& i) {
  a(i.subscription), a(i.at);
}
struct ReplayImage {
  std::uint32_t subscription = 0;
  Replay replay;
};
template <class A>
void fields(A& a, Arg<A, ReplayImage>& i) {
  a(i.subscription), a(i.replay.status), a(i.replay.running), a(i.replay.start), a(i.replay.end), a(i.replay.next), a(i.replay.live_from);
}

template <class Image>
void write_section(SectionKind kind, const Image& image, const std::function<void(std::string_view)>& write) {
  std::string section;
  Writer writer(section);
  writer(kVersion);
  writer(kind);
  writer(image);
  write(section);
}

template <class Map>
Tagging tagging(const Map& tags) {
  return {tags.begin(), tags.end()};
}

/// Everything in the section, and nothing behind it.
template <class Image>
bool read_image(Reader& reader, Image& image) {
  reader(image);
  return reader.ok() && reader.remaining() == 0;
}

}  // namespace

// ---- Snapshot -----------------------------------------------------------------------------------------------------------

void EngineCore::snapshot(const std::function<void(std::string_view)>& write) const {
  HeadImage head;
  head.log_end = log_end_.value;
  head.now = now_;
  head.queues_end = static_cast<std::uint32_t>(queues_.size());
  head.topics_end = static_cast<std::uint32_t>(topics_.size());
  head.subscriptions_end = static_cast<std::uint32_t>(subscriptions_.size());
  head.deleted_queues.assign(deleted_queues_.begin(), deleted_queues_.end());
  write_section(SectionKind::Head, head, write);

  for (const auto& queue : queues_) {
    if (queue == nullptr) continue;
    write_section(SectionKind::Queue,
                  QueueImage{queue->id.number, queue->key, queue->settings, queue->created_at, queue->changed_at,
                             queue->purged_at, tagging(queue->tags), queue->messages.next_sequence().value, queue->deleted,
                             queue->move_tasks},
                  write);
  }
  for (const auto& topic : topics_) {
    if (topic == nullptr) continue;
    write_section(SectionKind::Topic,
                  TopicImage{topic->id.number, topic->key, topic->settings, topic->created_at, tagging(topic->tags),
                             topic->subscriptions_deleted, topic->next_sequence.value},
                  write);
  }
  for (const auto& s : subscriptions_) {
    if (s == nullptr) continue;
    write_section(SectionKind::Subscription,
                  SubscriptionImage{s->id.number, s->topic.number, s->topic_key, s->uuid, s->protocol, s->endpoint, s->owner,
                                    s->principal, s->created_at, s->settings, s->token, s->authenticated, s->deleted},
                  write);
  }

  DirectoryImage directory;
  directory_.for_each([&](const topic::DirectoryChange& entry) {
    directory.entries.push_back(entry);
    if (directory.entries.size() < kDirectoryPerSection) return;
    write_section(SectionKind::Directory, directory, write);
    directory.entries.clear();
  });
  if (!directory.entries.empty()) write_section(SectionKind::Directory, directory, write);

  const auto write_duplicates = [&](DuplicatesImage image, const message::DeduplicationWindow& window) {
    window.for_each(now_, [&](const auto& key, const auto& accepted) {
      image.duplicates.push_back({key, accepted});
      if (image.duplicates.size() < kDuplicatesPerSection) return;
      write_section(SectionKind::Duplicates, image, write);
      image.duplicates.clear();
    });
    if (!image.duplicates.empty()) write_section(SectionKind::Duplicates, image, write);
  };
  for (const auto& queue : queues_)
    if (queue != nullptr) write_duplicates({queue->id.number, 0, {}}, queue->messages.deduplication());
  for (const auto& topic : topics_)
    if (topic != nullptr) write_duplicates({0, topic->id.number, {}}, topic->deduplication);

  // Payloads get numbers without gaps; entries name them by these.
  std::vector<std::uint32_t> numbers(payloads_.end());
  PayloadsImage payloads;
  std::uint32_t next_number = 0;
  for (std::uint32_t index = payloads_.next_used(0); index != payloads_.end(); index = payloads_.next_used(index + 1)) {
    numbers[index] = next_number++;
    payloads.payloads.push_back({payloads_.position(index).value, payloads_.bytes(index)});
    if (payloads.payloads.size() < kPayloadsPerSection) continue;
    write_section(SectionKind::Payloads, payloads, write);
    payloads.payloads.clear();
  }
  if (!payloads.payloads.empty()) write_section(SectionKind::Payloads, payloads, write);

  for (const auto& queue : queues_) {
    if (queue == nullptr || queue->messages.size() == 0) continue;
    GroupsImage groups{queue->id.number, {}, {}};
    queue->messages.for_each_group([&](std::uint32_t number, std::string_view name) {
      groups.names.emplace_back(number, name);
      if (queue->messages.is_noisy(number)) groups.noisy.push_back(number);
      if (groups.names.size() < kGroupsPerSection) return;
      write_section(SectionKind::Groups, groups, write);
      groups.names.clear();
      groups.noisy.clear();
    });
    if (!groups.names.empty()) write_section(SectionKind::Groups, groups, write);
    EntriesImage entries{queue->id.number, {}};
    queue->messages.for_each({0}, [&](const queue::Entry& entry) {
      EntryImage& image = entries.entries.emplace_back(EntryImage{entry, queue->messages.rank_of(entry)});
      image.entry.payload = numbers[entry.payload];
      if (entries.entries.size() == kEntriesPerSection) {
        write_section(SectionKind::Entries, entries, write);
        entries.entries.clear();
      }
      return true;
    });
    if (!entries.entries.empty()) write_section(SectionKind::Entries, entries, write);
  }
  for (const auto& topic : topics_) {
    if (topic == nullptr || (!topic->archive.is_active() && topic->archive.messages.empty())) continue;
    const TopicArchive& archive = topic->archive;
    ArchiveImage image{topic->id.number, archive.is_active() ? std::optional{archive.from} : std::nullopt, {}};
    for (auto next = archive.first_living(now_); next != archive.messages.end(); ++next) {
      image.messages.push_back({next->sequence, next->published_at, numbers[next->payload]});
      if (image.messages.size() < kArchivedPerSection) continue;
      write_section(SectionKind::Archive, image, write);
      image.messages.clear();
    }
    write_section(SectionKind::Archive, image, write);
  }
  for (const auto& s : subscriptions_)
    if (s != nullptr && s->replay) write_section(SectionKind::Replay, ReplayImage{s->id.number, *s->replay}, write);
  for (const auto& s : subscriptions_)
    if (s != nullptr && !s->deleted && s->left_at) write_section(SectionKind::Left, LeftImage{s->id.number, *s->left_at}, write);
  write_section(SectionKind::End, next_number, write);
}

// ---- Load ---------------------------------------------------------------------------------------------------------------

Result<Success, ReplayError> EngineCore::load(const std::function<std::optional<std::string>()>& next) {
  Loading loading;
  while (const auto section = next()) {
    if (loading.ended || section->size() < 2) return ReplayError::Damaged;
    if (static_cast<std::uint8_t>((*section)[0]) != kVersion) return ReplayError::UnknownVersion;
    if (!load_section(*section, loading)) return ReplayError::Damaged;
  }
  if (!loading.ended) return ReplayError::Damaged;
  for (const auto& place : loading.noisy) {
    QueueState* queue = queue_by_number(place.first);
    const auto name = loading.groups.find(place);
    if (queue == nullptr || name == loading.groups.end()) return ReplayError::Damaged;
    queue->messages.restore_noisy(name->second);
  }
  for (const std::uint32_t payload : loading.payloads) payloads_.release(payload);
  for (const auto& queue : queues_)
    if (queue != nullptr && !queue->deleted) {
      note_deadline(*queue);
      note_move(*queue);
    }
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
        // The log is never longer than this: a position elsewhere is damage, and the count by regions would take all memory.
        if (position > log_end_.value || log_end_.value - position > kLogSpanMax) return false;
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
    case SectionKind::Entries: {
      EntriesImage image;
      if (!read_image(reader, image)) return false;
      QueueState* queue = queue_by_number(image.queue);
      if (queue == nullptr || queue->deleted) return false;
      const SequenceNumber next = queue->messages.next_sequence();
      SequenceNumber previous{0};
      for (EntryImage& one : image.entries) {
        queue::Entry& entry = one.entry;
        // Sequence numbers grow within a section and from section to section, below the queue's next one.
        const bool grows = previous < entry.sequence && entry.sequence < next;
        if (!grows || queue->messages.find(entry.sequence) != nullptr || entry.payload >= payloads.size()) return false;
        if (entry.undelivered > entry.receipt) return false;
        if (queue->settings.fifo && entry.state == queue::EntryState::Returned) return false;  // there it stands in its group
        entry.payload = payloads[entry.payload];
        if (entry.envelope != 0) {
          SubscriptionState* subscription = subscription_by_number(subscription_of_envelope(entry.envelope));
          if (subscription == nullptr) return false;
          ++subscription->references;
        }
        if (entry.dead_letter_source != 0) {
          QueueState* source = queue_by_number(entry.dead_letter_source);
          if (source == nullptr) return false;
          ++source->references;
        }
        std::string_view group;
        if (queue->settings.fifo || entry.group != 0) {
          const auto name = loading.groups.find({image.queue, entry.group});
          if (name == loading.groups.end()) return false;
          group = name->second;
        }
        payloads_.retain(entry.payload);
        queue->messages.restore(entry, one.rank, group);
        previous = entry.sequence;
      }
      return true;
    }
    case SectionKind::Archive: {
      ArchiveImage image;
      if (!read_image(reader, image) || image.topic >= topics_.size() || topics_[image.topic] == nullptr) return false;
      TopicState& topic = *topics_[image.topic];
      TopicArchive& archive = topic.archive;
      if (image.from.has_value() != archive.is_active()) return false;
      if (image.from) archive.from = *image.from;
      for (const ArchivedImage& one : image.messages) {
        const bool grows = archive.messages.empty() || (archive.messages.back().sequence < one.sequence &&
                                                        archive.messages.back().published_at <= one.published_at);
        if (!grows || one.sequence >= topic.next_sequence.value || one.published_at > now_ || one.payload >= payloads.size()) return false;
        payloads_.retain(payloads[one.payload]);
        archive.messages.push_back({one.sequence, one.published_at, payloads[one.payload]});
      }
      return true;
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
      std::uint32_t count = 0;
      reader(count);
      loading.ended = true;
      return reader.ok() && reader.remaining() == 0 && count == payloads.size();
    }
  }
  return false;
}

// ---- Relocation ---------------------------------------------------------------------------------------------------------

void EngineCore::relocate_archived(TopicState& topic, const ArchivedMessage& message, std::string_view content) {
  const std::size_t start = outputs_->record_bytes.size();
  const LogPosition position = log_end_;
  const ArchiveRelocatedEvent event{topic.id.number, message.sequence};
  encode_record(event, now_, content, outputs_->record_bytes);
  finish_record(start);
  apply(event, position);
}

void EngineCore::relocate_content(QueueState& queue, const queue::Entry& entry, std::string_view content) {
  const std::size_t start = outputs_->record_bytes.size();
  const LogPosition position = log_end_;
  const RelocatedEvent event{queue.id.number, entry.sequence.value};
  encode_record(event, now_, content, outputs_->record_bytes);
  finish_record(start);
  apply(event, position);
}

bool EngineCore::relocate(LogPosition before, std::uint64_t budget_bytes,
                          const std::function<std::optional<std::string>(LogPosition)>& read, Outputs& outputs) {
  // Whole regions, because the oldest position is known by region.
  const std::uint64_t mask = PayloadStore::kRegionBytes - 1;
  before = LogPosition{(before.value + mask) & ~mask};
  const auto left = [&] {
    const auto oldest = payloads_.oldest_position();
    return oldest && *oldest < before;
  };
  outputs_ = &outputs;
  std::size_t looked_at = 0;
  std::uint64_t written = 0;
  bool again = true;
  // False: the slice is over, and what is meant is looked at next time.
  const auto look_at = [&](std::uint32_t payload, const auto& write_again) {
    if (looked_at == kRelocationLooksAt || written >= budget_bytes) return false;
    ++looked_at;
    const LogPosition position = payloads_.position(payload);
    if (position >= before) return true;
    std::string_view content = payloads_.content(payload);
    std::optional<std::string> record;
    if (content.empty()) {
      record = read(position);
      if (record) content = content_of_record(*record).value_or(std::string_view{});
    }
    if (content.empty()) return true;
    write_again(content);
    relocation_.moved_any = true;
    written += content.size();
    return true;
  };
  while (left() && again && looked_at < kRelocationLooksAt && written < budget_bytes) {
    if (relocation_.queue >= queues_.size() + topics_.size()) {
      again = relocation_.moved_any;
      relocation_ = {};
      continue;
    }
    bool finished = true;
    if (relocation_.queue >= queues_.size()) {
      if (TopicState* topic = topics_[relocation_.queue - queues_.size()].get()) {
        for (auto next = topic->archive.from_sequence(relocation_.sequence.value); finished && next != topic->archive.messages.end(); ++next) {
          relocation_.sequence = {next->sequence};
          finished = look_at(next->payload, [&](std::string_view content) { relocate_archived(*topic, *next, content); });
        }
      }
    } else if (const auto& queue = queues_[relocation_.queue]; queue != nullptr && !queue->deleted) {
      queue->messages.for_each(relocation_.sequence, [&](const queue::Entry& entry) {
        relocation_.sequence = entry.sequence;
        return finished = look_at(entry.payload, [&](std::string_view content) { relocate_content(*queue, entry, content); });
      });
    }
    if (finished) {
      ++relocation_.queue;
      relocation_.sequence = {0};
    }
  }
  outputs_ = nullptr;
  return left() && again;
}

std::size_t EngineCore::message_count() const {
  std::size_t count = 0;
  for (const auto& queue : queues_)
    if (queue != nullptr && !queue->deleted) count += queue->messages.size();
  return count;
}

std::size_t EngineCore::state_size() const {
  std::size_t count = message_count() + payloads_.size() + queues_.size() + topics_.size() + subscriptions_.size() + deleted_queues_.size();
  for (const auto& queue : queues_)
    if (queue != nullptr) count += queue->messages.deduplication().size();
  for (const auto& topic : topics_)
    if (topic != nullptr) count += topic->deduplication.size() + topic->archive.messages.size();
  return count;
}

void EngineCore::visit_messages(const std::function<void(const MessagePlace&)>& visit) const {
  for (const auto& queue : queues_) {
    if (queue == nullptr || queue->deleted) continue;
    queue->messages.for_each({0}, [&](const queue::Entry& entry) {
      visit({queue->id.number, 0, entry.sequence.value, entry.id, queue->arn, payloads_.position(entry.payload)});
      return true;
    });
  }
  for (const auto& topic : topics_) {
    if (topic == nullptr) continue;
    for (const ArchivedMessage& message : topic->archive.messages)
      visit({0, topic->id.number, message.sequence, {}, topic->arn, payloads_.position(message.payload)});
  }
}

// ---- The state as text --------------------------------------------------------------------------------------------------

std::string EngineCore::debug_state() const {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "log end {}\n", log_end_.value);
  const auto tags_of = [&](const TagMap& tags) {
    for (const auto& [key, value] : tags) fmt::format_to(out, " tag {}={}", key, value);
  };
  // Settings in the form of records: every field is in it.
  const auto settings_of = [&](const auto& settings) {
    std::string bytes;
    Writer writer(bytes);
    writer(settings);
    for (const char c : bytes) {
      if (c >= ' ' && c <= '~') {
        text.push_back(c);
      } else if (c != 0) {
        fmt::format_to(out, "\\{:02x}", static_cast<unsigned char>(c));
      }
    }
    text.push_back('\n');
  };
  for (const auto& queue : queues_) {
    if (queue == nullptr) continue;
    fmt::format_to(out, "queue {} {}{} references {} created {} changed {} purged {} next {}", queue->id.number, queue->arn,
                   queue->deleted ? " deleted" : "", queue->references, unix_ms(queue->created_at), unix_ms(queue->changed_at),
                   queue->purged_at ? unix_ms(*queue->purged_at) : 0, queue->messages.next_sequence().value);
    tags_of(queue->tags);
    text += "\n  settings ";
    settings_of(queue->settings);
    for (const MoveTask& t : queue->move_tasks)
      fmt::format_to(out, "  move task {} to {} rate {} status {} failure {} moved {} of {} started {} pace {} from {}\n", t.id.str(),
                     t.destination ? t.destination->arn().str() : "sources", t.per_second_max, static_cast<int>(t.status),
                     static_cast<int>(t.failure), t.moved, t.to_move, unix_ms(t.started_at), t.paced_moved, unix_ms(t.paced_from));
    queue->messages.for_each_group([&](std::uint32_t number, std::string_view name) {
      if (queue->messages.is_noisy(number)) fmt::format_to(out, "  noisy '{}'\n", name);
    });
    queue->messages.for_each({0}, [&](const queue::Entry& e) {
      constexpr std::string_view kStates[] = {"ready", "returned", "leased", "delayed"};
      fmt::format_to(out, "  message {} {} {} rank {} at {} sent {} hidden {} first {} received {} receipt {}-{} epoch {}",
                     e.sequence.value, e.id.str(), kStates[static_cast<std::size_t>(e.state)], queue->messages.rank_of(e),
                     payloads_.position(e.payload).value, unix_ms(e.sent_at), e.hidden_until_ms, e.first_received_ms,
                     e.received_ms, e.receipt, e.undelivered, e.receive_epoch);
      fmt::format_to(out, " group '{}' envelope {} source {} copies {}\n", queue->messages.group_of(e), e.envelope, e.dead_letter_source,
                     payloads_.references(e.payload));
      return true;
    });
  }
  const auto duplicates_of = [&](const message::DeduplicationWindow& window) {
    window.for_each(now_, [&](const auto& key, const auto& accepted) {
      fmt::format_to(out, "  duplicate {:x}{:x} {} {} {}\n", key.high, key.low, accepted.id.str(), accepted.sequence_number,
                     unix_ms(accepted.at));
    });
  };
  for (const auto& queue : queues_) {
    if (queue == nullptr || queue->messages.deduplication().size() == 0) continue;
    fmt::format_to(out, "duplicates of queue {}\n", queue->id.number);
    duplicates_of(queue->messages.deduplication());
  }
  for (const auto& topic : topics_) {
    if (topic == nullptr) continue;
    fmt::format_to(out, "topic {} {} created {} unsubscribed {} next {}", topic->id.number, topic->arn,
                   unix_ms(topic->created_at), topic->subscriptions_deleted, topic->next_sequence.value);
    tags_of(topic->tags);
    text += "\n  settings ";
    settings_of(topic->settings);
    for (const SubscriptionState* subscription : topic->subscriptions)
      fmt::format_to(out, "  subscription {}\n", subscription->id.number);
    duplicates_of(topic->deduplication);
    const TopicArchive& archive = topic->archive;
    if (archive.is_active()) fmt::format_to(out, "  archive from {} for {} ms\n", unix_ms(archive.from), archive.retention.count());
    for (auto next = archive.first_living(now_); next != archive.messages.end(); ++next)
      fmt::format_to(out, "  archived {} published {} at {}\n", next->sequence, unix_ms(next->published_at),
                     payloads_.position(next->payload).value);
  }
  for (const auto& s : subscriptions_) {
    if (s == nullptr) continue;
    fmt::format_to(out, "subscription {} {} of topic {}{} {} {} owner {} principal {} token '{}' references {} created {}\n",
                   s->id.number, topic::subscription_arn(s->topic_key.view(), s->uuid).str(), s->topic.number,
                   s->deleted ? " deleted" : "", topic::text_of(s->protocol), s->endpoint, s->owner, s->principal, s->token,
                   s->references, unix_ms(s->created_at));
    if (s->left_at) fmt::format_to(out, "  left {}\n", unix_ms(*s->left_at));
    text += "  settings ";
    settings_of(s->settings);
    if (s->replay)
      fmt::format_to(out, "  replay {} {} from {} to {} next {} live from {}\n", static_cast<int>(s->replay->status),
                     s->replay->running ? "runs" : "ended", unix_ms(s->replay->start), s->replay->end ? unix_ms(*s->replay->end) : -1,
                     s->replay->next, s->replay->live_from);
  }
  directory_.for_each([&](const topic::DirectoryChange& entry) {
    fmt::format_to(out, "directory {} {} {}", static_cast<int>(entry.kind), entry.owner, entry.key);
    for (const auto& [name, value] : entry.attributes) fmt::format_to(out, " {}={}", name, value);
    text.push_back('\n');
  });
  for (const auto& [key, at] : deleted_queues_) fmt::format_to(out, "deleted {} at {}\n", key.arn().str(), unix_ms(at));
  return text;
}

}  // namespace fanfare::engine
