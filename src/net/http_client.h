// An HTTP/1.1 client on Asio, for what this process asks of others: AWS, webhooks, upstream services. Connections are
// kept alive and pooled by origin; https is verified. HTTP only: no redirects, cookies, proxies or compression.
//
// Rule 1: a client belongs to one executor without parallelism: a single-threaded io_context or a strand. Functions are
//         called, and request() is awaited, on it.
// Rule 2: every wait ends with the request's deadline. A cancelled request (Asio's per-operation cancellation: a
//         cancellation_slot, operator||) closes its socket before it returns, so a server sees the caller leave.
// Rule 3: a request is sent a second time only if its kept-alive connection turned out to be closed before any byte of
//         the response, and if it is replayable; never otherwise.
// Rule 4: what `permit` refuses is never connected to. It judges the resolved address that is then used, so a name that
//         resolves differently a moment later gains nothing.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/address.h"
#include "wire/http/url.h"

namespace fanfare::net {

template <class T>
using Awaitable = boost::asio::awaitable<T>;

/// Where connections go to: scheme, host and port.
struct HttpOrigin {
  bool secure = false;
  std::string host;  ///< A name or an address; IPv6 without brackets.
  std::uint16_t port = 80;

  static HttpOrigin of(const wire::http::Url& url) { return {url.secure, url.host, url.port}; }
  /// For the Host field: `example.com:8443`, without the port if it is the scheme's.
  [[nodiscard]] std::string authority() const;

  friend auto operator<=>(const HttpOrigin&, const HttpOrigin&) = default;
};

struct HttpField {
  std::string name;
  std::string value;
};

struct HttpRequest {
  HttpOrigin origin;
  std::string method = "GET";
  std::string target = "/";  ///< `/path?query`, encoded.
  /// Host and Content-Length are added by the client; a Host given here replaces the origin's.
  std::vector<HttpField> headers;
  std::string body;
  /// Whether it may be sent again although the server might have seen it. Absent: if the method is idempotent
  /// [RFC 9110 9.2.2].
  std::optional<bool> replayable;

  /// `method` for an absolute http or https URL.
  static Result<HttpRequest, wire::http::UrlError> to(std::string method, std::string_view url);
};

struct HttpResponse {
  int status = 0;
  std::string reason;
  std::vector<HttpField> headers;
  std::string body;

  /// Value of the first field of this name in any case; empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

enum class HttpError : std::uint8_t {
  Resolve,    ///< The host name has no address, or the name service does not answer.
  Forbidden,  ///< `permit` refuses all addresses of the host.
  Connect,    ///< No address accepted a connection.
  Tls,        ///< The handshake failed, above all: the certificate could not be verified.
  Timeout,    ///< The deadline passed, wherever it was waiting.
  Reset,      ///< The connection broke or ended before the response was whole.
  Protocol,   ///< What came is not HTTP/1.1, or no valid request can be made of what was asked for.
  TooLarge,   ///< The response is larger than response_bytes_max.
  Cancelled,  ///< By the caller, by close(), or by a stream's callback.
};
/// A word for logs and metrics: `timeout`.
std::string_view describe(HttpError error);

struct HttpFailure {
  HttpError error;
  std::string detail;  ///< For people: "127.0.0.1:9: Connection refused".
  /// The server may have received and executed the request.
  bool maybe_executed = false;
};

struct HttpClientOptions {
  /// Connections in use and idle, to one origin. Requests beyond it wait, first come first served.
  std::size_t connections_per_origin = 64;
  /// Idle connections kept, over all origins.
  std::size_t idle_connections = 256;
  /// Idle connections older than this are not used again.
  milliseconds idle_for{20'000};
  /// Limit for connecting to one address, TLS handshake included; several addresses are tried in turn.
  milliseconds connect_timeout{5'000};
  std::size_t response_bytes_max = std::size_t{16} << 20;  ///< Body of one response; no limit for streams.
  /// Certificates to trust instead of the system's: a PEM file, or PEM text.
  std::string ca_file;
  std::string ca_pem;
  /// False accepts any certificate. For development only.
  bool verify_certificates = true;
  /// Which addresses may be connected to; absent: all. For the rule against server-side request forgery:
  /// `[](const SocketAddress& a) { return a.ip.is_public(); }`.
  std::function<bool(const SocketAddress&)> permit;
};

/// How the body of a stream is handed over.
struct HttpStream {
  /// The response's head has come (body empty). False ends the stream with Cancelled.
  std::function<bool(const HttpResponse& head)> on_head;
  /// A piece of the body, decoded, not empty, valid during the call. False ends the stream with Cancelled.
  std::function<bool(std::string_view bytes)> on_body;
  /// Until the head is there.
  Instant head_deadline = Instant::max();
  /// The longest pause between two pieces of the body; 0: none.
  milliseconds silence_max{0};
};

struct HttpClientStatistics {
  std::uint64_t requests = 0;
  std::uint64_t connections_opened = 0;
  std::uint64_t connections_reused = 0;
  std::uint64_t resent = 0;  ///< Rule 3.
};

class HttpClient {
 public:
  /// TLS material that cannot be read is reported by each https request (Tls).
  explicit HttpClient(boost::asio::any_io_executor executor, HttpClientOptions options = {});
  /// As close().
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// The whole response, whatever its status. Deadline Instant::max(): none.
  Awaitable<Result<HttpResponse, HttpFailure>> request(HttpRequest request, Instant deadline);

  /// A response without end, such as server-sent events. Returns the head (body empty) when the body has ended in
  /// order.
  Awaitable<Result<HttpResponse, HttpFailure>> stream(HttpRequest request, HttpStream stream);

  /// Ends all requests (Cancelled) and closes all connections. Later requests end with Cancelled at once.
  void close();
  /// Closes connections that are not in use.
  void close_idle();

  [[nodiscard]] const HttpClientStatistics& statistics() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with requests under way, which may outlive the client by one step
};

/// A blocking client for programs without an event loop: one request at a time, of one thread at a time.
class SyncHttpClient {
 public:
  explicit SyncHttpClient(HttpClientOptions options = {});
  ~SyncHttpClient();
  SyncHttpClient(SyncHttpClient&&) noexcept;
  SyncHttpClient& operator=(SyncHttpClient&&) noexcept;

  Result<HttpResponse, HttpFailure> request(HttpRequest request, milliseconds timeout);
  Result<HttpResponse, HttpFailure> stream(HttpRequest request, HttpStream stream);
  [[nodiscard]] const HttpClientStatistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fanfare::net
