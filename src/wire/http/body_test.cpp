// The body decoder by itself: pieces as they come, whatever the splits.
#include "wire/http/body.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace fanfare::wire::http {
namespace {

using State = BodyDecoder::State;

TEST(BodyDecoder, NoBodyIsDoneAtOnce) {
  BodyDecoder decoder{Framing::None};
  const auto step = decoder.step("NEXT");
  EXPECT_EQ(step.state, State::Done);
  EXPECT_EQ(step.consumed, 0u);
  EXPECT_EQ(BodyDecoder{Framing::Length}.step("").state, State::Done);
}

TEST(BodyDecoder, ALengthEndsInTheMiddleOfTheBuffer) {
  BodyDecoder decoder{Framing::Length, 5};
  EXPECT_EQ(decoder.announced(), 5u);
  EXPECT_EQ(decoder.step("").state, State::NeedMore);
  auto step = decoder.step("ab");
  EXPECT_EQ(step.state, State::Data);
  EXPECT_EQ(step.data, "ab");
  EXPECT_EQ(step.consumed, 2u);
  EXPECT_FALSE(decoder.may_end());
  step = decoder.step("cdeNEXT");
  EXPECT_EQ(step.data, "cde");
  EXPECT_EQ(step.consumed, 3u);
  EXPECT_TRUE(decoder.may_end());
  step = decoder.step("NEXT");
  EXPECT_EQ(step.state, State::Done);
  EXPECT_EQ(step.consumed, 0u);
}

TEST(BodyDecoder, UntilCloseHandsOutEverything) {
  BodyDecoder decoder{Framing::UntilClose};
  EXPECT_EQ(decoder.step("abc").data, "abc");
  EXPECT_EQ(decoder.step("").state, State::NeedMore);
  EXPECT_TRUE(decoder.may_end());
}

TEST(BodyDecoder, ChunksComeOutOneByOne) {
  BodyDecoder decoder{Framing::Chunked};
  std::string_view rest = "3\r\nabc\r\nA;x\r\n0123456789\r\n0\r\n\r\nNEXT";
  auto step = decoder.step(rest);
  EXPECT_EQ(step.data, "abc");
  rest.remove_prefix(step.consumed);
  step = decoder.step(rest);
  EXPECT_EQ(step.data, "0123456789");
  rest.remove_prefix(step.consumed);
  EXPECT_FALSE(decoder.may_end());
  step = decoder.step(rest);
  EXPECT_EQ(step.state, State::Done);
  rest.remove_prefix(step.consumed);
  EXPECT_EQ(rest, "NEXT");
}

TEST(BodyDecoder, AnErrorStays) {
  BodyDecoder decoder{Framing::Chunked};
  EXPECT_EQ(decoder.step("x").state, State::Error);
  EXPECT_EQ(decoder.error(), "a chunk's size is not a hexadecimal number");
  EXPECT_EQ(decoder.step("1\r\na\r\n").state, State::Error);
}

TEST(BodyDecoder, SplitsDoNotMatter) {
  EXPECT_TRUE(rc::check("splits", [] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty<std::string>());
    std::string stream;
    std::string expected;
    for (const auto& piece : pieces) {
      char size[20];
      std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
      stream += size + piece + "\r\n";
      expected += piece;
    }
    stream += "0\r\n\r\n";
    BodyDecoder decoder{Framing::Chunked};
    std::string got;
    std::size_t begin = 0;
    std::size_t end = 0;
    for (;;) {
      const auto step = decoder.step(std::string_view{stream}.substr(begin, end - begin));
      begin += step.consumed;
      got += step.data;
      if (step.state == State::Done) break;
      RC_ASSERT(step.state != State::Error);
      if (step.state == State::NeedMore) {
        RC_ASSERT(end < stream.size());
        end = *rc::gen::inRange(end + 1, stream.size() + 1);
      }
    }
    RC_ASSERT(got == expected);
    RC_ASSERT(begin == stream.size());
  }));
}

}  // namespace
}  // namespace fanfare::wire::http
