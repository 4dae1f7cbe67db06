// A key set, a line end, a token: both are read, and the token is verified with the keys.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "wire/jwt/jwt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace jwt = fanfare::wire::jwt;
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t line = input.find('\n');
  const auto document = fanfare::wire::json::parse(input.substr(0, line));
  auto keys = document ? jwt::KeySet::parse(*document) : fanfare::Result<jwt::KeySet, std::string>{std::string{}};
  const auto token = jwt::read(line == std::string_view::npos ? input : input.substr(line + 1));
  if (!token) return 0;
  FANFARE_ASSERT(token->claims.is_object() && !token->algorithm.empty());
  FANFARE_ASSERT(input.find(token->signed_part) != std::string_view::npos);
  if (jwt::is_signed_with_secret(*token, "secret")) FANFARE_ASSERT(token->algorithm == "HS256");
  FANFARE_ASSERT(jwt::KeySet{}.verify(*token) != jwt::KeySet::Verdict::Verified);
  if (keys && keys->verify(*token) == jwt::KeySet::Verdict::Verified) FANFARE_ASSERT(token->algorithm.starts_with("RS"));
  return 0;
}
