// Checks of what callers send, before it becomes an Intent: lengths in bytes, counts, characters.
// Rule: a fault names the member, what is wrong with it and what is accepted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/inbox/notification.h"

namespace fanfare::inbox {

enum class InputFault : std::uint8_t {
  Missing,       ///< A required member is absent, null or empty.
  WrongType,     ///< Another JSON type, or a text that is no time where one is wanted.
  TooLong,       ///< More bytes than the limit.
  BadCharacter,  ///< A control character in an identifier.
  TooMany,       ///< More entries than the limit; HTTP 413.
  /// Two members that exclude each other: `recipient` and `recipients`, or expires_at before created_at.
  Contradiction,
  NotJson,  ///< The text as a whole is no JSON, or no object.
};

struct InputError {
  InputFault fault;
  std::string detail;  ///< "recipient: 300 bytes, at most 255 are accepted"
};

/// Nullopt if `value` is a good identifier: 1 to `bytes_max` bytes without control characters.
std::optional<InputError> check_identifier(std::string_view member, std::string_view value, std::size_t bytes_max);

/// Sorts and uniquifies the recipients and checks every limit of types.h.
Result<Intent, InputError> checked(Intent intent);

}  // namespace fanfare::inbox
