// The server's writer of responses, dates, and the client's parser.
#include "wire/http/response.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "wire/http/ascii.h"
#include "wire/http/field_writer.h"

namespace fanfare::wire::http {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 103: return "Early Hints";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 203: return "Non-Authoritative Information";
    case 204: return "No Content";
    case 205: return "Reset Content";
    case 206: return "Partial Content";
    case 300: return "Multiple Choices";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 407: return "Proxy Authentication Required";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 425: return "Too Early";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 451: return "Unavailable For Legal Reasons";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    case 511: return "Network Authentication Required";
    default: return "Unknown";
  }
}

// ---- writer ----

namespace {

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

void append_status_and_fields(std::string& out, int status, std::span<const Header> headers, bool keep_alive,
                              const ResponseOptions& options) {
  const char code[] = {static_cast<char>('0' + status / 100 % 10), static_cast<char>('0' + status / 10 % 10),
                       static_cast<char>('0' + status % 10)};
  out.append("HTTP/1.1 ").append(code, sizeof code).append(" ").append(reason_phrase(status)).append("\r\n");
  if (!options.date.empty()) append_field(out, "Date", options.date);
  for (const auto& field : headers) append_field(out, field.name, field.value);
  // A switch of protocols brings its own `Connection: Upgrade`.
  if (status < 200) return;
  if (!keep_alive) {
    out.append("Connection: close\r\n");
  } else if (options.http_1_0) {
    out.append("Connection: keep-alive\r\n");
  }
}

}  // namespace

void append_response(std::string& out, int status, std::span<const Header> headers, std::string_view body,
                     const ResponseOptions& options) {
  append_status_and_fields(out, status, headers, options.keep_alive, options);
  if (!has_no_body(status)) append_length(out, body.size());
  out.append("\r\n");
  if (!has_no_body(status) && !options.head_only) out.append(body);
}

void append_response_head(std::string& out, int status, std::span<const Header> headers, Framing framing,
                          const ResponseOptions& options) {
  append_status_and_fields(out, status, headers, options.keep_alive && framing != Framing::UntilClose, options);
  if (framing == Framing::Chunked) out.append("Transfer-Encoding: chunked\r\n");
  out.append("\r\n");
}

void append_chunk(std::string& out, std::string_view data) {
  if (data.empty()) return;
  char digits[20];
  const auto written = std::to_chars(digits, digits + sizeof digits, data.size(), 16);
  out.append(digits, static_cast<std::size_t>(written.ptr - digits)).append("\r\n").append(data).append("\r\n");
}

void append_last_chunk(std::string& out) { out.append("0\r\n\r\n"); }

// ---- dates ----

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> kLongDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// Takes pieces of a date from the front; after the first that does not fit, ok is false.
struct DateText {
  std::string_view rest;
  bool ok = true;

  void expect(std::string_view text) {
    if (rest.starts_with(text)) {
      rest.remove_prefix(text.size());
    } else {
      ok = false;
    }
  }
  template <std::size_t N>
  unsigned one_of(const std::array<std::string_view, N>& names) {
    for (unsigned i = 0; i < N; ++i) {
      if (rest.starts_with(names[i])) {
        rest.remove_prefix(names[i].size());
        return i;
      }
    }
    ok = false;
    return 0;
  }
  int number(std::size_t digits) {
    int value = 0;
    if (rest.size() < digits) ok = false;
    for (std::size_t i = 0; ok && i < digits; ++i) {
      if (rest[i] < '0' || rest[i] > '9') ok = false;
      value = value * 10 + (rest[i] - '0');
    }
    if (ok) rest.remove_prefix(digits);
    return value;
  }
};

}  // namespace

std::string http_date(std::int64_t unix_seconds) {
  using namespace std::chrono;
  const sys_seconds time{seconds{unix_seconds}};
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{time - day};
  std::string out;
  const auto digits = [&](int value, int count) {
    for (int divisor = count == 4 ? 1000 : 10; divisor > 0; divisor /= 10)
      out.push_back(static_cast<char>('0' + value / divisor % 10));
  };
  out.append(kDays[weekday{day}.c_encoding()]).append(", ");
  digits(static_cast<int>(static_cast<unsigned>(date.day())), 2);
  out.append(" ").append(kMonths[static_cast<unsigned>(date.month()) - 1]).append(" ");
  digits(static_cast<int>(date.year()), 4);
  out.append(" ");
  digits(static_cast<int>(clock.hours().count()), 2);
  out.append(":");
  digits(static_cast<int>(clock.minutes().count()), 2);
  out.append(":");
  digits(static_cast<int>(clock.seconds().count()), 2);
  return out.append(" GMT");
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  using namespace std::chrono;
  DateText in{text};
  int year_number = 0;
  unsigned month_index = 0;
  int day_number = 0;
  int clock[3] = {0, 0, 0};
  const auto read_clock = [&] {
    clock[0] = in.number(2);
    in.expect(":");
    clock[1] = in.number(2);
    in.expect(":");
    clock[2] = in.number(2);
  };
  const auto comma = text.find(',');
  if (comma == 3) {  // Sun, 06 Nov 1994 08:49:37 GMT
    in.one_of(kDays);
    in.expect(", ");
    day_number = in.number(2);
    in.expect(" ");
    month_index = in.one_of(kMonths);
    in.expect(" ");
    year_number = in.number(4);
    in.expect(" ");
    read_clock();
    in.expect(" GMT");
  } else if (comma != std::string_view::npos) {  // Sunday, 06-Nov-94 08:49:37 GMT
    in.one_of(kLongDays);
    in.expect(", ");
    day_number = in.number(2);
    in.expect("-");
    month_index = in.one_of(kMonths);
    in.expect("-");
    const int two_digits = in.number(2);
    year_number = two_digits + (two_digits < 70 ? 2000 : 1900);
    in.expect(" ");
    read_clock();
    in.expect(" GMT");
  } else {  // Sun Nov  6 08:49:37 1994
    in.one_of(kDays);
    in.expect(" ");
    month_index = in.one_of(kMonths);
    in.expect(" ");
    if (in.rest.starts_with(' ')) {
      in.expect(" ");
      day_number = in.number(1);
    } else {
      day_number = in.number(2);
    }
    in.expect(" ");
    read_clock();
    in.expect(" ");
    year_number = in.number(4);
  }
  const year_month_day date{year{year_number}, month{month_index + 1}, day{static_cast<unsigned>(day_number)}};
  // A leap second, 60, is allowed and counts as the next minute's first.
  if (!in.ok || !in.rest.empty() || !date.ok() || clock[0] > 23 || clock[1] > 59 || clock[2] > 60) return std::nullopt;
  const sys_days days_since = date;
  return days_since.time_since_epoch().count() * std::int64_t{86400} + clock[0] * 3600 + clock[1] * 60 + clock[2];
}

// ---- parser ----

namespace {

constexpr int kInterimResponsesMax = 16;
constexpr std::size_t kKeptBytesMax = 256 * 1024;
constexpr std::size_t kFramingBytesMax = 64 * 1024;

}  // namespace

ResponseParser::ResponseParser(const Limits& limits) : limits_(limits) { begin(); }

void ResponseParser::expect(bool head_request, bool stream_body) {
  head_request_ = head_request;
  stream_body_ = stream_body;
}

void ResponseParser::begin() {
  phase_ = Phase::Head;
  interim_count_ = 0;
  scanner_.restart(0, false);
  if (decoded_.capacity() > kKeptBytesMax) decoded_ = {};
  decoded_.clear();
}

bool ResponseParser::fail(std::string_view reason) {
  error_ = reason;
  phase_ = Phase::Failed;
  return false;
}

ResponseParser::State ResponseParser::parse(std::string_view buffer) {
  if (phase_ == Phase::Complete) begin();
  while (phase_ == Phase::Head) {
    switch (scanner_.advance(buffer, limits_)) {
      case HeadScanner::Event::NeedMore: return State::NeedMore;
      case HeadScanner::Event::StartLine: take_status_line(scanner_.start_line(buffer)); break;
      case HeadScanner::Event::End:
        if (response_.status < 200 && response_.status != 101) {
          if (++interim_count_ > kInterimResponsesMax) fail("too many interim responses");
          scanner_.restart(scanner_.end(), false);
        } else if (take_fields(buffer)) {
          phase_ = Phase::Body;
        }
        break;
      case HeadScanner::Event::Error: fail(scanner_.error().reason); break;
    }
  }
  if (phase_ != Phase::Body) return State::Error;
  if (stream_body_) {
    point_into(buffer);
    response_.body = {};
    consumed_ = scanner_.end();
    phase_ = Phase::Complete;
    return State::HeadComplete;
  }
  return parse_body(buffer);
}

// `HTTP/1.1 200 OK`; the reason, and the space before it, may be missing [RFC 9112 4].
bool ResponseParser::take_status_line(std::string_view line) {
  const int minor = read_minor_version(line.substr(0, 8));
  const auto digit = [&](std::size_t at) { return line[at] >= '0' && line[at] <= '9'; };
  if (minor == -1) return fail("the HTTP versions understood are 1.0 and 1.1");
  if (minor == -2 || line.size() < 12 || line[8] != ' ' || !digit(9) || !digit(10) || !digit(11) ||
      (line.size() > 12 && line[12] != ' ')) {
    return fail("the answer does not begin with an HTTP version and a status of three digits");
  }
  response_.minor_version = minor;
  response_.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (response_.status < 100) return fail("the status is below 100");
  reason_size_ = static_cast<std::uint32_t>(line.size() > 13 ? line.size() - 13 : 0);
  const auto reason = line.substr(line.size() - reason_size_);
  if (std::any_of(reason.begin(), reason.end(),
                  [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; })) {
    return fail("a control character in the reason");
  }
  return true;
}

bool ResponseParser::take_fields(std::string_view buffer) {
  scanner_.fields_into(headers_, buffer);
  FrameFields fields;
  if (const auto wrong = read_frame_fields(Headers{headers_}, response_.minor_version, fields))
    return fail(wrong->reason);
  response_.keep_alive = response_.minor_version == 1 ? !fields.close : fields.keep_alive && !fields.close;
  length_ = 0;
  if (head_request_ || response_.status < 200 || response_.status == 204 || response_.status == 304) {
    framing_ = Framing::None;
  } else if (fields.chunked) {
    framing_ = Framing::Chunked;
  } else if (fields.length) {
    framing_ = Framing::Length;
    length_ = *fields.length;
    if (length_ > limits_.body_bytes_max && !stream_body_) return fail("the body is too long");
  } else {
    framing_ = Framing::UntilClose;
    response_.keep_alive = false;
  }
  decoder_ = BodyDecoder{framing_, length_};
  decoded_until_ = scanner_.end();
  return true;
}

ResponseParser::State ResponseParser::parse_body(std::string_view buffer) {
  const auto head = scanner_.end();
  const auto failed = [this](std::string_view reason) {
    fail(reason);
    return State::Error;
  };
  if (framing_ == Framing::UntilClose)
    return buffer.size() - head > limits_.body_bytes_max ? failed("the body is too long") : State::NeedMore;
  if (framing_ != Framing::Chunked) {
    if (buffer.size() - head < length_) return State::NeedMore;
    return complete(buffer, buffer.substr(head, length_), head + length_);
  }
  for (;;) {
    const auto step = decoder_.step(buffer.substr(decoded_until_));
    decoded_until_ += step.consumed;
    if (step.data.size() + decoder_.announced() > limits_.body_bytes_max - decoded_.size())
      return failed("the body is too long");
    decoded_.append(step.data);
    if (decoded_until_ - head - decoded_.size() > kFramingBytesMax + decoded_.size())
      return failed("the body is cut into too many chunks");
    switch (step.state) {
      case BodyDecoder::State::Data: break;
      case BodyDecoder::State::NeedMore: return State::NeedMore;
      case BodyDecoder::State::Done: return complete(buffer, decoded_, decoded_until_);
      case BodyDecoder::State::Error: return failed(decoder_.error());
    }
  }
}

ResponseParser::State ResponseParser::close(std::string_view buffer) {
  // Whatever is whole is worth as much as before.
  const auto state = parse(buffer);
  if (state != State::NeedMore) return state;
  if (phase_ == Phase::Body && framing_ == Framing::UntilClose)
    return complete(buffer, buffer.substr(scanner_.end()), buffer.size());
  fail(phase_ == Phase::Body ? "the connection closed inside the body"
       : idle()              ? "the connection closed before the answer"
                             : "the connection closed inside the header");
  return State::Error;
}

ResponseParser::State ResponseParser::complete(std::string_view buffer, std::string_view body, std::size_t end) {
  point_into(buffer);
  response_.body = body;
  consumed_ = end;
  phase_ = Phase::Complete;
  return State::Complete;
}

void ResponseParser::point_into(std::string_view buffer) {
  scanner_.fields_into(headers_, buffer);
  response_.headers = Headers{headers_};
  const auto line = scanner_.start_line(buffer);
  response_.reason = line.substr(line.size() - reason_size_);
}

}  // namespace fanfare::wire::http
