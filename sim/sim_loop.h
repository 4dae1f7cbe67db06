// The event loop without sockets: the world hands in what arrives, and takes what left.
//
// Rule 1: one call of turn() is one turn of net::Loop, in its order; nothing else calls the handler.
// Rule 2: bytes queued during a turn leave after on_turn_end, connection by connection; the world says of each how much the
//         kernel takes. Only what it took can reach a client.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/loop.h"

namespace fanfare::sim {

/// What the world does with output; called at the end of a turn.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// The next bytes of this connection are handed to the handler now; `tag` came with them (0: nothing ends here).
  virtual void handing_in(net::ConnectionId id, std::uint64_t tag) = 0;
  /// How much of `bytes` the kernel takes.
  virtual std::size_t take(net::ConnectionId id, std::string_view bytes) = 0;
  /// The server has ended the connection; everything it wrote before has been taken or is lost.
  virtual void ended(net::ConnectionId id) = 0;
};

class SimLoop final : public net::Loop {
 public:
  SimLoop(Kernel& kernel, Instant now) : kernel_(kernel), now_(now) {}

  // The outside:
  net::ConnectionId connect();
  /// `tag`: names the request that is whole with these bytes; 0: none is.
  void arrive(net::ConnectionId id, std::string bytes, std::uint64_t tag);
  void hang_up(net::ConnectionId id);   ///< the peer sends nothing more
  void reset(net::ConnectionId id);     ///< the peer is gone
  /// A turn at `now`. False once the loop has stopped.
  bool turn(net::LoopHandler& handler, Instant now);
  /// Writes what is queued, as at the end of a turn.
  void flush();
  /// When the next turn is due by itself; nullopt: only when something arrives.
  [[nodiscard]] std::optional<Instant> due() const;
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// Something waits to be handed in.
  [[nodiscard]] bool has_news() const;

  // net::Loop:
  Result<net::Listening, net::NetError> listen(const net::SocketAddress& address, const net::ListenOptions& options) override;
  void close_listener(net::ListenerId id) override;
  void run(net::LoopHandler& handler) override;
  void stop() override { stop_asked_ = true; }
  void wake() override { wake_ = true; }
  net::SendResult send(net::ConnectionId id, std::string_view bytes) override;
  net::SendResult send(net::ConnectionId id, std::string&& bytes) override;
  net::SendResult send(net::ConnectionId id, net::SharedBytes bytes) override;
  std::string* output(net::ConnectionId id) override;
  [[nodiscard]] std::size_t pending_bytes(net::ConnectionId id) const override;
  void notify_drained(net::ConnectionId id) override;
  void close(net::ConnectionId id, net::After after) override;
  void pause_reading(net::ConnectionId id) override;
  void resume_reading(net::ConnectionId id) override;
  [[nodiscard]] bool is_open(net::ConnectionId id) const override;
  [[nodiscard]] bool is_peer_alive(net::ConnectionId id) const override;
  [[nodiscard]] bool probe_peer(net::ConnectionId id) const override;
  [[nodiscard]] Instant last_activity(net::ConnectionId id) const override;
  void for_each_idle(Instant before, const std::function<void(net::ConnectionId)>& visit) override;
  [[nodiscard]] std::uint32_t open_connections() const override;
  void set_deadline(Instant deadline) override { deadline_ = deadline; }
  void clear_deadline() override { deadline_.reset(); }
  [[nodiscard]] Instant now() const override { return now_; }
  [[nodiscard]] net::LoopKind kind() const override { return net::LoopKind::Epoll; }
  [[nodiscard]] std::string_view choice() const override { return "simulated"; }
  [[nodiscard]] const net::LoopStatistics& statistics() const override { return statistics_; }

 private:
  struct Piece {
    std::string bytes;
    std::uint64_t tag = 0;
  };
  struct Connection {
    net::ConnectionId id;
    bool used = false;         // between connect() and on_closed
    bool announced = false;    // on_accept was called
    std::deque<Piece> input;   // in the kernel, not handed in yet
    bool end_arrived = false;  // FIN, behind the input
    bool end_told = false;
    bool reset = false;        // the peer is gone
    bool reading = true;
    std::optional<net::After> closing;
    std::string out;
    bool wants_drained = false;
    Instant active{};
  };
  Connection* find(net::ConnectionId id);
  [[nodiscard]] const Connection* find(net::ConnectionId id) const;
  void free(net::LoopHandler& handler, Connection& connection, net::CloseReason reason);
  [[nodiscard]] static bool is_over(const Connection& connection);

  Kernel& kernel_;
  Instant now_;
  std::deque<Connection> connections_;  // by slot; a deque, so that references stay valid
  std::optional<Instant> deadline_;
  bool wake_ = false;
  bool stop_asked_ = false;
  bool stopped_ = false;
  bool listening_ = false;
  net::LoopStatistics statistics_;
};

}  // namespace fanfare::sim
