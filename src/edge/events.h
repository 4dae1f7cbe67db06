// GET /v1/events: all events streams of one loop, from changes of inboxes to bytes of server-sent events.
// Rule 1: an inbox::EventStream decides what goes out and in which order; this adds who listens to which inbox, and the
//         text.
// Rule 2: the owner calls open() before it asks for anything, and on_change() for every change committed after that.
//         [N7]
// Rule 3: no I/O, clock or thread. Not thread-safe: one a loop.
//
//   id: 9f86d081884c7d65-a1b2c3d4-2a
//   event: notification
//   data: {"id":"8f2c...","sequence":42,...}          (count: {"unread":3,"unseen":1}; reset: {})
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/inbox/event_stream.h"
#include "core/inbox/operations.h"

namespace fanfare::edge {

/// What a committed operation means for whoever watches its inbox.
struct LiveChange {
  inbox::InboxKey inbox;
  std::optional<inbox::StreamItem> item;  ///< A new item; absent: only the counts changed.
  inbox::Counts counts;
};

/// In commit order; for operations and their answers as the store gave them. Items of one notification share nothing
/// but are encoded once each.
std::vector<LiveChange> live_changes(std::span<const inbox::Operation> operations,
                                     std::span<const inbox::Answer> answers);

/// Given out by the owner; names one connection.
using SessionId = std::uint64_t;

/// Text for the session's connection, to be framed (chunked) and sent.
struct SessionWrite {
  SessionId session = 0;
  std::string text;
};
/// A question to the store, whose answer goes to on_answer().
struct SessionAsk {
  SessionId session = 0;
  inbox::Operation operation;
};
using SessionAction = std::variant<SessionWrite, SessionAsk>;

class EventSessions {
 public:
  EventSessions() = default;
  EventSessions(EventSessions&&) = default;
  EventSessions& operator=(EventSessions&&) = default;

  /// `id` is not open yet. The connection gets nothing before the first write.
  std::vector<SessionAction> open(SessionId id, inbox::InboxKey inbox, std::optional<inbox::Cursor> after);
  /// An answer for a session that has closed meanwhile is passed over.
  std::vector<SessionAction> on_answer(SessionId id, const inbox::Answer& answer);
  std::vector<SessionAction> on_change(const LiveChange& change);
  void close(SessionId id);

  /// How many streams watch this inbox.
  [[nodiscard]] std::size_t watchers(const inbox::InboxKey& inbox) const;
  [[nodiscard]] std::size_t size() const { return sessions_.size(); }

 private:
  void translate(SessionId id, std::vector<inbox::StreamOutput> outputs, std::vector<SessionAction>& actions) const;

  std::map<SessionId, inbox::EventStream> sessions_;
  std::map<inbox::InboxKey, std::vector<SessionId>> watchers_;  ///< In the order of open().
};

/// ":\n\n": a comment that keeps proxies and browsers from giving up; every 12 s by default.
std::string_view keep_alive_comment();

}  // namespace fanfare::edge
