// The server's parser of requests, and the client's writer.
#include "wire/http/request.h"

#include <algorithm>
#include <charconv>

#include "wire/http/ascii.h"
#include "wire/http/field_writer.h"

namespace fanfare::wire::http {

namespace {

/// A chunked body that was longer than this gives its memory back at the next request.
constexpr std::size_t kKeptBytesMax = 256 * 1024;
/// Bytes of a chunked body's framing that are tolerated beyond as many as its data has: the buffer holds both.
constexpr std::size_t kFramingBytesMax = 64 * 1024;

/// Target characters: everything printable, and bytes beyond ASCII, which clients do send.
bool is_target(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '#'; });
}

bool is_host(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return has(kHostCharacters, c); });
}

/// Length of `http://` or `https://` at the front, 0 if there is neither.
std::size_t scheme_size(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (equal_ignoring_case(target.substr(0, scheme.size()), scheme)) return scheme.size();
  }
  return 0;
}

}  // namespace

RequestParser::RequestParser(const Limits& limits) : limits_(limits) { begin(); }

void RequestParser::begin() {
  phase_ = Phase::Head;
  head_whole_ = false;
  continue_wanted_ = false;
  scanner_.restart(0, true);
  if (decoded_.capacity() > kKeptBytesMax) decoded_ = {};
  decoded_.clear();
}

bool RequestParser::fail(int status, std::string_view reason) {
  error_ = {status, reason};
  phase_ = Phase::Failed;
  return false;
}

Parse RequestParser::parse(std::string_view buffer) {
  if (phase_ == Phase::Complete) begin();
  while (phase_ == Phase::Head) {
    switch (scanner_.advance(buffer, limits_)) {
      case HeadScanner::Event::NeedMore: return Parse::NeedMore;
      case HeadScanner::Event::StartLine: take_request_line(scanner_.start_line(buffer)); break;
      case HeadScanner::Event::End:
        if (take_fields(buffer)) phase_ = Phase::Body;
        break;
      case HeadScanner::Event::Error: fail(scanner_.error().status, scanner_.error().reason); break;
    }
  }
  return phase_ == Phase::Body ? parse_body(buffer) : Parse::Error;
}

// `POST /path?query HTTP/1.1` [RFC 9112 3]
bool RequestParser::take_request_line(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && has(kTokenCharacters, line[at])) ++at;
  if (at == 0 || at >= line.size() || line[at] != ' ')
    return fail(400, "the request line does not begin with a method and a space");
  method_size_ = static_cast<std::uint32_t>(at);
  line.remove_prefix(at + 1);
  const auto space = line.rfind(' ');
  if (space == std::string_view::npos)
    return fail(400, "the request line does not end with a space and the HTTP version");
  const auto target = line.substr(0, space);
  const int minor = read_minor_version(line.substr(space + 1));
  if (minor == -2) return fail(400, "the request line does not end with a space and the HTTP version");
  if (minor == -1) return fail(505, "the HTTP versions understood are 1.0 and 1.1");
  if (target.empty() || !is_target(target)) return fail(400, "a character that is not allowed in the request's target");
  target_size_ = static_cast<std::uint32_t>(target.size());
  request_.minor_version = minor;
  return true;
}

bool RequestParser::take_fields(std::string_view buffer) {
  head_whole_ = true;
  request_.keep_alive = false;
  scanner_.fields_into(headers_, buffer);
  FrameFields fields;
  if (const auto wrong = read_frame_fields(Headers{headers_}, request_.minor_version, fields))
    return fail(wrong->status, wrong->reason);
  if (fields.host_count > 1) return fail(400, "Host occurs more than once");
  if (fields.host_count == 0 && request_.minor_version == 1) return fail(400, "HTTP/1.1 needs a Host field");
  if (!is_host(fields.host)) return fail(400, "a character that is not allowed in Host");

  const auto line = scanner_.start_line(buffer);
  const auto target = line.substr(method_size_ + 1, target_size_);
  if (target.front() != '/') {
    const auto scheme = scheme_size(target);
    if (scheme != 0) {
      const auto authority = target.substr(scheme, target.substr(scheme).find_first_of("/?"));
      if (authority.empty() || !is_host(authority))
        return fail(400, "the host in the request's target is missing or has a character that is not allowed");
    } else if (target != "*" && line.substr(0, method_size_) != "CONNECT") {
      return fail(400, "the request's target begins neither with a slash nor with http:// or https://");
    }
  }

  request_.keep_alive = request_.minor_version == 1 ? !fields.close : fields.keep_alive && !fields.close;
  framing_ = fields.chunked ? Framing::Chunked : fields.length ? Framing::Length : Framing::None;
  length_ = fields.length.value_or(0);
  if (length_ > limits_.body_bytes_max) return fail(413, "the body is too long");
  continue_wanted_ =
      fields.expects_continue && request_.minor_version == 1 && (framing_ == Framing::Chunked || length_ > 0);
  decoder_ = BodyDecoder{framing_, length_};
  decoded_until_ = scanner_.end();
  return true;
}

Parse RequestParser::parse_body(std::string_view buffer) {
  const auto head = scanner_.end();
  if (framing_ != Framing::Chunked) {
    if (buffer.size() - head >= length_) return complete(buffer, buffer.substr(head, length_), head + length_);
  } else {
    for (bool more = true; more;) {
      const auto step = decoder_.step(buffer.substr(decoded_until_));
      decoded_until_ += step.consumed;
      if (step.data.size() + decoder_.announced() > limits_.body_bytes_max - decoded_.size()) {
        fail(413, "the body is too long");
        return Parse::Error;
      }
      decoded_.append(step.data);
      if (decoded_until_ - head - decoded_.size() > kFramingBytesMax + decoded_.size()) {
        fail(413, "the body is cut into too many chunks");
        return Parse::Error;
      }
      switch (step.state) {
        case BodyDecoder::State::Data: break;
        case BodyDecoder::State::NeedMore: more = false; break;
        case BodyDecoder::State::Done: return complete(buffer, decoded_, decoded_until_);
        case BodyDecoder::State::Error: fail(400, decoder_.error()); return Parse::Error;
      }
    }
  }
  // A client that has begun to send its body does not wait any more [RFC 9110 10.1.1].
  if (continue_wanted_ && buffer.size() == head) {
    continue_wanted_ = false;
    return Parse::SendContinue;
  }
  return Parse::NeedMore;
}

const Request* RequestParser::read_head(std::string_view buffer) {
  if (!head_whole_) return nullptr;
  fill_request(buffer);
  request_.body = {};
  return &request_;
}

Parse RequestParser::complete(std::string_view buffer, std::string_view body, std::size_t end) {
  fill_request(buffer);
  request_.body = body;
  consumed_ = end;
  phase_ = Phase::Complete;
  return Parse::Complete;
}

void RequestParser::fill_request(std::string_view buffer) {
  // The buffer may have moved since the head was read.
  scanner_.fields_into(headers_, buffer);
  request_.headers = Headers{headers_};
  const auto line = scanner_.start_line(buffer);
  request_.method = line.substr(0, method_size_);
  request_.target = line.substr(method_size_ + 1, target_size_);
  auto rest = request_.target;
  request_.authority = {};
  if (const auto scheme = rest.front() == '/' ? 0 : scheme_size(rest); scheme != 0) {
    rest.remove_prefix(scheme);
    request_.authority = rest.substr(0, rest.find_first_of("/?"));
    rest.remove_prefix(request_.authority.size());
  } else {
    request_.authority = request_.headers.get("host");
  }
  const auto mark = rest.find('?');
  request_.path = rest.substr(0, mark);
  if (request_.path.empty()) request_.path = "/";
  request_.query = mark == std::string_view::npos ? std::string_view{} : rest.substr(mark + 1);
}

std::uint64_t RequestParser::expected_bytes() const {
  return phase_ == Phase::Body && framing_ != Framing::Chunked ? scanner_.end() + length_ : 0;
}

void append_request(std::string& out, const RequestHead& head, std::string_view body) {
  out.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  append_field(out, "Host", head.host);
  for (const auto& field : head.headers) append_field(out, field.name, field.value);
  if (!body.empty() || head.method == "POST" || head.method == "PUT" || head.method == "PATCH")
    append_length(out, body.size());
  out.append("\r\n").append(body);
}

}  // namespace fanfare::wire::http
