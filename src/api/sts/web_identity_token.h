// What a web identity's token claims, and whether a provider made it. [RFC 7519], [STS AssumeRoleWithWebIdentity]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/aws/error.h"
#include "base/result.h"
#include "base/time.h"
#include "identity/directory.h"
#include "wire/jwt/jwt.h"

namespace fanfare::api::sts {

struct WebIdentity {
  wire::jwt::Token token;
  std::string issuer;                   ///< without https://: "accounts.example.com"
  std::string subject;                  ///< "sub"
  std::vector<std::string> audiences;   ///< "aud"
  std::optional<Timestamp> expires;     ///< "exp"
  std::optional<Timestamp> not_before;  ///< "nbf"
  std::optional<Timestamp> issued;      ///< "iat"
};

/// The claims as they stand: nothing is checked. The result views `token`. Errors: InvalidIdentityToken.
Result<WebIdentity, aws::ApiError> read_web_identity(std::string_view token);

/// Whether `provider` made this token for one of its clients, and it holds at `now`: signature, exp, nbf, iat, aud, in this
/// order; the caller has found the provider by `iss`. Gives the audience that was accepted. Clocks may differ by a minute.
/// Errors: InvalidIdentityToken, ExpiredToken, IdpRejectedClaim.
Result<std::string, aws::ApiError> check_web_identity(const WebIdentity& identity, const identity::Provider& provider,
                                                      Timestamp now);

}  // namespace fanfare::api::sts
