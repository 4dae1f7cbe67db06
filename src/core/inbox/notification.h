// The records: what an application intends (Intent), and what lies in one person's inbox (Notification).
// Rule 1: an intent's key makes one notification, however often it is sent; the same key with another body is a
//         conflict. [N1]
// Rule 2: delivered is not read. Seen is a watermark, read and archived are explicit acts, each independent of the
//         others. [N6]
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/inbox/types.h"

namespace fanfare::inbox {

/// 128 bits over every member of an intent, to tell a repetition from a conflict. Stable for ever: stores keep it.
using Fingerprint = std::array<std::uint8_t, 16>;

struct Intent {
  Tenant tenant{"default"};
  IdempotencyKey key;
  Workspace workspace;
  Kind kind;
  ObjectId object_id;
  std::vector<Recipient> recipients;  ///< 1 to kRecipientsMax, sorted, none twice.
  std::optional<std::string> revision;
  std::string data;                     ///< Compact JSON text; empty: absent.
  std::optional<Timestamp> created_at;  ///< Absent: when it is stored.
  std::optional<Timestamp> expires_at;  ///< From then on it is in no list and no count.
  friend bool operator==(const Intent&, const Intent&) = default;
};

/// Equal for equal intents; the tenant and the key are not part of it.
Fingerprint fingerprint(const Intent& intent);

/// An id in the order of time, so that the indexes of stores grow at their end and not everywhere. [RFC 9562 5.7]
NotificationId fresh_id(Timestamp now, std::array<std::uint8_t, 16> random);

/// The id of one person's item: the notification's own id if there is one recipient, else derived from it and `index`,
/// with its time.
NotificationId item_id(const NotificationId& notification, std::size_t index, std::size_t recipients);

/// How far an item is on its way to its person; read state is apart from it.
enum class DeliveryState : std::uint8_t {
  Pending,    ///< Owed: nobody has shown it yet.
  Claimed,    ///< A worker is publishing it under a lease.
  Delivered,  ///< Acknowledged by a client, or part of a list answer.
  Expired,    ///< Its time ran out before either.
};

struct Notification {
  NotificationId id;
  Sequence sequence = 0;
  InboxKey inbox;
  Kind kind;
  ObjectId object_id;
  std::optional<std::string> revision;
  std::string data;  ///< Compact JSON text; empty: absent.
  Timestamp created_at;
  std::optional<Timestamp> expires_at;
  bool seen = false;
  bool read = false;
  bool archived = false;
  DeliveryState state = DeliveryState::Pending;
  friend bool operator==(const Notification&, const Notification&) = default;
};

/// Unread: neither read nor archived nor expired. Unseen: beyond the seen watermark, neither archived nor expired.
struct Counts {
  std::uint64_t unread = 0;
  std::uint64_t unseen = 0;
  /// Grows with every change of this inbox, so that the later of two values is known whatever way they came.
  std::uint64_t version = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

}  // namespace fanfare::inbox
