// Message attributes as SQS takes them: their rules, their digest, and which of them a receive gives back.
// Source of truth: [SQS message metadata].
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "api/aws/error.h"
#include "api/aws/sqs_model.h"
#include "base/result.h"
#include "core/message/content.h"
#include "wire/aws_shape/shape.h"

namespace fanfare::api::sqs {

/// Attributes in the order of their names, in the arena. Errors: InvalidParameterValue, UnsupportedOperation for lists,
/// InvalidMessageContents for characters that no message may hold.
Result<std::span<const message::MessageAttribute>, aws::ApiError> read_message_attributes(
    const wire::aws::Map<model::MessageAttributeValue>& given, wire::aws::Arena& arena);

/// The only system attribute that a sender may give: the text of AWSTraceHeader; empty if there is none.
Result<std::string_view, aws::ApiError> read_system_attributes(
    const wire::aws::Map<model::MessageSystemAttributeValue>& given);

/// Whether the text can be a message's trace header: 1 to 1,024 bytes of characters that a message may hold.
bool is_trace_header(std::string_view text);

/// MD5 over attributes that stand in the order of their names: of each the sizes and texts of name and type, 1 (String,
/// Number) or 2 (Binary), and the value. [SQS message metadata, calculating the MD5]
std::array<std::uint8_t, 16> attributes_md5(std::span<const message::MessageAttribute> sorted);

/// MD5OfMessageSystemAttributes of a message with this AWSTraceHeader.
std::array<std::uint8_t, 16> trace_header_md5(std::string_view trace_header);

/// Whether `name` is one of `wanted`: exact names, or prefixes written "name.*".
bool is_wanted(std::string_view name, std::span<const std::string> wanted);

}  // namespace fanfare::api::sqs
