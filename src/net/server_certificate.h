// What the TLS ports of this process show: a certificate with its chain and key, read from PEM files, and the rules of the
// sessions made with them: TLS 1.2 or newer, forward secrecy, authenticated encryption, HTTP/1.1 as the one protocol.
//
// Rule: what was read last without an error is in use; a reload that fails changes nothing.
// Source: [RFC 8446], [RFC 9325], OpenSSL 3.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/time.h"

struct ssl_ctx_st;

namespace fanfare::net {

struct CertificateError {
  enum class File { Certificate, Key };
  File file;         ///< Which of the two is to be looked at.
  std::string text;  ///< For people: what is wrong and what is accepted, without the file's name.
};

/// Thread-safe. Sessions keep what they began with.
class ServerCertificate {
 public:
  /// The certificate's file holds the server's own certificate first, then the chain to its authority; the key's file a key
  /// without a passphrase. Both may be one file. `now` must lie within the certificate's validity.
  static Result<std::unique_ptr<ServerCertificate>, CertificateError> open(std::string certificate_file, std::string key_file,
                                                                           Timestamp now);
  /// Reads the files again; new session tickets are encrypted with a new key, and old ones are not taken any more (their
  /// holders make a full handshake).
  Result<Success, CertificateError> reload(Timestamp now);

  /// The certificate is valid until then.
  [[nodiscard]] Timestamp not_after() const;
  /// For new sessions; not null.
  [[nodiscard]] std::shared_ptr<ssl_ctx_st> context() const;

 private:
  ServerCertificate() = default;

  std::string certificate_file_;
  std::string key_file_;
  mutable std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_;  // under mutex_; shared with loops that make a session of it
  Timestamp not_after_;                  // under mutex_
};

}  // namespace fanfare::net
