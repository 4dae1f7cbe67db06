// The parts of the API, each alone: routing, credentials, receipt handles, digests, numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "api/aws/authenticator.h"
#include "api/aws/message_rules.h"
#include "api/aws/router.h"
#include "api/aws/sns_model.h"
#include "api/sns/errors.h"
#include "api/sqs/errors.h"
#include "api/sqs/message_attributes.h"
#include "api/sqs/receipt_handles.h"
#include "api/test_broker.h"
#include "wire/digest/encoding.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::api {
namespace {

using message::MessageAttribute;

std::string hex(const std::array<std::uint8_t, 16>& digest) {
  return wire::digest::hex(wire::digest::bytes_of(digest));
}

TEST(AttributesMd5, AgreesWithKnownVectors) {
  const MessageAttribute text{"attribName1", "String", "attribValue 1"};
  EXPECT_EQ(hex(sqs::attributes_md5({&text, 1})), "19e27d4e946b072f3f58da80d94fd778");
  const MessageAttribute binary{"binaryAttribute", "Binary", "Hello binary world!"};
  EXPECT_EQ(hex(sqs::attributes_md5({&binary, 1})), "31a92b15d92f8db860eda32aceb656c3");
  const MessageAttribute recorded{"MyAttribute", "String", "foobar"};
  EXPECT_EQ(hex(sqs::attributes_md5({&recorded, 1})), "adb59cd4678ea5a855436b949cd07ab6");
}

TEST(AttributesMd5, CoversTheWholeTypeAndTheOrderOfNames) {
  const MessageAttribute a{"a", "Number", "1"};
  const MessageAttribute a_custom{"a", "Number.float", "1"};
  const MessageAttribute b{"b", "String", "1"};
  const MessageAttribute ab[] = {a, b};
  const MessageAttribute ba[] = {b, a};
  EXPECT_NE(sqs::attributes_md5({&a, 1}), sqs::attributes_md5({&a_custom, 1}));
  EXPECT_NE(sqs::attributes_md5(ab), sqs::attributes_md5(ba)) << "the caller sorts";
}

TEST(MessageAttributes, AreSortedByName) {
  wire::aws::Arena arena;
  wire::aws::Entry<sqs::model::MessageAttributeValue> given[3];
  given[0].key = "b";
  given[1].key = "B";
  given[2].key = "a";
  for (auto& entry : given) {
    entry.value.data_type = "String";
    entry.value.string_value = "v";
  }
  const auto read = sqs::read_message_attributes({given, 3}, arena);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)[0].name, "B");
  EXPECT_EQ((*read)[1].name, "a");
  EXPECT_EQ((*read)[2].name, "b");
}

TEST(AttributeNumber, HasThirtyEightDigitsAtMost) {
  const std::string digits38(38, '9');
  for (const std::string& text :
       {std::string("0"), std::string("-0.0"), std::string("17"), std::string("+1.5"), std::string("-1.5e10"),
        std::string(".5"), std::string("1."), std::string("1E+126"), std::string("1e-128"), digits38, digits38 + "0000",
        "0.000" + digits38, std::string("0000000000000000000000000000000000000000000000000001")}) {
    EXPECT_TRUE(aws::is_attribute_number(text)) << text;
  }
  for (const std::string& text :
       {std::string(""), std::string("."), std::string("-"), std::string("e5"), std::string("1e"), std::string("1e+"),
        std::string("0x10"), std::string("1,5"), std::string("1 "), std::string("NaN"), std::string("Infinity"),
        std::string("1e127"), std::string("1e-129"), digits38 + "9", std::string("1..2"), std::string("1e5.5"),
        std::string("9999999999999999999999999999999999999990001"), std::string("1e99999999999999999999")}) {
    EXPECT_FALSE(aws::is_attribute_number(text)) << text;
  }
}

TEST(AttributeType, HasThreeKindsWithNamesOfTheCallersOwn) {
  for (const char* type : {"String", "Number", "Binary", "String.Array", "Number.float", "Binary.gif.x"}) {
    EXPECT_TRUE(aws::is_attribute_type(type)) << type;
  }
  for (const char* type : {"", "string", "Strings", "String.", "Text", "Number-float", " String"}) {
    EXPECT_FALSE(aws::is_attribute_type(type)) << type;
  }
}

TEST(WantedAttributes, AreNamesOrPrefixes) {
  const std::vector<std::string> wanted{"exact", "pre.*"};
  EXPECT_TRUE(sqs::is_wanted("exact", wanted));
  EXPECT_TRUE(sqs::is_wanted("prefix", wanted));
  EXPECT_TRUE(sqs::is_wanted("pre.fix", wanted));
  EXPECT_FALSE(sqs::is_wanted("exactly", wanted));
  EXPECT_FALSE(sqs::is_wanted("ex", wanted));
}

struct Receipts : testing::Test {
  ReceiptHandles handles{"a secret of at least sixteen bytes"};
  wire::aws::Arena arena;
  const queue::ReceiptHandle handle{{7, 3}, {0x0123456789ABCDEF}, 42, 9};
};

TEST_F(Receipts, ComeBackAsTheyWereWritten) {
  const auto text = handles.text_of(handle, arena);
  EXPECT_EQ(text.size(), 52u);
  EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string_view::npos);
  EXPECT_EQ(handles.parse(text), handle);
  EXPECT_EQ(handles.parse(handles.text_of({}, arena)), queue::ReceiptHandle());
}

TEST_F(Receipts, AreRefusedWhenAnyCharacterIsChanged) {
  const std::string text(handles.text_of(handle, arena));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'A', 'z', '-', '=', ' ', '\0', '+'}) {
      std::string forged = text;
      if (forged[i] == c) continue;
      forged[i] = c;
      EXPECT_EQ(handles.parse(forged), std::nullopt) << i << " " << c;
    }
    EXPECT_EQ(handles.parse(text.substr(0, i)), std::nullopt);
  }
  EXPECT_EQ(handles.parse(text + "A"), std::nullopt);
  EXPECT_EQ(handles.parse(""), std::nullopt);
}

TEST_F(Receipts, OfAnotherSecretAreRefused) {
  EXPECT_EQ(ReceiptHandles("another secret of sixteen bytes").parse(handles.text_of(handle, arena)), std::nullopt);
}

TEST(EngineErrors, EachHasACodeAndAText) {
  using QueueCode = engine::QueueError::Code;
  for (int i = 0; i <= static_cast<int>(QueueCode::TotalVisibilityExceeded); ++i) {
    for (const bool in_batch : {false, true}) {
      const auto error =
          sqs::api_error(engine::QueueError{static_cast<QueueCode>(i), {}, "", 1024, 2},
                         {.named = "named", .visibility_timeout = 1, .fifo_name = in_batch, .in_batch = in_batch});
      EXPECT_FALSE(error.kind.query_code.empty()) << i;
      EXPECT_FALSE(error.message.empty()) << i;
      EXPECT_TRUE(error.kind.sender_fault) << i;
    }
  }
  using TopicCode = engine::TopicError::Code;
  for (int i = 0; i <= static_cast<int>(TopicCode::DeduplicationIdOnStandardTopic); ++i) {
    const auto error = sns::api_error(engine::TopicError{static_cast<TopicCode>(i), "", {}}, ReplyContext());
    EXPECT_FALSE(error.kind.query_code.empty()) << i;
    EXPECT_FALSE(error.message.empty()) << i;
  }
}

TEST(EngineErrors, HaveTheTextsThatWereRecordedFromAws) {
  using QueueCode = engine::QueueError::Code;
  const auto text = [](QueueCode code, bool in_batch = false) {
    const auto error =
        sqs::api_error(engine::QueueError{code, {}, "", 1024, 2},
                       {.named = "RH", .visibility_timeout = 1, .fifo_name = false, .in_batch = in_batch});
    return std::string(error.kind.query_code) + ": " + error.message;
  };
  EXPECT_EQ(
      text(QueueCode::MessageTooLong),
      "InvalidParameterValue: One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.");
  EXPECT_EQ(text(QueueCode::MessageTooLong, true),
            "InvalidParameterValue: One or more parameters cannot be validated. Reason: Message must be shorter than "
            "1024 bytes.");
  EXPECT_EQ(text(QueueCode::MessageGroupIdMissing),
            "MissingParameter: The request must contain the parameter MessageGroupId.");
  EXPECT_EQ(text(QueueCode::MessageGroupIdMissing, true),
            "InvalidParameterValue: The request must contain the parameter MessageGroupId.");
  EXPECT_EQ(text(QueueCode::DelayOnFifoQueue),
            "InvalidParameterValue: Value 2 for parameter DelaySeconds is invalid. Reason: The request include "
            "parameter that is not "
            "valid for this queue type.");
  EXPECT_EQ(text(QueueCode::ReceiptHandleExpired),
            "InvalidParameterValue: Value RH for parameter ReceiptHandle is invalid. Reason: The receipt handle has "
            "expired.");
  EXPECT_EQ(text(QueueCode::MessageNotAvailable),
            "InvalidParameterValue: Value RH for parameter ReceiptHandle is invalid. Reason: Message does not exist or "
            "is not "
            "available for visibility timeout change.");
  EXPECT_EQ(text(QueueCode::ReceiptHandleOfOtherQueue),
            "ReceiptHandleIsInvalid: The input receipt handle \"RH\" is not a valid receipt handle.");
  EXPECT_EQ(text(QueueCode::TooManyInFlight).substr(0, 10), "OverLimit:");
}

TEST(EngineErrors, AFilterPolicyIsShownWithItsPlace) {
  ReplyContext context;
  context.operation = sns::kModel.find("Subscribe");
  context.subject = R"({"a":[]})";
  engine::TopicError error{engine::TopicError::Code::BadFilterPolicy, "", {}};
  error.filter = topic::FilterError{topic::FilterError::Kind::BadMatch, "Empty arrays are not allowed", 6};
  EXPECT_EQ(sns::api_error(error, context).message,
            "Invalid parameter: Attributes Reason: FilterPolicy: Empty arrays are not allowed\n at [Source: "
            "(String)\"{\"a\":[]}\"; "
            "line: 1, column: 7]");
  context.operation = sns::kModel.find("SetSubscriptionAttributes");
  error.filter->kind = topic::FilterError::Kind::TooManyKeys;
  error.filter->message = "Filter policy can not have more than 5 keys";
  EXPECT_EQ(sns::api_error(error, context).message,
            "Invalid parameter: FilterPolicy: Filter policy can not have more than 5 keys");
}

/// Replies as the engine will give them, written for a request of this action.
std::string encoded(Service& service, std::string_view request, engine::ReplyBody reply, Payloads& payloads) {
  SeededSecrets secrets(3);
  wire::http::RequestParser parser;
  EXPECT_EQ(parser.parse(request), wire::http::Parse::Complete);
  ReplyContext context;
  std::string out;
  const auto decoded =
      service.decode(parser.request(), {{1}, "127.0.0.1", false, timestamp_from_unix_ms(0), timestamp_from_unix_ms(0), secrets}, context, out);
  EXPECT_NE(decoded.command, nullptr) << out;
  if (decoded.command == nullptr) return out;
  service.encode(context, engine::Reply{{1}, {}, std::move(reply)}, payloads, out);
  return parse_answer(out).body;
}

struct FakePayloads final : Payloads {
  std::optional<std::string> record(LogPosition) override { return std::nullopt; }
};

TEST(Replies, ShowWhatFifoQueuesHave) {
  TestBroker broker;
  FakePayloads payloads;
  EXPECT_NE(
      encoded(broker.service(), json_request("SendMessage", R"({"QueueUrl":"/000000000000/q.fifo","MessageBody":"m"})"),
              engine::MessageSent{MessageId(), queue::SequenceNumber{17}}, payloads)
          .find(R"("SequenceNumber":"00000000000000000017")"),
      std::string::npos);
  EXPECT_NE(encoded(broker.service(),
                    query_request("Action=Publish&TopicArn=arn:aws:sns:us-east-1:000000000000:t.fifo&Message=m"),
                    engine::Published{PublicationId(), queue::SequenceNumber{17}}, payloads)
                .find("<SequenceNumber>00000000000000000017</SequenceNumber>"),
            std::string::npos);

  message::Content content;
  content.body = "m";
  content.group_id = "g";
  content.deduplication_id = "d";
  std::string bytes;
  message::encode(content, bytes);
  std::vector<engine::ReceivedMessage> messages(1);
  messages[0].content = bytes;
  messages[0].sequence_number = {17};
  messages[0].receive_count = 1;
  const std::string ask = R"(","AttributeNames":["SequenceNumber","MessageDeduplicationId","MessageGroupId"]})";
  EXPECT_NE(encoded(broker.service(), json_request("ReceiveMessage", R"({"QueueUrl":"/000000000000/q.fifo)" + ask),
                    engine::MessagesReceived{messages}, payloads)
                .find(R"("Attributes":{"SequenceNumber":"00000000000000000017","MessageDeduplicationId":"d",)"
                      R"("MessageGroupId":"g"})"),
            std::string::npos);
  EXPECT_NE(encoded(broker.service(), json_request("ReceiveMessage", R"({"QueueUrl":"/000000000000/q)" + ask),
                    engine::MessagesReceived{messages}, payloads)
                .find(R"("Attributes":{"MessageGroupId":"g"})"),
            std::string::npos);
}

TEST(Replies, OfAFifoQueueHoldWhatFollowsAMessageThatCannotBeRead) {
  TestBroker broker;
  struct : Payloads {
    std::optional<std::string> record(LogPosition) override { return std::nullopt; }
  } payloads;
  message::Content content;
  content.group_id = "g";
  std::vector<engine::ReceivedMessage> messages(4);
  for (std::uint32_t i = 0; i < 4; ++i) messages[i].handle.receipt = i + 1;
  std::array<std::string, 4> encoded_contents;
  for (const std::size_t i : {0u, 2u, 3u}) {  // the second lies in the log, where it cannot be read
    const std::string body = "body-" + std::to_string(i);
    content.body = body;
    message::encode(content, encoded_contents[i]);
    messages[i].content = encoded_contents[i];
  }
  const auto answer = [&](std::string_view queue) {
    SeededSecrets secrets(3);
    wire::http::RequestParser parser;
    const std::string request = json_request("ReceiveMessage", R"({"QueueUrl":"/000000000000/)" + std::string{queue} + R"("})");
    EXPECT_EQ(parser.parse(request), wire::http::Parse::Complete);
    ReplyContext context;
    std::string out;
    broker.service().decode(parser.request(), {{1}, "", false, timestamp_from_unix_ms(0), timestamp_from_unix_ms(0), secrets}, context, out);
    const Encoded encoded = broker.service().encode(context, engine::Reply{{1}, {}, engine::MessagesReceived{messages}}, payloads, out);
    std::vector<std::uint32_t> unreadable;
    for (const engine::ReceiptHandle& handle : encoded.unreadable) unreadable.push_back(handle.receipt);
    std::vector<std::uint32_t> held;
    for (const engine::ReceiptHandle& handle : encoded.held) held.push_back(handle.receipt);
    return std::tuple{parse_answer(out).body, unreadable, held};
  };
  const auto [fifo, first, held] = answer("q.fifo");
  EXPECT_EQ(first, std::vector<std::uint32_t>{2});
  EXPECT_EQ(held, (std::vector<std::uint32_t>{3, 4})) << "what stands behind it in its group waits with it, and its group is not known";
  EXPECT_EQ(fifo.find("body-2"), std::string::npos) << fifo;
  EXPECT_NE(fifo.find("body-0"), std::string::npos) << fifo;
  const auto [standard, left_out, behind] = answer("q");
  EXPECT_EQ(left_out, std::vector<std::uint32_t>{2});
  EXPECT_TRUE(behind.empty());
  EXPECT_NE(standard.find("body-2"), std::string::npos) << standard;
}

TEST(Replies, LeaveOutMessagesThatCannotBeRead) {
  TestBroker broker;
  struct : Payloads {
    std::optional<std::string> record(LogPosition position) override {
      if (position.value == 1) return std::nullopt;
      return "not a record";
    }
  } payloads;
  std::vector<engine::ReceivedMessage> messages(2);
  messages[0].position = {1};
  messages[1].position = {2};
  messages[1].handle.receipt = 5;
  SeededSecrets secrets(3);
  wire::http::RequestParser parser;
  const std::string request = json_request("ReceiveMessage", R"({"QueueUrl":"/000000000000/q"})");
  ASSERT_EQ(parser.parse(request), wire::http::Parse::Complete);
  ReplyContext context;
  std::string out;
  broker.service().decode(parser.request(), {{1}, "", false, timestamp_from_unix_ms(0), timestamp_from_unix_ms(0), secrets}, context, out);
  const Encoded encoded =
      broker.service().encode(context, engine::Reply{{1}, {}, engine::MessagesReceived{messages}}, payloads, out);
  EXPECT_EQ(parse_answer(out).body, "{}");
  ASSERT_EQ(encoded.unreadable.size(), 2u);
  EXPECT_EQ(encoded.unreadable[1].receipt, 5u);
}

TEST(Replies, SayWhenThereIsNoRoom) {
  TestBroker broker;
  FakePayloads payloads;
  EXPECT_NE(
      encoded(broker.service(), json_request("SendMessage", R"({"QueueUrl":"/000000000000/q","MessageBody":"m"})"),
              engine::Unavailable::StorageFull, payloads)
          .find("com.amazon.coral.service#ServiceUnavailable"),
      std::string::npos);
}

struct RouteCase {
  const char* what;
  std::string request;
  std::string_view service;
  std::string_view action;
  std::string_view region;
};

TEST(Router, FindsServiceActionAndRegion) {
  const auto scope = [](std::string_view region, std::string_view service) {
    return "Authorization: AWS4-HMAC-SHA256 Credential=AKID/20270115/" + std::string(region) + "/" +
           std::string(service) + "/aws4_request, SignedHeaders=host, Signature=0\r\n";
  };
  const auto at = [](std::string_view host, std::string_view headers, std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n" + std::string(headers) +
           "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
  };
  const RouteCase cases[] = {
      {"the scope decides", at("localhost", scope("eu-west-1", "sns"), "Action=AddPermission"), "sns", "AddPermission",
       "eu-west-1"},
      {"also against the host", at("sqs.us-east-2.amazonaws.com", scope("eu-west-1", "sns"), "Action=AddPermission"),
       "sns", "AddPermission", "eu-west-1"},
      {"the host decides", at("sns.eu-central-1.amazonaws.com", "", "Action=AddPermission"), "sns", "AddPermission",
       "eu-central-1"},
      {"a host with a port", at("sqs.ap-southeast-2.localhost:4566", "", "Action=AddPermission"), "sqs",
       "AddPermission", "ap-southeast-2"},
      {"the old host of SQS", at("eu-west-3.queue.amazonaws.com", "", "Action=AddPermission"), "sqs", "AddPermission",
       "eu-west-3"},
      {"the oldest host of SQS", at("queue.amazonaws.com", "", "Action=AddPermission"), "sqs", "AddPermission",
       "us-east-1"},
      {"a dual-stack host", at("sns.us-west-2.api.aws", "", "Action=AddPermission"), "sns", "AddPermission",
       "us-west-2"},
      {"the version decides", at("localhost", "", "Action=AddPermission&Version=2010-03-31"), "sns", "AddPermission",
       "us-east-1"},
      {"the action decides", at("localhost", "", "Action=Publish"), "sns", "Publish", "us-east-1"},
      {"an action of STS", at("127.0.0.1:4566", "", "Action=GetCallerIdentity"), "sts", "GetCallerIdentity",
       "us-east-1"},
      {"JSON by its target", post("/", "X-Amz-Target: AmazonSQS.SendMessage\r\n" + scope("eu-north-1", "sqs"), "{}"),
       "sqs", "SendMessage", "eu-north-1"},
      {"a queue's path", "GET /000000000000/work?Action=AddPermission HTTP/1.1\r\nHost: localhost\r\n\r\n", "sqs",
       "AddPermission", "us-east-1"},
      {"a presigned URL",
       "GET /?Action=Publish&X-Amz-Credential=AKID%2F20270115%2Feu-west-2%2Fsns%2Faws4_request HTTP/1.1\r\nHost: "
       "localhost\r\n\r\n",
       "sns", "Publish", "eu-west-2"},
      {"the action in the query string, the rest in the body",
       "POST /?Action=Publish HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nMessage=m", "sns", "Publish",
       "us-east-1"},
  };
  aws::Router router;
  for (const RouteCase& c : cases) {
    wire::http::RequestParser parser;
    ASSERT_EQ(parser.parse(c.request), wire::http::Parse::Complete) << c.what;
    aws::Route route;
    const auto error = router.route(parser.request(), aws::Head(parser.request()), "us-east-1", route);
    ASSERT_FALSE(error.has_value()) << c.what << ": " << error->message;
    EXPECT_EQ(aws::model_of(route.service).name, c.service) << c.what;
    EXPECT_EQ(route.operation->name, c.action) << c.what;
    EXPECT_EQ(route.region, c.region) << c.what;
  }
}

TEST(Development, ASignatureThatCannotBeReadIsRefusedAlsoWhereAnyKeyIsAccepted) {
  TestBroker broker;
  for (const char* authorization : {"AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 nonsense", "AWS4-HMAC-SHA256 Credential=", "AWS4-HMAC-SHA256 Credential=AKID"}) {
    const std::string answer = broker.send("POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n"
                                           "Authorization: " + std::string(authorization) + "\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_EQ(answer.substr(9, 3), "400") << authorization << answer;
    EXPECT_NE(answer.find("IncompleteSignature"), std::string::npos) << answer;
  }
  const std::string unsigned_request = broker.send("POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(unsigned_request.substr(9, 3), "200") << unsigned_request;
}

TEST(Credential, IsReadFromHeaderOrQuery) {
  wire::http::Form none;
  none.parse("");
  auto credential = aws::parse_credential(
      "AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=abc", none);
  EXPECT_TRUE(credential.present);
  EXPECT_EQ(credential.access_key, "AKID");
  EXPECT_EQ(credential.date, "20150830");
  EXPECT_EQ(credential.region, "us-east-1");
  EXPECT_EQ(credential.service, "sqs");
  EXPECT_FALSE(aws::parse_credential("", none).present);
  EXPECT_FALSE(aws::parse_credential("Basic abc", none).present);
  EXPECT_TRUE(aws::parse_credential("AWS4-HMAC-SHA256", none).present);
  EXPECT_EQ(aws::parse_credential("AWS4-HMAC-SHA256 Credential=AKID", none).access_key, "AKID");
  EXPECT_EQ(aws::parse_credential("AWS4-HMAC-SHA256 Credential=", none).access_key, "");
  wire::http::Form presigned;
  presigned.parse("X-Amz-Credential=AKID%2F20150830%2Fus-east-1%2Fsqs%2Faws4_request");
  credential = aws::parse_credential("", presigned);
  EXPECT_TRUE(credential.in_query);
  EXPECT_EQ(credential.service, "sqs");
}

/// A broker that checks signatures of one key.
struct Signed : testing::Test {
  static aws::DevelopmentAuthenticator::Options options(bool only) {
    aws::DevelopmentAuthenticator::Options options;
    options.verify_known_keys = true;
    options.only_known_keys = only;
    options.secrets.emplace("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
    return options;
  }
  static std::string signed_request(Timestamp time, std::string_view secret, std::string_view key = "AKIDEXAMPLE",
                                    std::string_view body = "{}") {
    const wire::http::Header fields[] = {{"Host", "localhost:4566"}, {"X-Amz-Target", "AmazonSQS.ListQueues"}};
    const wire::sigv4::RequestView view{"POST", "/", "", wire::http::Headers(fields), body};
    wire::sigv4::SigningKeyCache cache;
    const auto with =
        wire::sigv4::sign(view, {std::string(key), std::string(secret), ""}, {"us-east-1", "sqs", time}, cache);
    return post("/",
                "X-Amz-Target: AmazonSQS.ListQueues\r\nX-Amz-Date: " + with.date +
                    "\r\nAuthorization: " + with.authorization + "\r\n",
                body);
  }
  static constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
};

TEST_F(Signed, ARightSignatureIsAccepted) {
  TestBroker broker(options(true));
  const std::string answer = broker.send(signed_request(broker.now(), kSecret));
  EXPECT_EQ(parse_answer(answer).status, 200) << answer;
}

TEST_F(Signed, AWrongSignatureIsRefused) {
  TestBroker broker(options(false));
  const TestAnswer answer = parse_answer(broker.send(signed_request(broker.now(), "another secret")));
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("SignatureDoesNotMatch"), std::string::npos) << answer.body;
  EXPECT_EQ(answer.headers.at("x-amzn-query-error"), "SignatureDoesNotMatch;Sender");
  std::string tampered = signed_request(broker.now(), kSecret);
  tampered.back() = ' ';
  tampered[tampered.size() - 2] = '{';
  EXPECT_EQ(parse_answer(broker.send(tampered)).status, 403);
}

TEST_F(Signed, AnOldSignatureIsRefused) {
  TestBroker broker(options(false));
  const TestAnswer answer = parse_answer(broker.send(signed_request(broker.now() - std::chrono::minutes(16), kSecret)));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("RequestExpired"), std::string::npos) << answer.body;
}

TEST_F(Signed, AnIncompleteSignatureIsRefused) {
  TestBroker broker(options(false));
  const TestAnswer answer =
      parse_answer(broker.send(post("/",
                                    "X-Amz-Target: AmazonSQS.ListQueues\r\nAuthorization: AWS4-HMAC-SHA256 "
                                    "Credential=AKIDEXAMPLE/20270115/us-east-1/sqs/aws4_request\r\n",
                                    "{}")));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("IncompleteSignature"), std::string::npos) << answer.body;
}

TEST_F(Signed, OtherKeysAreAcceptedUnlessOnlyKnownOnesAre) {
  TestBroker lenient(options(false));
  EXPECT_EQ(parse_answer(lenient.send(signed_request(lenient.now(), "any", "OTHERKEY"))).status, 200);
  EXPECT_EQ(parse_answer(lenient.send(json_request("ListQueues", "{}"))).status, 200);
  TestBroker strict(options(true));
  TestAnswer answer = parse_answer(strict.send(signed_request(strict.now(), "any", "OTHERKEY")));
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("InvalidClientTokenId"), std::string::npos) << answer.body;
  answer = parse_answer(strict.send(json_request("ListQueues", "{}")));
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("MissingAuthenticationToken"), std::string::npos) << answer.body;
}

TEST(Service, QueueUrlsFollowTheHostThatTheClientUsed) {
  TestBroker broker;
  const auto create = [&](std::string_view head) {
    return parse_answer(
               broker.send(
                   "POST / HTTP/1.1\r\n" + std::string(head) +
                   "X-Amz-Target: AmazonSQS.CreateQueue\r\nContent-Length: 20\r\n\r\n{\"QueueName\":\"work\"} "))
        .body;
  };
  EXPECT_EQ(create("Host: broker:9324\r\n"), R"({"QueueUrl":"http://broker:9324/000000000000/work"})");
  EXPECT_EQ(create("Host: [::1]:4566\r\n"), R"({"QueueUrl":"http://[::1]:4566/000000000000/work"})");
  EXPECT_EQ(create("Host: broker\r\nX-Forwarded-Proto: https\r\n"),
            R"({"QueueUrl":"https://broker/000000000000/work"})");
}

TEST(Service, AHostThatCouldSmuggleAPathIsNotUsed) {
  TestBroker broker;
  wire::http::RequestParser parser;
  const std::string text = json_request("CreateQueue", R"({"QueueName":"work"})");
  ASSERT_EQ(parser.parse(text), wire::http::Parse::Complete);
  wire::http::Request request = parser.request();
  for (const std::string& host :
       {std::string(), std::string("a/b"), std::string("a?b"), std::string("a\"b"), std::string(256, 'a')}) {
    request.authority = host;
    EXPECT_EQ(parse_answer(broker.send(request)).body, R"({"QueueUrl":"http://localhost/000000000000/work"})") << host;
  }
}

TEST(Service, PagesOfForeignOriginsDoNothingInDevelopment) {
  TestBroker broker;
  const auto code = [&](std::string_view fields, std::string_view body = "Action=ListQueues") {
    broker.send(post("/", "Content-Type: application/x-www-form-urlencoded\r\n" + std::string(fields), body));
    return broker.last_outcome().error_code;
  };
  EXPECT_EQ(code(""), "");
  EXPECT_EQ(code("Origin: http://localhost:3000\r\n"), "");
  EXPECT_EQ(code("Origin: http://127.0.0.1:4580\r\nSec-Fetch-Site: same-site\r\n"), "");
  EXPECT_EQ(code("Origin: https://evil.example\r\n"), "AccessDenied");
  EXPECT_EQ(code("Origin: http://localhost.evil.example\r\n"), "AccessDenied");
  EXPECT_EQ(code("Origin: null\r\n"), "AccessDenied");
  EXPECT_EQ(code("Sec-Fetch-Site: cross-site\r\n"), "AccessDenied") << "an image, a form";
  EXPECT_EQ(code("Sec-Fetch-Site: cross-site\r\n", "Action=Unsubscribe&SubscriptionArn=x"), "InvalidParameter") << "a link is followed";
}

TEST(Service, RequestsHaveDifferentIds) {
  TestBroker broker;
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i)
    ids.insert(parse_answer(broker.send(json_request("ListQueues", "{}"))).headers.at("x-amzn-requestid"));
  EXPECT_EQ(ids.size(), 100u);
}

TEST(Service, KeepsTheConnectionAsTheRequestWants) {
  TestBroker broker;
  const std::string body = "Action=ListQueues&Version=2012-11-05";
  const auto headers = [&](std::string_view start, std::string_view more) {
    return parse_answer(broker.send(std::string(start) + "\r\nHost: localhost\r\n" + std::string(more) +
                                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body))
        .headers;
  };
  EXPECT_FALSE(headers("POST / HTTP/1.1", "").contains("connection"));
  EXPECT_EQ(headers("POST / HTTP/1.1", "Connection: close\r\n").at("connection"), "close");
}

TEST(Service, WritesTheDateThatItIsGiven) {
  TestBroker broker;
  EXPECT_FALSE(parse_answer(broker.send(json_request("ListQueues", "{}"))).headers.contains("date"));
  broker.service().set_date("Fri, 15 Jan 2027 08:00:00 GMT");
  EXPECT_EQ(parse_answer(broker.send(json_request("ListQueues", "{}"))).headers.at("date"),
            "Fri, 15 Jan 2027 08:00:00 GMT");
}

TEST(Service, RefusesForTheShell) {
  TestBroker broker;
  ReplyContext context;
  context.protocol = aws::Protocol::Json;
  std::string out;
  const Outcome outcome =
      broker.service().refuse(context, aws::CommonError::ServiceUnavailable, "The server stops.", out);
  EXPECT_EQ(outcome.status, 503);
  EXPECT_EQ(parse_answer(out).headers.at("x-amzn-query-error"), "ServiceUnavailable;Receiver");
  EXPECT_EQ(parse_answer(out).body,
            R"({"__type":"com.amazon.coral.service#ServiceUnavailable","message":"The server stops."})");
}

TEST(Service, TellsHowARequestEnded) {
  TestBroker broker;
  broker.send(json_request("ListQueues", "{}"));
  EXPECT_EQ(broker.last_outcome().service, "sqs");
  EXPECT_EQ(broker.last_outcome().action, "ListQueues");
  EXPECT_EQ(broker.last_outcome().error_code, "");
  broker.send(json_request("GetQueueUrl", R"({"QueueName":"none"})"));
  EXPECT_EQ(broker.last_outcome().error_code, "AWS.SimpleQueueService.NonExistentQueue");
  broker.send(query_request("Action=GetCallerIdentity"));
  EXPECT_EQ(broker.last_outcome().service, "sts");
}

}  // namespace
}  // namespace fanfare::api
