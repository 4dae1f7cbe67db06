#include "api/sts/web_identity_token.h"

#include <algorithm>

#include "api/sts/errors.h"
#include "base/assert.h"

namespace fanfare::api::sts {
namespace json = wire::json;
namespace {

constexpr seconds kClocksDiffer{60};

aws::ApiError unreadable(std::string_view why) {
  return api_error(Error::InvalidIdentityToken, "The ID Token provided is not a valid JWT: " + std::string(why));
}

/// A NumericDate; false if it is there and no time. [RFC 7519 2]
bool read_time(const json::Value& claims, std::string_view name, std::optional<Timestamp>& out) {
  const json::Value* claim = claims.find(name);
  if (claim == nullptr) return true;
  const auto seconds_since = claim->as_double();
  if (!seconds_since || *seconds_since < 0 || *seconds_since > 1e11) return false;
  out = timestamp_from_unix_ms(static_cast<std::int64_t>(*seconds_since * 1000));
  return true;
}

std::string_view words(wire::jwt::KeySet::Verdict verdict) {
  using Verdict = wire::jwt::KeySet::Verdict;
  switch (verdict) {
    case Verdict::Verified: return "";
    case Verdict::AlgorithmNotAccepted: return "Couldn't verify the signature: the provider's keys are not for its algorithm.";
    case Verdict::KeyUnknown: return "Couldn't retrieve verification key: the provider has none with the token's kid.";
    case Verdict::SignatureWrong: return "Couldn't verify the signature of the token.";
  }
  FANFARE_ASSERT(false, "a verdict outside its enumeration");
  return "";
}

}  // namespace

Result<WebIdentity, aws::ApiError> read_web_identity(std::string_view text) {
  auto token = wire::jwt::read(text);
  if (!token) return unreadable(token.error().why);
  const json::Value& claims = token->claims;
  WebIdentity out;
  std::string_view issuer = claims.find_string("iss").value_or("");
  if (issuer.starts_with("https://")) issuer.remove_prefix(8);
  out.issuer = issuer;
  out.subject = claims.find_string("sub").value_or("");
  if (const json::Value* audience = claims.find("aud")) {
    if (const auto one = audience->as_string()) out.audiences.emplace_back(*one);
    for (const json::Value& one : audience->items()) out.audiences.emplace_back(one.as_string().value_or(""));
  }
  if (!read_time(claims, "exp", out.expires)) return unreadable("exp is no time.");
  if (!read_time(claims, "nbf", out.not_before)) return unreadable("nbf is no time.");
  if (!read_time(claims, "iat", out.issued)) return unreadable("iat is no time.");
  if (out.issuer.empty() || out.subject.empty()) return unreadable("it names no issuer or no subject.");
  out.token = std::move(*token);
  return out;
}

Result<std::string, aws::ApiError> check_web_identity(const WebIdentity& identity, const identity::Provider& provider,
                                                      Timestamp now) {
  const auto invalid = [](std::string_view why) { return api_error(Error::InvalidIdentityToken, std::string(why)); };
  if (identity.token.algorithm == "HS256" && !provider.hs256_secret.empty()) {
    if (!wire::jwt::is_signed_with_secret(identity.token, provider.hs256_secret))
      return invalid("Couldn't verify the signature of the token.");
  } else if (const auto verdict = provider.keys.verify(identity.token); verdict != wire::jwt::KeySet::Verdict::Verified) {
    return invalid(words(verdict));
  }
  if (!identity.expires) return invalid("Missing a required claim: exp");
  if (now >= *identity.expires)
    return api_error(Error::ExpiredToken, "Token expired: current date/time must be before the expiration date/time");
  for (const auto& [from, name] : {std::pair{identity.not_before, "nbf"}, {identity.issued, "iat"}})
    if (from && *from > now + kClocksDiffer) return invalid("The token is not valid yet: " + std::string(name));
  const auto accepted = std::ranges::find_if(identity.audiences, [&](const std::string& one) {
    return provider.client_ids.empty() || std::ranges::find(provider.client_ids, one) != provider.client_ids.end();
  });
  if (accepted != identity.audiences.end()) return *accepted;
  if (provider.client_ids.empty()) return std::string{};
  return api_error(Error::IdpRejectedClaim, "Incorrect token audience");
}

}  // namespace fanfare::api::sts
