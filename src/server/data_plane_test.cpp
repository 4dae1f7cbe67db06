// The data plane with real loops and sockets: order of answers, long polls, hand-back, limits, drain, failing disks.
#include "server/data_plane.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "journal/faulty/faulty_file_system.h"
#include "server/test_support.h"

namespace fanfare::server::testing {
namespace {

using net::LoopKind;

constexpr const char* kReceive = R"("MaxNumberOfMessages":10,"MessageSystemAttributeNames":["All"])";
constexpr const char* kLongReceive = R"("WaitTimeSeconds":20,"MaxNumberOfMessages":10,"MessageSystemAttributeNames":["All"])";

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::string receipt_of(const std::string& body) {
  const auto at = body.find(R"("ReceiptHandle":")");
  if (at == std::string::npos) return {};
  return body.substr(at + 17, body.find('"', at + 17) - at - 17);
}

class OnEachLoop : public ::testing::TestWithParam<LoopKind> {
 protected:
  void SetUp() override {
    // Epoll is everywhere; a kernel may lack io_uring, or forbid it (containers often do).
    if (net::make_loop(GetParam())) return;
    ASSERT_EQ(GetParam(), LoopKind::IoUring);
    GTEST_SKIP() << "this kernel has no " << net::describe(GetParam());
  }
  [[nodiscard]] ServerSetup setup() const { return {.kind = GetParam()}; }
};
INSTANTIATE_TEST_SUITE_P(DataPlane, OnEachLoop, ::testing::Values(LoopKind::Epoll, LoopKind::IoUring),
                         [](const auto& kind) { return std::string{kind.param == LoopKind::Epoll ? "Epoll" : "IoUring"}; });

TEST_P(OnEachLoop, PipelinedAnswersKeepTheirOrderAlsoWithALongPollInTheMiddle) {
  TestServer server{setup()};
  HttpClient reader = server.connect();
  HttpClient writer = server.connect();
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  reader.send(sqs("ListQueues", "{}") + sqs_on("q", "ReceiveMessage", kLongReceive) + sqs_on("missing", "ReceiveMessage") + sqs("ListQueues", "{}"));
  ASSERT_TRUE(eventually([&] { return server.waiting() == 1; }));
  ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":"hello")")).status, 200);
  EXPECT_NE(reader.answer().body.find("QueueUrls"), std::string::npos);
  EXPECT_NE(reader.answer().body.find("hello"), std::string::npos);
  EXPECT_EQ(reader.answer().status, 400);
  EXPECT_NE(reader.answer().body.find("QueueUrls"), std::string::npos);
}

TEST_P(OnEachLoop, AnswersThatPileUpBehindALongPollAreBounded) {
  TestServer server{setup()};
  HttpClient reader = server.connect();
  HttpClient writer = server.connect();
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  reader.send(sqs_on("q", "ReceiveMessage", kLongReceive));
  ASSERT_TRUE(eventually([&] { return server.waiting() == 1; }));
  // Far more than the answers it keeps and the kernel's buffers hold: at some point the server reads no more.
  const std::string request = sqs("ListQueues", "{}", "X-Filling: " + std::string(4000, 'x') + "\r\n");
  std::size_t sent = 0;
  Instant last = std::chrono::steady_clock::now();
  while (sent < (std::size_t{64} << 20) && std::chrono::steady_clock::now() - last < milliseconds{500}) {
    const std::size_t offset = sent % request.size();
    const std::size_t taken = reader.send_some(std::string_view{request}.substr(offset));
    sent += taken;
    if (taken > 0) last = std::chrono::steady_clock::now();
    else std::this_thread::yield();
  }
  EXPECT_LT(sent, std::size_t{64} << 20);
  ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":"hello")")).status, 200);
  EXPECT_NE(reader.answer().body.find("hello"), std::string::npos);
  for (std::size_t i = 0; i < sent / request.size(); ++i) ASSERT_EQ(reader.answer().status, 200) << i;  // it reads on
}

// One chunk of input asks for more than a connection may keep unsent: what the peer does not read yet is not made yet either.
TEST_P(OnEachLoop, ReceivesThatArePipelinedAreAllAnsweredHoweverMuchTheyAskFor) {
  TestServer server{setup()};
  HttpClient reader = server.connect();
  HttpClient writer = server.connect();
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"q","Attributes":{"VisibilityTimeout":"0"}})")).status, 200);
  const std::string body(400'000, 'x');
  for (int i = 0; i < 10; ++i) ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":")" + body + "\"")).status, 200);
  const auto receive_count = [&] {
    const std::string got = writer.call(sqs_on("q", "ReceiveMessage", R"("VisibilityTimeout":0,"AttributeNames":["ApproximateReceiveCount"])")).body;
    const auto at = got.find(R"("ApproximateReceiveCount":")");
    return at == std::string::npos ? 0 : std::stoi(got.substr(at + 27));
  };
  constexpr int kReceives = 40;
  std::string requests;
  for (int i = 0; i < kReceives; ++i) requests += sqs_on("q", "ReceiveMessage", R"("MaxNumberOfMessages":10)");
  requests += sqs("ListQueues", "{}");
  reader.send(requests);
  ASSERT_TRUE(eventually([&] { return receive_count() > 1; }));
  EXPECT_LT(receive_count(), kReceives / 2);
  for (int i = 0; i < kReceives; ++i) {
    const Answer answer = reader.answer();
    ASSERT_EQ(answer.status, 200) << i;
    ASSERT_EQ(count_of(answer.body, "ReceiptHandle"), 10u) << i;
  }
  EXPECT_NE(reader.answer().body.find("QueueUrls"), std::string::npos);
}

TEST_P(OnEachLoop, LongAnswersBehindALongPollAreBoundedInBytes) {
  TestServer server{setup()};
  HttpClient reader = server.connect();
  HttpClient writer = server.connect();
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"q","Attributes":{"VisibilityTimeout":"43200"}})")).status, 200);
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"empty"})")).status, 200);
  const std::string body(1'000'000, 'x');
  constexpr int kReceives = 30;
  for (int i = 0; i < kReceives; ++i) ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":")" + body + "\"")).status, 200);
  std::string requests = sqs_on("empty", "ReceiveMessage", kLongReceive);
  for (int i = 0; i < kReceives; ++i) requests += sqs_on("q", "ReceiveMessage");
  reader.send(requests);
  ASSERT_TRUE(eventually([&] { return server.waiting() == 1; }));
  const auto taken = [&] {
    const std::string got = writer.call(sqs_on("q", "GetQueueAttributes", R"("AttributeNames":["ApproximateNumberOfMessagesNotVisible"])")).body;
    return std::stoi(got.substr(got.find(R"(Visible":")") + 10));
  };
  ASSERT_TRUE(eventually([&] { return taken() >= 8; })) << taken();
  EXPECT_LT(taken(), kReceives / 2);
  ASSERT_EQ(writer.call(sqs_on("empty", "SendMessage", R"("MessageBody":"hello")")).status, 200);
  EXPECT_NE(reader.answer().body.find("hello"), std::string::npos);
  for (int i = 0; i < kReceives; ++i) ASSERT_EQ(count_of(reader.answer().body, "ReceiptHandle"), 1u) << i;
}

TEST_P(OnEachLoop, ALongPollWakesOnASendFromTheSameAndFromAnotherLoop) {
  ServerSetup two = setup();
  two.loops = 2;
  TestServer server{two};
  HttpClient reader = server.connect(0);
  ASSERT_EQ(reader.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  for (const std::size_t loop : {0, 1, 0, 1}) {
    reader.send(sqs_on("q", "ReceiveMessage", kLongReceive));
    ASSERT_TRUE(eventually([&] { return server.waiting() == 1; }));
    HttpClient writer = server.connect(loop);
    ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":"hello")")).status, 200);
    EXPECT_EQ(count_of(reader.answer().body, "hello"), 1u) << "sent over loop " << loop;
  }
}

TEST_P(OnEachLoop, AClientThatClosesWhileItWaitsTakesNothing) {
  TestServer server{setup()};
  HttpClient writer = server.connect();
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  for (const bool with_reset : {false, true}) {
    HttpClient leaver = server.connect();
    leaver.send(sqs_on("q", "ReceiveMessage", kLongReceive));
    ASSERT_TRUE(eventually([&] { return server.waiting() == 1; }));
    if (with_reset) leaver.reset();
    else leaver.close();
    ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":"hello")")).status, 200);
    const Answer received = writer.call(sqs_on("q", "ReceiveMessage", kLongReceive));
    EXPECT_NE(received.body.find(R"("ApproximateReceiveCount":"1")"), std::string::npos) << received.body;
    ASSERT_EQ(writer.call(sqs_on("q", "DeleteMessage", R"("ReceiptHandle":")" + receipt_of(received.body) + "\"")).status, 200);
  }
}

TEST_P(OnEachLoop, NoMessageIsLostWhenWaitingClientsLeaveWhileAnotherLoopSends) {
  ServerSetup two = setup();
  two.loops = 2;
  TestServer server{two};
  HttpClient writer = server.connect(0);
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"q","Attributes":{"VisibilityTimeout":"43200"}})")).status, 200);
  constexpr std::size_t kRounds = 60;
  for (std::size_t i = 0; i < kRounds; ++i) {
    HttpClient leaver = server.connect(1);
    leaver.send(sqs_on("q", "ReceiveMessage", R"("WaitTimeSeconds":20,"MaxNumberOfMessages":1)"));
    ASSERT_TRUE(eventually([&] { return server.waiting() == 1; }));
    leaver.reset();  // the kernel knows it at once, its loop perhaps only after the send on the other one
    ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":"hello")")).status, 200);
    const std::string received = writer.call(sqs_on("q", "ReceiveMessage", kLongReceive)).body;
    ASSERT_EQ(count_of(received, "hello"), 1u) << "round " << i;
    ASSERT_NE(received.find(R"("ApproximateReceiveCount":"1")"), std::string::npos) << received;
  }
}

TEST_P(OnEachLoop, ReceivesWhoseAnswersWereStillQueuedWhenThePeerResetAreGivenBack) {
  TestServer server{setup()};
  HttpClient writer = server.connect();
  ASSERT_EQ(writer.call(sqs("CreateQueue", R"({"QueueName":"q","Attributes":{"VisibilityTimeout":"43200"}})")).status, 200);
  const std::string body(200'000, 'x');
  constexpr int kReceives = 5;  // a sixth would wait until their answers are read
  for (int i = 0; i < kReceives * 10; ++i) ASSERT_EQ(writer.call(sqs_on("q", "SendMessage", R"("MessageBody":")" + body + "\"")).status, 200);
  HttpClient leaver{net::testing::Client::unconnected(server.address())};
  leaver.set_receive_buffer(4096);
  ASSERT_TRUE(leaver.connect(server.address()));
  std::string requests;
  for (int i = 0; i < kReceives; ++i) requests += sqs_on("q", "ReceiveMessage", kReceive);
  leaver.send(requests);
  const auto visible = [&] {
    const std::string text = writer.call(sqs_on("q", "GetQueueAttributes", R"("AttributeNames":["ApproximateNumberOfMessages"])")).body;
    const auto at = text.find(R"("ApproximateNumberOfMessages":")");
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + 31));
  };
  ASSERT_TRUE(eventually([&] { return visible() == 0; }));
  leaver.reset();
  // The kernel's send buffer holds some megabytes at most: two answers; the other three come back.
  EXPECT_TRUE(eventually([&] { return visible() >= 20; })) << visible();
}

TEST_P(OnEachLoop, ConnectionCloseHttp10AndExpectAreUnderstood) {
  TestServer server{setup()};
  HttpClient closing = server.connect();
  const Answer last = closing.call(sqs("ListQueues", "{}", "Connection: close\r\n"));
  EXPECT_EQ(last.status, 200);
  EXPECT_NE(last.head.find("Connection: close"), std::string::npos);
  EXPECT_EQ(closing.receive_all(), "");
  EXPECT_FALSE(closing.broken());

  HttpClient old = server.connect();
  EXPECT_EQ(old.call(sqs("ListQueues", "{}", "", "1.0")).status, 200);
  EXPECT_EQ(old.receive_all(), "");

  HttpClient careful = server.connect();
  const std::string request = sqs("ListQueues", "{}", "Expect: 100-continue\r\n");
  careful.send(request.substr(0, request.size() - 2));
  EXPECT_EQ(careful.answer().status, 100);
  EXPECT_EQ(careful.call("{}").status, 200);
}

TEST_P(OnEachLoop, BodiesInPiecesAndBodiesThatAreTooLarge) {
  TestServer server{setup()};
  HttpClient client = server.connect();
  ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  const std::string large = sqs_on("q", "SendMessage", R"("MessageBody":")" + std::string(1'000'000, 'x') + "\"");
  for (std::size_t at = 0; at < large.size(); at += 70'001) client.send(std::string_view{large}.substr(at, 70'001));
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.call(sqs_on("q", "ReceiveMessage")).body.size() > 1'000'000, true);
  client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(client.answer().status, 413);
  EXPECT_EQ(client.receive_all(), "");
  HttpClient nonsense = server.connect();
  nonsense.send("GARBAGE\r\n\r\n");
  EXPECT_EQ(nonsense.answer().status, 400);
}

TEST_P(OnEachLoop, WhatCannotBecomeARequestIsRefusedInTheProtocolOfItsHead) {
  TestServer server{setup()};
  const std::string json = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Type: application/x-amz-json-1.0\r\n";
  const std::string query = "POST / HTTP/1.1\r\nHost: sns.us-east-1.amazonaws.com\r\nContent-Type: application/x-www-form-urlencoded\r\n";
  struct Case {
    std::string request;
    int status;
    std::string_view type;
    std::string_view says;
  };
  const Case cases[] = {
      {json + "Content-Length: 99999999\r\n\r\n", 413, "application/x-amz-json-1.0",
       R"({"__type":"com.amazon.coral.service#RequestEntityTooLargeException","message":"The body has more than the 8388608 bytes that are accepted."})"},
      {json + "Content-Length: 99999999999999999999999\r\n\r\n", 413, "application/x-amz-json-1.0", "RequestEntityTooLargeException"},
      {json + "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413, "application/x-amz-json-1.0", "RequestEntityTooLargeException"},
      {json + "Transfer-Encoding: chunked\r\n\r\nno\r\n", 400, "application/x-amz-json-1.0", "MalformedHttpRequestException"},
      {json + "Transfer-Encoding: gzip\r\n\r\n", 400, "application/x-amz-json-1.0", "MalformedHttpRequestException"},
      {query + "Content-Length: 99999999\r\n\r\n", 413, "text/xml", "<Code>RequestEntityTooLarge</Code>"},
      {query + "Transfer-Encoding: chunked\r\n\r\nno\r\n", 400, "text/xml", "<Code>MalformedHttpRequest</Code>"},
  };
  for (const Case& one : cases) {
    HttpClient client = server.connect();
    const Answer answer = client.call(one.request);
    EXPECT_EQ(answer.status, one.status) << one.request;
    EXPECT_NE(answer.head.find("Content-Type: " + std::string(one.type)), std::string::npos) << answer.head;
    EXPECT_NE(answer.head.find("Connection: close"), std::string::npos) << answer.head;
    EXPECT_NE(answer.body.find(one.says), std::string::npos) << answer.body;
    EXPECT_EQ(client.receive_all(), "");
    EXPECT_FALSE(client.broken());
  }
  const std::string xmlns = "http://sns.amazonaws.com/doc/2010-03-31/";
  EXPECT_NE(server.connect().call(cases[5].request).body.find(xmlns), std::string::npos);
}

TEST_P(OnEachLoop, ABodyThatIsTooLongIsReadToItsEndSoThatItsSenderSeesTheRefusal) {
  TestServer server{setup()};
  HttpClient client = server.connect();
  // As SDKs do: everything is written before anything is read.
  ASSERT_TRUE(client.send(sqs("SendMessage", std::string(std::size_t{32} << 20, 'x'))));
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.body.find("RequestEntityTooLargeException"), std::string::npos) << answer.body;
  EXPECT_EQ(client.receive_all(), "");
  EXPECT_FALSE(client.broken());
}

TEST_P(OnEachLoop, ABodyThatDoesNotComeTimesOutInTheProtocolOfItsHead) {
  ServerSetup quick = setup();
  quick.half_request_timeout = milliseconds{50};
  TestServer server{quick};
  HttpClient slow = server.connect();
  const std::string request = sqs("ListQueues", "{}");
  slow.send(request.substr(0, request.size() - 1));
  const Answer answer = slow.answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_NE(answer.body.find("RequestTimeoutException"), std::string::npos) << answer.body;
  EXPECT_EQ(slow.receive_all(), "");
}

TEST_P(OnEachLoop, TheLongestUnfinishedRequestsAreRefusedBeforeTheyTakeAllMemory) {
  ServerSetup little = setup();
  little.unfinished_bytes_max = 4 << 20;
  TestServer server{little};
  HttpClient half = server.connect();  // a short one, the oldest of all
  const std::string short_request = sqs("ListQueues", "{}");
  ASSERT_TRUE(half.send(short_request.substr(0, short_request.size() - 1)));
  const std::string request = sqs("SendMessage", std::string(1 << 20, 'x'));
  std::vector<HttpClient> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(server.connect());
    ASSERT_TRUE(clients.back().send(std::string_view{request}.substr(0, request.size() - 1)));
  }
  const auto is_refused = [](HttpClient& client) { return client.readable(); };
  ASSERT_TRUE(eventually([&] { return std::count_if(clients.begin(), clients.end(), is_refused) >= 8; }));
  const Answer answer = clients.front().answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("ServiceUnavailable"), std::string::npos) << answer.body;
  EXPECT_EQ(clients.front().receive_all(), "");
  EXPECT_FALSE(clients.front().broken());
  ASSERT_TRUE(clients.back().send("x"));
  EXPECT_EQ(clients.back().answer().status, 400) << "not refused, and no JSON";
  ASSERT_TRUE(half.send("}"));
  EXPECT_EQ(half.answer().status, 200);
  // Those that have gone no longer count.
  clients.clear();
  for (int i = 0; i < 12; ++i) {
    HttpClient client = server.connect();
    EXPECT_EQ(client.call(request).status, 400);
  }
}

TEST_P(OnEachLoop, TheDateFieldShowsTheSystemsClockWhateverWasMoved) {
  TestServer server{setup()};
  ASSERT_TRUE(server.clock.advance(std::chrono::hours{48}));
  HttpClient client = server.connect();
  const std::string head = client.call(sqs("ListQueues", "{}")).head;
  const std::size_t at = head.find("Date: ");
  ASSERT_NE(at, std::string::npos) << head;
  const auto shown = wire::http::parse_http_date(std::string_view{head}.substr(at + 6, head.find('\r', at) - at - 6));
  ASSERT_TRUE(shown) << head;
  const auto now = std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_LT(std::abs(*shown - now), 3'600) << head;
}

TEST_P(OnEachLoop, AHalfRequestTimesOut) {
  ServerSetup quick = setup();
  quick.half_request_timeout = milliseconds{50};
  TestServer server{quick};
  HttpClient slow = server.connect();
  slow.send("POST / HTTP/1.1\r\nHost: loc");
  EXPECT_EQ(slow.answer().status, 408);
  EXPECT_EQ(slow.receive_all(), "");
}

TEST_P(OnEachLoop, AHalfRequestThatComesInDropsTimesOutToo) {
  ServerSetup quick = setup();
  quick.half_request_timeout = milliseconds{300};
  TestServer server{quick};
  HttpClient slow = server.connect();
  slow.send("POST / HTTP/1.1\r\nX-Drops: ");
  EXPECT_TRUE(eventually([&] { return slow.readable(milliseconds{20}) || !slow.send("x"); }));
  EXPECT_EQ(slow.answer().status, 408);
}

TEST_P(OnEachLoop, DrainAnswersWaitingLongPollsWithNothingAndCloses) {
  ServerSetup two = setup();
  two.loops = 2;
  TestServer server{two};
  HttpClient first = server.connect(0);
  HttpClient second = server.connect(1);
  HttpClient idle = server.connect(1);
  ASSERT_EQ(first.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  first.send(sqs_on("q", "ReceiveMessage", kLongReceive) + sqs("ListQueues", "{}"));
  second.send(sqs_on("q", "ReceiveMessage", kLongReceive));
  ASSERT_TRUE(eventually([&] { return server.waiting() == 2; }));
  server.drain();  // returns when the loops have ended
  EXPECT_EQ(first.answer().body, "{}");
  EXPECT_NE(first.answer().body.find("QueueUrls"), std::string::npos);
  EXPECT_EQ(first.receive_all(), "");
  const Answer nothing = second.answer();
  EXPECT_EQ(nothing.body, "{}");
  EXPECT_NE(nothing.head.find("Connection: close"), std::string::npos);
  EXPECT_EQ(second.receive_all(), "");
  EXPECT_EQ(idle.receive_all(), "");
  EXPECT_EQ(server.waiting(), 0u);
}

// ---- Envelopes whose signatures are not there yet ------------------------------------------------------------------------

/// A topic «t» with the queue «q», whose copies are enveloped, and a signer that signs nothing until it is let go.
class WithABusySigner : public OnEachLoop {
 protected:
  void SetUp() override {
    OnEachLoop::SetUp();
    if (IsSkipped()) return;
    signer_ = std::move(*EnvelopeSigner::open(""));
    hold();
    ServerSetup two = setup();
    two.loops = 2;
    two.signer = signer_.get();
    server_ = std::make_unique<TestServer>(two);
    HttpClient client = server_->connect();
    const std::string policy = R"({\"Statement\":{\"Effect\":\"Allow\",\"Principal\":\"*\",\"Action\":\"sqs:SendMessage\",\"Resource\":\"*\"}})";
    ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q","Attributes":{"VisibilityTimeout":"43200","Policy":")" + policy + R"("}})")).status, 200);
    ASSERT_EQ(client.call(sns("Action=CreateTopic&Name=t")).status, 200);
    ASSERT_EQ(client.call(sns("Action=Subscribe&TopicArn=" + kTopic + "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:q")).status, 200);
  }
  void TearDown() override { let_go(); }

  static std::string sns(const std::string& form) {
    return http_post("Content-Type: application/x-www-form-urlencoded\r\n", form + "&Version=2010-03-31");
  }
  void publish(std::size_t loop = 0) {
    HttpClient client = server_->connect(loop);
    const Answer answer = client.call(sns("Action=Publish&Message=hello&TopicArn=" + kTopic));
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  void hold() {
    signer_->sign_first({}, [this] {
      std::unique_lock lock{mutex_};
      free_.wait(lock, [this] { return is_free_; });
    });
  }
  void let_go() {
    {
      const std::lock_guard lock{mutex_};
      is_free_ = true;
    }
    free_.notify_all();
  }
  /// Nothing has come, though the server has answered a request that came later.
  void expect_no_answer_yet(HttpClient& reader, std::size_t loop) {
    HttpClient other = server_->connect(loop);
    EXPECT_EQ(other.call(sqs("ListQueues", "{}")).status, 200);
    EXPECT_FALSE(reader.readable(milliseconds{0}));
  }
  static void expect_signed(const std::string& body) {
    EXPECT_EQ(count_of(body, "hello"), 1u) << body;
    EXPECT_EQ(count_of(body, R"(\"Signature\":\")"), 1u) << body;
    EXPECT_EQ(count_of(body, R"(\"Signature\":\"\")"), 0u) << body;
  }

  static inline const std::string kTopic = "arn:aws:sns:us-east-1:000000000000:t";
  std::unique_ptr<EnvelopeSigner> signer_;
  std::unique_ptr<TestServer> server_;

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  bool is_free_ = false;
};
INSTANTIATE_TEST_SUITE_P(DataPlane, WithABusySigner, ::testing::Values(LoopKind::Epoll, LoopKind::IoUring),
                         [](const auto& kind) { return std::string{kind.param == LoopKind::Epoll ? "Epoll" : "IoUring"}; });

TEST_P(WithABusySigner, AReceiveWaitsForItsSignaturesAndHoldsUpNobodyElse) {
  publish();
  HttpClient reader = server_->connect();
  reader.send(sqs_on("q", "ReceiveMessage", kReceive) + sqs("ListQueues", "{}"));
  expect_no_answer_yet(reader, 0);
  expect_no_answer_yet(reader, 1);
  let_go();
  expect_signed(reader.answer().body);
  EXPECT_NE(reader.answer().body.find("QueueUrls"), std::string::npos);  // behind it, in the order of the requests
}

TEST_P(WithABusySigner, ALongPollThatAPublicationOnAnotherLoopEndsWaitsForTheSignature) {
  HttpClient reader = server_->connect(0);
  reader.send(sqs_on("q", "ReceiveMessage", kLongReceive));
  ASSERT_TRUE(eventually([&] { return server_->waiting() == 1; }));
  publish(1);
  expect_no_answer_yet(reader, 0);
  let_go();
  expect_signed(reader.answer().body);
}

TEST_P(WithABusySigner, WhoLeavesWhileHisSignaturesAreMadeTakesNothing) {
  publish();
  HttpClient leaver = server_->connect();
  leaver.send(sqs_on("q", "ReceiveMessage", kReceive));
  expect_no_answer_yet(leaver, 0);
  leaver.reset();
  HttpClient reader = server_->connect();
  reader.send(sqs_on("q", "ReceiveMessage", kLongReceive));
  let_go();
  const std::string body = reader.answer().body;
  expect_signed(body);
  EXPECT_NE(body.find(R"("ApproximateReceiveCount":"1")"), std::string::npos) << body;
}

TEST_P(WithABusySigner, DrainWaitsForTheSignatures) {
  publish();
  HttpClient reader = server_->connect();
  reader.send(sqs_on("q", "ReceiveMessage", kReceive));
  expect_no_answer_yet(reader, 0);
  std::thread draining{[&] { server_->drain(); }};
  let_go();
  expect_signed(reader.answer().body);
  EXPECT_EQ(reader.receive_all(), "");
  draining.join();
}

class OnAFailingDisk : public ::testing::Test {
 protected:
  journal::FaultyFileSystem files_{1};
  ServerSetup setup_{.kind = LoopKind::Epoll, .memory = false, .files = &files_};
};

TEST_F(OnAFailingDisk, ACommitThatFailsIsNotAcknowledgedAndTheDiskIsTakenUpAgain) {
  for (const auto fault : {journal::Fault::NoSpace, journal::Fault::Io}) {
    journal::FaultyFileSystem files{2};
    setup_.files = &files;
    TestServer server{setup_};
    HttpClient client = server.connect();
    ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
    files.fail_from(files.steps(), fault);
    Answer refused{.status = 200, .head = {}, .body = {}};  // a full disk may yet take a few writes
    for (int i = 0; i < 50 && refused.status == 200; ++i) refused = client.call(sqs_on("q", "SendMessage", R"("MessageBody":"lost or not")"));
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_NE(refused.body.find("ServiceUnavailable"), std::string::npos) << refused.body;
    EXPECT_FALSE(server.broker->writable());
    EXPECT_EQ(client.call(sqs_on("q", "SendMessage", R"("MessageBody":"refused")")).status, 503);
    EXPECT_EQ(client.call(sqs("ListQueues", "{}")).status, 200);
    files.fail_never_more();
    EXPECT_TRUE(eventually([&] { return server.broker->writable(); }));
    EXPECT_EQ(client.call(sqs_on("q", "SendMessage", R"("MessageBody":"fine")")).status, 200);
  }
}

/// Changes the byte at which `text` begins in the journal's first segment.
void damage(journal::FaultyFileSystem& files, const std::string& text) {
  const std::string name = "00000000000000000001.segment";
  const auto at = files.contents(name).find(text);
  ASSERT_NE(at, std::string::npos) << text;
  files.flip_bit(name, at, 0);
}

/// What was just written is read from memory; after this it is not.
void reopen(std::unique_ptr<TestServer>& server, HttpClient& client, const ServerSetup& setup) {
  server.reset();
  server = std::make_unique<TestServer>(setup);
  client = server->connect();
}

TEST_F(OnAFailingDisk, AMessageThatCannotBeReadHoldsUpItsGroupOnly) {
  setup_.contents_from_disk = true;
  setup_.read_again_after = milliseconds{300};
  auto server = std::make_unique<TestServer>(setup_);
  HttpClient client = server->connect();
  ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q.fifo","Attributes":{"FifoQueue":"true","ContentBasedDeduplication":"true"}})")).status, 200);
  for (const char* message : {R"("MessageBody":"first of a","MessageGroupId":"a")", R"("MessageBody":"second of a","MessageGroupId":"a")",
                              R"("MessageBody":"first of b","MessageGroupId":"b")"})
    ASSERT_EQ(client.call(sqs_on("q.fifo", "SendMessage", message)).status, 200);
  reopen(server, client, setup_);
  damage(files_, "first of a");
  std::string got;
  for (int i = 0; i < 3; ++i) got += client.call(sqs_on("q.fifo", "ReceiveMessage", kReceive)).body;
  EXPECT_NE(got.find("first of b"), std::string::npos) << got;
  EXPECT_EQ(got.find("of a\""), std::string::npos) << "nothing passes it in its own group: " << got;
  damage(files_, "girst of a");  // the same bit: it is readable again
  EXPECT_TRUE(eventually([&] {
    got = client.call(sqs_on("q.fifo", "ReceiveMessage", kReceive)).body;
    return got.find("first of a") != std::string::npos && got.find("second of a") != std::string::npos;
  })) << got;
  EXPECT_EQ(count_of(got, R"("ApproximateReceiveCount":"1")"), 2u) << "what nobody got is not counted: " << got;
}

TEST_F(OnAFailingDisk, MessagesThatCannotBeReadDoNotStandInTheWay) {
  setup_.contents_from_disk = true;
  auto server = std::make_unique<TestServer>(setup_);
  HttpClient client = server->connect();
  ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  for (int i = 0; i < 12; ++i)
    ASSERT_EQ(client.call(sqs_on("q", "SendMessage", R"("MessageBody":"damaged )" + std::to_string(100 + i) + "\"")).status, 200);
  ASSERT_EQ(client.call(sqs_on("q", "SendMessage", R"("MessageBody":"sound")")).status, 200);
  reopen(server, client, setup_);
  for (int i = 0; i < 12; ++i) damage(files_, "damaged " + std::to_string(100 + i));
  std::string got;
  for (int i = 0; i < 3; ++i) got += client.call(sqs_on("q", "ReceiveMessage", kReceive)).body;
  EXPECT_NE(got.find("sound"), std::string::npos) << got;
  EXPECT_EQ(count_of(got, "ReceiptHandle"), 1u) << got;
}

TEST_F(OnAFailingDisk, ARetriedRequestIsNotAcknowledgedByAnEffectThatIsNotDurable) {
  TestServer server{setup_};
  HttpClient client = server.connect();
  ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  ASSERT_EQ(client.call(sqs_on("q", "SendMessage", R"("MessageBody":"m")")).status, 200);
  const std::string handle = receipt_of(client.call(sqs_on("q", "ReceiveMessage")).body);
  files_.fail_from(files_.steps(), journal::Fault::Io);
  const std::string deletion = sqs_on("q", "DeleteMessage", R"("ReceiptHandle":")" + handle + "\"");
  EXPECT_EQ(client.call(deletion).status, 503);
  EXPECT_EQ(client.call(deletion).status, 503) << "the message is gone from memory only";
  files_.fail_never_more();
  ASSERT_TRUE(eventually([&] { return server.broker->writable(); }));
  EXPECT_EQ(client.call(deletion).status, 200);
}

TEST_F(OnAFailingDisk, NothingAcknowledgedIsLostWhenThePowerGoes) {
  std::size_t acknowledged = 0;
  {
    TestServer server{setup_};
    HttpClient client = server.connect();
    ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
    files_.fail_at(files_.steps() + 40, journal::Fault::PowerCut);
    for (int i = 0; i < 100; ++i)
      if (client.call(sqs_on("q", "SendMessage", R"("MessageBody":"m)" + std::to_string(i) + "\"")).status == 200) ++acknowledged;
    server.kill();
  }
  ASSERT_GT(acknowledged, 0u);
  ASSERT_LT(acknowledged, 100u);
  files_.restart();
  TestServer again{setup_};
  HttpClient client = again.connect();
  std::size_t found = 0;
  while (const std::size_t more = count_of(client.call(sqs_on("q", "ReceiveMessage", kReceive)).body, R"("Body":"m)")) found += more;
  EXPECT_GE(found, acknowledged);
}

TEST_F(OnAFailingDisk, RelaxedModeAnswersWithoutTheDiskAndBringsItThereSoon) {
  setup_.relaxed = true;
  TestServer server{setup_};
  HttpClient client = server.connect();
  ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
  ASSERT_EQ(client.call(sqs_on("q", "SendMessage", R"("MessageBody":"m")")).status, 200);
  EXPECT_TRUE(eventually([&] {
    return server.broker->locked([](engine::Engine&, journal::Journal& journal) { return journal.durable_end() == journal.next_position(); });
  }));
}

TEST_F(OnAFailingDisk, SnapshotsLetTheLogBeTrimmedAndARestartFindsEverything) {
  setup_.snapshot_bytes = 256 * 1024;
  {
    TestServer server{setup_};
    HttpClient client = server.connect();
    ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200);
    const std::string body(100'000, 'x');
    const auto trimmed = [&] {
      return server.broker->locked([](engine::Engine&, journal::Journal& journal) { return journal.first_position().value > 0; });
    };
    EXPECT_TRUE(eventually([&] {
      client.call(sqs_on("q", "SendMessage", R"("MessageBody":")" + body + "\""));
      const std::string handle = receipt_of(client.call(sqs_on("q", "ReceiveMessage")).body);
      client.call(sqs_on("q", "DeleteMessage", R"("ReceiptHandle":")" + handle + "\""));
      return trimmed();
    }));
    ASSERT_EQ(client.call(sqs_on("q", "SendMessage", R"("MessageBody":"kept")")).status, 200);
    server.stop();
  }
  TestServer again{setup_};
  HttpClient client = again.connect();
  EXPECT_EQ(count_of(client.call(sqs_on("q", "ReceiveMessage", kReceive)).body, "kept"), 1u);
}

}  // namespace
}  // namespace fanfare::server::testing
