// The journal records of the engine: one event, one encoding. Durable: the numbers below never change their meaning.
//
// Every record, little-endian:
//   0   u8   version = 1
//   1   u8   kind (RecordKind)
//   2   u16  partition that owns the state it changes, 0 today
//   4   u32  bytes of the content that the record carries (message::encode), at its very end; 0: none
//   8   i64  when it happened, Unix ms
//   16  the event's fields, in the order of the struct of the same name below: integers and times (i64, Unix ms) as they
//       stand, ids as 16 bytes, texts as u32 length and bytes, lists as u32 count and elements, optional values as u8 (0, 1)
//       and the value if 1, then the content.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/engine/attempts.h"
#include "core/engine/commands.h"
#include "core/message/content.h"
#include "core/queue/names.h"
#include "core/queue/settings.h"
#include "core/topic/directory.h"
#include "core/topic/names.h"
#include "core/topic/settings.h"

namespace fanfare::engine {

/// Never change or reuse a number.
enum class RecordKind : std::uint8_t {
  Sent = 1,
  Published = 2,
  Received = 3,
  Deleted = 4,
  VisibilityChanged = 5,
  DeadLettered = 6,
  Undelivered = 7,
  MessageMoved = 8,
  FannedOut = 9,  ///< a PublishedEvent as it is written now; Published is how it was before
  Attempted = 10,
  Repeated = 11,
  QueueCreated = 16,
  QueueChanged = 17,
  QueueDeleted = 18,
  QueuePurged = 19,
  QueueTagged = 20,
  MoveTaskStarted = 21,
  MoveTaskEnded = 22,
  TopicCreated = 32,
  TopicChanged = 33,
  TopicDeleted = 34,
  TopicTagged = 35,
  SubscriptionCreated = 36,
  SubscriptionChanged = 37,
  SubscriptionDeleted = 38,
  SubscriptionConfirmed = 39,
  ReplayStarted = 40,
  Replayed = 41,
  ReplayEnded = 42,
  SubscriptionLeft = 43,
  SubscriptionRestored = 44,
  Relocated = 48,
  ArchiveRelocated = 49,
  ArchiveForgotten = 50,
  DirectoryChanged = 56,
};

constexpr std::size_t kRecordHeaderBytes = 16;

/// The encoded content (message::ContentView::decode reads it) inside a record that ReceivedMessage::position names;
/// nullopt if the record carries none or is damaged.
std::optional<std::string_view> content_of_record(std::string_view record);

// ---- Events -------------------------------------------------------------------------------------------------------------
// Numbers name queues, topics and subscriptions; sequences name messages of that queue.

/// A message was sent to a queue. Carries its content.
struct SentEvent {
  std::uint32_t queue = 0;
  std::uint64_t sequence = 0;
  MessageId id;
  Timestamp visible_at{};
};

/// A message was published to a topic and reached these queues. Carries its content, in which a FIFO topic's sequence number
/// stands. As FannedOut: topic and count, then for each delivery three numbers of 7 bits a byte, each the difference (0, -1, 1 .. as 0, 1, 2 ..)
/// to what follows from the delivery before: the next subscription with `enveloped` and `redriven` in the two lowest bits, the next queue, the
/// same sequence. As Published: the fields as they stand here, 18 bytes a delivery.
struct PublishedEvent {
  struct Delivery {
    std::uint32_t subscription = 0;
    std::uint32_t queue = 0;
    std::uint64_t sequence = 0;
    bool enveloped = false;  ///< the copy needs the envelope of the subscription
    bool redriven = false;   ///< the queue is the subscription's dead-letter queue
  };
  std::uint32_t topic = 0;
  std::vector<Delivery> deliveries;
};

struct ReceivedEvent {
  std::uint32_t queue = 0;
  std::uint32_t epoch = 0;
  Timestamp until{};
  std::vector<std::uint64_t> sequences;
};

/// The same, of a receive that can be asked for again: behind it the hash of its attempt id, as two halves.
struct AttemptedEvent : ReceivedEvent {
  Attempt::Key attempt;
};

/// A receive was asked for again: the messages that it took, under the handles that they have, are leased anew.
struct RepeatedEvent {
  std::uint32_t queue = 0;
  Timestamp until{};
  std::vector<std::uint64_t> sequences;
  Attempt::Key attempt;
};

struct DeletedEvent {
  std::uint32_t queue = 0;
  std::vector<std::uint64_t> sequences;
};

struct VisibilityChangedEvent {
  struct Change {
    std::uint64_t sequence = 0;
    Timestamp until{};
  };
  std::uint32_t queue = 0;
  std::vector<Change> changes;
};

/// A message moved to the dead-letter queue, with all that is known about it.
struct DeadLetteredEvent {
  std::uint32_t queue = 0;
  std::uint64_t sequence = 0;
  std::uint32_t to_queue = 0;
  std::uint64_t to_sequence = 0;
  Timestamp visible_at{};
};

/// A move task took a message to another queue, where it is a new one.
struct MessageMovedEvent {
  std::uint32_t queue = 0;
  std::uint64_t sequence = 0;
  std::uint32_t to_queue = 0;
  std::uint64_t to_sequence = 0;
};

struct UndeliveredEvent {
  std::uint32_t queue = 0;
  std::vector<std::uint64_t> sequences;
};

using Tagging = std::vector<std::pair<std::string, std::string>>;

struct QueueCreatedEvent {
  std::uint32_t queue = 0;
  std::uint64_t first_sequence = 0;
  queue::QueueKey key;
  queue::QueueSettings settings;
  Tagging tags;
};
struct QueueChangedEvent {
  std::uint32_t queue = 0;
  queue::QueueSettings settings;
};
struct QueueDeletedEvent {
  std::uint32_t queue = 0;
};
struct QueuePurgedEvent {
  std::uint32_t queue = 0;
};
/// All tags that the queue has from now on.
struct QueueTaggedEvent {
  std::uint32_t queue = 0;
  Tagging tags;
};

/// `queue` is the one whose messages are moved.
struct MoveTaskStartedEvent {
  std::uint32_t queue = 0;
  Uuid task;
  std::optional<queue::QueueKey> destination;
  std::uint32_t per_second_max = 0;
  std::uint64_t to_move = 0;
};
struct MoveTaskEndedEvent {
  std::uint32_t queue = 0;
  MoveTask::Status status = MoveTask::Status::Completed;
  MoveTask::Failure failure = MoveTask::Failure::None;
};

struct TopicCreatedEvent {
  std::uint32_t topic = 0;
  std::uint64_t first_sequence = 0;  ///< counts on FIFO topics
  topic::TopicKey key;
  topic::TopicSettings settings;
  Tagging tags;
};
struct TopicChangedEvent {
  std::uint32_t topic = 0;
  topic::TopicSettings settings;
};
struct TopicDeletedEvent {
  std::uint32_t topic = 0;
};
struct TopicTaggedEvent {
  std::uint32_t topic = 0;
  Tagging tags;
};

struct SubscriptionCreatedEvent {
  std::uint32_t subscription = 0;
  std::uint32_t topic = 0;
  topic::SubscriptionUuid uuid;
  topic::DeliveryProtocol protocol = topic::DeliveryProtocol::Sqs;
  std::string endpoint;
  std::string owner;      ///< account of who subscribed
  std::string principal;  ///< ARN of who subscribed
  std::string token;      ///< not empty: it waits for its confirmation
  bool authenticated = false;  ///< confirmation was authenticated
  topic::SubscriptionSettings settings;
};
struct SubscriptionChangedEvent {
  std::uint32_t subscription = 0;
  topic::SubscriptionSettings settings;
};
struct SubscriptionDeletedEvent {
  std::uint32_t subscription = 0;
};
struct SubscriptionConfirmedEvent {
  std::uint32_t subscription = 0;
  bool authenticated = false;
};

/// Somebody else than its owner ended the subscription: it gets nothing and is not shown, and its endpoint is told how to restore it.
struct SubscriptionLeftEvent {
  std::uint32_t subscription = 0;
  std::string token;
};
struct SubscriptionRestoredEvent {
  std::uint32_t subscription = 0;
  bool authenticated = false;
};

/// A subscription begins to get its topic's archive again, from the publication `next` on. What is from `live_from` on is new.
struct ReplayStartedEvent {
  std::uint32_t subscription = 0;
  Timestamp start{};
  std::optional<Timestamp> end;
  std::uint64_t next = 0;
  std::uint64_t live_from = 0;
};
/// The replay has come as far as `next`; what lies between and is no delivery here was not wanted, or could not be delivered.
struct ReplayedEvent {
  struct Delivery {
    std::uint64_t publication = 0;  ///< its place in the archive
    std::uint32_t queue = 0;
    std::uint64_t sequence = 0;
    MessageId id;
    bool enveloped = false;
    bool replayed = true;  ///< false: it was published since the replay began
    std::string group;
    std::string deduplication_id;  ///< empty: the queue does not look for duplicates of it
  };
  std::uint32_t subscription = 0;
  std::uint64_t next = 0;
  std::vector<Delivery> deliveries;
};
struct ReplayEndedEvent {
  std::uint32_t subscription = 0;
  ReplayStatus status = ReplayStatus::Completed;
};

/// The content of this publication of a topic's archive now lies in this record. Carries the content.
struct ArchiveRelocatedEvent {
  std::uint32_t topic = 0;
  std::uint64_t sequence = 0;
};
/// This publication is taken out of its topic's archive: its content is lost.
struct ArchiveForgottenEvent {
  std::uint32_t topic = 0;
  std::uint64_t sequence = 0;
};

/// The content of this message, and of every other copy of it, now lies in this record. Carries the content.
struct RelocatedEvent {
  std::uint32_t queue = 0;
  std::uint64_t sequence = 0;
};

/// Entries of the directory are from now on as these say.
struct DirectoryChangedEvent {
  std::vector<topic::DirectoryChange> changes;
};

using Event = std::variant<SentEvent, PublishedEvent, ReceivedEvent, AttemptedEvent, RepeatedEvent, DeletedEvent, VisibilityChangedEvent,
                           DeadLetteredEvent, MessageMovedEvent, UndeliveredEvent, MoveTaskStartedEvent, MoveTaskEndedEvent,
                           QueueCreatedEvent, QueueChangedEvent, QueueDeletedEvent,
                           QueuePurgedEvent, QueueTaggedEvent, TopicCreatedEvent, TopicChangedEvent, TopicDeletedEvent,
                           TopicTaggedEvent, SubscriptionCreatedEvent, SubscriptionChangedEvent, SubscriptionDeletedEvent,
                           SubscriptionConfirmedEvent, RelocatedEvent, DirectoryChangedEvent, ReplayStartedEvent, ReplayedEvent,
                           ReplayEndedEvent, ArchiveRelocatedEvent, ArchiveForgottenEvent, SubscriptionLeftEvent,
                           SubscriptionRestoredEvent>;

/// Appends the record of an event, a member of Event. `content`: message::encode's bytes, for the kinds that carry one.
template <class OneEvent>
void encode_record(const OneEvent& event, Timestamp at, std::string_view content, std::string& out);
/// The same with a content that is encoded on the way; returns its bytes, which lie inside `out`.
template <class OneEvent>
std::string_view encode_record_with(const OneEvent& event, Timestamp at, const message::Content& content, std::string& out);

struct DecodedRecord {
  Event event;
  Timestamp at{};
  std::string_view content;  ///< into the record; empty: it carries none
};
enum class RecordError : std::uint8_t {
  UnknownVersion,  ///< written by a newer program
  UnknownKind,     ///< the same
  Damaged,         ///< too short, too long, or a value outside its range
};
Result<DecodedRecord, RecordError> decode_record(std::string_view record);

}  // namespace fanfare::engine
