// The texts of errors are AWS's: people search for them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "wire/digest/encoding.h"
#include "wire/http/response.h"
#include "wire/sigv4/canonical.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::wire::sigv4 {

namespace {

/// More than any client lists. Each name is looked for among all fields before anybody has proved anything.
constexpr std::size_t kSignedHeadersBytesMax = 4'096;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The field as errors may show it: hashed, for it may hold a bearer token or a password.
std::string hashed(std::string_view authorization) {
  return "(Hashed with SHA-256 and encoded with Base64) Authorization=" +
         digest::base64(digest::bytes_of(digest::sha256(authorization)));
}

std::string join(const std::vector<std::string>& sentences, std::string_view last) {
  std::string out;
  for (const auto& sentence : sentences) out.append(sentence).append(" ");
  return out.append(last);
}

/// Splits the credential; what the time must agree with is filled already.
std::optional<Error> read_credential(Authorization& out) {
  std::string_view parts[5];
  auto rest = out.credential;
  std::size_t count = 0;
  for (;;) {
    const auto slash = rest.find('/');
    if (count < 5) parts[count] = rest.substr(0, slash);
    ++count;
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (count != 5 || parts[0].empty()) {
    return Error{Reason::Incomplete, fmt::format("Credential must have exactly 5 slash-delimited elements, e.g. "
                                                 "keyid/date/region/service/term, got '{}'",
                                                 out.credential)};
  }
  out.access_key_id = parts[0];
  out.date = parts[1];
  out.region = parts[2];
  out.service = parts[3];
  std::vector<std::string> wrong;
  if (parts[4] != "aws4_request") {
    wrong.push_back(
        fmt::format("Credential should be scoped with a valid terminator: 'aws4_request', not '{}'.", parts[4]));
  }
  const auto date = amz_date_array(out.time);
  const std::string_view time{date.data(), date.size()};
  if (out.date != time.substr(0, 8)) {
    wrong.push_back(
        fmt::format("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '{}' != "
                    "'{}', from '{}'.",
                    out.date, time.substr(0, 8), time));
  }
  if (!wrong.empty()) return Error{Reason::WrongScope, fmt::format("{}", fmt::join(wrong, " "))};
  return std::nullopt;
}

Error bad_date(std::string_view text) {
  return {Reason::Incomplete,
          fmt::format("Date must be in ISO-8601 'basic format'. Got '{}'. See http://en.wikipedia.org/wiki/ISO_8601",
                      text)};
}

Result<Authorization, Error> read_header(const RequestView& request, std::string_view text) {
  Authorization out;
  std::string_view rest = text;
  if (rest.starts_with(kAlgorithm) && rest.size() > kAlgorithm.size() &&
      (rest[kAlgorithm.size()] == ' ' || rest[kAlgorithm.size()] == '\t')) {
    rest.remove_prefix(kAlgorithm.size());
    while (!(rest = trim(rest)).empty()) {
      const auto end = std::min(rest.find(','), rest.size());
      const auto part = trim(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const auto equals = part.find('=');
      if (equals == std::string_view::npos) {
        return Error{Reason::Incomplete,
                     "Invalid key=value pair (missing equal-sign) in Authorization header " + hashed(text) + "."};
      }
      const auto name = part.substr(0, equals);
      const auto value = part.substr(equals + 1);
      auto* const into = name == "Credential"      ? &out.credential
                         : name == "SignedHeaders" ? &out.signed_headers
                         : name == "Signature"     ? &out.signature
                                                   : nullptr;
      if (into == nullptr) continue;
      if (!into->empty()) {
        return Error{Reason::Incomplete,
                     fmt::format("Authorization header has the parameter '{}' twice. {}", name, hashed(text))};
      }
      *into = value;
    }
  }
  const auto amz = request.headers.find("x-amz-date");
  const auto date = amz ? amz : request.headers.find("date");
  std::vector<std::string> missing;
  if (out.credential.empty()) missing.emplace_back("Authorization header requires 'Credential' parameter.");
  if (out.signature.empty()) missing.emplace_back("Authorization header requires 'Signature' parameter.");
  if (out.signed_headers.empty()) missing.emplace_back("Authorization header requires 'SignedHeaders' parameter.");
  if (!date)
    missing.emplace_back("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.");
  if (!missing.empty()) return Error{Reason::Incomplete, join(missing, hashed(text))};

  if (const auto time = parse_amz_date(*date)) {
    out.time = *time;
  } else if (const auto unix_seconds = amz ? std::nullopt : http::parse_http_date(*date)) {
    out.time = Timestamp{seconds{*unix_seconds}};
  } else {
    return bad_date(*date);
  }
  if (auto wrong = read_credential(out)) return std::move(*wrong);
  out.session_token = request.headers.get("x-amz-security-token");
  return out;
}

Result<Authorization, Error> read_query(const http::Form& query) {
  for (const std::string_view name : {"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires",
                                      "X-Amz-Security-Token", "X-Amz-Signature", "X-Amz-SignedHeaders"}) {
    const auto named = [&](const http::FormField& field) { return field.name == name; };
    if (std::ranges::count_if(query.fields(), named) > 1)
      return Error{Reason::Incomplete, fmt::format("AWS query-string parameters have '{}' twice.", name)};
  }
  Authorization out;
  out.presigned = true;
  const auto get = [&](std::string_view name) { return query.find(name).value_or(std::string_view{}); };
  const auto algorithm = get("X-Amz-Algorithm");
  const auto date = get("X-Amz-Date");
  out.credential = get("X-Amz-Credential");
  out.signed_headers = get("X-Amz-SignedHeaders");
  out.signature = get("X-Amz-Signature");
  out.session_token = get("X-Amz-Security-Token");
  std::vector<std::string> missing;
  const auto need = [&](std::string_view name, std::string_view value) {
    if (value.empty()) missing.push_back(fmt::format("AWS query-string parameters must include '{}'.", name));
  };
  need("X-Amz-Algorithm", algorithm);
  need("X-Amz-Credential", out.credential);
  need("X-Amz-Signature", out.signature);
  need("X-Amz-SignedHeaders", out.signed_headers);
  need("X-Amz-Date", date);
  if (!missing.empty()) return Error{Reason::Incomplete, join(missing, "Re-examine the query-string parameters.")};
  if (algorithm != kAlgorithm)
    return Error{Reason::Incomplete, fmt::format("Unsupported AWS 'algorithm': '{}'", algorithm)};
  const auto time = parse_amz_date(date);
  if (!time) return bad_date(date);
  out.time = *time;
  if (const auto expires = query.find("X-Amz-Expires")) {
    std::int64_t count = 0;
    const auto read = std::from_chars(expires->data(), expires->data() + expires->size(), count);
    if (read.ec != std::errc{} || read.ptr != expires->data() + expires->size() || count < 1 ||
        count > kExpiresMax.count()) {
      return Error{Reason::Incomplete, fmt::format("X-Amz-Expires must be a number of seconds from 1 to {}, got '{}'",
                                                   kExpiresMax.count(), *expires)};
    }
    out.expires = seconds{count};
  }
  if (auto wrong = read_credential(out)) return std::move(*wrong);
  return out;
}

std::optional<Error> check_time(const Authorization& authorization, Timestamp now, seconds skew_max) {
  using std::chrono::duration_cast;
  using std::chrono::minutes;
  const auto skew_minutes = duration_cast<minutes>(skew_max).count();
  if (authorization.time > now + skew_max) {
    return Error{Reason::NotYetCurrent,
                 fmt::format("Signature not yet current: {} is still later than {} ({} + {} min.)",
                             amz_date(authorization.time), amz_date(now + skew_max), amz_date(now), skew_minutes)};
  }
  if (authorization.expires > seconds{0}) {
    if (now <= authorization.time + authorization.expires) return std::nullopt;
    return Error{Reason::Expired, fmt::format("Signature expired: {} is now earlier than {} ({} + {} s)",
                                              amz_date(authorization.time + authorization.expires), amz_date(now),
                                              amz_date(authorization.time), authorization.expires.count())};
  }
  if (authorization.time >= now - skew_max) return std::nullopt;
  return Error{Reason::Expired,
               fmt::format("Signature expired: {} is now earlier than {} ({} - {} min.)", amz_date(authorization.time),
                           amz_date(now - skew_max), amz_date(now), skew_minutes)};
}

bool signs(std::string_view signed_headers, std::string_view name) {
  for (;;) {
    const auto end = signed_headers.find(';');
    if (http::equal_ignoring_case(signed_headers.substr(0, end), name)) return true;
    if (end == std::string_view::npos) return false;
    signed_headers.remove_prefix(end + 1);
  }
}

/// Fields whose content is part of the string to sign anyway; and the session token, which some clients add after signing:
/// it holds for its own access key only, and that is signed.
bool is_covered(std::string_view name) {
  return http::equal_ignoring_case(name, "x-amz-date") || http::equal_ignoring_case(name, "x-amz-content-sha256") ||
         http::equal_ignoring_case(name, "x-amz-security-token");
}

/// An X-Amz-* field that the signature does not cover: whoever is between could have put it in. [SigV4 canonical headers]
std::optional<Error> check_signed_fields(const RequestView& request, std::string_view signed_headers) {
  constexpr std::string_view kPrefix = "x-amz-";
  const auto unsigned_field = [](std::string_view name) {
    return Error{Reason::Incomplete, fmt::format("'{}' must be a 'SignedHeader' in the AWS Authorization.", name)};
  };
  if (signed_headers.size() > kSignedHeadersBytesMax)
    return Error{Reason::Incomplete, fmt::format("SignedHeaders has {} bytes, {} are accepted.", signed_headers.size(), kSignedHeadersBytesMax)};
  if (!signs(signed_headers, "host")) return unsigned_field("Host' or ':authority");
  for (const auto& field : request.headers) {
    if (field.name.size() <= kPrefix.size() ||
        !http::equal_ignoring_case(field.name.substr(0, kPrefix.size()), kPrefix) || is_covered(field.name))
      continue;
    if (!signs(signed_headers, field.name)) return unsigned_field(field.name.substr(0, 64));
  }
  return std::nullopt;
}

Error mismatch(const RequestView& request, const Authorization& authorization, std::string_view payload_hash) {
  std::string canonical;
  append_canonical_request(canonical, request, authorization.signed_headers, payload_hash);
  const auto to_sign = string_to_sign(canonical, authorization.time, authorization.region, authorization.service);
  for (const auto& token :
       {std::string(authorization.session_token), digest::percent_encode(authorization.session_token)}) {
    auto at = token.empty() ? std::string::npos : canonical.find(token);
    for (; at != std::string::npos; at = canonical.find(token, at + 3)) canonical.replace(at, token.size(), "...");
  }
  return {Reason::Mismatch, fmt::format("The request signature we calculated does not match the signature you "
                                        "provided. Check your AWS Secret Access Key and "
                                        "signing method. Consult the service documentation for details.\n\nThe "
                                        "Canonical String for this request should have "
                                        "been\n'{}'\n\nThe String-to-Sign should have been\n'{}'\n",
                                        canonical, to_sign)};
}

}  // namespace

Result<Authorization, Error> read_authorization(const RequestView& request, http::Form& query) {
  if (const auto header = request.headers.find("authorization")) {
    if (request.headers.count("authorization") > 1)
      return Error{Reason::Incomplete, "The Authorization header stands twice."};
    return read_header(request, *header);
  }
  if (request.query.find("X-Amz-") != std::string_view::npos && !query.parse(request.query)) {
    for (const auto* name : {"X-Amz-Signature", "X-Amz-Credential", "X-Amz-Algorithm"}) {
      if (query.find(name)) return read_query(query);
    }
  }
  return Error{Reason::Missing, "Request is missing Authentication Token"};
}

Result<Success, Error> verify(const RequestView& request, const Authorization& authorization, std::string_view secret,
                              Timestamp now, SigningKeyCache& cache, std::string& scratch,
                              const VerifyOptions& options) {
  if (auto wrong = check_signed_fields(request, authorization.signed_headers)) return std::move(*wrong);
  if (auto wrong = check_time(authorization, now, options.skew_max)) return std::move(*wrong);

  const auto claimed = request.headers.find("x-amz-content-sha256");
  std::array<char, 64> body_hash;
  std::string_view payload_hash = kUnsignedPayload;
  if (claimed != kUnsignedPayload || !options.unsigned_payload_allowed) {
    body_hash = digest::hex_array(digest::sha256(request.body));
    payload_hash = {body_hash.data(), body_hash.size()};
    if (claimed && !http::equal_ignoring_case(*claimed, payload_hash)) {
      return Error{Reason::WrongPayload,
                   fmt::format("The provided 'x-amz-content-sha256' header does not match what was computed: "
                               "'{}', computed '{}'",
                               *claimed, payload_hash)};
    }
  }

  scratch.clear();
  append_canonical_request(scratch, request, authorization.signed_headers, payload_hash);
  const auto canonical_hash = digest::sha256(scratch);
  scratch.clear();
  append_string_to_sign(scratch, canonical_hash, authorization.time, authorization.region, authorization.service);

  const auto* kept = cache.find(authorization.credential, secret);
  const auto key = kept != nullptr
                       ? *kept
                       : derive_signing_key(secret, authorization.date, authorization.region, authorization.service);
  const auto expected = digest::hex_array(key(scratch));
  if (!digest::equal_in_constant_time({expected.data(), expected.size()}, authorization.signature)) {
    return mismatch(request, authorization, payload_hash);
  }
  if (kept == nullptr) cache.keep(authorization.credential, secret, key);
  return Success{};
}

}  // namespace fanfare::wire::sigv4
