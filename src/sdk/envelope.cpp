// Takes the SNS envelope off a received message, without guessing. [S15]
#include <fmt/format.h>

#include "fanfare/consumer.h"
#include "wire/digest/encoding.h"
#include "wire/json/value.h"

namespace fanfare::sdk {
namespace json = wire::json;
namespace {

constexpr std::string_view kEnvelopeMembers[] = {"Type", "MessageId", "TopicArn", "Message", "Timestamp"};

bool is_envelope(const json::Value& document) {
  if (!document.is_object()) return false;
  for (const std::string_view name : kEnvelopeMembers)
    if (!document.find_string(name)) return false;
  return true;
}

std::vector<MessageAttribute> envelope_attributes(const json::Value& envelope) {
  std::vector<MessageAttribute> attributes;
  const json::Value* map = envelope.find("MessageAttributes");
  if (map == nullptr) return attributes;
  for (const json::Member& member : map->members()) {
    MessageAttribute attribute{member.key, std::string{member.value.find_string("Type").value_or("String")}, {}};
    const std::string_view value = member.value.find_string("Value").value_or("");
    attribute.value = attribute.type.starts_with("Binary") ? wire::digest::decode_base64(value).value_or("") : std::string{value};
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

}  // namespace

Result<Delivery, Error> open_message(const ReceivedMessage& message, EnvelopeMode mode) {
  Delivery delivery;
  delivery.message_id = message.message_id;
  delivery.event_id = message.message_id;
  delivery.receive_count = message.receive_count();
  delivery.group_id = message.group_id();
  const bool may_be_json = !message.body.empty() && message.body.front() == '{';
  std::optional<json::Value> document;
  if (may_be_json)
    if (auto parsed = json::parse(message.body)) document = std::move(*parsed);
  if (mode != EnvelopeMode::Raw && document && is_envelope(*document)) {
    delivery.topic_arn = *document->find_string("TopicArn");
    delivery.event_id = *document->find_string("MessageId");
    delivery.attributes = envelope_attributes(*document);
    delivery.body = *document->find_string("Message");
    document.reset();
    if (!delivery.body.empty() && delivery.body.front() == '{')
      if (auto parsed = json::parse(delivery.body)) document = std::move(*parsed);
  } else if (mode == EnvelopeMode::Sns) {
    return Error{.kind = ErrorKind::Malformed,
                 .message = "the body is no SNS envelope: it needs Type, MessageId, TopicArn, Message and Timestamp"};
  } else {
    delivery.attributes = message.attributes;
    delivery.body = message.body;
  }
  if (const std::string* id = delivery.attribute("FanfareEventId")) delivery.event_id = *id;
  if (const std::string* type = delivery.attribute("type"))
    delivery.type = *type;
  else if (document)
    delivery.type = document->find_string("type").value_or("");
  return delivery;
}

}  // namespace fanfare::sdk
