// A section of entries: 25 bytes for a message that waits and was never received, in the order of their sequence numbers.
//
//   u8 version = 3, u8 kind = PackedEntries, u32 queue, u32 count, then each entry:
//     u8   flags: state (2 bits), then whether there are: 4 deliveries, 8 the end of a lease or delay, 16 a group, 32 an envelope,
//          64 a dead-letter source, 128 other entries with the same content
//     16   message id
//     n    sequence number, less that of the entry before
//     z    when it was sent (Unix ms), less that of the entry before
//     z    position of its content in the log, less that of the entry before
//     n    bytes of its content
//     4:   n first received, n last received, n number of deliveries, n epoch of the last, n deliveries that do not count
//     8:   n hidden until
//     16:  n number of the group in this section, from 1; one more than the highest before is a new one: n bytes, its name
//     32:  n subscription whose envelope it needs
//     64:  n queue that it came from
//     128: n number of the content, the same in all entries that share it
//     state Returned: z rank, less the sequence number
//
// A section of what a topic archives, in the order of its publications: u8 version = 3, u8 kind = PackedArchive, u32 topic, u8 whether
// there is an archive policy and, if so, i64 from when on, u32 count, then each message:
//     n    sequence number, less that of the message before
//     z    when it was published (Unix ms), less that of the message before
//     z    position of its content in the log, less that of the message before
//     n    bytes of its content, twice; one more: others have the same content
//     n    then the number of the content, the same in all entries and archived messages that share it
//
// n is a number in groups of 7 bits, the lowest first, with the highest bit set in all bytes but the last; z is a signed one, as
// 2x or -2x-1. What precedes the first entry counts as 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/log_position.h"
#include "core/engine/archive.h"
#include "core/engine/topic_archive.h"
#include "core/queue/entry.h"

namespace fanfare::engine {

/// Where the content of an entry lies.
struct ContentPlace {
  LogPosition position;
  std::uint32_t bytes = 0;
  bool shared = false;
  std::uint32_t number = 0;  ///< if it is shared
};

class EntriesWriter {
 public:
  /// A section of this queue's entries; the memory of the one before is used again.
  void begin(std::uint32_t queue);
  void add(const queue::Entry& entry, std::uint64_t rank, std::string_view group, const ContentPlace& content);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// The whole section.
  std::string_view finish();

 private:
  std::string bytes_;
  std::uint32_t count_ = 0;
  std::uint64_t sequence_ = 0;
  std::int64_t sent_ms_ = 0;
  std::uint64_t position_ = 0;
  std::unordered_map<std::string, std::uint32_t> groups_;
};

/// Reads what follows the kind. After the first thing that makes no sense, next() is false and ok() too.
class EntriesReader {
 public:
  struct Item {
    queue::Entry entry;  ///< without payload and group
    std::uint64_t rank = 0;
    std::string_view group;  ///< into the section
    ContentPlace content;
  };
  explicit EntriesReader(Reader& reader);
  [[nodiscard]] std::uint32_t queue() const { return queue_; }
  bool next(Item& item);
  /// Everything was read and made sense.
  [[nodiscard]] bool ok() const { return reader_.ok() && left_ == 0 && reader_.remaining() == 0; }

 private:
  Reader& reader_;
  std::uint32_t queue_ = 0;
  std::uint32_t left_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t sent_ms_ = 0;
  std::uint64_t position_ = 0;
  std::vector<std::string_view> groups_;
};

class ArchiveWriter {
 public:
  ArchiveWriter(std::uint32_t topic, const std::optional<Timestamp>& from);
  void add(const ArchivedMessage& message, const ContentPlace& content);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// The whole section.
  std::string_view finish();

 private:
  std::string bytes_;
  std::size_t count_at_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t published_ms_ = 0;
  std::uint64_t position_ = 0;
};

/// Reads what follows the kind, as EntriesReader.
class ArchiveReader {
 public:
  struct Item {
    ArchivedMessage message;  ///< without payload
    ContentPlace content;
  };
  explicit ArchiveReader(Reader& reader);
  [[nodiscard]] std::uint32_t topic() const { return topic_; }
  [[nodiscard]] const std::optional<Timestamp>& from() const { return from_; }
  bool next(Item& item);
  [[nodiscard]] bool ok() const { return reader_.ok() && left_ == 0 && reader_.remaining() == 0; }

 private:
  Reader& reader_;
  std::uint32_t topic_ = 0;
  std::optional<Timestamp> from_;
  std::uint32_t left_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t published_ms_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace fanfare::engine
