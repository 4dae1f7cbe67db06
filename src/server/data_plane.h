// One data-plane loop: HTTP requests in, engine commands, one commit a turn, responses out.
//
// Rule 1: a response that waits for the log is queued to its connection only after the turn's commit has made it durable.
// Rule 2: responses of one connection leave in the order of its requests, also when a long poll waits among them.
// Rule 3: a receive is handed out only to a peer that is still there; what could not be written becomes visible again at once.
// Everything here belongs to the loop's thread but what is said to be protected by the broker's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/service.h"
#include "net/loop.h"
#include "server/broker.h"
#include "server/chaos.h"
#include "server/envelope_signer.h"
#include "server/metrics_sampler.h"
#include "server/os_secrets.h"
#include "server/request_counters.h"
#include "server/unfinished_requests.h"
#include "server/unsigned_receive.h"
#include "wire/http/request.h"

namespace fanfare::server {

struct DataPlaneOptions {
  api::ServiceOptions api;
  bool secure = false;     ///< the loop speaks TLS: queue URLs begin with https, and policies see aws:SecureTransport
  Chaos* chaos = nullptr;  ///< null: no faults
  /// A request that has begun, and of which nothing more comes; one that comes in drops must be whole after four times this.
  milliseconds half_request_timeout{30'000};
  /// What requests that are not whole may take together; beyond it the longest unfinished are refused, as 503.
  std::size_t unfinished_bytes_max = std::size_t{512} << 20;
  milliseconds idle_timeout{300'000};         ///< a kept-alive connection without a request
  /// A request that policies refused, and why. Called under the broker's lock; must not wait.
  std::function<void(const api::ReplyContext& context, std::string_view why)> on_refused;
  /// So many messages were left out of an answer because their content could not be read.
  std::function<void(std::size_t messages)> on_unreadable;
  milliseconds read_again_after{10'000};  ///< then they can be received again
  MetricsSampler* sampler = nullptr;  ///< told the time about once a second; null: no history; outlives the plane
  EnvelopeSigner* signer = nullptr;  ///< of envelopes; outlives the plane; null: their signatures are empty
  /// Where SigningCertURL points, "https://sns.us-east-1.amazonaws.com"; empty: to the host that the receiver asked.
  std::string signing_url;
  Secrets* secrets = nullptr;                 ///< of this loop alone; null: the operating system's
};

/// Contents and signatures for encoding; used under the broker's lock.
class BrokerPayloads final : public api::Payloads {
 public:
  explicit BrokerPayloads(Broker& broker, EnvelopeSigner* signer = nullptr, std::string_view signing_url = {});
  std::optional<std::string> record(LogPosition position) override;
  topic::EnvelopeSignature sign(const engine::EnvelopeOf& envelope, const message::ContentView& content) override;

 private:
  Broker& broker_;
  EnvelopeSigner* signer_;
  std::string certificate_url_;
  std::string signature_;
};

class DataPlane final : public net::LoopHandler, public ReplyTarget {
 public:
  /// `drives_deadlines`: one loop of the process hands the engine its deadlines and maintains the broker.
  /// The authenticator belongs to this loop.
  DataPlane(DataPlaneOptions options, Broker& broker, Clock& clock, net::Loop& loop, api::aws::Authenticator& authenticator,
            bool drives_deadlines);
  ~DataPlane() override;

  /// The listener that drain() closes.
  void set_listener(net::ListenerId listener) { listener_ = listener; }

  void on_accept(net::ConnectionId id, net::ListenerId listener, const net::SocketAddress& peer) override;
  void on_receive(net::ConnectionId id, std::string_view bytes) override;
  void on_end_of_input(net::ConnectionId id) override;
  void on_closed(net::ConnectionId id, net::CloseReason reason, std::size_t unsent) override;
  void on_drained(net::ConnectionId id) override;
  void on_timer(Instant now) override;
  void on_wake() override;
  void on_turn_end() override;

  void on_reply(const engine::Reply& reply) override;

  /// The engine's deadline may have come nearer: looks at it soon. Any thread.
  void look_at_deadline();
  /// Takes no further requests: answers waiting long polls with nothing, closes each connection when its answers are out.
  /// Any thread.
  void drain();

  /// Under the broker's lock.
  [[nodiscard]] const RequestCounters& counters() const { return counters_; }

 private:
  using Handles = std::vector<engine::ReceiptHandle>;

  /// A response that cannot leave yet, because its turn has not come or its bytes are not there.
  struct Slot {
    std::uint64_t request = 0;
    bool ready = false;
    bool close_after = false;
    std::string bytes;
    Handles handles;
  };
  /// An answer to a receive: its last byte's number on the connection, and how many messages it hands out.
  struct Delivery {
    std::uint64_t end;
    std::size_t handles;
  };
  struct Connection {
    net::ConnectionId id;
    bool open = false;
    bool closing = false;      // no further requests are taken
    bool reading = true;
    bool held = false;         // `input` may hold whole requests, which wait until its answers have left
    wire::http::RequestParser parser;
    std::string input;         // the beginning of a request that is not whole, or what is held
    std::size_t counted_bytes = 0;  // of `input`, in unfinished_
    Instant input_since{};     // when that beginning came
    std::deque<Slot> waiting;  // by request number; empty while answers come at once
    std::uint32_t in_turn = 0; // answers of this turn that are not queued yet
    std::size_t unqueued = 0;  // bytes of answers of this turn, and of those in `waiting`
    std::uint64_t queued = 0;  // bytes given to the loop, ever
    std::vector<Delivery> deliveries;  // receives whose answer may not have reached the kernel yet, the oldest first
    Handles delivered;                 // of `deliveries`, one after the other
    std::string peer_ip;
  };
  /// A request that waits in the engine, by CallerId.
  struct Parked {
    net::ConnectionId connection;
    std::uint64_t request;
    bool lose;  // the answer, on purpose
    api::ReplyContext context;
  };
  /// An answer of this turn: bytes in turn_bytes_, handles in turn_handles_.
  struct TurnReply {
    net::ConnectionId connection;
    std::uint64_t request;
    std::size_t offset;
    std::size_t bytes;
    std::size_t handles_offset;
    std::size_t handles;
    std::optional<LogPosition> wait_for;
    bool close_after;
    api::aws::Service service;
    api::aws::Protocol protocol;
    bool lose = false;  // the answer, on purpose
  };
  /// An answer to a parked request, encoded under the lock.
  struct Mail {
    net::ConnectionId connection;
    std::uint64_t request;
    std::string bytes;
    Handles handles;
    std::optional<LogPosition> wait_for;
    bool close_after;
    api::aws::Service service;
    api::aws::Protocol protocol;
    bool lose = false;  // the answer, on purpose
  };

  /// An answer that waits for signatures.
  struct Unsigned {
    net::ConnectionId connection;
    std::uint64_t request;
    bool lose;  // the answer, on purpose
    api::ReplyContext context;
    std::optional<LogPosition> wait_for;
    UnsignedReceive receive;
  };

  Timestamp now();
  /// How many bytes were whole requests.
  std::size_t parse(Connection& connection, std::string_view received);
  void drop_input(Connection& connection, std::size_t used);
  void refuse_longest_unfinished();
  [[nodiscard]] bool must_hold(const Connection& connection) const;
  [[nodiscard]] bool may_go_on(const Connection& connection) const;
  void hold(Connection& connection);
  void go_on(const Connection& connection);
  void release_held();
  void serve(Connection& connection, const wire::http::Request& request);
  void answer_at_once(Connection& connection, std::uint64_t request, std::size_t offset, bool close_after);
  void queue_answer(Connection& connection, std::uint64_t request, std::string_view bytes, std::span<const engine::ReceiptHandle> handles,
                    bool close_after);
  void send_ready(Connection& connection);
  void send_now(Connection& connection, std::string_view bytes, std::span<const engine::ReceiptHandle> handles, bool close_after);
  bool write(Connection& connection, std::string_view bytes);
  void close_if_done(Connection& connection);
  void forget_sent(Connection& connection);
  std::string_view refuse(api::aws::Service service, api::aws::Protocol protocol, bool keep_alive);
  void refuse_broken(Connection& connection, std::string_view begun, int status, std::string_view reason, std::string& out);
  void pause_reading(Connection& connection);
  void leave_engine(Connection& connection);
  void give_back(std::span<const engine::ReceiptHandle> handles);
  void note_left_out(const api::Encoded& encoded);
  void set_aside(Handles unreadable);
  void commit_turn();
  void take_mail();
  /// Whether the reply shows signatures that are not there yet; then it is put aside, and leaves when they are. Under the broker's lock.
  bool put_aside(const engine::Reply& reply, net::ConnectionId connection, std::uint64_t request, bool lose, const api::ReplyContext& context);
  /// Has the signer begin with what was put aside, and writes the answers whose signatures have come.
  void take_unsigned();
  /// Has the signer begin with what this request's answer says will be shown in envelopes.
  void prepare_signatures(const engine::Command& command);
  void lose_answer(Connection& connection);
  void begin_drain();
  void sweep();
  void arm_timer();
  void stop_when_empty();
  Connection* find(net::ConnectionId id);

  // Constant after construction.
  const DataPlaneOptions options_;
  Broker& broker_;
  Clock& clock_;
  net::Loop& loop_;
  const bool drives_deadlines_;
  std::uint8_t target_;
  std::optional<net::ListenerId> listener_;
  // Owned by the loop's thread.
  OsSecrets os_secrets_;
  Secrets& secrets_;
  api::Service service_;
  BrokerPayloads payloads_;
  std::vector<std::unique_ptr<Connection>> connections_;  // by slot
  UnfinishedRequests unfinished_;
  std::vector<net::ConnectionId> held_;      // in this turn
  std::vector<net::ConnectionId> going_on_;  // in the next one
  std::uint64_t next_request_ = 1;
  std::optional<Timestamp> now_;  // of this turn
  Timestamp system_now_{};        // when now_ was asked for
  std::int64_t date_second_ = 0;
  std::string turn_bytes_;
  std::vector<TurnReply> turn_replies_;
  Handles turn_handles_;
  std::string refusal_;
  std::optional<LogPosition> turn_wait_;
  bool turn_used_engine_ = false;
  std::optional<Instant> lazy_commit_at_;  // when records that nobody waits for are written; turns do not put it off
  engine::Command changed_command_;                        // of a request that chaos changed
  std::vector<engine::OutgoingMessage> changed_messages_;  // and what its batch points to
  struct ReadAgain {
    Instant at;
    Handles handles;
  };
  std::deque<ReadAgain> read_again_;  // messages that could not be read, the first ones to be given back first
  Instant next_sweep_{};
  bool draining_ = false;
  std::unordered_map<std::uint64_t, Unsigned> unsigned_;  // by request; the signer is at work for them
  // Protected by the broker's lock.
  // Of the request that is being handled: set while serve() holds the lock.
  engine::CallerId current_{};
  const api::ReplyContext* current_context_ = nullptr;
  Connection* current_connection_ = nullptr;
  std::uint64_t current_request_ = 0;
  bool current_answered_ = false;
  std::vector<engine::Published> to_sign_;  ///< of the request that is being handled, in the order of its publications
  bool current_lose_ = false;
  bool current_aside_ = false;
  std::vector<Unsigned> aside_;  // from on_reply on its way to unsigned_
  api::Service parked_service_;  // service_ may be decoding while another thread ends a long poll of this loop
  std::unordered_map<std::uint64_t, Parked> parked_;
  std::vector<Mail> mail_;
  Handles unreadable_;
  Handles held_behind_;
  RequestCounters counters_;

  std::atomic<bool> drain_asked_{false};
  /// Requests of which all signatures have come. Shared with the signer's thread, which may come after this plane has gone.
  struct Signed {
    std::mutex mutex;
    std::vector<std::uint64_t> requests;
    net::Loop* loop = nullptr;  ///< to be woken; null: gone
  };
  std::shared_ptr<Signed> signed_ = std::make_shared<Signed>();
};

}  // namespace fanfare::server
