#include "core/queue/settings.h"

#include <algorithm>
#include <charconv>

#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::queue {
namespace {

namespace json = wire::json;

constexpr std::int64_t kMaxReceiveCountMax = 1'000;
constexpr std::size_t kRedriveSourcesMax = 10;

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(x) == lower(y);
  });
}

Result<json::Value, SettingError> parse_object(std::string_view text) {
  auto value = json::parse(text);
  if (!value || !value->is_object()) return SettingError::NotJson;
  return std::move(*value);
}

}  // namespace

Result<std::int64_t, SettingError> parse_whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end) return SettingError::NotANumber;
  return number;
}

Result<RedrivePolicy, SettingError> RedrivePolicy::parse(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return object.error();
  for (const json::Member& member : object->members())
    if (member.key != "deadLetterTargetArn" && member.key != "maxReceiveCount") return SettingError::UnknownMember;
  const json::Value* target = object->find("deadLetterTargetArn");
  const json::Value* count = object->find("maxReceiveCount");
  if (target == nullptr || count == nullptr) return SettingError::MissingMember;
  const auto arn = target->as_string();
  const auto key = arn ? parse_queue_arn(*arn) : std::nullopt;
  if (!key) return SettingError::BadArn;
  std::optional<std::int64_t> number = count->as_int64();
  if (const auto digits = count->as_string()) {
    if (const auto parsed = parse_whole_number(*digits)) number = *parsed;
  }
  if (!number || *number < 1 || *number > kMaxReceiveCountMax) return SettingError::BadMaxReceiveCount;
  return RedrivePolicy{QueueKey{*key}, static_cast<std::uint32_t>(*number)};
}

std::string RedrivePolicy::json() const {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("deadLetterTargetArn").string(dead_letter_queue.arn().str());
  writer.key("maxReceiveCount").integer(max_receive_count).end_object();
  return out;
}

Result<RedriveAllowPolicy, SettingError> RedriveAllowPolicy::parse(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return object.error();
  for (const json::Member& member : object->members())
    if (member.key != "redrivePermission" && member.key != "sourceQueueArns") return SettingError::UnknownMember;
  const json::Value* word = object->find("redrivePermission");
  if (word == nullptr) return SettingError::MissingMember;
  RedriveAllowPolicy policy;
  const auto permission_text = word->as_string();
  if (permission_text == "allowAll") {
    policy.permission = Permission::AllowAll;
  } else if (permission_text == "denyAll") {
    policy.permission = Permission::DenyAll;
  } else if (permission_text == "byQueue") {
    policy.permission = Permission::ByQueue;
  } else {
    return SettingError::UnknownWord;
  }
  const json::Value* arns = object->find("sourceQueueArns");
  if ((arns != nullptr) != (policy.permission == Permission::ByQueue)) return SettingError::SourcesNotAllowed;
  if (arns == nullptr) return policy;
  if (!arns->is_array() || arns->size() == 0) return SettingError::SourcesNotAllowed;
  if (arns->size() > kRedriveSourcesMax) return SettingError::TooManySources;
  for (const json::Value& item : arns->items()) {
    const auto arn = item.as_string();
    const auto key = arn ? parse_queue_arn(*arn) : std::nullopt;
    if (!key) return SettingError::BadArn;
    policy.sources.emplace_back(*key);
  }
  return policy;
}

std::string RedriveAllowPolicy::json() const {
  std::string out;
  json::Writer writer(out);
  writer.begin_object().key("redrivePermission");
  switch (permission) {
    case Permission::AllowAll: writer.string("allowAll"); break;
    case Permission::DenyAll: writer.string("denyAll"); break;
    case Permission::ByQueue: writer.string("byQueue"); break;
  }
  if (permission == Permission::ByQueue) {
    writer.key("sourceQueueArns").begin_array();
    for (const QueueKey& source : sources) writer.string(source.arn().str());
    writer.end_array();
  }
  writer.end_object();
  return out;
}

bool RedriveAllowPolicy::allows(const QueueKeyView& source) const {
  switch (permission) {
    case Permission::AllowAll: return true;
    case Permission::DenyAll: return false;
    case Permission::ByQueue: break;
  }
  return std::any_of(sources.begin(), sources.end(), [&](const QueueKey& key) { return key.view() == source; });
}

Result<DeduplicationScope, SettingError> parse_deduplication_scope(std::string_view text) {
  if (text == "queue") return DeduplicationScope::Queue;
  if (text == "messageGroup") return DeduplicationScope::MessageGroup;
  return SettingError::UnknownWord;
}

Result<FifoThroughputLimit, SettingError> parse_fifo_throughput_limit(std::string_view text) {
  if (text == "perQueue") return FifoThroughputLimit::PerQueue;
  if (text == "perMessageGroupId") return FifoThroughputLimit::PerMessageGroupId;
  return SettingError::UnknownWord;
}

std::string_view text_of(DeduplicationScope scope) {
  return scope == DeduplicationScope::Queue ? "queue" : "messageGroup";
}

std::string_view text_of(FifoThroughputLimit limit) {
  return limit == FifoThroughputLimit::PerQueue ? "perQueue" : "perMessageGroupId";
}

Result<bool, SettingError> parse_boolean(std::string_view text) {
  if (equal_ignoring_case(text, "true")) return true;
  if (equal_ignoring_case(text, "false")) return false;
  return SettingError::NotABoolean;
}

QueueSettings with_changes(QueueSettings settings, const AttributeChanges& changes) {
  const auto take = [](auto& setting, const auto& change) {
    if (change) setting = *change;
  };
  take(settings.visibility_timeout, changes.visibility_timeout);
  take(settings.delivery_delay, changes.delivery_delay);
  take(settings.retention_period, changes.retention_period);
  take(settings.maximum_message_size, changes.maximum_message_size);
  take(settings.receive_wait, changes.receive_wait);
  if (changes.redrive_policy) settings.redrive_policy = changes.redrive_policy->value;
  if (changes.redrive_allow_policy) settings.redrive_allow_policy = changes.redrive_allow_policy->value;
  take(settings.policy, changes.policy);
  take(settings.fifo, changes.fifo);
  take(settings.content_based_deduplication, changes.content_based_deduplication);
  take(settings.deduplication_scope, changes.deduplication_scope);
  take(settings.fifo_throughput_limit, changes.fifo_throughput_limit);
  take(settings.managed_encryption, changes.managed_encryption);
  take(settings.kms_master_key_id, changes.kms_master_key_id);
  // A queue has one kind of encryption: whichever is turned on turns the other one off.
  if (changes.kms_master_key_id && !changes.kms_master_key_id->empty()) {
    settings.managed_encryption = false;
  } else if (changes.managed_encryption == true) {
    settings.kms_master_key_id.clear();
  }
  if (changes.kms_key_reuse_period) settings.kms_key_reuse_period = changes.kms_key_reuse_period;
  return settings;
}

std::optional<QueueAttribute> first_difference(const QueueSettings& existing, const AttributeChanges& wanted) {
  const auto differs = [](const auto& setting, const auto& change) { return change && !(setting == *change); };
  if (differs(existing.visibility_timeout, wanted.visibility_timeout)) return QueueAttribute::Visibility;
  if (differs(existing.delivery_delay, wanted.delivery_delay)) return QueueAttribute::Delay;
  if (differs(existing.retention_period, wanted.retention_period)) return QueueAttribute::Retention;
  if (differs(existing.maximum_message_size, wanted.maximum_message_size)) return QueueAttribute::MaximumSize;
  if (differs(existing.receive_wait, wanted.receive_wait)) return QueueAttribute::Wait;
  if (wanted.redrive_policy && existing.redrive_policy != wanted.redrive_policy->value)
    return QueueAttribute::RedrivePolicy;
  if (wanted.redrive_allow_policy && existing.redrive_allow_policy != wanted.redrive_allow_policy->value)
    return QueueAttribute::RedriveAllowPolicy;
  if (differs(existing.policy, wanted.policy)) return QueueAttribute::Policy;
  if (differs(existing.fifo, wanted.fifo)) return QueueAttribute::FifoQueue;
  if (differs(existing.content_based_deduplication, wanted.content_based_deduplication))
    return QueueAttribute::ContentBasedDeduplication;
  if (differs(existing.deduplication_scope, wanted.deduplication_scope)) return QueueAttribute::DeduplicationScope;
  if (differs(existing.fifo_throughput_limit, wanted.fifo_throughput_limit)) return QueueAttribute::FifoThroughputLimit;
  if (differs(existing.kms_master_key_id, wanted.kms_master_key_id)) return QueueAttribute::KmsMasterKeyId;
  if (wanted.kms_key_reuse_period &&
      existing.kms_key_reuse_period.value_or(KeyReusePeriod{}) != *wanted.kms_key_reuse_period)
    return QueueAttribute::KmsKeyReuse;
  if (differs(existing.managed_encryption, wanted.managed_encryption)) return QueueAttribute::ManagedEncryption;
  return std::nullopt;
}

}  // namespace fanfare::queue
