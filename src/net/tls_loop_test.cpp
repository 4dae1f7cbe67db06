// The loop behind TLS, against the HTTP client and a bare OpenSSL peer.

#include "net/tls_loop.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>

#include <atomic>

#include "base/marks.h"
#include "net/http_test_server.h"
#include "net/tls_test_server.h"

namespace fanfare::net {
namespace {

using namespace std::chrono_literals;
using testing::Certificate;
using testing::Client;
using testing::Closed;
using testing::HttpClientTest;
using testing::kPatience;
using testing::Outcome;
using testing::Server;
using testing::TinyServer;

struct PeerOptions {
  int lowest = 0;
  int highest = 0;
  const char* protocol = nullptr;  // offered by ALPN
  SSL_SESSION* session = nullptr;  // to be resumed
  const char* ciphers = nullptr;   // of TLS 1.2
};

// OpenSSL writes to sockets without MSG_NOSIGNAL. This thread alone is not told, so that a loop's signal would still be seen.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;
  ~NoBrokenPipes() {
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

// A blocking TLS peer without verification. What a signal interrupts is begun again, as in Client.
class TlsPeer {
 public:
  explicit TlsPeer(const SocketAddress& server, const PeerOptions& options = {}) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage storage{};
    const socklen_t size = server.to_sockaddr(&storage);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&storage), size), 0);
    const timeval patience{kPatience.count(), 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(context_, 0);
    SSL_CTX_set_min_proto_version(context_, options.lowest != 0 ? options.lowest : TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_, options.highest);
    if (options.ciphers != nullptr) SSL_CTX_set_cipher_list(context_, options.ciphers);
    ssl_ = SSL_new(context_);
    if (options.protocol != nullptr) {
      const std::string wire = static_cast<char>(std::strlen(options.protocol)) + std::string{options.protocol};
      SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(wire.data()), static_cast<unsigned>(wire.size()));
    }
    if (options.session != nullptr) SSL_set_session(ssl_, options.session);
    SSL_set_fd(ssl_, fd_);
    connected = again([&] { return SSL_connect(ssl_); }) == 1;
  }
  TlsPeer(const TlsPeer&) = delete;
  TlsPeer& operator=(const TlsPeer&) = delete;
  ~TlsPeer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ::close(fd_);
  }
  bool send(std::string_view bytes) {
    return again([&] { return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())); }) > 0;
  }
  bool send_raw(std::string_view bytes) { return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()); }
  std::string receive(std::size_t count) {
    std::string bytes(count, 0);
    std::size_t have = 0;
    while (have < count) {
      const int got = again([&] { return SSL_read(ssl_, bytes.data() + have, static_cast<int>(count - have)); });
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }
  /// The server ended the session in order: a close_notify came, not just an end of the connection.
  bool ends_in_order() {
    char byte = 0;
    return SSL_get_error(ssl_, again([&] { return SSL_read(ssl_, &byte, 1); })) == SSL_ERROR_ZERO_RETURN;
  }
  void close_notify() { SSL_shutdown(ssl_); }
  void end_tcp() { ::shutdown(fd_, SHUT_WR); }
  int shake_hands() {
    return again([&] { return SSL_do_handshake(ssl_); });
  }
  SSL* ssl() { return ssl_; }
  bool connected = false;

 private:
  template <class Call>
  int again(Call call) {
    const Instant limit = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      ERR_clear_error();
      const int result = call();
      if (result > 0 || std::chrono::steady_clock::now() > limit) return result;
      const int error = SSL_get_error(ssl_, result);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return result;
    }
  }

  NoBrokenPipes quiet_;
  int fd_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
};

class TlsLoop : public HttpClientTest, public ::testing::WithParamInterface<LoopKind> {
 protected:
  std::unique_ptr<Loop> loop(TlsLoopOptions options = {}, LoopOptions inner = {}) {
    return make_tls_loop(Server::made(GetParam(), std::move(inner)), shown, std::move(options));
  }
  void SetUp() override {
    // A kernel without io_uring, or one that forbids it, has no such loop; the text says which.
    if (const auto made = make_loop(GetParam()); !made) GTEST_SKIP() << made.error().text;
  }
  HttpClientOptions trusting() const {
    HttpClientOptions options;
    options.ca_pem = certificate.pem();
    return options;
  }
  Certificate certificate;
  testing::PemFiles files;
  std::shared_ptr<ServerCertificate> shown = [this] {
    auto opened = ServerCertificate::open(files.write("certificate.pem", certificate.pem()),
                                          files.write("key.pem", certificate.key_pem()),
                                          std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()));
    FANFARE_ASSERT(opened.has_value(), opened.error().text);
    return std::shared_ptr<ServerCertificate>{std::move(*opened)};
  }();
};

INSTANTIATE_TEST_SUITE_P(Both, TlsLoop, ::testing::Values(LoopKind::IoUring, LoopKind::Epoll), testing::kind_name);

// ---- Bytes

TEST_P(TlsLoop, ServesRequestsOverKeptConnections) {
  TinyServer server{loop()};
  server.start();
  HttpClient client{context.get_executor(), trusting()};
  for (int i = 0; i < 3; ++i) {
    HttpRequest request = server.request();
    request.origin.secure = true;
    const Outcome outcome = run(client, std::move(request));
    ASSERT_TRUE(outcome) << outcome.error().detail;
    EXPECT_EQ(outcome->body, "hello");
  }
  EXPECT_EQ(server.accepted_count(), 1u);
  client.close_idle();
}

TEST_P(TlsLoop, MegabytesBothWays) {
  TinyServer server{loop()};
  server.answer = [](const TinyServer::Seen& seen) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(seen.body.size()) + "\r\n\r\n" + seen.body;
  };
  server.start();
  HttpClient client{context.get_executor(), trusting()};
  HttpRequest request = server.request("POST");
  request.origin.secure = true;
  request.body = testing::pattern(512 << 10);
  const std::string expected = request.body;
  const Outcome outcome = run(client, std::move(request));
  ASSERT_TRUE(outcome) << outcome.error().detail;
  EXPECT_TRUE(outcome->body == expected);
  client.close_idle();
}

TEST_P(TlsLoop, OneLongTextAndManyShortOnesKeepTheirOrder) {
  Server server{loop()};
  const std::string text = testing::pattern(3 << 20);
  server.receive = [&](ConnectionId id, std::string_view) {
    EXPECT_EQ(server.loop->send(id, std::string{text}), SendResult::Queued);
    for (int i = 0; i < 100; ++i) server.loop->output(id)->append("short");
    EXPECT_EQ(server.loop->send(id, std::make_shared<const std::string>(text)), SendResult::Queued);
  };
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("x"));
  std::string expected = text;
  for (int i = 0; i < 100; ++i) expected += "short";
  expected += text;
  EXPECT_TRUE(peer.receive(expected.size()) == expected);
  server.stop();  // its thread reads the text
}

TEST_P(TlsLoop, RecordsCutAnywhereArriveWhole) {
  Server server{loop({}, {.receive_bytes = 7})};  // the kernel's bytes in pieces of seven
  server.receive = [&](ConnectionId id, std::string_view bytes) { (void)server.loop->send(id, bytes); };
  server.start();
  const std::string text = testing::pattern(20'000);
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send(text));
  EXPECT_TRUE(peer.receive(text.size()) == text);
}

// ---- Ends

TEST_P(TlsLoop, EndsInOrderAfterTheLastReply) {
  Server server{loop()};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
    EXPECT_EQ(server.loop->pending_bytes(id), bytes.size());
    server.loop->notify_drained(id);
    server.loop->close(id, After::Flush);
    EXPECT_FALSE(server.loop->is_open(id));
    EXPECT_EQ(server.loop->send(id, "late"), SendResult::Stale);
    EXPECT_EQ(server.loop->output(id), nullptr);
    EXPECT_EQ(server.loop->pending_bytes(id), 0u);
  };
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.connected);
  ASSERT_TRUE(peer.send("request"));
  EXPECT_EQ(peer.receive(7), "request");
  EXPECT_TRUE(peer.ends_in_order());
  const Closed closed = server.closed_event(0);
  EXPECT_EQ(closed.reason, CloseReason::ClosedByUs);
  EXPECT_EQ(closed.unsent, 0u);
  EXPECT_TRUE(server.drained.empty());
}

TEST_P(TlsLoop, APeersCloseNotifyIsTheEndOfInput) {
  Server server{loop()};
  server.end = [&](ConnectionId id) {
    EXPECT_FALSE(server.loop->is_peer_alive(id));
    EXPECT_FALSE(server.loop->probe_peer(id));
    EXPECT_EQ(server.loop->send(id, "reply"), SendResult::Queued);
    server.loop->close(id, After::Flush);
  };
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("request"));
  peer.close_notify();
  EXPECT_EQ(peer.receive(5), "reply");
  EXPECT_EQ(server.received[server.closed_event(0).id], "request");
}

TEST_P(TlsLoop, AnEndOfTcpWithoutCloseNotifyIsTheEndOfInput) {
  Server server{loop()};
  server.end = [&](ConnectionId id) { server.loop->close(id, After::Flush); };
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("request"));
  EXPECT_TRUE(server.wait([&] { return server.received.size() == 1; }));
  server.on_loop([&] {
    EXPECT_TRUE(server.loop->is_peer_alive(server.accepted.at(0)));
    EXPECT_TRUE(server.loop->probe_peer(server.accepted.at(0)));
  });
  peer.end_tcp();
  const Closed closed = server.closed_event(0);
  EXPECT_EQ(closed.reason, CloseReason::ClosedByUs);
  EXPECT_EQ(server.received[closed.id], "request");
}

TEST_P(TlsLoop, APeerThatNeverShakesHandsEndsAsAnyOther) {
  Server server{loop()};
  server.end = [&](ConnectionId id) {
    (void)server.loop->send(id, "nobody will read this");
    server.loop->close(id, After::Flush);
  };
  server.start();
  Client{server.address}.close();
  const Closed closed = server.closed_event(0);
  EXPECT_EQ(closed.reason, CloseReason::ClosedByUs);
  EXPECT_EQ(closed.unsent, 21u);
}

TEST_P(TlsLoop, StopEndsOpenSessions) {
  Server server{loop()};
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("x"));
  EXPECT_TRUE(server.wait([&] { return server.received.size() == 1; }));
  server.stop();
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::Stopped);
}

TEST_P(TlsLoop, UnsentBytesArePlainOnesAndAtLeastThoseThatNeverLeft) {
  Server server{loop()};
  const std::string text = testing::pattern(16 << 20);
  std::atomic<std::size_t> pending{0};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    if (bytes == "go") {
      EXPECT_EQ(server.loop->send(id, "first"), SendResult::Queued);
    } else {
      EXPECT_EQ(server.loop->pending_bytes(id), 0u) << "the first reply has left, and nothing of the session counts";
      EXPECT_EQ(server.loop->send(id, std::string_view{text}), SendResult::Queued);
      EXPECT_EQ(server.loop->pending_bytes(id), text.size());
      pending = text.size();
    }
  };
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("go"));
  EXPECT_EQ(peer.receive(5), "first");
  ASSERT_TRUE(peer.send("more"));
  ASSERT_TRUE(server.wait([&] { return pending > 0; }));
  server.on_loop([&] {
    const ConnectionId id = server.accepted.at(0);
    EXPECT_EQ(server.loop->pending_bytes(id), text.size()) << "the turn's bytes wait until the last of them is taken";
    server.loop->close(id, After::Now);
  });
  EXPECT_EQ(server.closed_event(0).unsent, text.size());
}

TEST_P(TlsLoop, AConnectionWithTooMuchWaitingTakesNoMore) {
  Server server{loop({.output_limit = 1000})};
  server.receive = [&](ConnectionId id, std::string_view) {
    EXPECT_EQ(server.loop->send(id, std::string(2000, 'x')), SendResult::Queued);
    EXPECT_EQ(server.loop->send(id, "y"), SendResult::Full);
    EXPECT_EQ(server.loop->output(id), nullptr);
  };
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("x"));
  EXPECT_EQ(peer.receive(2000), std::string(2000, 'x'));
}

// ---- The handshake

TEST_P(TlsLoop, WhatIsSentBeforeTheHandshakeWaitsForIt) {
  Server server{loop()};
  server.accept = [&](ConnectionId id) {
    EXPECT_EQ(server.loop->send(id, "welcome"), SendResult::Queued);
    EXPECT_EQ(server.loop->pending_bytes(id), 7u);
    server.loop->notify_drained(id);
  };
  server.start();
  TlsPeer peer{server.address};
  EXPECT_EQ(peer.receive(7), "welcome");
  EXPECT_TRUE(server.wait([&] { return server.drained.size() == 1; }));
}

TEST_P(TlsLoop, ACloseBeforeTheHandshakeWaitsForItToSayWhy) {
  Server server{loop()};
  server.accept = [&](ConnectionId id) {
    EXPECT_EQ(server.loop->send(id, "go away"), SendResult::Queued);
    server.loop->close(id, After::Flush);
  };
  server.start();
  TlsPeer peer{server.address};
  EXPECT_EQ(peer.receive(7), "go away");
  EXPECT_TRUE(peer.ends_in_order());
  const Closed closed = server.closed_event(0);
  EXPECT_EQ(closed.reason, CloseReason::ClosedByUs);
  EXPECT_EQ(closed.unsent, 0u);
}

TEST_P(TlsLoop, APauseBeforeTheHandshakeHoldsOnlyWhatComesAfterIt) {
  Server server{loop()};
  server.accept = [&](ConnectionId id) { server.loop->pause_reading(id); };
  server.start();
  TlsPeer peer{server.address};
  EXPECT_TRUE(peer.connected);
  ASSERT_TRUE(peer.send("request"));
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] {
    EXPECT_TRUE(server.received.empty());
    server.loop->resume_reading(id);
  });
  EXPECT_TRUE(server.wait([&] { return server.received[id] == "request"; }));
}

TEST_P(TlsLoop, AnEndDuringAPauseBeforeTheHandshakeIsToldAfterIt) {
  Server server{loop()};
  server.accept = [&](ConnectionId id) { server.loop->pause_reading(id); };
  server.start();
  Client{server.address}.close();
  const ConnectionId id = server.accepted_id(0);
  bool alive = true;
  while (alive) server.on_loop([&] { alive = server.loop->is_peer_alive(id); });
  server.on_loop([&] {
    EXPECT_TRUE(server.ended.empty());
    server.loop->resume_reading(id);
  });
  EXPECT_TRUE(server.wait([&] { return server.ended.contains(id); }));
}

TEST_P(TlsLoop, AHandshakeThatTakesTooLongIsEnded) {
  Server server{loop({.handshake_timeout = 0s})};
  server.start();
  EXPECT_MARKED(net_tls_handshake_timeout, {
    Client silent{server.address};
    EXPECT_EQ(silent.receive_all(), "");
    EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
  });
}

TEST_P(TlsLoop, TheTimerServesHandshakesAndTheHandler) {
  Server server{loop({.handshake_timeout = 1s})};
  server.accept = [&](ConnectionId) { server.loop->set_deadline(server.loop->now() + 1ms); };
  std::atomic<bool> timed{false};
  server.timer = [&](Instant) {
    EXPECT_FALSE(timed.exchange(true)) << "once";
    EXPECT_TRUE(server.closed.empty());
  };
  server.start();
  Client silent{server.address};
  EXPECT_EQ(silent.receive_all(), "");
  EXPECT_TRUE(timed);
}

TEST_P(TlsLoop, AClearedDeadlineDoesNotComeWithAHandshakes) {
  Server server{loop({.handshake_timeout = 0s})};
  server.accept = [&](ConnectionId) {
    server.loop->set_deadline(server.loop->now());
    server.loop->clear_deadline();
  };
  server.start();
  Client silent{server.address};
  EXPECT_EQ(silent.receive_all(), "");
  (void)server.closed_event(0);
  EXPECT_TRUE(server.timers.empty());
}

TEST_P(TlsLoop, AHandshakeWithoutEndIsEnded) {
  Server server{loop()};
  server.start();
  Client flood{server.address};
  // Messages of the handshake in records of one byte: a client hello of 16 MiB begins.
  std::string bytes{"\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9};
  for (int i = 0; i < 30'000; ++i) bytes.append("\x16\x03\x01\x00\x01\x00", 6);
  (void)flood.send(bytes);
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
}

TEST_P(TlsLoop, AnOutdatedPeerIsRefusedWithAnAlert) {
  Server server{loop()};
  server.start();
  TlsPeer outdated{server.address, {.highest = TLS1_1_VERSION}};
  EXPECT_FALSE(outdated.connected);
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
  TlsPeer weak{server.address, {.highest = TLS1_2_VERSION, .ciphers = "AES128-SHA:ECDHE-ECDSA-AES128-SHA"}};
  EXPECT_FALSE(weak.connected) << "no forward secrecy, or no authenticated encryption";
  EXPECT_EQ(server.closed_event(1).reason, CloseReason::PeerReset);
  EXPECT_TRUE(server.received.empty());
}

TEST_P(TlsLoop, Tls13IsPreferredAndTls12Spoken) {
  Server server{loop()};
  server.start();
  TlsPeer modern{server.address};
  ASSERT_TRUE(modern.connected);
  EXPECT_STREQ(SSL_get_version(modern.ssl()), "TLSv1.3");
  TlsPeer older{server.address, {.highest = TLS1_2_VERSION}};
  ASSERT_TRUE(older.connected);
  EXPECT_STREQ(SSL_get_version(older.ssl()), "TLSv1.2");
  EXPECT_NE(SSL_get_secure_renegotiation_support(older.ssl()), 0);
  EXPECT_EQ(SSL_get_current_compression(older.ssl()), nullptr);
}

TEST_P(TlsLoop, RenegotiationIsRefusedAndTheSessionGoesOn) {
  Server server{loop()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { (void)server.loop->send(id, bytes); };
  server.start();
  TlsPeer peer{server.address, {.highest = TLS1_2_VERSION}};
  ASSERT_TRUE(peer.connected);
  SSL_renegotiate(peer.ssl());
  EXPECT_NE(peer.shake_hands(), 1);
}

TEST_P(TlsLoop, SpeaksHttp11AndNothingElseByName) {
  Server server{loop()};
  server.start();
  TlsPeer http11{server.address, {.protocol = "http/1.1"}};
  ASSERT_TRUE(http11.connected);
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(http11.ssl(), &chosen, &size);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), size), "http/1.1");
  TlsPeer http2{server.address, {.protocol = "h2"}};
  EXPECT_FALSE(http2.connected);
}

TEST_P(TlsLoop, SessionsAreResumedByTicketsUntilTheCertificateIsReadAnew) {
  Server server{loop()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { (void)server.loop->send(id, bytes); };
  server.start();
  SSL_SESSION* session = nullptr;
  {
    TlsPeer first{server.address};
    ASSERT_TRUE(first.send("x"));
    EXPECT_EQ(first.receive(1), "x");  // the ticket came before
    EXPECT_EQ(SSL_session_reused(first.ssl()), 0);
    session = SSL_get1_session(first.ssl());
    first.close_notify();
  }
  {
    TlsPeer second{server.address, {.session = session}};
    ASSERT_TRUE(second.connected);
    EXPECT_EQ(SSL_session_reused(second.ssl()), 1);
  }
  ASSERT_TRUE(shown->reload(std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now())));
  TlsPeer third{server.address, {.session = session}};
  ASSERT_TRUE(third.connected);
  EXPECT_EQ(SSL_session_reused(third.ssl()), 0);
  SSL_SESSION_free(session);
}

TEST_P(TlsLoop, ANewCertificateIsShownToNewPeersAndKeepsOldSessions) {
  Server server{loop()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { (void)server.loop->send(id, bytes); };
  server.start();
  TlsPeer before{server.address};
  ASSERT_TRUE(before.connected);
  const Certificate renewed;
  files.write("certificate.pem", renewed.pem());
  files.write("key.pem", renewed.key_pem());
  ASSERT_TRUE(shown->reload(std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now())));
  TlsPeer after{server.address};
  ASSERT_TRUE(after.connected);
  X509* seen = SSL_get1_peer_certificate(after.ssl());
  EXPECT_EQ(X509_cmp(seen, renewed.x509), 0);
  X509_free(seen);
  ASSERT_TRUE(before.send("still here"));
  EXPECT_EQ(before.receive(10), "still here");
}

// ---- Peers that do otherwise

TEST_P(TlsLoop, BeyondTheConnectionLimitAPeerReadsAnAlert) {
  std::atomic<std::uint64_t> refused{0};
  Server server{loop({}, {.max_connections = 1, .refusal = std::string{kTlsRefusal}, .refused = &refused})};
  server.start();
  TlsPeer served{server.address};
  ASSERT_TRUE(served.connected);
  for (const int version : {TLS1_3_VERSION, TLS1_2_VERSION}) {
    TlsPeer late{server.address, PeerOptions{.highest = version}};
    EXPECT_FALSE(late.connected);
    const unsigned long error = ERR_peek_error();
    EXPECT_EQ(ERR_GET_REASON(error), SSL_R_TLSV1_ALERT_INTERNAL_ERROR) << ERR_error_string(error, nullptr);
  }
  EXPECT_EQ(refused.load(), 2u);
  server.on_loop([&] { EXPECT_EQ(server.loop->statistics().refused, 2u); });
}

TEST_P(TlsLoop, APlainHttpPeerReadsWhatToDo) {
  Server server{loop({.plain_reply = "HTTP/1.1 400 Bad Request\r\n\r\n"})};
  server.start();
  EXPECT_MARKED(net_tls_plain_peer, {
    Client plain{server.address};
    ASSERT_TRUE(plain.send("GET / HTTP/1.1\r\n\r\n"));
    EXPECT_EQ(plain.receive_all(), "HTTP/1.1 400 Bad Request\r\n\r\n");
    EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
  });
  EXPECT_TRUE(server.received.empty());
}

TEST_P(TlsLoop, WhatIsNoTlsEndsTheConnection) {
  Server server{loop()};
  server.start();
  Client garbage{server.address};
  ASSERT_TRUE(garbage.send("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(garbage.receive_all(), "");
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
}

TEST_P(TlsLoop, ABrokenHelloIsAnsweredWithAnAlert) {
  Server server{loop()};
  server.start();
  Client broken{server.address};
  ASSERT_TRUE(broken.send(std::string_view{"\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9}));  // without a single field
  const std::string alert = broken.receive_all();
  ASSERT_FALSE(alert.empty());
  EXPECT_EQ(alert[0], 21) << "the record type of alerts";
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
}

TEST_P(TlsLoop, ABrokenRecordEndsTheSession) {
  Server server{loop()};
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("request"));
  ASSERT_TRUE(peer.send_raw(std::string{"\x17\x03\x03\x00\x20", 5} + std::string(32, 'x')));
  const Closed closed = server.closed_event(0);
  EXPECT_EQ(closed.reason, CloseReason::PeerReset);
  EXPECT_EQ(server.received[closed.id], "request");
}

TEST_P(TlsLoop, BytesThatGiveNoPlainByteAreNoActivity) {
  Server server{loop()};
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("request"));
  const ConnectionId id = server.accepted_id(0);
  ASSERT_TRUE(server.wait([&] { return server.received[id] == "request"; }));
  std::uint64_t receives = 0;
  server.on_loop([&] { receives = server.loop->statistics().receives; });
  Instant first{};
  // The header of a record, then its bytes one after the other: each is received, and none moves the last activity.
  std::string record{"\x17\x03\x03\x01\x00", 5};
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(peer.send_raw(record));
    record = "x";
    std::uint64_t now = receives;
    while (now == receives) server.on_loop([&] { now = server.loop->statistics().receives; });
    receives = now;
    server.on_loop([&] {
      const Instant active = server.loop->last_activity(id);
      if (i == 0) first = active;
      EXPECT_EQ(active, first);
      int visited = 0;
      server.loop->for_each_idle(first + 1ns, [&](ConnectionId visited_id) {
        EXPECT_EQ(visited_id, id);
        ++visited;
      });
      EXPECT_EQ(visited, 1);
      server.loop->for_each_idle(first, [&](ConnectionId) { ADD_FAILURE() << "active at that time"; });
    });
  }
}

TEST_P(TlsLoop, APeerThatOnlyAsksForNewKeysIsEnded) {
  Server server{loop()};
  server.start();
  TlsPeer peer{server.address, {.lowest = TLS1_3_VERSION}};
  ASSERT_TRUE(peer.connected);
  for (int i = 0; i < 20'000; ++i) {
    SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_REQUESTED);
    if (peer.shake_hands() != 1) break;
  }
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
}

TEST_P(TlsLoop, ANewKeyInBetweenDoesNotMatter) {
  Server server{loop()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { (void)server.loop->send(id, bytes); };
  server.start();
  TlsPeer peer{server.address, {.lowest = TLS1_3_VERSION}};
  for (int i = 0; i < 10; ++i) {
    SSL_key_update(peer.ssl(), SSL_KEY_UPDATE_REQUESTED);
    ASSERT_TRUE(peer.send("request"));
    EXPECT_EQ(peer.receive(7), "request");
  }
}

// ---- Pauses, wakes, turns

TEST_P(TlsLoop, PausingKeepsWhatWasReceivedInOrder) {
  Server server{loop()};
  server.receive = [&](ConnectionId id, std::string_view) {
    server.loop->pause_reading(id);
    server.loop->notify_drained(id);  // the next turn
  };
  server.drain = [&](ConnectionId id) { server.loop->resume_reading(id); };
  server.start();
  const std::string text = testing::pattern(400'000);
  TlsPeer peer{server.address};
  for (std::size_t at = 0; at < text.size(); at += 1000) ASSERT_TRUE(peer.send(std::string_view{text}.substr(at, 1000)));
  peer.close_notify();
  const ConnectionId id = server.accepted_id(0);
  EXPECT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  EXPECT_TRUE(server.received[id] == text) << server.received[id].size();
}

TEST_P(TlsLoop, NothingIsToldDuringAPause) {
  Server server{loop()};
  std::atomic<int> told{0};
  server.receive = [&](ConnectionId id, std::string_view) {
    if (++told == 1) server.loop->pause_reading(id);
  };
  server.start();
  TlsPeer peer{server.address};
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(peer.send("x"));
  peer.close_notify();
  const ConnectionId id = server.accepted_id(0);
  ASSERT_TRUE(server.wait([&] { return told == 1; }));
  server.on_loop([] {});
  server.on_loop([&] {
    EXPECT_EQ(told, 1);
    EXPECT_FALSE(server.ended.contains(id));
    server.loop->resume_reading(id);
  });
  EXPECT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  EXPECT_EQ(server.received[id], std::string(100, 'x'));
}

TEST_P(TlsLoop, NothingLeavesBeforeTheEndOfItsTurn) {
  Server server{loop()};
  std::string order;
  server.receive = [&](ConnectionId id, std::string_view) {
    (void)server.loop->send(id, "a");
    order += "r";
  };
  server.turn_end = [&] {
    if (order != "r") return;
    order += "e";
    const ConnectionId id = server.accepted.at(0);
    EXPECT_EQ(server.loop->pending_bytes(id), 1u);
    EXPECT_EQ(server.loop->send(id, "b"), SendResult::Queued);
  };
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("x"));
  EXPECT_EQ(peer.receive(2), "ab");
  server.stop();  // its thread writes the order
  EXPECT_EQ(order, "re");
}

TEST_P(TlsLoop, AResumeThatHasNothingToTellMakesNoTurn) {
  Server server{loop()};
  server.start();
  TlsPeer peer{server.address};
  ASSERT_TRUE(peer.send("x"));
  const ConnectionId id = server.accepted_id(0);
  ASSERT_TRUE(server.wait([&] { return server.received[id] == "x"; }));
  server.on_loop([&] {
    server.loop->pause_reading(id);
    server.loop->resume_reading(id);
  });
  ASSERT_TRUE(peer.send("y"));  // the server checks that each turn that has an end had something to tell
  EXPECT_TRUE(server.wait([&] { return server.received[id] == "xy"; }));
  EXPECT_EQ(server.wakes, 1);
}

}  // namespace
}  // namespace fanfare::net
