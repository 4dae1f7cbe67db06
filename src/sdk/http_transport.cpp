// Transport over HTTP/1.1 and TLS: net::HttpClient with the SDK's vocabulary.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "fanfare/transport.h"
#include "net/http_client.h"
#include "wire/http/headers.h"
#include "wire/http/url.h"

namespace fanfare::sdk {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kResponseBytesMax = std::size_t{64} << 20;  // ten messages of 1 MiB, every byte escaped

ErrorKind kind_of(net::HttpError error) {
  switch (error) {
    case net::HttpError::Resolve:
    case net::HttpError::Forbidden:
    case net::HttpError::Connect:
    case net::HttpError::Tls:
    case net::HttpError::Reset: return ErrorKind::Unreachable;
    case net::HttpError::Timeout: return ErrorKind::Timeout;
    case net::HttpError::Protocol:
    case net::HttpError::TooLarge: return ErrorKind::Malformed;
    case net::HttpError::Cancelled: return ErrorKind::Cancelled;
  }
  return ErrorKind::Unreachable;
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(asio::any_io_executor executor, const std::string& endpoint_url)
      : endpoint_(endpoint_url),
        strand_(asio::make_strand(std::move(executor))),
        client_(strand_, {.response_bytes_max = kResponseBytesMax}) {
    if (const auto url = wire::http::parse_url(endpoint_url)) origin_ = net::HttpOrigin::of(*url);
  }

  Awaitable<Result<TransportResponse, Error>> send(TransportRequest request, milliseconds deadline) override {
    if (!origin_)
      co_return Error{.kind = ErrorKind::Invalid, .message = fmt::format("the endpoint '{}' is no http or https URL", endpoint_)};
    net::HttpRequest outgoing{.origin = *origin_, .method = std::move(request.method), .target = std::move(request.target)};
    for (auto& [name, value] : request.headers) outgoing.headers.push_back({std::move(name), std::move(value)});
    outgoing.body = std::move(request.body);
    auto exchange = client_.request(std::move(outgoing), std::chrono::steady_clock::now() + deadline);
    auto on_strand = asio::co_spawn(strand_, std::move(exchange), asio::use_awaitable);
    Result<net::HttpResponse, net::HttpFailure> answer = co_await std::move(on_strand);
    if (!answer) co_return Error{.kind = kind_of(answer.error().error), .message = fmt::format("{}: {}", endpoint_, answer.error().detail)};
    TransportResponse response{.status = answer->status, .headers = {}, .body = std::move(answer->body)};
    for (net::HttpField& field : answer->headers) response.headers.emplace_back(std::move(field.name), std::move(field.value));
    co_return response;
  }

 private:
  const std::string endpoint_;
  std::optional<net::HttpOrigin> origin_;
  asio::strand<asio::any_io_executor> strand_;
  net::HttpClient client_;  // used on strand_ only
};

}  // namespace

std::shared_ptr<Transport> http_transport(asio::any_io_executor executor, std::string endpoint_url) {
  return std::make_shared<HttpTransport>(std::move(executor), endpoint_url);
}

}  // namespace fanfare::sdk
