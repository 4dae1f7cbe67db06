// GetTopicAttributes, SetTopicAttributes, and the attributes of CreateTopic. [SNS SetTopicAttributes]
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/aws/message_rules.h"
#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"
#include "core/queue/settings.h"
#include "core/topic/archive_policy.h"
#include "core/topic/delivery_policy.h"
#include "policy/permissions.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::api::sns {
namespace {

/// HTTPSuccessFeedbackRoleArn, SQSFailureFeedbackRoleArn, LambdaSuccessFeedbackSampleRate, ...
bool is_feedback(std::string_view name) {
  for (const std::string_view protocol : {"HTTP", "SQS", "Lambda", "Firehose", "Application"}) {
    if (!name.starts_with(protocol)) continue;
    const std::string_view rest = name.substr(protocol.size());
    return rest == "SuccessFeedbackRoleArn" || rest == "SuccessFeedbackSampleRate" || rest == "FailureFeedbackRoleArn";
  }
  return false;
}

ApiError bad_value(std::string_view name, std::string_view value, std::string_view accepted) {
  return invalid_parameter("Attributes",
                           fmt::format("{}: Invalid value [{}]. Must be {}.", name, value.substr(0, 256), accepted));
}

bool is_json_object(std::string_view text) {
  const auto document = wire::json::parse(text);
  return document && document->is_object();
}

std::optional<ApiError> read_boolean(std::string_view name, std::string_view value, std::optional<bool>& to) {
  const auto flag = queue::parse_boolean(value);
  if (!flag) return bad_value(name, value, "true or false");
  to = *flag;
  return std::nullopt;
}

std::optional<ApiError> read_document(std::string_view name, std::string_view value, std::optional<std::string>& to) {
  if (!value.empty() && !is_json_object(value)) {
    return invalid_parameter("Attributes", fmt::format("{}: failed to parse JSON.", name));
  }
  to = std::string(value);
  return std::nullopt;
}

}  // namespace

std::optional<ApiError> read_topic_attribute(std::string_view name, std::string_view value,
                                             topic::TopicChanges& changes) {
  if (name == "DisplayName") {
    if (aws::character_count(value) > 100)
      return invalid_parameter("DisplayName", "It can have at most 100 characters");
    changes.display_name = std::string(value);
    return std::nullopt;
  }
  if (name == "Policy") {
    changes.policy = std::string(value);
    return std::nullopt;
  }
  if (name == "DeliveryPolicy") {
    if (auto policy = topic::parse_delivery_policy(value, topic::PolicyLevel::Topic); !policy) {
      return invalid_parameter(policy.error());
    }
    changes.delivery_policy = std::string(value);
    return std::nullopt;
  }
  if (name == "ArchivePolicy") {
    // An empty object ends the archive; AWS refuses an empty text.
    if (value.empty()) return invalid_parameter("Attributes", "ArchivePolicy: failed to parse JSON.");
    if (const auto policy = topic::ArchivePolicy::parse(value); !policy) return invalid_parameter("Attributes", policy.error());
    changes.archive_policy = std::string(value);
    return std::nullopt;
  }
  if (name == "DataProtectionPolicy") return read_document(name, value, changes.data_protection_policy);
  if (name == "KmsMasterKeyId") {
    changes.kms_master_key_id = std::string(value);
    return std::nullopt;
  }
  if (name == "SignatureVersion") {
    if (value != "1" && value != "2") return bad_value(name, value, "1 or 2");
    changes.signature_version = static_cast<std::uint8_t>(value[0] - '0');
    return std::nullopt;
  }
  if (name == "TracingConfig") {
    if (value != "PassThrough" && value != "Active") return bad_value(name, value, "PassThrough or Active");
    changes.tracing_config = std::string(value);
    return std::nullopt;
  }
  if (name == "FifoTopic") return read_boolean(name, value, changes.fifo);
  if (name == "ContentBasedDeduplication") return read_boolean(name, value, changes.content_based_deduplication);
  if (name == "FifoThroughputScope") {
    if (value != "Topic" && value != "MessageGroup") return bad_value(name, value, "Topic or MessageGroup");
    changes.fifo_throughput_scope =
        value == "Topic" ? topic::FifoThroughputScope::Topic : topic::FifoThroughputScope::MessageGroup;
    return std::nullopt;
  }
  if (is_feedback(name)) {
    changes.feedback.emplace_back(name, value);
    return std::nullopt;
  }
  return invalid_parameter("AttributeName");
}

Result<Next, ApiError> get_topic_attributes(const model::GetTopicAttributesInput& in, Call& call) {
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  call.request.emplace<engine::DescribeTopic>().topic = *key;
  return Next::Engine;
}

void get_topic_attributes_reply(const engine::TopicDescription& description, ReplyCall& call) {
  const topic::TopicSettings& settings = *description.settings;
  auto& arena = call.answer.arena;
  constexpr std::size_t fixed = 20;
  auto* const entries = arena.take_array<wire::aws::Entry<wire::aws::Text>>(fixed + settings.feedback.size());
  std::size_t count = 0;
  const auto add = [&](std::string_view name, std::string_view text) { entries[count++] = {name, arena.copy(text)}; };
  const auto add_set = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) add(name, text);
  };
  const std::string arn = description.key->arn().str();
  const std::string& account = description.key->account.str();
  add("TopicArn", arn);
  add("Owner", account);
  add("DisplayName", settings.display_name);
  add("Policy", settings.policy.empty() ? policy::default_topic_policy(arn, account) : settings.policy);
  add_set("DeliveryPolicy", settings.delivery_policy);
  add("EffectiveDeliveryPolicy",
      topic::effective_policy_json(topic::effective_policy(settings.delivery_policy, {}), topic::PolicyLevel::Topic));
  add("SubscriptionsConfirmed", call.answer.decimal(static_cast<std::int64_t>(description.subscriptions_confirmed)));
  add("SubscriptionsPending", call.answer.decimal(static_cast<std::int64_t>(description.subscriptions_pending)));
  add("SubscriptionsDeleted", call.answer.decimal(static_cast<std::int64_t>(description.subscriptions_deleted)));
  if (settings.signature_version != 0) add("SignatureVersion", call.answer.decimal(settings.signature_version));
  add_set("TracingConfig", settings.tracing_config);
  add_set("KmsMasterKeyId", settings.kms_master_key_id);
  if (settings.fifo) {
    add("FifoTopic", "true");
    add("ContentBasedDeduplication", settings.content_based_deduplication ? "true" : "false");
    add("FifoThroughputScope",
        settings.fifo_throughput_scope == topic::FifoThroughputScope::Topic ? "Topic" : "MessageGroup");
  }
  add_set("ArchivePolicy", settings.archive_policy);
  if (description.beginning_archive_time) add("BeginningArchiveTime", iso8601(*description.beginning_archive_time));
  for (const auto& [name, value] : settings.feedback) add_set(name, value);
  model::GetTopicAttributesResponse out;
  out.attributes = {entries, count};
  call.answer.write(out);
}

Result<Next, ApiError> set_topic_attributes(const model::SetTopicAttributesInput& in, Call& call) {
  auto& command = call.request.emplace<engine::ChangeTopic>();
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.attribute_name.has_value()) return must_not_be_null("attributeName");
  if (in.attribute_name.view() == "FifoTopic") return invalid_parameter("AttributeName");
  if (auto error = read_topic_attribute(in.attribute_name.view(), in.attribute_value.view(), command.attributes)) {
    return *std::move(error);
  }
  return Next::Engine;
}

}  // namespace fanfare::api::sns
