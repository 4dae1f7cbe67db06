#include "core/topic/names.h"

#include <fmt/format.h>

namespace fanfare::topic {
namespace {

constexpr std::string_view kArnPrefix = "arn:aws:sns:";
constexpr std::string_view kFifoSuffix = ".fifo";

}  // namespace

TopicArn TopicKey::arn() const {
  return TopicArn{fmt::format("{}{}:{}:{}", kArnPrefix, region.str(), account.str(), name.str())};
}

std::optional<TopicKeyView> parse_topic_arn(std::string_view arn) {
  if (!arn.starts_with(kArnPrefix)) return std::nullopt;
  arn.remove_prefix(kArnPrefix.size());
  const std::size_t first = arn.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = arn.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const TopicKeyView key{arn.substr(first + 1, second - first - 1), arn.substr(0, first), arn.substr(second + 1)};
  if (key.account.empty() || key.region.empty() || key.name.empty()) return std::nullopt;
  if (key.name.find(':') != std::string_view::npos) return std::nullopt;
  return key;
}

bool is_valid_topic_name(std::string_view name) {
  if (name.empty() || name.size() > 256) return false;
  if (name.ends_with(kFifoSuffix)) name.remove_suffix(kFifoSuffix.size());
  if (name.empty()) return false;
  for (const char c : name) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!allowed) return false;
  }
  return true;
}

SubscriptionArn subscription_arn(const TopicKeyView& topic, const SubscriptionUuid& uuid) {
  return SubscriptionArn{fmt::format("{}{}:{}:{}:{}", kArnPrefix, topic.region, topic.account, topic.name, uuid.str())};
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
