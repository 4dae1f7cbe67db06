// What all drivers read out of a step in the same way: names, ARNs, times, numbers, attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/queue/names.h"
#include "core/topic/names.h"
#include "driver.h"

namespace fanfare::scenarios {

inline constexpr std::string_view kHome = "000000000000";  ///< the account of names without one
inline constexpr std::string_view kRegion = "us-east-1";
inline constexpr Timestamp kStart = timestamp_from_unix_ms(1'764'500'000'000);

/// A file that cannot be played says so and ends the program.
[[noreturn]] void wrong(const std::string& what);

/// Ends the program for an option that its verb does not have: a slip would say nothing otherwise. Settings of queues,
/// topics and subscriptions, and identities, are checked where they are read.
void check_options(const Step& step);

std::int64_t seconds_of(const std::string& text);  ///< "30s"
std::int64_t number_of(const std::string& text);

/// "q", "111122223333/q": views into `name`.
queue::QueueKeyView queue_key(std::string_view name);
topic::TopicKeyView topic_key(std::string_view name);
std::string queue_arn(std::string_view name);
std::string topic_arn(std::string_view name);

/// Lets a topic send to a queue: the usual policy.
std::string delivery_policy(const std::string& queue, const std::string& topic);

/// `replay=0s` and `replay=0s..10s`: a replay policy from there, and perhaps to there, in times since the start.
std::string replay_policy_of(const std::string& text);
/// `archive=7`: an archive policy of seven days; `archive=none` ends the archive.
std::string archive_policy_of(const std::string& days);

/// A body with its `size=`, "m" and dots up to that many bytes, and its `char=`, a code point behind it.
std::string body_of(const Step& step, std::size_t word);

/// "m1" of `tag.team=search`: options that begin with `prefix`, without it.
std::vector<std::pair<std::string, std::string>> options_with(const Step& step, std::string_view prefix);

struct TypedValue {
  std::string name;
  std::string type;
  std::string value;
};
/// attr.kind=uploaded, attr.size=Number:5
std::vector<TypedValue> message_attributes_of(const Step& step);

}  // namespace fanfare::scenarios
