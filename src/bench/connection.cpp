#include "bench/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "net/tls_trust.h"

namespace fanfare::bench {

TlsContext make_tls_context() {
  TlsContext context{SSL_CTX_new(TLS_client_method())};
  SSL_CTX_set_default_verify_paths(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  connected_ = std::exchange(other.connected_, false);
  established_ = std::exchange(other.established_, false);
  tls_ = std::move(other.tls_);
  error_ = std::move(other.error_);
  return *this;
}

bool Connection::fail(int error) {
  error_ = std::strerror(error);
  return false;
}

bool Connection::open(const net::SocketAddress& address, SSL_CTX* context, const std::string& host) {
  close();
  fd_ = ::socket(address.ip.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (fd_ < 0) return fail(errno);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_storage storage{};
  const socklen_t size = address.to_sockaddr(&storage);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&storage), size) != 0 && errno != EINPROGRESS)
    return fail(errno);
  if (context == nullptr) return true;
  tls_.reset(SSL_new(context));
  SSL_set_fd(tls_.get(), fd_);
  SSL_set_tlsext_host_name(tls_.get(), host.c_str());
  SSL_set1_host(tls_.get(), host.c_str());
  SSL_set_connect_state(tls_.get());
  return true;
}

void Connection::close() {
  tls_.reset();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  connected_ = established_ = false;
}

Progress Connection::establish() {
  if (established_) return Progress::Done;
  if (!connected_) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      fail(error);
      return Progress::Failed;
    }
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    if (getpeername(fd_, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return Progress::Again;
    connected_ = true;
  }
  if (tls_ != nullptr) {
    const int result = SSL_do_handshake(tls_.get());
    if (result != 1) {
      const int error = SSL_get_error(tls_.get(), result);
      if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Progress::Again;
      const char* reason = ERR_reason_error_string(ERR_get_error());
      error_ = reason != nullptr ? reason : "the TLS handshake failed";
      error_ += net::describe_untrusted(SSL_get_verify_result(tls_.get()), true);
      return Progress::Failed;
    }
  }
  established_ = true;
  return Progress::Done;
}

std::ptrdiff_t Connection::send(std::string_view bytes) {
  if (tls_ != nullptr) {
    std::size_t taken = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &taken);
    if (result == 1) return static_cast<std::ptrdiff_t>(taken);
    const int error = SSL_get_error(tls_.get(), result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
  }
  const ssize_t taken = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (taken >= 0) return taken;
  if (errno == EAGAIN || errno == EINTR) return 0;
  fail(errno);
  return -1;
}

std::ptrdiff_t Connection::receive(char* buffer, std::size_t size) {
  if (tls_ != nullptr) {
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(tls_.get(), buffer, size, &got);
    if (result == 1) return static_cast<std::ptrdiff_t>(got);
    const int error = SSL_get_error(tls_.get(), result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
  }
  const ssize_t got = ::recv(fd_, buffer, size, 0);
  if (got > 0) return got;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return -1;
}

}  // namespace fanfare::bench
