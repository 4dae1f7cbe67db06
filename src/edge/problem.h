// Problem documents of the edge. docs/problems.md explains each type; the types are stable.
// Source: [RFC 9457].
#pragma once

#include <string>
#include <string_view>

namespace fanfare::edge {

enum class ProblemType {
  NoToken,              ///< 401: the call needs a token and has none.
  BadToken,             ///< 401: the token cannot be verified or has expired.
  WorkspaceNotAllowed,  ///< 403: the token does not name the workspace.
  ScopeNotAllowed,      ///< 403: the token lacks the scope, or names no person where one is needed.
  OriginNotAllowed,     ///< 403: a browser page of a foreign origin.
  BadInput,             ///< 400: a member, parameter or cursor is missing or wrong.
  BadJson,              ///< 400: the body is no JSON object.
  UnknownCursor,        ///< 400: `up_to` is no cursor of this inbox.
  NotFound,             ///< 404: no such path.
  MethodNotAllowed,     ///< 405: the path exists, with other methods.
  KeyConflict,          ///< 409: the idempotency key was used with another body.
  TooManyEntries,       ///< 413: more entries than a list may have.
  BodyTooLarge,         ///< 413: more bytes than a body may have.
  TooManyRequests,      ///< 429: later again.
  NotImplemented,       ///< 501: known, and not served by this program.
  StorageUnavailable,   ///< 503: nothing was stored; try again.
};

/// "urn:fanfare:problem:key-conflict"
std::string_view type_uri(ProblemType type);
int status_of(ProblemType type);
/// "The idempotency key was used with another body"
std::string_view title_of(ProblemType type);

/// {"type":"urn:fanfare:problem:bad-input","title":"...","status":400,"detail":"limit: 0, accepted are 1 to 200"}
std::string problem_body(ProblemType type, std::string_view detail);

}  // namespace fanfare::edge
