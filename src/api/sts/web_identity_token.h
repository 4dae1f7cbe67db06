// A web identity's token: a JWT, read and checked. [RFC 7519], [STS AssumeRoleWithWebIdentity]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/aws/error.h"
#include "base/result.h"
#include "base/time.h"

namespace fanfare::api::sts {

struct WebIdentity {
  std::string issuer;                  ///< without https://: "accounts.example.com"
  std::string subject;                 ///< "sub"
  std::vector<std::string> audiences;  ///< "aud"
  std::optional<Timestamp> expires;    ///< "exp"
  std::string algorithm;               ///< "HS256"
  std::string_view signed_part;        ///< header and payload as they stand; a view of the token
  std::string signature;               ///< bytes
};

/// Errors: InvalidIdentityToken.
Result<WebIdentity, aws::ApiError> read_web_identity(std::string_view token);
/// Whether the signature is the one that this secret makes. Only HS256 is known.
bool is_signed_with(const WebIdentity& identity, std::string_view hs256_secret);

}  // namespace fanfare::api::sts
