// A broker with its journal and a data-plane loop on a thread of its own, and clients with a connection each.
//
// Rule 1: the wall clock moves only when the file says so; the loop's timers run in real time.
// Rule 2: nothing sleeps. A request waits for certain when as many receives wait in the engine as clients have no
// answer.
#include "http_server.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/rng.h"
#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "logged_engine.h"
#include "net/loop.h"
#include "net/test_client.h"
#include "server/broker.h"
#include "server/data_plane.h"
#include "words.h"

namespace fanfare::scenarios {
namespace {

constexpr std::uint64_t kSeed = 1;  // of a disk that never fails here
constexpr std::uint64_t kSegmentBytes = 64 << 10;
constexpr std::uint64_t kResidentBytes = 512;  // so that contents are read back from the journal

class StandingClock final : public server::Clock {
 public:
  void set(Timestamp time) { ms_ = unix_ms(time); }

 protected:
  [[nodiscard]] std::int64_t system() const override { return ms_; }

 private:
  std::atomic<std::int64_t> ms_{unix_ms(kStart)};
};

/// A connection, and the answer that it may be waiting for.
class Connection {
 public:
  explicit Connection(const net::SocketAddress& address) : socket_(address) {}

  void send(const std::string& request) {
    if (!socket_.send(request)) wrong("the connection broke");
    waits_ = true;
  }
  /// Takes the answer if it has begun to come.
  void look(milliseconds patience) {
    if (!waits_ || !socket_.readable(patience)) return;
    answer_.clear();
    while (!answer_.ends_with("\r\n\r\n")) {
      const std::string byte = socket_.receive(1);
      if (byte.empty()) wrong("the connection ended inside an answer: " + answer_);
      answer_ += byte;
    }
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    if (const auto at = answer_.find(kLength); at != std::string::npos)
      answer_ += socket_.receive(std::stoul(answer_.substr(at + kLength.size())));
    waits_ = false;
    arrived_ = true;
  }
  [[nodiscard]] bool waits() const { return waits_; }
  std::optional<std::string> take() {
    if (!arrived_) return std::nullopt;
    arrived_ = false;
    return std::move(answer_);
  }

 private:
  net::testing::Client socket_;
  bool waits_ = false;
  bool arrived_ = false;
  std::string answer_;
};

class HttpServer final : public Server {
 public:
  explicit HttpServer(const Settings& settings)
      : settings_(settings), files_(std::make_unique<journal::FaultyFileSystem>(kSeed)) {
    if (auto problem = start(); problem != "ok") wrong(problem);
  }
  ~HttpServer() override { kill(); }

  std::optional<std::string> ask(const std::string& client, const std::string& request) override {
    keep_disk_before_receives(request);
    auto connection = connections_.find(client);
    if (connection == connections_.end()) connection = connections_.try_emplace(client, address_).first;
    connection->second.send(request);
    wait_until("an answer, or the certainty that there is none", [&] {
      connection->second.look(milliseconds{1});  // most answers come at once: this thread makes room for the loop's
      return !connection->second.waits() || all_wait();
    });
    return connection->second.take();
  }
  std::optional<std::string> late_answer(const std::string& client) override {
    const auto connection = connections_.find(client);
    if (connection == connections_.end()) return std::nullopt;
    wait_until("the answers of all receives that do not wait any more", [&] { return all_wait(); });
    return connection->second.take();
  }
  bool leave(const std::string& client) override {
    const auto connection = connections_.find(client);
    if (connection == connections_.end() || !connection->second.waits()) return false;
    connections_.erase(connection);
    wait_until("the end of a receive whose client has gone", [&] { return all_wait(); });
    return true;
  }

  void advance_to(Timestamp time) override {
    if (time < now_) wrong("time runs back");
    while (true) {
      const auto next = broker_->next_deadline();
      if (!next || *next > time) break;
      set_clock(std::max(now_, *next));
      plane_->look_at_deadline();
      wait_until("what is due at this time", [&] {
        const auto later = broker_->next_deadline();
        return !later || *later > now_;
      });
    }
    set_clock(time);
  }
  [[nodiscard]] Timestamp now() const override { return now_; }

  void set_identities(std::shared_ptr<const identity::Directory> directory) override {
    const std::lock_guard lock{directory_mutex_};
    directory_ = std::move(directory);
  }

  // In turns as kill -9 does it and as SIGTERM does it.
  std::string restart(bool lose_receives) override {
    connections_.clear();
    if (lose_receives) {
      kill();
      if (disk_before_receives_) files_ = std::move(disk_before_receives_);
    } else if (++restarts_ % 2 == 1) {
      // Receives are written a moment later than they are answered: that moment has passed.
      const bool written = broker_->locked(
          [](engine::Engine&, journal::Journal& journal) { return journal.commit(journal::Sync::Yes).has_value(); });
      if (!written) return "the journal cannot be written";
      kill();
    } else {
      plane_->drain();
      thread_.join();
      broker_->close();
      kill();
    }
    files_->restart_after_kill();
    return start();
  }
  // What the broker tells the engine when its disk is full; its own tests fill one.
  void set_storage_full(bool full) override { broker_->handle(engine::StorageChanged{full}, now_); }
  Answer metrics(const std::string& name) override {
    return broker_->locked([&](engine::Engine& engine, journal::Journal&) { return metrics_of(engine, name); });
  }
  bool lose(const std::vector<std::string>&) override { return false; }

 private:
  std::string start() {
    auto opened = journal::open_file_journal(*files_, secrets_, {.segment_bytes = kSegmentBytes, .background = false});
    if (!opened) return opened.error().message;
    server::BrokerOptions options;
    options.engine.resident_bytes_max = kResidentBytes;
    if (settings_.in_flight_max) options.engine.in_flight_max = *settings_.in_flight_max;
    auto recovered = server::Broker::recover(options, std::move(opened->journal), clock_, log_);
    if (!recovered) return recovered.error();
    broker_ = std::move(*recovered);
    auto loop = net::make_loop(net::LoopKind::Epoll, {});
    if (!loop) return loop.error().text;
    loop_ = std::move(*loop);
    const auto listening = loop_->listen({net::IpAddress::parse("127.0.0.1").value(), 0}, {});
    if (!listening) return listening.error().text;
    address_ = listening->address;
    authenticator_.emplace(
        [this] {
          const std::lock_guard lock{directory_mutex_};
          return directory_;
        },
        "sessions of the scenarios");
    server::DataPlaneOptions plane;
    plane.api.receipt_secret = "receipts of the scenarios";
    plane_.emplace(plane, *broker_, clock_, *loop_, *authenticator_, true);
    plane_->set_listener(listening->id);
    broker_->on_nearer_deadline([this] { plane_->look_at_deadline(); });
    thread_ = std::thread([this] { loop_->run(*plane_); });
    return "ok";
  }
  void kill() {
    if (thread_.joinable()) {
      loop_->stop();
      thread_.join();
    }
    plane_.reset();
    loop_.reset();
    broker_.reset();
  }

  void set_clock(Timestamp time) {
    now_ = time;
    clock_.set(time);
  }

  /// As many receives wait in the engine as clients wait for an answer: whatever has been answered has been read.
  bool all_wait() {
    std::size_t clients = 0;
    for (auto& [name, connection] : connections_) {
      connection.look(milliseconds{0});
      clients += connection.waits() ? 1 : 0;
    }
    return broker_->locked([](engine::Engine& engine, journal::Journal&) { return engine.waiter_count(); }) == clients;
  }
  template <class Condition>
  void wait_until(const char* what, Condition condition) {
    const Instant until = std::chrono::steady_clock::now() + net::testing::kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= until) wrong(std::string("in vain it was waited for ") + what);
      std::this_thread::yield();
    }
  }
  /// The disk as it is before the first of some receives: what a process leaves that dies before they are written.
  void keep_disk_before_receives(const std::string& request) {
    const bool receives = request.find("AmazonSQS.ReceiveMessage") != std::string::npos ||
                          request.find("Action=ReceiveMessage") != std::string::npos;
    if (receives && !received_last_) disk_before_receives_ = files_->copy_of_disk(kSeed);
    received_last_ = receives;
  }

  const Settings settings_;
  SeededSecrets secrets_{7};
  StandingClock clock_;
  Timestamp now_ = kStart;
  server::Log log_ = server::Log::silent();
  std::mutex directory_mutex_;
  std::shared_ptr<const identity::Directory> directory_;  // protected by directory_mutex_
  std::unique_ptr<journal::FaultyFileSystem> files_;
  std::unique_ptr<journal::FaultyFileSystem> disk_before_receives_;
  bool received_last_ = false;
  int restarts_ = 0;
  std::unique_ptr<server::Broker> broker_;
  std::unique_ptr<net::Loop> loop_;
  net::SocketAddress address_;
  std::optional<api::aws::EnforcedAuthenticator> authenticator_;
  std::optional<server::DataPlane> plane_;
  std::thread thread_;
  std::map<std::string, Connection> connections_;
};

}  // namespace

std::unique_ptr<Server> make_http_server(const Settings& settings) { return std::make_unique<HttpServer>(settings); }

}  // namespace fanfare::scenarios
