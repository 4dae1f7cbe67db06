// What the API asks the shell for when it writes answers that hold messages.
#pragma once

#include <optional>
#include <string>

#include "base/log_position.h"
#include "core/engine/commands.h"
#include "core/message/content.h"
#include "core/topic/envelope.h"

namespace fanfare::api {

/// The contents of messages that are no longer in memory, and the signatures of envelopes.
class Payloads {
 public:
  virtual ~Payloads() = default;
  /// The bytes of the record at this position; nullopt if it cannot be read.
  virtual std::optional<std::string> record(LogPosition position) = 0;
  /// Signature and certificate of an envelope on a standard topic; views live until the next call. `unsubscribe_url` is
  /// filled in by the caller, and the host of a certificate's URL that begins with a slash. The default has no key: an
  /// empty signature.
  virtual topic::EnvelopeSignature sign(const engine::EnvelopeOf& envelope, const message::ContentView& content) {
    (void)content;
    return {envelope.signature_version == 2 ? "2" : "1", "", "", ""};
  }
};

}  // namespace fanfare::api
