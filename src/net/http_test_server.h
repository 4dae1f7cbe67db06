// For tests of the HTTP client: a tiny HTTP server on our own loop, and a fixture that runs coroutines to their end.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "net/http_client.h"
#include "net/loop_test_server.h"
#include "wire/http/request.h"

namespace fanfare::net::testing {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using Outcome = Result<HttpResponse, HttpFailure>;

// Answers whole requests with what `answer` says: raw bytes, none to stay silent.
class TinyServer : public Server {
 public:
  struct Seen {
    ConnectionId connection;
    std::string method, target, host, body;
  };

  TinyServer() : TinyServer(made(LoopKind::Epoll)) {}
  explicit TinyServer(std::unique_ptr<Loop> given) : Server(std::move(given)) {
    receive = [this](ConnectionId id, std::string_view bytes) { take(id, bytes); };
    end = [this](ConnectionId id) { loop->close(id, After::Flush); };
  }
  ~TinyServer() override { stop(); }  // before the members that its thread uses go

  std::function<std::string(const Seen&)> answer = [](const Seen&) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  };
  bool close_after_answer = false;
  std::vector<Seen> seen;  // under the lock

  [[nodiscard]] std::size_t seen_count() {
    std::lock_guard lock{mutex};
    return seen.size();
  }
  [[nodiscard]] std::size_t accepted_count() {
    std::lock_guard lock{mutex};
    return accepted.size();
  }
  [[nodiscard]] HttpRequest request(std::string method = "GET", std::string target = "/") const {
    HttpRequest request;
    request.origin = {false, "127.0.0.1", address.port};
    request.method = std::move(method);
    request.target = std::move(target);
    return request;
  }

 private:
  struct Receiving {
    std::string buffer;
    wire::http::RequestParser parser;
  };

  void take(ConnectionId id, std::string_view bytes) {
    auto& state = receiving_[id];
    state.buffer += bytes;
    while (state.parser.parse(state.buffer) == wire::http::Parse::Complete) {
      const auto& parsed = state.parser.request();
      const Seen one{id, std::string{parsed.method}, std::string{parsed.target}, std::string{parsed.authority},
                     std::string{parsed.body}};
      state.buffer.erase(0, state.parser.consumed());
      {
        std::lock_guard lock{mutex};
        seen.push_back(one);
        changed.notify_all();
      }
      (void)loop->send(id, answer(one));
      if (close_after_answer) loop->close(id, After::Flush);
    }
  }

  std::map<ConnectionId, Receiving> receiving_;
};

// Runs coroutines to their end on this thread.
class HttpClientTest : public ::testing::Test {
 protected:
  Outcome run(HttpClient& client, HttpRequest request, milliseconds timeout = kPatience) {
    return finish(client.request(std::move(request), std::chrono::steady_clock::now() + timeout));
  }
  Outcome finish(Awaitable<Outcome> work) {
    std::optional<Outcome> outcome;
    start(std::move(work), &outcome);
    context.restart();
    context.run();
    EXPECT_TRUE(outcome.has_value());
    return outcome ? *std::move(outcome) : Outcome{HttpFailure{HttpError::Protocol, "no outcome"}};
  }
  void start(Awaitable<Outcome> work, std::optional<Outcome>* outcome, asio::cancellation_slot slot = {}) {
    asio::co_spawn(context, put(std::move(work), outcome),
                   asio::bind_cancellation_slot(slot, [](std::exception_ptr thrown) {
                     if (thrown) std::rethrow_exception(thrown);
                   }));
  }
  // Runs the client until `condition` holds; a condition of another thread needs polling.
  template <class Condition>
  bool run_until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      context.restart();
      context.run_for(1ms);
    }
    return true;
  }
  static Awaitable<void> put(Awaitable<Outcome> work, std::optional<Outcome>* outcome) {
    *outcome = co_await std::move(work);
  }
  static HttpError error_of(const Outcome& outcome) {
    EXPECT_FALSE(outcome.has_value());
    return outcome ? HttpError{} : outcome.error().error;
  }

  asio::io_context context{1};
};

}  // namespace fanfare::net::testing
