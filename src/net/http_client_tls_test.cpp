// The HTTP client against a TLS server on blocking sockets.

#include <gtest/gtest.h>

#include "net/http_test_server.h"
#include "net/tls_test_server.h"

namespace fanfare::net {
namespace {

using namespace std::chrono_literals;
using testing::Certificate;
using testing::HttpClientTest;
using testing::Outcome;
using testing::TinyServer;
using testing::TlsServer;

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
  EXPECT_NE(unknown.error().detail.find("(self-signed certificate; if it is to be trusted, name a PEM file with it in the environment variable SSL_CERT_FILE)"),
            std::string::npos) << unknown.error().detail;
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
    EXPECT_EQ(outcome.error().detail.find("SSL_CERT_FILE"), std::string::npos) << "another name is no matter of trust: " << outcome.error().detail;
  }
}

TEST_F(HttpClientTls, ExpiredCertificatesAreRefused) {
  const Certificate old{"IP:127.0.0.1", -60};
  TlsServer server{old, 1};
  HttpClientOptions options;
  options.ca_pem = old.pem();
  HttpClient client{context.get_executor(), options};
  const Outcome outcome = run(client, server.request("127.0.0.1"));
  EXPECT_EQ(error_of(outcome), HttpError::Tls);
  EXPECT_NE(outcome.error().detail.find("certificate has expired"), std::string::npos) << outcome.error().detail;
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
