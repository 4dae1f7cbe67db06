// The JSON that asks an endpoint whether it wants a subscription, or tells it that it has lost one and how to restore it.
// [SNS HTTP/S subscription confirmation JSON format, unsubscribe confirmation JSON format]
//
// {"Type":"SubscriptionConfirmation","MessageId":"..","Token":"..","TopicArn":"..","Message":"..","SubscribeURL":"..",
//  "Timestamp":"..","SignatureVersion":"1","Signature":"..","SigningCertURL":".."}, keys in this order.
#pragma once

#include <string>
#include <string_view>

#include "core/topic/envelope.h"

namespace fanfare::topic {

constexpr std::string_view kSubscriptionConfirmation = "SubscriptionConfirmation";
constexpr std::string_view kUnsubscribeConfirmation = "UnsubscribeConfirmation";

struct Confirmation {
  std::string_view message_id;
  std::string_view token;
  std::string_view topic_arn;
  std::string_view text;           ///< confirmation_text()
  std::string_view subscribe_url;  ///< confirms by a GET
  std::string_view timestamp;      ///< ISO 8601
  std::string_view type = kSubscriptionConfirmation;
};

/// What people read: "You have chosen to subscribe to the topic ..."
std::string confirmation_text(std::string_view topic_arn);
/// "You have chosen to deactivate subscription ..."
std::string farewell_text(std::string_view subscription_arn);

/// What is signed.
std::string string_to_sign(const Confirmation& confirmation);

/// Appends the JSON; `unsubscribe_url` of the signature is not shown.
void append_confirmation(const Confirmation& confirmation, const EnvelopeSignature& signature, std::string& out);

}  // namespace fanfare::topic
