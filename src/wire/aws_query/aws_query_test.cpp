#include <gtest/gtest.h>

#include <string>

#include "wire/aws_query/form.h"
#include "wire/aws_query/xml.h"
#include "wire/aws_shape/sample_shapes.h"

namespace fanfare::wire::aws_query {
namespace {

using aws::DecodeError;
using aws::sample::kRequest;
using What = DecodeError::What;

struct Forms : testing::Test {
  http::Form form;
  aws::Arena arena;

  Result<Success, DecodeError> decode_into(aws::sample::Request& request, std::string_view text) {
    EXPECT_EQ(form.parse(text), std::nullopt) << text;
    return decode(form.fields(), kRequest, &request, arena);
  }
  aws::sample::Request read(std::string_view text) {
    aws::sample::Request request;
    const auto result = decode_into(request, text);
    EXPECT_TRUE(result.has_value()) << text;
    return request;
  }
  DecodeError refuse(std::string_view text) {
    aws::sample::Request request;
    const auto result = decode_into(request, text);
    EXPECT_FALSE(result.has_value()) << text;
    return result ? DecodeError{} : result.error();
  }
};

TEST_F(Forms, EveryKindOfMemberIsRead) {
  const auto r = read(
      "Action=X&Version=1&Name=a+b%21&Count=-3&Total=9007199254740993&Enabled=true&Blob=AAEC"
      "&NameElement.1=a&NameElement.2=b&Tag.1.Key=k&Tag.1.Value=v"
      "&Item.1.Id=1&Item.1.Delay=5&Item.1.Value.1.Name=x&Item.1.Value.1.Value.DataType=String"
      "&Item.1.Value.1.Value.StringValue=s&Item.2.Id=2"
      "&PlainNames.member.1=p&PlainTags.entry.1.key=pk&PlainTags.entry.1.value=pv");
  EXPECT_EQ(r.name.view(), "a b!");
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
  EXPECT_EQ(r.items[0].values[0].key.view(), "x");
  EXPECT_EQ(r.items[0].values[0].value.data_type.view(), "String");
  EXPECT_EQ(r.items[0].values[0].value.string_value.view(), "s");
  EXPECT_EQ(r.items[1].id.view(), "2");
  ASSERT_EQ(r.plain_names.size(), 1u);
  EXPECT_EQ(r.plain_names[0].view(), "p");
  ASSERT_EQ(r.plain_tags.size(), 1u);
  EXPECT_EQ(r.plain_tags[0].value.view(), "pv");
}

TEST_F(Forms, FlattenedListsMayBeWrittenWithMember) {
  const auto r = read("NameElement.member.1=a&NameElement.member.2=b&Tag.member.1.Key=k&Tag.member.1.Value=v&Item.member.1.Id=x");
  ASSERT_EQ(r.names.size(), 2u);
  EXPECT_EQ(r.names[1].view(), "b");
  ASSERT_EQ(r.tags.size(), 1u);
  EXPECT_EQ(r.tags[0].value.view(), "v");
  ASSERT_EQ(r.items.size(), 1u);
  EXPECT_EQ(r.items[0].id.view(), "x");
}

TEST_F(Forms, ElementsMayComeInAnyOrderAndWithGaps) {
  const auto r = read(
      "Item.10.Id=ten&Item.2.Delay=2&NameElement.3=c&Item.10.Delay=10&NameElement.1=a&Item.2.Id=two&NameElement.02=b");
  ASSERT_EQ(r.items.size(), 2u);
  EXPECT_EQ(r.items[0].id.view(), "two");
  EXPECT_EQ(*r.items[0].delay, 2);
  EXPECT_EQ(r.items[1].id.view(), "ten");
  EXPECT_EQ(*r.items[1].delay, 10);
  ASSERT_EQ(r.names.size(), 3u);
  EXPECT_EQ(r.names[0].view(), "a");
  EXPECT_EQ(r.names[1].view(), "b");
  EXPECT_EQ(r.names[2].view(), "c");
}

TEST_F(Forms, ManyElementsBackwardsAreSortedOnce) {
  std::string text;
  for (int i = 20'000; i > 0; --i) text += "&NameElement." + std::to_string(i) + "=" + std::to_string(i);
  const auto r = read(text);
  ASSERT_EQ(r.names.size(), 20'000u);
  EXPECT_EQ(r.names[0].view(), "1");
  EXPECT_EQ(r.names[19'999].view(), "20000");
}

TEST_F(Forms, OneElementMayDoWithoutItsNumber) {
  const auto r = read("NameElement=All&Tag.Key=k&Tag.Value=v");
  ASSERT_EQ(r.names.size(), 1u);
  EXPECT_EQ(r.names[0].view(), "All");
  ASSERT_EQ(r.tags.size(), 1u);
  EXPECT_EQ(r.tags[0].value.view(), "v");
}

TEST_F(Forms, NumberedAndUnnumberedTogetherAreRefused) {
  EXPECT_EQ(refuse("Tag.2.Key=a&Tag.Key=b").what, What::Malformed);
}

TEST_F(Forms, AnEmptyValueIsAnEmptyList) {
  EXPECT_TRUE(read("NameElement=").names.has_value());
  EXPECT_TRUE(read("PlainTags=").plain_tags.has_value());
  EXPECT_TRUE(read("NameElement=").names.empty());
  EXPECT_FALSE(read("").names.has_value());
}

TEST_F(Forms, NamesThatLeadNowhereAreIgnored) {
  const auto r = read(
      "Name=ok&Name.1=x&Name.x.y=z&Unknown.1.2=a&Item.1.Unknown=b&Item.x.Id=c&Tag.1.Other=d&PlainNames.1=e&"
      "PlainNames.member.x=f&.=g&..=h&=i&Item.99999999999999999999.Id=j&name=k&PlainTags.entry.0.key=l");
  EXPECT_EQ(r.name.view(), "ok");
  EXPECT_TRUE(r.plain_names.empty());
  EXPECT_TRUE(r.plain_tags.empty());
}

TEST_F(Forms, TheLastOfTwoCounts) { EXPECT_EQ(read("Name=a&Name=b").name.view(), "b"); }

struct Refusal {
  const char* text;
  What what;
  const char* member;
};

TEST_F(Forms, EveryWrongTypeIsRefusedWithItsMember) {
  const Refusal cases[] = {
      {"Count=", What::WrongType, "Count"},
      {"Count=x", What::WrongType, "Count"},
      {"Count=1.5", What::WrongType, "Count"},
      {"Count=1e3", What::WrongType, "Count"},
      {"Count=2147483648", What::OutOfRange, "Count"},
      {"Total=9223372036854775808", What::OutOfRange, "Total"},
      {"Total=99999999999999999999999999999999999999999", What::OutOfRange, "Total"},
      {"Enabled=yes", What::WrongType, "Enabled"},
      {"Enabled=", What::WrongType, "Enabled"},
      {"Blob=not+base64", What::WrongType, "Blob"},
      {"Item.1.Delay=x", What::WrongType, "Delay"},
      {"Item.1.Value.1.Value.BinaryValue=%25", What::WrongType, "BinaryValue"},
      {"Expires=2026-11-30", What::WrongType, "Expires"},
  };
  for (const auto& c : cases) {
    const auto error = refuse(c.text);
    EXPECT_EQ(error.what, c.what) << c.text;
    EXPECT_EQ(error.member, c.member) << c.text;
  }
}

std::string members(const aws::sample::Request& request) {
  std::string out;
  append_members(out, kRequest, &request);
  return out;
}

TEST(Xml, EveryKindOfMemberIsWritten) {
  const aws::Text names[] = {"a", "b"};
  const aws::Entry<aws::Text> tags[] = {{"k", "v"}};
  const aws::Entry<aws::sample::Value> values[] = {{"x", {"Binary", {}, std::string_view("\0", 1)}}};
  const aws::sample::Item items[] = {{"1", 5, {values, 1}}, {"2", {}, {}}};
  aws::sample::Request r;
  r.name = "n";
  r.count = -3;
  r.enabled = false;
  r.blob = std::string_view("\0\1\2", 3);
  r.names = {names, 2};
  r.tags = {tags, 1};
  r.items = {items, 2};
  r.expires = 1'700'000'000'005;
  r.plain_names = {names, 2};
  r.plain_tags = {tags, 1};
  EXPECT_EQ(members(r),
            "<Name>n</Name><Count>-3</Count><Enabled>false</Enabled><Blob>AAEC</Blob>"
            "<NameElement>a</NameElement><NameElement>b</NameElement>"
            "<Tag><Key>k</Key><Value>v</Value></Tag>"
            "<Item><Id>1</Id><Delay>5</Delay><Value><Name>x</Name><Value><DataType>Binary</DataType>"
            "<BinaryValue>AA==</BinaryValue></Value></Value></Item><Item><Id>2</Id></Item>"
            "<Expires>2023-11-14T22:13:20.005Z</Expires>"
            "<PlainNames><member>a</member><member>b</member></PlainNames>"
            "<PlainTags><entry><key>k</key><value>v</value></entry></PlainTags>");
}

TEST(Xml, AbsentMembersWriteNothingAndEmptyListsOnlyTheirOwnElement) {
  EXPECT_EQ(members({}), "");
  aws::sample::Request r;
  r.names = {nullptr, 0};
  r.plain_names = {nullptr, 0};
  EXPECT_EQ(members(r), "<PlainNames></PlainNames>");
}

TEST(Xml, EscapesWhatAParserWouldChangeOrRefuse) {
  std::string out;
  append_escaped(out, std::string("<a href=\"b&c\">\r\n\t\xC3\xA4") + std::string("\0\x1f\xff\xEF\xBF\xBF'", 7));
  EXPECT_EQ(out,
            "&lt;a href=&quot;b&amp;c&quot;&gt;&#xD;\n\t\xC3\xA4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD'");
}

TEST(Xml, AReplyHasItsResultAndRequestId) {
  aws::sample::Request r;
  r.name = "n";
  std::string out;
  append_reply(out, "http://queue.amazonaws.com/doc/2012-11-05/", "SendMessage", &kRequest, &r, "id-1");
  EXPECT_EQ(out,
            "<?xml version=\"1.0\"?><SendMessageResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">"
            "<SendMessageResult><Name>n</Name></SendMessageResult>"
            "<ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></SendMessageResponse>");
  out.clear();
  append_reply(out, "ns", "DeleteQueue", nullptr, nullptr, "id-2");
  EXPECT_EQ(out,
            "<?xml version=\"1.0\"?><DeleteQueueResponse xmlns=\"ns\">"
            "<ResponseMetadata><RequestId>id-2</RequestId></ResponseMetadata></DeleteQueueResponse>");
}

TEST(Xml, AnErrorNamesWhoIsAtFault) {
  std::string out;
  append_error(out, {"ns", "AWS.SimpleQueueService.NonExistentQueue", "The queue <x> is not there", true, true},
               "id-1");
  EXPECT_EQ(
      out,
      "<?xml version=\"1.0\"?><ErrorResponse xmlns=\"ns\"><Error><Type>Sender</Type>"
      "<Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The queue &lt;x&gt; is not there</Message><Detail/>"
      "</Error><RequestId>id-1</RequestId></ErrorResponse>");
  out.clear();
  append_error(out, {"ns", "InternalError", "m", false, false}, "id-2");
  EXPECT_EQ(out,
            "<?xml version=\"1.0\"?><ErrorResponse xmlns=\"ns\"><Error><Type>Receiver</Type><Code>InternalError</Code>"
            "<Message>m</Message></Error><RequestId>id-2</RequestId></ErrorResponse>");
}

}  // namespace
}  // namespace fanfare::wire::aws_query
