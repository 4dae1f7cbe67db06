#include "server/http_plane.h"

namespace fanfare::server {
namespace http = wire::http;

namespace {
constexpr std::size_t kInputPause = 256 * 1024;  // further pipelined requests wait in the kernel
}

HttpPlane::HttpPlane(HttpPlaneOptions options, Clock& clock, net::Loop& loop) : clock_(clock), loop_(loop), options_(options), unfinished_(options.unfinished_bytes_max) {
  loop_.set_deadline(std::chrono::steady_clock::now() + seconds{1});
}

void HttpPlane::post(std::function<void()> task) {
  {
    const std::lock_guard lock{mutex_};
    tasks_.push_back(std::move(task));
  }
  loop_.wake();
}

void HttpPlane::on_wake() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock{mutex_};
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) task();
}

HttpPlane::Connection* HttpPlane::find(net::ConnectionId id) {
  if (id.slot >= connections_.size()) return nullptr;
  Connection* connection = connections_[id.slot].get();
  return connection != nullptr && connection->open && connection->id == id ? connection : nullptr;
}

std::string_view HttpPlane::date() {
  const std::int64_t second = unix_ms(clock_.system_now()) / 1000;
  if (second != date_second_) {
    date_second_ = second;
    date_ = http::http_date(second);
  }
  return date_;
}

void HttpPlane::on_accept(net::ConnectionId id, net::ListenerId, const net::SocketAddress&) {
  if (id.slot >= connections_.size()) connections_.resize(id.slot + 1);
  connections_[id.slot] = std::make_unique<Connection>();
  Connection& connection = *connections_[id.slot];
  connection.id = id;
  connection.open = true;
  connection.parser = http::RequestParser{options_.limits};
  if (finishing_) loop_.close(id, net::After::Flush);
}

void HttpPlane::on_receive(net::ConnectionId id, std::string_view bytes) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->streaming || finishing_) return;
  if (connection->input.empty()) connection->input_since = loop_.now();
  connection->input.append(bytes);
  if (connection->busy && connection->input.size() > kInputPause) loop_.pause_reading(id);
  parse(*connection);
  connection = find(id);
  if (connection == nullptr) return;
  unfinished_.count(*connection);
  if (unfinished_.are_too_long()) refuse_longest_unfinished();
}

void HttpPlane::refuse_longest_unfinished() {
  const auto in_a_request = [](const Connection& connection) { return connection.open && !connection.busy; };
  for (Connection* connection : unfinished_.to_refuse(connections_, in_a_request)) {
    connection->busy = true;
    connection->keep_alive = false;
    connection->input = {};
    unfinished_.count(*connection);
    on_broken(connection->id, {503, "too many long requests are unfinished at once"});
  }
}

void HttpPlane::parse(Connection& connection) {
  if (connection.inside) return;
  connection.inside = true;
  const net::ConnectionId id = connection.id;
  std::size_t used = 0;
  while (find(id) == &connection && !connection.busy && used < connection.input.size()) {
    const http::Parse parsed = connection.parser.parse(std::string_view{connection.input}.substr(used));
    if (parsed == http::Parse::NeedMore) break;
    if (parsed == http::Parse::SendContinue) {
      loop_.send(id, http::kContinue);
    } else if (parsed == http::Parse::Complete) {
      const http::Request& request = connection.parser.request();
      connection.busy = true;
      connection.keep_alive = request.keep_alive;
      connection.head_only = request.method == "HEAD";
      connection.http_1_0 = request.minor_version == 0;
      const std::size_t consumed = connection.parser.consumed();
      on_request(id, request);
      if (find(id) != &connection) return;  // closed by its answer: the object may be gone
      used += consumed;
      connection.input_since = loop_.now();
    } else {
      const http::RequestError error = connection.parser.error();
      connection.busy = true;
      connection.keep_alive = false;
      on_broken(id, error);
      if (find(id) != &connection) return;
      used = connection.input.size();
    }
  }
  connection.input.erase(0, used);
  unfinished_.count(connection);
  connection.inside = false;
}

void HttpPlane::on_broken(net::ConnectionId id, const http::RequestError& error) {
  respond(id, error.status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string{error.reason} + "\n");
}

void HttpPlane::respond(net::ConnectionId id, int status, const Headers& headers, std::string_view body) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  if (std::string* out = loop_.output(id))
    http::append_response(*out, status, headers, body,
                          {.keep_alive = connection->keep_alive, .http_1_0 = connection->http_1_0, .head_only = connection->head_only, .date = date()});
  answered(*connection);
}

void HttpPlane::respond_raw(net::ConnectionId id, std::string_view bytes) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  loop_.send(id, bytes);
  answered(*connection);
}

void HttpPlane::answered(Connection& connection) {
  if (!connection.keep_alive || connection.peer_done || finishing_) {
    loop_.close(connection.id, net::After::Flush);  // stays busy: nothing further is looked at
    return;
  }
  connection.busy = false;
  if (connection.inside) return;
  loop_.resume_reading(connection.id);
  parse(connection);
}

void HttpPlane::begin_stream(net::ConnectionId id, const Headers& headers) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->streaming = true;
  if (std::string* out = loop_.output(id))
    http::append_response_head(*out, 200, headers, connection->http_1_0 ? http::Framing::UntilClose : http::Framing::Chunked, {.date = date()});
}

bool HttpPlane::stream(net::ConnectionId id, std::string_view text, std::size_t backlog_max) {
  Connection* connection = find(id);
  if (connection == nullptr || !connection->streaming) return false;
  if (loop_.pending_bytes(id) > backlog_max) {
    loop_.close(id, net::After::Now);
    return false;
  }
  std::string* out = loop_.output(id);
  if (out == nullptr) return false;
  if (connection->http_1_0)
    out->append(text);
  else
    http::append_chunk(*out, text);
  return true;
}

void HttpPlane::end_stream(net::ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr || !connection->streaming) return;
  if (std::string* out = loop_.output(id); out != nullptr && !connection->http_1_0) http::append_last_chunk(*out);
  loop_.close(id, net::After::Flush);
}

void HttpPlane::on_end_of_input(net::ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->peer_done = true;
  if (!connection->busy || connection->streaming) loop_.close(id, net::After::Flush);
}

void HttpPlane::on_closed(net::ConnectionId id, net::CloseReason, std::size_t) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  on_gone(id);
  connection->input.clear();
  unfinished_.count(*connection);
  connections_[id.slot].reset();
}

void HttpPlane::on_timer(Instant now) {
  const milliseconds timeout = options_.half_request_timeout;
  loop_.for_each_idle(now, [&](net::ConnectionId id) {
    Connection* connection = find(id);
    if (connection == nullptr || connection->busy) return;  // streams keep themselves alive and are busy
    const Instant active = loop_.last_activity(id);
    const bool half = !connection->input.empty() && (active < now - timeout || connection->input_since < now - 4 * timeout);
    if (half || active < now - options_.idle_timeout) loop_.close(id, net::After::Flush);
  });
  on_second(now);
  loop_.set_deadline(now + seconds{1});
}

void HttpPlane::finish() {
  finishing_ = true;
  for (const auto& connection : connections_)
    if (connection && connection->open && !connection->busy) loop_.close(connection->id, net::After::Flush);
}

void HttpPlane::on_turn_end() {
  if (finishing_ && loop_.open_connections() == 0) loop_.stop();
}

}  // namespace fanfare::server
