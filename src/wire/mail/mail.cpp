#include "wire/mail/mail.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "wire/digest/encoding.h"

namespace fanfare::wire::mail {
namespace {

constexpr std::size_t kAddressMax = 254;  // [RFC 5321 4.5.3.1.3] less the angle brackets
constexpr std::size_t kLocalPartMax = 64;
constexpr std::size_t kDomainMax = 253;
constexpr std::size_t kLabelMax = 63;
constexpr std::size_t kEncodedLineMax = 76;  // [RFC 2045 6.7], without CRLF
/// Bytes that one encoded word holds: it and the field's name stay within 76 characters.
constexpr std::size_t kWordBytes = 36;

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool is_atom_character(char c) { return is_alphanumeric(c) || std::string_view{"!#$%&'*+-/=?^_`{|}~"}.find(c) != std::string_view::npos; }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }

/// Parts between dots, none empty.
template <class Accepts>
bool is_dotted(std::string_view text, std::size_t part_max, Accepts accepts) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty() || part.size() > part_max || !accepts(part)) return false;
    if (end == text.size()) return true;
    begin = end + 1;
  }
}

/// Control characters as spaces.
std::string on_one_line(std::string_view text) {
  std::string line{text};
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  return line;
}

bool needs_encoding(std::string_view line) {
  return !std::all_of(line.begin(), line.end(), is_printable) || line.find("=?") != std::string_view::npos;
}

/// [RFC 2047]: words of whole characters, folded.
void append_encoded_words(std::string& out, std::string_view line) {
  for (bool first = true; !line.empty(); first = false) {
    std::size_t size = std::min(line.size(), kWordBytes);
    if (size < line.size()) {
      std::size_t whole = size;
      while (whole > 0 && (static_cast<unsigned char>(line[whole]) & 0xc0) == 0x80) --whole;
      if (whole > size - 4) size = whole;  // else it is no UTF-8: cut anywhere
    }
    out += first ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?";
    digest::append_base64(out, line.substr(0, size));
    out += "?=";
    line.remove_prefix(size);
  }
}

void append_text(std::string& out, std::string_view text) {
  const std::string line = on_one_line(text);
  if (needs_encoding(line)) append_encoded_words(out, line);
  else out += line;
}

void append_phrase(std::string& out, std::string_view text) {
  const std::string line = on_one_line(text);
  if (needs_encoding(line)) return append_encoded_words(out, line);
  out += '"';
  for (const char c : line) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_quoted_printable(std::string& out, std::string_view body) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::size_t column = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    const bool crlf = c == '\r' && i + 1 < body.size() && body[i + 1] == '\n';
    if (c == '\n' || crlf) {
      if (crlf) ++i;
      out += "\r\n";
      column = 0;
      continue;
    }
    const bool at_end = i + 1 == body.size() || body[i + 1] == '\n' || (body[i + 1] == '\r' && i + 2 < body.size() && body[i + 2] == '\n');
    const bool as_is = (is_printable(c) && c != '=' && (c != ' ' || !at_end)) || (c == '\t' && !at_end);
    const std::size_t width = as_is ? 1 : 3;
    // The last column is for the soft line break.
    if (column + width > kEncodedLineMax - 1) {
      out += "=\r\n";
      column = 0;
    }
    if (as_is) {
      out += c;
    } else {
      out += '=';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
    column += width;
  }
  if (column > 0) out += "\r\n";
}

/// Text in base64 has its line ends as CRLF [RFC 2046 4.1.1].
std::string with_crlf(std::string_view body) {
  std::string text;
  text.reserve(body.size() + body.size() / 32);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '\n' && (i == 0 || body[i - 1] != '\r')) text += '\r';
    text += body[i];
  }
  return text;
}

void append_base64_lines(std::string& out, std::string_view body) {
  constexpr std::size_t kBytesALine = kEncodedLineMax / 4 * 3;
  const std::string text = with_crlf(body);
  for (std::size_t at = 0; at < text.size(); at += kBytesALine) {
    digest::append_base64(out, std::string_view{text}.substr(at, kBytesALine));
    out += "\r\n";
  }
}

/// Whether base64 is the shorter one: three bytes become four, here one byte in three. Line ends do not count.
bool is_mostly_text(std::string_view body) {
  const auto plain = static_cast<std::size_t>(std::count_if(body.begin(), body.end(), [](char c) { return is_printable(c) || c == '\n' || c == '\r' || c == '\t'; }));
  return (body.size() - plain) * 6 <= body.size();
}

}  // namespace

bool is_address(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || text.size() > kAddressMax) return false;
  const std::string_view local = text.substr(0, at);
  const std::string_view domain = text.substr(at + 1);
  return local.size() <= kLocalPartMax && domain.size() <= kDomainMax &&
         is_dotted(local, kLocalPartMax, [](std::string_view part) { return std::all_of(part.begin(), part.end(), is_atom_character); }) &&
         is_dotted(domain, kLabelMax, [](std::string_view label) {
           return label.front() != '-' && label.back() != '-' &&
                  std::all_of(label.begin(), label.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
         });
}

std::string date_time(Timestamp at) {
  constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{std::chrono::floor<seconds>(at - day)};
  const auto two = [](auto number) {
    std::string text = std::to_string(number);
    return text.size() < 2 ? "0" + text : text;
  };
  std::string out{kDays[std::chrono::weekday{day}.c_encoding()]};
  out += ", " + std::to_string(static_cast<unsigned>(date.day())) + " ";
  out += kMonths[static_cast<unsigned>(date.month()) - 1];
  out += " " + std::to_string(static_cast<int>(date.year())) + " ";
  out += two(time.hours().count()) + ":" + two(time.minutes().count()) + ":" + two(time.seconds().count()) + " +0000";
  return out;
}

void append_message(const Message& message, std::string& out) {
  out += "Date: " + date_time(message.date) + "\r\nFrom: ";
  if (!message.from_name.empty()) {
    append_phrase(out, message.from_name);
    out += ' ';
  }
  out += '<' + on_one_line(message.from) + ">\r\nTo: <" + on_one_line(message.to) + ">\r\nSubject: ";
  append_text(out, message.subject);
  out += "\r\nMessage-ID: <" + on_one_line(message.id) + '@' + on_one_line(message.from.substr(message.from.rfind('@') + 1)) + ">\r\n";
  for (const Field& field : message.fields) {
    out += field.name;
    out += ": ";
    append_text(out, field.value);
    out += "\r\n";
  }
  const bool quoted = is_mostly_text(message.body);
  out += "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: ";
  out += quoted ? "quoted-printable\r\n\r\n" : "base64\r\n\r\n";
  if (quoted) append_quoted_printable(out, message.body);
  else append_base64_lines(out, message.body);
}

}  // namespace fanfare::wire::mail
