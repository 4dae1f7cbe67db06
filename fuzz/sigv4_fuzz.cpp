// Signature Version 4: no request crashes the reader or the verifier, none verifies by itself, and every request that
// is signed here verifies here. The input is an HTTP request.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "wire/http/request.h"
#include "wire/sigv4/sigv4.h"

using namespace fanfare;
using namespace fanfare::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const Timestamp now = *sigv4::parse_amz_date("20150830T123600Z");
  static_cast<void>(sigv4::parse_amz_date(text));
  http::RequestParser parser;
  if (parser.parse(text) != http::Parse::Complete) return 0;
  const auto& r = parser.request();
  const sigv4::RequestView view{r.method, r.path, r.query, r.headers, r.body};
  sigv4::SigningKeyCache cache;
  std::string scratch;
  http::Form query;
  if (const auto read = sigv4::read_authorization(view, query)) {
    FANFARE_ASSERT(!sigv4::verify(view, *read, "a secret that no seed knows", now, cache, scratch));
  }

  const sigv4::Credentials key{"AKIDEXAMPLE", "secret", r.body.empty() ? "" : "token"};
  const sigv4::Scope scope{"us-east-1", "sqs", now};
  const auto fields = sigv4::sign(view, key, scope, cache);
  std::vector<http::Header> headers;
  for (const auto& field : r.headers) {
    for (const auto* name : {"authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}) {
      if (http::equal_ignoring_case(field.name, name)) return 0;
    }
    headers.push_back(field);
  }
  if (r.headers.count("host") == 0) return 0;
  headers.push_back({"X-Amz-Date", fields.date});
  headers.push_back({"Authorization", fields.authorization});
  if (!fields.session_token.empty()) headers.push_back({"X-Amz-Security-Token", fields.session_token});
  auto complete = view;
  complete.headers = http::Headers{headers};
  http::Form unused;
  const auto read = sigv4::read_authorization(complete, unused);
  FANFARE_ASSERT(read.has_value(), read.error().message);
  sigv4::SigningKeyCache fresh;
  const auto verified = sigv4::verify(complete, *read, key.secret, now, fresh, scratch);
  FANFARE_ASSERT(verified.has_value(), verified.error().message);
  return 0;
}
