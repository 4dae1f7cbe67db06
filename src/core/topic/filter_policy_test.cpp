#include "core/topic/filter_policy.h"

#include <gtest/gtest.h>

#include "core/topic/filter_index.h"

namespace fanfare::topic {
namespace {

using message::MessageAttribute;

std::string refusal(std::string_view policy, FilterScope scope = FilterScope::MessageBody) {
  const auto parsed = FilterPolicy::parse(policy, scope);
  return parsed ? "accepted" : parsed.error().message;
}

FilterOutcome against_body(std::string_view policy, std::string_view body) {
  const auto parsed = FilterPolicy::parse(policy, FilterScope::MessageBody);
  EXPECT_TRUE(parsed.has_value()) << policy << ": " << parsed.error().message;
  if (!parsed) return FilterOutcome::Mismatch;
  LazyBody lazy(body);
  return parsed->matches({}, lazy);
}

FilterOutcome against_attributes(std::string_view policy, std::vector<MessageAttribute> attributes) {
  const auto parsed = FilterPolicy::parse(policy, FilterScope::MessageAttributes);
  EXPECT_TRUE(parsed.has_value()) << policy << ": " << parsed.error().message;
  if (!parsed) return FilterOutcome::Mismatch;
  LazyBody lazy("no JSON");
  return parsed->matches(attributes, lazy);
}

// What AWS answered, with the column that it named. [recorded by LocalStack from SNS]
TEST(FilterPolicy, IsRefusedWithAwsTextsAndColumns) {
  struct Case {
    std::string_view policy;
    std::string_view message;
    std::size_t column;  // from 1
  };
  const Case cases[] = {
      {R"({"key":[["value"]]})", "Match value must be String, number, true, false, or null", 10},
      {R"({"key":[{"wrong-operator":true}]})", "Unrecognized match type wrong-operator", 31},
      {R"({"key":[{"suffix":"value","prefix":"value2"}]})", "Only one key allowed in match expression", 37},
      {R"({"key":[{"suffix":100}]})", "suffix match pattern must be a string", 22},
      {R"({"key":[{"suffix":null}]})", "suffix match pattern must be a string", 23},
      {R"({"key":{"suffix":"value"}})", "\"suffix\" must be an object or an array", 19},
      {R"({"key":[{"suffix":[]}]})", "suffix match pattern must be a string", 20},
      {R"({"key":[{"suffix":["test","test2"]}]})", "suffix match pattern must be a string", 20},
      {R"({"key":{"not-an-operator":"value"}})", "\"not-an-operator\" must be an object or an array", 28},
      {R"({"key":[{"numeric":[]}]})", "Invalid member in numeric match: ]", 22},
      {R"({"key":[{"numeric":["operator"]}]})", "Unrecognized numeric range operator: operator", 32},
      {R"({"key":[{"numeric":[1,"<="]}]})", "Invalid member in numeric match: 1", 22},
      {R"({"key":[{"numeric":["=","000"]}]})", "Value of equals must be numeric", 26},
      {R"({"key":[{"numeric":[">="]}]})", "Value of >= must be numeric", 26},
      {R"({"key":[{"numeric":["<",100,">",10]}]})", "Too many elements in numeric expression", 30},
      {R"({"key":[{"numeric":[">=",1,">",2]}]})", "Bad numeric range operator: >", 31},
      {R"({"key":[{"numeric":[">",3,"<",1]}]})", "Bottom must be less than top", 33},
      {R"({"key":[{"numeric":[">",20,"<="]}]})", "Value of <= must be numeric", 33},
      {R"({"key":[{"numeric":[">",20,30]}]})", "Bad value in numeric range: 30", 30},
      {R"({"key":[{"numeric":[">",20,"test"]}]})", "Bad numeric range operator: test", 34},
      {R"({"key":[{"numeric":[">","20","<","30"]}]})", "Value of > must be numeric", 26},
      {R"({"key":[{"numeric":[">",20,"<","30"]}]})", "Value of < must be numeric", 33},
      {R"({"key":[{"numeric":[">",20,"<",30,"<",50]}]})", "Too many terms in numeric range expression", 36},
      {R"({"key":[{"exists":null}]})", "exists match pattern must be either true or false.", 23},
      {R"({"key":[{"exists":"no"}]})", "exists match pattern must be either true or false.", 20},
      {R"({"key_a":"value_one"})", "\"key_a\" must be an object or an array", 11},
      {R"({"key":[{"anything-but":{"wrong-operator":null}}]})", "Unsupported anything-but pattern: wrong-operator", 47},
      {R"({"key":[{"anything-but":{"suffix":"test"}}]})", "Unsupported anything-but pattern: suffix", 36},
      {R"({"key":[{"anything-but":{"exists":false}}]})", "Unsupported anything-but pattern: exists", 40},
      {R"({"key":[{"anything-but":{"prefix":false}}]})", "prefix match pattern must be a string", 40},
  };
  for (const Case& one : cases) {
    const auto parsed = FilterPolicy::parse(one.policy, FilterScope::MessageBody);
    ASSERT_FALSE(parsed.has_value()) << one.policy;
    EXPECT_EQ(parsed.error().message, one.message) << one.policy;
    EXPECT_EQ(parsed.error().offset + 1, one.column) << one.policy;
    EXPECT_TRUE(parsed.error().has_prefix());
  }
}

TEST(FilterPolicy, IsRefusedWhereTheGrammarIsBroken) {
  EXPECT_EQ(refusal(R"({"a":[]})"), "Empty arrays are not allowed");
  EXPECT_EQ(refusal(R"({"a":{}})"), "Empty objects are not allowed");
  EXPECT_EQ(refusal(R"({"a":[{}]})"), "Match expression name not found");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":7}]})"), "prefix match pattern must be a string");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"10.0.0.1"}]})"), "Malformed CIDR, one '/' required");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"10.0.0.1/1/2"}]})"), "Malformed CIDR, one '/' required");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"10.0.1/8"}]})"), "Nonstandard IP address: 10.0.1");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"10.0.0.300/8"}]})"), "Nonstandard IP address: 10.0.0.300");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"10.0.0.0/x"}]})"), "Malformed CIDR, mask bits must be an integer");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"10.0.0.0/-1"}]})"), "Malformed CIDR, mask bits must not be negative");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"10.0.0.0/32"}]})"), "IPv4 mask bits must be < 32");
  EXPECT_EQ(refusal(R"({"a":[{"cidr":"::/128"}]})"), "IPv6 mask bits must be < 128");
  EXPECT_EQ(refusal(R"({"a":[{"numeric":5}]})"), "Value of numeric must be an array.");
  EXPECT_EQ(refusal(R"({"a":[{"numeric":["=",2000000000]}]})"), "Value must be between -1.0E9 and 1.0E9, inclusive");
  EXPECT_EQ(refusal(R"({"a":[{"prefix":""}]})"), "Null prefix/suffix not allowed");
  EXPECT_EQ(refusal(R"({"a":[{"wildcard":"a**b"}]})"), "Consecutive wildcard characters at pos 1");
  EXPECT_EQ(refusal(R"({"a":[{"wildcard":"a\\b"}]})"), "Invalid escape character at pos 1");
  EXPECT_EQ(refusal(R"({"a":[{"anything-but":[]}]})"), "Empty arrays are not allowed");
  EXPECT_EQ(refusal(R"({"a":[{"anything-but":true}]})"),
            "Value of anything-but must be an array or single string/number value.");
  EXPECT_EQ(refusal(R"({"a":[{"anything-but":["x",1]}]})"),
            "Inside anything but list, either all values are number or string, mixed type is not supported");
  EXPECT_EQ(refusal(R"({"a":[{"anything-but":[null]}]})"),
            "Inside anything but list, start|null|boolean is not supported.");
  EXPECT_EQ(refusal(R"({"a":["x"],"a":["y"]})"), "Path `a` cannot be allowed multiple times");
  EXPECT_EQ(refusal("[]"), "Filter must be an object");
  EXPECT_TRUE(refusal("{").starts_with("failed to parse JSON. ")) << refusal("{");
}

TEST(FilterPolicy, OfAttributesIsFlat) {
  const auto parsed = FilterPolicy::parse(R"({"a":{"b":["c"]}})", FilterScope::MessageAttributes);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().message, "Filter policy scope MessageAttributes does not support nested filter policy");
  EXPECT_FALSE(parsed.error().has_prefix());
}

TEST(FilterPolicy, HasAtMost5KeysAnd150Combinations) {
  EXPECT_EQ(refusal(R"({"a":[1],"b":[1],"c":[1],"d":[1],"e":[1]})"), "accepted");
  EXPECT_EQ(refusal(R"({"a":[1],"b":[1],"c":[1],"d":[1],"e":[1],"f":[1]})"), "Filter policy can not have more than 5 keys");
  const auto values = [](int count) {
    std::string text = "[0";
    for (int i = 1; i < count; ++i) text += "," + std::to_string(i);
    return text + "]";
  };
  EXPECT_EQ(refusal("{\"a\":" + values(150) + "}"), "accepted");
  EXPECT_EQ(refusal("{\"a\":" + values(151) + "}"), "Filter policy is too complex");
  EXPECT_EQ(refusal("{\"a\":" + values(15) + ",\"b\":" + values(10) + "}"), "accepted");
  EXPECT_EQ(refusal("{\"a\":" + values(15) + ",\"b\":" + values(11) + "}"), "Filter policy is too complex");
  // 3 levels x 4 values x 2 levels x 3 values = 72, the example of the documentation; with 7 values it is 168.
  EXPECT_EQ(refusal("{\"a\":{\"b\":{\"c\":" + values(4) + "}},\"d\":{\"e\":" + values(3) + "}}"), "accepted");
  EXPECT_EQ(refusal("{\"a\":{\"b\":{\"c\":" + values(4) + "}},\"d\":{\"e\":" + values(7) + "}}"),
            "Filter policy is too complex");
  // Branches of an $or add up.
  EXPECT_EQ(refusal("{\"$or\":[{\"a\":" + values(75) + "},{\"b\":" + values(75) + "}]}"), "accepted");
  EXPECT_EQ(refusal("{\"$or\":[{\"a\":" + values(75) + "},{\"b\":" + values(76) + "}]}"), "Filter policy is too complex");
  // In attributes there is no depth.
  EXPECT_EQ(refusal("{\"a\":" + values(150) + "}", FilterScope::MessageAttributes), "accepted");
}

TEST(FilterPolicy, OperatorsOfTheLanguage) {
  struct Case {
    std::string_view rule;
    std::vector<std::string_view> passes;
    std::vector<std::string_view> fails;
  };
  const Case cases[] = {
      {R"("rugby")", {R"("rugby")", R"(["x","rugby"])", R"([["rugby"]])"}, {R"("Rugby")", "1", "null", "[]", "{}"}},
      {"17", {"17", "17.0", "1.7e1"}, {R"("17")", "18", "true"}},
      {"true", {"true"}, {"false", R"("true")", "1"}},
      {"null", {"null"}, {R"("null")", "false"}},
      {R"({"prefix":"au"})", {R"("auto")", R"("au")"}, {R"("a")", R"("tau")", "7"}},
      {R"({"suffix":".pdf"})", {R"("a.pdf")"}, {R"("a.pdfx")"}},
      {R"({"equals-ignore-case":"TENNIS"})", {R"("tennis")", R"("Tennis")"}, {R"("tenni")"}},
      {R"({"wildcard":"doc-*-eu*"})", {R"("doc-1-eu")", R"("doc--eu-west")"}, {R"("doc-eu")", R"("xdoc-1-eu")"}},
      {R"({"wildcard":"ab*ba"})", {R"("abba")"}, {R"("aba")"}},
      {R"({"wildcard":"a\\*b"})", {R"("a*b")"}, {R"("axb")"}},
      {R"({"numeric":["=",1.5]})", {"1.5", "15e-1"}, {"1.50001", R"("1.5")"}},
      {R"({"numeric":[">",0,"<=",100]})", {"0.00001", "100"}, {"0", "100.00001", R"("5")"}},
      {R"({"numeric":["<",-1]})", {"-2"}, {"-1"}},
      {R"({"anything-but":["rugby","tennis"]})", {R"("ball")", "5", R"(["rugby","ball"])"}, {R"("rugby")", R"(["tennis"])"}},
      {R"({"anything-but":7})", {"8", R"("7")"}, {"7"}},
      {R"({"anything-but":{"prefix":"order-"}})", {R"("data")", "1"}, {R"("order-1")"}},
      {R"({"anything-but":{"wildcard":["*.tmp","~*"]}})", {R"("a.txt")"}, {R"("a.tmp")", R"("~a")"}},
      {R"({"anything-but":{"equals-ignore-case":["A","b"]}})", {R"("c")"}, {R"("a")", R"("B")"}},
      {R"({"cidr":"10.0.0.0/24"})", {R"("10.0.0.255")"}, {R"("10.0.1.0")", R"("::1")", R"("text")"}},
      {R"({"cidr":"2001:db8::/32"})", {R"("2001:db8:1::9")", R"("2001:0DB8::1.2.3.4")"}, {R"("2001:db9::")", R"("32.1.13.184")"}},
      {R"({"exists":true})", {R"("x")", "null", "[1]"}, {"{}", "[]"}},
      {R"({"exists":false})", {"{}", "[]"}, {R"("x")", "null"}},
  };
  for (const Case& one : cases) {
    const std::string policy = "{\"k\":[" + std::string{one.rule} + "]}";
    for (const auto value : one.passes) {
      const std::string body = "{\"k\":" + std::string{value} + "}";
      EXPECT_EQ(against_body(policy, body), FilterOutcome::Passed) << policy << " " << body;
    }
    for (const auto value : one.fails) {
      const std::string body = "{\"k\":" + std::string{value} + "}";
      EXPECT_EQ(against_body(policy, body), FilterOutcome::Mismatch) << policy << " " << body;
    }
    const bool wants_absence = one.rule == R"({"exists":false})";
    EXPECT_EQ(against_body(policy, "{}"), wants_absence ? FilterOutcome::Passed : FilterOutcome::Mismatch) << policy;
    EXPECT_EQ(against_body(policy, "text"), FilterOutcome::InvalidMessageBody) << policy;
  }
}

TEST(FilterPolicy, OneElementMustSatisfyAllFieldsUnderAnArray) {
  constexpr std::string_view policy = R"({"Records":{"s3":{"object":{"key":[{"prefix":"auto-"}]}},"eventName":["Put"]}})";
  EXPECT_EQ(against_body(policy, R"({"Records":[{"eventName":"Put","s3":{"object":[[{"key":"auto-1"}]]}},{"eventName":"Del"}]})"),
            FilterOutcome::Passed);
  EXPECT_EQ(against_body(policy, R"({"Records":[{"eventName":"Put"},{"eventName":"Del","s3":{"object":{"key":"auto-1"}}}]})"),
            FilterOutcome::Mismatch);
}

TEST(FilterPolicy, AbsenceIsAskedOfTheWholeMessage) {
  constexpr std::string_view policy = R"({"a":{"b":[{"exists":false}],"c":[2]}})";
  EXPECT_EQ(against_body(policy, R"({"a":[{"c":2}]})"), FilterOutcome::Passed);
  EXPECT_EQ(against_body(policy, R"({"a":[{"b":1},{"c":2}]})"), FilterOutcome::Mismatch);
}

TEST(FilterPolicy, DottedKeysNameNestedFields) {
  for (const std::string_view body : {R"({"a":{"b":{"c":"x"}}})", R"({"a.b.c":"x"})", R"({"a.b":{"c":"x"}})", R"({"a":{"b.c":"x"}})"}) {
    EXPECT_EQ(against_body(R"({"a.b.c":["x"]})", body), FilterOutcome::Passed) << body;
    EXPECT_EQ(against_body(R"({"a":{"b.c":["x"]}})", body), FilterOutcome::Passed) << body;
  }
  EXPECT_EQ(against_body(R"({"a.":["x"]})", R"({"a.":"x"})"), FilterOutcome::Passed);
  EXPECT_EQ(against_body(R"({"a.":["x"]})", R"({"a":"x"})"), FilterOutcome::Mismatch);
}

// The example of AWS's documentation.
TEST(FilterPolicy, OrJoinsAlternatives) {
  constexpr std::string_view policy =
      R"({"$or":[{"metricName":["CPUUtilization","ReadLatency"]},{"namespace":["AWS/EC2","AWS/ES"]}],)"
      R"("detail":{"scope":["Service"],"$or":[{"source":["aws.cloudwatch"]},{"type":["Change"]}]}})";
  EXPECT_EQ(against_body(policy, R"({"metricName":"ReadLatency","detail":{"scope":"Service","source":"aws.cloudwatch"}})"),
            FilterOutcome::Passed);
  EXPECT_EQ(against_body(policy, R"({"namespace":"AWS/ES","detail":{"scope":"Service","type":"Change"}})"), FilterOutcome::Passed);
  EXPECT_EQ(against_body(policy, R"({"metricName":"ReadLatency","detail":{"scope":"Service"}})"), FilterOutcome::Mismatch);
  EXPECT_EQ(against_body(policy, R"({"detail":{"scope":"Service","type":"Change"}})"), FilterOutcome::Mismatch);
}

TEST(FilterPolicy, OrIsAnOrdinaryKeyUnlessItHasTwoObjectsWithoutOperators) {
  EXPECT_EQ(refusal(R"({"$or":[{"prefix":"a"},{"prefix":"b"}]})"), "accepted");
  EXPECT_EQ(against_body(R"({"$or":[{"prefix":"a"},{"suffix":"b"}]})", R"({"$or":"abc"})"), FilterOutcome::Passed);
  EXPECT_EQ(against_body(R"({"$or":["x"]})", R"({"$or":"x"})"), FilterOutcome::Passed);
  EXPECT_EQ(refusal(R"({"$or":[{"a":["x"]}]})"), "Unrecognized match type a");
}

TEST(FilterPolicy, LooksAtAttributesByType) {
  EXPECT_EQ(against_attributes(R"({"a":["x"]})", {{"a", "String", "x"}}), FilterOutcome::Passed);
  EXPECT_EQ(against_attributes(R"({"a":["x"]})", {{"a", "String.Array", R"(["y","x"])"}}), FilterOutcome::Passed);
  EXPECT_EQ(against_attributes(R"({"a":[true]})", {{"a", "String.Array", R"([true,null,3])"}}), FilterOutcome::Passed);
  EXPECT_EQ(against_attributes(R"({"a":[{"numeric":["=",3]}]})", {{"a", "Number", "3.0"}}), FilterOutcome::Passed);
  EXPECT_EQ(against_attributes(R"({"a":["3"]})", {{"a", "Number", "3"}}), FilterOutcome::Mismatch);
  EXPECT_EQ(against_attributes(R"({"a":[3]})", {{"a", "String", "3"}}), FilterOutcome::Mismatch);
  EXPECT_EQ(against_attributes(R"({"a":["x"]})", {{"a", "Binary", "x"}}), FilterOutcome::Mismatch);
  EXPECT_EQ(against_attributes(R"({"a":["x"]})", {}), FilterOutcome::NoMessageAttributes);
  EXPECT_EQ(against_attributes(R"({"a":[{"exists":false}]})", {}), FilterOutcome::Passed);
  EXPECT_EQ(against_attributes(R"({"a":[null,{"anything-but":"x"}]})", {}), FilterOutcome::NoMessageAttributes);
  EXPECT_EQ(against_attributes(R"({"a.b":["x"]})", {{"a.b", "String", "x"}}), FilterOutcome::Passed);
  EXPECT_EQ(against_attributes(R"({"a":["x"],"b":["y"]})", {{"a", "String.Array", "no array"}, {"b", "String", "z"}}),
            FilterOutcome::InvalidAttributes);
  EXPECT_EQ(against_attributes(R"({"b":["y"]})", {{"a", "String.Array", "no array"}, {"b", "String", "y"}}),
            FilterOutcome::Passed);
}

TEST(FilterPolicy, TheEmptyPolicyWantsEverything) {
  EXPECT_EQ(against_body("{}", "no JSON"), FilterOutcome::Passed);
  EXPECT_EQ(against_attributes("{}", {}), FilterOutcome::Passed);
}

TEST(FilterPolicy, ManyKeysInsideEachOtherAreRefusedNotFollowed) {
  std::string dotted = "a";
  for (int i = 0; i < 50'000; ++i) dotted += ".a";
  EXPECT_EQ(refusal("{\"" + dotted + "\":[1]}"), "Filter policy is too complex");
  EXPECT_EQ(against_body(R"({"a.a":[1]})", "{\"" + dotted + "\":1}"), FilterOutcome::Mismatch);
}

// A filter may be asked as many times as there are elements, never as many as there are combinations of them.
TEST(FilterPolicy, ManyElementsUnderManyFieldsStayLinear) {
  std::string items;
  for (int i = 0; i < 3000; ++i) items += (i == 0 ? "" : ",") + std::string{R"({"x":1})"};
  const std::string body = R"({"r":[{"a":[)" + items + R"(],"b":[)" + items + R"(],"c":[)" + items + R"(],"d":0}]})";
  EXPECT_EQ(against_body(R"({"r":{"a":{"x":[1]},"b":{"x":[1]},"c":{"x":[1]},"d":[5]}})", body), FilterOutcome::Mismatch);
}

TEST(FilterIndex, AsksOnlyThoseWhoWaitUnderAValueOfTheMessage) {
  std::vector<FilterPolicy> policies;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = R"({"kind":["changed"],"user":["u)" + std::to_string(i) + R"("]})";
    policies.push_back(*FilterPolicy::parse(text, FilterScope::MessageAttributes));
  }
  FilterIndex index;
  for (std::uint32_t i = 0; i < policies.size(); ++i) index.add(i + 1, policies[i]);
  LazyBody body("");
  std::vector<std::uint32_t> passed;
  FilterTally tally;
  const std::vector<MessageAttribute> attributes = {{"kind", "String", "changed"}, {"user", "String", "u500"}};
  index.match(attributes, body, passed, tally);
  EXPECT_EQ(passed, std::vector<std::uint32_t>{501});
  EXPECT_EQ(tally.mismatch, 999u);
  EXPECT_LE(index.asked(), 3u);
}

TEST(IpRange, ReadsAddressesAsRfc4291WritesThem) {
  for (const std::string_view good : {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1", "1:2:3:4:5:6:1.2.3.4", "fe80::1:2"})
    EXPECT_TRUE(IpRange::parse_address(good).has_value()) << good;
  for (const std::string_view bad : {"", ":", ":::", "1:2:3", "1::2::3", "1:2:3:4:5:6:7:8:9", "12345::", "1:", "::1.2.3", "1.2.3.4.5",
                                     "1.2.3", "1.2.3.4:", "g::", "1:2:3:4:5:6:7:1.2.3.4"})
    EXPECT_FALSE(IpRange::parse_address(bad).has_value()) << bad;
}

}  // namespace
}  // namespace fanfare::topic
