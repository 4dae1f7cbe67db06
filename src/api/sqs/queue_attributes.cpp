// GetQueueAttributes, SetQueueAttributes, and the attributes of CreateQueue. [SQS SetQueueAttributes]
#include <fmt/format.h>

#include "api/sqs/actions.h"
#include "api/sqs/attribute_names.h"
#include "api/sqs/errors.h"
#include "api/sqs/validate.h"

namespace fanfare::api::sqs {
namespace {

using queue::SettingError;

ApiError invalid_attribute(std::string_view name, std::string_view reason = {}) {
  return api_error(Error::InvalidAttributeValue,
                   reason.empty() ? fmt::format("Invalid value for the parameter {}.", name)
                                  : fmt::format("Invalid value for the parameter {}. Reason: {}", name, reason));
}

ApiError unknown_attribute(std::string_view name) {
  return api_error(Error::InvalidAttributeName, fmt::format("Unknown Attribute {}.", name.substr(0, 256)));
}

std::string_view reason_of_redrive_policy(SettingError error, std::string_view json) {
  switch (error) {
    case SettingError::NotJson: return "Redrive policy is not a valid JSON map.";
    case SettingError::MissingMember:
      return json.find("maxReceiveCount") == std::string_view::npos
                 ? "Redrive policy does not contain mandatory attribute: maxReceiveCount."
                 : "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.";
    case SettingError::UnknownMember:
      return "Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount].";
    case SettingError::BadArn: return "Invalid value for deadLetterTargetArn.";
    case SettingError::BadMaxReceiveCount:
      return "Invalid value for maxReceiveCount, valid values are from 1 to 1000 both inclusive.";
    case SettingError::NotANumber:
    case SettingError::OutOfRange:
    case SettingError::NotABoolean:
    case SettingError::UnknownWord:
    case SettingError::TooManySources:
    case SettingError::SourcesNotAllowed: break;  // not errors of this policy
  }
  return "Redrive policy is not valid.";
}

std::string_view reason_of_redrive_allow_policy(SettingError error) {
  switch (error) {
    case SettingError::NotJson: return "Redrive allow policy is not a valid JSON map.";
    case SettingError::MissingMember:
      return "Redrive allow policy does not contain mandatory attribute: redrivePermission.";
    case SettingError::UnknownMember:
      return "Only following attributes are supported: [redrivePermission, sourceQueueArns].";
    case SettingError::UnknownWord: return "redrivePermission must be one of allowAll, denyAll, byQueue.";
    case SettingError::BadArn: return "sourceQueueArns must hold ARNs of queues.";
    case SettingError::TooManySources: return "sourceQueueArns can hold at most 10 ARNs.";
    case SettingError::SourcesNotAllowed: return "sourceQueueArns is needed with byQueue, and with nothing else.";
    case SettingError::NotANumber:
    case SettingError::OutOfRange:
    case SettingError::NotABoolean:
    case SettingError::BadMaxReceiveCount: break;  // not errors of this policy
  }
  return "Redrive allow policy is not valid.";
}

/// Stores a value that a setting's parse() accepts; false if it refuses. An empty text stands for the default.
/// [quirk: empty-means-default]
template <class Setting>
bool set(std::optional<Setting>& to, std::string_view text) {
  if (text.empty()) {
    to = Setting();
    return true;
  }
  const auto setting = Setting::parse(text);
  if (setting) to = *setting;
  return setting.has_value();
}
template <class Value, class Parse>
bool set(std::optional<Value>& to, std::string_view text, Parse parse) {
  const auto value = parse(text);
  if (value) to = *value;
  return value.has_value();
}

std::optional<ApiError> read_attribute(QueueAttributeName name, std::string_view value,
                                       queue::AttributeChanges& changes, ReplyContext& context) {
  const auto refuse_unless = [&](bool accepted) {
    return accepted ? std::nullopt : std::optional(invalid_attribute(text_of(name)));
  };
  using enum QueueAttributeName;
  switch (name) {
    case VisibilityTimeout: return refuse_unless(set(changes.visibility_timeout, value));
    case MaximumMessageSize: return refuse_unless(set(changes.maximum_message_size, value));
    case MessageRetentionPeriod: return refuse_unless(set(changes.retention_period, value));
    case DelaySeconds: return refuse_unless(set(changes.delivery_delay, value));
    case ReceiveMessageWaitTimeSeconds: return refuse_unless(set(changes.receive_wait, value));
    case KmsDataKeyReusePeriodSeconds: return refuse_unless(set(changes.kms_key_reuse_period, value));
    case FifoQueue: return refuse_unless(set(changes.fifo, value, queue::parse_boolean));
    case ContentBasedDeduplication:
      return refuse_unless(set(changes.content_based_deduplication, value, queue::parse_boolean));
    case SqsManagedSseEnabled: return refuse_unless(set(changes.managed_encryption, value, queue::parse_boolean));
    case DeduplicationScope:
      return refuse_unless(set(changes.deduplication_scope, value, queue::parse_deduplication_scope));
    case FifoThroughputLimit:
      return refuse_unless(set(changes.fifo_throughput_limit, value, queue::parse_fifo_throughput_limit));
    case KmsMasterKeyId: changes.kms_master_key_id = std::string(value); return std::nullopt;
    case Policy: changes.policy = std::string(value); return std::nullopt;
    case RedrivePolicy: {
      auto& change = changes.redrive_policy.emplace();
      if (value.empty()) return std::nullopt;
      auto policy = queue::RedrivePolicy::parse(value);
      if (!policy) return invalid_value(value, "RedrivePolicy", reason_of_redrive_policy(policy.error(), value));
      change.value = *std::move(policy);
      context.subject = value;
      return std::nullopt;
    }
    case RedriveAllowPolicy: {
      auto& change = changes.redrive_allow_policy.emplace();
      if (value.empty()) return std::nullopt;
      auto policy = queue::RedriveAllowPolicy::parse(value);
      if (!policy) return invalid_value(value, "RedriveAllowPolicy", reason_of_redrive_allow_policy(policy.error()));
      change.value = *std::move(policy);
      return std::nullopt;
    }
    case All:
    case ApproximateNumberOfMessages:
    case ApproximateNumberOfMessagesNotVisible:
    case ApproximateNumberOfMessagesDelayed:
    case CreatedTimestamp:
    case LastModifiedTimestamp:
    case QueueArn: break;
  }
  return unknown_attribute(text_of(name));
}

}  // namespace

Result<queue::AttributeChanges, ApiError> read_attributes(const wire::aws::Map<wire::aws::Text>& given,
                                                          ReplyContext& context) {
  queue::AttributeChanges changes;
  for (const auto& [key, value] : given) {
    const auto name = parse_queue_attribute_name(key.view());
    if (!name) return unknown_attribute(key.view());
    if (!value.has_value()) return invalid_attribute(key.view());  // a form's Attribute.1.Name without its Value
    if (auto error = read_attribute(*name, value.view(), changes, context)) return *std::move(error);
  }
  if (changes.managed_encryption == true && changes.kms_master_key_id && !changes.kms_master_key_id->empty()) {
    return api_error(Error::InvalidAttributeName,
                     "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE "
                     "or SQS SSE.");
  }
  return changes;
}

Result<Next, ApiError> set_queue_attributes(const model::SetQueueAttributesRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::ChangeQueue>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (!in.attributes.has_value()) return missing_parameter("Attributes");
  auto attributes = read_attributes(in.attributes, call.context);
  if (!attributes) return attributes.error();
  command.attributes = *std::move(attributes);
  return Next::Engine;
}

Result<Next, ApiError> get_queue_attributes(const model::GetQueueAttributesRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::DescribeQueue>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  for (const wire::aws::Text& text : in.attribute_names) {
    const auto name = parse_queue_attribute_name(text.view());
    if (!name) return unknown_attribute(text.view());
    call.context.wanted |= *name == QueueAttributeName::All ? (1u << kQueueAttributeNames) - 1 : bit(*name);
  }
  return Next::Engine;
}

void get_queue_attributes_reply(const engine::QueueDescription& description, ReplyCall& call) {
  auto* const entries = call.answer.arena.take_array<wire::aws::Entry<wire::aws::Text>>(kQueueAttributeNames);
  std::size_t count = 0;
  const auto add = [&](QueueAttributeName name, std::string_view text) {
    if ((call.context.wanted & bit(name)) != 0) entries[count++] = {text_of(name), call.answer.arena.copy(text)};
  };
  const auto add_number = [&](QueueAttributeName name, auto number) {
    if ((call.context.wanted & bit(name)) != 0) {
      entries[count++] = {text_of(name), call.answer.decimal(static_cast<std::int64_t>(number))};
    }
  };
  const auto add_flag = [&](QueueAttributeName name, bool flag) { add(name, flag ? "true" : "false"); };
  const queue::QueueSettings& settings = *description.settings;
  using enum QueueAttributeName;
  if (!settings.policy.empty()) add(Policy, settings.policy);
  add_number(VisibilityTimeout, settings.visibility_timeout.count());
  add_number(MaximumMessageSize, settings.maximum_message_size.count());
  add_number(MessageRetentionPeriod, settings.retention_period.count());
  add_number(ApproximateNumberOfMessages, description.counts.visible);
  add_number(ApproximateNumberOfMessagesNotVisible, description.counts.in_flight);
  add_number(CreatedTimestamp, unix_ms(description.created_at) / 1000);
  add_number(LastModifiedTimestamp, unix_ms(description.changed_at) / 1000);
  add(QueueArn, description.key->arn().str());
  add_number(ApproximateNumberOfMessagesDelayed, description.counts.delayed);
  add_number(DelaySeconds, settings.delivery_delay.count());
  add_number(ReceiveMessageWaitTimeSeconds, settings.receive_wait.count());
  if (settings.redrive_policy) add(RedrivePolicy, settings.redrive_policy->json());
  if (settings.fifo) {
    add_flag(FifoQueue, true);
    add_flag(ContentBasedDeduplication, settings.content_based_deduplication);
    add(DeduplicationScope, queue::text_of(settings.deduplication_scope));
    add(FifoThroughputLimit, queue::text_of(settings.fifo_throughput_limit));
  }
  if (!settings.kms_master_key_id.empty()) {
    add(KmsMasterKeyId, settings.kms_master_key_id);
    add_number(KmsDataKeyReusePeriodSeconds, settings.kms_key_reuse_period.value_or(queue::KeyReusePeriod()).count());
  }
  if (settings.redrive_allow_policy) add(RedriveAllowPolicy, settings.redrive_allow_policy->json());
  add_flag(SqsManagedSseEnabled, settings.managed_encryption);
  model::GetQueueAttributesResult out;
  if (count > 0) out.attributes = {entries, count};
  call.answer.write(out);
}

}  // namespace fanfare::api::sqs
