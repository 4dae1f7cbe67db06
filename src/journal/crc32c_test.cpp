#include "journal/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/rng.h"

namespace fanfare::journal {
namespace {

using namespace std::string_view_literals;

std::string random_bytes(Rng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

/// One bit at a time, straight from the definition.
std::uint32_t by_definition(std::string_view bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

TEST(Crc32c, GivesThePublishedSums) {  // [RFC 3720 B.4]
  EXPECT_EQ(crc32c(0, ""sv), 0u);
  EXPECT_EQ(crc32c(0, "123456789"sv), 0xe3069283u);
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, InstructionAndTablesAgreeWithTheDefinitionAtEveryLengthAndAlignment) {
  Rng rng(1);
  const std::string bytes = random_bytes(rng, 7000);
  for (std::size_t size = 0; size < 900; ++size) {
    const std::string_view piece = std::string_view(bytes).substr(size % 9, size);
    EXPECT_EQ(crc32c(0, piece), by_definition(piece)) << size;
    EXPECT_EQ(crc32c_by_tables(0, piece.data(), piece.size()), by_definition(piece)) << size;
  }
  EXPECT_EQ(crc32c(0, bytes), by_definition(bytes));
}

TEST(Crc32c, ContinuesOverPieces) {
  Rng rng(2);
  const std::string bytes = random_bytes(rng, 20000);
  for (int i = 0; i < 200; ++i) {
    const std::string_view whole(bytes);
    const std::size_t cut = rng.below(bytes.size() + 1);
    EXPECT_EQ(crc32c(crc32c(0, whole.substr(0, cut)), whole.substr(cut)), crc32c(0, whole)) << cut;
  }
}

}  // namespace
}  // namespace fanfare::journal
