// The loop on epoll: edge-triggered, each socket registered once for its whole life, so that a request costs one recv,
// one send and a share of one epoll_wait.
//
// Rule: with edges, whoever stops reading before the kernel says "no more" must remember it: Connection::readable stays
// true, and the slot goes into the ready list unless the handler has paused it.

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "net/loop_core.h"

namespace fanfare::net {
namespace {

constexpr int kEventsMost = 512;   // of one turn; more wait for the next
constexpr int kAcceptsMost = 64;   // of one listener and turn
constexpr int kWritesMost = 16;    // of one connection and turn
constexpr int kDiscardsMost = 16;  // of one connection and turn
constexpr std::size_t kPieces = 64;
constexpr std::uint32_t kWakeTag = 0xffff'ffff;

class EpollLoop final : public LoopCore {
 public:
  explicit EpollLoop(LoopOptions options)
      : LoopCore(std::move(options)), buffer_(std::make_unique<char[]>(options_.receive_bytes)) {}
  ~EpollLoop() override {
    if (epoll_ >= 0) ::close(epoll_);
  }

  std::optional<NetError> open() {
    if (auto error = open_core()) return error;
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) return error_of("cannot make an epoll descriptor", errno);
    // An edge a write: the counter is never read, which saves a system call at each wake-up.
    if (!watch(wake_fd_, EPOLLIN | EPOLLET, kWakeTag)) return error_of("cannot watch the eventfd", errno);
    return std::nullopt;
  }

  [[nodiscard]] LoopKind kind() const override { return LoopKind::Epoll; }

 private:
  // Tags with generation 0, which no connection has, are listeners' indices or kWakeTag.
  bool watch(int fd, std::uint32_t events, std::uint32_t slot, std::uint32_t generation = 0) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = (std::uint64_t{generation} << 32) | slot;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  std::optional<NetError> start() override { return std::nullopt; }

  void wait(Instant until) override {
    timespec limit{};
    const timespec* timeout = &limit;
    if (until == Instant::max()) {
      timeout = nullptr;
    } else if (until != Instant::min()) {
      const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(until - std::chrono::steady_clock::now());
      if (rest.count() > 0) {
        limit.tv_sec = static_cast<time_t>(rest.count() / 1'000'000'000);
        limit.tv_nsec = static_cast<long>(rest.count() % 1'000'000'000);
      }
    }
    if (has_nanosecond_wait_) {
      event_count_ = epoll_pwait2(epoll_, events_.data(), kEventsMost, timeout, nullptr);
      if (event_count_ < 0 && errno == ENOSYS) has_nanosecond_wait_ = false;
    }
    if (!has_nanosecond_wait_) {
      const auto rounded_up = limit.tv_sec * 1000 + (limit.tv_nsec + 999'999) / 1'000'000;
      event_count_ = epoll_wait(epoll_, events_.data(), kEventsMost,
                                timeout == nullptr ? -1 : static_cast<int>(std::min(rounded_up, 86'400'000L)));
    }
    if (event_count_ < 0) event_count_ = 0;  // EINTR
  }

  void dispatch() override {
    for (int i = 0; i < event_count_; ++i) {
      const epoll_event& event = events_[static_cast<std::size_t>(i)];
      const auto slot = static_cast<std::uint32_t>(event.data.u64);
      const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
      if (generation == 0) {
        if (slot != kWakeTag) accept_waiting(slot);
      } else if (at(slot).generation == generation) {
        on_event(slot, event.events);
      }
    }
    event_count_ = 0;
  }

  void accept_waiting(std::uint32_t listener) {
    for (int i = 0; i < kAcceptsMost; ++i) {
      if (listeners_[listener].fd < 0 || listeners_[listener].paused) return;
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      const int fd =
          accept4(listeners_[listener].fd, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        deliver_accept(fd, listener, reinterpret_cast<const sockaddr*>(&peer));
      } else if (errno == EAGAIN) {
        return;
      } else if (accept_failed(listener, errno) != Accepting::GoesOn) {
        return;
      }
    }
  }

  void on_event(std::uint32_t slot, std::uint32_t events) {
    Connection& c = at(slot);
    if ((events & EPOLLOUT) != 0 && std::exchange(c.blocked, false)) make_dirty(slot);
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return;
    c.readable = true;
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) c.hung_up = true;
    read(slot);
    // Both directions are dead: the peer aborted. We never shut our half down before Lingering.
    const bool dead = (events & (EPOLLHUP | EPOLLERR)) != 0;
    if (dead && (c.state == State::Open || c.state == State::Flushing)) fail(slot, ECONNRESET);
  }

  void read(std::uint32_t slot) {
    Connection& c = at(slot);
    if (c.state == State::Lingering) return discard(slot);
    while (c.readable && c.state == State::Open && !c.paused && !c.at_end) {
      const ssize_t got = ::recv(c.fd, buffer_.get(), options_.receive_bytes, 0);
      if (got > 0) {
        const bool filled = static_cast<std::size_t>(got) == options_.receive_bytes;
        // A short read has emptied the socket: what comes later makes a new edge. Only a hang-up was told already.
        if (!filled && !c.hung_up) c.readable = false;
        deliver_bytes(slot, {buffer_.get(), static_cast<std::size_t>(got)});
        if (filled) return make_ready(slot);  // others have their turn first
      } else if (got == 0) {
        c.readable = false;
        deliver_end(slot);
      } else if (errno == EAGAIN || errno == EINTR) {
        c.readable = false;
      } else {
        fail(slot, errno);
      }
    }
  }

  void discard(std::uint32_t slot) {
    Connection& c = at(slot);
    for (int i = 0; i < kDiscardsMost; ++i) {
      const ssize_t got =
          ::recv(c.fd, nullptr, std::size_t{1} << 30, MSG_TRUNC);  // thrown away inside the kernel [tcp(7)]
      if (got > 0) {
        discarded(slot);
        continue;
      }
      if (got < 0 && errno == EAGAIN) {
        c.readable = false;
        return;
      }
      return discard_ended(slot);
    }
    make_ready(slot);
  }

  bool attach(std::uint32_t slot) override {
    return watch(at(slot).fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, slot, at(slot).generation);
  }

  void on_ready(std::uint32_t slot) override {
    Connection& c = at(slot);
    if (c.readable) read(slot);
    if (c.output && !c.blocked) make_dirty(slot);
  }

  void on_paused(std::uint32_t /*slot*/) override {}
  void on_resumed(std::uint32_t slot) override {
    if (at(slot).readable) make_ready(slot);
  }
  void watch_for_abort(std::uint32_t /*slot*/) override {}
  void discard_input(std::uint32_t slot) override { discard(slot); }

  void write(std::uint32_t slot) override {
    Connection& c = at(slot);
    for (int i = 0; i < kWritesMost && c.output != nullptr; ++i) {
      std::array<iovec, kPieces> pieces;
      const std::size_t count = c.output->begin_write(pieces.data(), pieces.size());
      const std::size_t offered = c.output->writing_bytes();
      ssize_t sent = 0;
      ++statistics_.sends;
      if (count == 1) {
        sent = ::send(c.fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL);
      } else {
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = count;
        sent = ::sendmsg(c.fd, &message, MSG_NOSIGNAL);
      }
      if (sent < 0) {
        const int error = errno;
        if (error != EAGAIN) return write_failed(slot, error);
        sent = 0;
      }
      c.blocked = static_cast<std::size_t>(sent) < offered;
      wrote(slot, static_cast<std::size_t>(sent));
      if (c.blocked) return;  // an edge comes when there is room
    }
    if (c.output != nullptr) make_ready(slot);
  }

  void detach(std::uint32_t slot) override {
    ::close(std::exchange(at(slot).fd, -1));  // which also removes it from the epoll set
    release(slot);
  }

  void arm(std::uint32_t listener) override {
    Listener& l = listeners_[listener];
    l.armed = watch(l.fd, EPOLLIN, listener);
    FANFARE_ASSERT(l.armed, std::strerror(errno));
  }
  void hold(std::uint32_t listener) override {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, listeners_[listener].fd, nullptr);
    listeners_[listener].armed = false;
  }
  void disarm(std::uint32_t listener) override {
    ::close(std::exchange(listeners_[listener].fd, -1));
    listeners_[listener].armed = false;
  }
  void finish() override {}

  int epoll_ = -1;
  int event_count_ = 0;
  bool has_nanosecond_wait_ = true;  // epoll_pwait2, Linux 5.11
  std::array<epoll_event, kEventsMost> events_{};
  std::unique_ptr<char[]> buffer_;
};

}  // namespace

Result<std::unique_ptr<LoopCore>, NetError> make_epoll_loop(LoopOptions options) {
  auto loop = std::make_unique<EpollLoop>(std::move(options));
  if (auto error = loop->open()) return *std::move(error);
  return std::unique_ptr<LoopCore>{std::move(loop)};
}

}  // namespace fanfare::net
