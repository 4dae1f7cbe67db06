// Encodings: one spelling for each text, and strict decoding.
#include "wire/digest/encoding.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace fanfare::wire::digest {
namespace {

constexpr Base64 kForms[] = {Base64::Padded, Base64::Unpadded, Base64::UrlPadded, Base64::UrlUnpadded};

TEST(Hex, EncodesInLowerCaseAndReadsBoth) {
  EXPECT_EQ(hex("\x01\xaf"), "01af");
  const auto text = hex_array(std::array<std::uint8_t, 2>{0x01, 0xaf});
  EXPECT_EQ(std::string_view(text.data(), text.size()), "01af");
  EXPECT_EQ(decode_hex("01aF"), "\x01\xaf");
  EXPECT_EQ(decode_hex(""), "");
  EXPECT_EQ(decode_hex("0"), std::nullopt);
  EXPECT_EQ(decode_hex("0g"), std::nullopt);
  EXPECT_EQ(decode_hex("0x"), std::nullopt);
}

TEST(Base64, AgreesWithRfc4648) {
  const std::pair<std::string_view, std::string_view> cases[] = {{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
  EXPECT_EQ(base64("\xfb\xff\xfe"), "+//+");
  EXPECT_EQ(base64("\xfb\xff\xfe", Base64::UrlPadded), "-__-");
  EXPECT_EQ(base64("f", Base64::Unpadded), "Zg");
  EXPECT_EQ(base64("f", Base64::UrlPadded), "Zg==");
  EXPECT_EQ(base64("f", Base64::UrlUnpadded), "Zg");
}

TEST(Base64, DecodingIsStrict) {
  for (const auto* text : {"Zg", "Zg=", "Z===", "Zg===", "Z", "Zm9v=", "Zm9vY===", "Zh==", "Zm9=", "Zm 9v", "Zm9v\n",
                           "-__-", "=", "====", "Zg==Zg==", "Z=g="}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
  EXPECT_EQ(decode_base64("Zg==", Base64::Unpadded), std::nullopt);
  EXPECT_EQ(decode_base64("Zh", Base64::Unpadded), std::nullopt);
  EXPECT_EQ(decode_base64("Z", Base64::Unpadded), std::nullopt);
  EXPECT_EQ(decode_base64("+//+", Base64::UrlUnpadded), std::nullopt);
}

TEST(Base64, EveryFormReadsBackWhatItWrote) {
  EXPECT_TRUE(rc::check("round trip", [](const std::string& bytes) {
    for (const auto form : kForms) RC_ASSERT(decode_base64(base64(bytes, form), form) == bytes);
  }));
}

TEST(Base64, WhatDecodesEncodesToTheSameText) {
  EXPECT_TRUE(rc::check("one spelling", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::element('A', 'g', '9', '+', '/', '-', '_', '='));
    for (const auto form : kForms) {
      const auto bytes = decode_base64(text, form);
      if (bytes) RC_ASSERT(base64(*bytes, form) == text);
    }
  }));
}

TEST(PercentEncoding, LeavesOnlyAwsUnreservedCharacters) {
  EXPECT_EQ(percent_encode("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(percent_encode(" /+*&=%\xc3\xa9"), "%20%2F%2B%2A%26%3D%25%C3%A9");
  std::string path = "->";
  append_percent_encoded_path(path, "/a b/c");
  EXPECT_EQ(path, "->/a%20b/c");
}

TEST(PercentEncoding, DecodesOrRefuses) {
  EXPECT_EQ(percent_decode("a%2fb%2F+%00"), std::string("a/b/+\0", 6));
  EXPECT_EQ(percent_decode("%"), std::nullopt);
  EXPECT_EQ(percent_decode("%4"), std::nullopt);
  EXPECT_EQ(percent_decode("%zz"), std::nullopt);
  EXPECT_TRUE(rc::check("round trip",
                        [](const std::string& bytes) { RC_ASSERT(percent_decode(percent_encode(bytes)) == bytes); }));
}

}  // namespace
}  // namespace fanfare::wire::digest
