// Which operation of which service a request asks for, and by which protocol: everything that is known before its
// members are read. One port serves all services.
//
// Rule 1: JSON if and only if there is an X-Amz-Target header; else Query, by the Action of the form body or query
// string. Rule 2: the service is that of the credential's scope, else of the host name, else of the API version, else
// the first
//         that knows the action. The region is that of the scope, else of the host name, else the default.
// Rule 3: whatever cannot be routed still gets a protocol and a service, so that the refusal has a form.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/aws/authenticator.h"
#include "api/aws/error.h"
#include "api/aws/operation.h"
#include "wire/http/request.h"
#include "wire/http/url.h"

namespace fanfare::api::aws {

/// The header fields that the API looks at, found in one pass. Absent ones are empty.
struct Head {
  explicit Head(const wire::http::Request& request);

  std::string_view target;  ///< X-Amz-Target
  std::string_view content_type;
  std::string_view content_encoding;
  std::string_view authorization;
  std::string_view user_agent;
  std::string_view forwarded_proto;  ///< X-Forwarded-Proto, of a proxy that ends TLS
  std::string_view trace_id;         ///< X-Amzn-Trace-Id, of a client that is traced
  std::string_view origin;           ///< Origin, of a browser
  std::string_view fetch_site;       ///< Sec-Fetch-Site, of a browser: `cross-site`
};

struct Route {
  Protocol protocol = Protocol::Query;
  Service service = Service::Sqs;
  const Operation* operation = nullptr;
  Credential credential;
  std::string_view region;
  std::string_view queue_path;  ///< the path if it is /ACCOUNT/NAME; else empty
};

/// `Credential=AKID/20150830/us-east-1/sqs/aws4_request` of an Authorization header, or the same of X-Amz-Credential.
/// Parts that are missing are empty.
Credential parse_credential(std::string_view authorization, const wire::http::Form& query);

/// Keeps memory from request to request; not thread-safe.
class Router {
 public:
  /// Fills `route` as far as it gets; the error says why no further. `default_region` outlives the route.
  std::optional<ApiError> route(const wire::http::Request& request, const Head& head, std::string_view default_region,
                                Route& route);

  /// The parameters of the last routed Query request: those of the body, then those of the query string.
  [[nodiscard]] std::span<const wire::http::FormField> parameters() const { return parameters_; }
  [[nodiscard]] const wire::http::Form& query() const { return query_; }

 private:
  std::optional<ApiError> route_json(const wire::http::Request& request, const Head& head, Route& route);
  std::optional<ApiError> route_query(const wire::http::Request& request, const Head& head, Route& route);

  wire::http::Form query_;
  wire::http::Form body_;
  std::vector<wire::http::FormField> both_;
  std::span<const wire::http::FormField> parameters_;
};

}  // namespace fanfare::api::aws
