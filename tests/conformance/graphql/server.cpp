// graphql_conformance_server: the corpus over HTTP, so that any part of it can be run from outside.
//
//   $ graphql_conformance_server --port 0
//   {"event":"ready","url":"http://127.0.0.1:40123"}
//
// GET /health answers 200. POST /execute {"schema": SDL, "query": ..., "variables": {...}, "operationName": ...} answers
// 200 with the GraphQL response, or 400 if the body is not such an object. A thread a connection, blocking: a test tool.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>

#include "graphql/execute.h"
#include "wire/http/request.h"
#include "wire/http/response.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"
#include "wiring.h"

namespace fanfare::graphql {
namespace {

namespace http = wire::http;
namespace json = wire::json;

/// The corpus may ask for anything; only what protects the stack stays.
PrepareOptions unlimited() {
  PrepareOptions options;
  options.parse = {std::size_t{64} << 20, 10'000'000, ParseLimits::kDeepest};
  options.limits.depth = Limits::kDeepest;
  options.limits.aliases = 0;
  options.limits.directives = 0;
  options.limits.root_fields = 0;
  options.limits.complexity = 0;
  return options;
}

class Executor {
 public:
  std::string execute(std::string_view body, int& status) {
    json::Limits limits;
    limits.depth_max = 1024;
    const auto request = json::parse(body, limits);
    const auto schema_text = request ? request->find_string("schema") : std::nullopt;
    const auto query = request ? request->find_string("query") : std::nullopt;
    if (!schema_text || !query) {
      status = 400;
      return R"({"errors":[{"message":"expected an object with the strings schema and query"}]})";
    }
    std::string out;
    const Bindings* bindings = bindings_for(*schema_text, out);
    if (bindings == nullptr) return out;
    const auto prepared = Prepared::prepare(*bindings, {"query", *query}, unlimited());
    if (!prepared) {
      append_request_errors(out, prepared.error());
      return out;
    }
    Arena arena;
    ExecuteRequest execute;
    execute.operation_name = request->find_string("operationName").value_or("");
    if (const json::Value* variables = request->find("variables")) execute.variables = to_value(*variables, arena);
    execution_.start(*prepared, execute);
    return std::string(execution_.response());
  }

 private:
  const Bindings* bindings_for(std::string_view schema_text, std::string& out) {
    const auto found = schemas_.find(std::string(schema_text));
    if (found != schemas_.end()) return found->second.get();
    auto schema = build_schema(schema_text);
    if (!schema) {
      append_request_errors(out, schema.error());
      return nullptr;
    }
    constexpr std::size_t kSchemas = 64;
    if (schemas_.size() >= kSchemas) schemas_.clear();
    auto& bindings = schemas_[std::string(schema_text)];
    bindings = std::make_unique<Bindings>(*std::move(schema));
    wire_by_type(*bindings);
    return bindings.get();
  }

  std::unordered_map<std::string, std::unique_ptr<Bindings>> schemas_;
  Execution execution_;
};

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void answer(std::string& out, int status, std::string_view body, bool keep_alive, bool head_only) {
  const http::Header type{"Content-Type", "application/json"};
  http::ResponseOptions options;
  options.keep_alive = keep_alive;
  options.head_only = head_only;
  http::append_response(out, status, std::span(&type, 1), body, options);
}

void handle(Executor& executor, const http::Request& request, std::string& out) {
  int status = 200;
  std::string body;
  if (request.path == "/health") {
    body = R"({"status":"ok"})";
  } else if (request.path != "/execute") {
    status = 404;
    body = R"({"errors":[{"message":"only /health and /execute are here"}]})";
  } else if (request.method != "POST") {
    status = 405;
    body = R"({"errors":[{"message":"/execute takes POST"}]})";
  } else {
    body = executor.execute(request.body, status);
  }
  answer(out, status, body, request.keep_alive, request.method == "HEAD");
}

void serve(int socket) {
  Executor executor;
  http::Limits limits;
  limits.body_bytes_max = std::uint64_t{64} << 20;
  http::RequestParser parser(limits);
  std::string received;
  std::string out;
  char buffer[64 * 1024];
  for (bool open = true; open;) {
    out.clear();
    switch (parser.parse(received)) {
      case http::Parse::NeedMore: {
        const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
        if (count <= 0) {
          open = false;
        } else {
          received.append(buffer, static_cast<std::size_t>(count));
        }
        break;
      }
      case http::Parse::SendContinue: open = send_all(socket, http::kContinue); break;
      case http::Parse::Complete: {
        const bool keep_alive = parser.request().keep_alive;
        handle(executor, parser.request(), out);
        open = send_all(socket, out) && keep_alive;
        received.erase(0, parser.consumed());
        break;
      }
      case http::Parse::Error:
        answer(out, parser.error().status, R"({"errors":[{"message":"the request cannot be read"}]})", false, false);
        send_all(socket, out);
        open = false;
        break;
    }
  }
  ::close(socket);
}

int run(std::uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, size) != 0 || ::listen(listener, 128) != 0 || ::getsockname(listener, generic, &size) != 0) {
    std::fprintf(stderr, "cannot listen on port %u: %s\n", port, std::strerror(errno));
    return 3;
  }
  std::printf("{\"event\":\"ready\",\"url\":\"http://127.0.0.1:%u\"}\n", ntohs(address.sin_port));
  std::fflush(stdout);
  while (true) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    std::thread(serve, socket).detach();
  }
}

}  // namespace
}  // namespace fanfare::graphql

int main(int argc, char** argv) {
  unsigned port = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    std::string_view number = flag.starts_with("--port=") ? flag.substr(7) : std::string_view();
    if (flag == "--port" && i + 1 < argc) number = argv[++i];
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), port);
    if (number.empty() || parsed.ec != std::errc() || parsed.ptr != number.data() + number.size() || port > 65535) {
      std::fprintf(stderr, "usage: graphql_conformance_server [--port N]   (0: a free port)\n");
      return 2;
    }
  }
  const auto stop = [](int) { std::_Exit(0); };
  std::signal(SIGTERM, stop);
  std::signal(SIGINT, stop);
  return fanfare::graphql::run(static_cast<std::uint16_t>(port));
}
