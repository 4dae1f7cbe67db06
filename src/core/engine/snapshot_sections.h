// What a snapshot consists of: a row of sections. Each begins with u8 version and u8 kind; the rest is the fields of the struct of
// that name below, as archive.h writes them.
//
// Version 3, in this order: Head, queues, topics, subscriptions, each followed by its replay and when it left, directory; for each queue
// with messages or tenants its entries (entries_section.h) and tenants; what topics archive (the same file); duplicates of topics;
// duplicates and attempts of queues; End with u64 number of entries and archived messages. Older programs wrote duplicates before
// entries, and, before there were tenants, a queue's noisy groups before both: a reader takes them anywhere behind their queue or topic.
// Version 2 had, instead of the packed entries and archives, payloads with a number each, groups with a number each, and entries and
// archives that named both; End had the u32 number of payloads. It is read, no longer written.
//
// Rule 1: numbers of kinds are durable: never change or reuse one. A new meaning gets a new kind, and what an older program must not
//         overlook a new version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/engine/archive.h"
#include "core/engine/records.h"
#include "core/engine/topic_archive.h"
#include "core/message/deduplication.h"
#include "core/queue/entry.h"

namespace fanfare::queue {

inline EntryState last_of(EntryState) { return EntryState::Delayed; }

}  // namespace fanfare::queue

namespace fanfare::engine {

constexpr std::uint8_t kSnapshotVersion = 3;
constexpr std::uint8_t kSnapshotVersionWithNumberedPayloads = 2;

enum class SectionKind : std::uint8_t { Head = 1, Queue = 2, Topic = 3, Subscription = 4, Payloads = 5, Entries = 6, End = 7,
                                        Groups = 8, Duplicates = 9, Directory = 10, Archive = 11, Replay = 12, Left = 13, Noisy = 14,
                                        PackedEntries = 15, PackedArchive = 16, Attempts = 17, Tenants = 18 };
inline SectionKind last_of(SectionKind) { return SectionKind::Tenants; }

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
/// The noisy groups of a standard queue. Read, no longer written: each is quiet five minutes after the head's time.
struct NoisyImage {
  std::uint32_t queue = 0;
  std::vector<std::string> groups;
};
template <class A>
void fields(A& a, Arg<A, NoisyImage>& n) {
  a(n.queue), a(n.groups);
}
/// A receive that can be asked for again, and what it took: sequence and number of the delivery.
struct AttemptImage {
  Attempt::Key key;
  Timestamp at{};
  Timestamp until{};
  std::uint32_t epoch = 0;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> messages;
};
template <class A>
void fields(A& a, Arg<A, AttemptImage>& i) {
  a(i.key.high), a(i.key.low), a(i.at), a(i.until), a(i.epoch), a(i.messages);
}
/// Those of a FIFO queue, by age.
struct AttemptsImage {
  std::uint32_t queue = 0;
  std::vector<AttemptImage> attempts;
};
template <class A>
void fields(A& a, Arg<A, AttemptsImage>& i) {
  a(i.queue), a(i.attempts);
}
/// What ended of somebody's recent processing time, in milliseconds: queue::ProcessingTime::Ended, whose span is that of the head's time.
struct TimeImage {
  std::int64_t before = 0;
  std::int64_t here = 0;
};
template <class A>
void fields(A& a, Arg<A, TimeImage>& t) {
  a(t.before), a(t.here);
}
/// A standard queue that had messages with groups, and which of those are noisy until when, and which have taken time. After its entries:
/// each of the groups has some. A queue without such a section counts what runs, as if its first such message came with the head.
struct TenantsImage {
  std::uint32_t queue = 0;
  TimeImage all;                                          ///< of the queue; the same in each section of it
  std::vector<std::pair<std::string, Timestamp>> noisy;   ///< some or all, in any order
  std::vector<std::pair<std::string, TimeImage>> times;   ///< the same
};
template <class A>
void fields(A& a, Arg<A, TenantsImage>& t) {
  a(t.queue), a(t.all), a(t.noisy), a(t.times);
}

}  // namespace fanfare::engine
