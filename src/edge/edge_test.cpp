// Requests as text in, responses as text out, over a store in memory: what docs/rest.md promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "edge/events.h"
#include "edge/notification_body.h"
#include "edge/rest.h"
#include "store/memory_inbox_store.h"
#include "wire/http/request.h"
#include "wire/json/value.h"

namespace fanfare::edge {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::json::Value;

constexpr inbox::Epoch kEpoch = 0x9f86d081884c7d65;
const inbox::InboxKey kAliceDocs{inbox::Recipient{"alice"}, inbox::Workspace{"docs"}};

std::string body_of(std::string_view key, std::string_view more = "") {
  return R"({"idempotency_key":")" + std::string{key} +
         R"(","recipient":"alice","workspace":"docs","kind":"document.ready","object_id":"d-7")" + std::string{more} +
         "}";
}

class Edge : public ::testing::Test {
 protected:
  /// The response to a request; `auth` empty: without the field.
  Response call(std::string_view method, std::string_view target, std::string_view auth, std::string_view body = {},
                std::string_view more_fields = {}) {
    EdgeCommand command = handle(method, target, auth, body, more_fields);
    if (auto* respond = std::get_if<Respond>(&command)) return std::move(respond->response);
    if (auto* ask = std::get_if<AskStore>(&command)) {
      const auto answers = store->execute(ask->operations, now);
      for (LiveChange& change : live_changes(ask->operations, *answers)) changes.push_back(std::move(change));
      return rest.answer(ask->plan, *answers);
    }
    ADD_FAILURE() << "a stream, not a response";
    return {};
  }
  EdgeCommand handle(std::string_view method, std::string_view target, std::string_view auth,
                     std::string_view body = {}, std::string_view more_fields = {}) {
    std::string text = std::string{method} + " " + std::string{target} + " HTTP/1.1\r\nHost: 127.0.0.1:4580\r\n";
    if (!auth.empty()) text += "Authorization: " + std::string{auth} + "\r\n";
    text += more_fields;
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
    wire::http::RequestParser parser;
    EXPECT_EQ(parser.parse(text), wire::http::Parse::Complete) << text;
    return rest.handle(parser.request(), now, secrets);
  }
  static Value json(const Response& response) {
    auto parsed = wire::json::parse(response.body);
    EXPECT_TRUE(parsed.has_value()) << response.body;
    return parsed ? *std::move(parsed) : Value{};
  }
  static std::string field(const Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers)
      if (key == name) return value;
    return "(none)";
  }
  void expect_problem(const Response& response, int status, std::string_view type, std::string_view detail = "") {
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_EQ(field(response, "Content-Type"), "application/problem+json");
    const Value body = json(response);
    EXPECT_EQ(body.find_string("type"), "urn:fanfare:problem:" + std::string{type});
    EXPECT_EQ(body.find("status")->as_int64(), status);
    EXPECT_FALSE(body.find_string("title")->empty());
    EXPECT_THAT(std::string{body.find_string("detail").value_or("")}, HasSubstr(std::string{detail}));
  }
  std::string create(std::string_view key, std::string_view more = "") {
    const Response response = call("POST", "/v1/notifications", kService, body_of(key, more));
    EXPECT_EQ(response.status, 201) << response.body;
    return std::string{json(response).find_string("id").value_or("")};
  }

  static constexpr std::string_view kService = "Bearer dev-service";
  static constexpr std::string_view kAlice = "Bearer dev:alice:docs,team2";

  Timestamp now = timestamp_from_unix_ms(1'764'500'385'123);
  SeededSecrets secrets{1};
  DevelopmentTokens tokens;
  RestRules rules;
  Rest rest{rules, tokens};
  std::unique_ptr<store::InboxStore> store = store::make_memory_inbox_store(kEpoch);
  std::vector<LiveChange> changes;
};

// ---- creating

TEST_F(Edge, N1CreateAnswers201ThenTheSameIdWith200) {
  const Response first = call("POST", "/v1/notifications", kService, body_of("k1"));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(field(first, "Content-Type"), "application/json");
  const std::string id{*json(first).find_string("id")};
  EXPECT_EQ(first.body, R"({"id":")" + id + R"(","duplicate":false})");
  const Response again = call("POST", "/v1/notifications", kService, body_of("k1"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, R"({"id":")" + id + R"(","duplicate":true})");
}

TEST_F(Edge, N1ARepetitionMayBeSpelledDifferently) {
  create("k1", R"(,"data":{"pages":12,"size":1.10},"created_at":"2025-11-30T12:59:45.123+02:00")");
  const Response again =
      call("POST", "/v1/notifications", kService,
           R"({ "created_at":"2025-11-30T10:59:45.123Z", "recipients":["alice","alice"], "kind":"document.ready",
                                   "object_id":"d-7", "workspace":"docs", "data": { "pages" : 12, "size":1.10 },
                                   "idempotency_key":"k1", "revision":null, "later_member":true })");
  EXPECT_EQ(again.status, 200) << again.body;
}

TEST_F(Edge, N1TheSameKeyWithAnotherBodyIs409) {
  create("k1");
  expect_problem(call("POST", "/v1/notifications", kService, body_of("k1", R"(,"revision":"2")")), 409, "key-conflict",
                 "idempotency_key");
}

TEST_F(Edge, CreateRefusesWrongMembersByName) {
  const struct {
    const char* body;
    const char* type;
    const char* detail;
  } cases[] = {
      {"", "bad-json", "line 1"},
      {"{", "bad-json", "line 1"},
      {"[]", "bad-json", "must be an object, not an array"},
      {"{}", "bad-input", "idempotency_key: is missing"},
      {R"({"idempotency_key":"k"})", "bad-input", "workspace: is missing"},
      {R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o"})", "bad-input", "recipient: "},
      {R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipients":[]})", "bad-input",
       "recipient"},
      {R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipients":"a"})", "bad-input",
       "recipients: must be a list of texts, not a string"},
      {R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipients":["a",true]})", "bad-input",
       "recipients: must be a text, not a boolean"},
      {R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipient":"a","recipients":["a"]})",
       "bad-input", "recipient: must be absent"},
      {R"({"idempotency_key":{},"workspace":"w","kind":"k","object_id":"o","recipient":"a"})", "bad-input",
       "idempotency_key: must be a text, not an object"},
      {R"({"idempotency_key":"","workspace":"w","kind":"k","object_id":"o","recipient":"a"})", "bad-input",
       "idempotency_key: must be a text of at least one character"},
      {R"({"idempotency_key":"k","workspace":"a\nb","kind":"k","object_id":"o","recipient":"a"})", "bad-input",
       "workspace: a control character at byte 1"},
      {R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipient":"a","expires_at":"soon"})",
       "bad-input", "expires_at: must be a time such as"},
      {R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipient":"a","created_at":7})",
       "bad-input", "created_at: must be a time such as"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.body);
    expect_problem(call("POST", "/v1/notifications", kService, one.body), 400, one.type, one.detail);
  }
}

TEST_F(Edge, IntegersCountAsIdentifiers) {
  EXPECT_EQ(
      call(
          "POST", "/v1/notifications", kService,
          R"({"idempotency_key":1,"workspace":2,"kind":"k","object_id":1234567890123456789,"recipient":3,"revision":4})")
          .status,
      201);
  const Response list = call("GET", "/v1/inbox?workspace=2", "Bearer dev:3:2");
  EXPECT_THAT(list.body, HasSubstr(R"("object_id":"1234567890123456789","revision":"4")"));
}

TEST_F(Edge, TooManyRecipientsAre413) {
  std::string recipients;
  for (std::size_t i = 0; i <= inbox::kRecipientsMax; ++i)
    recipients += (i ? ",\"p" : "\"p") + std::to_string(i) + "\"";
  expect_problem(
      call("POST", "/v1/notifications", kService,
           R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipients":[)" + recipients + "]}"),
      413, "too-many-entries", "1001 entries, at most 1000");
}

TEST_F(Edge, SeveralRecipientsGetItemsWithIdsOfTheirOwn) {
  const Response response =
      call("POST", "/v1/notifications", kService,
           R"({"idempotency_key":"k","workspace":"docs","kind":"k","object_id":"o","recipients":["bob","alice"]})");
  ASSERT_EQ(response.status, 201);
  const std::string shared{*json(response).find_string("id")};
  const auto item_id = [&](std::string_view auth) {
    return std::string{
        *json(call("GET", "/v1/inbox?workspace=docs", auth)).find("items")->items()[0].find_string("id")};
  };
  EXPECT_NE(item_id(kAlice), shared);
  EXPECT_NE(item_id(kAlice), item_id("Bearer dev:bob:docs"));
}

TEST_F(Edge, ABatchAnswersEachEntryAtItsPlace) {
  const Response response =
      call("POST", "/v1/notifications/batch", kService,
           R"({"notifications":[)" + body_of("k1") + "," + body_of("k1") + "," + body_of("k1", R"(,"revision":"2")") +
               R"(,{"idempotency_key":"k2"},7,)" + body_of("k3") + "]}");
  ASSERT_EQ(response.status, 200) << response.body;
  const Value body = json(response);
  const auto results = body.find("results")->items();
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results[0].find("duplicate")->as_bool(), false);
  EXPECT_EQ(results[1].find("duplicate")->as_bool(), true);
  EXPECT_EQ(results[1].find_string("id"), results[0].find_string("id"));
  EXPECT_EQ(results[2].find("error")->find_string("type"), "urn:fanfare:problem:key-conflict");
  EXPECT_EQ(results[3].find("error")->find_string("type"), "urn:fanfare:problem:bad-input");
  EXPECT_EQ(results[3].find("error")->find_string("detail"), "workspace: is missing; a text is needed");
  EXPECT_EQ(results[4].find("error")->find_string("type"), "urn:fanfare:problem:bad-input");
  EXPECT_EQ(results[5].find("duplicate")->as_bool(), false);
}

TEST_F(Edge, ABatchHasLimits) {
  const auto batch = [](std::size_t entries, const std::string& entry) {
    std::string out = R"({"notifications":[)";
    for (std::size_t i = 0; i < entries; ++i) out += (i ? "," : "") + entry;
    return out + "]}";
  };
  EXPECT_EQ(call("POST", "/v1/notifications/batch", kService, batch(1000, "7")).status, 200);
  expect_problem(call("POST", "/v1/notifications/batch", kService, batch(1001, "7")), 413, "too-many-entries",
                 "1001 entries, at most 1000");
  expect_problem(call("POST", "/v1/notifications/batch", kService, "{}"), 400, "bad-input",
                 "notifications: must be a list");
  EXPECT_EQ(call("POST", "/v1/notifications/batch", kService, batch(0, "")).body, R"({"results":[]})");
  std::string people;
  for (int i = 0; i < 1000; ++i) people += (i ? ",\"p" : "\"p") + std::to_string(i) + "\"";
  const std::string wide =
      R"({"idempotency_key":"k","workspace":"w","kind":"k","object_id":"o","recipients":[)" + people + "]}";
  EXPECT_EQ(call("POST", "/v1/notifications/batch", kService, batch(10, wide)).status, 200);
  expect_problem(call("POST", "/v1/notifications/batch", kService, batch(11, wide)), 413, "too-many-entries", "10000");
}

// ---- reading

TEST_F(Edge, ListShowsItemsInSequenceOrder) {
  const std::string id = create("k1", R"(,"revision":"3","data":{"pages":12,"big":12345678901234567890})");
  create("k2");
  const Response response = call("GET", "/v1/inbox?workspace=docs", kAlice);
  EXPECT_EQ(response.status, 200);
  const std::string cursor = inbox::Cursor{kEpoch, inbox::scope_of(kAliceDocs), 2}.text();
  const std::string second{*json(response).find("items")->items()[1].find_string("id")};
  EXPECT_EQ(response.body,
            R"({"items":[{"id":")" + id +
                R"(","sequence":1,"workspace":"docs","kind":"document.ready","object_id":"d-7","revision":"3",)"
                R"("data":{"pages":12,"big":12345678901234567890},"created_at":"2025-11-30T10:59:45.123Z",)"
                R"("seen":false,"read":false,"archived":false},{"id":")" +
                second +
                R"(","sequence":2,"workspace":"docs","kind":"document.ready","object_id":"d-7","revision":null,)"
                R"("data":null,"created_at":"2025-11-30T10:59:45.123Z","seen":false,"read":false,"archived":false}],)"
                R"("cursor":")" +
                cursor + R"(","unread_count":2,"reset":false,"more":false})");
}

TEST_F(Edge, ListPagesWithCursorAndLimit) {
  for (int i = 1; i <= 3; ++i) create("k" + std::to_string(i));
  Value page = json(call("GET", "/v1/inbox?workspace=docs&limit=2", kAlice));
  EXPECT_EQ(page.find("items")->size(), 2u);
  EXPECT_EQ(page.find("more")->as_bool(), true);
  page =
      json(call("GET", "/v1/inbox?workspace=docs&limit=2&after=" + std::string{*page.find_string("cursor")}, kAlice));
  ASSERT_EQ(page.find("items")->size(), 1u);
  EXPECT_EQ(page.find("items")->items()[0].find("sequence")->as_int64(), 3);
  EXPECT_EQ(page.find("more")->as_bool(), false);
  EXPECT_EQ(page.find("unread_count")->as_int64(), 3) << "of the inbox, not of the page";
}

TEST_F(Edge, ListAcknowledgesWhatItShows) {
  create("k1");
  call("GET", "/v1/inbox?workspace=docs", kAlice);
  const std::vector<inbox::Operation> stats{inbox::ReadStats{}};
  EXPECT_EQ(std::get<inbox::Stats>(store->execute(stats, now)->front()).pending, 0u);
}

TEST_F(Edge, ListFilters) {
  const std::string first = create("k1");
  create("k2");
  call("POST", "/v1/inbox/read", kAlice, R"({"ids":[")" + first + R"("]})");
  const auto size = [&](std::string_view query) {
    return json(call("GET", "/v1/inbox?workspace=docs" + std::string{query}, kAlice)).find("items")->size();
  };
  EXPECT_EQ(size(""), 2u);
  EXPECT_EQ(size("&unread=true"), 1u);
  EXPECT_EQ(size("&unread"), 1u);
  EXPECT_EQ(size("&unread=false"), 2u);
  EXPECT_EQ(size("&kind=document.ready"), 2u);
  EXPECT_EQ(size("&kind=other"), 0u);
  call("POST", "/v1/inbox/archive", kAlice, R"({"ids":[")" + first + R"("]})");
  EXPECT_EQ(size(""), 1u);
  EXPECT_EQ(size("&archived=true"), 2u);
}

TEST_F(Edge, ListRefusesWrongParameters) {
  for (const char* query :
       {"limit=0", "limit=201", "limit=x", "limit=", "limit=-1", "limit=5x", "limit=99999999999999999999"})
    expect_problem(call("GET", "/v1/inbox?workspace=docs&" + std::string{query}, kAlice), 400, "bad-input",
                   "limit: must be a number from 1 to 200");
  expect_problem(call("GET", "/v1/inbox?workspace=docs&unread=maybe", kAlice), 400, "bad-input",
                 "unread: must be true or false");
  expect_problem(call("GET", "/v1/inbox", kAlice), 400, "bad-input", "workspace: is missing");
  expect_problem(call("GET", "/v1/inbox?workspace=", kAlice), 400, "bad-input", "workspace: ");
  expect_problem(call("GET", "/v1/inbox?workspace=%zz", kAlice), 400, "bad-input", "without two hexadecimal digits");
}

TEST_F(Edge, N7AnUnknownCursorResets) {
  create("k1");
  for (const char* after : {"nonsense", "0000000000000001-00000000-1", "%20"}) {
    const Value page = json(call("GET", "/v1/inbox?workspace=docs&after=" + std::string{after}, kAlice));
    EXPECT_EQ(page.find("reset")->as_bool(), true) << after;
    EXPECT_EQ(page.find("items")->size(), 1u) << after;
  }
  EXPECT_EQ(json(call("GET", "/v1/inbox?workspace=docs&after=", kAlice)).find("reset")->as_bool(), false);
}

TEST_F(Edge, N6CountsReadSeenAndReadAll) {
  const std::string first = create("k1");
  create("k2");
  create("k3");
  EXPECT_EQ(call("GET", "/v1/inbox/counts?workspace=docs", kAlice).body, R"({"unread":3,"unseen":3})");
  EXPECT_EQ(call("POST", "/v1/inbox/read", kAlice, R"({"ids":[")" + first + R"("]})").body,
            R"({"changed":1,"unread_count":2,"unread_counts":{"docs":2}})");
  EXPECT_EQ(call("POST", "/v1/inbox/acknowledge", kAlice, R"({"ids":[")" + first + R"("]})").body,
            R"({"changed":0,"unread_count":2,"unread_counts":{"docs":2}})");
  const std::string up_to = inbox::Cursor{kEpoch, inbox::scope_of(kAliceDocs), 2}.text();
  EXPECT_EQ(call("POST", "/v1/inbox/seen", kAlice, R"({"workspace":"docs","up_to":")" + up_to + R"("})").body,
            R"({"changed":2,"unread_count":2,"unread_counts":{"docs":2}})");
  EXPECT_EQ(call("GET", "/v1/inbox/counts?workspace=docs", kAlice).body, R"({"unread":2,"unseen":1})");
  EXPECT_EQ(call("POST", "/v1/inbox/read-all", kAlice, R"({"workspace":"docs","up_to":")" + up_to + R"("})").body,
            R"({"changed":1,"unread_count":1,"unread_counts":{"docs":1}})");
  EXPECT_EQ(call("POST", "/v1/inbox/read", kAlice, R"({"ids":[]})").body,
            R"({"changed":0,"unread_count":0,"unread_counts":{}})");
}

TEST_F(Edge, MarkingTellsTheSumOverWorkspaces) {
  const std::string here = create("k1");
  Response other =
      call("POST", "/v1/notifications", kService,
           R"({"idempotency_key":"k2","recipient":"alice","workspace":"team2","kind":"k","object_id":"o"})");
  const std::string there{*json(other).find_string("id")};
  create("k3");
  EXPECT_EQ(call("POST", "/v1/inbox/read", kAlice, R"({"ids":[")" + there + R"(",")" + here + R"("]})").body,
            R"({"changed":2,"unread_count":1,"unread_counts":{"docs":1,"team2":0}})");
}

TEST_F(Edge, MarkingRefusesWrongBodies) {
  for (const char* path : {"/v1/inbox/read", "/v1/inbox/archive", "/v1/inbox/acknowledge"}) {
    SCOPED_TRACE(path);
    expect_problem(call("POST", path, kAlice, "nonsense"), 400, "bad-json");
    expect_problem(call("POST", path, kAlice, "{}"), 400, "bad-input", "ids: must be a list");
    expect_problem(call("POST", path, kAlice, R"({"ids":["8f2c1d0e-5a63-4f7e-9c1b-2d3e4f506172","nope"]})"), 400,
                   "bad-input", "ids: entry 1");
    expect_problem(call("POST", path, kAlice, R"({"ids":[7]})"), 400, "bad-input", "ids: entry 0");
    std::string many = "{\"ids\":[";
    for (int i = 0; i < 1001; ++i) many += i ? ",1" : "1";
    expect_problem(call("POST", path, kAlice, many + "]}"), 413, "too-many-entries", "1001 entries, at most 1000");
  }
  for (const char* path : {"/v1/inbox/read-all", "/v1/inbox/seen"}) {
    SCOPED_TRACE(path);
    expect_problem(call("POST", path, kAlice, R"({"workspace":"docs"})"), 400, "bad-input", "up_to");
    expect_problem(call("POST", path, kAlice, R"({"up_to":"x"})"), 400, "bad-input", "workspace");
    expect_problem(call("POST", path, kAlice, R"({"workspace":"docs","up_to":"nonsense"})"), 400, "unknown-cursor");
    const std::string ahead = inbox::Cursor{kEpoch, inbox::scope_of(kAliceDocs), 9}.text();
    expect_problem(call("POST", path, kAlice, R"({"workspace":"docs","up_to":")" + ahead + R"("})"), 400,
                   "unknown-cursor");
  }
}

// ---- who may

TEST_F(Edge, NoTokenIs401OnEveryCall) {
  for (const auto& [method, path] :
       std::vector<std::pair<const char*, const char*>>{{"POST", "/v1/notifications"},
                                                        {"POST", "/v1/notifications/batch"},
                                                        {"GET", "/v1/inbox?workspace=docs"},
                                                        {"GET", "/v1/inbox/counts?workspace=docs"},
                                                        {"POST", "/v1/inbox/read"},
                                                        {"POST", "/v1/inbox/archive"},
                                                        {"POST", "/v1/inbox/acknowledge"},
                                                        {"POST", "/v1/inbox/read-all"},
                                                        {"POST", "/v1/inbox/seen"},
                                                        {"GET", "/v1/events?workspace=docs"},
                                                        {"PUT", "/v1/presence"},
                                                        {"POST", "/v1/signals"}}) {
    SCOPED_TRACE(path);
    const Response response = call(method, path, "");
    expect_problem(response, 401, "no-token");
    EXPECT_EQ(field(response, "WWW-Authenticate"), "Bearer");
    expect_problem(call(method, path, "Bearer nonsense"), 401, "bad-token");
    expect_problem(call(method, path, "Basic YWxpY2U6eA=="), 401, "bad-token");
  }
}

TEST_F(Edge, AWorkspaceThatTheTokenDoesNotNameIs403) {
  expect_problem(call("GET", "/v1/inbox?workspace=secret", kAlice), 403, "workspace-not-allowed");
  expect_problem(call("GET", "/v1/inbox/counts?workspace=secret", kAlice), 403, "workspace-not-allowed");
  expect_problem(call("GET", "/v1/events?workspace=secret", kAlice), 403, "workspace-not-allowed");
  expect_problem(call("POST", "/v1/inbox/seen", kAlice, R"({"workspace":"secret","up_to":"x"})"), 403,
                 "workspace-not-allowed");
}

TEST_F(Edge, AMissingScopeIs403) {
  expect_problem(call("POST", "/v1/notifications", kAlice, body_of("k")), 403, "scope-not-allowed", "notify");
  expect_problem(call("POST", "/v1/notifications/batch", kAlice, "{}"), 403, "scope-not-allowed", "notify");
  expect_problem(call("GET", "/v1/inbox?workspace=docs", kService), 403, "scope-not-allowed", "person");
  expect_problem(call("POST", "/v1/inbox/read", kService, "{}"), 403, "scope-not-allowed", "person");
}

TEST_F(Edge, NobodyTouchesAnotherPersonsItems) {
  const std::string alices = create("k1");
  EXPECT_EQ(call("POST", "/v1/inbox/read", "Bearer dev:bob:docs", R"({"ids":[")" + alices + R"("]})").body,
            R"({"changed":0,"unread_count":0,"unread_counts":{}})");
  EXPECT_EQ(call("POST", "/v1/inbox/read", "Bearer dev:alice:team2", R"({"ids":[")" + alices + R"("]})").body,
            R"({"changed":0,"unread_count":0,"unread_counts":{}})");
  EXPECT_EQ(json(call("GET", "/v1/inbox?workspace=docs", "Bearer dev:bob:docs")).find("items")->size(), 0u);
}

TEST(DevelopmentTokens, AreReadAsWritten) {
  const DevelopmentTokens tokens;
  const auto verify = [&](std::string_view token) { return tokens.verify(token, Timestamp{}); };
  EXPECT_TRUE(verify("dev-service")->may_notify);
  EXPECT_EQ(verify("dev-service")->person, std::nullopt);
  const auto alice = verify("dev:alice:docs,team2");
  ASSERT_TRUE(alice.has_value());
  EXPECT_EQ(alice->person, inbox::Recipient{"alice"});
  EXPECT_THAT(alice->workspaces, ElementsAre(inbox::Workspace{"docs"}, inbox::Workspace{"team2"}));
  EXPECT_FALSE(alice->may_notify);
  EXPECT_THAT(verify("dev:alice")->workspaces, IsEmpty());
  EXPECT_THAT(verify("dev:alice:")->workspaces, IsEmpty());
  EXPECT_THAT(verify("dev:alice:a:b")->workspaces, ElementsAre(inbox::Workspace{"a:b"}));
  for (const char* bad :
       {"", "dev", "dev:", "dev::docs", "dev:a:,b", "Dev:alice:docs", "dev-service2", "dev:a\x01:docs"})
    EXPECT_EQ(verify(bad).error(), TokenError::Unreadable) << bad;
}

// ---- paths, methods, origins, sizes

TEST_F(Edge, UnknownPathsAndMethodsAreTold) {
  expect_problem(call("GET", "/v1/nothing", kAlice), 404, "not-found", "/v1/nothing");
  expect_problem(call("GET", "/v1", kAlice), 404, "not-found");
  const Response response = call("DELETE", "/v1/inbox", kAlice);
  expect_problem(response, 405, "method-not-allowed");
  EXPECT_EQ(field(response, "Allow"), "GET, OPTIONS");
  EXPECT_TRUE(Rest::owns("/v1/nothing"));
  EXPECT_TRUE(Rest::owns("/v1"));
  EXPECT_FALSE(Rest::owns("/v10"));
  EXPECT_FALSE(Rest::owns("/graphql"));
}

TEST_F(Edge, PresenceAndSignalsAre501UntilTheyAreThere) {
  for (const auto& [method, path] :
       std::vector<std::pair<const char*, const char*>>{{"PUT", "/v1/presence"},
                                                        {"GET", "/v1/presence?workspace=docs"},
                                                        {"DELETE", "/v1/presence"},
                                                        {"POST", "/v1/signals"}})
    expect_problem(call(method, path, kAlice, "{}"), 501, "not-implemented", path[4] == 'p' ? "presence" : "signals");
}

TEST_F(Edge, ABodyBeyondTheLimitIs413) {
  rest = Rest{{.development = true, .allowed_origins = {}, .body_bytes_max = 100}, tokens};
  EXPECT_EQ(call("POST", "/v1/notifications", kService, std::string(100, ' ')).status, 400);
  expect_problem(call("POST", "/v1/notifications", kService, std::string(101, ' ')), 413, "body-too-large",
                 "at most 100");
}

TEST_F(Edge, StorageThatFailsIs503) {
  const Response response = rest.storage_failed({}, "COMMIT: database or disk is full");
  expect_problem(response, 503, "storage-unavailable", "disk is full");
  EXPECT_EQ(field(response, "Retry-After"), "1");
}

TEST_F(Edge, CorsAllowsLoopbackPagesInDevelopment) {
  for (const char* origin : {"http://localhost:5173", "http://127.0.0.1:3000", "https://[::1]:8443"}) {
    const Response response =
        call("GET", "/v1/inbox/counts?workspace=docs", kAlice, {}, "Origin: " + std::string{origin} + "\r\n");
    EXPECT_EQ(response.status, 200) << origin;
    EXPECT_EQ(field(response, "Access-Control-Allow-Origin"), origin);
    EXPECT_EQ(field(response, "Vary"), "Origin");
  }
  for (const char* origin :
       {"https://evil.example", "http://localhost.evil.example", "null", "http://127.0.0.1.evil.example"})
    expect_problem(
        call("GET", "/v1/inbox/counts?workspace=docs", kAlice, {}, "Origin: " + std::string{origin} + "\r\n"), 403,
        "origin-not-allowed");
  EXPECT_EQ(field(call("GET", "/v1/inbox/counts?workspace=docs", kAlice), "Access-Control-Allow-Origin"), "(none)");
}

TEST_F(Edge, CorsOutsideDevelopmentGoesByConfiguration) {
  rest = Rest{{.development = false, .allowed_origins = {"https://app.example.com"}}, tokens};
  const auto status = [&](std::string_view origin) {
    return call("GET", "/v1/inbox/counts?workspace=docs", kAlice, {}, "Origin: " + std::string{origin} + "\r\n").status;
  };
  EXPECT_EQ(status("https://app.example.com"), 200);
  EXPECT_EQ(status("http://localhost:5173"), 403);
  EXPECT_EQ(status("http://127.0.0.1:4580"), 200) << "a page of this server itself";
  rest = Rest{{.development = false, .allowed_origins = {"*"}}, tokens};
  EXPECT_EQ(status("https://anything.example"), 200);
}

TEST_F(Edge, PreflightNeedsNoToken) {
  const Response response = call("OPTIONS", "/v1/inbox/read", "", {},
                                 "Origin: http://localhost:5173\r\nAccess-Control-Request-Method: POST\r\n"
                                 "Access-Control-Request-Headers: authorization, content-type\r\n");
  EXPECT_EQ(response.status, 204);
  EXPECT_EQ(field(response, "Access-Control-Allow-Origin"), "http://localhost:5173");
  EXPECT_EQ(field(response, "Access-Control-Allow-Methods"), "POST, OPTIONS");
  EXPECT_THAT(field(response, "Access-Control-Allow-Headers"), HasSubstr("Authorization"));
  EXPECT_EQ(call("OPTIONS", "/v1/inbox/read", "", {}, "Origin: https://evil.example\r\n").status, 403);
}

TEST_F(Edge, ProblemsCarryCorsToo) {
  const Response response = call("GET", "/v1/inbox", "", {}, "Origin: http://localhost:5173\r\n");
  EXPECT_EQ(field(response, "Access-Control-Allow-Origin"), "http://localhost:5173");
}

// ---- events

TEST_F(Edge, EventsOpenWithTokenInHeaderOrQuery) {
  auto command = handle("GET", "/v1/events?workspace=docs", kAlice);
  ASSERT_TRUE(std::holds_alternative<OpenEvents>(command));
  EXPECT_EQ(std::get<OpenEvents>(command).inbox, kAliceDocs);
  EXPECT_EQ(std::get<OpenEvents>(command).after, std::nullopt);
  command = handle("GET", "/v1/events?workspace=docs&access_token=dev:alice:docs", "");
  ASSERT_TRUE(std::holds_alternative<OpenEvents>(command));
  EXPECT_EQ(std::get<OpenEvents>(command).caller.person, inbox::Recipient{"alice"});
  expect_problem(call("GET", "/v1/inbox?workspace=docs&access_token=dev:alice:docs", ""), 401, "no-token");
  Response head;
  head.headers = std::get<OpenEvents>(command).headers;
  EXPECT_EQ(field(head, "Content-Type"), "text/event-stream");
}

TEST_F(Edge, EventsResumeByHeaderFirstThenQuery) {
  const inbox::Cursor one{kEpoch, 5, 1};
  const inbox::Cursor two{kEpoch, 5, 2};
  const auto after = [&](std::string_view query, std::string_view fields) {
    const auto command = handle("GET", "/v1/events?workspace=docs" + std::string{query}, kAlice, {}, fields);
    return std::get<OpenEvents>(command).after;
  };
  EXPECT_EQ(after("", "Last-Event-ID: " + one.text() + "\r\n"), one);
  EXPECT_EQ(after("&last_event_id=" + one.text(), ""), one);
  EXPECT_EQ(after("&last_event_id=" + one.text(), "Last-Event-ID: " + two.text() + "\r\n"), two);
  EXPECT_EQ(after("&last_event_id=" + one.text(), "Last-Event-ID: \r\n"), one);
  EXPECT_EQ(after("", "Last-Event-ID: nonsense\r\n"), inbox::Cursor{}) << "unknown, not absent";
}

/// Runs what sessions want until nothing is left, and gathers what each connection gets.
class EdgeEvents : public Edge {
 protected:
  void run(std::vector<SessionAction> actions) {
    while (!actions.empty()) {
      std::vector<SessionAction> next;
      for (SessionAction& action : actions) {
        if (auto* write = std::get_if<SessionWrite>(&action)) {
          written[write->session] += write->text;
          continue;
        }
        const auto& ask = std::get<SessionAsk>(action);
        const std::vector<inbox::Operation> operations{ask.operation};
        for (auto& more : sessions.on_answer(ask.session, store->execute(operations, now)->front()))
          next.push_back(std::move(more));
      }
      actions = std::move(next);
    }
  }
  void open(SessionId id, std::optional<inbox::Cursor> after = {}) { run(sessions.open(id, kAliceDocs, after)); }
  void deliver() {
    for (const LiveChange& change : std::exchange(changes, {})) run(sessions.on_change(change));
  }
  /// "notification 3", "count 3/2", "reset 0": the number after each is the cursor's sequence.
  std::vector<std::string> told(SessionId id) {
    std::vector<std::string> out;
    std::string text = std::exchange(written[id], {});
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = text.find("\n\n", at);
      const std::string event = text.substr(at, end - at);
      at = end + 2;
      const auto line = [&](std::string_view name) {
        const std::size_t from = event.find(std::string{name} + ": ");
        return from == std::string::npos
                   ? ""
                   : event.substr(from + name.size() + 2, event.find('\n', from) - from - name.size() - 2);
      };
      const auto cursor = inbox::Cursor::parse(line("id"));
      EXPECT_TRUE(cursor.has_value()) << event;
      const auto data = wire::json::parse(line("data"));
      EXPECT_TRUE(data.has_value()) << event;
      std::string what = line("event");
      if (what == "count")
        what += " " + std::to_string(*data->find("unread")->as_int64()) + "/" +
                std::to_string(*data->find("unseen")->as_int64());
      if (what == "notification") what += " " + std::to_string(*data->find("sequence")->as_int64());
      out.push_back(what + "@" + std::to_string(cursor->sequence));
    }
    return out;
  }
  EventSessions sessions;
  std::map<SessionId, std::string> written;
};

TEST_F(EdgeEvents, N7UnreadThenLiveInOneStream) {
  create("k1");
  const std::string second = create("k2");
  call("POST", "/v1/inbox/read", kAlice, R"({"ids":[")" + second + R"("]})");
  changes.clear();
  open(1);
  EXPECT_THAT(told(1), ElementsAre("notification 1@1", "count 1/2@2"));
  create("k3");
  deliver();
  EXPECT_THAT(told(1), ElementsAre("notification 3@3", "count 2/3@3"));
  call("POST", "/v1/inbox/read", kAlice, R"({"ids":[")" + second + R"("]})");
  deliver();
  EXPECT_THAT(told(1), IsEmpty()) << "nothing changed";
}

TEST_F(EdgeEvents, N7AnEmptyInboxSaysSomethingAtOnce) {
  open(1);
  EXPECT_THAT(told(1), ElementsAre("count 0/0@0"));
}

TEST_F(EdgeEvents, N7WhatIsCreatedBetweenOpeningAndTheAnswersIsSentOnce) {
  create("k1");
  changes.clear();
  auto actions = sessions.open(1, kAliceDocs, {});
  create("k2");
  deliver();
  run(std::move(actions));
  create("k3");
  deliver();
  EXPECT_THAT(told(1),
              ElementsAre("notification 1@1", "notification 2@2", "count 2/2@2", "notification 3@3", "count 3/3@3"));
}

TEST_F(EdgeEvents, N7ResumesAfterTheCursorAndResetsOnAnUnknownOne) {
  for (int i = 1; i <= 3; ++i) create("k" + std::to_string(i));
  open(1, inbox::Cursor{kEpoch, inbox::scope_of(kAliceDocs), 2});
  EXPECT_THAT(told(1), ElementsAre("notification 3@3", "count 3/3@3"));
  open(2, inbox::Cursor{});
  EXPECT_THAT(told(2),
              ElementsAre("reset@0", "notification 1@1", "notification 2@2", "notification 3@3", "count 3/3@3"));
}

TEST_F(EdgeEvents, AReplayDoesNotAcknowledge) {
  create("k1");
  open(1);
  const std::vector<inbox::Operation> stats{inbox::ReadStats{}};
  EXPECT_EQ(std::get<inbox::Stats>(store->execute(stats, now)->front()).pending, 1u);
}

TEST_F(EdgeEvents, EachSessionGetsItsOwnInboxOnly) {
  open(1);
  open(2);
  run(sessions.open(3, {inbox::Recipient{"bob"}, inbox::Workspace{"docs"}}, {}));
  written.clear();
  EXPECT_EQ(sessions.watchers(kAliceDocs), 2u);
  create("k1");
  deliver();
  EXPECT_THAT(told(1), ElementsAre("notification 1@1", "count 1/1@1"));
  EXPECT_THAT(told(2), ElementsAre("notification 1@1", "count 1/1@1"));
  EXPECT_THAT(told(3), IsEmpty());
  sessions.close(1);
  sessions.close(1);
  EXPECT_EQ(sessions.watchers(kAliceDocs), 1u);
  EXPECT_THAT(sessions.on_answer(1, inbox::Head{}), IsEmpty()) << "an answer that came too late";
  create("k2");
  deliver();
  EXPECT_THAT(told(1), IsEmpty());
  EXPECT_THAT(told(2), ElementsAre("notification 2@2", "count 2/2@2"));
}

TEST_F(EdgeEvents, TheTextIsAnItemAsInAList) {
  create("k1");
  open(1);
  const std::string item = call("GET", "/v1/inbox?workspace=docs", kAlice).body;
  const std::string cursor = inbox::Cursor{kEpoch, inbox::scope_of(kAliceDocs), 1}.text();
  const std::string expected =
      "id: " + cursor + "\nevent: notification\ndata: " + item.substr(10, item.find(']') - 10) + "\n\n";
  EXPECT_THAT(written[1], HasSubstr(expected));
  EXPECT_EQ(keep_alive_comment(), ":\n\n");
}

// ---- messages of inbox queues

TEST(NotificationMessage, IsTheBodyRawOrInAnSnsEnvelope) {
  const auto raw = parse_notification_message(body_of("k1", R"(,"data":{"a":"é"})"));
  ASSERT_TRUE(raw.has_value());
  EXPECT_EQ(raw->key, inbox::IdempotencyKey{"k1"});
  const Value envelope = Value::object({{"Type", Value::string("Notification")},
                                        {"MessageId", Value::string("m")},
                                        {"Message", Value::string(body_of("k1", R"(,"data":{"a":"é"})"))}});
  const auto enveloped = parse_notification_message(envelope.to_string());
  ASSERT_TRUE(enveloped.has_value());
  EXPECT_EQ(*enveloped, *raw);
}

TEST(NotificationMessage, SaysWhatIsWrong) {
  const auto fault = [](std::string_view body) { return parse_notification_message(body).error().fault; };
  EXPECT_EQ(fault("plain"), inbox::InputFault::NotJson);
  EXPECT_EQ(fault("[]"), inbox::InputFault::NotJson);
  EXPECT_EQ(fault("{}"), inbox::InputFault::Missing);
  EXPECT_EQ(fault(R"({"Type":"Notification"})"), inbox::InputFault::Missing);
  EXPECT_EQ(fault(R"({"Type":"Notification","Message":"plain"})"), inbox::InputFault::NotJson);
  EXPECT_EQ(fault(R"({"Type":"Notification","Message":"{}"})"), inbox::InputFault::Missing);
}

// ---- problems

TEST(Problem, TypesAreDistinctAndStable) {
  std::set<std::string_view> uris;
  for (int i = 0; i <= static_cast<int>(ProblemType::StorageUnavailable); ++i) {
    const auto type = static_cast<ProblemType>(i);
    EXPECT_TRUE(uris.insert(type_uri(type)).second) << type_uri(type);
    EXPECT_EQ(type_uri(type).substr(0, 20), "urn:fanfare:problem:");
    EXPECT_GE(status_of(type), 400);
    EXPECT_FALSE(title_of(type).empty());
  }
  EXPECT_EQ(
      problem_body(ProblemType::BadInput, "limit: must be a number from 1 to 200"),
      R"({"type":"urn:fanfare:problem:bad-input","title":"A member or parameter is missing or wrong","status":400,)"
      R"("detail":"limit: must be a number from 1 to 200"})");
}

}  // namespace
}  // namespace fanfare::edge
