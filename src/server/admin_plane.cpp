#include "server/admin_plane.h"

#include "wire/http/url.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::server {
namespace http = wire::http;
namespace json = wire::json;
namespace {

bool is_loopback_origin(std::string_view origin) {
  const auto url = http::parse_url(origin);
  return url && http::is_loopback_host(url->host);
}

}  // namespace

AdminPlane::AdminPlane(AdminOptions options, BrokerReport* report, Clock& clock, net::Loop& loop)
    : HttpPlane({}, clock, loop), options_(std::move(options)), report_(report) {}

void AdminPlane::problem(net::ConnectionId id, int status, std::string_view detail, Headers headers) {
  std::string body;
  json::Writer out{body};
  out.begin_object().key("type").string("about:blank").key("title").string(http::reason_phrase(status));
  out.key("status").integer(status).key("detail").string(detail).end_object();
  headers.push_back({"Content-Type", "application/problem+json"});
  respond(id, status, headers, body);
}

void AdminPlane::on_request(net::ConnectionId id, const http::Request& request) {
  Headers headers{{"Cache-Control", "no-store"}};
  if (options_.loopback && !request.authority.empty() && !is_loopback_origin("http://" + std::string(request.authority)))
    return problem(id, 421, "this port answers to localhost and loopback addresses", headers);
  const std::string_view origin = request.headers.find("Origin").value_or("");
  if (!origin.empty()) {
    // A page of a foreign origin must not steer the server through its visitor's browser.
    if (!options_.development || !is_loopback_origin(origin)) return problem(id, 403, "pages of this origin may not use the admin port", headers);
    headers.push_back({"Access-Control-Allow-Origin", origin});
    headers.push_back({"Vary", "Origin"});
    if (request.method == "OPTIONS") {
      headers.push_back({"Access-Control-Allow-Methods", "GET, POST, PUT"});
      headers.push_back({"Access-Control-Allow-Headers", "content-type"});
      return respond(id, 204, headers, "");
    }
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const auto needs = [&](std::string_view method) {
    if (request.method == method || (method == "GET" && reads)) return true;
    headers.push_back({"Allow", method});
    problem(id, 405, std::string{"use "} + std::string{method} + " here", headers);
    return false;
  };
  if (request.path == "/livez") {
    if (!needs("GET")) return;
    headers.push_back({"Content-Type", "text/plain; charset=utf-8"});
    return respond(id, 200, headers, "ok\n");
  }
  if (request.path == "/readyz") {
    if (!needs("GET")) return;
    const std::string why = options_.not_ready ? options_.not_ready() : std::string{};
    headers.push_back({"Content-Type", "text/plain; charset=utf-8"});
    return respond(id, why.empty() ? 200 : 503, headers, why.empty() ? "ready\n" : "not ready: " + why + "\n");
  }
  if (request.path == "/metrics") {
    if (!needs("GET")) return;
    std::string text;
    if (report_ != nullptr) report_->append_metrics(text);
    for (const auto& append : options_.more_metrics) append(text);
    headers.push_back({"Content-Type", "text/plain; version=0.0.4; charset=utf-8"});
    return respond(id, 200, headers, text);
  }
  if (request.path == "/_fanfare/state") {
    if (!needs("GET")) return;
    headers.push_back({"Content-Type", "application/json"});
    return respond(id, 200, headers, report_ != nullptr ? report_->state_json() : "{}");
  }
  if (request.path == "/_fanfare/captured") {
    if (!needs("GET")) return;
    std::string body;
    json::Writer out{body};
    out.begin_object().key("captured").begin_array();
    if (options_.captured) {
      for (const topic::DirectoryEntry& entry : options_.captured()) {
        out.begin_object().key("number").string(entry.key);
        for (const auto& [name, value] : entry.attributes) out.key(name).string(value);
        out.end_object();
      }
    }
    out.end_array().end_object();
    headers.push_back({"Content-Type", "application/json"});
    return respond(id, 200, headers, body);
  }
  if (request.path == "/_fanfare/clock") {
    const auto tell = [&] {
      headers.push_back({"Content-Type", "application/json"});
      respond(id, 200, headers, "{\"now\":\"" + iso8601(clock_.now()) + "\",\"clock\":\"" + (options_.movable_clock ? "manual" : "real") + "\"}");
    };
    if (reads) return tell();
    if (!needs("POST")) return;
    if (!options_.movable_clock) return problem(id, 409, "the clock moves only when the server was started with --clock manual", headers);
    const auto body = json::parse(request.body);
    const auto text = body ? body->find_string("advance") : std::nullopt;
    const auto step = text ? parse_duration(*text) : std::nullopt;
    if (!step) return problem(id, 400, "expected {\"advance\":\"2h\"}: a duration such as 250ms, 35s, 1h30m or 14d", headers);
    if (options_.clock_moves) options_.clock_moves();
    if (!clock_.advance(*step)) return problem(id, 400, "the clock goes up to " + iso8601(Clock::kEnd), headers);
    if (options_.clock_moved) options_.clock_moved();
    return tell();
  }
  if (request.path == "/_fanfare/chaos") {
    if (options_.chaos == nullptr) return problem(id, 409, "faults happen only when the server was started with --chaos; --chaos none has none yet", headers);
    headers.push_back({"Content-Type", "application/json"});
    const auto answer = [&] { return options_.chaos->json(options_.queue_names ? options_.queue_names() : Chaos::QueueNames{}); };
    if (reads) return respond(id, 200, headers, answer());
    headers.pop_back();
    if (request.method != "PUT" && !needs("POST")) return;
    const auto command = ChaosCommand::parse(request.body);
    if (!command) return problem(id, 400, command.error(), headers);
    options_.chaos->set(command->queue, command->plan);
    headers.push_back({"Content-Type", "application/json"});
    return respond(id, 200, headers, answer());
  }
  if (request.path == "/") {
    if (!needs("GET")) return;
    headers.push_back({"Content-Type", "text/plain; charset=utf-8"});
    return respond(id, 200, headers,
                   "Fanfare's admin port.\n\n/livez            the process runs\n/readyz           it can serve\n/metrics          Prometheus text\n"
                   "/_fanfare/state   queues, topics and failed deliveries as JSON\n/_fanfare/captured   messages to phones, devices and mail boxes, captured and not delivered\n/_fanfare/clock   GET; POST {\"advance\":\"2h\"} with --clock manual\n/_fanfare/chaos   GET, POST {\"queue\":\"q\",\"faults\":\"duplicate=5%\"} with --chaos\n");
  }
  problem(id, 404, "unknown path; / lists the known ones", headers);
}

}  // namespace fanfare::server
