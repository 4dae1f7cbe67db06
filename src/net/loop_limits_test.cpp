// The contract of both loops: connection and descriptor limits, many connections, listeners, stopping, and which loop
// is chosen.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fstream>

#include "base/marks.h"
#include "net/loop_test_server.h"

namespace fanfare::net {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::Closed;
using testing::kAnyPort;
using testing::kPatience;
using testing::Server;

class LoopLimits : public testing::LoopTest {};
INSTANTIATE_TEST_SUITE_P(Both, LoopLimits, ::testing::Values(LoopKind::IoUring, LoopKind::Epoll), testing::kind_name);

/// Where descriptors run out. Not under UBSan, which the address sanitizer's build has as well: it looks at an object's type through a
/// pipe that it opens for that, and when it gets no descriptor says that the type is wrong.
class LoopWithoutDescriptors : public testing::LoopTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "UBSan takes the want of descriptors for a finding";
#endif
    LoopTest::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(Both, LoopWithoutDescriptors, ::testing::Values(LoopKind::IoUring, LoopKind::Epoll), testing::kind_name);

// ---- Limits

TEST_P(LoopLimits, BeyondTheConnectionLimitPeersAreRefusedWithAReason) {
  LoopOptions options;
  options.max_connections = 3;
  options.refusal = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
  Server server{GetParam(), options};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
  };
  server.start();
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(server.address);
  ASSERT_TRUE(server.wait([&] { return server.accepted.size() == 3; }));
  for (int i = 0; i < 5; ++i) {
    Client refused{server.address};
    ASSERT_TRUE(refused.send(std::string(100'000, 'x'))) << "a request that nobody reads";
    EXPECT_EQ(refused.receive_all(), options.refusal);
    EXPECT_FALSE(refused.broken());
  }
  for (Client& client : clients) {
    ASSERT_TRUE(client.send("still served"));
    EXPECT_EQ(client.receive(12), "still served");
  }
  clients.pop_back();  // its end is told, and the handler closes
  server.end = {};
  ASSERT_TRUE(server.wait([&] { return server.ended.size() == 1; }));
  server.on_loop([&] { server.loop->close(*server.ended.begin(), After::Flush); });
  (void)server.closed_event(0);
  Client next{server.address};
  ASSERT_TRUE(next.send("served again"));
  EXPECT_EQ(next.receive(12), "served again");
  server.stop();
  EXPECT_EQ(server.loop->statistics().refused, 5u);
  EXPECT_EQ(server.loop->statistics().accepted, 4u);
}

TEST_P(LoopLimits, AFloodOfRefusedPeersIsBounded) {
  LoopOptions options;
  options.max_connections = 1;
  options.refusal = "no";
  options.linger = 1h;
  Server server{GetParam(), options};
  server.start();
  Client served{server.address};
  (void)server.accepted_id(0);
  std::vector<Client> refused;
  EXPECT_MARKED(net_linger_cut_short, {
    for (int i = 0; i < 1200; ++i) {
      refused.emplace_back(server.address);
      EXPECT_EQ(refused.back().receive(2), "no");
    }
    server.on_loop([] {});
  });
}

TEST_P(LoopLimits, ThousandsOfConnections) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t count = std::min<std::size_t>(3000, (limit.rlim_cur - 200) / 2);
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
  };
  server.end = [&](ConnectionId id) { server.loop->close(id, After::Flush); };
  server.start();
  std::vector<Client> clients;
  clients.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(server.address);
    ASSERT_EQ(clients.back().connect_error(), 0) << i;
  }
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(clients[i].send(std::to_string(i)));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(clients[i].receive(std::to_string(i).size()), std::to_string(i));
  }
  server.on_loop([&] { EXPECT_EQ(server.loop->open_connections(), count); });
  clients.clear();
  EXPECT_TRUE(server.wait([&] { return server.closed.size() == count; })) << server.closed.size();
  std::set<std::uint32_t> slots;
  for (const ConnectionId id : server.accepted) slots.insert(id.slot);
  EXPECT_EQ(*slots.rbegin(), count - 1) << "slots are dense";
}

// More at one moment than the loop has buffers to receive with and room to submit in, as after a pause of the process or
// when all clients connect anew.
TEST_P(LoopLimits, ThousandsThatHaveSentBeforeTheyAreAcceptedAreAllServed) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  std::size_t backlog = 0;
  std::ifstream{"/proc/sys/net/core/somaxconn"} >> backlog;
  const std::size_t count = std::min({std::size_t{3000}, (limit.rlim_cur - 200) / 2, backlog});
  // Fewer fit into the submission queue beside what it holds: the loop would serve them whatever it does, and the test show nothing.
  if (count < 1500) GTEST_SKIP() << "this system lets no more than " << count << " wait";
  LoopOptions options;
  options.receive_buffers = 4;
  Server server{GetParam(), options};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
  };
  std::vector<Client> clients;
  clients.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(server.address);
    ASSERT_EQ(clients.back().connect_error(), 0) << i;
    ASSERT_TRUE(clients.back().send(std::to_string(i)));
  }
  server.start();
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(clients[i].receive(std::to_string(i).size()), std::to_string(i));
}

TEST_P(LoopLimits, PeersThatSendWithoutEndDoNotTakeTheBuffersOfOthers) {
  LoopOptions options;
  options.receive_buffers = 2;
  Server server{GetParam(), options};
  const std::string much(1 << 20, 'x');
  int turns = -1;
  server.receive = [&](ConnectionId, std::string_view bytes) {
    if (bytes != "a word") return;
    std::lock_guard lock{server.mutex};
    turns = server.turn_ends;
  };
  std::vector<Client> clients;
  std::size_t sent = 0;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back(server.address);
    sent += clients.back().send_some(much);
  }
  EXPECT_GT(sent, std::size_t{64} * 16 * 1024) << "else a greedy peer is read in a few turns";
  Client modest{server.address};
  ASSERT_TRUE(modest.send("a word"));
  server.start();
  ASSERT_TRUE(server.wait([&] { return turns >= 0; }));
  EXPECT_LE(turns, 20) << "of " << sent / options.receive_bytes << " buffers that others fill";
}

// Occupies every descriptor below the limit but `spared`, until it goes.
class DescriptorsUsedUp {
 public:
  explicit DescriptorsUsedUp(rlim_t spared) {
    getrlimit(RLIMIT_NOFILE, &old_);
    int highest = 2;
    for (int fd = 3; fd < 8192; ++fd)
      if (fcntl(fd, F_GETFD) >= 0) highest = fd;
    do fillers_.push_back(dup(0));
    while (fillers_.back() <= highest);
    rlimit lower = old_;
    lower.rlim_cur = static_cast<rlim_t>(fillers_.back()) + 1 + spared;
    setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorsUsedUp() {
    setrlimit(RLIMIT_NOFILE, &old_);
    for (const int fd : fillers_) ::close(fd);
  }

 private:
  rlimit old_{};
  std::vector<int> fillers_;
};

TEST_P(LoopWithoutDescriptors, WithoutFreeDescriptorsPeersAreRefusedAndTheLoopDoesNotSpin) {
  LoopOptions options;
  options.refusal = "come back later";
  Server server{GetParam(), options};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
  };
  Client served{server.address};
  std::vector<Client> others;
  for (int i = 0; i < 40; ++i) others.push_back(Client::unconnected(server.address));
  {
    DescriptorsUsedUp none_left{1};  // the one is for `served`
    server.start();
    (void)server.accepted_id(0);
    for (Client& client : others) ASSERT_TRUE(client.connect(server.address));
    for (Client& client : others) {
      EXPECT_EQ(client.receive_all(), options.refusal);
      EXPECT_FALSE(client.broken());
    }
  }
  ASSERT_TRUE(served.send("alive"));
  EXPECT_EQ(served.receive(5), "alive");
  Client next{server.address};
  ASSERT_TRUE(next.send("alive"));
  // With io_uring the limit is read when accepting is begun, which a refusal does: one more may meet the old one.
  if (next.receive(5) != "alive") {
    next = Client{server.address};
    ASSERT_TRUE(next.send("alive"));
    EXPECT_EQ(next.receive(5), "alive");
  }
  server.stop();
  EXPECT_GE(server.loop->statistics().refused, 40u);
  EXPECT_LE(server.loop->statistics().turns, 500u);
}

TEST_P(LoopWithoutDescriptors, WithoutFreeDescriptorsPeersThatGoOnSendingAfterTheirAnswerMakeRoom) {
  LoopOptions options;
  options.refusal = "come back later";
  options.linger = 200ms;
  options.linger_most = 1h;
  Server server{GetParam(), options};
  server.receive = [&](ConnectionId id, std::string_view) {
    EXPECT_EQ(server.loop->send(id, "answer"), SendResult::Queued);
    server.loop->close(id, After::Flush);
  };
  std::vector<Client> senders;
  for (int i = 0; i < 8; ++i) senders.push_back(Client::unconnected(server.address));
  DescriptorsUsedUp none_left{9};  // one is for the newcomer
  server.start();
  for (Client& client : senders) {
    ASSERT_TRUE(client.connect(server.address));
    ASSERT_TRUE(client.send("x"));
    ASSERT_EQ(client.receive(6), "answer");
  }
  std::string told = options.refusal;
  const Instant limit = std::chrono::steady_clock::now() + kPatience;
  while (told == options.refusal && std::chrono::steady_clock::now() < limit) {
    Client newcomer{server.address};
    newcomer.send("x");
    while (!newcomer.readable(20ms) && std::chrono::steady_clock::now() < limit)
      for (Client& client : senders) client.send_some("more");
    told = newcomer.receive_all();
    for (Client& client : senders) client.send_some("more");
  }
  EXPECT_EQ(told, "answer");
}

TEST_P(LoopWithoutDescriptors, WithoutEvenASpareDescriptorAcceptingWaitsAndGoesOnByItself) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
  };
  Client served{server.address};
  Client waiting = Client::unconnected(server.address);
  std::uint64_t turns = 0;
  {
    DescriptorsUsedUp none_left{1};
    server.start();
    (void)server.accepted_id(0);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    rlimit none = limit;
    none.rlim_cur = 0;
    // Now the spare descriptor cannot be used either.
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    ASSERT_TRUE(waiting.connect(server.address));
    ASSERT_TRUE(served.send("alive"));
    EXPECT_EQ(served.receive(5), "alive");
    server.on_loop([&] { turns = server.loop->statistics().turns; });
    EXPECT_LE(turns, 50u);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ASSERT_TRUE(waiting.send("here"));
  EXPECT_EQ(waiting.receive(4), "here");
}

TEST_P(LoopLimits, IdleConnectionsCanBeFound) {
  Server server{GetParam()};
  server.start();
  Client quiet{server.address};
  const ConnectionId quiet_id = server.accepted_id(0);
  Client busy{server.address};
  const ConnectionId busy_id = server.accepted_id(1);
  Instant before{};
  server.on_loop([&] { before = server.loop->now(); });
  while (std::chrono::steady_clock::now() == before) {
  }
  ASSERT_TRUE(busy.send("x"));
  ASSERT_TRUE(server.wait([&] { return server.received[busy_id] == "x"; }));
  server.on_loop([&] {
    EXPECT_LE(server.loop->last_activity(quiet_id), before);
    EXPECT_GT(server.loop->last_activity(busy_id), before);
    std::vector<ConnectionId> idle;
    server.loop->for_each_idle(server.loop->last_activity(busy_id), [&](ConnectionId id) {
      idle.push_back(id);
      server.loop->close(id, After::Now);
    });
    EXPECT_EQ(idle, std::vector<ConnectionId>{quiet_id});
  });
  EXPECT_EQ(server.closed_event(0).id, quiet_id);
}

// ---- Listeners

TEST_P(LoopLimits, ListenSaysWhyItCannot) {
  Server server{GetParam()};
  const auto used = server.loop->listen(server.address);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, NetError::Code::AddressInUse);
  EXPECT_EQ(used.error().text, "cannot listen on " + server.address.str() + ": Address already in use");
  const auto foreign = server.loop->listen({IpAddress::v4(192, 0, 2, 1), 0});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, NetError::Code::AddressNotAvailable);
}

TEST_P(LoopLimits, SeveralLoopsShareAPort) {
  Server first{GetParam()};
  Server second{GetParam()};
  ListenOptions shared;
  shared.reuse_port = true;
  const auto one = first.loop->listen(kAnyPort, shared);
  ASSERT_TRUE(one);
  const auto two = second.loop->listen(one->address, shared);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->address, one->address);
  first.start();
  second.start();
  std::vector<Client> clients;
  const auto count = [](Server& server) {
    std::lock_guard lock{server.mutex};
    return server.accepted.size();
  };
  for (int i = 0; i < 2000 && (count(first) == 0 || count(second) == 0); ++i) clients.emplace_back(one->address);
  EXPECT_GT(count(first), 0u);
  EXPECT_GT(count(second), 0u);
}

TEST_P(LoopLimits, AClosedListenerRefusesButOpenConnectionsStay) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
  };
  server.start();
  Client client{server.address};
  (void)server.accepted_id(0);
  server.on_loop([&] {
    server.loop->close_listener(server.listener);
    server.loop->close_listener(server.listener);
  });
  EXPECT_FALSE(Client{server.address}.connected());
  ASSERT_TRUE(client.send("still"));
  EXPECT_EQ(client.receive(5), "still");
  // The port is free, also for the same loop.
  server.on_loop([&] { EXPECT_TRUE(server.loop->listen(server.address).has_value()); });
  Client again{server.address};
  ASSERT_TRUE(again.send("again"));
  EXPECT_EQ(again.receive(5), "again");
}

TEST_P(LoopLimits, ADualStackListenerReportsIpv4PeersAsSuch) {
  Server server{GetParam()};
  const auto dual = server.loop->listen({*IpAddress::parse("::"), 0});
  if (!dual) GTEST_SKIP() << dual.error().text;
  server.start();
  Client client{SocketAddress{IpAddress::v4(127, 0, 0, 1), dual->address.port}};
  ASSERT_TRUE(client.connected());
  (void)server.accepted_id(0);
  std::lock_guard lock{server.mutex};
  EXPECT_EQ(server.peers.at(0).str(), client.local_address().str());
}

TEST_P(LoopLimits, AcceptedSocketsInheritTheListenersOptions) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  (void)server.accepted_id(0);
  bool found = false;
  for (int fd = 3; fd < 4096 && !found;
       ++fd) {  // the loop does not show its descriptors: look for the other end of ours
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) continue;
    if (SocketAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)) != client.local_address()) continue;
    found = true;
    for (const auto& [level, name] :
         {std::pair<int, int>{IPPROTO_TCP, TCP_NODELAY}, {SOL_SOCKET, SO_KEEPALIVE}, {IPPROTO_TCP, TCP_USER_TIMEOUT}}) {
      int value = 0;
      size = sizeof value;
      ASSERT_EQ(getsockopt(fd, level, name, &value, &size), 0);
      EXPECT_NE(value, 0) << level << " " << name;
    }
  }
  EXPECT_TRUE(found);
}

// ---- Stopping

TEST_P(LoopLimits, StopClosesWhatIsOpenAndWritesWhatTheKernelTakes) {
  Server server{GetParam()};
  server.start();
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(server.address);
  ASSERT_TRUE(server.wait([&] { return server.accepted.size() == 20; }));
  server.on_loop([&] {
    for (std::size_t i = 0; i < 10; ++i) (void)server.loop->send(server.accepted[i], "goodbye");
    (void)server.loop->send(server.accepted[10], std::string(32 << 20, 'x'));
    server.loop->pause_reading(server.accepted[11]);
    server.loop->close(server.accepted[12], After::Flush);
    server.loop->stop();
  });
  server.stop();
  EXPECT_EQ(server.closed.size(), 20u);
  EXPECT_TRUE(server.living.empty());
  EXPECT_EQ(server.loop->open_connections(), 0u);
  std::size_t unsent = 0;
  for (const Closed& closed : server.closed) unsent += closed.unsent;
  EXPECT_GT(unsent, 1u << 20);
  std::size_t goodbyes = 0;
  for (Client& client : clients) goodbyes += client.receive_all() == "goodbye" ? 1 : 0;
  EXPECT_EQ(goodbyes, 10u);
  EXPECT_FALSE(Client{server.address}.connected());
}

TEST_P(LoopLimits, StopBeforeRunOnlyCleansUp) {
  Server server{GetParam()};
  Client client{server.address};  // waits in the backlog
  server.loop->stop();
  server.start();
  server.stop();
  EXPECT_TRUE(server.accepted.empty());
  EXPECT_EQ(client.receive_all(), "");
}

TEST_P(LoopLimits, ALoopThatNeverRanReleasesItsPort) {
  SocketAddress address;
  {
    Server server{GetParam()};
    address = server.address;
  }
  Server next{GetParam()};
  EXPECT_TRUE(next.loop->listen(address).has_value());
}

// ---- Choice

TEST(MakeLoop, AutoSaysWhatItChose) {
  auto loop = make_loop(LoopKind::Auto);
  ASSERT_TRUE(loop) << loop.error().text;
  EXPECT_TRUE((*loop)->choice().starts_with(describe((*loop)->kind()))) << (*loop)->choice();
}

// In a child process under a seccomp filter that refuses io_uring_setup, as container runtimes install it.
TEST(MakeLoop, FallsBackToEpollWhereIoUringIsForbidden) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, refuse};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      _exit(77);
    const auto automatic = make_loop(LoopKind::Auto);
    if (!automatic || (*automatic)->kind() != LoopKind::Epoll) _exit(1);
    if ((*automatic)->choice() != "epoll (io_uring: Operation not permitted)") _exit(2);
    const auto forced = make_loop(LoopKind::IoUring);
    if (forced || forced.error().code != NetError::Code::Unsupported) _exit(3);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "seccomp filters are not allowed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace fanfare::net
