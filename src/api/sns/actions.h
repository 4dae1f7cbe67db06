// SNS's actions: each has a function from its decoded input to a command, and one from the engine's reply to its
// output. The registry (handler_of) is one exhaustive switch, so no action of the model can be forgotten.
#pragma once

#include "api/aws/call.h"
#include "api/aws/sns_model.h"

namespace fanfare::api::sns {

const aws::Handler& handler_of(Action action);

using aws::ApiError;
using aws::Call;
using aws::Next;
using aws::ReplyCall;

// publish.cpp
Result<Next, ApiError> publish(const model::PublishInput& in, Call& call);
void publish_reply(const engine::Published& published, ReplyCall& call);
Result<Next, ApiError> publish_batch(const model::PublishBatchInput& in, Call& call);
void publish_batch_reply(const engine::BatchPublished& published, ReplyCall& call);

// topics.cpp
Result<Next, ApiError> create_topic(const model::CreateTopicInput& in, Call& call);
void create_topic_reply(const engine::TopicFound& found, ReplyCall& call);
Result<Next, ApiError> delete_topic(const model::DeleteTopicInput& in, Call& call);
Result<Next, ApiError> list_topics(const model::ListTopicsInput& in, Call& call);
void list_topics_reply(const engine::TopicNames& names, ReplyCall& call);

// topic_attributes.cpp
Result<Next, ApiError> get_topic_attributes(const model::GetTopicAttributesInput& in, Call& call);
void get_topic_attributes_reply(const engine::TopicDescription& description, ReplyCall& call);
Result<Next, ApiError> set_topic_attributes(const model::SetTopicAttributesInput& in, Call& call);
/// Stores one attribute; an error for a name that topics do not have or a value that it cannot have.
std::optional<ApiError> read_topic_attribute(std::string_view name, std::string_view value,
                                             topic::TopicChanges& changes);

// subscriptions.cpp
Result<Next, ApiError> subscribe(const model::SubscribeInput& in, Call& call);
void subscribe_reply(const engine::Subscribed& subscribed, ReplyCall& call);
Result<Next, ApiError> unsubscribe(const model::UnsubscribeInput& in, Call& call);
Result<Next, ApiError> confirm_subscription(const model::ConfirmSubscriptionInput& in, Call& call);
void confirm_subscription_reply(const engine::Subscribed& subscribed, ReplyCall& call);
Result<Next, ApiError> list_subscriptions(const model::ListSubscriptionsInput& in, Call& call);
void list_subscriptions_reply(const engine::Subscriptions& subscriptions, ReplyCall& call);
Result<Next, ApiError> list_subscriptions_by_topic(const model::ListSubscriptionsByTopicInput& in, Call& call);
void list_subscriptions_by_topic_reply(const engine::Subscriptions& subscriptions, ReplyCall& call);

// subscription_attributes.cpp
Result<Next, ApiError> get_subscription_attributes(const model::GetSubscriptionAttributesInput& in, Call& call);
void get_subscription_attributes_reply(const engine::SubscriptionDescription& description, ReplyCall& call);
Result<Next, ApiError> set_subscription_attributes(const model::SetSubscriptionAttributesInput& in, Call& call);
/// The same for a subscription. `prefix` is "Attributes Reason: " for Subscribe. A filter policy's text is kept in
/// `context.subject` for errors.
std::optional<ApiError> read_subscription_attribute(std::string_view name, std::string_view value,
                                                    std::string_view prefix, topic::SubscriptionChanges& changes,
                                                    ReplyContext& context);

// tags.cpp
Result<Next, ApiError> tag_resource(const model::TagResourceRequest& in, Call& call);
Result<Next, ApiError> untag_resource(const model::UntagResourceRequest& in, Call& call);
Result<Next, ApiError> list_tags_for_resource(const model::ListTagsForResourceRequest& in, Call& call);
void list_tags_for_resource_reply(const engine::Tags& tags, ReplyCall& call);

// permissions.cpp
Result<Next, ApiError> add_permission(const model::AddPermissionInput& in, Call& call);
Result<Next, ApiError> remove_permission(const model::RemovePermissionInput& in, Call& call);
Result<Next, ApiError> put_data_protection_policy(const model::PutDataProtectionPolicyInput& in, Call& call);
Result<Next, ApiError> get_data_protection_policy(const model::GetDataProtectionPolicyInput& in, Call& call);
void get_data_protection_policy_reply(const engine::TopicDescription& description, ReplyCall& call);

// mobile.cpp
/// The encoder of directory actions that only say that it is done.
void directory_done(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> check_if_phone_number_is_opted_out(const model::CheckIfPhoneNumberIsOptedOutInput& in, Call& call);
void check_if_phone_number_is_opted_out_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> create_platform_application(const model::CreatePlatformApplicationInput& in, Call& call);
void create_platform_application_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> create_platform_endpoint(const model::CreatePlatformEndpointInput& in, Call& call);
void create_platform_endpoint_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> create_sms_sandbox_phone_number(const model::CreateSMSSandboxPhoneNumberInput& in, Call& call);
Result<Next, ApiError> delete_endpoint(const model::DeleteEndpointInput& in, Call& call);
Result<Next, ApiError> delete_platform_application(const model::DeletePlatformApplicationInput& in, Call& call);
Result<Next, ApiError> delete_sms_sandbox_phone_number(const model::DeleteSMSSandboxPhoneNumberInput& in, Call& call);
Result<Next, ApiError> get_endpoint_attributes(const model::GetEndpointAttributesInput& in, Call& call);
void get_endpoint_attributes_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> get_platform_application_attributes(const model::GetPlatformApplicationAttributesInput& in, Call& call);
void get_platform_application_attributes_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> get_sms_attributes(const model::GetSMSAttributesInput& in, Call& call);
void get_sms_attributes_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> list_endpoints_by_platform_application(const model::ListEndpointsByPlatformApplicationInput& in, Call& call);
void list_endpoints_by_platform_application_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> list_phone_numbers_opted_out(const model::ListPhoneNumbersOptedOutInput& in, Call& call);
void list_phone_numbers_opted_out_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> list_platform_applications(const model::ListPlatformApplicationsInput& in, Call& call);
void list_platform_applications_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> list_sms_sandbox_phone_numbers(const model::ListSMSSandboxPhoneNumbersInput& in, Call& call);
void list_sms_sandbox_phone_numbers_reply(const topic::DirectoryAnswer& answer, ReplyCall& call);
Result<Next, ApiError> opt_in_phone_number(const model::OptInPhoneNumberInput& in, Call& call);
Result<Next, ApiError> set_endpoint_attributes(const model::SetEndpointAttributesInput& in, Call& call);
Result<Next, ApiError> set_platform_application_attributes(const model::SetPlatformApplicationAttributesInput& in, Call& call);
Result<Next, ApiError> set_sms_attributes(const model::SetSMSAttributesInput& in, Call& call);
Result<Next, ApiError> verify_sms_sandbox_phone_number(const model::VerifySMSSandboxPhoneNumberInput& in, Call& call);
Result<Next, ApiError> get_sms_sandbox_account_status(const model::GetSMSSandboxAccountStatusInput& in, Call& call);
Result<Next, ApiError> list_origination_numbers(const model::ListOriginationNumbersRequest& in, Call& call);

}  // namespace fanfare::api::sns
