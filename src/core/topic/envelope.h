// The JSON that wraps a published message for subscriptions without raw delivery. [SNS message formats]
//
// {"Type":"Notification","MessageId":"..","TopicArn":"..","Subject":"..","Message":"..","Timestamp":"..",
//  "SignatureVersion":"1","Signature":"..","SigningCertURL":"..","UnsubscribeURL":"..","MessageAttributes":{..}}
// Keys stand in exactly this order; SequenceNumber follows MessageId on FIFO topics, which have no signature fields.
// A message from a FIFO topic's archive ends with "Replayed":true.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/message/content.h"

namespace fanfare::topic {

/// What the shell adds: signatures are made outside the core, once a publication.
struct EnvelopeSignature {
  std::string_view version;           ///< "1" or "2"
  std::string_view signature;         ///< base64; may be empty
  std::string_view signing_cert_url;
  std::string_view unsubscribe_url;
};

struct EnvelopeFields {
  std::string_view topic_arn;
  std::string_view sequence_number;             ///< FIFO topics only; else empty
  std::optional<EnvelopeSignature> signature;   ///< nullopt on FIFO topics
  std::string_view unsubscribe_url = {};        ///< where there is no signature to bring it; empty: left out
  bool replayed = false;                        ///< from the archive: "Replayed":true stands at the end
};

/// Appends the envelope of a published content; `content.publication()` must be there.
void append_envelope(const message::ContentView& content, const EnvelopeFields& fields, std::string& out);

/// Bytes that append_envelope would append for this content, without making it.
std::uint64_t envelope_bytes(const message::Content& content, const EnvelopeFields& fields);

/// What is signed: `Name\nValue\n` for Message, MessageId, Subject (if any), Timestamp, TopicArn and Type. [SNS signatures]
std::string string_to_sign(const message::ContentView& content, std::string_view topic_arn);
/// The same of a content that is not encoded yet.
std::string string_to_sign(const message::Content& content, std::string_view topic_arn);

}  // namespace fanfare::topic
