#include "api/sts/web_identity_token.h"

#include "api/sts/errors.h"
#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"
#include "wire/json/value.h"

namespace fanfare::api::sts {
namespace digest = wire::digest;
namespace json = wire::json;

Result<WebIdentity, aws::ApiError> read_web_identity(std::string_view token) {
  const auto unreadable = [](std::string_view why) {
    return api_error(Error::InvalidIdentityToken, "The ID Token provided is not a valid JWT: " + std::string(why));
  };
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return unreadable("it has not three parts.");
  const auto header_text = digest::decode_base64(token.substr(0, first), digest::Base64::UrlUnpadded);
  const auto payload_text =
      digest::decode_base64(token.substr(first + 1, second - first - 1), digest::Base64::UrlUnpadded);
  const auto signature = digest::decode_base64(token.substr(second + 1), digest::Base64::UrlUnpadded);
  if (!header_text || !payload_text || !signature) return unreadable("a part is not base64url.");
  const auto header = json::parse(*header_text);
  const auto payload = json::parse(*payload_text);
  if (!header || !payload || !payload->is_object()) return unreadable("a part is not JSON.");

  WebIdentity out;
  out.algorithm = header->find_string("alg").value_or("");
  std::string_view issuer = payload->find_string("iss").value_or("");
  if (issuer.starts_with("https://")) issuer.remove_prefix(8);
  out.issuer = issuer;
  out.subject = payload->find_string("sub").value_or("");
  if (const json::Value* audience = payload->find("aud")) {
    if (const auto one = audience->as_string()) out.audiences.emplace_back(*one);
    for (const json::Value& one : audience->items()) out.audiences.emplace_back(one.as_string().value_or(""));
  }
  if (const json::Value* expires = payload->find("exp")) {
    const auto seconds_since = expires->as_double();
    if (!seconds_since || *seconds_since < 0 || *seconds_since > 1e11) return unreadable("exp is no time.");
    out.expires = timestamp_from_unix_ms(static_cast<std::int64_t>(*seconds_since * 1000));
  }
  if (out.issuer.empty() || out.subject.empty()) return unreadable("it names no issuer or no subject.");
  out.signed_part = token.substr(0, second);
  out.signature = *signature;
  return out;
}

bool is_signed_with(const WebIdentity& identity, std::string_view hs256_secret) {
  if (identity.algorithm != "HS256" || hs256_secret.empty()) return false;
  const auto mac = digest::hmac_sha256(hs256_secret, identity.signed_part);
  return digest::equal_in_constant_time(digest::bytes_of(mac), identity.signature);
}

}  // namespace fanfare::api::sts
