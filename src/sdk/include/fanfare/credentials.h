// Where the keys come from that sign a request.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fanfare/error.h"

namespace fanfare::sdk {

/// A secret that does not print: it has no stream operator, and formatting it does not compile.
class SecretText {
 public:
  SecretText() = default;
  explicit SecretText(std::string text) : text_(std::move(text)) {}
  /// The only way out; call it where the secret is used, and keep no copy.
  [[nodiscard]] const std::string& reveal() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

struct Credentials {
  std::string access_key_id;
  SecretText secret_access_key;
  SecretText session_token;           ///< empty for long-lived keys
  std::optional<Timestamp> expires;  ///< absent: never
};

/// Thread-safe. Called once a request; answers from memory while what it has is valid.
class CredentialsProvider {
 public:
  virtual ~CredentialsProvider() = default;
  virtual Result<Credentials, Error> credentials() = 0;
};

/// Always the same keys.
std::shared_ptr<CredentialsProvider> static_credentials(std::string access_key_id, std::string secret_access_key,
                                                        std::string session_token = {});

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if set, AWS_SESSION_TOKEN, read through `variable` at every call;
/// ErrorKind::Credentials names the variable that is missing. [AWS SDKs: environment variables]
std::shared_ptr<CredentialsProvider> environment_credentials(
    std::function<std::optional<std::string>(const std::string& name)> variable);

/// The same, from this process's environment.
std::shared_ptr<CredentialsProvider> environment_credentials();

/// The first provider of the list that has credentials; the last one's error if none has.
std::shared_ptr<CredentialsProvider> first_of(std::vector<std::shared_ptr<CredentialsProvider>> providers);

}  // namespace fanfare::sdk
