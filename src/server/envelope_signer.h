// Signs the envelopes of standard topics as SNS does: an RSA key, and a certificate that this process' own authority issued.
//
// Rule 1: a publication is signed at most once for each signature version: signatures are kept, the newest 16,384.
// Rule 2: prepare() signs on a thread of low priority, so that the loop that hands the message out finds the signature
//         there: it costs as much as 25 requests. What is not there yet is signed where it is needed.
// Rule 3: key and certificate are made once and kept in DATA/certificates; without a folder they live as long as the process.
// Source: [SNS verifying message signatures]: version 1 is SHA1withRSA, version 2 SHA256withRSA.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

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

  /// A signature without an identity, which is not kept: of a confirmation.
  std::string sign(std::uint8_t version, std::string_view text) const;

 private:
  struct Key;  // OpenSSL's
  struct Job {
    std::string id;
    std::uint8_t version;
    std::string text;
  };
  EnvelopeSigner();
  void work();
  void keep(std::string id, std::string signature);

  std::unique_ptr<Key> key_;
  std::string certificate_;
  std::string authority_;
  std::string path_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<Job> jobs_;
  std::list<std::pair<std::string, std::string>> newest_first_;  ///< id and version, signature
  std::unordered_map<std::string, std::list<std::pair<std::string, std::string>>::iterator> by_id_;
  std::thread thread_;
};

}  // namespace fanfare::server
