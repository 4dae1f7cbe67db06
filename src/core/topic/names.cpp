#include "core/topic/names.h"

#include <fmt/format.h>

#include "base/arn.h"

namespace fanfare::topic {
namespace {

constexpr std::string_view kService = "sns";

std::string arn_of(const TopicKeyView& topic) { return make_arn(kService, {topic.region, topic.account, topic.name}); }

}  // namespace

TopicArn TopicKey::arn() const { return TopicArn{arn_of(view())}; }

std::optional<TopicKeyView> parse_topic_arn(std::string_view arn) {
  const auto parts = parse_arn(arn, kService);
  if (!parts) return std::nullopt;
  return TopicKeyView{parts->account, parts->region, parts->name};
}

bool is_valid_topic_name(std::string_view name) { return is_resource_name(name, 256); }

SubscriptionArn subscription_arn(const TopicKeyView& topic, const SubscriptionUuid& uuid) {
  return SubscriptionArn{fmt::format("{}:{}", arn_of(topic), uuid.str())};
}

std::optional<SubscriptionKeyView> parse_subscription_arn(std::string_view arn) {
  const std::size_t colon = arn.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto topic = parse_topic_arn(arn.substr(0, colon));
  const auto uuid = Uuid::parse(arn.substr(colon + 1));
  if (!topic || !uuid) return std::nullopt;
  return SubscriptionKeyView{*topic, SubscriptionUuid{*uuid}};
}

}  // namespace fanfare::topic
