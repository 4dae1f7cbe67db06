// The HTTP client against a tiny server on our own loop. TLS: http_client_tls_test.cpp.

#include "net/http_client.h"

#include <gtest/gtest.h>

#include "base/marks.h"
#include "net/http_test_server.h"

namespace fanfare::net {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using testing::HttpClientTest;
using testing::kPatience;
using testing::Outcome;
using testing::TinyServer;

TEST_F(HttpClientTest, GetsStatusHeadersAndBody) {
  TinyServer server;
  server.answer = [](const TinyServer::Seen& seen) {
    const std::string body = seen.method + " " + seen.target + " " + seen.body;
    return "HTTP/1.1 404 Not Found\r\nX-One: 1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  server.start();
  HttpClient client{context.get_executor()};
  HttpRequest request = server.request("POST", "/a?b=c");
  request.body = "payload";
  const Outcome outcome = run(client, std::move(request));
  ASSERT_TRUE(outcome) << outcome.error().detail;
  EXPECT_EQ(outcome->status, 404);
  EXPECT_EQ(outcome->reason, "Not Found");
  EXPECT_EQ(outcome->header("x-one"), "1");
  EXPECT_EQ(outcome->header("x-two"), "");
  EXPECT_EQ(outcome->body, "POST /a?b=c payload");
  EXPECT_EQ(server.seen.at(0).host, server.address.str());
}

TEST_F(HttpClientTest, AHostFieldOfTheRequestReplacesTheOrigins) {
  TinyServer server;
  server.start();
  HttpClient client{context.get_executor()};
  HttpRequest request = server.request();
  request.headers = {{"host", "queue.example"}, {"content-length", "99"}};
  ASSERT_TRUE(run(client, std::move(request)));
  EXPECT_EQ(server.seen.at(0).host, "queue.example");
}

TEST_F(HttpClientTest, KeepsConnectionsAlive) {
  TinyServer server;
  server.start();
  HttpClient client{context.get_executor()};
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = run(client, server.request());
    ASSERT_TRUE(outcome) << outcome.error().detail;
    EXPECT_EQ(outcome->body, "hello");
  }
  EXPECT_EQ(server.accepted_count(), 1u);
  EXPECT_EQ(client.statistics().connections_opened, 1u);
  EXPECT_EQ(client.statistics().connections_reused, 4u);
  client.close_idle();
  (void)server.closed_event(0);
  ASSERT_TRUE(run(client, server.request()));
  EXPECT_EQ(client.statistics().connections_opened, 2u);
}

TEST_F(HttpClientTest, DoesNotReuseWhatTheServerWillClose) {
  TinyServer server;
  server.close_after_answer = true;
  server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"; };
  server.start();
  HttpClient client{context.get_executor()};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(client, server.request())->body, "ok");
  EXPECT_EQ(client.statistics().connections_opened, 3u);
}

TEST_F(HttpClientTest, ReadsEveryFraming) {
  TinyServer server;
  server.answer = [&server](const TinyServer::Seen& seen) -> std::string {
    if (seen.target == "/chunked")
      return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: t\r\n\r\n";
    if (seen.target == "/none") return "HTTP/1.1 204 No Content\r\n\r\n";
    if (seen.target == "/head") return "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    if (seen.target == "/interim")
      return "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    server.loop->close(seen.connection, After::Flush);
    (void)server.loop->send(seen.connection, "");
    return "";
  };
  server.start();
  HttpClient client{context.get_executor()};
  EXPECT_EQ(run(client, server.request("GET", "/chunked"))->body, "abcde");
  EXPECT_EQ(run(client, server.request("GET", "/none"))->status, 204);
  EXPECT_EQ(run(client, server.request("HEAD", "/head"))->body, "");
  EXPECT_EQ(run(client, server.request("GET", "/interim"))->body, "ok");
  EXPECT_EQ(client.statistics().connections_opened, 1u) << "all of them keep the connection";
}

TEST_F(HttpClientTest, ABodyMayEndWithTheConnection) {
  TinyServer server;
  server.close_after_answer = true;
  server.answer = [](const auto&) { return "HTTP/1.0 200 OK\r\n\r\nuntil the end"; };
  server.start();
  HttpClient client{context.get_executor()};
  EXPECT_EQ(run(client, server.request())->body, "until the end");
}

TEST_F(HttpClientTest, MegabytesBothWays) {
  TinyServer server;
  server.answer = [](const TinyServer::Seen& seen) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(seen.body.size()) + "\r\n\r\n" + seen.body;
  };
  server.start();
  HttpClient client{context.get_executor()};
  HttpRequest request = server.request("POST");
  request.body = testing::pattern(6 << 20);
  const std::string expected = request.body;
  const Outcome outcome = run(client, std::move(request));
  ASSERT_TRUE(outcome) << outcome.error().detail;
  EXPECT_TRUE(outcome->body == expected);
}

// ---- Errors

TEST_F(HttpClientTest, RefusedConnectionsAreConnectErrors) {
  SocketAddress address;
  { address = testing::Server{LoopKind::Epoll}.address; }  // nobody listens there any more
  HttpClient client{context.get_executor()};
  HttpRequest request;
  request.origin = {false, "127.0.0.1", address.port};
  const Outcome outcome = run(client, std::move(request));
  EXPECT_EQ(error_of(outcome), HttpError::Connect);
  EXPECT_EQ(outcome.error().detail, "connecting to " + address.str() + ": Connection refused");
  EXPECT_FALSE(outcome.error().maybe_executed);
}

TEST_F(HttpClientTest, UnknownHostsAreResolveErrors) {
  HttpClient client{context.get_executor()};
  HttpRequest request;
  request.origin.host = std::string(300, 'a');  // longer than any name: fails without asking a name server
  EXPECT_EQ(error_of(run(client, std::move(request))), HttpError::Resolve);
}

TEST_F(HttpClientTest, NamesAreResolved) {
  TinyServer server;
  server.start();
  HttpClient client{context.get_executor()};
  HttpRequest request = server.request();
  request.origin.host = "localhost";
  const Outcome outcome = run(client, std::move(request));
  ASSERT_TRUE(outcome) << outcome.error().detail;
  EXPECT_EQ(server.seen.at(0).host, "localhost:" + std::to_string(server.address.port));
}

TEST_F(HttpClientTest, ForbiddenAddressesAreNotConnectedTo) {
  TinyServer server;
  server.start();
  HttpClientOptions options;
  options.permit = [](const SocketAddress& address) { return address.ip.is_public(); };
  HttpClient client{context.get_executor(), options};
  for (const char* host : {"127.0.0.1", "localhost", "::ffff:127.0.0.1"}) {
    HttpRequest request = server.request();
    request.origin.host = host;
    EXPECT_EQ(error_of(run(client, std::move(request))), HttpError::Forbidden) << host;
  }
  server.on_loop([] {});
  EXPECT_EQ(server.accepted_count(), 0u);
}

TEST_F(HttpClientTest, ASilentServerMeansTimeoutAndTheConnectionIsClosed) {
  TinyServer server;
  server.answer = [](const auto&) { return ""; };
  server.start();
  HttpClient client{context.get_executor()};
  const Outcome outcome = run(client, server.request(), 30ms);
  EXPECT_EQ(error_of(outcome), HttpError::Timeout);
  EXPECT_TRUE(outcome.error().maybe_executed);
  EXPECT_TRUE(server.wait([&] { return server.ended.size() == 1; }));
}

TEST_F(HttpClientTest, ASlowBodyMeansTimeoutToo) {
  TinyServer server;
  server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"; };
  server.start();
  HttpClient client{context.get_executor()};
  EXPECT_EQ(error_of(run(client, server.request(), 30ms)), HttpError::Timeout);
}

TEST_F(HttpClientTest, GarbageIsAProtocolError) {
  TinyServer server;
  server.start();
  HttpClient client{context.get_executor()};
  for (const char* garbage :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    server.on_loop([&] { server.answer = [garbage](const auto&) { return garbage; }; });
    EXPECT_EQ(error_of(run(client, server.request())), HttpError::Protocol) << garbage;
  }
  EXPECT_EQ(client.statistics().connections_opened, 4u) << "a broken connection is not used again";
}

TEST_F(HttpClientTest, BytesBehindAResponseSpoilTheConnection) {
  TinyServer server;
  server.answer = [](const auto&) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
  };
  server.start();
  HttpClient client{context.get_executor()};
  EXPECT_EQ(run(client, server.request())->body, "ok");
  EXPECT_EQ(run(client, server.request())->body, "ok");
  EXPECT_EQ(client.statistics().connections_opened, 2u);
}

TEST_F(HttpClientTest, TooLongResponsesAreRefused) {
  TinyServer server;
  server.start();
  HttpClientOptions options;
  options.response_bytes_max = 10;
  HttpClient client{context.get_executor(), options};
  const auto get = [&](std::string answer) {
    server.on_loop([&] { server.answer = [answer](const auto&) { return answer; }; });
    return run(client, server.request());
  };
  EXPECT_EQ(get("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789")->body, "0123456789");
  EXPECT_EQ(error_of(get("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789")), HttpError::TooLarge);
  EXPECT_EQ(
      error_of(get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n5\r\n01234\r\n0\r\n\r\n")),
      HttpError::TooLarge);
}

TEST_F(HttpClientTest, InvalidRequestsAreNotSent) {
  TinyServer server;
  server.start();
  HttpClient client{context.get_executor()};
  const auto with = [&](auto change) {
    HttpRequest request = server.request();
    change(request);
    return error_of(run(client, std::move(request)));
  };
  EXPECT_EQ(with([](HttpRequest& r) { r.target = "/a b"; }), HttpError::Protocol);
  EXPECT_EQ(with([](HttpRequest& r) { r.target = "/a\r\nX: y"; }), HttpError::Protocol);
  EXPECT_EQ(with([](HttpRequest& r) { r.target = ""; }), HttpError::Protocol);
  EXPECT_EQ(with([](HttpRequest& r) { r.method = "GE T"; }), HttpError::Protocol);
  EXPECT_EQ(with([](HttpRequest& r) { r.headers = {{"a:b", "c"}}; }), HttpError::Protocol);
  EXPECT_EQ(with([](HttpRequest& r) { r.origin.host = ""; }), HttpError::Protocol);
  EXPECT_EQ(server.accepted_count(), 0u);
}

TEST_F(HttpClientTest, AnEarlyAnswerToALongRequestIsRead) {
  TinyServer server;
  server.receive = [&](ConnectionId id, std::string_view) {
    (void)server.loop->send(id, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    server.loop->close(id, After::Flush);
  };
  server.start();
  HttpClient client{context.get_executor()};
  HttpRequest request = server.request("POST");
  request.body = std::string(8 << 20, 'x');
  const Outcome outcome = run(client, std::move(request));
  ASSERT_TRUE(outcome) << outcome.error().detail;
  EXPECT_EQ(outcome->status, 413);
}

// ---- Connections that die while they are kept

TEST_F(HttpClientTest, AConnectionClosedWhileIdleIsNoticedBeforeItIsUsed) {
  TinyServer server;
  server.start();
  HttpClient client{context.get_executor()};
  ASSERT_TRUE(run(client, server.request()));
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] { server.loop->close(id, After::Now); });
  (void)server.closed_event(0);
  ASSERT_TRUE(run(client, server.request("POST")));
  EXPECT_EQ(client.statistics().connections_opened, 2u);
  EXPECT_EQ(client.statistics().resent, 0u);
}

// The server closes just when the second request arrives: what a keep-alive timeout does in the worst moment.
class HttpClientRace : public HttpClientTest {
 protected:
  HttpClientRace() {
    server.answer = [this](const TinyServer::Seen& seen) -> std::string {
      const bool second = std::exchange(last_, seen.connection) == seen.connection;
      if (second) server.loop->close(seen.connection, After::Now);
      return second ? "" : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    };
    server.start();
  }
  TinyServer server;
  ConnectionId last_;
};

TEST_F(HttpClientRace, AReplayableRequestIsSentOnceMoreOnAFreshConnection) {
  HttpClient client{context.get_executor()};
  ASSERT_TRUE(run(client, server.request()));
  const Outcome outcome = run(client, server.request());
  ASSERT_TRUE(outcome) << outcome.error().detail;
  EXPECT_EQ(outcome->body, "hello");
  EXPECT_EQ(client.statistics().resent, 1u);
  EXPECT_EQ(server.seen_count(), 3u);
}

TEST_F(HttpClientRace, APostIsNotUnlessItSaysSo) {
  HttpClient client{context.get_executor()};
  ASSERT_TRUE(run(client, server.request("POST")));
  const Outcome outcome = run(client, server.request("POST"));
  EXPECT_EQ(error_of(outcome), HttpError::Reset);
  EXPECT_TRUE(outcome.error().maybe_executed);
  EXPECT_EQ(server.seen_count(), 2u);
  ASSERT_TRUE(run(client, server.request("POST")));
  HttpRequest replayable = server.request("POST");
  replayable.replayable = true;
  EXPECT_TRUE(run(client, std::move(replayable)));
}

TEST_F(HttpClientTest, AFreshConnectionThatBreaksIsNotTriedAgain) {
  TinyServer server;
  server.close_after_answer = true;
  server.answer = [](const auto&) { return ""; };
  server.start();
  HttpClient client{context.get_executor()};
  EXPECT_EQ(error_of(run(client, server.request())), HttpError::Reset);
  EXPECT_EQ(server.seen_count(), 1u);
}

TEST_F(HttpClientTest, AResponseCutShortIsNotTriedAgain) {
  TinyServer server;
  server.start();
  HttpClient client{context.get_executor()};
  ASSERT_TRUE(run(client, server.request()));
  server.on_loop([&] {
    server.close_after_answer = true;
    server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"; };
  });
  EXPECT_EQ(error_of(run(client, server.request())), HttpError::Reset);
  EXPECT_EQ(server.seen_count(), 2u);
}

// ---- Cancelling

TEST_F(HttpClientTest, CancellingClosesTheSocketAtOnce) {
  TinyServer server;
  server.answer = [](const auto&) { return ""; };  // a long poll
  server.start();
  HttpClient client{context.get_executor()};
  asio::cancellation_signal signal;
  std::optional<Outcome> outcome;
  start(client.request(server.request(), Instant::max()), &outcome, signal.slot());
  ASSERT_TRUE(run_until([&] { return server.seen_count() == 1; }));
  EXPECT_FALSE(outcome);
  signal.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_EQ(error_of(*outcome), HttpError::Cancelled);
  EXPECT_TRUE(outcome->error().maybe_executed);
  EXPECT_TRUE(server.wait([&] { return server.ended.size() == 1; }));
  server.on_loop([&] { server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"; }; });
  EXPECT_TRUE(run(client, server.request())) << "the client itself is as before";
}

TEST_F(HttpClientTest, CancellingARequestThatWaitsForItsTurnLeavesTheOthersAlone) {
  TinyServer server;
  server.answer = [](const auto&) { return ""; };
  server.start();
  HttpClientOptions options;
  options.connections_per_origin = 1;
  HttpClient client{context.get_executor(), options};
  std::optional<Outcome> first, second, third;
  asio::cancellation_signal signal;
  start(client.request(server.request(), Instant::max()), &first);
  ASSERT_TRUE(run_until([&] { return server.seen_count() == 1; }));
  start(client.request(server.request("GET", "/second"), Instant::max()), &second, signal.slot());
  start(client.request(server.request("GET", "/third"), Instant::max()), &third);
  context.restart();
  context.poll();
  signal.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(run_until([&] { return second.has_value(); }));
  EXPECT_EQ(error_of(*second), HttpError::Cancelled);
  EXPECT_FALSE(second->error().maybe_executed);
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] {
    server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"; };
    (void)server.loop->send(id, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  ASSERT_TRUE(run_until([&] { return first && third; }));
  EXPECT_TRUE(first->has_value());
  EXPECT_TRUE(third->has_value());
  EXPECT_EQ(server.seen.back().target, "/third");
  EXPECT_EQ(server.accepted_count(), 1u);
}

TEST_F(HttpClientTest, CloseEndsEverything) {
  TinyServer server;
  server.answer = [](const auto&) { return ""; };
  server.start();
  HttpClientOptions options;
  options.connections_per_origin = 2;
  HttpClient client{context.get_executor(), options};
  std::vector<std::optional<Outcome>> outcomes(4);
  for (auto& outcome : outcomes) start(client.request(server.request(), Instant::max()), &outcome);
  ASSERT_TRUE(run_until([&] { return server.seen_count() == 2; }));
  client.close();
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.has_value(); }); }));
  for (const auto& outcome : outcomes) EXPECT_EQ(error_of(*outcome), HttpError::Cancelled);
  EXPECT_EQ(error_of(run(client, server.request())), HttpError::Cancelled);
  EXPECT_TRUE(server.wait([&] { return server.ended.size() == 2; }));
}

TEST_F(HttpClientTest, RequestsMayOutliveTheirClient) {
  TinyServer server;
  server.answer = [](const auto&) { return ""; };
  server.start();
  std::optional<Outcome> outcome;
  {
    HttpClient client{context.get_executor()};
    start(client.request(server.request(), Instant::max()), &outcome);
    ASSERT_TRUE(run_until([&] { return server.seen_count() == 1; }));
  }
  ASSERT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_EQ(error_of(*outcome), HttpError::Cancelled);
}

TEST(HttpClient, AContextThatEndsFirstTakesItsRequestsWithIt) {
  TinyServer server;
  server.answer = [](const auto&) { return ""; };
  server.start();
  std::optional<HttpClient> client;
  bool completed = false;
  {
    asio::io_context context{1};
    client.emplace(context.get_executor());
    asio::co_spawn(context, client->request(server.request(), Instant::max()),
                   [&completed](const std::exception_ptr&, const Outcome&) { completed = true; });
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (server.seen_count() == 0 && std::chrono::steady_clock::now() < limit) context.run_for(1ms);
    client.reset();
  }
  EXPECT_FALSE(completed);
}

// ---- Limits of the pool

TEST_F(HttpClientTest, RequestsBeyondTheConnectionLimitWaitTheirTurn) {
  TinyServer server;
  server.start();
  HttpClientOptions options;
  options.connections_per_origin = 2;
  HttpClient client{context.get_executor(), options};
  std::vector<std::optional<Outcome>> outcomes(20);
  for (auto& outcome : outcomes) start(client.request(server.request(), Instant::max()), &outcome);
  ASSERT_TRUE(run_until(
      [&] { return std::all_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.has_value(); }); }));
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome->has_value()) << outcome->error().detail;
  EXPECT_EQ(server.accepted_count(), 2u);
}

TEST_F(HttpClientTest, WaitingForATurnEndsWithTheDeadline) {
  TinyServer server;
  server.answer = [](const auto&) { return ""; };
  server.start();
  HttpClientOptions options;
  options.connections_per_origin = 1;
  HttpClient client{context.get_executor(), options};
  std::optional<Outcome> first, second;
  start(client.request(server.request(), Instant::max()), &first);
  start(client.request(server.request(), std::chrono::steady_clock::now() + 20ms), &second);
  ASSERT_TRUE(run_until([&] { return second.has_value(); }));
  EXPECT_EQ(error_of(*second), HttpError::Timeout);
  EXPECT_FALSE(second->error().maybe_executed);
  client.close();
  ASSERT_TRUE(run_until([&] { return first.has_value(); }));
}

TEST_F(HttpClientTest, IdleConnectionsAreLimitedInNumberAndAge) {
  TinyServer one;
  TinyServer two;
  one.start();
  two.start();
  HttpClientOptions options;
  options.idle_connections = 1;
  HttpClient few{context.get_executor(), options};
  ASSERT_TRUE(run(few, one.request()));
  ASSERT_TRUE(run(few, two.request()));
  EXPECT_TRUE(two.wait([&] { return two.ended.size() == 1; })) << "beyond the number";
  options.idle_connections = 8;
  options.idle_for = 0ms;
  HttpClient brief{context.get_executor(), options};
  ASSERT_TRUE(run(brief, one.request()));
  ASSERT_TRUE(run(brief, one.request()));
  EXPECT_EQ(brief.statistics().connections_reused, 0u);
}

// ---- Streams

struct Collected {
  HttpStream stream() {
    HttpStream s;
    s.on_head = [this](const HttpResponse& head) {
      status = head.status;
      return go_on;
    };
    s.on_body = [this](std::string_view bytes) {
      text += bytes;
      return text.size() < stop_at;
    };
    s.head_deadline = std::chrono::steady_clock::now() + kPatience;
    return s;
  }
  int status = 0;
  bool go_on = true;
  std::string text;
  std::size_t stop_at = SIZE_MAX;
};

TEST_F(HttpClientTest, AStreamHandsOverPiecesAsTheyCome) {
  TinyServer server;
  server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ndata:1\r\n"; };
  server.start();
  HttpClient client{context.get_executor()};
  Collected collected;
  std::optional<Outcome> outcome;
  start(client.stream(server.request(), collected.stream()), &outcome);
  ASSERT_TRUE(run_until([&] { return collected.text == "data:1"; }));
  EXPECT_EQ(collected.status, 200);
  EXPECT_FALSE(outcome);
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] { (void)server.loop->send(id, "6\r\ndata:2\r\n"); });
  ASSERT_TRUE(run_until([&] { return collected.text == "data:1data:2"; }));
  server.on_loop([&] { (void)server.loop->send(id, "0\r\n\r\n"); });
  ASSERT_TRUE(run_until([&] { return outcome.has_value(); }));
  ASSERT_TRUE(outcome->has_value()) << outcome->error().detail;
  EXPECT_EQ((*outcome)->status, 200);
  EXPECT_EQ((*outcome)->body, "");
}

TEST_F(HttpClientTest, ACallbackCanEndAStream) {
  TinyServer server;
  server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ndata:1\r\n"; };
  server.start();
  HttpClient client{context.get_executor()};
  Collected enough;
  enough.stop_at = 1;
  EXPECT_EQ(error_of(finish(client.stream(server.request(), enough.stream()))), HttpError::Cancelled);
  Collected unwanted;
  unwanted.go_on = false;
  EXPECT_EQ(error_of(finish(client.stream(server.request(), unwanted.stream()))), HttpError::Cancelled);
  EXPECT_EQ(unwanted.text, "");
  EXPECT_TRUE(server.wait([&] { return server.ended.size() == 2; }));
}

TEST_F(HttpClientTest, ASilentStreamEndsAfterItsLimitAndACutOneIsAReset) {
  TinyServer server;
  server.answer = [](const auto&) { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ndata:1\r\n"; };
  server.start();
  HttpClient client{context.get_executor()};
  Collected collected;
  HttpStream stream = collected.stream();
  stream.silence_max = 20ms;
  EXPECT_EQ(error_of(finish(client.stream(server.request(), std::move(stream)))), HttpError::Timeout);
  EXPECT_EQ(collected.text, "data:1");
  server.on_loop([&] { server.close_after_answer = true; });
  EXPECT_EQ(error_of(finish(client.stream(server.request(), collected.stream()))), HttpError::Reset);
}

// ---- The blocking client

TEST(SyncHttpClient, RequestsOneAfterTheOther) {
  TinyServer server;
  server.start();
  SyncHttpClient client;
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = client.request(server.request(), kPatience);
    ASSERT_TRUE(outcome) << outcome.error().detail;
    EXPECT_EQ(outcome->body, "hello");
  }
  EXPECT_EQ(client.statistics().connections_opened, 1u);
  server.on_loop([&] { server.answer = [](const auto&) { return ""; }; });
  const Outcome silent = client.request(server.request(), 20ms);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().error, HttpError::Timeout);
}

TEST(HttpRequest, IsMadeFromAUrl) {
  const auto request = HttpRequest::to("POST", "https://Example.com/a%20b?x=1");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->origin, (HttpOrigin{true, "example.com", 443}));
  EXPECT_EQ(request->target, "/a%20b?x=1");
  EXPECT_EQ(request->origin.authority(), "example.com");
  EXPECT_EQ((HttpOrigin{false, "::1", 4566}).authority(), "[::1]:4566");
  EXPECT_EQ((HttpOrigin{true, "a", 80}).authority(), "a:80");
  EXPECT_EQ(HttpRequest::to("GET", "ftp://x").error(), wire::http::UrlError::NotHttp);
}

}  // namespace
}  // namespace fanfare::net
