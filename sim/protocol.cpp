// Requests in JSON and Query, and the answers, read without the code of the broker's own codecs.
#include "sim/protocol.h"

#include <fmt/format.h>

#include <charconv>

#include "sim/oracle.h"
#include "wire/digest/encoding.h"
#include "wire/json/reader.h"
#include "wire/json/writer.h"

namespace fanfare::sim {
namespace {

namespace json = wire::json;

// Two-byte and three-byte characters, and all that JSON, XML and forms must escape.
constexpr std::string_view kPiece = "ab <&>\"'\\ \xc3\xa9\xe2\x82\xac\n\t%+=;";

}  // namespace

std::string_view name_of(Action action) {
  switch (action) {
    case Action::CreateQueue: return "CreateQueue";
    case Action::DeleteQueue: return "DeleteQueue";
    case Action::SetAttributes: return "SetQueueAttributes";
    case Action::Attributes: return "GetQueueAttributes";
    case Action::Send: return "SendMessage";
    case Action::SendBatch: return "SendMessageBatch";
    case Action::Receive: return "ReceiveMessage";
    case Action::Delete: return "DeleteMessage";
    case Action::DeleteBatch: return "DeleteMessageBatch";
    case Action::Change: return "ChangeMessageVisibility";
    case Action::ChangeBatch: return "ChangeMessageVisibilityBatch";
    case Action::Purge: return "PurgeQueue";
    case Action::StartMove: return "StartMessageMoveTask";
    case Action::CancelMove: return "CancelMessageMoveTask";
    case Action::ListMoves: return "ListMessageMoveTasks";
    case Action::CreateTopic: return "CreateTopic";
    case Action::DeleteTopic: return "DeleteTopic";
    case Action::SetSubscription: return "SetSubscriptionAttributes";
    case Action::Subscribe: return "Subscribe";
    case Action::Unsubscribe: return "Unsubscribe";
    case Action::Publish: return "Publish";
    case Action::PublishBatch: return "PublishBatch";
  }
  return "";
}

namespace {

bool is_topic_action(Action action) { return action >= Action::CreateTopic; }

std::string post(std::string_view headers, std::string_view body) {
  return fmt::format("POST / HTTP/1.1\r\nHost: localhost:4566\r\n{}Content-Length: {}\r\n\r\n{}", headers, body.size(), body);
}

void json_message(json::Writer& out, const Entry& entry) {
  out.key("MessageBody").string(body_of(entry.token, entry.body_bytes));
  if (entry.delay) out.key("DelaySeconds").integer(*entry.delay);
  if (!entry.group.empty()) out.key("MessageGroupId").string(entry.group);
  if (!entry.dedup.empty() && !entry.hashed) out.key("MessageDeduplicationId").string(entry.dedup);
  if (!entry.attribute && entry.kind.empty()) return;
  out.key("MessageAttributes").begin_object();
  const auto add = [&](std::string_view name, std::string_view value) {
    out.key(name).begin_object().key("DataType").string("String").key("StringValue").string(value).end_object();
  };
  if (entry.attribute) add(kAttributeName, entry.token);
  if (!entry.kind.empty()) add(kKindName, entry.kind);
  out.end_object();
}

std::string encode_json(const Call& call, std::string_view target) {
  std::string body;
  json::Writer out{body};
  out.begin_object();
  switch (call.action) {
    case Action::CreateQueue: out.key("QueueName").string(target); break;
    case Action::StartMove:
    case Action::ListMoves: out.key("SourceArn").string(queue_arn(target)); break;
    case Action::CancelMove: out.key("TaskHandle").string(call.task); break;
    default: out.key("QueueUrl").string(queue_url(target));
  }
  switch (call.action) {
    case Action::CreateQueue:
    case Action::SetAttributes:
      out.key("Attributes").begin_object();
      for (const auto& [name, value] : call.attributes) out.key(name).string(value);
      out.end_object();
      break;
    case Action::StartMove:
      if (call.destination >= 0) out.key("DestinationArn").string(call.arn);
      if (call.rate > 0) out.key("MaxNumberOfMessagesPerSecond").integer(call.rate);
      break;
    case Action::ListMoves: out.key("MaxResults").integer(10); break;
    case Action::Attributes: out.key("AttributeNames").begin_array().string("All").end_array(); break;
    case Action::Send: json_message(out, call.entries.at(0)); break;
    case Action::Receive:
      out.key("MaxNumberOfMessages").integer(call.max);
      if (call.visibility) out.key("VisibilityTimeout").integer(*call.visibility);
      if (call.wait) out.key("WaitTimeSeconds").integer(*call.wait);
      if (!call.attempt.empty()) out.key("ReceiveRequestAttemptId").string(call.attempt);
      out.key("MessageSystemAttributeNames").begin_array().string("All").end_array();
      out.key("MessageAttributeNames").begin_array().string("All").end_array();
      break;
    case Action::Delete: out.key("ReceiptHandle").string(call.entries.at(0).handle); break;
    case Action::Change:
      out.key("ReceiptHandle").string(call.entries.at(0).handle).key("VisibilityTimeout").integer(call.entries.at(0).timeout);
      break;
    case Action::SendBatch:
    case Action::DeleteBatch:
    case Action::ChangeBatch:
      out.key("Entries").begin_array();
      for (std::size_t i = 0; i < call.entries.size(); ++i) {
        const Entry& entry = call.entries[i];
        out.begin_object().key("Id").string(fmt::format("e{}", i));
        if (call.action == Action::SendBatch) json_message(out, entry);
        else out.key("ReceiptHandle").string(entry.handle);
        if (call.action == Action::ChangeBatch) out.key("VisibilityTimeout").integer(entry.timeout);
        out.end_object();
      }
      out.end_array();
      break;
    default: break;
  }
  out.end_object();
  return post(fmt::format("X-Amz-Target: AmazonSQS.{}\r\nContent-Type: application/x-amz-json-1.0\r\n", name_of(call.action)), body);
}

class Form {
 public:
  void add(std::string_view name, std::string_view value) {
    text += fmt::format("&{}=", name);
    for (const char c : value) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
      if (plain) text += c;
      else if (c == ' ') text += '+';
      else text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  void add(std::string_view name, std::int64_t value) { add(name, std::to_string(value)); }
  std::string text;
};

void query_message(Form& out, const std::string& prefix, const Entry& entry, bool topic) {
  out.add(prefix + (topic ? "Message" : "MessageBody"), body_of(entry.token, entry.body_bytes));
  if (entry.delay) out.add(prefix + "DelaySeconds", *entry.delay);
  if (!entry.group.empty()) out.add(prefix + "MessageGroupId", entry.group);
  if (!entry.dedup.empty() && !entry.hashed) out.add(prefix + "MessageDeduplicationId", entry.dedup);
  int number = 0;
  const auto add = [&](std::string_view name, std::string_view value) {
    const std::string attribute = fmt::format("{}{}.{}.", prefix, topic ? "MessageAttributes.entry" : "MessageAttribute", ++number);
    out.add(attribute + "Name", name);
    out.add(attribute + "Value.DataType", "String");
    out.add(attribute + "Value.StringValue", value);
  };
  if (entry.attribute) add(kAttributeName, entry.token);
  if (!entry.kind.empty()) add(kKindName, entry.kind);
}

std::string encode_query(const Call& call, std::string_view target) {
  const bool topic = is_topic_action(call.action);
  Form out;
  out.text = fmt::format("Action={}&Version={}", name_of(call.action), topic ? "2010-03-31" : "2012-11-05");
  switch (call.action) {
    case Action::CreateQueue: out.add("QueueName", target); break;
    case Action::CreateTopic: out.add("Name", target); break;
    case Action::Unsubscribe:
    case Action::SetSubscription: out.add("SubscriptionArn", call.arn); break;
    case Action::StartMove:
    case Action::ListMoves: out.add("SourceArn", queue_arn(target)); break;
    case Action::CancelMove: out.add("TaskHandle", call.task); break;
    default:
      if (topic) out.add("TopicArn", topic_arn(target));
      else out.add("QueueUrl", queue_url(target));
  }
  const auto batch_prefix = [&](std::size_t i) {
    switch (call.action) {
      case Action::SendBatch: return fmt::format("SendMessageBatchRequestEntry.{}.", i + 1);
      case Action::DeleteBatch: return fmt::format("DeleteMessageBatchRequestEntry.{}.", i + 1);
      case Action::ChangeBatch: return fmt::format("ChangeMessageVisibilityBatchRequestEntry.{}.", i + 1);
      default: return fmt::format("PublishBatchRequestEntries.member.{}.", i + 1);
    }
  };
  switch (call.action) {
    case Action::CreateQueue:
    case Action::SetAttributes:
      for (std::size_t i = 0; i < call.attributes.size(); ++i) {
        out.add(fmt::format("Attribute.{}.Name", i + 1), call.attributes[i].first);
        out.add(fmt::format("Attribute.{}.Value", i + 1), call.attributes[i].second);
      }
      break;
    case Action::CreateTopic:
    case Action::Subscribe:
      if (call.action == Action::Subscribe) {
        out.add("Protocol", "sqs");
        out.add("Endpoint", call.arn);
        out.add("ReturnSubscriptionArn", "true");
      }
      for (std::size_t i = 0; i < call.attributes.size(); ++i) {
        out.add(fmt::format("Attributes.entry.{}.key", i + 1), call.attributes[i].first);
        out.add(fmt::format("Attributes.entry.{}.value", i + 1), call.attributes[i].second);
      }
      break;
    case Action::SetSubscription:
      out.add("AttributeName", call.attributes.at(0).first);
      out.add("AttributeValue", call.attributes.at(0).second);
      break;
    case Action::StartMove:
      if (call.destination >= 0) out.add("DestinationArn", call.arn);
      if (call.rate > 0) out.add("MaxNumberOfMessagesPerSecond", call.rate);
      break;
    case Action::ListMoves: out.add("MaxResults", 10); break;
    case Action::Attributes: out.add("AttributeName.1", "All"); break;
    case Action::Send:
    case Action::Publish: query_message(out, "", call.entries.at(0), topic); break;
    case Action::Receive:
      out.add("MaxNumberOfMessages", call.max);
      if (call.visibility) out.add("VisibilityTimeout", *call.visibility);
      if (call.wait) out.add("WaitTimeSeconds", *call.wait);
      if (!call.attempt.empty()) out.add("ReceiveRequestAttemptId", call.attempt);
      out.add("AttributeName.1", "All");
      out.add("MessageAttributeName.1", "All");
      break;
    case Action::Delete: out.add("ReceiptHandle", call.entries.at(0).handle); break;
    case Action::Change:
      out.add("ReceiptHandle", call.entries.at(0).handle);
      out.add("VisibilityTimeout", call.entries.at(0).timeout);
      break;
    case Action::SendBatch:
    case Action::DeleteBatch:
    case Action::ChangeBatch:
    case Action::PublishBatch:
      for (std::size_t i = 0; i < call.entries.size(); ++i) {
        const std::string prefix = batch_prefix(i);
        out.add(prefix + "Id", fmt::format("e{}", i));
        const bool message = call.action == Action::SendBatch || call.action == Action::PublishBatch;
        if (message) query_message(out, prefix, call.entries[i], topic);
        else out.add(prefix + "ReceiptHandle", call.entries[i].handle);
        if (call.action == Action::ChangeBatch) out.add(prefix + "VisibilityTimeout", call.entries[i].timeout);
      }
      break;
    default: break;
  }
  return post("Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n", out.text);
}

std::string_view body_of_response(std::string_view response) { return response.substr(response.find("\r\n\r\n") + 4); }

std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void set_system_attribute(ReceivedMessage& message, std::string_view name, std::string_view value) {
  if (name == "ApproximateReceiveCount") message.receive_count = number(value);
  else if (name == "SentTimestamp") message.sent_ms = number(value);
  else if (name == "SequenceNumber") message.sequence = value;
  else if (name == "MessageGroupId") message.group = value;
  else if (name == "MessageDeduplicationId") message.dedup = value;
  else if (name == "DeadLetterQueueSourceArn") message.dead_letter_source = value;
}

void set_queue_attribute(Answer& answer, std::string_view name, std::string_view value) {
  if (name == "ApproximateNumberOfMessages") answer.visible = number(value);
  else if (name == "ApproximateNumberOfMessagesNotVisible") answer.in_flight = number(value);
  else if (name == "ApproximateNumberOfMessagesDelayed") answer.delayed = number(value);
  else answer.attributes.emplace_back(name, value);
}

/// "e7" -> 7
std::size_t entry_index(std::string_view id) { return static_cast<std::size_t>(number(id.substr(id.empty() ? 0 : 1))); }

void set_entry(Answer& answer, std::string_view id, EntryAnswer entry) {
  const std::size_t index = entry_index(id);
  if (index >= answer.entries.size()) answer.broken = fmt::format("an entry '{}' that was not sent", id);
  else answer.entries[index] = std::move(entry);
}

void decode_json(const Call& call, std::string_view body, Answer& answer) {
  static thread_local json::Reader reader;
  if (body.empty()) body = "{}";
  const auto root = reader.parse(body);
  if (!root) {
    answer.broken = "no JSON";
    return;
  }
  const auto text = [](const json::Node& node, std::string_view key) {
    const auto found = node.find(key);
    return std::string{found ? found->as_string().value_or("") : ""};
  };
  if (!answer.ok()) {
    const std::string type = text(*root, "__type");
    answer.code = type.substr(type.find('#') + 1);
    answer.text = text(*root, "message");
    return;
  }
  switch (call.action) {
    case Action::CreateQueue: answer.text = text(*root, "QueueUrl"); break;
    case Action::StartMove: answer.text = text(*root, "TaskHandle"); break;
    case Action::ListMoves:
      if (const auto results = root->find("Results"))
        for (const json::Node one : results->items()) {
          const auto integer = [&](std::string_view key) {
            const auto found = one.find(key);
            return found ? found->as_int64().value_or(0) : 0;
          };
          answer.moves.push_back({text(one, "Status"), integer("ApproximateNumberOfMessagesMoved"), integer("MaxNumberOfMessagesPerSecond"), integer("StartedTimestamp")});
        }
      break;
    case Action::Attributes:
      if (const auto attributes = root->find("Attributes"))
        for (const auto [key, value] : attributes->members()) set_queue_attribute(answer, key, value.as_string().value_or(""));
      break;
    case Action::Send:
      answer.entries.at(0) = {true, "", text(*root, "MessageId"), text(*root, "SequenceNumber")};
      break;
    case Action::SendBatch:
    case Action::DeleteBatch:
    case Action::ChangeBatch:
      if (const auto good = root->find("Successful"))
        for (const json::Node entry : good->items())
          set_entry(answer, text(entry, "Id"), {true, "", text(entry, "MessageId"), text(entry, "SequenceNumber")});
      if (const auto bad = root->find("Failed"))
        for (const json::Node entry : bad->items()) set_entry(answer, text(entry, "Id"), {false, text(entry, "Code"), "", ""});
      break;
    case Action::Receive:
      if (const auto messages = root->find("Messages")) {
        for (const json::Node one : messages->items()) {
          ReceivedMessage message;
          message.id = text(one, "MessageId");
          message.handle = text(one, "ReceiptHandle");
          message.body = text(one, "Body");
          message.md5 = text(one, "MD5OfBody");
          if (const auto attributes = one.find("Attributes"))
            for (const auto [key, value] : attributes->members()) set_system_attribute(message, key, value.as_string().value_or(""));
          if (const auto attributes = one.find("MessageAttributes"))
          {
            if (const auto attribute = attributes->find(kAttributeName)) message.attribute = text(*attribute, "StringValue");
            if (const auto attribute = attributes->find(kKindName)) message.kind = text(*attribute, "StringValue");
          }
          answer.messages.push_back(std::move(message));
        }
      }
      break;
    default: break;
  }
  for (EntryAnswer& entry : answer.entries)
    if (call.action == Action::Delete || call.action == Action::Change) entry.ok = true;
}

std::string unescape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text[0] != '&') {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find(';');
    const std::string_view name = text.substr(1, end - 1);
    if (name == "amp") out += '&';
    else if (name == "lt") out += '<';
    else if (name == "gt") out += '>';
    else if (name == "quot") out += '"';
    else if (name == "apos") out += '\'';
    else if (name.starts_with("#x")) {
      int value = 0;
      std::from_chars(name.data() + 2, name.data() + name.size(), value, 16);
      out += static_cast<char>(value);
    } else if (name.starts_with("#")) {
      out += static_cast<char>(number(name.substr(1)));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

/// The content of the next element `name` at or behind `from`, which moves behind it; nullopt if there is none.
std::optional<std::string_view> next_element(std::string_view text, std::string_view name, std::size_t& from) {
  const std::string open = fmt::format("<{}>", name);
  const std::string close = fmt::format("</{}>", name);
  const std::size_t begin = text.find(open, from);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find(close, begin);
  if (end == std::string_view::npos) return std::nullopt;
  from = end + close.size();
  return text.substr(begin + open.size(), end - begin - open.size());
}

std::string element(std::string_view text, std::string_view name) {
  std::size_t from = 0;
  return unescape(next_element(text, name, from).value_or(""));
}

void decode_query(const Call& call, std::string_view body, Answer& answer) {
  if (!answer.ok()) {
    answer.code = element(body, "Code");
    answer.text = element(body, "Message");
    return;
  }
  const auto each = [&](std::string_view text, std::string_view name, auto&& visit) {
    std::size_t from = 0;
    while (const auto found = next_element(text, name, from)) visit(*found);
  };
  const auto entry_of = [&](std::string_view text) {
    set_entry(answer, element(text, "Id"), {true, "", element(text, "MessageId"), element(text, "SequenceNumber")});
  };
  switch (call.action) {
    case Action::CreateQueue: answer.text = element(body, "QueueUrl"); break;
    case Action::StartMove: answer.text = element(body, "TaskHandle"); break;
    case Action::CreateTopic: answer.text = element(body, "TopicArn"); break;
    case Action::Subscribe: answer.text = element(body, "SubscriptionArn"); break;
    case Action::Attributes:
      each(body, "Attribute", [&](std::string_view one) { set_queue_attribute(answer, element(one, "Name"), element(one, "Value")); });
      break;
    case Action::Send:
    case Action::Publish: answer.entries.at(0) = {true, "", element(body, "MessageId"), element(body, "SequenceNumber")}; break;
    case Action::SendBatch:
      each(body, "SendMessageBatchResultEntry", entry_of);
      break;
    case Action::DeleteBatch:
      each(body, "DeleteMessageBatchResultEntry", entry_of);
      break;
    case Action::ChangeBatch:
      each(body, "ChangeMessageVisibilityBatchResultEntry", entry_of);
      break;
    case Action::PublishBatch: {
      std::size_t from = 0;
      if (const auto good = next_element(body, "Successful", from)) each(*good, "member", entry_of);
      from = 0;
      if (const auto bad = next_element(body, "Failed", from))
        each(*bad, "member", [&](std::string_view one) { set_entry(answer, element(one, "Id"), {false, element(one, "Code"), "", ""}); });
      break;
    }
    case Action::Receive:
      each(body, "Message", [&](std::string_view one) {
        ReceivedMessage message;
        message.id = element(one, "MessageId");
        message.handle = element(one, "ReceiptHandle");
        message.body = element(one, "Body");
        message.md5 = element(one, "MD5OfBody");
        each(one, "Attribute", [&](std::string_view two) { set_system_attribute(message, element(two, "Name"), element(two, "Value")); });
        each(one, "MessageAttribute", [&](std::string_view two) {
          if (element(two, "Name") == kAttributeName) message.attribute = element(two, "StringValue");
          else if (element(two, "Name") == kKindName) message.kind = element(two, "StringValue");
        });
        answer.messages.push_back(std::move(message));
      });
      break;
    default: break;
  }
  each(body, "BatchResultErrorEntry", [&](std::string_view one) {
    set_entry(answer, element(one, "Id"), {false, element(one, "Code"), "", ""});
  });
  for (EntryAnswer& entry : answer.entries)
    if (call.action == Action::Delete || call.action == Action::Change) entry.ok = true;
}

}  // namespace

std::string queue_url(std::string_view name) { return fmt::format("http://localhost:4566/{}/{}", kAccount, name); }
std::string queue_arn(std::string_view name) { return fmt::format("arn:aws:sqs:us-east-1:{}:{}", kAccount, name); }
std::string topic_arn(std::string_view name) { return fmt::format("arn:aws:sns:us-east-1:{}:{}", kAccount, name); }

std::string body_of(std::string_view token, std::uint32_t pieces) {
  std::string body{token};
  body += '|';
  body.reserve(body.size() + pieces * kPiece.size());
  for (std::uint32_t i = 0; i < pieces; ++i) body += kPiece;
  return body;
}

std::string encode(const Call& call, std::string_view target) {
  return call.protocol == Protocol::Json && !is_topic_action(call.action) ? encode_json(call, target) : encode_query(call, target);
}

Answer decode(const Call& call, std::string_view response) {
  Answer answer;
  answer.entries.resize(call.entries.size());
  if (!response.starts_with("HTTP/1.1 ")) {
    answer.broken = "no HTTP response";
    return answer;
  }
  answer.status = static_cast<int>(number(response.substr(9, 3)));
  const std::string_view body = body_of_response(response);
  if (call.protocol == Protocol::Json && !is_topic_action(call.action)) decode_json(call, body, answer);
  else decode_query(call, body, answer);
  return answer;
}

std::size_t response_bytes(std::string_view stream) {
  const std::size_t end = stream.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const std::size_t length = stream.substr(0, end + 2).find(kLength);
  const std::size_t body = length == std::string_view::npos ? 0 : static_cast<std::size_t>(number(stream.substr(length + kLength.size(), 20)));
  return stream.size() < end + 4 + body ? 0 : end + 4 + body;
}

}  // namespace fanfare::sim
