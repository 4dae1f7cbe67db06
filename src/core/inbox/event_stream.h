// One live view of one inbox (an events stream, an inbox subscription) as a pure state machine: first what is unread
// after the client's cursor, then what comes, from one consistent point.
// Rule 1: the owner registers for live items BEFORE start(), and feeds everything that comes from then on. [N7]
// Rule 2: register and buffer; read the head H; pages of unread up to H; the buffer beyond H; live.
// Rule 3: no item is sent twice, and none is left out: sequences are dense, so a hole in the live items is fetched.
// Rule 4: a cursor that goes out never lies beyond an item that has not gone out before it.
// Rule 5: memory is bounded: what the buffer cannot hold is fetched from the store instead.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/inbox/cursor.h"
#include "core/inbox/notification.h"
#include "core/inbox/operations.h"

namespace fanfare::inbox {

/// An item as the stream sends it. Shared: all sessions of a person send the same bytes.
struct StreamItem {
  Sequence sequence = 0;
  std::shared_ptr<const std::string> body;  ///< Its JSON, as in a list answer.
};

/// A page of unread items, encoded by the owner.
struct StreamPage {
  std::vector<StreamItem> items;
  bool more = false;
};

// What the stream wants done, in this order.
struct WantHead {};  ///< Ask ReadHead and hand the answer to on_head().
struct WantPage {    ///< Ask ListPage{after, up_to, limit, unread_only} and hand the answer to on_page().
  Cursor after;
  Sequence up_to = 0;
  std::size_t limit = 0;
};
/// The client's cursor is unknown here: it forgets what it has, and everything unread follows.
struct SendReset {
  Cursor cursor;
};
struct SendItem {
  StreamItem item;
  Cursor cursor;
};
struct SendCounts {
  Counts counts;
  Cursor cursor;
};
using StreamOutput = std::variant<WantHead, WantPage, SendReset, SendItem, SendCounts>;

class EventStream {
 public:
  struct Limits {
    std::size_t page = 100;
    std::size_t buffered_items_max = 256;
  };

  explicit EventStream(InboxKey inbox) : EventStream(std::move(inbox), Limits{}) {}
  EventStream(InboxKey inbox, Limits limits);

  /// `after`: the client's last cursor; nullopt: it has none; Cursor{}: it has one that cannot be read. Called once.
  std::vector<StreamOutput> start(std::optional<Cursor> after);
  std::vector<StreamOutput> on_head(const Head& head);
  std::vector<StreamOutput> on_page(StreamPage page);
  /// A committed item, in any order, perhaps repeated.
  std::vector<StreamOutput> on_item(StreamItem item);
  /// The inbox changed. Values older than the last one sent are passed over.
  std::vector<StreamOutput> on_counts(const Counts& counts);
  /// The owner lost live items (its own buffer overflowed): reads the head again and fetches what is missing.
  std::vector<StreamOutput> on_lost();

  /// Whether everything known has been sent.
  [[nodiscard]] bool live() const { return phase_ == Phase::Live; }
  /// Where the client stands.
  [[nodiscard]] Cursor cursor() const;
  [[nodiscard]] const InboxKey& inbox() const { return inbox_; }

 private:
  enum class Phase : std::uint8_t { New, Head, Paging, Live };
  void send_ready(std::vector<StreamOutput>& out);
  void proceed(std::vector<StreamOutput>& out);

  InboxKey inbox_;
  Limits limits_;
  Phase phase_ = Phase::New;
  std::optional<Cursor> after_;  ///< From start() until the first head is known.
  Epoch epoch_ = 0;
  std::uint32_t scope_ = 0;
  Sequence position_ = 0;  ///< Everything up to it has been sent, or was not unread.
  Sequence paging_up_to_ = 0;
  Sequence known_ = 0;                     ///< The newest item heard of.
  bool head_again_ = false;                ///< on_lost() during a head or a page.
  std::map<Sequence, StreamItem> buffer_;  ///< Beyond position_, not yet sent.
  Counts counts_;
  bool counts_due_ = false;
};

}  // namespace fanfare::inbox
