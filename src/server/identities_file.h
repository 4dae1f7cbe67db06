// The identities file: YAML text into a Directory, and the file watched for changes.
//
//   accounts: [{id: "444455556666", organization: o-example, service_control_policies: [{..}], access_keys: [..]}]
//   users:    [{name: web, account: "444455556666", access_keys: [{id: AKIDEXAMPLE, secret: ..}], policies: [{..}],
//               permissions_boundary: {..}, path: /team/, tags: {team: red}}]
//   roles:    [{name: task, account: "444455556666", trust: {..}, policies: [{..}], permissions_boundary: {..}, tags:
//   {..},
//               max_session: 12h}]
//   providers: [{url: accounts.example.com, account: "444455556666", client_ids: [app], jwks_file: keys.json}]
//              jwks: {keys: [..]} instead, and hs256_secret for tokens with HS256
//   managed_policies: [{arn: "arn:aws:iam::444455556666:policy/read-only", policy: {..}}]    for AssumeRole's PolicyArns
//
// Rule 1: every error names line, place and what is accepted; nothing of a file with an error is used.
// Rule 2: a secret may stand in a file beside it: secret_file, hs256_secret_file, jwks_file; relative to the identities
//         file. A change of such a file counts as one of the identities file.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "identity/directory.h"

namespace fanfare::server {

class Log;

struct IdentitiesError {
  std::string message;  ///< "line 7: users[0]: unknown key 'polices'; accepted are name, account, ..."
  explicit IdentitiesError(std::string text = {}) : message(std::move(text)) {}
};

/// A file as it was before it was read; the mark changes when the file does.
struct FileRead {
  std::string path;
  std::string mark;
  explicit FileRead(std::string its_path);
  [[nodiscard]] bool has_changed() const;
};
using FilesRead = std::vector<FileRead>;

/// `folder` is where secret_file begins: "" for the working folder. Adds what it reads to `files`, also if it is refused.
Result<std::unique_ptr<const identity::Directory>, IdentitiesError> parse_identities(const std::string& text,
                                                                                     const std::string& folder,
                                                                                     FilesRead* files = nullptr);
Result<std::unique_ptr<const identity::Directory>, IdentitiesError> read_identities_file(const std::string& path,
                                                                                         FilesRead* files = nullptr);

/// The directory of the moment. Reads the file anew within a second of a change, once it has stood still for some tenths
/// of a second, so that one that is being written is not taken for a whole one. One with an error is reported and the old
/// one stays. Thread-safe.
class Identities {
 public:
  /// No file: nobody is known, nothing is watched.
  Identities();
  /// Errors: the file is refused.
  static Result<std::unique_ptr<Identities>, IdentitiesError> open(std::string path, Log& log);
  ~Identities();
  Identities(const Identities&) = delete;
  Identities& operator=(const Identities&) = delete;

  [[nodiscard]] std::shared_ptr<const identity::Directory> now() const;
  /// How many changes of the file were refused; the log says why.
  [[nodiscard]] std::uint64_t refused_count() const;

 private:
  void watch();
  /// Reads the file and takes it, if it is right.
  std::optional<IdentitiesError> read();

  mutable std::mutex mutex_;
  std::shared_ptr<const identity::Directory> directory_;  // under mutex_; shared with the loops that use it
  std::string path_;
  Log* log_ = nullptr;
  std::condition_variable stopping_;
  bool stop_ = false;                // under mutex_
  std::uint64_t refused_count_ = 0;  // under mutex_
  FilesRead files_;  // of the watching thread
  std::thread watcher_;
};

}  // namespace fanfare::server
