#include "server/tls_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/log.h"
#include "server/metrics.h"

namespace fanfare::server {
namespace {

constexpr milliseconds kLookEvery{300};
constexpr std::chrono::hours kReadEvery{12};

/// Certificates are valid in real time, also where the broker's clock is moved by hand.
Timestamp real_time() { return std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()); }

bool have_changed(const FilesRead& files) {
  return std::ranges::any_of(files, [](const FileRead& file) { return file.has_changed(); });
}

}  // namespace

TlsFiles::TlsFiles(std::string certificate_file, std::string key_file, Log& log)
    : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)), log_(log) {}

Result<std::unique_ptr<TlsFiles>, std::string> TlsFiles::open(std::string certificate_file, std::string key_file, Log& log) {
  std::unique_ptr<TlsFiles> made{new TlsFiles{std::move(certificate_file), std::move(key_file), log}};
  made->files_ = made->look();
  auto opened = net::ServerCertificate::open(made->certificate_file_, made->key_file_, real_time());
  if (!opened) return made->explain(opened.error());
  made->certificate_ = std::move(*opened);
  log.info("tls.opened", {{"certificate", made->certificate_file_}, {"valid_until", iso8601(made->certificate_->not_after())}});
  made->watcher_ = std::thread{[files = made.get()] { files->watch(); }};
  return made;
}

TlsFiles::~TlsFiles() {
  {
    const std::lock_guard lock{mutex_};
    stop_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void TlsFiles::reload() {
  {
    const std::lock_guard lock{mutex_};
    reload_ = true;
  }
  changed_.notify_all();
}

FilesRead TlsFiles::look() const { return {FileRead{certificate_file_}, FileRead{key_file_}}; }

std::string TlsFiles::explain(const net::CertificateError& error) const {
  const bool about_key = error.file == net::CertificateError::File::Key;
  return fmt::format("--{} {}: {}", about_key ? "tls-key" : "tls-certificate", about_key ? key_file_ : certificate_file_, error.text);
}

void TlsFiles::watch() {
  FilesRead changed;  // as they were at the last look, if they had changed: certificate and key do not change at one moment
  Instant next_read = std::chrono::steady_clock::now() + kReadEvery;
  std::unique_lock lock{mutex_};
  while (!stop_) {
    const bool asked = changed_.wait_for(lock, kLookEvery, [this] { return stop_ || reload_; }) && std::exchange(reload_, false);
    if (stop_) return;
    lock.unlock();
    const bool has_changed = have_changed(files_);
    const bool has_settled = has_changed && !changed.empty() && !have_changed(changed);
    if (asked || has_settled || std::chrono::steady_clock::now() >= next_read) {
      changed.clear();
      read();
      next_read = std::chrono::steady_clock::now() + kReadEvery;
    } else if (has_changed) {
      changed = look();
    }
    lock.lock();
  }
}

void TlsFiles::read() {
  files_ = look();
  if (const auto done = certificate_->reload(real_time()); !done) {
    log_.error("tls.refused", {{"reason", explain(done.error())}, {"meaning", "the certificate from before stays"}});
    const std::lock_guard count{mutex_};
    ++refused_count_;
    return;
  }
  {
    const std::lock_guard count{mutex_};
    ++taken_count_;
  }
  log_.info("tls.reloaded", {{"certificate", certificate_file_}, {"valid_until", iso8601(certificate_->not_after())}});
}

void TlsFiles::append_metrics(std::string& out) const {
  MetricsWriter writer{out};
  writer.describe("fanfare_tls_certificate_valid_until_seconds", "gauge", "End of the certificate's validity, in seconds since 1970.");
  writer.sample("fanfare_tls_certificate_valid_until_seconds", {}, static_cast<std::uint64_t>(unix_ms(certificate_->not_after()) / 1000));
  writer.describe("fanfare_tls_refused_total", "counter", "Changes of certificate or key that were not taken.");
  const std::lock_guard lock{mutex_};
  writer.sample("fanfare_tls_refused_total", {}, refused_count_);
  writer.describe("fanfare_tls_reloads_total", "counter", "Times that certificate and key were read anew and taken.");
  writer.sample("fanfare_tls_reloads_total", {}, taken_count_);
}

}  // namespace fanfare::server
