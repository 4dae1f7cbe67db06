// The loop behind TLS over a loop without sockets: whatever pieces bytes come and go in, with pauses between, they stay in
// order, and what is told to wait is never too little (rule 4 of tls_loop.h).

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <rapidcheck.h>

#include "net/loop_test_server.h"
#include "net/tls_loop.h"
#include "net/tls_test_server.h"

namespace fanfare::net {
namespace {

constexpr ConnectionId kId{0, 1};

// One connection, whose kernel is the test: it gives bytes with deliver() and takes them with take().
class PaperLoop final : public Loop {
 public:
  Result<Listening, NetError> listen(const SocketAddress& address, const ListenOptions&) override { return Listening{{}, address}; }
  void close_listener(ListenerId) override {}
  void run(LoopHandler& handler) override {
    handler_ = &handler;
    open_ = true;
    handler.on_accept(kId, {}, testing::kAnyPort);
    handler.on_turn_end();
  }
  void stop() override {}
  void wake() override { woken_ = true; }
  SendResult send(ConnectionId id, std::string_view bytes) override {
    if (!is_open(id)) return SendResult::Stale;
    out_ += bytes;
    return SendResult::Queued;
  }
  SendResult send(ConnectionId id, std::string&& bytes) override { return send(id, std::string_view{bytes}); }
  SendResult send(ConnectionId id, SharedBytes bytes) override { return send(id, std::string_view{*bytes}); }
  std::string* output(ConnectionId id) override { return is_open(id) ? &out_ : nullptr; }
  std::size_t pending_bytes(ConnectionId id) const override { return is_open(id) ? out_.size() : 0; }
  void notify_drained(ConnectionId) override { want_drained_ = true; }
  void close(ConnectionId, After after) override {
    closing_ = true;
    if (after == After::Now) cut_ = true;
  }
  void pause_reading(ConnectionId) override { paused_ = true; }
  void resume_reading(ConnectionId) override { paused_ = false; }
  bool is_open(ConnectionId id) const override { return id == kId && open_ && !closing_; }
  bool is_peer_alive(ConnectionId id) const override { return is_open(id); }
  bool probe_peer(ConnectionId id) const override { return is_open(id); }
  Instant last_activity(ConnectionId) const override { return now_; }
  void for_each_idle(Instant, const std::function<void(ConnectionId)>&) override {}
  std::uint32_t open_connections() const override { return open_ ? 1 : 0; }
  void set_deadline(Instant) override {}
  void clear_deadline() override {}
  Instant now() const override { return now_; }
  LoopKind kind() const override { return LoopKind::Epoll; }
  std::string_view choice() const override { return "paper"; }
  const LoopStatistics& statistics() const override { return statistics_; }

  // ---- What a kernel and a peer do; each is a turn

  void deliver(std::string_view bytes) {
    in_ += bytes;
    turn();
  }
  std::string take(std::size_t most) {
    std::string taken = out_.substr(0, most);
    out_.erase(0, taken.size());
    turn();
    return taken;
  }
  void turn() {
    now_ += milliseconds{1};
    if (want_drained_ && out_.empty() && is_open(kId)) {
      want_drained_ = false;
      handler_->on_drained(kId);
    }
    if (open_ && closing_ && (cut_ || out_.empty())) {
      open_ = false;
      handler_->on_closed(kId, CloseReason::ClosedByUs, out_.size());
    }
    if (is_open(kId) && !paused_ && !in_.empty()) handler_->on_receive(kId, std::exchange(in_, {}));
    if (std::exchange(woken_, false)) handler_->on_wake();
    handler_->on_turn_end();
  }
  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] bool holds_input() const { return !in_.empty(); }

 private:
  LoopHandler* handler_ = nullptr;
  std::string in_;
  std::string out_;
  Instant now_ = Instant{} + seconds{1};
  bool open_ = false;
  bool closing_ = false;
  bool cut_ = false;
  bool paused_ = false;
  bool want_drained_ = false;
  bool woken_ = false;
  LoopStatistics statistics_;
};

class Told final : public LoopHandler {
 public:
  void on_accept(ConnectionId, ListenerId, const SocketAddress&) override {}
  void on_receive(ConnectionId, std::string_view bytes) override {
    RC_ASSERT(!paused);
    received += bytes;
    if (std::exchange(pauses_at_next, false)) {
      paused = true;
      loop->pause_reading(kId);
    }
  }
  void on_end_of_input(ConnectionId) override {
    RC_ASSERT(!paused);
    RC_ASSERT(!std::exchange(ended, true));
  }
  void on_closed(ConnectionId, CloseReason, std::size_t bytes) override {
    RC_ASSERT(!unsent.has_value());
    unsent = bytes;
  }
  void on_drained(ConnectionId) override { ++drained; }

  Loop* loop = nullptr;
  std::string received;
  bool paused = false;
  bool pauses_at_next = false;
  bool ended = false;
  int drained = 0;
  std::optional<std::size_t> unsent;
};

// A peer in memory.
class Peer {
 public:
  explicit Peer(int highest_version) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_, highest_version);
    ssl_ = SSL_new(context_);
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(ssl_, in_, out_);
    SSL_set_connect_state(ssl_);
    (void)SSL_do_handshake(ssl_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  /// False before the handshake is done.
  bool send(const std::string& bytes) {
    ERR_clear_error();
    return !ended_ && SSL_is_init_finished(ssl_) == 1 && SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  bool renew_keys() {
    return !ended_ && SSL_is_init_finished(ssl_) == 1 && SSL_version(ssl_) == TLS1_3_VERSION && SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED) == 1;
  }
  /// Harmless before the handshake is done.
  void end() {
    (void)SSL_do_handshake(ssl_);  // new keys that were asked for and not told yet: nothing else goes out before
    if (!ended_ && SSL_is_init_finished(ssl_) == 1) ended_ = SSL_shutdown(ssl_) >= 0;
  }
  void take(std::string_view bytes) {
    if (bytes.empty()) return;
    BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    std::array<char, 4096> buffer{};
    ERR_clear_error();
    int got = 0;
    while ((got = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()))) > 0)
      received.append(buffer.data(), static_cast<std::size_t>(got));
    notified = SSL_get_error(ssl_, got) == SSL_ERROR_ZERO_RETURN;
  }
  std::string give(std::size_t most) {
    std::string bytes(most, '\0');
    const int got = BIO_read(out_, bytes.data(), static_cast<int>(most));
    bytes.resize(static_cast<std::size_t>(std::max(got, 0)));
    return bytes;
  }
  std::string received;
  bool notified = false;

 private:
  bool ended_ = false;
  SSL_CTX* context_;
  SSL* ssl_ = nullptr;
  BIO* in_ = nullptr;
  BIO* out_ = nullptr;
};

std::shared_ptr<const ServerCertificate> shown() {
  static const std::shared_ptr<const ServerCertificate> certificate = [] {
    const testing::Certificate made;
    testing::PemFiles files;
    auto opened = ServerCertificate::open(files.write("certificate.pem", made.pem()), files.write("key.pem", made.key_pem()),
                                          std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()));
    FANFARE_ASSERT(opened.has_value(), opened.error().text);
    return std::shared_ptr<const ServerCertificate>{std::move(*opened)};
  }();
  return certificate;
}

TEST(TlsLoopProperties, BytesKeepTheirOrderAndNothingThatWaitsIsMissed) {
  const std::string text = testing::pattern(1 << 20);
  const bool held = rc::check([&] {
    auto made = std::make_unique<PaperLoop>();
    PaperLoop& kernel = *made;
    const std::unique_ptr<Loop> loop = make_tls_loop(std::move(made), shown(), {});
    Told told;
    told.loop = loop.get();
    loop->run(told);
    Peer peer{*rc::gen::element(TLS1_2_VERSION, TLS1_3_VERSION)};
    std::string queued;  // by the handler
    std::string sent;    // by the peer
    std::size_t position = 0;
    const auto piece = [&](std::size_t size) {
      position = (position + 7919) % (text.size() / 2);
      return text.substr(position, size);
    };
    int drains = 0;
    const auto check = [&] {
      const std::size_t pending = loop->pending_bytes(kId);
      RC_ASSERT(pending <= queued.size());
      RC_ASSERT(queued.size() - pending <= peer.received.size());  // what is said to be taken has been
      RC_ASSERT(queued.starts_with(peer.received));
      RC_ASSERT(sent.starts_with(told.received));
    };
    const auto actions = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 11), rc::gen::inRange(1, 40'000)));
    for (const auto& [action, amount] : actions) {
      const auto size = static_cast<std::size_t>(amount);
      switch (action) {
        case 0: kernel.deliver(peer.give(size)); break;
        case 1: kernel.deliver(peer.give(size % 50 + 1)); break;
        case 2: peer.take(kernel.take(size)); break;
        case 3: peer.take(kernel.take(size % 50 + 1)); break;
        case 4: {
          const std::string bytes = piece(size);
          RC_ASSERT(loop->send(kId, std::string_view{bytes}) == SendResult::Queued);
          queued += bytes;
          break;
        }
        case 5:
          // One record or several small ones.
          for (std::size_t i = 0; i < size % 3 + 1; ++i)
            if (const std::string bytes = piece(size % 5000 + 1); peer.send(bytes)) sent += bytes;
          break;
        case 6:
          told.paused = !told.paused;
          if (told.paused) loop->pause_reading(kId);
          else loop->resume_reading(kId);
          break;
        case 7: (void)peer.renew_keys(); break;
        case 8:
          if (drains == told.drained) {
            loop->notify_drained(kId);
            ++drains;
          }
          break;
        case 9: told.pauses_at_next = true; break;
        case 10:
          if (size % 8 == 0) peer.end();
          break;
      }
      check();
      kernel.turn();
      check();
    }
    // Either cut here, or everything flows to its end.
    if (*rc::gen::arbitrary<bool>()) {
      const std::size_t pending = loop->pending_bytes(kId);
      loop->close(kId, After::Now);
      kernel.turn();
      RC_ASSERT(told.unsent == pending);
      return;
    }
    told.pauses_at_next = false;
    if (std::exchange(told.paused, false)) loop->resume_reading(kId);
    const auto flow = [&] {
      for (int quiet = 0; quiet < 3; ++quiet) {
        const std::string from_peer = peer.give(1 << 20);
        kernel.deliver(from_peer);
        const std::string to_peer = kernel.take(1 << 20);
        peer.take(to_peer);
        if (!from_peer.empty() || !to_peer.empty()) quiet = -1;
      }
    };
    flow();  // which finishes the handshake, too
    peer.end();
    flow();
    check();
    RC_ASSERT(told.ended);
    RC_ASSERT(told.received == sent);
    RC_ASSERT(peer.received == queued);
    RC_ASSERT(loop->pending_bytes(kId) == 0u);
    RC_ASSERT(told.drained == drains);
    loop->close(kId, After::Flush);
    RC_ASSERT(!loop->is_open(kId));
    flow();
    RC_ASSERT(told.unsent == std::size_t{0});
    RC_ASSERT(peer.notified);
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace fanfare::net
