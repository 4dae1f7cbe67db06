// The evaluator against the naive one, over policies and requests made of few words, so that they meet often.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "policy/naive_evaluator.h"
#include "policy/question.h"
#include "wire/json/writer.h"

namespace fanfare::policy {
namespace {

namespace json = wire::json;
using Texts = std::vector<std::string>;

const std::string kA = "111122223333";
const std::string kB = "444455556666";

std::string one_of(const Texts& texts) { return *rc::gen::elementOf(texts); }
bool coin(int percent = 50) { return *rc::gen::inRange(0, 100) < percent; }

std::string in_quotes(const std::string& text) { return json::to_quoted(text); }

/// One text, or an array of one to three.
std::string some_of(const Texts& texts) {
  if (coin(60)) return in_quotes(one_of(texts));
  const int count = *rc::gen::inRange(1, 4);
  std::string out = "[";
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + in_quotes(one_of(texts));
  return out + "]";
}

const Texts kPrincipals = {"*",
                           kA,
                           "arn:aws:iam::" + kA + ":root",
                           "arn:aws:iam::" + kA + ":user/alice",
                           "arn:aws:iam::" + kA + ":role/task",
                           "arn:aws:sts::" + kA + ":assumed-role/task/run",
                           kB,
                           "arn:aws:iam::" + kB + ":user/carol"};
const Texts kActions = {"sqs:SendMessage", "SQS:sendmessage", "sqs:*",           "*",
                        "sqs:Send*",       "sns:*",           "sqs:DeleteQueue", "sqs:?etQueueAttributes"};
const Texts kResources = {"*",
                          "arn:aws:sqs:us-east-1:" + kA + ":work",
                          "arn:aws:sqs:*:" + kA + ":w*",
                          "arn:aws:sqs:*",
                          "arn:aws:sns:*",
                          "arn:aws:sqs:us-east-1:" + kA + ":inbox-${aws:username}",
                          "arn:aws:sqs:us-east-1:" + kA + ":inbox-${aws:x, 'work'}",
                          "arn:aws:sqs:us*1:" + kA + ":w?rk"};

std::string condition() {
  struct Kind {
    Texts operators;
    Texts values;
  };
  static const std::vector<Kind> kinds = {
      {{"StringEquals", "StringNotEquals", "StringLike", "StringNotLike", "StringEqualsIgnoreCase",
        "StringNotEqualsIgnoreCase"},
       {"a", "A", "b", "a*", "*", "${aws:x}", "${aws:username}", "${aws:none, 'a'}", "${*}", "alice"}},
      {{"ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike"},
       {"*", "arn:aws:iam::*:*", "arn:aws:iam::" + kA + ":user/alice", "arn:aws:iam::" + kA + ":role/*",
        "arn:aws:iam::${aws:PrincipalAccount}:user/${aws:username}"}},
      {{"NumericEquals", "NumericNotEquals", "NumericLessThan", "NumericGreaterThanEquals"}, {"1", "2", "-1", "1.0"}},
      {{"Bool"}, {"true", "false"}},
  };
  const Kind& kind = kinds[*rc::gen::inRange<std::size_t>(0, kinds.size())];
  std::string op = one_of(kind.operators);
  if (coin(20))
    op = "ForAllValues:" + op;
  else if (coin(25))
    op = "ForAnyValue:" + op;
  if (coin(20)) op += "IfExists";
  std::string values = some_of(kind.values);
  if (coin(10)) {
    op = "Null";
    values = in_quotes(coin() ? "true" : "false");
  }
  const std::string key = one_of({"aws:x", "AWS:X", "aws:y", "aws:PrincipalArn", "aws:PrincipalAccount", "aws:username",
                                  "aws:PrincipalIsAWSService"});
  return "{" + in_quotes(op) + ":{" + in_quotes(key) + ":" + values + "}}";
}

std::string statement(bool resource) {
  std::string out = R"({"Effect":)" + in_quotes(coin(70) ? "Allow" : "Deny");
  if (resource) {
    out += coin(80) ? R"(,"Principal":)" : R"(,"NotPrincipal":)";
    const int form = *rc::gen::inRange(0, 10);
    if (form < 2) {
      out += in_quotes("*");
    } else if (form < 4) {
      out += R"({"Service":)" + some_of({"sns.amazonaws.com", "s3.amazonaws.com"}) + "}";
    } else {
      out += R"({"AWS":)" + some_of(kPrincipals) + "}";
    }
  }
  out += (coin(85) ? R"(,"Action":)" : R"(,"NotAction":)") + some_of(kActions);
  out += (coin(85) ? R"(,"Resource":)" : R"(,"NotResource":)") + some_of(kResources);
  if (coin(40)) out += R"(,"Condition":)" + condition();
  return out + "}";
}

std::string policy(bool resource) {
  std::string out = R"({"Version":)" + in_quotes(coin(80) ? "2012-10-17" : "2008-10-17") + R"(,"Statement":[)";
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + statement(resource);
  return out + "]}";
}

json::Value read(const std::string& text) {
  auto value = json::parse(text);
  RC_ASSERT(value.has_value());
  return std::move(*value);
}

RC_GTEST_PROP(PolicyProperty, EveryDecisionIsThatOfTheNaiveEvaluator, ()) {
  using Kind = naive::Asker::Kind;
  naive::Asked asked;
  std::string principal;
  switch (*rc::gen::inRange(0, 6)) {
    case 0: principal = "\"anonymous\""; break;
    case 1: asked.who = {Kind::Root, kA, "arn:aws:iam::" + kA + ":root", "", ""}; break;
    case 2: asked.who = {Kind::User, kA, "arn:aws:iam::" + kA + ":user/alice", "", ""}; break;
    case 3:
      asked.who = {Kind::Session, kA, "arn:aws:sts::" + kA + ":assumed-role/task/run",
                   "arn:aws:iam::" + kA + ":role/task", ""};
      break;
    case 4: asked.who = {Kind::User, kB, "arn:aws:iam::" + kB + ":user/carol", "", ""}; break;
    default:
      asked.who = {Kind::Service, "", "", "", "sns.amazonaws.com"};
      principal = R"({"service":"sns.amazonaws.com"})";
      break;
  }
  if (principal.empty()) principal = in_quotes(asked.who.arn);
  asked.action = one_of({"sqs:SendMessage", "sqs:DeleteQueue", "sqs:SetQueueAttributes"});
  asked.resource = "arn:aws:sqs:us-east-1:" + kA + ":" + one_of({"work", "inbox-alice", "inbox-work"});

  std::string text = R"({"request":{"principal":)" + principal + R"(,"action":)" + in_quotes(asked.action) +
                     R"(,"resource":)" + in_quotes(asked.resource) + R"(,"context":{)";
  bool first = true;
  for (const std::string key : {"aws:x", "aws:y"}) {
    const int count = *rc::gen::inRange(0, 3);
    if (count == 0) continue;
    Texts values;
    for (int i = 0; i < count; ++i) values.push_back(one_of({"a", "b", "A", "1", "true", "a*", "*", "work"}));
    text +=
        (first ? "" : ",") + in_quotes(key) + ":[" + in_quotes(values[0]) + (count == 2 ? "," + in_quotes(values[1]) : "") + "]";
    first = false;
    asked.keys[key] = values;
  }
  text += "}}";

  naive::Policies policies;
  const auto list = [&](int count, std::vector<json::Value>& out) {
    std::string array = "[";
    for (int i = 0; i < count; ++i) {
      const std::string made = policy(false);
      out.push_back(read(made));
      array += (i == 0 ? "" : ",") + made;
    }
    return array + "]";
  };
  if (coin(80)) {
    const std::string made = policy(true);
    policies.resource_policy = read(made);
    text += R"(,"resource_policy":)" + made;
  }
  text += R"(,"identity_policies":)" + list(*rc::gen::inRange(0, 3), policies.identity_policies);
  if (coin(25)) {
    const std::string made = policy(false);
    policies.permissions_boundary = read(made);
    text += R"(,"permissions_boundary":)" + made;
  }
  if (coin(25)) text += R"(,"session_policies":)" + list(*rc::gen::inRange(1, 3), policies.session_policies);
  if (coin(20)) {
    text += R"(,"service_control_policies":[)";
    const int levels = *rc::gen::inRange(1, 3);
    for (int i = 0; i < levels; ++i) {
      policies.service_control_policies.emplace_back();
      text += (i == 0 ? "" : ",") + list(*rc::gen::inRange(0, 3), policies.service_control_policies.back());
    }
    text += "]";
  }
  text += "}";

  auto question = OwnedQuestion::parse(read(text));
  if (!question) RC_FAIL(question.error() + "\n" + text);
  std::string answer;
  append_answer(answer, question->view());
  const json::Value told = read(answer);
  const std::string wanted = naive::decide(asked, policies);
  RC_TAG(wanted);
  if (told.find_string("decision") != wanted)
    RC_FAIL("the naive evaluator says " + wanted + "\n" + text + "\n" + answer);
}

}  // namespace
}  // namespace fanfare::policy
