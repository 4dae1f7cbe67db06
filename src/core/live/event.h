// One live event, and how a queue message becomes one.
// Rule 1: the trigger is a message attribute (its name is configuration); within an SNS envelope, the envelope's
//         attribute. [L2]
// Rule 2: a message without a trigger, or whose payload is no JSON, is a fault of the message: it stays undeleted. [L6]
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"
#include "wire/json/reader.h"

namespace fanfare::live {

/// What a subscription waits for: "document.ready". Never empty in a valid event.
using Trigger = Strong<struct TriggerTag>;
using EventId = Strong<struct EventIdTag>;  ///< Identity for the duplicate window. Empty: never taken for a duplicate.

struct Event {
  Trigger trigger;
  std::string payload;  ///< JSON text: {"workspace":"docs","document":"d-7","pages":12}
  EventId id;
};

/// A longer id in an attribute is passed over, so that the duplicate window has a bounded size.
inline constexpr std::size_t kEventIdBytesMax = 256;

/// Shared, because one event stands in the buffers of all its subscribers, and nobody may change it there.
using SharedEvent = std::shared_ptr<const Event>;

enum class EventFault {
  /// No trigger attribute, or an empty one. Leave the message undeleted: its queue's redrive policy acts.
  MissingTrigger,
  MalformedJson,  ///< The payload is no JSON text [RFC 8259], or is nested too deeply. Leave the message undeleted.
};
/// "missing_trigger", "malformed_json": for metrics and logs.
std::string_view name(EventFault fault);

struct MessageAttribute {
  std::string_view name;
  std::string_view value;
};

/// A received queue message, as far as live events need it. The views live as long as the call.
struct ReceivedMessage {
  std::string_view body;
  std::span<const MessageAttribute> attributes;
  std::string_view message_id;
};

struct EventRules {
  std::string trigger_attribute = "SQSPubSubTriggerName";
  std::string event_id_attribute = "FanfareEventId";
};

/// The event in a raw message or in an SNS envelope. Its id: the attribute `FanfareEventId`, else the SNS MessageId,
/// else the SQS MessageId. [L2, L8] Only the envelope is parsed here; PubSub::publish parses the payload, once. A
/// message that carries the trigger itself is raw, whatever its body looks like. `reader` is the caller's own, kept to
/// save its memory.
Result<Event, EventFault> read_event(const ReceivedMessage& message, const EventRules& rules,
                                     wire::json::Reader& reader);

}  // namespace fanfare::live
