#include "core/live/match.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace fanfare::live {
namespace {

// Whole numbers and others have keys of their own form, so that 1, 1.0 and 10e-1 are one key and no two numbers share
// one.
std::string integer_key(std::int64_t value) { return "i" + std::to_string(value); }

std::string number_key(double value) {
  // Both bounds are exact doubles; 2^63 itself is outside.
  if (value >= -0x1p63 && value < 0x1p63 && std::trunc(value) == value)
    return integer_key(static_cast<std::int64_t>(value));
  return "d" + std::to_string(std::bit_cast<std::uint64_t>(value));
}

}  // namespace

MatchValue MatchValue::number(std::int64_t value) { return {MatchKind::Number, integer_key(value)}; }
MatchValue MatchValue::number(double value) { return {MatchKind::Number, number_key(value)}; }

std::optional<std::string> Scalar::key_as(MatchKind kind) const {
  switch (kind) {
    case MatchKind::Text:
      if (type == Type::String || type == Type::Integer) return text;
      return std::nullopt;
    case MatchKind::Boolean:
      if (type == Type::Boolean) return std::string{text == "true" ? "t" : "f"};
      return std::nullopt;
    case MatchKind::Number: {
      const char* const end = text.data() + text.size();
      if (type == Type::Integer) {
        std::int64_t whole = 0;
        if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc{} && read.ptr == end)
          return integer_key(whole);
      }
      if (type == Type::Integer || type == Type::Real) {
        double real = 0;
        if (const auto read = std::from_chars(text.data(), end, real); read.ec == std::errc{} && read.ptr == end)
          return number_key(real);
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace fanfare::live
