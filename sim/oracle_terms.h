// What the oracle's files share: the documented constants, and what a message weighs.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "sim/call.h"
#include "sim/oracle.h"
#include "sim/protocol.h"

namespace fanfare::sim {

inline constexpr seconds kDedupWindow{300};  // [SQS exactly-once processing]
inline constexpr seconds kNameReserved{60};  // [SQS DeleteQueue]; and from one purge to the next [SQS PurgeQueue]

/// What an envelope wraps; nullopt if it is none.
struct Envelope {
  std::string message;
  std::string id;
  std::string topic;
  std::string type;
  std::string sequence;
};
std::optional<Envelope> unwrap(std::string_view body);

inline std::string time_text(Timestamp at) { return fmt::format("{}", unix_ms(at) % 100'000'000); }

inline bool says(const Answer& answer, std::string_view code) { return answer.code.find(code) != std::string::npos; }

/// As the limits of queues count it.
inline std::int64_t counted_bytes(const Entry& entry) {
  const auto attribute = [](std::string_view name, std::string_view value) { return static_cast<std::int64_t>(name.size() + 6 + value.size()); };
  std::int64_t bytes = static_cast<std::int64_t>(body_of(entry.token, entry.body_bytes).size());
  if (entry.attribute) bytes += attribute(kAttributeName, entry.token);
  if (!entry.kind.empty()) bytes += attribute(kKindName, entry.kind);
  return bytes;
}

}  // namespace fanfare::sim
