// How topics and subscriptions are named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace fanfare::topic {

/// A topic's name as a caller gives it; views, valid during the call.
struct TopicKeyView {
  std::string_view account;
  std::string_view region;
  std::string_view name;  ///< "doc-events", "orders.fifo"

  friend bool operator==(const TopicKeyView&, const TopicKeyView&) = default;
  friend auto operator<=>(const TopicKeyView&, const TopicKeyView&) = default;
};

/// A topic's name, owned. Ordered by account, region, name.
struct TopicKey {
  AccountId account;
  Region region;
  TopicName name;

  TopicKey() = default;
  TopicKey(AccountId its_account, Region its_region, TopicName its_name)
      : account(std::move(its_account)), region(std::move(its_region)), name(std::move(its_name)) {}
  explicit TopicKey(TopicKeyView key) : account(key.account), region(key.region), name(key.name) {}

  [[nodiscard]] TopicKeyView view() const { return {account.str(), region.str(), name.str()}; }
  /// "arn:aws:sns:us-east-1:000000000000:doc-events"
  [[nodiscard]] TopicArn arn() const;

  friend bool operator==(const TopicKey&, const TopicKey&) = default;
  friend auto operator<=>(const TopicKey&, const TopicKey&) = default;
};

/// The parts of "arn:aws:sns:REGION:ACCOUNT:NAME"; nullopt for any other text. Views into `arn`.
std::optional<TopicKeyView> parse_topic_arn(std::string_view arn);

/// 1 to 256 of [A-Za-z0-9_-]; a FIFO topic's name ends in ".fifo". [SNS CreateTopic]
bool is_valid_topic_name(std::string_view name);

/// The last part of a subscription's ARN.
struct SubscriptionUuid : Uuid {};

/// A subscription as a caller names it.
struct SubscriptionKeyView {
  TopicKeyView topic;
  SubscriptionUuid uuid;
};

/// "arn:aws:sns:us-east-1:000000000000:doc-events:8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172"
SubscriptionArn subscription_arn(const TopicKeyView& topic, const SubscriptionUuid& uuid);
/// Nullopt for any other text. Views into `arn`.
std::optional<SubscriptionKeyView> parse_subscription_arn(std::string_view arn);

/// Names one life of a topic.
struct TopicId {
  std::uint32_t number = 0;  ///< from 1; 0: none
  friend constexpr auto operator<=>(const TopicId&, const TopicId&) = default;
};

/// Names one life of a subscription.
struct SubscriptionId {
  std::uint32_t number = 0;  ///< from 1; 0: none
  friend constexpr auto operator<=>(const SubscriptionId&, const SubscriptionId&) = default;
};

}  // namespace fanfare::topic
