// The edge with a real loop, sockets and store, fed by queues of a broker in the same process.
#include "server/edge_plane.h"

#include <gtest/gtest.h>

#include <atomic>

#include "server/in_process_transport.h"
#include "server/sources.h"
#include "server/test_support.h"
#include "store/memory_inbox_store.h"

namespace fanfare::server::testing {
namespace {

std::string post_notification(const std::string& key, const std::string& recipient = "alice") {
  const std::string body = R"({"idempotency_key":")" + key + R"(","recipient":")" + recipient +
                           R"(","workspace":"docs","kind":"document.ready","object_id":")" + key + "\"}";
  return "POST /v1/notifications HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev-service\r\nContent-Type: application/json\r\n"
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string get_events(const std::string& more = "", const std::string& headers = "") {
  return "GET /v1/events?workspace=docs" + more + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev:alice:docs\r\n" + headers + "\r\n";
}

/// Reads a stream of server-sent events as it comes.
class Events {
 public:
  explicit Events(HttpClient& client) : client_(client) {}
  /// Until `text` has come; false at the end of the stream or of patience.
  bool until(std::string_view text) {
    if (seen_.find(text) != std::string::npos) return true;
    do {
      const std::string more = client_.receive(1);
      if (more.empty()) return false;
      seen_ += more;
    } while (!seen_.ends_with(text));
    return true;
  }
  bool until_end_of_event() {
    while (!seen_.ends_with("\n\n")) {
      const std::string more = client_.receive(1);
      if (more.empty()) return false;
      seen_ += more;
    }
    return true;
  }
  [[nodiscard]] std::size_t count(std::string_view part) const {
    std::size_t n = 0;
    for (std::size_t at = seen_.find(part); at != std::string::npos; at = seen_.find(part, at + part.size())) ++n;
    return n;
  }
  /// The id of the last whole event with one.
  [[nodiscard]] std::string last_id() const {
    const auto at = seen_.rfind("id: ");
    return at == std::string::npos ? "" : seen_.substr(at + 4, seen_.find('\n', at) - at - 4);
  }
  [[nodiscard]] const std::string& seen() const { return seen_; }

 private:
  HttpClient& client_;
  std::string seen_;
};

class Edge : public ::testing::Test {
 protected:
  void start(ServeOptions options = {}) {
    loop_ = std::move(*net::make_loop(net::LoopKind::Epoll, {}));
    address_ = loop_->listen({net::IpAddress::parse("127.0.0.1").value(), 0}, {})->address;
    EdgeOptions edge_options;
    edge_options.stream_backlog_max = 64 * 1024;
    edge_ = std::make_unique<EdgePlane>(edge_options, *worker_, tokens_, server_.clock, *loop_, server_.log);
    sources_ = std::make_unique<Sources>(options, *edge_, [this](boost::asio::any_io_executor) { return client(); }, server_.log);
    thread_ = std::thread([this] { loop_->run(*edge_); });
    sources_->start();
  }
  void TearDown() override {
    sources_->stop(milliseconds{2000});
    edge_->drain();  // ends the loop
    thread_.join();
    worker_->stop();
  }
  std::shared_ptr<sdk::SqsClient> client() {
    return sdk::make_sqs_client({.endpoint_url = "http://localhost", .region = "us-east-1"}, sdk::static_credentials("fanfare", "fanfare"), in_process_);
  }
  HttpClient connect() { return HttpClient{address_}; }
  int visible_in(const std::string& queue, const std::string& attribute = "ApproximateNumberOfMessages") {
    HttpClient aws = server_.connect();
    const std::string text = aws.call(sqs_on(queue, "GetQueueAttributes", R"("AttributeNames":["All"])")).body;
    const auto at = text.find("\"" + attribute + "\":\"");
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + attribute.size() + 4));
  }

  TestServer server_{ServerSetup{}};
  api::aws::DevelopmentAuthenticator authenticator_{{}};
  std::shared_ptr<InProcessTransport> in_process_ = std::make_shared<InProcessTransport>(
      api::ServiceOptions{.receipt_secret = "a secret of at least sixteen bytes"}, *server_.broker, server_.clock, authenticator_);
  edge::DevelopmentTokens tokens_;
  std::unique_ptr<store::Worker> worker_ = std::make_unique<store::Worker>(store::make_memory_inbox_store(7), [this] { return server_.clock.now(); });
  std::unique_ptr<net::Loop> loop_;
  net::SocketAddress address_;
  std::unique_ptr<EdgePlane> edge_;
  std::unique_ptr<Sources> sources_;
  std::thread thread_;
};

TEST_F(Edge, N7AResumedStreamHasNoGapAndNoDoubleWhileCreatesGoOn) {
  start();
  constexpr int kTotal = 120;
  std::thread creator{[this] {
    HttpClient service = connect();
    for (int i = 0; i < kTotal; ++i) EXPECT_EQ(service.call(post_notification("k" + std::to_string(i) + ".")).status, 201);
  }};
  std::string all;
  std::string cursor;
  for (int round = 1; round <= 4; ++round) {  // leaves and comes back while creates go on
    HttpClient person = connect();
    person.send(get_events("", cursor.empty() ? "" : "Last-Event-ID: " + cursor + "\r\n"));
    Events events{person};
    EXPECT_TRUE(events.until("\"k" + std::to_string(round * kTotal / 4 - 1) + ".\"")) << events.seen();
    EXPECT_TRUE(events.until_end_of_event());
    cursor = events.last_id();
    all += events.seen();
  }
  creator.join();
  for (int i = 0; i < kTotal; ++i) {
    const std::string mark = "\"object_id\":\"k" + std::to_string(i) + ".\"";
    std::size_t n = 0;
    for (std::size_t at = all.find(mark); at != std::string::npos; at = all.find(mark, at + 1)) ++n;
    EXPECT_EQ(n, 1u) << i;
  }
}

TEST_F(Edge, L9ASlowStreamIsClosedAndOthersGoOn) {
  start();
  HttpClient slow{net::testing::Client::unconnected(address_)};
  slow.set_receive_buffer(4096);
  ASSERT_TRUE(slow.connect(address_));
  slow.send(get_events());
  HttpClient quick = connect();
  quick.send(get_events());
  HttpClient service = connect();
  const std::string padding(60'000, 'x');
  int sent = 0;
  // The slow one's backlog grows beyond what kernel and loop hold for it.
  for (; sent < 200; ++sent) {
    const std::string body = R"({"idempotency_key":"s)" + std::to_string(sent) + R"(","recipient":"alice","workspace":"docs","kind":"k","object_id":"s)" +
                             std::to_string(sent) + R"(.","data":{"pad":")" + padding + "\"}}";
    ASSERT_EQ(service.call("POST /v1/notifications HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer dev-service\r\nContent-Type: application/json\r\n"
                           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body).status, 201);
    ASSERT_EQ(quick.receive(60'000).size(), 60'000u) << sent;  // what is behind the padding stays a little longer
    std::string metrics;
    edge_->append_metrics(metrics);
    if (metrics.find("phase=\"listener_failure\"} 1") != std::string::npos) break;
  }
  EXPECT_LT(sent, 200);
}

TEST_F(Edge, L1OnePollerAQueueHoweverManyListen) {
  ServeOptions options;
  options.live_sources.push_back({.queue = "events", .create = true});
  start(options);
  ASSERT_TRUE(eventually([&] { return server_.waiting() == 1; }));
  std::vector<HttpClient> people;
  for (int i = 0; i < 5; ++i) {
    people.push_back(connect());
    people.back().send(get_events("&trigger=document.ready"));
    Events events{people.back()};
    ASSERT_TRUE(events.until("\r\n\r\n"));
  }
  EXPECT_EQ(server_.waiting(), 1u);
}

TEST_F(Edge, L5L7ALiveEventReachesItsListenersAndIsDeletedAlsoWithoutAny) {
  ServeOptions options;
  options.live_sources.push_back({.queue = "events", .create = true});
  start(options);
  ASSERT_TRUE(eventually([&] { return server_.waiting() == 1; }));
  HttpClient aws = server_.connect();
  const auto publish = [&](const std::string& text) {
    return aws.call(sqs_on("events", "SendMessage", R"("MessageBody":"{\"workspace\":\"docs\",\"text\":\")" + text +
                    R"(\"}","MessageAttributes":{"SQSPubSubTriggerName":{"DataType":"String","StringValue":"document.ready"}})")).status;
  };
  const auto gone = [&] { return visible_in("events") == 0 && visible_in("events", "ApproximateNumberOfMessagesNotVisible") == 0; };
  ASSERT_EQ(publish("nobody"), 200);
  EXPECT_TRUE(eventually(gone));
  HttpClient first = connect();
  HttpClient second = connect();
  for (HttpClient* one : {&first, &second}) {
    one->send(get_events("&trigger=document.ready"));
    Events events{*one};
    ASSERT_TRUE(events.until("\r\n\r\n"));
  }
  ASSERT_EQ(publish("both"), 200);
  Events at_first{first};
  Events at_second{second};
  EXPECT_TRUE(at_first.until("both"));
  EXPECT_TRUE(at_second.until("both"));
  EXPECT_TRUE(eventually(gone));
  first.close();  // L3: its subscription goes, the other stays
  std::string metrics;
  ASSERT_TRUE(eventually([&] {
    metrics.clear();
    edge_->append_metrics(metrics);
    return metrics.find("fanfare_live_connections 1\n") != std::string::npos;
  })) << metrics;
  ASSERT_EQ(publish("second only"), 200);
  EXPECT_TRUE(at_second.until("second only"));
  EXPECT_EQ(at_second.count("nobody"), 0u) << "live is not replay";
}

TEST_F(Edge, L6AMalformedInboxMessageMovesToTheDeadLetterQueueAndAGoodOneArrives) {
  HttpClient aws = server_.connect();
  ASSERT_EQ(aws.call(sqs("CreateQueue", R"({"QueueName":"dlq"})")).status, 200);
  ASSERT_EQ(aws.call(sqs("CreateQueue", R"({"QueueName":"notices","Attributes":{"VisibilityTimeout":"1",)"
                         R"("RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dlq\",\"maxReceiveCount\":2}"}})")).status, 200);
  ServeOptions options;
  options.inbox_sources.push_back({.queue = "notices"});
  start(options);
  HttpClient person = connect();
  person.send(get_events());
  Events events{person};
  ASSERT_TRUE(events.until("\r\n\r\n"));
  ASSERT_EQ(aws.call(sqs_on("notices", "SendMessage", R"("MessageBody":"{not json")")).status, 200);
  ASSERT_EQ(aws.call(sqs_on("notices", "SendMessage",
                            R"("MessageBody":"{\"idempotency_key\":\"q1\",\"recipient\":\"alice\",\"workspace\":\"docs\",\"kind\":\"k\",\"object_id\":\"from-queue\"}")")).status, 200);
  EXPECT_TRUE(events.until("from-queue"));
  EXPECT_TRUE(eventually([&] { return visible_in("dlq") == 1; }));
  EXPECT_TRUE(eventually([&] { return visible_in("notices") == 0 && visible_in("notices", "ApproximateNumberOfMessagesNotVisible") == 0; }));
}

TEST_F(Edge, PipelinedRequestsOfOneConnectionAreAnsweredInOrder) {
  start();
  HttpClient client = connect();
  client.send(post_notification("a") + post_notification("a") + "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" + post_notification("b"));
  EXPECT_EQ(client.answer().status, 201);
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.answer().status, 404);
  EXPECT_EQ(client.answer().status, 201);
}

TEST_F(Edge, ABodyThatIsTooLongIsRefusedWithAProblemDocumentBeforeItIsRead) {
  start();
  HttpClient client = connect();
  const Answer answer = client.call("POST /v1/notifications HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.head.find("application/problem+json"), std::string::npos) << answer.head;
  EXPECT_NE(answer.body.find("urn:fanfare:problem:body-too-large"), std::string::npos) << answer.body;
  EXPECT_EQ(client.receive_all(), "");
}

TEST_F(Edge, TheLongestUnfinishedRequestsAreRefusedBeforeTheyTakeAllMemory) {
  start();
  const std::string half = "POST /v1/notifications HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n" + std::string(7'999'999, ' ');
  std::vector<HttpClient> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(connect());
    ASSERT_TRUE(clients.back().send(half));
  }
  EXPECT_EQ(clients.front().answer().status, 503);
  EXPECT_EQ(clients.front().receive_all(), "");
  ASSERT_TRUE(clients.back().send(" "));
  EXPECT_EQ(clients.back().answer().status, 401);
}

}  // namespace
}  // namespace fanfare::server::testing
