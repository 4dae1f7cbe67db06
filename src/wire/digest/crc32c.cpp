// CRC-32C by the processor's instruction where it has one (asked once, at run time), else by table, eight bytes a step.
#include <array>
#include <cstring>

#include "wire/digest/crc32c_parts.h"
#include "wire/digest/digest.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace fanfare::wire::digest {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::uint32_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc) {
  crc = ~crc;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc) {
  std::uint64_t state = ~crc;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    state = _mm_crc32_u64(state, word);
    bytes.remove_prefix(8);
  }
  auto rest = static_cast<std::uint32_t>(state);
  for (const char c : bytes) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(c));
  return ~rest;
}

bool has_crc32c_instruction() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}
#else
std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc) { return crc32c_by_table(bytes, crc); }
bool has_crc32c_instruction() { return false; }
#endif

std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc) {
  return has_crc32c_instruction() ? crc32c_by_instruction(bytes, crc) : crc32c_by_table(bytes, crc);
}

}  // namespace fanfare::wire::digest
