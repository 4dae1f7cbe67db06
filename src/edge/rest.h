// REST under /v1: a request becomes a command for the inbox store (or an answer at once), and its answers a response.
// Rule 1: no I/O, clock or thread; views of the request are not kept.
// Rule 2: every call needs a token; whoever may not is refused before the body is looked at.
// Rule 3: a token's workspaces bound everything: ids in other workspaces are as good as unknown.
// Source: docs/rest.md, the table of paths.
//
//   EdgeCommand command = rest.handle(request, now, secrets);
//   Respond:    write response
//   AskStore:   worker.submit(operations, [plan](answers) { write rest.answer(plan, answers); })
//               and give live_changes(operations, answers) to the sessions                         (edge/events.h)
//   OpenEvents: write the head of the stream, then sessions.open(...)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "core/inbox/operations.h"
#include "edge/caller.h"
#include "edge/problem.h"
#include "wire/http/request.h"

namespace fanfare::edge {

struct RestRules {
  bool development = true;                   ///< Any loopback origin is allowed.
  std::vector<std::string> allowed_origins;  ///< "https://app.example.com"; "*" allows all.
  std::size_t body_bytes_max = 8 * 1024 * 1024;
};

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  ///< With Content-Type and CORS, without Content-Length.
  std::string body;
};

/// How the answers of the operations become the response.
struct ResponsePlan {
  enum class Call : std::uint8_t { Create, CreateBatch, List, Counts, Mark, MarkUpTo } call = Call::Create;
  std::string origin;  ///< Allowed origin to name in the response; empty: none.
  /// CreateBatch: for each entry the index of its operation, or -1 and why it has none.
  struct Entry {
    int operation = -1;
    ProblemType problem = ProblemType::BadInput;
    std::string detail;
  };
  std::vector<Entry> entries;
};

struct Respond {
  Response response;
};
/// `operations` is empty when every entry of a batch was refused: answer at once with no answers.
struct AskStore {
  std::vector<inbox::Operation> operations;
  ResponsePlan plan;
};
struct OpenEvents {
  inbox::InboxKey inbox;
  std::optional<inbox::Cursor> after;
  Caller caller;
  std::vector<std::pair<std::string, std::string>> headers;  ///< Of the 200 that opens the stream.
};
using EdgeCommand = std::variant<Respond, AskStore, OpenEvents>;

class Rest {
 public:
  /// `verifier` outlives this.
  Rest(RestRules rules, const TokenVerifier& verifier);

  /// Whether a path is this API's: "/v1/..." or "/v1".
  static bool owns(std::string_view path);

  /// `secrets` makes the ids of new notifications. Thread-safe if `secrets` is the caller's own.
  [[nodiscard]] EdgeCommand handle(const wire::http::Request& request, Timestamp now, Secrets& secrets) const;

  /// `answers` stand at the places of AskStore::operations.
  [[nodiscard]] Response answer(const ResponsePlan& plan, std::span<const inbox::Answer> answers) const;

  /// The store could not do it: 503.
  [[nodiscard]] Response storage_failed(const ResponsePlan& plan, std::string_view detail) const;

  /// A problem document with the headers that its status wants.
  [[nodiscard]] Response problem(ProblemType type, std::string_view detail, std::string_view origin = {}) const;

  /// The origin to name in Access-Control-Allow-Origin; nullopt: not allowed. An absent Origin gives "".
  [[nodiscard]] std::optional<std::string> allowed_origin(const wire::http::Request& request) const;

 private:
  RestRules rules_;
  const TokenVerifier* verifier_;  ///< Never null.
};

}  // namespace fanfare::edge
