// The part that requests and responses share: splitting a head into its start line and fields, and reading from the
// fields how the body is framed. For the parsers beside it; others include request.h or response.h.
//
// Rule 1: positions, not views: the caller's buffer may move between two calls.
// Rule 2: a line that is not whole is looked at once, then only its new bytes are searched for its end.
// Source: [RFC 9112 2.2, 5, 6].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/http/body.h"
#include "wire/http/headers.h"

namespace fanfare::wire::http {

struct Limits {
  std::size_t start_line_bytes_max = 32 * 1024;     ///< request: 414; response: error
  std::size_t header_count_max = 100;               ///< 431
  std::size_t header_bytes_max = 32 * 1024;         ///< all fields together, with their line ends: 431
  std::uint64_t body_bytes_max = 16 * 1024 * 1024;  ///< after decoding: 413
};

/// What to answer to a request that cannot be understood; the connection is closed after it.
struct RequestError {
  int status = 0;           ///< 400, 413, 414, 431, 501 or 505
  std::string_view reason;  ///< static text: `Content-Length and Transfer-Encoding exclude each other`
};

class HeadScanner {
 public:
  enum class Event : std::uint8_t {
    NeedMore,
    StartLine,  ///< start_line() is whole; reported once
    End,        ///< the empty line was seen: field() and end() are valid
    Error,      ///< error()
  };

  /// Starts at `begin`; `skip_empty_lines` before the start line, as servers should [RFC 9112 2.2].
  void restart(std::size_t begin, bool skip_empty_lines);
  Event advance(std::string_view buffer, const Limits& limits);

  /// Without its line end.
  [[nodiscard]] std::string_view start_line(std::string_view buffer) const { return cut(buffer, start_line_); }
  [[nodiscard]] std::size_t start_line_offset() const { return start_line_.offset; }
  /// The first byte behind the head.
  [[nodiscard]] std::size_t end() const { return line_begin_; }
  /// Bytes that have been looked at.
  [[nodiscard]] std::size_t scanned() const { return scanned_; }
  [[nodiscard]] const RequestError& error() const { return error_; }
  /// The fields as views into `buffer`, kept in `headers`.
  void fields_into(std::vector<Header>& headers, std::string_view buffer) const;

 private:
  struct Slice {
    std::uint32_t offset;
    std::uint32_t size;
  };
  struct Field {
    Slice name;
    Slice value;
  };
  static std::string_view cut(std::string_view buffer, Slice slice) {
    return {buffer.data() + slice.offset, slice.size};
  }
  Event need_more(std::string_view buffer, const Limits& limits);
  Event take_field(std::string_view buffer, const Limits& limits);
  Event fail(int status, std::string_view reason);

  bool in_fields_ = false;  // the start line is done
  bool skip_empty_lines_ = false;
  std::size_t line_begin_ = 0;  // where the current line begins
  std::size_t scanned_ = 0;     // no line end of the current line before this
  std::size_t fields_begin_ = 0;
  Slice start_line_{};
  std::vector<Field> fields_;
  RequestError error_;
};

/// What the fields say about the message's frame.
struct FrameFields {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  bool close = false;       // Connection: close
  bool keep_alive = false;  // Connection: keep-alive
  bool expects_continue = false;
  int host_count = 0;
  std::string_view host;
};

/// Nullopt if they are sound. [RFC 9112 6.1, 6.3]
std::optional<RequestError> read_frame_fields(Headers headers, int minor_version, FrameFields& out);

/// `HTTP/1.x`: the digit; -1 if it is another version, -2 if it is no version at all.
int read_minor_version(std::string_view text);

}  // namespace fanfare::wire::http
