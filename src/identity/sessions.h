// The credentials that STS mints: an access key, its secret, and a token that carries the session.
//
// Rule 1: nothing is stored. The token holds the session and is sealed with the server's secret; the key's secret
// follows
//         from the key's id and the server's secret. So every loop, and the server after a restart, knows them all.
// Rule 2: a token proves a session only together with its own access key id.
// Rule 3: the token can be read by its holder: it holds no secret.
// Source: [STS AssumeRole], [STS GetSessionToken], [IAM unique identifiers].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/time.h"

namespace fanfare::identity {

struct Session {
  enum class Kind : std::uint8_t {
    Role,  ///< of AssumeRole and its like: `principal` is the role's ARN
    User,  ///< of GetSessionToken: `principal` is the user's or root's ARN
  };
  Kind kind = Kind::Role;
  std::string account;
  std::string principal;
  std::string name;      ///< RoleSessionName; empty for a user
  std::string provider;  ///< of a web identity: "accounts.example.com"
  std::string source_identity;
  std::vector<std::string> policies;     ///< session policies as JSON
  std::vector<std::string> policy_arns;  ///< session policies that the identities file holds
  std::vector<std::pair<std::string, std::string>> tags;
  std::vector<std::string> transitive_tags;  ///< keys of `tags` that go on into roles assumed by this session
  Timestamp expires;

  /// "arn:aws:sts::111122223333:assumed-role/task/run-1" for a role, `principal` for a user.
  [[nodiscard]] std::string arn() const;
};

struct Credentials {
  std::string access_key_id;  ///< "ASIA" and 16 letters and digits
  std::string secret;
  std::string token;
};

/// Safe to use from several threads.
class SessionTokens {
 public:
  /// `secret`: at least 16 bytes, the same over restarts.
  explicit SessionTokens(std::string_view secret);

  [[nodiscard]] Credentials mint(const Session& session, Secrets& secrets) const;
  /// The session of a token that this server made for this key, whether it has ended or not; nullopt for any other.
  [[nodiscard]] std::optional<Session> open(std::string_view token, std::string_view access_key_id) const;
  [[nodiscard]] std::string secret_of(std::string_view access_key_id) const;

 private:
  std::string key_;
};

/// Whether the id has the form of a minted key.
bool is_session_key(std::string_view access_key_id);
/// The account that a minted key's id names; empty if it is none.
std::string account_of_session_key(std::string_view access_key_id);

}  // namespace fanfare::identity
