#include <gtest/gtest.h>

#include "fanfare/consumer.h"

namespace fanfare::sdk {
namespace {

ReceivedMessage with_body(std::string body) {
  ReceivedMessage message;
  message.message_id = "sqs-1";
  message.body = std::move(body);
  return message;
}

constexpr const char* kEnvelope =
    R"({"Type":"Notification","MessageId":"sns-1","TopicArn":"arn:aws:sns:us-east-1:000000000000:t",)"
    R"("Message":"{\"type\":\"document.ready\"}","Timestamp":"2026-11-30T10:00:00.000Z",)"
    R"("MessageAttributes":{"FanfareEventId":{"Type":"String","Value":"evt-1"},"raw":{"Type":"Binary","Value":"aGk="}}})";

TEST(Envelope, S15_AnEnvelopeIsTakenOff) {
  const auto delivery = open_message(with_body(kEnvelope), EnvelopeMode::Auto);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->body, R"({"type":"document.ready"})");
  EXPECT_EQ(delivery->type, "document.ready");
  EXPECT_EQ(delivery->event_id, "evt-1");
  EXPECT_EQ(delivery->topic_arn, "arn:aws:sns:us-east-1:000000000000:t");
  ASSERT_TRUE(delivery->attribute("raw"));
  EXPECT_EQ(*delivery->attribute("raw"), "hi");
}

TEST(Envelope, S15_APayloadThatOnlyLooksSimilarIsLeftAlone) {
  const std::string body = R"({"Type":"Notification","Message":"hello"})";
  const auto delivery = open_message(with_body(body), EnvelopeMode::Auto);
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->body, body);
  EXPECT_EQ(delivery->event_id, "sqs-1");
}

TEST(Envelope, S15_ModesDoNotGuess) {
  EXPECT_EQ(open_message(with_body(kEnvelope), EnvelopeMode::Raw)->body, kEnvelope);
  const auto refused = open_message(with_body("plain"), EnvelopeMode::Sns);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Malformed);
}

}  // namespace
}  // namespace fanfare::sdk
