#include "core/topic/envelope_confirmation.h"

#include <fmt/format.h>

#include "wire/json/writer.h"

namespace fanfare::topic {

std::string confirmation_text(std::string_view topic_arn) {
  return fmt::format(
      "You have chosen to subscribe to the topic {}.\nTo confirm the subscription, visit the SubscribeURL included in this "
      "message.",
      topic_arn);
}

std::string farewell_text(std::string_view subscription_arn) {
  return fmt::format(
      "You have chosen to deactivate subscription {}.\nTo cancel this operation and restore the subscription, visit the "
      "SubscribeURL included in this message.",
      subscription_arn);
}

std::string string_to_sign(const Confirmation& confirmation) {
  return fmt::format("Message\n{}\nMessageId\n{}\nSubscribeURL\n{}\nTimestamp\n{}\nToken\n{}\nTopicArn\n{}\nType\n{}\n",
                     confirmation.text, confirmation.message_id, confirmation.subscribe_url, confirmation.timestamp,
                     confirmation.token, confirmation.topic_arn, confirmation.type);
}

void append_confirmation(const Confirmation& confirmation, const EnvelopeSignature& signature, std::string& out) {
  wire::json::Writer writer(out);
  writer.begin_object().key("Type").string(confirmation.type).key("MessageId").string(confirmation.message_id);
  writer.key("Token").string(confirmation.token).key("TopicArn").string(confirmation.topic_arn);
  writer.key("Message").string(confirmation.text).key("SubscribeURL").string(confirmation.subscribe_url);
  writer.key("Timestamp").string(confirmation.timestamp).key("SignatureVersion").string(signature.version);
  writer.key("Signature").string(signature.signature).key("SigningCertURL").string(signature.signing_cert_url).end_object();
}

}  // namespace fanfare::topic
