// When and how often a message to an HTTP endpoint or a mailbox is tried. [SNS message delivery retries]
//
// Rule 1: retries come in four phases: without delay, at the smallest delay, growing by the backoff function, at the largest
//         delay. What the first, second and fourth do not take of numRetries is the third.
// Rule 2: a subscription's policy goes before its topic's, unless the topic disables overrides.
// PURE: randomness is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace fanfare::topic {

enum class BackoffFunction : std::uint8_t { Linear, Arithmetic, Geometric, Exponential };
std::string_view text_of(BackoffFunction function);

/// {"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,"numMaxDelayRetries":0,"numNoDelayRetries":0,
///  "numMinDelayRetries":0,"backoffFunction":"linear"}
struct RetryPolicy {
  std::int64_t min_delay_s = 20;  ///< 1 to 3,600
  std::int64_t max_delay_s = 20;  ///< min_delay_s to 3,600
  std::int64_t retries = 3;       ///< 0 to 100
  std::int64_t no_delay_retries = 0;
  std::int64_t min_delay_retries = 0;
  std::int64_t max_delay_retries = 0;
  BackoffFunction backoff = BackoffFunction::Linear;

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// Of e-mail: 50 retries over six hours: two at 10 s, ten that grow to 600 s, 38 at 600 s.
RetryPolicy mail_retry_policy();

/// The pause before retry `number` (1: the first one after the first attempt); nullopt: no further try.
std::optional<milliseconds> delay_before_retry(const RetryPolicy& policy, std::int64_t number);
/// The same with up to a tenth taken off, so that many retries do not come at one moment. `random` is any number.
milliseconds with_jitter(milliseconds delay, std::uint32_t random);

struct DeliveryPolicy {
  RetryPolicy retry;
  std::optional<std::int64_t> receives_per_second;  ///< throttlePolicy.maxReceivesPerSecond
  std::string content_type;                         ///< requestPolicy.headerContentType; empty: "text/plain; charset=UTF-8"
  bool overrides_disabled = false;                  ///< of a topic

  friend bool operator==(const DeliveryPolicy&, const DeliveryPolicy&) = default;
};

/// Of a topic: {"http":{"defaultHealthyRetryPolicy":{..},"defaultThrottlePolicy":{..},"defaultRequestPolicy":{..},
/// "disableSubscriptionOverrides":false}}; of a subscription: {"healthyRetryPolicy":{..},"throttlePolicy":{..},
/// "requestPolicy":{..}}. Empty text: the default. The error says what is wrong: "DeliveryPolicy: ...".
enum class PolicyLevel : std::uint8_t { Topic, Subscription };
Result<DeliveryPolicy, std::string> parse_delivery_policy(std::string_view json, PolicyLevel level);

/// What holds for a subscription. Texts that were stored are valid; anything else counts as none.
DeliveryPolicy effective_policy(std::string_view topic_json, std::string_view subscription_json);

/// As GetTopicAttributes and GetSubscriptionAttributes show it under EffectiveDeliveryPolicy.
std::string effective_policy_json(const DeliveryPolicy& policy, PolicyLevel level);

}  // namespace fanfare::topic
