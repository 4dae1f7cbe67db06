// Contents of messages: where each lies in the log, how many entries need it, and its bytes while they are in memory.
//
// Rule 1: a content has one payload, whatever the number of queues that hold the message.
// Rule 2: at most `resident_bytes_max` of contents are in memory; the oldest arrivals leave first. Their payloads stay. What entries
//         and payloads take themselves, beyond 64 MiB, takes a quarter of it from the contents, down to a 32nd part of their limit: of a
//         backlog that long what is received comes from the log anyway.
// Rule 3: a view that content() returned stays valid until free_condemned(), also when its payload is released before.
// Rule 4: between hold() and let_go() no number of a payload is used again, and those of released ones still tell their position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log_position.h"
#include "core/queue/slab.h"

namespace fanfare::engine {

class PayloadStore {
 public:
  explicit PayloadStore(std::uint64_t resident_bytes_max) : resident_bytes_max_(resident_bytes_max) {}
  PayloadStore(PayloadStore&&) = delete;
  ~PayloadStore();

  /// A payload that `references` entries need (at least 1). An empty `content` is not in memory: it is in the log only.
  std::uint32_t add(LogPosition position, std::string_view content, std::uint32_t content_bytes, std::uint32_t references);
  void retain(std::uint32_t payload) {
    Payload& one = payloads_[payload];
    ++one.references;
    one.shared = 1;
    ++references_;
  }
  void release(std::uint32_t payload);

  /// For a snapshot: what is released from now on keeps its number, position(), bytes() and shared().
  void hold() { holding_ = true; }
  /// No longer; gives back up to `budget` of those numbers. Returns whether there are more.
  bool let_go(std::size_t budget);

  [[nodiscard]] LogPosition position(std::uint32_t payload) const { return payloads_[payload].position; }
  [[nodiscard]] std::uint32_t bytes(std::uint32_t payload) const { return payloads_[payload].bytes; }
  [[nodiscard]] std::uint32_t references(std::uint32_t payload) const { return payloads_[payload].references; }
  /// Whether several entries may need it. While it is held, what it was at hold() stays true.
  [[nodiscard]] bool shared(std::uint32_t payload) const { return payloads_[payload].shared != 0; }
  /// Empty if it is not in memory.
  [[nodiscard]] std::string_view content(std::uint32_t payload) const;
  // Each of these begins to load, into the processor's cache, what the next one looks at; release() is behind them all.
  // A batch that calls each for all its payloads waits for memory once a step, and not once a message and step.
  void prefetch(std::uint32_t payload) const { payloads_.prefetch(payload); }
  /// The first `bytes_most` bytes; the processor sees itself where a longer read goes on.
  void prefetch_content(std::uint32_t payload, std::size_t bytes_most) const;
  void prefetch_neighbours(std::uint32_t payload) const;

  /// The content now lies at another place of the log.
  void move(std::uint32_t payload, LogPosition position);

  /// Frees the memory of what was released or evicted since the last call.
  void free_condemned();

  static constexpr std::uint64_t kRegionBytes = 64 * 1024;

  [[nodiscard]] std::uint64_t resident_bytes() const { return resident_bytes_; }
  /// Bytes of the log that hold the contents, with about what surrounds each in its record and frame.
  [[nodiscard]] std::uint64_t needed_bytes() const { return content_bytes_ + size() * kBytesAround; }
  [[nodiscard]] std::size_t size() const { return payloads_.size() - held_.size(); }
  /// The same of the payloads that lie before `before`, which counts as a multiple of kRegionBytes.
  [[nodiscard]] std::uint64_t needed_bytes_before(LogPosition before) const;
  /// No payload lies before this; nullopt if there is none. A multiple of kRegionBytes.
  [[nodiscard]] std::optional<LogPosition> oldest_position() const;

 private:
  static constexpr std::uint64_t kBytesAround = 64;
  // What an entry takes in its queue with what finds it, and a payload.
  static constexpr std::uint64_t kEntryBytes = 86;
  static constexpr std::uint64_t kPayloadBytes = 24;
  static constexpr std::uint64_t kIndexForFree = 64ull << 20;

  // Bytes in memory, in the order of arrival; the content follows the header.
  struct Resident {
    Resident* previous;
    Resident* next;
    std::uint32_t payload;
    std::uint32_t bytes;
    char* data() { return reinterpret_cast<char*>(this + 1); }
  };
  struct Payload {
    LogPosition position;
    Resident* resident;  // null: not in memory
    std::uint32_t bytes;
    std::uint32_t references : 31;
    std::uint32_t shared : 1;
  };
  static_assert(sizeof(Payload) == 24);

  [[nodiscard]] std::uint64_t resident_limit() const;
  void make_resident(std::uint32_t payload, std::string_view content);
  void evict(Resident* resident);
  void prefetch_oldest() const;
  void count(LogPosition position, std::uint32_t bytes, bool added);

  // In small chunks, which find room between contents of a kilobyte that stay.
  queue::Slab<Payload, 32> payloads_;
  Resident* oldest_ = nullptr;
  Resident* newest_ = nullptr;
  std::vector<Resident*> condemned_;
  std::deque<std::uint32_t> held_;  // released since hold(); grows and shrinks by pieces, never copied or freed as a whole
  bool holding_ = false;
  std::uint64_t references_ = 0;  // of all payloads
  std::uint64_t content_bytes_ = 0;  // of all payloads, in memory or not
  std::uint64_t resident_bytes_ = 0;
  std::uint64_t resident_bytes_max_;

  // What lies in each 64 KiB of the log, from the first that has any payload.
  struct Region {
    std::uint32_t payloads = 0;
    std::uint32_t bytes = 0;  // of those that begin there
  };
  std::deque<Region> regions_;
  std::uint64_t first_region_ = 0;
};

}  // namespace fanfare::engine
