// Rules about single parameters that several SNS actions share, with AWS's texts.
#pragma once

#include <string_view>

#include "api/aws/call.h"
#include "api/aws/sns_model.h"
#include "api/sns/errors.h"
#include "base/result.h"
#include "core/message/content.h"
#include "core/topic/names.h"
#include "wire/aws_shape/shape.h"

namespace fanfare::api::sns {

/// The topic of an ARN. `parameter` is "TopicArn", `member` "topicArn".
/// Errors: ValidationError if absent; InvalidParameter if it is no topic's ARN, or one of another region.
Result<topic::TopicKeyView, aws::ApiError> topic_of(const wire::aws::Text& arn, std::string_view parameter,
                                                    std::string_view member, const aws::Call& call);
Result<topic::SubscriptionKeyView, aws::ApiError> subscription_of(const wire::aws::Text& arn, const aws::Call& call);

/// Attributes in the order of their names, in the arena, checked. Error: ParameterValueInvalid, ValidationError.
Result<std::span<const message::MessageAttribute>, aws::ApiError> read_message_attributes(
    const wire::aws::Map<model::MessageAttributeValue>& given, wire::aws::Arena& arena);

/// Keys 1 to 128 characters, values up to 256, each key once.
Result<std::span<const engine::Tag>, aws::ApiError> read_tags(const wire::aws::List<model::Tag>& given,
                                                              aws::Call& call);

/// A page's start, from the token that write_token made; InvalidParameter for any other text.
Result<std::string_view, aws::ApiError> read_token(const wire::aws::Text& token, aws::Call& call);
std::string_view write_token(std::string_view after, aws::Answer& answer);

}  // namespace fanfare::api::sns
