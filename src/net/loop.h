// The data-plane event loop: accepts TCP connections, hands received bytes to a handler and writes what the handler
// queued, gathered once per connection and turn. It knows bytes and connections, not HTTP.
//
// Rule 1: a loop belongs to the thread that calls run(); only wake() and stop() may be called from others. Before run()
//         the creating thread may configure it.
// Rule 2: a turn is: accepts, receives and closings of all that is ready, then on_wake, on_timer, then on_turn_end
//         once, then the output of the turn is written. The handler may commit in on_turn_end and queue its replies
//         there: no byte queued during a turn leaves before on_turn_end has returned.
// Rule 3: no handler function is called from inside a Loop function; closing a connection in any callback is safe.
// Rule 4: every connection reported by on_accept gets exactly one on_closed, and nothing after it. A stale id is
//         harmless: functions given one do nothing and say so.
// Rule 5: an idle connection holds no buffer, only its slot (under 100 bytes).
// Rule 6: nothing that a peer does blocks the loop, raises a signal or makes it spin.
//
// Two implementations behave alike (loop_test.cpp runs one contract suite over both): io_uring, and epoll for kernels
// and containers that refuse io_uring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/address.h"

namespace fanfare::net {

/// Names one accepted connection of one loop. Slots are small dense numbers and are used again after on_closed, so a
/// handler may keep its own state in a vector indexed by slot; the generation tells a slot's users apart.
/// A default ConnectionId names no connection.
struct ConnectionId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  friend constexpr auto operator<=>(const ConnectionId&, const ConnectionId&) = default;
};

struct ListenerId {
  std::uint32_t index = 0;

  friend constexpr auto operator<=>(const ListenerId&, const ListenerId&) = default;
};

/// Bytes that many connections share: one encoded event, many subscribers.
using SharedBytes = std::shared_ptr<const std::string>;

enum class CloseReason : std::uint8_t {
  ClosedByUs,   ///< The handler called close(), and what it asked for is done.
  PeerReset,    ///< The peer aborted, went away while output was pending, or its network died.
  SystemError,  ///< The kernel refused an operation on the socket for another reason.
  Stopped,      ///< The loop stopped.
};
std::string_view describe(CloseReason reason);

/// What the loop tells. All calls come on the loop's thread and must not block (on_turn_end may commit) or throw.
class LoopHandler {
 public:
  virtual ~LoopHandler() = default;

  /// A new connection, ready for send(); its first bytes come by on_receive.
  virtual void on_accept(ConnectionId id, ListenerId listener, const SocketAddress& peer) = 0;
  /// Bytes from the peer, at least one, in order. They are valid during the call only.
  virtual void on_receive(ConnectionId id, std::string_view bytes) = 0;
  /// The peer will send nothing more, yet may still read (a half-closed connection, as `nc` makes; a peer that closed
  /// completely looks the same). The connection stays open until the handler closes it. The usual answer is: drop what
  /// waits (a parked long poll has nobody to serve), and close(id, After::Flush) once the replies in work are queued.
  virtual void on_end_of_input(ConnectionId id) = 0;
  /// The connection is gone and its slot is free again. `unsent` bytes of what was queued never reached the kernel.
  virtual void on_closed(ConnectionId id, CloseReason reason, std::size_t unsent) = 0;
  /// Everything queued has been handed to the kernel; called once for each notify_drained().
  virtual void on_drained(ConnectionId /*id*/) {}
  /// The deadline given to set_deadline() has come; it is no longer set.
  virtual void on_timer(Instant /*now*/) {}
  /// wake() was called, once or several times, since the last on_wake.
  virtual void on_wake() {}
  /// All that was ready has been told. Called once, last, in each turn in which anything above was called.
  virtual void on_turn_end() {}
};

enum class LoopKind {
  Auto,     ///< io_uring if this kernel lets us use it as we need, else epoll.
  IoUring,  ///< Linux 6.1 or newer, not disabled by sysctl or seccomp.
  Epoll,
};
std::string_view describe(LoopKind kind);

struct LoopOptions {
  /// Connections open at once, over all listeners. A further one is accepted, given `refusal`, and closed.
  std::uint32_t max_connections = 50'000;
  /// What a refused connection reads, for example a complete `HTTP/1.1 503 ...` response; may be empty.
  std::string refusal;
  /// As LoopStatistics::refused, for other threads; outlives the loop. Null: not told.
  std::atomic<std::uint64_t>* refused = nullptr;
  /// A connection with this many bytes waiting takes no more (SendResult::Full). One send may exceed it: it is tested
  /// before.
  std::size_t output_limit = std::size_t{64} << 20;
  /// How long a connection closed with After::Flush is kept, its input discarded, for the peer to read the last bytes;
  /// closing at once while input is unread would reset the connection and destroy them [RFC 9112 9.6]. A peer that goes
  /// on sending, as one does that reads only when its request is out, is kept as long again, and again, up to linger_most;
  /// where descriptors have run out, only once.
  milliseconds linger{2000};
  milliseconds linger_most{30'000};
  /// Handed to the handler at once at most; also how much is received from one connection before others have their
  /// turn.
  std::size_t receive_bytes = 16 * 1024;
  /// io_uring only: number of receive buffers (a power of two, at most 32,768) shared by all connections.
  std::uint32_t receive_buffers = 256;
};

struct ListenOptions {
  bool reuse_port = false;  ///< Several loops share one port, the kernel spreads connections [SO_REUSEPORT].
  int backlog = 4096;       ///< Capped by net.core.somaxconn.
  /// A peer that acknowledges nothing for this long, idle or with output pending, is closed with PeerReset
  /// [TCP_USER_TIMEOUT, SO_KEEPALIVE].
  seconds dead_peer_after{60};
};

struct Listening {
  ListenerId id;
  SocketAddress address;  ///< With the port that the system chose where 0 was asked for.
};

/// Why listen() or make_loop() failed.
struct NetError {
  enum class Code {
    AddressInUse,         ///< Another socket listens there.
    AddressNotAvailable,  ///< No interface of this machine has the address.
    PermissionDenied,     ///< A port below 1024 without the right to it, or a sandbox.
    TooManyFiles,         ///< The limit on open files is reached.
    Unsupported,          ///< The kernel lacks or forbids what is needed.
    System,               ///< Anything else; see system_errno.
  };
  Code code;
  int system_errno;
  std::string text;  ///< For people: "cannot listen on 127.0.0.1:80: Permission denied".
};

enum class After {
  Flush,  ///< Queued output is written first, then the peer sees an orderly end.
  Now,    ///< Queued output is dropped.
};

enum class SendResult {
  Queued,
  Full,   ///< The connection's output_limit is reached; nothing was queued.
  Stale,  ///< No such open connection (gone, or being closed); nothing was queued.
};

struct LoopStatistics {
  std::uint64_t turns = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;   ///< Because of max_connections or because no file descriptor was free.
  std::uint64_t receives = 0;  ///< Calls of on_receive.
  std::uint64_t sends = 0;     ///< Writes given to the kernel.
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t wakes = 0;  ///< Calls of on_wake.
  std::uint64_t receive_buffers_exhausted = 0;
};

class Loop {
 public:
  virtual ~Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Binds and listens; connections are accepted once run() runs. Before run() or on the loop's thread.
  virtual Result<Listening, NetError> listen(const SocketAddress& address, const ListenOptions& options) = 0;
  Result<Listening, NetError> listen(const SocketAddress& address) { return listen(address, ListenOptions{}); }
  /// Accepts no more and frees the port; open connections stay.
  virtual void close_listener(ListenerId id) = 0;

  /// Runs turns until stop(). Then what is queued is written as far as the kernel takes it, each connection gets
  /// on_closed (Stopped), listeners are closed, and it returns. Once per loop.
  virtual void run(LoopHandler& handler) = 0;
  /// Ends run() after the current turn. Thread-safe; may also come before run(), which then only cleans up.
  virtual void stop() = 0;
  /// Has on_wake called soon. Thread-safe, and cheap when the loop is busy: only a sleeping loop costs a system call.
  virtual void wake() = 0;

  /// Queues a copy of the bytes; they are written after on_turn_end of this turn, together with what else is queued.
  virtual SendResult send(ConnectionId id, std::string_view bytes) = 0;
  SendResult send(ConnectionId id, const char* text) { return send(id, std::string_view{text}); }
  /// Takes the string over; a long one is not copied.
  virtual SendResult send(ConnectionId id, std::string&& bytes) = 0;
  /// Keeps a reference; a long one is not copied. `bytes` is not null.
  virtual SendResult send(ConnectionId id, SharedBytes bytes) = 0;
  /// The buffer behind what is queued, for encoders that append to a string: `if (auto* out = loop.output(id))
  /// write(*out)`. Null where send() would not give Queued. Only append, and only until the next call of a Loop
  /// function.
  virtual std::string* output(ConnectionId id) = 0;

  /// Bytes queued and not yet taken by the kernel; 0 for a stale id.
  [[nodiscard]] virtual std::size_t pending_bytes(ConnectionId id) const = 0;
  /// Asks for one on_drained, in a later turn if nothing is pending now.
  virtual void notify_drained(ConnectionId id) = 0;

  /// Ends the connection; nothing more is received from it. on_closed follows in this or a later turn.
  /// From Flush to Now one may still change one's mind; the other way round not.
  virtual void close(ConnectionId id, After after) = 0;

  /// No on_receive or on_end_of_input for this connection until resume_reading(); the peer is slowed down by TCP once
  /// buffers are full. An abort by the peer is still seen. Idempotent.
  virtual void pause_reading(ConnectionId id) = 0;
  /// What had arrived is delivered in the next turn.
  virtual void resume_reading(ConnectionId id) = 0;

  /// The id names a connection that the handler has not closed.
  [[nodiscard]] virtual bool is_open(ConnectionId id) const = 0;
  /// Open, and neither an end of input nor an abort has been seen. Costs nothing. Since reading is always armed, at
  /// most the news of the present turn are missing.
  [[nodiscard]] virtual bool is_peer_alive(ConnectionId id) const = 0;
  /// As is_peer_alive, but asks the kernel (one system call), so that also a hang-up that has arrived during this turn
  /// or behind unread input is seen. For the moment before something is handed out to a peer that has waited long.
  [[nodiscard]] virtual bool probe_peer(ConnectionId id) const = 0;

  /// When bytes were last received from or taken by the peer, else when it was accepted. Instant{} for a stale id.
  [[nodiscard]] virtual Instant last_activity(ConnectionId id) const = 0;
  /// Visits open connections without activity since `before`, in no particular order. Looks at every slot (about 5 ns
  /// each): once a second is enough to find slow clients. Closing connections in the visitor is allowed.
  virtual void for_each_idle(Instant before, const std::function<void(ConnectionId)>& visit) = 0;
  /// Connections that are open, and have been reported by on_accept.
  [[nodiscard]] virtual std::uint32_t open_connections() const = 0;

  /// The loop's one timer: on_timer comes once, in the first turn at or after `deadline`. A second call replaces the
  /// first.
  virtual void set_deadline(Instant deadline) = 0;
  virtual void clear_deadline() = 0;
  /// The time at which this turn began; what handlers should use instead of reading the clock themselves.
  [[nodiscard]] virtual Instant now() const = 0;

  [[nodiscard]] virtual LoopKind kind() const = 0;
  /// Why this kind was chosen, for the start-up log: `io_uring`, `epoll (io_uring: Operation not permitted)`.
  [[nodiscard]] virtual std::string_view choice() const = 0;
  [[nodiscard]] virtual const LoopStatistics& statistics() const = 0;

 protected:
  Loop() = default;
};

/// Unsupported if io_uring was asked for and cannot be had; TooManyFiles or System if not even epoll can.
Result<std::unique_ptr<Loop>, NetError> make_loop(LoopKind kind, LoopOptions options = {});

}  // namespace fanfare::net

template <>
struct std::hash<fanfare::net::ConnectionId> {
  std::size_t operator()(const fanfare::net::ConnectionId& id) const noexcept {
    return std::hash<std::uint64_t>{}((std::uint64_t{id.generation} << 32) | id.slot);
  }
};
