// What the engine of policies must know about the services' action names.
//
// Rule 1: action names are compared without regard to case and carry their service: "sqs:SendMessage".
// Source: [SQS access policy language, limits of custom policies], [SNS API permissions reference], [SQS batch
// actions].
#pragma once

#include <string_view>

namespace fanfare::policy {

/// The action under which a batch is authorised: "sqs:SendMessageBatch" -> "sqs:SendMessage", "sns:PublishBatch" ->
/// "sns:Publish". Every other action comes back as it is. The result is a view of the argument or a static text.
std::string_view single_form(std::string_view action);

/// SQS actions that a queue's policy never grants to another account: "sqs:SetQueueAttributes".
bool is_owner_only(std::string_view action);

/// SNS actions that a topic's policy may name, "sns:*" and "*" among them; others are refused with
/// "Policy statement action out of service scope!". May have wildcards; then at least one action must match.
bool is_topic_policy_action(std::string_view action);

/// SQS actions that a queue's policy may name, "sqs:*" and "*" among them.
bool is_queue_policy_action(std::string_view action);

}  // namespace fanfare::policy
