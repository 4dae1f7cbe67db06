#include "base/ids.h"

#include <cstring>

namespace fanfare {
namespace {

constexpr char kHex[] = "0123456789abcdef";

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Uuid Uuid::from_random(std::array<std::uint8_t, 16> random) {
  random[6] = static_cast<std::uint8_t>((random[6] & 0x0f) | 0x40);
  random[8] = static_cast<std::uint8_t>((random[8] & 0x3f) | 0x80);
  return Uuid{random};
}

Uuid Uuid::derived(std::uint64_t salt) const {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::memcpy(&high, bytes.data(), 8);
  std::memcpy(&low, bytes.data() + 8, 8);
  const std::uint64_t first = mix(high + 0x9e3779b97f4a7c15ULL * (salt + 1));
  const std::uint64_t second = mix(low ^ mix(first ^ salt));
  std::array<std::uint8_t, 16> out{};
  std::memcpy(out.data(), &first, 8);
  std::memcpy(out.data() + 8, &second, 8);
  return from_random(out);
}

void Uuid::append_to(std::string& out) const {
  char text[36];
  std::size_t at = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    text[at++] = kHex[bytes[i] >> 4];
    text[at++] = kHex[bytes[i] & 0x0f];
  }
  out.append(text, sizeof text);
}

std::string Uuid::str() const {
  std::string out;
  append_to(out);
  return out;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid id;
  std::size_t byte = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i++] != '-') return std::nullopt;
      continue;
    }
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.bytes[byte++] = static_cast<std::uint8_t>(high << 4 | low);
    i += 2;
  }
  return id;
}

}  // namespace fanfare
