#include "policy/policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace fanfare::policy {
namespace {

constexpr std::string_view kQueue = "arn:aws:sqs:us-east-1:000000000000:summarise";
constexpr std::string_view kTopic = "arn:aws:sns:us-east-1:000000000000:doc-events";

Policy parsed(std::string_view json, PolicyKind kind = PolicyKind::Resource) {
  auto policy = Policy::parse(json, kind);
  if (!policy) throw std::runtime_error(policy.error().message());
  return std::move(*policy);
}

Error refused(std::string_view json, PolicyKind kind = PolicyKind::Resource) {
  auto policy = Policy::parse(json, kind);
  if (policy) throw std::runtime_error("accepted: " + std::string(json));
  return policy.error();
}

Principal user(std::string_view arn = "arn:aws:iam::111122223333:user/alice",
               std::string_view account = "111122223333") {
  return {.kind = Principal::Kind::Identity, .account = account, .arn = arn, .role_arn = {}, .service = {}};
}
Principal root(std::string_view account, std::string_view arn) {
  return {.kind = Principal::Kind::Account, .account = account, .arn = arn, .role_arn = {}, .service = {}};
}
Principal service(std::string_view name = "sns.amazonaws.com") {
  return {.kind = Principal::Kind::Service, .account = {}, .arn = {}, .role_arn = {}, .service = name};
}
Principal session() {
  return {.kind = Principal::Kind::Identity,
          .account = "111122223333",
          .arn = "arn:aws:sts::111122223333:assumed-role/task/run-1",
          .role_arn = "arn:aws:iam::111122223333:role/task",
          .service = {}};
}

Request request(const Principal& principal, std::string_view action = "sqs:SendMessage",
                std::string_view resource = kQueue) {
  return {.principal = principal, .action = action, .resource = resource, .context = {}, .service_context = {}};
}

std::string statement(std::string_view rest, std::string_view effect = "Allow") {
  return R"({"Effect":")" + std::string(effect) + R"(","Principal":"*","Action":"sqs:*","Resource":"*")" +
         (rest.empty() ? "" : "," + std::string(rest)) + "}";
}
std::string document(std::string_view statements, std::string_view version = "2012-10-17") {
  return R"({"Version":")" + std::string(version) + R"(","Statement":[)" + std::string(statements) + "]}";
}

/// The decision for one condition and one key's values; no values: the key is absent.
Verdict with_condition(std::string_view condition, std::string_view key, std::vector<std::string_view> values) {
  const Policy policy = parsed(document(statement(R"("Condition":)" + std::string(condition))));
  const ContextEntry entry{key, values};
  Request r = request(user());
  if (!values.empty()) r.context = {&entry, 1};
  return evaluate(policy, r).verdict;
}

constexpr std::string_view kDelivery = R"({
  "Version": "2012-10-17", "Id": "fan-out",
  "Statement": {"Sid": "topic", "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
                "Resource": "arn:aws:sqs:us-east-1:000000000000:summarise",
                "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:000000000000:doc-events"}}}})";

Decision deliver(const Policy& policy, std::string_view topic) {
  const ContextEntry entry{"aws:SourceArn", {&topic, 1}};
  Request r = request(service());
  r.service_context = {&entry, 1};
  return evaluate(policy, r);
}

TEST(Policy, TheUsualDeliveryStatementAdmitsItsTopicOnly) {
  const Policy policy = parsed(kDelivery);
  EXPECT_EQ(policy.id(), "fan-out");
  EXPECT_EQ(policy.statements()[0].sid, "topic");
  EXPECT_EQ(deliver(policy, kTopic), (Decision{Verdict::Allow, 0, false}));
  EXPECT_EQ(deliver(policy, "arn:aws:sns:us-east-1:000000000000:other").verdict, Verdict::ImplicitDeny);
  EXPECT_EQ(evaluate(policy, request(service())).verdict, Verdict::ImplicitDeny) << "without a source";
  EXPECT_EQ(evaluate(policy, request(user())).verdict, Verdict::ImplicitDeny) << "not the service";
}

TEST(Policy, TheOldDeliveryStatementAdmitsAnyoneFromTheTopic) {
  const Policy policy = parsed(document(
      R"({"Effect":"Allow","Principal":{"AWS":"*"},"Action":"SQS:SendMessage","Resource":"*","Condition":{"ArnLike":{"AWS:SourceArn":"arn:aws:sns:us-east-1:*:doc-*"}}})"));
  EXPECT_EQ(deliver(policy, kTopic).verdict, Verdict::Allow);
  EXPECT_EQ(deliver(policy, "arn:aws:sns:eu-west-1:000000000000:doc-events").verdict, Verdict::ImplicitDeny);
}

TEST(Policy, ExplicitDenyWinsWhereverItStands) {
  const std::string allow = statement("");
  const std::string deny = statement("", "Deny");
  EXPECT_EQ(evaluate(parsed(document(allow + "," + deny)), request(user())),
            (Decision{Verdict::ExplicitDeny, 1, false}));
  EXPECT_EQ(evaluate(parsed(document(deny + "," + allow)), request(user())),
            (Decision{Verdict::ExplicitDeny, 0, false}));
  EXPECT_EQ(evaluate(parsed(document(allow)), request(user())), (Decision{Verdict::Allow, 0, false}));
  EXPECT_EQ(evaluate(parsed(document("")), request(user())), (Decision{Verdict::ImplicitDeny, std::nullopt, false}));
}

TEST(Policy, PrincipalsMatchAsAwsDocumentsThem) {
  const auto verdict = [](std::string_view principal, const Principal& who) {
    return evaluate(parsed(document(R"({"Effect":"Allow","Principal":)" + std::string(principal) +
                                    R"(,"Action":"sqs:*","Resource":"*"})")),
                    request(who));
  };
  const Principal anonymous{};
  for (const char* everyone : {R"("*")", R"({"AWS":"*"})", R"({"AWS":["*"]})"}) {
    EXPECT_EQ(verdict(everyone, anonymous).verdict, Verdict::Allow) << everyone;
    EXPECT_EQ(verdict(everyone, service()).verdict, Verdict::Allow) << everyone;
    EXPECT_EQ(verdict(everyone, user()).verdict, Verdict::Allow) << everyone;
  }
  for (const char* account : {R"({"AWS":"111122223333"})", R"({"AWS":"arn:aws:iam::111122223333:root"})"}) {
    EXPECT_EQ(verdict(account, user()), (Decision{Verdict::Allow, 0, true})) << account;
    EXPECT_EQ(verdict(account, root("111122223333", "arn:aws:iam::111122223333:root")).verdict, Verdict::Allow)
        << account;
    EXPECT_EQ(verdict(account, user("arn:aws:iam::444455556666:user/alice", "444455556666")).verdict,
              Verdict::ImplicitDeny);
    EXPECT_EQ(verdict(account, anonymous).verdict, Verdict::ImplicitDeny) << account;
    EXPECT_EQ(verdict(account, service()).verdict, Verdict::ImplicitDeny)
        << "an account is not the service: " << account;
  }
  const char* alice = R"({"AWS":["arn:aws:iam::111122223333:user/bob","arn:aws:iam::111122223333:user/alice"]})";
  EXPECT_EQ(verdict(alice, user()), (Decision{Verdict::Allow, 0, false}));
  EXPECT_EQ(verdict(alice, user("arn:aws:iam::111122223333:user/carol")).verdict, Verdict::ImplicitDeny);
  EXPECT_EQ(verdict(R"({"AWS":"arn:aws:iam::111122223333:role/task"})", session()).verdict, Verdict::Allow);
  EXPECT_EQ(verdict(R"({"AWS":"arn:aws:sts::111122223333:assumed-role/task/run-1"})", session()).verdict,
            Verdict::Allow);
  EXPECT_EQ(verdict(R"({"AWS":"arn:aws:sts::111122223333:assumed-role/task/run-2"})", session()).verdict,
            Verdict::ImplicitDeny);
  EXPECT_EQ(verdict(R"({"AWS":"AIDAJQABLZS4A3QDU576Q"})", user()).verdict, Verdict::ImplicitDeny) << "a deleted user";
  EXPECT_EQ(verdict(R"({"Service":["s3.amazonaws.com","sns.amazonaws.com"]})", service()).verdict, Verdict::Allow);
  EXPECT_EQ(verdict(R"({"Service":"s3.amazonaws.com"})", service()).verdict, Verdict::ImplicitDeny);
}

TEST(Policy, AnAllowThatNamesTheCallerIsNotDelegated) {
  const Policy policy = parsed(document(
      R"({"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":"sqs:*","Resource":"*"},)" + statement("")));
  EXPECT_EQ(evaluate(policy, request(user())), (Decision{Verdict::Allow, 1, false}));
}

TEST(Policy, ActionsMatchByGlobWithoutCase) {
  const auto verdict = [](std::string_view action, std::string_view asked, std::string_view element = "Action") {
    return evaluate(parsed(document(R"({"Effect":"Allow","Principal":"*",")" + std::string(element) + R"(":)" +
                                    std::string(action) + R"(,"Resource":"*"})")),
                    request(user(), asked))
        .verdict;
  };
  EXPECT_EQ(verdict(R"("SQS:sendmessage")", "sqs:SendMessage"), Verdict::Allow);
  EXPECT_EQ(verdict(R"("sqs:*")", "sqs:SendMessage"), Verdict::Allow);
  EXPECT_EQ(verdict(R"("*")", "sns:Publish"), Verdict::Allow);
  EXPECT_EQ(verdict(R"("sqs:Send?essage")", "sqs:SendMessage"), Verdict::Allow);
  EXPECT_EQ(verdict(R"(["sqs:ReceiveMessage","sqs:Delete*"])", "sqs:DeleteMessage"), Verdict::Allow);
  EXPECT_EQ(verdict(R"("sqs:Send")", "sqs:SendMessage"), Verdict::ImplicitDeny);
  EXPECT_EQ(verdict(R"("sns:*")", "sqs:SendMessage"), Verdict::ImplicitDeny);
  EXPECT_EQ(verdict(R"("sns:*")", "sqs:SendMessage", "NotAction"), Verdict::Allow);
  EXPECT_EQ(verdict(R"("sqs:*")", "sqs:SendMessage", "NotAction"), Verdict::ImplicitDeny);
}

TEST(Policy, ResourcesMatchPartByPart) {
  EXPECT_TRUE(arn_match("*", kQueue));
  EXPECT_TRUE(arn_match(kQueue, kQueue));
  EXPECT_TRUE(arn_match("arn:aws:sqs:*:*:summ*", kQueue));
  EXPECT_TRUE(arn_match("arn:aws:sqs:us-east-?:000000000000:*", kQueue));
  EXPECT_FALSE(arn_match("arn:aws:sqs", kQueue)) << "missing parts match nothing";
  EXPECT_FALSE(resource_match("arn:aws:sqs", kQueue));
  EXPECT_TRUE(resource_match("arn:aws:sqs:*", kQueue)) << "a star at the end of a part goes on";
  EXPECT_TRUE(resource_match("arn:aws:*:summarise", kQueue));
  EXPECT_FALSE(resource_match("arn:aws:*:archive", kQueue));
  EXPECT_FALSE(resource_match("arn:aws:sqs:us*1:summarise", kQueue)) << "a star inside a part does not";
  EXPECT_FALSE(resource_match("arn:aws:sqs:us-east-1:000000000000:", kQueue));
  EXPECT_FALSE(arn_match("arn:aws:sqs:us-east-1:000000000000:", kQueue)) << "an empty part does not";
  EXPECT_FALSE(arn_match("arn:aws:sns:*:*:*", kQueue));
  EXPECT_FALSE(arn_match("arn:aws:*:summarise", kQueue)) << "a star does not cross colons";
  EXPECT_FALSE(arn_match("arn:aws:sqs:us-east-1:000000000000:SUMMARISE", kQueue));
  EXPECT_TRUE(arn_match("arn:aws:sns:r:1:t:*", "arn:aws:sns:r:1:t:8f2c")) << "the sixth part keeps its colons";
  EXPECT_TRUE(arn_match("arn:aws:sns:r:1:*", "arn:aws:sns:r:1:t:8f2c"));
  EXPECT_FALSE(arn_match("arn:aws:sqs:*", kQueue));
  EXPECT_FALSE(arn_match("arn:aws:sqs:us-east-1:000000000000:*", "summarise"));
  const Policy not_resource =
      parsed(document(R"({"Effect":"Allow","Principal":"*","Action":"sqs:*","NotResource":"arn:aws:sqs:*:*:secret"})"));
  EXPECT_EQ(evaluate(not_resource, request(user())).verdict, Verdict::Allow);
  EXPECT_EQ(evaluate(not_resource, request(user(), "sqs:SendMessage", "arn:aws:sqs:us-east-1:1:secret")).verdict,
            Verdict::ImplicitDeny);
}

TEST(Policy, AResourcePolicyMayLeaveItsResourceOut) {
  const Policy policy = parsed(document(R"({"Effect":"Allow","Principal":"*","Action":"sqs:*"})"));
  EXPECT_EQ(evaluate(policy, request(user())).verdict, Verdict::Allow);
}

TEST(Condition, PositiveOperatorsWantOneEqualValue) {
  const auto allow = Verdict::Allow;
  const auto deny = Verdict::ImplicitDeny;
  EXPECT_EQ(with_condition(R"({"StringEquals":{"aws:x":["a","b"]}})", "AWS:X", {"b"}), allow);
  EXPECT_EQ(with_condition(R"({"StringEquals":{"aws:x":"a"}})", "aws:x", {"A"}), deny);
  EXPECT_EQ(with_condition(R"({"StringEquals":{"aws:x":"a*"}})", "aws:x", {"ab"}), deny) << "a star is a star here";
  EXPECT_EQ(with_condition(R"({"StringEqualsIgnoreCase":{"aws:x":"a"}})", "aws:x", {"A"}), allow);
  EXPECT_EQ(with_condition(R"({"StringLike":{"aws:x":"a*"}})", "aws:x", {"ab"}), allow);
  EXPECT_EQ(with_condition(R"({"StringLike":{"aws:x":"a?"}})", "aws:x", {"abc"}), deny);
  EXPECT_EQ(with_condition(R"({"ArnEquals":{"aws:x":"arn:aws:sns:*:1:t"}})", "aws:x", {"arn:aws:sns:r:1:t"}), allow);
  EXPECT_EQ(with_condition(R"({"ArnLike":{"aws:x":"arn:aws:sns:*:2:t"}})", "aws:x", {"arn:aws:sns:r:1:t"}), deny);
  EXPECT_EQ(with_condition(R"({"ArnLike":{"aws:x":"*"}})", "aws:x", {"arn:aws:sns:r:1:t"}), allow);
  EXPECT_EQ(with_condition(R"({"Bool":{"aws:x":"true"}})", "aws:x", {"true"}), allow);
  EXPECT_EQ(with_condition(R"({"Bool":{"aws:x":false}})", "aws:x", {"true"}), deny);
}

TEST(Condition, NegatedOperatorsWantToDifferFromAll) {
  const auto allow = Verdict::Allow;
  const auto deny = Verdict::ImplicitDeny;
  EXPECT_EQ(with_condition(R"({"StringNotEquals":{"aws:x":["a","b"]}})", "aws:x", {"c"}), allow);
  EXPECT_EQ(with_condition(R"({"StringNotEquals":{"aws:x":["a","b"]}})", "aws:x", {"b"}), deny);
  EXPECT_EQ(with_condition(R"({"StringNotEqualsIgnoreCase":{"aws:x":"a"}})", "aws:x", {"A"}), deny);
  EXPECT_EQ(with_condition(R"({"StringNotLike":{"aws:x":"a*"}})", "aws:x", {"ab"}), deny);
  EXPECT_EQ(with_condition(R"({"ArnNotEquals":{"aws:x":"arn:aws:sns:r:1:t"}})", "aws:x", {"arn:aws:sns:r:1:t"}), deny);
  EXPECT_EQ(with_condition(R"({"ArnNotLike":{"aws:x":"arn:aws:sns:r:1:t*"}})", "aws:x", {"arn:aws:sns:r:1:u"}), allow);
}

TEST(Condition, AbsentKeysFollowTheTable) {
  const auto allow = Verdict::Allow;
  const auto deny = Verdict::ImplicitDeny;
  EXPECT_EQ(with_condition(R"({"StringEquals":{"aws:x":"a"}})", "aws:x", {}), deny);
  EXPECT_EQ(with_condition(R"({"StringNotEquals":{"aws:x":"a"}})", "aws:x", {}), allow);
  EXPECT_EQ(with_condition(R"({"StringEqualsIfExists":{"aws:x":"a"}})", "aws:x", {}), allow);
  EXPECT_EQ(with_condition(R"({"StringEqualsIfExists":{"aws:x":"a"}})", "aws:x", {"b"}), deny);
  EXPECT_EQ(with_condition(R"({"StringNotEqualsIfExists":{"aws:x":"a"}})", "aws:x", {}), allow);
  EXPECT_EQ(with_condition(R"({"ArnLike":{"aws:x":"*"}})", "aws:x", {}), deny);
  EXPECT_EQ(with_condition(R"({"Null":{"aws:x":"true"}})", "aws:x", {}), allow);
  EXPECT_EQ(with_condition(R"({"Null":{"aws:x":"true"}})", "aws:x", {"b"}), deny);
  EXPECT_EQ(with_condition(R"({"Null":{"aws:x":"false"}})", "aws:x", {"b"}), allow);
}

TEST(Condition, OperatorsAndKeysAreJoinedByAnd) {
  const Policy policy = parsed(
      document(statement(R"("Condition":{"StringEquals":{"aws:x":"1","aws:y":"2"},"StringLike":{"aws:z":"3*"}})")));
  const std::string_view one = "1";
  const std::string_view two = "2";
  const std::string_view three = "34";
  const ContextEntry entries[] = {{"aws:x", {&one, 1}}, {"aws:y", {&two, 1}}, {"aws:z", {&three, 1}}};
  Request r = request(user());
  r.context = entries;
  EXPECT_EQ(evaluate(policy, r).verdict, Verdict::Allow);
  r.context = std::span(entries).first(2);
  EXPECT_EQ(evaluate(policy, r).verdict, Verdict::ImplicitDeny);
}

TEST(Condition, KeysOfThePrincipalNeedNotBeGiven) {
  const auto verdict = [](std::string_view condition, const Principal& who) {
    return evaluate(parsed(document(statement(R"("Condition":)" + std::string(condition)))), request(who)).verdict;
  };
  EXPECT_EQ(verdict(R"({"ArnEquals":{"aws:PrincipalArn":"arn:aws:iam::111122223333:role/task"}})", session()),
            Verdict::Allow);
  EXPECT_EQ(verdict(R"({"StringEquals":{"aws:PrincipalAccount":"111122223333"}})", user()), Verdict::Allow);
  EXPECT_EQ(verdict(R"({"StringEquals":{"aws:PrincipalAccount":"111122223333"}})", service()), Verdict::ImplicitDeny);
  EXPECT_EQ(verdict(R"({"Bool":{"aws:PrincipalIsAWSService":"true"}})", service()), Verdict::Allow);
  EXPECT_EQ(verdict(R"({"Bool":{"aws:PrincipalIsAWSService":"true"}})", user()), Verdict::ImplicitDeny);
  EXPECT_EQ(verdict(R"({"StringEquals":{"aws:PrincipalServiceName":"sns.amazonaws.com"}})", service()), Verdict::Allow);
  EXPECT_EQ(verdict(R"({"Null":{"aws:PrincipalArn":"true"}})", service()), Verdict::Allow);
}

TEST(Policy, AnIdentitysPolicyHasNoPrincipals) {
  const Policy policy =
      parsed(R"({"Statement":{"Effect":"Allow","Action":"sqs:*","Resource":"*"}})", PolicyKind::Identity);
  EXPECT_EQ(evaluate(policy, request(user())), (Decision{Verdict::Allow, 0, false}));
  EXPECT_EQ(refused(document(statement("")), PolicyKind::Identity).kind, ErrorKind::UnknownElement);
  EXPECT_EQ(refused(R"({"Statement":{"Effect":"Allow","Action":"sqs:*"}})", PolicyKind::Identity).kind,
            ErrorKind::MissingElement);
}

TEST(Policy, TheLimitsOfQueuesAndTopicsAreAcceptedAndOneMoreIsNot) {
  struct Shape {
    std::size_t statements;
    std::size_t principals = 1;  // of all statements together, when there are more than statements
    std::size_t conditions = 0;  // of the first statement
  };
  const auto policy_of = [](const Shape& shape, std::string_view action) {
    std::string all;
    for (std::size_t i = 0; i < shape.statements; ++i) {
      std::string principals;
      for (std::size_t k = 0; k < (i == 0 && shape.principals > shape.statements ? shape.principals - shape.statements + 1 : 1); ++k)
        principals += fmt::format("{}\"{:012}\"", k == 0 ? "" : ",", 100 * i + k + 1);
      std::string conditions;
      for (std::size_t k = 0; i == 0 && k < shape.conditions; ++k)
        conditions += fmt::format(R"({}"aws:PrincipalTag/{}":"x")", k == 0 ? "" : ",", k);
      all += fmt::format(R"({}{{"Effect":"Allow","Principal":{{"AWS":[{}]}},"Action":"{}","Resource":"*"{}}})", i == 0 ? "" : ",",
                         principals, action, conditions.empty() ? "" : R"(,"Condition":{"StringEquals":{)" + conditions + "}}");
    }
    auto parsed = Policy::parse(R"({"Version":"2012-10-17","Statement":[)" + all + "]}");
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message() << "\n" << all;
    return *std::move(parsed);
  };
  const auto queue = [&](const Shape& shape, std::size_t bytes = 100) {
    return check_queue_policy(policy_of(shape, "sqs:SendMessage"), bytes).has_value();
  };
  EXPECT_TRUE(queue({20, 50, 10}, 8'192));
  EXPECT_FALSE(queue({1}, 8'193));
  EXPECT_FALSE(queue({21}));
  EXPECT_FALSE(queue({1, 51}));
  EXPECT_FALSE(queue({1, 1, 11}));
  const auto topic = [&](const Shape& shape, std::size_t bytes = 100) {
    return check_topic_policy(policy_of(shape, "sns:Publish"), bytes).has_value();
  };
  EXPECT_TRUE(topic({100, 200, 11}, 30'720));
  EXPECT_FALSE(topic({1}, 30'721));
  EXPECT_FALSE(topic({101}));
  EXPECT_FALSE(topic({1, 201}));
}

TEST(Policy, WhatIsNotUnderstoodIsRefusedByName) {
  const auto expect = [](std::string_view json, ErrorKind kind, std::string_view word) {
    const Error error = refused(json);
    EXPECT_EQ(static_cast<int>(error.kind), static_cast<int>(kind)) << json << "\n" << error.message();
    EXPECT_NE(error.message().find(word), std::string::npos) << json << "\n" << error.message();
  };
  expect("", ErrorKind::NotJson, "");
  expect("{", ErrorKind::NotJson, "line 1");
  expect("[]", ErrorKind::WrongType, "an array");
  expect("{}", ErrorKind::MissingElement, "Statement");
  expect(R"({"Statement":7})", ErrorKind::WrongType, "Statement");
  expect(R"({"Statement":[7]})", ErrorKind::WrongType, "statement 0");
  expect(R"({"Version":"2020-01-01","Statement":[]})", ErrorKind::BadValue, "Version");
  expect(R"({"Versions":"2012-10-17","Statement":[]})", ErrorKind::UnknownElement, "Versions");
  expect(R"({"Id":7,"Statement":[]})", ErrorKind::WrongType, "Id");
  expect(R"({"Statement":[],"Statement":[]})", ErrorKind::DuplicateElement, "");
  expect(document(statement("") + "," + statement(R"("Sid":1)")), ErrorKind::WrongType, "statement 1: Sid");
  expect(document(statement(R"("Extra":1)")), ErrorKind::UnknownElement, "Extra");
  expect(document(statement("", "allow")), ErrorKind::BadValue, "Effect");
  expect(document(R"({"Principal":"*","Action":"sqs:*","Resource":"*"})"), ErrorKind::MissingElement, "Effect");
  expect(document(R"({"Effect":"Allow","Action":"sqs:*","Resource":"*"})"), ErrorKind::MissingElement, "Principal");
  expect(document(R"({"Effect":"Allow","Principal":"*","Resource":"*"})"), ErrorKind::MissingElement, "Action");
  expect(document(statement(R"("NotPrincipal":{"AWS":"111122223333"})")), ErrorKind::ConflictingElements,
         "NotPrincipal");
  expect(document(statement(R"("NotAction":"sqs:*")")), ErrorKind::ConflictingElements, "NotAction");
  expect(document(statement(R"("NotResource":"*")")), ErrorKind::ConflictingElements, "NotResource");
  expect(document(R"({"Effect":"Allow","Principal":"*","Action":[],"Resource":"*"})"), ErrorKind::BadValue, "Action");
  expect(document(R"({"Effect":"Allow","Principal":"*","Action":"SendMessage","Resource":"*"})"), ErrorKind::BadValue,
         "SendMessage");
  expect(document(R"({"Effect":"Allow","Principal":"*","Action":7,"Resource":"*"})"), ErrorKind::WrongType, "Action");
  expect(document(R"({"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":""})"), ErrorKind::BadValue,
         "Resource");
  for (const char* principal : {R"("alice")", "{}", "7", R"({"AWS":"1234"})", R"({"AWS":"arn:aws:iam::*:root"})",
                                R"({"Service":"*"})", R"({"AWS":"arn:aws:iam::111122223333:user/*"})",
                                R"({"Users":"*"})", R"({"AWS":"arn:aws:iam::111122223333:group/g"})",
                                R"({"Service":"sns"})", R"({"AWS":"arn:aws:iam::111122223333:user/"})"})
    expect(
        document(R"({"Effect":"Allow","Principal":)" + std::string(principal) + R"(,"Action":"sqs:*","Resource":"*"})"),
        ErrorKind::BadPrincipal, "");
  expect(document(statement(R"("Condition":7)")), ErrorKind::WrongType, "Condition");
  expect(document(statement(R"("Condition":{"StringEquals":{}})")), ErrorKind::WrongType, "StringEquals");
  expect(document(statement(R"("Condition":{"StringEquals":{"aws:x":[]}})")), ErrorKind::BadValue, "aws:x");
  expect(document(statement(R"("Condition":{"StringEquals":{"aws:x":{}}})")), ErrorKind::WrongType, "aws:x");
  expect(document(statement(R"("Condition":{"StringEqual":{"aws:x":"a"}})")), ErrorKind::UnknownOperator,
         "StringEqual");
  expect(document(statement(R"("Condition":{"NullIfExists":{"aws:x":"true"}})")), ErrorKind::UnknownOperator,
         "NullIfExists");
  expect(document(statement(R"("Condition":{"ForAnyValue:Null":{"aws:x":"true"}})")), ErrorKind::UnknownOperator,
         "Null");
  expect(document(statement(R"("Condition":{"NumericEquals":{"aws:x":"ten"}})")), ErrorKind::BadValue, "ten");
  expect(document(statement(R"("Condition":{"DateLessThan":{"aws:x":"soon"}})")), ErrorKind::BadValue, "soon");
  expect(document(statement(R"("Condition":{"IpAddress":{"aws:x":"10.0.0.0/33"}})")), ErrorKind::BadValue, "/33");
  expect(document(statement(R"("Condition":{"BinaryEquals":{"aws:x":"a"}})")), ErrorKind::BadValue, "base64");
  expect(document(statement(R"("Condition":{"Bool":{"aws:x":"yes"}})")), ErrorKind::BadValue, "yes");
  expect(document(statement(R"("Condition":{"ArnLike":{"aws:x":"arn:aws:sns:*"}})")), ErrorKind::BadValue, "six parts");
  expect(document(statement(R"("Condition":{"StringEquals":{"aws:x":"${aws:username"}})")), ErrorKind::BadVariable,
         "brace");
  expect(document(R"({"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"arn:aws:sqs:r:${aws:x}:q"})"),
         ErrorKind::BadVariable, "fifth colon");
  expect(std::string(Policy::kBytesMax + 1, ' '), ErrorKind::TooLarge, "bytes");
}

TEST(Policy, VariablesAreLiteralTextInDocumentsOf2008) {
  const Policy policy =
      parsed(document(statement(R"("Condition":{"StringEquals":{"aws:x":"${aws:username}"}})"), "2008-10-17"));
  const std::string_view literal = "${aws:username}";
  const ContextEntry entry{"aws:x", {&literal, 1}};
  Request r = request(user());
  r.context = {&entry, 1};
  EXPECT_EQ(evaluate(policy, r).verdict, Verdict::Allow);
}

TEST(Policy, TheStatementLimitIsExact) {
  std::string statements;
  for (std::size_t i = 0; i < Policy::kStatementsMax; ++i)
    statements += (i == 0 ? "" : ",") + std::string(R"({"Effect":"Deny","Principal":"*","Action":"a:b"})");
  EXPECT_EQ(parsed(document(statements)).statements().size(), Policy::kStatementsMax);
  EXPECT_EQ(refused(document(statements + "," + statement(""))).kind, ErrorKind::TooLarge);
}

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "aXXbYYbZc"));
  EXPECT_TRUE(glob_match("**a", "ba"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match("a*b", "ac"));
  EXPECT_FALSE(glob_match("a", "A"));
  EXPECT_TRUE(glob_match_ignoring_case("a?C", "AbC"));
  EXPECT_FALSE(glob_match(std::string(200, '*') + "b", std::string(5000, 'a'))) << "and it ends soon";
}

}  // namespace
}  // namespace fanfare::policy
