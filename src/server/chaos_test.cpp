// Faults on purpose: what the option takes, what each fault does to a request, and that a seed repeats them.
#include "server/chaos.h"

#include <gtest/gtest.h>

#include "server/test_support.h"

namespace fanfare::server::testing {
namespace {

using Verdict = Chaos::Verdict;

FaultPlan plan_of(std::string_view text) {
  const auto plan = FaultPlan::parse(text);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error());
  return plan ? *plan : FaultPlan{};
}

struct ChaosTest : ::testing::Test {
  Log log;
  std::vector<engine::OutgoingMessage> messages;

  static engine::Request receive(std::string_view queue = "q") {
    engine::ReceiveMessages command;
    command.queue = {"000000000000", "us-east-1", queue};
    return command;
  }
  static engine::Request send(std::string_view queue = "q") {
    engine::SendMessage command;
    command.queue = {"000000000000", "us-east-1", queue};
    return command;
  }
};

TEST(FaultPlans, AreReadAndWrittenAlike) {
  for (const std::string text : {"none", "duplicate=5%", "reorder=50%", "delay=0..2s", "throttle=1%", "lose-response=0.0001%",
                                 "duplicate=5%,reorder=100%,delay=1..900s,throttle=0.5000%,lose-response=1%,receive-empty=3%"})
    EXPECT_EQ(plan_of(text).str(), text);
  EXPECT_EQ(plan_of("").str(), "none");
  EXPECT_EQ(plan_of("reorder").str(), "reorder=50%");
  EXPECT_EQ(plan_of("delay=2s").str(), "delay=2..2s");
  EXPECT_EQ(plan_of("throttle=0%").str(), "none");
}

TEST(FaultPlans, AreRefusedWithWhatIsAccepted) {
  for (const std::string text : {"explode", "duplicate=5", "duplicate=101%", "duplicate=-1%", "duplicate=%", "duplicate=1.%", "duplicate=1.00001%",
                                 "delay", "delay=5%", "delay=2..1s", "delay=901s", "delay=..s", "delay=1..s", "duplicate=5%,", ",", "Duplicate=5%"}) {
    const auto plan = FaultPlan::parse(text);
    ASSERT_FALSE(plan) << text;
    EXPECT_NE(plan.error().find("accepted are"), std::string::npos) << plan.error();
  }
}

TEST_F(ChaosTest, WithoutFaultsIsNotActiveAndChangesNothing) {
  Chaos chaos{plan_of("none"), 1, log};
  EXPECT_FALSE(chaos.is_active());
  auto request = receive();
  const Verdict verdict = chaos.meddle(request, messages);
  EXPECT_FALSE(verdict.throttle || verdict.receive_empty || verdict.lose_response);
}

TEST_F(ChaosTest, ThrottlesAndForgetsTheRest) {
  Chaos chaos{plan_of("throttle=100%,lose-response=100%"), 1, log};
  auto request = receive();
  const Verdict verdict = chaos.meddle(request, messages);
  EXPECT_TRUE(verdict.throttle);
  EXPECT_FALSE(verdict.lose_response);
}

TEST_F(ChaosTest, ADuplicateIsAReceiveThatHidesNothing) {
  Chaos chaos{plan_of("duplicate=100%"), 1, log};
  auto request = receive();
  chaos.meddle(request, messages);
  EXPECT_EQ(std::get<engine::ReceiveMessages>(request).visibility_timeout->count(), 0);
}

TEST_F(ChaosTest, MessagesAreHeldBackButNotThoseOfFifoQueues) {
  Chaos chaos{plan_of("delay=3s,reorder=100%"), 1, log};
  auto request = send();
  std::get<engine::SendMessage>(request).message.delay = *queue::DeliveryDelay::of(10);
  chaos.meddle(request, messages);
  EXPECT_EQ(std::get<engine::SendMessage>(request).message.delay->count(), 14) << "its own, three, and one to be overtaken";
  auto fifo = send("q.fifo");
  chaos.meddle(fifo, messages);
  EXPECT_FALSE(std::get<engine::SendMessage>(fifo).message.delay.has_value());
}

TEST_F(ChaosTest, EachMessageOfABatchIsHeldBackInACopyThatTheCallerKeeps) {
  Chaos chaos{plan_of("delay=900s"), 1, log};
  const std::vector<engine::OutgoingMessage> given(3);
  engine::SendMessageBatch batch;
  batch.queue = {"000000000000", "us-east-1", "q"};
  batch.messages = given;
  engine::Request request = batch;
  chaos.meddle(request, messages);
  const auto& changed = std::get<engine::SendMessageBatch>(request);
  ASSERT_EQ(changed.messages.size(), 3u);
  EXPECT_EQ(changed.messages.data(), messages.data());
  for (const auto& message : changed.messages) EXPECT_EQ(message.delay->count(), 900);
  EXPECT_FALSE(given[0].delay.has_value());
}

TEST_F(ChaosTest, AQueuesFaultsDependOnSeedNameAndOrderOnly) {
  const auto faults = [&](std::uint64_t seed, std::string_view queue, bool with_another) {
    Chaos chaos{plan_of("throttle=30%,receive-empty=30%,lose-response=30%"), seed, log};
    std::string text;
    for (int i = 0; i < 200; ++i) {
      auto request = receive(queue);
      const Verdict verdict = chaos.meddle(request, messages);
      text += verdict.throttle ? 'T' : verdict.receive_empty ? 'E' : verdict.lose_response ? 'L' : '.';
      auto other = receive("other");
      if (with_another) chaos.meddle(other, messages);
    }
    return text;
  };
  const std::string once = faults(1, "q", false);
  EXPECT_EQ(faults(1, "q", false), once);
  EXPECT_EQ(faults(1, "q", true), once) << "another queue's requests change nothing";
  EXPECT_NE(faults(2, "q", false), once);
  EXPECT_NE(faults(1, "p", false), once);
  for (const char fault : {'T', 'E', 'L', '.'}) EXPECT_NE(once.find(fault), std::string::npos) << fault;
}

TEST_F(ChaosTest, SharesAreKept) {
  Chaos chaos{plan_of("receive-empty=3%"), 5, log};
  int empty = 0;
  for (int i = 0; i < 100'000; ++i) {
    auto request = receive();
    if (chaos.meddle(request, messages).receive_empty) ++empty;
  }
  EXPECT_NEAR(empty, 3'000, 300);
}

TEST_F(ChaosTest, AQueuesOwnPlanStandsInForTheOneOfAll) {
  Chaos chaos{plan_of("none"), 1, log};
  chaos.set("calm", plan_of("none"));
  EXPECT_FALSE(chaos.is_active());
  chaos.set(std::nullopt, plan_of("throttle=100%"));
  EXPECT_TRUE(chaos.is_active());
  auto calm = receive("calm");
  auto wild = receive("wild");
  EXPECT_FALSE(chaos.meddle(calm, messages).throttle);
  EXPECT_TRUE(chaos.meddle(wild, messages).throttle);
  EXPECT_EQ(chaos.json({"q", "calm"}), R"({"seed":1,"everywhere":"throttle=100%","queues":{"calm":"none"},"injected":)"
                          R"({"duplicate":0,"reorder":0,"delay":0,"throttle":1,"lose-response":0,"receive-empty":0},"warnings":[]})");
  std::string metrics;
  chaos.append_metrics(metrics);
  EXPECT_NE(metrics.find(R"(fanfare_chaos_faults_total{fault="throttle"} 1)"), std::string::npos) << metrics;
}

TEST_F(ChaosTest, APlanForAQueueThatIsNotThereIsTakenWithAWarning) {
  Chaos chaos{plan_of("none"), 1, log};
  chaos.set("ordrs", plan_of("throttle=100%"));
  chaos.set("gone", plan_of("none"));
  chaos.set("f.fifo", plan_of("reorder"));
  const std::string warned = chaos.json({"orders", "f.fifo"});
  EXPECT_NE(warned.find(R"("warnings":["queues.f.fifo: reorder and delay do not happen to FIFO queues",)"
                        R"("queues.ordrs: no queue of this name exists yet; its faults begin when it is made"]})"),
            std::string::npos) << warned;
  EXPECT_NE(chaos.json({"ordrs", "f.fifo"}).find(R"("warnings":["queues.f.fifo: reorder and delay do not happen to FIFO queues"])"), std::string::npos);
  auto later = receive("ordrs");
  EXPECT_TRUE(chaos.meddle(later, messages).throttle) << "made meanwhile";
}

TEST(ChaosCommand, ReadsAPlanAndRefusesWhatWouldGoElsewhereThanMeant) {
  const auto one = ChaosCommand::parse(R"({"queue":"orders.fifo","faults":"duplicate=5%"})");
  ASSERT_TRUE(one) << one.error();
  EXPECT_EQ(one->queue, "orders.fifo");
  EXPECT_EQ(one->plan.str(), "duplicate=5%");
  const auto all = ChaosCommand::parse(R"({"faults":"none"})");
  ASSERT_TRUE(all) << all.error();
  EXPECT_EQ(all->queue, std::nullopt);
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "expected {\"faults\""},
      {"[]", "expected {\"faults\""},
      {R"({"queue":"q"})", "expected {\"faults\""},
      {R"({"faults":"often"})", "accepted are duplicate"},
      {R"({"faults":1})", "faults must be a string"},
      {R"({"faults":"none","queue":5})", "queue must be a string"},
      {R"({"faults":"none","Queue":"q"})", "there is no Queue"},
      {R"({"faults":"none","queue":""})", "is no queue's name"},
      {R"({"faults":"none","queue":"http://localhost/000000000000/q"})", "'http://localhost/000000000000/q' is no queue's name; expected the name alone"},
      {R"({"faults":"none","queue":".fifo"})", "is no queue's name"},
      {R"({"faults":"none","queue":")" + std::string(81, 'q') + "\"}", "is no queue's name"},
  };
  for (const auto& [body, says] : cases) {
    const auto refused = ChaosCommand::parse(body);
    ASSERT_FALSE(refused) << body;
    EXPECT_NE(refused.error().find(says), std::string::npos) << body << "\nsays " << refused.error();
  }
}

TEST_F(ChaosTest, RequestsThatAreNotOnMessagesAreLeftAlone) {
  Chaos chaos{plan_of("throttle=100%"), 1, log};
  engine::Request request = engine::PurgeQueue{{"000000000000", "us-east-1", "q"}};
  EXPECT_FALSE(chaos.meddle(request, messages).throttle);
}

// --- In the data plane ------------------------------------------------------------------------------------------------

struct ChaosServer : ChaosTest {
  Chaos chaos{FaultPlan{}, 1, log};
  TestServer server{ServerSetup{.chaos = &chaos}};
  HttpClient client = server.connect();

  void SetUp() override { ASSERT_EQ(client.call(sqs("CreateQueue", R"({"QueueName":"q"})")).status, 200); }
  void inject(std::string_view faults) { chaos.set("q", plan_of(faults)); }
  Answer ask(std::string_view action, std::string_view rest = "") { return client.call(sqs_on("q", action, rest)); }
};

TEST_F(ChaosServer, AThrottledRequestIsRefusedAndNotCarriedOut) {
  inject("throttle=100%");
  const Answer answer = ask("SendMessage", R"("MessageBody":"m")");
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("RequestThrottled"), std::string::npos) << answer.body;
  inject("none");
  EXPECT_EQ(ask("ReceiveMessage").body, "{}");
}

TEST_F(ChaosServer, AnEmptyReceiveTakesNothing) {
  ASSERT_EQ(ask("SendMessage", R"("MessageBody":"m")").status, 200);
  inject("receive-empty=100%");
  EXPECT_EQ(ask("ReceiveMessage", R"("WaitTimeSeconds":20)").body, "{}");
  inject("none");
  EXPECT_NE(ask("ReceiveMessage").body.find(R"("Body":"m")"), std::string::npos);
}

TEST_F(ChaosServer, ALostResponseWasCarriedOut) {
  inject("lose-response=100%");
  EXPECT_EQ(ask("SendMessage", R"("MessageBody":"m")").status, 0) << "the connection ends without an answer";
  inject("none");
  client = server.connect();
  EXPECT_NE(ask("ReceiveMessage").body.find(R"("Body":"m")"), std::string::npos);
}

TEST_F(ChaosServer, AReceiveWhoseResponseIsLostHidesTheMessage) {
  ASSERT_EQ(ask("SendMessage", R"("MessageBody":"m")").status, 200);
  inject("lose-response=100%");
  EXPECT_EQ(ask("ReceiveMessage").status, 0);
  inject("none");
  client = server.connect();
  EXPECT_EQ(ask("ReceiveMessage").body, "{}");
}

TEST_F(ChaosServer, ALongPollsResponseIsLostToo) {
  inject("lose-response=100%");
  client.send(sqs_on("q", "ReceiveMessage", R"("WaitTimeSeconds":20)"));
  ASSERT_TRUE(eventually([&] { return server.waiting() == 1; }));
  inject("none");
  HttpClient other = server.connect();
  ASSERT_EQ(other.call(sqs_on("q", "SendMessage", R"("MessageBody":"m")")).status, 200);
  EXPECT_EQ(client.answer().status, 0);
  EXPECT_EQ(other.call(sqs_on("q", "ReceiveMessage")).body, "{}");
}

TEST_F(ChaosServer, ADuplicateComesTwiceWithOneId) {
  ASSERT_EQ(ask("SendMessage", R"("MessageBody":"m")").status, 200);
  inject("duplicate=100%");
  const std::string first = ask("ReceiveMessage").body;
  const std::string second = ask("ReceiveMessage").body;
  const auto id_of = [](const std::string& body) { return body.substr(body.find("MessageId"), 50); };
  EXPECT_EQ(id_of(first), id_of(second));
}

}  // namespace
}  // namespace fanfare::server::testing
