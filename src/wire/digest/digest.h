// Digests and message authentication. All functions are thread-safe, allocate nothing and cannot fail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fanfare::wire::digest {

using Md5 = std::array<std::uint8_t, 16>;
using Sha1 = std::array<std::uint8_t, 20>;
using Sha256 = std::array<std::uint8_t, 32>;

Md5 md5(std::string_view bytes);
Sha1 sha1(std::string_view bytes);
Sha256 sha256(std::string_view bytes);

/// HMAC-SHA-256 under one key, of any length, whose preparation is done once [RFC 2104]. It holds what is as good as
/// the key: treat it as a secret. 64 bytes; safe to use from several threads.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);
  [[nodiscard]] Sha256 operator()(std::string_view message) const;

 private:
  std::array<std::uint32_t, 8> inner_;  // SHA-256 state after the block of key xor 0x36
  std::array<std::uint32_t, 8> outer_;  // and of key xor 0x5c
};

inline Sha256 hmac_sha256(std::string_view key, std::string_view message) { return HmacSha256{key}(message); }

/// The digest as bytes, to hash or encode it further.
template <std::size_t N>
std::string_view bytes_of(const std::array<std::uint8_t, N>& digest) {
  return {reinterpret_cast<const char*>(digest.data()), N};
}

/// Whether two texts are equal, in a time that depends on their lengths only.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// CRC-32C (Castagnoli, as iSCSI has it); `crc` is the result for the bytes before these.
/// crc32c("123456789") == 0xe3069283.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace fanfare::wire::digest
