// The standard's examples, and what is written read back at any split.
#include "wire/sse/sse.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace fanfare::wire::sse {

bool operator==(const Event& a, const Event& b) {
  return a.type == b.type && a.data == b.data && a.last_event_id == b.last_event_id;
}
std::ostream& operator<<(std::ostream& out, const Event& event) {
  return out << event.type << '|' << event.data << '|' << event.last_event_id;
}

namespace {

using Events = std::vector<Event>;

Events read(std::string_view stream) {
  Parser parser;
  parser.feed(stream);
  Events events;
  while (auto event = parser.next()) events.push_back(*event);
  return events;
}

TEST(Writer, WritesFieldsInTheOrderOfTheStandardsExamples) {
  std::string out;
  append_retry(out, 3000);
  append_event(out, "next", "{\"x\":1}", "7");
  append_comment(out);
  append_comment(out, "going away\nsoon");
  append_event(out, "", "");
  EXPECT_EQ(out, "retry: 3000\n\nid: 7\nevent: next\ndata: {\"x\":1}\n\n:\n\n: going away\n: soon\n\ndata: \n\n");
}

TEST(Writer, DataIsCutAtEveryKindOfLineEnd) {
  std::string out;
  append_event(out, "", "a\nb\r\nc\rd\n");
  EXPECT_EQ(out, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
}

TEST(Writer, NoValueCanBeginAFieldOfItsOwn) {
  std::string out;
  append_event(out, "a\ndata: x", "y", std::string_view("1\r\n2\0", 5));
  EXPECT_EQ(out, "id: 1  2 \nevent: a data: x\ndata: y\n\n");
}

TEST(Parser, FollowsTheStandardsExamples) {
  EXPECT_EQ(read("data: YHOO\ndata: +2\ndata: 10\n\n"), (Events{{"message", "YHOO\n+2\n10", ""}}));
  EXPECT_EQ(
      read(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"),
      (Events{{"message", "first event", "1"}, {"message", "second event", ""}, {"message", " third event", ""}}));
  EXPECT_EQ(read("data\n\ndata\ndata\n\ndata:"), (Events{{"message", "", ""}, {"message", "\n", ""}}))
      << "the last one is not ended";
  EXPECT_EQ(read("data:test\n\ndata: test\n\n"), (Events{{"message", "test", ""}, {"message", "test", ""}}));
  EXPECT_EQ(read("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n"),
            (Events{{"add", "73857293", ""}, {"remove", "2153", ""}}));
}

TEST(Parser, TakesEveryLineEnd) {
  const Events expected{{"message", "a\nb", ""}, {"message", "c", ""}};
  EXPECT_EQ(read("data:a\ndata:b\n\ndata:c\n\n"), expected);
  EXPECT_EQ(read("data:a\r\ndata:b\r\n\r\ndata:c\r\n\r\n"), expected);
  EXPECT_EQ(read("data:a\rdata:b\r\rdata:c\r\r"), expected);
  EXPECT_EQ(read("data:a\rdata:b\r\n\rdata:c\n\r\n"), expected);
}

TEST(Parser, IgnoresWhatItDoesNotKnow) {
  EXPECT_EQ(read("foo: 1\n:comment\ndata: x\nDATA: y\n data: z\n\n"), (Events{{"message", "x", ""}}));
  EXPECT_EQ(read("event: lost\n\ndata: x\n\n"), (Events{{"message", "x", ""}}))
      << "an event without data is not dispatched, nor its type kept";
}

TEST(Parser, ASkippedByteOrderMarkMayComeInPieces) {
  Parser parser;
  parser.feed("\xef");
  EXPECT_EQ(parser.next(), std::nullopt);
  parser.feed("\xbb");
  EXPECT_EQ(parser.next(), std::nullopt);
  parser.feed(
      "\xbf"
      "data: x\n\n");
  EXPECT_EQ(parser.next(), (Event{"message", "x", ""}));
  EXPECT_EQ(read("\xef\xbb\xbf\xef\xbb\xbf"
                 "data: x\n\n"),
            Events{})
      << "only one is skipped";
}

TEST(Parser, KeepsTheLastIdUntilItIsSetAnew) {
  EXPECT_EQ(read("id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\nid\ndata: d\n\n"),
            (Events{{"message", "a", "1"}, {"message", "b", "1"}, {"message", "c", "2"}, {"message", "d", ""}}));
  EXPECT_EQ(read(std::string_view("id: 1\nid: 2\0\ndata: a\n\n", 22)), (Events{{"message", "a", "1"}}))
      << "an id with NUL is ignored";
  Parser parser;
  parser.feed("id: 5\n");
  EXPECT_EQ(parser.next(), std::nullopt);
  EXPECT_EQ(parser.last_event_id(), "") << "it counts when its event is whole";
  parser.feed("\n");
  EXPECT_EQ(parser.next(), std::nullopt);
  EXPECT_EQ(parser.last_event_id(), "5");
}

TEST(Parser, RetryTakesDigitsOnly) {
  Parser parser;
  parser.feed("retry: 12x\nretry: -1\nretry:\nretry: 99999999999\n");
  EXPECT_EQ(parser.next(), std::nullopt);
  EXPECT_EQ(parser.retry_ms(), std::nullopt);
  parser.feed("retry: 250\n");
  EXPECT_EQ(parser.next(), std::nullopt);
  EXPECT_EQ(parser.retry_ms(), 250u);
}

TEST(Parser, EventsThatAreTooLongEndTheStream) {
  for (const auto* stream : {"data: 0123456789", "data: 01234\ndata: 56789\n", "x: 012345678901\n"}) {
    Parser parser{10};
    parser.feed(stream);
    EXPECT_EQ(parser.next(), std::nullopt);
    EXPECT_TRUE(parser.failed()) << stream;
    parser.feed("\n\ndata: x\n\n");
    EXPECT_EQ(parser.next(), std::nullopt);
  }
  Parser parser{10};
  parser.feed("data: 0123\ndata: 4567\n\n");
  EXPECT_EQ(parser.next(), (Event{"message", "0123\n4567", ""}));
  EXPECT_FALSE(parser.failed());
}

TEST(Parser, ReadsWhatTheWriterWroteAtAnySplit) {
  EXPECT_TRUE(rc::check("round trip", [] {
    const auto text = rc::gen::container<std::string>(rc::gen::element('a', ':', ' ', 'd', '\n', '\r', '\xc3'));
    const auto plain = rc::gen::container<std::string>(rc::gen::element('a', ':', ' '));
    std::string stream;
    Events expected;
    std::string id;
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
      const auto type = *plain;
      const auto data = *text;
      const auto with_id = *rc::gen::arbitrary<bool>();
      if (with_id) id = *plain;
      append_event(stream, type, data, with_id ? std::optional<std::string_view>{id} : std::nullopt);
      if (*rc::gen::arbitrary<bool>()) append_comment(stream, *text);
      std::string lines;
      for (std::size_t at = 0; at < data.size(); ++at) {
        if (data[at] == '\r' && at + 1 < data.size() && data[at + 1] == '\n') ++at;
        lines += data[at] == '\r' ? '\n' : data[at];
      }
      expected.push_back({type.empty() ? "message" : type, lines, id});
    }
    RC_LOG() << stream << '\n';
    Parser parser;
    Events events;
    for (std::size_t at = 0; at < stream.size();) {
      const auto size = *rc::gen::inRange<std::size_t>(1, stream.size() - at + 1);
      parser.feed(std::string_view{stream}.substr(at, size));
      at += size;
      while (auto event = parser.next()) events.push_back(*event);
    }
    RC_ASSERT(events == expected);
  }));
}

}  // namespace
}  // namespace fanfare::wire::sse
