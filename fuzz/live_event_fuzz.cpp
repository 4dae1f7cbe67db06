// Reads any bytes as the body of a queue message, with and without a trigger attribute, and publishes the event to
// subscribers with and without a filter.
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "core/live/event.h"
#include "core/live/pubsub.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare;
  using namespace fanfare::live;
  const std::string_view body{reinterpret_cast<const char*>(data), size};
  wire::json::Reader reader;
  const MessageAttribute trigger{"SQSPubSubTriggerName", "ready"};
  for (const bool raw : {true, false}) {
    const auto event = read_event({body, {&trigger, raw ? 1u : 0u}, "m-1"}, {}, reader);
    if (!event) continue;
    FANFARE_ASSERT(!event->trigger.empty());
    PubSub pubsub;
    const std::vector<Trigger> triggers{event->trigger};
    FANFARE_ASSERT(pubsub.subscribe(triggers, {}).has_value());
    FANFARE_ASSERT(
        pubsub.subscribe(triggers, {{{"a", MatchValue::text("1")}, {"b.c", MatchValue::number(1.0)}}}).has_value());
    const Published published = pubsub.publish(std::make_shared<const Event>(*event), Timestamp{});
    FANFARE_ASSERT(published.deletable() == !published.matches.empty());
  }
  return 0;
}
