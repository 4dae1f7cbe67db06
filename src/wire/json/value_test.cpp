// The strict parser: what it accepts, and the place and words of every error.
#include "wire/json/value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fanfare::wire::json {
namespace {

Value read(std::string_view text, const Limits& limits = {}) {
  auto parsed = parse(text, limits);
  if (!parsed) {
    ADD_FAILURE() << text << " -> " << parsed.error().message();
    return {};
  }
  return *parsed;
}

TEST(Value, DefaultIsNull) { EXPECT_EQ(Value{}.kind(), Kind::Null); }

TEST(Value, EachKindIsRead) {
  const auto value = read(R"( {"n":null,"t":true,"f":false,"i":-12,"s":"x","a":[1,[]],"o":{}} )");
  ASSERT_EQ(value.size(), 7u);
  EXPECT_TRUE(value.find("n")->is_null());
  EXPECT_EQ(value.find("t")->as_bool(), true);
  EXPECT_EQ(value.find("f")->as_bool(), false);
  EXPECT_EQ(value.find("i")->as_int64(), -12);
  EXPECT_EQ(value.find_string("s"), "x");
  EXPECT_EQ(value.find("a")->items().size(), 2u);
  EXPECT_EQ(value.find("o")->size(), 0u);
  EXPECT_EQ(value.find("absent"), nullptr);
  EXPECT_EQ(value.find_string("i"), std::nullopt);
}

TEST(Value, AccessorsOfAnotherKindGiveNothing) {
  const auto text = Value::string("5");
  EXPECT_EQ(text.as_int64(), std::nullopt);
  EXPECT_EQ(text.as_double(), std::nullopt);
  EXPECT_EQ(text.as_bool(), std::nullopt);
  EXPECT_EQ(text.number_text(), std::nullopt);
  EXPECT_TRUE(text.items().empty());
  EXPECT_TRUE(text.members().empty());
  EXPECT_EQ(text.find("a"), nullptr);
  EXPECT_EQ(Value::integer(5).as_string(), std::nullopt);
}

TEST(Value, MembersKeepTheirOrder) {
  EXPECT_EQ(read(R"({ "z" : 1 , "a" : [ true , null ] })").to_string(), R"({"z":1,"a":[true,null]})");
}

TEST(Value, NumbersKeepTheirText) {
  for (const auto* text :
       {"0", "-0", "1.10", "1E400", "123456789012345678901234567890", "0.000001", "1e+05", "9223372036854775807"}) {
    EXPECT_EQ(read(text).number_text(), text);
    EXPECT_EQ(read(text).to_string(), text);
  }
}

TEST(Value, WholeNumbersAreInt64HoweverTheyAreWritten) {
  EXPECT_EQ(read("5").as_int64(), 5);
  EXPECT_EQ(read("5.0").as_int64(), 5);
  EXPECT_EQ(read("50e-1").as_int64(), 5);
  EXPECT_EQ(read("-0").as_int64(), 0);
  EXPECT_EQ(read("9223372036854775807").as_int64(), INT64_MAX);
  EXPECT_EQ(read("-9223372036854775808").as_int64(), INT64_MIN);
  EXPECT_EQ(read("9223372036854775808").as_int64(), std::nullopt);
  EXPECT_EQ(read("5.5").as_int64(), std::nullopt);
  EXPECT_EQ(read("1e16").as_int64(), std::nullopt) << "beyond 2^53";
  EXPECT_EQ(read("1e999").as_int64(), std::nullopt);
}

TEST(Value, DoublesBeyondTheRangeAreRefusedAndTinyOnesAreZero) {
  EXPECT_EQ(read("1e999").as_double(), std::nullopt);
  EXPECT_EQ(read("-1e999").as_double(), std::nullopt);
  EXPECT_EQ(read("1" + std::string(400, '0')).as_double(), std::nullopt);
  EXPECT_EQ(read("1e99999999999999999999").as_double(), std::nullopt);
  EXPECT_EQ(read("1e-99999999999999999999").as_double(), 0.0);
  EXPECT_EQ(read("1e-999").as_double(), 0.0);
  EXPECT_TRUE(std::signbit(*read("-1e-999").as_double()));
  EXPECT_EQ(read("0." + std::string(400, '0') + "1").as_double(), 0.0);
  EXPECT_EQ(read("1.7976931348623157e308").as_double(), 1.7976931348623157e308);
  EXPECT_EQ(read("0.1").as_double(), 0.1);
}

TEST(Value, EscapesAreDecoded) {
  EXPECT_EQ(read(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00")").as_string(),
            "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(read(R"("a\u0000b")").as_string(), std::string_view("a\0b", 3));
  EXPECT_EQ(read(R"("\ud7ff\ue000")").as_string(), "\xed\x9f\xbf\xee\x80\x80");
}

TEST(Value, DuplicateKeysAreSettledAsAsked) {
  const auto* text = R"({"a":1,"b":2,"a":3,"a":4,"b":5})";
  EXPECT_EQ(read(text).to_string(), R"({"a":4,"b":5})");
  EXPECT_EQ(read(text, {.duplicate_keys = DuplicateKeys::KeepAll}).to_string(), text);
  EXPECT_EQ(read(text, {.duplicate_keys = DuplicateKeys::KeepAll}).find("a")->as_int64(), 4);
  const auto rejected = parse(text, {.duplicate_keys = DuplicateKeys::Reject});
  ASSERT_FALSE(rejected.has_value());
  EXPECT_EQ(rejected.error().reason, Reason::DuplicateKey);
  EXPECT_EQ(rejected.error().offset, 13u);
  EXPECT_TRUE(parse(R"({"a":{"a":1}})", {.duplicate_keys = DuplicateKeys::Reject}).has_value());
}

TEST(Value, DepthIsLimited) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse(nested(64)).has_value());
  const auto deep = parse(nested(65));
  ASSERT_FALSE(deep.has_value());
  EXPECT_EQ(deep.error().reason, Reason::TooDeep);
  EXPECT_EQ(deep.error().offset, 64u);
  EXPECT_TRUE(parse("1", {.depth_max = 0}).has_value());
  EXPECT_FALSE(parse("{}", {.depth_max = 0}).has_value());
  EXPECT_EQ(parse(nested(5000), {.depth_max = 100000}).error().reason, Reason::TooDeep)
      << "1024 is the most that can be asked for";
}

TEST(Value, LengthIsLimited) {
  EXPECT_TRUE(parse("12345", {.bytes_max = 5}).has_value());
  EXPECT_EQ(parse("123456", {.bytes_max = 5}).error().reason, Reason::TooLong);
}

struct Bad {
  std::string_view text;
  Reason reason;
  std::size_t offset;
};

TEST(Value, EachErrorIsNamedWithItsPlace) {
  using namespace std::string_view_literals;
  const Bad cases[] = {
      {"", Reason::UnexpectedEnd, 0},
      {"  ", Reason::UnexpectedEnd, 2},
      {"[1,2", Reason::UnexpectedEnd, 4},
      {"{\"a\"", Reason::UnexpectedEnd, 4},
      {"\"abc", Reason::UnexpectedEnd, 4},
      {"\"abc\\", Reason::UnexpectedEnd, 5},
      {"\"\\u12", Reason::UnexpectedEnd, 5},
      {"-", Reason::UnexpectedEnd, 1},
      {"nul", Reason::UnexpectedCharacter, 0},
      {"[1,]", Reason::UnexpectedCharacter, 3},
      {"[1 2]", Reason::UnexpectedCharacter, 3},
      {"{\"a\":1,}", Reason::UnexpectedCharacter, 7},
      {"{a:1}", Reason::UnexpectedCharacter, 1},
      {"{\"a\" 1}", Reason::UnexpectedCharacter, 5},
      {"{'a':1}", Reason::UnexpectedCharacter, 1},
      {"// c\n1", Reason::UnexpectedCharacter, 0},
      {"\xef\xbb\xbf{}", Reason::UnexpectedCharacter, 0},
      {"1 2", Reason::TrailingContent, 2},
      {"{}x", Reason::TrailingContent, 2},
      {"truex", Reason::TrailingContent, 4},
      {"1\0"sv, Reason::TrailingContent, 1},
      {"\"\xff\"", Reason::InvalidUtf8, 1},
      {"\"\xc0\x80\"", Reason::InvalidUtf8, 1},
      {"\"\xed\xa0\x80\"", Reason::InvalidUtf8, 1},
      {"\"\xf4\x90\x80\x80\"", Reason::InvalidUtf8, 1},
      {"\"\xe2\x82\"", Reason::InvalidUtf8, 1},
      {"\"\\x\"", Reason::InvalidEscape, 2},
      {"\"\\u12g4\"", Reason::InvalidEscape, 5},
      {"\"\\ud800\"", Reason::LoneSurrogate, 1},
      {"\"\\ud800\\n\"", Reason::LoneSurrogate, 1},
      {"\"\\ud800\\u0041\"", Reason::LoneSurrogate, 1},
      {"\"a\\udc00\"", Reason::LoneSurrogate, 2},
      {"\"a\nb\"", Reason::ControlCharacter, 2},
      {"\"\0\""sv, Reason::ControlCharacter, 1},
      {"01", Reason::InvalidNumber, 1},
      {"1.", Reason::UnexpectedEnd, 2},
      {"[1.]", Reason::InvalidNumber, 3},
      {"[-a]", Reason::InvalidNumber, 2},
      {"[1e]", Reason::InvalidNumber, 3},
      {"[1e+]", Reason::InvalidNumber, 4},
      {"+1", Reason::UnexpectedCharacter, 0},
      {".5", Reason::UnexpectedCharacter, 0},
      {"NaN", Reason::UnexpectedCharacter, 0},
      {"0x10", Reason::TrailingContent, 1},
  };
  for (const auto& bad : cases) {
    const auto parsed = parse(bad.text);
    ASSERT_FALSE(parsed.has_value()) << bad.text;
    EXPECT_EQ(parsed.error().reason, bad.reason) << bad.text << ": " << parsed.error().message();
    EXPECT_EQ(parsed.error().offset, bad.offset) << bad.text << ": " << parsed.error().message();
  }
}

TEST(Value, ErrorMessagesSayWhereWhatWasExpectedAndWhatWasFound) {
  const auto error = parse("{\n  \"a\": 1\n  \"b\": 2}").error();
  EXPECT_EQ(error.message(), "line 3, column 3: expected ',' or '}' after a member, found '\"'");
  EXPECT_EQ(parse("[\x01").error().message(), "line 1, column 2: expected a value, found byte 0x01");
  EXPECT_EQ(parse("[\xc3\xa9").error().message(), "line 1, column 2: expected a value, found '\xc3\xa9'");
  EXPECT_EQ(parse("[").error().message(), "line 1, column 2: expected a value, found the end");
}

TEST(Value, EqualityLooksAtMeaningNotAtSpelling) {
  EXPECT_EQ(read(R"({"a":1,"b":[2]})"), read(R"({"b":[2.0],"a":1e0})"));
  EXPECT_EQ(read("0.5"), read("5e-1"));
  EXPECT_EQ(read("123456789012345678901234567890"), read("123456789012345678901234567890"));
  EXPECT_NE(read("9007199254740993"), read("9007199254740992.0"));
  EXPECT_NE(read("[1,2]"), read("[2,1]"));
  EXPECT_NE(read("{\"a\":1}"), read("{\"a\":1,\"b\":1}"));
  EXPECT_NE(read("{\"a\":1}"), read("{\"b\":1}"));
  EXPECT_NE(read("1"), read("\"1\""));
  EXPECT_NE(read("null"), read("false"));
}

TEST(Value, BuiltValuesReadLikeParsedOnes) {
  std::vector<Member> members;
  members.push_back({"n", Value::integer(-7)});
  members.push_back({"d", Value::real(0.25)});
  members.push_back({"bad", Value::real(std::nan(""))});
  std::vector<Value> items;
  items.push_back(Value::string("\"\n"));
  items.push_back(Value::boolean(true));
  members.push_back({"a", Value::array(std::move(items))});
  EXPECT_EQ(Value::object(std::move(members)).to_string(), R"({"n":-7,"d":0.25,"bad":null,"a":["\"\n",true]})");
}

TEST(Kind, HasANameForMessages) {
  EXPECT_EQ(describe(Kind::Object), "an object");
  EXPECT_EQ(describe(Kind::Bool), "a boolean");
}

}  // namespace
}  // namespace fanfare::wire::json
