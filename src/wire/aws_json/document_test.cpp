#include "wire/aws_json/document.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/aws_shape/sample_shapes.h"

namespace fanfare::wire::aws_json {
namespace {

using aws::DecodeError;
using aws::sample::kRequest;
using What = DecodeError::What;

struct Documents : testing::Test {
  json::Reader reader;
  aws::Arena arena;

  aws::sample::Request read(std::string_view text) {
    aws::sample::Request request;
    const auto root = reader.parse(text);
    EXPECT_TRUE(root.has_value()) << text;
    if (!root) return request;
    const auto result = decode(*root, kRequest, &request, arena);
    EXPECT_TRUE(result.has_value()) << text;
    return request;
  }
  DecodeError refuse(std::string_view text) {
    aws::sample::Request request;
    const auto root = reader.parse(text);
    EXPECT_TRUE(root.has_value()) << text;
    const auto result = decode(*root, kRequest, &request, arena);
    EXPECT_FALSE(result.has_value()) << text;
    return result ? DecodeError{} : result.error();
  }
  static std::string write(const aws::sample::Request& request) {
    std::string out;
    append(out, kRequest, &request);
    return out;
  }
};

TEST_F(Documents, EveryKindOfMemberIsRead) {
  const auto r =
      read(R"({"Name":"n","Count":-3,"Total":9007199254740993,"Enabled":true,"Blob":"AAEC","Names":["a","b"],)"
           R"("Tags":{"k":"v"},"Items":[{"Id":"1","Delay":5,"Values":{"x":{"DataType":"String","StringValue":"s"}}},)"
           R"({"Id":"2"}]})");
  EXPECT_EQ(r.name.view(), "n");
  EXPECT_EQ(*r.count, -3);
  EXPECT_EQ(*r.total, 9007199254740993);
  EXPECT_EQ(*r.enabled, true);
  EXPECT_EQ(r.blob.view(), std::string_view("\0\1\2", 3));
  ASSERT_EQ(r.names.size(), 2u);
  EXPECT_EQ(r.names[1].view(), "b");
  ASSERT_EQ(r.tags.size(), 1u);
  EXPECT_EQ(r.tags[0].key.view(), "k");
  EXPECT_EQ(r.tags[0].value.view(), "v");
  ASSERT_EQ(r.items.size(), 2u);
  EXPECT_EQ(*r.items[0].delay, 5);
  ASSERT_EQ(r.items[0].values.size(), 1u);
  EXPECT_EQ(r.items[0].values[0].value.string_value.view(), "s");
  EXPECT_EQ(r.items[1].id.view(), "2");
  EXPECT_FALSE(r.items[1].delay.has_value());
  EXPECT_FALSE(r.items[1].values.has_value());
}

TEST_F(Documents, AbsentNullAndEmptyDiffer) {
  EXPECT_FALSE(read("{}").name.has_value());
  EXPECT_FALSE(
      read(R"({"Name":null,"Count":null,"Names":null,"Tags":null,"Items":null,"Blob":null})").name.has_value());
  EXPECT_TRUE(read(R"({"Name":""})").name.has_value());
  EXPECT_FALSE(read("{}").names.has_value());
  EXPECT_TRUE(read(R"({"Names":[]})").names.has_value());
  EXPECT_TRUE(read(R"({"Tags":{}})").tags.has_value());
}

TEST_F(Documents, UnknownMembersAreIgnoredWhateverTheyHold) {
  EXPECT_EQ(read(R"({"Later":{"Name":"wrong","deep":[1,[2,{"a":null}]]},"name":"wrong","Name":"right"})").name.view(),
            "right");
}

TEST_F(Documents, TheLastOfTwoMembersCounts) {
  const auto r = read(R"({"Name":"a","Names":["x","y"],"Name":"b","Names":["z"]})");
  EXPECT_EQ(r.name.view(), "b");
  ASSERT_EQ(r.names.size(), 1u);
  EXPECT_EQ(r.names[0].view(), "z");
}

TEST_F(Documents, EscapesAreUndone) {
  EXPECT_EQ(read(R"({"Name":"\"\\\/\n\u00e4\ud83d\ude00"})").name.view(), "\"\\/\n\xC3\xA4\xF0\x9F\x98\x80");
}

TEST_F(Documents, WholeNumbersMayBeWrittenWithAFraction) { EXPECT_EQ(*read(R"({"Count":5.0})").count, 5); }

struct Refusal {
  const char* text;
  What what;
  const char* member;
};

TEST_F(Documents, EveryWrongTypeIsRefusedWithItsMember) {
  const Refusal cases[] = {
      {R"([])", What::WrongType, ""},
      {R"("x")", What::WrongType, ""},
      {R"(null)", What::WrongType, ""},
      {R"({"Name":1})", What::WrongType, "Name"},
      {R"({"Name":true})", What::WrongType, "Name"},
      {R"({"Name":[]})", What::WrongType, "Name"},
      {R"({"Name":{}})", What::WrongType, "Name"},
      {R"({"Count":"1"})", What::WrongType, "Count"},
      {R"({"Count":1.5})", What::WrongType, "Count"},
      {R"({"Count":2147483648})", What::OutOfRange, "Count"},
      {R"({"Count":-2147483649})", What::OutOfRange, "Count"},
      {R"({"Enabled":"true"})", What::WrongType, "Enabled"},
      {R"({"Enabled":1})", What::WrongType, "Enabled"},
      {R"({"Blob":"not base64!"})", What::WrongType, "Blob"},
      {R"({"Blob":7})", What::WrongType, "Blob"},
      {R"({"Names":"a"})", What::WrongType, "Names"},
      {R"({"Names":{"a":"b"}})", What::WrongType, "Names"},
      {R"({"Names":[1]})", What::WrongType, "Names"},
      {R"({"Tags":["k"]})", What::WrongType, "Tags"},
      {R"({"Tags":{"k":1}})", What::WrongType, "Tags"},
      {R"({"Items":{}})", What::WrongType, "Items"},
      {R"({"Items":["a"]})", What::WrongType, "Items"},
      {R"({"Items":[{"Delay":"5"}]})", What::WrongType, "Delay"},
      {R"({"Items":[{"Values":{"x":"y"}}]})", What::WrongType, "Values"},
      {R"({"Expires":true})", What::WrongType, "Expires"},
      {R"({"Expires":"yesterday"})", What::WrongType, "Expires"},
      {R"({"Expires":1e300})", What::OutOfRange, "Expires"},
  };
  for (const auto& c : cases) {
    const auto error = refuse(c.text);
    EXPECT_EQ(error.what, c.what) << c.text;
    EXPECT_EQ(error.member, c.member) << c.text;
  }
}

TEST_F(Documents, OnlyWhatIsPresentIsWritten) {
  EXPECT_EQ(write({}), "{}");
  aws::sample::Request r;
  r.count = 7;
  EXPECT_EQ(write(r), R"({"Count":7})");
  r.names = aws::List<aws::Text>(nullptr, 0);
  EXPECT_EQ(write(r), R"({"Count":7,"Names":[]})");
}

TEST_F(Documents, WhatIsWrittenReadsBackTheSame) {
  const std::string text =
      R"({"Name":"a\"b","Count":-3,"Total":9007199254740993,"Enabled":false,"Blob":"AAEC","Names":["a",""],)"
      R"("Tags":{"k":"v","k2":""},"Items":[{"Id":"1","Delay":5,)"
      R"("Values":{"x":{"DataType":"Binary","BinaryValue":"AA=="}}},{"Id":"2"}]})";
  EXPECT_EQ(write(read(text)), text);
}

TEST_F(Documents, ATimestampIsSecondsWithMilliseconds) {
  aws::sample::Request r;
  r.expires = 1'700'000'000'005;
  EXPECT_EQ(write(r), R"({"Expires":1700000000.005})");
  r.expires = 1'700'000'000'000;
  EXPECT_EQ(write(r), R"({"Expires":1700000000})");
  EXPECT_EQ(*read(R"({"Expires":1700000000})").expires, 1'700'000'000'000);
  EXPECT_EQ(*read(R"({"Expires":1700000000.005})").expires, 1'700'000'000'005);
  EXPECT_EQ(*read(R"({"Expires":"2023-11-14T22:13:20Z"})").expires, 1'700'000'000'000);
}

}  // namespace
}  // namespace fanfare::wire::aws_json
