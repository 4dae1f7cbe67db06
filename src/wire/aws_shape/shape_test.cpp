#include "wire/aws_shape/shape.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "wire/aws_shape/text.h"

namespace fanfare::wire::aws {
namespace {

TEST(Text, EmptyIsNotAbsent) {
  EXPECT_FALSE(Text().has_value());
  EXPECT_TRUE(Text("").has_value());
  EXPECT_TRUE(Text(std::string_view()).has_value());
  EXPECT_EQ(Text().view(), "");
  EXPECT_EQ(Text("a").view(), "a");
}

TEST(Text, AZeroedOneIsAbsent) {
  Text text("something");
  std::memset(static_cast<void*>(&text), 0, sizeof text);
  EXPECT_FALSE(text.has_value());
}

TEST(Arena, GivesAlignedMemoryThatStaysApart) {
  Arena arena(64);
  std::vector<std::string_view> copies;
  for (int i = 0; i < 1000; ++i)
    copies.push_back(arena.copy(std::string(static_cast<std::size_t>(i % 50), static_cast<char>('a' + i % 26))));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(copies[static_cast<std::size_t>(i)],
              std::string(static_cast<std::size_t>(i % 50), static_cast<char>('a' + i % 26)));
    if (i % 50 > 0) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copies[static_cast<std::size_t>(i)].data()) % 8, 0u);
    }
  }
}

TEST(Arena, UsesTheSameMemoryAgainAfterReset) {
  Arena arena(1024);
  char* const first = arena.take(100);
  arena.reset();
  EXPECT_EQ(arena.take(100), first);
}

TEST(Arena, AHugeFirstRequestIsNotRemembered) {
  Arena arena(1024);
  char* const huge = arena.take(1 << 20);
  std::memset(huge, 1, 1 << 20);
  arena.reset();
  char* const small = arena.take(1024);
  std::memset(small, 2, 1024);
  char* const next = arena.take(1024);
  EXPECT_NE(next, small + 1024) << "the first block must have ended here";
}

TEST(ListBuilder, KeepsElementsWhileItGrows) {
  Arena arena(256);
  List<Number> list;
  auto& raw = reinterpret_cast<RawList&>(list);
  ListBuilder builder(arena, raw, sizeof(Number));
  for (std::int64_t i = 0; i < 1000; ++i) {
    auto* const number = reinterpret_cast<Number*>(builder.append());
    ASSERT_FALSE(number->has_value());
    *number = i;
    builder.note() = static_cast<std::uint32_t>(i);
    ASSERT_EQ(reinterpret_cast<Number*>(builder.last()), number);
  }
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list.size(), 1000u);
  EXPECT_EQ(builder.note(), 999u);
  std::int64_t expected = 0;
  for (const Number& number : list) EXPECT_EQ(*number, expected++);
}

struct ClassifyCase {
  const char* what;
  std::string text;
  TextClass expected;
};

TEST(Classify, TellsWhatAMessageMayHold) {
  using enum TextClass;
  const ClassifyCase cases[] = {
      {"empty", "", Plain},
      {"ascii", "hello, world. This is longer than eight bytes", Plain},
      {"tab, line feed, carriage return", "a\tb\nc\rd", Plain},
      {"NUL", std::string("a\0b", 3), Forbidden},
      {"bell behind eight plain bytes", "12345678\a", Forbidden},
      {"unit separator", "\x1f", Forbidden},
      {"DEL is allowed", "\x7f", Plain},
      {"U+0085 is allowed", "\xC2\x85", Plain},
      {"two bytes", "\xC3\xA4", Plain},
      {"three bytes", "\xE2\x82\xAC", Plain},
      {"four bytes", "\xF0\x9F\x98\x80", Plain},
      {"last before the surrogates", "\xED\x9F\xBF", Plain},
      {"first behind the surrogates", "\xEE\x80\x80", Plain},
      {"U+FFFD", "\xEF\xBF\xBD", Plain},
      {"U+FFFE", "\xEF\xBF\xBE", Forbidden},
      {"U+FFFF", "\xEF\xBF\xBF", Forbidden},
      {"U+10FFFF", "\xF4\x8F\xBF\xBF", Plain},
      {"surrogate", "\xED\xA0\x80", NotUtf8},
      {"beyond U+10FFFF", "\xF4\x90\x80\x80", NotUtf8},
      {"overlong slash", "\xC0\xAF", NotUtf8},
      {"overlong in three", "\xE0\x80\xAF", NotUtf8},
      {"overlong in four", "\xF0\x80\x80\xAF", NotUtf8},
      {"cut off", "abc\xE2\x82", NotUtf8},
      {"a continuation alone", "\x80", NotUtf8},
      {"0xFF", "12345678\xFF", NotUtf8},
      {"forbidden and then broken", "\a\xFF", NotUtf8},
  };
  for (const auto& c : cases) EXPECT_EQ(classify(c.text), c.expected) << c.what;
}

}  // namespace
}  // namespace fanfare::wire::aws
