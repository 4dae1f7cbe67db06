// HTTP/1.1 requests: the server's parser and the client's writer. No I/O: bytes in, values out.
//
// Rule 1: parse() gets everything received since the end of the last request, again and again; it remembers how far it
// has
//         looked and never looks at a byte twice, so a sender of single bytes costs no more than another.
// Rule 2: framing that two readers could understand differently is refused: Content-Length with Transfer-Encoding,
// differing
//         lengths, folded lines, bare CR or LF, white space before a colon, an unknown transfer coding.
// Rule 3: limits hold while reading; an announced body that is too long is refused before any of it is read.
// Rule 4: nothing is allocated for a request once the parser has warmed up, unless its body is chunked.
// Source: [RFC 9112], [RFC 9110].
//
//   switch (parser.parse(received)) {
//     case Parse::NeedMore:     break;                                     // receive more
//     case Parse::SendContinue: send(kContinue); break;                    // then receive more
//     case Parse::Complete:     handle(parser.request()); received.remove_prefix(parser.consumed()); break;
//     case Parse::Error:        answer(parser.error()); close(); break;
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http/body.h"
#include "wire/http/head_scanner.h"
#include "wire/http/headers.h"

namespace fanfare::wire::http {

/// One whole request. All views lie in the buffer given to parse(), or in the parser (a chunked body): valid until the
/// buffer changes or parse() is called again.
struct Request {
  std::string_view method;     ///< as sent, case matters: `POST`
  std::string_view target;     ///< as sent: `/queue?Action=x`, `http://host/queue`, `*`
  std::string_view path;       ///< `/queue`, still percent-encoded; `/` if an absolute target has none
  std::string_view query;      ///< what follows the `?`, without it; empty if there is none
  std::string_view authority;  ///< `host:port` of an absolute target, else the Host field; may be empty
  int minor_version = 1;       ///< 0 or 1: HTTP/1.0 or HTTP/1.1
  bool keep_alive = true;      ///< whether the client can use the connection further
  Headers headers;
  std::string_view body;  ///< decoded
};

enum class Parse : std::uint8_t {
  NeedMore,      ///< the request is not whole yet
  SendContinue,  ///< the client waits for kContinue before it sends the body; reported once
  Complete,      ///< request() and consumed() are valid; the next parse() begins the next request
  Error,         ///< error() is valid; every further parse() gives it again
};

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// The parser of one connection. Movable.
class RequestParser {
 public:
  explicit RequestParser(const Limits& limits = {});

  /// `buffer` begins where the current request begins: after Complete the caller drops consumed() bytes. The bytes
  /// given before must still be there, at any address. Never called with less than before.
  Parse parse(std::string_view buffer);

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] std::size_t consumed() const { return consumed_; }
  [[nodiscard]] const RequestError& error() const { return error_; }
  /// The head of the current request with an empty body, so that a refusal can take the form that its sender reads: as soon as it is
  /// whole, also after an Error that came later or that one of its fields has caused. Null before. `buffer` as for parse().
  [[nodiscard]] const Request* read_head(std::string_view buffer);
  /// True between requests: nothing of the next one has come. An idle connection may be closed without an answer.
  [[nodiscard]] bool idle() const {
    return phase_ == Phase::Complete || (phase_ == Phase::Head && scanner_.scanned() == 0);
  }
  /// How many bytes the whole request will have, head included, if it is known already (Content-Length); else 0.
  /// For sizing the receive buffer.
  [[nodiscard]] std::uint64_t expected_bytes() const;

 private:
  enum class Phase : std::uint8_t { Head, Body, Complete, Failed };
  void begin();
  bool take_request_line(std::string_view line);
  bool take_fields(std::string_view buffer);
  Parse parse_body(std::string_view buffer);
  Parse complete(std::string_view buffer, std::string_view body, std::size_t end);
  void fill_request(std::string_view buffer);
  bool fail(int status, std::string_view reason);

  Limits limits_;
  Phase phase_ = Phase::Head;
  bool head_whole_ = false;
  bool continue_wanted_ = false;
  Framing framing_ = Framing::None;
  std::uint32_t method_size_ = 0;
  std::uint32_t target_size_ = 0;
  std::uint64_t length_ = 0;
  std::size_t decoded_until_ = 0;  // first byte of a chunked body that the decoder has not seen
  HeadScanner scanner_;
  BodyDecoder decoder_;
  std::vector<Header> headers_;
  std::string decoded_;
  Request request_;
  std::size_t consumed_ = 0;
  RequestError error_;
};

/// What append_request() writes. `Host` comes first; `Content-Length` is added when there is a body or the method is
/// POST, PUT or PATCH. CR, LF and NUL in field values become spaces.
struct RequestHead {
  std::string_view method;
  std::string_view target;  ///< `/path?query`, encoded; it is not changed
  std::string_view host;    ///< `host` or `host:port`
  std::span<const Header> headers;
};

void append_request(std::string& out, const RequestHead& head, std::string_view body);

}  // namespace fanfare::wire::http
