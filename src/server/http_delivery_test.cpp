// Deliveries from a broker in memory to endpoints on the loopback interface.
#include "server/http_delivery.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/memory/memory_journal.h"
#include "journal/test_support.h"
#include "net/smtp_test_server.h"
#include "net/tls_test_server.h"
#include "server/test_support.h"

namespace fanfare::server {
namespace {

using testing::eventually;
using topic::DeliveryProtocol;

/// Answers every request on one connection after the other in the same way, and keeps what came.
class Endpoint {
 public:
  /// Writes the answer to a socket; false: nobody reads it any more.
  using Say = std::function<bool(std::string_view bytes)>;

  explicit Endpoint(std::string answer) : Endpoint([answer](const Say& say) { say(answer); }) {}
  explicit Endpoint(std::function<void(const Say& say)> answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 16);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/x";
    thread_ = std::thread([this] { run(); });
  }
  ~Endpoint() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::vector<std::string> received() {
    const std::lock_guard lock{mutex_};
    return received_;
  }

 private:
  void run() {
    for (int peer = -1; (peer = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(peer)) {
      std::string request;
      char piece[4096];
      ssize_t got = 0;
      // The body is JSON: it ends with its last brace.
      while (!(request.find("\r\n\r\n") != std::string::npos && request.ends_with("}")) && (got = ::read(peer, piece, sizeof piece)) > 0)
        request.append(piece, static_cast<std::size_t>(got));
      if (request.empty()) continue;
      {
        const std::lock_guard lock{mutex_};
        received_.push_back(request);
      }
      answer_([peer](std::string_view bytes) {
        return ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
      });
    }
  }
  std::function<void(const Say& say)> answer_;
  std::string url_;
  int listener_ = -1;
  std::mutex mutex_;
  std::vector<std::string> received_;
  std::thread thread_;
};

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

class World final : public ReplyTarget {
 public:
  /// With `files`, nothing of a content stays in memory once it is durable.
  explicit World(HttpDeliveryOptions options, journal::FileSystem* files = nullptr) {
    BrokerOptions broker_options;
    broker_options.memory = files == nullptr;
    broker_options.relaxed = true;
    broker_options.engine.resident_bytes_max = files == nullptr ? engine::EngineOptions::kUnlimited : 0;
    auto journal = files == nullptr ? journal::make_memory_journal()
                                    : std::move(journal::open_file_journal(*files, secrets_, {.tail_cache_bytes = 0, .background = false})->journal);
    broker = std::move(*Broker::recover(broker_options, std::move(journal), clock_, log_));
    target_ = broker->add_target(*this);
    options.public_url = "http://127.0.0.1:4566";
    delivery = std::make_unique<HttpDelivery>(options, *broker, clock_, signer());
    delivery->start();
    ask(engine::CreateTopic{kTopic, {}, {}});
  }
  ~World() override {
    delivery->stop();
    broker->close();
  }
  void on_reply(const engine::Reply&) override {}

  void ask(engine::Request request) {
    engine::Command command;
    command.caller.id = Broker::caller_id(target_, ++number_);
    command.caller.principal = {policy::Principal::Kind::Account, "000000000000", "arn:aws:iam::000000000000:root", {}, {}};
    command.request = std::move(request);
    broker->handle(command, clock_.now());
  }
  void subscribe(std::string_view endpoint, DeliveryProtocol protocol = DeliveryProtocol::Http,
                 std::string_view policy = R"({"healthyRetryPolicy":{"numRetries":1,"numNoDelayRetries":1}})") {
    engine::Subscribe subscribe;
    subscribe.topic = kTopic;
    subscribe.protocol = protocol;
    subscribe.endpoint = endpoint;
    if (protocol == DeliveryProtocol::Http) subscribe.attributes.delivery_policy = policy;
    subscribe.fresh_uuid = {Uuid::from_random(secrets_.bytes16())};
    subscribe.fresh_token = "token";
    subscribe.fresh_message = MessageId{Uuid::from_random(secrets_.bytes16())};
    ask(subscribe);
  }
  void confirm_and_publish(int messages) {
    engine::ConfirmSubscription confirm;
    confirm.topic = kTopic;
    confirm.token = "token";
    ask(confirm);
    for (int i = 0; i < messages; ++i) {
      engine::Publish publish;
      publish.topic = kTopic;
      publish.publication.content.body = "m";
      publish.publication.content.publication = message::PublicationFields{PublicationId{Uuid::from_random(secrets_.bytes16())}, clock_.now(), {}};
      ask(publish);
    }
  }
  void deadline() { broker->handle(engine::DeadlineCame{}, clock_.now()); }
  std::vector<engine::FailedDelivery> failures() {
    return broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.failed_deliveries(); });
  }
  /// What the last try of the only failed delivery said; empty if there is none in time.
  std::string failure() {
    eventually([this] { return !failures().empty(); });
    const auto all = failures();
    return all.empty() ? std::string{} : all.front().why;
  }

  /// One for all: making its key takes longer than a test.
  static EnvelopeSigner& signer() {
    static const std::unique_ptr<EnvelopeSigner> shared = std::move(*EnvelopeSigner::open(""));
    return *shared;
  }

  static constexpr topic::TopicKeyView kTopic{"000000000000", "us-east-1", "t"};

 private:
  Clock clock_;
  Log log_;
  SeededSecrets secrets_{5};
  std::uint8_t target_ = 0;
  std::uint64_t number_ = 0;

 public:  // last, so that they go before what they use
  std::unique_ptr<Broker> broker;
  std::unique_ptr<HttpDelivery> delivery;
};

TEST(HttpDelivery, PostsTheConfirmation) {
  Endpoint endpoint{std::string{kOk}};
  World world{{.any_address = true}};
  world.subscribe(endpoint.url());
  ASSERT_TRUE(eventually([&] { return world.delivery->counters().delivered == 1; }));
  const std::string request = endpoint.received().front();
  EXPECT_NE(request.find("x-amz-sns-message-type: SubscriptionConfirmation"), std::string::npos) << request;
  EXPECT_NE(request.find("\"SubscribeURL\":\"http://127.0.0.1:4566/?Action=ConfirmSubscription"), std::string::npos) << request;
}

TEST(HttpDelivery, ConnectsToNoAddressThatIsNotPublic) {
  Endpoint endpoint{std::string{kOk}};
  World world{{.any_address = false}};
  world.subscribe(endpoint.url());
  EXPECT_TRUE(world.failure().starts_with("forbidden")) << world.failure();
  EXPECT_TRUE(endpoint.received().empty());
  EXPECT_EQ(world.delivery->counters().attempts, 1u) << "it is not tried again";
}

TEST(HttpDelivery, ConnectsToNetworksThatAreListed) {
  Endpoint endpoint{std::string{kOk}};
  World world{{.permitted = {*net::IpBlock::parse("127.0.0.0/8")}}};
  world.subscribe(endpoint.url());
  EXPECT_TRUE(eventually([&] { return world.delivery->counters().delivered == 1; }));
}

TEST(HttpDelivery, TriesGarbageAgainAndGivesUp) {
  Endpoint endpoint{"this is no HTTP\r\n\r\n"};
  World world{{.any_address = true}};
  world.subscribe(endpoint.url());
  EXPECT_TRUE(world.failure().ends_with("at attempt 2")) << world.failure();
}

TEST(HttpDelivery, FollowsNoRedirect) {
  Endpoint endpoint{"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"};
  World world{{.any_address = true}};
  world.subscribe(endpoint.url());
  EXPECT_EQ(world.failure(), "HTTP status 302 at attempt 1");
  EXPECT_EQ(endpoint.received().size(), 1u);
}

TEST(HttpDelivery, TriesAgainWhereTheEndpointHangsUp) {
  Endpoint endpoint{""};
  World world{{.any_address = true}};
  world.subscribe(endpoint.url());
  EXPECT_TRUE(world.failure().ends_with("at attempt 2")) << world.failure();
}

TEST(HttpDelivery, WhatTheDiskCannotReadForAWhileIsDeliveredLater) {
  journal::FaultyFileSystem disk(1);
  std::atomic<World*> there = nullptr;
  std::atomic<std::uint64_t> broken_at = 0;
  int requests = 0;
  Endpoint endpoint{[&](const Endpoint::Say& say) {
    if (++requests == 2) {  // behind the confirmation: the message, whose content is read anew for each try
      there.load()->broker->maintain();
      disk.fail_from(disk.steps(), journal::Fault::Io);
      broken_at = disk.steps();
      say("HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    } else {
      say(kOk);
    }
  }};
  World world{{.any_address = true}, &disk};
  there = &world;
  world.subscribe(endpoint.url(), DeliveryProtocol::Http, R"({"healthyRetryPolicy":{"numRetries":10,"minDelayTarget":1,"maxDelayTarget":1}})");
  ASSERT_TRUE(eventually([&] { return world.delivery->counters().delivered == 1; }));
  world.confirm_and_publish(1);
  const auto tries_until = [&](auto condition) {
    return eventually([&] {
      world.deadline();
      return condition();
    });
  };
  ASSERT_TRUE(tries_until([&] { return broken_at > 0 && disk.steps() > broken_at; })) << "the second try reads the disk";
  disk.fail_never_more();
  EXPECT_TRUE(tries_until([&] { return world.delivery->counters().delivered == 2; }));
  EXPECT_TRUE(world.failures().empty());
  EXPECT_EQ(endpoint.received().size(), 3u);
}

TEST(HttpDelivery, ConnectsToNoNameOfAnAddressThatIsNotPublic) {
  for (const char* url : {"http://localhost:1/", "http://127.0.0.1:1/", "http://[::1]:1/", "http://[::ffff:127.0.0.1]:1/", "http://0.0.0.0:1/", "http://10.1.2.3/",
                          "http://192.168.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/", "http://[fd00::1]/"}) {
    World world{{.any_address = false}};
    world.subscribe(url);
    EXPECT_TRUE(world.failure().starts_with("forbidden")) << url << ": " << world.failure();
  }
}

TEST(HttpDelivery, ASlowAnswerEndsWithTheAttempt) {
  Endpoint endpoint{[](const Endpoint::Say& say) {
    for (const char c : std::string(1'000, 'x'))
      if (!say({&c, 1})) return;
      else std::this_thread::sleep_for(milliseconds{20});
  }};
  World world{{.any_address = true, .attempt_timeout = milliseconds{300}}};
  world.subscribe(endpoint.url());
  EXPECT_TRUE(world.failure().starts_with("timeout")) << world.failure();
  EXPECT_TRUE(world.failure().ends_with("at attempt 2")) << world.failure();
}

TEST(HttpDelivery, TheStatusDecidesWhateverTheBodyDoes) {
  const auto endless = [](std::string_view head) {
    return [head](const Endpoint::Say& say) {
      for (bool more = say(head); more;) more = say("3e8\r\n" + std::string(1'000, 'x') + "\r\n");
    };
  };
  const std::string too_short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nshort";
  const std::string too_long = "HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n" + std::string(200'000, 'x');
  for (const auto& answer : {std::function<void(const Endpoint::Say&)>{endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")},
                             {[&](const Endpoint::Say& say) { say(too_short); }}, {[&](const Endpoint::Say& say) { say(too_long); }}}) {
    Endpoint endpoint{answer};
    World world{{.any_address = true, .attempt_timeout = milliseconds{10'000}}};
    world.subscribe(endpoint.url());
    EXPECT_TRUE(eventually([&] { return world.delivery->counters().delivered == 1; }));
  }
  Endpoint endpoint{endless("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n")};
  World world{{.any_address = true}};
  world.subscribe(endpoint.url());
  EXPECT_EQ(world.failure(), "HTTP status 404 at attempt 1");
}

TEST(HttpDelivery, AHeadWithoutEndIsTriedAgain) {
  Endpoint endpoint{[](const Endpoint::Say& say) {
    for (bool more = say("HTTP/1.1 200 OK\r\n"); more;) more = say("X-More: " + std::string(1'000, 'x') + "\r\n");
  }};
  World world{{.any_address = true}};
  world.subscribe(endpoint.url());
  EXPECT_TRUE(world.failure().ends_with("at attempt 2")) << world.failure();
}

TEST(HttpDelivery, TrustsNoEndpointWhoseCertificateDoesNotVerify) {
  const net::testing::Certificate known;
  const net::testing::Certificate unknown;
  const net::testing::Certificate of_another_host{"DNS:other.example"};
  const net::testing::Certificate expired{"IP:127.0.0.1", -60};
  const journal::TemporaryFolder folder;
  const std::string file = folder.path() + "/ca.pem";
  std::ofstream{file} << known.pem();
  {
    net::testing::TlsServer server{known, 1};
    World world{{.any_address = true, .ca_file = file}};
    world.subscribe(fmt::format("https://127.0.0.1:{}/", server.port));
    EXPECT_TRUE(eventually([&] { return world.delivery->counters().delivered == 1; }));
  }
  for (const auto& [certificate, why] : {std::pair{&unknown, "self-signed certificate"}, {&of_another_host, "tls: "}, {&expired, "certificate has expired"}}) {
    if (certificate != &unknown) std::ofstream{file} << certificate->pem();
    net::testing::TlsServer server{*certificate, 2};
    World world{{.any_address = true, .ca_file = file}};
    world.subscribe(fmt::format("https://127.0.0.1:{}/", server.port));
    EXPECT_TRUE(world.failure().starts_with("tls: ") && world.failure().ends_with("at attempt 2")) << world.failure();
    EXPECT_NE(world.failure().find(why), std::string::npos) << world.failure();
    EXPECT_EQ(server.requests, 0);
  }
}

TEST(HttpDelivery, KeepsToTheThrottleOfTheSubscription) {
  Endpoint endpoint{std::string{kOk}};
  World world{{.any_address = true}};
  const Instant begin = std::chrono::steady_clock::now();
  world.subscribe(endpoint.url(), DeliveryProtocol::Http, R"({"throttlePolicy":{"maxReceivesPerSecond":5}})");
  ASSERT_TRUE(eventually([&] { return world.delivery->counters().delivered == 1; }));
  world.confirm_and_publish(3);
  ASSERT_TRUE(eventually([&] { return world.delivery->counters().delivered == 4; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds{600}) << "four messages, 200 ms from each to the next";
}

// ---- Mail -----------------------------------------------------------------------------------------------------------

using net::testing::SmtpTestServer;

HttpDeliveryOptions by_mail(const SmtpTestServer& server) {
  HttpDeliveryOptions options{.any_address = true};
  options.mail.emplace();
  options.mail->from = "news@example.com";
  options.mail->smtp.url = server.url();
  options.mail->smtp.name = "example.com";
  options.mail->smtp.tls = net::SmtpOptions::Tls::Never;
  return options;
}

SmtpTestServer::Answer but(std::string command, std::string answer) {
  return [command = std::move(command), answer = std::move(answer)](std::string_view line) {
    return line.starts_with(command) ? answer : SmtpTestServer::fine(line);
  };
}

TEST(MailDelivery, SendsTheConfirmation) {
  SmtpTestServer server;
  World world{by_mail(server)};
  world.subscribe("box@example.org", DeliveryProtocol::Email);
  ASSERT_TRUE(eventually([&] { return world.delivery->mail_counters().delivered == 1; }));
  const SmtpTestServer::Mail mail = server.mails().front();
  EXPECT_EQ(mail.recipient, "box@example.org");
  EXPECT_EQ(mail.sender, "news@example.com");
  EXPECT_NE(mail.content.find("\r\nSubject: AWS Notification - Subscription Confirmation\r\n"), std::string::npos) << mail.content;
  EXPECT_NE(mail.content.find("\r\nhttp://127.0.0.1:4566/?Action=3DConfirmSubscription"), std::string::npos) << mail.content;
}

TEST(MailDelivery, SendsTheConfirmationAsJsonToWhomWantsIt) {
  SmtpTestServer server;
  World world{by_mail(server)};
  world.subscribe("box@example.org", DeliveryProtocol::EmailJson);
  ASSERT_TRUE(eventually([&] { return world.delivery->mail_counters().delivered == 1; }));
  EXPECT_NE(server.mails().front().content.find("\r\n\r\n{\"Type\":\"SubscriptionConfirmation\","), std::string::npos) << server.mails().front().content;
}

TEST(MailDelivery, ARefusalOfTheRecipientIsForGood) {
  SmtpTestServer server{but("RCPT TO", "550 5.1.1 no such user")};
  World world{by_mail(server)};
  world.subscribe("box@example.org", DeliveryProtocol::Email);
  EXPECT_EQ(world.failure(), "550 5.1.1 no such user at attempt 1");
}

TEST(MailDelivery, AServerThatIsBusyIsAskedLater) {
  SmtpTestServer server{but("RCPT TO", "450 later")};
  World world{by_mail(server)};
  world.subscribe("box@example.org", DeliveryProtocol::Email);
  EXPECT_TRUE(eventually([&] { return world.delivery->mail_counters().retried == 1; }));
  EXPECT_TRUE(world.failures().empty());
}

TEST(MailDelivery, WithoutAServerMailsAreCaptured) {
  World world{{.any_address = true}};
  world.subscribe("box@example.org", DeliveryProtocol::Email);
  EXPECT_TRUE(eventually([&] { return world.delivery->counters().captured == 1; }));
}

TEST(MailDelivery, AHungMailServerHoldsUpNeitherOtherMailsNorHttpNorTheEnd) {
  SmtpTestServer server{but("RCPT TO:<hung@", "")};
  Endpoint endpoint{std::string{kOk}};
  Instant begin;
  {
    World world{by_mail(server)};
    world.subscribe("hung@example.org", DeliveryProtocol::Email);
    ASSERT_TRUE(eventually([&] { return world.delivery->mail_counters().attempts == 1; }));
    world.subscribe("well@example.org", DeliveryProtocol::Email);
    world.subscribe(endpoint.url());
    EXPECT_TRUE(eventually([&] { return world.delivery->mail_counters().delivered == 1 && world.delivery->counters().delivered == 1; }));
    EXPECT_EQ(server.mails().size(), 1u);
    begin = std::chrono::steady_clock::now();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds{15}) << "half of an attempt's 30 s";
}

}  // namespace
}  // namespace fanfare::server
