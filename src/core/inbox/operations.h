// What can be asked of an inbox store, and what it answers: closed variants, so that edge, server and stores share one
// vocabulary without knowing each other.
// Rule 1: each operation is atomic; operations of one batch take effect in their order.
// Rule 2: counts are exact at the moment of the answer, kept in the same transaction. [N6]
// Rule 3: every step of a delivery is fenced by its claim's token: a stale token changes nothing and is counted. [N3,
//         N4]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "core/inbox/cursor.h"
#include "core/inbox/notification.h"
#include "core/inbox/types.h"

namespace fanfare::inbox {

// ---- operations

/// Makes a notification with an item for each recipient, or finds the one that its key made. Answers Created or
/// Refused.
struct Create {
  Intent intent;
  NotificationId fresh;  ///< Its id if it is new: fresh_id().
};

/// One page of an inbox in sequence order. Answers Page.
struct ListPage {
  InboxKey inbox;
  std::optional<Cursor> after;       ///< Not of this store and inbox, or older than what retention left: Page::reset.
  std::optional<Sequence> up_to;     ///< Only items up to and including this one.
  std::size_t limit = kPageDefault;  ///< 1 to kPageMax.
  bool unread_only = false;
  bool archived = false;  ///< Also archived items.
  std::optional<Kind> kind;
  bool acknowledge = false;  ///< The answer counts as shown: pending items in it become delivered.
};

/// The place behind the newest item, and the counts. Answers Head.
struct ReadHead {
  InboxKey inbox;
};

/// Acts on single items; ids of other people or of other workspaces are passed over in silence. Each of these acts
/// shows that the person has the item: what was pending becomes delivered. Answers Marked.
struct Mark {
  enum class Act : std::uint8_t { Read, Archive, Acknowledge } act = Act::Read;
  Recipient recipient;
  std::vector<Workspace> workspaces;  ///< Those the caller may touch.
  std::vector<NotificationId> ids;
};

/// Acts on everything up to a place that the client has seen, never beyond it; what was pending there becomes
/// delivered. Seen never goes back. Answers Marked, or Refused{UnknownCursor}.
struct MarkUpTo {
  enum class Act : std::uint8_t { Read, Seen } act = Act::Read;
  InboxKey inbox;
  Cursor up_to;
};

/// Fencing token of one claim; greater than all before it in this store. 0 is none.
struct LeaseToken {
  std::uint64_t value = 0;
  friend auto operator<=>(const LeaseToken&, const LeaseToken&) = default;
};

/// Takes pending items for publishing, longest due first (the order of creation, but for what was released), each for
/// one worker until now + lease. Claims that have run out count as pending again. Answers Claimed.
struct Claim {
  std::string owner;        ///< For operators; new at each start of a worker. The token fences, not this.
  std::size_t limit = 500;  ///< 1 to kClaimMax.
  milliseconds lease{30'000};
  std::vector<InboxKey> inboxes;  ///< Only these (people with a session); empty: all.
};
inline constexpr std::size_t kClaimMax = 500;

/// Prolongs a claim to now + lease. Answers Fenced.
struct Renew {
  LeaseToken token;
  milliseconds lease{30'000};
};

/// Marks claimed items as delivered. Answers Fenced.
struct Complete {
  LeaseToken token;
  std::vector<NotificationId> ids;
};

/// Gives claimed items back, to be claimed again at `not_before` at the earliest. Answers Fenced.
struct Release {
  LeaseToken token;
  std::vector<NotificationId> ids;
  std::string reason;  ///< A short category for operators: "no_session", "publish_failed".
  Timestamp not_before;
};

/// Deletes notifications stored before `before`, with all their items and their idempotency keys; at most `limit` of
/// them, so that a slice holds the store for a short time only. Answers Retained.
struct Retain {
  Timestamp before;
  std::size_t limit = 1000;
};

/// What operators look at. Answers Stats.
struct ReadStats {};

using Operation =
    std::variant<Create, ListPage, ReadHead, Mark, MarkUpTo, Claim, Renew, Complete, Release, Retain, ReadStats>;

// ---- answers

/// An inbox after a change, for its live sessions.
struct InboxChange {
  InboxKey inbox;
  Counts counts;
};

struct CreatedItem {
  NotificationId id;
  Recipient recipient;
  Sequence sequence = 0;
  Cursor cursor;  ///< The place behind this item.
  Timestamp created_at;
  Counts counts;  ///< After this item.
};

struct Created {
  NotificationId id;
  bool duplicate = false;
  /// One for each recipient, in the intent's order; empty for a duplicate, and for what had expired before it was
  /// stored.
  std::vector<CreatedItem> items;
};

struct Page {
  std::vector<Notification> items;
  /// Behind the last item. Without items: `after` if it is valid, else the head, or the begin if `kind` hid something.
  Cursor cursor;
  Counts counts;
  bool reset = false;              ///< `after` was unknown, and the page begins at the beginning.
  bool more = false;               ///< There are further items that match.
  std::uint64_t acknowledged = 0;  ///< Items that this answer delivered, by ListPage::acknowledge.
};

struct Head {
  Cursor cursor;
  /// Cursors before it have missed items that retention deleted.
  Sequence floor = 0;
  Counts counts;
};

/// Whether a cursor names a place of the inbox whose head this is, and nothing behind it is missing.
bool is_known(const Cursor& cursor, const Head& head);

struct Marked {
  std::uint64_t changed = 0;         ///< Items that this act made read, archived, delivered or seen.
  std::vector<InboxChange> inboxes;  ///< Those that hold any of the items named, changed or not; sorted by workspace.
};

struct Claimed {
  LeaseToken token;
  std::vector<Notification> items;
  std::uint64_t leases_expired = 0;  ///< Claims of others that had run out and are pending again.
};

struct Fenced {
  std::uint64_t applied = 0;
  std::uint64_t stale = 0;  ///< No longer held under this token: delivered, expired, reclaimed or deleted meanwhile.
};

struct Retained {
  std::uint64_t notifications = 0;
  bool more = false;  ///< The limit stopped it.
};

struct Stats {
  std::uint64_t pending = 0;
  std::uint64_t claimed = 0;
  std::optional<Timestamp> oldest_pending;  ///< When the oldest item that is neither delivered nor expired was stored.
};

enum class Refusal : std::uint8_t {
  KeyConflict,    ///< The idempotency key was used with another body. The caller takes a new key or the old body.
  UnknownCursor,  ///< `up_to` is not of this inbox: nothing was marked. The caller lists again and uses that cursor.
};

struct Refused {
  Refusal refusal;
};

using Answer = std::variant<Created, Page, Head, Marked, Claimed, Fenced, Retained, Stats, Refused>;

}  // namespace fanfare::inbox
