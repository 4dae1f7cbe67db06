// Assertions: on in every build. A failed one is a fault of ours: it prints what was expected and aborts;
// recovery is restart and replay of the journal. Bad input is never a reason for an assertion.
#pragma once

#include <string_view>

namespace fanfare {

/// Prints `file:line: assertion failed: expression (detail)` on standard error and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line,
                                   std::string_view detail = {}) noexcept;

}  // namespace fanfare

/// FANFARE_ASSERT(held.size() <= limit) or FANFARE_ASSERT(found, fmt::format("queue {}", name)).
/// The detail is evaluated only when the assertion fails.
#define FANFARE_ASSERT(condition, ...)  \
  (static_cast<bool>(condition)         \
       ? static_cast<void>(0)           \
       : ::fanfare::assertion_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__))
