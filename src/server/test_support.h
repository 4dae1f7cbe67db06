// A broker with its data-plane loops inside the test, and a client of raw bytes. For tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "journal/file/file_journal.h"
#include "journal/memory/memory_journal.h"
#include "net/test_client.h"
#include "server/broker.h"
#include "server/data_plane.h"
#include "wire/http/response.h"

namespace fanfare::server::testing {

/// Waits for what another thread is about to bring about.
template <class Condition>
bool eventually(Condition condition) {
  const Instant until = std::chrono::steady_clock::now() + net::testing::kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::yield();
  }
  return true;
}

struct Answer {
  int status = 0;  ///< 0: the connection ended before a whole answer came
  std::string head;
  std::string body;
};

inline std::string http_post(std::string_view headers, std::string_view body, std::string_view version = "1.1") {
  std::string text = "POST / HTTP/" + std::string(version) + "\r\nHost: localhost\r\n" + std::string(headers);
  return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
/// sqs("CreateQueue", R"({"QueueName":"q"})")
inline std::string sqs(std::string_view action, std::string_view body, std::string_view headers = "", std::string_view version = "1.1") {
  return http_post("X-Amz-Target: AmazonSQS." + std::string(action) + "\r\nContent-Type: application/x-amz-json-1.0\r\n" + std::string(headers),
                   body, version);
}
/// For the queue `name`; `rest` are further members: R"("MessageBody":"m")".
inline std::string sqs_on(std::string_view name, std::string_view action, std::string_view rest = "") {
  std::string body = R"({"QueueUrl":"http://localhost/000000000000/)" + std::string(name) + "\"";
  if (!rest.empty()) body += "," + std::string(rest);
  return sqs(action, body + "}");
}

class HttpClient : public net::testing::Client {
 public:
  using Client::Client;
  explicit HttpClient(Client&& client) : Client(std::move(client)) {}

  Answer answer() {
    Answer one;
    while (!one.head.ends_with("\r\n\r\n")) {
      const std::string byte = receive(1);
      if (byte.empty()) return one;
      one.head += byte;
    }
    const auto length = one.head.find("Content-Length: ");
    if (length != std::string::npos) one.body = receive(std::stoul(one.head.substr(length + 16)));
    one.status = std::stoi(one.head.substr(9, 3));
    return one;
  }
  Answer call(std::string_view request) {
    send(request);
    return answer();
  }
};

struct ServerSetup {
  net::LoopKind kind = net::LoopKind::Epoll;
  int loops = 1;
  bool memory = true;
  bool relaxed = false;
  journal::FileSystem* files = nullptr;  ///< instead of memory
  std::string folder;                    ///< instead of memory
  std::uint64_t snapshot_bytes = 256ull << 20;
  milliseconds half_request_timeout{30'000};
  std::size_t unfinished_bytes_max = DataPlaneOptions{}.unfinished_bytes_max;
  bool contents_from_disk = false;
  milliseconds read_again_after{10'000};
  Chaos* chaos = nullptr;
  EnvelopeSigner* signer = nullptr;
};

/// Each loop has a port of its own, so that a test can say which one serves it.
class TestServer {
 public:
  explicit TestServer(const ServerSetup& setup) {
    std::unique_ptr<journal::Journal> journal;
    if (setup.files != nullptr || !setup.folder.empty()) {
      const journal::FileJournalOptions options{.segment_bytes = 1 << 20};
      auto opened = setup.files != nullptr ? journal::open_file_journal(*setup.files, secrets_, options)
                                           : journal::open_file_journal(setup.folder, secrets_, options);
      EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
      journal = std::move(opened->journal);
    } else {
      journal = journal::make_memory_journal();
    }
    BrokerOptions options;
    options.memory = setup.files == nullptr && setup.folder.empty();
    options.relaxed = setup.relaxed || options.memory;
    options.snapshot_bytes = setup.snapshot_bytes;
    if (setup.contents_from_disk) options.engine.resident_bytes_max = 0;
    if (options.memory) options.engine.resident_bytes_max = engine::EngineOptions::kUnlimited;
    auto recovered = Broker::recover(options, std::move(journal), clock, log);
    EXPECT_TRUE(recovered) << (recovered ? "" : recovered.error());
    broker = std::move(*recovered);
    DataPlaneOptions plane_options;
    plane_options.api.receipt_secret = "a secret of at least sixteen bytes";
    plane_options.half_request_timeout = setup.half_request_timeout;
    plane_options.unfinished_bytes_max = setup.unfinished_bytes_max;
    plane_options.read_again_after = setup.read_again_after;
    plane_options.chaos = setup.chaos;
    plane_options.signer = setup.signer;
    for (int i = 0; i < setup.loops; ++i) {
      auto& one = loops_.emplace_back(std::make_unique<OneLoop>());
      auto loop = net::make_loop(setup.kind, {});
      EXPECT_TRUE(loop) << (loop ? "" : loop.error().text);
      one->loop = std::move(*loop);
      const auto listening = one->loop->listen({net::IpAddress::parse("127.0.0.1").value(), 0}, {});
      EXPECT_TRUE(listening);
      one->address = listening->address;
      one->plane = std::make_unique<DataPlane>(plane_options, *broker, clock, *one->loop, one->authenticator, i == 0);
      one->plane->set_listener(listening->id);
    }
    broker->on_nearer_deadline([this] { loops_.front()->plane->look_at_deadline(); });
    for (auto& one : loops_) one->thread = std::thread([&one = *one] { one.loop->run(*one.plane); });
  }
  ~TestServer() {
    kill();
  }

  HttpClient connect(std::size_t loop = 0) { return HttpClient{loops_.at(loop)->address}; }
  [[nodiscard]] const net::SocketAddress& address(std::size_t loop = 0) const { return loops_.at(loop)->address; }

  void drain() {
    for (auto& one : loops_) one->plane->drain();
    join();
  }
  /// As SIGTERM does it.
  void stop() {
    drain();
    broker->close();
  }
  /// The loops end at once; the broker does not get to close.
  void kill() {
    for (auto& one : loops_) one->loop->stop();
    join();
  }
  [[nodiscard]] std::size_t waiting() {
    return broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.waiter_count(); });
  }

  Clock clock;
  Log log;
  std::unique_ptr<Broker> broker;

 private:
  struct OneLoop {
    std::unique_ptr<net::Loop> loop;
    api::aws::DevelopmentAuthenticator authenticator{{}};
    std::unique_ptr<DataPlane> plane;
    net::SocketAddress address;
    std::thread thread;
  };
  void join() {
    for (auto& one : loops_)
      if (one->thread.joinable()) one->thread.join();
  }
  SeededSecrets secrets_{7};
  std::vector<std::unique_ptr<OneLoop>> loops_;
};

}  // namespace fanfare::server::testing
