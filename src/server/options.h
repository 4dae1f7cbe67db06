// What `fanfare serve` can be told, by flags and by its configuration file; a flag wins.
// Rule: this is the one place that knows names, defaults and ranges of settings; docs/configuration.md repeats them for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace fanfare::server {

/// One entry of live.sources or inbox.sources.
struct SourceOptions {
  std::string topic;  ///< replica mode: a queue of this process, fed by the topic; empty when `queue` is set
  std::string queue;  ///< direct mode: this process is the one poller
  bool create = false;  ///< make it when it does not exist
};

enum class LoopChoice { Auto, IoUring, Epoll };

struct ServeOptions {
  std::string data = "./fanfare-data";
  bool memory = false;
  std::string listen = "127.0.0.1:4566";
  std::string edge = "127.0.0.1:4580";
  std::string admin = "127.0.0.1:4590";
  std::string roles = "broker,live,inbox,console";
  std::string auth = "development";
  std::string identities;  ///< file of users, roles and keys; needed by auth: enforced
  std::string policies = "full";
  std::string region = "us-east-1";
  std::string account = "000000000000";
  std::string durability = "sync";
  std::string inbox_store = "sqlite";
  std::string clock = "real";
  std::string loop = "auto";
  std::string chaos;    ///< faults on purpose; empty: off, "none": none now, and the admin port may ask for some
  int chaos_seed = 1;
  std::optional<int> threads;  ///< nullopt: one a core
  std::string sns_signing_url;  ///< sns.signing_url: where SigningCertURL points, without path; empty: the host that was asked
  std::string sns_public_url;   ///< sns.public_url: where the URLs in HTTP deliveries point; empty: the listen address
  std::string sns_ca_file;      ///< sns.ca_file: certificates that HTTPS endpoints are verified with instead of the system's
  std::vector<std::string> sns_permitted;  ///< sns.permitted_networks: blocks of addresses that are not public, "10.0.0.0/8"
  std::string smtp;              ///< smtp.server: "smtp://mail.example.com:587"; empty: mails are captured
  std::string smtp_from;         ///< smtp.from: the address that mails come from
  std::string smtp_login_file;   ///< smtp.login_file: two lines, user and password; else FANFARE_SMTP_USER and _PASSWORD
  std::string smtp_ca_file;      ///< smtp.ca_file: certificates that the mail server is verified with instead of the system's
  bool smtp_plain = false;       ///< smtp.plain: mails and login go without TLS
  std::string tls_certificate;   ///< tls.certificate: PEM, the server's and its chain; empty: the ports speak plain HTTP
  std::string tls_key;           ///< tls.key: PEM, without a passphrase
  bool allow_public_development = false;  ///< development mode on an address that others can reach
  std::map<std::string, std::string> access_keys;  ///< known key id -> secret: their signatures are checked in development, too
  std::vector<SourceOptions> live_sources;
  std::vector<SourceOptions> inbox_sources;
  std::vector<std::string> allowed_origins;  ///< edge.allowed_origins; development: any loopback origin as well
  std::string edge_files;                    ///< edge.files: a folder whose files the edge serves at /
  std::uint64_t resident_bytes = 256ull << 20;   ///< message contents kept in memory
  std::uint64_t segment_bytes = 64ull << 20;     ///< journal.segment_bytes
  std::uint64_t snapshot_bytes = 256ull << 20;   ///< journal.snapshot_bytes: log written between two snapshots

  [[nodiscard]] bool has_role(std::string_view role) const;
  /// Whether the data plane and the edge speak TLS; the admin port never does.
  [[nodiscard]] bool has_tls() const { return !tls_certificate.empty(); }
};

/// Reads a configuration file into `options`. The error says file, line, key and what is accepted.
Result<Success, std::string> read_config_file(const std::string& path, ServeOptions& options);

/// Segments of at most a sixteenth of the disk, down to 1 MiB: where only one or two fit, nothing can be given up before the disk is full,
/// and then nothing at all. `disk_bytes` is its whole size; 0: not known.
std::uint64_t fitting_segment_bytes(std::uint64_t configured, std::uint64_t disk_bytes);

/// What flags and keys of the file may hold; the error names each that is wrong, in the order of `serve --help`, and what is accepted.
Result<Success, std::string> check(const ServeOptions& options);

}  // namespace fanfare::server
