#include "policy/actions.h"

#include <algorithm>
#include <array>

#include "policy/policy.h"

namespace fanfare::policy {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

struct Batch {
  std::string_view batch;
  std::string_view single;
};
constexpr std::array kBatches = {
    Batch{"sqs:SendMessageBatch", "sqs:SendMessage"},
    Batch{"sqs:DeleteMessageBatch", "sqs:DeleteMessage"},
    Batch{"sqs:ChangeMessageVisibilityBatch", "sqs:ChangeMessageVisibility"},
    Batch{"sns:PublishBatch", "sns:Publish"},
};

constexpr std::array<std::string_view, 12> kOwnerOnly = {
    "sqs:AddPermission",
    "sqs:CancelMessageMoveTask",
    "sqs:CreateQueue",
    "sqs:DeleteQueue",
    "sqs:ListMessageMoveTasks",
    "sqs:ListQueues",
    "sqs:ListQueueTags",
    "sqs:RemovePermission",
    "sqs:SetQueueAttributes",
    "sqs:StartMessageMoveTask",
    "sqs:TagQueue",
    "sqs:UntagQueue",
};

constexpr std::array<std::string_view, 13> kTopicActions = {
    "sns:AddPermission",
    "sns:DeleteTopic",
    "sns:GetDataProtectionPolicy",
    "sns:GetTopicAttributes",
    "sns:ListSubscriptionsByTopic",
    "sns:ListTagsForResource",
    "sns:Publish",
    "sns:PutDataProtectionPolicy",
    "sns:RemovePermission",
    "sns:SetTopicAttributes",
    "sns:Subscribe",
    "sns:Receive",
    "sns:PublishBatch",
};

constexpr std::array<std::string_view, 23> kQueueActions = {
    "sqs:AddPermission",
    "sqs:CancelMessageMoveTask",
    "sqs:ChangeMessageVisibility",
    "sqs:ChangeMessageVisibilityBatch",
    "sqs:CreateQueue",
    "sqs:DeleteMessage",
    "sqs:DeleteMessageBatch",
    "sqs:DeleteQueue",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ListDeadLetterSourceQueues",
    "sqs:ListMessageMoveTasks",
    "sqs:ListQueueTags",
    "sqs:ListQueues",
    "sqs:PurgeQueue",
    "sqs:ReceiveMessage",
    "sqs:RemovePermission",
    "sqs:SendMessage",
    "sqs:SendMessageBatch",
    "sqs:SetQueueAttributes",
    "sqs:StartMessageMoveTask",
    "sqs:TagQueue",
    "sqs:UntagQueue",
};

}  // namespace

std::string_view single_form(std::string_view action) {
  if (action.size() < 9 || !same(action.substr(action.size() - 5), "Batch")) return action;
  for (const Batch& batch : kBatches)
    if (same(batch.batch, action)) return batch.single;
  return action;
}

bool is_owner_only(std::string_view action) {
  return std::ranges::any_of(kOwnerOnly, [&](std::string_view known) { return same(known, action); });
}

bool is_topic_policy_action(std::string_view action) {
  return std::ranges::any_of(kTopicActions,
                             [&](std::string_view known) { return glob_match_ignoring_case(action, known); });
}

bool is_queue_policy_action(std::string_view action) {
  return std::ranges::any_of(kQueueActions,
                             [&](std::string_view known) { return glob_match_ignoring_case(action, known); });
}

}  // namespace fanfare::policy
