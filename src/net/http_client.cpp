#include "net/http_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include <fmt/core.h>

#include "base/assert.h"
#include "base/marks.h"
#include "net/name_service.h"
#include "net/tls_trust.h"
#include "wire/http/headers.h"
#include "wire/http/request.h"
#include "wire/http/response.h"

namespace fanfare::net {
namespace {

namespace asio = boost::asio;
namespace http = wire::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kFirstBuffer = 16 * 1024;

Instant steady_now() { return std::chrono::steady_clock::now(); }

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{"!#$%&'*+-.^_`|~"}.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

// [RFC 9110 9.2.2]
bool is_idempotent(std::string_view method) {
  for (const std::string_view each : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
    if (method == each) return true;
  return false;
}

tcp::endpoint endpoint_of(const SocketAddress& address) {
  const auto& bytes = address.ip.bytes();
  if (address.ip.is_v6()) return {asio::ip::address_v6{bytes}, address.port};
  return {asio::ip::address_v4{{bytes[0], bytes[1], bytes[2], bytes[3]}}, address.port};
}

// A name that is being looked up: the timer ends with the answer or at the deadline.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : over(executor) {}
  asio::steady_timer over;
  std::optional<NameService::Answer> answer;
};

// One socket with what belongs to it. Shared by the request that uses it and by handlers of its timer.
struct Connection : std::enable_shared_from_this<Connection> {
  explicit Connection(const asio::any_io_executor& executor) : socket(executor), timer(executor) {}

  tcp::socket socket;
  std::unique_ptr<asio::ssl::stream<tcp::socket&>> tls;
  std::shared_ptr<Lookup> lookup;  // shared with the name service
  asio::steady_timer timer;
  std::string out;
  std::string buffer;
  std::size_t begin = 0;  // received and not yet used: [begin, end) of buffer
  std::size_t end = 0;
  http::ResponseParser parser;
  Instant idle_since{};
  bool reused = false;
  bool timed_out = false;
  bool aborted = false;

  [[nodiscard]] std::string_view unread() const { return std::string_view{buffer}.substr(begin, end - begin); }

  void shut() {
    error_code ignored;
    if (lookup) lookup->over.cancel();
    socket.close(ignored);
  }
  void abort() {
    aborted = true;
    timer.cancel();
    shut();
  }
  // From now on everything on this connection ends at `deadline`, by closing it.
  void arm(Instant deadline) {
    const auto round = ++timer_round_;
    timed_out = false;
    if (deadline == Instant::max()) {
      timer.cancel();
      return;
    }
    timer.expires_at(deadline);
    timer.async_wait([weak = weak_from_this(), round](const error_code& error) {
      const auto self = weak.lock();
      if (error || !self || self->timer_round_ != round) return;  // set anew or disarmed meanwhile
      self->timed_out = true;
      self->shut();
    });
  }
  void disarm() {
    ++timer_round_;
    timer.cancel();
  }

 private:
  std::uint64_t timer_round_ = 0;
};

// A request that waits for its turn at an origin.
struct Waiter {
  explicit Waiter(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  bool granted = false;
};

struct OriginState {
  std::size_t in_use = 0;
  std::vector<std::shared_ptr<Connection>> idle;  // the most recent last
  std::deque<std::shared_ptr<Waiter>> waiters;
};

using Outcome = Result<HttpResponse, HttpFailure>;

HttpFailure cancelled(bool maybe_executed = false) {
  return {HttpError::Cancelled, "the request was cancelled", maybe_executed};
}

// Why an operation on `c` failed: its deadline and a cancellation explain more than the error of the operation.
HttpFailure failure_of(const Connection& c, const error_code& error, HttpError otherwise, std::string_view doing,
                       bool maybe_executed) {
  if (c.timed_out) return {HttpError::Timeout, fmt::format("the deadline passed while {}", doing), maybe_executed};
  if (c.aborted || error == asio::error::operation_aborted) return cancelled(maybe_executed);
  return {otherwise, fmt::format("{}: {}", doing, error.message()), maybe_executed};
}

// One exchange on one connection.
struct Exchanged {
  std::optional<HttpResponse> response;
  HttpFailure failure{};
  bool answered = false;    // at least one byte came back
  bool keep_alive = false;  // the connection can be used again
};

}  // namespace

std::string HttpOrigin::authority() const {
  const bool is_default = port == (secure ? 443 : 80);
  const bool is_v6 = host.find(':') != std::string::npos;
  std::string text = is_v6 ? fmt::format("[{}]", host) : host;
  if (!is_default) text += fmt::format(":{}", port);
  return text;
}

Result<HttpRequest, http::UrlError> HttpRequest::to(std::string method, std::string_view url) {
  const auto parsed = http::parse_url(url);
  if (!parsed) return parsed.error();
  HttpRequest request;
  request.origin = HttpOrigin::of(*parsed);
  request.method = std::move(method);
  request.target = parsed->target();
  return request;
}

std::string_view HttpResponse::header(std::string_view name) const {
  for (const HttpField& field : headers)
    if (http::equal_ignoring_case(field.name, name)) return field.value;
  return {};
}

std::string_view describe(HttpError error) {
  switch (error) {
    case HttpError::Resolve: return "resolve";
    case HttpError::Forbidden: return "forbidden";
    case HttpError::Connect: return "connect";
    case HttpError::Tls: return "tls";
    case HttpError::Timeout: return "timeout";
    case HttpError::Reset: return "reset";
    case HttpError::Protocol: return "protocol";
    case HttpError::TooLarge: return "too_large";
    case HttpError::Cancelled: return "cancelled";
  }
  return {};
}

// Coroutines are static and take the Impl by shared pointer: see the rules for coroutines in ARCHITECTURE.md.
class HttpClient::Impl {
 public:
  Impl(asio::any_io_executor executor, HttpClientOptions options)
      : executor_(std::move(executor)), options_(std::move(options)), names_(executor_, &resolve) {}

  static Awaitable<Outcome> run(std::shared_ptr<Impl> self, HttpRequest request, Instant deadline,
                                std::optional<HttpStream> stream) {
    // Errors are values here, also after a cancellation; what the caller had set is restored.
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    Outcome outcome = co_await self->attempts(self, std::move(request), deadline, std::move(stream));
    co_await asio::this_coro::throw_if_cancelled(throws);
    co_return outcome;
  }

  void close() {
    closed_ = true;
    names_.close();
    close_idle();
    for (Connection* c : live_) c->abort();
    for (auto& [origin, state] : origins_)
      for (const auto& waiter : state.waiters) waiter->timer.cancel();
  }

  void close_idle() {
    for (auto at = origins_.begin(); at != origins_.end();) {
      idle_count_ -= at->second.idle.size();
      at->second.idle.clear();
      at = is_unused(at->second) ? origins_.erase(at) : std::next(at);
    }
  }

  [[nodiscard]] const HttpClientStatistics& statistics() const { return statistics_; }

 private:
  static bool is_unused(const OriginState& state) {
    return state.in_use == 0 && state.idle.empty() && state.waiters.empty();
  }

  // The right to use one connection of an origin; given back when it goes.
  class Permit {
   public:
    Permit(std::shared_ptr<Impl> impl, HttpOrigin origin) : impl_(std::move(impl)), origin_(std::move(origin)) {}
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    ~Permit() { impl_->give_back(origin_); }

   private:
    std::shared_ptr<Impl> impl_;
    HttpOrigin origin_;
  };

  // A connection that close() can reach.
  class Live {
   public:
    Live(std::shared_ptr<Impl> impl, std::shared_ptr<Connection> c) : impl_(std::move(impl)), c_(std::move(c)) {
      impl_->live_.insert(c_.get());
    }
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;
    ~Live() { impl_->live_.erase(c_.get()); }

   private:
    std::shared_ptr<Impl> impl_;
    std::shared_ptr<Connection> c_;
  };

  static std::optional<HttpFailure> refuse(const HttpRequest& request) {
    const auto bad = [](std::string_view what) {
      return HttpFailure{HttpError::Protocol, fmt::format("the request has {}", what)};
    };
    if (!is_token(request.method)) return bad("a method that is no token");
    if (request.target.empty() || !is_visible(request.target)) return bad("a target with blanks or control characters");
    if (request.origin.host.empty() || !is_visible(request.origin.host)) return bad("no valid host");
    for (const HttpField& field : request.headers)
      if (!is_token(field.name)) return bad("a header whose name is no token");
    return std::nullopt;
  }

  static Awaitable<Outcome> attempts(std::shared_ptr<Impl> self, HttpRequest request, Instant deadline,
                                     std::optional<HttpStream> stream) {
    if (auto refused = refuse(request)) co_return *std::move(refused);
    ++self->statistics_.requests;
    if (auto failed = co_await take_turn(self, request.origin, deadline)) co_return *std::move(failed);
    const Permit permit{self, request.origin};
    const bool replayable = request.replayable.value_or(is_idempotent(request.method));
    for (bool first = true;; first = false) {
      auto c = first ? self->take_idle(request.origin) : nullptr;
      const bool fresh = c == nullptr;
      if (fresh) c = std::make_shared<Connection>(self->executor_);
      const Live live{self, c};
      if (fresh) {
        if (auto failed = co_await open(self, c, request.origin, deadline)) {
          c->disarm();
          c->shut();
          co_return *std::move(failed);
        }
        ++self->statistics_.connections_opened;
      } else {
        ++self->statistics_.connections_reused;
      }
      c->arm(deadline);
      Exchanged done = co_await exchange(self, c, &request, &stream);
      c->disarm();
      if (done.response && done.keep_alive && !c->timed_out && !self->closed_) {
        self->put_idle(request.origin, c);
      } else {
        c->shut();
      }
      if (done.response) co_return *std::move(done.response);
      const bool lost = done.failure.error == HttpError::Reset && !done.answered;
      if (!lost || fresh || !replayable) co_return std::move(done.failure);
      FANFARE_MARK(net_http_resent);
      ++self->statistics_.resent;
    }
  }

  // ---- Turns and the pool

  static Awaitable<std::optional<HttpFailure>> take_turn(std::shared_ptr<Impl> self, HttpOrigin origin,
                                                         Instant deadline) {
    if (self->closed_) co_return cancelled();
    OriginState& state = self->origins_[origin];  // stays where it is while something waits in it
    if (state.in_use < self->options_.connections_per_origin) {
      ++state.in_use;
      co_return std::nullopt;
    }
    const auto waiter = std::make_shared<Waiter>(self->executor_);
    state.waiters.push_back(waiter);
    waiter->timer.expires_at(deadline);
    co_await waiter->timer.async_wait(kToken);
    const auto state_now = co_await asio::this_coro::cancellation_state;
    const bool left = self->closed_ || state_now.cancelled() != asio::cancellation_type::none;
    if (waiter->granted) {
      if (!left) co_return std::nullopt;
      self->give_back(origin);
      co_return cancelled();
    }
    std::erase(state.waiters, waiter);
    if (is_unused(state)) self->origins_.erase(origin);
    if (left) co_return cancelled();
    co_return HttpFailure{HttpError::Timeout,
                          fmt::format("the deadline passed while waiting for one of the {} connections to {}",
                                      self->options_.connections_per_origin, origin.authority())};
  }

  void give_back(const HttpOrigin& origin) {
    const auto at = origins_.find(origin);
    FANFARE_ASSERT(at != origins_.end() && at->second.in_use > 0);
    OriginState& state = at->second;
    while (!state.waiters.empty()) {
      const auto waiter = std::move(state.waiters.front());
      state.waiters.pop_front();
      waiter->granted = true;
      // Nothing to cancel: its wait is over already, by its deadline or its caller; it passes the turn on or takes it.
      waiter->timer.cancel();
      return;
    }
    --state.in_use;
    if (is_unused(state)) origins_.erase(at);
  }

  std::shared_ptr<Connection> take_idle(const HttpOrigin& origin) {
    const auto at = origins_.find(origin);
    if (at == origins_.end()) return nullptr;
    auto& idle = at->second.idle;
    const Instant oldest = steady_now() - options_.idle_for;
    while (!idle.empty()) {
      auto c = std::move(idle.back());
      idle.pop_back();
      --idle_count_;
      if (c->idle_since < oldest || !is_quiet(*c)) continue;
      c->reused = true;
      return c;
    }
    return nullptr;
  }

  // Nothing has come from the server since the last response: no end, and no bytes that belong to no request (except
  // inside TLS, whose session tickets come when they like).
  static bool is_quiet(Connection& c) {
    char byte = 0;
    const ssize_t got = ::recv(c.socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return (got < 0 && errno == EAGAIN) || (got > 0 && c.tls != nullptr);
  }

  void put_idle(const HttpOrigin& origin, std::shared_ptr<Connection> c) {
    const Instant now = steady_now();
    if (idle_count_ >= options_.idle_connections) drop_old_idle(now - options_.idle_for);
    if (idle_count_ >= options_.idle_connections) {
      c->shut();
      return;
    }
    c->idle_since = now;
    c->out = {};
    if (c->buffer.size() > kFirstBuffer) c->buffer = {};
    ++idle_count_;
    origins_[origin].idle.push_back(std::move(c));
  }

  void drop_old_idle(Instant before) {
    for (auto at = origins_.begin(); at != origins_.end();) {
      idle_count_ -= std::erase_if(at->second.idle, [before](const auto& c) { return c->idle_since < before; });
      at = is_unused(at->second) ? origins_.erase(at) : std::next(at);
    }
  }

  // ---- Connecting

  static Awaitable<std::optional<HttpFailure>> open(std::shared_ptr<Impl> self, std::shared_ptr<Connection> c,
                                                    HttpOrigin origin, Instant deadline) {
    std::vector<SocketAddress> addresses;
    if (const auto ip = IpAddress::parse(origin.host)) {
      addresses.push_back({*ip, origin.port});
    } else {
      const auto lookup = c->lookup = std::make_shared<Lookup>(self->executor_);
      lookup->over.expires_at(deadline);
      const HostPort name{origin.host, origin.port};
      const NameService::Asked asked = self->names_.lookup(name, [lookup](const NameService::Answer& answer) {
        lookup->answer = answer;
        lookup->over.cancel();
      });
      co_await lookup->over.async_wait(kToken);
      c->lookup = nullptr;
      const auto cancellation = co_await asio::this_coro::cancellation_state;
      if (c->aborted || self->closed_ || cancellation.cancelled() != asio::cancellation_type::none) co_return cancelled();
      if (!lookup->answer)
        co_return HttpFailure{HttpError::Timeout, fmt::format("the deadline passed while resolving {}", origin.host)};
      if (!*lookup->answer)
        co_return HttpFailure{HttpError::Resolve, fmt::format("resolving {}: {}", origin.host, describe(lookup->answer->error()))};
      addresses = **lookup->answer;
    }
    if (self->options_.permit) {
      std::erase_if(addresses, [&self](const SocketAddress& address) { return !self->options_.permit(address); });
      if (addresses.empty())
        co_return HttpFailure{HttpError::Forbidden,
                              fmt::format("requests to the addresses of {} are not allowed", origin.host)};
    }
    std::optional<HttpFailure> failure;
    for (const SocketAddress& address : addresses) {
      failure = co_await open_one(self, c, origin, address, deadline);
      if (!failure || failure->error != HttpError::Connect) break;
    }
    co_return failure;
  }

  static Awaitable<std::optional<HttpFailure>> open_one(std::shared_ptr<Impl> self, std::shared_ptr<Connection> c,
                                                        HttpOrigin origin, SocketAddress address, Instant deadline) {
    const Instant limit = std::min(deadline, steady_now() + self->options_.connect_timeout);
    const auto failed = [&](const error_code& error, HttpError otherwise, std::string_view doing) {
      HttpFailure failure = failure_of(*c, error, otherwise, doing, false);
      // Only this address is slow: others may be tried.
      if (failure.error == HttpError::Timeout && limit < deadline)
        failure = {HttpError::Connect,
                   fmt::format("{}: no answer within {}", doing, format_duration(self->options_.connect_timeout))};
      return failure;
    };
    c->tls.reset();
    c->shut();
    c->arm(limit);
    const tcp::endpoint endpoint = endpoint_of(address);
    const auto [error] = co_await c->socket.async_connect(endpoint, kToken);
    if (error || c->timed_out)
      co_return failed(error, HttpError::Connect, fmt::format("connecting to {}", address.str()));
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return cancelled();
    error_code ignored;
    c->socket.set_option(tcp::no_delay{true}, ignored);
    if (!origin.secure) co_return std::nullopt;

    if (const std::string& problem = self->make_tls(); !problem.empty()) co_return HttpFailure{HttpError::Tls, problem};
    c->tls = std::make_unique<asio::ssl::stream<tcp::socket&>>(c->socket, *self->tls_);
    SSL* const ssl = c->tls->native_handle();
    if (!IpAddress::parse(origin.host)) SSL_set_tlsext_host_name(ssl, origin.host.c_str());
    if (self->options_.verify_certificates) {
      c->tls->set_verify_callback(asio::ssl::host_name_verification{origin.host}, ignored);
    }
    const auto [shaken] = co_await c->tls->async_handshake(asio::ssl::stream_base::client, kToken);
    if (!shaken && !c->timed_out) co_return std::nullopt;
    HttpFailure failure = failed(shaken, HttpError::Tls, fmt::format("shaking hands with {}", origin.authority()));
    if (failure.error == HttpError::Tls)
      failure.detail += describe_untrusted(SSL_get_verify_result(ssl), self->options_.ca_file.empty() && self->options_.ca_pem.empty());
    co_return failure;
  }

  // Made at the first https request. The problem, or empty.
  const std::string& make_tls() {
    if (tls_ || !tls_problem_.empty()) return tls_problem_;
    auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    error_code error;
    if (!options_.ca_file.empty()) context->load_verify_file(options_.ca_file, error);
    if (error) {
      tls_problem_ = fmt::format("cannot read certificates from {}: {}", options_.ca_file, error.message());
      return tls_problem_;
    }
    if (!options_.ca_pem.empty()) context->add_certificate_authority(asio::buffer(options_.ca_pem), error);
    if (options_.ca_file.empty() && options_.ca_pem.empty()) context->set_default_verify_paths(error);
    if (error) {
      tls_problem_ = fmt::format("cannot use the certificates to trust: {}", error.message());
      return tls_problem_;
    }
    context->set_verify_mode(options_.verify_certificates ? asio::ssl::verify_peer : asio::ssl::verify_none, error);
    tls_ = std::move(context);
    return tls_problem_;
  }

  // ---- One exchange

  // A cancellation that arrives while no operation waits is kept in the coroutine's state: asked before each wait.
  static Awaitable<std::size_t> read_some(std::shared_ptr<Connection> c, error_code* error) {
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      *error = asio::error::operation_aborted;
      co_return 0;
    }
    if (c->begin == c->end) {
      c->begin = c->end = 0;
    } else if (c->begin > 0 && c->end == c->buffer.size()) {
      std::memmove(c->buffer.data(), c->buffer.data() + c->begin, c->end - c->begin);
      c->end -= c->begin;
      c->begin = 0;
    }
    if (c->end == c->buffer.size()) c->buffer.resize(std::max(kFirstBuffer, c->buffer.size() * 2));
    const auto room = asio::buffer(c->buffer.data() + c->end, c->buffer.size() - c->end);
    std::size_t count = 0;
    if (c->tls) {
      std::tie(*error, count) = co_await c->tls->async_read_some(room, kToken);
    } else {
      std::tie(*error, count) = co_await c->socket.async_read_some(room, kToken);
    }
    c->end += count;
    co_return count;
  }

  static HttpResponse head_of(const http::Response& parsed) {
    HttpResponse head;
    head.status = parsed.status;
    head.reason = std::string{parsed.reason};
    head.headers.reserve(parsed.headers.size());
    for (const http::Header& field : parsed.headers)
      head.headers.push_back({std::string{field.name}, std::string{field.value}});
    return head;
  }

  static void write_request(std::string& out, const HttpRequest& request) {
    std::vector<http::Header> fields;
    fields.reserve(request.headers.size());
    const std::string authority = request.origin.authority();
    std::string_view host = authority;
    for (const HttpField& field : request.headers) {
      if (http::equal_ignoring_case(field.name, "Host")) {
        host = field.value;
      } else if (!http::equal_ignoring_case(field.name, "Content-Length")) {
        fields.push_back({field.name, field.value});
      }
    }
    out.clear();
    http::append_request(out, {request.method, request.target, host, fields}, request.body);
  }

  // `request` and `stream` live in attempts(), which awaits this.
  static Awaitable<Exchanged> exchange(std::shared_ptr<Impl> self, std::shared_ptr<Connection> c,
                                       const HttpRequest* request, const std::optional<HttpStream>* stream) {
    Exchanged done;
    const auto fail = [&done](HttpFailure failure) {
      failure.maybe_executed = true;
      done.failure = std::move(failure);
    };
    write_request(c->out, *request);
    c->begin = c->end = 0;
    error_code error;
    if (c->tls) {
      std::tie(error, std::ignore) = co_await asio::async_write(*c->tls, asio::buffer(c->out), kToken);
    } else {
      std::tie(error, std::ignore) = co_await asio::async_write(c->socket, asio::buffer(c->out), kToken);
    }
    // A server that refuses a long request may answer and close before it has read all: the answer is worth reading.
    const bool refused = error == asio::error::broken_pipe || error == asio::error::connection_reset;
    if ((error && !refused) || c->timed_out) {
      fail(failure_of(*c, error, HttpError::Reset, "sending the request", true));
      co_return done;
    }
    c->parser.expect(request->method == "HEAD", true);
    for (;;) {
      const auto state = c->parser.parse(c->unread());
      if (state == http::ResponseParser::State::HeadComplete) break;
      if (state == http::ResponseParser::State::Error) {
        fail({HttpError::Protocol, std::string{c->parser.error()}});
        co_return done;
      }
      const std::size_t count = co_await read_some(c, &error);
      done.answered |= count > 0;
      if (count == 0 || c->timed_out || self->closed_) {
        fail(failure_of(*c, error, HttpError::Reset, "waiting for the response", true));
        co_return done;
      }
    }
    HttpResponse response = head_of(c->parser.response());
    done.keep_alive = c->parser.response().keep_alive && response.status != 101;
    c->begin += c->parser.consumed();
    http::BodyDecoder& body = c->parser.decoder();
    const std::size_t limit = *stream ? SIZE_MAX : self->options_.response_bytes_max;
    if (body.announced() > limit) {
      fail({HttpError::TooLarge,
            fmt::format("the response announces {} bytes, {} are allowed", body.announced(), limit)});
      co_return done;
    }
    if (*stream) {
      if (!(*stream)->on_head(response)) {
        fail(cancelled());
        co_return done;
      }
    } else {
      response.body.reserve(static_cast<std::size_t>(body.announced()));
    }
    for (;;) {
      const auto step = body.step(c->unread());
      c->begin += step.consumed;
      switch (step.state) {
        case http::BodyDecoder::State::Done:
          done.keep_alive &= c->begin == c->end;  // what follows belongs to no request
          done.response = std::move(response);
          co_return done;
        case http::BodyDecoder::State::Error: fail({HttpError::Protocol, std::string{body.error()}}); co_return done;
        case http::BodyDecoder::State::Data:
          if (*stream) {
            if ((*stream)->on_body(step.data)) continue;
            fail(cancelled());
            co_return done;
          }
          if (step.data.size() > limit - response.body.size()) {
            fail(
                {HttpError::TooLarge, fmt::format("the response is longer than the {} bytes that are allowed", limit)});
            co_return done;
          }
          response.body.append(step.data);
          continue;
        case http::BodyDecoder::State::NeedMore: break;
      }
      if (*stream) c->arm((*stream)->silence_max.count() > 0 ? steady_now() + (*stream)->silence_max : Instant::max());
      const std::size_t count = co_await read_some(c, &error);
      if (count > 0 && !c->timed_out && !self->closed_) continue;
      const bool ended = error == asio::error::eof && !c->timed_out && !c->aborted && body.may_end();
      if (!ended) {
        fail(failure_of(*c, error, HttpError::Reset, "reading the body", true));
        co_return done;
      }
      done.keep_alive = false;
      done.response = std::move(response);
      co_return done;
    }
  }

  const asio::any_io_executor executor_;
  const HttpClientOptions options_;
  NameService names_;
  HttpClientStatistics statistics_;
  std::unique_ptr<asio::ssl::context> tls_;
  std::string tls_problem_;
  std::map<HttpOrigin, OriginState> origins_;
  std::size_t idle_count_ = 0;
  std::set<Connection*> live_;
  bool closed_ = false;
};

HttpClient::HttpClient(asio::any_io_executor executor, HttpClientOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(options))) {}

HttpClient::~HttpClient() { impl_->close(); }

Awaitable<Outcome> HttpClient::request(HttpRequest request, Instant deadline) {
  return Impl::run(impl_, std::move(request), deadline, std::nullopt);
}

Awaitable<Outcome> HttpClient::stream(HttpRequest request, HttpStream stream) {
  const Instant deadline = stream.head_deadline;
  return Impl::run(impl_, std::move(request), deadline, std::move(stream));
}

void HttpClient::close() { impl_->close(); }
void HttpClient::close_idle() { impl_->close_idle(); }
const HttpClientStatistics& HttpClient::statistics() const { return impl_->statistics(); }

struct SyncHttpClient::State {
  explicit State(HttpClientOptions options) : client(context.get_executor(), std::move(options)) {}

  static Awaitable<void> put(Awaitable<Outcome> work, std::optional<Outcome>* outcome) {
    *outcome = co_await std::move(work);
  }
  Outcome wait(Awaitable<Outcome> work) {
    std::optional<Outcome> outcome;
    asio::co_spawn(context, put(std::move(work), &outcome), [](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    context.restart();
    context.run();
    FANFARE_ASSERT(outcome.has_value());
    return *std::move(outcome);
  }

  asio::io_context context{1};
  HttpClient client;
};

SyncHttpClient::SyncHttpClient(HttpClientOptions options) : state_(std::make_unique<State>(std::move(options))) {}
SyncHttpClient::~SyncHttpClient() = default;
SyncHttpClient::SyncHttpClient(SyncHttpClient&&) noexcept = default;
SyncHttpClient& SyncHttpClient::operator=(SyncHttpClient&&) noexcept = default;

Outcome SyncHttpClient::request(HttpRequest request, milliseconds timeout) {
  return state_->wait(state_->client.request(std::move(request), steady_now() + timeout));
}
Outcome SyncHttpClient::stream(HttpRequest request, HttpStream stream) {
  return state_->wait(state_->client.stream(std::move(request), std::move(stream)));
}
const HttpClientStatistics& SyncHttpClient::statistics() const { return state_->client.statistics(); }

}  // namespace fanfare::net
