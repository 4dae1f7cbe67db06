#include "api/sns/actions.h"

#include "base/assert.h"

namespace fanfare::api::sns {
namespace {

template <Action action, auto Decode, auto Encode>
constexpr const aws::Handler& handler = aws::HandlerOf<Types<action>, Decode, Encode>::value;

/// Of an action that needs no engine.
template <Action action, auto Decode>
constexpr aws::Handler answered{
    [](const void* input, Call& call) { return Decode(*static_cast<const typename Types<action>::Input*>(input), call); },
    nullptr};

}  // namespace

const aws::Handler& handler_of(Action action) {
  switch (action) {
    case Action::ConfirmSubscription:
      return handler<Action::ConfirmSubscription, confirm_subscription, confirm_subscription_reply>;
    case Action::CreateTopic: return handler<Action::CreateTopic, create_topic, create_topic_reply>;
    case Action::DeleteTopic: return handler<Action::DeleteTopic, delete_topic, aws::done_reply>;
    case Action::GetSubscriptionAttributes:
      return handler<Action::GetSubscriptionAttributes, get_subscription_attributes, get_subscription_attributes_reply>;
    case Action::GetTopicAttributes:
      return handler<Action::GetTopicAttributes, get_topic_attributes, get_topic_attributes_reply>;
    case Action::ListSubscriptions:
      return handler<Action::ListSubscriptions, list_subscriptions, list_subscriptions_reply>;
    case Action::ListSubscriptionsByTopic:
      return handler<Action::ListSubscriptionsByTopic, list_subscriptions_by_topic, list_subscriptions_by_topic_reply>;
    case Action::ListTagsForResource:
      return handler<Action::ListTagsForResource, list_tags_for_resource, list_tags_for_resource_reply>;
    case Action::ListTopics: return handler<Action::ListTopics, list_topics, list_topics_reply>;
    case Action::Publish: return handler<Action::Publish, publish, publish_reply>;
    case Action::PublishBatch: return handler<Action::PublishBatch, publish_batch, publish_batch_reply>;
    case Action::SetSubscriptionAttributes:
      return handler<Action::SetSubscriptionAttributes, set_subscription_attributes, aws::done_reply>;
    case Action::SetTopicAttributes: return handler<Action::SetTopicAttributes, set_topic_attributes, aws::done_reply>;
    case Action::Subscribe: return handler<Action::Subscribe, subscribe, subscribe_reply>;
    case Action::TagResource: return handler<Action::TagResource, tag_resource, aws::done_reply>;
    case Action::Unsubscribe: return handler<Action::Unsubscribe, unsubscribe, aws::done_reply>;
    case Action::UntagResource: return handler<Action::UntagResource, untag_resource, aws::done_reply>;
    case Action::AddPermission: return handler<Action::AddPermission, add_permission, aws::done_reply>;
    case Action::CheckIfPhoneNumberIsOptedOut:
      return handler<Action::CheckIfPhoneNumberIsOptedOut, check_if_phone_number_is_opted_out,
                     check_if_phone_number_is_opted_out_reply>;
    case Action::CreatePlatformApplication:
      return handler<Action::CreatePlatformApplication, create_platform_application,
                     create_platform_application_reply>;
    case Action::CreatePlatformEndpoint:
      return handler<Action::CreatePlatformEndpoint, create_platform_endpoint,
                     create_platform_endpoint_reply>;
    case Action::CreateSMSSandboxPhoneNumber:
      return handler<Action::CreateSMSSandboxPhoneNumber, create_sms_sandbox_phone_number,
                     directory_done>;
    case Action::DeleteEndpoint:
      return handler<Action::DeleteEndpoint, delete_endpoint,
                     directory_done>;
    case Action::DeletePlatformApplication:
      return handler<Action::DeletePlatformApplication, delete_platform_application,
                     directory_done>;
    case Action::DeleteSMSSandboxPhoneNumber:
      return handler<Action::DeleteSMSSandboxPhoneNumber, delete_sms_sandbox_phone_number,
                     directory_done>;
    case Action::GetDataProtectionPolicy: return handler<Action::GetDataProtectionPolicy, get_data_protection_policy, get_data_protection_policy_reply>;
    case Action::GetEndpointAttributes:
      return handler<Action::GetEndpointAttributes, get_endpoint_attributes,
                     get_endpoint_attributes_reply>;
    case Action::GetPlatformApplicationAttributes:
      return handler<Action::GetPlatformApplicationAttributes, get_platform_application_attributes,
                     get_platform_application_attributes_reply>;
    case Action::GetSMSAttributes:
      return handler<Action::GetSMSAttributes, get_sms_attributes,
                     get_sms_attributes_reply>;
    case Action::GetSMSSandboxAccountStatus: return answered<Action::GetSMSSandboxAccountStatus, get_sms_sandbox_account_status>;
    case Action::ListEndpointsByPlatformApplication:
      return handler<Action::ListEndpointsByPlatformApplication, list_endpoints_by_platform_application,
                     list_endpoints_by_platform_application_reply>;
    case Action::ListOriginationNumbers: return answered<Action::ListOriginationNumbers, list_origination_numbers>;
    case Action::ListPhoneNumbersOptedOut:
      return handler<Action::ListPhoneNumbersOptedOut, list_phone_numbers_opted_out,
                     list_phone_numbers_opted_out_reply>;
    case Action::ListPlatformApplications:
      return handler<Action::ListPlatformApplications, list_platform_applications,
                     list_platform_applications_reply>;
    case Action::ListSMSSandboxPhoneNumbers:
      return handler<Action::ListSMSSandboxPhoneNumbers, list_sms_sandbox_phone_numbers,
                     list_sms_sandbox_phone_numbers_reply>;
    case Action::OptInPhoneNumber:
      return handler<Action::OptInPhoneNumber, opt_in_phone_number,
                     directory_done>;
    case Action::PutDataProtectionPolicy: return handler<Action::PutDataProtectionPolicy, put_data_protection_policy, aws::done_reply>;
    case Action::RemovePermission: return handler<Action::RemovePermission, remove_permission, aws::done_reply>;
    case Action::SetEndpointAttributes:
      return handler<Action::SetEndpointAttributes, set_endpoint_attributes,
                     directory_done>;
    case Action::SetPlatformApplicationAttributes:
      return handler<Action::SetPlatformApplicationAttributes, set_platform_application_attributes,
                     directory_done>;
    case Action::SetSMSAttributes:
      return handler<Action::SetSMSAttributes, set_sms_attributes,
                     directory_done>;
    case Action::VerifySMSSandboxPhoneNumber:
      return handler<Action::VerifySMSSandboxPhoneNumber, verify_sms_sandbox_phone_number,
                     directory_done>;
  }
  FANFARE_ASSERT(false, "an action outside its enumeration");
  return handler<Action::Publish, publish, publish_reply>;
}

}  // namespace fanfare::api::sns
