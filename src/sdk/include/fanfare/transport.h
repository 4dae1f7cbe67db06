// How a signed request reaches the service: over HTTP, or straight into a broker of the same process.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fanfare/error.h"

namespace fanfare::sdk {

template <class T>
using Awaitable = boost::asio::awaitable<T>;

struct TransportRequest {
  std::string method;  ///< "POST"
  std::string target;  ///< path and query as they go on the wire: "/"
  std::vector<std::pair<std::string, std::string>> headers;  ///< Host and Authorization included
  std::string body;
};

struct TransportResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  /// Value of the first header of that name (any case); empty when absent.
  [[nodiscard]] std::string header(std::string_view name) const;
};

/// One service endpoint. Safe to use from several coroutines of its executor at once.
/// Cancelling the awaitable (boost::asio::cancellation_signal, terminal) ends the exchange at once.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Errors: Unreachable, Timeout, Cancelled, Malformed. `deadline` covers connecting, sending and the whole answer.
  virtual Awaitable<Result<TransportResponse, Error>> send(TransportRequest request, milliseconds deadline) = 0;
};

/// HTTP/1.1 with kept-alive connections to `endpoint_url` ("http://127.0.0.1:4566", "https://sqs.eu-west-1.amazonaws.com").
std::shared_ptr<Transport> http_transport(boost::asio::any_io_executor executor, std::string endpoint_url);

}  // namespace fanfare::sdk
