// What an observer of the live gateway sees, as values: counted, logged or traced by the shell.
// Rule: bounded fields only. Never payloads, user names or file names. [L11]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/live/pubsub.h"

namespace fanfare::live {

enum class Phase : std::uint8_t {
  Receive,          ///< A message came from a queue.
  Dispatch,         ///< It was offered to its listeners (perhaps none).
  Delete,           ///< It was deleted from its queue, or that failed.
  Publish,          ///< This process published an event.
  Lifecycle,        ///< Poller or registry started, stopped, or failed.
  Validation,       ///< It was malformed and stays undeleted.
  ListenerFailure,  ///< A subscriber's buffer overflowed.
};
/// "receive", "dispatch", "delete", "publish", "lifecycle", "validation", "listener_failure".
std::string_view name(Phase phase);

struct Observation {
  Phase phase;
  std::string trigger;
  std::string message_id;
  std::size_t listeners = 0;
  /// "", "duplicate", "no_listener", "missing_trigger", "malformed_json", "overflow", "closed".
  std::string_view category;
};

/// What publish() amounted to: Receive, then Dispatch or Validation, then one ListenerFailure if buffers overflowed.
std::vector<Observation> observations(const Event& event, const Published& published);

}  // namespace fanfare::live
