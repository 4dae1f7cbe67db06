// What an option's value may be, with a message that says what is accepted: `--threads: '0' is out of range; accepted are 1 to 256`.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace fanfare::cli {

/// A whole number, in digits.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// A number above 0, with or without a fraction.
CLI::Validator positive_number();
/// The 12 digits of an account.
CLI::Validator account_digits();
/// `us-east-1`: 1 to 64 letters, digits and hyphens.
CLI::Validator region_name();

/// Anything but an empty text, which a variable that is not set gives: it must not stand for an option that was left out.
CLI::Validator not_empty();

}  // namespace fanfare::cli
