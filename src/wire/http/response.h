// HTTP/1.1 responses: the server's writer and the client's parser. No I/O: values in, bytes out, and back.
// Source: [RFC 9112], [RFC 9110].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http/body.h"
#include "wire/http/headers.h"
#include "wire/http/request.h"

namespace fanfare::wire::http {

/// `OK` for 200; `Unknown` for a status that no RFC names.
std::string_view reason_phrase(int status);

struct ResponseOptions {
  bool keep_alive = true;      ///< false: `Connection: close`
  bool http_1_0 = false;       ///< the request was HTTP/1.0: keep_alive needs `Connection: keep-alive`
  bool head_only = false;      ///< the request was HEAD: the head of the answer, without its body
  std::string_view date = {};  ///< value for `Date`, written by the caller once a second (http_date); empty: no field
};

/// A whole response with `Content-Length`. 1xx, 204 and 304 get neither length nor body. The caller does not pass
/// Content-Length, Connection, Date or Transfer-Encoding. CR, LF and NUL in field values become spaces.
void append_response(std::string& out, int status, std::span<const Header> headers, std::string_view body,
                     const ResponseOptions& options = {});

/// The head of a response whose body follows in pieces. Framing::Chunked: append_chunk() and append_last_chunk();
/// Framing::UntilClose: bytes as they are, and `Connection: close`; Framing::None: nothing follows (101).
void append_response_head(std::string& out, int status, std::span<const Header> headers, Framing framing,
                          const ResponseOptions& options = {});
/// Nothing for empty data, which would end the body.
void append_chunk(std::string& out, std::string_view data);
void append_last_chunk(std::string& out);

/// `Sun, 06 Nov 1994 08:49:37 GMT` [RFC 9110 5.6.7], from seconds since 1970.
std::string http_date(std::int64_t unix_seconds);

/// Reads all three forms of RFC 9110 5.6.7 into seconds since 1970; for clock-skew correction and cookies.
std::optional<std::int64_t> parse_http_date(std::string_view text);

/// One response. Views lie in the buffer given to parse(), or in the parser (a chunked body).
struct Response {
  int status = 0;
  std::string_view reason;
  int minor_version = 1;
  bool keep_alive = true;  ///< whether the connection can carry another request
  Headers headers;
  std::string_view body;  ///< decoded; empty in streaming mode
};

/// The client's parser of one connection: as RequestParser. Interim responses (100, 103) are skipped; 101 is final.
class ResponseParser {
 public:
  enum class State : std::uint8_t {
    NeedMore,
    HeadComplete,  ///< only with stream_body: response() has the head; drop consumed() bytes and go on with decoder()
    Complete,      ///< response() and consumed() are valid; the next parse() begins the next response
    Error,         ///< error() says what is wrong; the connection is of no further use
  };

  explicit ResponseParser(const Limits& limits = {});

  /// Before parse() sees the response: whether its request was HEAD (then no body follows), and whether the body shall
  /// be left to decoder(), for streams without end. Holds until it is called again; default: neither.
  void expect(bool head_request, bool stream_body = false);

  State parse(std::string_view buffer);
  /// The peer has closed. Complete if the body may end so (no length, not chunked), else Error.
  State close(std::string_view buffer);

  [[nodiscard]] const Response& response() const { return response_; }
  [[nodiscard]] std::size_t consumed() const { return consumed_; }
  /// Static text: `the connection closed inside the body`.
  [[nodiscard]] std::string_view error() const { return error_; }
  /// After HeadComplete; the caller drives it.
  [[nodiscard]] BodyDecoder& decoder() { return decoder_; }
  /// True between responses.
  [[nodiscard]] bool idle() const {
    return (phase_ == Phase::Complete && (!stream_body_ || decoder_.may_end())) ||
           (phase_ == Phase::Head && interim_count_ == 0 && scanner_.scanned() == 0);
  }

 private:
  enum class Phase : std::uint8_t { Head, Body, Complete, Failed };
  void begin();
  State parse_body(std::string_view buffer);
  bool take_status_line(std::string_view line);
  bool take_fields(std::string_view buffer);
  State complete(std::string_view buffer, std::string_view body, std::size_t end);
  void point_into(std::string_view buffer);
  bool fail(std::string_view reason);

  Limits limits_;
  Phase phase_ = Phase::Head;
  bool head_request_ = false;
  bool stream_body_ = false;
  int interim_count_ = 0;
  Framing framing_ = Framing::None;
  std::uint32_t reason_size_ = 0;
  std::uint64_t length_ = 0;
  std::size_t decoded_until_ = 0;  // first byte of a chunked body that the decoder has not seen
  HeadScanner scanner_;
  BodyDecoder decoder_;
  std::vector<Header> headers_;
  std::string decoded_;
  Response response_;
  std::size_t consumed_ = 0;
  std::string_view error_;
};

}  // namespace fanfare::wire::http
