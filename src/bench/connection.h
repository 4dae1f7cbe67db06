// One non-blocking client connection, plain or TLS: bytes out, bytes in. It knows no HTTP.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/address.h"

namespace fanfare::bench {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeContext>;
/// Verifies by the system's certificates.
TlsContext make_tls_context();

enum class Progress { Done, Again, Failed };

class Connection {
 public:
  Connection() = default;
  Connection(Connection&& other) noexcept { *this = std::move(other); }
  Connection& operator=(Connection&& other) noexcept;
  ~Connection() { close(); }

  /// Begins to connect. `context` null: no TLS. False with errno if the kernel refuses.
  bool open(const net::SocketAddress& address, SSL_CTX* context, const std::string& host);
  void close();
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

  /// Goes on with connecting and the TLS handshake after news from the socket.
  Progress establish();
  [[nodiscard]] bool is_established() const { return established_; }
  /// How many bytes were taken, 0 if none can be at present, -1 if the connection has failed.
  std::ptrdiff_t send(std::string_view bytes);
  /// How many bytes came, 0 if none are there, -1 at the end or after a failure.
  std::ptrdiff_t receive(char* buffer, std::size_t size);
  /// What establish() or send() met: `Connection refused`.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };
  bool fail(int error);
  int fd_ = -1;
  bool connected_ = false;
  bool established_ = false;
  std::unique_ptr<SSL, FreeTls> tls_;
  std::string error_;
};

}  // namespace fanfare::bench
