// Signs the envelopes of standard topics as SNS does: an RSA key, and a certificate that this process' own authority issued.
//
// Rule 1: a publication is signed at most once for each signature version: signatures are kept, the newest 16,384.
// Rule 2: a signature costs as much as 25 requests. So prepare() signs what has been published on a thread of low priority, and what is
//         handed out and not signed yet waits for that thread too (sign_first): no loop signs, and nobody under a lock.
// Rule 3: key and certificate are made once and kept in DATA/certificates; without a folder they live as long as the process.
// Source: [SNS verifying message signatures]: version 1 is SHA1withRSA, version 2 SHA256withRSA.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace fanfare::server {

class EnvelopeSigner {
 public:
  /// `folder`: where key and certificates are, or will be; empty: nowhere. The error says which file is wrong and how.
  static Result<std::unique_ptr<EnvelopeSigner>, std::string> open(const std::string& folder);
  ~EnvelopeSigner();

  /// The certificate that signatures are verified with, and the authority that issued it, in PEM.
  [[nodiscard]] const std::string& certificate() const { return certificate_; }
  [[nodiscard]] const std::string& authority() const { return authority_; }
  /// "/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
  [[nodiscard]] const std::string& certificate_path() const { return path_; }

  /// Base64 of the signature of `text`, which is topic::string_to_sign() of this publication. `version` is 1 or 2.
  std::string sign(const PublicationId& id, std::uint8_t version, std::string_view text);
  /// The same soon, on the signer's thread. Dropped when it is far behind.
  void prepare(const PublicationId& id, std::uint8_t version, std::string text);
  /// Whether sign() would find the signature.
  [[nodiscard]] bool has(const PublicationId& id, std::uint8_t version);
  struct Wanted {
    PublicationId id;
    std::uint8_t version;
    std::string text;
  };
  /// The same before all that is only prepared; then `done` is called, on the signer's thread and under none of its locks. Not called any
  /// more once the signer's destructor has begun.
  void sign_first(std::vector<Wanted> wanted, std::function<void()> done);

  /// A signature without an identity, which is not kept: of a confirmation.
  std::string sign(std::uint8_t version, std::string_view text) const;

 private:
  struct Key;  // OpenSSL's
  struct Job {
    std::string id;
    std::uint8_t version;
    std::string text;
  };
  struct Urgent {
    std::vector<Job> jobs;
    std::function<void()> done;
  };
  EnvelopeSigner();
  void work();
  void work_off(const Job& job, std::unique_lock<std::mutex>& lock);
  void keep(std::string id, std::string signature);

  std::unique_ptr<Key> key_;
  std::string certificate_;
  std::string authority_;
  std::string path_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<Job> jobs_;
  std::deque<Urgent> urgent_;
  std::list<std::pair<std::string, std::string>> newest_first_;  ///< id and version, signature
  std::unordered_map<std::string, std::list<std::pair<std::string, std::string>>::iterator> by_id_;
  std::thread thread_;
};

}  // namespace fanfare::server
