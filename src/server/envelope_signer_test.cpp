#include "server/envelope_signer.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

#include "wire/digest/encoding.h"

namespace fanfare::server {
namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fanfare-signer-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string path() const { return path_ + "/certificates"; }

 private:
  std::string path_;
};

X509* read_certificate(const std::string& pem) {
  BIO* const bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* const certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return certificate;
}

bool verifies(const std::string& certificate_pem, const EVP_MD* digest, std::string_view text, std::string_view signature) {
  const auto bytes = wire::digest::decode_base64(signature);
  if (!bytes) return false;
  X509* const certificate = read_certificate(certificate_pem);
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  const bool valid = EVP_DigestVerifyInit(context, nullptr, digest, nullptr, X509_get0_pubkey(certificate)) == 1 &&
                     EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size(),
                                      reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  EVP_MD_CTX_free(context);
  X509_free(certificate);
  return valid;
}

PublicationId id_of(std::uint8_t number) {
  PublicationId id;
  id.bytes[0] = number;
  return id;
}

TEST(EnvelopeSigner, SignsWithTheKeyOfItsCertificateInBothVersions) {
  const auto signer = std::move(*EnvelopeSigner::open(""));
  const std::string one = signer->sign(id_of(1), 1, "text");
  const std::string two = signer->sign(id_of(1), 2, "text");
  EXPECT_TRUE(verifies(signer->certificate(), EVP_sha1(), "text", one));
  EXPECT_TRUE(verifies(signer->certificate(), EVP_sha256(), "text", two));
  EXPECT_FALSE(verifies(signer->certificate(), EVP_sha256(), "text", one));
  EXPECT_FALSE(verifies(signer->certificate(), EVP_sha1(), "texts", one));
}

TEST(EnvelopeSigner, IssuesItsCertificateByItsOwnAuthority) {
  const auto signer = std::move(*EnvelopeSigner::open(""));
  X509* const certificate = read_certificate(signer->certificate());
  X509* const authority = read_certificate(signer->authority());
  EXPECT_EQ(X509_verify(certificate, X509_get0_pubkey(authority)), 1);
  EXPECT_EQ(X509_verify(authority, X509_get0_pubkey(authority)), 1);
  EXPECT_EQ(X509_check_host(certificate, "sns.amazonaws.com", 0, 0, nullptr), 1);
  X509_free(certificate);
  X509_free(authority);
  EXPECT_TRUE(signer->certificate_path().starts_with("/SimpleNotificationService-")) << signer->certificate_path();
  EXPECT_TRUE(signer->certificate_path().ends_with(".pem"));
}

TEST(EnvelopeSigner, SignsAPublicationOnce) {
  const auto signer = std::move(*EnvelopeSigner::open(""));
  const std::string first = signer->sign(id_of(1), 1, "text");
  // A kept signature is handed out whatever the text is: the caller's text belongs to the publication.
  EXPECT_EQ(signer->sign(id_of(1), 1, "other"), first);
  EXPECT_NE(signer->sign(id_of(2), 1, "other"), first);
  EXPECT_NE(signer->sign(id_of(1), 2, "text"), first);
}

TEST(EnvelopeSigner, PreparesWhatIsAskedForLater) {
  const auto signer = std::move(*EnvelopeSigner::open(""));
  for (std::uint8_t i = 0; i < 20; ++i) signer->prepare(id_of(i), 1, "text");
  for (std::uint8_t i = 0; i < 20; ++i)
    EXPECT_TRUE(verifies(signer->certificate(), EVP_sha1(), "text", signer->sign(id_of(i), 1, "text"))) << int{i};
}

TEST(EnvelopeSigner, SignsFirstWhatSomebodyWaitsFor) {
  std::promise<std::vector<bool>> had;
  const auto signer = std::move(*EnvelopeSigner::open(""));
  signer->sign_first({}, [&] {  // the signer's thread is here: what follows is queued before it goes on
    for (std::uint8_t i = 0; i < 20; ++i) signer->prepare(id_of(i), 1, "text");
    signer->sign_first({{id_of(100), 1, "text"}, {id_of(101), 2, "text"}}, [&] {
      had.set_value({signer->has(id_of(100), 1), signer->has(id_of(101), 2), signer->has(id_of(101), 1), signer->has(id_of(0), 1)});
    });
  });
  EXPECT_EQ(had.get_future().get(), (std::vector<bool>{true, true, false, false}));
  EXPECT_TRUE(verifies(signer->certificate(), EVP_sha256(), "text", signer->sign(id_of(101), 2, "text")));
}

TEST(EnvelopeSigner, KeepsKeyAndCertificateInItsFolder) {
  const Folder folder;
  std::string certificate;
  std::string signature;
  {
    const auto signer = std::move(*EnvelopeSigner::open(folder.path()));
    certificate = signer->certificate();
    signature = signer->sign(id_of(1), 2, "text");
  }
  struct stat status {};
  ASSERT_EQ(::stat((folder.path() + "/sns-signing.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto signer = std::move(*EnvelopeSigner::open(folder.path()));
  EXPECT_EQ(signer->certificate(), certificate);
  EXPECT_EQ(signer->sign(id_of(1), 2, "text"), signature);
}

TEST(EnvelopeSigner, RefusesFilesThatDoNotBelongTogether) {
  const Folder folder;
  ASSERT_TRUE(EnvelopeSigner::open(folder.path()).has_value());
  std::ofstream(folder.path() + "/sns-signing.key") << "no key";
  const auto opened = EnvelopeSigner::open(folder.path());
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().find("sns-signing.key"), std::string::npos) << opened.error();
}

}  // namespace
}  // namespace fanfare::server
