// One message of one queue, as the queue keeps it.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "core/queue/names.h"

namespace fanfare::queue {

enum class EntryState : std::uint8_t {
  Ready,     ///< visible and never hidden before: in the list of arrivals
  Returned,  ///< visible again after a lease or a delay: in the heap of what came back, or in its FIFO group
  Leased,    ///< in flight
  Delayed,   ///< not yet visible
};

/// One message of one queue. Small, because there is one for each queue that a publication reaches; the content lies in
/// the payload that the entry names. Times are milliseconds since `sent_at`, which 32 bits hold for 49 days.
struct Entry {
  static constexpr std::uint32_t kGivenBack = 0xffff'ffff;

  MessageId id;
  SequenceNumber sequence;
  Timestamp sent_at{};                    ///< counts for retention; kept when the message is dead-lettered
  std::uint32_t payload = 0;              ///< the engine's index
  std::uint32_t hidden_until_ms = 0;      ///< end of the lease or the delay
  std::uint32_t first_received_ms = 0;    ///< one more than the time; 0: never received
  std::uint32_t received_ms = 0;          ///< start of the last lease; kGivenBack: it was given back
  std::uint32_t receipt = 0;              ///< number of the last delivery; 0: none
  std::uint32_t receive_epoch = 0;        ///< epoch of the last delivery
  std::uint16_t undelivered = 0;          ///< deliveries that did not reach the caller and do not count
  EntryState state = EntryState::Ready;
  std::uint8_t reserved = 0;
  std::uint32_t group = 0;                ///< number of the message group; 0: none
  std::uint32_t envelope = 0;             ///< subscription whose envelope the copy needs; 0: none
  std::uint32_t dead_letter_source = 0;   ///< queue that it was moved away from; 0: none
  std::uint32_t link_a = 0;               ///< previous in a list, or place in a heap
  std::uint32_t link_b = 0;               ///< next in a list

  [[nodiscard]] std::uint32_t receive_count() const { return receipt - undelivered; }
  [[nodiscard]] Timestamp hidden_until() const { return sent_at + milliseconds{hidden_until_ms}; }
  [[nodiscard]] Timestamp received_at() const { return sent_at + milliseconds{received_ms}; }
  /// `sent_at` if it was never received.
  [[nodiscard]] Timestamp first_received_at() const {
    return sent_at + milliseconds{first_received_ms == 0 ? 0 : first_received_ms - 1};
  }
};
static_assert(sizeof(Entry) == 80, "ten million waiting messages must fit into 1.2 GB, see docs/adr/0007");

}  // namespace fanfare::queue
