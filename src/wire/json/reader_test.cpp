// The fast reader, compared with the careful parser.
#include "wire/json/reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "wire/json/writer.h"

namespace fanfare::wire::json {
namespace {

constexpr std::string_view kSendMessage =
    R"({"QueueUrl":"http://localhost:4566/000000000000/orders","MessageBody":"{\"id\":1}",
  "DelaySeconds":5,"MessageAttributes":{"a":{"DataType":"String","StringValue":"x"},
  "n":{"DataType":"Number","StringValue":"1"}}})";

TEST(Reader, TellsHowANumberWasWritten) {
  Reader reader;
  const auto root = reader.parse("[5, -5, 18446744073709551615, 5.0, 5e0, \"5\"]");
  ASSERT_TRUE(root.has_value());
  std::vector<bool> integers;
  for (const Node item : root->items()) integers.push_back(item.is_integer());
  EXPECT_EQ(integers, (std::vector<bool>{true, true, true, false, false, false}));
}

TEST(Reader, VisitsMembersInOrderWithUnescapedStrings) {
  Reader reader;
  const auto root = reader.parse(kSendMessage);
  ASSERT_TRUE(root.has_value()) << root.error().message();
  std::vector<std::string> keys;
  for (const auto [key, value] : root->members()) keys.emplace_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"QueueUrl", "MessageBody", "DelaySeconds", "MessageAttributes"}));
  EXPECT_EQ(root->find("MessageBody")->as_string(), "{\"id\":1}");
  EXPECT_EQ(root->find("DelaySeconds")->as_int64(), 5);
  const auto attributes = *root->find("MessageAttributes");
  EXPECT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes.find("n")->find("DataType")->as_string(), "Number");
  EXPECT_EQ(attributes.find("absent"), std::nullopt);
}

TEST(Reader, TheTextMayGoAwayAfterParse) {
  Reader reader;
  auto text = std::make_unique<std::string>(kSendMessage);
  const auto root = reader.parse(*text);
  text.reset();
  EXPECT_EQ(root->find("QueueUrl")->as_string(), "http://localhost:4566/000000000000/orders");
}

TEST(Reader, IsReusableAfterAnError) {
  Reader reader;
  EXPECT_FALSE(reader.parse("{\"a\":").has_value());
  EXPECT_EQ(reader.parse("[1,2,3]")->size(), 3u);
}

TEST(Reader, ReadsEveryKindAndRefusesToConvert) {
  Reader reader;
  const auto root = *reader.parse(R"([null,true,false,-3,2.5,4.0,18446744073709551615,"s",[],{}])");
  std::vector<Node> items;
  for (const auto item : root.items()) items.push_back(item);
  ASSERT_EQ(items.size(), 10u);
  EXPECT_TRUE(items[0].is_null());
  EXPECT_EQ(items[1].as_bool(), true);
  EXPECT_EQ(items[2].as_bool(), false);
  EXPECT_EQ(items[3].as_int64(), -3);
  EXPECT_EQ(items[3].as_double(), -3.0);
  EXPECT_EQ(items[4].as_int64(), std::nullopt);
  EXPECT_EQ(items[4].as_double(), 2.5);
  EXPECT_EQ(items[5].as_int64(), 4);
  EXPECT_EQ(items[6].as_int64(), std::nullopt);
  EXPECT_EQ(items[6].as_double(), 18446744073709551615.0);
  EXPECT_EQ(items[6].kind(), Kind::Number);
  EXPECT_EQ(items[7].as_int64(), std::nullopt);
  EXPECT_EQ(items[7].as_bool(), std::nullopt);
  EXPECT_EQ(items[3].as_string(), std::nullopt);
  EXPECT_EQ(items[8].kind(), Kind::Array);
  EXPECT_EQ(items[9].kind(), Kind::Object);
  EXPECT_EQ(items[7].size(), 0u);
  EXPECT_EQ(items[8].find("x"), std::nullopt);
}

TEST(Reader, ErrorsHaveThePlaceAndTheExpectation) {
  Reader reader;
  const auto error = reader.parse("{\"a\":1,\n\"b\" 2}").error();
  EXPECT_EQ(error.reason, Reason::UnexpectedCharacter);
  EXPECT_EQ(error.message(), "line 2, column 5: expected ':' after a member's name, found '2'");
}

TEST(Reader, ANumberThatIsTooLargeIsNamedWithItsPlace) {
  struct Case {
    std::string text;
    std::string says;
  };
  const Case cases[] = {
      {"{\"a\":1,\n \"b\":18446744073709551616}", "line 2, column 6: the number 18446744073709551616 is beyond 64 bits"},
      {"[1,-9223372036854775809]", "line 1, column 4: the number -9223372036854775809 is beyond"},
      {"1e309", "line 1, column 1: the number 1e309 is beyond"},
      {"{\"1e999\":\"-1e999 \\\"1e999\",\n\n\"\\\\\":[ 1E+999 ]}", "line 3, column 8: the number 1E+999 is beyond"},
      {"[0.5e1,18446744073709551615,1.7976931348623157e308," + std::string(50, '9') + "]", "line 1, column 52: the number " + std::string(40, '9') + "... is beyond"},
      {"[" + std::string(400, '9') + ".5]", "line 1, column 2: the number "},
  };
  Reader reader;
  for (const Case& one : cases) {
    const auto parsed = reader.parse(one.text);
    ASSERT_FALSE(parsed.has_value()) << one.text;
    EXPECT_EQ(parsed.error().reason, Reason::NumberOutOfRange) << one.text;
    EXPECT_EQ(parsed.error().message().substr(0, one.says.size()), one.says) << one.text;
  }
}

TEST(Reader, LoneSurrogatesAreRefusedWhereverTheyStand) {
  Reader reader;
  for (const auto* text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800\n")", R"("\ud800\u0041")",
                           R"("\\\ud800")", R"({"\udfff":1})", R"("\ud83d\ude00\ude00")"}) {
    const auto parsed = reader.parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().reason, Reason::LoneSurrogate) << text;
  }
  EXPECT_EQ(reader.parse(R"("\\ud800")")->as_string(), "\\ud800");
  EXPECT_EQ(reader.parse(R"("\ud83d\ude00")")->as_string(), "\xf0\x9f\x98\x80");
}

TEST(Reader, NumbersBeyondTheMachineAreRefusedByName) {
  Reader reader;
  for (const auto* text : {"123456789012345678901234567890", "1e999"}) {
    const auto parsed = reader.parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().reason, Reason::NumberOutOfRange) << text;
  }
}

TEST(Reader, DepthAndLengthAreLimitedAsInParse) {
  for (const std::size_t limit : {1u, 2u, 64u, 1024u}) {
    Reader reader{{.depth_max = limit}};
    for (const auto& [open, close] : {std::pair{"[", "]"}, std::pair{"{\"a\":", "}"}}) {
      for (const std::size_t depth : {limit, limit + 1}) {
        std::string text;
        for (std::size_t i = 0; i < depth; ++i) text += open;
        text += "1";
        for (std::size_t i = 0; i < depth; ++i) text += close;
        EXPECT_EQ(reader.parse(text).has_value(), depth <= limit) << limit << ' ' << depth << open;
      }
      EXPECT_EQ(parse(std::string(limit, '[') + std::string(limit, ']'), {.depth_max = limit}).has_value(), true);
      EXPECT_EQ(reader.parse(std::string(limit, '[') + std::string(limit, ']')).has_value(), true);
      const auto deep = reader.parse(std::string(limit + 2, '[') + std::string(limit + 2, ']'));
      ASSERT_FALSE(deep.has_value()) << limit;
      EXPECT_EQ(deep.error().reason, Reason::TooDeep);
    }
  }
  Reader reader{{.bytes_max = 4}};
  EXPECT_TRUE(reader.parse("1234").has_value());
  EXPECT_EQ(reader.parse("12345").error().reason, Reason::TooLong);
}

TEST(Reader, LargeTextsAndSmallOnesAlternate) {
  Reader reader;
  for (int round = 0; round < 3; ++round) {
    const std::string body(1 << 20, 'x');
    const auto large = reader.parse("{\"MessageBody\":" + to_quoted(body) + "}");
    ASSERT_TRUE(large.has_value());
    EXPECT_EQ(large->find("MessageBody")->as_string(), body);
    EXPECT_EQ(reader.parse("[7]")->size(), 1u);
  }
}

TEST(Reader, DuplicateKeysAreAllVisitedAndTheLastIsFound) {
  Reader reader;
  const auto root = *reader.parse(R"({"a":1,"a":2})");
  EXPECT_EQ(root.size(), 2u);
  EXPECT_EQ(root.find("a")->as_int64(), 2);
}

TEST(Reader, CopiesAndTextsOutliveIt) {
  Value value;
  std::string text;
  {
    Reader reader;
    const auto root =
        *reader.parse(R"({ "a" : [ 1 , 2.50 , "\u00e9" ] , "b" : { "c" : null, "d": [[]], "e": true } })");
    value = root.to_value();
    root.append_to(text);
  }
  EXPECT_EQ(text, "{\"a\":[1,2.5,\"\xc3\xa9\"],\"b\":{\"c\":null,\"d\":[[]],\"e\":true}}");
  EXPECT_EQ(value, *parse(text));
}

// A random document as text, with white space and escapes here and there.
rc::Gen<std::string> document(int depth) {
  using namespace rc;
  const auto text = gen::map(gen::container<std::string>(gen::inRange<char>(0, 127)),
                             [](const std::string& s) { return to_quoted(s); });
  const auto number =
      gen::oneOf(gen::map(gen::arbitrary<std::int64_t>(), [](std::int64_t v) { return std::to_string(v); }),
                 gen::element<std::string>("0", "-0", "1.5", "1e10", "2.5E-3", "-12.0e+1", "0.1"));
  const auto leaf = gen::oneOf(
      text, number, gen::element<std::string>("null", "true", "false", R"("\u20ac\ud83d\ude00")", "[]", "{ }"));
  if (depth == 0) return leaf;
  const auto inner = gen::lazy([depth] { return document(depth - 1); });
  const auto joined = [](const std::vector<std::string>& parts, char open, char close) {
    std::string out(1, open);
    for (const auto& part : parts) {
      if (out.size() > 1) out += " ,\n";
      out += part;
    }
    return out + close;
  };
  const auto array = gen::map(gen::container<std::vector<std::string>>(inner),
                              [=](const auto& parts) { return joined(parts, '[', ']'); });
  const auto member =
      gen::map(gen::pair(text, inner), [](const auto& pair) { return pair.first + "\t:" + pair.second; });
  const auto object = gen::map(gen::container<std::vector<std::string>>(member),
                               [=](const auto& parts) { return joined(parts, '{', '}'); });
  return gen::oneOf(leaf, array, object);
}

TEST(Reader, AgreesWithTheCarefulParserOnRandomDocuments) {
  Reader reader;
  EXPECT_TRUE(rc::check("reader == parse", [&] {
    auto text = *rc::gen::resize(12, document(3));
    if (*rc::gen::inRange(0, 3) == 0 && !text.empty()) {  // one in three is damaged
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      text[at] = *rc::gen::element('{', '}', '"', '\\', ',', '0', ' ', '\x80');
    }
    const auto careful = parse(text, {.duplicate_keys = DuplicateKeys::KeepAll});
    const auto fast = reader.parse(text);
    RC_LOG() << text << '\n';
    if (!careful) {
      RC_ASSERT(!fast.has_value());
      RC_ASSERT(fast.error().offset == careful.error().offset);
      return;
    }
    if (!fast) RC_DISCARD("a number beyond the machine");
    RC_ASSERT(fast->to_value() == *careful);
  }));
}

}  // namespace
}  // namespace fanfare::wire::json
