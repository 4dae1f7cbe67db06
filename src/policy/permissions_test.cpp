#include "policy/permissions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policy/actions.h"
#include "policy/policy.h"
#include "wire/json/value.h"

namespace fanfare::policy {
namespace {

using Kind = PermissionError::Kind;
using Texts = std::vector<std::string_view>;

constexpr std::string_view kQueue = "arn:aws:sqs:us-east-1:000000000000:work";
constexpr std::string_view kTopic = "arn:aws:sns:us-east-1:000000000000:doc-events";

Result<std::string, PermissionError> add(std::string_view document, std::string_view label, const Texts& accounts,
                                         const Texts& actions, std::string_view resource = kQueue) {
  return add_permission(document, label, accounts, actions, resource);
}

TEST(Permission, OnABareQueueItMakesTheDefaultDocument) {
  const auto made = add("", "share", {"111122223333"}, {"ReceiveMessage"});
  ASSERT_TRUE(made);
  EXPECT_EQ(*made,
            R"({"Version":"2008-10-17","Id":"arn:aws:sqs:us-east-1:000000000000:work/SQSDefaultPolicy","Statement":[)"
            R"({"Sid":"share","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},)"
            R"("Action":"SQS:ReceiveMessage","Resource":"arn:aws:sqs:us-east-1:000000000000:work"}]})");
  EXPECT_TRUE(Policy::parse(*made));
}

TEST(Permission, SeveralAccountsAndActionsStandInArrays) {
  const auto made = add("", "share", {"111122223333", "444455556666"}, {"SendMessage", "*"});
  ASSERT_TRUE(made);
  EXPECT_NE(made->find(R"({"AWS":["arn:aws:iam::111122223333:root","arn:aws:iam::444455556666:root"]})"),
            std::string::npos)
      << *made;
  EXPECT_NE(made->find(R"("Action":["SQS:SendMessage","SQS:*"])"), std::string::npos) << *made;
}

TEST(Permission, AddingKeepsWhatIsThere) {
  const std::string_view before =
      R"({"Id":"mine","Version":"2012-10-17","Statement":{"Sid":"a","Effect":"Deny","Principal":"*","Action":"sqs:*"}})";
  const auto after = add(before, "b", {"111122223333"}, {"SendMessage"});
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->starts_with(
      R"({"Id":"mine","Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Deny","Principal":"*","Action":"sqs:*"},{"Sid":"b",)"))
      << *after;
  const auto back = remove_permission(*after, "b");
  ASSERT_TRUE(back);
  EXPECT_EQ(
      *back,
      R"({"Id":"mine","Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Deny","Principal":"*","Action":"sqs:*"}]})");
  const auto none = remove_permission(*back, "a");
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, "") << "the last statement takes the policy with it";
}

TEST(Permission, TopicsSpellTheirOwnService) {
  const std::string policy = default_topic_policy(kTopic, "000000000000");
  const auto made = add(policy, "share", {"111122223333"}, {"Publish"}, kTopic);
  ASSERT_TRUE(made);
  EXPECT_TRUE(
      made->ends_with(R"(,{"Sid":"share","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},)"
                      R"("Action":"SNS:Publish","Resource":"arn:aws:sns:us-east-1:000000000000:doc-events"}]})"))
      << *made;
}

TEST(Permission, WhatCannotBeAddedIsNamed) {
  const auto kind = [](const auto& result) { return result ? -1 : static_cast<int>(result.error().kind); };
  const auto made = add("", "share", {"111122223333"}, {"ReceiveMessage"});
  EXPECT_EQ(kind(add(*made, "share", {"111122223333"}, {"SendMessage"})), static_cast<int>(Kind::LabelExists));
  EXPECT_EQ(kind(add("", "l", {"1111"}, {"SendMessage"})), static_cast<int>(Kind::BadAccount));
  EXPECT_EQ(kind(add("", "l", {"111122223333"}, {"SendMesage"})), static_cast<int>(Kind::UnknownAction));
  EXPECT_EQ(kind(add("", "l", {"111122223333"}, {""})), static_cast<int>(Kind::UnknownAction));
  EXPECT_EQ(kind(add("", "l", {"111122223333"}, {"SetQueueAttributes"})), static_cast<int>(Kind::OwnerOnlyAction));
  EXPECT_EQ(kind(add("", "l", {"111122223333"}, Texts(8, "SendMessage"))), static_cast<int>(Kind::TooManyActions));
  EXPECT_EQ(kind(add("", "l", {"111122223333"}, Texts(7, "SendMessage"))), -1);
  EXPECT_EQ(kind(add("[", "l", {"111122223333"}, {"SendMessage"})), static_cast<int>(Kind::BadDocument));
  EXPECT_EQ(kind(add("[]", "l", {"111122223333"}, {"SendMessage"})), static_cast<int>(Kind::BadDocument));
  EXPECT_EQ(kind(add("", "l", {"111122223333"}, {"CreateTopic"}, kTopic)), static_cast<int>(Kind::UnknownAction));
  EXPECT_EQ(kind(remove_permission(*made, "other")), static_cast<int>(Kind::LabelUnknown));
  EXPECT_EQ(kind(remove_permission("", "other")), static_cast<int>(Kind::LabelUnknown));
}

TEST(Permission, AQueueTakesTwentyStatements) {
  std::string document;
  for (int i = 0; i < 20; ++i) {
    const std::string label = "l" + std::to_string(i);
    auto next = add(document, label, {"111122223333"}, {"SendMessage"});
    ASSERT_TRUE(next) << i;
    document = *next;
  }
  const auto refused = add(document, "one-more", {"111122223333"}, {"SendMessage"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(static_cast<int>(refused.error().kind), static_cast<int>(Kind::TooManyStatements));
}

TEST(Permission, TheDefaultTopicPolicyIsAsRecorded) {
  EXPECT_EQ(
      default_topic_policy(kTopic, "000000000000"),
      R"({"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Sid":"__default_statement_ID","Effect":"Allow",)"
      R"("Principal":{"AWS":"*"},"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission",)"
      R"("SNS:RemovePermission","SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],)"
      R"("Resource":"arn:aws:sns:us-east-1:000000000000:doc-events",)"
      R"("Condition":{"StringEquals":{"AWS:SourceOwner":"000000000000"}}}]})");
}

TEST(Actions, BatchesAreAuthorisedAsTheirSingleForm) {
  EXPECT_EQ(single_form("sqs:SendMessageBatch"), "sqs:SendMessage");
  EXPECT_EQ(single_form("SQS:deletemessagebatch"), "sqs:DeleteMessage");
  EXPECT_EQ(single_form("sqs:ChangeMessageVisibilityBatch"), "sqs:ChangeMessageVisibility");
  EXPECT_EQ(single_form("sns:PublishBatch"), "sns:Publish");
  EXPECT_EQ(single_form("sqs:ReceiveMessage"), "sqs:ReceiveMessage");
  EXPECT_EQ(single_form("sqs:Batch"), "sqs:Batch");
  EXPECT_EQ(single_form(""), "");
}

TEST(Actions, OwnersKeepTwelveActionsForThemselves) {
  EXPECT_TRUE(is_owner_only("sqs:SetQueueAttributes"));
  EXPECT_TRUE(is_owner_only("SQS:tagqueue"));
  EXPECT_FALSE(is_owner_only("sqs:SendMessage"));
  EXPECT_FALSE(is_owner_only("sqs:PurgeQueue"));
  EXPECT_FALSE(is_owner_only("sns:AddPermission"));
}

TEST(Actions, PoliciesNameActionsOfTheirService) {
  EXPECT_TRUE(is_topic_policy_action("SNS:Publish"));
  EXPECT_TRUE(is_topic_policy_action("sns:*"));
  EXPECT_TRUE(is_topic_policy_action("*"));
  EXPECT_TRUE(is_topic_policy_action("sns:Get*"));
  EXPECT_FALSE(is_topic_policy_action("sns:CreateTopic"));
  EXPECT_FALSE(is_topic_policy_action("sqs:SendMessage"));
  EXPECT_TRUE(is_queue_policy_action("sqs:Send*"));
  EXPECT_FALSE(is_queue_policy_action("sqs:SendMesage"));
}

}  // namespace
}  // namespace fanfare::policy
