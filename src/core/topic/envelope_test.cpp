#include "core/topic/envelope.h"

#include "core/topic/envelope_confirmation.h"

#include <gtest/gtest.h>

namespace fanfare::topic {
namespace {

constexpr message::MessageAttribute kAttributes[] = {{"kind", "String", "a\"b"}, {"key", "Binary", std::string_view("\0\1", 2)}};

message::Content sample() {
  message::Content content;
  content.body = "hello\n";
  content.attributes = kAttributes;
  content.publication.emplace();
  content.publication->id = PublicationId{*Uuid::parse("8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172")};
  content.publication->published_at = timestamp_from_unix_ms(1'764'500'000'123);
  content.publication->subject = "About";
  return content;
}

std::string envelope(const message::Content& content, const EnvelopeFields& fields) {
  std::string bytes;
  message::encode(content, bytes);
  std::string out;
  append_envelope(*message::ContentView::decode(bytes), fields, out);
  return out;
}

TEST(Envelope, HasAwsKeysInAwsOrder) {
  const EnvelopeSignature signature{"1", "c2ln", "https://host/cert.pem", "https://host/?Action=Unsubscribe"};
  const EnvelopeFields fields{"arn:aws:sns:us-east-1:000000000000:t", {}, signature};
  const std::string text = envelope(sample(), fields);
  EXPECT_EQ(text,
            R"({"Type":"Notification","MessageId":"8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172",)"
            R"("TopicArn":"arn:aws:sns:us-east-1:000000000000:t","Subject":"About","Message":"hello\n",)"
            R"("Timestamp":"2025-11-30T10:53:20.123Z","SignatureVersion":"1","Signature":"c2ln",)"
            R"("SigningCertURL":"https://host/cert.pem","UnsubscribeURL":"https://host/?Action=Unsubscribe",)"
            R"("MessageAttributes":{"kind":{"Type":"String","Value":"a\"b"},"key":{"Type":"Binary","Value":"AAE="}}})");
  EXPECT_EQ(envelope_bytes(sample(), fields), text.size());
}

TEST(Envelope, OfAFifoTopicHasASequenceNumberAndNoSignature) {
  message::Content content = sample();
  content.attributes = {};
  content.publication->subject = {};
  const EnvelopeFields fields{"arn:aws:sns:us-east-1:000000000000:t.fifo", "10000000000000000000", std::nullopt};
  EXPECT_EQ(envelope(content, fields),
            R"({"Type":"Notification","MessageId":"8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172","SequenceNumber":"10000000000000000000",)"
            R"("TopicArn":"arn:aws:sns:us-east-1:000000000000:t.fifo","Message":"hello\n","Timestamp":"2025-11-30T10:53:20.123Z"})");
}

TEST(Confirmation, HasAwsKeysInAwsOrder) {
  const std::string text = confirmation_text("arn:t");
  const Confirmation kept{"m", "t", "arn:t", text, "http://h/?x", "2025-11-30T10:53:20.123Z"};
  std::string out;
  append_confirmation(kept, {"1", "c2ln", "http://h/c.pem", {}}, out);
  EXPECT_EQ(out, R"({"Type":"SubscriptionConfirmation","MessageId":"m","Token":"t","TopicArn":"arn:t",)"
                 R"("Message":"You have chosen to subscribe to the topic arn:t.\nTo confirm the subscription, visit the )"
                 R"(SubscribeURL included in this message.","SubscribeURL":"http://h/?x","Timestamp":"2025-11-30T10:53:20.123Z",)"
                 R"("SignatureVersion":"1","Signature":"c2ln","SigningCertURL":"http://h/c.pem"})");
  EXPECT_EQ(string_to_sign(kept), "Message\n" + text + "\nMessageId\nm\nSubscribeURL\nhttp://h/?x\nTimestamp\n"
                                  "2025-11-30T10:53:20.123Z\nToken\nt\nTopicArn\narn:t\nType\nSubscriptionConfirmation\n");
}

TEST(StringToSign, NamesEachPartOnItsLine) {
  std::string bytes;
  message::encode(sample(), bytes);
  EXPECT_EQ(string_to_sign(*message::ContentView::decode(bytes), "arn:t"),
            "Message\nhello\n\nMessageId\n8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172\nSubject\nAbout\n"
            "Timestamp\n2025-11-30T10:53:20.123Z\nTopicArn\narn:t\nType\nNotification\n");
}

}  // namespace
}  // namespace fanfare::topic
