// The broker's upkeep over a journal on disk: the folder stays small whatever pins it, snapshots made aside are those of the engine, and
// nobody waits for either. FANFARE_BROKER_MESSAGES makes the last test larger.
#include "server/broker.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "journal/file/file_journal.h"
#include "journal/test_support.h"

namespace fanfare::server {
namespace {

using engine::Caller;
using engine::Command;

constexpr std::uint64_t kSegment = 1 << 20;

class Harness final : public ReplyTarget {
 public:
  explicit Harness(BrokerOptions options = {}, bool background = false) : options_(options), background_(background) { open(); }

  void open() {
    auto opened = journal::open_file_journal(folder_.path(), secrets_, {.segment_bytes = kSegment, .background = background_});
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    auto recovered = Broker::recover(options_, std::move(opened->journal), clock_, log_);
    ASSERT_TRUE(recovered.has_value()) << recovered.error();
    broker = std::move(*recovered);
    target_ = broker->add_target(*this);
  }
  void kill() { broker.reset(); }

  template <class Request>
  void ask(const Request& request) {
    Caller caller;
    caller.id = Broker::caller_id(target_, ++callers_);
    caller.principal = {policy::Principal::Kind::Account, "000000000000", "arn:aws:iam::000000000000:root", {}, {}};
    broker->handle(Command{caller, request}, clock_.now());
  }
  static queue::QueueKeyView key(std::string_view name) { return {"000000000000", "us-east-1", name}; }
  void create(std::string_view name) { ask(engine::CreateQueue{key(name), {}, {}}); }
  void send(std::string_view name, std::string_view body) {
    engine::OutgoingMessage message;
    message.id = MessageId{Uuid::from_random(secrets_.bytes16())};
    message.content.body = body;
    message.content.sender = "AIDAEXAMPLE";
    ask(engine::SendMessage{key(name), message});
  }
  std::size_t receive_and_delete(std::string_view name) {
    engine::ReceiveMessages request;
    request.queue = key(name);
    request.max_messages = *queue::MaxMessages::of(10);
    handles_.clear();
    ask(request);
    const auto handles = handles_;
    for (const auto& handle : handles) ask(engine::DeleteMessage{key(name), handle});
    return handles.size();
  }
  void commit() {
    const LogPosition end = broker->locked([](engine::Engine&, journal::Journal& journal) { return journal.next_position(); });
    ASSERT_EQ(broker->commit(end), CommitState::Durable);
  }
  /// Until there is nothing left to do.
  void keep_up() {
    for (int round = 0; round < 100; ++round) {
      const UpkeepStats before = broker->upkeep_stats();
      broker->maintain();
      broker->finish_upkeep();
      const UpkeepStats after = broker->upkeep_stats();
      if (before.snapshots == after.snapshots && before.slices == after.slices) return;
    }
    ADD_FAILURE() << "upkeep does not come to an end";
  }

  [[nodiscard]] std::string state() {
    return broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.debug_state(); });
  }
  [[nodiscard]] std::uint64_t needed() {
    return broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.needed_bytes(); });
  }
  [[nodiscard]] std::uint64_t on_disk(std::string_view extension = {}) const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      if (extension.empty() || file.path().extension() == extension) bytes += file.file_size();
    return bytes;
  }

  void on_reply(const engine::Reply& reply) override {
    ++replies;
    if (const auto* received = std::get_if<engine::MessagesReceived>(&reply.body))
      for (const engine::ReceivedMessage& message : received->messages) handles_.push_back(message.handle);
  }

  std::unique_ptr<Broker> broker;
  std::uint64_t replies = 0;

 private:
  BrokerOptions options_;
  bool background_;
  journal::TemporaryFolder folder_;
  SeededSecrets secrets_{11};
  Clock clock_;
  Log log_;
  std::uint8_t target_ = 0;
  std::uint64_t callers_ = 0;
  std::vector<queue::ReceiptHandle> handles_;
};

std::string body(std::uint64_t number, std::size_t bytes) {
  std::string text = std::to_string(number) + ' ';
  text.resize(bytes, 'x');
  return text;
}

/// A state without its queues' next sequence numbers, which rise with each start.
std::string without_next(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.starts_with("queue ")) line.resize(line.find(" next "));
    kept += line + '\n';
    at = end + 1;
  }
  return kept;
}

/// Twice what is needed and two segments; CONTROL and LOCK are small.
void expect_bounded(Harness& it, std::uint64_t live_state) {
  const std::uint64_t bound = 2 * (it.needed() + live_state) + 2 * kSegment + 16 * 1024;
  ASSERT_LE(it.on_disk(), bound) << "needed " << it.needed() << ", snapshots " << it.on_disk(".snapshot");
}

TEST(BrokerUpkeep, OneOldMessageInEachSegmentDoesNotPinTheDisk) {
  Harness it;
  it.create("old");
  it.create("busy");
  std::uint64_t number = 0;
  for (int segment = 0; segment < 60; ++segment) {
    it.send("old", body(++number, 1000));
    for (int round = 0; round < 90; ++round) {
      for (int i = 0; i < 10; ++i) it.send("busy", body(++number, 1000));
      it.commit();
      it.receive_and_delete("busy");
      it.commit();
      if (round % 10 == 0) {
        it.keep_up();
        expect_bounded(it, it.on_disk(".snapshot"));
      }
    }
  }
  const UpkeepStats stats = it.broker->upkeep_stats();
  EXPECT_GT(stats.relocated_bytes, 60u * 1000) << "the old messages had to be moved";
  EXPECT_LT(stats.relocated_bytes, 60u * 60 * 1200) << "and not more often than once for each segment that was given up";
  EXPECT_GT(stats.snapshots, 30u);

  const std::string before = it.state();
  it.kill();
  it.open();
  EXPECT_EQ(without_next(it.state()), without_next(before));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(it.receive_and_delete("old"), 10u) << "nothing was lost on the way";
  EXPECT_EQ(it.receive_and_delete("old"), 0u);
}

TEST(BrokerUpkeep, ALogOfLiveMessagesIsNotMovedAgainAndAgain) {
  Harness it;
  it.create("waiting");
  std::uint64_t number = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 100; ++i) it.send("waiting", body(++number, 1000));
    it.commit();
    it.keep_up();
    expect_bounded(it, it.on_disk(".snapshot"));
  }
  EXPECT_EQ(it.broker->upkeep_stats().relocated_bytes, 0u);
  // Every second message goes: half of each segment is dead, and the log is twice what is needed.
  std::size_t deleted = 0;
  while (it.receive_and_delete("waiting") > 0) {
    it.commit();
    if (++deleted % 50 == 0) {
      it.keep_up();
      expect_bounded(it, it.on_disk(".snapshot"));
    }
  }
  it.keep_up();
  EXPECT_LE(it.on_disk(), 2 * kSegment + 64 * 1024);
}

TEST(BrokerUpkeep, ASnapshotMadeAsideIsTheStateItself) {
  BrokerOptions options;
  options.direct_snapshot_max = 0;
  options.snapshot_bytes = 100 << 10;
  Harness it(options);
  it.create("jobs");
  std::uint64_t number = 0;
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 30; ++i) it.send("jobs", body(++number, 100 + rng.below(900)));
    it.receive_and_delete("jobs");
    it.commit();
    it.keep_up();
  }
  EXPECT_GT(it.broker->upkeep_stats().snapshots, 2u);
  const std::string before = without_next(it.state());
  it.kill();
  it.open();
  EXPECT_EQ(without_next(it.state()), before);
}

TEST(BrokerUpkeep, NobodyWaitsForUpkeep) {
  const char* wanted = std::getenv("FANFARE_BROKER_MESSAGES");
  const std::uint64_t messages = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 20'000;
  BrokerOptions options;
  options.snapshot_bytes = 1 << 20;
  Harness it(options, true);
  it.create("waiting");
  const std::string text = body(1, 100);
  std::chrono::nanoseconds longest_send{};
  for (std::uint64_t i = 0; i < messages; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    it.send("waiting", text);
    longest_send = std::max<std::chrono::nanoseconds>(longest_send, std::chrono::steady_clock::now() - begin);
    if (i % 64 == 63) it.commit();
  }
  it.commit();
  it.keep_up();
  const UpkeepStats filled = it.broker->upkeep_stats();
  EXPECT_GT(filled.snapshots, 0u);
  // Others come and go meanwhile, until what waits is in the way of giving up the log, and is moved.
  it.create("busy");
  const std::string large = body(2, 8000);
  const std::uint64_t others = it.needed() / 8000 + 300;
  for (std::uint64_t i = 0; i < others; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    it.send("busy", large);
    longest_send = std::max<std::chrono::nanoseconds>(longest_send, std::chrono::steady_clock::now() - begin);
    if (i % 10 == 9) {
      it.commit();
      it.receive_and_delete("busy");
    }
  }
  it.commit();
  it.keep_up();
  EXPECT_GT(it.broker->upkeep_stats().slices, 10u);
  const UpkeepStats stats = it.broker->upkeep_stats();
  std::printf("%llu messages: %llu snapshots, %llu bytes relocated in %llu slices; upkeep held the engine at most %.3f ms "
              "(%.3f ms of work), a send with the wait for the lock took at most %.3f ms\n",
              static_cast<unsigned long long>(messages), static_cast<unsigned long long>(stats.snapshots),
              static_cast<unsigned long long>(stats.relocated_bytes), static_cast<unsigned long long>(stats.slices),
              std::chrono::duration<double, std::milli>(stats.longest_hold).count(),
              std::chrono::duration<double, std::milli>(stats.longest_work).count(),
              std::chrono::duration<double, std::milli>(longest_send).count());
  EXPECT_LT(stats.longest_work, std::chrono::milliseconds(5)) << "sanitizers included; the figure is in docs/evidence";
}

}  // namespace
}  // namespace fanfare::server
