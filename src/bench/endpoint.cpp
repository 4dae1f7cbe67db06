#include "bench/endpoint.h"

#include <fmt/format.h>

namespace fanfare::bench {

Result<Endpoint, Trouble> make_endpoint(std::string_view url) {
  const auto parsed = wire::http::parse_url(url);
  if (!parsed)
    return Trouble{fmt::format("the endpoint '{}' is no URL: {}", url, wire::http::describe(parsed.error()))};
  Endpoint endpoint;
  endpoint.url = *parsed;
  const auto addresses = net::resolve({endpoint.url.host, endpoint.url.port});
  if (!addresses)
    return Trouble{fmt::format("the endpoint's host '{}': {}", endpoint.url.host, net::describe(addresses.error()))};
  endpoint.addresses = *addresses;
  return endpoint;
}

}  // namespace fanfare::bench
