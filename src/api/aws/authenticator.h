// Who sent a request. The broker asks an Authenticator; which one decides the mode (development, enforced).
// Source of truth: identity-and-policy in the design; [AWS SigV4] for the forms of credentials.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/aws/error.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "policy/authorize.h"
#include "wire/aws_shape/shape.h"
#include "wire/http/request.h"
#include "wire/http/url.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::api::aws {

/// What a request says about its signer, read but not checked. Views into the request.
/// Credential=AKIDEXAMPLE/20150830/us-east-1/sqs/aws4_request
struct Credential {
  bool present = false;   ///< false: the request is not signed at all
  bool in_query = false;  ///< a presigned URL
  std::string_view access_key;
  std::string_view date;  ///< "20150830"
  std::string_view region;
  std::string_view service;  ///< "sqs"
};

/// Who it is. Views that live at least until the next request of the same Service is decoded.
struct Identity {
  policy::Principal principal;
  std::string_view user_id;  ///< STS UserId: the account id for a root
  std::string_view access_key;
  /// What the identity may do by its own policies.
  policy::IdentityPolicies policies{.unrestricted = true};
};

/// Not thread-safe: one a loop.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  /// Errors: the authentication errors of CommonError. `arena` keeps texts of the identity for the request's time.
  virtual Result<Identity, ApiError> authenticate(const wire::http::Request& request, const Credential& credential,
                                                  Timestamp now, wire::aws::Arena& arena) = 0;
};

/// Development mode: every access key is accepted and acts as the root of the default account, a 12-digit one as the
/// root of that account; so does a request without any signature. Signatures of known keys are checked when asked for.
/// An Authorization field that begins as a signature and cannot be read is refused with IncompleteSignature.
class DevelopmentAuthenticator final : public Authenticator {
 public:
  struct Options {
    AccountId account{"000000000000"};
    /// Check the signature of a request whose access key is in `secrets`. Other keys stay accepted.
    bool verify_known_keys = false;
    /// Refuse other keys and requests without a signature, too. Only together with verify_known_keys.
    bool only_known_keys = false;
    std::map<std::string, std::string, std::less<>> secrets;  ///< access key id -> secret
  };
  explicit DevelopmentAuthenticator(Options options);

  /// Errors: InvalidClientTokenId, SignatureDoesNotMatch, IncompleteSignature, RequestExpired,
  /// MissingAuthenticationToken.
  Result<Identity, ApiError> authenticate(const wire::http::Request& request, const Credential& credential,
                                          Timestamp now, wire::aws::Arena& arena) override;

 private:
  std::optional<ApiError> verify(const wire::http::Request& request, std::string_view secret, Timestamp now);

  Options options_;
  std::string root_arn_;
  wire::sigv4::SigningKeyCache signing_keys_;
  wire::http::Form query_;
  std::string scratch_;
};

}  // namespace fanfare::api::aws
