#include "net/tls_loop.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/marks.h"

namespace fanfare::net {
namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;          // the most that one record carries [RFC 8446 5.1]
constexpr std::size_t kHandshakeBytesMost = 64 * 1024;   // from the peer; one that shows no certificate needs a few KiB
constexpr std::size_t kUselessOutputMost = 64 * 1024;    // sent for bytes that gave no plain byte
constexpr std::size_t kLongOutput = 64 * 1024;           // then a further string of the inner loop's
constexpr std::size_t kMarksMost = 64;
constexpr std::size_t kSpareBytes = 64 * 1024;           // of one buffer for plain output that is kept for reuse
constexpr std::size_t kSparesMost = 64;

class TlsLoop final : public Loop, private LoopHandler {
 public:
  TlsLoop(std::unique_ptr<Loop> inner, std::shared_ptr<const ServerCertificate> certificate, TlsLoopOptions options)
      : inner_(std::move(inner)), certificate_(std::move(certificate)), options_(std::move(options)) {}

  Result<Listening, NetError> listen(const SocketAddress& address, const ListenOptions& options) override {
    return inner_->listen(address, options);
  }
  void close_listener(ListenerId id) override { inner_->close_listener(id); }

  void run(LoopHandler& handler) override {
    handler_ = &handler;
    inner_->run(*this);
  }
  void stop() override { inner_->stop(); }
  void wake() override {
    wake_wanted_.store(true);
    inner_->wake();
  }

  SendResult send(ConnectionId id, std::string_view bytes) override {
    SendResult result{};
    if (std::string* out = plain_output(id, result)) out->append(bytes);
    return result;
  }
  SendResult send(ConnectionId id, std::string&& bytes) override {
    SendResult result{};
    if (std::string* out = plain_output(id, result)) {
      if (out->empty() && bytes.size() > out->capacity()) {
        *out = std::move(bytes);
      } else {
        out->append(bytes);
      }
    }
    return result;
  }
  SendResult send(ConnectionId id, SharedBytes bytes) override { return send(id, std::string_view{*bytes}); }
  std::string* output(ConnectionId id) override {
    SendResult result{};
    return plain_output(id, result);
  }
  [[nodiscard]] std::size_t pending_bytes(ConnectionId id) const override {
    const Session* s = find_open(id);
    return s == nullptr ? 0 : pending(*s, inner_->pending_bytes(id));
  }
  void notify_drained(ConnectionId id) override {
    Session* s = find_open(id);
    if (s == nullptr) return;
    s->want_drained = true;
    make_dirty(*s);
  }
  void close(ConnectionId id, After after) override {
    Session* s = find(id);
    if (s == nullptr) return;
    if (after == After::Now) {
      s->closing = true;
      inner_->close(id, After::Now);
    } else if (!std::exchange(s->closing, true)) {
      make_dirty(*s);
    }
  }

  void pause_reading(ConnectionId id) override {
    Session* s = find_open(id);
    if (s == nullptr || std::exchange(s->paused, true)) return;
    if (s->established) inner_->pause_reading(id);  // a handshake goes on
  }
  void resume_reading(ConnectionId id) override {
    Session* s = find_open(id);
    if (s == nullptr || !std::exchange(s->paused, false)) return;
    inner_->resume_reading(id);
    if (s->stash == nullptr && !s->at_end) return;
    resumed_.push_back(id);
    inner_->wake();
  }

  [[nodiscard]] bool is_open(ConnectionId id) const override { return find_open(id) != nullptr; }
  [[nodiscard]] bool is_peer_alive(ConnectionId id) const override {
    const Session* s = find_open(id);
    return s != nullptr && !s->at_end && inner_->is_peer_alive(id);
  }
  [[nodiscard]] bool probe_peer(ConnectionId id) const override { return is_peer_alive(id) && inner_->probe_peer(id); }
  [[nodiscard]] Instant last_activity(ConnectionId id) const override {
    const Session* s = find_open(id);
    if (s == nullptr) return {};
    const Instant active = inner_->last_activity(id);
    return s->useless_since == Instant{} ? active : std::min(active, s->useless_since);
  }
  void for_each_idle(Instant before, const std::function<void(ConnectionId)>& visit) override {
    for (const auto& s : sessions_)
      if (s != nullptr && is_open(s->id) && last_activity(s->id) < before) visit(s->id);
  }
  [[nodiscard]] std::uint32_t open_connections() const override { return inner_->open_connections(); }
  void set_deadline(Instant deadline) override {
    deadline_ = deadline;
    arm();
  }
  void clear_deadline() override { set_deadline(Instant::max()); }
  [[nodiscard]] Instant now() const override { return inner_->now(); }
  [[nodiscard]] LoopKind kind() const override { return inner_->kind(); }
  [[nodiscard]] std::string_view choice() const override { return inner_->choice(); }
  [[nodiscard]] const LoopStatistics& statistics() const override { return inner_->statistics(); }

 private:
  struct FreeSession {
    void operator()(SSL* ssl) const { SSL_free(ssl); }  // and its BIO
  };
  /// All plain bytes before `plain` are in the encrypted bytes before `encrypted`; both count from the session's beginning.
  struct Mark {
    std::uint64_t encrypted;
    std::uint64_t plain;
  };
  struct Session {
    ConnectionId id;
    std::unique_ptr<SSL, FreeSession> ssl;  // made by the peer's first bytes
    std::string plain;                      // to be encrypted at the end of the turn, or when the handshake is done
    std::unique_ptr<std::string> stash;     // received and not decrypted, because of a pause
    std::vector<Mark> marks;                // of what the kernel may not have taken yet, the oldest first
    std::uint64_t plain_taken = 0;          // at least so many plain bytes has the kernel taken
    std::uint64_t plain_total = 0;          // encrypted, ever
    std::uint64_t encrypted_total = 0;      // given to the inner loop, ever
    std::size_t handshake_bytes = 0;
    std::size_t useless_output = 0;  // sent since the last plain byte from the peer
    Instant useless_since{};         // bytes came that gave no plain byte; Instant{}: none since the last plain byte
    bool established = false;
    bool paused = false;
    bool notified = false;  // the peer's close_notify has come
    bool at_end = false;    // the peer has closed its half, of TLS or of TCP
    bool end_told = false;
    bool closing = false;  // by the handler, or failed: nothing more is told but on_closed
    bool failed = false;
    bool shut = false;  // our close_notify is written
    bool want_drained = false;
    bool dirty = false;
  };
  struct Handshake {
    ConnectionId id;
    Instant until;
  };

  [[nodiscard]] Session* find(ConnectionId id) const {
    if (id.slot >= sessions_.size() || sessions_[id.slot] == nullptr) return nullptr;
    return sessions_[id.slot]->id == id ? sessions_[id.slot].get() : nullptr;
  }
  [[nodiscard]] Session* find_open(ConnectionId id) const {
    Session* s = find(id);
    return s != nullptr && !s->closing && inner_->is_open(id) ? s : nullptr;
  }

  std::string* plain_output(ConnectionId id, SendResult& result) {
    Session* s = find_open(id);
    if (s == nullptr) {
      result = SendResult::Stale;
      return nullptr;
    }
    if (s->plain.size() + inner_->pending_bytes(id) >= options_.output_limit) {
      result = SendResult::Full;
      return nullptr;
    }
    if (s->plain.empty() && !spares_.empty()) {
      s->plain = std::move(spares_.back());
      spares_.pop_back();
    }
    make_dirty(*s);
    result = SendResult::Queued;
    return &s->plain;
  }

  static std::size_t pending(const Session& s, std::uint64_t encrypted_pending) {
    const std::uint64_t taken_encrypted = s.encrypted_total - std::min(encrypted_pending, s.encrypted_total);
    std::uint64_t taken = s.plain_taken;
    for (const Mark& mark : s.marks) {
      if (mark.encrypted > taken_encrypted) break;
      taken = mark.plain;
    }
    return static_cast<std::size_t>(s.plain_total - taken) + s.plain.size();
  }

  void make_dirty(Session& s) {
    if (std::exchange(s.dirty, true)) return;
    dirty_.push_back(s.id);
  }

  // ---- What the inner loop tells

  void on_accept(ConnectionId id, ListenerId listener, const SocketAddress& peer) override {
    if (id.slot >= sessions_.size()) sessions_.resize(id.slot + 1);
    sessions_[id.slot] = std::make_unique<Session>();
    sessions_[id.slot]->id = id;
    handshakes_.push_back({id, now() + options_.handshake_timeout});
    if (handshakes_.size() == 1) arm();
    told_ = true;
    handler_->on_accept(id, listener, peer);
  }

  void on_receive(ConnectionId id, std::string_view bytes) override {
    Session* s = find(id);
    // One that is closing may still want its handshake finished, for what was sent before.
    if (s == nullptr || s->failed || s->notified || (s->closing && s->established)) return;
    if (s->ssl == nullptr && !begin_session(*s, bytes)) return fail(*s);
    if (!s->established) {
      s->handshake_bytes += bytes.size();
      if (s->handshake_bytes > kHandshakeBytesMost) return fail(*s);
    }
    if (s->stash == nullptr) return read(*s, bytes);
    const auto all = std::move(s->stash);
    all->append(bytes);
    read(*s, *all);
  }

  void on_end_of_input(ConnectionId id) override {
    Session* s = find(id);
    if (s == nullptr) return;
    s->at_end = true;
    if (s->closing) make_dirty(*s);  // its handshake will never be done
    if (s->stash == nullptr) tell_end(*s);  // else resume_reading() has asked for what comes first
  }

  void on_closed(ConnectionId id, CloseReason reason, std::size_t unsent) override {
    Session* s = find(id);
    FANFARE_ASSERT(s != nullptr);
    if (s->failed && reason == CloseReason::ClosedByUs) reason = CloseReason::PeerReset;
    const std::size_t plain = pending(*s, unsent);
    sessions_[id.slot].reset();
    told_ = true;
    handler_->on_closed(id, reason, plain);
  }

  void on_drained(ConnectionId id) override {
    Session* s = find_open(id);
    if (s == nullptr) return;
    if (!s->plain.empty()) {  // more was queued since; still wanted
      s->want_drained = true;
      make_dirty(*s);
      return;
    }
    told_ = true;
    handler_->on_drained(id);
  }

  void on_timer(Instant now) override {
    while (!handshakes_.empty() && handshakes_.front().until <= now) {
      Session* s = find(handshakes_.front().id);
      handshakes_.pop_front();
      if (s == nullptr || s->established || s->failed) continue;
      FANFARE_MARK(net_tls_handshake_timeout);
      s->failed = s->closing = true;
      inner_->close(s->id, After::Now);
    }
    if (deadline_ <= now) {
      deadline_ = Instant::max();
      told_ = true;
      handler_->on_timer(now);
    }
    arm();
  }

  void on_wake() override {
    for (const ConnectionId id : std::exchange(resumed_, {})) {
      Session* s = find_open(id);
      if (s == nullptr || s->paused) continue;
      const auto stash = std::move(s->stash);
      read(*s, stash == nullptr ? std::string_view{} : std::string_view{*stash});
    }
    if (!wake_wanted_.exchange(false)) return;
    told_ = true;
    handler_->on_wake();
  }

  void on_turn_end() override {
    if (std::exchange(told_, false)) handler_->on_turn_end();
    while (!dirty_.empty()) {
      dirty_now_.swap(dirty_);
      for (const ConnectionId id : dirty_now_)
        if (Session* s = find(id)) flush(*s);
      dirty_now_.clear();
    }
  }

  /// The inner loop's timer serves the handler and the handshakes, whose order is that of their ends.
  void arm() {
    while (!handshakes_.empty()) {
      const Session* s = find(handshakes_.front().id);
      if (s != nullptr && !s->established) break;
      handshakes_.pop_front();
    }
    inner_->set_deadline(handshakes_.empty() ? deadline_ : std::min(deadline_, handshakes_.front().until));
  }

  // ---- The session

  /// False if the peer does not even begin with TLS and has been told so.
  bool begin_session(Session& s, std::string_view bytes) {
    if (!options_.plain_reply.empty() && bytes.front() >= 'A' && bytes.front() <= 'Z') {
      FANFARE_MARK(net_tls_plain_peer);
      (void)inner_->send(s.id, std::string_view{options_.plain_reply});
      return false;
    }
    s.ssl.reset(SSL_new(certificate_->context().get()));
    BIO* pipe = BIO_new(pipe_method());
    FANFARE_ASSERT(s.ssl != nullptr && pipe != nullptr);
    BIO_set_data(pipe, this);
    BIO_set_init(pipe, 1);
    SSL_set_bio(s.ssl.get(), pipe, pipe);
    SSL_set_accept_state(s.ssl.get());
    return true;
  }

  /// Before each call of OpenSSL: whose bytes the pipe moves.
  void enter(Session& s) {
    ERR_clear_error();
    session_ = &s;
    encrypted_ = nullptr;
  }

  void fail(Session& s) {
    s.failed = s.closing = true;
    make_dirty(s);
  }

  // Goes on with the handshake, and tells what can be decrypted of `bytes`. The session outlives this: the inner loop
  // tells its end in a turn of its own.
  void read(Session& s, std::string_view bytes) {
    received_ = bytes;
    const std::uint64_t encrypted_before = s.encrypted_total;
    bool useful = false;
    if (!s.established && s.ssl != nullptr && !bytes.empty()) {
      enter(s);
      const int done = SSL_do_handshake(s.ssl.get());
      if (done == 1) {
        s.established = useful = true;
        if (s.paused) inner_->pause_reading(s.id);
        make_dirty(s);  // what was sent before waits
      } else if (SSL_get_error(s.ssl.get(), done) != SSL_ERROR_WANT_READ) {
        fail(s);
      }
    }
    bool wants_more = false;
    while (s.established && !s.closing && !s.paused && !s.notified && !wants_more) {
      enter(s);
      const int got = SSL_read(s.ssl.get(), buffer_.data(), static_cast<int>(buffer_.size()));
      if (got > 0) {
        useful = told_ = true;
        handler_->on_receive(s.id, {buffer_.data(), static_cast<std::size_t>(got)});
        continue;
      }
      switch (SSL_get_error(s.ssl.get(), got)) {
        case SSL_ERROR_WANT_READ: wants_more = true; break;
        case SSL_ERROR_ZERO_RETURN: s.notified = s.at_end = true; break;
        default: fail(s);
      }
    }
    if (!received_.empty() && s.paused && !s.closing) s.stash = std::make_unique<std::string>(received_);
    received_ = {};
    if (s.established && !bytes.empty()) {
      if (useful) {
        s.useless_since = {};
        s.useless_output = 0;
      } else {
        if (s.useless_since == Instant{}) s.useless_since = now();
        s.useless_output += static_cast<std::size_t>(s.encrypted_total - encrypted_before);
        if (s.useless_output > kUselessOutputMost) fail(s);
      }
    }
    tell_end(s);
  }

  void tell_end(Session& s) {
    if (!s.at_end || s.closing || s.paused || s.stash != nullptr || std::exchange(s.end_told, true)) return;
    told_ = true;
    handler_->on_end_of_input(s.id);
  }

  void flush(Session& s) {
    s.dirty = false;
    if (s.established && !s.failed && !s.plain.empty()) encrypt(s);
    if (!s.closing) {
      if (s.plain.empty() && std::exchange(s.want_drained, false)) inner_->notify_drained(s.id);
      return;
    }
    if (!s.established && !s.failed && !s.plain.empty() && !s.at_end) return;  // until the handshake is done or overdue
    if (s.established && !s.failed && !std::exchange(s.shut, true)) {
      enter(s);
      SSL_shutdown(s.ssl.get());
    }
    inner_->close(s.id, After::Flush);
  }

  void encrypt(Session& s) {
    const std::size_t waiting = inner_->pending_bytes(s.id);
    const std::uint64_t taken = s.encrypted_total - std::min<std::uint64_t>(waiting, s.encrypted_total);
    auto first = s.marks.begin();
    for (; first != s.marks.end() && first->encrypted <= taken; ++first) s.plain_taken = first->plain;
    s.marks.erase(s.marks.begin(), first);

    std::string_view rest = s.plain;
    while (!rest.empty()) {
      enter(s);
      const int count = static_cast<int>(std::min(rest.size(), std::size_t{1} << 30));
      // The pipe takes everything, so a write is never partial.
      if (SSL_write(s.ssl.get(), rest.data(), count) != count) return fail(s);
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    s.plain_total += s.plain.size();
    if (s.marks.size() >= kMarksMost) s.marks.pop_back();
    s.marks.push_back({s.encrypted_total, s.plain_total});
    std::string used = std::exchange(s.plain, {});
    if (used.capacity() > kSpareBytes || spares_.size() >= kSparesMost) return;
    used.clear();
    spares_.push_back(std::move(used));
  }

  // ---- The pipe: OpenSSL reads what was received and writes behind the inner loop's output, without a copy between

  static int pipe_read(BIO* bio, char* out, int size) {
    auto& loop = *static_cast<TlsLoop*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const std::size_t count = std::min(loop.received_.size(), static_cast<std::size_t>(std::max(size, 0)));
    if (count == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    std::memcpy(out, loop.received_.data(), count);
    loop.received_.remove_prefix(count);
    return static_cast<int>(count);
  }

  static int pipe_write(BIO* bio, const char* bytes, int size) {
    auto& loop = *static_cast<TlsLoop*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    Session& s = *loop.session_;
    // A long string is not appended to: growing would copy it. What began below the limit is written to its end.
    if (loop.encrypted_ == nullptr || loop.encrypted_->size() > kLongOutput)
      if (std::string* out = loop.inner_->output(s.id)) loop.encrypted_ = out;
    if (loop.encrypted_ == nullptr) return -1;
    loop.encrypted_->append(bytes, static_cast<std::size_t>(size));
    s.encrypted_total += static_cast<std::size_t>(size);
    return size;
  }

  static long pipe_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static const BIO_METHOD* pipe_method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "loop");
      FANFARE_ASSERT(made != nullptr);
      BIO_meth_set_read(made, pipe_read);
      BIO_meth_set_write(made, pipe_write);
      BIO_meth_set_ctrl(made, pipe_control);
      return made;
    }();
    return method;
  }

  const std::unique_ptr<Loop> inner_;
  const std::shared_ptr<const ServerCertificate> certificate_;  // shared with the other loops of the port
  const TlsLoopOptions options_;
  LoopHandler* handler_ = nullptr;
  Instant deadline_ = Instant::max();                // the handler's
  std::vector<std::unique_ptr<Session>> sessions_;  // by slot
  std::deque<Handshake> handshakes_;                // by time; may name sessions that are established or gone
  std::vector<ConnectionId> dirty_;
  std::vector<ConnectionId> dirty_now_;
  std::vector<ConnectionId> resumed_;
  std::vector<std::string> spares_;  // buffers for Session::plain
  // During one call of OpenSSL:
  Session* session_ = nullptr;
  std::string_view received_;         // what is left of it
  std::string* encrypted_ = nullptr;  // the inner loop's output
  std::array<char, kRecordBytes> buffer_{};
  bool told_ = false;  // the handler was called in this turn
  std::atomic<bool> wake_wanted_{false};
};

}  // namespace

std::unique_ptr<Loop> make_tls_loop(std::unique_ptr<Loop> inner, std::shared_ptr<const ServerCertificate> certificate,
                                    TlsLoopOptions options) {
  FANFARE_ASSERT(inner != nullptr && certificate != nullptr);
  return std::make_unique<TlsLoop>(std::move(inner), std::move(certificate), std::move(options));
}

}  // namespace fanfare::net
