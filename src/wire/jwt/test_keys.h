// RSA keys and signed tokens for tests. Made once a process: a key takes a tenth of a second.
#pragma once

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"

namespace fanfare::wire::jwt::test {

inline std::string base64url(std::string_view bytes) { return digest::base64(bytes, digest::Base64::UrlUnpadded); }

/// A private key; `bits` of its modulus.
class SigningKey {
 public:
  explicit SigningKey(unsigned bits) : key_(EVP_RSA_gen(bits), EVP_PKEY_free) {}

  /// {"kty":"RSA","kid":"..","use":"sig","alg":"RS256","n":"..","e":".."}; `more` replaces use and alg.
  [[nodiscard]] std::string jwk(std::string_view kid, std::string_view more = R"("use":"sig","alg":"RS256")") const {
    std::string out = "{\"kty\":\"RSA\",";
    if (!kid.empty()) out.append("\"kid\":\"").append(kid).append("\",");
    if (!more.empty()) out.append(more).append(",");
    return out.append("\"n\":\"").append(number("n")).append("\",\"e\":\"").append(number("e")).append("\"}");
  }

  /// RSASSA-PKCS1-v1_5 with SHA-256, SHA-384 or SHA-512.
  [[nodiscard]] std::string sign(std::string_view text, const EVP_MD* hash = EVP_sha256()) const {
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key_.get());
    EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size());
    std::string signature(size, '\0');
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, text.size());
    signature.resize(size);
    return signature;
  }

  [[nodiscard]] std::string token(std::string_view header, std::string_view claims, const EVP_MD* hash = EVP_sha256()) const {
    const std::string text = base64url(header) + "." + base64url(claims);
    return text + "." + base64url(sign(text, hash));
  }

 private:
  [[nodiscard]] std::string number(const char* name) const {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &value);
    std::string bytes(static_cast<std::size_t>(BN_num_bytes(value)), '\0');
    BN_bn2bin(value, reinterpret_cast<unsigned char*>(bytes.data()));
    BN_free(value);
    return base64url(bytes);
  }

  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
};

inline const SigningKey& first_key() {
  static const SigningKey key{2048};
  return key;
}
inline const SigningKey& second_key() {
  static const SigningKey key{2048};
  return key;
}

}  // namespace fanfare::wire::jwt::test
