// The response writer read back by the response parser, each way a body can be framed, and each refusal.
#include "wire/http/response.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>

namespace fanfare::wire::http {

std::ostream& operator<<(std::ostream& out, ResponseParser::State state) {
  constexpr const char* kNames[] = {"NeedMore", "HeadComplete", "Complete", "Error"};
  return out << kNames[static_cast<int>(state)];
}

namespace {

using State = ResponseParser::State;

TEST(AppendResponse, WritesLengthDateAndConnection) {
  std::string out;
  const Header fields[] = {{"Content-Type", "application/x-amz-json-1.0"}, {"x-amzn-RequestId", "1"}};
  append_response(out, 200, fields, "{}", {.date = "Sun, 06 Nov 1994 08:49:37 GMT"});
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/x-amz-json-1.0\r\n"
            "x-amzn-RequestId: 1\r\nContent-Length: 2\r\n\r\n{}");
  out.clear();
  append_response(out, 404, {}, "", {.keep_alive = false});
  EXPECT_EQ(out, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  out.clear();
  append_response(out, 200, {}, "x", {.http_1_0 = true});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx");
  out.clear();
  append_response(out, 200, {}, "body", {.head_only = true});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
  out.clear();
  append_response(out, 299, {}, "");
  EXPECT_TRUE(out.starts_with("HTTP/1.1 299 Unknown\r\n"));
}

TEST(AppendResponse, StatusesWithoutABodyGetNeitherLengthNorBody) {
  for (const int status : {101, 204, 304}) {
    std::string out;
    append_response(out, status, {}, "ignored");
    EXPECT_EQ(out.find("Content-Length"), std::string::npos) << status;
    EXPECT_TRUE(out.ends_with("\r\n\r\n")) << out;
  }
}

TEST(AppendResponse, NoValueCanBeginAFieldOfItsOwn) {
  std::string out;
  const Header fields[] = {{"X\r\nY", "a\r\nSet-Cookie: b\n\nbody"}};
  append_response(out, 200, fields, "");
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nX  Y: a  Set-Cookie: b  body\r\nContent-Length: 0\r\n\r\n");
}

TEST(AppendResponseHead, BeginsStreams) {
  std::string out;
  const Header fields[] = {{"Content-Type", "text/event-stream"}};
  append_response_head(out, 200, fields, Framing::Chunked);
  append_chunk(out, "data: x\n\n");
  append_chunk(out, "");
  append_chunk(out, std::string(26, 'y'));
  append_last_chunk(out);
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            "9\r\ndata: x\n\n\r\n1a\r\nyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n0\r\n\r\n");
  out.clear();
  append_response_head(out, 200, fields, Framing::UntilClose);
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
  out.clear();
  const Header upgrade[] = {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}};
  append_response_head(out, 101, upgrade, Framing::None);
  EXPECT_EQ(out, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

TEST(ResponseParser, ReadsWhatTheWriterWroteByteByByte) {
  std::string out;
  const Header fields[] = {{"Content-Type", "text/plain"}};
  append_response(out, 403, fields, "denied");
  const auto first = out.size();
  append_response_head(out, 200, fields, Framing::Chunked, {.keep_alive = false});
  append_chunk(out, "hello ");
  append_chunk(out, "world");
  append_last_chunk(out);

  ResponseParser parser;
  for (std::size_t size = 0; size < first; ++size) {
    const auto moved = std::make_unique<std::string>(out.substr(0, size));
    ASSERT_EQ(parser.parse(*moved), State::NeedMore) << size;
  }
  ASSERT_EQ(parser.parse(out), State::Complete);
  EXPECT_EQ(parser.response().status, 403);
  EXPECT_EQ(parser.response().reason, "Forbidden");
  EXPECT_EQ(parser.response().headers.get("content-type"), "text/plain");
  EXPECT_EQ(parser.response().body, "denied");
  EXPECT_TRUE(parser.response().keep_alive);
  EXPECT_TRUE(parser.idle());
  ASSERT_EQ(parser.consumed(), first);
  const auto second = std::string_view{out}.substr(first);
  for (std::size_t size = 0; size < second.size(); ++size) {
    ASSERT_EQ(parser.parse(second.substr(0, size)), State::NeedMore) << size;
  }
  ASSERT_EQ(parser.parse(second), State::Complete);
  EXPECT_EQ(parser.response().body, "hello world");
  EXPECT_FALSE(parser.response().keep_alive);
}

TEST(ResponseParser, SkipsInterimResponsesAndStopsAtASwitchOfProtocols) {
  ResponseParser parser;
  const std::string_view text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: "
      "1\r\n\r\nx";
  ASSERT_EQ(parser.parse(text.substr(0, 30)), State::NeedMore);
  EXPECT_FALSE(parser.idle());
  ASSERT_EQ(parser.parse(text), State::Complete) << parser.error();
  EXPECT_EQ(parser.response().status, 201);
  EXPECT_EQ(parser.response().headers.size(), 1u);
  EXPECT_EQ(parser.consumed(), text.size());
  ASSERT_EQ(parser.parse("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x01"), State::Complete);
  EXPECT_EQ(parser.response().status, 101);
  EXPECT_EQ(parser.response().body, "");
  std::string endless;
  for (int i = 0; i < 20; ++i) endless += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(parser.parse(endless), State::Error);
  EXPECT_EQ(parser.error(), "too many interim responses");
}

TEST(ResponseParser, SomeResponsesHaveNoBodyWhateverTheirFieldsSay) {
  for (const auto* status : {"204 No Content", "304 Not Modified"}) {
    ResponseParser parser;
    const auto text = "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 10\r\n\r\n";
    ASSERT_EQ(parser.parse(text), State::Complete) << status;
    EXPECT_EQ(parser.consumed(), text.size());
  }
  ResponseParser parser;
  parser.expect(true);
  const std::string_view text = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
  ASSERT_EQ(parser.parse(text), State::Complete);
  EXPECT_EQ(parser.response().body, "");
  parser.expect(false);
  EXPECT_EQ(parser.parse(text), State::NeedMore);
}

TEST(ResponseParser, WithoutLengthTheBodyEndsWithTheConnection) {
  ResponseParser parser;
  const std::string_view text = "HTTP/1.1 200 OK\r\n\r\nsome";
  EXPECT_EQ(parser.parse(text), State::NeedMore);
  ASSERT_EQ(parser.close(text), State::Complete);
  EXPECT_EQ(parser.response().body, "some");
  EXPECT_FALSE(parser.response().keep_alive);
  EXPECT_EQ(parser.consumed(), text.size());
  ResponseParser limited{{.body_bytes_max = 3}};
  EXPECT_EQ(limited.parse(text), State::Error);
  EXPECT_EQ(limited.error(), "the body is too long");
}

TEST(ResponseParser, AConnectionThatClosesTooEarlyIsAnError) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "the connection closed before the answer"},
      {"HTTP/1.1 2", "the connection closed inside the header"},
      {"HTTP/1.1 100 Continue\r\n\r\n", "the connection closed inside the header"},
      {"HTTP/1.1 200 OK\r\nA: b\r\n", "the connection closed inside the header"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd", "the connection closed inside the body"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "the connection closed inside the body"},
  };
  for (const auto& [text, error] : cases) {
    ResponseParser parser;
    EXPECT_EQ(parser.parse(text), State::NeedMore) << text;
    EXPECT_EQ(parser.close(text), State::Error) << text;
    EXPECT_EQ(parser.error(), error) << text;
  }
}

TEST(ResponseParser, StreamsLeaveTheBodyToTheDecoder) {
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto head = text.size();
  append_chunk(text, "data: x\n\n");
  ResponseParser parser;
  parser.expect(false, true);
  ASSERT_EQ(parser.parse(text), State::HeadComplete);
  EXPECT_EQ(parser.consumed(), head);
  EXPECT_EQ(parser.response().status, 200);
  EXPECT_FALSE(parser.idle());
  auto rest = std::string_view{text}.substr(head);
  auto step = parser.decoder().step(rest);
  EXPECT_EQ(step.data, "data: x\n\n");
  rest.remove_prefix(step.consumed);
  step = parser.decoder().step(rest);
  EXPECT_EQ(step.state, BodyDecoder::State::NeedMore);
  EXPECT_FALSE(parser.decoder().may_end());
  EXPECT_EQ(parser.decoder().step("0\r\n\r\n").state, BodyDecoder::State::Done);
  EXPECT_TRUE(parser.idle());
  EXPECT_EQ(parser.parse("HTTP/1.1 204 No Content\r\n\r\n"), State::HeadComplete);
  EXPECT_EQ(parser.decoder().step("").state, BodyDecoder::State::Done);
}

TEST(ResponseParser, KeepAliveFollowsVersionAndConnection) {
  const auto keep_alive = [](std::string_view text) {
    ResponseParser parser;
    EXPECT_EQ(parser.parse(text), State::Complete) << text;
    return parser.response().keep_alive;
  };
  EXPECT_TRUE(keep_alive("HTTP/1.1 204 x\r\n\r\n"));
  EXPECT_FALSE(keep_alive("HTTP/1.1 204 x\r\nConnection: close\r\n\r\n"));
  EXPECT_FALSE(keep_alive("HTTP/1.0 204 x\r\n\r\n"));
  EXPECT_TRUE(keep_alive("HTTP/1.0 204\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(ResponseParser, BrokenResponsesAreRefusedByName) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"HTTP/2 200 OK\r\n", "does not begin with an HTTP version"},
      {"HTTP/2.0 200 OK\r\n", "1.0 and 1.1"},
      {"HTTP/1.1 20 OK\r\n", "status of three digits"},
      {"HTTP/1.1 2000 OK\r\n", "status of three digits"},
      {"HTTP/1.1\r\n", "status of three digits"},
      {"HTTP/1.1 abc OK\r\n", "status of three digits"},
      {"HTTP/1.1  200 OK\r\n", "status of three digits"},
      {"HTTP/1.1 099 x\r\n", "below 100"},
      {"HTTP/1.1 200 a\x01\r\n", "control character in the reason"},
      {"SSH-2.0-OpenSSH\r\n", "does not begin with an HTTP version"},
      {"HTTP/1.1 200 OK\n\n", "bare line feed"},
      {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "white space before the colon"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "more than once"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "exclude each other"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "only transfer coding"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", "not a hexadecimal number"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "the body is too long"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", "the body is too long"},
      {"{", "first byte"},
  };
  for (const auto& [text, part] : cases) {
    ResponseParser parser;
    EXPECT_EQ(parser.parse(text), State::Error) << text;
    EXPECT_NE(parser.error().find(part), std::string_view::npos) << text << " -> " << parser.error();
  }
}

TEST(HttpDate, AgreesWithTheExamplesOfRfc9110) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const auto* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text), 784111777) << text;
  }
  EXPECT_EQ(parse_http_date("Tue Nov 15 08:12:31 1994"), 784887151);
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-38 08:49:37 GMT"), parse_http_date("Sun, 06 Nov 2038 08:49:37 GMT"));
  EXPECT_EQ(parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT"), 1483228800);
}

TEST(HttpDate, RefusesWhatIsNoDate) {
  for (const auto* text :
       {"", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 06 Nov -994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
  }
}

TEST(HttpDate, ReadsBackWhatItWrites) {
  EXPECT_TRUE(rc::check("round trip", [] {
    const auto time = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 10'000'000'000);
    RC_ASSERT(parse_http_date(http_date(time)) == time);
  }));
}

}  // namespace
}  // namespace fanfare::wire::http
