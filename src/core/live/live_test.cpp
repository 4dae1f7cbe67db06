// Rules of the pub/sub registry, with the ids of the requirements (L1 ...) in the names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/marks.h"
#include "core/live/event.h"
#include "core/live/observation.h"
#include "core/live/pubsub.h"

namespace fanfare::live {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Timestamp at(milliseconds since_start) { return timestamp_from_unix_ms(1'800'000'000'000) + since_start; }

SharedEvent event(std::string_view trigger, std::string_view payload, std::string_view id = "") {
  return std::make_shared<const Event>(Event{Trigger{trigger}, std::string{payload}, EventId{id}});
}

struct Registry {
  PubSub pubsub;
  SubscriptionId subscribe(std::vector<std::string> triggers, Filter filter = {}, BufferRules rules = {}) {
    std::vector<Trigger> names;
    for (auto& trigger : triggers) names.emplace_back(std::move(trigger));
    const auto id = pubsub.subscribe(names, std::move(filter), rules);
    EXPECT_TRUE(id.has_value());
    return id ? *id : SubscriptionId{};
  }
  Published publish(std::string_view trigger, std::string_view payload, std::string_view id = "",
                    Timestamp now = at(0s)) {
    return pubsub.publish(event(trigger, payload, id), now);
  }
  std::vector<std::string> take(SubscriptionId id) {
    std::vector<std::string> payloads;
    for (const auto& taken : pubsub.take(id).events) payloads.push_back(taken->payload);
    return payloads;
  }
};

Filter equal(std::string path, MatchValue value) { return Filter{{Term{std::move(path), std::move(value)}}}; }

// ---- subscriptions and ids

TEST(PubSub, L1L2EveryMatchingSubscriberGetsEachEventOnce) {
  Registry r;
  const auto a = r.subscribe({"ready"});
  const auto b = r.subscribe({"ready", "failed"});
  const auto c = r.subscribe({"failed"});
  const Published published = r.publish("ready", R"({"n":1})");
  EXPECT_EQ(published.outcome, Outcome::Dispatched);
  EXPECT_THAT(published.matches, ElementsAre(Match{a, Acceptance::Accepted}, Match{b, Acceptance::Accepted}));
  EXPECT_THAT(r.take(a), ElementsAre(R"({"n":1})"));
  EXPECT_THAT(r.take(a), IsEmpty());
  EXPECT_THAT(r.take(b), ElementsAre(R"({"n":1})"));
  EXPECT_THAT(r.take(c), IsEmpty());
}

TEST(PubSub, L3UnsubscribingRemovesThatIdAndNothingElse) {
  Registry r;
  const auto a = r.subscribe({"ready"});
  const auto b = r.subscribe({"ready"});
  const auto c = r.subscribe({"ready"});
  EXPECT_TRUE(r.pubsub.unsubscribe(a));
  EXPECT_FALSE(r.pubsub.unsubscribe(a)) << "an id ends once";
  EXPECT_EQ(r.publish("ready", "{}").matches.size(), 2u);
  EXPECT_EQ(r.take(b).size(), 1u);
  EXPECT_EQ(r.take(c).size(), 1u);
  EXPECT_EQ(r.pubsub.listeners(Trigger{"ready"}), 2u);
}

TEST(PubSub, L3AnIdIsNeverGivenOutTwice) {
  Registry r;
  const auto first = r.subscribe({"ready"});
  r.pubsub.unsubscribe(first);
  const auto second = r.subscribe({"ready"});
  EXPECT_NE(first, second);
  EXPECT_FALSE(r.pubsub.unsubscribe(first));
  EXPECT_EQ(r.pubsub.subscriptions(), 1u);
  r.publish("ready", "{}");
  EXPECT_THAT(r.take(first), IsEmpty());
  EXPECT_EQ(r.take(second).size(), 1u);
}

TEST(PubSub, ATriggerNamedTwiceDeliversOnce) {
  Registry r;
  const auto a = r.subscribe({"ready", "ready"});
  EXPECT_EQ(r.publish("ready", "{}").matches.size(), 1u);
  EXPECT_EQ(r.take(a).size(), 1u);
  EXPECT_TRUE(r.pubsub.unsubscribe(a));
  EXPECT_EQ(r.publish("ready", "{}").outcome, Outcome::NoListener);
}

TEST(PubSub, SubscribingNeedsATriggerAndRoom) {
  PubSub pubsub{{.subscriptions_max = 1, .duplicates = {}}};
  EXPECT_EQ(pubsub.subscribe({}, {}).error(), SubscribeError::NoTrigger);
  const std::vector<Trigger> nameless{Trigger{""}};
  EXPECT_EQ(pubsub.subscribe(nameless, {}).error(), SubscribeError::NoTrigger);
  const std::vector<Trigger> ready{Trigger{"ready"}};
  EXPECT_TRUE(pubsub.subscribe(ready, {}).has_value());
  EXPECT_EQ(pubsub.subscribe(ready, {}).error(), SubscribeError::TooManySubscriptions);
}

TEST(PubSub, L4CloseEndsAllSubscriptionsAndLeavesEventsToOthers) {
  Registry r;
  const auto a = r.subscribe({"ready"});
  const auto b = r.subscribe({"failed"});
  EXPECT_THAT(r.pubsub.close(), ElementsAre(a, b));
  EXPECT_TRUE(r.pubsub.closed());
  const Published published = r.publish("ready", "{}");
  EXPECT_EQ(published.outcome, Outcome::Closed);
  EXPECT_FALSE(published.deletable());
  const std::vector<Trigger> ready{Trigger{"ready"}};
  EXPECT_EQ(r.pubsub.subscribe(ready, {}).error(), SubscribeError::Closed);
  EXPECT_THAT(r.pubsub.close(), IsEmpty());
}

// ---- what may be deleted

TEST(PubSub, L5AValidEventWithoutListenerIsDeletable) {
  Registry r;
  const Published published = r.publish("ready", R"({"n":1})");
  EXPECT_EQ(published.outcome, Outcome::NoListener);
  EXPECT_TRUE(published.deletable());
}

TEST(PubSub, L6MalformedJsonStaysUndeletedWithAndWithoutListener) {
  for (const bool listener : {false, true}) {
    Registry r;
    SubscriptionId a;
    if (listener) a = r.subscribe({"ready"});
    for (const char* bad : {"", "{", "{\"a\":1} x", "nul", "{\"a\":\"\xff\"}", "[1,]"}) {
      const Published published = r.publish("ready", bad, "id-1");
      EXPECT_EQ(published.outcome, Outcome::Malformed) << bad;
      EXPECT_EQ(published.fault, EventFault::MalformedJson) << bad;
      EXPECT_FALSE(published.deletable()) << bad;
    }
    EXPECT_THAT(r.take(a), IsEmpty());
    EXPECT_EQ(r.pubsub.counters().malformed, 6u);
    EXPECT_TRUE(r.publish("ready", "{}", "id-1").deletable()) << "a malformed event's id is not remembered as done";
  }
}

TEST(PubSub, L6NestingWithoutEndIsMalformed) {
  Registry r;
  EXPECT_EQ(r.publish("ready", std::string(100'000, '[')).fault, EventFault::MalformedJson);
}

TEST(PubSub, L6AnEventWithoutTriggerStaysUndeleted) {
  Registry r;
  const Published published = r.publish("", "{}");
  EXPECT_EQ(published.fault, EventFault::MissingTrigger);
  EXPECT_FALSE(published.deletable());
}

TEST(PubSub, L7AnEventIsInTheBuffersWhenPublishReturns) {
  Registry r;
  const auto a = r.subscribe({"ready"});
  const Published published = r.publish("ready", R"({"n":1})");
  ASSERT_TRUE(published.deletable());
  EXPECT_EQ(r.take(a).size(), 1u);
}

// ---- duplicates

TEST(PubSub, L8ADuplicateReachesNobodyWithinFiveMinutes) {
  Registry r;
  const auto a = r.subscribe({"ready"});
  r.publish("ready", "{}", "m-1", at(0s));
  EXPECT_MARKED(duplicate_event, {
    const Published again = r.publish("ready", "{}", "m-1", at(299s));
    EXPECT_EQ(again.outcome, Outcome::Duplicate);
    EXPECT_TRUE(again.deletable());
  });
  EXPECT_EQ(r.take(a).size(), 1u);
  EXPECT_EQ(r.publish("ready", "{}", "m-1", at(300s)).outcome, Outcome::Dispatched) << "the window is over";
}

TEST(PubSub, L8EventsWithoutAnIdAreNoDuplicates) {
  Registry r;
  const auto a = r.subscribe({"ready"});
  r.publish("ready", "{}");
  r.publish("ready", "{}");
  EXPECT_EQ(r.take(a).size(), 2u);
}

TEST(DuplicateWindow, L8HoldsABoundedNumberOfIds) {
  DuplicateWindow window{{.age = 300s, .count = 3}};
  for (const char* id : {"a", "b", "c", "d"}) window.remember(EventId{id}, at(0s));
  EXPECT_EQ(window.size(), 3u);
  EXPECT_FALSE(window.contains(EventId{"a"}, at(0s)));
  EXPECT_TRUE(window.contains(EventId{"b"}, at(0s)));
  EXPECT_TRUE(window.contains(EventId{"d"}, at(0s)));
  EXPECT_FALSE(window.contains(EventId{"d"}, at(300s)));
  EXPECT_EQ(window.size(), 0u);
}

// ---- slow consumers

TEST(PubSub, L9ADisconnectedSubscriberDoesNotTouchTheOthers) {
  Registry r;
  const auto slow =
      r.subscribe({"ready"}, {}, {.bytes_max = 2 * (kBufferedEventBytes + 7), .policy = SlowConsumer::Disconnect});
  const auto fast = r.subscribe({"ready"});
  for (int n = 1; n <= 2; ++n) EXPECT_EQ(r.publish("ready", R"({"n":1})").matches.size(), 2u);
  const Published third = r.publish("ready", R"({"n":3})");
  EXPECT_THAT(third.matches, ElementsAre(Match{slow, Acceptance::Overflowed}, Match{fast, Acceptance::Accepted}));
  EXPECT_TRUE(third.deletable());
  EXPECT_THAT(r.publish("ready", R"({"n":4})").matches, ElementsAre(Match{fast, Acceptance::Accepted}));
  const Taken taken = r.pubsub.take(slow);
  EXPECT_TRUE(taken.overflowed);
  EXPECT_THAT(taken.events, IsEmpty());
  EXPECT_EQ(taken.dropped, 3u);
  EXPECT_EQ(r.take(fast).size(), 4u);
  EXPECT_EQ(r.pubsub.subscriptions(), 2u) << "its owner still has to unsubscribe";
  EXPECT_TRUE(r.pubsub.unsubscribe(slow));
  EXPECT_EQ(r.pubsub.counters().listener_failures, 1u);
}

TEST(PubSub, L9DropOldestKeepsTheNewestAndSaysHowManyWent) {
  Registry r;
  const auto slow =
      r.subscribe({"ready"}, {}, {.bytes_max = 2 * (kBufferedEventBytes + 7), .policy = SlowConsumer::DropOldest});
  for (const char* payload : {R"({"n":1})", R"({"n":2})", R"({"n":3})"}) r.publish("ready", payload);
  Taken taken = r.pubsub.take(slow, 1);
  ASSERT_EQ(taken.events.size(), 1u);
  EXPECT_EQ(taken.events[0]->payload, R"({"n":2})");
  EXPECT_EQ(taken.dropped, 1u);
  EXPECT_FALSE(taken.overflowed);
  taken = r.pubsub.take(slow);
  ASSERT_EQ(taken.events.size(), 1u);
  EXPECT_EQ(taken.events[0]->payload, R"({"n":3})");
  EXPECT_EQ(taken.dropped, 0u) << "reported once";
}

TEST(PubSub, L9AnEventLargerThanTheBufferIsDroppedAndCounted) {
  Registry r;
  const auto slow = r.subscribe({"ready"}, {}, {.bytes_max = 100, .policy = SlowConsumer::DropOldest});
  r.publish("ready", R"({"n":1})");
  EXPECT_MARKED(event_larger_than_buffer, r.publish("ready", R"({"text":")" + std::string(200, 'x') + R"("})"));
  const Taken taken = r.pubsub.take(slow);
  EXPECT_THAT(taken.events, IsEmpty());
  EXPECT_EQ(taken.dropped, 2u);
}

TEST(PubSub, L9OverflowOfASubscriptionWithSeveralTriggersEndsAllOfThem) {
  Registry r;
  const auto slow = r.subscribe({"ready", "failed"}, {}, {.bytes_max = 10, .policy = SlowConsumer::Disconnect});
  EXPECT_THAT(r.publish("ready", "{}").matches, ElementsAre(Match{slow, Acceptance::Overflowed}));
  EXPECT_EQ(r.publish("failed", "{}").outcome, Outcome::NoListener);
  EXPECT_TRUE(r.pubsub.unsubscribe(slow));
}

TEST(PubSub, ABufferKeepsItsOrderOverManyPartialTakes) {
  Registry r;
  const auto a = r.subscribe({"ready"});
  int published = 0;
  int taken = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 3; ++i) r.publish("ready", std::to_string(published++));
    for (const auto& one : r.pubsub.take(a, 2).events) EXPECT_EQ(one->payload, std::to_string(taken++));
  }
  for (const auto& one : r.pubsub.take(a).events) EXPECT_EQ(one->payload, std::to_string(taken++));
  EXPECT_EQ(taken, published);
}

// ---- filters

struct MatchCase {
  const char* payload;
  const char* path;
  MatchValue value;
  bool matches;
};

TEST(Filter, ComparesByGraphqlValue) {
  const MatchCase cases[] = {
      {R"({"a":"x"})", "a", MatchValue::text("x"), true},
      {R"({"a":"x"})", "a", MatchValue::text("X"), false},
      {R"({"a":"\u0078"})", "a", MatchValue::text("x"), true},
      {R"({"a":7})", "a", MatchValue::text("7"), true},
      {R"({"a":7})", "a", MatchValue::text("07"), false},
      {R"({"a":7.5})", "a", MatchValue::text("7.5"), false},
      {R"({"a":true})", "a", MatchValue::text("true"), false},
      {R"({"a":7})", "a", MatchValue::number(std::int64_t{7}), true},
      {R"({"a":7.0})", "a", MatchValue::number(std::int64_t{7}), true},
      {R"({"a":70e-1})", "a", MatchValue::number(7.0), true},
      {R"({"a":7.5})", "a", MatchValue::number(7.5), true},
      {R"({"a":-0.0})", "a", MatchValue::number(std::int64_t{0}), true},
      {R"({"a":"7"})", "a", MatchValue::number(std::int64_t{7}), false},
      {R"({"a":9007199254740993})", "a", MatchValue::number(std::int64_t{9007199254740993}), true},
      {R"({"a":9007199254740993})", "a", MatchValue::number(std::int64_t{9007199254740992}), false},
      {R"({"a":123456789012345678901234567890})", "a", MatchValue::text("123456789012345678901234567890"), true},
      {R"({"a":1e400,"b":"x"})", "b", MatchValue::text("x"), true},
      {R"({"a":true})", "a", MatchValue::boolean(true), true},
      {R"({"a":true})", "a", MatchValue::boolean(false), false},
      {R"({"a":1})", "a", MatchValue::boolean(true), false},
      {R"({"a":null})", "a", MatchValue::text("null"), false},
      {R"({"a":{"b":"x"}})", "a.b", MatchValue::text("x"), true},
      {R"({"a":{"b":{"c":1}}})", "a.b.c", MatchValue::text("1"), true},
      {R"({"a":{"b":{"c":1}}})", "a.b", MatchValue::text("1"), false},
      {R"({"a":["x"]})", "a", MatchValue::text("x"), false},
      {R"({})", "a", MatchValue::text(""), false},
      {R"({"a":""})", "a", MatchValue::text(""), true},
      {R"("a")", "a", MatchValue::text("a"), false},
      {R"([])", "a", MatchValue::text("a"), false},
  };
  for (const MatchCase& one : cases) {
    Registry r;
    const auto id = r.subscribe({"ready"}, equal(one.path, one.value));
    r.publish("ready", one.payload);
    EXPECT_EQ(!r.take(id).empty(), one.matches) << one.payload << " at " << one.path << " equals " << one.value.key();
  }
}

TEST(Filter, AllTermsMustMatchWhateverTheirOrder) {
  Registry r;
  const Term workspace{"workspace", MatchValue::text("docs")};
  const Term document{"document", MatchValue::text("d-7")};
  const auto both = r.subscribe({"ready"}, Filter{{workspace, document}});
  const auto reversed = r.subscribe({"ready"}, Filter{{document, workspace}});
  const auto one = r.subscribe({"ready"}, Filter{{workspace}});
  const auto all = r.subscribe({"ready"});
  r.publish("ready", R"({"workspace":"docs","document":"d-7"})");
  r.publish("ready", R"({"workspace":"docs","document":"d-8"})");
  r.publish("ready", R"({"workspace":"other","document":"d-7"})");
  EXPECT_EQ(r.take(both).size(), 1u);
  EXPECT_EQ(r.take(reversed).size(), 1u);
  EXPECT_EQ(r.take(one).size(), 2u);
  EXPECT_EQ(r.take(all).size(), 3u);
}

TEST(Filter, ValuesDoNotRunIntoEachOther) {
  Registry r;
  const auto id = r.subscribe({"ready"}, Filter{{{"a", MatchValue::text("x")}, {"b", MatchValue::text("yz")}}});
  r.publish("ready", R"({"a":"xy","b":"z"})");
  EXPECT_THAT(r.take(id), IsEmpty());
}

TEST(Filter, TwoTermsOnOneMemberMustBothHold) {
  Registry r;
  const auto never = r.subscribe({"ready"}, Filter{{{"a", MatchValue::text("x")}, {"a", MatchValue::text("y")}}});
  const auto twice =
      r.subscribe({"ready"}, Filter{{{"a", MatchValue::text("1")}, {"a", MatchValue::number(std::int64_t{1})}}});
  r.publish("ready", R"({"a":"x"})");
  r.publish("ready", R"({"a":1})");
  EXPECT_THAT(r.take(never), IsEmpty());
  EXPECT_EQ(r.take(twice).size(), 1u);
}

TEST(PubSub, AKnownEventIsMatchedWithoutLookingAtItsPayload) {
  Registry r;
  const auto mine = r.subscribe({"inbox"}, equal("recipient", MatchValue::text("alice")));
  const auto other = r.subscribe({"inbox"}, equal("recipient", MatchValue::text("bob")));
  const NamedScalar members[] = {{"recipient", {Scalar::Type::String, "alice"}}};
  EXPECT_EQ(r.pubsub.publish_known(event("inbox", "not json"), members, at(0s)).outcome, Outcome::Dispatched);
  EXPECT_EQ(r.take(mine).size(), 1u);
  EXPECT_THAT(r.take(other), IsEmpty());
}

// ---- messages

TEST(ReadEvent, L2TakesTheTriggerFromTheMessageAttribute) {
  wire::json::Reader reader;
  const MessageAttribute attributes[] = {{"SQSPubSubTriggerName", "document.ready"}};
  const auto read = read_event({R"({"a":1})", attributes, "m-1"}, {}, reader);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->trigger, Trigger{"document.ready"});
  EXPECT_EQ(read->payload, R"({"a":1})");
  EXPECT_EQ(read->id, EventId{"m-1"});
}

TEST(ReadEvent, L2TheAttributeNameIsConfigurable) {
  wire::json::Reader reader;
  const MessageAttribute attributes[] = {{"topic", "document.ready"}};
  EXPECT_TRUE(read_event({"{}", attributes, "m-1"}, {.trigger_attribute = "topic"}, reader).has_value());
  EXPECT_EQ(read_event({"{}", attributes, "m-1"}, {}, reader).error(), EventFault::MissingTrigger);
}

constexpr const char* kEnvelope =
    R"({"Type":"Notification","MessageId":"sns-1","TopicArn":"arn:aws:sns:us-east-1:000000000000:t",
  "Message":"{\"a\":\"\\u00e9\"}",
  "MessageAttributes":{"SQSPubSubTriggerName":{"Type":"String","Value":"document.ready"}}})";

TEST(ReadEvent, L2OpensAnSnsEnvelope) {
  wire::json::Reader reader;
  const auto read = read_event({kEnvelope, {}, "sqs-1"}, {}, reader);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->trigger, Trigger{"document.ready"});
  EXPECT_EQ(read->payload, "{\"a\":\"\\u00e9\"}");
  EXPECT_EQ(read->id, EventId{"sns-1"}) << "the SNS id goes before the SQS id";
}

TEST(ReadEvent, L2ATriggerOfTheMessageItselfMakesItRaw) {
  wire::json::Reader reader;
  const MessageAttribute attributes[] = {{"SQSPubSubTriggerName", "raw"}};
  const auto read = read_event({kEnvelope, attributes, "sqs-1"}, {}, reader);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->trigger, Trigger{"raw"});
  EXPECT_EQ(read->payload, kEnvelope);
}

TEST(ReadEvent, L8TheEventIdAttributeGoesFirst) {
  wire::json::Reader reader;
  const MessageAttribute attributes[] = {{"SQSPubSubTriggerName", "t"}, {"FanfareEventId", "job-7"}};
  EXPECT_EQ(read_event({"{}", attributes, "sqs-1"}, {}, reader)->id, EventId{"job-7"});
  const std::string long_id(kEventIdBytesMax + 1, 'x');
  const MessageAttribute overlong[] = {{"SQSPubSubTriggerName", "t"}, {"FanfareEventId", long_id}};
  EXPECT_EQ(read_event({"{}", overlong, "sqs-1"}, {}, reader)->id, EventId{"sqs-1"});
  const auto enveloped = read_event({R"({"Type":"Notification","MessageId":"sns-1","Message":"{}","MessageAttributes":{
         "SQSPubSubTriggerName":{"Type":"String","Value":"t"},"FanfareEventId":{"Type":"String","Value":"job-8"}}})",
                                     {},
                                     "sqs-1"},
                                    {}, reader);
  EXPECT_EQ(enveloped->id, EventId{"job-8"});
}

TEST(ReadEvent, L6SaysWhatIsWrong) {
  wire::json::Reader reader;
  const struct {
    const char* body;
    EventFault fault;
  } cases[] = {
      {"{", EventFault::MalformedJson},
      {"plain text", EventFault::MalformedJson},
      {"{}", EventFault::MissingTrigger},
      {"7", EventFault::MissingTrigger},
      {R"({"n":1e999})", EventFault::MissingTrigger},
      {R"({"Type":"Notification","Message":"{}"})", EventFault::MissingTrigger},
      {R"({"Type":"Notification","Message":"{}",
           "MessageAttributes":{"SQSPubSubTriggerName":{"Type":"String","Value":""}}})",
       EventFault::MissingTrigger},
      {R"({"Type":"Notification","Message":{},
           "MessageAttributes":{"SQSPubSubTriggerName":{"Type":"String","Value":"t"}}})",
       EventFault::MissingTrigger},
      {R"({"Type":"Notification","Message":"{}","MessageAttributes":7})", EventFault::MissingTrigger},
  };
  for (const auto& one : cases) {
    const auto read = read_event({one.body, {}, "m-1"}, {}, reader);
    ASSERT_FALSE(read.has_value()) << one.body;
    EXPECT_EQ(read.error(), one.fault) << one.body;
  }
}

// ---- observers

TEST(Observation, L11TellsPhasesWithoutPayloads) {
  Registry r;
  r.subscribe({"ready"});
  r.subscribe({"ready"}, {}, {.bytes_max = 1, .policy = SlowConsumer::Disconnect});
  const auto check = [](const Event& about, const Published& published, std::vector<std::string> expected) {
    std::vector<std::string> got;
    for (const Observation& seen : observations(about, published))
      got.push_back(std::string{name(seen.phase)} + " " + seen.trigger + " " + seen.message_id + " " +
                    std::to_string(seen.listeners) + " " + std::string{seen.category});
    EXPECT_EQ(got, expected);
  };
  const SharedEvent good = event("ready", R"({"secret":1})", "m-1");
  check(*good, r.pubsub.publish(good, at(0s)),
        {"receive ready m-1 0 ", "dispatch ready m-1 2 ", "listener_failure ready m-1 1 overflow"});
  check(*good, r.pubsub.publish(good, at(0s)), {"receive ready m-1 0 ", "dispatch ready m-1 0 duplicate"});
  const SharedEvent bad = event("ready", "{", "m-2");
  check(*bad, r.pubsub.publish(bad, at(0s)), {"receive ready m-2 0 ", "validation ready m-2 0 malformed_json"});
  const SharedEvent unheard = event("failed", "{}", "m-3");
  check(*unheard, r.pubsub.publish(unheard, at(0s)), {"receive failed m-3 0 ", "dispatch failed m-3 0 no_listener"});
  r.pubsub.close();
  check(*unheard, r.pubsub.publish(unheard, at(0s)), {"receive failed m-3 0 closed"});
}

TEST(Counters, CountWhatHappened) {
  Registry r;
  r.subscribe({"ready"});
  r.publish("ready", "{}", "a");
  r.publish("ready", "{}", "a");
  r.publish("failed", "{}");
  r.publish("ready", "{");
  const Counters& counters = r.pubsub.counters();
  EXPECT_EQ(counters.received, 4u);
  EXPECT_EQ(counters.dispatched, 1u);
  EXPECT_EQ(counters.duplicates, 1u);
  EXPECT_EQ(counters.without_listener, 1u);
  EXPECT_EQ(counters.malformed, 1u);
}

}  // namespace
}  // namespace fanfare::live
