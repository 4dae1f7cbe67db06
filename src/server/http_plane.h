// A plain HTTP/1.1 server on a loop, for the ports that people and browsers reach: one request of a connection at a time,
// answered at once or later, with a whole response or a stream.
//
// Rule 1: a connection's next request is looked at only when the one before is answered, so answers keep their order.
// Rule 2: everything runs on the loop's thread; other threads use post().
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/loop.h"
#include "server/clock.h"
#include "server/unfinished_requests.h"
#include "wire/http/request.h"
#include "wire/http/response.h"

namespace fanfare::server {

struct HttpPlaneOptions {
  wire::http::Limits limits;
  /// A request that has begun, and of which nothing more comes; one that comes in drops must be whole after four times this.
  milliseconds half_request_timeout{30'000};
  milliseconds idle_timeout{120'000};
  /// What requests that are not whole may take together; beyond it the longest unfinished are refused, as 503.
  std::size_t unfinished_bytes_max = std::size_t{64} << 20;
};

class HttpPlane : public net::LoopHandler {
 public:
  HttpPlane(HttpPlaneOptions options, Clock& clock, net::Loop& loop);

  /// Runs `task` on the loop's thread, in a later turn. Any thread; from the loop's own thread too.
  void post(std::function<void()> task);

  void on_accept(net::ConnectionId id, net::ListenerId listener, const net::SocketAddress& peer) final;
  void on_receive(net::ConnectionId id, std::string_view bytes) final;
  void on_end_of_input(net::ConnectionId id) final;
  void on_closed(net::ConnectionId id, net::CloseReason reason, std::size_t unsent) final;
  void on_timer(Instant now) final;
  void on_wake() final;
  void on_turn_end() final;

  /// Takes no further requests, and stops the loop when every answer in work is given. On the loop's thread.
  void finish();

 protected:
  /// One request; views are valid during the call. Answer with respond() or begin_stream(), now or later.
  virtual void on_request(net::ConnectionId id, const wire::http::Request& request) = 0;
  /// What cannot become a request: answer with respond(), the connection ends behind it.
  virtual void on_broken(net::ConnectionId id, const wire::http::RequestError& error);
  /// The peer is gone; an answer is of no use any more.
  virtual void on_gone(net::ConnectionId /*id*/) {}
  /// About once a second.
  virtual void on_second(Instant /*now*/) {}

  using Headers = std::vector<wire::http::Header>;
  /// A whole response. Harmless if the connection is gone.
  void respond(net::ConnectionId id, int status, const Headers& headers, std::string_view body);
  /// A whole response that somebody else has encoded.
  void respond_raw(net::ConnectionId id, std::string_view bytes);
  /// The head of an answer without end, sent as chunks; the connection takes no further request.
  void begin_stream(net::ConnectionId id, const Headers& headers);
  /// False if the connection is gone or has more than `backlog_max` bytes waiting: then it is closed.
  bool stream(net::ConnectionId id, std::string_view text, std::size_t backlog_max);
  void end_stream(net::ConnectionId id);
  [[nodiscard]] bool is_open(net::ConnectionId id) const { return loop_.is_open(id); }

  Clock& clock_;
  net::Loop& loop_;

 private:
  struct Connection {
    net::ConnectionId id;
    bool open = false;
    bool busy = false;      // a request is being answered
    bool streaming = false;
    bool keep_alive = true; // of the request in work
    bool head_only = false;
    bool http_1_0 = false;
    bool peer_done = false; // end of input: answer what is in work, then close
    bool inside = false;    // parse() is on the stack: it goes on by itself when the answer has come
    wire::http::RequestParser parser;
    std::string input;
    std::size_t counted_bytes = 0;  // of `input`, in unfinished_
    Instant input_since{};  // when the beginning of a request that is not whole came
  };
  Connection* find(net::ConnectionId id);
  void parse(Connection& connection);
  void answered(Connection& connection);
  void refuse_longest_unfinished();
  std::string_view date();

  const HttpPlaneOptions options_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by slot
  UnfinishedRequests unfinished_;
  std::string date_;
  std::int64_t date_second_ = 0;
  bool finishing_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // protected by mutex_
};

}  // namespace fanfare::server
