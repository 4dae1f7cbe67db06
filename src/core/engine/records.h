// The journal records of the engine: one event, one encoding.
//
// Every record, little-endian:
//   0  u8   version = 1
//   1  u8   kind (RecordKind)
//   2  u16  0, reserved
//   4  u32  bytes of the content that the record carries (message::encode), at its very end; 0: none
//   8  i64  when it happened, Unix ms
//   16 what the kind says, in records.cpp, then the content
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fanfare::engine {

/// Numbers are durable: never change or reuse one.
enum class RecordKind : std::uint8_t {
  Sent = 1,
  Published = 2,
  Received = 3,
  Deleted = 4,
  VisibilityChanged = 5,
  DeadLettered = 6,
  Undelivered = 7,
  QueueCreated = 16,
  QueueChanged = 17,
  QueueDeleted = 18,
  QueuePurged = 19,
  QueueTagged = 20,
  TopicCreated = 32,
  TopicChanged = 33,
  TopicDeleted = 34,
  TopicTagged = 35,
  SubscriptionCreated = 36,
  SubscriptionChanged = 37,
  SubscriptionDeleted = 38,
  SubscriptionConfirmed = 39,
  Relocated = 48,
};

/// The encoded content (message::ContentView::decode reads it) inside a record that ReceivedMessage::position names;
/// nullopt if the record carries none or is damaged.
std::optional<std::string_view> content_of_record(std::string_view record);

}  // namespace fanfare::engine
