#include "cli/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace fanfare::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }

/// `problem` gives an empty text for what is accepted.
template <class Problem>
CLI::Validator validator(Problem problem) {
  return CLI::Validator{[problem](std::string& value) -> std::string { return problem(value); }, ""};
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return validator([least, most](const std::string& value) -> std::string {
    const std::string accepted = most == UINT64_MAX ? fmt::format("accepted are whole numbers from {} on", least)
                                                    : fmt::format("accepted are whole numbers from {} to {}", least, most);
    std::uint64_t number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = !value.empty() && std::ranges::all_of(value, is_digit);
    if (!whole) return fmt::format("'{}' is no whole number; {}", value, accepted);
    if (read.ec != std::errc{} || number < least || number > most) return fmt::format("{} is out of range; {}", value, accepted);
    return {};
  });
}

CLI::Validator positive_number() {
  return validator([](const std::string& value) -> std::string {
    double number = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
    if (read.ec == std::errc{} && read.ptr == value.data() + value.size() && std::isfinite(number) && number > 0) return {};
    return fmt::format("'{}' is out of range; accepted are numbers above 0, such as 20000 or 0.5", value);
  });
}

CLI::Validator account_digits() {
  return validator([](const std::string& value) -> std::string {
    if (value.size() == 12 && std::ranges::all_of(value, is_digit)) return {};
    return fmt::format("'{}' is no account; accepted are 12 digits", value);
  });
}

CLI::Validator region_name() {
  return validator([](const std::string& value) -> std::string {
    if (!value.empty() && value.size() <= 64 && std::ranges::all_of(value, is_word)) return {};
    return fmt::format("'{}' is no region; accepted are 1 to 64 letters, digits and hyphens, such as us-east-1", value);
  });
}

CLI::Validator not_empty() {
  return validator([](const std::string& value) -> std::string {
    return value.empty() ? "'' is no value; write one, or leave the option out" : "";
  });
}

}  // namespace fanfare::cli
