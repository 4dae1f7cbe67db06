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

wire::sigv4::RequestView view_of(const wire::http::Request& request) {
  return {request.method, request.path, request.query, request.headers, request.body};
}

/// A signature is made for one service; any region will do here. [SigV4 credential scope]
std::optional<ApiError> check_scope(const Credential& credential) {
  if (credential.expected_service.empty() || credential.service == credential.expected_service) return std::nullopt;
  return api_error(
      CommonError::SignatureDoesNotMatch,
      "Credential should be scoped to correct service: '" + std::string(credential.expected_service) + "'.");
}

}  // namespace

std::shared_ptr<const identity::Directory> empty_directory() {
  static const auto empty = std::make_shared<const identity::Directory>();  // shared: several loops keep it
  return empty;
}

Authenticator::Authenticator(DirectorySource directory, std::string_view token_secret)
    : source_(std::move(directory)), directory_(source_()), tokens_(token_secret), sessions_(tokens_) {}

Result<wire::sigv4::Authorization, ApiError> Authenticator::read(const wire::http::Request& request,
                                                                 const Credential& credential) {
  const auto authorization = wire::sigv4::read_authorization(view_of(request), query_);
  if (!authorization) return api_error(error_of(authorization.error().reason), authorization.error().message);
  // The request was routed by the scope as the router read it: nothing may stand between that and what is verified.
  const bool same = authorization->presigned == credential.in_query &&
                    authorization->access_key_id == credential.access_key && authorization->date == credential.date &&
                    authorization->region == credential.region && authorization->service == credential.service;
  if (!same) return api_error(CommonError::IncompleteSignature, "The request names several credentials.");
  return *authorization;
}

std::optional<ApiError> Authenticator::verify(const wire::http::Request& request,
                                              const wire::sigv4::Authorization& authorization, std::string_view secret,
                                              const Times& times) {
  const auto verified = wire::sigv4::verify(view_of(request), authorization, secret, times.system, signing_keys_, scratch_);
  if (!verified) return api_error(error_of(verified.error().reason), verified.error().message);
  return std::nullopt;
}

Result<std::optional<Identity>, ApiError> Authenticator::session_of(std::string_view token, std::string_view access_key,
                                                                    const Times& times, bool open_to_all) {
  const LiveSession* session = sessions_.find(token, access_key, directory_, open_to_all);
  if (session == nullptr) return std::optional<Identity>{};
  if (times.now >= session->session.expires)
    return api_error(CommonError::ExpiredToken, "The security token included in the request is expired");
  Identity identity;
  identity.access_key = access_key;
  identity.principal = session->principal();
  identity.user_id = session->user_id;
  identity.policies = session->policies;
  identity.session = &session->session;
  return std::optional<Identity>{identity};
}

std::string_view Authenticator::token_of(const wire::http::Request& request, bool in_query) {
  if (!in_query) return request.headers.get("x-amz-security-token");
  if (query_.parse(request.query)) return {};
  return query_.find("X-Amz-Security-Token").value_or(std::string_view{});
}

namespace {

ApiError unknown_token() {
  return api_error(CommonError::InvalidClientTokenId, "The security token included in the request is invalid.");
}

}  // namespace

Result<Identity, ApiError> EnforcedAuthenticator::authenticate(const wire::http::Request& request,
                                                               const Credential& credential, const Times& times,
                                                               wire::aws::Arena&) {
  refresh();
  if (!credential.present) {
    Identity anonymous;
    anonymous.policies.unrestricted = false;
    return anonymous;
  }
  const auto authorization = read(request, credential);
  if (!authorization) return authorization.error();
  const std::string_view token = authorization->session_token;
  const auto* owner = directory()->find_key(credential.access_key);
  // A long-lived key with a token is as unknown as a minted one without.
  if ((owner != nullptr) != token.empty()) return unknown_token();
  std::string minted;
  std::string_view secret;
  if (owner != nullptr) {
    secret = owner->secret;
  } else {
    minted = tokens().secret_of(credential.access_key);
    secret = minted;
  }
  if (owner == nullptr) {
    auto session = session_of(token, credential.access_key, times, false);
    if (!session) return session.error();
    if (!*session) return unknown_token();
    if (auto wrong = verify(request, *authorization, secret, times)) return *std::move(wrong);
    if (auto wrong = check_scope(credential)) return *std::move(wrong);
    return **session;
  }
  if (auto wrong = verify(request, *authorization, secret, times)) return *std::move(wrong);
  if (auto wrong = check_scope(credential)) return *std::move(wrong);
  Identity identity;
  identity.access_key = credential.access_key;
  if (owner->user == nullptr) {
    identity.principal.kind = policy::Principal::Kind::Account;
    identity.principal.account = owner->account->account.id;
    identity.principal.arn = owner->account->root_arn;
    identity.principal.context = owner->account->keys.view();
    identity.user_id = owner->account->account.id;
    identity.policies = directory()->policies_of(*owner->account);
    return identity;
  }
  identity.principal.kind = policy::Principal::Kind::Identity;
  identity.principal.account = owner->user->user.account;
  identity.principal.arn = owner->user->arn;
  identity.principal.context = owner->user->keys.view();
  identity.user_id = owner->user->id;
  identity.policies = directory()->policies_of(*owner->user);
  return identity;
}

DevelopmentAuthenticator::DevelopmentAuthenticator(Options options)
    : Authenticator(options.directory, options.token_secret), options_(std::move(options)), root_arn_(root_arn(options_.account.str())) {}

Result<Identity, ApiError> DevelopmentAuthenticator::authenticate(const wire::http::Request& request,
                                                                  const Credential& credential, const Times& times,
                                                                  wire::aws::Arena& arena) {
  refresh();
  // A signature that nobody can read is a broken client, also where any key is accepted.
  if (credential.present && !credential.in_query && (credential.access_key.empty() || credential.date.empty())) {
    const auto readable = wire::sigv4::read_authorization(view_of(request), query_);
    return api_error(CommonError::IncompleteSignature,
                     readable ? "Authorization header requires 'Credential' parameter." : readable.error().message);
  }
  if (options_.verify_known_keys) {
    const auto known = options_.secrets.find(credential.access_key);
    if (known != options_.secrets.end()) {
      const auto authorization = read(request, credential);
      if (!authorization) return authorization.error();
      if (auto error = verify(request, *authorization, known->second, times)) return *std::move(error);
    } else if (options_.only_known_keys && !credential.present) {
      return api_error(CommonError::MissingAuthenticationToken, "Request is missing Authentication Token");
    } else if (options_.only_known_keys && credential.access_key.empty()) {
      return api_error(CommonError::IncompleteSignature, "X-Amz-Credential names no access key.");
    } else if (options_.only_known_keys) {
      return api_error(CommonError::InvalidClientTokenId, "The security token included in the request is invalid.");
    }
  }
  if (identity::is_session_key(credential.access_key)) {
    auto session = session_of(arena.copy(token_of(request, credential.in_query)), credential.access_key, times, true);
    if (!session) return session.error();
    if (*session) return **session;
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

}  // namespace fanfare::api::aws
