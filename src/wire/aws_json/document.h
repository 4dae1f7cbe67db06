// AWS JSON 1.0 documents into the structures of the service models, and back.
// Source of truth: [AWS JSON 1.0 protocol]; the service models.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/aws_shape/shape.h"
#include "wire/json/reader.h"

namespace fanfare::wire::aws_json {

/// Fills the structure that `shape` describes, which must be in its default state, from an object such as
///   {"QueueUrl":"http://...","MessageBody":"hello","MessageAttributes":{"kind":{"DataType":"String","StringValue":"a"}}}
/// Strings are views into the reader's memory. Unknown members are ignored, null is the same as absent, and of a member
/// that comes twice the last counts. Required members are not checked here. WrongType also for a root that is no
/// object, and for a blob that is not Base64.
Result<Success, aws::DecodeError> decode(json::Node root, const aws::Shape& shape, void* structure, aws::Arena& arena);

/// Appends the structure as an object, with the members that are present:
/// {"MessageId":"5fea7756-...","MD5OfMessageBody":"..."}
void append(std::string& out, const aws::Shape& shape, const void* structure);

}  // namespace fanfare::wire::aws_json
