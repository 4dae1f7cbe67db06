// The two kinds of time. Mixing them does not compile.
// Cores hold no clock: `now` is a parameter, and `next_deadline()` is their only wish.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace fanfare {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Wall time, for everything durable or on the wire; the clock that makes it never runs back.
using Timestamp = std::chrono::sys_time<milliseconds>;

/// Steady time, for limits inside the process (transport time-outs).
using Instant = std::chrono::steady_clock::time_point;

/// Milliseconds since 1970-01-01T00:00:00Z.
constexpr std::int64_t unix_ms(Timestamp t) { return t.time_since_epoch().count(); }
constexpr Timestamp timestamp_from_unix_ms(std::int64_t ms) { return Timestamp{milliseconds{ms}}; }

/// "2026-11-30T10:59:45.123Z" [RFC 3339].
std::string iso8601(Timestamp t);

/// Reads what iso8601 writes, with or without the fraction (1 to 9 digits; beyond milliseconds cut off) and with
/// `Z` or an offset such as `+02:00`. Nullopt for anything else.
std::optional<Timestamp> parse_iso8601(std::string_view text);

/// A duration as configuration writes it: `250ms`, `35s`, `1h30m`, `14d`, `0s`. Nullopt for anything else.
std::optional<milliseconds> parse_duration(std::string_view text);

/// The shortest form that parse_duration reads back: `1h30m`.
std::string format_duration(milliseconds duration);

}  // namespace fanfare
