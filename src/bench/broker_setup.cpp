#include "bench/broker_setup.h"

#include <fmt/format.h>

#include "bench/answer.h"

namespace fanfare::bench {
namespace {

Protocol protocol_of(const Endpoint& endpoint, Action action) {
  return is_of_sns(action) ? Protocol::Query : endpoint.protocol;
}

template <class Fill>
Result<std::string, Trouble> call(const Endpoint& endpoint, Action action, const Fill& fill) {
  std::string text;
  Body body{endpoint.protocol, action, text};
  fill(body);
  body.finish();
  return call_once(endpoint, action, text);
}

Result<std::string, Trouble> named(const Endpoint& endpoint, Action action, const Result<std::string, Trouble>& answer,
                                   std::string_view name) {
  if (!answer) return answer.error();
  auto found = find_text(*answer, protocol_of(endpoint, action), name);
  if (!found)
    return Trouble{fmt::format("{}: the answer has no {}: {}", name_of(action), name, answer->substr(0, 200))};
  return {boost::system::in_place_value, std::move(*found)};
}

Result<Success, Trouble> done(const Result<std::string, Trouble>& answer) {
  if (!answer) return answer.error();
  return Success{};
}

}  // namespace

Result<std::string, Trouble> create_queue(const Endpoint& endpoint, std::string_view name, const Pairs& attributes) {
  const auto answer = call(endpoint, Action::CreateQueue, [&](Body& body) {
    body.text("QueueName", name);
    if (!attributes.empty()) body.map("Attributes", "Attribute", attributes);
  });
  return named(endpoint, Action::CreateQueue, answer, "QueueUrl");
}

Result<Success, Trouble> delete_queue(const Endpoint& endpoint, std::string_view url) {
  return done(call(endpoint, Action::DeleteQueue, [&](Body& body) { body.text("QueueUrl", url); }));
}

Result<std::string, Trouble> queue_attribute(const Endpoint& endpoint, std::string_view url, std::string_view name) {
  const auto answer = call(endpoint, Action::GetQueueAttributes, [&](Body& body) {
    body.text("QueueUrl", url).list("AttributeNames", "AttributeName", {name});
  });
  return named(endpoint, Action::GetQueueAttributes, answer, endpoint.protocol == Protocol::Json ? name : "Value");
}

Result<std::string, Trouble> create_topic(const Endpoint& endpoint, std::string_view name) {
  return named(endpoint, Action::CreateTopic,
               call(endpoint, Action::CreateTopic, [&](Body& body) { body.text("Name", name); }), "TopicArn");
}

Result<Success, Trouble> delete_topic(const Endpoint& endpoint, std::string_view arn) {
  return done(call(endpoint, Action::DeleteTopic, [&](Body& body) { body.text("TopicArn", arn); }));
}

Result<Success, Trouble> subscribe(const Endpoint& endpoint, std::string_view topic, std::string_view queue_arn,
                                   bool raw) {
  return done(call(endpoint, Action::Subscribe, [&](Body& body) {
    body.text("TopicArn", topic).text("Protocol", "sqs").text("Endpoint", queue_arn);
    if (raw) body.map("Attributes", "Attributes", {{"RawMessageDelivery", "true"}});
  }));
}

std::string policy_for(std::string_view topic, std::string_view queue_arn) {
  return fmt::format(
      R"({{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Principal":{{"Service":"sns.amazonaws.com"}},)"
      R"("Action":"sqs:SendMessage","Resource":"{}","Condition":{{"ArnEquals":{{"aws:SourceArn":"{}"}}}}}}]}})",
      queue_arn, topic);
}

}  // namespace fanfare::bench
