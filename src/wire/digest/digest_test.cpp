// Digests against the standards' vectors and against OpenSSL's EVP.
#include "wire/digest/digest.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <rapidcheck.h>

#include "wire/digest/crc32c_parts.h"
#include "wire/digest/encoding.h"

namespace fanfare::wire::digest {
namespace {

TEST(Digest, AgreesWithTheStandardsTestVectors) {
  EXPECT_EQ(hex(bytes_of(md5(""))), "d41d8cd98f00b204e9800998ecf8427e");  // [RFC 1321 A.5]
  EXPECT_EQ(hex(bytes_of(md5("message digest"))), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hex(bytes_of(sha1("abc"))), "a9993e364706816aba3e25717850c26c9cd0d89d");  // [FIPS 180]
  EXPECT_EQ(hex(bytes_of(sha256(""))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(bytes_of(sha256("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(HmacSha256, AgreesWithRfc4231) {
  EXPECT_EQ(hex(bytes_of(hmac_sha256(std::string(20, '\x0b'), "Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(bytes_of(hmac_sha256("Jefe", "what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hex(bytes_of(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"))),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

std::string by_evp(const char* name, std::string_view bytes) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), out, &size, EVP_get_digestbyname(name), nullptr);
  return {reinterpret_cast<char*>(out), size};
}

TEST(Digest, AgreesWithEvpForEveryLengthAroundTheBlocks) {
  std::string text;
  for (int size = 0; size < 300; ++size) {
    ASSERT_EQ(bytes_of(md5(text)), by_evp("MD5", text)) << size;
    ASSERT_EQ(bytes_of(sha1(text)), by_evp("SHA1", text)) << size;
    ASSERT_EQ(bytes_of(sha256(text)), by_evp("SHA256", text)) << size;
    text.push_back(static_cast<char>(size * 7));
  }
}

TEST(HmacSha256, AgreesWithOpenSslForAnyKeyAndMessage) {
  EXPECT_TRUE(rc::check("hmac", [](const std::string& key, const std::string& message) {
    const auto repeat = *rc::gen::inRange(0, 9);
    std::string long_key;
    for (int i = 0; i < repeat; ++i) long_key += key;
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    HMAC(EVP_sha256(), long_key.c_str(), static_cast<int>(long_key.size()),
         reinterpret_cast<const unsigned char*>(message.data()), message.size(), out, &size);
    const HmacSha256 prepared{long_key};
    RC_ASSERT(bytes_of(prepared(message)) == std::string_view(reinterpret_cast<char*>(out), size));
    RC_ASSERT(prepared(message) == hmac_sha256(long_key, message));
  }));
}

TEST(EqualInConstantTime, ComparesLengthAndContent) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

TEST(Crc32c, AgreesWithRfc3720) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, TableAndInstructionAgreeAndPiecesAddUp) {
  EXPECT_TRUE(rc::check("crc32c", [](const std::string& a, const std::string& b) {
    RC_ASSERT(crc32c_by_table(a + b, 0) == crc32c(a + b));
    if (has_crc32c_instruction()) RC_ASSERT(crc32c_by_instruction(a + b, 0) == crc32c_by_table(a + b, 0));
    RC_ASSERT(crc32c(b, crc32c(a)) == crc32c(a + b));
    RC_ASSERT(crc32c_by_table(b, crc32c_by_table(a, 0)) == crc32c(a + b));
  }));
}

}  // namespace
}  // namespace fanfare::wire::digest
