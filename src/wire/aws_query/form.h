// Query requests: form parameters into the structures of the service models.
// Source of truth: the service models; [SQS, SNS: making Query API requests].
#pragma once

#include <span>

#include "base/result.h"
#include "wire/aws_shape/shape.h"
#include "wire/http/url.h"

namespace fanfare::wire::aws_query {

/// Fills the structure that `shape` describes, which must be in its default state, from parameters such as
///   MessageBody=hello  MessageAttribute.1.Name=kind  MessageAttribute.1.Value.DataType=String       (flattened: SQS)
///   Attributes.entry.1.key=DisplayName  Tags.member.2.Key=team                                      (SNS, STS)
/// Unknown parameters are ignored; of a parameter that comes twice the last counts; list elements may come in any order
/// of their numbers, and gaps are closed; "Attributes=" is an empty list. Required members are not checked here.
/// Malformed: an element both with and without a number. WrongType, OutOfRange: no number, boolean or Base64 where the
/// model has one.
Result<Success, aws::DecodeError> decode(std::span<const http::FormField> parameters, const aws::Shape& shape,
                                         void* structure, aws::Arena& arena);

}  // namespace fanfare::wire::aws_query
