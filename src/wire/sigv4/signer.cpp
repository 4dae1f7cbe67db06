// The client's side: the Authorization field and the presigned query.
#include <algorithm>
#include <array>

#include "wire/digest/encoding.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::wire::sigv4 {

namespace {

/// Fields that proxies add or change, and the signature itself.
bool is_left_out(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {"authorization",   "connection",        "content-length",
                                                      "expect",          "transfer-encoding", "user-agent",
                                                      "x-amzn-trace-id", "x-amz-date",        "x-amz-security-token"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view other) { return http::equal_ignoring_case(name, other); });
}

std::string credential_of(const Credentials& credentials, std::string_view date, const Scope& scope) {
  std::string out = credentials.access_key_id;
  out.append("/")
      .append(date)
      .append("/")
      .append(scope.region)
      .append("/")
      .append(scope.service)
      .append("/aws4_request");
  return out;
}

std::string signature_of(std::string_view canonical, std::string_view credential, std::string_view secret,
                         std::string_view date, const Scope& scope, SigningKeyCache& cache) {
  const auto* key = cache.find(credential, secret);
  if (key == nullptr) {
    cache.keep(credential, secret, derive_signing_key(secret, date, scope.region, scope.service));
    key = cache.find(credential, secret);
  }
  return digest::hex(digest::bytes_of((*key)(string_to_sign(canonical, scope.time, scope.region, scope.service))));
}

/// `host;x-amz-date` of these fields: each once, in order.
std::string names_of(const std::vector<http::Header>& headers) {
  std::vector<std::string> names;
  for (const auto& field : headers) {
    auto& name = names.emplace_back(field.name);
    for (auto& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string out;
  for (const auto& name : names) {
    if (!out.empty()) out.push_back(';');
    out += name;
  }
  return out;
}

}  // namespace

SignedFields sign(const RequestView& request, const Credentials& credentials, const Scope& scope,
                  SigningKeyCache& cache) {
  SignedFields out;
  out.date = amz_date(scope.time);
  out.session_token = credentials.session_token;

  std::vector<http::Header> headers;
  for (const auto& field : request.headers) {
    if (!is_left_out(field.name)) headers.push_back(field);
  }
  headers.push_back({"x-amz-date", out.date});
  if (!out.session_token.empty()) headers.push_back({"x-amz-security-token", out.session_token});

  const std::string signed_headers = names_of(headers);
  auto signed_request = request;
  signed_request.headers = http::Headers{headers};
  std::string canonical;
  const auto payload_hash = request.headers.get("x-amz-content-sha256") == kUnsignedPayload
                                ? std::string(kUnsignedPayload)
                                : digest::hex(digest::bytes_of(digest::sha256(request.body)));
  append_canonical_request(canonical, signed_request, signed_headers, payload_hash);
  const auto date = std::string_view{out.date}.substr(0, 8);
  const auto credential = credential_of(credentials, date, scope);
  out.authorization.append(kAlgorithm)
      .append(" Credential=")
      .append(credential)
      .append(", SignedHeaders=")
      .append(signed_headers);
  out.authorization.append(", Signature=")
      .append(signature_of(canonical, credential, credentials.secret, date, scope, cache));
  return out;
}

std::string presign(const RequestView& request, const Credentials& credentials, const Scope& scope, seconds expires,
                    SigningKeyCache& cache) {
  const auto time = amz_date(scope.time);
  const auto date = std::string_view{time}.substr(0, 8);
  const auto credential = credential_of(credentials, date, scope);
  std::string query{request.query};
  const auto add = [&query](std::string_view name, std::string_view value) {
    if (!query.empty()) query.push_back('&');
    query.append(name).append("=");
    digest::append_percent_encoded(query, value);
  };
  add("X-Amz-Algorithm", kAlgorithm);
  add("X-Amz-Credential", credential);
  add("X-Amz-Date", time);
  add("X-Amz-Expires", std::to_string(std::clamp<std::int64_t>(expires.count(), 1, kExpiresMax.count())));
  std::vector<http::Header> headers;
  for (const auto& field : request.headers) {
    constexpr std::string_view kAmz = "x-amz-";
    const bool is_amz = http::equal_ignoring_case(field.name.substr(0, kAmz.size()), kAmz) && !is_left_out(field.name);
    if (is_amz || http::equal_ignoring_case(field.name, "host")) headers.push_back(field);
  }
  const std::string signed_headers = names_of(headers);
  add("X-Amz-SignedHeaders", signed_headers);
  if (!credentials.session_token.empty()) add("X-Amz-Security-Token", credentials.session_token);

  auto signed_request = request;
  signed_request.query = query;
  std::string canonical;
  append_canonical_request(canonical, signed_request, signed_headers,
                           digest::hex(digest::bytes_of(digest::sha256(request.body))));
  add("X-Amz-Signature", signature_of(canonical, credential, credentials.secret, date, scope, cache));
  return query;
}

}  // namespace fanfare::wire::sigv4
