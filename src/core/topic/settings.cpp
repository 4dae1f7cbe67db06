#include "core/topic/settings.h"

#include <algorithm>
#include <array>

#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::topic {
namespace {

constexpr std::string_view kSqsArnPrefix = "arn:aws:sqs:";
constexpr std::array<std::string_view, 9> kProtocols = {"sqs", "http",        "https",  "email",   "email-json",
                                                        "sms", "application", "lambda", "firehose"};

template <class Setting, class Change>
void take(Setting& setting, const Change& change) {
  if (change) setting = *change;
}

template <class Setting, class Change>
bool differs(const Setting& setting, const Change& change) {
  return change && !(setting == *change);
}

using Feedback = std::vector<std::pair<std::string, std::string>>;

Feedback merged(Feedback feedback, const Feedback& changes) {
  for (const auto& [name, value] : changes) {
    const auto place = std::lower_bound(feedback.begin(), feedback.end(), name,
                                        [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
    if (place != feedback.end() && place->first == name) {
      place->second = value;
    } else {
      feedback.insert(place, {name, value});
    }
  }
  return feedback;
}

}  // namespace

std::string_view text_of(DeliveryProtocol protocol) { return kProtocols[static_cast<std::size_t>(protocol)]; }

std::optional<DeliveryProtocol> parse_delivery_protocol(std::string_view text) {
  const auto found = std::find(kProtocols.begin(), kProtocols.end(), text);
  if (found == kProtocols.end()) return std::nullopt;
  return static_cast<DeliveryProtocol>(found - kProtocols.begin());
}

Result<RedrivePolicy, RedrivePolicy::Error> RedrivePolicy::parse(std::string_view text) {
  const auto object = wire::json::parse(text);
  if (!object || !object->is_object()) return Error::NotJson;
  const auto arn = object->find_string("deadLetterTargetArn");
  // "arn:aws:sqs:region:account:name": three more colons at least.
  if (!arn || !arn->starts_with(kSqsArnPrefix) || std::count(arn->begin(), arn->end(), ':') != 5) return Error::InvalidArn;
  return RedrivePolicy{QueueArn{*arn}};
}

std::string RedrivePolicy::json() const {
  std::string out;
  wire::json::Writer(out).begin_object().key("deadLetterTargetArn").string(dead_letter_queue.str()).end_object();
  return out;
}

TopicSettings with_changes(TopicSettings settings, const TopicChanges& changes) {
  take(settings.display_name, changes.display_name);
  take(settings.policy, changes.policy);
  take(settings.delivery_policy, changes.delivery_policy);
  take(settings.signature_version, changes.signature_version);
  take(settings.tracing_config, changes.tracing_config);
  take(settings.kms_master_key_id, changes.kms_master_key_id);
  take(settings.fifo, changes.fifo);
  take(settings.content_based_deduplication, changes.content_based_deduplication);
  take(settings.fifo_throughput_scope, changes.fifo_throughput_scope);
  take(settings.archive_policy, changes.archive_policy);
  take(settings.data_protection_policy, changes.data_protection_policy);
  settings.feedback = merged(std::move(settings.feedback), changes.feedback);
  return settings;
}

std::optional<TopicAttribute> first_difference(const TopicSettings& existing, const TopicChanges& wanted) {
  if (differs(existing.display_name, wanted.display_name)) return TopicAttribute::DisplayName;
  if (differs(existing.policy, wanted.policy)) return TopicAttribute::Policy;
  if (differs(existing.delivery_policy, wanted.delivery_policy)) return TopicAttribute::DeliveryPolicy;
  if (differs(existing.signature_version, wanted.signature_version)) return TopicAttribute::SignatureVersion;
  if (differs(existing.tracing_config, wanted.tracing_config)) return TopicAttribute::TracingConfig;
  if (differs(existing.kms_master_key_id, wanted.kms_master_key_id)) return TopicAttribute::KmsMasterKeyId;
  if (differs(existing.fifo, wanted.fifo)) return TopicAttribute::FifoTopic;
  if (differs(existing.content_based_deduplication, wanted.content_based_deduplication))
    return TopicAttribute::ContentBasedDeduplication;
  if (differs(existing.fifo_throughput_scope, wanted.fifo_throughput_scope)) return TopicAttribute::FifoThroughputScope;
  if (differs(existing.archive_policy, wanted.archive_policy)) return TopicAttribute::ArchivePolicy;
  if (differs(existing.data_protection_policy, wanted.data_protection_policy)) return TopicAttribute::DataProtectionPolicy;
  if (merged(existing.feedback, wanted.feedback) != existing.feedback) return TopicAttribute::Feedback;
  return std::nullopt;
}

SubscriptionSettings with_changes(SubscriptionSettings settings, const SubscriptionChanges& changes) {
  take(settings.raw_delivery, changes.raw_delivery);
  take(settings.filter_policy, changes.filter_policy);
  take(settings.filter_scope, changes.filter_scope);
  if (changes.redrive_policy) settings.redrive_policy = changes.redrive_policy->value;
  take(settings.delivery_policy, changes.delivery_policy);
  take(settings.subscription_role_arn, changes.subscription_role_arn);
  take(settings.replay_policy, changes.replay_policy);
  return settings;
}

std::optional<SubscriptionAttribute> first_difference(const SubscriptionSettings& existing, const SubscriptionChanges& wanted) {
  if (differs(existing.raw_delivery, wanted.raw_delivery)) return SubscriptionAttribute::RawDelivery;
  if (differs(existing.filter_policy, wanted.filter_policy)) return SubscriptionAttribute::FilterPolicy;
  if (differs(existing.filter_scope, wanted.filter_scope)) return SubscriptionAttribute::FilterScope;
  if (wanted.redrive_policy && existing.redrive_policy != wanted.redrive_policy->value)
    return SubscriptionAttribute::RedrivePolicy;
  if (differs(existing.delivery_policy, wanted.delivery_policy)) return SubscriptionAttribute::DeliveryPolicy;
  if (differs(existing.subscription_role_arn, wanted.subscription_role_arn)) return SubscriptionAttribute::SubscriptionRole;
  if (differs(existing.replay_policy, wanted.replay_policy)) return SubscriptionAttribute::ReplayPolicy;
  return std::nullopt;
}

}  // namespace fanfare::topic
