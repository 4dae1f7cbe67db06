// Who holds a session token: the token opened, the session's role looked up, its keys and policies made ready, and kept
// for the next request with the same token.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "identity/directory.h"
#include "identity/sessions.h"
#include "policy/authorize.h"

namespace fanfare::api::aws {

/// A session as policies see it. Lives in the cache; views into the directory that it was made with.
struct LiveSession {
  identity::Session session;
  std::string arn;
  std::string role_arn;  ///< empty for a user's
  std::string user_id;   ///< "AROA...:run-1", "AIDA...", the account id
  identity::Keys keys;
  std::vector<policy::Policy> session_policies;
  policy::IdentityPolicies policies;  ///< of the role or user, with the session's

  [[nodiscard]] policy::Principal principal() const;
};

/// One a loop; not thread-safe. Bounded; forgets everything when full.
class SessionCache {
 public:
  explicit SessionCache(const identity::SessionTokens& tokens) : tokens_(tokens) {}

  /// The session of this token for this key; null pointer if it is none of this server's, or its role or user is gone.
  /// With `open_to_all` (development) a role need not be known, and the identity side allows everything.
  const LiveSession* find(std::string_view token, std::string_view access_key_id,
                          const std::shared_ptr<const identity::Directory>& directory, bool open_to_all);

 private:
  static constexpr std::size_t kEntriesMax = 4096;
  const identity::SessionTokens& tokens_;
  std::shared_ptr<const identity::Directory> directory_;                         ///< what the entries point into
  std::unordered_map<std::string, std::unique_ptr<const LiveSession>> entries_;  ///< by key id and token
  std::string key_;
};

}  // namespace fanfare::api::aws
