// Requests that no client should send: each is answered, with an error that says what is wrong, and nothing falls over.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/test_broker.h"

namespace fanfare::api {
namespace {

const std::string kJson = "Content-Type: application/x-amz-json-1.0\r\n";
const std::string kForm = "Content-Type: application/x-www-form-urlencoded\r\n";

std::string get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}
std::string target(std::string_view name) { return "X-Amz-Target: " + std::string(name) + "\r\n"; }

struct Case {
  std::string what;
  std::string request;
  int status;
  std::string contains;
};

std::vector<Case> cases() {
  const std::string queue = R"("QueueUrl":"http://localhost/000000000000/work")";
  const std::string send = target("AmazonSQS.SendMessage") + kJson;
  const auto json = [&](std::string_view body) { return json_request("SendMessage", body); };
  std::string noise;
  for (int i = 0; i < 4096; ++i) noise.push_back(static_cast<char>(i * 131 + i / 7));
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "&a=";
  std::string deep_list = R"({"X":)" + std::string(100, '[') + std::string(100, ']') + "}";
  std::string deep_object;
  for (int i = 0; i < 100'000; ++i) deep_object += R"({"a":)";

  return {
      // Routing.
      {"an unknown path", get("/nowhere"), 404, "UnknownOperationException"},
      {"health at the wrong port", get("/readyz"), 404, "health is told at /livez and /readyz of the admin port, serve --admin."},
      {"a path like a queue's with a short account", get("/000/work"), 404, "UnknownOperationException"},
      {"a GET without anything", get("/"), 400,
       "<Code>MissingAction</Code><Message>The request must contain the parameter Action. This is the endpoint of SNS, SQS and STS; health is told at "
       "/livez and /readyz of the admin port, serve --admin.</Message>"},
      {"a POST without anything", post("/", "", ""), 400, "<Code>MissingAction</Code>"},
      {"a form without an action", query_request("Version=2012-11-05"), 400,
       "<Code>MissingAction</Code><Message>The request must contain the parameter Action.</Message>"},
      {"an empty action", query_request("Action=&Version=2012-11-05"), 400, "<Code>MissingAction</Code>"},
      {"an unknown action of SQS", query_request("Action=Frobnicate&Version=2012-11-05"), 400,
       "<Code>InvalidAction</Code><Message>The action Frobnicate is not valid for this endpoint.</Message>"},
      {"an unknown action of SNS", query_request("Action=Frobnicate&Version=2010-03-31"), 400,
       "<Code>InvalidAction</Code><Message>Could not find operation Frobnicate for version 2010-03-31</Message>"},
      {"an action in the wrong case", query_request("Action=sendmessage&Version=2012-11-05"), 400, "InvalidAction"},
      {"an action of another service's version", query_request("Action=SendMessage&Version=2010-03-31"), 400,
       "InvalidAction"},
      {"an unknown target", post("/", target("AmazonSQS.Frobnicate") + kJson, "{}"), 404,
       "com.amazon.coral.service#UnknownOperationException"},
      {"another service's target", post("/", target("DynamoDB_20120810.PutItem") + kJson, "{}"), 404,
       "#UnknownOperationException"},
      {"a target without a dot", post("/", target("SendMessage") + kJson, "{}"), 404, "#UnknownOperationException"},
      {"a target with nothing behind the dot", post("/", target("AmazonSQS.") + kJson, "{}"), 404,
       "#UnknownOperationException"},
      {"a JSON target of SNS", post("/", target("AmazonSNS.Publish") + kJson, "{}"), 404, "#UnknownOperationException"},
      {"a very long target", post("/", target("AmazonSQS." + std::string(5000, 'x')) + kJson, "{}"), 404,
       "#UnknownOperationException"},
      {"JSON without a target", post("/", kJson, "{}"), 404, "<Code>UnknownOperationException</Code>"},
      {"a target with a form's content type", post("/", target("AmazonSQS.SendMessage") + kForm, "{}"), 404,
       "#UnknownOperationException"},
      {"a target with plain text", post("/", target("AmazonSQS.SendMessage") + "Content-Type: text/plain\r\n", "{}"),
       404, "application/x-amz-json-1.0"},
      {"a form as plain text", post("/", "Content-Type: text/plain\r\n", "Action=ListQueues"), 404,
       "application/x-www-form-urlencoded"},
      {"a target by GET", "GET / HTTP/1.1\r\nHost: localhost\r\n" + target("AmazonSQS.ListQueues") + "\r\n", 405,
       "MethodNotAllowed"},
      {"DELETE", "DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "MethodNotAllowed"},
      {"OPTIONS", "OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "MethodNotAllowed"},
      {"a compressed body", post("/", send + "Content-Encoding: gzip\r\n", "\x1f\x8b\x08"), 415, "gzip"},
      {"a compressed form", post("/", kForm + "Content-Encoding: deflate\r\n", "x"), 415, "deflate"},
      // JSON documents.
      {"an empty body", json(""), 400, "#SerializationException"},
      {"white space only", json("  \n"), 400, "#SerializationException"},
      {"text that is not JSON", json("hello"), 400, "#SerializationException"},
      {"a document that ends early", json(R"({"MessageBody":"a)"), 400, "#SerializationException"},
      {"more behind the document", json(R"({} {})"), 400, "#SerializationException"},
      {"a comma too many", json(R"({"MessageBody":"a",})"), 400, "#SerializationException"},
      {"a form where JSON is expected", json("Action=SendMessage"), 400, "#SerializationException"},
      {"an array", json("[]"), 400, "#SerializationException"},
      {"a string", json(R"("x")"), 400, "#SerializationException"},
      {"null", json("null"), 400, "#SerializationException"},
      {"a number", json("7"), 400, "#SerializationException"},
      {"binary noise", json(noise), 400, "#SerializationException"},
      {"bytes that are not UTF-8", json("{" + queue + ",\"MessageBody\":\"\xFF\xFE\"}"), 400,
       "#SerializationException"},
      {"a raw control character in a string", json("{" + queue + ",\"MessageBody\":\"a\nb\"}"), 400,
       "#SerializationException"},
      {"half a surrogate pair", json("{" + queue + R"(,"MessageBody":"\ud800"})"), 400, "#SerializationException"},
      {"an escape that does not exist", json("{" + queue + R"(,"MessageBody":"\q"})"), 400, "#SerializationException"},
      {"nesting in an unknown member", json(deep_list), 400, "#SerializationException"},
      {"nesting without end", json(deep_object), 400, "#SerializationException"},
      {"a number beyond 64 bits",
       json("{" + queue + R"(,"MessageBody":"m","DelaySeconds":99999999999999999999999999})"), 400,
       "#SerializationException"},
      {"a number beyond doubles", json("{" + queue + R"(,"MessageBody":"m","DelaySeconds":1e999})"), 400,
       "#SerializationException"},
      {"a number beyond 32 bits", json("{" + queue + R"(,"MessageBody":"m","DelaySeconds":2147483648})"), 400,
       "DelaySeconds"},
      {"a fraction", json("{" + queue + R"(,"MessageBody":"m","DelaySeconds":0.5})"), 400,
       "DelaySeconds must be a whole number."},
      // Members of the wrong type.
      {"QueueUrl as a number", json(R"({"QueueUrl":7,"MessageBody":"m"})"), 400,
       "QueueUrl must be of type String, not a number"},
      {"MessageBody as an object", json("{" + queue + R"(,"MessageBody":{}})"), 400,
       "MessageBody must be of type String, not an object"},
      {"MessageBody as a list", json("{" + queue + R"(,"MessageBody":["m"]})"), 400, "MessageBody"},
      {"MessageBody as a boolean", json("{" + queue + R"(,"MessageBody":true})"), 400, "MessageBody"},
      {"DelaySeconds as a string", json("{" + queue + R"(,"MessageBody":"m","DelaySeconds":"5"})"), 400,
       "DelaySeconds must be of type Integer, not a string"},
      {"MessageAttributes as a list", json("{" + queue + R"(,"MessageBody":"m","MessageAttributes":[]})"), 400,
       "MessageAttributes must be of type Map, not an array"},
      {"a message attribute as a string", json("{" + queue + R"(,"MessageBody":"m","MessageAttributes":{"a":"b"}})"),
       400, "#SerializationException"},
      {"a type as a number",
       json("{" + queue + R"(,"MessageBody":"m","MessageAttributes":{"a":{"DataType":1,"StringValue":"v"}}})"), 400,
       "DataType"},
      {"a binary value that is not Base64",
       json("{" + queue + R"(,"MessageBody":"m","MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"%%%"}}})"),
       400, "BinaryValue must be Base64, with its padding."},
      {"MessageGroupId as a number", json("{" + queue + R"(,"MessageBody":"m","MessageGroupId":1})"), 400,
       "MessageGroupId"},
      {"entries as an object", json_request("SendMessageBatch", "{" + queue + R"(,"Entries":{}})"), 400, "Entries"},
      {"an entry as a string", json_request("SendMessageBatch", "{" + queue + R"(,"Entries":["a"]})"), 400,
       "#SerializationException"},
      {"names as a string", json_request("GetQueueAttributes", "{" + queue + R"(,"AttributeNames":"All"})"), 400,
       "AttributeNames must be of type List, not a string"},
      {"attributes as a list", json_request("CreateQueue", R"({"QueueName":"q","Attributes":[]})"), 400, "Attributes"},
      {"an attribute as a number", json_request("CreateQueue", R"({"QueueName":"q","Attributes":{"DelaySeconds":5}})"),
       400, "The value of DelaySeconds in Attributes must be of type String, not a number."},
      {"a name as a number", json_request("GetQueueAttributes", "{" + queue + R"(,"AttributeNames":["All",5]})"), 400,
       "Each element of AttributeNames must be of type String, not a number."},
      {"tags as a list", json_request("TagQueue", "{" + queue + R"(,"Tags":["a"]})"), 400, "Tags"},
      {"MaxResults as a string", json_request("ListQueues", R"({"MaxResults":"10"})"), 400, "MaxResults"},
      // Members.
      {"no member at all", json("{}"), 400, "#MissingRequiredParameterException"},
      {"members that are null", json(R"({"QueueUrl":null,"MessageBody":null})"), 400,
       "#MissingRequiredParameterException"},
      {"members in the wrong case", json(R"({"queueUrl":"http://localhost/000000000000/work","messageBody":"m"})"), 400,
       "QueueUrl"},
      {"a queue URL of nothing but a scheme", json(R"({"QueueUrl":"http://","MessageBody":"m"})"), 400,
       "#QueueDoesNotExist"},
      {"a queue URL of slashes", json(R"({"QueueUrl":"////","MessageBody":"m"})"), 404, "#InvalidAddress"},
      {"a queue name that cannot exist", json(R"({"QueueUrl":"http://h/000000000000/a b\u0000","MessageBody":"m"})"),
       400, "#QueueDoesNotExist"},
      {"the same attribute twice",
       json("{" + queue +
            R"(,"MessageBody":"m","MessageAttributes":{"a":{"DataType":"String","StringValue":"1"},)"
            R"("a":{"DataType":"String","StringValue":"2"}}})"),
       400, "is given more than once"},
      // Forms.
      {"a percent sign at the end", query_request("Action=ListQueues%"), 400, "<Code>MalformedQueryString</Code>"},
      {"a percent sign without digits", query_request("Action=ListQueues&a=%zz"), 400,
       "<Code>MalformedQueryString</Code>"},
      {"a broken query string", get("/?Action=%"), 400, "<Code>MalformedQueryString</Code>"},
      {"form bytes that are not UTF-8", query_request("Action=SendMessage&MessageBody=%FF%FE"), 400, "UTF-8"},
      {"raw bytes that are not UTF-8", query_request("Action=SendMessage&MessageBody=\xFF"), 400, "UTF-8"},
      {"too many parameters", query_request("Action=ListQueues" + many), 400, "10000"},
      {"binary noise as a form", query_request(noise), 400, "<Code>M"},
      {"JSON as a form", query_request(R"({"QueueName":"q"})"), 400, "<Code>MissingAction</Code>"},
      {"a number that is none", query_request("Action=ReceiveMessage&QueueUrl=/000000000000/work&WaitTimeSeconds=x"),
       400,
       "<Code>InvalidParameterValue</Code><Message>Value for parameter WaitTimeSeconds is invalid. Reason: Must be of "
       "type Integer."},
      {"a giant number",
       query_request("Action=ReceiveMessage&QueueUrl=/000000000000/work&WaitTimeSeconds=" + std::string(400, '9')), 400,
       "WaitTimeSeconds"},
      {"a boolean that is none",
       query_request(
           "Action=Subscribe&TopicArn=arn:aws:sns:us-east-1:000000000000:t&Protocol=sqs&ReturnSubscriptionArn=2"),
       400, "ReturnSubscriptionArn"},
      {"Base64 that is none",
       query_request("Action=SendMessage&QueueUrl=/000000000000/work&MessageBody=m&MessageAttribute.1.Name=a&"
                     "MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=%25"),
       400, "BinaryValue"},
      {"numbered and unnumbered elements",
       query_request("Action=CreateQueue&QueueName=q&Attribute.2.Name=DelaySeconds&Attribute.2.Value=1&Attribute.Name="
                     "DelaySeconds"),
       400, "<Code>MalformedQueryString</Code>"},
      {"an attribute without a name", query_request("Action=CreateQueue&QueueName=q&Attribute.1.Value=1"), 400,
       "<Code>InvalidAttributeName</Code>"},
      {"markup in an action", query_request("Action=%3Cscript%3E&Version=2012-11-05"), 400, "&lt;script&gt;"},
      // Sizes.
      {"a body beyond all limits", json(std::string((std::size_t{8} << 20) + 1, ' ')), 413,
       "RequestEntityTooLargeException"},
      {"a form beyond all limits",
       query_request("Action=SendMessage&MessageBody=" + std::string(std::size_t{8} << 20, 'x')), 413,
       "RequestEntityTooLarge"},
      {"a message beyond its limit", json("{" + queue + R"(,"MessageBody":")" + std::string(1'048'577, 'x') + "\"}"),
       400, "Message must be shorter than 1048576 bytes."},
  };
}

TEST(Malformed, EveryRequestIsAnsweredWithAnErrorThatSaysWhatIsWrong) {
  TestBroker broker;
  EXPECT_EQ(parse_answer(broker.send(json_request("CreateQueue", R"({"QueueName":"work"})"))).status, 200);
  int count = 0;
  for (const Case& c : cases()) {
    ++count;
    const TestAnswer answer = parse_answer(broker.send(c.request));
    EXPECT_EQ(answer.status, c.status) << c.what << "\n" << answer.body.substr(0, 1000);
    EXPECT_NE(answer.body.find(c.contains), std::string::npos) << c.what << "\n" << answer.body.substr(0, 1000);
    EXPECT_EQ(answer.headers.at("x-amzn-requestid").size(), 36u) << c.what;
    EXPECT_EQ(answer.headers.at("content-length"), std::to_string(answer.body.size())) << c.what;
    EXPECT_EQ(broker.last_outcome().status, c.status) << c.what;
    EXPECT_FALSE(broker.last_outcome().error_code.empty()) << c.what;
    EXPECT_EQ(answer.headers.count("allow"), c.status == 405 ? 1u : 0u) << c.what;
  }
  EXPECT_GE(count, 40);
  // And the broker still works.
  EXPECT_EQ(parse_answer(broker.send(json_request("ListQueues", "{}"))).body,
            R"({"QueueUrls":["http://localhost:4566/000000000000/work"]})");
}

TEST(Malformed, EveryPrefixOfAGoodBodyIsAnswered) {
  TestBroker broker;
  broker.send(json_request("CreateQueue", R"({"QueueName":"work"})"));
  const std::string json =
      R"({"QueueUrl":"http://localhost/000000000000/work","MessageBody":"m\u00e4","DelaySeconds":1,"MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AAEC"}}})";
  for (std::size_t size = 0; size < json.size(); ++size) {
    EXPECT_EQ(parse_answer(broker.send(json_request("SendMessage", json.substr(0, size)))).status, 400) << size;
  }
  const std::string form =
      "Action=SendMessage&QueueUrl=http%3A%2F%2Flocalhost%2F000000000000%2Fwork&MessageBody=m%C3%A4&MessageAttribute.1."
      "Name=a&"
      "MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AAEC";
  for (std::size_t size = 0; size <= form.size(); ++size) {
    const int status = parse_answer(broker.send(query_request(form.substr(0, size)))).status;
    EXPECT_TRUE(status == 200 || status == 400 || status == 404) << size << " " << status;
  }
}

TEST(Malformed, EveryByteCanBeChangedWithoutHarm) {
  TestBroker broker;
  broker.send(json_request("CreateQueue", R"({"QueueName":"work"})"));
  const std::string json =
      R"({"QueueUrl":"http://localhost/000000000000/work","MessageBody":"m","DelaySeconds":1,"MessageAttributes":{"a":{"DataType":"String","StringValue":"v"}}})";
  Rng rng(7);
  for (int i = 0; i < 5'000; ++i) {
    std::string changed = json;
    for (std::uint64_t k = 0, n = 1 + rng.below(3); k < n; ++k)
      changed[rng.below(changed.size())] = static_cast<char>(rng.below(256));
    const int status = parse_answer(broker.send(json_request("SendMessage", changed))).status;
    EXPECT_TRUE(status == 200 || status == 400 || status == 404) << changed << " " << status;
  }
}

}  // namespace
}  // namespace fanfare::api
