#include "api/aws/message_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/aws_shape/text.h"
#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"

namespace fanfare::api::aws {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_attribute_type(std::string_view type) {
  for (const std::string_view known :
       {std::string_view("String"), std::string_view("Number"), std::string_view("Binary")}) {
    if (type == known) return true;
    if (type.size() > known.size() + 1 && type.starts_with(known) && type[known.size()] == '.') return true;
  }
  return false;
}

bool is_attribute_number(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  int significant = 0;  // digits from the first that is not zero to the last that is not zero
  int zeros = 0;        // digits since then
  int magnitude = 0;    // decimal exponent of the first significant digit, without the exponent part
  bool any = false;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (significant == 0) {
      if (point) --magnitude;
      significant = text[i] == '0' ? 0 : 1;
      continue;
    }
    if (!point) ++magnitude;
    ++zeros;
    if (text[i] != '0') {
      significant += zeros;
      zeros = 0;
    }
  }
  if (!any || text.size() > 1024) return false;
  int exponent = 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    bool negative = false;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) negative = text[i++] == '-';
    if (i == text.size()) return false;
    for (; i < text.size() && is_digit(text[i]); ++i) exponent = std::min(exponent * 10 + (text[i] - '0'), 100'000);
    if (negative) exponent = -exponent;
  }
  if (i != text.size()) return false;
  if (significant == 0) return true;
  const int power = magnitude + exponent;
  return significant <= 38 && power >= -128 && power <= 126;
}

std::optional<std::string> attribute_name_fault(std::string_view name) {
  if (name.empty()) return "The message attribute name must not be empty.";
  if (name.size() > 256) return "Length of message attribute name must be less than 256 bytes.";
  if (name.front() == '.') return "Invalid message attribute name starting with character '.' was found.";
  if (name.back() == '.') return "Invalid message attribute name ending with character '.' was found.";
  if (name.find("..") != std::string_view::npos) return "Message attribute name can not have successive '.' character.";
  for (const char c : name) {
    const bool allowed =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_' || c == '.';
    if (!allowed) {
      return fmt::format(
          "Invalid non-alphanumeric character '#x{:X}' was found in the message attribute name. Can only include "
          "alphanumeric characters, hyphens, underscores, or dots.",
          static_cast<unsigned char>(c));
    }
  }
  return std::nullopt;
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::optional<std::string> forbidden_character(std::string_view text) {
  if (wire::aws::classify(text) == wire::aws::TextClass::Plain) return std::nullopt;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = wire::aws::character_at(text, at);
    if (c.bytes == 0 || wire::aws::classify(text.substr(at, c.bytes)) != wire::aws::TextClass::Plain) {
      return fmt::format("#x{:X}", c.bytes == 0 ? static_cast<unsigned char>(text[at]) : c.code_point);
    }
    at += c.bytes;
  }
  return std::nullopt;
}

std::string_view content_deduplication_id(std::string_view body, wire::aws::Arena& arena) {
  const auto digits = wire::digest::hex_array(wire::digest::sha256(body));
  return arena.copy({digits.data(), digits.size()});
}

}  // namespace fanfare::api::aws
