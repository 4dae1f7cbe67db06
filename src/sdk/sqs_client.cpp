// SQS over AWS JSON 1.0. [SQS API reference], facts: X-Amz-Target names the action, errors carry __type and x-amzn-query-error.
#include <fmt/format.h>

#include <algorithm>

#include "sdk/signed_call.h"
#include "wire/digest/encoding.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::sdk {
namespace json = wire::json;
namespace digest = wire::digest;
namespace {

Error malformed(std::string_view what, const TransportResponse& response) {
  return Error{.kind = ErrorKind::Malformed,
               .message = fmt::format("{} (status {}, {} bytes)", what, response.status, response.body.size()),
               .request_id = response.header("x-amzn-RequestId"),
               .status = response.status};
}

Error error_of(const TransportResponse& response) {
  const auto document = json::parse(response.body);
  if (!document || !document->is_object()) return malformed("the error is no JSON object", response);
  std::string type{document->find_string("__type").value_or("")};
  if (const auto hash = type.rfind('#'); hash != std::string::npos) type.erase(0, hash + 1);
  // "AWS.SimpleQueueService.NonExistentQueue;Sender": the code that programs know from the Query protocol.
  const std::string query_error = response.header("x-amzn-query-error");
  std::string code = query_error.substr(0, query_error.find(';'));
  if (code.empty()) code = type;
  std::string message{document->find_string("message").value_or(document->find_string("Message").value_or(""))};
  return service_error(response.status, std::move(code), std::move(message), response.header("x-amzn-RequestId"));
}

void write_attributes(json::Writer& out, const std::vector<MessageAttribute>& attributes) {
  if (attributes.empty()) return;
  out.key("MessageAttributes").begin_object();
  for (const MessageAttribute& attribute : attributes) {
    out.key(attribute.name).begin_object().key("DataType").string(attribute.type);
    if (attribute.type.starts_with("Binary"))
      out.key("BinaryValue").string(digest::base64(attribute.value));
    else
      out.key("StringValue").string(attribute.value);
    out.end_object();
  }
  out.end_object();
}

void write_entry(json::Writer& out, const SendEntry& entry) {
  out.key("MessageBody").string(entry.body);
  if (entry.delay) out.key("DelaySeconds").integer(entry.delay->count());
  if (entry.group_id) out.key("MessageGroupId").string(*entry.group_id);
  if (entry.deduplication_id) out.key("MessageDeduplicationId").string(*entry.deduplication_id);
  write_attributes(out, entry.attributes);
}

void write_map(json::Writer& out, std::string_view key, const std::map<std::string, std::string>& map) {
  if (map.empty()) return;
  out.key(key).begin_object();
  for (const auto& [name, value] : map) out.key(name).string(value);
  out.end_object();
}

SendReceipt receipt_of(const json::Value& value) {
  return SendReceipt{std::string{value.find_string("MessageId").value_or("")},
                     std::string{value.find_string("SequenceNumber").value_or("")}};
}

/// Reads {"Successful":[{"Id":"0",..}],"Failed":[{"Id":"1","Code":..}]} into the order of the request.
template <class T, class Make>
BatchResults<T> batch_results(const json::Value& document, std::size_t count, Make make) {
  BatchResults<T> results(count, Error{.kind = ErrorKind::Malformed, .message = "the service named the entry in neither list"});
  const auto index_of = [&](const json::Value& entry) {
    std::size_t index = count;
    const std::string_view id = entry.find_string("Id").value_or("");
    if (!id.empty() && id.size() <= 2 && std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; }))
      index = static_cast<std::size_t>(std::stoul(std::string{id}));
    return index;
  };
  if (const json::Value* list = document.find("Successful"))
    for (const json::Value& entry : list->items())
      if (const std::size_t index = index_of(entry); index < count) results[index] = make(entry);
  if (const json::Value* list = document.find("Failed"))
    for (const json::Value& entry : list->items())
      if (const std::size_t index = index_of(entry); index < count) {
        const json::Value* sender = entry.find("SenderFault");
        const bool senders = sender != nullptr && sender->as_bool().value_or(false);
        results[index] = service_error(senders ? 400 : 500, std::string{entry.find_string("Code").value_or("")},
                                       std::string{entry.find_string("Message").value_or("")}, {});
      }
  return results;
}

ReceivedMessage message_of(const json::Value& value) {
  ReceivedMessage message;
  message.message_id = value.find_string("MessageId").value_or("");
  message.receipt_handle = value.find_string("ReceiptHandle").value_or("");
  message.body = value.find_string("Body").value_or("");
  if (const json::Value* attributes = value.find("Attributes"))
    for (const json::Member& member : attributes->members())
      message.system_attributes.emplace(member.key, member.value.as_string().value_or(""));
  if (const json::Value* attributes = value.find("MessageAttributes"))
    for (const json::Member& member : attributes->members()) {
      MessageAttribute attribute{member.key, std::string{member.value.find_string("DataType").value_or("String")}, {}};
      if (const auto binary = member.value.find_string("BinaryValue"))
        attribute.value = digest::decode_base64(*binary).value_or("");
      else
        attribute.value = member.value.find_string("StringValue").value_or("");
      message.attributes.push_back(std::move(attribute));
    }
  return message;
}

class JsonSqsClient final : public SqsClient {
 public:
  JsonSqsClient(ClientOptions options, std::shared_ptr<CredentialsProvider> credentials, std::shared_ptr<Transport> transport)
      : caller_(std::move(options), "sqs", std::move(credentials), std::move(transport)) {}

  Awaitable<Result<std::string, Error>> create_queue(std::string name, std::map<std::string, std::string> attributes) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueName").string(name);
    write_map(out, "Attributes", attributes);
    out.end_object();
    auto calling = call("CreateQueue", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return std::string{answer->find_string("QueueUrl").value_or("")};
  }

  Awaitable<Result<std::string, Error>> get_queue_url(std::string name) override {
    std::string body;
    json::Writer{body}.begin_object().key("QueueName").string(name).end_object();
    auto calling = call("GetQueueUrl", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return std::string{answer->find_string("QueueUrl").value_or("")};
  }

  Awaitable<Result<Success, Error>> delete_queue(std::string queue_url) override {
    std::string body;
    json::Writer{body}.begin_object().key("QueueUrl").string(queue_url).end_object();
    auto calling = call("DeleteQueue", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return Success{};
  }

  Awaitable<Result<std::map<std::string, std::string>, Error>> get_queue_attributes(std::string queue_url,
                                                                                    std::vector<std::string> names) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueUrl").string(queue_url).key("AttributeNames").begin_array();
    for (const std::string& name : names) out.string(name);
    out.end_array().end_object();
    auto calling = call("GetQueueAttributes", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    std::map<std::string, std::string> attributes;
    if (const json::Value* map = answer->find("Attributes"))
      for (const json::Member& member : map->members()) attributes.emplace(member.key, member.value.as_string().value_or(""));
    co_return attributes;
  }

  Awaitable<Result<Success, Error>> set_queue_attributes(std::string queue_url,
                                                         std::map<std::string, std::string> attributes) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueUrl").string(queue_url);
    write_map(out, "Attributes", attributes);
    out.end_object();
    auto calling = call("SetQueueAttributes", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return Success{};
  }

  Awaitable<Result<SendReceipt, Error>> send_message(std::string queue_url, SendEntry entry) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueUrl").string(queue_url);
    write_entry(out, entry);
    out.end_object();
    auto calling = call("SendMessage", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return receipt_of(*answer);
  }

  Awaitable<Result<BatchResults<SendReceipt>, Error>> send_message_batch(std::string queue_url,
                                                                         std::vector<SendEntry> entries) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueUrl").string(queue_url).key("Entries").begin_array();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      out.begin_object().key("Id").string(std::to_string(i));
      write_entry(out, entries[i]);
      out.end_object();
    }
    out.end_array().end_object();
    auto calling = call("SendMessageBatch", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return batch_results<SendReceipt>(*answer, entries.size(), receipt_of);
  }

  Awaitable<Result<std::vector<ReceivedMessage>, Error>> receive_message(std::string queue_url, ReceiveOptions options) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueUrl").string(queue_url);
    out.key("MaxNumberOfMessages").integer(options.max_messages).key("WaitTimeSeconds").integer(options.wait.count());
    if (options.visibility_timeout) out.key("VisibilityTimeout").integer(options.visibility_timeout->count());
    out.key("MessageSystemAttributeNames").begin_array().string("All").end_array();
    out.key("MessageAttributeNames").begin_array().string("All").end_array().end_object();
    auto calling = call("ReceiveMessage", std::move(body), options.wait);
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    std::vector<ReceivedMessage> messages;
    if (const json::Value* list = answer->find("Messages"))
      for (const json::Value& message : list->items()) messages.push_back(message_of(message));
    co_return messages;
  }

  Awaitable<Result<BatchResults<Success>, Error>> delete_message_batch(std::string queue_url,
                                                                       std::vector<std::string> receipt_handles) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueUrl").string(queue_url).key("Entries").begin_array();
    for (std::size_t i = 0; i < receipt_handles.size(); ++i)
      out.begin_object().key("Id").string(std::to_string(i)).key("ReceiptHandle").string(receipt_handles[i]).end_object();
    out.end_array().end_object();
    auto calling = call("DeleteMessageBatch", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return batch_results<Success>(*answer, receipt_handles.size(), [](const json::Value&) { return Success{}; });
  }

  Awaitable<Result<BatchResults<Success>, Error>> change_message_visibility_batch(std::string queue_url,
                                                                                  std::vector<VisibilityChange> changes) override {
    std::string body;
    json::Writer out{body};
    out.begin_object().key("QueueUrl").string(queue_url).key("Entries").begin_array();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      out.begin_object().key("Id").string(std::to_string(i)).key("ReceiptHandle").string(changes[i].receipt_handle);
      out.key("VisibilityTimeout").integer(changes[i].timeout.count()).end_object();
    }
    out.end_array().end_object();
    auto calling = call("ChangeMessageVisibilityBatch", std::move(body));
    const auto answer = co_await std::move(calling);
    if (!answer) co_return answer.error();
    co_return batch_results<Success>(*answer, changes.size(), [](const json::Value&) { return Success{}; });
  }

 private:
  Awaitable<Result<json::Value, Error>> call(std::string action, std::string body, milliseconds extra_time = milliseconds{0}) {
    std::vector<std::pair<std::string, std::string>> headers{{"Content-Type", "application/x-amz-json-1.0"},
                                                             {"X-Amz-Target", "AmazonSQS." + action}};
    auto posting = caller_.post(std::move(headers), std::move(body), extra_time);
    const Result<TransportResponse, Error> response = co_await std::move(posting);
    if (!response) co_return response.error();
    if (response->status != 200) co_return error_of(*response);
    if (response->body.empty()) co_return json::Value::object({});
    auto document = json::parse(response->body);
    if (!document || !document->is_object()) co_return malformed("the answer is no JSON object", *response);
    co_return std::move(*document);
  }

  SignedCaller caller_;
};

}  // namespace

std::shared_ptr<SqsClient> make_sqs_client(ClientOptions options, std::shared_ptr<CredentialsProvider> credentials,
                                           std::shared_ptr<Transport> transport) {
  return std::make_shared<JsonSqsClient>(std::move(options), std::move(credentials), std::move(transport));
}

}  // namespace fanfare::sdk
