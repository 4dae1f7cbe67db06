#include "core/topic/delivery_policy.h"

#include <gtest/gtest.h>

namespace fanfare::topic {
namespace {

std::vector<std::int64_t> schedule_ms(const RetryPolicy& policy) {
  std::vector<std::int64_t> delays;
  for (std::int64_t i = 1; const auto delay = delay_before_retry(policy, i); ++i) delays.push_back(delay->count());
  return delays;
}

TEST(DeliveryPolicy, TriesThreeTimesEveryTwentySecondsByDefault) {
  EXPECT_EQ(schedule_ms({}), (std::vector<std::int64_t>{20'000, 20'000, 20'000}));
  EXPECT_FALSE(delay_before_retry({}, 0).has_value());
  EXPECT_FALSE(delay_before_retry({}, 4).has_value());
}

TEST(DeliveryPolicy, HasFourPhases) {
  RetryPolicy policy;
  policy.min_delay_s = 1;
  policy.max_delay_s = 9;
  policy.retries = 10;
  policy.no_delay_retries = 2;
  policy.min_delay_retries = 2;
  policy.max_delay_retries = 1;
  EXPECT_EQ(schedule_ms(policy), (std::vector<std::int64_t>{0, 0, 1'000, 1'000, 1'000, 3'000, 5'000, 7'000, 9'000, 9'000}));
}

TEST(DeliveryPolicy, EveryBackoffFunctionGrowsFromTheSmallestToTheLargest) {
  for (const auto function : {BackoffFunction::Linear, BackoffFunction::Arithmetic, BackoffFunction::Geometric, BackoffFunction::Exponential}) {
    RetryPolicy policy;
    policy.min_delay_s = 2;
    policy.max_delay_s = 128;
    policy.retries = 7;
    policy.backoff = function;
    const auto delays = schedule_ms(policy);
    EXPECT_EQ(delays.front(), 2'000) << text_of(function);
    EXPECT_EQ(delays.back(), 128'000) << text_of(function);
    EXPECT_TRUE(std::is_sorted(delays.begin(), delays.end())) << text_of(function);
    const std::int64_t fourth = function == BackoffFunction::Linear       ? 65'000
                                : function == BackoffFunction::Arithmetic ? 2'000 + 126'000 * 12 / 42
                                : function == BackoffFunction::Geometric  ? 16'000
                                                                          : 2'000 + 126'000 * 7 / 63;
    EXPECT_EQ(delays[3], fourth) << text_of(function);
  }
}

TEST(DeliveryPolicy, JitterTakesOffAtMostATenth) {
  for (const std::uint32_t random : {0u, 1u, 1'023u, 4'000'000'000u}) {
    const auto delay = with_jitter(milliseconds{20'000}, random);
    EXPECT_LE(delay.count(), 20'000);
    EXPECT_GE(delay.count(), 18'000);
  }
  EXPECT_EQ(with_jitter(milliseconds{20'000}, 0).count(), 20'000);
}

TEST(DeliveryPolicy, OfASubscriptionGoesBeforeItsTopics) {
  constexpr std::string_view topic = R"({"http":{"defaultHealthyRetryPolicy":{"numRetries":5},"defaultThrottlePolicy":{"maxReceivesPerSecond":2}}})";
  constexpr std::string_view own = R"({"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":2,"numRetries":1},"requestPolicy":{"headerContentType":"application/json"}})";
  const DeliveryPolicy both = effective_policy(topic, own);
  EXPECT_EQ(both.retry.retries, 1);
  EXPECT_EQ(both.receives_per_second, 2);
  EXPECT_EQ(both.content_type, "application/json");
  EXPECT_EQ(effective_policy(topic, "").retry.retries, 5);
  EXPECT_EQ(effective_policy(topic, R"({"throttlePolicy":{"maxReceivesPerSecond":9}})").retry.retries, 5);
  EXPECT_EQ(effective_policy(R"({"http":{"disableSubscriptionOverrides":true}})", own).retry.retries, 3);
  EXPECT_EQ(effective_policy("", "").retry, RetryPolicy{});
}

TEST(DeliveryPolicy, IsRefusedWithTheMemberThatIsWrong) {
  const auto refusal = [](std::string_view text) {
    const auto parsed = parse_delivery_policy(text, PolicyLevel::Subscription);
    return parsed ? std::string{"accepted"} : parsed.error();
  };
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"minDelayTarget":0}})"),
            "DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"numRetries":101}})"),
            "DeliveryPolicy: healthyRetryPolicy.numRetries must be less than or equal to 100");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"minDelayTarget":9,"maxDelayTarget":3}})"),
            "DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be less than or equal to healthyRetryPolicy.maxDelayTarget");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"numRetries":2,"numNoDelayRetries":3}})"),
            "DeliveryPolicy: healthyRetryPolicy.numRetries must be at least the sum of the retries of its phases");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"numRetries":3,"maxDelayTarget":3600,"minDelayTarget":3600}})"),
            "DeliveryPolicy: healthyRetryPolicy takes longer than 3600 seconds in all");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"backoffFunction":"cubic"}})"),
            "DeliveryPolicy: healthyRetryPolicy.backoffFunction must be one of linear, arithmetic, geometric, exponential");
  EXPECT_EQ(refusal(R"({"throttlePolicy":{"maxReceivesPerSecond":0}})"),
            "DeliveryPolicy: throttlePolicy.maxReceivesPerSecond must be greater than or equal to 1");
  EXPECT_EQ(refusal("{\"requestPolicy\":{\"headerContentType\":\"a\\r\\nb\"}}"),
            "DeliveryPolicy: requestPolicy.headerContentType is not a valid content type");
  EXPECT_EQ(refusal("[]"), "DeliveryPolicy: must be an object");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":null,"sicklyRetryPolicy":null,"guaranteed":false})"), "accepted");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"minDelayTarget":60}})"), "accepted");
  EXPECT_EQ(refusal(R"({"healthyRetryPolicy":{"maxDelayTarget":5}})"), "accepted");
}

// Recorded from SNS.
TEST(DeliveryPolicy, OfATopicIsShownAsAwsShowsIt) {
  EXPECT_EQ(effective_policy_json({}, PolicyLevel::Topic),
            R"({"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,"numMaxDelayRetries":0,)"
            R"("numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},"disableSubscriptionOverrides":false,)"
            R"("defaultRequestPolicy":{"headerContentType":"text/plain; charset=UTF-8"}}})");
}

TEST(RetryPolicy, MailIsTriedForSixHours) {
  const RetryPolicy policy = mail_retry_policy();
  EXPECT_EQ(delay_before_retry(policy, 1), milliseconds{10'000});
  EXPECT_EQ(delay_before_retry(policy, 2), milliseconds{10'000});
  EXPECT_EQ(delay_before_retry(policy, 12), milliseconds{600'000});
  EXPECT_EQ(delay_before_retry(policy, 50), milliseconds{600'000});
  EXPECT_EQ(delay_before_retry(policy, 51), std::nullopt);
  milliseconds total{0};
  for (std::int64_t i = 1; i <= 50; ++i) {
    EXPECT_GE(*delay_before_retry(policy, i), delay_before_retry(policy, i - 1).value_or(milliseconds{0})) << i;
    total += *delay_before_retry(policy, i);
  }
  EXPECT_GT(total, std::chrono::hours{6});
  EXPECT_LT(total, std::chrono::hours{7});
}

}  // namespace
}  // namespace fanfare::topic
