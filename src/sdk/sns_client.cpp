// SNS over AWS Query: form in, XML out. Version 2010-03-31; lists are `X.member.N`, maps `X.entry.N.key`.
#include <fmt/format.h>

#include <pugixml.hpp>

#include "fanfare/sns.h"
#include "sdk/signed_call.h"
#include "wire/digest/encoding.h"
#include "wire/http/url.h"

namespace fanfare::sdk {
namespace digest = wire::digest;
namespace http = wire::http;
namespace {

class FormWriter {
 public:
  FormWriter& add(std::string_view name, std::string_view value) {
    http::append_form_field(text_, name, value);
    return *this;
  }
  void add_map(std::string_view name, const std::map<std::string, std::string>& map) {
    int n = 0;
    for (const auto& [key, value] : map) {
      ++n;
      add(fmt::format("{}.entry.{}.key", name, n), key);
      add(fmt::format("{}.entry.{}.value", name, n), value);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_entry(FormWriter& form, const std::string& prefix, const PublishEntry& entry) {
  form.add(prefix + "Message", entry.message);
  if (!entry.subject.empty()) form.add(prefix + "Subject", entry.subject);
  if (entry.group_id) form.add(prefix + "MessageGroupId", *entry.group_id);
  if (entry.deduplication_id) form.add(prefix + "MessageDeduplicationId", *entry.deduplication_id);
  int n = 0;
  for (const MessageAttribute& attribute : entry.attributes) {
    const std::string at = fmt::format("{}MessageAttributes.entry.{}.", prefix, ++n);
    form.add(at + "Name", attribute.name).add(at + "Value.DataType", attribute.type);
    if (attribute.type.starts_with("Binary"))
      form.add(at + "Value.BinaryValue", digest::base64(attribute.value));
    else
      form.add(at + "Value.StringValue", attribute.value);
  }
}

Error malformed(std::string_view what, const TransportResponse& response) {
  return Error{.kind = ErrorKind::Malformed,
               .message = fmt::format("{} (status {}, {} bytes)", what, response.status, response.body.size()),
               .request_id = response.header("x-amzn-RequestId"),
               .status = response.status};
}

SendReceipt receipt_of(const pugi::xml_node& node) {
  return SendReceipt{node.child_value("MessageId"), node.child_value("SequenceNumber")};
}

class QuerySnsClient final : public SnsClient {
 public:
  QuerySnsClient(ClientOptions options, std::shared_ptr<CredentialsProvider> credentials, std::shared_ptr<Transport> transport)
      : caller_(std::move(options), "sns", std::move(credentials), std::move(transport)) {}

  Awaitable<Result<std::string, Error>> create_topic(std::string name, std::map<std::string, std::string> attributes) override {
    FormWriter form = action("CreateTopic");
    form.add("Name", name);
    form.add_map("Attributes", attributes);
    auto calling = call_for_text("CreateTopic", form.take(), "TopicArn");
    co_return co_await std::move(calling);
  }

  Awaitable<Result<Success, Error>> delete_topic(std::string topic_arn) override {
    FormWriter form = action("DeleteTopic");
    form.add("TopicArn", topic_arn);
    auto calling = call("DeleteTopic", form.take());
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return Success{};
  }

  Awaitable<Result<std::string, Error>> subscribe(std::string topic_arn, std::string protocol, std::string endpoint,
                                                  std::map<std::string, std::string> attributes) override {
    FormWriter form = action("Subscribe");
    form.add("TopicArn", topic_arn).add("Protocol", protocol).add("Endpoint", endpoint).add("ReturnSubscriptionArn", "true");
    form.add_map("Attributes", attributes);
    auto calling = call_for_text("Subscribe", form.take(), "SubscriptionArn");
    co_return co_await std::move(calling);
  }

  Awaitable<Result<Success, Error>> unsubscribe(std::string subscription_arn) override {
    FormWriter form = action("Unsubscribe");
    form.add("SubscriptionArn", subscription_arn);
    auto calling = call("Unsubscribe", form.take());
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return Success{};
  }

  Awaitable<Result<SendReceipt, Error>> publish(std::string topic_arn, PublishEntry entry) override {
    FormWriter form = action("Publish");
    form.add("TopicArn", topic_arn);
    add_entry(form, "", entry);
    auto calling = call("Publish", form.take());
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return receipt_of(result_node(**answer, "Publish"));
  }

  Awaitable<Result<BatchResults<SendReceipt>, Error>> publish_batch(std::string topic_arn,
                                                                    std::vector<PublishEntry> entries) override {
    FormWriter form = action("PublishBatch");
    form.add("TopicArn", topic_arn);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string prefix = fmt::format("PublishBatchRequestEntries.member.{}.", i + 1);
      form.add(prefix + "Id", std::to_string(i));
      add_entry(form, prefix, entries[i]);
    }
    auto calling = call("PublishBatch", form.take());
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    BatchResults<SendReceipt> results(entries.size(),
                                      Error{.kind = ErrorKind::Malformed, .message = "the service named the entry in neither list"});
    const pugi::xml_node result = result_node(**answer, "PublishBatch");
    for (const pugi::xml_node& member : result.child("Successful").children("member"))
      if (const std::size_t index = member.child("Id").text().as_uint(~0u); index < results.size()) results[index] = receipt_of(member);
    for (const pugi::xml_node& member : result.child("Failed").children("member"))
      if (const std::size_t index = member.child("Id").text().as_uint(~0u); index < results.size())
        results[index] = service_error(member.child("SenderFault").text().as_bool() ? 400 : 500, member.child_value("Code"),
                                       member.child_value("Message"), {});
    co_return results;
  }

 private:
  using Document = std::shared_ptr<pugi::xml_document>;  // shared: pugixml documents do not move in 1.13 without care

  static FormWriter action(std::string_view name) {
    FormWriter form;
    form.add("Action", name).add("Version", "2010-03-31");
    return form;
  }

  static pugi::xml_node result_node(const pugi::xml_document& document, const std::string& name) {
    return document.child((name + "Response").c_str()).child((name + "Result").c_str());
  }

  Awaitable<Result<std::string, Error>> call_for_text(std::string name, std::string body, std::string element) {
    auto calling = call(name, std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return std::string{result_node(**answer, name).child_value(element.c_str())};
  }

  Awaitable<Result<Document, Error>> call(std::string name, std::string body) {
    std::vector<std::pair<std::string, std::string>> headers{{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
    auto posting = caller_.post(std::move(headers), std::move(body));
    const Result<TransportResponse, Error> response = co_await std::move(posting);
    if (!response) co_return response.error();
    auto document = std::make_shared<pugi::xml_document>();
    if (!document->load_buffer(response->body.data(), response->body.size()))
      co_return malformed("the answer is no XML", *response);
    if (response->status != 200) {
      const pugi::xml_node root = document->child("ErrorResponse");
      const pugi::xml_node error = root.child("Error");
      if (!error) co_return malformed("the error has no <Error>", *response);
      co_return service_error(response->status, error.child_value("Code"), error.child_value("Message"), root.child_value("RequestId"));
    }
    if (!document->child((name + "Response").c_str())) co_return malformed("the answer is not for " + name, *response);
    co_return document;
  }

  SignedCaller caller_;
};

}  // namespace

std::shared_ptr<SnsClient> make_sns_client(ClientOptions options, std::shared_ptr<CredentialsProvider> credentials,
                                           std::shared_ptr<Transport> transport) {
  return std::make_shared<QuerySnsClient>(std::move(options), std::move(credentials), std::move(transport));
}

}  // namespace fanfare::sdk
