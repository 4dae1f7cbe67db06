#include "core/topic/names.h"

#include <gtest/gtest.h>

namespace fanfare::topic {
namespace {

TEST(TopicArn, IsReadInItsParts) {
  const auto key = parse_topic_arn("arn:aws:sns:eu-west-1:111122223333:orders.fifo");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->region, "eu-west-1");
  EXPECT_EQ(key->account, "111122223333");
  EXPECT_EQ(key->name, "orders.fifo");
  EXPECT_EQ(TopicKey{*key}.arn().str(), "arn:aws:sns:eu-west-1:111122223333:orders.fifo");
}

TEST(TopicArn, OfAnythingElseIsNone) {
  for (const std::string_view text : {"", "arn:aws:sqs:r:a:n", "arn:aws:sns:r:a", "arn:aws:sns:r:a:", "arn:aws:sns::a:n",
                                      "arn:aws:sns:r::n", "arn:aws:sns:r:a:n:extra"})
    EXPECT_FALSE(parse_topic_arn(text).has_value()) << text;
}

TEST(TopicName, Has1To256Characters) {
  EXPECT_TRUE(is_valid_topic_name("a"));
  EXPECT_TRUE(is_valid_topic_name("A-z_09.fifo"));
  EXPECT_TRUE(is_valid_topic_name(std::string(256, 'a')));
  EXPECT_FALSE(is_valid_topic_name(std::string(257, 'a')));
  for (const std::string_view bad : {"", ".fifo", "a.b", "a b", "ä", "a:b", "a.fifo.fifo"})
    EXPECT_FALSE(is_valid_topic_name(bad)) << bad;
}

TEST(SubscriptionArn, IsATopicArnWithAUuid) {
  const auto uuid = Uuid::parse("8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172");
  ASSERT_TRUE(uuid.has_value());
  const auto arn = subscription_arn({"000000000000", "us-east-1", "t"}, SubscriptionUuid{*uuid});
  EXPECT_EQ(arn.str(), "arn:aws:sns:us-east-1:000000000000:t:8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172");
  const auto key = parse_subscription_arn(arn.str());
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->topic.name, "t");
  EXPECT_EQ(key->uuid.str(), uuid->str());
  EXPECT_FALSE(parse_subscription_arn("arn:aws:sns:us-east-1:000000000000:t").has_value());
  EXPECT_FALSE(parse_subscription_arn("arn:aws:sns:us-east-1:000000000000:t:nothing").has_value());
}

}  // namespace
}  // namespace fanfare::topic
