// The HTTP client against a TLS server on blocking sockets.

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "net/http_test_server.h"

namespace fanfare::net {
namespace {

using namespace std::chrono_literals;
using testing::HttpClientTest;
using testing::kPatience;
using testing::Outcome;
using testing::TinyServer;

// A certificate signed by itself.
struct Certificate {
  explicit Certificate(const char* subject_names = "IP:127.0.0.1,DNS:localhost") {
    key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    x509 = X509_new();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
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
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio, &text);
    std::string result(text, static_cast<std::size_t>(size));
    BIO_free(bio);
    return result;
  }
  EVP_PKEY* key = nullptr;
  X509* x509 = nullptr;
};

// Accepts `connections` TLS connections one after the other and answers each request head with "hello".
class TlsServer {
 public:
  TlsServer(const Certificate& certificate, int connections) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage storage{};
    socklen_t size = testing::kAnyPort.to_sockaddr(&storage);
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
        if (!got.ends_with("\r\n\r\n")) continue;
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

class HttpClientTls : public HttpClientTest {
 protected:
  HttpClientOptions trusting() const {
    HttpClientOptions options;
    options.ca_pem = certificate.pem();
    return options;
  }
  Certificate certificate;
};

TEST_F(HttpClientTls, TrustedServersAreServedAndKept) {
  TlsServer server{certificate, 2};
  HttpClient client{context.get_executor(), trusting()};
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = run(client, server.request("127.0.0.1"));
    ASSERT_TRUE(outcome) << outcome.error().detail;
    EXPECT_EQ(outcome->body, "hello");
  }
  EXPECT_EQ(client.statistics().connections_opened, 1u);
  client.close_idle();
  const Outcome by_name = run(client, server.request("localhost"));
  ASSERT_TRUE(by_name) << by_name.error().detail;
  client.close_idle();
}

TEST_F(HttpClientTls, UnknownAuthoritiesAreRefused) {
  TlsServer server{certificate, 1};
  HttpClient stranger{context.get_executor()};
  const Outcome unknown = run(stranger, server.request("127.0.0.1"));
  EXPECT_EQ(error_of(unknown), HttpError::Tls);
  EXPECT_NE(unknown.error().detail.find("self-signed certificate"), std::string::npos) << unknown.error().detail;
  EXPECT_FALSE(unknown.error().maybe_executed);
}

TEST_F(HttpClientTls, CertificatesForOtherNamesAreRefused) {
  const Certificate other{"IP:127.0.0.9,DNS:other.example"};
  TlsServer server{other, 2};
  HttpClientOptions options;
  options.ca_pem = other.pem();
  HttpClient client{context.get_executor(), options};
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const Outcome outcome = run(client, server.request(host));
    EXPECT_EQ(error_of(outcome), HttpError::Tls) << host;
  }
}

TEST_F(HttpClientTls, VerificationCanBeSwitchedOffForDevelopment) {
  TlsServer server{certificate, 1};
  HttpClientOptions options;
  options.verify_certificates = false;
  HttpClient client{context.get_executor(), options};
  const Outcome outcome = run(client, server.request("127.0.0.1"));
  ASSERT_TRUE(outcome) << outcome.error().detail;
  client.close_idle();
}

TEST_F(HttpClientTls, APlainServerIsATlsError) {
  TinyServer server;
  server.answer = [](const auto&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; };
  server.receive = [&](ConnectionId id, std::string_view) {
    (void)server.loop->send(id, "HTTP/1.1 400 Bad Request\r\n\r\n");
    server.loop->close(id, After::Flush);
  };
  server.start();
  HttpClient client{context.get_executor(), trusting()};
  HttpRequest request = server.request();
  request.origin.secure = true;
  EXPECT_EQ(error_of(run(client, std::move(request))), HttpError::Tls);
}

TEST_F(HttpClientTls, ASilentHandshakeMeansTimeout) {
  testing::Server server{LoopKind::Epoll};
  server.start();
  HttpClient client{context.get_executor(), trusting()};
  HttpRequest request;
  request.origin = {true, "127.0.0.1", server.address.port};
  EXPECT_EQ(error_of(run(client, request, 30ms)), HttpError::Timeout);
  HttpClientOptions hasty = trusting();
  hasty.connect_timeout = 20ms;
  HttpClient impatient{context.get_executor(), hasty};
  EXPECT_EQ(error_of(run(impatient, request)), HttpError::Connect);
}

TEST_F(HttpClientTls, UnreadableCertificatesAreReported) {
  testing::Server server{LoopKind::Epoll};
  server.start();
  HttpClientOptions options;
  options.ca_file = "/nonexistent/ca.pem";
  HttpClient client{context.get_executor(), options};
  HttpRequest request;
  request.origin = {true, "127.0.0.1", server.address.port};
  const Outcome outcome = run(client, request);
  EXPECT_EQ(error_of(outcome), HttpError::Tls);
  EXPECT_TRUE(outcome.error().detail.starts_with("cannot read certificates from /nonexistent/ca.pem"))
      << outcome.error().detail;
}

}  // namespace
}  // namespace fanfare::net
