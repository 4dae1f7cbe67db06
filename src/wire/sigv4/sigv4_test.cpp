// Signer and verifier against AWS's test suite, each other, and requests that were changed on their way.
#include "wire/sigv4/sigv4.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "wire/digest/encoding.h"
#include "wire/json/value.h"

namespace fanfare::wire::sigv4 {

std::ostream& operator<<(std::ostream& out, Reason reason) {
  constexpr const char* kNames[] = {"Missing",       "Incomplete",   "WrongScope", "Expired",
                                    "NotYetCurrent", "WrongPayload", "Mismatch"};
  return out << kNames[static_cast<int>(reason)];
}

namespace {

using namespace std::chrono_literals;

const Timestamp kThen = *parse_amz_date("20150830T123600Z");
const Credentials kKey{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
const Scope kScope{"us-east-1", "sqs", kThen};

// ---- AWS's test suite ----

/// A request as the suite writes it: LF line ends, folded lines, raw spaces in the target. Views into `text`.
struct SuiteRequest {
  std::string text;
  std::vector<http::Header> headers;
  RequestView view;

  explicit SuiteRequest(std::string_view source) : text(source) {
    std::string_view rest = text;
    const auto take_line = [&rest] {
      const auto end = std::min(rest.find('\n'), rest.size());
      const auto line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      return line;
    };
    auto line = take_line();
    view.method = line.substr(0, line.find(' '));
    auto target = line.substr(view.method.size() + 1);
    target = target.substr(0, target.rfind(' '));
    view.path = target.substr(0, target.find('?'));
    if (view.path.size() < target.size()) view.query = target.substr(view.path.size() + 1);
    while (!rest.empty() && rest.front() != '\n') {
      line = take_line();
      if (line.front() == ' ') {  // folded: the value goes on
        auto& value = headers.back().value;
        value = {value.data(), static_cast<std::size_t>(line.data() + line.size() - value.data())};
        continue;
      }
      const auto colon = line.find(':');
      headers.push_back({line.substr(0, colon), line.substr(colon + 1)});
    }
    if (!rest.empty()) rest.remove_prefix(1);
    view.body = rest;
    view.headers = http::Headers{headers};
  }
  SuiteRequest(const SuiteRequest&) = delete;
};

std::optional<json::Value> suite() {
  const auto path = std::filesystem::path(FANFARE_SOURCE_DIR).parent_path() / "shared" / "data" / "sigv4.json";
  std::ifstream in{path};
  if (!in)
    in.open(std::filesystem::path(FANFARE_SOURCE_DIR).parent_path().parent_path() / "shared" / "data" / "sigv4.json");
  if (!in) return std::nullopt;
  std::stringstream text;
  text << in.rdbuf();
  auto parsed = json::parse(text.str());
  if (!parsed) {
    ADD_FAILURE() << path << ": " << parsed.error().message();
    return std::nullopt;
  }
  return *parsed;
}

#define SUITE_OR_SKIP(name)  \
  const auto name = suite(); \
  if (!name) GTEST_SKIP() << "the test suite of AWS, ../shared/data/sigv4.json, is not beside the sources"

TEST(Suite, SignerGivesEachCanonicalRequestStringToSignAndAuthorization) {
  SUITE_OR_SKIP(cases);
  for (const auto& [name, test] : cases->members()) {
    const SuiteRequest request{*test.find_string("req")};
    const auto creq = *test.find_string("creq");
    const auto authz = *test.find_string("authz");
    // The suite's signer is given a session token where the canonical request has one and the request has none.
    auto credentials = kKey;
    constexpr std::string_view kTokenLine = "\nx-amz-security-token:";
    if (const auto at = creq.find(kTokenLine); at != std::string_view::npos) {
      const auto token = creq.substr(at + kTokenLine.size());
      credentials.session_token = token.substr(0, token.find('\n'));
    }
    SigningKeyCache cache;
    const auto fields = sign(request.view, credentials, {"us-east-1", "service", kThen}, cache);
    EXPECT_EQ(fields.authorization, authz) << name;
    EXPECT_EQ(fields.date, "20150830T123600Z") << name;

    auto headers = request.headers;
    if (request.view.headers.count("x-amz-security-token") == 0 && !credentials.session_token.empty()) {
      headers.push_back({"X-Amz-Security-Token", credentials.session_token});
    }
    auto complete = request.view;
    complete.headers = http::Headers{headers};
    auto signed_headers = authz.substr(authz.find("SignedHeaders=") + 14);
    signed_headers = signed_headers.substr(0, signed_headers.find(','));
    std::string canonical;
    append_canonical_request(canonical, complete, signed_headers,
                             digest::hex(digest::bytes_of(digest::sha256(request.view.body))));
    EXPECT_EQ(canonical, creq) << name;
    EXPECT_EQ(string_to_sign(canonical, kThen, "us-east-1", "service"), *test.find_string("sts")) << name;
  }
}

TEST(Suite, VerifierAcceptsEachSignedRequestAndNoOther) {
  SUITE_OR_SKIP(cases);
  std::size_t seen = 0;
  for (const auto& [name, test] : cases->members()) {
    const SuiteRequest request{*test.find_string("sreq")};
    auto headers = request.headers;
    for (auto& field : headers) {
      if (!http::equal_ignoring_case(field.name, "authorization")) continue;
      // One case's signed request carries another signature than its own authorization.
      if (name != "get-vanilla-with-session-token") {
        EXPECT_EQ(field.value, " " + std::string(*test.find_string("authz"))) << name;
      }
      field.value = *test.find_string("authz");
    }
    auto view = request.view;
    view.headers = http::Headers{headers};
    http::Form query;
    std::string scratch;
    SigningKeyCache cache;
    const auto read = read_authorization(view, query);
    ASSERT_TRUE(read.has_value()) << name << ": " << read.error().message;
    EXPECT_EQ(read->access_key_id, "AKIDEXAMPLE");
    EXPECT_EQ(read->service, "service");
    for (int cached = 0; cached < 2; ++cached) {
      const auto right = verify(view, *read, kKey.secret, kThen, cache, scratch);
      EXPECT_TRUE(right.has_value()) << name << ": " << right.error().message;
      EXPECT_EQ(cache.size(), 1u);
    }
    const auto wrong_secret = verify(view, *read, "another", kThen, cache, scratch);
    ASSERT_FALSE(wrong_secret.has_value()) << name;
    EXPECT_EQ(wrong_secret.error().reason, Reason::Mismatch);
    auto other = view;
    other.body = "another body";
    EXPECT_FALSE(verify(other, *read, kKey.secret, kThen, cache, scratch).has_value()) << name;
    ++seen;
  }
  EXPECT_EQ(seen, 34u);
}

// ---- a typical request ----

struct Message {
  std::vector<std::pair<std::string, std::string>> fields{{"Host", "localhost:4566"},
                                                          {"X-Amz-Target", "AmazonSQS.SendMessage"},
                                                          {"Content-Type", "application/x-amz-json-1.0"},
                                                          {"User-Agent", "x"}};
  std::string path = "/";
  std::string query;
  std::string body = "{}";
  std::string method = "POST";
  std::vector<http::Header> headers;

  RequestView view() {
    headers.clear();
    for (const auto& [name, value] : fields) headers.push_back({name, value});
    return {method, path, query, http::Headers{headers}, body};
  }
  void set(std::string_view name, std::string_view value) {
    for (auto& [other, old] : fields) {
      if (!http::equal_ignoring_case(name, other)) continue;
      old = value;
      return;
    }
    fields.emplace_back(name, value);
  }
  void remove(std::string_view name) {
    std::erase_if(fields, [&](const auto& field) { return http::equal_ignoring_case(name, field.first); });
  }
  void sign_with(const Credentials& credentials, const Scope& scope = kScope) {
    SigningKeyCache cache;
    const auto added = sign(view(), credentials, scope, cache);
    set("X-Amz-Date", added.date);
    if (!added.session_token.empty()) set("X-Amz-Security-Token", added.session_token);
    set("Authorization", added.authorization);
  }
};

Error check(Message& message, Timestamp now = kThen, const VerifyOptions& options = {},
            std::string_view secret = kKey.secret) {
  http::Form query;
  std::string scratch;
  SigningKeyCache cache;
  const auto view = message.view();
  const auto read = read_authorization(view, query);
  if (!read) return read.error();
  const auto verified = verify(view, *read, secret, now, cache, scratch, options);
  if (!verified) {
    EXPECT_EQ(cache.size(), 0u) << "a wrong signature fills no cache";
    return verified.error();
  }
  return {Reason{99}, "verified"};
}

TEST(Verify, AcceptsWhatSignWrites) {
  Message message;
  message.sign_with(kKey);
  EXPECT_EQ(check(message).message, "verified");
  const auto read = [&] {
    http::Form query;
    return *read_authorization(message.view(), query);
  }();
  EXPECT_FALSE(read.presigned);
  EXPECT_EQ(read.credential, "AKIDEXAMPLE/20150830/us-east-1/sqs/aws4_request");
  EXPECT_EQ(read.region, "us-east-1");
  EXPECT_EQ(read.service, "sqs");
  EXPECT_EQ(read.signed_headers, "content-type;host;x-amz-date;x-amz-target");
  EXPECT_EQ(read.session_token, "");
  EXPECT_EQ(read.time, kThen);
}

TEST(Verify, NoticesAnyChange) {
  const auto changed = [](auto change) {
    Message message;
    message.path = "/a/b";
    message.query = "x=1";
    message.sign_with(kKey);
    change(message);
    return check(message).reason;
  };
  EXPECT_EQ(changed([](Message&) {}), Reason{99});
  EXPECT_EQ(changed([](Message& m) { m.body += " "; }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.method = "PUT"; }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.path = "/a/c"; }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.query = "x=2"; }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.query = "x=1&y"; }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.set("host", "other"); }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.set("x-amz-target", "AmazonSQS.DeleteQueue"); }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.set("x-amz-date", "20150830T123601Z"); }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.fields.emplace_back("Host", "other"); }), Reason::Mismatch);
  EXPECT_EQ(changed([](Message& m) { m.set("user-agent", "not signed"); }), Reason{99});
}

TEST(Verify, TheSignatureMustMatchInEveryDigit) {
  Message message;
  message.sign_with(kKey);
  auto& authorization = message.fields.back().second;
  for (const auto* signature : {"", "0", "zz"}) {
    auto text = authorization.substr(0, authorization.size() - 64) + signature;
    Message other = message;
    other.set("authorization", text);
    EXPECT_EQ(check(other).reason, *signature == '\0' ? Reason::Incomplete : Reason::Mismatch) << text;
  }
  for (std::size_t digit = 1; digit <= 64; ++digit) {
    Message other = message;
    auto& text = other.fields.back().second;
    auto& c = text[text.size() - digit];
    c = c == '0' ? '1' : '0';
    EXPECT_EQ(check(other).reason, Reason::Mismatch);
  }
}

TEST(Verify, TimeIsCheckedToTheSecondOnBothSides) {
  Message message;
  message.sign_with(kKey);
  EXPECT_EQ(check(message, kThen + 15min).reason, Reason{99});
  EXPECT_EQ(check(message, kThen - 15min).reason, Reason{99});
  const auto late = check(message, kThen + 15min + 1s);
  EXPECT_EQ(late.reason, Reason::Expired);
  EXPECT_EQ(late.message,
            "Signature expired: 20150830T123600Z is now earlier than 20150830T123601Z (20150830T125101Z - 15 min.)");
  const auto early = check(message, kThen - 15min - 1s);
  EXPECT_EQ(early.reason, Reason::NotYetCurrent);
  EXPECT_EQ(
      early.message,
      "Signature not yet current: 20150830T123600Z is still later than 20150830T123559Z (20150830T122059Z + 15 min.)");
  EXPECT_EQ(check(message, kThen + 6min, {.skew_max = 5min}).reason, Reason::Expired);
}

TEST(Verify, SessionTokensAreSignedAndNotRepeatedInErrors) {
  Message message;
  auto credentials = kKey;
  credentials.session_token = "FwoGZXIvYXdzEXAMPLE//token==";
  message.sign_with(credentials);
  EXPECT_EQ(check(message).message, "verified");
  const auto refused = check(message, kThen, {}, "wrong");
  EXPECT_EQ(refused.reason, Reason::Mismatch);
  EXPECT_EQ(refused.message.find(credentials.session_token), std::string::npos);
  EXPECT_NE(refused.message.find("x-amz-security-token:..."), std::string::npos) << refused.message;
  message.set("x-amz-security-token", ".");
  EXPECT_EQ(check(message).reason, Reason::Mismatch);
}

TEST(Verify, AMismatchShowsWhatWasSignedHere) {
  Message message;
  message.sign_with(kKey);
  message.body = "{ }";
  const auto error = check(message);
  EXPECT_NE(error.message.find("The Canonical String for this request should have "
                               "been\n'POST\n/\n\ncontent-type:application/x-amz-json-1.0\n"),
            std::string::npos)
      << error.message;
  EXPECT_NE(error.message.find("The String-to-Sign should have "
                               "been\n'AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/sqs/aws4_request\n"),
            std::string::npos)
      << error.message;
}

TEST(Verify, HostMustBeSigned) {
  Message message;
  message.remove("host");
  message.sign_with(kKey);
  message.set("Host", "h");
  const auto error = check(message);
  EXPECT_EQ(error.reason, Reason::Incomplete);
  EXPECT_EQ(error.message, "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.");
}

TEST(Verify, PayloadHashesAreCheckedAndMayBeLeftOut) {
  Message message;
  message.set("X-Amz-Content-Sha256", digest::hex(digest::bytes_of(digest::sha256("{}"))));
  message.sign_with(kKey);
  EXPECT_EQ(check(message).message, "verified");
  message.set("X-Amz-Content-Sha256", std::string(64, '0'));
  EXPECT_EQ(check(message).reason, Reason::WrongPayload);
  message.set("X-Amz-Content-Sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
  EXPECT_EQ(check(message).reason, Reason::WrongPayload);

  message.set("X-Amz-Content-Sha256", kUnsignedPayload);
  message.sign_with(kKey);
  message.body = "anything";
  EXPECT_EQ(check(message, kThen, {.unsigned_payload_allowed = true}).message, "verified");
  EXPECT_EQ(check(message).reason, Reason::WrongPayload) << "any body would do";
}

TEST(Verify, FieldsOfAmazonMustBeSigned) {
  Message message;
  message.sign_with(kKey);
  message.set("X-Amz-Meta", "put in on the way");
  const auto put_in = check(message);
  EXPECT_EQ(put_in.reason, Reason::Incomplete);
  EXPECT_EQ(put_in.message, "'X-Amz-Meta' must be a 'SignedHeader' in the AWS Authorization.");
  message.remove("X-Amz-Meta");
  EXPECT_EQ(check(message).message, "verified");
  message.set("X-Amzn-Trace-Id", "Root=1");  // not Amazon's own: a load balancer writes it
  EXPECT_EQ(check(message).message, "verified");
  message.set("X-Amz-Target", "AmazonSQS.DeleteQueue");
  EXPECT_EQ(check(message).reason, Reason::Mismatch);
}

TEST(Verify, AListOfSignedFieldsHasItsLimit) {
  Message message;
  message.sign_with(kKey);
  std::string field{message.view().headers.get("Authorization")};
  std::string many;
  while (many.size() < 5'000) many += "a;";
  field.insert(field.find("SignedHeaders=") + 14, many);
  message.set("Authorization", field);
  EXPECT_NE(check(message).message.find("4096 are accepted"), std::string::npos) << check(message).message;
}

TEST(Presign, SignsTheFieldsThatDecide) {
  Message message;
  message.body = "";
  SigningKeyCache cache;
  message.query = presign(message.view(), kKey, kScope, 60s, cache);
  EXPECT_NE(message.query.find("X-Amz-SignedHeaders=host%3Bx-amz-target"), std::string::npos) << message.query;
  EXPECT_EQ(check(message).message, "verified");
  message.set("X-Amz-Target", "AmazonSQS.DeleteQueue");
  EXPECT_EQ(check(message).reason, Reason::Mismatch);
}

TEST(ReadAuthorization, RefusesWhatStandsTwice) {
  Message message;
  message.sign_with(kKey);
  const std::string right{message.view().headers.get("Authorization")};
  for (const auto* part : {"Credential=AKIDOTHER/20150830/us-east-1/sns/aws4_request, ", "SignedHeaders=host, ", "Signature=00, "}) {
    for (const bool first : {true, false}) {
      std::string both = right;
      const std::string text{part};
      if (first) {
        both.insert(both.find(' ') + 1, text);
      } else {
        both += ", " + text.substr(0, text.size() - 2);
      }
      message.set("Authorization", both);
      const auto error = check(message);
      EXPECT_EQ(error.reason, Reason::Incomplete) << both;
      EXPECT_NE(error.message.find("twice"), std::string::npos) << error.message;
      EXPECT_EQ(error.message.find("AKIDOTHER"), std::string::npos) << "what was sent is not repeated";
    }
  }
  message.set("Authorization", right);
  EXPECT_EQ(check(message).message, "verified");
  message.fields.emplace_back("authorization", right);
  EXPECT_EQ(check(message).reason, Reason::Incomplete);

  Message presigned;
  presigned.body = "";
  SigningKeyCache cache;
  presigned.query = presign(presigned.view(), kKey, kScope, 60s, cache);
  const std::string query = presigned.query;
  for (const auto* name : {"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature"})
    for (const bool first : {true, false}) {
      presigned.query = first ? std::string(name) + "=1&" + query : query + "&" + name + "=1";
      EXPECT_EQ(check(presigned).reason, Reason::Incomplete) << presigned.query;
    }
}

TEST(Verify, DateMayStandInTheDateField) {
  Message message;
  message.sign_with(kKey);
  message.remove("x-amz-date");
  // Signed with a Date field instead: what a client without X-Amz-Date does.
  for (const auto* date : {"20150830T123600Z", "Sun, 30 Aug 2015 12:36:00 GMT"}) {
    message.set("Date", date);
    const std::string signed_headers = "date;host;x-amz-target";
    std::string canonical;
    append_canonical_request(canonical, message.view(), signed_headers,
                             digest::hex(digest::bytes_of(digest::sha256(message.body))));
    const auto key = derive_signing_key(kKey.secret, "20150830", "us-east-1", "sqs");
    const auto signature = digest::hex(digest::bytes_of(key(string_to_sign(canonical, kThen, "us-east-1", "sqs"))));
    message.set("Authorization",
                "AWS4-HMAC-SHA256 "
                "Credential=AKIDEXAMPLE/20150830/us-east-1/sqs/aws4_request,SignedHeaders=date;host;x-amz-target,Signature=" +
                    signature);
    EXPECT_EQ(check(message).message, "verified") << date;
  }
}

TEST(Verify, AnotherSecretForTheSameKeyIsNotTakenFromTheCache) {
  Message message;
  message.sign_with(kKey);
  http::Form query;
  std::string scratch;
  SigningKeyCache cache;
  const auto view = message.view();
  const auto read = *read_authorization(view, query);
  EXPECT_TRUE(verify(view, read, kKey.secret, kThen, cache, scratch).has_value());
  EXPECT_FALSE(verify(view, read, "rotated", kThen, cache, scratch).has_value());
  EXPECT_TRUE(verify(view, read, kKey.secret, kThen, cache, scratch).has_value());
}

TEST(SigningKeyCache, IsBounded) {
  SigningKeyCache cache{3};
  for (int i = 0; i < 10; ++i)
    cache.keep("credential" + std::to_string(i), "s", derive_signing_key("s", "20150830", "r", "sqs"));
  EXPECT_LE(cache.size(), 3u);
  EXPECT_NE(cache.find("credential9", "s"), nullptr);
  EXPECT_EQ(cache.find("credential9", "t"), nullptr);
}

// ---- presigned ----

TEST(Presign, IsAcceptedUntilItRunsOut) {
  Message message;
  message.method = "GET";
  message.body = "";
  message.query = "Action=ReceiveMessage&QueueUrl=http%3A%2F%2Fh%2Fq&Text=a+b%20c";
  auto credentials = kKey;
  credentials.session_token = "tok/en==";
  SigningKeyCache cache;
  message.query = presign(message.view(), credentials, kScope, 60s, cache);
  EXPECT_NE(message.query.find("&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fsqs%2Faws4_request&"),
            std::string::npos)
      << message.query;
  EXPECT_EQ(check(message).message, "verified");
  EXPECT_EQ(check(message, kThen + 60s).message, "verified");
  EXPECT_EQ(check(message, kThen + 61s).reason, Reason::Expired);
  EXPECT_EQ(check(message, kThen - 16min).reason, Reason::NotYetCurrent);
  http::Form query;
  const auto read = *read_authorization(message.view(), query);
  EXPECT_TRUE(read.presigned);
  EXPECT_EQ(read.session_token, "tok/en==");
  EXPECT_EQ(read.expires, 60s);

  auto changed = message;
  changed.query.replace(changed.query.find("ReceiveMessage"), 14, "DeleteMessages");
  const auto error = check(changed);
  EXPECT_EQ(error.reason, Reason::Mismatch);
  EXPECT_EQ(error.message.find("tok%2Fen"), std::string::npos);
  changed = message;
  changed.set("host", "other");
  EXPECT_EQ(check(changed).reason, Reason::Mismatch);
  changed = message;
  changed.query.replace(changed.query.find("X-Amz-Expires=60"), 16, "X-Amz-Expires=61");
  EXPECT_EQ(check(changed).reason, Reason::Mismatch);
}

TEST(Presign, EverySpellingOfTheSameQueryVerifies) {
  Message message;
  message.body = "";
  message.query = "b=2&a=%7e%C3%A9&a=1&c";
  SigningKeyCache cache;
  message.query = presign(message.view(), kKey, kScope, 60s, cache);
  const auto at = message.query.find("&X-Amz-Algorithm");
  message.query = message.query.substr(at + 1) + "&c=&a=1&&a=~%c3%a9&b=%32";
  EXPECT_EQ(check(message).message, "verified") << message.query;
}

// ---- errors of reading ----

Error read_error(Message& message) {
  http::Form query;
  const auto read = read_authorization(message.view(), query);
  return read ? Error{Reason{99}, "read"} : read.error();
}

TEST(ReadAuthorization, NamesEachMissingPieceOfTheField) {
  Message message;
  EXPECT_EQ(read_error(message).reason, Reason::Missing);
  EXPECT_EQ(read_error(message).message, "Request is missing Authentication Token");

  message.set("Authorization", "Bearer secret");
  const auto bearer = read_error(message);
  EXPECT_EQ(bearer.reason, Reason::Incomplete);
  EXPECT_EQ(
      bearer.message,
      "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' parameter. "
      "Authorization header requires 'SignedHeaders' parameter. Authorization header requires existence of either a "
      "'X-Amz-Date' or a "
      "'Date' header. (Hashed with SHA-256 and encoded with Base64) Authorization=" +
          digest::base64(digest::bytes_of(digest::sha256("Bearer secret"))));
  EXPECT_EQ(bearer.message.find("secret"), std::string::npos);

  message.set("X-Amz-Date", "20150830T123600Z");
  message.set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20150830/r/sqs/aws4_request, Signature=0");
  EXPECT_TRUE(
      read_error(message).message.starts_with("Authorization header requires 'SignedHeaders' parameter. (Hashed"))
      << read_error(message).message;
  message.set("Authorization",
              "AWS4-HMAC-SHA256 Credential=a/20150830/r/sqs/aws4_request, SignedHeaders=host, Signature=");
  EXPECT_TRUE(read_error(message).message.starts_with("Authorization header requires 'Signature' parameter. (Hashed"))
      << read_error(message).message;
  message.set("Authorization",
              "AWS4-HMAC-SHA256 Credential=a/20150830/r/sqs/aws4_request SignedHeaders, Signature=0, junk");
  EXPECT_TRUE(read_error(message).message.starts_with(
      "Invalid key=value pair (missing equal-sign) in Authorization header (Hashed"))
      << read_error(message).message;
  message.set("Authorization",
              "AWS4-ECDSA-P256-SHA256 Credential=a/20150830/r/sqs/aws4_request, SignedHeaders=host, Signature=0");
  EXPECT_EQ(read_error(message).reason, Reason::Incomplete);
}

TEST(ReadAuthorization, CredentialAndDateMustHaveTheirShape) {
  const auto with = [](std::string_view credential, std::string_view date) {
    Message message;
    message.set("X-Amz-Date", date);
    message.set("Authorization",
                "AWS4-HMAC-SHA256 Credential=" + std::string(credential) + ", SignedHeaders=host, Signature=0");
    return read_error(message);
  };
  const std::string_view date = "20150830T123600Z";
  EXPECT_EQ(with("a/20150830/r/sqs/aws4_request", date).message, "read");
  for (const auto* credential :
       {"a", "a/20150830/r/sqs", "a/b/20150830/r/sqs/aws4_request", "/20150830/r/sqs/aws4_request", "////////"}) {
    EXPECT_EQ(with(credential, date).reason, Reason::Incomplete) << credential;
    EXPECT_EQ(with(credential, date).message,
              "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '" +
                  std::string(credential) + "'");
  }
  EXPECT_EQ(with("a/20150831/r/sqs/aws5_request", date).reason, Reason::WrongScope);
  EXPECT_EQ(with("a/20150831/r/sqs/aws5_request", date).message,
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5_request'. Date in "
            "Credential scope does not match "
            "YYYYMMDD from ISO-8601 version of date from HTTP: '20150831' != '20150830', from '20150830T123600Z'.");
  for (const auto* bad : {"", "20150830", "2015-08-30T12:36:00Z", "20150830T123600", "20150230T123600Z",
                          "20151330T123600Z", "20150830T243600Z", "20150830T126000Z", "20150830T123660Z",
                          "Sun, 30 Aug 2015 12:36:00 GMT", "2015083aT123600Z"}) {
    EXPECT_EQ(with("a/20150830/r/sqs/aws4_request", bad).reason, Reason::Incomplete) << bad;
    EXPECT_TRUE(with("a/20150830/r/sqs/aws4_request", bad)
                    .message.starts_with("Date must be in ISO-8601 'basic format'. Got '"))
        << bad;
  }
}

TEST(ReadAuthorization, NamesEachMissingParameterOfTheQuery) {
  Message message;
  message.query = "X-Amz-Signature=0&X-Amz-Credential=a";
  EXPECT_EQ(read_error(message).reason, Reason::Incomplete);
  EXPECT_EQ(read_error(message).message,
            "AWS query-string parameters must include 'X-Amz-Algorithm'. AWS query-string parameters must include "
            "'X-Amz-SignedHeaders'. "
            "AWS query-string parameters must include 'X-Amz-Date'. Re-examine the query-string parameters.");
  const std::string all =
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=a%2F20150830%2Fr%2Fsqs%2Faws4_request&X-Amz-Date="
      "20150830T123600Z"
      "&X-Amz-SignedHeaders=host&X-Amz-Signature=0";
  message.query = all;
  EXPECT_EQ(read_error(message).message, "read");
  message.query = all;
  message.query.replace(message.query.find("AWS4-HMAC-SHA256"), 16, "AWS3");
  EXPECT_EQ(read_error(message).message, "Unsupported AWS 'algorithm': 'AWS3'");
  for (const auto* expires : {"0", "-1", "604801", "x", "", "1.5", "99999999999999999999"}) {
    message.query = all + "&X-Amz-Expires=" + expires;
    EXPECT_EQ(read_error(message).reason, Reason::Incomplete) << expires;
    EXPECT_NE(read_error(message).message.find("from 1 to 604800"), std::string::npos);
  }
  message.query = all + "&X-Amz-Expires=604800";
  EXPECT_EQ(read_error(message).message, "read");
  message.query = "X-Amz-Date=1&x=%";
  EXPECT_EQ(read_error(message).reason, Reason::Missing);
}

TEST(AmzDate, ReadsBackWhatItWrites) {
  EXPECT_EQ(amz_date(timestamp_from_unix_ms(0)), "19700101T000000Z");
  EXPECT_EQ(amz_date(kThen + 999ms), "20150830T123600Z");
  EXPECT_TRUE(rc::check("round trip", [] {
    const auto time = Timestamp{seconds{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000)}};
    RC_ASSERT(parse_amz_date(amz_date(time)) == time);
  }));
}

TEST(SignAndVerify, AgreeOnAnyRequest) {
  EXPECT_TRUE(rc::check("round trip", [] {
    Message message;
    message.path = "/" + *rc::gen::container<std::string>(rc::gen::element('a', '/', '.', '%', '2', '0', '~', '\xc3'));
    message.query = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '&', '=', '%', '4', '1', '+'));
    message.body = *rc::gen::arbitrary<std::string>();
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      message.fields.emplace_back("X-" + std::string(1, *rc::gen::element('a', 'B', 'c')),
                                  *rc::gen::container<std::string>(rc::gen::element('a', ' ', '\t', '"')));
    }
    const Scope scope{*rc::gen::element<std::string_view>("us-east-1", "eu-west-3"),
                      *rc::gen::element<std::string_view>("sqs", "sns"),
                      kThen + seconds{*rc::gen::inRange(0, 100'000'000)}};
    RC_LOG() << message.path << ' ' << message.query << '\n';
    auto other = message;
    message.sign_with(kKey, scope);
    RC_ASSERT(check(message, scope.time).message == "verified");
    SigningKeyCache cache;
    other.query = presign(other.view(), kKey, scope, 10s, cache);
    const auto presigned = check(other, scope.time);
    http::Form form;
    if (form.parse(other.query)) {
      RC_ASSERT(presigned.reason == Reason::Missing);  // a query that cannot be decoded carries nothing
    } else {
      RC_ASSERT(presigned.message == "verified");
    }
  }));
}

}  // namespace
}  // namespace fanfare::wire::sigv4
