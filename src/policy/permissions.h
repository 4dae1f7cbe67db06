// The policy documents that AddPermission and RemovePermission write, and a new topic's policy.
//
// Rule 1: statements that were there stay as they were written, in their order.
// Rule 2: a statement is named by its Sid, which is the permission's label.
// Source: [SQS AddPermission], [SNS AddPermission], documents recorded from the services.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fanfare::policy {

struct PermissionError {
  enum class Kind : std::uint8_t {
    LabelExists,  ///< a statement has this Sid. SQS: "Value L for parameter Label is invalid. Reason: Already exists.",
                  ///< SNS: InvalidParameter "Statement already exists"
    LabelUnknown,       ///< remove only. SQS: "... Reason: can't find label."; SNS says nothing and changes nothing
    TooManyActions,     ///< queues: more than 7. OverLimit
    OwnerOnlyAction,    ///< queues: "Only the queue owner is allowed to invoke this action."
    UnknownAction,      ///< queues: no such action; topics: "Policy statement action out of service scope!"
    BadAccount,         ///< not twelve digits
    TooManyStatements,  ///< queues 20, topics 100
    BadDocument,        ///< the document is no policy
  };
  Kind kind;
  std::string detail;  ///< the action, the account or what is wrong with the document: "SendMesage"
};

/// The document with one statement more, which allows the accounts the actions on the resource:
///   {"Sid":label,"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"SQS:SendMessage",
///    "Resource":resource}
/// Lists of one element are written as that element. `resource` is the ARN of a queue or topic; it decides the limits
/// and the spelling of the actions ("SQS:", "SNS:"). `actions` come as the call names them: "SendMessage", "*".
/// `document` is empty where there is no policy; the new one then is of 2008-10-17 with the id ARN/SQSDefaultPolicy for
/// a queue and
/// __default_policy_ID for a topic.
Result<std::string, PermissionError> add_permission(std::string_view document, std::string_view label,
                                                    std::span<const std::string_view> account_ids,
                                                    std::span<const std::string_view> actions,
                                                    std::string_view resource);

/// The document without the statements of this Sid; empty if no statement is left. Errors: LabelUnknown, BadDocument.
Result<std::string, PermissionError> remove_permission(std::string_view document, std::string_view label);

/// The policy of a topic to which nobody has given one: everybody whose aws:SourceOwner is the account, which is its
/// own identities. `topic_arn` "arn:aws:sns:us-east-1:000000000000:doc-events"
std::string default_topic_policy(std::string_view topic_arn, std::string_view account);

}  // namespace fanfare::policy
