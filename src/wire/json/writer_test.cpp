// The writer: escaping, repair of UTF-8, numbers.
#include "wire/json/writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "wire/json/utf8.h"
#include "wire/json/value.h"

namespace fanfare::wire::json {
namespace {

TEST(Writer, PutsCommasAndColonsWhereTheyBelong) {
  std::string out;
  Writer w{out};
  w.begin_object().key("a").integer(1).key("b").begin_array().null().boolean(true).begin_object().end_object().string(
      "x");
  w.begin_array().end_array().end_array().key("c").raw("[1,2]").key("d").unsigned_integer(UINT64_MAX).end_object();
  EXPECT_EQ(out, R"({"a":1,"b":[null,true,{},"x",[]],"c":[1,2],"d":18446744073709551615})");
  EXPECT_TRUE(parse(out).has_value());
}

TEST(Writer, AppendsToWhatIsThere) {
  std::string out = "data: ";
  Writer{out}.begin_array().integer(INT64_MIN).end_array();
  EXPECT_EQ(out, "data: [-9223372036854775808]");
}

TEST(Writer, DoublesReadBackAsTheSame) {
  const auto written = [](double value) {
    std::string out;
    Writer{out}.real(value);
    return out;
  };
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1e300), "1e+300");
  EXPECT_EQ(written(6666633133366665216.0), "6.666633133366665e+18") << "as digits it would be another integer";
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(std::nan("")), "null");
  for (double value : {1.0 / 3, 5e-324, -0.0, 1.7976931348623157e308})
    EXPECT_EQ(parse(written(value))->as_double(), value);
}

TEST(AppendQuoted, EscapesWhatMustBeEscapedAndNothingElse) {
  EXPECT_EQ(to_quoted(""), R"("")");
  EXPECT_EQ(to_quoted("plain / text"), R"("plain / text")");
  EXPECT_EQ(to_quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(to_quoted("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(to_quoted(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(to_quoted("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

TEST(AppendQuoted, ReplacesEachMaximalBrokenPartOfUtf8) {
  const std::string fffd = "\xef\xbf\xbd";
  EXPECT_EQ(to_quoted("a\xff\xfe!"), "\"a" + fffd + fffd + "!\"");
  EXPECT_EQ(to_quoted("\xe2\x82"), "\"" + fffd + "\"") << "one truncated sequence, one replacement";
  EXPECT_EQ(to_quoted("\xe2\x82\x41"), "\"" + fffd + "A\"");
  EXPECT_EQ(to_quoted("\xed\xa0\x80"), "\"" + fffd + fffd + fffd + "\"")
      << "a surrogate has no valid beginning of two bytes";
  EXPECT_EQ(to_quoted("\xc0\xaf"), "\"" + fffd + fffd + "\"");
  EXPECT_EQ(to_quoted("\xf4\x90\x80\x80"), "\"" + fffd + fffd + fffd + fffd + "\"");
  EXPECT_EQ(to_quoted("\xf0\x9f\x98\""), "\"" + fffd + "\\\"\"");
}

TEST(AppendQuoted, SpecialsAreFoundAtEveryOffsetOfALongText) {
  for (std::size_t size = 0; size < 70; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const char special : {'"', '\\', '\n', '\x80'}) {
        std::string text(size, 'x');
        text[at] = special;
        const auto back = parse(to_quoted(text));
        ASSERT_TRUE(back.has_value()) << size << ' ' << at;
        if (special != '\x80') {
          ASSERT_EQ(back->as_string(), text);
        }
      }
    }
  }
}

TEST(AppendQuoted, AnyBytesBecomeValidJsonAndValidUtf8ComesBackUnchanged) {
  EXPECT_TRUE(rc::check("quoted text parses", [](const std::string& bytes) {
    const auto back = parse(to_quoted(bytes));
    RC_ASSERT(back.has_value());
    const std::string text{*back->as_string()};
    RC_ASSERT(utf8_valid_prefix(text) == text.size());
    if (utf8_valid_prefix(bytes) == bytes.size()) RC_ASSERT(text == bytes);
  }));
}

}  // namespace
}  // namespace fanfare::wire::json
