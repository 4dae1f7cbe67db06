#include "api/sns/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/aws/message_rules.h"
#include "wire/digest/encoding.h"

namespace fanfare::api::sns {
namespace {

using aws::ApiError;
using message::MessageAttribute;

std::size_t elements_of(std::string_view arn) { return 1 + static_cast<std::size_t>(std::ranges::count(arn, ':')); }

std::optional<ApiError> check_arn(std::string_view arn, std::string_view parameter) {
  if (arn.empty()) return invalid_parameter(parameter, "no value for required parameter");
  if (elements_of(arn) < 6) {
    return invalid_parameter(parameter, fmt::format("An ARN must have at least 6 elements, not {}", elements_of(arn)));
  }
  return std::nullopt;
}

ApiError bad_attribute(std::string message) { return api_error(Error::ParameterValueInvalid, std::move(message)); }

Result<MessageAttribute, ApiError> read_attribute(std::string_view name, const model::MessageAttributeValue& value) {
  if (auto fault = aws::attribute_name_fault(name)) return bad_attribute(*std::move(fault));
  if (!value.data_type.has_value()) return must_not_be_null(fmt::format("messageAttributes.{}.member.dataType", name));
  const std::string_view type = value.data_type.view();
  if (!aws::is_attribute_type(type)) {
    return bad_attribute(
        fmt::format("The message attribute '{}' has an invalid message attribute type, the set of supported type "
                    "prefixes is Binary, Number, and String.",
                    name));
  }
  const bool binary = aws::is_binary_type(type);
  const wire::aws::Text& wanted = binary ? value.binary_value : value.string_value;
  const wire::aws::Text& other = binary ? value.string_value : value.binary_value;
  if (!wanted.has_value() && other.has_value()) {
    return bad_attribute(fmt::format("The message attribute '{}' with type '{}' must use field '{}'.", name, type,
                                     binary ? "Binary" : "String"));
  }
  if (wanted.empty()) {
    return bad_attribute(
        fmt::format("The message attribute '{}' must contain non-empty message attribute value for message "
                    "attribute type '{}'.",
                    name, type));
  }
  if (aws::is_number_type(type) && !aws::is_attribute_number(wanted.view())) {
    return bad_attribute(fmt::format("Could not cast message attribute '{}' value to number.", name));
  }
  return MessageAttribute{name, type, wanted.view()};
}

}  // namespace

Result<topic::TopicKeyView, ApiError> topic_of(const wire::aws::Text& arn, std::string_view parameter,
                                               std::string_view member, const aws::Call& call) {
  if (!arn.has_value()) return must_not_be_null(member);
  if (auto error = check_arn(arn.view(), parameter)) return *std::move(error);
  const auto key = topic::parse_topic_arn(arn.view());
  if (!key || key->region != call.region) return invalid_parameter(parameter);
  return *key;
}

Result<topic::SubscriptionKeyView, ApiError> subscription_of(const wire::aws::Text& arn, const aws::Call& call) {
  if (!arn.has_value()) return must_not_be_null("subscriptionArn");
  if (auto error = check_arn(arn.view(), "SubscriptionArn")) return *std::move(error);
  const auto key = topic::parse_subscription_arn(arn.view());
  if (!key) return invalid_parameter(elements_of(arn.view()) == 6 ? "SubscriptionArn" : "SubscriptionId");
  if (key->topic.region != call.region) return invalid_parameter("SubscriptionArn");
  return *key;
}

Result<std::span<const MessageAttribute>, ApiError> read_message_attributes(
    const wire::aws::Map<model::MessageAttributeValue>& given, wire::aws::Arena& arena) {
  if (given.empty()) return std::span<const MessageAttribute>();
  auto* const attributes = arena.take_array<MessageAttribute>(given.size());
  std::size_t count = 0;
  for (const auto& [name, value] : given) {
    auto attribute = read_attribute(name.view(), value);
    if (!attribute) return attribute.error();
    attributes[count++] = *attribute;
  }
  const std::span<MessageAttribute> all(attributes, count);
  std::ranges::sort(all, {}, &MessageAttribute::name);
  if (const auto twice = std::ranges::adjacent_find(all, {}, &MessageAttribute::name); twice != all.end()) {
    return bad_attribute(fmt::format("Message attribute name '{}' is given more than once.", twice->name));
  }
  return std::span<const MessageAttribute>(all);
}

Result<std::span<const engine::Tag>, ApiError> read_tags(const wire::aws::List<model::Tag>& given, aws::Call& call) {
  auto* const tags = call.arena.take_array<engine::Tag>(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& [key, value] = given[i];
    if (!key.has_value()) return must_not_be_null(fmt::format("tags.{}.member.key", i + 1));
    if (!value.has_value()) return must_not_be_null(fmt::format("tags.{}.member.value", i + 1));
    if (key.empty() || aws::character_count(key.view()) > 128) {
      return api_error(Error::ValidationError,
                       fmt::format("1 validation error detected: Value '{}' at 'tags.{}.member.key' failed to satisfy "
                                   "constraint: Member must have length between 1 and 128",
                                   key.view().substr(0, 512), i + 1));
    }
    if (aws::character_count(value.view()) > 256) {
      return api_error(
          Error::ValidationError,
          fmt::format("1 validation error detected: Value at 'tags.{}.member.value' failed to satisfy constraint: "
                      "Member must have length less than or equal to 256",
                      i + 1));
    }
    tags[i] = {key.view(), value.view()};
  }
  const std::span<engine::Tag> all(tags, given.size());
  std::ranges::sort(all, {}, &engine::Tag::key);
  if (std::ranges::adjacent_find(all, {}, &engine::Tag::key) != all.end()) {
    return invalid_parameter("Duplicated keys are not allowed.");
  }
  return std::span<const engine::Tag>(all);
}

Result<std::string_view, ApiError> read_token(const wire::aws::Text& token, aws::Call& call) {
  if (token.empty()) return std::string_view();
  const auto after = wire::digest::decode_base64(token.view());
  if (!after) return invalid_parameter("NextToken", "The token is not one that this service gave out");
  return call.arena.copy(*after);
}

std::string_view write_token(std::string_view after, aws::Answer& answer) {
  return answer.arena.copy(wire::digest::base64(after));
}

}  // namespace fanfare::api::sns
