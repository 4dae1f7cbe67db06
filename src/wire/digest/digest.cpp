// On OpenSSL's low-level functions: for texts of some hundred bytes they take 20 to 30 % less time than EVP with a
// cached algorithm and context (SHA-256 of 200 bytes: 138 ns against 173), and HMAC takes half. They need no context of
// the heap and cannot fail. OpenSSL 3 calls them deprecated, because they bypass its providers; that is the point.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "wire/digest/digest.h"

#include <openssl/crypto.h>
#include <openssl/md5.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

namespace fanfare::wire::digest {

Md5 md5(std::string_view bytes) {
  Md5 out;
  MD5_CTX context;
  MD5_Init(&context);
  MD5_Update(&context, bytes.data(), bytes.size());
  MD5_Final(out.data(), &context);
  return out;
}

Sha1 sha1(std::string_view bytes) {
  Sha1 out;
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, bytes.data(), bytes.size());
  SHA1_Final(out.data(), &context);
  return out;
}

Sha256 sha256(std::string_view bytes) {
  Sha256 out;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(out.data(), &context);
  return out;
}

namespace {

constexpr std::size_t kBlock = 64;

std::array<std::uint32_t, 8> state_after(const std::array<std::uint8_t, kBlock>& key_block, std::uint8_t pad) {
  std::array<std::uint8_t, kBlock> block;
  for (std::size_t i = 0; i < kBlock; ++i) block[i] = key_block[i] ^ pad;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, block.data(), block.size());
  std::array<std::uint32_t, 8> state;
  std::copy_n(context.h, state.size(), state.begin());
  OPENSSL_cleanse(block.data(), block.size());
  return state;
}

/// Goes on from a state that has seen one block.
Sha256 finish(const std::array<std::uint32_t, 8>& state, std::string_view bytes) {
  SHA256_CTX context;
  SHA256_Init(&context);
  std::copy(state.begin(), state.end(), context.h);
  context.Nl = kBlock * 8;  // bits hashed so far
  SHA256_Update(&context, bytes.data(), bytes.size());
  Sha256 out;
  SHA256_Final(out.data(), &context);
  return out;
}

}  // namespace

HmacSha256::HmacSha256(std::string_view key) {
  std::array<std::uint8_t, kBlock> block{};
  if (key.size() > kBlock) {
    const auto hashed = sha256(key);
    std::copy(hashed.begin(), hashed.end(), block.begin());
  } else {
    std::copy(key.begin(), key.end(), block.begin());
  }
  inner_ = state_after(block, 0x36);
  outer_ = state_after(block, 0x5c);
  OPENSSL_cleanse(block.data(), block.size());
}

Sha256 HmacSha256::operator()(std::string_view message) const {
  return finish(outer_, bytes_of(finish(inner_, message)));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace fanfare::wire::digest
