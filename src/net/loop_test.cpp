// One contract suite for both loops. The loop runs on a thread of its own; tests act as its peers over loopback sockets
// and wait for conditions, never for time.

#include "net/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/marks.h"
#include "net/test_client.h"

namespace fanfare::net {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::kPatience;

const SocketAddress kAnyPort{IpAddress::v4(127, 0, 0, 1), 0};

struct Closed {
  ConnectionId id;
  CloseReason reason;
  std::size_t unsent;
};

// A loop on its thread. The on_* functions may be replaced before start(); what they saw is read under the lock.
class Server : public LoopHandler {
 public:
  explicit Server(LoopKind kind, LoopOptions options = {}) {
    auto made = make_loop(kind, std::move(options));
    FANFARE_ASSERT(made.has_value(), made.error().text);
    loop = std::move(*made);
    const auto listening = loop->listen(kAnyPort);
    FANFARE_ASSERT(listening.has_value(), listening.error().text);
    listener = listening->id;
    address = listening->address;
  }
  ~Server() override { stop(); }

  void start() {
    thread_ = std::thread{[this] { loop->run(*this); }};
  }
  void stop() {
    if (!thread_.joinable()) return;
    loop->stop();
    thread_.join();
  }

  /// Runs `work` on the loop's thread and waits for it.
  void on_loop(std::function<void()> work) {
    std::unique_lock lock{mutex};
    bool done = false;
    work_.push_back([&] {
      work();
      std::lock_guard inner{mutex};
      done = true;
      changed.notify_all();
    });
    loop->wake();
    ASSERT_TRUE(changed.wait_for(lock, kPatience, [&] { return done; })) << "the loop did not wake up";
  }

  /// Waits until `condition`, evaluated under the lock after each callback, holds.
  template <class Condition>
  [[nodiscard]] bool wait(Condition condition) {
    std::unique_lock lock{mutex};
    return changed.wait_for(lock, kPatience, condition);
  }
  [[nodiscard]] ConnectionId accepted_id(std::size_t index) {
    EXPECT_TRUE(wait([&] { return accepted.size() > index; }));
    std::lock_guard lock{mutex};
    return index < accepted.size() ? accepted[index] : ConnectionId{};
  }
  [[nodiscard]] Closed closed_event(std::size_t index) {
    EXPECT_TRUE(wait([&] { return closed.size() > index; }));
    std::lock_guard lock{mutex};
    return index < closed.size() ? closed[index] : Closed{};
  }

  void on_accept(ConnectionId id, ListenerId, const SocketAddress& peer) override {
    note([&] {
      EXPECT_TRUE(living.insert(id).second);
      accepted.push_back(id);
      peers.push_back(peer);
    });
    if (accept) accept(id);
  }
  void on_receive(ConnectionId id, std::string_view bytes) override {
    EXPECT_FALSE(bytes.empty());
    note([&] {
      EXPECT_TRUE(living.contains(id));
      EXPECT_FALSE(ended.contains(id)) << "bytes after the end of input";
      received[id] += bytes;
    });
    if (receive) receive(id, bytes);
  }
  void on_end_of_input(ConnectionId id) override {
    note([&] {
      EXPECT_TRUE(living.contains(id));
      EXPECT_TRUE(ended.insert(id).second) << "told twice";
    });
    if (end) end(id);
  }
  void on_closed(ConnectionId id, CloseReason reason, std::size_t unsent) override {
    note([&] {
      EXPECT_EQ(living.erase(id), 1u) << "closed, but not open";
      closed.push_back({id, reason, unsent});
    });
    if (gone) gone(id);
  }
  void on_drained(ConnectionId id) override {
    note([&] {
      EXPECT_TRUE(living.contains(id));
      ++drained[id];
    });
    if (drain) drain(id);
  }
  void on_timer(Instant now) override {
    note([&] { timers.push_back(now); });
    if (timer) timer(now);
  }
  void on_wake() override {
    std::deque<std::function<void()>> work;
    {
      std::lock_guard lock{mutex};
      work.swap(work_);
    }
    for (const auto& each : work) each();
    if (woken) woken();
    note([&] { ++wakes; });
  }
  void on_turn_end() override {
    EXPECT_TRUE(told_) << "a turn in which nothing was told has no end";
    told_ = false;
    if (turn_end) turn_end();
    std::lock_guard lock{mutex};
    ++turn_ends;
    changed.notify_all();
  }

  std::unique_ptr<Loop> loop;
  ListenerId listener;
  SocketAddress address;

  std::function<void(ConnectionId)> accept, end, gone, drain;
  std::function<void(ConnectionId, std::string_view)> receive;
  std::function<void(Instant)> timer;
  std::function<void()> woken, turn_end;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<ConnectionId> accepted;
  std::vector<SocketAddress> peers;
  std::map<ConnectionId, std::string> received;
  std::set<ConnectionId> living;
  std::set<ConnectionId> ended;
  std::vector<Closed> closed;
  std::map<ConnectionId, int> drained;
  std::vector<Instant> timers;
  int wakes = 0;
  int turn_ends = 0;

 private:
  template <class Change>
  void note(Change change) {
    told_ = true;
    std::lock_guard lock{mutex};
    change();
    changed.notify_all();
  }

  bool told_ = false;  // the loop's thread only
  std::deque<std::function<void()>> work_;
  std::thread thread_;
};

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

class LoopContract : public ::testing::TestWithParam<LoopKind> {
 protected:
  void SetUp() override {
    if (GetParam() != LoopKind::IoUring) return;
    if (const auto made = make_loop(LoopKind::IoUring); !made) GTEST_SKIP() << made.error().text;
  }
};

INSTANTIATE_TEST_SUITE_P(Both, LoopContract, ::testing::Values(LoopKind::IoUring, LoopKind::Epoll),
                         [](const auto& instance) { return instance.param == LoopKind::IoUring ? "IoUring" : "Epoll"; });

// ---- Bytes

TEST_P(LoopContract, EchoesWhatItReceives) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued); };
  server.start();
  Client one{server.address};
  Client two{server.address};
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(one.send("first"));
    ASSERT_TRUE(two.send("second!"));
    EXPECT_EQ(one.receive(5), "first");
    EXPECT_EQ(two.receive(7), "second!");
  }
  EXPECT_EQ(server.loop->kind(), GetParam());
}

TEST_P(LoopContract, TellsThePeersAddress) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  (void)server.accepted_id(0);
  std::lock_guard lock{server.mutex};
  EXPECT_EQ(server.peers.at(0).str(), client.local_address().str());
}

TEST_P(LoopContract, MegabytesArriveInOrderBothWays) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued); };
  server.start();
  Client client{server.address};
  const std::string text = pattern(8 << 20);
  std::thread writer{[&] { EXPECT_TRUE(client.send(text)); }};
  EXPECT_TRUE(client.receive(text.size()) == text) << "the echo differs";
  writer.join();
}

TEST_P(LoopContract, OutputOfOneTurnIsGatheredIntoOneWrite) {
  Server server{GetParam()};
  const auto shared = std::make_shared<const std::string>(3000, 's');
  std::string expected;
  server.receive = [&](ConnectionId id, std::string_view) {
    Loop& loop = *server.loop;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(loop.send(id, "small "), SendResult::Queued);
    EXPECT_EQ(loop.send(id, shared), SendResult::Queued);
    EXPECT_EQ(loop.send(id, std::string(2000, 'o')), SendResult::Queued);
    std::string* out = loop.output(id);
    ASSERT_NE(out, nullptr);
    out->append("tail");
    EXPECT_EQ(loop.pending_bytes(id), 120u + 3000u + 2000u + 4u);
  };
  for (int i = 0; i < 20; ++i) expected += "small ";
  expected += *shared + std::string(2000, 'o') + "tail";
  server.start();
  Client client{server.address};
  ASSERT_TRUE(client.send("go"));
  EXPECT_EQ(client.receive(expected.size()), expected);
  server.stop();
  EXPECT_EQ(server.loop->statistics().sends, 1u);
  EXPECT_EQ(server.loop->statistics().bytes_sent, expected.size());
}

TEST_P(LoopContract, ASlowReaderGetsEverythingAndTheHandlerIsToldWhenItIsWritten) {
  Server server{GetParam()};
  const std::string big = pattern(6 << 20);
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    Loop& loop = *server.loop;
    EXPECT_EQ(loop.send(id, std::string{big}), SendResult::Queued);
    EXPECT_EQ(loop.send(id, bytes), SendResult::Queued);
    loop.notify_drained(id);
  };
  server.start();
  Client client = Client::unconnected(server.address);
  client.set_receive_buffer(64 * 1024);
  ASSERT_TRUE(client.connect(server.address));
  ASSERT_TRUE(client.send("A"));
  const ConnectionId id = server.accepted_id(0);
  ASSERT_TRUE(server.wait([&] { return server.received[id] == "A"; }));
  std::size_t pending = 0;
  server.on_loop([&] { pending = server.loop->pending_bytes(id); });
  EXPECT_GT(pending, 1u << 20) << "the kernel cannot have taken all";
  // More is queued while a write is under way.
  ASSERT_TRUE(client.send("B"));
  ASSERT_TRUE(server.wait([&] { return server.received[id] == "AB"; }));
  server.on_loop([&] { EXPECT_EQ(server.loop->send(id, "end"), SendResult::Queued); });
  {
    std::lock_guard lock{server.mutex};
    EXPECT_EQ(server.drained[id], 0) << "nobody has read yet";
  }
  const std::string expected = big + "A" + big + "B" + "end";
  EXPECT_TRUE(client.receive(expected.size()) == expected) << "bytes lost or reordered";
  EXPECT_TRUE(server.wait([&] { return server.drained[id] >= 1; }));
  server.on_loop([&] { EXPECT_EQ(server.loop->pending_bytes(id), 0u); });
}

TEST_P(LoopContract, OutputLimitRefusesMore) {
  LoopOptions options;
  options.output_limit = 1 << 20;
  Server server{GetParam(), options};
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] {
    EXPECT_EQ(server.loop->send(id, std::string(900'000, 'a')), SendResult::Queued);
    EXPECT_EQ(server.loop->send(id, std::string(900'000, 'b')), SendResult::Queued) << "the limit is tested before";
    EXPECT_EQ(server.loop->send(id, "c"), SendResult::Full);
    EXPECT_EQ(server.loop->output(id), nullptr);
    EXPECT_EQ(server.loop->pending_bytes(id), 1'800'000u);
  });
  EXPECT_EQ(client.receive(1'800'000), std::string(900'000, 'a') + std::string(900'000, 'b'));
}

TEST_P(LoopContract, SharedBytesReachManyAndAreLetGo) {
  Server server{GetParam()};
  server.start();
  std::vector<Client> clients;
  for (int i = 0; i < 100; ++i) clients.emplace_back(server.address);
  ASSERT_TRUE(server.wait([&] { return server.accepted.size() == 100; }));
  const auto shared = std::make_shared<const std::string>(pattern(5000));
  server.on_loop([&] {
    for (const ConnectionId id : server.accepted) EXPECT_EQ(server.loop->send(id, shared), SendResult::Queued);
    EXPECT_GT(shared.use_count(), 100);
  });
  for (Client& client : clients) EXPECT_EQ(client.receive(shared->size()), *shared);
  server.stop();
  EXPECT_EQ(shared.use_count(), 1);
}

TEST_P(LoopContract, NotifyDrainedWithNothingPendingComesInALaterTurn) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] {
    server.loop->notify_drained(id);
    server.loop->notify_drained(id);
    std::lock_guard lock{server.mutex};
    EXPECT_EQ(server.drained[id], 0);
  });
  EXPECT_TRUE(server.wait([&] { return server.drained[id] == 1; }));
}

TEST_P(LoopContract, FewSmallReceiveBuffersLoseNothing) {
  LoopOptions options;
  options.receive_bytes = 64;
  options.receive_buffers = 2;
  Server server{GetParam(), options};
  std::size_t longest = 0;
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    longest = std::max(longest, bytes.size());
    EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued);
  };
  server.start();
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(server.address);
  const std::string text = pattern(10'000);
  const auto all = [&] {
    for (Client& client : clients) EXPECT_TRUE(client.send(text));
    for (Client& client : clients) EXPECT_TRUE(client.receive(text.size()) == text);
  };
  if (GetParam() == LoopKind::IoUring) {
    EXPECT_MARKED(net_receive_buffers_exhausted, all());
  } else {
    all();
  }
  server.stop();
  EXPECT_EQ(longest, 64u);
}

// ---- Ends

TEST_P(LoopContract, AHalfClosedPeerStillGetsItsReply) {
  Server server{GetParam()};
  server.end = [&](ConnectionId id) {
    EXPECT_TRUE(server.loop->is_open(id));
    EXPECT_FALSE(server.loop->is_peer_alive(id));
    EXPECT_FALSE(server.loop->probe_peer(id));
    EXPECT_EQ(server.loop->send(id, "reply"), SendResult::Queued);
    server.loop->close(id, After::Flush);
    EXPECT_FALSE(server.loop->is_open(id));
    EXPECT_EQ(server.loop->send(id, "late"), SendResult::Stale);
  };
  server.start();
  Client client{server.address};
  ASSERT_TRUE(client.send("request"));
  client.shutdown_write();
  EXPECT_EQ(client.receive_all(), "reply");
  EXPECT_FALSE(client.broken());
  const Closed closed = server.closed_event(0);
  EXPECT_EQ(closed.reason, CloseReason::ClosedByUs);
  EXPECT_EQ(closed.unsent, 0u);
  EXPECT_EQ(server.received[closed.id], "request");
}

TEST_P(LoopContract, AHalfClosedConnectionStaysUntilTheHandlerClosesIt) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  client.shutdown_write();
  const ConnectionId id = server.accepted_id(0);
  ASSERT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  for (int i = 0; i < 3; ++i) {
    server.on_loop([&] { EXPECT_EQ(server.loop->send(id, "tick"), SendResult::Queued); });
    EXPECT_EQ(client.receive(4), "tick");
  }
  EXPECT_TRUE(server.closed.empty());
}

TEST_P(LoopContract, AnAbortAfterTheHalfCloseIsNoticed) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  client.shutdown_write();
  const ConnectionId id = server.accepted_id(0);
  ASSERT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  client.reset();
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
}

TEST_P(LoopContract, AnAbortIsReportedWithWhatWasNotSent) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] { EXPECT_EQ(server.loop->send(id, std::string(16 << 20, 'x')), SendResult::Queued); });
  EXPECT_EQ(client.receive(1000), std::string(1000, 'x'));
  client.reset();
  const Closed closed = server.closed_event(0);
  EXPECT_EQ(closed.id, id);
  EXPECT_EQ(closed.reason, CloseReason::PeerReset);
  EXPECT_GT(closed.unsent, 1u << 20);
}

TEST_P(LoopContract, AWriteToAVanishedPeerEndsWithoutASignal) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  client.close();
  ASSERT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  // The first write provokes a reset; that, or the next write, ends the connection.
  bool gone = false;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (!gone && std::chrono::steady_clock::now() < limit) server.on_loop([&] { gone = server.loop->send(id, "x") == SendResult::Stale; });
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
}

TEST_P(LoopContract, CloseNowDropsOutputCloseFlushWritesIt) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) {
    EXPECT_EQ(server.loop->send(id, std::string(16 << 20, 'x')), SendResult::Queued);
    server.loop->close(id, bytes == "now" ? After::Now : After::Flush);
    server.loop->close(id, After::Flush);  // cannot take back Now
  };
  server.start();
  Client now{server.address};
  ASSERT_TRUE(now.send("now"));
  EXPECT_LT(now.receive_all().size(), 16u << 20);
  const Closed dropped = server.closed_event(0);
  EXPECT_EQ(dropped.reason, CloseReason::ClosedByUs);
  EXPECT_EQ(dropped.unsent, 16u << 20);
  Client flush{server.address};
  ASSERT_TRUE(flush.send("flush"));
  EXPECT_EQ(flush.receive_all().size(), 16u << 20);
  EXPECT_FALSE(flush.broken());
  EXPECT_EQ(server.closed_event(1).unsent, 0u);
}

TEST_P(LoopContract, FlushMayBecomeNow) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] {
    EXPECT_EQ(server.loop->send(id, std::string(16 << 20, 'x')), SendResult::Queued);
    server.loop->close(id, After::Flush);
  });
  server.on_loop([&] { EXPECT_EQ(server.loop->open_connections(), 1u) << "still being written"; });
  server.on_loop([&] { server.loop->close(id, After::Now); });
  EXPECT_GT(server.closed_event(0).unsent, 0u);
}

TEST_P(LoopContract, ThePeerReadsTheLastReplyThoughItWasStillSending) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view) {
    EXPECT_EQ(server.loop->send(id, "413 too large"), SendResult::Queued);
    server.loop->close(id, After::Flush);
  };
  server.start();
  Client client{server.address};
  ASSERT_TRUE(client.send(std::string(4 << 20, 'x'))) << "input after the close must be discarded, not refused";
  EXPECT_EQ(client.receive_all(), "413 too large");
  EXPECT_FALSE(client.broken()) << "a reset would have destroyed the reply";
}

TEST_P(LoopContract, APeerThatDoesNotHangUpIsCutOffAfterTheLinger) {
  LoopOptions options;
  options.linger = 20ms;
  Server server{GetParam(), options};
  server.accept = [&](ConnectionId id) { server.loop->close(id, After::Flush); };
  server.start();
  Client client{server.address};
  (void)server.closed_event(0);
  EXPECT_EQ(client.receive_all(), "");
  // Sending is possible until the linger ends; then the kernel answers with a reset.
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (client.send("x") && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  EXPECT_FALSE(client.send("x"));
}

// ---- Pausing

TEST_P(LoopContract, APausedConnectionIsToldNothingUntilItResumes) {
  Server server{GetParam()};
  const std::string text = pattern(3 << 20);
  server.accept = [&](ConnectionId id) { server.loop->pause_reading(id); };
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  ASSERT_TRUE(client.send(text.substr(0, 1000)));
  std::size_t sent = 1000;
  // TCP takes a few megabytes at most while nobody reads.
  for (int i = 0; i < 100 && sent < text.size(); ++i) {
    sent += client.send_some(std::string_view{text}.substr(sent));
    server.on_loop([] {});
  }
  std::thread writer{[&] {
    EXPECT_TRUE(client.send(std::string_view{text}.substr(sent)));
    client.shutdown_write();
  }};
  server.on_loop([&] {
    std::lock_guard lock{server.mutex};
    EXPECT_EQ(server.received[id], "");
    EXPECT_TRUE(server.ended.empty());
  });
  server.on_loop([&] {
    server.loop->resume_reading(id);
    server.loop->resume_reading(id);
  });
  EXPECT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  writer.join();
  EXPECT_TRUE(server.received[id] == text) << server.received[id].size() << " of " << text.size() << " bytes";
}

TEST_P(LoopContract, PausingAndResumingAtEachReceiveLosesNothing) {
  Server server{GetParam()};
  int round = 0;
  server.receive = [&](ConnectionId id, std::string_view) {
    server.loop->pause_reading(id);
    if (++round % 3 == 0) server.loop->resume_reading(id);
    server.loop->notify_drained(id);  // the next turn
  };
  server.drain = [&](ConnectionId id) { server.loop->resume_reading(id); };
  server.start();
  Client client{server.address};
  const std::string text = pattern(2 << 20);
  ASSERT_TRUE(client.send(text));
  client.shutdown_write();
  const ConnectionId id = server.accepted_id(0);
  EXPECT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  EXPECT_TRUE(server.received[id] == text) << server.received[id].size() << " of " << text.size() << " bytes";
}

TEST_P(LoopContract, AnAbortIsSeenWhilePaused) {
  Server server{GetParam()};
  server.accept = [&](ConnectionId id) { server.loop->pause_reading(id); };
  server.start();
  Client client{server.address};
  ASSERT_TRUE(client.send("unread"));
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] { EXPECT_TRUE(server.loop->is_peer_alive(id)); });
  client.reset();
  EXPECT_EQ(server.closed_event(0).reason, CloseReason::PeerReset);
  EXPECT_EQ(server.received[id], "");
}

TEST_P(LoopContract, AHangUpBehindUnreadInputIsSeenWhilePaused) {
  Server server{GetParam()};
  server.accept = [&](ConnectionId id) { server.loop->pause_reading(id); };
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] { EXPECT_TRUE(server.loop->probe_peer(id)); });
  ASSERT_TRUE(client.send("unread"));
  client.close();
  bool alive = true;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (alive && std::chrono::steady_clock::now() < limit) server.on_loop([&] { alive = server.loop->is_peer_alive(id); });
  EXPECT_FALSE(alive);
  server.on_loop([&] {
    EXPECT_FALSE(server.loop->probe_peer(id));
    server.loop->resume_reading(id);
  });
  EXPECT_TRUE(server.wait([&] { return server.ended.contains(id); }));
  EXPECT_EQ(server.received[id], "unread");
}

TEST_P(LoopContract, ProbeSeesAHangUpBeforeTheLoopIsTold) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  const ConnectionId id = server.accepted_id(0);
  server.on_loop([&] {
    EXPECT_TRUE(server.loop->probe_peer(id));
    client.close();
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (server.loop->probe_peer(id) && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_FALSE(server.loop->probe_peer(id));
    EXPECT_TRUE(server.ended.empty()) << "the turn is not over";
  });
}

// ---- Identity

TEST_P(LoopContract, StaleIdsAreHarmless) {
  Server server{GetParam()};
  server.start();
  Client first{server.address};
  const ConnectionId old = server.accepted_id(0);
  server.on_loop([&] { server.loop->close(old, After::Now); });
  (void)server.closed_event(0);
  EXPECT_EQ(first.receive_all(), "");
  // Its slot has a new user.
  ConnectionId fresh;
  std::vector<Client> others;
  for (std::size_t i = 1; i < 50 && fresh.slot != old.slot; ++i) {
    others.emplace_back(server.address);
    fresh = server.accepted_id(i);
    if (fresh.slot == old.slot) break;
    fresh = {};
  }
  server.on_loop([&] {
    Loop& loop = *server.loop;
    for (const ConnectionId stale : {old, ConnectionId{}, ConnectionId{999'999, 1}}) {
      EXPECT_EQ(loop.send(stale, "x"), SendResult::Stale);
      EXPECT_EQ(loop.send(stale, std::string{"x"}), SendResult::Stale);
      EXPECT_EQ(loop.send(stale, std::make_shared<const std::string>("x")), SendResult::Stale);
      EXPECT_EQ(loop.output(stale), nullptr);
      EXPECT_EQ(loop.pending_bytes(stale), 0u);
      loop.notify_drained(stale);
      loop.pause_reading(stale);
      loop.resume_reading(stale);
      loop.close(stale, After::Now);
      EXPECT_FALSE(loop.is_open(stale));
      EXPECT_FALSE(loop.is_peer_alive(stale));
      EXPECT_FALSE(loop.probe_peer(stale));
      EXPECT_EQ(loop.last_activity(stale), Instant{});
    }
    loop.close_listener(ListenerId{77});
  });
  Client last{server.address};
  ASSERT_TRUE(last.connected());
  ASSERT_TRUE(last.send("still here"));
  EXPECT_TRUE(server.wait([&] {
    for (const auto& [id, text] : server.received)
      if (text == "still here") return true;
    return false;
  }));
  std::lock_guard lock{server.mutex};
  EXPECT_EQ(server.closed.size(), 1u);
}

TEST_P(LoopContract, ClosingInsideAnyCallbackIsSafe) {
  for (const std::string where : {"accept", "receive", "end", "drain", "timer", "wake", "turn_end"}) {
    for (const After after : {After::Now, After::Flush}) {
      SCOPED_TRACE(where);
      Server server{GetParam()};
      const auto close = [&](ConnectionId id) {
        (void)server.loop->send(id, "bye");
        server.loop->close(id, after);
        server.loop->close(id, after);
      };
      const auto close_all = [&] {
        for (const ConnectionId id : std::set<ConnectionId>{server.living}) close(id);
      };
      if (where == "accept") server.accept = close;
      if (where == "receive") server.receive = [&](ConnectionId id, std::string_view) { close(id); };
      if (where == "end") server.end = close;
      if (where == "drain") server.drain = close;
      if (where == "timer") server.timer = [&](Instant) { close_all(); };
      if (where == "wake") server.woken = close_all;
      if (where == "turn_end") server.turn_end = close_all;
      server.start();
      Client client{server.address};
      ASSERT_TRUE(client.send("hello"));
      const ConnectionId id = server.accepted_id(0);
      if (where == "end") client.shutdown_write();
      if (where == "drain") server.on_loop([&] { server.loop->notify_drained(id); });
      if (where == "timer") server.on_loop([&] { server.loop->set_deadline(server.loop->now()); });
      if (where == "wake") server.loop->wake();
      EXPECT_EQ(server.closed_event(0).id, id);
      if (after == After::Flush) {
        EXPECT_EQ(client.receive_all(), "bye");
      }
    }
  }
}

// ---- Turns

TEST_P(LoopContract, ATurnTellsAllThatIsReadyBeforeItEndsAndNothingLeavesBefore) {
  constexpr int kClients = 200;
  Server server{GetParam()};
  server.start();
  std::vector<Client> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back(server.address);
  ASSERT_TRUE(server.wait([&] { return server.accepted.size() == kClients; }));
  int receives_in_turn = 0;
  std::vector<int> turns;
  bool something_left_early = false;
  server.on_loop([&] {
    server.receive = [&](ConnectionId id, std::string_view) {
      ++receives_in_turn;
      EXPECT_EQ(server.loop->send(id, "reply"), SendResult::Queued);
    };
    server.turn_end = [&] {
      for (const Client& client : clients) something_left_early |= receives_in_turn > 0 && client.readable();
      if (receives_in_turn > 0) turns.push_back(receives_in_turn);
      receives_in_turn = 0;
    };
    // The loop is inside a callback, so these are all ready at its next turn.
    for (Client& client : clients) EXPECT_TRUE(client.send("request"));
  });
  for (Client& client : clients) EXPECT_EQ(client.receive(5), "reply");
  server.stop();
  EXPECT_FALSE(something_left_early);
  EXPECT_EQ(turns, std::vector<int>{kClients});
}

TEST_P(LoopContract, WakeFromOtherThreadsIsNeverLost) {
  Server server{GetParam()};
  std::atomic<int> posted{0};
  int seen = 0;
  server.woken = [&] { seen = posted.load(); };
  server.loop->wake();  // before run(): not lost either
  server.start();
  ASSERT_TRUE(server.wait([&] { return server.wakes >= 1; }));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 2000; ++n) {
        ++posted;
        server.loop->wake();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(server.wait([&] { return seen == 8000; })) << seen;
  EXPECT_LE(server.wakes, 8001);
  for (int n = 0; n < 200; ++n) {  // one at a time, mostly into a sleeping loop
    int before = 0;
    {
      std::lock_guard lock{server.mutex};
      before = server.wakes;
    }
    server.loop->wake();
    ASSERT_TRUE(server.wait([&] { return server.wakes > before; })) << n;
  }
}

TEST_P(LoopContract, OneTimerFiresOnceAndNeverEarly) {
  Server server{GetParam()};
  Instant asked;
  std::vector<Instant> deadlines;
  server.timer = [&](Instant now) {
    EXPECT_GE(now, deadlines.back());
    EXPECT_EQ(now, server.loop->now());
    if (deadlines.size() < 5) {
      deadlines.push_back(now + 300us * deadlines.size());
      server.loop->set_deadline(deadlines.back());
    }
  };
  server.start();
  server.on_loop([&] {
    asked = server.loop->now();
    server.loop->set_deadline(asked + 1h);  // replaced
    deadlines.push_back(asked + 2ms);
    server.loop->set_deadline(deadlines.back());
  });
  ASSERT_TRUE(server.wait([&] { return server.timers.size() == 5; }));
  server.on_loop([&] {
    server.loop->set_deadline(server.loop->now() + 1ms);
    server.loop->clear_deadline();
  });
  server.on_loop([&] {
    deadlines.push_back(server.loop->now() + 3ms);
    server.loop->set_deadline(deadlines.back());
  });
  ASSERT_TRUE(server.wait([&] { return server.timers.size() == 6; }));
  EXPECT_TRUE(std::is_sorted(server.timers.begin(), server.timers.end()));
}

TEST_P(LoopContract, ADeadlineInThePastFiresInTheNextTurn) {
  Server server{GetParam()};
  server.loop->set_deadline(Instant{} + 1s);
  server.start();
  EXPECT_TRUE(server.wait([&] { return server.timers.size() == 1; }));
}

TEST_P(LoopContract, AnIdleLoopTakesNoTurns) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  (void)server.accepted_id(0);
  server.on_loop([] {});
  std::uint64_t before = 0;
  server.on_loop([&] { before = server.loop->statistics().turns; });
  server.on_loop([&] { server.loop->set_deadline(server.loop->now() + 50ms); });
  ASSERT_TRUE(server.wait([&] { return server.timers.size() == 1; }));
  server.stop();
  EXPECT_LE(server.loop->statistics().turns - before, 6u);
}

// ---- Limits

TEST_P(LoopContract, BeyondTheConnectionLimitPeersAreRefusedWithAReason) {
  LoopOptions options;
  options.max_connections = 3;
  options.refusal = "HTTP/1.1 503 Service Unavailable\r\n\r\n";
  Server server{GetParam(), options};
  server.receive = [&](ConnectionId id, std::string_view bytes) { EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued); };
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

TEST_P(LoopContract, AFloodOfRefusedPeersIsBounded) {
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

TEST_P(LoopContract, ThousandsOfConnections) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t count = std::min<std::size_t>(3000, (limit.rlim_cur - 200) / 2);
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued); };
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

TEST_P(LoopContract, WithoutFreeDescriptorsPeersAreRefusedAndTheLoopDoesNotSpin) {
  LoopOptions options;
  options.refusal = "come back later";
  Server server{GetParam(), options};
  server.receive = [&](ConnectionId id, std::string_view bytes) { EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued); };
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

TEST_P(LoopContract, WithoutEvenASpareDescriptorAcceptingWaitsAndGoesOnByItself) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued); };
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

TEST_P(LoopContract, IdleConnectionsCanBeFound) {
  Server server{GetParam()};
  server.start();
  Client quiet{server.address};
  const ConnectionId quiet_id = server.accepted_id(0);
  Client busy{server.address};
  const ConnectionId busy_id = server.accepted_id(1);
  Instant before{};
  server.on_loop([&] { before = server.loop->now(); });
  while (std::chrono::steady_clock::now() == before) {}
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

TEST_P(LoopContract, ListenSaysWhyItCannot) {
  Server server{GetParam()};
  const auto used = server.loop->listen(server.address);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, NetError::Code::AddressInUse);
  EXPECT_EQ(used.error().text, "cannot listen on " + server.address.str() + ": Address already in use");
  const auto foreign = server.loop->listen({IpAddress::v4(192, 0, 2, 1), 0});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, NetError::Code::AddressNotAvailable);
}

TEST_P(LoopContract, SeveralLoopsShareAPort) {
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

TEST_P(LoopContract, AClosedListenerRefusesButOpenConnectionsStay) {
  Server server{GetParam()};
  server.receive = [&](ConnectionId id, std::string_view bytes) { EXPECT_EQ(server.loop->send(id, bytes), SendResult::Queued); };
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

TEST_P(LoopContract, ADualStackListenerReportsIpv4PeersAsSuch) {
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

TEST_P(LoopContract, AcceptedSocketsInheritTheListenersOptions) {
  Server server{GetParam()};
  server.start();
  Client client{server.address};
  (void)server.accepted_id(0);
  bool found = false;
  for (int fd = 3; fd < 4096 && !found; ++fd) {  // the loop does not show its descriptors: look for the other end of ours
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) continue;
    if (SocketAddress::from_sockaddr(reinterpret_cast<const sockaddr&>(storage)) != client.local_address()) continue;
    found = true;
    for (const auto& [level, name] : {std::pair<int, int>{IPPROTO_TCP, TCP_NODELAY}, {SOL_SOCKET, SO_KEEPALIVE}, {IPPROTO_TCP, TCP_USER_TIMEOUT}}) {
      int value = 0;
      size = sizeof value;
      ASSERT_EQ(getsockopt(fd, level, name, &value, &size), 0);
      EXPECT_NE(value, 0) << level << " " << name;
    }
  }
  EXPECT_TRUE(found);
}

// ---- Stopping

TEST_P(LoopContract, StopClosesWhatIsOpenAndWritesWhatTheKernelTakes) {
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

TEST_P(LoopContract, StopBeforeRunOnlyCleansUp) {
  Server server{GetParam()};
  Client client{server.address};  // waits in the backlog
  server.loop->stop();
  server.start();
  server.stop();
  EXPECT_TRUE(server.accepted.empty());
  EXPECT_EQ(client.receive_all(), "");
}

TEST_P(LoopContract, ALoopThatNeverRanReleasesItsPort) {
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
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(77);
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
