#include "policy/literals.h"

#include <charconv>
#include <chrono>
#include <cmath>

namespace fanfare::policy {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Exactly `digits` digits at the front of `text`, cut off.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

/// The zone at the end of a time, in minutes east of UTC.
std::optional<int> take_zone(std::string_view& text) {
  if (text.empty() || take(text, 'Z') || take(text, 'z')) return 0;
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2);
  take(text, ':');
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 60 + *minutes);
}

std::optional<std::int64_t> parse_iso(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = take_digits(text, 4);
  if (!year_number || !take(text, '-')) return std::nullopt;
  const auto month_number = take_digits(text, 2);
  if (!month_number) return std::nullopt;
  int day_number = 1;
  std::int64_t in_day = 0;  // milliseconds
  int zone = 0;
  if (take(text, '-')) {
    const auto given = take_digits(text, 2);
    if (!given) return std::nullopt;
    day_number = *given;
    if (take(text, 'T') || take(text, 't')) {
      const auto hour = take_digits(text, 2);
      if (!hour || !take(text, ':')) return std::nullopt;
      const auto minute = take_digits(text, 2);
      if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
      in_day = (*hour * 60 + *minute) * 60'000;
      if (take(text, ':')) {
        const auto second = take_digits(text, 2);
        if (!second || *second > 60) return std::nullopt;
        in_day += *second * 1000;
        if (take(text, '.')) {
          int scale = 100;
          bool any = false;
          for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), any = true) {
            in_day += (text.front() - '0') * scale;
            scale /= 10;
          }
          if (!any) return std::nullopt;
        }
      }
      const auto given_zone = take_zone(text);
      if (!given_zone) return std::nullopt;
      zone = *given_zone;
    }
  }
  const year_month_day date{year{*year_number}, month{static_cast<unsigned>(*month_number)},
                            day{static_cast<unsigned>(day_number)}};
  if (!text.empty() || !date.ok()) return std::nullopt;
  const std::int64_t days = sys_days{date}.time_since_epoch().count();
  return days * 86'400'000 + in_day - std::int64_t{zone} * 60'000;
}

std::optional<Address> parse_v4(std::string_view text) {
  Address address;
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0 && !take(text, '.')) return std::nullopt;
    int value = 0;
    std::size_t digits = 0;
    for (; digits < 3 && !text.empty() && is_digit(text.front()); ++digits, text.remove_prefix(1))
      value = value * 10 + (text.front() - '0');
    if (digits == 0 || value > 255) return std::nullopt;
    address.bytes[i] = static_cast<std::uint8_t>(value);
  }
  if (!text.empty()) return std::nullopt;
  return address;
}

std::optional<Address> parse_v6(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t filled = 0;
  std::optional<std::size_t> gap;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    if (text.find('.') != std::string_view::npos && text.find(':') == std::string_view::npos) {
      const auto tail = parse_v4(text);
      if (!tail || filled > 12) return std::nullopt;
      for (std::size_t i = 0; i < 4; ++i) bytes[filled++] = tail->bytes[i];
      text = {};
      break;
    }
    std::uint16_t group = 0;
    const std::size_t length = std::min(text.find(':'), text.size());
    if (length == 0 || length > 4 || filled > 14) return std::nullopt;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + length, group, 16);
    if (problem != std::errc{} || end != text.data() + length) return std::nullopt;
    bytes[filled++] = static_cast<std::uint8_t>(group >> 8);
    bytes[filled++] = static_cast<std::uint8_t>(group & 0xff);
    text.remove_prefix(length);
    if (text.empty()) break;
    text.remove_prefix(1);
    if (text.starts_with(':')) {
      if (gap) return std::nullopt;
      gap = filled;
      text.remove_prefix(1);
    } else if (text.empty()) {
      return std::nullopt;
    }
  }
  if (gap ? filled > 14 : filled != 16) return std::nullopt;
  Address address;
  address.v6 = true;
  const std::size_t before = gap.value_or(16);
  for (std::size_t i = 0; i < before && i < filled; ++i) address.bytes[i] = bytes[i];
  for (std::size_t i = before; i < filled; ++i) address.bytes[16 - (filled - i)] = bytes[i];
  return address;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return parse_iso(text);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value > INT64_MAX / 1000) return std::nullopt;
  return value * 1000;
}

std::optional<Address> parse_address(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return parse_v4(text);
  auto address = parse_v6(text);
  if (!address) return std::nullopt;
  bool mapped = address->bytes[10] == 0xff && address->bytes[11] == 0xff;
  for (std::size_t i = 0; i < 10; ++i) mapped = mapped && address->bytes[i] == 0;
  if (!mapped) return address;
  Address v4;
  for (std::size_t i = 0; i < 4; ++i) v4.bytes[i] = address->bytes[12 + i];
  return v4;
}

bool Network::contains(const Address& other) const {
  if (other.v6 != address.v6) return false;
  for (int bit = 0; bit < bits; bit += 8) {
    const auto at = static_cast<std::size_t>(bit / 8);
    const int left = bits - bit;
    const int mask = left >= 8 ? 0xff : (0xff << (8 - left)) & 0xff;
    if (((address.bytes[at] ^ other.bytes[at]) & mask) != 0) return false;
  }
  return true;
}

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view name = text.substr(0, slash);
  const auto address = parse_address(name);
  if (!address) return std::nullopt;
  // A mapped network counts its bits in IPv6.
  const int offset = !address->v6 && name.find(':') != std::string_view::npos ? 96 : 0;
  Network network{*address, address->v6 ? 128 : 32};
  if (slash == std::string_view::npos) return network;
  int bits = 0;
  const std::string_view count = text.substr(slash + 1);
  if (count.empty() || count.size() > 3 || count.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  for (const char c : count) bits = bits * 10 + (c - '0');
  bits -= offset;
  if (bits < 0 || bits > network.bits) return std::nullopt;
  network.bits = bits;
  return network;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  std::size_t padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::uint32_t value = 0;
    if (c == '=' && i + 2 >= text.size()) {
      ++padding;
    } else if (padding != 0) {
      return std::nullopt;
    } else if (c >= 'A' && c <= 'Z') {
      value = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<std::uint32_t>(c - 'a') + 26;
    } else if (is_digit(c)) {
      value = static_cast<std::uint32_t>(c - '0') + 52;
    } else if (c == '+' || c == '/') {
      value = c == '+' ? 62 : 63;
    } else {
      return std::nullopt;
    }
    bits = (bits << 6) | value;
    if (i % 4 == 3) {
      for (std::size_t byte = 0; byte + padding < 3; ++byte)
        out.push_back(static_cast<char>((bits >> (16 - 8 * byte)) & 0xff));
      bits = 0;
    }
  }
  return out;
}

}  // namespace fanfare::policy
