// HTTP parsers: no input crashes them, and what they say does not depend on how the bytes arrive. The first byte
// chooses the parser, the second seeds the splits.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"
#include "wire/http/request.h"
#include "wire/http/response.h"
#include "wire/http/url.h"

using namespace fanfare;
using namespace fanfare::wire;

namespace {

constexpr http::Limits kLimits{
    .start_line_bytes_max = 200, .header_count_max = 8, .header_bytes_max = 400, .body_bytes_max = 300};

/// What came out, as text.
void append(std::string& out, std::string_view text) { out.append(text).append("\x1f"); }

void append(std::string& out, const http::Headers& headers) {
  for (const auto& [name, value] : headers) {
    append(out, name);
    append(out, value);
  }
}

/// All requests of the stream; every view is touched. `piece` says how many bytes come next.
template <class Piece>
std::string requests(std::string_view stream, Piece piece) {
  std::string out;
  http::RequestParser parser{kLimits};
  std::size_t begin = 0;
  std::size_t end = 0;
  for (;;) {
    const std::string received{stream.substr(begin, end - begin)};  // at a new address each time
    switch (parser.parse(received)) {
      case http::Parse::Complete: {
        const auto& r = parser.request();
        append(out, r.method);
        append(out, r.target);
        append(out, r.path);
        append(out, r.query);
        append(out, r.authority);
        append(out, r.headers);
        append(out, r.body);
        out.push_back(r.keep_alive ? 'k' : 'c');
        FANFARE_ASSERT(parser.consumed() > 0 && parser.consumed() <= received.size());
        begin += parser.consumed();
        continue;
      }
      case http::Parse::SendContinue: continue;
      case http::Parse::Error:
        FANFARE_ASSERT(parser.error().status >= 400 && !parser.error().reason.empty());
        if (const http::Request* head = parser.read_head(received)) {
          std::string seen;  // touched, not compared
          for (const std::string_view view : {head->method, head->target, head->path, head->query, head->authority}) append(seen, view);
          append(seen, head->headers);
          FANFARE_ASSERT(head->body.empty() && !head->method.empty() && !head->target.empty());
        }
        return out + "error";  // which of two comes first may depend on the splits
      case http::Parse::NeedMore: break;
    }
    if (end == stream.size()) return out;
    end += piece(stream.size() - end);
  }
}

template <class Piece>
std::string responses(std::string_view stream, Piece piece, bool head, bool streaming) {
  std::string out;
  http::ResponseParser parser{kLimits};
  parser.expect(head, streaming);
  std::size_t begin = 0;
  std::size_t end = 0;
  bool in_body = false;
  for (;;) {
    const std::string received{stream.substr(begin, end - begin)};
    bool more = false;
    if (in_body) {
      const auto step = parser.decoder().step(received);
      FANFARE_ASSERT(step.consumed <= received.size());
      begin += step.consumed;
      out.append(step.data);
      if (step.state == http::BodyDecoder::State::Error) return out + "error";
      if (step.state == http::BodyDecoder::State::Done) in_body = false;
      more = step.state == http::BodyDecoder::State::NeedMore;
    } else {
      switch (end == stream.size() ? parser.close(received) : parser.parse(received)) {
        case http::ResponseParser::State::Complete:
        case http::ResponseParser::State::HeadComplete: {
          const auto& r = parser.response();
          append(out, std::to_string(r.status));
          append(out, r.reason);
          append(out, r.headers);
          append(out, r.body);
          out.push_back(r.keep_alive ? 'k' : 'c');
          FANFARE_ASSERT(parser.consumed() <= received.size());
          begin += parser.consumed();
          in_body = streaming;
          break;
        }
        case http::ResponseParser::State::Error: return out + "error";
        case http::ResponseParser::State::NeedMore: more = true; break;
      }
    }
    if (!more) continue;
    if (end == stream.size()) return out;
    end += piece(stream.size() - end);
  }
}

/// A line that is not whole is looked at only when it comes: what is wrong in it may show later, when its end comes.
bool same(const std::string& split, const std::string& whole) { return split == whole || split + "error" == whole; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view stream{reinterpret_cast<const char*>(data) + 2, size - 2};
  Rng rng{data[1]};
  const auto whole = [](std::size_t left) { return left; };
  const auto split = [&rng](std::size_t left) { return 1 + rng.below(left < 40 ? left : 40); };
  switch (data[0] % 5) {
    case 0: {
      const auto expected = requests(stream, whole);
      const auto got = requests(stream, split);
      FANFARE_ASSERT(same(got, expected), got + "\n---\n" + expected);
      break;
    }
    case 1:
    case 2:
    case 3: {
      const bool head = data[0] % 5 == 2;
      const bool streaming = data[0] % 5 == 3;
      const auto expected = responses(stream, whole, head, streaming);
      const auto got = responses(stream, split, head, streaming);
      FANFARE_ASSERT(same(got, expected), got + "\n---\n" + expected);
      break;
    }
    default: {
      http::Form form;
      if (!form.parse(stream)) {
        std::string text;
        for (const auto& [name, value] : form.fields()) http::append_form_field(text, name, value);
        http::Form again;
        FANFARE_ASSERT(!again.parse(text) && again.fields().size() <= form.fields().size());
      }
      if (const auto url = http::parse_url(stream)) {
        const auto again = http::parse_url(url->text());
        FANFARE_ASSERT(again && again->text() == url->text(), url->text());
      }
      http::is_loopback_host(stream);
      if (const auto time = http::parse_http_date(stream)) {
        FANFARE_ASSERT(http::parse_http_date(http::http_date(*time)) == time, std::string(stream));
      }
    }
  }
  return 0;
}
