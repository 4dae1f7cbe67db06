#include "wire/aws_shape/text.h"

#include <cstring>

namespace fanfare::wire::aws {
namespace {

constexpr bool is_allowed(std::uint32_t c) {
  return c >= 0x20 ? c != 0xFFFE && c != 0xFFFF : c == 0x9 || c == 0xA || c == 0xD;
}

/// Eight bytes that are all printable ASCII (or DEL). May say no wrongly, never yes.
bool eight_printable(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  constexpr std::uint64_t high = 0x8080808080808080ULL;
  return ((word | (word - 0x2020202020202020ULL)) & high) == 0;
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (first >= 0xC2 && first <= 0xDF && left >= 2 && follows(1)) return {(first & 0x1F) << 6 | (byte(1) & 0x3Fu), 2};
  if ((first & 0xF0) == 0xE0 && left >= 3 && follows(1) && follows(2)) {
    const std::uint32_t c = (first & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    if (c >= 0x800 && (c < 0xD800 || c > 0xDFFF)) return {c, 3};
  }
  if (first >= 0xF0 && first <= 0xF4 && left >= 4 && follows(1) && follows(2) && follows(3)) {
    const std::uint32_t c = (first & 0x07) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    if (c >= 0x10000 && c <= 0x10FFFF) return {c, 4};
  }
  return {0, 0};
}

TextClass classify(std::string_view text) {
  auto found = TextClass::Plain;
  std::size_t at = 0;
  while (at < text.size()) {
    while (text.size() - at >= 8 && eight_printable(text.data() + at)) at += 8;
    if (at == text.size()) break;
    const Character c = character_at(text, at);
    if (c.bytes == 0) return TextClass::NotUtf8;
    if (!is_allowed(c.code_point)) found = TextClass::Forbidden;
    at += c.bytes;
  }
  return found;
}

}  // namespace fanfare::wire::aws
