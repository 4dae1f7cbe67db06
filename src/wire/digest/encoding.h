// Bytes as text: hex, base64, percent-encoding. Decoding is strict and never throws; encoding appends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fanfare::wire::digest {

/// Lower-case: `e3b0c442`.
void append_hex(std::string& out, std::string_view bytes);
std::string hex(std::string_view bytes);
/// The same for a digest, without allocation: `std::string_view{text.data(), text.size()}`.
template <std::size_t N>
constexpr std::array<char, 2 * N> hex_array(const std::array<std::uint8_t, N>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<char, 2 * N> text{};
  for (std::size_t i = 0; i < N; ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4];
    text[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return text;
}
/// Reads both cases; nullopt for an odd length or another character.
std::optional<std::string> decode_hex(std::string_view text);

enum class Base64 {
  Padded,       ///< `+/` with `=` [RFC 4648 4]
  Unpadded,     ///< `+/` without
  UrlPadded,    ///< `-_` with `=` [RFC 4648 5]
  UrlUnpadded,  ///< `-_` without, as JWT writes it
};

void append_base64(std::string& out, std::string_view bytes, Base64 form = Base64::Padded);
std::string base64(std::string_view bytes, Base64 form = Base64::Padded);
/// Exactly what append_base64 writes in this form: nullopt for other characters, white space, missing or extra padding,
/// or bits behind the end that are not zero.
std::optional<std::string> decode_base64(std::string_view text, Base64 form = Base64::Padded);

/// Leaves `A-Z a-z 0-9 - . _ ~`, everything else becomes %XX in upper case, as AWS wants it [RFC 3986 2.3].
void append_percent_encoded(std::string& out, std::string_view text);
/// As above and leaves `/`, for paths.
void append_percent_encoded_path(std::string& out, std::string_view path);
std::string percent_encode(std::string_view text);
/// Nullopt if a `%` is not followed by two hex digits. `+` stays.
std::optional<std::string> percent_decode(std::string_view text);

/// Value of a hex digit of either case, -1 for another character.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace fanfare::wire::digest
