#include "core/topic/settings.h"

#include <gtest/gtest.h>

namespace fanfare::topic {
namespace {

TEST(DeliveryProtocol, IsReadAndWritten) {
  for (const std::string_view text : {"sqs", "http", "https", "email", "email-json", "sms", "application", "lambda", "firehose"}) {
    const auto protocol = parse_delivery_protocol(text);
    ASSERT_TRUE(protocol.has_value()) << text;
    EXPECT_EQ(text_of(*protocol), text);
  }
  EXPECT_FALSE(parse_delivery_protocol("SQS").has_value());
}

TEST(TopicRedrivePolicy, NamesAQueue) {
  const auto policy = RedrivePolicy::parse(R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq"})");
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(RedrivePolicy::parse(policy->json())->dead_letter_queue.str(), "arn:aws:sqs:us-east-1:000000000000:dlq");
  EXPECT_EQ(RedrivePolicy::parse("{").error(), RedrivePolicy::Error::NotJson);
  EXPECT_EQ(RedrivePolicy::parse("{}").error(), RedrivePolicy::Error::InvalidArn);
  EXPECT_EQ(RedrivePolicy::parse(R"({"deadLetterTargetArn":"arn:aws:sns:r:a:n"})").error(), RedrivePolicy::Error::InvalidArn);
}

TEST(TopicSettings, ChangesTouchOnlyWhatTheyMention) {
  TopicSettings settings;
  settings.display_name = "shown";
  TopicChanges changes;
  changes.signature_version = 2;
  changes.feedback = {{"HTTPSuccessFeedbackSampleRate", "50"}};
  const TopicSettings after = with_changes(settings, changes);
  EXPECT_EQ(after.display_name, "shown");
  EXPECT_EQ(after.signature_version, 2);
  EXPECT_FALSE(first_difference(after, changes).has_value());
  EXPECT_EQ(first_difference(settings, changes), TopicAttribute::SignatureVersion);
  changes.signature_version.reset();
  EXPECT_EQ(first_difference(settings, changes), TopicAttribute::Feedback);
}

TEST(SubscriptionSettings, ARedrivePolicyCanBeTakenAway) {
  SubscriptionSettings settings;
  settings.redrive_policy = RedrivePolicy{QueueArn{"arn:aws:sqs:us-east-1:000000000000:dlq"}};
  SubscriptionChanges changes;
  changes.redrive_policy.emplace();
  EXPECT_EQ(first_difference(settings, changes), SubscriptionAttribute::RedrivePolicy);
  EXPECT_FALSE(with_changes(settings, changes).redrive_policy.has_value());
}

}  // namespace
}  // namespace fanfare::topic
