// JSON Web Tokens in their compact form, and the public keys that verify them.
//
// Rule 1: the key decides by which algorithm a signature is verified; a token's `alg` must agree with it. "none" is never
//         accepted, and a public key never serves as the secret of an HMAC.
// Rule 2: what a token claims means nothing until its signature was right.
// Rule 3: no input, of a token or of a key set, throws or aborts; sizes are limited.
// Source: [RFC 7515], [RFC 7517], [RFC 7518 3.3], [RFC 7519], [RFC 8725].
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/json/value.h"

namespace fanfare::wire::jwt {

/// What STS accepts as WebIdentityToken.
inline constexpr std::size_t kTokenBytesMax = 20'000;

/// A token taken apart, nothing of it checked.
struct Token {
  std::string algorithm;         ///< "RS256"
  std::string key_id;            ///< "kid"; empty: none
  std::string_view signed_part;  ///< header and payload as they stand; a view of the text
  std::string signature;         ///< bytes
  json::Value claims;            ///< an object; no name stands twice
};

struct Malformed {
  std::string why;  ///< "it has not three parts."
};

/// `eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOi...9.c2ln`. [RFC 7515 3.1]
Result<Token, Malformed> read(std::string_view text);

/// Whether this secret made the signature, by HS256. A token of any other algorithm is not signed so.
bool is_signed_with_secret(const Token& token, std::string_view secret);

/// The public keys of a provider. Copies share the keys; safe to use from several threads.
class KeySet {
 public:
  enum class Verdict : std::uint8_t {
    Verified,
    AlgorithmNotAccepted,  ///< not RS256, RS384 or RS512, or not the one that the key is for
    KeyUnknown,            ///< no key has the token's `kid`; or it has none, and there are several keys
    SignatureWrong,
  };

  KeySet() = default;
  /// {"keys":[{"kty":"RSA","kid":"2026-11","use":"sig","alg":"RS256","n":"0vx7...","e":"AQAB"}]}. Keys of other types and
  /// uses are passed over [RFC 7517 5]. Errors: `keys[1]: the modulus has 1024 bits, 2048 to 8192 are accepted`.
  static Result<KeySet, std::string> parse(const json::Value& document);

  [[nodiscard]] Verdict verify(const Token& token) const;
  [[nodiscard]] bool empty() const { return keys_.empty(); }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  struct Key {
    std::string id;
    std::string algorithm;                     ///< empty: any with RSA
    std::shared_ptr<const void> verifying_key;  ///< EVP_PKEY; shared by the copies of a set
  };
  std::vector<Key> keys_;
};

}  // namespace fanfare::wire::jwt
