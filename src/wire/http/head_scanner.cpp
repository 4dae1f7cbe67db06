// The scanner of message heads, and what their fields say about the frame. [RFC 9112 5, 6]
#include "wire/http/head_scanner.h"

#include <cstring>

#include "wire/http/ascii.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fanfare::wire::http {

namespace {

/// Offsets are kept in 32 bits; heads end long before.
constexpr std::size_t kHeadBytesMax = std::size_t{1} << 30;

/// The first position from `at` of a control character other than a tab; text.size() if there is none.
std::size_t find_control(std::string_view text, std::size_t at) {
#if defined(__SSE2__)
  const auto last_control = _mm_set1_epi8(0x1f);
  const auto tab = _mm_set1_epi8('\t');
  const auto del = _mm_set1_epi8(0x7f);
  for (; at + 16 <= text.size(); at += 16) {
    const auto block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const auto low = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
    const auto found = _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(block, tab), low), _mm_cmpeq_epi8(block, del));
    const int mask = _mm_movemask_epi8(found);
    if (mask != 0) return at + static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(mask)));
  }
#endif
  for (; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if ((c < 0x20 && c != '\t') || c == 0x7f) break;
  }
  return at;
}

}  // namespace

void HeadScanner::restart(std::size_t begin, bool skip_empty_lines) {
  in_fields_ = false;
  skip_empty_lines_ = skip_empty_lines;
  line_begin_ = scanned_ = begin;
  fields_.clear();
}

HeadScanner::Event HeadScanner::fail(int status, std::string_view reason) {
  error_ = {status, reason};
  return Event::Error;
}

HeadScanner::Event HeadScanner::advance(std::string_view buffer, const Limits& limits) {
  if (buffer.size() > kHeadBytesMax) buffer = buffer.substr(0, kHeadBytesMax);
  while (!in_fields_) {
    if (line_begin_ < buffer.size()) {
      // Said at once: who sends TLS to a plain port would else wait for an answer that never comes.
      const char first = buffer[line_begin_];
      if (!has(kTokenCharacters, first) && first != '\r' && first != '\n') {
        return fail(400, "the first byte belongs to no HTTP message; is TLS sent to a port without TLS?");
      }
    }
    const auto* found = static_cast<const char*>(std::memchr(buffer.data() + scanned_, '\n', buffer.size() - scanned_));
    const auto line_end = found != nullptr ? static_cast<std::size_t>(found - buffer.data()) : buffer.size();
    if (line_end - line_begin_ > limits.start_line_bytes_max) return fail(414, "the start line is too long");
    if (found == nullptr) {
      scanned_ = buffer.size();
      return Event::NeedMore;
    }
    scanned_ = line_end + 1;
    if (line_end == line_begin_ || buffer[line_end - 1] != '\r') return fail(400, "a line ends with a bare line feed");
    start_line_ = {static_cast<std::uint32_t>(line_begin_), static_cast<std::uint32_t>(line_end - 1 - line_begin_)};
    if (start_line_.size == 0 && skip_empty_lines_) {
      line_begin_ = scanned_;
      skip_empty_lines_ = false;  // one is enough; more would be a way to keep a connection without a request
      continue;
    }
    line_begin_ = fields_begin_ = scanned_;
    in_fields_ = true;
    return Event::StartLine;
  }
  for (;;) {
    // Only a line that was not whole before: look for its end first, so that it is parsed once more and not at every
    // byte.
    if (scanned_ > line_begin_) {
      const auto* found =
          static_cast<const char*>(std::memchr(buffer.data() + scanned_, '\n', buffer.size() - scanned_));
      if (found == nullptr) return need_more(buffer, limits);
    }
    const auto event = take_field(buffer, limits);
    if (event != Event::StartLine) return event;  // StartLine stands for: a field was taken, go on
    if (line_begin_ - fields_begin_ > limits.header_bytes_max) return fail(431, "the header fields are too long");
  }
}

/// The line that is not whole counts against the limit, but for the empty line that ends the head: it is no field.
HeadScanner::Event HeadScanner::need_more(std::string_view buffer, const Limits& limits) {
  scanned_ = buffer.size();
  const bool may_be_the_end = scanned_ == line_begin_ + 1 && buffer[line_begin_] == '\r';
  const auto counted = (may_be_the_end ? line_begin_ : scanned_) - fields_begin_;
  if (counted > limits.header_bytes_max) return fail(431, "the header fields are too long");
  return Event::NeedMore;
}

HeadScanner::Event HeadScanner::take_field(std::string_view buffer, const Limits& limits) {
  auto at = line_begin_;
  if (at >= buffer.size()) return Event::NeedMore;
  if (buffer[at] == '\r') {
    if (at + 1 >= buffer.size()) return need_more(buffer, limits);
    if (buffer[at + 1] != '\n') return fail(400, "a carriage return without a line feed in the header");
    line_begin_ = scanned_ = at + 2;
    return Event::End;
  }
  if (buffer[at] == ' ' || buffer[at] == '\t') return fail(400, "a header field is folded over several lines");
  if (fields_.size() >= limits.header_count_max) return fail(431, "there are too many header fields");

  while (at < buffer.size() && has(kTokenCharacters, buffer[at])) ++at;
  if (at >= buffer.size()) return need_more(buffer, limits);
  if (buffer[at] != ':') {
    if (buffer[at] == ' ' || buffer[at] == '\t') return fail(400, "white space before the colon of a header field");
    if (buffer[at] == '\r' || buffer[at] == '\n') return fail(400, "a header field without a colon");
    return fail(400, "a character that is not allowed in a header field's name");
  }
  if (at == line_begin_) return fail(400, "a header field without a name");
  const Slice name{static_cast<std::uint32_t>(line_begin_), static_cast<std::uint32_t>(at - line_begin_)};

  ++at;
  while (at < buffer.size() && (buffer[at] == ' ' || buffer[at] == '\t')) ++at;
  const auto value_begin = at;
  at = find_control(buffer, at);
  if (at >= buffer.size()) return need_more(buffer, limits);
  if (buffer[at] != '\r') {
    return fail(400, buffer[at] == '\n' ? "a line ends with a bare line feed"
                                        : "a control character in a header field's value");
  }
  if (at + 1 >= buffer.size()) return need_more(buffer, limits);
  if (buffer[at + 1] != '\n') return fail(400, "a carriage return without a line feed in the header");
  auto value_end = at;
  while (value_end > value_begin && (buffer[value_end - 1] == ' ' || buffer[value_end - 1] == '\t')) --value_end;
  fields_.push_back(
      {name, {static_cast<std::uint32_t>(value_begin), static_cast<std::uint32_t>(value_end - value_begin)}});
  line_begin_ = scanned_ = at + 2;
  return Event::StartLine;
}

void HeadScanner::fields_into(std::vector<Header>& headers, std::string_view buffer) const {
  headers.resize(fields_.size());
  for (std::size_t i = 0; i < fields_.size(); ++i)
    headers[i] = {cut(buffer, fields_[i].name), cut(buffer, fields_[i].value)};
}

// ---- frame fields ----

namespace {

std::optional<RequestError> read_length(std::string_view text, FrameFields& out) {
  // A list of equal lengths may be read as one [RFC 9110 8.6]; nobody sends it, and refusing it is allowed and safer.
  if (out.length) return RequestError{400, "Content-Length occurs more than once"};
  if (text.empty()) return RequestError{400, "Content-Length is not a number"};
  std::uint64_t length = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return RequestError{400, "Content-Length is not a number"};
    if (length > (UINT64_MAX >> 8)) return RequestError{413, "the body is too long"};
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  out.length = length;
  return std::nullopt;
}

std::optional<RequestError> read_transfer_coding(std::string_view text, FrameFields& out) {
  if (out.chunked) return RequestError{400, "Transfer-Encoding names more after chunked"};
  if (equal_ignoring_case(text, "chunked")) {
    out.chunked = true;
    return std::nullopt;
  }
  const auto comma = text.rfind(',');
  if (comma != std::string_view::npos && equal_ignoring_case(trim(text.substr(comma + 1)), "chunked") &&
      !list_has(text.substr(0, comma), "chunked")) {
    return RequestError{501, "the only transfer coding understood is chunked"};
  }
  return RequestError{400, "Transfer-Encoding does not end with chunked"};
}

}  // namespace

std::optional<RequestError> read_frame_fields(Headers headers, int minor_version, FrameFields& out) {
  bool has_transfer_coding = false;
  for (const auto& [name, value] : headers) {
    std::optional<RequestError> wrong;
    switch (name.size()) {
      case 4:
        if (equal_ignoring_case(name, "host")) {
          ++out.host_count;
          out.host = value;
        }
        break;
      case 6:
        if (equal_ignoring_case(name, "expect")) out.expects_continue |= equal_ignoring_case(value, "100-continue");
        break;
      case 10:
        if (equal_ignoring_case(name, "connection")) {
          out.close |= list_has(value, "close");
          out.keep_alive |= list_has(value, "keep-alive");
        }
        break;
      case 14:
        if (equal_ignoring_case(name, "content-length")) wrong = read_length(value, out);
        break;
      case 17:
        if (equal_ignoring_case(name, "transfer-encoding")) {
          has_transfer_coding = true;
          wrong = read_transfer_coding(value, out);
        }
        break;
      default: break;
    }
    if (wrong) return wrong;
  }
  if (has_transfer_coding && out.length)
    return RequestError{400, "Content-Length and Transfer-Encoding exclude each other"};
  if (has_transfer_coding && minor_version == 0) return RequestError{400, "HTTP/1.0 has no Transfer-Encoding"};
  return std::nullopt;
}

int read_minor_version(std::string_view text) {
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 8 || !text.starts_with("HTTP/") || !digit(text[5]) || text[6] != '.' || !digit(text[7])) return -2;
  // A higher minor version speaks 1.1 to us [RFC 9110 2.5].
  return text[5] == '1' ? 1 : -1;
}

}  // namespace fanfare::wire::http
