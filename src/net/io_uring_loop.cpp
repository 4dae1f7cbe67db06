// The loop on io_uring: multishot accept and receive into a ring of shared buffers, sends submitted together with the
// next wait, so that a busy turn of many requests costs one system call or two.
//
// Rule 1: the kernel may hold up to four requests of a connection: receive, send, watch, writable. Their flags in
//         Connection say so; descriptor, output queue and slot live until all are done (detach, then completions, then
//         release).
// Rule 2: completions are run only when we ask for them (DEFER_TASKRUN), so buffers, slots and queues do not change
//         while events are told.
// Rule 3: a send never waits in the kernel (MSG_DONTWAIT), and only a failed or short one is reported
//         (CQE_SKIP_SUCCESS; MSG_WAITALL makes short a failure): when its submission has returned and nothing was
//         reported, all of it has been taken. So a loop that has answered sleeps until there is news, and is not woken
//         by its own sends.
// Needs Linux 6.1 (DEFER_TASKRUN, SINGLE_ISSUER, multishot receive, buffer rings); make_loop falls back to epoll
// without.

#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/marks.h"
#include "net/loop_core.h"

namespace fanfare::net {
namespace {

constexpr unsigned kSubmissions = 1024;
constexpr unsigned kCompletions = 8192;
constexpr std::uint16_t kBufferGroup = 0;
constexpr std::size_t kPieces = 16;
// Newer kernels run about 20 deferred completions a call. A turn that got this many asks again, so that one commit
// serves all that are ready; up to so many completions, after which replies should leave.
constexpr unsigned kAskAgainFrom = 16;
constexpr unsigned kTurnMost = 1024;

constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT | MSG_WAITALL;

enum class Op : std::uint32_t { Accept, Receive, Send, Watch, Writable, Cancel, Wake };

class IoUringLoop final : public LoopCore {
 public:
  explicit IoUringLoop(LoopOptions options)
      : LoopCore(std::move(options)), gathers_(std::make_unique<Gather[]>(kSubmissions)) {
    accept_with_nonblocking_listeners_ = false;  // on a non-blocking one, accept fails instead of waiting
  }

  ~IoUringLoop() override {
    if (has_ring_) io_uring_queue_exit(&ring_);
    if (buffer_ring_ != nullptr) munmap(buffer_ring_, buffer_ring_bytes_);
    if (buffers_ != nullptr) munmap(buffers_, buffers_bytes_);
  }

  std::optional<NetError> open() {
    if (auto error = open_core()) return error;
    io_uring_params params{};
    // Disabled until start(): the ring then belongs to the thread that runs the loop, not to the one that made it.
    params.flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                   IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL;
    params.cq_entries = kCompletions;
    if (const int result = io_uring_queue_init_params(kSubmissions, &ring_, &params); result < 0)
      return unsupported("io_uring", -result);
    has_ring_ = true;
    if ((params.features & IORING_FEAT_EXT_ARG) == 0 || (params.features & IORING_FEAT_NODROP) == 0 ||
        (params.features & IORING_FEAT_CQE_SKIP) == 0)
      return unsupported("io_uring", EOPNOTSUPP);
    return open_buffers();
  }

  [[nodiscard]] LoopKind kind() const override { return LoopKind::IoUring; }

 private:
  struct Gather {
    msghdr message;
    std::array<iovec, kPieces> pieces;
  };

  struct News {
    std::uint64_t user_data;
    int result;
    unsigned flags;
  };

  static NetError unsupported(std::string_view what, int error) {
    NetError result = error_of(what, error);
    result.code = NetError::Code::Unsupported;
    return result;
  }

  std::optional<NetError> open_buffers() {
    FANFARE_ASSERT(options_.receive_buffers > 0 && options_.receive_buffers <= 32'768 &&
                   (options_.receive_buffers & (options_.receive_buffers - 1)) == 0);
    buffer_ring_bytes_ = options_.receive_buffers * sizeof(io_uring_buf);
    buffers_bytes_ = options_.receive_buffers * options_.receive_bytes;
    void* ring = mmap(nullptr, buffer_ring_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED) return error_of("receive buffers", errno);
    buffer_ring_ = static_cast<io_uring_buf_ring*>(ring);
    void* buffers = mmap(nullptr, buffers_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffers == MAP_FAILED) return error_of("receive buffers", errno);
    buffers_ = static_cast<char*>(buffers);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uint64_t>(buffer_ring_);
    registration.ring_entries = options_.receive_buffers;
    registration.bgid = kBufferGroup;
    if (const int result = io_uring_register_buf_ring(&ring_, &registration, 0); result < 0)
      return unsupported("io_uring buffer ring", -result);
    io_uring_buf_ring_init(buffer_ring_);
    for (std::uint32_t i = 0; i < options_.receive_buffers; ++i) give_back(static_cast<std::uint16_t>(i));
    publish_buffers();
    return std::nullopt;
  }

  void give_back(std::uint16_t buffer) {
    io_uring_buf_ring_add(buffer_ring_, buffers_ + std::size_t{buffer} * options_.receive_bytes,
                          static_cast<unsigned>(options_.receive_bytes), buffer,
                          io_uring_buf_ring_mask(options_.receive_buffers), returned_++);
  }
  void publish_buffers() {
    io_uring_buf_ring_advance(buffer_ring_, returned_);
    returned_ = 0;
  }

  std::optional<NetError> start() override {
    // By the bare call: liburing 2.3 declares io_uring_enable_rings, but its shared library does not export it.
    if (const int result =
            io_uring_register(static_cast<unsigned>(ring_.ring_fd), IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
        result < 0)
      return error_of("cannot enable the ring", -result);
    io_uring_register_ring_fd(&ring_);  // saves a look-up a call; kernels that cannot are as good
    arm_wake();
    return std::nullopt;
  }

  io_uring_sqe* submission(Op op, std::uint32_t index) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      submit();
      sqe = io_uring_get_sqe(&ring_);
    }
    // prep functions leave user_data alone, and clear everything else.
    io_uring_sqe_set_data64(sqe, (static_cast<std::uint64_t>(op) << 32) | index);
    return sqe;
  }

  void submit() {
    if (returned_ > 0) publish_buffers();  // a receive looks for one as soon as it is submitted
    io_uring_submit(&ring_);
    collect();
  }

  // After each call that submits: takes over what the kernel reports, and settles the sends.
  void collect() {
    for (;;) {
      unsigned count = 0;
      unsigned head = 0;
      io_uring_cqe* cqe = nullptr;
      io_uring_for_each_cqe(&ring_, head, cqe) {
        ++count;
        const News news{cqe->user_data, cqe->res, cqe->flags};
        (static_cast<Op>(news.user_data >> 32) == Op::Send ? cut_short_ : news_).push_back(news);
      }
      io_uring_cq_advance(&ring_, count);
      // Short of memory, the kernel leaves submissions behind. Their sends must not be taken for done.
      if (io_uring_smp_load_acquire(ring_.sq.khead) == *ring_.sq.ktail) break;
      FANFARE_MARK(net_submission_left_behind);
      io_uring_submit(&ring_);
    }
    gathers_used_ = 0;
    // Arming something below may submit and collect again.
    auto cut_short = std::exchange(cut_short_, std::move(cut_short_now_));
    for (const News& news : cut_short) on_send_cut_short(static_cast<std::uint32_t>(news.user_data), news.result);
    auto sending = std::exchange(sending_, std::move(sending_now_));
    for (const std::uint32_t slot : sending)
      if (at(slot).send_armed) on_sent(slot);
    cut_short.clear();
    sending.clear();
    cut_short_now_ = std::move(cut_short);
    sending_now_ = std::move(sending);
  }

  void arm_wake() {
    io_uring_sqe* sqe = submission(Op::Wake, 0);
    io_uring_prep_poll_multishot(sqe, wake_fd_, POLLIN);
  }

  void arm_receive(std::uint32_t slot) {
    Connection& c = at(slot);
    if (c.receive_armed) return;
    io_uring_sqe* sqe = submission(Op::Receive, slot);
    io_uring_prep_recv_multishot(sqe, c.fd, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = kBufferGroup;
    c.receive_armed = true;
  }

  void arm_watch(std::uint32_t slot) {
    Connection& c = at(slot);
    if (c.watch_armed) return;
    // An abort is reported in any case; a FIN only if it is news.
    io_uring_prep_poll_add(submission(Op::Watch, slot), c.fd, c.hung_up ? 0 : POLLRDHUP);
    c.watch_armed = true;
  }

  void wait(Instant until) override {
    if (std::exchange(result_matters_, false) || !news_.empty()) until = Instant::min();
    if (until == Instant::max()) {
      io_uring_submit_and_wait(&ring_, 1);
    } else {
      const auto rest =
          until == Instant::min()
              ? std::chrono::nanoseconds{0}
              : std::chrono::duration_cast<std::chrono::nanoseconds>(until - std::chrono::steady_clock::now());
      if (rest.count() <= 0) {
        io_uring_submit_and_get_events(&ring_);
      } else {
        __kernel_timespec limit{rest.count() / 1'000'000'000, rest.count() % 1'000'000'000};
        io_uring_cqe* first = nullptr;
        io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
      }
    }
    collect();
  }

  void dispatch() override {
    std::size_t total = 0;
    for (;;) {
      // Telling may submit, and that may collect more: its turn is the next one, else a turn might never end.
      const std::size_t told = news_.size();
      for (std::size_t i = 0; i < told; ++i) on_completion(News{news_[i]});
      news_.erase(news_.begin(), news_.begin() + static_cast<std::ptrdiff_t>(told));
      if (returned_ > 0) publish_buffers();
      receive_again();
      total += told;
      if (told < kAskAgainFrom || total >= kTurnMost) return;
      io_uring_get_events(&ring_);
      collect();
    }
  }

  void on_completion(const News& news) {
    const auto index = static_cast<std::uint32_t>(news.user_data);
    const bool more = (news.flags & IORING_CQE_F_MORE) != 0;
    switch (static_cast<Op>(news.user_data >> 32)) {
      case Op::Accept: return on_accepted(index, news.result, more);
      case Op::Receive: return on_received(index, news.result, news.flags, more);
      case Op::Send: return;  // settled in collect()
      case Op::Watch: return on_watched(index, news.result);
      case Op::Writable: return on_writable(index);
      case Op::Cancel: return;  // what it cancelled reports itself
      case Op::Wake:
        if (!more) arm_wake();
        return;
    }
  }

  void on_accepted(std::uint32_t listener, int result, bool more) {
    if (!more) listeners_[listener].armed = false;
    if (result >= 0) {
      deliver_accept(result, listener, nullptr);
    } else if (accept_failed(listener, -result) == Accepting::NobodyWaits && listeners_[listener].fd >= 0) {
      hold_for_a_moment(listener);  // armed again, it would fail again at once
    }
    Listener& l = listeners_[listener];
    if (l.armed) return;
    if (l.closing_fd >= 0) {
      ::close(std::exchange(l.closing_fd, -1));
    } else if (l.fd >= 0 && !l.paused) {
      arm(listener);
    }
  }

  void on_received(std::uint32_t slot, int result, unsigned flags, bool more) {
    Connection& c = at(slot);
    if (!more) c.receive_armed = c.cancel_sent = false;
    if (result > 0) {
      const auto buffer = static_cast<std::uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT);
      const std::string_view bytes{buffers_ + std::size_t{buffer} * options_.receive_bytes,
                                   static_cast<std::size_t>(result)};
      if (c.state == State::Open && holds_input(c)) {
        hold_back(slot, bytes);
      } else if (c.state == State::Lingering) {
        discarded(slot);
      } else {
        deliver_bytes(slot, bytes);
      }
      give_back(buffer);
    } else if (result == 0) {
      if (c.state == State::Lingering) {
        discard_ended(slot);
      } else {
        deliver_end(slot);
      }
    } else if (result == -ENOBUFS) {
      FANFARE_MARK(net_receive_buffers_exhausted);
      ++statistics_.receive_buffers_exhausted;
      if (c.state != State::Dying) return (c.last_activity == now_ ? had_a_buffer_ : without_buffer_).push_back(slot);
    } else if (result != -ECANCELED && result != -EINTR && result != -EAGAIN) {
      fail(slot, -result);
    }
    if (!c.receive_armed) go_on_receiving(slot);
  }

  void go_on_receiving(std::uint32_t slot) {
    Connection& c = at(slot);
    switch (c.state) {
      case State::Open:
        if (c.at_end) return;
        if (c.paused) return arm_watch(slot);
        return arm_receive(slot);
      case State::Lingering: return arm_receive(slot);
      case State::Dying: return release_if_done(slot);
      case State::Flushing:
      case State::Closing:
      case State::Free: return;
    }
  }

  // Not before buffers have been given back: a receive that finds none fails as soon as it is submitted. Who got none in
  // this turn is the first to get one in the next, so that none waits for another that sends without end.
  void receive_again() {
    without_buffer_.insert(without_buffer_.end(), had_a_buffer_.begin(), had_a_buffer_.end());
    had_a_buffer_.clear();
    for (const std::uint32_t slot : std::exchange(without_buffer_, {}))
      if (!at(slot).receive_armed && at(slot).state != State::Dying) go_on_receiving(slot);
  }

  // Only when input comes while paused is receiving really stopped: a short pause costs nothing.
  void hold_back(std::uint32_t slot, std::string_view bytes) {
    Connection& c = at(slot);
    if (c.stash == nullptr) c.stash = std::make_unique<std::string>();
    c.stash->append(bytes);
    c.last_activity = now_;
    if (!c.paused || !c.receive_armed || std::exchange(c.cancel_sent, true)) return;
    io_uring_sqe* sqe = submission(Op::Cancel, slot);
    io_uring_prep_cancel64(sqe, (static_cast<std::uint64_t>(Op::Receive) << 32) | slot, 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  }

  void on_sent(std::uint32_t slot) {
    Connection& c = at(slot);
    c.send_armed = false;
    wrote(slot, c.output->writing_bytes());
    if (c.state == State::Dying) return release_if_done(slot);
    if (c.output != nullptr) make_dirty(slot);  // there was more than one send takes, or more came
  }

  void on_send_cut_short(std::uint32_t slot, int result) {
    Connection& c = at(slot);
    c.send_armed = false;
    if (result >= 0 || result == -EAGAIN || result == -EINTR) {
      wrote(slot, static_cast<std::size_t>(std::max(result, 0)));
      if (c.state != State::Dying && c.output != nullptr) {
        c.blocked = true;
        arm_writable(slot);
      }
    } else {
      write_failed(slot, -result);
    }
    if (c.state == State::Dying) release_if_done(slot);
  }

  void arm_writable(std::uint32_t slot) {
    Connection& c = at(slot);
    if (c.writable_armed) return;
    io_uring_prep_poll_add(submission(Op::Writable, slot), c.fd, POLLOUT);
    c.writable_armed = true;
  }

  void on_writable(std::uint32_t slot) {
    Connection& c = at(slot);
    c.writable_armed = c.blocked = false;
    if (c.state == State::Dying) return release_if_done(slot);
    make_dirty(slot);  // an error, if that was the cause, is met by the next send
  }

  void on_watched(std::uint32_t slot, int result) {
    Connection& c = at(slot);
    c.watch_armed = false;
    if (c.state == State::Dying) return release_if_done(slot);
    if (result < 0 || (c.state != State::Open && c.state != State::Flushing)) return;
    if ((result & (POLLERR | POLLHUP)) != 0) return fail(slot, ECONNRESET);
    c.hung_up = true;
    if (c.state == State::Open && (c.paused || c.end_told)) arm_watch(slot);
  }

  bool attach(std::uint32_t slot) override {
    arm_receive(slot);
    return true;
  }

  void on_ready(std::uint32_t /*slot*/) override {}
  void on_paused(std::uint32_t slot) override {
    if (!at(slot).receive_armed && !at(slot).at_end) arm_watch(slot);
  }
  void on_resumed(std::uint32_t slot) override {
    if (!at(slot).at_end) arm_receive(slot);
  }
  void watch_for_abort(std::uint32_t slot) override { arm_watch(slot); }
  void discard_input(std::uint32_t slot) override { arm_receive(slot); }

  void write(std::uint32_t slot) override {
    Connection& c = at(slot);
    io_uring_sqe* sqe = submission(Op::Send, slot);
    Gather& gather = gathers_[gathers_used_];
    const std::size_t count = c.output->begin_write(gather.pieces.data(), gather.pieces.size());
    if (count == 1) {
      io_uring_prep_send(sqe, c.fd, gather.pieces[0].iov_base, gather.pieces[0].iov_len, kSendFlags);
    } else {
      ++gathers_used_;  // read by the kernel when it is submitted
      gather.message = msghdr{};
      gather.message.msg_iov = gather.pieces.data();
      gather.message.msg_iovlen = count;
      io_uring_prep_sendmsg(sqe, c.fd, &gather.message, kSendFlags);
    }
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    ++statistics_.sends;
    sending_.push_back(slot);
    c.send_armed = true;
    const bool more = c.output->pending() > c.output->writing_bytes();
    if (c.state == State::Flushing || c.want_drained || more) result_matters_ = true;
  }

  void detach(std::uint32_t slot) override {
    Connection& c = at(slot);
    if (!c.receive_armed && !c.send_armed && !c.watch_armed && !c.writable_armed) return release_if_done(slot);
    io_uring_sqe* sqe = submission(Op::Cancel, slot);
    io_uring_prep_cancel_fd(sqe, c.fd, IORING_ASYNC_CANCEL_ALL);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  }

  void release_if_done(std::uint32_t slot) {
    Connection& c = at(slot);
    if (c.receive_armed || c.send_armed || c.watch_armed || c.writable_armed) return;
    ::close(std::exchange(c.fd, -1));
    release(slot);
  }

  void arm(std::uint32_t listener) override {
    Listener& l = listeners_[listener];
    if (std::exchange(l.armed, true)) return;
    io_uring_prep_multishot_accept(submission(Op::Accept, listener), l.fd, nullptr, nullptr, SOCK_CLOEXEC);
  }
  void hold(std::uint32_t /*listener*/) override {}  // a failed accept has ended; on_accepted does not arm it again
  void disarm(std::uint32_t listener) override {
    Listener& l = listeners_[listener];
    const int fd = std::exchange(l.fd, -1);
    if (!l.armed) {
      ::close(fd);
      return;
    }
    ::shutdown(fd, SHUT_RDWR);  // ends the accept, and refuses peers from now on
    l.closing_fd = fd;
  }

  void finish() override {
    const auto unfinished = [this] {
      for (const Listener& l : listeners_)
        if (l.closing_fd >= 0) return true;
      return dying_count_ > 0;
    };
    const Instant limit = std::chrono::steady_clock::now() + std::chrono::seconds{2};
    while (unfinished() && std::chrono::steady_clock::now() < limit) {
      wait(std::chrono::steady_clock::now() + std::chrono::milliseconds{50});
      dispatch();
    }
  }

  io_uring ring_{};
  bool has_ring_ = false;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  std::size_t buffer_ring_bytes_ = 0;
  char* buffers_ = nullptr;
  std::size_t buffers_bytes_ = 0;
  int returned_ = 0;  // buffers given back and not yet published
  std::vector<std::uint32_t> without_buffer_;  // slots to receive from again when buffers have been given back
  std::vector<std::uint32_t> had_a_buffer_;    // and those that got some in this turn, but not enough
  std::unique_ptr<Gather[]> gathers_;
  unsigned gathers_used_ = 0;
  std::vector<std::uint32_t> sending_;  // slots with a send that is submitted or about to be, and not settled
  std::vector<std::uint32_t> sending_now_;
  bool result_matters_ = false;  // something is to happen when one of them has been written
  std::vector<News> news_;       // reported by the kernel, not yet told
  std::vector<News> cut_short_;  // of these, the sends
  std::vector<News> cut_short_now_;
};

}  // namespace

Result<std::unique_ptr<LoopCore>, NetError> make_io_uring_loop(LoopOptions options) {
  auto loop = std::make_unique<IoUringLoop>(std::move(options));
  if (auto error = loop->open()) return *std::move(error);
  return std::unique_ptr<LoopCore>{std::move(loop)};
}

}  // namespace fanfare::net
