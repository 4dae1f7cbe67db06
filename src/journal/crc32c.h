// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), as iSCSI and ext4 use it [RFC 3720 12.1].
// Hardware where the processor has SSE 4.2 (asked once, at run time), tables elsewhere; both give the same number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fanfare::journal {

/// Continues `crc` (0 to begin) over `size` bytes: crc32c(crc32c(0, a), b) == crc32c(0, a + b). crc32c(0, "123456789") == 0xe3069283.
std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t size);

inline std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) { return crc32c(crc, bytes.data(), bytes.size()); }

/// The table version, for tests and processors without SSE 4.2.
std::uint32_t crc32c_by_tables(std::uint32_t crc, const void* data, std::size_t size);

}  // namespace fanfare::journal
