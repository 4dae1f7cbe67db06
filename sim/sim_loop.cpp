// Turns without sockets.
#include "sim/sim_loop.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace fanfare::sim {

using net::ConnectionId;

SimLoop::Connection* SimLoop::find(ConnectionId id) {
  if (id.slot >= connections_.size()) return nullptr;
  Connection& connection = connections_[id.slot];
  return connection.used && connection.id == id ? &connection : nullptr;
}

const SimLoop::Connection* SimLoop::find(ConnectionId id) const { return const_cast<SimLoop*>(this)->find(id); }

ConnectionId SimLoop::connect() {
  auto slot = std::find_if(connections_.begin(), connections_.end(), [](const Connection& c) { return !c.used; });
  if (slot == connections_.end()) {
    Connection fresh;
    fresh.id = {static_cast<std::uint32_t>(connections_.size()), 0};
    connections_.push_back(std::move(fresh));
    slot = std::prev(connections_.end());
  }
  const ConnectionId id{slot->id.slot, slot->id.generation + 1};
  *slot = Connection{};
  slot->id = id;
  slot->used = true;
  slot->active = now_;
  return id;
}

void SimLoop::arrive(ConnectionId id, std::string bytes, std::uint64_t tag) {
  if (Connection* connection = find(id); connection != nullptr && !connection->end_arrived && !connection->reset)
    connection->input.push_back({std::move(bytes), tag});
}

void SimLoop::hang_up(ConnectionId id) {
  if (Connection* connection = find(id)) connection->end_arrived = true;
}

void SimLoop::reset(ConnectionId id) {
  if (Connection* connection = find(id)) connection->reset = true;
}

bool SimLoop::is_over(const Connection& connection) {
  if (!connection.used || !connection.announced) return false;
  if (connection.reset) return true;
  return connection.closing && (*connection.closing == net::After::Now || connection.out.empty());
}

bool SimLoop::has_news() const {
  return wake_ || stop_asked_ || std::any_of(connections_.begin(), connections_.end(), [](const Connection& c) {
           if (!c.used) return false;
           if (!c.announced || is_over(c)) return true;
           if (c.wants_drained && c.out.empty()) return true;
           if (c.closing || !c.reading) return false;
           return !c.input.empty() || (c.end_arrived && !c.end_told);
         });
}

std::optional<Instant> SimLoop::due() const {
  if (stopped_) return std::nullopt;
  if (has_news()) return now_;
  return deadline_;
}

void SimLoop::free(net::LoopHandler& handler, Connection& connection, net::CloseReason reason) {
  const std::size_t unsent = connection.out.size();
  connection.used = false;
  connection.out.clear();
  connection.input.clear();
  handler.on_closed(connection.id, reason, unsent);
  kernel_.ended(connection.id);
}

bool SimLoop::turn(net::LoopHandler& handler, Instant now) {
  FANFARE_ASSERT(!stopped_);
  now_ = now;
  ++statistics_.turns;
  bool called = false;
  for (std::size_t slot = 0; slot < connections_.size(); ++slot) {  // by number: the handler may not add, yet be safe
    Connection& connection = connections_[slot];
    if (!connection.used) continue;
    if (!connection.announced) {
      connection.announced = called = true;
      ++statistics_.accepted;
      handler.on_accept(connection.id, {0}, *net::SocketAddress::parse("127.0.0.1:40000"));
    }
    while (!connection.input.empty() && connection.reading && !connection.closing && !connection.reset) {
      Piece piece = std::move(connection.input.front());
      connection.input.pop_front();
      connection.active = now_;
      called = true;
      kernel_.handing_in(connection.id, piece.tag);
      handler.on_receive(connection.id, piece.bytes);
    }
    if (connection.end_arrived && !connection.end_told && connection.input.empty() && connection.reading && !connection.closing &&
        !connection.reset) {
      connection.end_told = called = true;
      handler.on_end_of_input(connection.id);
    }
    if (is_over(connection)) {
      called = true;
      free(handler, connection, connection.reset && !connection.closing ? net::CloseReason::PeerReset : net::CloseReason::ClosedByUs);
      continue;
    }
    if (connection.wants_drained && connection.out.empty()) {
      connection.wants_drained = false;
      called = true;
      handler.on_drained(connection.id);
    }
  }
  if (std::exchange(wake_, false)) {
    called = true;
    handler.on_wake();
  }
  if (deadline_ && *deadline_ <= now_) {
    deadline_.reset();
    called = true;
    handler.on_timer(now_);
  }
  if (called) handler.on_turn_end();
  flush();
  if (stop_asked_) {
    for (Connection& connection : connections_)
      if (connection.used && connection.announced) free(handler, connection, net::CloseReason::Stopped);
    stopped_ = true;
  }
  return !stopped_;
}

void SimLoop::flush() {
  for (Connection& connection : connections_) {
    if (!connection.used || connection.out.empty() || connection.reset) continue;
    if (connection.closing == net::After::Now) continue;
    const std::size_t taken = kernel_.take(connection.id, connection.out);
    connection.out.erase(0, taken);
    if (taken > 0) connection.active = now_;
  }
}

Result<net::Listening, net::NetError> SimLoop::listen(const net::SocketAddress& address, const net::ListenOptions&) {
  listening_ = true;
  return net::Listening{{0}, address};
}
void SimLoop::close_listener(net::ListenerId) { listening_ = false; }
void SimLoop::run(net::LoopHandler&) { FANFARE_ASSERT(false, "the world runs the turns"); }

net::SendResult SimLoop::send(ConnectionId id, std::string_view bytes) {
  std::string* out = output(id);
  if (out == nullptr) return net::SendResult::Stale;
  out->append(bytes);
  return net::SendResult::Queued;
}
net::SendResult SimLoop::send(ConnectionId id, std::string&& bytes) { return send(id, std::string_view{bytes}); }
net::SendResult SimLoop::send(ConnectionId id, net::SharedBytes bytes) { return send(id, std::string_view{*bytes}); }
std::string* SimLoop::output(ConnectionId id) {
  Connection* connection = find(id);
  return connection == nullptr || connection->closing ? nullptr : &connection->out;
}
std::size_t SimLoop::pending_bytes(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection == nullptr ? 0 : connection->out.size();
}
void SimLoop::notify_drained(ConnectionId id) {
  if (Connection* connection = find(id)) connection->wants_drained = true;
}
void SimLoop::close(ConnectionId id, net::After after) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  if (!connection->closing || after == net::After::Now) connection->closing = after;
}
void SimLoop::pause_reading(ConnectionId id) {
  if (Connection* connection = find(id)) connection->reading = false;
}
void SimLoop::resume_reading(ConnectionId id) {
  if (Connection* connection = find(id)) connection->reading = true;
}
bool SimLoop::is_open(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection != nullptr && !connection->closing;
}
bool SimLoop::is_peer_alive(ConnectionId id) const {
  // As the real loops: what has been read so far says so; a hang-up that is still in the kernel is not known.
  const Connection* connection = find(id);
  return connection != nullptr && !connection->closing && !connection->end_told;
}
bool SimLoop::probe_peer(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection != nullptr && !connection->closing && !connection->end_arrived && !connection->reset;
}
Instant SimLoop::last_activity(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection == nullptr ? Instant{} : connection->active;
}
void SimLoop::for_each_idle(Instant before, const std::function<void(ConnectionId)>& visit) {
  for (std::size_t slot = 0; slot < connections_.size(); ++slot) {
    const Connection& connection = connections_[slot];
    if (connection.used && connection.announced && !connection.closing && connection.active < before) visit(connection.id);
  }
}
std::uint32_t SimLoop::open_connections() const {
  return static_cast<std::uint32_t>(
      std::count_if(connections_.begin(), connections_.end(), [](const Connection& c) { return c.used && c.announced; }));
}

}  // namespace fanfare::sim
