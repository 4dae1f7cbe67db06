// The edge port: the inbox over REST, live delivery by server-sent events, and files of a page.
//
// Rule 1: changes reach live sessions in commit order: the worker completes in that order, and post() keeps it.
// Rule 2: a session is opened before its first question to the store, so that nothing falls between backlog and live. [N7]
// Rule 3: live events go through one registry; a slow stream is closed (resumable by its cursor) and delays nobody. [L9]
// Everything belongs to the loop's thread but what is said to be thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/live/pubsub.h"
#include "edge/events.h"
#include "edge/rest.h"
#include "server/http_plane.h"
#include "server/log.h"
#include "server/os_secrets.h"
#include "store/worker.h"

namespace fanfare::server {

struct EdgeOptions {
  edge::RestRules rules;
  std::string files;  ///< folder served at /; empty: none
  std::size_t stream_backlog_max = std::size_t{1} << 20;
  seconds keep_alive{12};
  seconds token_grace{15};  ///< after a token's end a stream is closed, at most this late
};

class EdgePlane final : public HttpPlane {
 public:
  /// `worker` and `verifier` outlive this.
  EdgePlane(EdgeOptions options, store::Worker& worker, const edge::TokenVerifier& verifier, Clock& clock, net::Loop& loop, Log& log);

  /// Makes notifications that came from a queue, and shows them to whoever watches. Thread-safe. `done` gets the answers on
  /// the worker's thread; what it is given is durable and on its way to the sessions.
  void create(std::vector<inbox::Create> creates, store::Worker::Completion done);

  /// A live event for the streams that asked for its trigger. The future's value says whether its message may be deleted:
  /// it was accepted into each matching stream's buffer, nobody waits for it, or it came before. Thread-safe. [L2, L5, L7, L8]
  void publish_live(live::SharedEvent event, std::function<void(live::Published)> done);

  /// Ends streams and idle connections; each answer in work is given, then the loop stops. Thread-safe.
  void drain();

  void append_metrics(std::string& out) const;  ///< thread-safe

 private:
  struct Session {
    net::ConnectionId connection;
    std::optional<Timestamp> expires_at;
    live::SubscriptionId live;  ///< zero: no live triggers asked for
  };
  struct File {
    std::string type;
    std::string body;
  };

  void on_request(net::ConnectionId id, const wire::http::Request& request) override;
  void on_broken(net::ConnectionId id, const wire::http::RequestError& error) override;
  void on_gone(net::ConnectionId id) override;
  void on_second(Instant now) override;

  void serve_file(net::ConnectionId id, const wire::http::Request& request);
  void answer(net::ConnectionId id, const edge::Response& response);
  void ask_store(net::ConnectionId id, edge::AskStore ask);
  void open_events(net::ConnectionId id, edge::OpenEvents open, const wire::http::Request& request);
  void perform(std::vector<edge::SessionAction> actions);
  void count_created(const std::vector<inbox::Answer>& answers);
  void deliver(const std::vector<edge::LiveChange>& changes);
  void flush_live(live::SubscriptionId subscription);
  void close_session(edge::SessionId id);
  void read_files();

  const EdgeOptions options_;
  store::Worker& worker_;
  const edge::Rest rest_;
  Log& log_;
  OsSecrets secrets_;
  std::map<std::string, File, std::less<>> files_;  // by path
  edge::EventSessions sessions_;
  std::map<edge::SessionId, Session> open_;
  live::PubSub registry_;
  std::map<live::SubscriptionId, edge::SessionId> live_sessions_;
  Instant next_keep_alive_{};
  bool draining_ = false;
  // Any thread.
  std::atomic<std::uint64_t> created_{0};
  std::atomic<std::uint64_t> duplicates_{0};
  std::atomic<std::uint64_t> streams_{0};
  std::atomic<std::uint64_t> live_received_{0};
  std::atomic<std::uint64_t> live_dispatched_{0};
  std::atomic<std::uint64_t> live_malformed_{0};
  std::atomic<std::uint64_t> listener_failures_{0};
};

}  // namespace fanfare::server
