#include "wire/jwt/jwt.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <optional>

#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"

namespace fanfare::wire::jwt {
namespace {

constexpr std::size_t kModulusBitsMin = 2'048;  // [RFC 7518 3.3]
constexpr std::size_t kModulusBitsMax = 8'192;  // beyond, one signature takes milliseconds
constexpr std::size_t kKeysMax = 100;
constexpr json::Limits kLimits{.depth_max = 16, .bytes_max = kTokenBytesMax, .duplicate_keys = json::DuplicateKeys::Reject};

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* one) const {
    Free(one);
  }
};
using Bignum = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;

const EVP_MD* digest_of(std::string_view algorithm) {
  if (algorithm == "RS256") return EVP_sha256();
  if (algorithm == "RS384") return EVP_sha384();
  if (algorithm == "RS512") return EVP_sha512();
  return nullptr;
}

Bignum number_of(const std::string& bytes) {
  return Bignum{BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr)};
}

std::shared_ptr<const void> make_key(const BIGNUM* modulus, const BIGNUM* exponent) {
  const std::unique_ptr<OSSL_PARAM_BLD, FreeWith<OSSL_PARAM_BLD_free>> builder{OSSL_PARAM_BLD_new()};
  if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent) != 1)
    return nullptr;
  const std::unique_ptr<OSSL_PARAM, FreeWith<OSSL_PARAM_free>> parameters{OSSL_PARAM_BLD_to_param(builder.get())};
  const std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>> context{EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr)};
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return nullptr;
  return {key, [](const void* one) { EVP_PKEY_free(static_cast<EVP_PKEY*>(const_cast<void*>(one))); }};
}

/// The bytes of a Base64urlUInt; nullopt if it is none, or longer than any key that is accepted. [RFC 7518 2]
std::optional<std::string> integer_of(const json::Value& key, std::string_view member) {
  const auto text = key.find_string(member);
  if (!text || text->empty() || text->size() > kModulusBitsMax / 4) return std::nullopt;
  return digest::decode_base64(*text, digest::Base64::UrlUnpadded);
}

bool is_for_signatures(const json::Value& key) {
  if (const auto use = key.find_string("use"); use && *use != "sig") return false;
  const json::Value* operations = key.find("key_ops");
  return operations == nullptr ||
         std::ranges::any_of(operations->items(), [](const json::Value& one) { return one.as_string() == "verify"; });
}

}  // namespace

Result<Token, Malformed> read(std::string_view text) {
  const auto wrong = [](std::string_view why) { return Malformed{std::string(why)}; };
  if (text.size() > kTokenBytesMax) return wrong(fmt::format("it has more than {} bytes.", kTokenBytesMax));
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
    return wrong("it has not three parts.");
  const auto header_text = digest::decode_base64(text.substr(0, first), digest::Base64::UrlUnpadded);
  const auto payload_text = digest::decode_base64(text.substr(first + 1, second - first - 1), digest::Base64::UrlUnpadded);
  auto signature = digest::decode_base64(text.substr(second + 1), digest::Base64::UrlUnpadded);
  if (!header_text || !payload_text || !signature) return wrong("a part is not base64url.");
  const auto header = json::parse(*header_text, kLimits);
  auto payload = json::parse(*payload_text, kLimits);
  if (!header || !payload || !header->is_object() || !payload->is_object()) return wrong("a part is no JSON object.");
  // What `crit` lists must be understood, and nothing is.
  if (const json::Value* critical = header->find("crit"))
    return wrong(fmt::format("its header asks for the extension {}.", critical->to_string().substr(0, 64)));
  Token token;
  token.algorithm = header->find_string("alg").value_or("");
  token.key_id = header->find_string("kid").value_or("");
  if (token.algorithm.empty()) return wrong("its header names no algorithm.");
  token.signed_part = text.substr(0, second);
  token.signature = std::move(*signature);
  token.claims = std::move(*payload);
  return token;
}

bool is_signed_with_secret(const Token& token, std::string_view secret) {
  if (token.algorithm != "HS256" || secret.empty()) return false;
  const auto mac = digest::hmac_sha256(secret, token.signed_part);
  return digest::equal_in_constant_time(digest::bytes_of(mac), token.signature);
}

Result<KeySet, std::string> KeySet::parse(const json::Value& document) {
  const json::Value* list = document.find("keys");
  if (list == nullptr || !list->is_array()) return std::string("expected {\"keys\": [...]}");
  if (list->size() > kKeysMax) return fmt::format("{} keys, {} are accepted", list->size(), kKeysMax);
  KeySet set;
  std::size_t index = 0;
  for (const json::Value& item : list->items()) {
    const auto wrong = [at = index](std::string_view why) { return fmt::format("keys[{}]: {}", at, why); };
    ++index;
    if (!item.is_object()) return wrong("a key is an object");
    if (item.find_string("kty") != "RSA" || !is_for_signatures(item)) continue;
    Key key;
    key.id = item.find_string("kid").value_or("");
    key.algorithm = item.find_string("alg").value_or("");
    if (!key.algorithm.empty() && digest_of(key.algorithm) == nullptr) continue;  // RSA-OAEP, PS256
    if (item.find("d") != nullptr) return wrong("it is a private key; only the public part belongs here");
    const auto modulus = integer_of(item, "n");
    const auto exponent = integer_of(item, "e");
    if (!modulus || !exponent) return wrong("n and e must be base64url");
    const Bignum n = number_of(*modulus);
    const Bignum e = number_of(*exponent);
    if (!n || !e) return wrong("n and e cannot be read");
    const auto bits = static_cast<std::size_t>(BN_num_bits(n.get()));
    if (bits < kModulusBitsMin || bits > kModulusBitsMax)
      return wrong(fmt::format("the modulus has {} bits, {} to {} are accepted", bits, kModulusBitsMin, kModulusBitsMax));
    if (BN_num_bits(e.get()) < 2 || BN_num_bits(e.get()) > 64 || BN_is_odd(e.get()) != 1 || BN_is_odd(n.get()) != 1)
      return wrong("e must be an odd number from 3 to 64 bits, and n odd");
    key.verifying_key = make_key(n.get(), e.get());
    if (!key.verifying_key) return wrong("it is no RSA key");
    if (std::ranges::any_of(set.keys_, [&](const Key& other) { return other.id == key.id; }))
      return wrong(fmt::format("the kid \"{}\" stands twice", key.id));
    set.keys_.push_back(std::move(key));
  }
  if (set.keys_.empty()) return std::string("no key for RS256, RS384 or RS512 is among the keys");
  return set;
}

KeySet::Verdict KeySet::verify(const Token& token) const {
  const EVP_MD* const hash = digest_of(token.algorithm);
  if (hash == nullptr) return Verdict::AlgorithmNotAccepted;
  const auto found = token.key_id.empty() && keys_.size() == 1 ? keys_.begin() : std::ranges::find(keys_, token.key_id, &Key::id);
  if (found == keys_.end()) return Verdict::KeyUnknown;
  if (!found->algorithm.empty() && found->algorithm != token.algorithm) return Verdict::AlgorithmNotAccepted;
  // OpenSSL takes the key as not const, and does not change it here.
  auto* const key = static_cast<EVP_PKEY*>(const_cast<void*>(found->verifying_key.get()));
  const std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>> context{EVP_MD_CTX_new()};
  if (!context || EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key) != 1) return Verdict::SignatureWrong;
  const bool right = EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(token.signature.data()),
                                      token.signature.size(), reinterpret_cast<const unsigned char*>(token.signed_part.data()),
                                      token.signed_part.size()) == 1;
  return right ? Verdict::Verified : Verdict::SignatureWrong;
}

}  // namespace fanfare::wire::jwt
