// What the data-plane loop costs: a server with a constant answer, and a fan-out of one message to many sockets.
//
//   bench_loop serve io_uring|epoll          prints its port, answers every request head with 200 and 300 bytes
//   bench_loop fanout io_uring|epoll N M     N sockets; each round sends M messages of 256 shared bytes to each of them
//   bench_loop listen N PORT                 the other side of fanout: reads from N sockets until they end
//
// bench/loop_bench.py runs them beside nginx under wrk and reports CPU time per request.

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "net/loop.h"

namespace {

using namespace fanfare;
using namespace fanfare::net;

Loop* to_stop = nullptr;

LoopKind kind_of(const char* name) {
  if (std::strcmp(name, "epoll") == 0) return LoopKind::Epoll;
  return std::strcmp(name, "io_uring") == 0 ? LoopKind::IoUring : LoopKind::Auto;
}

std::unique_ptr<Loop> loop_of(const char* name) {
  auto loop = make_loop(kind_of(name), LoopOptions{});
  if (!loop) {
    std::fprintf(stderr, "%s\n", loop.error().text.c_str());
    std::exit(1);
  }
  return std::move(*loop);
}

std::uint16_t listen_on(Loop& loop) {
  const auto listening = loop.listen({IpAddress::v4(127, 0, 0, 1), 0});
  if (!listening) {
    std::fprintf(stderr, "%s\n", listening.error().text.c_str());
    std::exit(1);
  }
  std::printf("%u\n", static_cast<unsigned>(listening->address.port));
  std::fflush(stdout);
  return listening->address.port;
}

class ConstantAnswer : public LoopHandler {
 public:
  explicit ConstantAnswer(Loop& loop) : loop_(loop) {
    answer_ = "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 300\r\n\r\n" +
              std::string(300, 'x');
  }
  void on_accept(ConnectionId, ListenerId, const SocketAddress&) override {}
  void on_receive(ConnectionId id, std::string_view bytes) override {
    for (std::size_t at = bytes.find("\r\n\r\n"); at != std::string_view::npos; at = bytes.find("\r\n\r\n", at + 4))
      (void)loop_.send(id, std::string_view{answer_});
  }
  void on_end_of_input(ConnectionId id) override { loop_.close(id, After::Flush); }
  void on_closed(ConnectionId, CloseReason, std::size_t) override {}

 private:
  Loop& loop_;
  std::string answer_;
};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double wall_seconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Each round waits until every socket of the round before has been written: closed loop.
class FanOut : public LoopHandler {
 public:
  FanOut(Loop& loop, std::size_t sockets, std::size_t messages) : loop_(loop), sockets_(sockets), messages_(messages) {
    payload_ = std::make_shared<const std::string>(256, 'x');
  }
  void on_accept(ConnectionId id, ListenerId, const SocketAddress&) override {
    ids_.push_back(id);
    if (ids_.size() == sockets_) round();
  }
  void on_receive(ConnectionId, std::string_view) override {}
  void on_end_of_input(ConnectionId id) override { loop_.close(id, After::Now); }
  void on_closed(ConnectionId, CloseReason, std::size_t) override {}
  void on_drained(ConnectionId) override {
    if (++drained_ < sockets_) return;
    const double now = wall_seconds();
    if (rounds_ == kWarmUp) {
      start_ = now;
      cpu_ = cpu_seconds();
    }
    if (rounds_ > kWarmUp && now - start_ > 3.0) {
      const double deliveries = static_cast<double>((rounds_ - kWarmUp) * sockets_ * messages_);
      std::printf("%.0f deliveries/s, %.2f CPU-us each\n", deliveries / (now - start_),
                  (cpu_seconds() - cpu_) * 1e6 / deliveries);
      loop_.stop();
      return;
    }
    ++rounds_;
    round();
  }

 private:
  static constexpr std::size_t kWarmUp = 3;
  void round() {
    drained_ = 0;
    for (const ConnectionId id : ids_) {
      for (std::size_t i = 0; i < messages_; ++i) {
        char header[4] = {static_cast<char>(0x82), 126, 1, 0};
        (void)loop_.send(id, std::string_view{header, sizeof header});
        (void)loop_.send(id, payload_);
      }
      loop_.notify_drained(id);
    }
  }

  Loop& loop_;
  const std::size_t sockets_;
  const std::size_t messages_;
  SharedBytes payload_;
  std::vector<ConnectionId> ids_;
  std::size_t drained_ = 0;
  std::size_t rounds_ = 0;
  double start_ = 0;
  double cpu_ = 0;
};

int listen_to(std::size_t sockets, std::uint16_t port) {
  const int epoll = epoll_create1(0);
  sockaddr_storage storage{};
  const socklen_t size = SocketAddress{IpAddress::v4(127, 0, 0, 1), port}.to_sockaddr(&storage);
  for (std::size_t i = 0; i < sockets; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&storage), size) != 0) {
      std::perror("connect");
      return 1;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  }
  std::vector<epoll_event> events(1024);
  std::vector<char> buffer(64 * 1024);
  while (sockets > 0) {
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) continue;
      close(fd);
      --sockets;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "serve" && argc == 3) {
    const auto loop = loop_of(argv[2]);
    listen_on(*loop);
    ConstantAnswer handler{*loop};
    to_stop = loop.get();
    std::signal(SIGTERM, [](int) { to_stop->stop(); });  // an atomic store and at most one write
    loop->run(handler);
    const LoopStatistics& seen = loop->statistics();
    std::fprintf(stderr, "%s: %.1f receives and %.1f sends a turn\n", argv[2],
                 static_cast<double>(seen.receives) / static_cast<double>(seen.turns),
                 static_cast<double>(seen.sends) / static_cast<double>(seen.turns));
    return 0;
  }
  if (mode == "fanout" && argc == 5) {
    const auto loop = loop_of(argv[2]);
    listen_on(*loop);
    FanOut handler{*loop, std::strtoul(argv[3], nullptr, 10), std::strtoul(argv[4], nullptr, 10)};
    loop->run(handler);
    return 0;
  }
  if (mode == "listen" && argc == 4)
    return listen_to(std::strtoul(argv[2], nullptr, 10),
                     static_cast<std::uint16_t>(std::strtoul(argv[3], nullptr, 10)));
  std::fprintf(stderr, "usage: bench_loop serve KIND | fanout KIND SOCKETS MESSAGES | listen SOCKETS PORT\n");
  return 2;
}
