// Query replies: XML by the service models' shapes.
#pragma once

#include <string>
#include <string_view>

#include "wire/aws_shape/shape.h"

namespace fanfare::wire::aws_query {

/// Appends text as XML character data: & < > " escaped, carriage returns as &#xD; (a parser would drop them), and
/// characters that XML 1.0 cannot hold as U+FFFD.
void append_escaped(std::string& out, std::string_view text);

/// Appends the members of a structure that are present, without an element around them:
///   <MessageId>5fea7756-...</MessageId><MD5OfMessageBody>...</MD5OfMessageBody>
void append_members(std::string& out, const aws::Shape& shape, const void* structure);

/// Appends a whole reply. Without an `output` there is no Result element; `structure` is what `output` describes.
///   <?xml version="1.0"?><SendMessageResponse xmlns="..."><SendMessageResult>...</SendMessageResult>
///   <ResponseMetadata><RequestId>...</RequestId></ResponseMetadata></SendMessageResponse>
void append_reply(std::string& out, std::string_view xml_namespace, std::string_view operation,
                  const aws::Shape* output, const void* structure, std::string_view request_id);

struct ErrorReply {
  std::string_view xml_namespace;
  std::string_view code;  ///< "AWS.SimpleQueueService.NonExistentQueue"
  std::string_view message;
  bool sender_fault = true;   ///< else the service's
  bool empty_detail = false;  ///< SQS writes an empty Detail element
};
void append_error(std::string& out, const ErrorReply& error, std::string_view request_id);

}  // namespace fanfare::wire::aws_query
