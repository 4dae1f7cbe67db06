// The two ways to a CRC-32C, apart so that a test can compare them. Everyone else calls crc32c().
#pragma once

#include <cstdint>
#include <string_view>

namespace fanfare::wire::digest {

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc);
/// Only where has_crc32c_instruction().
std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc);
bool has_crc32c_instruction();

}  // namespace fanfare::wire::digest
