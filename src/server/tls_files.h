// The certificate of the ports with TLS, kept up to date: its files are read anew within a second of a change, and at least
// every twelve hours, so that session tickets get a new key and a certificate that ends is noticed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "net/server_certificate.h"
#include "server/identities_file.h"

namespace fanfare::server {

class Log;

/// Files with an error are reported in the log, and what was read before stays. Thread-safe.
class TlsFiles {
 public:
  /// The error names the flag, the file, what is wrong and what is accepted.
  static Result<std::unique_ptr<TlsFiles>, std::string> open(std::string certificate_file, std::string key_file, Log& log);
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  /// Reads the files soon, also if they look the same.
  void reload();
  [[nodiscard]] std::shared_ptr<const net::ServerCertificate> certificate() const { return certificate_; }
  void append_metrics(std::string& out) const;

 private:
  TlsFiles(std::string certificate_file, std::string key_file, Log& log);
  void watch();
  void read();
  [[nodiscard]] FilesRead look() const;
  [[nodiscard]] std::string explain(const net::CertificateError& error) const;

  const std::string certificate_file_;
  const std::string key_file_;
  Log& log_;
  std::shared_ptr<net::ServerCertificate> certificate_;  // shared with the loops; not null once opened
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;                // under mutex_
  bool reload_ = false;              // under mutex_
  std::uint64_t refused_count_ = 0;  // under mutex_
  std::uint64_t taken_count_ = 0;    // under mutex_
  FilesRead files_;                  // as they were when they were read; of the watching thread
  std::thread watcher_;
};

}  // namespace fanfare::server
