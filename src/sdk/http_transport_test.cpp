// The HTTP transport against servers that misbehave.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <functional>
#include <thread>

#include "fanfare/transport.h"

namespace fanfare::sdk {
namespace asio = boost::asio;
using asio::ip::tcp;
namespace {

using Outcome = Result<TransportResponse, Error>;

/// Serves connection after connection with `serve`, on a thread of its own.
class Server {
 public:
  using Serve = std::function<void(tcp::socket&, int connection)>;
  Server(int connections, Serve serve) : acceptor_(io_, {asio::ip::make_address("127.0.0.1"), 0}) {
    thread_ = std::thread([this, connections, serve = std::move(serve)] {
      for (int i = 0; i < connections; ++i) {
        tcp::socket socket{io_};
        boost::system::error_code error;
        acceptor_.accept(socket, error);
        if (!error) serve(socket, i);
      }
    });
  }
  ~Server() { thread_.join(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

 private:
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

std::string read_request(tcp::socket& socket) {
  std::string text;
  boost::system::error_code error;
  asio::read_until(socket, asio::dynamic_buffer(text), "\r\n\r\nbody", error);
  return error ? std::string{} : text;
}
void write_text(tcp::socket& socket, std::string_view text) {
  boost::system::error_code ignored;
  asio::write(socket, asio::buffer(text), ignored);
}
constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TransportRequest request() { return {.method = "POST", .target = "/", .headers = {{"Host", "localhost"}}, .body = "body"}; }

Outcome send(asio::io_context& io, Transport& transport, milliseconds deadline = seconds{20}) {
  Outcome outcome = Error{};
  asio::co_spawn(io, transport.send(request(), deadline), [&](std::exception_ptr thrown, Outcome came) {
    EXPECT_FALSE(thrown);
    outcome = std::move(came);
  });
  io.restart();
  io.run();
  return outcome;
}

TEST(HttpTransport, TriesAgainWhenAKeptConnectionWasClosedBeforeAnythingCame) {
  Server server{2, [](tcp::socket& socket, int) {
                  read_request(socket);
                  write_text(socket, kOk);  // and closes, although it promised to go on
                }};
  asio::io_context io;
  const auto transport = http_transport(io.get_executor(), server.url());
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = send(io, *transport);
    ASSERT_TRUE(outcome) << outcome.error().describe();
    EXPECT_EQ(outcome->body, "ok");
  }
}

TEST(HttpTransport, DoesNotTryAgainWhenAnAnswerHadBegunAndCallsThatUnreachable) {
  Server server{1, [](tcp::socket& socket, int) {
                  read_request(socket);
                  write_text(socket, kOk);
                  read_request(socket);
                  write_text(socket, kOk.substr(0, 30));
                }};
  asio::io_context io;
  const auto transport = http_transport(io.get_executor(), server.url());
  ASSERT_TRUE(send(io, *transport));
  const Outcome cut = send(io, *transport);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::Unreachable) << cut.error().describe();
  EXPECT_TRUE(cut.error().retryable());
}

TEST(HttpTransport, AServerThatHangsIsATimeout) {
  Server server{1, [](tcp::socket& socket, int) {
                  read_request(socket);
                  read_request(socket);  // until the client gives up
                }};
  asio::io_context io;
  const auto transport = http_transport(io.get_executor(), server.url());
  const Outcome outcome = send(io, *transport, milliseconds{50});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::Timeout) << outcome.error().describe();
}

TEST(HttpTransport, GarbageIsMalformedAndNothingListeningIsUnreachable) {
  std::string url;
  {
    Server server{1, [](tcp::socket& socket, int) {
                    read_request(socket);
                    write_text(socket, "SSH-2.0-OpenSSH_9.2\r\n\r\n");
                  }};
    url = server.url();
    asio::io_context io;
    const Outcome outcome = send(io, *http_transport(io.get_executor(), url));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, ErrorKind::Malformed) << outcome.error().describe();
  }
  asio::io_context io;
  const Outcome outcome = send(io, *http_transport(io.get_executor(), url));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::Unreachable) << outcome.error().describe();
}

TEST(HttpTransport, CancellingEndsTheExchangeAtOnceWithAnErrorAndClosesTheConnection) {
  std::atomic<bool> client_left{false};
  asio::io_context io;
  asio::cancellation_signal cancel;
  Server server{1, [&](tcp::socket& socket, int) {
                  read_request(socket);
                  asio::post(io, [&] { cancel.emit(asio::cancellation_type::terminal); });
                  read_request(socket);  // ends when the client has left
                  client_left = true;
                }};
  {
    const auto transport = http_transport(io.get_executor(), server.url());
    Outcome outcome = Error{};
    const Instant begin = std::chrono::steady_clock::now();
    asio::co_spawn(io, transport->send(request(), seconds{60}),
                   asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown, Outcome came) {
                     EXPECT_FALSE(thrown) << "an error is a value";
                     outcome = std::move(came);
                   }));
    io.run();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, ErrorKind::Cancelled) << outcome.error().describe();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds{30});
  }
}

TEST(HttpTransport, WhatAServerSaysUnaskedIsNotTakenForTheNextAnswer) {
  Server server{2, [](tcp::socket& socket, int connection) {
                  read_request(socket);
                  write_text(socket, connection == 0 ? std::string{kOk} + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged" : std::string{kOk});
                }};
  asio::io_context io;
  const auto transport = http_transport(io.get_executor(), server.url());
  ASSERT_TRUE(send(io, *transport));
  const Outcome second = send(io, *transport);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->body, "ok");
}

TEST(HttpTransport, ARefusalBeforeTheRequestWasReadIsTheAnswer) {
  Server server{1, [](tcp::socket& socket, int) {
                  write_text(socket, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                  read_request(socket);
                }};
  asio::io_context io;
  const Outcome outcome = send(io, *http_transport(io.get_executor(), server.url()));
  ASSERT_TRUE(outcome) << outcome.error().describe();
  EXPECT_EQ(outcome->status, 413);
}

}  // namespace
}  // namespace fanfare::sdk
