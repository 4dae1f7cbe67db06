// Transport over HTTP/1.1 on Asio: kept-alive connections, one exchange at a time on each.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <mutex>

#include "fanfare/transport.h"
#include "wire/http/request.h"
#include "wire/http/response.h"
#include "wire/http/url.h"

namespace fanfare::sdk {
namespace asio = boost::asio;
namespace http = wire::http;
using asio::ip::tcp;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kIdleMax = 64;  // connections kept for the next request

struct Connection {
  explicit Connection(const asio::any_io_executor& executor) : socket(executor), timer(executor) {}
  tcp::socket socket;
  asio::steady_timer timer;
  bool timed_out = false;
  bool used = false;  // has carried an exchange before
};

class HttpTransport final : public Transport {
 public:
  HttpTransport(asio::any_io_executor executor, const std::string& endpoint_url) : executor_(std::move(executor)), endpoint_(endpoint_url) {
    if (auto url = http::parse_url(endpoint_url)) url_ = std::move(*url);
  }

  Awaitable<Result<TransportResponse, Error>> send(TransportRequest request, milliseconds deadline) override {
    if (!url_) co_return Error{.kind = ErrorKind::Invalid, .message = fmt::format("the endpoint '{}' is no http URL", endpoint_)};
    if (url_->secure) co_return Error{.kind = ErrorKind::Invalid, .message = fmt::format("the endpoint '{}' needs TLS, which this transport does not speak", endpoint_)};
    const Instant until = std::chrono::steady_clock::now() + deadline;
    std::string bytes = encode(request);
    for (;;) {
      std::unique_ptr<Connection> connection = take_idle();
      const bool reused = connection != nullptr;
      if (!connection) {
        connection = std::make_unique<Connection>(executor_);
        auto connecting = connect(*connection, until);
        if (auto failure = co_await std::move(connecting)) co_return std::move(*failure);
      }
      bool nothing_came = true;
      auto exchanging = exchange(*connection, bytes, request.method == "HEAD", until, nothing_came);
      Result<TransportResponse, Error> answer = co_await std::move(exchanging);
      if (answer) {
        if (connection->used) give_idle(std::move(connection));
        co_return answer;
      }
      // A kept-alive connection that the server closed before any byte of an answer: the request was not looked at.
      if (reused && nothing_came && answer.error().kind == ErrorKind::Unreachable) continue;
      co_return answer;
    }
  }

 private:
  static std::string encode(const TransportRequest& request) {
    std::string out;
    std::vector<http::Header> headers;
    std::string_view host;
    for (const auto& [name, value] : request.headers) {
      if (http::equal_ignoring_case(name, "Host")) host = value;
      else headers.push_back({name, value});
    }
    http::append_request(out, {.method = request.method, .target = request.target, .host = host, .headers = headers}, request.body);
    return out;
  }

  /// Closes the socket at the deadline, which ends whatever is being waited for.
  static void arm(Connection& connection, Instant until) {
    connection.timed_out = false;
    connection.timer.expires_at(until);
    connection.timer.async_wait([&connection](boost::system::error_code error) {
      if (error) return;
      connection.timed_out = true;
      boost::system::error_code ignored;
      connection.socket.close(ignored);
    });
  }

  Error failed(const Connection& connection, std::string_view what, boost::system::error_code error) const {
    if (connection.timed_out) return {.kind = ErrorKind::Timeout, .message = fmt::format("{} did not answer in time", endpoint_)};
    if (error == asio::error::operation_aborted) return {.kind = ErrorKind::Cancelled, .message = "the request was cancelled"};
    return {.kind = ErrorKind::Unreachable, .message = fmt::format("{}: {}: {}", endpoint_, what, error.message())};
  }

  Awaitable<std::optional<Error>> connect(Connection& connection, Instant until) {
    tcp::resolver resolver{executor_};
    auto resolving = resolver.async_resolve(url_->host, std::to_string(url_->port), kAwait);
    const auto [unresolved, addresses] = co_await std::move(resolving);
    if (unresolved) co_return failed(connection, "the name cannot be resolved", unresolved);
    arm(connection, until);
    auto connecting = asio::async_connect(connection.socket, addresses, kAwait);
    const auto [error, endpoint] = co_await std::move(connecting);
    if (error) {
      Error failure = failed(connection, "no connection", error);
      co_await finish_timer(connection);
      co_return failure;
    }
    connection.socket.set_option(tcp::no_delay{true});
    co_return std::nullopt;
  }

  /// The timer's handler refers to the connection: it must have run before the connection goes.
  static Awaitable<void> finish_timer(Connection& connection) {
    connection.timer.cancel();
    co_await asio::post(connection.socket.get_executor(), asio::use_awaitable);
  }

  Awaitable<Result<TransportResponse, Error>> exchange(Connection& connection, const std::string& bytes, bool head, Instant until,
                                                       bool& nothing_came) {
    arm(connection, until);
    auto exchanging = exchange_armed(connection, bytes, head, nothing_came);
    Result<TransportResponse, Error> answer = co_await std::move(exchanging);
    co_await finish_timer(connection);
    co_return answer;
  }

  Awaitable<Result<TransportResponse, Error>> exchange_armed(Connection& connection, const std::string& bytes, bool head, bool& nothing_came) {
    connection.used = false;
    auto writing = asio::async_write(connection.socket, asio::buffer(bytes), kAwait);
    const auto [write_error, written] = co_await std::move(writing);
    if (write_error) co_return failed(connection, "the request could not be sent", write_error);
    http::ResponseParser parser{{.body_bytes_max = 64ull << 20}};
    parser.expect(head);
    std::string received;
    std::size_t used = 0;
    for (;;) {
      if (received.size() - used < 4096) received.resize(std::max<std::size_t>(16 * 1024, received.size() * 2));
      auto reading = connection.socket.async_read_some(asio::buffer(received.data() + used, received.size() - used), kAwait);
      const auto [read_error, got] = co_await std::move(reading);
      used += got;
      if (got > 0) nothing_came = false;
      const std::string_view buffer{received.data(), used};
      using State = http::ResponseParser::State;
      const State state = read_error == asio::error::eof && used > 0 ? parser.close(buffer) : got > 0 ? parser.parse(buffer) : State::NeedMore;
      if (state == State::Error) co_return Error{.kind = ErrorKind::Malformed, .message = fmt::format("{}: {}", endpoint_, parser.error())};
      if (state == State::Complete) {
        const http::Response& response = parser.response();
        TransportResponse answer{.status = response.status, .headers = {}, .body = std::string{response.body}};
        for (const http::Header& field : response.headers) answer.headers.emplace_back(field.name, field.value);
        connection.used = response.keep_alive && !read_error && parser.consumed() == used;
        co_return answer;
      }
      if (read_error) co_return failed(connection, "the connection was lost", read_error);
    }
  }

  std::unique_ptr<Connection> take_idle() {
    const std::lock_guard lock{mutex_};
    if (idle_.empty()) return nullptr;
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  void give_idle(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock{mutex_};
    if (idle_.size() < kIdleMax) idle_.push_back(std::move(connection));
  }

  const asio::any_io_executor executor_;
  const std::string endpoint_;
  std::optional<http::Url> url_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;  // protected by mutex_
};

}  // namespace

std::shared_ptr<Transport> http_transport(asio::any_io_executor executor, std::string endpoint_url) {
  return std::make_shared<HttpTransport>(std::move(executor), endpoint_url);
}

}  // namespace fanfare::sdk
