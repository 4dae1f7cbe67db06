// Boost.Beast's request parser as an oracle: on whole, mutated requests both take the same ones, and read the same from
// them, but for the differences that kStricter and is_laxer() name. Beast's headers are included in this file only.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "wire/http/request.h"

namespace fanfare::wire::http {
namespace {

namespace beast = boost::beast::http;

enum class Verdict { Complete, NeedMore, Refused };

struct Reading {
  Verdict verdict = Verdict::NeedMore;
  std::string why;
  std::string method;
  std::string target;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  std::size_t consumed = 0;
};

Reading read_with_beast(std::string_view text) {
  beast::request_parser<beast::string_body> parser;
  parser.eager(true);
  parser.body_limit(1 << 20);
  Reading out;
  boost::beast::error_code error;
  while (!parser.is_done()) {
    const auto rest = text.substr(out.consumed);
    const auto used = parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
    out.consumed += used;
    if (error == beast::error::need_more || (!error && used == 0)) return out;
    if (error) {
      out.verdict = Verdict::Refused;
      out.why = error.message();
      return out;
    }
  }
  out.verdict = Verdict::Complete;
  const auto& message = parser.get();
  out.method = std::string(message.method_string());
  out.target = std::string(message.target());
  for (const auto& field : message)
    out.fields.emplace_back(std::string(field.name_string()), std::string(field.value()));
  out.body = message.body();
  return out;
}

Reading read_with_ours(std::string_view text) {
  RequestParser parser;
  Reading out;
  auto state = parser.parse(text);
  if (state == Parse::SendContinue) state = parser.parse(text);
  if (state == Parse::NeedMore) return out;
  if (state == Parse::Error) {
    out.verdict = Verdict::Refused;
    out.why = parser.error().reason;
    return out;
  }
  out.verdict = Verdict::Complete;
  out.method = parser.request().method;
  out.target = parser.request().target;
  for (const auto& [name, value] : parser.request().headers) out.fields.emplace_back(name, value);
  out.body = parser.request().body;
  out.consumed = parser.consumed();
  return out;
}

/// What we refuse and Beast may take, by our reasons.
constexpr std::string_view kStricter[] = {
    "HTTP/1.1 needs a Host field",                     // [RFC 9112 3.2] says to answer 400; Beast leaves it to its user
    "Host occurs more than once",                      // the same
    "a character that is not allowed in Host",         // the same
    "a header field is folded over several lines",     // [RFC 9112 5.2] lets a server refuse or join; Beast joins
    "Content-Length occurs more than once",            // [RFC 9110 8.6] the same for equal lengths
    "Transfer-Encoding does not end with chunked",     // Beast reads until the end of the connection
    "Transfer-Encoding names more after chunked",      // the same
    "the only transfer coding understood is chunked",  // Beast hands on what it cannot decode
    "HTTP/1.0 has no Transfer-Encoding",               // [RFC 9112 6.1]
    "a character that is not allowed in the request's target",  // a fragment
    "the request's target begins neither with a slash nor with http:// or https://",
    "the host in the request's target is missing or has a character that is not allowed",
    "a control character in a trailer field",      // Beast skips trailers without looking at their characters
    "a control character in a chunk's extension",  // and extensions
    "a carriage return without a line feed in a trailer field",
    "the first byte belongs to no HTTP message; is TLS sent to a port without TLS?",
};

/// What we take and Beast refuses.
bool is_laxer(std::string_view text, const Reading& ours, const Reading& beast) {
  // One empty line before a request [RFC 9112 2.2].
  if (text.starts_with("\r\n")) return true;
  // A higher minor version is read as 1.1 [RFC 9110 2.5].
  if (beast.why == "bad version") return true;
  const auto has_field = [&](std::string_view name) {
    return std::any_of(ours.fields.begin(), ours.fields.end(),
                       [&](const auto& field) { return equal_ignoring_case(field.first, name); });
  };
  // Elements of Connection that are no tokens are ignored like other unknown ones.
  if (has_field("Connection") && beast.why == "bad value") return true;
  // Extensions and trailers are skipped, not parsed: they carry nothing for us. Beast reads trailers as if they were
  // fields.
  return has_field("Transfer-Encoding") &&
         (beast.why == "bad chunk extension" || beast.why == "bad field" || beast.why == "bad value" ||
          beast.why == "bad Content-Length" || beast.why == "bad Transfer-Encoding");
}

const std::string kTemplates[] = {
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /a?b=c HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
    "POST /q HTTP/1.1\r\nHost: localhost:4566\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: "
    "5\r\n\r\n{\"a\"}",
    "POST /q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nX: "
    "y\r\n\r\n3\r\nabc\r\n0a;x=y\r\n0123456789\r\n0\r\nT: 1\r\n\r\n",
    "PUT http://h/x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\nA:  b c \r\nB:\r\n\r\nxy",
};

const std::string kPieces[] = {"\r\n",
                               "\n",
                               "\r",
                               " ",
                               "\t",
                               ":",
                               ",",
                               ";",
                               "#",
                               "0",
                               "1",
                               "a",
                               std::string(1, '\0'),
                               "\x7f",
                               "\xff",
                               "=",
                               "Host: h\r\n",
                               "Content-Length: 5\r\n",
                               "Content-Length: 6\r\n",
                               "Transfer-Encoding: chunked\r\n",
                               "Transfer-Encoding: gzip\r\n",
                               "Connection: close\r\n",
                               "\r\n\r\n",
                               "chunked",
                               " HTTP/1.1",
                               "X : y\r\n",
                               " folded\r\n"};

std::string mutate(std::string text) {
  using namespace rc;
  for (int i = *gen::inRange(0, 4); i > 0; --i) {
    const auto at = *gen::inRange<std::size_t>(0, text.size() + 1);
    const auto piece = *gen::elementOf(std::vector<std::string>(std::begin(kPieces), std::end(kPieces)));
    switch (*gen::inRange(0, 4)) {
      case 0: text.insert(at, piece); break;
      case 1: text.replace(at, std::min(piece.size(), text.size() - at), piece); break;
      case 2: text.erase(at, *gen::inRange<std::size_t>(1, 4)); break;
      default: {  // at the beginning of a line
        const auto line = text.find("\r\n", at);
        if (line != std::string::npos) text.insert(line + 2, piece);
      }
    }
  }
  return text;
}

/// Empty if the two agree or may differ.
std::string disagreement(const std::string& text) {
  const auto ours = read_with_ours(text);
  const auto theirs = read_with_beast(text);
  const auto show = [&](std::string_view what) {
    return std::string(what) + "\nours: " + ours.why + " " + ours.body + "\nBeast: " + theirs.why + " " + theirs.body +
           "\n" + text;
  };
  if (ours.verdict == Verdict::Complete && theirs.verdict == Verdict::Complete) {
    if (ours.method != theirs.method || ours.target != theirs.target) return show("the start lines differ");
    // Beast puts fields of one name together, and trailers among them.
    auto our_fields = ours.fields;
    auto their_fields = theirs.fields;
    std::sort(our_fields.begin(), our_fields.end());
    std::sort(their_fields.begin(), their_fields.end());
    if (!std::includes(their_fields.begin(), their_fields.end(), our_fields.begin(), our_fields.end())) {
      return show("the fields differ");
    }
    return ours.body != theirs.body || ours.consumed != theirs.consumed ? show("the bodies differ") : "";
  }
  if (ours.verdict == Verdict::Complete && theirs.verdict == Verdict::Refused)
    return is_laxer(text, ours, theirs) ? "" : show("only ours takes it");
  if (ours.verdict == Verdict::Refused && theirs.verdict == Verdict::Complete) {
    return std::find(std::begin(kStricter), std::end(kStricter), ours.why) == std::end(kStricter)
               ? show("only Beast takes it")
               : "";
  }
  // One waits for more and the other is done: the frame was understood differently.
  if (ours.verdict == Verdict::Complete || theirs.verdict == Verdict::Complete)
    return show("one of the two waits for more");
  return "";
}

TEST(BeastOracle, AgreesOnTheTemplates) {
  for (const auto& text : kTemplates) {
    EXPECT_EQ(read_with_beast(text).verdict, Verdict::Complete) << text;
    EXPECT_EQ(read_with_ours(text).verdict, Verdict::Complete) << text << read_with_ours(text).why;
    EXPECT_EQ(disagreement(text), "");
  }
}

TEST(BeastOracle, AgreesOnMutatedRequestsButForTheListedDifferences) {
  EXPECT_TRUE(rc::check("mutations", [] {
    for (int i = 0; i < 50; ++i) {
      const auto text =
          mutate(*rc::gen::elementOf(std::vector<std::string>(std::begin(kTemplates), std::end(kTemplates))));
      const auto difference = disagreement(text);
      if (!difference.empty()) RC_FAIL(difference);
    }
  }));
}

TEST(BeastOracle, EachListedDifferenceIsReal) {
  const auto with = [](std::string_view fields) {
    return "POST / HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
  };
  const std::string texts[] = {
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
      with("A: b\r\n c\r\n"),
      with("Content-Length: 0\r\nContent-Length: 0\r\n"),
      "GET /#a HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET a HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n",
  };
  for (const auto& text : texts) {
    EXPECT_EQ(read_with_ours(text).verdict, Verdict::Refused) << text;
    EXPECT_EQ(read_with_beast(text).verdict, Verdict::Complete) << text << read_with_beast(text).why;
  }
  for (const auto* text : {"\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.2\r\nHost: h\r\n\r\n"}) {
    EXPECT_EQ(read_with_ours(text).verdict, Verdict::Complete) << text;
    EXPECT_EQ(read_with_beast(text).verdict, Verdict::Refused) << text;
  }
}

}  // namespace
}  // namespace fanfare::wire::http
