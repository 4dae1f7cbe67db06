// AddPermission, RemovePermission, PutDataProtectionPolicy, GetDataProtectionPolicy: documents of a topic. [SNS AddPermission]
#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"
#include "wire/json/value.h"

namespace fanfare::api::sns {
namespace {

std::span<const std::string_view> views_of(const wire::aws::List<wire::aws::Text>& list, wire::aws::Arena& arena) {
  auto* const views = arena.take_array<std::string_view>(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) views[i] = list[i].view();
  return {views, list.size()};
}

}  // namespace

Result<Next, ApiError> add_permission(const model::AddPermissionInput& in, Call& call) {
  auto& command = call.request.emplace<engine::AddTopicPermission>();
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.label.has_value()) return must_not_be_null("label");
  if (!in.aws_account_id.has_value()) return must_not_be_null("aWSAccountId");
  if (!in.action_name.has_value()) return must_not_be_null("actionName");
  if (in.label.empty()) return invalid_parameter("Label");
  command.label = in.label.view();
  command.accounts = views_of(in.aws_account_id, call.arena);
  command.actions = views_of(in.action_name, call.arena);
  return Next::Engine;
}

Result<Next, ApiError> remove_permission(const model::RemovePermissionInput& in, Call& call) {
  auto& command = call.request.emplace<engine::RemoveTopicPermission>();
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.label.has_value()) return must_not_be_null("label");
  command.label = in.label.view();
  return Next::Engine;
}

Result<Next, ApiError> put_data_protection_policy(const model::PutDataProtectionPolicyInput& in, Call& call) {
  auto& command = call.request.emplace<engine::ChangeTopic>();
  command.action = "sns:PutDataProtectionPolicy";
  auto key = topic_of(in.resource_arn, "ResourceArn", "resourceArn", call);
  if (!key) return key.error();
  command.topic = *key;
  if (!in.data_protection_policy.has_value()) return must_not_be_null("dataProtectionPolicy");
  if (const auto document = wire::json::parse(in.data_protection_policy.view());
      !in.data_protection_policy.empty() && (!document || !document->is_object())) {
    return invalid_parameter("DataProtectionPolicy", "The policy is not valid JSON");
  }
  command.attributes.data_protection_policy = std::string(in.data_protection_policy.view());
  return Next::Engine;
}

Result<Next, ApiError> get_data_protection_policy(const model::GetDataProtectionPolicyInput& in, Call& call) {
  auto key = topic_of(in.resource_arn, "ResourceArn", "resourceArn", call);
  if (!key) return key.error();
  auto& command = call.request.emplace<engine::DescribeTopic>();
  command.topic = *key;
  command.action = "sns:GetDataProtectionPolicy";
  return Next::Engine;
}
void get_data_protection_policy_reply(const engine::TopicDescription& description, ReplyCall& call) {
  model::GetDataProtectionPolicyResponse out;
  const std::string& policy = description.settings->data_protection_policy;
  if (!policy.empty()) out.data_protection_policy = std::string_view(policy);
  call.answer.write(out);
}

}  // namespace fanfare::api::sns
