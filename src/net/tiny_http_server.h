// A small HTTP server for tests of the client: whole requests in, scripted bytes out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_client.h"
#include "net/loop_test_server.h"
#include "wire/http/request.h"

namespace fanfare::net::testing {

// Answers whole requests with what `answer` says: raw bytes, none to stay silent.
class TinyServer : public Server {
 public:
  struct Seen {
    ConnectionId connection;
    std::string method, target, host, body;
  };

  TinyServer() : Server(LoopKind::Epoll) {
    receive = [this](ConnectionId id, std::string_view bytes) { take(id, bytes); };
    end = [this](ConnectionId id) { loop->close(id, After::Flush); };
  }

  std::function<std::string(const Seen&)> answer = [](const Seen&) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  };
  bool close_after_answer = false;
  std::vector<Seen> seen;  // under the lock

  [[nodiscard]] std::size_t seen_count() {
    std::lock_guard lock{mutex};
    return seen.size();
  }
  [[nodiscard]] std::size_t accepted_count() {
    std::lock_guard lock{mutex};
    return accepted.size();
  }
  [[nodiscard]] HttpRequest request(std::string method = "GET", std::string target = "/") const {
    HttpRequest request;
    request.origin = {false, "127.0.0.1", address.port};
    request.method = std::move(method);
    request.target = std::move(target);
    return request;
  }

 private:
  struct Receiving {
    std::string buffer;
    wire::http::RequestParser parser;
  };

  void take(ConnectionId id, std::string_view bytes) {
    auto& state = receiving_[id];
    state.buffer += bytes;
    while (state.parser.parse(state.buffer) == wire::http::Parse::Complete) {
      const auto& parsed = state.parser.request();
      const Seen one{id, std::string{parsed.method}, std::string{parsed.target}, std::string{parsed.authority},
                     std::string{parsed.body}};
      state.buffer.erase(0, state.parser.consumed());
      {
        std::lock_guard lock{mutex};
        seen.push_back(one);
        changed.notify_all();
      }
      (void)loop->send(id, answer(one));
      if (close_after_answer) loop->close(id, After::Flush);
    }
  }

  std::map<ConnectionId, Receiving> receiving_;
};

}  // namespace fanfare::net::testing
