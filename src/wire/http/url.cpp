// URLs taken apart, and form fields decoded.
#include "wire/http/url.h"

#include <charconv>

#include "wire/digest/encoding.h"
#include "wire/http/ascii.h"
#include "wire/http/headers.h"

namespace fanfare::wire::http {

// ---- Url ----

std::string Url::target() const { return has_query ? path + "?" + query : path; }

std::string Url::authority() const {
  std::string out = host.find(':') != std::string::npos ? "[" + host + "]" : host;
  if (port != (secure ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

std::string Url::text() const { return (secure ? "https://" : "http://") + authority() + target(); }

std::string_view describe(UrlError error) {
  switch (error) {
    case UrlError::NotHttp: return "the URL begins neither with http:// nor with https://";
    case UrlError::NoHost: return "the URL has no host";
    case UrlError::BadHost: return "the URL's host has a character that no host name has, or is no IPv6 address";
    case UrlError::BadPort: return "the URL's port is not a number from 1 to 65535";
    case UrlError::BadCharacter:
      return "the URL has white space, a control character or a byte beyond ASCII; encode it as %XX";
  }
  return "";
}

namespace {

bool is_ipv6(std::string_view text) {
  // Eight groups of up to four hexadecimal digits; one run of them may be "::"; the last two may be written as IPv4.
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
  } else if (text.starts_with(':')) {
    return false;
  }
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && digest::hex_value(text[digits]) >= 0) ++digits;
    if (digits < text.size() && text[digits] == '.') {
      int parts = 0;
      while (!text.empty()) {
        int value = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
        const auto used = static_cast<std::size_t>(read.ptr - text.data());
        if (read.ec != std::errc{} || value > 255 || used > 3 || text.front() == '-') return false;
        text.remove_prefix(used);
        ++parts;
        if (text.empty()) break;
        if (text.front() != '.' || text.size() == 1) return false;
        text.remove_prefix(1);
      }
      if (parts != 4) return false;
      groups += 2;
      break;
    }
    if (digits == 0 || digits > 4) return false;
    ++groups;
    text.remove_prefix(digits);
    if (text.empty()) break;
    if (text.front() != ':') return false;
    text.remove_prefix(1);
    if (text.starts_with(':')) {
      if (gap) return false;
      gap = true;
      text.remove_prefix(1);
    } else if (text.empty()) {
      return false;
    }
  }
  return gap ? groups < 8 : groups == 8;
}

bool is_host_name(std::string_view text) {
  for (const char c : text) {
    if (!has(kTokenCharacters, c) || c == '`' || c == '|' || c == '^' || c == '#') return false;
  }
  return true;
}

}  // namespace

Result<Url, UrlError> parse_url(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f) return UrlError::BadCharacter;
  }
  Url url;
  if (equal_ignoring_case(text.substr(0, 7), "http://")) {
    text.remove_prefix(7);
  } else if (equal_ignoring_case(text.substr(0, 8), "https://")) {
    text.remove_prefix(8);
    url.secure = true;
  } else {
    return UrlError::NotHttp;
  }
  text = text.substr(0, text.find('#'));
  auto authority = text.substr(0, text.find_first_of("/?\\"));
  text.remove_prefix(authority.size());
  if (text.starts_with('\\')) return UrlError::BadHost;  // browsers read it as a slash, others as part of the host
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    url.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }

  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos || !is_ipv6(authority.substr(1, end - 1))) return UrlError::BadHost;
    url.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && port.front() != ':') return UrlError::BadHost;
    has_port = !port.empty();
  } else {
    const auto colon = authority.find(':');
    has_port = colon != std::string_view::npos;
    url.host = authority.substr(0, colon);
    if (has_port) port = authority.substr(colon);
    if (url.host.empty()) return UrlError::NoHost;
    if (!is_host_name(url.host)) return UrlError::BadHost;
  }
  for (auto& c : url.host) c = to_lower(c);

  url.port = url.secure ? 443 : 80;
  if (has_port && port.size() > 1) {  // `http://host:/` has the scheme's port [RFC 3986 3.2.3]
    port.remove_prefix(1);
    std::uint32_t number = 0;
    const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
    if (read.ec != std::errc{} || read.ptr != port.data() + port.size() || number == 0 || number > 65535)
      return UrlError::BadPort;
    url.port = static_cast<std::uint16_t>(number);
  }

  const auto mark = text.find('?');
  url.path = text.substr(0, mark);
  if (url.path.empty()) url.path = "/";
  if (mark != std::string_view::npos) {
    url.has_query = true;
    url.query = text.substr(mark + 1);
  }
  return url;
}

bool is_loopback_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.ends_with('.')) host.remove_suffix(1);
  if (equal_ignoring_case(host, "localhost") || host == "::1" || host == "0:0:0:0:0:0:0:1") return true;
  if (host.size() > 10 && equal_ignoring_case(host.substr(host.size() - 10), ".localhost"))
    return true;  // [RFC 6761 6.3]
  int parts = 0;
  bool loopback = false;
  while (!host.empty()) {
    int value = 0;
    const auto read = std::from_chars(host.data(), host.data() + host.size(), value);
    const auto used = static_cast<std::size_t>(read.ptr - host.data());
    if (read.ec != std::errc{} || value < 0 || value > 255 || used > 3) return false;
    if (parts++ == 0) loopback = value == 127;
    host.remove_prefix(used);
    if (host.empty()) break;
    if (host.front() != '.' || host.size() == 1) return false;
    host.remove_prefix(1);
  }
  return parts == 4 && loopback;
}

// ---- Form ----

namespace {

/// What a form may need before its buffer is given back at the next parse.
constexpr std::size_t kKeptBytesMax = 256 * 1024;

}  // namespace

std::optional<std::size_t> Form::parse(std::string_view text) {
  fields_.clear();
  // No field decodes to more bytes than it has, so the buffer never moves while views into it exist.
  if (decoded_.size() > kKeptBytesMax) decoded_ = {};
  if (decoded_.size() < text.size()) decoded_.resize(text.size());
  char* out = decoded_.data();
  std::optional<std::size_t> wrong;
  const auto decode = [&](std::string_view part) -> std::string_view {
    if (part.find('%') == std::string_view::npos && part.find('+') == std::string_view::npos) return part;
    char* const begin = out;
    const char* const end = part.data() + part.size();
    for (const char* at = part.data(); at != end; ++at) {
      char c = *at;
      if (c == '+') {
        c = ' ';
      } else if (c == '%') {
        const int high = end - at > 2 ? digest::hex_value(at[1]) : -1;
        const int low = end - at > 2 ? digest::hex_value(at[2]) : -1;
        if (high < 0 || low < 0) {
          if (!wrong) wrong = static_cast<std::size_t>(at - text.data());
          return {};
        }
        c = static_cast<char>(high * 16 + low);
        at += 2;
      }
      *out++ = c;
    }
    return {begin, static_cast<std::size_t>(out - begin)};
  };
  for (auto rest = text; !rest.empty() && !wrong;) {
    const auto end = rest.find('&');
    const auto field = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (field.empty()) continue;
    const auto equals = field.find('=');
    const auto name = decode(field.substr(0, equals));
    const auto value = equals == std::string_view::npos ? std::string_view{} : decode(field.substr(equals + 1));
    fields_.push_back({name, value});
  }
  if (wrong) fields_.clear();
  return wrong;
}

std::optional<std::string_view> Form::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

void append_form_encoded(std::string& out, std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t space = text.find(' '); space != std::string_view::npos; space = text.find(' ', begin)) {
    digest::append_percent_encoded(out, text.substr(begin, space - begin));
    out.push_back('+');
    begin = space + 1;
  }
  digest::append_percent_encoded(out, text.substr(begin));
}

void append_form_field(std::string& out, std::string_view name, std::string_view value) {
  if (!out.empty()) out.push_back('&');
  append_form_encoded(out, name);
  out.push_back('=');
  append_form_encoded(out, value);
}

}  // namespace fanfare::wire::http
