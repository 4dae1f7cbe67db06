#include "edge/problem.h"

#include "wire/json/writer.h"

namespace fanfare::edge {
namespace {

struct Row {
  std::string_view uri;
  int status;
  std::string_view title;
};

Row row_of(ProblemType type) {
  switch (type) {
    case ProblemType::NoToken: return {"urn:fanfare:problem:no-token", 401, "The call needs a bearer token"};
    case ProblemType::BadToken: return {"urn:fanfare:problem:bad-token", 401, "The token cannot be verified"};
    case ProblemType::WorkspaceNotAllowed:
      return {"urn:fanfare:problem:workspace-not-allowed", 403, "The token does not name the workspace"};
    case ProblemType::ScopeNotAllowed:
      return {"urn:fanfare:problem:scope-not-allowed", 403, "The token does not allow this call"};
    case ProblemType::OriginNotAllowed:
      return {"urn:fanfare:problem:origin-not-allowed", 403, "The page's origin is not allowed"};
    case ProblemType::BadInput:
      return {"urn:fanfare:problem:bad-input", 400, "A member or parameter is missing or wrong"};
    case ProblemType::BadJson: return {"urn:fanfare:problem:bad-json", 400, "The body is no JSON object"};
    case ProblemType::UnknownCursor:
      return {"urn:fanfare:problem:unknown-cursor", 400, "The cursor does not belong to this inbox"};
    case ProblemType::NotFound: return {"urn:fanfare:problem:not-found", 404, "There is no such path"};
    case ProblemType::MethodNotAllowed:
      return {"urn:fanfare:problem:method-not-allowed", 405, "The path does not know this method"};
    case ProblemType::KeyConflict:
      return {"urn:fanfare:problem:key-conflict", 409, "The idempotency key was used with another body"};
    case ProblemType::TooManyEntries:
      return {"urn:fanfare:problem:too-many-entries", 413, "A list has more entries than are accepted"};
    case ProblemType::BodyTooLarge:
      return {"urn:fanfare:problem:body-too-large", 413, "The body has more bytes than are accepted"};
    case ProblemType::TooManyRequests: return {"urn:fanfare:problem:too-many-requests", 429, "Too many requests"};
    case ProblemType::NotImplemented:
      return {"urn:fanfare:problem:not-implemented", 501, "This program does not serve the call"};
    case ProblemType::StorageUnavailable:
      return {"urn:fanfare:problem:storage-unavailable", 503, "The store did not take the request"};
  }
  return {};
}

}  // namespace

std::string_view type_uri(ProblemType type) { return row_of(type).uri; }
int status_of(ProblemType type) { return row_of(type).status; }
std::string_view title_of(ProblemType type) { return row_of(type).title; }

std::string problem_body(ProblemType type, std::string_view detail) {
  const Row row = row_of(type);
  std::string out;
  wire::json::Writer writer{out};
  writer.begin_object().key("type").string(row.uri).key("title").string(row.title).key("status").integer(row.status);
  if (!detail.empty()) writer.key("detail").string(detail);
  writer.end_object();
  return out;
}

}  // namespace fanfare::edge
