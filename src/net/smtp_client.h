// Hands mails to one SMTP server, each with its own outcome. The transport is libcurl, which occurs in the .cpp alone.
//
// Rule 1: send() never blocks and stop() never waits for a server: everything that talks to the server is on a thread of the
//         client's own, and stopping shuts the sockets under it.
// Rule 2: `done` of each mail is called exactly once, on the client's thread or by stop().
// Rule 3: what the server said decides what an outcome means: only a refusal of the recipient or of the message itself is for
//         good; whatever hinders every mail (connection, certificate, login, sender) can be mended and is worth another try.
// Source: [RFC 5321], [RFC 3207 STARTTLS], [RFC 8314 implicit TLS].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace fanfare::net {

struct SmtpOptions {
  /// smtp://mail.example.com:587, or smtps:// for TLS from the first byte. See check_smtp_url().
  std::string url;
  std::string user;      ///< empty: no login
  std::string password;
  std::string name;      ///< what EHLO says; a domain
  enum class Tls {
    Required,   ///< a server that does not offer STARTTLS gets nothing
    IfOffered,  ///< and verified then
    Never,      ///< of smtp://; smtps:// is TLS all the same
  } tls = Tls::Required;
  std::string ca_file;  ///< certificates to trust instead of the system's
  std::size_t concurrency = 8;          ///< mails under way; the others wait
  milliseconds attempt_timeout{30'000};  ///< from connecting to the last answer
  milliseconds wait_timeout{20'000};     ///< for a turn; then the mail was not tried
};

struct SmtpMail {
  std::string sender;     ///< an address [wire::mail::is_address]
  std::string recipient;  ///< an address
  std::string content;    ///< header and body in lines that end in CRLF; dots are stuffed here
};

struct SmtpOutcome {
  enum class Kind : std::uint8_t {
    Accepted,
    Refused,    ///< the server will never take it: 5xx for the recipient or the message
    Failed,     ///< this time; worth another try
    NotTried,   ///< no turn within wait_timeout, or stopped before it had one
    Cancelled,  ///< stopped while it was under way
  } kind = Kind::Failed;
  std::string detail;  ///< for people: "550 5.1.1 no such user"
};

/// Whether this names a server: scheme smtp or smtps, a host, perhaps a port, nothing else. The error says what is wrong.
Result<Success, std::string> check_smtp_url(std::string_view url);

class SmtpClient {
 public:
  explicit SmtpClient(SmtpOptions options);
  /// As stop().
  ~SmtpClient();
  SmtpClient(const SmtpClient&) = delete;
  SmtpClient& operator=(const SmtpClient&) = delete;

  /// Thread-safe. After stop(): NotTried at once.
  void send(SmtpMail mail, std::function<void(SmtpOutcome)> done);
  /// Ends everything and joins. Idempotent.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fanfare::net
