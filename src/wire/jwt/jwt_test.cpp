#include "wire/jwt/jwt.h"

#include <gtest/gtest.h>

#include "wire/jwt/test_keys.h"

namespace fanfare::wire::jwt {
namespace {

using test::base64url;
using test::first_key;
using test::second_key;
using Verdict = KeySet::Verdict;

constexpr std::string_view kClaims = R"({"iss":"https://accounts.example.com","sub":"user-1","aud":"app","exp":1796036400})";
constexpr std::string_view kHeader = R"({"alg":"RS256","typ":"JWT","kid":"one"})";

KeySet keys(std::string_view text) {
  const auto document = json::parse(text);
  if (!document) ADD_FAILURE() << document.error().message();
  auto set = KeySet::parse(*document);
  if (!set) ADD_FAILURE() << set.error();
  return set ? std::move(*set) : KeySet{};
}
std::string refused(std::string_view text) {
  const auto document = json::parse(text);
  if (!document) return document.error().message();
  const auto set = KeySet::parse(*document);
  return set ? "accepted" : set.error();
}
std::string both() { return "{\"keys\":[" + first_key().jwk("one") + "," + second_key().jwk("two") + "]}"; }

std::string read_error(std::string_view text) {
  const auto token = read(text);
  return token ? "read" : token.error().why;
}
Verdict verdict(const KeySet& set, std::string_view text) {
  const auto token = read(text);
  EXPECT_TRUE(token) << token.error().why;
  return token ? set.verify(*token) : Verdict::SignatureWrong;
}

TEST(Token, IsTakenApart) {
  const std::string text = first_key().token(kHeader, kClaims);
  const auto token = read(text);
  ASSERT_TRUE(token) << token.error().why;
  EXPECT_EQ(token->algorithm, "RS256");
  EXPECT_EQ(token->key_id, "one");
  EXPECT_EQ(token->signed_part, text.substr(0, text.rfind('.')));
  EXPECT_EQ(token->signature.size(), 256u);
  EXPECT_EQ(token->claims.find_string("sub"), "user-1");
}

TEST(Token, ErrorsSayWhatIsWrong) {
  const std::string claims = base64url(kClaims);
  const std::string header = base64url(kHeader);
  EXPECT_EQ(read_error(""), "it has not three parts.");
  EXPECT_EQ(read_error("a.b"), "it has not three parts.");
  EXPECT_EQ(read_error("a.b.c.d"), "it has not three parts.");
  EXPECT_EQ(read_error(header + "." + claims + ".*"), "a part is not base64url.");
  EXPECT_EQ(read_error(header + "." + claims + ".YQ=="), "a part is not base64url.") << "padding";
  EXPECT_EQ(read_error(base64url("[1]") + "." + claims + ".YQ"), "a part is no JSON object.");
  EXPECT_EQ(read_error(header + "." + base64url("\"x\"") + ".YQ"), "a part is no JSON object.");
  EXPECT_EQ(read_error(header + "." + base64url("{} {}") + ".YQ"), "a part is no JSON object.");
  EXPECT_EQ(read_error(base64url("{}") + "." + claims + ".YQ"), "its header names no algorithm.");
  EXPECT_EQ(read_error(base64url(R"({"alg":"RS256","crit":["b64"],"b64":false})") + "." + claims + ".YQ"),
            "its header asks for the extension [\"b64\"].");
  EXPECT_EQ(read_error(std::string(kTokenBytesMax + 1, 'a')), "it has more than 20000 bytes.");
}

TEST(Token, AClaimThatStandsTwiceIsRefused) {
  EXPECT_EQ(read_error(base64url(kHeader) + "." + base64url(R"({"sub":"me","sub":"you"})") + ".YQ"), "a part is no JSON object.");
  EXPECT_EQ(read_error(base64url(R"({"alg":"RS256","alg":"none"})") + "." + base64url(kClaims) + ".YQ"), "a part is no JSON object.");
}

TEST(KeySet, VerifiesWithTheKeyThatTheTokenNames) {
  const KeySet set = keys(both());
  EXPECT_EQ(set.size(), 2u);
  EXPECT_EQ(verdict(set, first_key().token(kHeader, kClaims)), Verdict::Verified);
  EXPECT_EQ(verdict(set, second_key().token(R"({"alg":"RS256","kid":"two"})", kClaims)), Verdict::Verified);
  EXPECT_EQ(verdict(set, second_key().token(kHeader, kClaims)), Verdict::SignatureWrong) << "the other key made it";
  EXPECT_EQ(verdict(set, first_key().token(R"({"alg":"RS256","kid":"three"})", kClaims)), Verdict::KeyUnknown);
  EXPECT_EQ(verdict(set, first_key().token(R"({"alg":"RS256"})", kClaims)), Verdict::KeyUnknown) << "no kid, two keys";
  EXPECT_EQ(verdict(KeySet{}, first_key().token(kHeader, kClaims)), Verdict::KeyUnknown);
}

TEST(KeySet, AnOnlyKeyNeedsNoName) {
  const KeySet set = keys("{\"keys\":[" + first_key().jwk("") + "]}");
  EXPECT_EQ(verdict(set, first_key().token(R"({"alg":"RS256"})", kClaims)), Verdict::Verified);
  EXPECT_EQ(verdict(set, first_key().token(kHeader, kClaims)), Verdict::KeyUnknown) << "the token names another";
}

TEST(KeySet, EveryChangeOfATokenIsSeen) {
  const KeySet set = keys(both());
  const std::string text = first_key().token(kHeader, kClaims);
  for (std::size_t i = 0; i < text.size(); i += 5) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    if (changed == text) continue;
    const auto token = read(changed);
    if (token) {
      EXPECT_NE(set.verify(*token), Verdict::Verified) << "byte " << i;
    }
  }
  std::string shorter = text;
  shorter.resize(text.rfind('.') + 1);
  EXPECT_EQ(verdict(set, shorter), Verdict::SignatureWrong) << "no signature at all";
}

TEST(KeySet, TheTokenDoesNotChooseTheAlgorithm) {
  const KeySet set = keys(both());
  const std::string payload = "." + base64url(kClaims);
  for (const std::string_view algorithm : {"none", "None", "HS256", "HS512", "ES256", "PS256", "rs256", "RS1", ""}) {
    const std::string head = base64url("{\"alg\":\"" + std::string(algorithm) + "\",\"kid\":\"one\"}") + payload;
    for (const std::string& signature : {std::string{}, base64url("x"), base64url(first_key().sign(head))}) {
      const auto token = read(head + "." + signature);
      if (token) {
        EXPECT_EQ(set.verify(*token), Verdict::AlgorithmNotAccepted) << algorithm;
      }
    }
  }
}

TEST(KeySet, APublicKeyIsNoSecret) {
  const std::string head = base64url(R"({"alg":"HS256","kid":"one"})") + "." + base64url(kClaims);
  const std::string key = first_key().jwk("one");
  const std::string text = head + "." + base64url(digest::bytes_of(digest::hmac_sha256(key, head)));
  EXPECT_EQ(verdict(keys(both()), text), Verdict::AlgorithmNotAccepted);
  const auto token = read(text);
  ASSERT_TRUE(token);
  EXPECT_TRUE(is_signed_with_secret(*token, key)) << "whoever gives it as a secret";
  EXPECT_FALSE(is_signed_with_secret(*token, ""));
  EXPECT_FALSE(is_signed_with_secret(*read(first_key().token(kHeader, kClaims)), key)) << "RS256 is not checked with a secret";
}

TEST(KeySet, LongerHashesAreKnownAndAKeyMayBeForOne) {
  const KeySet any = keys("{\"keys\":[" + first_key().jwk("one", "\"use\":\"sig\"") + "]}");
  EXPECT_EQ(verdict(any, first_key().token(R"({"alg":"RS384","kid":"one"})", kClaims, EVP_sha384())), Verdict::Verified);
  EXPECT_EQ(verdict(any, first_key().token(R"({"alg":"RS512","kid":"one"})", kClaims, EVP_sha512())), Verdict::Verified);
  EXPECT_EQ(verdict(any, first_key().token(R"({"alg":"RS512","kid":"one"})", kClaims, EVP_sha256())), Verdict::SignatureWrong);
  EXPECT_EQ(verdict(keys(both()), first_key().token(R"({"alg":"RS512","kid":"one"})", kClaims, EVP_sha512())),
            Verdict::AlgorithmNotAccepted) << "the key is for RS256";
}

TEST(KeySet, PassesOverWhatIsForOtherThings) {
  const KeySet set = keys("{\"keys\":[{\"kty\":\"EC\",\"kid\":\"e\"},{\"kty\":\"oct\",\"k\":\"AAAA\",\"kid\":\"o\"}," +
                          first_key().jwk("enc", R"("use":"enc")") + "," + first_key().jwk("oaep", R"("alg":"RSA-OAEP")") + "," +
                          first_key().jwk("ops", R"("key_ops":["encrypt"])") + "," + second_key().jwk("two", R"("key_ops":["verify"])") +
                          "],\"more\":1}");
  EXPECT_EQ(set.size(), 1u);
}

TEST(KeySet, ErrorsSayWhichKeyAndWhy) {
  EXPECT_EQ(refused("[]"), "expected {\"keys\": [...]}");
  EXPECT_EQ(refused(R"({"keys":{}})"), "expected {\"keys\": [...]}");
  EXPECT_EQ(refused(R"({"keys":[]})"), "no key for RS256, RS384 or RS512 is among the keys");
  EXPECT_EQ(refused(R"({"keys":[1]})"), "keys[0]: a key is an object");
  EXPECT_EQ(refused(R"({"keys":[{"kty":"RSA","e":"AQAB"}]})"), "keys[0]: n and e must be base64url");
  EXPECT_EQ(refused(R"({"keys":[{"kty":"RSA","n":"+/","e":"AQAB"}]})"), "keys[0]: n and e must be base64url");
  EXPECT_EQ(refused(R"({"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]})"),
            "keys[0]: the modulus has 17 bits, 2048 to 8192 are accepted");
  const test::SigningKey small{1024};
  EXPECT_EQ(refused("{\"keys\":[" + first_key().jwk("one") + "," + small.jwk("two") + "]}"),
            "keys[1]: the modulus has 1024 bits, 2048 to 8192 are accepted");
  EXPECT_EQ(refused("{\"keys\":[" + first_key().jwk("one") + "," + second_key().jwk("one") + "]}"),
            "keys[1]: the kid \"one\" stands twice");
  EXPECT_EQ(refused("{\"keys\":[" + first_key().jwk("one", R"("d":"AQAB")") + "]}"),
            "keys[0]: it is a private key; only the public part belongs here");
  std::string even = first_key().jwk("one");
  even.replace(even.find("\"e\":\"AQAB\""), 10, "\"e\":\"AA\"");
  EXPECT_EQ(refused("{\"keys\":[" + even + "]}"), "keys[0]: e must be an odd number from 3 to 64 bits, and n odd");
}

}  // namespace
}  // namespace fanfare::wire::jwt
