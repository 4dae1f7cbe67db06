#include "net/server_certificate.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include <fmt/core.h>

#include "base/assert.h"

namespace fanfare::net {
namespace {

using File = CertificateError::File;

constexpr std::size_t kFileMost = 1 << 20;
constexpr std::size_t kPiece = 16 * 1024;  // read at once
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr const char* kTls13Ciphers = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using X509Holder = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

/// Why OpenSSL refused, and forgets it.
std::string reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = ERR_reason_error_string(code);
  std::string why = text != nullptr ? text : "no reason given";
  ERR_clear_error();
  return why;
}

/// Leaves no key behind in freed memory.
struct KeyText {
  std::string bytes;
  KeyText() { bytes.reserve(kFileMost + 1 + kPiece); }  // growing would leave copies
  KeyText(const KeyText&) = delete;
  KeyText& operator=(const KeyText&) = delete;
  ~KeyText() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

/// 0, or the errno of what failed. Of a file that is too long one byte more than is taken, at least.
int read_file(const std::string& path, std::string& text) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  std::array<char, kPiece> buffer{};
  ssize_t got = 0;
  while (text.size() <= kFileMost && (got = ::read(file, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  const int error = got < 0 ? errno : 0;
  OPENSSL_cleanse(buffer.data(), buffer.size());  // it may have been a key
  ::close(file);
  return error;
}

/// Valid since 1970 at least; what lies before counts as then.
Timestamp time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return Timestamp{seconds{::timegm(&parts)}};
}

/// Never asks on the terminal.
int refuse_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                    unsigned offered_size, void*) {
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  unsigned char* out = nullptr;
  if (SSL_select_next_proto(&out, chosen_size, kHttp11, sizeof kHttp11 - 1, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;  // [RFC 7301 3.2]
  *chosen = out;
  return SSL_TLSEXT_ERR_OK;
}

std::shared_ptr<SSL_CTX> make_context() {
  std::shared_ptr<SSL_CTX> context{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  FANFARE_ASSERT(context != nullptr);
  SSL_CTX* const c = context.get();
  SSL_CTX_set_security_level(c, 2);  // RSA from 2048 bits, no SHA-1
  // Renegotiation makes a server work for nothing, compression tells secrets by sizes.
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);  // idle connections hold none
  // Clients come back with tickets, which cost the server no memory; nothing is kept here.
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 1);
  SSL_CTX_set_alpn_select_cb(c, choose_protocol, nullptr);
  const bool set = SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) == 1 && SSL_CTX_set_max_proto_version(c, 0) == 1 &&
                   SSL_CTX_set_cipher_list(c, kTls12Ciphers) == 1 && SSL_CTX_set_ciphersuites(c, kTls13Ciphers) == 1 &&
                   SSL_CTX_set1_groups_list(c, kGroups) == 1;
  FANFARE_ASSERT(set, reason());
  return context;
}

struct Loaded {
  std::shared_ptr<SSL_CTX> context;
  Timestamp not_after;
};

Result<Loaded, CertificateError> load(const std::string& certificate_file, const std::string& key_file, Timestamp now) {
  ERR_clear_error();
  const auto wrong = [](File file, std::string text) { return CertificateError{file, std::move(text)}; };
  std::string certificate_text;
  KeyText key_text;
  if (const int error = read_file(certificate_file, certificate_text); error != 0) return wrong(File::Certificate, std::strerror(error));
  if (const int error = read_file(key_file, key_text.bytes); error != 0) return wrong(File::Key, std::strerror(error));
  if (certificate_text.size() > kFileMost) return wrong(File::Certificate, "the file is longer than 1 MiB");
  if (key_text.bytes.size() > kFileMost) return wrong(File::Key, "the file is longer than 1 MiB");

  const Bio certificates{BIO_new_mem_buf(certificate_text.data(), static_cast<int>(certificate_text.size()))};
  const X509Holder own{PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)};
  if (own == nullptr) {
    const bool none = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    return wrong(File::Certificate,
                 fmt::format("{}; expected in PEM (-----BEGIN CERTIFICATE-----): the server's certificate, then the chain to its authority",
                             none ? "there is no certificate in it" : "the certificate cannot be read: " + reason()));
  }
  const Timestamp not_before = time_of(X509_get0_notBefore(own.get()));
  const Timestamp not_after = time_of(X509_get0_notAfter(own.get()));
  if (now > not_after) return wrong(File::Certificate, fmt::format("the certificate has expired at {}; renew it", iso8601(not_after)));
  if (now < not_before)
    return wrong(File::Certificate, fmt::format("the certificate is not valid before {}, and now is {}; wait, or set the clock",
                                                iso8601(not_before), iso8601(now)));

  const Bio key_bytes{BIO_new_mem_buf(key_text.bytes.data(), static_cast<int>(key_text.bytes.size()))};
  bool is_encrypted = false;
  const Key key{PEM_read_bio_PrivateKey(key_bytes.get(), nullptr, refuse_passphrase, &is_encrypted)};
  if (key == nullptr)
    return wrong(File::Key,
                 fmt::format("{}; expected in PEM (-----BEGIN PRIVATE KEY-----) a key without a passphrase",
                             is_encrypted ? "the key is encrypted; `openssl pkey -in OLD -out NEW` removes its passphrase"
                                          : "no key can be read from it: " + reason()));
  if (X509_check_private_key(own.get(), key.get()) != 1) {
    ERR_clear_error();
    return wrong(File::Key, fmt::format("the key does not belong to the certificate in {}; expected the one it was made with", certificate_file));
  }

  const std::shared_ptr<SSL_CTX> context = make_context();
  if (SSL_CTX_use_certificate(context.get(), own.get()) != 1)
    return wrong(File::Certificate,
                 fmt::format("the certificate is refused: {}; accepted are RSA keys of 2048 bits or more, elliptic curves, and signatures with SHA-2", reason()));
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) return wrong(File::Key, "the key is refused: " + reason());
  for (int number = 2;; ++number) {
    X509Holder next{PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)};
    if (next == nullptr) {
      if (ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) break;
      return wrong(File::Certificate, fmt::format("its certificate number {} cannot be read: {}", number, reason()));
    }
    if (SSL_CTX_add1_chain_cert(context.get(), next.get()) != 1)
      return wrong(File::Certificate, fmt::format("its certificate number {} is refused: {}", number, reason()));
  }
  ERR_clear_error();
  return Loaded{context, not_after};
}

}  // namespace

Result<std::unique_ptr<ServerCertificate>, CertificateError> ServerCertificate::open(std::string certificate_file, std::string key_file,
                                                                                     Timestamp now) {
  std::unique_ptr<ServerCertificate> opened{new ServerCertificate};
  opened->certificate_file_ = std::move(certificate_file);
  opened->key_file_ = std::move(key_file);
  if (const auto loaded = opened->reload(now); !loaded) return loaded.error();
  return opened;
}

Result<Success, CertificateError> ServerCertificate::reload(Timestamp now) {
  auto loaded = load(certificate_file_, key_file_, now);
  if (!loaded) return loaded.error();
  const std::lock_guard lock{mutex_};
  context_ = std::move(loaded->context);
  not_after_ = loaded->not_after;
  return Success{};
}

Timestamp ServerCertificate::not_after() const {
  const std::lock_guard lock{mutex_};
  return not_after_;
}

std::shared_ptr<ssl_ctx_st> ServerCertificate::context() const {
  const std::lock_guard lock{mutex_};
  return context_;
}

}  // namespace fanfare::net
