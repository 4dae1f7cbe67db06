// What the targets of both AWS protocols share: a Service without an engine behind it.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "api/service.h"
#include "base/rng.h"

namespace fanfare::fuzz {

/// Hands one request to the API. Aborts unless it gives a command or a whole HTTP response.
inline void decode_request(const wire::http::Request& request) {
  static SeededSecrets secrets(1);
  static api::aws::DevelopmentAuthenticator authenticator({});
  static api::Service service({.receipt_secret = "a secret of at least sixteen bytes"}, authenticator);
  api::ReplyContext context;
  std::string out;
  const auto decoded =
      service.decode(request, {{1}, "127.0.0.1", false, timestamp_from_unix_ms(0), timestamp_from_unix_ms(0), secrets}, context, out);
  const bool answered = out.starts_with("HTTP/1.1 ");
  if ((decoded.command != nullptr) == answered) std::abort();
}

}  // namespace fanfare::fuzz
