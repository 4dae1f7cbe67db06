// Writing and reading streams of server-sent events.
#include "wire/sse/sse.h"

#include <algorithm>
#include <charconv>

namespace fanfare::wire::sse {

// ---- writer ----

namespace {

/// Calls `each` with every line of `text`; CR LF, CR and LF end a line. An empty text is one empty line.
template <class Each>
void for_each_line(std::string_view text, Each each) {
  for (;;) {
    const auto end = text.find_first_of("\r\n");
    each(text.substr(0, end));
    if (end == std::string_view::npos) return;
    const bool both = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    text.remove_prefix(end + (both ? 2 : 1));
  }
}

void append_line(std::string& out, std::string_view field, std::string_view value) {
  out.append(field).append(": ");
  const auto begin = out.size();
  out.append(value);
  for (auto at = begin; at < out.size(); ++at) {
    if (out[at] == '\r' || out[at] == '\n' || (out[at] == '\0' && field == "id")) out[at] = ' ';
  }
  out.push_back('\n');
}

}  // namespace

void append_event(std::string& out, std::string_view type, std::string_view data, std::optional<std::string_view> id) {
  if (id) append_line(out, "id", *id);
  if (!type.empty()) append_line(out, "event", type);
  for_each_line(data, [&](std::string_view line) { out.append("data: ").append(line).push_back('\n'); });
  out.push_back('\n');
}

void append_comment(std::string& out, std::string_view text) {
  for_each_line(text, [&](std::string_view line) {
    out.push_back(':');
    if (!line.empty()) out.append(" ").append(line);
    out.push_back('\n');
  });
  out.push_back('\n');
}

void append_retry(std::string& out, std::uint32_t milliseconds) {
  append_line(out, "retry", std::to_string(milliseconds));
  out.push_back('\n');
}

// ---- parser ----

void Parser::feed(std::string_view bytes) {
  // Taken bytes leave in one go, so that many small feeds cost no more than one large one.
  if (pending_begin_ > 0 && pending_begin_ >= pending_.size() - pending_begin_) {
    pending_.erase(0, pending_begin_);
    pending_begin_ = 0;
  }
  pending_.append(bytes);
}

bool Parser::take_line(std::string_view& line) {
  auto rest = std::string_view{pending_}.substr(pending_begin_);
  if (at_start_) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (rest.size() < kMark.size() && kMark.starts_with(rest)) return false;
    at_start_ = false;
    if (rest.starts_with(kMark)) {
      pending_begin_ += kMark.size();
      rest.remove_prefix(kMark.size());
    }
  }
  if (skip_line_feed_ && !rest.empty()) {
    skip_line_feed_ = false;
    if (rest.front() == '\n') {
      ++pending_begin_;
      rest.remove_prefix(1);
    }
  }
  const auto end = rest.find_first_of("\r\n", scanned_);
  if (end == std::string_view::npos) {
    scanned_ = rest.size();
    failed_ = failed_ || scanned_ > event_bytes_max_;
    return false;
  }
  line = rest.substr(0, end);
  failed_ = failed_ || end > event_bytes_max_;
  skip_line_feed_ = rest[end] == '\r';
  pending_begin_ += end + 1;
  scanned_ = 0;
  return true;
}

void Parser::take_field(std::string_view line) {
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) data_.push_back('\n');
    data_.append(value);
    has_data_ = true;
    failed_ = failed_ || data_.size() > event_bytes_max_;
  } else if (name == "event") {
    type_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = value;
  } else if (name == "retry") {
    std::uint32_t milliseconds = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), milliseconds);
    if (read.ec == std::errc{} && read.ptr == value.data() + value.size()) retry_ms_ = milliseconds;
  }
  // A line with an empty name is a comment; other names are ignored.
}

std::optional<Event> Parser::next() {
  std::string_view line;
  while (!failed_ && take_line(line)) {
    if (!line.empty()) {
      take_field(line);
      continue;
    }
    last_event_id_ = id_;
    if (!has_data_) {
      type_.clear();
      continue;
    }
    Event event{type_.empty() ? "message" : std::move(type_), std::move(data_), last_event_id_};
    type_.clear();
    data_.clear();
    has_data_ = false;
    return event;
  }
  return std::nullopt;
}

}  // namespace fanfare::wire::sse
