#include "policy/lint.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/json/value.h"

namespace fanfare::policy {
namespace {

constexpr std::string_view kQueue = "arn:aws:sqs:us-east-1:000000000000:work";
constexpr std::string_view kTopic = "arn:aws:sns:us-east-1:000000000000:doc-events";

/// The ids found in one statement of a queue's policy, in order and without the note on TLS.
std::string ids(const std::string& statement, ResourceKind kind = ResourceKind::Queue,
                const std::string& version = "2012-10-17") {
  const std::string text = R"({"Version":")" + version + R"(","Statement":[)" + statement + "]}";
  const auto policy = Policy::parse(text, kind == ResourceKind::Identity ? PolicyKind::Identity : PolicyKind::Resource);
  if (!policy) return policy.error().message();
  std::string out;
  for (const Finding& finding :
       lint_policy(*policy, kind, "p.json", kind == ResourceKind::Topic ? kTopic : kQueue, text.size()))
    if (finding.rule->id != "D011") out += (out.empty() ? "" : " ") + std::string(finding.rule->id);
  return out;
}

std::string statement(const std::string& principal, const std::string& rest = "", const std::string& effect = "Allow") {
  return R"({"Effect":")" + effect + R"(","Principal":)" + principal +
         R"(,"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:us-east-1:000000000000:work")" + rest + "}";
}
std::string with(const std::string& condition) { return R"(,"Condition":)" + condition; }

const std::string kSns = R"({"Service":"sns.amazonaws.com"})";

TEST(Lint, TheRightDeliveryStatementIsFine) {
  EXPECT_EQ(
      ids(statement(kSns, with(R"({"ArnEquals":{"aws:SourceArn":"arn:aws:sns:us-east-1:000000000000:doc-events"}})"))),
      "");
}

TEST(Lint, EachRuleOfPoliciesFindsItsMistake) {
  EXPECT_EQ(ids(statement(R"("*")")), "D001");
  EXPECT_EQ(ids(statement(kSns)), "D002");
  EXPECT_EQ(ids(statement(kSns, with(R"({"ArnLike":{"aws:SourceArn":"arn:aws:sns:us-east-1:*:doc-events"}})"))),
            "D003");
  EXPECT_EQ(ids(statement(kSns, with(R"({"ArnLike":{"aws:SourceArn":"arn:aws:sns:us-east-1:000000000000:*"}})"))),
            "D003");
  EXPECT_EQ(ids(statement(R"("*")", with(R"({"StringEquals":{"aws:PrincipalOrgID":"o-1"}})"))), "D004");
  EXPECT_EQ(ids(statement(R"("*")", with(R"({"StringNotEquals":{"aws:SourceVpce":"vpce-1"}})"), "Deny")), "D005");
  EXPECT_EQ(
      ids(statement(R"("*")",
                    with(R"({"StringNotEquals":{"aws:SourceVpce":"v"},"Bool":{"aws:PrincipalIsAWSService":"false"}})"),
                    "Deny")),
      "");
  EXPECT_EQ(ids(R"({"Effect":"Allow","NotPrincipal":{"AWS":"000000000000"},"Action":"sqs:SendMessage"})"), "D006");
  EXPECT_EQ(ids(statement(R"({"AWS":"000000000000"})", with(R"({"ForAllValues:StringEquals":{"aws:TagKeys":"a"}})"))),
            "D007");
  EXPECT_EQ(ids(statement(kSns, with(R"({"StringEquals":{"aws:SourceArn":"arn:aws:sns:*:000000000000:x"}})"))), "D008");
  EXPECT_EQ(ids(statement(R"({"AWS":"000000000000"})", with(R"({"StringEquals":{"aws:username":"${aws:userid}"}})")),
                ResourceKind::Queue, "2008-10-17"),
            "D009");
  EXPECT_EQ(ids(R"({"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":"sqs:*"})"), "D010");
  EXPECT_EQ(ids(statement(R"({"AWS":"000000000000"})", with(R"({"StringEquals":{"aws:SourceOwner":"1"}})"))), "D026");
  EXPECT_EQ(ids(statement(R"({"AWS":"AIDAJQABLZS4A3QDU576Q"})")), "D027");
  EXPECT_EQ(
      ids(R"({"Effect":"Deny","Principal":{"AWS":"111122223333"},"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:us-east-1:000000000000:other"})"),
      "D031");
  EXPECT_EQ(ids(R"({"Effect":"Deny","Principal":{"AWS":"111122223333"},"Action":"sns:Publish"})"), "D031");
  EXPECT_EQ(ids(R"({"Effect":"Deny","Principal":"*","Action":"sqs:*"})"), "D032");
  EXPECT_EQ(ids(R"({"Effect":"Deny","NotPrincipal":{"AWS":"arn:aws:iam::000000000000:role/r"},"Action":"sqs:*"})"),
            "D032");
  EXPECT_EQ(ids(statement(R"({"AWS":"000000000000"})", with(R"({"StringEquals":{"aws:SourceAcount":"1"}})"))), "D033");
  EXPECT_EQ(ids(statement(R"({"AWS":"000000000000"})", R"(,"Sid":"a")") + "," +
                statement(R"({"AWS":"111122223333"})", R"(,"Sid":"a")")),
            "D034");
}

DescribedTopology fan_out() {
  DescribedTopology topology;
  const std::string dlq = std::string(kQueue) + "-dlq";
  const auto admit = [](const std::string& queue) {
    return R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":")" +
           queue + R"(","Condition":{"ArnEquals":{"aws:SourceArn":")" + std::string(kTopic) +
           R"("}}},{"Effect":"Deny","Principal":"*","Action":"sqs:SendMessage","Resource":")" + queue +
           R"(","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]})";
  };
  topology.queues[std::string(kQueue)] = {
      {"Policy", admit(std::string(kQueue))},
      {"RedrivePolicy", R"({"deadLetterTargetArn":")" + dlq + R"(","maxReceiveCount":5})"},
      {"MessageRetentionPeriod", "345600"},
      {"MaximumMessageSize", "1048576"},
      {"SqsManagedSseEnabled", "true"}};
  topology.queues[dlq] = {{"Policy", admit(dlq)}, {"MessageRetentionPeriod", "1209600"}, {"RedriveAllowPolicy", "{}"}};
  topology.topics[std::string(kTopic)] = {{"SignatureVersion", "2"}};
  topology.subscriptions[std::string(kTopic) + ":1"] = {
      {"TopicArn", std::string(kTopic)},
      {"Protocol", "sqs"},
      {"Endpoint", std::string(kQueue)},
      {"RedrivePolicy", R"({"deadLetterTargetArn":")" + dlq + R"("})"}};
  return topology;
}

std::string ids(const DescribedTopology& topology) {
  std::string out;
  for (const Finding& finding : lint_topology(topology))
    out += (out.empty() ? "" : " ") + std::string(finding.rule->id);
  return out;
}

TEST(Lint, ARightFanOutIsFine) { EXPECT_EQ(ids(fan_out()), ""); }

TEST(Lint, EachRuleOfTopologiesFindsItsMistake) {
  const std::string queue{kQueue};
  const std::string subscription = std::string(kTopic) + ":1";
  const auto changed = [&](auto change) {
    DescribedTopology topology = fan_out();
    change(topology);
    return ids(topology);
  };
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue]["SqsManagedSseEnabled"] = "false"; }), "D012");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue]["KmsMasterKeyId"] = "alias/aws/sqs"; }), "D013");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue].erase("RedrivePolicy"); }), "D014");
  EXPECT_EQ(changed([&](auto& t) { t.subscriptions[subscription].erase("RedrivePolicy"); }), "D015");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue + "-dlq"].erase("Policy"); }), "D016");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue + "-dlq"].erase("RedriveAllowPolicy"); }), "D017");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue + "-dlq"]["MessageRetentionPeriod"] = "345600"; }), "D018");
  EXPECT_EQ(
      changed([&](auto& t) { t.queues[queue]["VisibilityTimeout"] = "30", t.queues[queue]["HandlerSeconds"] = "10"; }),
      "D019");
  EXPECT_EQ(changed([&](auto& t) {
              t.queues[queue]["RedrivePolicy"] =
                  R"({"deadLetterTargetArn":")" + queue + R"(-dlq","maxReceiveCount":"1"})";
            }),
            "D020");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue].erase("Policy"); }), "D021");
  EXPECT_EQ(changed([&](auto& t) { t.subscriptions[subscription]["PendingConfirmation"] = "true"; }), "D022");
  EXPECT_EQ(changed([&](auto& t) {
              t.subscriptions["s2"] = t.subscriptions[subscription];
              t.subscriptions["s2"]["RawMessageDelivery"] = "true";
            }),
            "D023");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue]["MaximumMessageSize"] = "65536"; }), "D024");
  EXPECT_EQ(changed([&](auto& t) { t.topics[std::string(kTopic)]["SignatureVersion"] = "1"; }), "D028");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue]["ClaimCheck"] = "true"; }), "D029");
  EXPECT_EQ(changed([&](auto& t) { t.subscriptions[subscription]["FilterPolicy"] = R"({"ExtendedPayloadSize":[{"exists":true}]})"; }),
            "D029") << "the filter shows that pointers are sent";
  EXPECT_EQ(changed([&](auto& t) {
              t.queues[queue]["ClaimCheck"] = "true";
              t.subscriptions[subscription]["RawMessageDelivery"] = "true";
            }),
            "");
  EXPECT_EQ(changed([&](auto& t) {
              t.queues[queue]["ClaimCheck"] = "true";
              t.subscriptions[subscription]["RawMessageDelivery"] = "true";
              t.subscriptions[subscription]["FilterPolicy"] = R"({"type":["a"]})";
              t.subscriptions[subscription]["FilterPolicyScope"] = "MessageBody";
            }),
            "D029") << "the body is a pointer";
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue]["FifoThroughputLimit"] = "perMessageGroupId"; }), "D030");
  EXPECT_EQ(changed([&](auto& t) { t.subscriptions[subscription]["FilterPolicy"] = R"({"a":{"b":["c"]}})"; }), "D035");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue]["Policy"] = "{"; }), "D036 D021");
  EXPECT_EQ(changed([&](auto& t) { t.queues[queue + "-dlq"]["KmsMasterKeyId"] = "alias/aws/sqs"; }), "D016");
  EXPECT_EQ(changed([&](auto& t) { t.subscriptions.clear(); }), "D037") << "left over";
}

TEST(Lint, FindingsHaveThreeForms) {
  DescribedTopology topology = fan_out();
  topology.queues[std::string(kQueue)].erase("RedrivePolicy");
  const auto findings = lint_topology(topology);
  ASSERT_EQ(findings.size(), 1u);
  std::string text;
  append_text(text, findings);
  EXPECT_TRUE(
      text.starts_with("D014 warning arn:aws:sqs:us-east-1:000000000000:work: A queue without a dead-letter queue"))
      << text;
  std::string as_json;
  append_json(as_json, findings);
  const auto value = wire::json::parse(as_json);
  ASSERT_TRUE(value) << as_json;
  EXPECT_EQ(value->find("findings")->items()[0].find_string("id"), "D014");
  EXPECT_EQ(value->find("findings")->items()[0].find("peers")->size(), 2u);
  std::string sarif;
  append_sarif(sarif, findings, "1");
  const auto log = wire::json::parse(sarif);
  ASSERT_TRUE(log) << sarif;
  EXPECT_EQ(log->find_string("version"), "2.1.0");
  EXPECT_EQ(log->find("runs")->items()[0].find("results")->items()[0].find_string("ruleId"), "D014");
}

TEST(Lint, RulesAreSortedAndComplete) {
  std::string_view before;
  for (const LintRule& rule : lint_rules()) {
    EXPECT_LT(before, rule.id);
    EXPECT_FALSE(rule.title.empty() || rule.why.empty() || rule.mend.empty()) << rule.id;
    before = rule.id;
  }
}

}  // namespace
}  // namespace fanfare::policy
