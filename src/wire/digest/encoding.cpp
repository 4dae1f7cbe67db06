// Hex, base64 and percent-encoding, by tables.
#include "wire/digest/encoding.h"

#include <array>
#include <cstdint>

namespace fanfare::wire::digest {

// ---- hex ----

void append_hex(std::string& out, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto begin = out.size();
  out.resize(begin + 2 * bytes.size());
  char* at = out.data() + begin;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    *at++ = kDigits[byte >> 4];
    *at++ = kDigits[byte & 15];
  }
}

std::string hex(std::string_view bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

std::optional<std::string> decode_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

// ---- base64 ----

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> reverse(std::string_view alphabet) {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}

constexpr auto kValues = reverse(kAlphabet);
constexpr auto kUrlValues = reverse(kUrlAlphabet);

constexpr bool is_url(Base64 form) { return form == Base64::UrlPadded || form == Base64::UrlUnpadded; }
constexpr bool is_padded(Base64 form) { return form == Base64::Padded || form == Base64::UrlPadded; }

}  // namespace

void append_base64(std::string& out, std::string_view bytes, Base64 form) {
  const auto& alphabet = is_url(form) ? kUrlAlphabet : kAlphabet;
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const auto group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const char text[] = {alphabet[group >> 18], alphabet[group >> 12 & 63], alphabet[group >> 6 & 63],
                         alphabet[group & 63]};
    out.append(text, 4);
  }
  const auto left = bytes.size() - i;
  if (left == 0) return;
  const auto group = byte(i) << 16 | (left == 2 ? byte(i + 1) << 8 : 0);
  out.push_back(alphabet[group >> 18]);
  out.push_back(alphabet[group >> 12 & 63]);
  if (left == 2) out.push_back(alphabet[group >> 6 & 63]);
  if (is_padded(form)) out.append(left == 2 ? "=" : "==");
}

std::string base64(std::string_view bytes, Base64 form) {
  std::string out;
  append_base64(out, bytes, form);
  return out;
}

std::optional<std::string> decode_base64(std::string_view text, Base64 form) {
  if (is_padded(form)) {
    if (text.size() % 4 != 0) return std::nullopt;
    if (text.ends_with("==")) {
      text.remove_suffix(2);
    } else if (text.ends_with('=')) {
      text.remove_suffix(1);
    }
    // What is left must be of the length that this padding belongs to: "AAA==" or "A===" are not.
    if (text.ends_with('=')) return std::nullopt;
  }
  if (text.size() % 4 == 1) return std::nullopt;
  const auto& values = is_url(form) ? kUrlValues : kValues;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>(group >> bits & 0xff));
    }
  }
  if ((group & ((1u << bits) - 1)) != 0) return std::nullopt;
  return out;
}

// ---- percent ----

namespace {

constexpr std::array<bool, 256> make_unreserved() {
  std::array<bool, 256> set{};
  for (const char c : std::string_view{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"})
    set[static_cast<unsigned char>(c)] = true;
  return set;
}
constexpr auto kUnreserved = make_unreserved();

template <bool kKeepSlash>
void append_encoded(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (kUnreserved[byte] || (kKeepSlash && byte == '/')) continue;
    out.append(text, copied, i - copied);
    const char escape[] = {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    out.append(escape, sizeof escape);
    copied = i + 1;
  }
  out.append(text, copied, text.size() - copied);
}

}  // namespace

void append_percent_encoded(std::string& out, std::string_view text) { append_encoded<false>(out, text); }
void append_percent_encoded_path(std::string& out, std::string_view path) { append_encoded<true>(out, path); }

std::string percent_encode(std::string_view text) {
  std::string out;
  append_percent_encoded(out, text);
  return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

}  // namespace fanfare::wire::digest
