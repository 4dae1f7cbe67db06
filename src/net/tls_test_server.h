// For tests of what speaks TLS: certificates, and a server on blocking sockets.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "net/http_client.h"
#include "net/loop_test_server.h"

namespace fanfare::net::testing {

// A certificate signed by itself.
struct Certificate {
  explicit Certificate(const char* subject_names = "IP:127.0.0.1,DNS:localhost", long valid_for_s = 3600, unsigned rsa_bits = 0) {
    key = rsa_bits > 0 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{rsa_bits}) : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    x509 = X509_new();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), valid_for_s);
    X509_set_pubkey(x509, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(x509, X509_get_subject_name(x509));
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, subject_names);
    X509_add_ext(x509, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(x509, key, EVP_sha256());
  }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;
  ~Certificate() {
    X509_free(x509);
    EVP_PKEY_free(key);
  }
  [[nodiscard]] std::string pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, x509);
    return text_of(bio);
  }
  /// With a passphrase: encrypted.
  [[nodiscard]] std::string key_pem(const char* passphrase = nullptr) const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PKCS8PrivateKey(bio, key, passphrase == nullptr ? nullptr : EVP_aes_128_cbc(), passphrase,
                                  passphrase == nullptr ? 0 : static_cast<int>(std::strlen(passphrase)), nullptr, nullptr);
    return text_of(bio);
  }
  EVP_PKEY* key = nullptr;
  X509* x509 = nullptr;

 private:
  static std::string text_of(BIO* bio) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio, &text);
    std::string result(text, static_cast<std::size_t>(size));
    BIO_free(bio);
    return result;
  }
};

// PEM files for as long as it lives.
class PemFiles {
 public:
  PemFiles() {
    char folder[] = "/tmp/fanfare_pem_XXXXXX";
    FANFARE_ASSERT(mkdtemp(folder) != nullptr);
    folder_ = folder;
  }
  PemFiles(const PemFiles&) = delete;
  PemFiles& operator=(const PemFiles&) = delete;
  ~PemFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  /// Its path. What was there before is replaced.
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream{path, std::ios::trunc} << text;
    return path;
  }

 private:
  std::string folder_;
};

// Accepts `connections` TLS connections one after the other and answers each request with "hello".
class TlsServer {
 public:
  TlsServer(const Certificate& certificate, int connections) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage storage{};
    socklen_t size = kAnyPort.to_sockaddr(&storage);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&storage), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&storage), &size);
    port = SocketAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage))->port;
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, certificate.x509);
    SSL_CTX_use_PrivateKey(context_, certificate.key);
    thread_ = std::thread{[this, connections] {
      for (int i = 0; i < connections; ++i) serve();
    }};
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    SSL_CTX_free(context_);
  }
  [[nodiscard]] HttpRequest request(std::string host) const {
    HttpRequest request;
    request.origin = {true, std::move(host), port};
    return request;
  }
  std::uint16_t port = 0;
  std::atomic<int> requests{0};

 private:
  void serve() {
    int fd = -1;
    do fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return;
    const timeval patience{kPatience.count(), 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
      std::string got;
      char buffer[4096];
      for (int count = 0; (count = SSL_read(ssl, buffer, sizeof buffer)) > 0;) {
        got.append(buffer, static_cast<std::size_t>(count));
        if (!got.ends_with("\r\n\r\n") && !got.ends_with("}")) continue;  // a head, or a body of JSON
        if (!got.empty()) ++requests;
        got.clear();
        const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
      }
    }
    SSL_free(ssl);
    ::close(fd);
  }

  int listener_ = -1;
  SSL_CTX* context_ = nullptr;
  std::thread thread_;
};

}  // namespace fanfare::net::testing
