#include "core/topic/filter_pattern.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace fanfare::topic {
namespace {

/// "127.0.0.1" with exactly four numbers up to 255.
bool parse_v4(std::string_view text, std::uint8_t* out) {
  for (int i = 0; i < 4; ++i) {
    std::uint8_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc{} || digits > 3) return false;
    text.remove_prefix(digits);
    out[i] = number;
    if (i == 3) return text.empty();
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
  return false;
}

/// [RFC 4291 2.2]: groups of hexadecimal digits, one `::`, an IPv4 address as the last two groups.
bool parse_v6(std::string_view text, std::array<std::uint8_t, 16>& out) {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t filled = 0;
  std::optional<std::size_t> gap;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    if (filled == 16) return false;
    if (filled <= 12 && text.find(':') == std::string_view::npos && text.find('.') != std::string_view::npos) {
      if (!parse_v4(text, bytes.data() + filled)) return false;
      filled += 4;
      break;
    }
    std::uint16_t group = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), group, 16);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc{} || digits > 4) return false;
    text.remove_prefix(digits);
    bytes[filled++] = static_cast<std::uint8_t>(group >> 8);
    bytes[filled++] = static_cast<std::uint8_t>(group & 0xff);
    if (text.empty()) break;
    if (!text.starts_with(':')) return false;
    text.remove_prefix(1);
    if (text.starts_with(':')) {
      if (gap) return false;
      gap = filled;
      text.remove_prefix(1);
    } else if (text.empty()) {
      return false;
    }
  }
  if (!gap) {
    if (filled != 16) return false;
    out = bytes;
    return true;
  }
  if (filled >= 16) return false;
  out = {};
  std::copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*gap), out.begin());
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(*gap), bytes.begin() + static_cast<std::ptrdiff_t>(filled),
            out.end() - static_cast<std::ptrdiff_t>(filled - *gap));
  return true;
}

/// Whether the pieces between stars occur in order; the first and the last at the ends.
bool matches_wildcard(const std::vector<std::string>& literals, std::string_view text) {
  const std::string& first = literals.front();
  if (literals.size() == 1) return text == first;
  const std::string& last = literals.back();
  if (text.size() < first.size() + last.size() || !text.starts_with(first) || !text.ends_with(last)) return false;
  text = text.substr(first.size(), text.size() - first.size() - last.size());
  for (std::size_t i = 1; i + 1 < literals.size(); ++i) {
    const std::size_t at = text.find(literals[i]);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + literals[i].size());
  }
  return true;
}

bool equals_lower_case(std::string_view lower, std::string_view text) {
  return lower.size() == text.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

}  // namespace

std::optional<FilterScalar> FilterScalar::of(const wire::json::Value& value) {
  using JsonKind = wire::json::Kind;
  switch (value.kind()) {
    case JsonKind::Null: return FilterScalar{Kind::Null, {}, 0};
    case JsonKind::Bool: return FilterScalar{*value.as_bool() ? Kind::True : Kind::False, {}, 0};
    case JsonKind::Number:
      return FilterScalar{Kind::Number, {}, value.as_double().value_or(std::numeric_limits<double>::quiet_NaN())};
    case JsonKind::String: return of(*value.as_string());
    case JsonKind::Array:
    case JsonKind::Object: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<IpRange> IpRange::parse_address(std::string_view text) {
  IpRange range;
  if (parse_v4(text, range.address.data())) {
    range.bits = 32;
    return range;
  }
  range.address = {};
  if (!parse_v6(text, range.address)) return std::nullopt;
  range.v6 = true;
  range.bits = 128;
  return range;
}

std::array<std::uint8_t, 16> IpRange::prefix(unsigned count) const {
  std::array<std::uint8_t, 16> kept{};
  for (unsigned i = 0; i < 16 && count > 0; ++i) {
    const unsigned here = std::min(count, 8u);
    kept[i] = static_cast<std::uint8_t>(address[i] & (0xff00u >> here));
    count -= here;
  }
  return kept;
}

bool IpRange::contains(const IpRange& address_of_message) const {
  return v6 == address_of_message.v6 && prefix(bits) == address_of_message.prefix(bits);
}

std::string lower_case(std::string_view text) {
  std::string lower{text};
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

bool FilterPattern::accepts(const FilterScalar& scalar) const {
  using Scalar = FilterScalar::Kind;
  const bool is_string = scalar.kind == Scalar::String;
  switch (kind) {
    case Kind::String: return is_string && scalar.text == text;
    case Kind::Number: return scalar.kind == Scalar::Number && scalar.number == low;
    case Kind::True: return scalar.kind == Scalar::True;
    case Kind::False: return scalar.kind == Scalar::False;
    case Kind::Null: return scalar.kind == Scalar::Null;
    case Kind::Prefix: return is_string && scalar.text.starts_with(text);
    case Kind::Suffix: return is_string && scalar.text.ends_with(text);
    case Kind::EqualsIgnoreCase: return is_string && equals_lower_case(text, scalar.text);
    case Kind::Wildcard: return is_string && matches_wildcard(literals, scalar.text);
    case Kind::Range:
      return scalar.kind == Scalar::Number && (low_open ? scalar.number > low : scalar.number >= low) &&
             (high_open ? scalar.number < high : scalar.number <= high);
    case Kind::Cidr: {
      if (!is_string) return false;
      const auto address = IpRange::parse_address(scalar.text);
      return address && range.contains(*address);
    }
    case Kind::Exists: return true;
    case Kind::Absent: return false;
    case Kind::AnythingBut:
      return std::none_of(excluded.begin(), excluded.end(), [&](const FilterPattern& one) { return one.accepts(scalar); });
  }
  return false;
}

void FilterConjunction::build_tree() {
  nodes.assign(1, {});
  for (std::uint32_t clause = 0; clause < clauses.size(); ++clause) {
    std::string_view path = clauses[clause].path;
    std::uint32_t at = 0;
    for (bool more = true; more;) {
      nodes[at].below.push_back(clause);
      const std::size_t dot = path.find('.');
      const std::string_view key = path.substr(0, dot);
      more = dot != std::string_view::npos;
      if (more) path.remove_prefix(dot + 1);
      const auto& children = nodes[at].children;
      const auto found = std::find_if(children.begin(), children.end(), [&](auto child) { return nodes[child].key == key; });
      if (found != children.end()) {
        at = *found;
      } else {
        const auto fresh = static_cast<std::uint32_t>(nodes.size());
        nodes[at].children.push_back(fresh);
        nodes.push_back({std::string{key}, {}, {}, {}});
        at = fresh;
      }
    }
    nodes[at].below.push_back(clause);
    nodes[at].clauses.push_back(clause);
  }
}

}  // namespace fanfare::topic
