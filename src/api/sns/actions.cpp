#include "api/sns/actions.h"

#include "base/assert.h"

namespace fanfare::api::sns {
namespace {

constexpr aws::Handler kNotHereYet{aws::not_here_yet, nullptr};

template <Action action, auto Decode, auto Encode>
constexpr const aws::Handler& handler = aws::HandlerOf<Types<action>, Decode, Encode>::value;

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
    case Action::AddPermission:
    case Action::CheckIfPhoneNumberIsOptedOut:
    case Action::CreatePlatformApplication:
    case Action::CreatePlatformEndpoint:
    case Action::CreateSMSSandboxPhoneNumber:
    case Action::DeleteEndpoint:
    case Action::DeletePlatformApplication:
    case Action::DeleteSMSSandboxPhoneNumber:
    case Action::GetDataProtectionPolicy:
    case Action::GetEndpointAttributes:
    case Action::GetPlatformApplicationAttributes:
    case Action::GetSMSAttributes:
    case Action::GetSMSSandboxAccountStatus:
    case Action::ListEndpointsByPlatformApplication:
    case Action::ListOriginationNumbers:
    case Action::ListPhoneNumbersOptedOut:
    case Action::ListPlatformApplications:
    case Action::ListSMSSandboxPhoneNumbers:
    case Action::OptInPhoneNumber:
    case Action::PutDataProtectionPolicy:
    case Action::RemovePermission:
    case Action::SetEndpointAttributes:
    case Action::SetPlatformApplicationAttributes:
    case Action::SetSMSAttributes:
    case Action::VerifySMSSandboxPhoneNumber: return kNotHereYet;
  }
  FANFARE_ASSERT(false, "an action outside its enumeration");
  return kNotHereYet;
}

}  // namespace fanfare::api::sns
