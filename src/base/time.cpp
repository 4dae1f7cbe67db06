#include "base/time.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace fanfare {
namespace {

/// Takes `count` decimal digits off the front of `text`; -1 when they are not there.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> kUnits{{{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

}  // namespace

std::string iso8601(Timestamp t) {
  const auto day = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date{day};
  const std::int64_t ms = (t - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), ms / 3'600'000,
                     ms / 60'000 % 60, ms / 1'000 % 60, ms % 1'000);
}

std::optional<Timestamp> parse_iso8601(std::string_view text) {
  const int year = take_digits(text, 4);
  if (year < 0 || !take(text, '-')) return std::nullopt;
  const int month = take_digits(text, 2);
  if (month < 0 || !take(text, '-')) return std::nullopt;
  const int day = take_digits(text, 2);
  if (day < 0 || !(take(text, 'T') || take(text, 't') || take(text, ' '))) return std::nullopt;
  const int hour = take_digits(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) return std::nullopt;
  const int minute = take_digits(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) return std::nullopt;
  const int second = take_digits(text, 2);
  if (second < 0 || second > 60) return std::nullopt;
  std::int64_t ms = 0;
  if (take(text, '.')) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    if (digits == 0 || digits > 9) return std::nullopt;
    for (std::size_t i = 0; i < 3; ++i) ms = ms * 10 + (i < digits ? text[i] - '0' : 0);
    text.remove_prefix(digits);
  }
  std::int64_t offset_minutes = 0;
  if (!take(text, 'Z') && !take(text, 'z')) {
    const bool plus = take(text, '+');
    if (!plus && !take(text, '-')) return std::nullopt;
    const int offset_hour = take_digits(text, 2);
    if (offset_hour < 0 || offset_hour > 23) return std::nullopt;
    take(text, ':');
    const int offset_minute = take_digits(text, 2);
    if (offset_minute < 0 || offset_minute > 59) return std::nullopt;
    offset_minutes = (plus ? 1 : -1) * (offset_hour * 60 + offset_minute);
  }
  if (!text.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const std::chrono::sys_days days{date};
  return Timestamp{days} + std::chrono::hours{hour} + std::chrono::minutes{minute - offset_minutes} + seconds{second} +
         milliseconds{ms};
}

std::optional<milliseconds> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  std::int64_t previous_unit = INT64_MAX;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    if (digits == 0 || digits > 12) return std::nullopt;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = value * 10 + (text[i] - '0');
    text.remove_prefix(digits);
    std::size_t letters = 0;
    while (letters < text.size() && std::isalpha(static_cast<unsigned char>(text[letters]))) ++letters;
    std::int64_t unit = 0;
    for (const Unit& known : kUnits)
      if (known.name == text.substr(0, letters)) unit = known.ms;
    if (unit == 0 || unit >= previous_unit) return std::nullopt;
    previous_unit = unit;
    text.remove_prefix(letters);
    total += value * unit;
    if (total > INT64_C(100) * 365 * 86'400'000) return std::nullopt;  // a century is a typing error
  }
  return milliseconds{total};
}

std::string format_duration(milliseconds duration) {
  std::int64_t rest = duration.count();
  if (rest == 0) return "0s";
  std::string out;
  for (const Unit& unit : kUnits) {
    if (rest / unit.ms == 0) continue;
    out += fmt::format("{}{}", rest / unit.ms, unit.name);
    rest %= unit.ms;
  }
  return out;
}

}  // namespace fanfare
