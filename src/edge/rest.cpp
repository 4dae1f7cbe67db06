#include "edge/rest.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/assert.h"
#include "edge/notification_body.h"
#include "wire/http/url.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::edge {
namespace {

using wire::json::Value;
using Call = ResponsePlan::Call;
using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// Why a request is refused; becomes a problem document.
struct Problem {
  ProblemType type = ProblemType::BadInput;
  std::string detail;
};

enum class Route : std::uint8_t {
  Create,
  CreateBatch,
  List,
  Counts,
  Read,
  Archive,
  Acknowledge,
  ReadAll,
  Seen,
  Events,
  Later
};

struct RouteRow {
  std::string_view path;
  std::string_view method;
  Route route;
};
constexpr std::array kRoutes = {
    RouteRow{"/v1/notifications", "POST", Route::Create},
    RouteRow{"/v1/notifications/batch", "POST", Route::CreateBatch},
    RouteRow{"/v1/inbox", "GET", Route::List},
    RouteRow{"/v1/inbox/counts", "GET", Route::Counts},
    RouteRow{"/v1/inbox/read", "POST", Route::Read},
    RouteRow{"/v1/inbox/archive", "POST", Route::Archive},
    RouteRow{"/v1/inbox/acknowledge", "POST", Route::Acknowledge},
    RouteRow{"/v1/inbox/read-all", "POST", Route::ReadAll},
    RouteRow{"/v1/inbox/seen", "POST", Route::Seen},
    RouteRow{"/v1/events", "GET", Route::Events},
    RouteRow{"/v1/presence", "PUT", Route::Later},
    RouteRow{"/v1/presence", "GET", Route::Later},
    RouteRow{"/v1/presence", "DELETE", Route::Later},
    RouteRow{"/v1/signals", "POST", Route::Later},
};

HeaderList cors_headers(const std::string& origin) {
  if (origin.empty()) return {};
  return {{"Access-Control-Allow-Origin", origin}, {"Vary", "Origin"}};
}

Response json_response(int status, const std::string& origin, std::string body) {
  Response response{status, cors_headers(origin), std::move(body)};
  response.headers.emplace_back("Content-Type", "application/json");
  response.headers.emplace_back("Cache-Control", "no-store");  // what a person sees depends on the token
  return response;
}

ProblemType problem_of(inbox::InputFault fault) {
  switch (fault) {
    case inbox::InputFault::NotJson: return ProblemType::BadJson;
    case inbox::InputFault::TooMany: return ProblemType::TooManyEntries;
    case inbox::InputFault::Missing:
    case inbox::InputFault::WrongType:
    case inbox::InputFault::TooLong:
    case inbox::InputFault::BadCharacter:
    case inbox::InputFault::Contradiction: return ProblemType::BadInput;
  }
  return ProblemType::BadInput;
}
Problem problem_of(const inbox::InputError& error) { return {problem_of(error.fault), error.detail}; }

Problem problem_of(inbox::Refusal refusal) {
  switch (refusal) {
    case inbox::Refusal::KeyConflict:
      return {ProblemType::KeyConflict,
              "idempotency_key: was used with another body; send that body, or take a new key"};
    case inbox::Refusal::UnknownCursor:
      return {ProblemType::UnknownCursor, "up_to: is no cursor of this inbox; take the `cursor` of a list answer"};
  }
  return {};
}

Result<Value, Problem> parse_object(std::string_view body) {
  auto parsed = wire::json::parse(body);
  if (!parsed) return Problem{ProblemType::BadJson, parsed.error().message()};
  if (!parsed->is_object())
    return Problem{ProblemType::BadJson,
                   "the body must be an object, not " + std::string{wire::json::describe(parsed->kind())}};
  return *std::move(parsed);
}

/// A list member with at most `entries_max` entries.
Result<const Value*, Problem> list_member(const Value& object, std::string_view member, std::size_t entries_max) {
  const Value* const list = object.find(member);
  if (list == nullptr || !list->is_array())
    return Problem{ProblemType::BadInput,
                   std::string{member} + ": must be a list of at most " + std::to_string(entries_max) + " entries"};
  if (list->size() > entries_max)
    return Problem{ProblemType::TooManyEntries, std::string{member} + ": " + std::to_string(list->size()) +
                                                    " entries, at most " + std::to_string(entries_max) +
                                                    " are accepted"};
  return list;
}

/// One request whose path, method and token are good.
class Handling {
 public:
  Handling(const wire::http::Request& request, const wire::http::Form& query, const Caller& caller, std::string origin,
           Timestamp now, Secrets& secrets)
      : request_(request), query_(query), caller_(caller), origin_(std::move(origin)), now_(now), secrets_(secrets) {}

  Result<EdgeCommand, Problem> run(Route route) {
    switch (route) {
      case Route::Create: return create();
      case Route::CreateBatch: return create_batch();
      case Route::List: return list();
      case Route::Counts: return counts();
      case Route::Read: return mark(inbox::Mark::Act::Read);
      case Route::Archive: return mark(inbox::Mark::Act::Archive);
      case Route::Acknowledge: return mark(inbox::Mark::Act::Acknowledge);
      case Route::ReadAll: return mark_up_to(inbox::MarkUpTo::Act::Read);
      case Route::Seen: return mark_up_to(inbox::MarkUpTo::Act::Seen);
      case Route::Events: return events();
      case Route::Later: break;
    }
    return Problem{ProblemType::NotImplemented,
                   std::string{request_.path} + ": presence and signals are not served yet"};
  }

 private:
  EdgeCommand ask(Call call, inbox::Operation operation) {
    AskStore command;
    command.operations.push_back(std::move(operation));
    command.plan.call = call;
    command.plan.origin = origin_;
    return command;
  }

  inbox::NotificationId fresh_id() { return inbox::fresh_id(now_, secrets_.bytes16()); }

  Result<EdgeCommand, Problem> create() {
    if (!caller_.may_notify)
      return Problem{ProblemType::ScopeNotAllowed, "creating notifications needs a token with the scope `notify`"};
    const auto body = parse_object(request_.body);
    if (!body) return body.error();
    auto intent = read_notification(*body);
    if (!intent) return problem_of(intent.error());
    return ask(Call::Create, inbox::Create{*std::move(intent), fresh_id()});
  }

  Result<EdgeCommand, Problem> create_batch() {
    if (!caller_.may_notify)
      return Problem{ProblemType::ScopeNotAllowed, "creating notifications needs a token with the scope `notify`"};
    const auto body = parse_object(request_.body);
    if (!body) return body.error();
    const auto entries = list_member(*body, "notifications", inbox::kBatchMax);
    if (!entries) return entries.error();
    AskStore command;
    command.plan.call = Call::CreateBatch;
    command.plan.origin = origin_;
    std::size_t items = 0;
    for (const Value& entry : (*entries)->items()) {
      auto intent = read_notification(entry);
      if (!intent) {
        // Inside a batch an entry that is no object is a fault of the entry, not of the body.
        const ProblemType type = intent.error().fault == inbox::InputFault::NotJson ? ProblemType::BadInput
                                                                                    : problem_of(intent.error().fault);
        command.plan.entries.push_back({-1, type, intent.error().detail});
        continue;
      }
      items += intent->recipients.size();
      if (items > inbox::kFanOutMax)
        return Problem{ProblemType::TooManyEntries, "recipients: all notifications of a batch together may have " +
                                                        std::to_string(inbox::kFanOutMax)};
      command.plan.entries.push_back({static_cast<int>(command.operations.size()), ProblemType::BadInput, {}});
      command.operations.push_back(inbox::Create{*std::move(intent), fresh_id()});
    }
    return EdgeCommand{std::move(command)};
  }

  /// The caller's inbox in this workspace, if both may be.
  Result<inbox::InboxKey, Problem> inbox_in(std::optional<std::string_view> workspace) {
    if (!caller_.person)
      return Problem{ProblemType::ScopeNotAllowed, "an inbox belongs to a person, and the token names none (`sub`)"};
    if (!workspace) return Problem{ProblemType::BadInput, "workspace: is missing; a text is needed"};
    if (auto error = inbox::check_identifier("workspace", *workspace, inbox::kWorkspaceBytesMax))
      return problem_of(*error);
    inbox::InboxKey key{*caller_.person, inbox::Workspace{*workspace}};
    if (!caller_.holds(key.workspace))
      return Problem{ProblemType::WorkspaceNotAllowed, "workspace: the token does not name this one"};
    return key;
  }

  Result<bool, Problem> flag(std::string_view name) {
    const auto value = query_.find(name);
    if (!value || *value == "false" || *value == "0") return false;
    if (value->empty() || *value == "true" || *value == "1") return true;
    return Problem{ProblemType::BadInput, std::string{name} + ": must be true or false"};
  }

  /// A cursor of a request. A text that is no cursor is one of no store: it gets the answer of an unknown one.
  static std::optional<inbox::Cursor> cursor_of(std::optional<std::string_view> text) {
    if (!text || text->empty()) return std::nullopt;
    return inbox::Cursor::parse(*text).value_or(inbox::Cursor{});
  }

  Result<EdgeCommand, Problem> list() {
    const auto key = inbox_in(query_.find("workspace"));
    if (!key) return key.error();
    inbox::ListPage page;
    page.inbox = *key;
    page.acknowledge = true;
    page.after = cursor_of(query_.find("after"));
    if (const auto limit = query_.find("limit")) {
      const auto read = std::from_chars(limit->data(), limit->data() + limit->size(), page.limit);
      if (read.ec != std::errc{} || read.ptr != limit->data() + limit->size() || page.limit < 1 ||
          page.limit > inbox::kPageMax)
        return Problem{ProblemType::BadInput, "limit: must be a number from 1 to " + std::to_string(inbox::kPageMax)};
    }
    const auto unread = flag("unread");
    if (!unread) return unread.error();
    const auto archived = flag("archived");
    if (!archived) return archived.error();
    page.unread_only = *unread;
    page.archived = *archived;
    if (const auto kind = query_.find("kind")) {
      if (auto error = inbox::check_identifier("kind", *kind, inbox::kKindBytesMax)) return problem_of(*error);
      page.kind = inbox::Kind{*kind};
    }
    return ask(Call::List, std::move(page));
  }

  Result<EdgeCommand, Problem> counts() {
    const auto key = inbox_in(query_.find("workspace"));
    if (!key) return key.error();
    return ask(Call::Counts, inbox::ReadHead{*key});
  }

  Result<EdgeCommand, Problem> mark(inbox::Mark::Act act) {
    if (!caller_.person)
      return Problem{ProblemType::ScopeNotAllowed, "an inbox belongs to a person, and the token names none (`sub`)"};
    const auto body = parse_object(request_.body);
    if (!body) return body.error();
    const auto ids = list_member(*body, "ids", inbox::kIdsMax);
    if (!ids) return ids.error();
    inbox::Mark operation{act, *caller_.person, caller_.workspaces, {}};
    operation.ids.reserve((*ids)->size());
    for (const Value& entry : (*ids)->items()) {
      const auto text = entry.as_string();
      const auto id = text ? Uuid::parse(*text) : std::nullopt;
      if (!id)
        return Problem{ProblemType::BadInput, "ids: entry " + std::to_string(operation.ids.size()) +
                                                  " is no notification id (a UUID in a text)"};
      operation.ids.push_back(inbox::NotificationId{*id});
    }
    return ask(Call::Mark, std::move(operation));
  }

  Result<EdgeCommand, Problem> mark_up_to(inbox::MarkUpTo::Act act) {
    const auto body = parse_object(request_.body);
    if (!body) return body.error();
    const auto key = inbox_in(body->find_string("workspace"));
    if (!key) return key.error();
    const auto up_to = body->find_string("up_to");
    if (!up_to) return Problem{ProblemType::BadInput, "up_to: must be a text, the `cursor` of a list answer"};
    const auto cursor = inbox::Cursor::parse(*up_to);
    if (!cursor) return problem_of(inbox::Refusal::UnknownCursor);
    return ask(Call::MarkUpTo, inbox::MarkUpTo{act, *key, *cursor});
  }

  Result<EdgeCommand, Problem> events() {
    const auto key = inbox_in(query_.find("workspace"));
    if (!key) return key.error();
    OpenEvents command;
    command.inbox = *key;
    // The header goes first: a browser that reconnects sends it, and the same URL as before.
    command.after = cursor_of(request_.headers.find("Last-Event-ID"));
    if (!command.after) command.after = cursor_of(query_.find("last_event_id"));
    command.caller = caller_;
    command.headers = cors_headers(origin_);
    command.headers.emplace_back("Content-Type", "text/event-stream");
    command.headers.emplace_back("Cache-Control", "no-store");
    command.headers.emplace_back("X-Accel-Buffering", "no");  // nginx would hold events back
    return EdgeCommand{std::move(command)};
  }

  const wire::http::Request& request_;
  const wire::http::Form& query_;
  const Caller& caller_;
  std::string origin_;
  Timestamp now_;
  Secrets& secrets_;
};

/// What follows "Bearer "; nullopt: there is no Authorization field; empty: it is of another kind.
std::optional<std::string_view> bearer_token(const wire::http::Request& request) {
  const auto field = request.headers.find("Authorization");
  if (!field) return std::nullopt;
  constexpr std::string_view kScheme = "Bearer ";
  if (field->size() <= kScheme.size() || !wire::http::equal_ignoring_case(field->substr(0, kScheme.size()), kScheme))
    return std::string_view{};
  std::string_view token = field->substr(kScheme.size());
  while (!token.empty() && token.front() == ' ') token.remove_prefix(1);
  return token;
}

std::string_view why(TokenError error) {
  switch (error) {
    case TokenError::Unreadable: return "the token is of no kind that is accepted here";
    case TokenError::BadSignature: return "the token's signature is not of a known key";
    case TokenError::Expired: return "the token has expired";
  }
  return {};
}

void append_error(wire::json::Writer& writer, const Problem& problem) {
  writer.begin_object().key("error").begin_object();
  writer.key("type").string(type_uri(problem.type)).key("detail").string(problem.detail).end_object().end_object();
}

void append_created(wire::json::Writer& writer, const inbox::Created& created) {
  writer.begin_object().key("id").string(created.id.str()).key("duplicate").boolean(created.duplicate).end_object();
}

}  // namespace

Rest::Rest(RestRules rules, const TokenVerifier& verifier) : rules_(std::move(rules)), verifier_(&verifier) {}

bool Rest::owns(std::string_view path) { return path == "/v1" || path.substr(0, 4) == "/v1/"; }

std::optional<std::string> Rest::allowed_origin(const wire::http::Request& request) const {
  const auto origin = request.headers.find("Origin");
  if (!origin) return std::string{};
  for (const std::string& allowed : rules_.allowed_origins)
    if (allowed == "*" || wire::http::equal_ignoring_case(allowed, *origin)) return std::string{*origin};
  const auto url = wire::http::parse_url(*origin);
  if (!url) return std::nullopt;
  const bool loopback = rules_.development && wire::http::is_loopback_host(url->host);
  // A page of this very server, perhaps behind a proxy, needs no configuration.
  const bool same = !request.authority.empty() && wire::http::equal_ignoring_case(url->authority(), request.authority);
  if (loopback || same) return std::string{*origin};
  return std::nullopt;
}

Response Rest::problem(ProblemType type, std::string_view detail, std::string_view origin) const {
  Response response{status_of(type), cors_headers(std::string{origin}), problem_body(type, detail)};
  response.headers.emplace_back("Content-Type", "application/problem+json");
  response.headers.emplace_back("Cache-Control", "no-store");
  if (type == ProblemType::NoToken) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (type == ProblemType::BadToken)
    response.headers.emplace_back("WWW-Authenticate", "Bearer error=\"invalid_token\"");
  if (type == ProblemType::StorageUnavailable || type == ProblemType::TooManyRequests)
    response.headers.emplace_back("Retry-After", "1");
  return response;
}

EdgeCommand Rest::handle(const wire::http::Request& request, Timestamp now, Secrets& secrets) const {
  const auto origin = allowed_origin(request);
  if (!origin) return Respond{problem(ProblemType::OriginNotAllowed, "add the page's origin to edge.allowed_origins")};

  std::string methods;
  const RouteRow* found = nullptr;
  for (const RouteRow& row : kRoutes) {
    if (row.path != request.path) continue;
    methods += (methods.empty() ? "" : ", ") + std::string{row.method};
    if (row.method == request.method) found = &row;
  }
  if (methods.empty())
    return Respond{
        problem(ProblemType::NotFound, std::string{request.path} + ": docs/rest.md lists the paths", *origin)};
  methods += ", OPTIONS";
  if (request.method == "OPTIONS") {
    Response preflight{204, cors_headers(*origin), {}};
    preflight.headers.emplace_back("Allow", methods);
    if (!origin->empty()) {
      preflight.headers.emplace_back("Access-Control-Allow-Methods", methods);
      preflight.headers.emplace_back("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID");
      preflight.headers.emplace_back("Access-Control-Max-Age", "600");
    }
    return Respond{std::move(preflight)};
  }
  if (found == nullptr) {
    Response response = problem(ProblemType::MethodNotAllowed,
                                std::string{request.path} + ": accepted methods are " + methods, *origin);
    response.headers.emplace_back("Allow", methods);
    return Respond{std::move(response)};
  }

  wire::http::Form query;
  if (const auto bad = query.parse(request.query))
    return Respond{problem(ProblemType::BadInput,
                           "the query has a % without two hexadecimal digits at byte " + std::to_string(*bad),
                           *origin)};

  auto token = bearer_token(request);
  // A browser's EventSource cannot set header fields.
  if (!token && found->route == Route::Events) token = query.find("access_token");
  if (!token) return Respond{problem(ProblemType::NoToken, "send `Authorization: Bearer TOKEN`", *origin)};
  const auto caller = verifier_->verify(*token, now);
  if (!caller) return Respond{problem(ProblemType::BadToken, why(caller.error()), *origin)};

  if (request.body.size() > rules_.body_bytes_max)
    return Respond{problem(ProblemType::BodyTooLarge,
                           "the body has " + std::to_string(request.body.size()) + " bytes, at most " +
                               std::to_string(rules_.body_bytes_max) + " are accepted",
                           *origin)};
  auto command = Handling{request, query, *caller, *origin, now, secrets}.run(found->route);
  if (!command) return Respond{problem(command.error().type, command.error().detail, *origin)};
  return *std::move(command);
}

Response Rest::storage_failed(const ResponsePlan& plan, std::string_view detail) const {
  return problem(ProblemType::StorageUnavailable, detail, plan.origin);
}

Response Rest::answer(const ResponsePlan& plan, std::span<const inbox::Answer> answers) const {
  FANFARE_ASSERT(plan.call == Call::CreateBatch || answers.size() == 1);
  std::string body;
  wire::json::Writer writer{body};
  if (plan.call == Call::CreateBatch) {
    writer.begin_object().key("results").begin_array();
    for (const ResponsePlan::Entry& entry : plan.entries) {
      if (entry.operation < 0) {
        append_error(writer, {entry.problem, entry.detail});
        continue;
      }
      const inbox::Answer& answer = answers[static_cast<std::size_t>(entry.operation)];
      if (const auto* refused = std::get_if<inbox::Refused>(&answer)) {
        append_error(writer, problem_of(refused->refusal));
      } else {
        append_created(writer, std::get<inbox::Created>(answer));
      }
    }
    writer.end_array().end_object();
    return json_response(200, plan.origin, std::move(body));
  }
  if (const auto* refused = std::get_if<inbox::Refused>(&answers[0])) {
    const Problem refusal = problem_of(refused->refusal);
    return problem(refusal.type, refusal.detail, plan.origin);
  }
  int status = 200;
  switch (plan.call) {
    case Call::Create: {
      const auto& created = std::get<inbox::Created>(answers[0]);
      append_created(writer, created);
      if (!created.duplicate) status = 201;
      break;
    }
    case Call::CreateBatch: break;
    case Call::List: {
      const auto& page = std::get<inbox::Page>(answers[0]);
      writer.begin_object().key("items").begin_array();
      for (const inbox::Notification& item : page.items) {
        std::string text;
        append_item(text, item);
        writer.raw(text);
      }
      writer.end_array()
          .key("cursor")
          .string(page.cursor.text())
          .key("unread_count")
          .unsigned_integer(page.counts.unread);
      writer.key("reset").boolean(page.reset).key("more").boolean(page.more).end_object();
      break;
    }
    case Call::Counts: {
      const auto& head = std::get<inbox::Head>(answers[0]);
      writer.begin_object().key("unread").unsigned_integer(head.counts.unread);
      writer.key("unseen").unsigned_integer(head.counts.unseen).end_object();
      break;
    }
    case Call::Mark:
    case Call::MarkUpTo: {
      const auto& marked = std::get<inbox::Marked>(answers[0]);
      std::uint64_t unread = 0;
      for (const inbox::InboxChange& change : marked.inboxes) unread += change.counts.unread;
      writer.begin_object()
          .key("changed")
          .unsigned_integer(marked.changed)
          .key("unread_count")
          .unsigned_integer(unread);
      writer.key("unread_counts").begin_object();
      for (const inbox::InboxChange& change : marked.inboxes)
        writer.key(change.inbox.workspace.str()).unsigned_integer(change.counts.unread);
      writer.end_object().end_object();
      break;
    }
  }
  return json_response(status, plan.origin, std::move(body));
}

}  // namespace fanfare::edge
