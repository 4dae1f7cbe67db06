#include "server/edge_plane.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/metrics.h"
#include "wire/http/url.h"
#include "wire/sse/sse.h"

namespace fanfare::server {
namespace http = wire::http;
namespace {

edge::SessionId session_of(net::ConnectionId id) { return static_cast<std::uint64_t>(id.generation) << 32 | id.slot; }

std::string_view media_type(const std::string& path) {
  const auto dot = path.rfind('.');
  const std::string_view extension = dot == std::string::npos ? std::string_view{} : std::string_view{path}.substr(dot);
  if (extension == ".html") return "text/html; charset=utf-8";
  if (extension == ".js") return "text/javascript; charset=utf-8";
  if (extension == ".css") return "text/css; charset=utf-8";
  if (extension == ".svg") return "image/svg+xml";
  if (extension == ".json") return "application/json";
  return "application/octet-stream";
}

/// Triggers that a stream asks for: `?trigger=document.ready&trigger=document.failed`.
std::vector<live::Trigger> triggers_of(const http::Request& request) {
  std::vector<live::Trigger> triggers;
  http::Form form;
  if (form.parse(request.query)) return triggers;
  for (const http::FormField& field : form.fields())
    if (field.name == "trigger" && !field.value.empty() && triggers.size() < 32) triggers.emplace_back(field.value);
  return triggers;
}

}  // namespace

EdgePlane::EdgePlane(EdgeOptions options, store::Worker& worker, const edge::TokenVerifier& verifier, Clock& clock, net::Loop& loop, Log& log)
    : HttpPlane({.limits = {.body_bytes_max = options.rules.body_bytes_max}}, clock, loop),
      options_(std::move(options)),
      worker_(worker),
      rest_(options_.rules, verifier),
      log_(log) {
  read_files();
}

void EdgePlane::read_files() {
  if (options_.files.empty()) return;
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::recursive_directory_iterator it{options_.files, error}; !error && it != fs::recursive_directory_iterator{}; it.increment(error)) {
    if (!it->is_regular_file()) continue;
    std::ostringstream bytes;
    bytes << std::ifstream{it->path(), std::ios::binary}.rdbuf();
    const std::string path = "/" + fs::relative(it->path(), options_.files).generic_string();
    files_[path] = File{std::string{media_type(path)}, bytes.str()};
  }
  if (const auto index = files_.find("/index.html"); index != files_.end()) files_["/"] = index->second;
  log_.info("edge.files", {{"count", files_.size()}});
}

void EdgePlane::on_request(net::ConnectionId id, const http::Request& request) {
  if (!edge::Rest::owns(request.path)) return serve_file(id, request);
  edge::EdgeCommand command = rest_.handle(request, clock_.now(), secrets_);
  if (const auto* respond = std::get_if<edge::Respond>(&command)) return answer(id, respond->response);
  if (auto* ask = std::get_if<edge::AskStore>(&command)) return ask_store(id, std::move(*ask));
  open_events(id, std::move(std::get<edge::OpenEvents>(command)), request);
}

void EdgePlane::on_broken(net::ConnectionId id, const http::RequestError& error) {
  if (error.status != edge::status_of(edge::ProblemType::BodyTooLarge)) return HttpPlane::on_broken(id, error);
  answer(id, rest_.problem(edge::ProblemType::BodyTooLarge, fmt::format("the body has more than the {} bytes that are accepted", options_.rules.body_bytes_max)));
}

void EdgePlane::serve_file(net::ConnectionId id, const http::Request& request) {
  const auto file = files_.find(request.path);
  if (file == files_.end()) return answer(id, rest_.problem(edge::ProblemType::NotFound, "no such path; health is told at /livez and /readyz of the admin port, serve --admin"));
  if (request.method != "GET" && request.method != "HEAD") {
    edge::Response response = rest_.problem(edge::ProblemType::MethodNotAllowed, "use GET here");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return answer(id, response);
  }
  respond(id, 200, {{"Content-Type", file->second.type}, {"Cache-Control", "no-cache"}, {"X-Content-Type-Options", "nosniff"}}, file->second.body);
}

void EdgePlane::answer(net::ConnectionId id, const edge::Response& response) {
  Headers headers;
  for (const auto& [name, value] : response.headers) headers.push_back({name, value});
  respond(id, response.status, headers, response.body);
}

void EdgePlane::ask_store(net::ConnectionId id, edge::AskStore ask) {
  if (ask.operations.empty()) return answer(id, rest_.answer(ask.plan, {}));
  auto operations = std::make_shared<std::vector<inbox::Operation>>(ask.operations);  // also needed to read the answers
  auto plan = std::make_shared<edge::ResponsePlan>(std::move(ask.plan));
  worker_.submit(std::move(ask.operations), [this, id, operations, plan](Result<std::vector<inbox::Answer>, store::StoreError> outcome) {
    auto shared = std::make_shared<Result<std::vector<inbox::Answer>, store::StoreError>>(std::move(outcome));
    post([this, id, operations, plan, shared] {
      if (!*shared) {
        log_.error("inbox.store_failed", {{"detail", shared->error().detail}});
        return answer(id, rest_.storage_failed(*plan, "the inbox store could not be written or read"));
      }
      count_created(**shared);
      answer(id, rest_.answer(*plan, **shared));
      deliver(edge::live_changes(*operations, **shared));
    });
  });
}

void EdgePlane::count_created(const std::vector<inbox::Answer>& answers) {
  for (const inbox::Answer& one : answers)
    if (const auto* created = std::get_if<inbox::Created>(&one)) ++(created->duplicate ? duplicates_ : created_);
}

void EdgePlane::create(std::vector<inbox::Create> creates, store::Worker::Completion done) {
  std::vector<inbox::Operation> operations;
  operations.reserve(creates.size());
  for (inbox::Create& one : creates) operations.emplace_back(std::move(one));
  auto kept = std::make_shared<std::vector<inbox::Operation>>(operations);
  worker_.submit(std::move(operations), [this, kept, done = std::move(done)](Result<std::vector<inbox::Answer>, store::StoreError> outcome) {
    if (outcome) {
      auto changes = std::make_shared<std::vector<edge::LiveChange>>(edge::live_changes(*kept, *outcome));
      count_created(*outcome);
      post([this, changes] { deliver(*changes); });
    }
    done(std::move(outcome));
  });
}

void EdgePlane::open_events(net::ConnectionId id, edge::OpenEvents open, const http::Request& request) {
  if (draining_) return answer(id, rest_.problem(edge::ProblemType::StorageUnavailable, "the server is stopping"));
  const edge::SessionId session = session_of(id);
  Session& opened = open_[session];
  opened.connection = id;
  opened.expires_at = open.caller.expires_at;
  const std::vector<live::Trigger> triggers = triggers_of(request);
  if (!triggers.empty()) {
    // Only events that say they belong to the workspace that the token was checked for.
    const auto subscribed = registry_.subscribe(triggers, live::Filter{{{"workspace", live::MatchValue::text(open.inbox.workspace.str())}}});
    if (subscribed) {
      opened.live = *subscribed;
      live_sessions_[*subscribed] = session;
    }
  }
  ++streams_;
  Headers headers;
  for (const auto& [name, value] : open.headers) headers.push_back({name, value});
  begin_stream(id, headers);
  perform(sessions_.open(session, std::move(open.inbox), std::move(open.after)));
}

void EdgePlane::perform(std::vector<edge::SessionAction> actions) {
  for (edge::SessionAction& action : actions) {
    if (const auto* write = std::get_if<edge::SessionWrite>(&action)) {
      const auto session = open_.find(write->session);
      if (session == open_.end()) continue;
      if (!stream(session->second.connection, write->text, options_.stream_backlog_max)) {
        ++listener_failures_;
        close_session(write->session);
      }
      continue;
    }
    auto& ask = std::get<edge::SessionAsk>(action);
    const edge::SessionId id = ask.session;
    std::vector<inbox::Operation> operations;
    operations.push_back(std::move(ask.operation));
    worker_.submit(std::move(operations), [this, id](Result<std::vector<inbox::Answer>, store::StoreError> outcome) {
      auto shared = std::make_shared<Result<std::vector<inbox::Answer>, store::StoreError>>(std::move(outcome));
      post([this, id, shared] {
        const auto session = open_.find(id);
        if (session == open_.end()) return;
        if (!*shared) {  // the client comes again with its cursor
          log_.error("inbox.store_failed", {{"detail", shared->error().detail}});
          const net::ConnectionId connection = session->second.connection;
          close_session(id);
          end_stream(connection);
          return;
        }
        perform(sessions_.on_answer(id, (**shared).front()));
      });
    });
  }
}

void EdgePlane::deliver(const std::vector<edge::LiveChange>& changes) {
  for (const edge::LiveChange& change : changes) perform(sessions_.on_change(change));
}

void EdgePlane::publish_live(live::SharedEvent event, std::function<void(live::Published)> done) {
  post([this, event = std::move(event), done = std::move(done)] {
    ++live_received_;
    live::Published published = registry_.publish(event, clock_.now());
    if (published.outcome == live::Outcome::Dispatched) ++live_dispatched_;
    if (published.outcome == live::Outcome::Malformed) ++live_malformed_;
    for (const live::Match& match : published.matches) flush_live(match.subscription);
    done(std::move(published));
  });
}

void EdgePlane::flush_live(live::SubscriptionId subscription) {
  const auto found = live_sessions_.find(subscription);
  if (found == live_sessions_.end()) return;
  const edge::SessionId id = found->second;
  const net::ConnectionId connection = open_.at(id).connection;
  const live::Taken taken = registry_.take(subscription);
  std::string text;
  for (const live::SharedEvent& event : taken.events) wire::sse::append_event(text, "live", event->payload);
  if (taken.overflowed || (!text.empty() && !stream(connection, text, options_.stream_backlog_max))) {
    ++listener_failures_;
    close_session(id);
    end_stream(connection);
  }
}

void EdgePlane::close_session(edge::SessionId id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  if (found->second.live.value != 0) {
    registry_.unsubscribe(found->second.live);
    live_sessions_.erase(found->second.live);
  }
  sessions_.close(id);
  open_.erase(found);
  --streams_;
}

void EdgePlane::on_gone(net::ConnectionId id) { close_session(session_of(id)); }

void EdgePlane::on_second(Instant now) {
  const bool beat = now >= next_keep_alive_;
  if (beat) next_keep_alive_ = now + options_.keep_alive;
  const Timestamp wall = clock_.now();
  std::vector<edge::SessionId> over;
  for (const auto& [id, session] : open_) {
    const bool expired = session.expires_at && wall >= *session.expires_at + options_.token_grace;
    if (expired || (beat && !stream(session.connection, edge::keep_alive_comment(), options_.stream_backlog_max))) over.push_back(id);
  }
  for (const edge::SessionId id : over) {
    const net::ConnectionId connection = open_.at(id).connection;
    close_session(id);
    end_stream(connection);
  }
}

void EdgePlane::drain() {
  post([this] {
    draining_ = true;
    std::vector<edge::SessionId> all;
    for (const auto& [id, session] : open_) all.push_back(id);
    for (const edge::SessionId id : all) {
      const net::ConnectionId connection = open_.at(id).connection;
      close_session(id);
      end_stream(connection);
    }
    finish();
  });
}

void EdgePlane::append_metrics(std::string& out) const {
  MetricsWriter writer{out};
  writer.describe("fanfare_live_connections", "gauge", "Open events streams.");
  writer.sample("fanfare_live_connections", {}, streams_.load());
  writer.describe("fanfare_live_events_total", "counter", "Live events by phase.");
  writer.sample("fanfare_live_events_total", {{"phase", "receive"}}, live_received_.load());
  writer.sample("fanfare_live_events_total", {{"phase", "dispatch"}}, live_dispatched_.load());
  writer.sample("fanfare_live_events_total", {{"phase", "validation"}}, live_malformed_.load());
  writer.sample("fanfare_live_events_total", {{"phase", "listener_failure"}}, listener_failures_.load());
  writer.describe("fanfare_inbox_notifications_total", "counter", "Notifications by what became of them.");
  writer.sample("fanfare_inbox_notifications_total", {{"event", "created"}}, created_.load());
  writer.sample("fanfare_inbox_notifications_total", {{"event", "duplicate"}}, duplicates_.load());
}

}  // namespace fanfare::server
