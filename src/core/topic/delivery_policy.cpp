#include "core/topic/delivery_policy.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::topic {
namespace json = wire::json;
namespace {

constexpr std::array<std::string_view, 4> kBackoffs = {"linear", "arithmetic", "geometric", "exponential"};
constexpr std::int64_t kDelayMax = 3'600;
constexpr std::int64_t kTotalMax = 3'600;
constexpr std::string_view kDefaultContentType = "text/plain; charset=UTF-8";

/// Where between 0 and 1 the delay number `i` (from 0) of `n` lies between the smallest and the largest.
double progress(BackoffFunction function, std::int64_t i, std::int64_t n, double low, double high) {
  if (n <= 1) return 0;
  const double x = static_cast<double>(i) / static_cast<double>(n - 1);
  switch (function) {
    case BackoffFunction::Linear: return x;
    // Steps that grow by the same amount: 1, 2, 3, ..
    case BackoffFunction::Arithmetic: return static_cast<double>(i * (i + 1)) / static_cast<double>((n - 1) * n);
    // Delays that grow by the same factor.
    case BackoffFunction::Geometric: return high > low ? (low * std::pow(high / low, x) - low) / (high - low) : 0;
    // Steps that double.
    case BackoffFunction::Exponential:
      return std::expm1(static_cast<double>(i) * std::log(2.0)) / std::expm1(static_cast<double>(n - 1) * std::log(2.0));
  }
  return x;
}

class Reader {
 public:
  std::optional<std::string> error;

  void retry(const json::Value* object, std::string_view name, RetryPolicy& policy) {
    if (!is_object(object, name)) return;
    const auto number = [&](std::string_view member, std::int64_t min, std::int64_t max, std::int64_t& to) {
      const json::Value* value = object->find(member);
      if (value == nullptr || value->is_null()) return;
      const auto given = value->as_int64();
      if (!given) return fail(fmt::format("{}.{} must be a whole number", name, member));
      if (*given < min) return fail(fmt::format("{}.{} must be greater than or equal to {}", name, member, min));
      if (*given > max) return fail(fmt::format("{}.{} must be less than or equal to {}", name, member, max));
      to = *given;
    };
    number("minDelayTarget", 1, kDelayMax, policy.min_delay_s);
    // Only one of the two given: the other follows it rather than contradict it.
    if (object->find("maxDelayTarget") == nullptr) policy.max_delay_s = std::max(policy.max_delay_s, policy.min_delay_s);
    number("maxDelayTarget", 1, kDelayMax, policy.max_delay_s);
    if (object->find("minDelayTarget") == nullptr) policy.min_delay_s = std::min(policy.max_delay_s, policy.min_delay_s);
    number("numRetries", 0, 100, policy.retries);
    number("numNoDelayRetries", 0, 100, policy.no_delay_retries);
    number("numMinDelayRetries", 0, 100, policy.min_delay_retries);
    number("numMaxDelayRetries", 0, 100, policy.max_delay_retries);
    if (const json::Value* value = object->find("backoffFunction"); value != nullptr && !value->is_null()) {
      const auto text = value->as_string().value_or("");
      bool known = false;
      for (std::size_t i = 0; i < kBackoffs.size(); ++i) {
        if (text != kBackoffs[i]) continue;
        policy.backoff = static_cast<BackoffFunction>(i);
        known = true;
      }
      if (!known) fail(fmt::format("{}.backoffFunction must be one of linear, arithmetic, geometric, exponential", name));
    }
    if (error) return;
    if (policy.min_delay_s > policy.max_delay_s)
      return fail(fmt::format("{0}.minDelayTarget must be less than or equal to {0}.maxDelayTarget", name));
    if (policy.no_delay_retries + policy.min_delay_retries + policy.max_delay_retries > policy.retries)
      return fail(fmt::format("{}.numRetries must be at least the sum of the retries of its phases", name));
    milliseconds total{0};
    for (std::int64_t i = 1; i <= policy.retries; ++i) total += *delay_before_retry(policy, i);
    if (total > seconds{kTotalMax}) fail(fmt::format("{} takes longer than {} seconds in all", name, kTotalMax));
  }

  void throttle(const json::Value* object, std::string_view name, std::optional<std::int64_t>& to) {
    if (!is_object(object, name)) return;
    const json::Value* value = object->find("maxReceivesPerSecond");
    if (value == nullptr || value->is_null()) return;
    const auto given = value->as_int64();
    if (!given || *given < 1) return fail(fmt::format("{}.maxReceivesPerSecond must be greater than or equal to 1", name));
    to = *given;
  }

  void request(const json::Value* object, std::string_view name, std::string& to) {
    if (!is_object(object, name)) return;
    const json::Value* value = object->find("headerContentType");
    if (value == nullptr || value->is_null()) return;
    const auto given = value->as_string();
    const bool plain = given && given->size() <= 256 && given->find_first_of(std::string_view{"\r\n\0", 3}) == std::string_view::npos;
    if (!plain || given->empty()) return fail(fmt::format("{}.headerContentType is not a valid content type", name));
    to = *given;
  }

 private:
  bool is_object(const json::Value* value, std::string_view name) {
    if (value == nullptr || value->is_null()) return false;
    if (!value->is_object()) fail(fmt::format("{} must be an object", name));
    return value->is_object();
  }
  void fail(std::string text) {
    if (!error) error = "DeliveryPolicy: " + std::move(text);
  }
};

}  // namespace

std::string_view text_of(BackoffFunction function) { return kBackoffs[static_cast<std::size_t>(function)]; }

RetryPolicy mail_retry_policy() {
  RetryPolicy policy;
  policy.min_delay_s = 10;
  policy.max_delay_s = 600;
  policy.retries = 50;
  policy.min_delay_retries = 2;
  policy.max_delay_retries = 38;
  policy.backoff = BackoffFunction::Exponential;
  return policy;
}

std::optional<milliseconds> delay_before_retry(const RetryPolicy& policy, std::int64_t number) {
  if (number < 1 || number > policy.retries) return std::nullopt;
  std::int64_t i = number - 1;
  if (i < policy.no_delay_retries) return milliseconds{0};
  i -= policy.no_delay_retries;
  if (i < policy.min_delay_retries) return seconds{policy.min_delay_s};
  i -= policy.min_delay_retries;
  const std::int64_t growing = policy.retries - policy.no_delay_retries - policy.min_delay_retries - policy.max_delay_retries;
  if (i >= growing) return seconds{policy.max_delay_s};
  const auto low = static_cast<double>(policy.min_delay_s);
  const auto high = static_cast<double>(policy.max_delay_s);
  const double delay = low + (high - low) * progress(policy.backoff, i, growing, low, high);
  return milliseconds{static_cast<std::int64_t>(std::lround(delay * 1000))};
}

milliseconds with_jitter(milliseconds delay, std::uint32_t random) {
  return delay - milliseconds{delay.count() / 10 * (random % 1'024) / 1'024};
}

Result<DeliveryPolicy, std::string> parse_delivery_policy(std::string_view text, PolicyLevel level) {
  DeliveryPolicy policy;
  if (text.empty()) return policy;
  const auto document = json::parse(text);
  if (!document) return "DeliveryPolicy: failed to parse JSON. " + document.error().message();
  if (!document->is_object()) return std::string{"DeliveryPolicy: must be an object"};
  Reader reader;
  if (level == PolicyLevel::Topic) {
    const json::Value* http = document->find("http");
    if (http == nullptr || http->is_null()) return policy;
    if (!http->is_object()) return std::string{"DeliveryPolicy: http must be an object"};
    reader.retry(http->find("defaultHealthyRetryPolicy"), "http.defaultHealthyRetryPolicy", policy.retry);
    reader.throttle(http->find("defaultThrottlePolicy"), "http.defaultThrottlePolicy", policy.receives_per_second);
    reader.request(http->find("defaultRequestPolicy"), "http.defaultRequestPolicy", policy.content_type);
    if (const json::Value* disabled = http->find("disableSubscriptionOverrides"))
      policy.overrides_disabled = disabled->as_bool().value_or(false);
  } else {
    reader.retry(document->find("healthyRetryPolicy"), "healthyRetryPolicy", policy.retry);
    reader.throttle(document->find("throttlePolicy"), "throttlePolicy", policy.receives_per_second);
    reader.request(document->find("requestPolicy"), "requestPolicy", policy.content_type);
  }
  if (reader.error) return *reader.error;
  return policy;
}

DeliveryPolicy effective_policy(std::string_view topic_json, std::string_view subscription_json) {
  const auto of_topic = parse_delivery_policy(topic_json, PolicyLevel::Topic);
  DeliveryPolicy topic = of_topic ? *of_topic : DeliveryPolicy{};
  if (topic.overrides_disabled || subscription_json.empty()) return topic;
  const auto own = parse_delivery_policy(subscription_json, PolicyLevel::Subscription);
  const auto document = json::parse(subscription_json);
  if (!own || !document) return topic;
  const auto names = [&](std::string_view member) {
    const json::Value* value = document->find(member);
    return value != nullptr && !value->is_null();
  };
  if (names("healthyRetryPolicy")) topic.retry = own->retry;
  if (own->receives_per_second) topic.receives_per_second = own->receives_per_second;
  if (!own->content_type.empty()) topic.content_type = own->content_type;
  return topic;
}

std::string effective_policy_json(const DeliveryPolicy& policy, PolicyLevel level) {
  const bool of_topic = level == PolicyLevel::Topic;
  std::string out;
  json::Writer writer(out);
  writer.begin_object();
  if (of_topic) writer.key("http").begin_object();
  writer.key(of_topic ? "defaultHealthyRetryPolicy" : "healthyRetryPolicy").begin_object();
  writer.key("minDelayTarget").integer(policy.retry.min_delay_s).key("maxDelayTarget").integer(policy.retry.max_delay_s);
  writer.key("numRetries").integer(policy.retry.retries).key("numMaxDelayRetries").integer(policy.retry.max_delay_retries);
  writer.key("numNoDelayRetries").integer(policy.retry.no_delay_retries);
  writer.key("numMinDelayRetries").integer(policy.retry.min_delay_retries);
  writer.key("backoffFunction").string(text_of(policy.retry.backoff)).end_object();
  if (of_topic) {
    writer.key("disableSubscriptionOverrides").boolean(policy.overrides_disabled);
  } else {
    writer.key("sicklyRetryPolicy").null();
  }
  if (policy.receives_per_second) {
    writer.key(of_topic ? "defaultThrottlePolicy" : "throttlePolicy").begin_object();
    writer.key("maxReceivesPerSecond").integer(*policy.receives_per_second).end_object();
  } else if (!of_topic) {
    writer.key("throttlePolicy").null();
  }
  writer.key(of_topic ? "defaultRequestPolicy" : "requestPolicy").begin_object();
  writer.key("headerContentType").string(policy.content_type.empty() ? kDefaultContentType : std::string_view{policy.content_type});
  writer.end_object();
  if (of_topic) writer.end_object();
  else writer.key("guaranteed").boolean(false);
  writer.end_object();
  return out;
}

}  // namespace fanfare::topic
