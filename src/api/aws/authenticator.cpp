#include "api/aws/authenticator.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace fanfare::api::aws {
namespace {

std::string root_arn(std::string_view account) { return "arn:aws:iam::" + std::string(account) + ":root"; }

bool is_account(std::string_view text) {
  return text.size() == 12 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

CommonError error_of(wire::sigv4::Reason reason) {
  using wire::sigv4::Reason;
  switch (reason) {
    case Reason::Missing: return CommonError::MissingAuthenticationToken;
    case Reason::Incomplete: return CommonError::IncompleteSignature;
    case Reason::Expired: return CommonError::RequestExpired;
    case Reason::WrongScope:
    case Reason::NotYetCurrent:
    case Reason::WrongPayload:
    case Reason::Mismatch: return CommonError::SignatureDoesNotMatch;
  }
  FANFARE_ASSERT(false, "a reason outside its enumeration");
  return CommonError::InternalFailure;
}

}  // namespace

DevelopmentAuthenticator::DevelopmentAuthenticator(Options options)
    : options_(std::move(options)), root_arn_(root_arn(options_.account.str())) {}

Result<Identity, ApiError> DevelopmentAuthenticator::authenticate(const wire::http::Request& request,
                                                                  const Credential& credential, Timestamp now,
                                                                  wire::aws::Arena& arena) {
  // A signature that nobody can read is a broken client, also where any key is accepted.
  if (credential.present && !credential.in_query && (credential.access_key.empty() || credential.date.empty())) {
    const wire::sigv4::RequestView view{request.method, request.path, request.query, request.headers, request.body};
    const auto read = wire::sigv4::read_authorization(view, query_);
    return api_error(CommonError::IncompleteSignature,
                     read ? "Authorization header requires 'Credential' parameter." : read.error().message);
  }
  if (options_.verify_known_keys) {
    const auto known = options_.secrets.find(credential.access_key);
    if (known != options_.secrets.end()) {
      if (auto error = verify(request, known->second, now)) return *std::move(error);
    } else if (options_.only_known_keys && !credential.present) {
      return api_error(CommonError::MissingAuthenticationToken, "Request is missing Authentication Token");
    } else if (options_.only_known_keys && credential.access_key.empty()) {
      return api_error(CommonError::IncompleteSignature, "X-Amz-Credential names no access key.");
    } else if (options_.only_known_keys) {
      return api_error(CommonError::InvalidClientTokenId, "The security token included in the request is invalid.");
    }
  }
  Identity identity;
  identity.access_key = credential.access_key;
  identity.principal.kind = policy::Principal::Kind::Account;
  identity.principal.account = options_.account.str();
  identity.principal.arn = root_arn_;
  if (is_account(credential.access_key) && credential.access_key != options_.account.str()) {
    identity.principal.account = credential.access_key;
    identity.principal.arn = arena.copy(root_arn(credential.access_key));
  }
  identity.user_id = identity.principal.account;
  return identity;
}

std::optional<ApiError> DevelopmentAuthenticator::verify(const wire::http::Request& request, std::string_view secret,
                                                         Timestamp now) {
  const wire::sigv4::RequestView view{request.method, request.path, request.query, request.headers, request.body};
  const auto authorization = wire::sigv4::read_authorization(view, query_);
  if (!authorization) return api_error(error_of(authorization.error().reason), authorization.error().message);
  const auto verified = wire::sigv4::verify(view, *authorization, secret, now, signing_keys_, scratch_);
  if (!verified) return api_error(error_of(verified.error().reason), verified.error().message);
  return std::nullopt;
}

}  // namespace fanfare::api::aws
