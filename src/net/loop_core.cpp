#include "net/loop_core.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "base/marks.h"

namespace fanfare::net {
namespace {

using namespace std::chrono_literals;

// Buffers kept for reuse, over all connections of a loop: enough for every connection that is busy at one time.
constexpr std::size_t kPoolBytes = std::size_t{4} << 20;
// When not even the spare descriptor helps, how long until accepting is tried again.
constexpr auto kAcceptPause = 100ms;

NetError::Code code_of(int error) {
  switch (error) {
    case EADDRINUSE: return NetError::Code::AddressInUse;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT: return NetError::Code::AddressNotAvailable;
    case EACCES:
    case EPERM: return NetError::Code::PermissionDenied;
    case EMFILE:
    case ENFILE: return NetError::Code::TooManyFiles;
    case ENOSYS:
    case EOPNOTSUPP: return NetError::Code::Unsupported;
    default: return NetError::Code::System;
  }
}

CloseReason reason_of(int error) {
  switch (error) {
    case ECONNRESET:
    case EPIPE:
    case ETIMEDOUT:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENOTCONN:
    case ECONNABORTED: return CloseReason::PeerReset;
    default: return CloseReason::SystemError;
  }
}

int open_spare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

// A peer of a dual-stack listener is reported by its IPv4 address.
SocketAddress peer_address(int fd, const sockaddr* known) {
  sockaddr_storage storage{};
  if (known == nullptr) {
    socklen_t size = sizeof storage;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
    known = reinterpret_cast<const sockaddr*>(&storage);
  }
  auto address = SocketAddress::from_sockaddr(*known).value_or(SocketAddress{});
  const auto& bytes = address.ip.bytes();
  const bool mapped = address.ip.is_v6() &&
                      std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; }) &&
                      bytes[10] == 0xff && bytes[11] == 0xff;
  if (mapped) address.ip = IpAddress::v4(bytes[12], bytes[13], bytes[14], bytes[15]);
  return address;
}

bool set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

}  // namespace

std::string_view describe(CloseReason reason) {
  switch (reason) {
    case CloseReason::ClosedByUs: return "closed by us";
    case CloseReason::PeerReset: return "the peer aborted or is gone";
    case CloseReason::SystemError: return "system error";
    case CloseReason::Stopped: return "the loop stopped";
  }
  return {};
}

std::string_view describe(LoopKind kind) {
  switch (kind) {
    case LoopKind::Auto: return "auto";
    case LoopKind::IoUring: return "io_uring";
    case LoopKind::Epoll: return "epoll";
  }
  return {};
}

Result<std::unique_ptr<Loop>, NetError> make_loop(LoopKind kind, LoopOptions options) {
  std::string why = "epoll";
  if (kind != LoopKind::Epoll) {
    auto loop = make_io_uring_loop(options);
    if (loop) {
      (*loop)->explain_choice("io_uring");
      return std::unique_ptr<Loop>{std::move(*loop)};
    }
    if (kind == LoopKind::IoUring) return loop.error();
    why = fmt::format("epoll ({})", loop.error().text);
  }
  auto loop = make_epoll_loop(std::move(options));
  if (!loop) return loop.error();
  (*loop)->explain_choice(std::move(why));
  return std::unique_ptr<Loop>{std::move(*loop)};
}

LoopCore::LoopCore(LoopOptions options) : options_(std::move(options)), now_(std::chrono::steady_clock::now()) {
  FANFARE_ASSERT(options_.receive_bytes > 0 && options_.receive_bytes <= (std::size_t{1} << 30));
}

LoopCore::~LoopCore() {
  for (const Listener& listener : listeners_)
    if (listener.fd >= 0) ::close(listener.fd);
  for (std::uint32_t slot = 0; slot < slot_count_; ++slot)
    if (at(slot).fd >= 0) ::close(at(slot).fd);
  if (wake_fd_ >= 0) ::close(wake_fd_);
  if (spare_fd_ >= 0) ::close(spare_fd_);
}

NetError LoopCore::error_of(std::string_view what, int error) {
  return {code_of(error), error, fmt::format("{}: {}", what, std::strerror(error))};
}

std::optional<NetError> LoopCore::open_core() {
  wake_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_fd_ < 0) return error_of("cannot make an eventfd", errno);
  spare_fd_ = open_spare();
  return std::nullopt;
}

// ---- Listening and accepting

Result<Listening, NetError> LoopCore::listen(const SocketAddress& address, const ListenOptions& options) {
  const auto failed = [&address](int error) {
    return error_of(fmt::format("cannot listen on {}", address.str()), error);
  };
  const int nonblocking = accept_with_nonblocking_listeners_ ? SOCK_NONBLOCK : 0;
  const int fd =
      ::socket(address.ip.is_v6() ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | nonblocking, IPPROTO_TCP);
  if (fd < 0) return failed(errno);
  const auto give_up = [fd, &failed] {
    const int error = errno;
    ::close(fd);
    return failed(error);
  };
  const int dead_after = static_cast<int>(std::clamp<std::int64_t>(options.dead_peer_after.count(), 1, 86'400));
  // Accepted sockets inherit all of these from the listening one, which saves calls at each accept.
  const bool set =
      set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
      (!options.reuse_port || set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1)) &&
      (!address.ip.is_v6() || set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, address.ip.is_unspecified() ? 0 : 1)) &&
      set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) && set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1) &&
      set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, dead_after / 2)) &&
      set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, dead_after / 6)) &&
      set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3) && set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, dead_after * 1000);
  if (!set) return give_up();
  sockaddr_storage storage{};
  const socklen_t size = address.to_sockaddr(&storage);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&storage), size) != 0) return give_up();
  if (::listen(fd, options.backlog) != 0) return give_up();
  socklen_t bound_size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &bound_size) != 0) return give_up();

  const auto index = static_cast<std::uint32_t>(listeners_.size());
  listeners_.push_back({fd, false, false, -1});
  if (handler_ != nullptr) arm(index);
  return Listening{ListenerId{index}, *SocketAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage))};
}

void LoopCore::close_listener(ListenerId id) {
  if (id.index >= listeners_.size() || listeners_[id.index].fd < 0) return;
  disarm(id.index);
}

std::uint32_t LoopCore::take_slot(int fd) {
  std::uint32_t slot = 0;
  if (!free_slots_.empty()) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  } else {
    slot = slot_count_++;
    if (slot % kChunk == 0) chunks_.push_back(std::make_unique<Connection[]>(kChunk));
  }
  Connection& c = at(slot);
  FANFARE_ASSERT(c.state == State::Free);
  const std::uint32_t generation = c.generation + 1 == 0 ? 1 : c.generation + 1;
  c = Connection{};
  c.generation = generation;
  c.fd = fd;
  c.last_activity = now_;
  return slot;
}

void LoopCore::deliver_accept(int fd, std::uint32_t listener, const sockaddr* peer) {
  if (stopping_) {
    ::close(fd);
    return;
  }
  if (open_count_ >= options_.max_connections) return refuse(fd);
  const SocketAddress address = peer_address(fd, peer);
  const std::uint32_t slot = take_slot(fd);
  Connection& c = at(slot);
  c.state = State::Open;
  if (!attach(slot)) {
    count_refused();
    c.state = State::Dying;
    ++dying_count_;
    return detach(slot);
  }
  c.known = true;
  ++open_count_;
  ++statistics_.accepted;
  told_ = true;
  handler_->on_accept(id_of(slot), ListenerId{listener}, address);
}

void LoopCore::refuse(int fd) {
  count_refused();
  if (!options_.refusal.empty())
    (void)!::send(fd, options_.refusal.data(), options_.refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const std::uint32_t slot = take_slot(fd);
  at(slot).state = State::Lingering;
  if (attach(slot)) return linger(slot);
  at(slot).state = State::Dying;
  ++dying_count_;
  detach(slot);
}

LoopCore::Shed LoopCore::shed_one(std::uint32_t listener) {
  pollfd waiting{listeners_[listener].fd, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, 0);
  if (ready != 1) return ready == 0 ? Shed::Nobody : Shed::Failed;
  if (spare_fd_ >= 0) ::close(std::exchange(spare_fd_, -1));
  const int fd = accept4(listeners_[listener].fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    count_refused();
    if (!options_.refusal.empty()) (void)!::send(fd, options_.refusal.data(), options_.refusal.size(), MSG_NOSIGNAL);
    ::shutdown(fd, SHUT_WR);
    // Unread input would turn the close into a reset; what has arrived so far is taken away. There is no descriptor to
    // wait with.
    (void)!::recv(fd, nullptr, std::size_t{1} << 20, MSG_TRUNC | MSG_DONTWAIT);
    ::close(fd);
  }
  spare_fd_ = open_spare();
  return fd >= 0 && spare_fd_ >= 0 ? Shed::One : Shed::Failed;
}

LoopCore::Accepting LoopCore::accept_failed(std::uint32_t listener, int error) {
  if (listeners_[listener].fd < 0) return Accepting::NobodyWaits;
  switch (error) {
    case EMFILE:
    case ENFILE:
      FANFARE_MARK(net_out_of_descriptors);
      if (end_lingers_that_were_prolonged()) {
        hold_for_a_moment(listener);
        return Accepting::Held;
      }
      for (int i = 0; i < 16; ++i) {
        const Shed shed = shed_one(listener);
        if (shed == Shed::Nobody)
          return Accepting::NobodyWaits;  // the kernel wants a descriptor before it looks for a peer
        if (shed == Shed::One) continue;
        hold_for_a_moment(listener);
        return Accepting::Held;
      }
      return Accepting::GoesOn;
    case ENOBUFS:
    case ENOMEM: hold_for_a_moment(listener); return Accepting::Held;
    default: return Accepting::GoesOn;  // the peer left before it was accepted, or the network had an error [accept(2)]
  }
}

void LoopCore::hold_for_a_moment(std::uint32_t listener) {
  listeners_[listener].paused = true;
  hold(listener);
  accept_again_ = std::min(accept_again_, now_ + kAcceptPause);
}

void LoopCore::resume_accepting() {
  if (accept_again_ > now_) return;
  accept_again_ = Instant::max();
  if (spare_fd_ < 0) spare_fd_ = open_spare();
  for (std::uint32_t i = 0; i < listeners_.size(); ++i) {
    if (listeners_[i].fd < 0 || !std::exchange(listeners_[i].paused, false)) continue;
    arm(i);
  }
}

// ---- Handler's functions

LoopCore::Connection* LoopCore::open(ConnectionId id) { return const_cast<Connection*>(std::as_const(*this).open(id)); }

const LoopCore::Connection* LoopCore::open(ConnectionId id) const {
  if (id.slot >= slot_count_) return nullptr;
  const Connection& c = at(id.slot);
  return c.generation == id.generation && c.state == State::Open ? &c : nullptr;
}

OutputQueue* LoopCore::queue_for(ConnectionId id, SendResult& result) {
  Connection* c = open(id);
  if (c == nullptr) {
    result = SendResult::Stale;
    return nullptr;
  }
  if (c->output == nullptr) {
    if (pool_.empty()) {
      c->output = std::make_unique<OutputQueue>();
    } else {
      c->output = std::move(pool_.back());
      pool_.pop_back();
      pool_bytes_ -= c->output->footprint();
    }
  } else if (c->output->pending() >= options_.output_limit) {
    result = SendResult::Full;
    return nullptr;
  }
  make_dirty(id.slot);
  result = SendResult::Queued;
  return c->output.get();
}

SendResult LoopCore::send(ConnectionId id, std::string_view bytes) {
  SendResult result{};
  if (OutputQueue* queue = queue_for(id, result)) queue->append(bytes);
  return result;
}

SendResult LoopCore::send(ConnectionId id, std::string&& bytes) {
  SendResult result{};
  if (OutputQueue* queue = queue_for(id, result)) queue->adopt(std::move(bytes));
  return result;
}

SendResult LoopCore::send(ConnectionId id, SharedBytes bytes) {
  FANFARE_ASSERT(bytes != nullptr);
  SendResult result{};
  if (OutputQueue* queue = queue_for(id, result)) queue->share(std::move(bytes));
  return result;
}

std::string* LoopCore::output(ConnectionId id) {
  SendResult result{};
  OutputQueue* queue = queue_for(id, result);
  return queue == nullptr ? nullptr : &queue->tail();
}

std::size_t LoopCore::pending_bytes(ConnectionId id) const {
  const Connection* c = open(id);
  return c == nullptr ? 0 : pending(*c);
}

void LoopCore::notify_drained(ConnectionId id) {
  Connection* c = open(id);
  if (c == nullptr) return;
  c->want_drained = true;
  make_dirty(id.slot);
}

void LoopCore::close(ConnectionId id, After after) {
  if (id.slot >= slot_count_) return;
  Connection& c = at(id.slot);
  if (c.generation != id.generation || (c.state != State::Open && c.state != State::Flushing)) return;
  if (after == After::Now) {
    c.state = State::Closing;
  } else if (c.state == State::Open) {
    c.state = State::Flushing;
  }
  c.reason = CloseReason::ClosedByUs;
  make_dirty(id.slot);
}

void LoopCore::pause_reading(ConnectionId id) {
  Connection* c = open(id);
  if (c == nullptr || std::exchange(c->paused, true)) return;
  on_paused(id.slot);
}

void LoopCore::resume_reading(ConnectionId id) {
  Connection* c = open(id);
  if (c == nullptr || !std::exchange(c->paused, false)) return;
  if (c->stash != nullptr || c->at_end) make_ready(id.slot);
  on_resumed(id.slot);
}

bool LoopCore::is_peer_alive(ConnectionId id) const {
  const Connection* c = open(id);
  return c != nullptr && !c->hung_up;
}

bool LoopCore::probe_peer(ConnectionId id) const {
  const Connection* c = open(id);
  if (c == nullptr || c->hung_up) return false;
  pollfd peer{c->fd, POLLRDHUP, 0};
  return ::poll(&peer, 1, 0) != 1;
}

Instant LoopCore::last_activity(ConnectionId id) const {
  const Connection* c = open(id);
  return c == nullptr ? Instant{} : c->last_activity;
}

void LoopCore::for_each_idle(Instant before, const std::function<void(ConnectionId)>& visit) {
  for (std::uint32_t slot = 0; slot < slot_count_; ++slot) {
    const Connection& c = at(slot);
    if (c.state == State::Open && c.last_activity < before) visit(id_of(slot));
  }
}

void LoopCore::make_ready(std::uint32_t slot) {
  Connection& c = at(slot);
  if (std::exchange(c.ready, true)) return;
  ready_.push_back(id_of(slot));
}

void LoopCore::make_dirty(std::uint32_t slot) {
  Connection& c = at(slot);
  if (std::exchange(c.dirty, true)) return;
  dirty_.push_back(slot);
}

// ---- What backends report

void LoopCore::deliver_bytes(std::uint32_t slot, std::string_view bytes) {
  Connection& c = at(slot);
  if (c.state != State::Open || stopping_) return;
  c.last_activity = now_;
  statistics_.bytes_received += bytes.size();
  ++statistics_.receives;
  told_ = true;
  handler_->on_receive(id_of(slot), bytes);
}

void LoopCore::deliver_end(std::uint32_t slot) {
  Connection& c = at(slot);
  c.hung_up = c.at_end = true;
  if (c.state != State::Open || c.end_told || holds_input(c) || stopping_) return;
  c.end_told = true;
  told_ = true;
  make_dirty(slot);
  handler_->on_end_of_input(id_of(slot));
}

void LoopCore::fail(std::uint32_t slot, int error) {
  Connection& c = at(slot);
  c.hung_up = true;
  if (c.state == State::Lingering) return discard_ended(slot);
  if (c.state != State::Open && c.state != State::Flushing) return;
  c.state = State::Closing;
  c.reason = reason_of(error);
  make_dirty(slot);
}

void LoopCore::wrote(std::uint32_t slot, std::size_t bytes) {
  Connection& c = at(slot);
  c.output->end_write(bytes);
  statistics_.bytes_sent += bytes;
  if (bytes > 0) c.last_activity = now_;
  if (c.output->pending() == 0) {
    recycle(std::move(c.output));
    if (c.want_drained || c.state == State::Flushing) make_dirty(slot);
  }
}

void LoopCore::write_failed(std::uint32_t slot, int error) {
  at(slot).output->end_write(0);
  fail(slot, error);
}

void LoopCore::discard_ended(std::uint32_t slot) {
  Connection& c = at(slot);
  if (c.state != State::Lingering) return;
  --lingering_count_;
  c.state = State::Closing;
  make_dirty(slot);
}

void LoopCore::release(std::uint32_t slot) {
  Connection& c = at(slot);
  FANFARE_ASSERT(c.state == State::Dying && c.fd < 0);
  --dying_count_;
  if (c.output) {
    c.output->reset();
    recycle(std::move(c.output));
  }
  c.stash.reset();
  c.state = State::Free;
  free_slots_.push_back(slot);
}

void LoopCore::recycle(std::unique_ptr<OutputQueue> queue) {
  queue->reset();
  const std::size_t bytes = queue->footprint();
  if (pool_bytes_ + bytes > kPoolBytes) return;
  pool_bytes_ += bytes;
  pool_.push_back(std::move(queue));
}

// ---- The turn

void LoopCore::run(LoopHandler& handler) {
  FANFARE_ASSERT(!std::exchange(ran_, true), "a loop runs once");
  handler_ = &handler;
  if (const auto error = start()) FANFARE_ASSERT(false, error->text);
  for (std::uint32_t i = 0; i < listeners_.size(); ++i)
    if (listeners_[i].fd >= 0) arm(i);
  while (!stop_wanted_.load()) turn();
  shut_down();
}

Instant LoopCore::next_wake() const {
  if (!notices_.empty() || !ready_.empty() || !dirty_.empty()) return Instant::min();
  Instant wake = std::min(deadline_, accept_again_);
  if (!lingering_.empty()) wake = std::min(wake, lingering_.front().until);
  return wake;
}

void LoopCore::turn() {
  Instant until = next_wake();
  // From here on a notify() writes to the wake-up descriptor; one that came before forbids sleeping.
  if (auto running = Sleep::Running; until > now_ && !sleep_.compare_exchange_strong(running, Sleep::Sleeping))
    until = Instant::min();
  wait(until);
  const bool notified = sleep_.exchange(Sleep::Running) == Sleep::Notified;
  now_ = std::chrono::steady_clock::now();
  ++statistics_.turns;

  deliver_notices();
  deliver_ready();
  dispatch();
  if (notified && wake_wanted_.exchange(false)) {
    told_ = true;
    ++statistics_.wakes;
    handler_->on_wake();
  }
  if (deadline_ <= now_) {
    deadline_ = Instant::max();
    told_ = true;
    handler_->on_timer(now_);
  }
  end_lingers();
  resume_accepting();
  if (std::exchange(told_, false)) handler_->on_turn_end();
  flush();
}

void LoopCore::notify() {
  if (sleep_.exchange(Sleep::Notified) != Sleep::Sleeping) return;
  const std::uint64_t one = 1;
  (void)!::write(wake_fd_, &one, sizeof one);
}

void LoopCore::wake() {
  wake_wanted_.store(true);
  notify();
}

void LoopCore::stop() {
  stop_wanted_.store(true);
  notify();
}

void LoopCore::tell_closed(ConnectionId id, CloseReason reason, std::size_t unsent) {
  --open_count_;
  told_ = true;
  handler_->on_closed(id, reason, unsent);
}

void LoopCore::deliver_notices() {
  if (notices_.empty()) return;
  notices_now_.swap(notices_);
  for (const Notice& notice : notices_now_) {
    if (!notice.drained) {
      tell_closed(notice.id, notice.reason, notice.unsent);
      continue;
    }
    Connection* c = open(notice.id);
    if (c == nullptr) continue;
    if (pending(*c) > 0) {  // more was queued since; still wanted
      c->want_drained = true;
      continue;
    }
    told_ = true;
    handler_->on_drained(notice.id);
  }
  notices_now_.clear();
}

void LoopCore::deliver_ready() {
  if (ready_.empty()) return;
  ready_now_.swap(ready_);
  for (const ConnectionId id : ready_now_) {
    Connection& c = at(id.slot);
    if (c.generation != id.generation) continue;
    c.ready = false;
    if (c.state == State::Open && c.stash != nullptr) {
      const auto stash = std::move(c.stash);
      std::string_view rest = *stash;
      while (!rest.empty() && c.state == State::Open && !c.paused) {
        const std::string_view bytes = rest.substr(0, options_.receive_bytes);
        rest.remove_prefix(bytes.size());
        deliver_bytes(id.slot, bytes);
      }
      if (!rest.empty() && c.state == State::Open) c.stash = std::make_unique<std::string>(rest);
    }
    if (c.state == State::Open && c.at_end && !holds_input(c)) deliver_end(id.slot);
    on_ready(id.slot);
  }
  ready_now_.clear();
}

void LoopCore::linger(std::uint32_t slot) {
  Connection& c = at(slot);
  c.state = State::Lingering;
  ++lingering_count_;
  while (lingering_count_ > kLingerMost) {
    // So many come from a flood of refusals only, and the oldest have had the longest time to read.
    FANFARE_MARK(net_linger_cut_short);
    const ConnectionId oldest = lingering_.front().id;
    lingering_.pop_front();
    if (at(oldest.slot).generation == oldest.generation) discard_ended(oldest.slot);
  }
  ::shutdown(c.fd, SHUT_WR);
  lingering_.push_back({id_of(slot), now_ + options_.linger, now_});
  discard_input(slot);
}

void LoopCore::end_lingers() {
  while (!lingering_.empty() && lingering_.front().until <= now_) {
    const auto [id, until, since] = lingering_.front();
    lingering_.pop_front();
    const Connection& c = at(id.slot);
    if (c.generation != id.generation || c.state != State::Lingering) continue;
    if (c.last_activity > until - options_.linger && now_ < since + options_.linger_most) {
      lingering_.push_back({id, now_ + options_.linger, since});  // it has sent meanwhile
    } else {
      discard_ended(id.slot);
    }
  }
  // Most peers close at once; their entries go as soon as they are at the front.
  while (!lingering_.empty()) {
    const ConnectionId id = lingering_.front().id;
    const Connection& c = at(id.slot);
    if (c.generation == id.generation && c.state == State::Lingering) break;
    lingering_.pop_front();
  }
}

/// Whoever goes on sending after its answer keeps its descriptor only as long as nobody waits for one.
bool LoopCore::end_lingers_that_were_prolonged() {
  bool any = false;
  for (const auto& [id, until, since] : lingering_) {
    const Connection& c = at(id.slot);
    if (c.generation != id.generation || c.state != State::Lingering || now_ < since + options_.linger) continue;
    discard_ended(id.slot);
    any = true;
  }
  return any;
}

void LoopCore::flush() {
  // Again for those whose state changed by being written; it only ever moves forward, so this ends.
  while (!dirty_.empty()) {
    dirty_now_.swap(dirty_);
    for (const std::uint32_t slot : dirty_now_) {
      at(slot).dirty = false;
      flush(slot);
    }
    dirty_now_.clear();
  }
}

void LoopCore::flush(std::uint32_t slot) {
  Connection& c = at(slot);
  if (c.state == State::Open || c.state == State::Flushing) {
    if (pending(c) > 0) {
      if (!c.blocked && !c.output->is_writing()) write(slot);
    } else if (c.output && !c.output->is_writing()) {
      recycle(std::move(c.output));  // asked for by output(), and left empty
    }
  }
  const bool drained = pending(c) == 0;
  switch (c.state) {
    case State::Open:
      if (drained && std::exchange(c.want_drained, false))
        notices_.push_back({id_of(slot), true, CloseReason::ClosedByUs, 0});
      if (c.end_told) watch_for_abort(slot);
      break;
    case State::Flushing:
      if (!drained) break;
      notices_.push_back({id_of(slot), false, c.reason, 0});
      c.known = false;
      if (!c.at_end) {
        linger(slot);
      } else {
        end(slot);
      }
      break;
    case State::Closing: end(slot); break;
    case State::Free:
    case State::Lingering:
    case State::Dying: break;
  }
}

void LoopCore::end(std::uint32_t slot) {
  Connection& c = at(slot);
  if (std::exchange(c.known, false)) notices_.push_back({id_of(slot), false, c.reason, pending(c)});
  c.state = State::Dying;
  ++dying_count_;
  detach(slot);
}

void LoopCore::shut_down() {
  stopping_ = true;
  // Writes that the kernel took in the last turn are counted before unsent bytes are reported.
  wait(Instant::min());
  dispatch();
  flush();
  for (std::uint32_t i = 0; i < listeners_.size(); ++i) close_listener(ListenerId{i});
  for (std::uint32_t slot = 0; slot < slot_count_; ++slot) {
    Connection& c = at(slot);
    if (c.state == State::Open || c.state == State::Flushing) {
      c.reason = CloseReason::Stopped;
    } else if (c.state == State::Lingering) {
      --lingering_count_;
    } else {
      continue;
    }
    end(slot);
  }
  deliver_notices();
  if (std::exchange(told_, false)) handler_->on_turn_end();
  finish();
  FANFARE_ASSERT(open_count_ == 0 && lingering_count_ == 0);
}

}  // namespace fanfare::net
