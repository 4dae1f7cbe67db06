// Who calls the edge, from a bearer token.
// Rule 1: what a token says is decided once, here or in another TokenVerifier; everything else asks the Caller.
// Rule 2: a token that cannot be verified is refused (401), never treated as absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/inbox/types.h"

namespace fanfare::edge {

struct Caller {
  std::optional<inbox::Recipient> person;    ///< The token's `sub`; a service that only creates has none.
  std::vector<inbox::Workspace> workspaces;  ///< The token's `workspaces`.
  bool may_notify = false;                   ///< `notify` in `scope`: may create notifications for anybody.
  bool is_admin = false;                     ///< `admin` in `scope`.
  std::optional<Timestamp> expires_at;       ///< The token's `exp`; long-lived connections end after it.

  [[nodiscard]] bool holds(const inbox::Workspace& workspace) const;
};

enum class TokenError {
  Unreadable,    ///< Not a token of a kind that is accepted here.
  BadSignature,  ///< Signed by nobody whose key is known.
  Expired,       ///< `exp` is over; the client gets a fresh one.
};

class TokenVerifier {
 public:
  virtual ~TokenVerifier() = default;
  /// `token` is what follows `Bearer `. Thread-safe.
  virtual Result<Caller, TokenError> verify(std::string_view token, Timestamp now) const = 0;
};

/// Development mode only: `dev:alice:docs,team2` is the person alice in the workspaces docs and team2; `dev-service`
/// may create notifications.
class DevelopmentTokens final : public TokenVerifier {
 public:
  Result<Caller, TokenError> verify(std::string_view token, Timestamp now) const override;
};

}  // namespace fanfare::edge
