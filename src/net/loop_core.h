// What both loops share: connections and their life, turns, output queues, timers, limits. A backend (epoll_loop.cpp,
// io_uring_loop.cpp) moves bytes and says what happened.
//
// A connection's life:
//   Open       the handler knows it
//   Flushing   closed by the handler with After::Flush, output pending            -> on_closed when it is written
//   Closing    closed at once or failed; ends at the end of the turn              -> on_closed
//   Lingering  unknown to the handler; its input is discarded so that the peer can read the last bytes before we close
//   Dying      the backend waits for the kernel to let go of it
//   Free
//
// Rule 1: slots become free at the end of a turn or later, never while events of the turn are being told.
// Rule 2: handler functions are called from deliver_*() and turn() only.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "net/loop.h"
#include "net/output_queue.h"

struct sockaddr;

namespace fanfare::net {

class LoopCore : public Loop {
 public:
  explicit LoopCore(LoopOptions options);
  ~LoopCore() override;

  /// Makes what every backend needs (the wake-up descriptor).
  [[nodiscard]] std::optional<NetError> open_core();
  void explain_choice(std::string choice) { choice_ = std::move(choice); }

  Result<Listening, NetError> listen(const SocketAddress& address, const ListenOptions& options) final;
  void close_listener(ListenerId id) final;
  void run(LoopHandler& handler) final;
  void stop() final;
  void wake() final;
  SendResult send(ConnectionId id, std::string_view bytes) final;
  SendResult send(ConnectionId id, std::string&& bytes) final;
  SendResult send(ConnectionId id, SharedBytes bytes) final;
  std::string* output(ConnectionId id) final;
  [[nodiscard]] std::size_t pending_bytes(ConnectionId id) const final;
  void notify_drained(ConnectionId id) final;
  void close(ConnectionId id, After after) final;
  void pause_reading(ConnectionId id) final;
  void resume_reading(ConnectionId id) final;
  [[nodiscard]] bool is_open(ConnectionId id) const final { return open(id) != nullptr; }
  [[nodiscard]] bool is_peer_alive(ConnectionId id) const final;
  [[nodiscard]] bool probe_peer(ConnectionId id) const final;
  [[nodiscard]] Instant last_activity(ConnectionId id) const final;
  void for_each_idle(Instant before, const std::function<void(ConnectionId)>& visit) final;
  [[nodiscard]] std::uint32_t open_connections() const final { return open_count_; }
  void set_deadline(Instant deadline) final { deadline_ = deadline; }
  void clear_deadline() final { deadline_ = Instant::max(); }
  [[nodiscard]] Instant now() const final { return now_; }
  [[nodiscard]] std::string_view choice() const final { return choice_; }
  [[nodiscard]] const LoopStatistics& statistics() const final { return statistics_; }

 protected:
  enum class State : std::uint8_t { Free, Open, Flushing, Closing, Lingering, Dying };

  struct Connection {
    Instant last_activity{};
    std::unique_ptr<OutputQueue> output;  // null while nothing is queued
    std::unique_ptr<std::string> stash;   // received while paused (io_uring); null when empty
    int fd = -1;
    std::uint32_t generation = 0;
    State state = State::Free;
    CloseReason reason = CloseReason::ClosedByUs;

    bool known = false;         // the handler is owed an on_closed
    bool paused = false;        // by the handler
    bool hung_up = false;       // the peer's FIN or an abort has been seen, perhaps behind unread input
    bool at_end = false;        // all input has been read
    bool end_told = false;      // on_end_of_input was called
    bool want_drained = false;  // notify_drained() was called
    bool dirty = false;         // in dirty_
    bool ready = false;         // in ready_
    bool blocked = false;       // the kernel takes no more output at present

    // epoll
    bool readable = false;  // unread input may lie in the kernel
    // io_uring; each of the first four is one request that the kernel holds
    bool receive_armed = false;
    bool watch_armed = false;
    bool send_armed = false;
    bool writable_armed = false;
    bool cancel_sent = false;
  };

  struct Listener {
    int fd = -1;
    bool armed = false;   // the backend waits for connections
    bool paused = false;  // for want of file descriptors
    int closing_fd = -1;  // io_uring: closed by the handler, still held by the kernel
  };

  // What a backend implements. Slots are valid in all of them.
  virtual std::optional<NetError> start() = 0;
  /// Waits for events until `until` (Instant::min(): does not wait), or until the wake-up descriptor is written.
  virtual void wait(Instant until) = 0;
  /// Tells what wait() found.
  virtual void dispatch() = 0;
  /// Begins to receive from a new connection. False if the kernel refuses.
  virtual bool attach(std::uint32_t slot) = 0;
  /// A slot that was put into ready_ has its turn.
  virtual void on_ready(std::uint32_t slot) = 0;
  virtual void on_paused(std::uint32_t slot) = 0;
  virtual void on_resumed(std::uint32_t slot) = 0;
  /// Writes what is queued, as far as the kernel takes it; then calls wrote() or write_failed(), now or in a later
  /// turn.
  virtual void write(std::uint32_t slot) = 0;
  /// The peer's half is closed and the handler keeps the connection: an abort should still be noticed.
  virtual void watch_for_abort(std::uint32_t slot) = 0;
  /// From now on input is discarded; at its end discard_ended() is called.
  virtual void discard_input(std::uint32_t slot) = 0;
  /// Closes the descriptor, and calls release() once the kernel holds nothing of the slot; now or later.
  virtual void detach(std::uint32_t slot) = 0;
  virtual void arm(std::uint32_t listener) = 0;
  /// Stops accepting and closes the descriptor.
  virtual void disarm(std::uint32_t listener) = 0;
  /// Stops accepting for the time being.
  virtual void hold(std::uint32_t listener) = 0;
  /// Called last, from run(): lets the kernel finish with all slots that are Dying.
  virtual void finish() = 0;

  // What a backend calls.
  Connection& at(std::uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  [[nodiscard]] const Connection& at(std::uint32_t slot) const { return chunks_[slot / kChunk][slot % kChunk]; }
  void deliver_accept(int fd, std::uint32_t listener, const sockaddr* peer);
  enum class Accepting { GoesOn, NobodyWaits, Held };
  /// Where descriptors have run out, refuses waiting peers; where even that is impossible, holds the listener for a
  /// moment.
  Accepting accept_failed(std::uint32_t listener, int error);
  void hold_for_a_moment(std::uint32_t listener);
  void deliver_bytes(std::uint32_t slot, std::string_view bytes);
  void deliver_end(std::uint32_t slot);
  void fail(std::uint32_t slot, int error);
  void wrote(std::uint32_t slot, std::size_t bytes);
  void write_failed(std::uint32_t slot, int error);
  void discard_ended(std::uint32_t slot);
  void release(std::uint32_t slot);
  void make_ready(std::uint32_t slot);
  void make_dirty(std::uint32_t slot);
  [[nodiscard]] ConnectionId id_of(std::uint32_t slot) const { return {slot, at(slot).generation}; }
  /// Input of a lingering connection has been thrown away.
  void discarded(std::uint32_t slot) { at(slot).last_activity = now_; }
  [[nodiscard]] bool holds_input(const Connection& c) const { return c.paused || c.stash != nullptr; }

  static NetError error_of(std::string_view what, int error);

  const LoopOptions options_;
  std::vector<Listener> listeners_;
  LoopStatistics statistics_;
  int wake_fd_ = -1;
  Instant now_;
  std::uint32_t dying_count_ = 0;
  bool accept_with_nonblocking_listeners_ = true;

 private:
  static constexpr std::uint32_t kChunk = 1024;
  static constexpr std::uint32_t kLingerMost = 1024;

  struct Lingering {
    ConnectionId id;
    Instant until;
    Instant since;
  };
  struct Notice {
    ConnectionId id;
    bool drained;  // else closed
    CloseReason reason;
    std::size_t unsent;
  };

  Connection* open(ConnectionId id);
  [[nodiscard]] const Connection* open(ConnectionId id) const;
  OutputQueue* queue_for(ConnectionId id, SendResult& result);
  [[nodiscard]] static std::size_t pending(const Connection& c) { return c.output ? c.output->pending() : 0; }
  std::uint32_t take_slot(int fd);
  void refuse(int fd);
  void count_refused() {
    ++statistics_.refused;
    if (options_.refused != nullptr) options_.refused->fetch_add(1, std::memory_order_relaxed);
  }
  enum class Shed { One, Nobody, Failed };
  Shed shed_one(std::uint32_t listener);
  void linger(std::uint32_t slot);
  void end(std::uint32_t slot);
  void recycle(std::unique_ptr<OutputQueue> queue);

  void turn();
  [[nodiscard]] Instant next_wake() const;
  void notify();
  void deliver_notices();
  void deliver_ready();
  void tell_closed(ConnectionId id, CloseReason reason, std::size_t unsent);
  void end_lingers();
  bool end_lingers_that_were_prolonged();
  void resume_accepting();
  void flush();
  void flush(std::uint32_t slot);
  void shut_down();

  std::string choice_;
  LoopHandler* handler_ = nullptr;
  Instant deadline_ = Instant::max();
  Instant accept_again_ = Instant::max();
  bool told_ = false;  // a handler function was called in this turn
  bool ran_ = false;
  bool stopping_ = false;  // the handler hears of no more input
  int spare_fd_ = -1;      // given up to accept and refuse a peer when descriptors have run out

  std::vector<std::unique_ptr<Connection[]>> chunks_;
  std::uint32_t slot_count_ = 0;
  std::uint32_t open_count_ = 0;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> dirty_;  // have output or a change of state to be dealt with at the end of the turn
  std::vector<ConnectionId> ready_;   // have input to be told at the next turn
  std::vector<std::uint32_t> dirty_now_;
  std::vector<ConnectionId> ready_now_;
  std::vector<Notice> notices_;
  std::vector<Notice> notices_now_;
  std::deque<Lingering> lingering_;  // by time; may name connections that are gone
  std::uint32_t lingering_count_ = 0;
  std::vector<std::unique_ptr<OutputQueue>> pool_;
  std::size_t pool_bytes_ = 0;

  // Shared with other threads.
  enum class Sleep : int { Running, Sleeping, Notified };
  std::atomic<Sleep> sleep_{Sleep::Running};
  std::atomic<bool> wake_wanted_{false};
  std::atomic<bool> stop_wanted_{false};
};

/// Null and the reason if this kernel or sandbox has no usable io_uring.
Result<std::unique_ptr<LoopCore>, NetError> make_io_uring_loop(LoopOptions options);
Result<std::unique_ptr<LoopCore>, NetError> make_epoll_loop(LoopOptions options);

}  // namespace fanfare::net
