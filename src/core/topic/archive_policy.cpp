#include "core/topic/archive_policy.h"

#include <fmt/format.h>

#include <charconv>

#include "wire/json/value.h"

namespace fanfare::topic {
namespace {

std::optional<std::int64_t> whole_number(const wire::json::Value& value) {
  if (value.is_number()) return value.as_int64();
  const auto text = value.as_string();
  if (!text || text->empty() || text->size() > 9) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

std::string unknown(std::string_view policy, std::string_view key) {
  return fmt::format("{}: invalid JSON. Attribute {} is unknown.", policy, key.substr(0, 128));
}

}  // namespace

Result<ArchivePolicy, std::string> ArchivePolicy::parse(std::string_view json) {
  if (json.empty()) return ArchivePolicy{};
  const auto document = wire::json::parse(json);
  if (!document || !document->is_object()) return std::string{"ArchivePolicy: failed to parse JSON."};
  ArchivePolicy policy;
  for (const auto& [key, value] : document->members()) {
    if (key != "MessageRetentionPeriod") return unknown("ArchivePolicy", key);
    const auto days = whole_number(value);
    if (!days || *days < 1 || *days > kDaysMax)
      return fmt::format("ArchivePolicy: MessageRetentionPeriod must be a whole number of days from 1 to {}.", kDaysMax);
    policy.days = *days;
  }
  return policy;
}

bool ReplayPolicy::is_none(std::string_view json) {
  if (json.empty()) return true;
  const auto document = wire::json::parse(json);
  return document && document->is_object() && document->size() == 0;
}

Result<ReplayPolicy, std::string> ReplayPolicy::parse(std::string_view json) {
  const auto document = wire::json::parse(json);
  if (!document || !document->is_object()) return std::string{"ReplayPolicy: failed to parse JSON."};
  ReplayPolicy policy;
  bool typed = false;
  bool started = false;
  for (const auto& [key, value] : document->members()) {
    if (key == "PointType") {
      if (value.as_string() != "Timestamp") return std::string{"ReplayPolicy: PointType must be Timestamp."};
      typed = true;
    } else if (key == "StartingPoint" || key == "EndingPoint") {
      const auto text = value.as_string();
      const auto point = text ? parse_iso8601(*text) : std::nullopt;
      if (!point || unix_ms(*point) < 0)
        return fmt::format("ReplayPolicy: {} must be a time such as 2023-01-29T22:22:47.111Z.", key);
      if (key == "StartingPoint") {
        policy.start = *point;
        started = true;
      } else {
        policy.end = *point;
      }
    } else {
      return unknown("ReplayPolicy", key);
    }
  }
  if (!typed) return std::string{"ReplayPolicy: PointType is missing."};
  if (!started) return std::string{"ReplayPolicy: StartingPoint is missing."};
  if (policy.end && *policy.end < policy.start) return std::string{"ReplayPolicy: EndingPoint must not be before StartingPoint."};
  return policy;
}

}  // namespace fanfare::topic
