// The inbox's names and the limits of its input.
// Rule: everything inside these types was checked by input.h; the limits below stand in docs/rest.md.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/strong.h"

namespace fanfare::inbox {

using Tenant = Strong<struct TenantTag>;                  ///< Whose idempotency keys these are: "default".
using IdempotencyKey = Strong<struct IdempotencyKeyTag>;  ///< Names an intent once for ever within its tenant. [N1]
using Recipient = Strong<struct RecipientTag>;            ///< A person: the token's `sub`.
using Workspace = Strong<struct WorkspaceTag>;            ///< "docs"
using Kind = Strong<struct KindTag>;                      ///< "document.ready"
/// What the notification is about, in the application's terms.
using ObjectId = Strong<struct ObjectIdTag>;

/// Names what Create made, or one person's item of it. With one recipient both are the same id.
struct NotificationId : Uuid {
  friend bool operator==(const NotificationId&, const NotificationId&) = default;
  friend auto operator<=>(const NotificationId&, const NotificationId&) = default;
};

/// Place in one inbox, from 1, dense, in commit order. 0 is before everything.
using Sequence = std::uint64_t;

/// Identity of a store's history: random at creation, new after a restore from a dump. 0 is of no store.
using Epoch = std::uint64_t;

/// One person's inbox in one workspace: what sequences, cursors and counts belong to.
struct InboxKey {
  Recipient recipient;
  Workspace workspace;
  friend bool operator==(const InboxKey&, const InboxKey&) = default;
  friend auto operator<=>(const InboxKey&, const InboxKey&) = default;
};

// Bytes of UTF-8. The numbers are ours: generous for identifiers, and small enough that a batch of 1,000 fits in
// memory.
inline constexpr std::size_t kIdempotencyKeyBytesMax = 255;
inline constexpr std::size_t kRecipientBytesMax = 255;
inline constexpr std::size_t kWorkspaceBytesMax = 128;
inline constexpr std::size_t kKindBytesMax = 128;
inline constexpr std::size_t kObjectIdBytesMax = 512;
inline constexpr std::size_t kRevisionBytesMax = 128;
inline constexpr std::size_t kDataBytesMax = 64 * 1024;  ///< As compact JSON.
inline constexpr std::size_t kRecipientsMax = 1000;      ///< Of one notification.
inline constexpr std::size_t kBatchMax = 1000;           ///< Notifications of one batch, before fan-out.
inline constexpr std::size_t kFanOutMax = 10'000;        ///< Items of one request: a transaction holds up all others.
inline constexpr std::size_t kIdsMax = 1000;             ///< Of one read, archive or acknowledge.
inline constexpr std::size_t kPageMax = 200;
inline constexpr std::size_t kPageDefault = 50;

}  // namespace fanfare::inbox
