// AWS Signature Version 4, both sides: the signer (Authorization header, presigned query) and the verifier.
//
// Rule 1: the request is taken as it stands on the wire: path and query still encoded. The path is normalised and
// encoded
//         once more, as every service but S3 wants it; so a client's double encoding comes out the same here.
// Rule 2: signatures are compared in constant time; a signing key is kept only after a signature made with it was
// right, so
//         nobody without the secret can fill the cache.
// Rule 3: nothing that decides stands twice or unsigned: two Authorization fields, a parameter given twice and an X-Amz-*
//         field that the signature does not cover are refused.
// Rule 4: no error repeats what could be a secret: an Authorization field appears only as its hash, a session token not
// at all. Source: [AWS IAM User Guide, Signature Version 4 for API requests].
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "wire/digest/digest.h"
#include "wire/http/headers.h"
#include "wire/http/url.h"

namespace fanfare::wire::sigv4 {

inline constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
/// Presigned requests are valid for a week at most.
inline constexpr seconds kExpiresMax{604800};

/// What is signed. Views.
struct RequestView {
  std::string_view method;  ///< `POST`
  std::string_view path;    ///< `/000000000000/orders`, as on the wire
  std::string_view query;   ///< `a=b&c=d%20e`, as on the wire, without `?`
  http::Headers headers;    ///< with Host
  std::string_view body;
};

/// `20150830T123600Z`
std::string amz_date(Timestamp time);
std::optional<Timestamp> parse_amz_date(std::string_view text);

/// Signing keys that have proved right, by credential scope. Not thread-safe: one a loop. Bounded; forgets everything
/// when full, which costs a microsecond a key.
class SigningKeyCache {
 public:
  explicit SigningKeyCache(std::size_t entries_max = 1024) : entries_max_(entries_max) {}

  /// The key of `credential`, or null pointer if none is kept, or if it came from another secret.
  [[nodiscard]] const digest::HmacSha256* find(std::string_view credential, std::string_view secret) const;
  void keep(std::string_view credential, std::string_view secret, const digest::HmacSha256& key);
  [[nodiscard]] std::size_t size() const { return keys_.size(); }

 private:
  struct Entry {
    std::string secret;
    digest::HmacSha256 key;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::size_t entries_max_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> keys_;
};

/// HMAC chain AWS4+secret -> date -> region -> service -> aws4_request. `date` is `20150830`.
digest::HmacSha256 derive_signing_key(std::string_view secret, std::string_view date, std::string_view region,
                                      std::string_view service);

// ---- Signer ----

struct Credentials {
  std::string access_key_id;
  std::string secret;
  std::string session_token;  ///< empty for a long-lived key
};

/// Where and when a signature holds.
struct Scope {
  std::string_view region;   ///< `us-east-1`
  std::string_view service;  ///< `sqs`
  Timestamp time;
};

/// What must be added to the request after signing.
struct SignedFields {
  std::string date;           ///< value of X-Amz-Date
  std::string session_token;  ///< value of X-Amz-Security-Token; empty: no field
  std::string authorization;  ///< value of Authorization
};

/// Signs all fields of the request but those that proxies change (Authorization, Connection, Content-Length, Expect,
/// Transfer-Encoding, User-Agent, X-Amzn-Trace-Id); X-Amz-Date and X-Amz-Security-Token already there are replaced.
/// Sign anew at every retry.
SignedFields sign(const RequestView& request, const Credentials& credentials, const Scope& scope,
                  SigningKeyCache& cache);

/// The query of a presigned request, X-Amz-Signature last. Of the fields, Host and X-Amz-* are signed. `expires` from 1 s to
/// kExpiresMax.
std::string presign(const RequestView& request, const Credentials& credentials, const Scope& scope, seconds expires,
                    SigningKeyCache& cache);

// ---- Verifier ----

enum class Reason {
  Missing,        ///< the request carries no signature at all: MissingAuthenticationToken
  Incomplete,     ///< a part is missing or cannot be read: IncompleteSignature
  WrongScope,     ///< the credential is for another day, region or service: SignatureDoesNotMatch
  Expired,        ///< older than the skew allows, or presigned and run out: RequestExpired / SignatureDoesNotMatch
  NotYetCurrent,  ///< from the future: SignatureDoesNotMatch
  WrongPayload,   ///< x-amz-content-sha256 is not the hash of the body
  Mismatch,       ///< another signature was computed: SignatureDoesNotMatch; the message shows what was signed here
};

struct Error {
  Reason reason;
  std::string message;  ///< in AWS's words: `Authorization header requires 'Signature' parameter. ...`
};

/// A request's signature, taken apart but not checked. Views into the request, and into the Form given for presigned
/// ones.
struct Authorization {
  bool presigned = false;
  std::string_view credential;     ///< `AKIDEXAMPLE/20150830/us-east-1/sqs/aws4_request`
  std::string_view access_key_id;  ///< `AKIDEXAMPLE`
  std::string_view date;           ///< `20150830`
  std::string_view region;
  std::string_view service;
  std::string_view signed_headers;  ///< `host;x-amz-date`
  std::string_view signature;       ///< 64 hexadecimal digits, not checked
  std::string_view session_token;   ///< empty if there is none
  Timestamp time;
  seconds expires{0};  ///< presigned only; 0: not given, then the skew limits the time
};

/// Reads the Authorization field, else the X-Amz-* parameters of the query. `query` is filled only for the latter and
/// must outlive the result. Errors: Missing, Incomplete (also: a part stands twice), WrongScope (day and terminator).
Result<Authorization, Error> read_authorization(const RequestView& request, http::Form& query);

struct VerifyOptions {
  seconds skew_max{15 * 60};
  /// x-amz-content-sha256: UNSIGNED-PAYLOAD, with which any body fits the signature. Only S3 takes it.
  bool unsigned_payload_allowed = false;
};

/// Checks time and signature. The caller has found the secret of `authorization.access_key_id` and compares region and
/// service as it sees fit. `scratch` is a buffer to reuse. Errors: Expired, NotYetCurrent, Incomplete (Host or an X-Amz-*
/// field not signed; X-Amz-Date and X-Amz-Content-SHA256 are covered by the string to sign, X-Amz-Security-Token by the
/// key), WrongPayload, Mismatch.
Result<Success, Error> verify(const RequestView& request, const Authorization& authorization, std::string_view secret,
                              Timestamp now, SigningKeyCache& cache, std::string& scratch,
                              const VerifyOptions& options = {});

// ---- The steps between, for tests and for explaining a mismatch ----

/// Appends the canonical request. `signed_headers` is `a;b;c` in lower case; `payload_hash` its last line.
/// The parameter X-Amz-Signature is left out of the query.
void append_canonical_request(std::string& out, const RequestView& request, std::string_view signed_headers,
                              std::string_view payload_hash);

/// `AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/sqs/aws4_request\n` and the hash of the canonical request.
std::string string_to_sign(std::string_view canonical_request, Timestamp time, std::string_view region,
                           std::string_view service);

}  // namespace fanfare::wire::sigv4
