// Character classes of HTTP, as tables.
#pragma once

#include <array>
#include <string_view>

namespace fanfare::wire::http {

using CharacterSet = std::array<bool, 256>;

constexpr CharacterSet make_set(std::string_view others) {
  CharacterSet set{};
  for (int c = '0'; c <= '9'; ++c) set[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) set[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) set[static_cast<std::size_t>(c)] = true;
  for (const char c : others) set[static_cast<unsigned char>(c)] = true;
  return set;
}

/// Methods and field names [RFC 9110 5.6.2].
inline constexpr CharacterSet kTokenCharacters = make_set("!#$%&'*+-.^_`|~");
/// Host and port [RFC 3986 3.2].
inline constexpr CharacterSet kHostCharacters = make_set("-._~%!$&'()*+,;=:[]");

constexpr bool has(const CharacterSet& set, char c) { return set[static_cast<unsigned char>(c)]; }

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace fanfare::wire::http
