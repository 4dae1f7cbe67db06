#include "bench/call.h"

#include <gtest/gtest.h>

#include "wire/http/request.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::bench {
namespace {

constexpr Timestamp kNow = timestamp_from_unix_ms(1'440'938'160'000);  // 2015-08-30T12:36:00Z

std::string batch(Protocol protocol) {
  std::string out;
  Body body{protocol, Action::SendMessageBatch, out};
  body.text("QueueUrl", "http://h/0/q").entries("Entries", "SendMessageBatchRequestEntry");
  for (const char* id : {"0", "1"}) body.entry().text("Id", id).text("MessageBody", "a b");
  body.finish();
  return out;
}

TEST(Body, ABatchInBothProtocols) {
  EXPECT_EQ(batch(Protocol::Json),
            R"({"QueueUrl":"http://h/0/q","Entries":[{"Id":"0","MessageBody":"a b"},{"Id":"1","MessageBody":"a b"}]})");
  EXPECT_EQ(batch(Protocol::Query),
            "Action=SendMessageBatch&Version=2012-11-05&QueueUrl=http%3A%2F%2Fh%2F0%2Fq"
            "&SendMessageBatchRequestEntry.1.Id=0&SendMessageBatchRequestEntry.1.MessageBody=a+b"
            "&SendMessageBatchRequestEntry.2.Id=1&SendMessageBatchRequestEntry.2.MessageBody=a+b");
}

TEST(Body, AttributesListsAndNumbersInBothProtocols) {
  const auto make = [](Protocol protocol) {
    std::string out;
    Body body{protocol, Action::CreateQueue, out};
    body.text("QueueName", "q").number("N", 5).map("Attributes", "Attribute", {{"FifoQueue", "true"}});
    body.list("Names", "Name", {"a", "b"});
    body.finish();
    return out;
  };
  EXPECT_EQ(make(Protocol::Json), R"({"QueueName":"q","N":5,"Attributes":{"FifoQueue":"true"},"Names":["a","b"]})");
  EXPECT_EQ(make(Protocol::Query),
            "Action=CreateQueue&Version=2012-11-05&QueueName=q&N=5&Attribute.1.Name=FifoQueue&Attribute.1.Value=true&"
            "Name.1=a&Name.2=b");
}

TEST(Body, SnsSpeaksQueryWhateverIsAskedFor) {
  std::string out;
  Body body{Protocol::Json, Action::Subscribe, out};
  body.text("TopicArn", "t").map("Attributes", "Attributes", {{"RawMessageDelivery", "true"}});
  body.finish();
  EXPECT_EQ(out,
            "Action=Subscribe&Version=2010-03-31&TopicArn=t&Attributes.entry.1.key=RawMessageDelivery&Attributes.entry."
            "1.value=true");
}

TEST(CallWriter, ASignedRequestIsVerified) {
  auto endpoint = *make_endpoint("http://127.0.0.1:4566");
  endpoint.credentials = {"AKIDEXAMPLE", "secret", ""};
  CallWriter writer{endpoint};
  std::string bytes;
  writer.append(bytes, Action::SendMessage, "{}", kNow);

  wire::http::RequestParser parser;
  ASSERT_EQ(parser.parse(bytes), wire::http::Parse::Complete) << bytes;
  EXPECT_EQ(parser.consumed(), bytes.size());
  const wire::http::Request& request = parser.request();
  EXPECT_EQ(request.headers.get("X-Amz-Target"), "AmazonSQS.SendMessage");
  EXPECT_EQ(request.body, "{}");
  const wire::sigv4::RequestView view{request.method, request.path, request.query, request.headers, request.body};
  wire::http::Form query;
  const auto authorization = wire::sigv4::read_authorization(view, query);
  ASSERT_TRUE(authorization) << authorization.error().message;
  wire::sigv4::SigningKeyCache cache;
  std::string scratch;
  const auto verified = wire::sigv4::verify(view, *authorization, "secret", kNow, cache, scratch);
  EXPECT_TRUE(verified) << verified.error().message;
}

TEST(CallWriter, AnUnsignedRequestHasNoSignature) {
  auto endpoint = *make_endpoint("http://127.0.0.1:4566");
  endpoint.is_signed = false;
  std::string bytes;
  CallWriter{endpoint}.append(bytes, Action::Publish, "Action=Publish", kNow);
  EXPECT_EQ(bytes.find("Authorization"), std::string::npos) << bytes;
  EXPECT_NE(bytes.find("x-www-form-urlencoded"), std::string::npos) << bytes;
}

TEST(Endpoint, SaysWhatIsWrongWithAUrl) {
  EXPECT_NE(make_endpoint("localhost:4566").error().text.find("http"), std::string::npos);
  EXPECT_NE(make_endpoint("http://no-such-host.invalid").error().text.find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace fanfare::bench
