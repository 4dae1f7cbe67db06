// Who sent a request. The broker asks an Authenticator; which one decides the mode (development, enforced).
// Source of truth: identity-and-policy in the design; [AWS SigV4] for the forms of credentials.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/aws/error.h"
#include "api/aws/sessions_of_requests.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "identity/directory.h"
#include "identity/sessions.h"
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
  std::string_view expected_service;  ///< the service that is called; empty: not known
};

/// Who it is. Views that live at least until the next request of the same Service is decoded.
struct Identity {
  policy::Principal principal;
  std::string_view user_id;  ///< STS UserId: the account id for a root
  std::string_view access_key;
  /// What the identity may do by its own policies.
  policy::IdentityPolicies policies{.unrestricted = true};
  const identity::Session* session = nullptr;  ///< if it asks with session credentials
};

/// The identities as they are now; a change of the file makes another directory. Thread-safe.
using DirectorySource = std::function<std::shared_ptr<const identity::Directory>()>;
/// No identities at all.
std::shared_ptr<const identity::Directory> empty_directory();

/// The two clocks that a request is judged by. They differ when the broker's was moved (--clock manual), or goes on from a journal that
/// is ahead of the system's.
struct Times {
  Timestamp now;     ///< the broker's: what it has issued ends by it
  Timestamp system;  ///< the system's, which clients sign by: signatures and presigned URLs are as old as it says
};

/// Not thread-safe: one a loop.
class Authenticator {
 public:
  /// `token_secret` seals session tokens: the same over restarts, at least 16 bytes.
  Authenticator(DirectorySource directory, std::string_view token_secret);
  virtual ~Authenticator() = default;
  /// Errors: the authentication errors of CommonError. `arena` keeps texts of the identity for the request's time.
  virtual Result<Identity, ApiError> authenticate(const wire::http::Request& request, const Credential& credential,
                                                  const Times& times, wire::aws::Arena& arena) = 0;
  /// Whether identities must prove who they are and what they may do. In development everything at home is open.
  [[nodiscard]] virtual bool enforces() const = 0;
  /// For STS. The directory is the one that the last request was authenticated with.
  [[nodiscard]] const std::shared_ptr<const identity::Directory>& directory() const { return directory_; }
  [[nodiscard]] const identity::SessionTokens& tokens() const { return tokens_; }

 protected:
  /// Takes the directory of the moment; views into it live until the next request.
  void refresh() { directory_ = source_(); }
  /// The signature, taken apart; views live until the next read(). Errors: IncompleteSignature, also if it is for another
  /// credential than `credential`; MissingAuthenticationToken, SignatureDoesNotMatch (day).
  Result<wire::sigv4::Authorization, ApiError> read(const wire::http::Request& request, const Credential& credential);
  [[nodiscard]] std::optional<ApiError> verify(const wire::http::Request& request,
                                               const wire::sigv4::Authorization& authorization, std::string_view secret,
                                               const Times& times);
  /// The session of a request; nullopt if its token is none of this server's. Errors: ExpiredToken.
  Result<std::optional<Identity>, ApiError> session_of(std::string_view token, std::string_view access_key, const Times& times,
                                                       bool open_to_all);
  std::string_view token_of(const wire::http::Request& request, bool in_query);

  wire::http::Form query_;

 private:
  DirectorySource source_;
  std::shared_ptr<const identity::Directory> directory_;
  identity::SessionTokens tokens_;
  SessionCache sessions_;
  wire::sigv4::SigningKeyCache signing_keys_;
  std::string scratch_;
};

/// Only known keys, signatures verified. A request without any signature is anonymous: resources may admit it.
class EnforcedAuthenticator final : public Authenticator {
 public:
  EnforcedAuthenticator(DirectorySource directory, std::string_view token_secret)
      : Authenticator(std::move(directory), token_secret) {}
  /// Errors: InvalidClientTokenId, SignatureDoesNotMatch, IncompleteSignature, RequestExpired, ExpiredToken.
  Result<Identity, ApiError> authenticate(const wire::http::Request& request, const Credential& credential,
                                          const Times& times, wire::aws::Arena& arena) override;
  [[nodiscard]] bool enforces() const override { return true; }
};

/// Development mode: every access key is accepted and acts as the root of the default account, a 12-digit one as the
/// root of that account; so does a request without any signature. The keys that AssumeRole has given act as their session. Signatures of known keys are checked when asked for.
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
    DirectorySource directory = empty_directory;
    std::string token_secret = "development, where everybody is trusted";
  };
  explicit DevelopmentAuthenticator(Options options);

  /// Errors: InvalidClientTokenId, SignatureDoesNotMatch, IncompleteSignature, RequestExpired,
  /// MissingAuthenticationToken, ExpiredToken.
  Result<Identity, ApiError> authenticate(const wire::http::Request& request, const Credential& credential,
                                          const Times& times, wire::aws::Arena& arena) override;

  [[nodiscard]] bool enforces() const override { return false; }

 private:
  Options options_;
  std::string root_arn_;
};

}  // namespace fanfare::api::aws
