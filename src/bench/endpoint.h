// Where a load goes, and as whom: a URL, what it resolves to, a region, credentials.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "wire/http/url.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::bench {

/// Why something could not be done: a sentence for people.
struct Trouble {
  std::string text;
};

enum class Protocol { Json, Query };

struct Endpoint {
  wire::http::Url url;
  std::vector<net::SocketAddress> addresses;  ///< at least one; connections go to them in turn
  std::string region = "us-east-1";
  wire::sigv4::Credentials credentials;
  bool is_signed = true;
  Protocol protocol = Protocol::Json;  ///< of SQS; SNS has only the Query protocol
};

/// Takes the URL apart and resolves its host.
Result<Endpoint, Trouble> make_endpoint(std::string_view url);

}  // namespace fanfare::bench
