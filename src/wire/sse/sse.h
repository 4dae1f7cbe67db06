// Server-sent events: the writer and the incremental parser.
// Source: [WHATWG HTML 9.2, Server-sent events].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fanfare::wire::sse {

/// Appends one event. Data is cut at its line ends into several `data:` lines; empty data gives an empty `data:` line,
/// for an event without one is not dispatched.
///
///   id: 7
///   event: next
///   data: {"x":1}
///   (empty line)
///
/// `type` empty: a `message`. `id` nullopt: the client keeps the last one; empty: the client forgets it. Line ends in
/// type and id, and NUL in id, become spaces.
void append_event(std::string& out, std::string_view type, std::string_view data,
                  std::optional<std::string_view> id = std::nullopt);

/// `: text` and an empty line, which a client ignores: keep-alive. Line ends in the text begin further comment lines.
void append_comment(std::string& out, std::string_view text = {});

/// Tells the client how long to wait before it connects again.
void append_retry(std::string& out, std::uint32_t milliseconds);

struct Event {
  std::string type = "message";
  std::string data;           ///< lines joined by LF
  std::string last_event_id;  ///< of this event or of an earlier one
};

/// Turns the bytes of a stream into events. Feed bytes as they come, then take events until there is none.
///
///   parser.feed(bytes);
///   while (auto event = parser.next()) handle(*event);
///
/// Bytes that are not valid UTF-8 are passed on as they are. An event that the stream's end cuts off is dropped.
class Parser {
 public:
  /// `event_bytes_max`: of one line, and of one event's data together.
  explicit Parser(std::size_t event_bytes_max = 16 * 1024 * 1024) : event_bytes_max_(event_bytes_max) {}

  void feed(std::string_view bytes);
  /// Nullopt: feed more (or failed()).
  std::optional<Event> next();
  /// An event was longer than allowed: the stream is of no further use.
  [[nodiscard]] bool failed() const { return failed_; }
  /// What to send as Last-Event-ID when connecting again.
  [[nodiscard]] const std::string& last_event_id() const { return last_event_id_; }
  /// The last `retry:` of the stream, in milliseconds.
  [[nodiscard]] std::optional<std::uint32_t> retry_ms() const { return retry_ms_; }

 private:
  bool take_line(std::string_view& line);
  void take_field(std::string_view line);

  std::size_t event_bytes_max_;
  std::string pending_;  // bytes that belong to no taken line yet, from pending_begin_
  std::size_t pending_begin_ = 0;
  std::size_t scanned_ = 0;      // bytes of pending_ known to have no line end, from pending_begin_
  bool at_start_ = true;         // a byte-order mark may come
  bool skip_line_feed_ = false;  // the last line ended with CR
  bool failed_ = false;
  bool has_data_ = false;
  std::string type_;
  std::string data_;
  std::string id_;  // takes effect when the event is dispatched
  std::string last_event_id_;
  std::optional<std::uint32_t> retry_ms_;
};

}  // namespace fanfare::wire::sse
