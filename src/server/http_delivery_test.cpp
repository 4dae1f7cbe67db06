// Deliveries from a broker in memory to endpoints on the loopback interface.
#include "server/http_delivery.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "journal/memory/memory_journal.h"
#include "net/smtp_test_server.h"
#include "server/test_support.h"

namespace fanfare::server {
namespace {

using testing::eventually;

/// Answers every request on one connection after the other with the same bytes, and keeps what came.
class Endpoint {
 public:
  explicit Endpoint(std::string answer) : answer_(std::move(answer)) {
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
      static_cast<void>(::send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL));
    }
  }
  std::string answer_;
  std::string url_;
  int listener_ = -1;
  std::mutex mutex_;
  std::vector<std::string> received_;
  std::thread thread_;
};

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

class World final : public ReplyTarget {
 public:
  explicit World(HttpDeliveryOptions options) {
    BrokerOptions broker_options;
    broker_options.memory = broker_options.relaxed = true;
    broker_options.engine.resident_bytes_max = engine::EngineOptions::kUnlimited;
    broker = std::move(*Broker::recover(broker_options, journal::make_memory_journal(), clock_, log_));
    target_ = broker->add_target(*this);
    signer_ = std::move(*EnvelopeSigner::open(""));
    options.public_url = "http://127.0.0.1:4566";
    delivery = std::make_unique<HttpDelivery>(options, *broker, clock_, *signer_);
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
  void subscribe(std::string_view endpoint, topic::DeliveryProtocol protocol = topic::DeliveryProtocol::Http) {
    engine::Subscribe subscribe;
    subscribe.topic = kTopic;
    subscribe.protocol = protocol;
    subscribe.endpoint = endpoint;
    if (protocol == topic::DeliveryProtocol::Http)
      subscribe.attributes.delivery_policy = R"({"healthyRetryPolicy":{"numRetries":1,"numNoDelayRetries":1}})";
    subscribe.fresh_uuid = {Uuid::from_random(secrets_.bytes16())};
    subscribe.fresh_token = "token";
    subscribe.fresh_message = MessageId{Uuid::from_random(secrets_.bytes16())};
    ask(subscribe);
  }
  std::vector<engine::FailedDelivery> failures() {
    return broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.failed_deliveries(); });
  }
  /// What the last try of the only failed delivery said; empty if there is none in time.
  std::string failure() {
    eventually([this] { return !failures().empty(); });
    const auto all = failures();
    return all.empty() ? std::string{} : all.front().why;
  }

  static constexpr topic::TopicKeyView kTopic{"000000000000", "us-east-1", "t"};

 private:
  Clock clock_;
  Log log_;
  SeededSecrets secrets_{5};
  std::unique_ptr<EnvelopeSigner> signer_;
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

// ---- Mail -----------------------------------------------------------------------------------------------------------

using net::testing::SmtpTestServer;
using topic::DeliveryProtocol;

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
