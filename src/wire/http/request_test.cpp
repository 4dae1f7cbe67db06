// The request parser: valid requests at any split, each refusal, each limit at its edge.
#include "wire/http/request.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>

namespace fanfare::wire::http {

std::ostream& operator<<(std::ostream& out, Parse parse) {
  constexpr const char* kNames[] = {"NeedMore", "SendContinue", "Complete", "Error"};
  return out << kNames[static_cast<int>(parse)];
}

namespace {

constexpr std::string_view kTypical =
    "POST / HTTP/1.1\r\n"
    "Host: localhost:4566\r\n"
    "Accept-Encoding: identity\r\n"
    "X-Amz-Target: AmazonSQS.SendMessage\r\n"
    "Content-Type: application/x-amz-json-1.0\r\n"
    "User-Agent: Boto3/1.34.0 md/Botocore#1.34.0 ua/2.0 os/linux#6.1\r\n"
    "X-Amz-Date: 20260101T000000Z\r\n"
    "Content-Length: 2\r\n"
    "\r\n"
    "{}";

/// Parses text that is one whole request or an error; a mismatch between the two shows in the returned error.
RequestError error_of(std::string_view text, const Limits& limits = {}) {
  RequestParser parser{limits};
  switch (parser.parse(text)) {
    case Parse::Error: return parser.error();
    case Parse::Complete: return {200, "complete"};
    case Parse::NeedMore: return {0, "need more"};
    case Parse::SendContinue: return {100, "continue"};
  }
  return {};
}

std::string with_fields(std::string_view fields, std::string_view body = "") {
  return "POST /q HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

TEST(RequestParser, ReadsATypicalRequest) {
  RequestParser parser;
  EXPECT_TRUE(parser.idle());
  ASSERT_EQ(parser.parse(kTypical), Parse::Complete) << parser.error().reason;
  const auto& request = parser.request();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/");
  EXPECT_EQ(request.path, "/");
  EXPECT_EQ(request.query, "");
  EXPECT_EQ(request.authority, "localhost:4566");
  EXPECT_EQ(request.minor_version, 1);
  EXPECT_TRUE(request.keep_alive);
  EXPECT_EQ(request.headers.size(), 7u);
  EXPECT_EQ(request.headers.get("x-amz-target"), "AmazonSQS.SendMessage");
  EXPECT_EQ(request.headers.find("absent"), std::nullopt);
  EXPECT_EQ(request.body, "{}");
  EXPECT_EQ(parser.consumed(), kTypical.size());
  EXPECT_TRUE(parser.idle());
}

TEST(RequestParser, ReadsOneByteAtATimeFromABufferThatMoves) {
  RequestParser parser;
  for (std::size_t size = 0; size < kTypical.size(); ++size) {
    const auto moved = std::make_unique<std::string>(kTypical.substr(0, size));
    ASSERT_EQ(parser.parse(*moved), Parse::NeedMore) << size;
    EXPECT_EQ(parser.idle(), size == 0);
  }
  ASSERT_EQ(parser.parse(kTypical), Parse::Complete);
  EXPECT_EQ(parser.request().headers.get("X-AMZ-DATE"), "20260101T000000Z");
  EXPECT_EQ(parser.request().body, "{}");
}

TEST(RequestParser, ReadsPipelinedRequestsOneAfterTheOther) {
  const std::string two = std::string(kTypical) + "GET /b?x=1 HTTP/1.1\r\nHost: h\r\n\r\n" + "GE";
  RequestParser parser;
  std::string_view rest = two;
  ASSERT_EQ(parser.parse(rest), Parse::Complete);
  rest.remove_prefix(parser.consumed());
  ASSERT_EQ(parser.parse(rest), Parse::Complete);
  EXPECT_EQ(parser.request().method, "GET");
  EXPECT_EQ(parser.request().path, "/b");
  EXPECT_EQ(parser.request().query, "x=1");
  EXPECT_EQ(parser.request().body, "");
  EXPECT_EQ(parser.request().headers.size(), 1u);
  rest.remove_prefix(parser.consumed());
  EXPECT_EQ(parser.parse(rest), Parse::NeedMore);
  EXPECT_FALSE(parser.idle());
}

TEST(RequestParser, TakesTheTargetApart) {
  struct Case {
    std::string_view target, path, query, authority;
  };
  for (const auto& c : {Case{"/", "/", "", "h"}, Case{"/a%20b/c?d=e?f", "/a%20b/c", "d=e?f", "h"},
                        Case{"/?", "/", "", "h"}, Case{"http://Example.com:80/x?y", "/x", "y", "Example.com:80"},
                        Case{"HTTPS://e", "/", "", "e"}, Case{"http://e?y", "/", "y", "e"}, Case{"*", "*", "", "h"},
                        Case{"//a//b", "//a//b", "", "h"}, Case{"/\xe1\x88\xb4", "/\xe1\x88\xb4", "", "h"}}) {
    const auto text = "GET " + std::string(c.target) + " HTTP/1.1\r\nHost: h\r\n\r\n";
    RequestParser parser;
    ASSERT_EQ(parser.parse(text), Parse::Complete) << c.target << ": " << parser.error().reason;
    EXPECT_EQ(parser.request().target, c.target);
    EXPECT_EQ(parser.request().path, c.path) << c.target;
    EXPECT_EQ(parser.request().query, c.query) << c.target;
    EXPECT_EQ(parser.request().authority, c.authority) << c.target;
  }
}

TEST(RequestParser, FieldValuesAreTrimmedAndMayBeEmpty) {
  RequestParser parser;
  const auto text = with_fields("A:\r\nB: \t x y \t \r\nC:z\r\nD:   \r\nE: \xc3\xa9\r\n");
  ASSERT_EQ(parser.parse(text), Parse::Complete) << parser.error().reason;
  const auto& headers = parser.request().headers;
  EXPECT_EQ(headers.find("a"), "");
  EXPECT_EQ(headers.find("b"), "x y");
  EXPECT_EQ(headers.find("c"), "z");
  EXPECT_EQ(headers.find("d"), "");
  EXPECT_EQ(headers.find("e"), "\xc3\xa9");
}

TEST(RequestParser, OneEmptyLineBeforeARequestIsSkipped) {
  RequestParser parser;
  const auto text = "\r\n" + std::string(kTypical);
  ASSERT_EQ(parser.parse(text), Parse::Complete);
  EXPECT_EQ(parser.request().method, "POST");
  EXPECT_EQ(parser.consumed(), text.size());
  EXPECT_EQ(error_of("\r\n\r\n" + std::string(kTypical)).status, 400);
}

TEST(RequestParser, KeepAliveFollowsVersionAndConnection) {
  const auto keep_alive = [](std::string_view version, std::string_view fields) {
    const auto text = "GET / " + std::string(version) + "\r\nHost: h\r\n" + std::string(fields) + "\r\n";
    RequestParser parser;
    EXPECT_EQ(parser.parse(text), Parse::Complete) << text;
    return parser.request().keep_alive;
  };
  EXPECT_TRUE(keep_alive("HTTP/1.1", ""));
  EXPECT_FALSE(keep_alive("HTTP/1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keep_alive("HTTP/1.1", "Connection: Upgrade, Close\r\n"));
  EXPECT_TRUE(keep_alive("HTTP/1.1", "Connection: Upgrade\r\n"));
  EXPECT_FALSE(keep_alive("HTTP/1.0", ""));
  EXPECT_TRUE(keep_alive("HTTP/1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(keep_alive("HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_TRUE(keep_alive("HTTP/1.2", ""));
}

TEST(RequestParser, Http10NeedsNoHost) {
  RequestParser parser;
  ASSERT_EQ(parser.parse("GET / HTTP/1.0\r\n\r\n"), Parse::Complete);
  EXPECT_EQ(parser.request().minor_version, 0);
  EXPECT_EQ(parser.request().authority, "");
}

TEST(RequestParser, ChunkedBodiesAreDecoded) {
  const auto text = with_fields("Transfer-Encoding: Chunked\r\n",
                                "4;ext=\"a b\"\r\nWiki\r\n0005\r\npedia\r\n0\r\nX-Trailer: 1\r\n\r\nNEXT");
  RequestParser parser;
  ASSERT_EQ(parser.parse(text), Parse::Complete) << parser.error().reason;
  EXPECT_EQ(parser.request().body, "Wikipedia");
  EXPECT_EQ(text.substr(parser.consumed()), "NEXT");

  RequestParser slow;
  for (std::size_t size = 0; size < parser.consumed(); ++size)
    ASSERT_EQ(slow.parse(std::string_view{text}.substr(0, size)), Parse::NeedMore) << size;
  ASSERT_EQ(slow.parse(text), Parse::Complete);
  EXPECT_EQ(slow.request().body, "Wikipedia");
  EXPECT_EQ(slow.consumed(), parser.consumed());
}

TEST(RequestParser, ContinueIsAskedForOnceAndOnlyWhileTheBodyIsMissing) {
  const auto head = with_fields("Content-Length: 4\r\nExpect: 100-Continue\r\n");
  RequestParser parser;
  EXPECT_EQ(parser.parse(head), Parse::SendContinue);
  EXPECT_EQ(parser.parse(head), Parse::NeedMore);
  EXPECT_EQ(parser.parse(head + "ab"), Parse::NeedMore);
  EXPECT_EQ(parser.parse(head + "abcd"), Parse::Complete);

  RequestParser eager;
  EXPECT_EQ(eager.parse(head + "a"), Parse::NeedMore) << "the body has begun to come";
  EXPECT_EQ(eager.parse(head + "abcd"), Parse::Complete);

  EXPECT_EQ(error_of(with_fields("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n")).status, 100);
  EXPECT_EQ(error_of(with_fields("Content-Length: 0\r\nExpect: 100-continue\r\n")).status, 200);
  EXPECT_EQ(error_of("POST / HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n").status, 0);
}

TEST(RequestParser, ExpectedBytesAreKnownAfterTheHead) {
  RequestParser parser;
  const auto head = with_fields("Content-Length: 1000\r\n");
  EXPECT_EQ(parser.parse(head.substr(0, 20)), Parse::NeedMore);
  EXPECT_EQ(parser.expected_bytes(), 0u);
  EXPECT_EQ(parser.parse(head), Parse::NeedMore);
  EXPECT_EQ(parser.expected_bytes(), head.size() + 1000);
}

struct Bad {
  std::string text;
  int status;
  std::string_view part;  // of the reason
};

TEST(RequestParser, AmbiguousOrBrokenFramesAreRefused) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const Bad cases[] = {
      {with_fields("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400, "exclude each other"},
      {with_fields("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400, "exclude each other"},
      {with_fields("Content-Length: 5\r\nContent-Length: 6\r\n"), 400, "more than once"},
      {with_fields("Content-Length: 5\r\nContent-Length: 5\r\n"), 400, "more than once"},
      {with_fields("Content-Length: 5, 5\r\n"), 400, "not a number"},
      {with_fields("Content-Length: +5\r\n"), 400, "not a number"},
      {with_fields("Content-Length: -5\r\n"), 400, "not a number"},
      {with_fields("Content-Length: 0x5\r\n"), 400, "not a number"},
      {with_fields("Content-Length: 5 5\r\n"), 400, "not a number"},
      {with_fields("Content-Length:\r\n"), 400, "not a number"},
      {with_fields("Content-Length: 99999999999999999999999\r\n"), 413, "too long"},
      {with_fields("Content-Length: 18446744073709551617\r\n"), 413, "too long"},
      {with_fields("Transfer-Encoding: gzip, chunked\r\n"), 501, "only transfer coding"},
      {with_fields("Transfer-Encoding: gzip\r\n"), 400, "does not end with chunked"},
      {with_fields("Transfer-Encoding: identity\r\n"), 400, "does not end with chunked"},
      {with_fields("Transfer-Encoding:\r\n"), 400, "does not end with chunked"},
      {with_fields("Transfer-Encoding: chunked, chunked\r\n"), 400, "does not end with chunked"},
      {with_fields("Transfer-Encoding: chunked, gzip\r\n"), 400, "does not end with chunked"},
      {with_fields("Transfer-Encoding: xchunked\r\n"), 400, "does not end with chunked"},
      {with_fields("Transfer-Encoding: \"chunked\"\r\n"), 400, "does not end with chunked"},
      {with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400, "after chunked"},
      {with_fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), 400, "after chunked"},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "HTTP/1.0 has no Transfer-Encoding"},
      {with_fields("A: 1\r\n  folded\r\n"), 400, "folded"},
      {with_fields("A: 1\r\n\tfolded\r\n"), 400, "folded"},
      {"GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400, "folded"},
      {with_fields("A : 1\r\n"), 400, "white space before the colon"},
      {with_fields("A\t: 1\r\n"), 400, "white space before the colon"},
      {with_fields("Content-Length : 1\r\n"), 400, "white space before the colon"},
      {with_fields(": 1\r\n"), 400, "without a name"},
      {with_fields("A\r\n"), 400, "without a colon"},
      {with_fields("A(b): 1\r\n"), 400, "not allowed in a header field's name"},
      {with_fields("\xc3\xa9: 1\r\n"), 400, "not allowed in a header field's name"},
      {with_fields("A: x\ry\r\n"), 400, "carriage return without a line feed"},
      {with_fields("A: x\ny: 1\r\n"), 400, "bare line feed"},
      {with_fields(std::string("A: x\0y\r\n", 8)), 400, "control character"},
      {with_fields("A: x\x7fy\r\n"), 400, "control character"},
      {with_fields("\rA: x\r\n"), 400, "carriage return without a line feed"},
      {with_fields(chunked, "g\r\n"), 400, "not a hexadecimal number"},
      {with_fields(chunked, "\r\n"), 400, "not a hexadecimal number"},
      {with_fields(chunked, "-1\r\n"), 400, "not a hexadecimal number"},
      {with_fields(chunked, "0x1\r\n"), 400, "not a hexadecimal number"},
      {with_fields(chunked, "1 1\r\n"), 400, "not a hexadecimal number"},
      {with_fields(chunked, "1 \r\n"), 400, "not a hexadecimal number"},
      {with_fields(chunked, "1\na\r\n"), 400, "not a hexadecimal number"},
      {with_fields(chunked, "1\r\nab\r\n"), 400, "longer than its size"},
      {with_fields(chunked, "1\r\na\n\n"), 400, "longer than its size"},
      {with_fields(chunked, "1\r\na\r\r"), 400, "longer than its size"},
      {with_fields(chunked, "1\rx"), 400, "after a chunk's size"},
      {with_fields(chunked, "1;a\nb\r\n"), 400, "control character in a chunk's extension"},
      {with_fields(chunked, "0\r\nA: 1\n\r\n"), 400, "control character in a trailer"},
      {with_fields(chunked, "0\r\nA: 1\rb"), 400, "in a trailer"},
      {with_fields(chunked, "10000000000000000\r\n"), 400, "too many digits"},
      {with_fields(chunked, "fffffffffffffff\r\n"), 413, "too long"},
  };
  for (const auto& bad : cases) {
    const auto error = error_of(bad.text);
    EXPECT_EQ(error.status, bad.status) << bad.text << " -> " << error.reason;
    EXPECT_NE(error.reason.find(bad.part), std::string_view::npos) << bad.text << " -> " << error.reason;
  }
}

TEST(RequestParser, BrokenStartLinesAndHostsAreRefused) {
  const Bad cases[] = {
      {"GET /\r\n", 400, "HTTP version"},
      {"GET / \r\n", 400, "HTTP version"},
      {"GET\r\n", 400, "method and a space"},
      {" / HTTP/1.1\r\n", 400, "first byte"},
      {"G(T / HTTP/1.1\r\n", 400, "method and a space"},
      {"GET  / HTTP/1.1\r\n", 400, "target"},
      {"GET / HTTP/1.1 \r\n", 400, "HTTP version"},
      {"GET / http/1.1\r\n", 400, "HTTP version"},
      {"GET / HTTP/11\r\n", 400, "HTTP version"},
      {"GET / HTTP/2.0\r\n", 505, "1.0 and 1.1"},
      {"GET / HTTP/0.9\r\n", 505, "1.0 and 1.1"},
      {"PRI * HTTP/2.0\r\n", 505, "1.0 and 1.1"},
      {"GET / HTTP/1.1\n", 400, "bare line feed"},
      {"\n", 400, "bare line feed"},
      {"GET /a b HTTP/1.1\r\n", 400, "target"},
      {"GET /a\tb HTTP/1.1\r\n", 400, "target"},
      {"GET /a#b HTTP/1.1\r\n", 400, "target"},
      {"GET /a\rb HTTP/1.1\r\n", 400, "target"},
      {"GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400, "neither with a slash"},
      {"GET ftp://h/a HTTP/1.1\r\nHost: h\r\n\r\n", 400, "neither with a slash"},
      {"GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n", 400, "the host in the request's target"},
      {"GET http://a@b/ HTTP/1.1\r\nHost: h\r\n\r\n", 400, "the host in the request's target"},
      {"GET / HTTP/1.1\r\n\r\n", 400, "needs a Host"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "Host occurs more than once"},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "not allowed in Host"},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "not allowed in Host"},
      {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400, "not allowed in Host"},
      {"\x16\x03\x01", 400, "TLS"},
      {"(", 400, "first byte"},
  };
  for (const auto& bad : cases) {
    const auto error = error_of(bad.text);
    EXPECT_EQ(error.status, bad.status) << bad.text << " -> " << error.reason;
    EXPECT_NE(error.reason.find(bad.part), std::string_view::npos) << bad.text << " -> " << error.reason;
  }
  EXPECT_EQ(error_of("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
  EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost:\r\n\r\n").status, 200);
  EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n").status, 200);
}

TEST(RequestParser, ErrorsStay) {
  RequestParser parser;
  EXPECT_EQ(parser.parse("x\n"), Parse::Error);
  EXPECT_EQ(parser.parse(kTypical), Parse::Error);
  EXPECT_EQ(parser.error().status, 400);
}

TEST(RequestParser, FieldsThatEndAtTheLimitAreTakenHoweverTheyArrive) {
  const std::string field = "A: " + std::string(15, 'b') + "\r\n";  // 20 bytes
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n" + field + "\r\n";
  RequestParser parser{Limits{.start_line_bytes_max = 100, .header_count_max = 3, .header_bytes_max = 29, .body_bytes_max = 10}};
  for (std::size_t bytes = 1; bytes < request.size(); ++bytes)
    ASSERT_EQ(parser.parse(std::string_view{request}.substr(0, bytes)), Parse::NeedMore) << bytes;
  EXPECT_EQ(parser.parse(request), Parse::Complete);
}

TEST(RequestParser, EachLimitHoldsExactly) {
  const auto line = [](std::size_t size) {  // a request line of this size, its CR counted
    return "GET /" + std::string(size - 15, 'a') + " HTTP/1.1\r\n";
  };
  const Limits limits{
      .start_line_bytes_max = 100, .header_count_max = 3, .header_bytes_max = 200, .body_bytes_max = 10};
  EXPECT_EQ(error_of(line(100) + "Host: h\r\n\r\n", limits).status, 200);
  EXPECT_EQ(error_of(line(101) + "Host: h\r\n\r\n", limits).status, 414);
  EXPECT_EQ(error_of(line(101).substr(0, 101), limits).status, 414) << "without waiting for the line's end";
  EXPECT_EQ(error_of(with_fields("A: 1\r\nB: 1\r\n"), limits).status, 200);
  EXPECT_EQ(error_of(with_fields("A: 1\r\nB: 1\r\nC: 1\r\n"), limits).status, 431);
  const auto host_bytes = std::string_view{"Host: h\r\nA: \r\n"}.size();
  EXPECT_EQ(error_of(with_fields("A: " + std::string(200 - host_bytes, 'x') + "\r\n"), limits).status, 200);
  EXPECT_EQ(error_of(with_fields("A: " + std::string(201 - host_bytes, 'x') + "\r\n"), limits).status, 431);
  EXPECT_EQ(error_of(with_fields("A: " + std::string(300, 'x')).substr(0, 250), limits).status, 431)
      << "without waiting for the line's end";
  EXPECT_EQ(error_of(with_fields("Content-Length: 10\r\n", "0123456789"), limits).status, 200);
  EXPECT_EQ(error_of(with_fields("Content-Length: 11\r\n"), limits).status, 413) << "before any of the body";
  EXPECT_EQ(error_of(with_fields("Content-Length: 10000000000\r\n"), limits).status, 413);
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(error_of(with_fields(chunked, "6\r\n012345\r\n4\r\n6789\r\n0\r\n\r\n"), limits).status, 200);
  EXPECT_EQ(error_of(with_fields(chunked, "6\r\n012345\r\n5\r\n"), limits).status, 413)
      << "before the chunk that is too much";
}

TEST(RequestParser, ManyTinyChunksAreRefused) {
  std::string body;
  for (int i = 0; i < 40000; ++i) body += "1;x\r\na\r\n";
  EXPECT_EQ(error_of(with_fields("Transfer-Encoding: chunked\r\n", body)).status, 413);
  EXPECT_EQ(error_of(with_fields("Transfer-Encoding: chunked\r\n", "1;" + std::string(5000, 'x'))).status, 400);
  EXPECT_EQ(error_of(with_fields("Transfer-Encoding: chunked\r\n", "0\r\n" + std::string(33000, 'x'))).status, 400);
}

// A random valid request, its parts known.
struct Generated {
  std::string text;
  std::string method, target, body;
  std::vector<std::pair<std::string, std::string>> fields;
};

Generated random_request() {
  using namespace rc;
  const auto word = [](std::string_view letters, int low, int high) {
    std::string out(static_cast<std::size_t>(*gen::inRange(low, high)), ' ');
    for (auto& c : out) c = letters[*gen::inRange<std::size_t>(0, letters.size())];
    return out;
  };
  Generated g;
  g.method = word("GETPOSDLUX-", 1, 8);
  g.target = "/" + word("abc/%20?=&.~\xc3", 0, 30);
  g.body = word("ab\r\n0:;", 0, 60);
  g.text = g.method + " " + g.target + " HTTP/1.1\r\n";
  const auto add = [&](const std::string& name, const std::string& value) {
    g.fields.emplace_back(name, value);
    g.text += name + ":" + word(" \t", 0, 3) + value + word(" \t", 0, 3) + "\r\n";
  };
  add("Host", "example.com");
  for (int i = *gen::inRange(0, 12); i > 0; --i) {
    auto value = word("xyz \t,;=\"/\xe2", 0, 40);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.erase(0, 1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.pop_back();
    add("X-" + word("abcABC-_!", 0, 20), value);
  }
  if (g.body.empty()) {
    g.text += "\r\n";
  } else if (*gen::arbitrary<bool>()) {
    add("Content-Length", std::to_string(g.body.size()));
    g.text += "\r\n" + g.body;
  } else {
    add("Transfer-Encoding", "chunked");
    g.text += "\r\n";
    for (std::size_t at = 0; at < g.body.size();) {
      const auto size = *gen::inRange<std::size_t>(1, g.body.size() - at + 1);
      char digits[20];
      std::snprintf(digits, sizeof digits, *gen::arbitrary<bool>() ? "%zx" : "00%zX", size);
      g.text +=
          std::string(digits) + (*gen::arbitrary<bool>() ? ";a=b" : "") + "\r\n" + g.body.substr(at, size) + "\r\n";
      at += size;
    }
    g.text += std::string("0\r\n") + (*gen::arbitrary<bool>() ? "T: 1\r\n" : "") + "\r\n";
  }
  return g;
}

TEST(RequestParser, AnyValidRequestIsReadAtAnySplit) {
  EXPECT_TRUE(rc::check("valid requests", [] {
    const auto first = random_request();
    const auto second = random_request();
    const auto text = first.text + second.text;
    RC_LOG() << text << '\n';
    RequestParser parser;
    std::size_t begin = 0;
    std::size_t end = 0;
    for (const auto* expected : {&first, &second}) {
      Parse state = parser.parse(std::string(text, begin, end - begin));
      while (state == Parse::NeedMore) {
        RC_ASSERT(end < text.size());
        end = *rc::gen::inRange(end + 1, text.size() + 1);
        state = parser.parse(std::string(text, begin, end - begin));
      }
      RC_ASSERT(state == Parse::Complete);
      // The last parse() saw a temporary: parse once more from bytes that live on.
      RequestParser again;
      RC_ASSERT(again.parse(std::string_view{text}.substr(begin)) == Parse::Complete);
      const auto& request = again.request();
      RC_ASSERT(again.consumed() == parser.consumed());
      RC_ASSERT(request.method == expected->method);
      RC_ASSERT(request.target == expected->target);
      RC_ASSERT(request.body == expected->body);
      RC_ASSERT(request.headers.size() == expected->fields.size());
      std::size_t i = 0;
      for (const auto& [name, value] : request.headers) {
        RC_ASSERT(name == expected->fields[i].first);
        RC_ASSERT(value == expected->fields[i].second);
        ++i;
      }
      begin += parser.consumed();
    }
    RC_ASSERT(begin == text.size());
  }));
}

TEST(RequestParser, GivesTheHeadOfWhatItRefuses) {
  const std::string head = "POST http://example.com/q?a=b HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n";
  const Limits limits{.body_bytes_max = 10};
  const std::string cases[] = {head + "Content-Length: 11\r\n\r\n", head + "Content-Length: 99999999999999999999999\r\n\r\n",
                               head + "Transfer-Encoding: chunked\r\n\r\nb\r\n", head + "Transfer-Encoding: chunked\r\n\r\nnothing\r\n",
                               head + "Transfer-Encoding: gzip\r\n\r\n", head + "Host: y\r\n\r\n"};
  for (const std::string& text : cases) {
    RequestParser parser{limits};
    std::string early = text.substr(0, 20);
    EXPECT_EQ(parser.parse(early), Parse::NeedMore);
    EXPECT_EQ(parser.read_head(early), nullptr);
    ASSERT_EQ(parser.parse(text), Parse::Error) << text;
    const Request* request = parser.read_head(text);
    ASSERT_NE(request, nullptr) << text;
    EXPECT_EQ(request->method, "POST");
    EXPECT_EQ(request->path, "/q");
    EXPECT_EQ(request->query, "a=b");
    EXPECT_EQ(request->authority, "example.com");
    EXPECT_EQ(request->headers.get("x-amz-target"), "AmazonSQS.SendMessage");
    EXPECT_EQ(request->body, "");
  }
  for (const std::string_view text : {"GARBAGE\r\n\r\n", "POST / HTTP/1.1\r\nno field\r\n\r\n", "POST / HTTP/3.0\r\nHost: x\r\n\r\n"}) {
    RequestParser parser;
    ASSERT_EQ(parser.parse(text), Parse::Error) << text;
    EXPECT_EQ(parser.read_head(text), nullptr) << text;
  }
  // The buffer may move while the body comes; the next request has a head of its own.
  RequestParser parser{limits};
  const std::string half = head + "Content-Length: 2\r\n\r\n{";
  ASSERT_EQ(parser.parse(half), Parse::NeedMore);
  const std::string moved = half;
  ASSERT_NE(parser.read_head(moved), nullptr);
  EXPECT_EQ(parser.read_head(moved)->method.data(), moved.data());
  ASSERT_EQ(parser.parse(half + "}"), Parse::Complete);
  EXPECT_EQ(parser.parse("POST"), Parse::NeedMore);
  EXPECT_EQ(parser.read_head("POST"), nullptr);
}

TEST(AppendRequest, WritesWhatTheParserReads) {
  std::string out;
  const Header fields[] = {{"X-Amz-Target", "AmazonSQS.SendMessage"}, {"X-Bad", "a\r\nInjected: 1\0"}};
  append_request(out, {"POST", "/q?a=b", "example.com:4566", fields}, "{}");
  EXPECT_EQ(out,
            "POST /q?a=b HTTP/1.1\r\nHost: example.com:4566\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nX-Bad: a  "
            "Injected: 1\r\n"
            "Content-Length: 2\r\n\r\n{}");
  RequestParser parser;
  ASSERT_EQ(parser.parse(out), Parse::Complete);
  EXPECT_EQ(parser.request().headers.get("x-bad"), "a  Injected: 1");
}

TEST(AppendRequest, LengthIsWrittenWhereABodyIsExpected) {
  const auto written = [](std::string_view method, std::string_view body) {
    std::string out;
    append_request(out, {method, "/", "h", {}}, body);
    return out;
  };
  EXPECT_EQ(written("GET", ""), "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(written("POST", ""), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(written("DELETE", "x"), "DELETE / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
}

TEST(Headers, ListsAreSearchedOverSeveralFields) {
  const Header fields[] = {{"Connection", "keep-alive , Upgrade"}, {"CONNECTION", "x"}, {"Other", "y"}};
  const Headers headers{fields};
  EXPECT_TRUE(headers.has("connection", "upgrade"));
  EXPECT_TRUE(headers.has("connection", "X"));
  EXPECT_FALSE(headers.has("connection", "y"));
  EXPECT_FALSE(headers.has("connection", "keep"));
  EXPECT_EQ(headers.count("connection"), 2u);
  EXPECT_EQ(headers.get("absent"), "");
}

}  // namespace
}  // namespace fanfare::wire::http
