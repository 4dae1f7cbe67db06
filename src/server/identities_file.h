// The identities file: YAML text into a Directory, and the file watched for changes.
//
//   accounts: [{id: "444455556666", organization: o-example, service_control_policies: [{..}], access_keys: [..]}]
//   users:    [{name: web, account: "444455556666", access_keys: [{id: AKIDEXAMPLE, secret: ..}], policies: [{..}],
//               permissions_boundary: {..}, path: /team/, tags: {team: red}}]
//   roles:    [{name: task, account: "444455556666", trust: {..}, policies: [{..}], permissions_boundary: {..}, tags:
//   {..},
//               max_session: 12h}]
//   providers: [{url: accounts.example.com, account: "444455556666", client_ids: [app], hs256_secret: ..}]
//
// Rule 1: every error names line, place and what is accepted; nothing of a file with an error is used.
// Rule 2: a secret may stand in a file beside it: secret_file, hs256_secret_file; relative to the identities file.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "identity/directory.h"

namespace fanfare::server {

class Log;

struct IdentitiesError {
  std::string message;  ///< "line 7: users[0]: unknown key 'polices'; accepted are name, account, ..."
  explicit IdentitiesError(std::string text = {}) : message(std::move(text)) {}
};

/// `folder` is where secret_file begins: "" for the working folder.
Result<std::unique_ptr<const identity::Directory>, IdentitiesError> parse_identities(const std::string& text,
                                                                                     const std::string& folder);
Result<std::unique_ptr<const identity::Directory>, IdentitiesError> read_identities_file(const std::string& path);

/// The directory of the moment. Reads the file anew within a second of a change; one with an error is reported and the
/// old one stays. Thread-safe.
class Identities {
 public:
  /// No file: nobody is known, nothing is watched.
  Identities();
  Identities(std::string path, std::shared_ptr<const identity::Directory> first, Log& log);
  ~Identities();

  [[nodiscard]] std::shared_ptr<const identity::Directory> now() const;

 private:
  void watch();

  mutable std::mutex mutex_;
  std::shared_ptr<const identity::Directory> directory_;  // under mutex_; shared with the loops that use it
  std::string path_;
  Log* log_ = nullptr;
  std::condition_variable stopping_;
  bool stop_ = false;  // under mutex_
  std::string stamp_;
  std::thread watcher_;
};

}  // namespace fanfare::server
