// The crc32 instruction has a latency of three cycles and a throughput of one, so three stretches are summed at once and joined:
// the sum of A followed by B is (sum of A, moved on over |B| zero bytes) xor (sum of B begun at 0). Moving on is linear in the
// sum, hence four table look-ups.
#include "journal/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace fanfare::journal {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;
using Table = std::array<std::uint32_t, 256>;

constexpr std::array<Table, 8> make_slices() {
  std::array<Table, 8> slices{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    slices[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = slices[slice - 1][byte];
      slices[slice][byte] = (before >> 8) ^ slices[0][before & 0xff];
    }
  }
  return slices;
}

constexpr std::array<Table, 8> kSlices = make_slices();

constexpr std::uint32_t over_zeros(std::uint32_t crc, std::size_t zero_bytes) {
  for (std::size_t i = 0; i < zero_bytes; ++i) crc = (crc >> 8) ^ kSlices[0][crc & 0xff];
  return crc;
}

/// Moves a sum on over `kZeroBytes` zero bytes.
template <std::size_t kZeroBytes>
struct MoveOn {
  static constexpr std::array<Table, 4> make() {
    std::array<std::uint32_t, 32> column{};
    for (std::size_t bit = 0; bit < 32; ++bit) column[bit] = over_zeros(std::uint32_t{1} << bit, kZeroBytes);
    std::array<Table, 4> tables{};
    for (std::size_t part = 0; part < 4; ++part) {
      for (std::size_t byte = 0; byte < 256; ++byte) {
        std::uint32_t sum = 0;
        for (std::size_t bit = 0; bit < 8; ++bit) {
          if ((byte >> bit & 1) != 0) sum ^= column[8 * part + bit];
        }
        tables[part][byte] = sum;
      }
    }
    return tables;
  }
  static constexpr std::array<Table, 4> kTables = make();

  static std::uint32_t apply(std::uint32_t crc) {
    return kTables[0][crc & 0xff] ^ kTables[1][crc >> 8 & 0xff] ^ kTables[2][crc >> 16 & 0xff] ^ kTables[3][crc >> 24];
  }
};

std::uint64_t load64(const unsigned char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

#if defined(__x86_64__)

/// Three stretches of `kStretch` bytes at once, as long as there are so many.
template <std::size_t kStretch>
__attribute__((target("sse4.2"))) std::uint32_t three_at_once(std::uint32_t crc, const unsigned char*& at, std::size_t& size) {
  while (size >= 3 * kStretch) {
    std::uint64_t a = crc;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = 0; i < kStretch; i += 8) {
      a = _mm_crc32_u64(a, load64(at + i));
      b = _mm_crc32_u64(b, load64(at + kStretch + i));
      c = _mm_crc32_u64(c, load64(at + 2 * kStretch + i));
    }
    crc = MoveOn<kStretch>::apply(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b);
    crc = MoveOn<kStretch>::apply(crc) ^ static_cast<std::uint32_t>(c);
    at += 3 * kStretch;
    size -= 3 * kStretch;
  }
  return crc;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::uint32_t crc, const void* data, std::size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  crc = ~crc;
  crc = three_at_once<2048>(crc, at, size);
  crc = three_at_once<128>(crc, at, size);
  std::uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) wide = _mm_crc32_u64(wide, load64(at));
  crc = static_cast<std::uint32_t>(wide);
  for (; size > 0; ++at, --size) crc = _mm_crc32_u8(crc, *at);
  return ~crc;
}

#endif

using Function = std::uint32_t (*)(std::uint32_t, const void*, std::size_t);

Function choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction;
#endif
  return crc32c_by_tables;
}

}  // namespace

std::uint32_t crc32c_by_tables(std::uint32_t crc, const void* data, std::size_t size) {
  const auto* at = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size >= 8; at += 8, size -= 8) {
    const std::uint64_t word = load64(at) ^ crc;
    crc = kSlices[7][word & 0xff] ^ kSlices[6][word >> 8 & 0xff] ^ kSlices[5][word >> 16 & 0xff] ^ kSlices[4][word >> 24 & 0xff] ^
          kSlices[3][word >> 32 & 0xff] ^ kSlices[2][word >> 40 & 0xff] ^ kSlices[1][word >> 48 & 0xff] ^ kSlices[0][word >> 56];
  }
  for (; size > 0; ++at, --size) crc = (crc >> 8) ^ kSlices[0][(crc ^ *at) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t size) {
  static const Function function = choose();
  return function(crc, data, size);
}

}  // namespace fanfare::journal
