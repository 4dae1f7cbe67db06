// Subscriptions whose messages leave the process, the directory, permissions, and filters by the topic's index.
#include <gtest/gtest.h>

#include "core/engine/test_support.h"

namespace fanfare::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kOwn = kOutboundAccount;

topic::SubscriptionChanges changes(std::string_view filter = {}, std::string_view dead = {}) {
  topic::SubscriptionChanges changes;
  if (!filter.empty()) changes.filter_policy = std::string{filter};
  if (!dead.empty()) changes.redrive_policy = topic::SubscriptionChanges::RedriveChange{topic::RedrivePolicy{QueueArn{queue_arn(dead)}}};
  return changes;
}

Subscribed subscribe_http(EngineFixture& engine, std::string_view endpoint, const topic::SubscriptionChanges& attributes = {}) {
  Subscribe request = engine.subscription("t", endpoint, attributes);
  request.protocol = topic::DeliveryProtocol::Http;
  request.fresh_message = MessageId{Uuid::from_random(engine.secrets.bytes16())};
  return engine.call<Subscribed>(request);
}

std::vector<Got> take(EngineFixture& engine, std::size_t which = 0) {
  const auto endpoints = engine.engine.outbound_endpoints();
  if (which >= endpoints.size()) {
    ADD_FAILURE() << "no outbound endpoint " << which;
    return {};
  }
  ReceiveMessages request;
  request.queue = endpoints[which].queue.view();
  request.max_messages = *queue::MaxMessages::of(10);
  request.visibility_timeout = *queue::VisibilityTimeout::of(60);
  return engine.received(engine.ask(request, kOwn));
}

void settle(EngineFixture& engine, const Got& got, bool delivered, std::size_t which = 0) {
  SettleDelivery request;
  const QueueKey key = engine.engine.outbound_endpoints()[which].queue;
  request.queue = key.view();
  request.handle = got.message.handle;
  request.delivered = delivered;
  request.detail = "HTTP status 500";
  engine.call<Done>(request, kOwn);
}

struct Metrics final : MetricsVisitor {
  std::size_t queues = 0;
  TopicCounters counters;
  void queue(const QueueKey&, const MessageCounts&, std::optional<Timestamp>, const QueueCounters&) override { ++queues; }
  void topic(const TopicKey&, const TopicCounters& its) override { counters = its; }
};

void confirm(EngineFixture& engine) { engine.call<Subscribed>(ConfirmSubscription{topic_key("t"), "token", false}); }

TEST(Outbound, AConfirmationWaitsForTheEndpointBeforeAnythingElse) {
  EngineFixture engine;
  engine.create_topic("t");
  EXPECT_TRUE(subscribe_http(engine, "http://h/x").pending);
  engine.publish("t", "too early");
  auto messages = take(engine);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_FALSE(messages[0].message.envelope.has_value());
  EXPECT_NE(messages[0].body.find("You have chosen to subscribe"), std::string::npos);
  settle(engine, messages[0], true);
  confirm(engine);
  engine.publish("t", "hello");
  messages = take(engine);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].body, "hello");
  EXPECT_TRUE(messages[0].message.envelope.has_value());
  Metrics metrics;
  engine.engine.visit_metrics(metrics);
  EXPECT_EQ(metrics.counters.delivered, 0u) << "not before the endpoint has it";
  EXPECT_EQ(metrics.queues, 0u) << "outbound queues are nobody's queues";
  settle(engine, messages[0], true);
  engine.engine.visit_metrics(metrics);
  EXPECT_EQ(metrics.counters.delivered, 1u);
}

TEST(Outbound, ATokenIsGoodForTwoDays) {
  EngineFixture engine;
  engine.create_topic("t");
  subscribe_http(engine, "http://h/x");
  engine.pass(std::chrono::hours{48});
  EXPECT_EQ(engine.topic_error(ConfirmSubscription{topic_key("t"), "token", false}), TopicError::Code::InvalidToken);
}

TEST(Outbound, WhatTheEndpointRefusesGoesToTheSubscriptionsDeadLetterQueue) {
  EngineFixture engine;
  engine.create_topic("t");
  engine.create_queue_for("dead", "t");
  subscribe_http(engine, "http://h/x", changes({}, "dead"));
  settle(engine, take(engine)[0], true);
  confirm(engine);
  engine.publish("t", "refused");
  settle(engine, take(engine)[0], false);
  const auto dead = engine.receive("dead");
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].body, "refused");
  EXPECT_TRUE(dead[0].message.envelope.has_value());
  EXPECT_EQ(dead[0].message.dead_letter_source, nullptr);
  Metrics metrics;
  engine.engine.visit_metrics(metrics);
  EXPECT_EQ(metrics.counters.failed, 1u);
  EXPECT_EQ(metrics.counters.redriven, 1u);
  ASSERT_EQ(engine.engine.failed_deliveries().size(), 1u);
  EXPECT_EQ(engine.engine.failed_deliveries()[0].why, "HTTP status 500");
}

TEST(Outbound, WaitsThroughARestart) {
  EngineFixture engine;
  engine.create_topic("t");
  subscribe_http(engine, "http://h/x");
  settle(engine, take(engine)[0], true);
  confirm(engine);
  engine.publish("t", "hello");
  EngineFixture other = engine.replayed(2);
  EXPECT_EQ(other.engine.outbound_endpoints().size(), 1u);
  EXPECT_EQ(take(other)[0].body, "hello");
  std::vector<std::string> sections;
  engine.engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  std::size_t next = 0;
  auto loaded = Engine::load(EngineFixture::with_frame({}), [&]() -> std::optional<std::string> {
    if (next == sections.size()) return std::nullopt;
    return sections[next++];
  });
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->debug_state(), engine.engine.debug_state());
  EXPECT_EQ(loaded->outbound_endpoints().size(), 1u);
}

TEST(Outbound, EndsWithItsSubscriptionAndItsTopic) {
  EngineFixture engine;
  engine.create_topic("t");
  const Subscribed one = subscribe_http(engine, "http://h/1");
  subscribe_http(engine, "http://h/2");
  const auto generation = engine.engine.outbound_generation();
  ReceiveMessages wait;
  const QueueKey first = engine.engine.outbound_endpoints()[0].queue;
  settle(engine, take(engine)[0], true);
  wait.queue = first.view();
  wait.wait = *queue::ReceiveWait::of(20);
  const CallerId waiting = engine.ask(wait, kOwn);
  engine.call<Done>(Unsubscribe{SubscriptionKeyView{topic_key("t"), one.uuid}});
  EXPECT_EQ(engine.expect<QueueError>(waiting).code, QueueError::Code::QueueDoesNotExist);
  EXPECT_EQ(engine.engine.outbound_endpoints().size(), 1u);
  EXPECT_NE(engine.engine.outbound_generation(), generation);
  engine.call<Done>(DeleteTopic{topic_key("t")});
  EXPECT_TRUE(engine.engine.outbound_endpoints().empty());
}

TEST(Outbound, WhoeverHasTheUrlMayUnsubscribeUnlessTheConfirmationAskedForASignature) {
  for (const bool authenticated : {false, true}) {
    EngineFixture engine;
    engine.create_topic("t");
    const Subscribed subscribed = subscribe_http(engine, "http://h/x");
    engine.call<Subscribed>(ConfirmSubscription{topic_key("t"), "token", authenticated});
    Caller nobody;
    nobody.id = {9'999};
    nobody.principal.kind = policy::Principal::Kind::Anonymous;
    nobody.identity.unrestricted = false;
    engine.input(Command{nobody, Unsubscribe{SubscriptionKeyView{topic_key("t"), subscribed.uuid}}});
    EXPECT_EQ(engine.failed(nobody.id), authenticated);
    EXPECT_EQ(engine.engine.outbound_endpoints().size(), authenticated ? 1u : 0u);
  }
}

Caller nobody(std::uint64_t id) {
  Caller caller;
  caller.id = {id};
  caller.principal.kind = policy::Principal::Kind::Anonymous;
  caller.identity.unrestricted = false;
  return caller;
}

/// A confirmed subscription that somebody ended by its URL.
Subscribed left(EngineFixture& engine) {
  const Subscribed subscribed = subscribe_http(engine, "http://h/x");
  engine.call<Subscribed>(ConfirmSubscription{topic_key("t"), "token", false});
  settle(engine, take(engine)[0], true);
  engine.input(Command{nobody(9'999), Unsubscribe{{topic_key("t"), subscribed.uuid}, "farewell", MessageId{Uuid::from_random(engine.secrets.bytes16())}}});
  EXPECT_FALSE(engine.failed({9'999}));
  return subscribed;
}

TEST(Outbound, AnEndpointThatLostItsSubscriptionIsToldHowToRestoreIt) {
  EngineFixture engine;
  engine.create_topic("t");
  const Subscribed subscribed = left(engine);
  EXPECT_EQ(engine.topic_error(DescribeSubscription{{topic_key("t"), subscribed.uuid}}), TopicError::Code::SubscriptionDoesNotExist);
  EXPECT_TRUE(engine.call<Subscriptions>(ListSubscriptionsByTopic{topic_key("t"), {}, 10}).subscriptions.empty());
  EXPECT_TRUE(engine.call<Subscriptions>(ListSubscriptions{kAccount, kRegion, {}, 10}).subscriptions.empty());
  EXPECT_EQ(engine.call<TopicDescription>(DescribeTopic{topic_key("t")}).subscriptions_deleted, 1u);
  engine.publish("t", "not for it");
  const auto farewell = take(engine);
  ASSERT_EQ(farewell.size(), 1u);
  EXPECT_TRUE(farewell[0].body.starts_with("You have chosen to deactivate subscription arn:aws:sns:us-east-1:000000000000:t:")) << farewell[0].body;
  settle(engine, farewell[0], true);
  EXPECT_TRUE(take(engine).empty());
  EXPECT_EQ(engine.replayed(1).engine.debug_state(), engine.engine.debug_state());

  EXPECT_EQ(engine.topic_error(ConfirmSubscription{topic_key("t"), "token", false}), TopicError::Code::InvalidToken);
  EXPECT_EQ(engine.call<Subscribed>(ConfirmSubscription{topic_key("t"), "farewell", false}).uuid, subscribed.uuid);
  EXPECT_EQ(engine.topic_error(ConfirmSubscription{topic_key("t"), "farewell", false}), TopicError::Code::InvalidToken);
  EXPECT_EQ(engine.call<TopicDescription>(DescribeTopic{topic_key("t")}).subscriptions_deleted, 0u);
  engine.publish("t", "for it");
  EXPECT_EQ(take(engine)[0].body, "for it");
  EXPECT_EQ(engine.replayed(1).engine.debug_state(), engine.engine.debug_state());
}

TEST(Outbound, WhoLeftForGoodIsForgottenWithItsToken) {
  EngineFixture engine;
  engine.create_topic("t");
  left(engine);
  engine.pass(48h - 1ms);
  EXPECT_EQ(engine.engine.outbound_endpoints().size(), 1u);
  engine.pass(1ms);
  EXPECT_TRUE(engine.engine.outbound_endpoints().empty());
  EXPECT_EQ(engine.topic_error(ConfirmSubscription{topic_key("t"), "farewell", false}), TopicError::Code::InvalidToken);
  EXPECT_EQ(engine.engine.needed_bytes(), 0u);
}

TEST(Outbound, WhoSubscribedAnewIsNotRestoredTwice) {
  EngineFixture engine;
  engine.create_topic("t");
  const Subscribed first = left(engine);
  const Subscribed second = subscribe_http(engine, "http://h/x");
  EXPECT_NE(first.uuid, second.uuid);
  std::vector<std::string> sections;
  engine.engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  std::size_t next = 0;
  auto loaded = Engine::load(EngineFixture::with_frame({}), [&]() -> std::optional<std::string> {
    if (next == sections.size()) return std::nullopt;
    return sections[next++];
  });
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->debug_state(), engine.engine.debug_state());
  engine.engine = std::move(*loaded);
  EXPECT_EQ(engine.call<Subscribed>(ConfirmSubscription{topic_key("t"), "farewell", false}).uuid, second.uuid);
  EXPECT_EQ(subscribe_http(engine, "http://h/x").uuid, second.uuid) << "the name is the newer one's";
  engine.call<Done>(DeleteTopic{topic_key("t")});
  EXPECT_TRUE(engine.engine.outbound_endpoints().empty());
}

TEST(Outbound, ItsOwnerIsToldNothing) {
  EngineFixture engine;
  engine.create_topic("t");
  const Subscribed subscribed = subscribe_http(engine, "http://h/x");
  engine.call<Subscribed>(ConfirmSubscription{topic_key("t"), "token", false});
  engine.call<Done>(Unsubscribe{{topic_key("t"), subscribed.uuid}, "farewell", {}});
  EXPECT_TRUE(engine.engine.outbound_endpoints().empty());
}

// In development mode an unsigned request has all rights, and is nobody's all the same.
TEST(Outbound, WhoeverComesByTheUrlIsNotTheOwner) {
  EngineFixture engine;
  engine.create_topic("t");
  const Subscribed subscribed = subscribe_http(engine, "http://h/x");
  engine.call<Subscribed>(ConfirmSubscription{topic_key("t"), "token", false});
  settle(engine, take(engine)[0], true);
  engine.call<Done>(Unsubscribe{{topic_key("t"), subscribed.uuid}, "farewell", MessageId{Uuid::from_random(engine.secrets.bytes16())}, true});
  EXPECT_EQ(take(engine).size(), 1u) << "the endpoint is told";
}

TEST(Outbound, WhatNobodyConfirmsIsForgottenWithItsToken) {
  EngineFixture engine;
  engine.create_topic("t");
  subscribe_http(engine, "http://h/1");
  engine.pass(24h);
  subscribe_http(engine, "http://h/2");
  engine.pass(24h);
  EXPECT_EQ(engine.call<TopicDescription>(DescribeTopic{topic_key("t")}).subscriptions_pending, 1u);
  EXPECT_EQ(engine.call<TopicDescription>(DescribeTopic{topic_key("t")}).subscriptions_deleted, 0u);
  EXPECT_EQ(engine.engine.outbound_endpoints().size(), 1u);
  EngineFixture again = engine.replayed(2);
  again.pass(24h);
  EXPECT_TRUE(again.engine.outbound_endpoints().empty());
  again.pass(24h);
  EXPECT_EQ(again.engine.needed_bytes(), 0u);
  EXPECT_EQ(again.engine.next_deadline(), std::nullopt);
}

TEST(Outbound, NobodyElseMayTouchItsQueue) {
  EngineFixture engine;
  engine.create_topic("t");
  subscribe_http(engine, "http://h/1");
  ReceiveMessages request;
  const QueueKey key = engine.engine.outbound_endpoints()[0].queue;
  request.queue = key.view();
  engine.call<AccessDenied>(request);
  EXPECT_TRUE(engine.call<QueueNames>(ListQueues{kAccount, kRegion, {}, {}}).keys.empty());
}

TEST(Captured, PhonesGetNothingAndNobodyClaimsIt) {
  EngineFixture engine;
  engine.create_topic("t");
  Subscribe request = engine.subscription("t", "+14155550100");
  request.protocol = topic::DeliveryProtocol::Sms;
  EXPECT_FALSE(engine.call<Subscribed>(request).pending);
  engine.publish("t", "hello");
  const auto captured = engine.engine.captured_messages();
  ASSERT_EQ(captured.size(), 1u);
  Metrics metrics;
  engine.engine.visit_metrics(metrics);
  EXPECT_EQ(metrics.counters.delivered, 0u);
  EXPECT_EQ(engine.replayed(2).engine.captured_messages().size(), 1u);
  EXPECT_EQ(engine.replayed(1).engine.debug_state(), engine.engine.debug_state());
}

TEST(Permissions, AStatementIsAddedAndTakenAway) {
  EngineFixture engine;
  engine.create_topic("t");
  const std::string_view accounts[] = {"111122223333"};
  const std::string_view actions[] = {"Publish"};
  engine.call<AccessDenied>(Publish{topic_key("t"), engine.publication("m")}, "111122223333");
  engine.call<Done>(AddTopicPermission{topic_key("t"), "share", accounts, actions});
  engine.call<Published>(Publish{topic_key("t"), engine.publication("m")}, "111122223333");
  EXPECT_EQ(engine.topic_error(AddTopicPermission{topic_key("t"), "share", accounts, actions}), TopicError::Code::StatementExists);
  const std::string_view unknown[] = {"Nothing"};
  EXPECT_EQ(engine.topic_error(AddTopicPermission{topic_key("t"), "bad", accounts, unknown}), TopicError::Code::ActionOutOfScope);
  engine.call<Done>(RemoveTopicPermission{topic_key("t"), "share"});
  engine.call<Done>(RemoveTopicPermission{topic_key("t"), "share"});
  engine.call<AccessDenied>(Publish{topic_key("t"), engine.publication("m")}, "111122223333");
}

TEST(Filters, SubscriptionsAreServedByAgeWhetherTheyHaveAFilterOrNot) {
  EngineFixture engine;
  engine.create_topic("t");
  for (const std::string_view queue : {"a", "b", "c"}) engine.create_queue_for(queue, "t");
  engine.subscribe("t", "a", changes(R"({"k":["x"]})"));
  engine.subscribe("t", "b");
  const Subscribed c = engine.subscribe("t", "c", changes(R"({"k":["y"]})"));
  const message::MessageAttribute x[] = {{"k", "String", "x"}};
  const message::MessageAttribute y[] = {{"k", "String", "y"}};
  engine.publish("t", "1", x);
  engine.publish("t", "2", y);
  EXPECT_EQ(engine.bodies("a"), "1");
  EXPECT_EQ(engine.bodies("b"), "1,2");
  EXPECT_EQ(engine.bodies("c"), "2");
  topic::SubscriptionChanges other;
  other.filter_policy = R"({"k":["x"]})";
  engine.call<Done>(ChangeSubscription{{topic_key("t"), c.uuid}, other});
  engine.publish("t", "3", x);
  EXPECT_EQ(engine.bodies("c"), "3");
  other.filter_policy = "";
  engine.call<Done>(ChangeSubscription{{topic_key("t"), c.uuid}, other});
  engine.publish("t", "4");
  EXPECT_EQ(engine.bodies("c"), "4");
  engine.call<Done>(Unsubscribe{{topic_key("t"), c.uuid}});
  engine.publish("t", "5");
  EXPECT_EQ(engine.bodies("c"), "");
  Metrics metrics;
  engine.engine.visit_metrics(metrics);
  EXPECT_EQ(metrics.counters.filtered, 2u);
  EXPECT_EQ(metrics.counters.filtered_no_attributes, 2u);
}

}  // namespace
}  // namespace fanfare::engine
