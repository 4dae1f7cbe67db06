#include "core/live/event.h"

#include <optional>

namespace fanfare::live {
namespace {

std::string_view attribute(const ReceivedMessage& message, std::string_view name) {
  for (const MessageAttribute& candidate : message.attributes)
    if (candidate.name == name) return candidate.value;
  return {};
}

std::string_view string_member(const wire::json::Node& object, std::string_view key) {
  const auto member = object.find(key);
  return member ? member->as_string().value_or(std::string_view{}) : std::string_view{};
}

// {"Type":"String","Value":"document.ready"} under MessageAttributes.
std::string_view envelope_attribute(const wire::json::Node& envelope, std::string_view name) {
  const auto attributes = envelope.find("MessageAttributes");
  if (!attributes) return {};
  const auto entry = attributes->find(name);
  return entry ? string_member(*entry, "Value") : std::string_view{};
}

EventId first_usable(std::string_view a, std::string_view b, std::string_view c) {
  for (const std::string_view id : {a, b, c})
    if (!id.empty() && id.size() <= kEventIdBytesMax) return EventId{id};
  return {};
}

}  // namespace

std::string_view name(EventFault fault) {
  switch (fault) {
    case EventFault::MissingTrigger: return "missing_trigger";
    case EventFault::MalformedJson: return "malformed_json";
  }
  return "";
}

Result<Event, EventFault> read_event(const ReceivedMessage& message, const EventRules& rules,
                                     wire::json::Reader& reader) {
  if (const std::string_view trigger = attribute(message, rules.trigger_attribute); !trigger.empty())
    return Event{Trigger{trigger}, std::string{message.body},
                 first_usable(attribute(message, rules.event_id_attribute), message.message_id, {})};

  const auto root = reader.parse(message.body);
  if (!root)
    return root.error().reason == wire::json::Reason::NumberOutOfRange ? EventFault::MissingTrigger
                                                                       : EventFault::MalformedJson;
  if (string_member(*root, "Type") != "Notification") return EventFault::MissingTrigger;
  const auto payload = root->find("Message");
  const std::string_view trigger = envelope_attribute(*root, rules.trigger_attribute);
  if (trigger.empty() || !payload || !payload->as_string()) return EventFault::MissingTrigger;
  return Event{Trigger{trigger}, std::string{*payload->as_string()},
               first_usable(envelope_attribute(*root, rules.event_id_attribute), string_member(*root, "MessageId"),
                            message.message_id)};
}

}  // namespace fanfare::live
