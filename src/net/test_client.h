// For tests: a blocking TCP client on loopback whose every wait ends after kPatience. Waits are begun again after
// EINTR: the kernel's clean-up of an io_uring that was closed a moment ago interrupts the thread that closed it.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "net/address.h"

namespace fanfare::net::testing {

constexpr std::chrono::seconds kPatience{20};

class Client {
 public:
  Client() = default;
  explicit Client(const SocketAddress& server) : Client(open_socket(server)) { connect(server); }
  Client(Client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connect_error_(other.connect_error_), broken_(other.broken_) {}
  Client& operator=(Client&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(connect_error_, other.connect_error_);
    std::swap(broken_, other.broken_);
    return *this;
  }
  ~Client() { close(); }

  /// A socket not yet connected; connect() needs no further descriptor.
  static Client unconnected(const SocketAddress& server) { return Client{open_socket(server)}; }

  bool connect(const SocketAddress& server) {
    sockaddr_storage storage{};
    const socklen_t size = server.to_sockaddr(&storage);
    connect_error_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&storage), size) == 0 ? 0 : errno;
    if (connect_error_ == EINTR) {  // goes on in the kernel [connect(2)]
      pollfd waiting{fd_, POLLOUT, 0};
      while (::poll(&waiting, 1, 20'000) < 0 && errno == EINTR) {
      }
      socklen_t error_size = sizeof connect_error_;
      getsockopt(fd_, SOL_SOCKET, SO_ERROR, &connect_error_, &error_size);
    }
    return connected();
  }
  [[nodiscard]] bool connected() const { return connect_error_ == 0; }
  /// The errno of connect().
  [[nodiscard]] int connect_error() const { return connect_error_; }

  /// False if the connection broke before all was sent.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Sends without waiting; how many bytes were taken.
  std::size_t send_some(std::string_view bytes) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  /// Exactly `count` bytes, fewer if the connection ends or breaks before.
  std::string receive(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t have = 0;
    while (have < count) {
      const ssize_t got = ::recv(fd_, bytes.data() + have, count - have, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        broken_ = got < 0;
        break;
      }
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }
  /// Everything until the peer's orderly end; see broken().
  std::string receive_all() {
    std::string all;
    broken_ = false;
    for (;;) {
      std::string part = receive(64 * 1024);
      all += part;
      if (part.size() < 64 * 1024) return all;
    }
  }
  /// The last receive met a reset or ran out of patience, not an orderly end.
  [[nodiscard]] bool broken() const { return broken_; }
  /// Something can be read: bytes, an end or an error.
  [[nodiscard]] bool readable(std::chrono::milliseconds patience = std::chrono::milliseconds{0}) const {
    pollfd waiting{fd_, POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(patience.count())) == 1;
  }
  void shutdown_write() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  /// Closes with a reset instead of an orderly end.
  void reset() {
    const linger now{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void set_receive_buffer(int bytes) { setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes); }
  [[nodiscard]] SocketAddress local_address() const {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&storage), &size);
    return SocketAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)).value_or(SocketAddress{});
  }

 private:
  explicit Client(int fd) : fd_(fd) {}
  static int open_socket(const SocketAddress& server) {
    const int fd = ::socket(server.ip.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FANFARE_ASSERT(fd >= 0);
    const timeval patience{kPatience.count(), 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  }

  int fd_ = -1;
  int connect_error_ = ENOTCONN;
  bool broken_ = false;
};

}  // namespace fanfare::net::testing
