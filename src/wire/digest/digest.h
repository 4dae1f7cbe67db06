// Digests and message authentication on OpenSSL, with the algorithm and its context fetched once a thread.
// All functions are thread-safe; failure inside OpenSSL (out of memory) aborts.
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
/// [RFC 2104]; keys of any length.
Sha256 hmac_sha256(std::string_view key, std::string_view message);

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
