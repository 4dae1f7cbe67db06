#include "core/engine/records.h"

#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "core/engine/archive.h"

namespace fanfare::engine {
namespace {

constexpr std::uint8_t kVersion = 1;

// ---- Differences --------------------------------------------------------------------------------------------------------
// The deliveries of a publication are most of its record, and hardly differ: as fixed fields 18 bytes each, as differences
// mostly 3, which is as much less to sum, to write, to prewrite and to replay.

/// 7 bits a byte, the low ones first; the highest bit says that more follow.
char* put_varint(char* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}
constexpr std::size_t kVarintBytesMax = 10;

std::uint64_t take_varint(Reader& reader) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    std::uint8_t byte = 0x80;
    reader(byte);
    const std::uint64_t bits = byte & 0x7f;
    if (shift == 63 && bits > 1) break;
    value |= bits << shift;
    if (byte < 0x80) {
      if (byte == 0 && shift > 0) break;  // a number has one form
      return value;
    }
  }
  reader.fail();
  return 0;
}

/// 0, -1, 1, -2 .. as 0, 1, 2, 3 ..; differences wrap around.
constexpr std::uint64_t zigzag(std::uint64_t difference) { return (difference << 1) ^ (0 - (difference >> 63)); }
constexpr std::uint64_t unzigzag(std::uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

/// What the next delivery is measured against: the one before, and numbers that follow one another.
struct Expected {
  std::uint64_t subscription = 1;
  std::uint64_t queue = 1;
  std::uint64_t sequence = 0;
  void follow(const PublishedEvent::Delivery& delivery) {
    subscription = std::uint64_t{delivery.subscription} + 1;
    queue = std::uint64_t{delivery.queue} + 1;
    sequence = delivery.sequence;
  }
};

void append_fanned_out(const PublishedEvent& event, std::string& out) {
  constexpr std::size_t kDeliveryBytesMax = 3 * kVarintBytesMax;
  char buffer[1024];
  char* at = put_varint(buffer, event.topic);
  at = put_varint(at, event.deliveries.size());
  Expected expected;
  for (const PublishedEvent::Delivery& delivery : event.deliveries) {
    if (static_cast<std::size_t>(std::end(buffer) - at) < kDeliveryBytesMax) {
      out.append(buffer, static_cast<std::size_t>(at - buffer));
      at = buffer;
    }
    const std::uint64_t flags = (delivery.enveloped ? 1u : 0u) | (delivery.redriven ? 2u : 0u);
    at = put_varint(at, zigzag(delivery.subscription - expected.subscription) << 2 | flags);
    at = put_varint(at, zigzag(delivery.queue - expected.queue));
    at = put_varint(at, zigzag(delivery.sequence - expected.sequence));
    expected.follow(delivery);
  }
  out.append(buffer, static_cast<std::size_t>(at - buffer));
}

std::uint32_t checked_number(Reader& reader, std::uint64_t value) {
  if (value > 0xffff'ffffu) reader.fail();
  return static_cast<std::uint32_t>(value);
}

void take_fanned_out(Reader& reader, PublishedEvent& event) {
  event.topic = checked_number(reader, take_varint(reader));
  const std::uint64_t count = take_varint(reader);
  if (count > reader.remaining() / 3) return reader.fail();  // a count that lies cannot make us allocate much
  event.deliveries.reserve(count);
  Expected expected;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    PublishedEvent::Delivery& delivery = event.deliveries.emplace_back();
    const std::uint64_t first = take_varint(reader);
    delivery.enveloped = (first & 1) != 0;
    delivery.redriven = (first & 2) != 0;
    delivery.subscription = checked_number(reader, expected.subscription + unzigzag(first >> 2));
    delivery.queue = checked_number(reader, expected.queue + unzigzag(take_varint(reader)));
    delivery.sequence = expected.sequence + unzigzag(take_varint(reader));
    expected.follow(delivery);
  }
}

}  // namespace

// The fields of each event, in the order of the record.
template <class A>
void fields(A& a, Arg<A, SentEvent>& e) {
  a(e.queue), a(e.sequence), a(e.id), a(e.visible_at);
}
template <class A>
void fields(A& a, Arg<A, PublishedEvent::Delivery>& d) {
  a(d.subscription), a(d.queue), a(d.sequence), a(d.enveloped), a(d.redriven);
}
template <class A>
void fields(A& a, Arg<A, PublishedEvent>& e) {
  a(e.topic), a(e.deliveries);
}
template <class A>
void fields(A& a, Arg<A, ReceivedEvent>& e) {
  a(e.queue), a(e.epoch), a(e.until), a(e.sequences);
}
template <class A>
void fields(A& a, Arg<A, AttemptedEvent>& e) {
  a(e.queue), a(e.epoch), a(e.until), a(e.sequences), a(e.attempt.high), a(e.attempt.low);
}
template <class A>
void fields(A& a, Arg<A, RepeatedEvent>& e) {
  a(e.queue), a(e.until), a(e.sequences), a(e.attempt.high), a(e.attempt.low);
}
template <class A>
void fields(A& a, Arg<A, DeletedEvent>& e) {
  a(e.queue), a(e.sequences);
}
template <class A>
void fields(A& a, Arg<A, VisibilityChangedEvent::Change>& c) {
  a(c.sequence), a(c.until);
}
template <class A>
void fields(A& a, Arg<A, VisibilityChangedEvent>& e) {
  a(e.queue), a(e.changes);
}
template <class A>
void fields(A& a, Arg<A, DeadLetteredEvent>& e) {
  a(e.queue), a(e.sequence), a(e.to_queue), a(e.to_sequence), a(e.visible_at);
}
template <class A>
void fields(A& a, Arg<A, MessageMovedEvent>& e) {
  a(e.queue), a(e.sequence), a(e.to_queue), a(e.to_sequence);
}
template <class A>
void fields(A& a, Arg<A, MoveTaskStartedEvent>& e) {
  a(e.queue), a(e.task), a(e.destination), a(e.per_second_max), a(e.to_move);
}
template <class A>
void fields(A& a, Arg<A, MoveTaskEndedEvent>& e) {
  a(e.queue), a(e.status), a(e.failure);
}
template <class A>
void fields(A& a, Arg<A, UndeliveredEvent>& e) {
  a(e.queue), a(e.sequences);
}
template <class A>
void fields(A& a, Arg<A, QueueCreatedEvent>& e) {
  a(e.queue), a(e.first_sequence), a(e.key), a(e.settings), a(e.tags);
}
template <class A>
void fields(A& a, Arg<A, QueueChangedEvent>& e) {
  a(e.queue), a(e.settings);
}
template <class A>
void fields(A& a, Arg<A, QueueDeletedEvent>& e) {
  a(e.queue);
}
template <class A>
void fields(A& a, Arg<A, QueuePurgedEvent>& e) {
  a(e.queue);
}
template <class A>
void fields(A& a, Arg<A, QueueTaggedEvent>& e) {
  a(e.queue), a(e.tags);
}
template <class A>
void fields(A& a, Arg<A, TopicCreatedEvent>& e) {
  a(e.topic), a(e.first_sequence), a(e.key), a(e.settings), a(e.tags);
}
template <class A>
void fields(A& a, Arg<A, TopicChangedEvent>& e) {
  a(e.topic), a(e.settings);
}
template <class A>
void fields(A& a, Arg<A, TopicDeletedEvent>& e) {
  a(e.topic);
}
template <class A>
void fields(A& a, Arg<A, TopicTaggedEvent>& e) {
  a(e.topic), a(e.tags);
}
template <class A>
void fields(A& a, Arg<A, SubscriptionCreatedEvent>& e) {
  a(e.subscription), a(e.topic), a(e.uuid), a(e.protocol), a(e.endpoint), a(e.owner), a(e.principal), a(e.token);
  a(e.authenticated), a(e.settings);
}
template <class A>
void fields(A& a, Arg<A, SubscriptionChangedEvent>& e) {
  a(e.subscription), a(e.settings);
}
template <class A>
void fields(A& a, Arg<A, SubscriptionDeletedEvent>& e) {
  a(e.subscription);
}
template <class A>
void fields(A& a, Arg<A, SubscriptionConfirmedEvent>& e) {
  a(e.subscription), a(e.authenticated);
}
template <class A>
void fields(A& a, Arg<A, RelocatedEvent>& e) {
  a(e.queue), a(e.sequence);
}
template <class A>
void fields(A& a, Arg<A, SubscriptionLeftEvent>& e) {
  a(e.subscription), a(e.token);
}
template <class A>
void fields(A& a, Arg<A, SubscriptionRestoredEvent>& e) {
  a(e.subscription), a(e.authenticated);
}
template <class A>
void fields(A& a, Arg<A, ReplayStartedEvent>& e) {
  a(e.subscription), a(e.start), a(e.end), a(e.next), a(e.live_from);
}
template <class A>
void fields(A& a, Arg<A, ReplayedEvent::Delivery>& d) {
  a(d.publication), a(d.queue), a(d.sequence), a(d.id), a(d.enveloped), a(d.replayed), a(d.group), a(d.deduplication_id);
}
template <class A>
void fields(A& a, Arg<A, ReplayedEvent>& e) {
  a(e.subscription), a(e.next), a(e.deliveries);
}
template <class A>
void fields(A& a, Arg<A, ReplayEndedEvent>& e) {
  a(e.subscription), a(e.status);
}
template <class A>
void fields(A& a, Arg<A, ArchiveRelocatedEvent>& e) {
  a(e.topic), a(e.sequence);
}
template <class A>
void fields(A& a, Arg<A, ArchiveForgottenEvent>& e) {
  a(e.topic), a(e.sequence);
}
template <class A>
void fields(A& a, Arg<A, DirectoryChangedEvent>& e) {
  a(e.changes);
}

namespace {

template <class E>
constexpr RecordKind kind_of() {
  using K = RecordKind;
  if constexpr (std::is_same_v<E, SentEvent>) return K::Sent;
  else if constexpr (std::is_same_v<E, PublishedEvent>) return K::FannedOut;
  else if constexpr (std::is_same_v<E, ReceivedEvent>) return K::Received;
  else if constexpr (std::is_same_v<E, AttemptedEvent>) return K::Attempted;
  else if constexpr (std::is_same_v<E, RepeatedEvent>) return K::Repeated;
  else if constexpr (std::is_same_v<E, DeletedEvent>) return K::Deleted;
  else if constexpr (std::is_same_v<E, VisibilityChangedEvent>) return K::VisibilityChanged;
  else if constexpr (std::is_same_v<E, DeadLetteredEvent>) return K::DeadLettered;
  else if constexpr (std::is_same_v<E, MessageMovedEvent>) return K::MessageMoved;
  else if constexpr (std::is_same_v<E, MoveTaskStartedEvent>) return K::MoveTaskStarted;
  else if constexpr (std::is_same_v<E, MoveTaskEndedEvent>) return K::MoveTaskEnded;
  else if constexpr (std::is_same_v<E, UndeliveredEvent>) return K::Undelivered;
  else if constexpr (std::is_same_v<E, QueueCreatedEvent>) return K::QueueCreated;
  else if constexpr (std::is_same_v<E, QueueChangedEvent>) return K::QueueChanged;
  else if constexpr (std::is_same_v<E, QueueDeletedEvent>) return K::QueueDeleted;
  else if constexpr (std::is_same_v<E, QueuePurgedEvent>) return K::QueuePurged;
  else if constexpr (std::is_same_v<E, QueueTaggedEvent>) return K::QueueTagged;
  else if constexpr (std::is_same_v<E, TopicCreatedEvent>) return K::TopicCreated;
  else if constexpr (std::is_same_v<E, TopicChangedEvent>) return K::TopicChanged;
  else if constexpr (std::is_same_v<E, TopicDeletedEvent>) return K::TopicDeleted;
  else if constexpr (std::is_same_v<E, TopicTaggedEvent>) return K::TopicTagged;
  else if constexpr (std::is_same_v<E, SubscriptionCreatedEvent>) return K::SubscriptionCreated;
  else if constexpr (std::is_same_v<E, SubscriptionChangedEvent>) return K::SubscriptionChanged;
  else if constexpr (std::is_same_v<E, SubscriptionDeletedEvent>) return K::SubscriptionDeleted;
  else if constexpr (std::is_same_v<E, SubscriptionConfirmedEvent>) return K::SubscriptionConfirmed;
  else if constexpr (std::is_same_v<E, RelocatedEvent>) return K::Relocated;
  else if constexpr (std::is_same_v<E, DirectoryChangedEvent>) return K::DirectoryChanged;
  else if constexpr (std::is_same_v<E, SubscriptionLeftEvent>) return K::SubscriptionLeft;
  else if constexpr (std::is_same_v<E, SubscriptionRestoredEvent>) return K::SubscriptionRestored;
  else if constexpr (std::is_same_v<E, ReplayStartedEvent>) return K::ReplayStarted;
  else if constexpr (std::is_same_v<E, ReplayedEvent>) return K::Replayed;
  else if constexpr (std::is_same_v<E, ReplayEndedEvent>) return K::ReplayEnded;
  else if constexpr (std::is_same_v<E, ArchiveRelocatedEvent>) return K::ArchiveRelocated;
  else if constexpr (std::is_same_v<E, ArchiveForgottenEvent>) return K::ArchiveForgotten;
}

template <class E>
std::size_t begin_record(const E& event, Timestamp at, std::string& out) {
  const std::size_t start = out.size();
  Writer writer(out);
  writer(kVersion);
  writer(kind_of<E>());
  writer(std::uint16_t{0});
  writer(std::uint32_t{0});
  writer(at);
  if constexpr (std::is_same_v<E, PublishedEvent>) append_fanned_out(event, out);
  else writer(event);
  return start;
}

void set_content_bytes(std::string& out, std::size_t start, std::size_t bytes) {
  FANFARE_ASSERT(bytes <= 0xffff'ffffu);
  const auto size = static_cast<std::uint32_t>(bytes);
  std::memcpy(out.data() + start + 4, &size, sizeof size);
}

// False for a kind that no event has.
template <std::size_t... Index>
bool decode_kind(RecordKind kind, Reader& reader, Event& event, std::index_sequence<Index...>) {
  if (kind == RecordKind::FannedOut) return take_fanned_out(reader, event.emplace<PublishedEvent>()), true;
  if (kind == RecordKind::Published) return reader(event.emplace<PublishedEvent>()), true;
  return ((kind == kind_of<std::variant_alternative_t<Index, Event>>() && (reader(event.emplace<Index>()), true)) || ...);
}

}  // namespace

template <class E>
void encode_record(const E& event, Timestamp at, std::string_view content, std::string& out) {
  const std::size_t start = begin_record(event, at, out);
  out.append(content);
  set_content_bytes(out, start, content.size());
}

template <class E>
std::string_view encode_record_with(const E& event, Timestamp at, const message::Content& content, std::string& out) {
  const std::size_t start = begin_record(event, at, out);
  const std::size_t content_start = out.size();
  message::encode(content, out);
  set_content_bytes(out, start, out.size() - content_start);
  return std::string_view{out}.substr(content_start);
}

template void encode_record(const SentEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const PublishedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const ReceivedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const AttemptedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const RepeatedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const DeletedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const VisibilityChangedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const DeadLetteredEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const MessageMovedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const MoveTaskStartedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const MoveTaskEndedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const UndeliveredEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const QueueCreatedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const QueueChangedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const QueueDeletedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const QueuePurgedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const QueueTaggedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const TopicCreatedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const TopicChangedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const TopicDeletedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const TopicTaggedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const SubscriptionCreatedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const SubscriptionChangedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const SubscriptionDeletedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const SubscriptionConfirmedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const DirectoryChangedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const SubscriptionLeftEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const SubscriptionRestoredEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const ReplayStartedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const ReplayedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const ReplayEndedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const ArchiveRelocatedEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const ArchiveForgottenEvent&, Timestamp, std::string_view, std::string&);
template void encode_record(const RelocatedEvent&, Timestamp, std::string_view, std::string&);
template std::string_view encode_record_with(const SentEvent&, Timestamp, const message::Content&, std::string&);
template std::string_view encode_record_with(const PublishedEvent&, Timestamp, const message::Content&, std::string&);

Result<DecodedRecord, RecordError> decode_record(std::string_view record) {
  if (record.size() < kRecordHeaderBytes) return RecordError::Damaged;
  if (static_cast<std::uint8_t>(record[0]) != kVersion) return RecordError::UnknownVersion;
  const auto content_bytes = load_le<std::uint32_t>(record.data() + 4);
  if (content_bytes > record.size() - kRecordHeaderBytes) return RecordError::Damaged;
  DecodedRecord decoded;
  const auto at = load_le<std::int64_t>(record.data() + 8);
  if (!is_plausible_time(at)) return RecordError::Damaged;
  decoded.at = timestamp_from_unix_ms(at);
  decoded.content = record.substr(record.size() - content_bytes);
  Reader reader(record.substr(kRecordHeaderBytes, record.size() - kRecordHeaderBytes - content_bytes));
  constexpr auto kEvents = std::make_index_sequence<std::variant_size_v<Event>>{};
  if (!decode_kind(static_cast<RecordKind>(record[1]), reader, decoded.event, kEvents)) return RecordError::UnknownKind;
  if (!reader.ok() || reader.remaining() != 0) return RecordError::Damaged;
  return decoded;
}

std::optional<std::string_view> content_of_record(std::string_view record) {
  if (record.size() < kRecordHeaderBytes || static_cast<std::uint8_t>(record[0]) != kVersion) return std::nullopt;
  const auto content_bytes = load_le<std::uint32_t>(record.data() + 4);
  if (content_bytes == 0 || content_bytes > record.size() - kRecordHeaderBytes) return std::nullopt;
  return record.substr(record.size() - content_bytes);
}

}  // namespace fanfare::engine
