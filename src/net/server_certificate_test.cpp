// Certificates and keys of servers: what is taken, and what each error says.

#include "net/server_certificate.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "net/tls_test_server.h"

namespace fanfare::net {
namespace {

using testing::Certificate;
using File = CertificateError::File;

class ServerCertificates : public ::testing::Test {
 protected:
  /// What is wrong with these two texts.
  CertificateError error_of(const std::string& certificate_text, const std::string& key_text) {
    certificate_file = files.write("certificate.pem", certificate_text);
    const auto opened = ServerCertificate::open(certificate_file, files.write("key.pem", key_text), now);
    EXPECT_FALSE(opened);
    return opened ? CertificateError{} : opened.error();
  }
  static void expect(const CertificateError& error, File file, std::string_view text) {
    EXPECT_EQ(error.file, file) << error.text;
    EXPECT_NE(error.text.find(text), std::string::npos) << error.text;
  }
  testing::PemFiles files;
  Certificate certificate;
  std::string certificate_file;
  const Timestamp now = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
};

TEST_F(ServerCertificates, OpensACertificateWithItsChainAndKey) {
  const Certificate authority{"DNS:authority.example"};
  const auto opened = ServerCertificate::open(files.write("certificate.pem", certificate.pem() + authority.pem()),
                                              files.write("key.pem", certificate.key_pem()), now);
  ASSERT_TRUE(opened) << opened.error().text;
  EXPECT_GT((*opened)->not_after(), now + seconds{3500});
  EXPECT_LT((*opened)->not_after(), now + seconds{3700});
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs((*opened)->context().get(), &chain);
  EXPECT_EQ(sk_X509_num(chain), 1);
}

TEST_F(ServerCertificates, OneFileMayHoldBoth) {
  const std::string both = files.write("both.pem", certificate.key_pem() + certificate.pem());
  const auto opened = ServerCertificate::open(both, both, now);
  EXPECT_TRUE(opened) << opened.error().text;
}

TEST_F(ServerCertificates, FilesThatCannotBeReadAreNamed) {
  const std::string good = files.write("certificate.pem", certificate.pem());
  const auto no_certificate = ServerCertificate::open("/nonexistent/certificate.pem", good, now);
  ASSERT_FALSE(no_certificate);
  expect(no_certificate.error(), File::Certificate, "No such file or directory");
  const auto no_key = ServerCertificate::open(good, "/nonexistent/key.pem", now);
  ASSERT_FALSE(no_key);
  expect(no_key.error(), File::Key, "No such file or directory");
  const auto folder = ServerCertificate::open(good, "/tmp", now);
  ASSERT_FALSE(folder);
  expect(folder.error(), File::Key, "Is a directory");
}

TEST_F(ServerCertificates, FilesOfAnotherFormAreExplained) {
  expect(error_of("", certificate.key_pem()), File::Certificate, "no certificate in it; expected in PEM");
  expect(error_of(certificate.key_pem(), certificate.key_pem()), File::Certificate, "no certificate in it");
  expect(error_of(certificate.pem().substr(0, 100), certificate.key_pem()), File::Certificate, "cannot be read");
  expect(error_of(certificate.pem() + certificate.pem().substr(0, 100), certificate.key_pem()), File::Certificate,
         "certificate number 2 cannot be read");
  expect(error_of(certificate.pem(), certificate.pem()), File::Key, "no key can be read from it");
  expect(error_of(std::string(2 << 20, 'x'), certificate.key_pem()), File::Certificate, "longer than 1 MiB");
}

TEST_F(ServerCertificates, AKeyWithAPassphraseIsRefusedAndNobodyIsAsked) {
  expect(error_of(certificate.pem(), certificate.key_pem("secret")), File::Key, "the key is encrypted");
}

TEST_F(ServerCertificates, AKeyOfAnotherCertificateIsRefused) {
  const Certificate other;
  expect(error_of(certificate.pem(), other.key_pem()), File::Key, "does not belong to the certificate in " + certificate_file);
}

TEST_F(ServerCertificates, CertificatesOutsideTheirTimeAreRefused) {
  const Certificate expired{"IP:127.0.0.1", -60};
  expect(error_of(expired.pem(), expired.key_pem()), File::Certificate, "has expired at");
  const auto early = ServerCertificate::open(files.write("certificate.pem", certificate.pem()),
                                             files.write("key.pem", certificate.key_pem()), now - seconds{7200});
  ASSERT_FALSE(early);
  expect(early.error(), File::Certificate, "is not valid before");
}

TEST_F(ServerCertificates, AWeakKeyIsRefused) {
  const Certificate weak{"IP:127.0.0.1", 3600, 1024};
  expect(error_of(weak.pem(), weak.key_pem()), File::Certificate, "accepted are RSA keys of 2048 bits or more");
}

TEST_F(ServerCertificates, AReloadThatFailsChangesNothing) {
  const std::string path = files.write("certificate.pem", certificate.pem());
  const std::string key = files.write("key.pem", certificate.key_pem());
  auto opened = ServerCertificate::open(path, key, now);
  ASSERT_TRUE(opened) << opened.error().text;
  const auto before = (*opened)->context();
  const Certificate renewed{"IP:127.0.0.1", 7200};
  files.write("certificate.pem", renewed.pem());
  const auto half = (*opened)->reload(now);
  ASSERT_FALSE(half);
  expect(half.error(), File::Key, "does not belong");
  EXPECT_EQ((*opened)->context(), before);
  files.write("key.pem", renewed.key_pem());
  ASSERT_TRUE((*opened)->reload(now));
  EXPECT_NE((*opened)->context(), before);
  EXPECT_GT((*opened)->not_after(), now + seconds{7000});
}

}  // namespace
}  // namespace fanfare::net
