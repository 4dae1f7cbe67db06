// For tests: a loop on a thread of its own, recording what it tells and checking its promises, and the fixture that
// runs a test over both kinds of loop. Tests act as its peers over loopback sockets and wait for conditions, never for
// time.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/assert.h"
#include "net/loop.h"
#include "net/test_client.h"

namespace fanfare::net::testing {

inline const SocketAddress kAnyPort{IpAddress::v4(127, 0, 0, 1), 0};

struct Closed {
  ConnectionId id;
  CloseReason reason;
  std::size_t unsent;
};

// A loop on its thread. The on_* functions may be replaced before start(); what they saw is read under the lock.
class Server : public LoopHandler {
 public:
  explicit Server(LoopKind kind, LoopOptions options = {}) : Server(made(kind, std::move(options))) {}
  explicit Server(std::unique_ptr<Loop> given) : loop(std::move(given)) {
    const auto listening = loop->listen(kAnyPort);
    FANFARE_ASSERT(listening.has_value(), listening.error().text);
    listener = listening->id;
    address = listening->address;
  }
  ~Server() override { stop(); }

  static std::unique_ptr<Loop> made(LoopKind kind, LoopOptions options = {}) {
    auto made = make_loop(kind, std::move(options));
    FANFARE_ASSERT(made.has_value(), made.error().text);
    return std::move(*made);
  }

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

/// Bytes without a pattern that a lost or doubled piece could keep.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

/// Skips io_uring where the kernel or the sandbox refuses it.
class LoopTest : public ::testing::TestWithParam<LoopKind> {
 protected:
  void SetUp() override {
    if (GetParam() != LoopKind::IoUring) return;
    if (const auto made = make_loop(LoopKind::IoUring); !made) GTEST_SKIP() << made.error().text;
  }
};

inline std::string kind_name(const ::testing::TestParamInfo<LoopKind>& instance) {
  return instance.param == LoopKind::IoUring ? "IoUring" : "Epoll";
}

}  // namespace fanfare::net::testing
