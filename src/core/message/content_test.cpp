#include "core/message/content.h"

#include <gtest/gtest.h>

#include <vector>

namespace fanfare::message {
namespace {

constexpr MessageAttribute kAttributes[] = {{"trace", "String", "abc"}, {"key", "Binary.png", std::string_view("\0\1", 2)}};

Content sample() {
  Content content;
  content.body = "hello";
  content.attributes = kAttributes;
  content.sender = "AIDAEXAMPLE";
  content.trace_header = "Root=1-2-3";
  content.group_id = "tenant-7";
  content.deduplication_id = "once";
  content.body_md5.fill(0x11);
  content.attributes_md5.fill(0x22);
  return content;
}

std::string encoded(const Content& content) {
  std::string out;
  encode(content, out);
  return out;
}

TEST(Content, DecodesWhatWasEncoded) {
  const std::string bytes = encoded(sample());
  const auto view = ContentView::decode(bytes);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->body(), "hello");
  EXPECT_EQ(view->sender(), "AIDAEXAMPLE");
  EXPECT_EQ(view->trace_header(), "Root=1-2-3");
  EXPECT_EQ(view->group_id(), "tenant-7");
  EXPECT_EQ(view->deduplication_id(), "once");
  EXPECT_EQ(view->body_md5()[15], 0x11);
  ASSERT_TRUE(view->attributes_md5().has_value());
  EXPECT_EQ((*view->attributes_md5())[0], 0x22);
  EXPECT_FALSE(view->publication().has_value());
  AttributeReader reader = view->attributes();
  const auto first = reader.next();
  const auto second = reader.next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->name, "trace");
  EXPECT_FALSE(first->is_binary());
  EXPECT_EQ(second->type, "Binary.png");
  EXPECT_TRUE(second->is_binary());
  EXPECT_EQ(second->value, std::string_view("\0\1", 2));
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Content, HasATextForEachProtocol) {
  Content content = sample();
  content.publication.emplace();
  const ProtocolText texts[] = {{"default", "for the others"}, {"http", ""}, {"email", "letter"}};
  content.texts = texts;
  const std::string bytes = encoded(content);
  const auto view = ContentView::decode(bytes);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->body(), "hello");
  EXPECT_EQ(view->text_for("http"), "");
  EXPECT_EQ(view->text_for("email"), "letter");
  EXPECT_EQ(view->text_for("https"), "for the others");
  EXPECT_EQ(view->attribute_count(), 2);
  const auto other = view->with_body(view->text_for("email"));
  EXPECT_EQ(other.body(), "letter");
  EXPECT_EQ(other.group_id(), "tenant-7");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = ContentView::decode(std::string_view(bytes).substr(0, size));
    EXPECT_TRUE(!cut || cut->text_for("email") != "letter") << size;  // at the end of a text it is a whole content
  }
  content.texts = {};
  const std::string plain = encoded(content);
  EXPECT_EQ(ContentView::decode(plain)->text_for("http"), "hello");
}

TEST(Content, KeepsThePublication) {
  Content content = sample();
  content.attributes = {};
  content.publication.emplace();
  content.publication->id.bytes[3] = 9;
  content.publication->published_at = timestamp_from_unix_ms(1'764'500'385'123);
  content.publication->subject = "news";
  content.publication->sequence_number = 17;
  const std::string bytes = encoded(content);
  const auto view = ContentView::decode(bytes);
  ASSERT_TRUE(view && view->publication());
  EXPECT_EQ(view->publication()->id.bytes[3], 9);
  EXPECT_EQ(unix_ms(view->publication()->published_at), 1'764'500'385'123);
  EXPECT_EQ(view->publication()->subject, "news");
  EXPECT_EQ(view->publication()->sequence_number, 17u);
  EXPECT_FALSE(view->attributes_md5().has_value());
}

TEST(Content, CutOrLengthenedBytesAreRefused) {
  const std::string bytes = encoded(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ContentView::decode(std::string_view{bytes}.substr(0, size)).has_value()) << size;
  EXPECT_FALSE(ContentView::decode(bytes + "x").has_value());
  std::string newer = bytes;
  newer[0] = 3;
  EXPECT_FALSE(ContentView::decode(newer).has_value());
}

TEST(Content, AttributesThatLieAboutTheirLengthEndTheList) {
  std::string bytes = encoded(sample());
  const std::size_t first = bytes.find("traceString") - 8;
  bytes[first + 4] = '\x7f';  // the value's length
  const auto view = ContentView::decode(bytes);
  ASSERT_TRUE(view.has_value());
  AttributeReader reader = view->attributes();
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_FALSE(reader.next().has_value());
}

TEST(Content, BodyAndAttributesCountAgainstLimits) {
  EXPECT_EQ(counted_bytes(sample()), 5u + (5 + 6 + 3) + (3 + 10 + 2));
}

}  // namespace
}  // namespace fanfare::message
