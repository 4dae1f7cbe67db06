// Runs testdata/*.transcript: request text in, response text out, through the API and a real engine, without a socket.
//
//   # a comment
//   == name of the case            a fresh broker
//   -> json SendMessage {...}      SQS JSON; the rest of the line is the body
//   -> query Action=...&...        Query by POST
//   -> get /?Action=...            Query by GET
//   -> post /000000000000/q k=v    form to a path
//   -> raw                         then the request, line by line, up to a line with a single dot; \n becomes CRLF
//   -> json@111122223333 ...       signed by that access key (any form; no signature without it)
//   <- 200 BODY                    status and whole body; further lines that begin with "|" go on with it
//   <h x-amzn-query-error: VALUE   a header field of the last response
//   <wait                          no answer yet: a long poll
//   @ 31s                          time passes
//   <late 200 BODY                 the answer of a long poll
// In what is expected, ${name} matches as little as it can and keeps it; later ${name} is what was kept; ${_} keeps
// nothing.
// ${x*1000} is a thousand times x.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/test_broker.h"

namespace fanfare::api {
namespace {

using Kept = std::map<std::string, std::string>;

std::string substitute(std::string_view text, const Kept& kept) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find("${");
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 2);
    const std::size_t end = text.find('}');
    const std::string name(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (const auto value = kept.find(name); value != kept.end()) {
      out += value->second;
    } else if (const std::size_t star = name.find('*'); star != std::string::npos) {
      const int times = std::stoi(name.substr(star + 1));
      for (int i = 0; i < times; ++i) out += name.substr(0, star);
    } else {
      out += "${" + name + "}";
    }
  }
  return out;
}

/// Whether `text` is what `pattern` says; names that are still open keep what they match.
bool matches(std::string_view pattern, std::string_view text, Kept& kept) {
  const std::size_t at = pattern.find("${");
  if (at == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, at))) return false;
  text.remove_prefix(at);
  pattern.remove_prefix(at + 2);
  const std::size_t end = pattern.find('}');
  const std::string name(pattern.substr(0, end));
  pattern.remove_prefix(end + 1);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    Kept tried = kept;
    if (name != "_") tried[name] = text.substr(0, size);
    const std::string rest = substitute(pattern, tried);
    if (matches(rest, text.substr(size), tried)) {
      kept = std::move(tried);
      return true;
    }
    // The next literal cannot stand before its first character does, so most sizes are passed over cheaply.
    const std::size_t literal = pattern.find("${");
    if (literal == 0) continue;
    const std::size_t next = text.find(pattern.substr(0, literal), size + 1);
    if (next == std::string_view::npos) return false;
    size = next - 1;
  }
  return false;
}

struct Line {
  int number;
  std::string text;
};

std::vector<Line> read_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Line> lines;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.starts_with('|') && !lines.empty()) {
      lines.back().text += text.substr(1);
    } else {
      lines.push_back({number, text});
    }
  }
  return lines;
}

std::string signature(std::string_view access_key) {
  if (access_key.empty()) return {};
  return "Authorization: AWS4-HMAC-SHA256 Credential=" + std::string(access_key) +
         "/20270115/us-east-1//aws4_request, SignedHeaders=host, Signature=0\r\n";
}

class Player {
 public:
  explicit Player(std::string its_file) : file(std::move(its_file)) {}

  void line(const Line& line, const std::vector<Line>& all, std::size_t& index) {
    const std::string where = file + ":" + std::to_string(line.number);
    const std::string& text = line.text;
    if (text.empty() || text[0] == '#') return;
    if (text.starts_with("== ")) {
      broker = std::make_unique<TestBroker>();
      kept.clear();
      answer.clear();
    } else if (text.starts_with("-> ")) {
      answer = broker->send(request(substitute(text.substr(3), kept), all, index));
    } else if (text.starts_with("<h ")) {
      const std::size_t colon = text.find(": ");
      const auto headers = parse_answer(answer).headers;
      const auto header = headers.find(text.substr(3, colon - 3));
      ASSERT_NE(header, headers.end()) << where << " the response has no such field:\n" << answer;
      EXPECT_TRUE(matches(substitute(text.substr(colon + 2), kept), header->second, kept))
          << where << "\nis " << header->second;
    } else if (text == "<wait") {
      EXPECT_EQ(answer, "") << where;
    } else if (text.starts_with("<- ") || text.starts_with("<late ")) {
      if (text[1] == 'l') {
        const auto late = broker->late();
        ASSERT_TRUE(late.has_value()) << where << " nothing came";
        answer = *late;
      }
      const std::string expected = text.substr(text.find(' ') + 1);
      const TestAnswer got = parse_answer(answer);
      EXPECT_EQ(std::to_string(got.status), expected.substr(0, 3)) << where << "\n" << answer;
      const std::string pattern = expected.size() > 4 ? substitute(expected.substr(4), kept) : std::string();
      EXPECT_TRUE(matches(pattern, got.body, kept)) << where << "\nexpected " << pattern << "\nis       " << got.body;
    } else if (text.starts_with("@ ")) {
      const auto by = parse_duration(text.substr(2));
      ASSERT_TRUE(by.has_value()) << where;
      broker->advance(*by);
    } else {
      FAIL() << where << " says nothing: " << text;
    }
  }

  std::string file;

 private:
  static std::string request(std::string_view text, const std::vector<Line>& all, std::size_t& index) {
    std::string_view form = text.substr(0, text.find(' '));
    std::string_view rest = form.size() == text.size() ? std::string_view() : text.substr(form.size() + 1);
    std::string_view access_key;
    if (const std::size_t at = form.find('@'); at != std::string_view::npos) {
      access_key = form.substr(at + 1);
      form = form.substr(0, at);
    }
    const auto first_word = [&] {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      return std::string(word);
    };
    if (form == "json") {
      const std::string action = first_word();
      return post("/",
                  signature(access_key) + "X-Amz-Target: AmazonSQS." + action +
                      "\r\nContent-Type: application/x-amz-json-1.0\r\n",
                  rest);
    }
    const std::string form_type = "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n";
    if (form == "query") return post("/", signature(access_key) + form_type, rest);
    if (form == "post") {
      const std::string path = first_word();
      return post(path, signature(access_key) + form_type, rest);
    }
    if (form == "get")
      return "GET " + std::string(rest) + " HTTP/1.1\r\nHost: localhost:4566\r\n" + signature(access_key) + "\r\n";
    std::string raw;
    for (++index; index < all.size() && all[index].text != "."; ++index) raw += all[index].text + "\r\n";
    if (raw.ends_with("\r\n") && raw.find("\r\n\r\n") + 4 < raw.size())
      raw.resize(raw.size() - 2);  // a body has no end of line
    return raw;
  }

  std::unique_ptr<TestBroker> broker = std::make_unique<TestBroker>();
  Kept kept;
  std::string answer;
};

class Transcripts : public testing::TestWithParam<std::string> {};

TEST_P(Transcripts, AreAnsweredAsWritten) {
  const std::filesystem::path path =
      std::filesystem::path(FANFARE_SOURCE_DIR) / "src/api/testdata" / (GetParam() + ".transcript");
  const auto lines = read_lines(path);
  ASSERT_FALSE(lines.empty()) << path;
  Player run(path.filename().string());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line line = lines[i];
    run.line(line, lines, i);
    if (HasFatalFailure()) return;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(FANFARE_SOURCE_DIR) / "src/api/testdata")) {
    if (entry.path().extension() == ".transcript") found.push_back(entry.path().stem().string());
  }
  std::ranges::sort(found);
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, Transcripts, testing::ValuesIn(names()), [](const auto& of) { return of.param; });

}  // namespace
}  // namespace fanfare::api
