// Identities that several modules share. Each is its own type; none converts into another.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/strong.h"

namespace fanfare {

using AccountId = Strong<struct AccountIdTag>;  ///< 12 decimal digits: "000000000000"
using Region = Strong<struct RegionTag>;        ///< "us-east-1"
using QueueName = Strong<struct QueueNameTag>;  ///< 1 to 80 of [A-Za-z0-9_-], FIFO ends in ".fifo" [SQS quotas]
using QueueArn = Strong<struct QueueArnTag>;    ///< "arn:aws:sqs:us-east-1:000000000000:summarise"
using TopicName = Strong<struct TopicNameTag>;
using TopicArn = Strong<struct TopicArnTag>;    ///< "arn:aws:sns:us-east-1:000000000000:doc-events"
using SubscriptionArn = Strong<struct SubscriptionArnTag>;  ///< topic ARN + ":" + UUID

/// 128 random bits in the form of an RFC 9562 version 4 UUID: "8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172".
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  /// From 16 random bytes; version and variant bits are set here.
  static Uuid from_random(std::array<std::uint8_t, 16> random);
  /// The same id for the same (this, salt): ids of a publication's copies follow from the publication's id.
  [[nodiscard]] Uuid derived(std::uint64_t salt) const;
  [[nodiscard]] std::string str() const;
  /// Appends the 36 characters of str().
  void append_to(std::string& out) const;
  static std::optional<Uuid> parse(std::string_view text);

  friend bool operator==(const Uuid&, const Uuid&) = default;
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

/// A message's id in one queue; lives as long as the message. [SQS SendMessage]
struct MessageId : Uuid {};
/// What Publish returns; every copy of the publication carries it in its envelope. [SNS Publish]
struct PublicationId : Uuid {};

}  // namespace fanfare
