// Subscribe, ConfirmSubscription, Unsubscribe, ListSubscriptions, ListSubscriptionsByTopic. [SNS Subscribe]
#include <fmt/format.h>

#include <charconv>

#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"
#include "core/queue/names.h"
#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"
#include "wire/mail/mail.h"

namespace fanfare::api::sns {
namespace {

/// An endpoint that the protocol cannot deliver to, in AWS's words; nullopt if it looks right.
std::optional<ApiError> check_endpoint(topic::DeliveryProtocol protocol, std::string_view endpoint) {
  using topic::DeliveryProtocol;
  switch (protocol) {
    case DeliveryProtocol::Sqs:
      if (!queue::parse_queue_arn(endpoint)) return invalid_parameter("SQS endpoint ARN");
      break;
    case DeliveryProtocol::Http:
      if (!endpoint.starts_with("http://")) return invalid_parameter("Endpoint must match the specified protocol");
      break;
    case DeliveryProtocol::Https:
      if (!endpoint.starts_with("https://")) return invalid_parameter("Endpoint must match the specified protocol");
      break;
    case DeliveryProtocol::Email:
    case DeliveryProtocol::EmailJson:
      if (!wire::mail::is_address(endpoint)) return invalid_parameter("Email address");
      break;
    case DeliveryProtocol::Sms:
      if (endpoint.size() < 4 || endpoint.find_first_not_of("+0123456789-. ()") != std::string_view::npos) {
        return api_error(Error::InvalidParameter, fmt::format("Invalid parameter: Invalid SMS endpoint: {}", endpoint));
      }
      break;
    case DeliveryProtocol::Application: break;
    case DeliveryProtocol::Lambda:
      if (!endpoint.starts_with("arn:aws:lambda:")) return invalid_parameter("Lambda endpoint ARN");
      break;
    case DeliveryProtocol::Firehose:
      if (!endpoint.starts_with("arn:aws:firehose:")) return invalid_parameter("Firehose endpoint ARN");
      break;
  }
  return std::nullopt;
}

std::string_view fresh_token(Call& call) {
  std::array<std::uint8_t, 32> token;
  call.secrets.fill(token);
  return call.arena.copy(wire::digest::hex(wire::digest::bytes_of(token)));
}

Result<topic::SubscriptionId, ApiError> read_subscription_token(const wire::aws::Text& token, Call& call) {
  auto text = read_token(token, call);
  if (!text) return text.error();
  topic::SubscriptionId id;
  if (text->empty()) return id;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), id.number);
  if (error != std::errc() || end != text->data() + text->size()) {
    return invalid_parameter("NextToken", "The token is not one that this service gave out");
  }
  return id;
}

template <class Output>
void write_subscriptions(const engine::Subscriptions& subscriptions, ReplyCall& call) {
  auto& arena = call.answer.arena;
  const auto& all = subscriptions.subscriptions;
  auto* const entries = arena.take_array<model::Subscription>(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const engine::SubscriptionSummary& summary = all[i];
    entries[i].subscription_arn = summary.pending
                                      ? std::string_view("PendingConfirmation")
                                      : arena.copy(topic::subscription_arn(summary.topic.view(), summary.uuid).str());
    entries[i].owner = std::string_view(summary.owner.str());
    entries[i].protocol = topic::text_of(summary.protocol);
    entries[i].endpoint = std::string_view(summary.endpoint);
    entries[i].topic_arn = arena.copy(summary.topic.arn().str());
  }
  Output out;
  out.subscriptions = {entries, all.size()};
  if (subscriptions.next.number != 0)
    out.next_token = write_token(std::to_string(subscriptions.next.number), call.answer);
  call.answer.write(out);
}

}  // namespace

Result<Next, ApiError> subscribe(const model::SubscribeInput& in, Call& call) {
  auto& command = call.request.emplace<engine::Subscribe>();
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.protocol.has_value()) return must_not_be_null("protocol");
  const auto protocol = topic::parse_delivery_protocol(in.protocol.view());
  if (!protocol) {
    return invalid_parameter(
        fmt::format("Amazon SNS does not support this protocol string: {}", in.protocol.view().substr(0, 128)));
  }
  command.protocol = *protocol;
  call.context.subject = in.protocol.view();
  if (in.endpoint.empty()) return invalid_parameter("Endpoint");
  if (auto error = check_endpoint(*protocol, in.endpoint.view())) return *std::move(error);
  command.endpoint = in.endpoint.view();
  for (const auto& [name, value] : in.attributes) {
    if (auto error = read_subscription_attribute(name.view(), value.view(), "Attributes Reason: ", command.attributes,
                                                 call.context)) {
      return *std::move(error);
    }
  }
  command.fresh_uuid = topic::SubscriptionUuid{Uuid::from_random(call.secrets.bytes16())};
  command.fresh_message = MessageId{Uuid::from_random(call.secrets.bytes16())};
  command.fresh_token = fresh_token(call);
  call.context.wanted = in.return_subscription_arn.value_or(false) ? 1 : 0;
  return Next::Engine;
}

void subscribe_reply(const engine::Subscribed& subscribed, ReplyCall& call) {
  model::SubscribeResponse out;
  if (subscribed.pending && call.context.wanted == 0) {
    out.subscription_arn = "pending confirmation";
  } else {
    out.subscription_arn =
        call.answer.arena.copy(topic::subscription_arn(subscribed.topic.view(), subscribed.uuid).str());
  }
  call.answer.write(out);
}

Result<Next, ApiError> confirm_subscription(const model::ConfirmSubscriptionInput& in, Call& call) {
  auto& command = call.request.emplace<engine::ConfirmSubscription>();
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.token.has_value()) return must_not_be_null("token");
  if (in.token.empty()) return invalid_parameter("Token");
  command.token = in.token.view();
  command.authenticate_on_unsubscribe = in.authenticate_on_unsubscribe.view() == "true";
  return Next::Engine;
}

void confirm_subscription_reply(const engine::Subscribed& subscribed, ReplyCall& call) {
  model::ConfirmSubscriptionResponse out;
  out.subscription_arn =
      call.answer.arena.copy(topic::subscription_arn(subscribed.topic.view(), subscribed.uuid).str());
  call.answer.write(out);
}

Result<Next, ApiError> unsubscribe(const model::UnsubscribeInput& in, Call& call) {
  auto subscription = subscription_of(in.subscription_arn, call);
  if (!subscription) return subscription.error();
  auto& command = call.request.emplace<engine::Unsubscribe>();
  command.subscription = *subscription;
  command.fresh_token = fresh_token(call);
  command.fresh_message = MessageId{Uuid::from_random(call.secrets.bytes16())};
  command.by_url = call.identity.access_key.empty();
  return Next::Engine;
}

Result<Next, ApiError> list_subscriptions(const model::ListSubscriptionsInput& in, Call& call) {
  auto& command = call.request.emplace<engine::ListSubscriptions>();
  auto after = read_subscription_token(in.next_token, call);
  if (!after) return after.error();
  command.account = call.account;
  command.region = call.region;
  command.after = *after;
  return Next::Engine;
}

void list_subscriptions_reply(const engine::Subscriptions& subscriptions, ReplyCall& call) {
  write_subscriptions<model::ListSubscriptionsResponse>(subscriptions, call);
}

Result<Next, ApiError> list_subscriptions_by_topic(const model::ListSubscriptionsByTopicInput& in, Call& call) {
  auto& command = call.request.emplace<engine::ListSubscriptionsByTopic>();
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  auto after = read_subscription_token(in.next_token, call);
  if (!after) return after.error();
  command.topic = *key;
  command.after = *after;
  return Next::Engine;
}

void list_subscriptions_by_topic_reply(const engine::Subscriptions& subscriptions, ReplyCall& call) {
  write_subscriptions<model::ListSubscriptionsByTopicResponse>(subscriptions, call);
}

}  // namespace fanfare::api::sns
