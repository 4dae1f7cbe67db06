// What a FIFO topic archives, and what of its archive a subscription wants again. [SNS message archiving and replay]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace fanfare::topic {

/// {"MessageRetentionPeriod":"30"}: days, 1 to 365, as a text or a number. "{}" and "" archive nothing.
struct ArchivePolicy {
  static constexpr std::int64_t kDaysMax = 365;
  std::int64_t days = 0;  ///< 0: nothing is archived

  [[nodiscard]] milliseconds retention() const { return std::chrono::hours{24 * days}; }
  /// The error is a sentence for the caller: "ArchivePolicy: failed to parse JSON."
  static Result<ArchivePolicy, std::string> parse(std::string_view json);
  friend bool operator==(const ArchivePolicy&, const ArchivePolicy&) = default;
};

/// {"PointType":"Timestamp","StartingPoint":"2023-01-29T22:22:47.111Z","EndingPoint":"2023-01-30T00:00:00.000Z"}
struct ReplayPolicy {
  Timestamp start{};             ///< of what was published at this time or later
  std::optional<Timestamp> end;  ///< and not after this; nullopt: up to now, and what is new from then on

  /// The error is a sentence for the caller: "ReplayPolicy: StartingPoint is missing."
  static Result<ReplayPolicy, std::string> parse(std::string_view json);
  /// Whether this text takes a policy away: "" and any empty object.
  static bool is_none(std::string_view json);
  friend bool operator==(const ReplayPolicy&, const ReplayPolicy&) = default;
};

}  // namespace fanfare::topic
