// GetSubscriptionAttributes, SetSubscriptionAttributes, and the attributes of Subscribe. [SNS
// SetSubscriptionAttributes]
#include <fmt/format.h>

#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"
#include "core/topic/archive_policy.h"
#include "core/topic/delivery_policy.h"

namespace fanfare::api::sns {
namespace {

std::string_view text_of(engine::ReplayStatus status) {
  using Status = engine::ReplayStatus;
  switch (status) {
    case Status::Pending: return "Pending";
    case Status::InProgress: return "In progress";
    case Status::Completed: return "Completed";
    case Status::Failed: return "Failed";
    case Status::Stopped: break;  // its policy is gone, and with it the status
  }
  return {};
}

}  // namespace

std::optional<ApiError> read_subscription_attribute(std::string_view name, std::string_view value,
                                                    std::string_view prefix, topic::SubscriptionChanges& changes,
                                                    ReplyContext& context) {
  const auto refused = [&](std::string_view text) { return invalid_parameter(fmt::format("{}{}", prefix, text)); };
  const std::string_view shown = value.substr(0, 256);
  if (name == "RawMessageDelivery") {
    const bool yes = value == "true" || value == "True";
    if (!yes && value != "false" && value != "False") {
      return refused(fmt::format("RawMessageDelivery: Invalid value [{}]. Must be true or false.", shown));
    }
    changes.raw_delivery = yes;
    return std::nullopt;
  }
  if (name == "FilterPolicy") {
    changes.filter_policy = std::string(value);
    context.subject = value;
    return std::nullopt;
  }
  if (name == "FilterPolicyScope") {
    const auto scope = topic::parse_filter_scope(value);
    if (!scope) {
      return refused(fmt::format(
          "FilterPolicyScope: Invalid value [{}]. Please use either MessageBody or MessageAttributes", shown));
    }
    changes.filter_scope = *scope;
    return std::nullopt;
  }
  if (name == "RedrivePolicy") {
    auto& change = changes.redrive_policy.emplace();
    if (value.empty()) return std::nullopt;
    auto policy = topic::RedrivePolicy::parse(value);
    if (!policy) {
      return refused(policy.error() == topic::RedrivePolicy::Error::NotJson
                         ? "RedrivePolicy: failed to parse JSON."
                         : "RedrivePolicy: deadLetterTargetArn is an invalid arn");
    }
    change.value = *std::move(policy);
    return std::nullopt;
  }
  if (name == "DeliveryPolicy") {
    if (auto policy = topic::parse_delivery_policy(value, topic::PolicyLevel::Subscription); !policy) {
      return refused(policy.error());
    }
    changes.delivery_policy = std::string(value);
    return std::nullopt;
  }
  if (name == "ReplayPolicy") {
    if (topic::ReplayPolicy::is_none(value)) {
      changes.replay_policy.emplace();
      return std::nullopt;
    }
    if (const auto policy = topic::ReplayPolicy::parse(value); !policy) return refused(policy.error());
    changes.replay_policy = std::string(value);
    return std::nullopt;
  }
  if (name == "SubscriptionRoleArn") {
    changes.subscription_role_arn = std::string(value);
    return std::nullopt;
  }
  return invalid_parameter("AttributeName");
}

Result<Next, ApiError> get_subscription_attributes(const model::GetSubscriptionAttributesInput& in, Call& call) {
  auto subscription = subscription_of(in.subscription_arn, call);
  if (!subscription) return subscription.error();
  call.request.emplace<engine::DescribeSubscription>().subscription = *subscription;
  return Next::Engine;
}

void get_subscription_attributes_reply(const engine::SubscriptionDescription& description, ReplyCall& call) {
  const engine::SubscriptionSummary& summary = description.summary;
  const topic::SubscriptionSettings& settings = *description.settings;
  auto& arena = call.answer.arena;
  auto* const entries = arena.take_array<wire::aws::Entry<wire::aws::Text>>(16);
  std::size_t count = 0;
  const auto add = [&](std::string_view name, std::string_view text) { entries[count++] = {name, arena.copy(text)}; };
  const auto add_set = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) add(name, text);
  };
  const auto flag = [](bool value) { return value ? std::string_view("true") : std::string_view("false"); };
  add("SubscriptionArn", topic::subscription_arn(summary.topic.view(), summary.uuid).str());
  add("TopicArn", summary.topic.arn().str());
  add("Protocol", topic::text_of(summary.protocol));
  add("Endpoint", summary.endpoint);
  add("Owner", summary.owner.str());
  add("PendingConfirmation", flag(summary.pending));
  add("ConfirmationWasAuthenticated", flag(description.confirmation_was_authenticated));
  add("RawMessageDelivery", flag(settings.raw_delivery));
  add_set("SubscriptionPrincipal", description.principal_arn);
  if (!settings.filter_policy.empty()) {
    add("FilterPolicy", settings.filter_policy);
    add("FilterPolicyScope", topic::text_of(settings.filter_scope));
  }
  if (settings.redrive_policy) add("RedrivePolicy", settings.redrive_policy->json());
  add_set("DeliveryPolicy", settings.delivery_policy);
  if (summary.protocol == topic::DeliveryProtocol::Http || summary.protocol == topic::DeliveryProtocol::Https) {
    add("EffectiveDeliveryPolicy",
        topic::effective_policy_json(
            topic::effective_policy(description.topic_settings->delivery_policy, settings.delivery_policy),
            topic::PolicyLevel::Subscription));
  }
  add_set("SubscriptionRoleArn", settings.subscription_role_arn);
  add_set("ReplayPolicy", settings.replay_policy);
  if (description.replay) add("ReplayStatus", text_of(*description.replay));
  model::GetSubscriptionAttributesResponse out;
  out.attributes = {entries, count};
  call.answer.write(out);
}

Result<Next, ApiError> set_subscription_attributes(const model::SetSubscriptionAttributesInput& in, Call& call) {
  auto& command = call.request.emplace<engine::ChangeSubscription>();
  auto subscription = subscription_of(in.subscription_arn, call);
  if (!subscription) return subscription.error();
  command.subscription = *subscription;
  if (!in.attribute_name.has_value()) return must_not_be_null("attributeName");
  if (auto error = read_subscription_attribute(in.attribute_name.view(), in.attribute_value.view(), "",
                                               command.attributes, call.context)) {
    return *std::move(error);
  }
  return Next::Engine;
}

}  // namespace fanfare::api::sns
