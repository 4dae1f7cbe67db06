#include "sdk/signed_call.h"

#include <algorithm>
#include <array>

#include "wire/http/headers.h"
#include "wire/http/url.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::sdk {
namespace {

namespace sigv4 = wire::sigv4;
namespace http = wire::http;

/// Codes that mean «slower», whatever their HTTP status. [AWS SDKs: standard retry mode]
constexpr std::array<std::string_view, 8> kThrottlingCodes{
    "Throttling", "ThrottlingException", "Throttled", "ThrottledException", "RequestThrottled", "RequestThrottledException",
    "TooManyRequestsException", "OverLimit"};

std::string host_of(const std::string& endpoint_url) {
  const auto url = http::parse_url(endpoint_url);
  return url ? url->authority() : std::string{};
}

/// Keys by credential scope, one cache a thread: a signer on one core needs one entry.
sigv4::SigningKeyCache& key_cache() {
  thread_local sigv4::SigningKeyCache cache{64};
  return cache;
}

}  // namespace

Error service_error(int status, std::string code, std::string message, std::string request_id) {
  const bool throttled = status == 429 || std::find(kThrottlingCodes.begin(), kThrottlingCodes.end(), code) != kThrottlingCodes.end();
  return Error{.kind = throttled ? ErrorKind::Throttled : ErrorKind::Service,
               .code = std::move(code),
               .message = std::move(message),
               .request_id = std::move(request_id),
               .status = status};
}

SignedCaller::SignedCaller(ClientOptions options, std::string service, std::shared_ptr<CredentialsProvider> credentials,
                           std::shared_ptr<Transport> transport)
    : options_(std::move(options)),
      service_(std::move(service)),
      host_(host_of(options_.endpoint_url)),
      credentials_(std::move(credentials)),
      transport_(std::move(transport)) {}

Awaitable<Result<TransportResponse, Error>> SignedCaller::post(std::vector<std::pair<std::string, std::string>> headers, std::string body,
                                                               milliseconds extra_time) {
  const Result<Credentials, Error> keys = credentials_->credentials();
  if (!keys) co_return keys.error();
  if (host_.empty())
    co_return Error{.kind = ErrorKind::Invalid, .message = "the endpoint '" + options_.endpoint_url + "' is no http or https URL"};
  TransportRequest request{.method = "POST", .target = "/", .headers = {}, .body = std::move(body)};
  request.headers.emplace_back("Host", host_);
  for (auto& header : headers) request.headers.push_back(std::move(header));
  {
    std::vector<http::Header> views;
    for (const auto& [name, value] : request.headers) views.push_back({name, value});
    const sigv4::RequestView view{.method = request.method, .path = "/", .query = {}, .headers = http::Headers{views}, .body = request.body};
    const sigv4::Credentials signer{keys->access_key_id, keys->secret_access_key.reveal(), keys->session_token.reveal()};
    const auto now = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
    sigv4::SignedFields fields = sigv4::sign(view, signer, {.region = options_.region, .service = service_, .time = now}, key_cache());
    request.headers.emplace_back("X-Amz-Date", std::move(fields.date));
    if (!fields.session_token.empty()) request.headers.emplace_back("X-Amz-Security-Token", std::move(fields.session_token));
    request.headers.emplace_back("Authorization", std::move(fields.authorization));
  }
  auto sending = transport_->send(std::move(request), options_.timeout + extra_time);
  co_return co_await std::move(sending);
}

}  // namespace fanfare::sdk
