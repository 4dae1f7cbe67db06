// Rules that scenarios cannot show: durability, memory, deadlines, permission, replay. What users see is in scenarios/.
#include "core/engine/engine.h"

#include <gtest/gtest.h>

#include "core/engine/player.h"
#include "core/engine/test_support.h"

namespace fanfare::engine {
namespace {

using namespace std::chrono_literals;
using policy::Verdict;

TEST(Engine, RepliesNameTheRecordsThatTheyWaitFor) {
  EngineFixture e;
  const CallerId created = e.ask(CreateQueue{queue_key("q"), {}, {}});
  EXPECT_EQ(e.wait_of(created), e.engine.log_end());
  const CallerId sent = e.ask(SendMessage{queue_key("q"), e.outgoing("hello")});
  EXPECT_EQ(e.wait_of(sent), e.engine.log_end());
  const CallerId received = e.ask_receive("q");
  EXPECT_EQ(e.wait_of(received), std::nullopt) << "a receive waits for nothing";
  const ReceiptHandle handle = e.received(received)[0].message.handle;
  const CallerId extended = e.ask(ChangeVisibility{queue_key("q"), handle, {}});
  EXPECT_EQ(e.wait_of(extended), std::nullopt);
  const CallerId deleted = e.ask(DeleteMessage{queue_key("q"), handle});
  EXPECT_EQ(e.wait_of(deleted), e.engine.log_end());
  const LogPosition before = e.engine.log_end();
  const CallerId again = e.ask(DeleteMessage{queue_key("q"), handle});
  EXPECT_EQ(e.wait_of(again), std::nullopt) << "nothing was written";
  EXPECT_EQ(e.engine.log_end(), before);
}

// Else a crash could undo the move under a handle that somebody holds: its delete would answer well and delete nothing.
TEST(Engine, AReceiveOfWhatWasMovedHereWaitsForTheMove) {
  EngineFixture e;
  e.create_queue("dead");
  e.create_queue("q", redrives_to("dead", 1));
  e.send("q", "first");
  e.receive("q", 1, 0);
  e.pass(1ms);
  EXPECT_EQ(e.bodies("q"), "") << "dead-lettered now";
  const LogPosition moved = e.engine.log_end();
  EXPECT_EQ(e.wait_of(e.ask_receive("dead", 1, 0)), moved);
  e.pass(1ms);
  EXPECT_EQ(e.wait_of(e.ask_receive("dead", 1, 0)), moved) << "whoever receives it again cannot know more";
  e.pass(1ms);
  const CallerId waiter = e.ask_receive("q", 1, 0, 20);
  e.call<MoveTaskStarted>(StartMoveTask{queue_key("dead"), {}, 0, Uuid::from_random(e.secrets.bytes16())});
  e.deadline();
  EXPECT_TRUE(e.wait_of(waiter).has_value()) << "a move task's message";
  e.send("q", "second");
  EXPECT_EQ(e.wait_of(e.ask_receive("q", 10)), std::nullopt) << "what was sent behind it needs no move";
}

TEST(Engine, ASecondCreatorWaitsForTheFirstsRecord) {
  EngineFixture e;
  e.ask(CreateQueue{queue_key("q"), {}, {}});
  const CallerId second = e.ask(CreateQueue{queue_key("q"), {}, {}});
  EXPECT_EQ(e.wait_of(second), e.engine.log_end());
  e.ask(CreateTopic{topic_key("t"), {}, {}});
  const CallerId third = e.ask(CreateTopic{topic_key("t"), {}, {}});
  EXPECT_EQ(e.wait_of(third), e.engine.log_end());
}

TEST(Engine, APublicationThatReachesNobodyWritesNothing) {
  EngineFixture e;
  e.create_topic("t");
  const LogPosition before = e.engine.log_end();
  const CallerId published = e.ask(Publish{topic_key("t"), e.publication("hello")});
  EXPECT_EQ(e.wait_of(published), std::nullopt);
  EXPECT_EQ(e.engine.log_end(), before);
}

TEST(Engine, OnePublicationHasOneContentForAllItsQueues) {
  EngineFixture e;
  e.create_topic("t");
  e.create_queue_for("a", "t");
  e.create_queue_for("b", "t");
  topic::SubscriptionChanges raw;
  raw.raw_delivery = true;
  e.subscribe("t", "a", raw);
  e.subscribe("t", "b");
  const std::size_t records = e.log.size();
  const Published published = e.publish("t", "hello");
  EXPECT_EQ(e.log.size(), records + 1);
  const auto a = e.receive("a");
  const auto b = e.receive("b");
  ASSERT_EQ(a.size(), 1u);
  ASSERT_EQ(b.size(), 1u);
  EXPECT_EQ(a[0].body, "hello");
  EXPECT_FALSE(a[0].message.envelope.has_value());
  ASSERT_TRUE(b[0].message.envelope.has_value());
  EXPECT_EQ(b[0].message.envelope->topic->arn().str(), topic_arn("t"));
  EXPECT_NE(a[0].message.id, b[0].message.id);
  EXPECT_EQ(a[0].message.position, b[0].message.position);
  const auto view = message::ContentView::decode(a[0].content);
  ASSERT_TRUE(view && view->publication());
  EXPECT_EQ(view->publication()->id, published.id);
  EXPECT_EQ(view->publication()->published_at, e.now);
}

TEST(Engine, ContentsBeyondTheBudgetAreReadFromTheLog) {
  EngineOptions options;
  options.resident_bytes_max = 1'000;
  EngineFixture e(options);
  e.create_queue("q");
  for (int i = 0; i < 5; ++i) e.send("q", std::string(400, static_cast<char>('a' + i)));
  EXPECT_LE(e.engine.resident_bytes(), 1'000u);
  const auto messages = e.receive("q", 10);
  ASSERT_EQ(messages.size(), 5u);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(messages[static_cast<std::size_t>(i)].body, std::string(400, static_cast<char>('a' + i)));
}

TEST(Engine, ViewsInRepliesOutliveWhatTheSameCallDrops) {
  EngineOptions options;
  options.resident_bytes_max = 700;
  EngineFixture e(options);
  e.create_queue("q");
  const CallerId waiter = e.ask_receive("q", 10, 30, 20);
  // The second message of the batch drives the first out of memory before the waiter is served.
  const std::string a(500, 'a');
  const std::string b(500, 'b');
  const std::vector<OutgoingMessage> messages{e.outgoing(a), e.outgoing(b)};
  e.call<BatchSent>(SendMessageBatch{queue_key("q"), messages});
  EXPECT_EQ(EngineFixture::joined(e.received(waiter)), a + "," + b);
}

TEST(Engine, TheDeadlineIsTheNextThingThatHappens) {
  EngineFixture e;
  EXPECT_EQ(e.engine.next_deadline(), std::nullopt);
  e.create_queue("q");
  EXPECT_EQ(e.engine.next_deadline(), std::nullopt);
  e.ask_receive("q", 1, 30, 7);
  EXPECT_EQ(e.engine.next_deadline(), at(7s));
  e.send("q", "hello", *queue::DeliveryDelay::of(5));
  EXPECT_EQ(e.engine.next_deadline(), at(5s));
  e.pass(5s);  // the waiter takes it for 30 s
  EXPECT_EQ(e.engine.next_deadline(), at(35s));
  e.pass(30s);
  EXPECT_EQ(e.engine.next_deadline(), kStart + queue::RetentionPeriod{}.value());
  e.pass(std::chrono::hours{24 * 4});
  EXPECT_EQ(e.engine.next_deadline(), std::nullopt);
  EXPECT_EQ(e.counts("q").visible, 0u);
}

TEST(Engine, TimeThatRunsBackIsTakenAsStanding) {
  EngineFixture e;
  e.create_queue("q");
  e.now += 100s;
  e.send("q", "hello");
  e.now -= 50s;
  EXPECT_EQ(e.receive("q").size(), 1u);
  e.now += 79s;
  EXPECT_EQ(e.receive("q").size(), 0u);
  e.now += 1s;
  EXPECT_EQ(e.receive("q").size(), 1u);
}

TEST(Engine, AtTheLimitOfMessagesInFlightAShortPollFailsAndALongOneWaits) {
  EngineOptions options;
  options.in_flight_max = 2;
  EngineFixture e(options);
  e.create_queue("q");
  for (const char* body : {"1", "2", "3"}) e.send("q", body);
  const auto first = e.receive("q", 10);
  EXPECT_EQ(EngineFixture::joined(first), "1,2");
  EXPECT_EQ(e.queue_error(ReceiveMessages{queue_key("q"), {}, {}, {}, {}}), QueueError::Code::TooManyInFlight);
  const CallerId waiter = e.ask_receive("q", 1, 30, 20);
  EXPECT_FALSE(e.answered(waiter));
  e.remove("q", first[0]);
  ASSERT_TRUE(e.answered(waiter)) << "woken by the delete";
  EXPECT_EQ(EngineFixture::joined(e.received(waiter)), "3");
}

TEST(Engine, ByDefaultAStandardQueueHas120000MessagesInFlightAtMost) {
  EngineFixture e;
  e.create_queue("q");
  for (int i = 0; i < 120'001; ++i) e.send("q", "m");
  std::size_t taken = 0;
  std::vector<Got> last;
  for (int i = 0; i < 12'000; ++i) {
    last = e.receive("q", 10, 43'200);
    taken += last.size();
  }
  EXPECT_EQ(taken, 120'000u);
  EXPECT_EQ(e.counts("q").in_flight, 120'000u);
  EXPECT_EQ(e.queue_error(ReceiveMessages{queue_key("q"), {}, {}, {}, {}}), QueueError::Code::TooManyInFlight);
  const CallerId waiter = e.ask_receive("q", 1, 43'200, 20);
  EXPECT_FALSE(e.answered(waiter));
  e.pass(20s);
  ASSERT_TRUE(e.answered(waiter));
  EXPECT_EQ(e.received(waiter).size(), 0u) << "a long poll ends empty, without an error";
  e.remove("q", last.front());
  EXPECT_EQ(e.receive("q", 10, 43'200).size(), 1u);
}

TEST(Engine, ANoisyGroupIsQuietAfterFiveMinutesWithoutAnybodysRequest) {
  EngineFixture e;
  e.create_queue("q");
  const auto send = [&](std::string_view group) {
    OutgoingMessage message = e.outgoing(group);
    message.content.group_id = group;
    e.call<MessageSent>(SendMessage{queue_key("q"), message});
  };
  send("quick");
  for (int i = 0; i < 3; ++i) send("slow");
  e.receive("q", 1, 1'000);
  const std::vector<Got> slow = e.receive("q", 1, 1'000);
  e.pass(40s);
  for (int i = 0; i < 10; ++i) send("quick");
  EXPECT_EQ(e.bodies("q", 1, 1'000), "slow");
  EXPECT_NE(e.engine.debug_state().find("  noisy 'slow' until "), std::string::npos) << "40 s of 80, and another now";
  EXPECT_EQ(e.bodies("q", 1, 1'000), "quick");
  EXPECT_EQ(e.engine.next_deadline(), std::optional{e.now + 300s});
  e.pass(299'999ms);
  EXPECT_NE(e.engine.debug_state().find("  noisy 'slow' until "), std::string::npos);
  e.pass(1ms);
  EXPECT_EQ(e.engine.debug_state().find("  noisy 'slow' until "), std::string::npos);
  // By a delete, too.
  e.remove("q", slow[0]);
  EXPECT_NE(e.engine.debug_state().find("  noisy 'slow' until "), std::string::npos);
  EXPECT_EQ(e.engine.next_deadline(), std::optional{e.now + 300s});
  EXPECT_EQ(difference(e.replayed(1).engine.debug_state(), e.engine.debug_state()), "");
}

TEST(Engine, ByDefaultAFifoQueueAtTheLimitGivesNothingMore) {
  EngineFixture e;
  queue::AttributeChanges fifo;
  fifo.fifo = true;
  e.create_queue("q.fifo", fifo);
  for (int i = 0; i < 120'001; ++i) {
    OutgoingMessage message = e.outgoing("m");
    const std::string name = std::to_string(i);
    message.content.group_id = name;
    message.content.deduplication_id = name;
    e.call<MessageSent>(SendMessage{queue_key("q.fifo"), message});
  }
  std::size_t taken = 0;
  for (int i = 0; i < 12'001; ++i) taken += e.receive("q.fifo", 10, 43'200).size();
  EXPECT_EQ(taken, 120'000u);
  EXPECT_EQ(e.receive("q.fifo").size(), 0u) << "no error";
}

/// A queue and its dead-letter queue, with two messages in the latter: a task of one message a second needs a second for them.
void create_dead_letters(EngineFixture& e, const std::string& name, std::string_view account = kAccount) {
  const auto call = [&](const auto& request) { e.call<QueueFound>(request, account); };
  const std::string dead = name + "-dead";
  call(CreateQueue{queue_key(dead, account), {}, {}});
  queue::AttributeChanges redrive;
  redrive.redrive_policy.emplace().value = *queue::RedrivePolicy::parse(
      R"({"deadLetterTargetArn":")" + queue_arn(dead, account) + R"(","maxReceiveCount":1})");
  call(CreateQueue{queue_key(name, account), redrive, {}});
  for (const char* body : {"1", "2"}) e.call<MessageSent>(SendMessage{queue_key(dead, account), e.outgoing(body)}, account);
}

StartMoveTask slow_move(EngineFixture& e, const std::string& name, std::string_view to, std::string_view account = kAccount) {
  return {queue_key(name, account), queue_key(to, account), 1, Uuid::from_random(e.secrets.bytes16())};
}

constexpr std::string_view kOther = "111122223333";

TEST(Engine, AnAccountHasAHundredMoveTasksAtMost) {
  EngineFixture e;
  for (int i = 0; i <= 100; ++i) create_dead_letters(e, "q" + std::to_string(i));
  std::optional<Uuid> first;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "q" + std::to_string(i);
    const auto started = e.call<MoveTaskStarted>(slow_move(e, name + "-dead", name));
    if (!first) first = started.task;
  }
  EXPECT_EQ(e.queue_error(slow_move(e, "q100-dead", "q100")), QueueError::Code::TooManyMoveTasks);
  create_dead_letters(e, "q", kOther);
  e.call<MoveTaskStarted>(slow_move(e, "q-dead", "q", kOther), kOther);
  e.call<MoveTaskCancelled>(CancelMoveTask{queue_key("q0-dead"), *first});
  e.call<MoveTaskStarted>(slow_move(e, "q100-dead", "q100"));
}

TEST(Engine, AMoveTaskEndsAfter36Hours) {
  const auto task_after = [](milliseconds time) {
    EngineFixture e;
    create_dead_letters(e, "q");
    e.call<MoveTaskStarted>(slow_move(e, "q-dead", "q"));
    e.now += time;  // nobody looked in between
    e.deadline();
    return e.call<MoveTasks>(ListMoveTasks{queue_key("q-dead")}).tasks.at(0);
  };
  EXPECT_EQ(task_after(36h - 1ms).failure, MoveTask::Failure::None);
  const MoveTask ended = task_after(36h);
  EXPECT_EQ(ended.status, MoveTask::Status::Failed);
  EXPECT_EQ(ended.failure, MoveTask::Failure::TimedOut);
}

TEST(Engine, WhatBecomesVisibleGoesToWhoWaitsLongestAndLastToWhoAsksThen) {
  EngineFixture e;
  e.create_queue("q");
  e.send("q", "hello", *queue::DeliveryDelay::of(1));
  const CallerId first = e.ask_receive("q", 1, 0, 20);
  const CallerId second = e.ask_receive("q", 1, 0, 20);
  e.now += 1s;  // the newcomer is there before anybody looks at the deadline
  const CallerId newcomer = e.ask_receive("q", 1, 0, 20);
  e.deadline();
  // Nobody leases it, so that all get it; the count tells in which order.
  std::uint32_t count = 0;
  for (const CallerId caller : {first, second, newcomer}) {
    ASSERT_TRUE(e.answered(caller)) << count;
    const auto got = e.received(caller);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].message.receive_count, ++count);
  }
}

TEST(Engine, AQueueKnowsOnlyHandlesOfItsOwnLife) {
  EngineOptions options;
  options.enforce_deleted_recently = false;
  EngineFixture e(options);
  e.create_queue("q");
  e.send("q", "hello");
  const auto got = e.receive("q");
  e.call<Done>(DeleteQueue{queue_key("q")});
  e.create_queue("q");
  EXPECT_EQ(e.queue_error(DeleteMessage{queue_key("q"), got[0].message.handle}), QueueError::Code::ReceiptHandleOfOtherQueue);
  EXPECT_EQ(e.queue_error(ChangeVisibility{queue_key("q"), got[0].message.handle, {}}),
            QueueError::Code::ReceiptHandleOfOtherQueue);
  e.input(ReceiveUndelivered{{&got[0].message.handle, 1}});
}

// A journal that cannot be written refuses receives; who asks without a lease must not bring what nobody got nearer to its
// dead-letter queue.
TEST(Engine, WhatIsGivenBackWhenItsLeaseIsOverIsNotCounted) {
  EngineFixture e;
  e.create_queue("dead");
  e.create_queue("q", redrives_to("dead", 2));
  e.send("q", "hello");
  for (const std::int64_t visibility : {0, 0, 5}) {
    const auto got = e.receive("q", 1, visibility);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].message.receive_count, 1u);
    e.pass(seconds{visibility});
    e.input(ReceiveUndelivered{{&got[0].message.handle, 1}});
    e.input(ReceiveUndelivered{{&got[0].message.handle, 1}});  // a second time changes nothing
  }
  const auto first = e.receive("q", 1, 0);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].message.receive_count, 1u);
  const auto second = e.receive("q", 1, 0);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].message.receive_count, 2u);
  e.input(ReceiveUndelivered{{&first[0].message.handle, 1}});  // received since: it stays counted
  EXPECT_TRUE(e.receive("q").empty());
  EXPECT_EQ(e.counts("dead").visible, 1u);
}

TEST(Engine, PurgedAndDeletedMessagesAreFreedInSlices) {
  EngineFixture e;
  e.create_queue("q");
  for (int i = 0; i < 10'000; ++i) e.send("q", "x");
  e.call<Done>(PurgeQueue{queue_key("q")});
  EXPECT_EQ(e.counts("q").visible, 0u);
  EXPECT_GT(e.engine.resident_bytes(), 0u);
  EXPECT_LE(*e.engine.next_deadline(), e.now) << "there is work";
  e.deadline();
  EXPECT_EQ(e.engine.resident_bytes(), 0u);
  EXPECT_EQ(e.engine.oldest_needed_position(), std::nullopt);
}

TEST(Engine, AMessageOfAnotherAccountsQueueNeedsBothSides) {
  EngineFixture e;
  const std::string_view other = "111122223333";
  e.create_queue("q");
  EXPECT_EQ(e.call<AccessDenied>(SendMessage{queue_key("q"), e.outgoing("x")}, other).action, "sqs:SendMessage");
  queue::AttributeChanges open;
  open.policy = R"({"Statement":{"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":"sqs:*","Resource":"*"}})";
  e.call<Done>(ChangeQueue{queue_key("q"), open});
  e.call<MessageSent>(SendMessage{queue_key("q"), e.outgoing("x")}, other);
  // Actions of the owner only are never granted to others by the queue's policy.
  EXPECT_EQ(e.call<AccessDenied>(ChangeQueue{queue_key("q"), {}}, other).resource, queue_arn("q"));
  EXPECT_FALSE(e.call<AccessDenied>(DeleteQueue{queue_key("q")}, other).explicit_deny);
  e.call<AccessDenied>(TagQueue{queue_key("q"), {}}, other);
  e.call<AccessDenied>(ListQueues{kAccount, kRegion, {}, {}, 10}, other);
  e.call<AccessDenied>(CreateQueue{queue_key("new"), {}, {}}, other);
}

/// Asks as a user of the home account who may do what these statements allow.
class Limited {
 public:
  Limited(EngineFixture& engine, std::string_view statements) : engine_(engine) {
    auto parsed = policy::Policy::parse(statements, policy::PolicyKind::Identity);
    EXPECT_TRUE(parsed) << statements;
    if (parsed) policy_ = std::move(*parsed);
  }
  /// Whether it was not refused for want of permission.
  bool may(const Request& request, std::string_view account = kAccount) {
    Command command;
    command.caller.id = {2'000'000'000 + static_cast<std::uint64_t>(++engine_.asked)};
    command.caller.principal = {policy::Principal::Kind::Identity, account, "arn:aws:iam::000000000000:user/limited", {}, {}};
    command.caller.identity.unrestricted = false;
    command.caller.identity.identity_policies = {&policy_, 1};
    command.request = request;
    engine_.input(command);
    return !engine_.denied(command.caller.id);
  }

 private:
  EngineFixture& engine_;
  policy::Policy policy_;
};

TEST(Engine, TheOwnersOfASubscriptionNeedTheRightToUseIt) {
  EngineFixture e;
  e.create_topic("t");
  e.create_queue_for("q", "t");
  const Subscribed made = e.subscribe("t", "q");
  const SubscriptionKeyView key{topic_key("t"), made.uuid};
  Limited reader{e, R"({"Statement":{"Effect":"Allow","Action":"sns:GetSubscriptionAttributes","Resource":"arn:aws:sns:us-east-1:000000000000:t"}})"};
  EXPECT_TRUE(reader.may(DescribeSubscription{key}));
  EXPECT_FALSE(reader.may(ChangeSubscription{key, {}}));
  EXPECT_FALSE(reader.may(Unsubscribe{key}));
  Limited nobody{e, R"({"Statement":{"Effect":"Allow","Action":"sqs:*","Resource":"*"}})"};
  EXPECT_FALSE(nobody.may(DescribeSubscription{key}));
  Limited leaver{e, R"({"Statement":{"Effect":"Allow","Action":"sns:Unsubscribe","Resource":"*"}})"};
  EXPECT_TRUE(leaver.may(Unsubscribe{key}));
}

TEST(Engine, WhatDoesNotExistIsToldToThoseWhoMayAsk) {
  EngineFixture e;
  e.create_queue("q");
  e.create_topic("t");
  Limited other{e, R"({"Statement":{"Effect":"Allow","Action":"*","Resource":"arn:aws:*:us-east-1:000000000000:mine*"}})"};
  for (const auto* name : {"q", "none"}) {
    EXPECT_FALSE(other.may(SendMessage{queue_key(name), e.outgoing("x")})) << name;
    EXPECT_FALSE(other.may(DeleteTopic{topic_key(name)})) << name;
    EXPECT_FALSE(other.may(DescribeTopic{topic_key(name)})) << name;
  }
  EXPECT_TRUE(other.may(SendMessage{queue_key("mine"), e.outgoing("x")})) << "it does not exist, which is no want of permission";
  EXPECT_EQ(e.queue_error(SendMessage{queue_key("none"), e.outgoing("x")}), QueueError::Code::QueueDoesNotExist);
}

TEST(Engine, TagsAtCreationNeedTheRightToTag) {
  EngineFixture e;
  const Tag tag{"team", "red"};
  Limited maker{e, R"({"Statement":{"Effect":"Allow","Action":["sqs:CreateQueue","sns:CreateTopic"],"Resource":"*"}})"};
  EXPECT_TRUE(maker.may(CreateQueue{queue_key("a"), {}, {}}));
  EXPECT_FALSE(maker.may(CreateQueue{queue_key("b"), {}, {&tag, 1}}));
  EXPECT_TRUE(maker.may(CreateTopic{topic_key("a"), {}, {}}));
  EXPECT_FALSE(maker.may(CreateTopic{topic_key("b"), {}, {&tag, 1}}));
}

TEST(Engine, PermissionFollowsTheTableOfVerdicts) {
  EngineFixture e;
  e.create_queue("bare");
  queue::AttributeChanges changes;
  changes.policy =
      R"({"Statement":[{"Effect":"Allow","Principal":{"AWS":["arn:aws:iam::000000000000:user/named","arn:aws:iam::111122223333:user/named"]},
          "Action":"sqs:SendMessage","Resource":"*"},
          {"Effect":"Allow","Principal":{"AWS":"000000000000"},"Action":"sqs:ReceiveMessage","Resource":"*"},
          {"Effect":"Deny","Principal":"*","Action":"sqs:PurgeQueue","Resource":"*"}]})";
  e.create_queue("q", changes);
  const auto denial = policy::Policy::parse(R"({"Statement":{"Effect":"Deny","Action":"*","Resource":"*"}})", policy::PolicyKind::Identity);
  ASSERT_TRUE(denial.has_value());
  const auto allowed = [&](const Request& request, std::string_view arn, std::string_view account, Verdict identity) {
    Command command;
    command.caller.id = {1'000'000 + e.log.size() * 1'000 + static_cast<std::uint64_t>(++e.asked)};
    command.caller.principal = {arn.empty() ? policy::Principal::Kind::Anonymous : policy::Principal::Kind::Identity, account, arn, {}, {}};
    command.caller.identity.unrestricted = identity == Verdict::Allow;
    if (identity == Verdict::ExplicitDeny) command.caller.identity.identity_policies = {&*denial, 1};
    command.request = request;
    e.input(command);
    return !e.failed(command.caller.id);
  };
  const SendMessage send{queue_key("q"), e.outgoing("x")};
  const SendMessage send_bare{queue_key("bare"), e.outgoing("x")};
  const ReceiveMessages receive{queue_key("q"), {}, {}, {}, {}};
  const std::string_view named = "arn:aws:iam::000000000000:user/named";
  const std::string_view someone = "arn:aws:iam::000000000000:user/someone";
  const std::string_view foreign = "arn:aws:iam::111122223333:user/named";
  // Inside the account either side suffices; an explicit deny on either side refuses.
  EXPECT_TRUE(allowed(send_bare, someone, kAccount, Verdict::Allow));
  EXPECT_FALSE(allowed(send_bare, someone, kAccount, Verdict::ImplicitDeny));
  EXPECT_TRUE(allowed(send, named, kAccount, Verdict::ImplicitDeny));
  EXPECT_FALSE(allowed(send, named, kAccount, Verdict::ExplicitDeny));
  EXPECT_FALSE(allowed(send, someone, kAccount, Verdict::ImplicitDeny));
  EXPECT_FALSE(allowed(PurgeQueue{queue_key("q")}, someone, kAccount, Verdict::Allow));
  // Naming the account hands the decision to its identity policies.
  EXPECT_FALSE(allowed(receive, someone, kAccount, Verdict::ImplicitDeny));
  EXPECT_TRUE(allowed(receive, someone, kAccount, Verdict::Allow));
  // Across accounts both must allow.
  EXPECT_TRUE(allowed(send, foreign, "111122223333", Verdict::Allow));
  EXPECT_FALSE(allowed(send, foreign, "111122223333", Verdict::ImplicitDeny));
  EXPECT_FALSE(allowed(send_bare, foreign, "111122223333", Verdict::Allow));
  EXPECT_FALSE(allowed(send, "", "", Verdict::Allow)) << "anonymous, and nobody admits everybody";
  queue::AttributeChanges open;
  open.policy = R"({"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}})";
  e.call<Done>(ChangeQueue{queue_key("bare"), open});
  EXPECT_TRUE(allowed(send_bare, "", "", Verdict::Allow));
}

TEST(Engine, WithPoliciesOffOnlyIdentitiesDecide) {
  EngineOptions options;
  options.enforce_resource_policies = false;
  EngineFixture e(options);
  queue::AttributeChanges changes;
  changes.policy = R"({"Statement":{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*"}})";
  e.create_queue("q", changes);
  e.create_topic("t");
  e.subscribe("t", "q");
  e.send("q", "one");
  e.publish("t", "two");
  e.call<MessageSent>(SendMessage{queue_key("q"), e.outgoing("three")}, "111122223333");
  EXPECT_EQ(e.bodies("q"), "one,two,three");
}

TEST(Engine, TopicsOfAnotherAccountNeedItsPolicy) {
  EngineFixture e;
  const std::string_view other = "111122223333";
  e.create_topic("t");
  const std::string endpoint = queue_arn("theirs", other);
  EXPECT_EQ(e.call<AccessDenied>(e.subscription("t", endpoint), other).action, "sns:Subscribe");
  EXPECT_EQ(e.call<AccessDenied>(Publish{topic_key("t"), e.publication("x")}, other).resource, topic_arn("t"));
  topic::TopicChanges changes;
  changes.policy = R"({"Statement":{"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":["sns:Publish","sns:Subscribe"],"Resource":"*"}})";
  e.call<Done>(ChangeTopic{topic_key("t"), changes});
  e.call<Published>(Publish{topic_key("t"), e.publication("x")}, other);
  // The owner of the queue subscribes: confirmed at once.
  const Subscribed theirs = e.call<Subscribed>(e.subscription("t", endpoint), other);
  EXPECT_FALSE(theirs.pending);
  // Their queue admits the topic of this account.
  queue::AttributeChanges admits;
  admits.policy = EngineFixture::delivery_policy("t");
  e.call<QueueFound>(CreateQueue{queue_key("theirs", other), admits, {}}, other);
  e.publish("t", "hello");
  const CallerId caller = e.ask(ReceiveMessages{queue_key("theirs", other), {}, {}, {}, {}}, other);
  EXPECT_EQ(EngineFixture::joined(e.received(caller)), "hello");
  // Each side may end it: the subscriber here.
  e.call<Done>(Unsubscribe{{topic_key("t"), theirs.uuid}}, other);
  EXPECT_EQ(e.call<Subscriptions>(ListSubscriptionsByTopic{topic_key("t"), {}, 10}).subscriptions.size(), 0u);
}

TEST(Engine, ADefaultPolicyAdmitsByTheSourcesOwner) {
  EngineFixture e;
  topic::TopicChanges changes;
  changes.policy = R"({"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"SNS:Publish",)"
                   R"("Resource":"*","Condition":{"StringEquals":{"AWS:SourceOwner":"000000000000"}}}]})";
  e.create_topic("t", changes);
  e.publish("t", "x");
  EXPECT_EQ(e.call<AccessDenied>(Publish{topic_key("t"), e.publication("x")}, "111122223333").action, "sns:Publish");
}

TEST(Engine, SomebodyElsesQueueMustConfirmItsSubscription) {
  EngineFixture e;
  e.create_topic("t");
  const std::string endpoint = queue_arn("theirs", "111122223333");
  const Subscribed pending = e.call<Subscribed>(e.subscription("t", endpoint));
  EXPECT_TRUE(pending.pending);
  const TopicDescription described = e.call<TopicDescription>(DescribeTopic{topic_key("t")});
  EXPECT_EQ(described.subscriptions_pending, 1u);
  EXPECT_EQ(described.subscriptions_confirmed, 0u);
  e.publish("t", "x");
  EXPECT_TRUE(e.engine.failed_deliveries().empty()) << "nothing is tried before the confirmation";
  EXPECT_EQ(e.topic_error(ConfirmSubscription{topic_key("t"), "wrong", false}), TopicError::Code::InvalidToken);
  EXPECT_EQ(e.topic_error(ConfirmSubscription{topic_key("t"), "", false}), TopicError::Code::InvalidToken);
  EXPECT_EQ(e.call<Subscribed>(ConfirmSubscription{topic_key("t"), "token", false}).uuid, pending.uuid);
  e.publish("t", "x");
  EXPECT_EQ(e.engine.failed_deliveries().size(), 1u);
}

TEST(Engine, FailedDeliveriesSayWhy) {
  EngineFixture e;
  e.create_topic("t");
  e.create_queue("closed");
  queue::AttributeChanges denying;
  denying.policy = R"({"Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:*"},{"Effect":"Deny","Principal":"*","Action":"sqs:SendMessage"}]})";
  e.create_queue("denying", denying);
  queue::AttributeChanges small;
  small.policy = EngineFixture::delivery_policy("t");
  small.maximum_message_size = *queue::MaximumMessageSize::of(1'024);
  e.create_queue("small", small);
  topic::SubscriptionChanges raw;
  raw.raw_delivery = true;
  e.subscribe("t", "closed");
  e.subscribe("t", "denying");
  e.subscribe("t", "small");
  e.subscribe("t", "missing");
  e.create_queue_for("raw", "t");
  e.subscribe("t", "raw", raw);
  std::vector<message::MessageAttribute> attributes(11, {"a", "String", "x"});
  e.publish("t", std::string(1'000, 'x'), attributes);
  const auto failed = e.engine.failed_deliveries();
  ASSERT_EQ(failed.size(), 5u);
  using Reason = FailedDelivery::Reason;
  EXPECT_EQ(failed[0].reason, Reason::AccessDenied);
  EXPECT_EQ(failed[0].decision->verdict, Verdict::ImplicitDeny);
  EXPECT_EQ(failed[0].endpoint, queue_arn("closed"));
  EXPECT_EQ(failed[1].decision->verdict, Verdict::ExplicitDeny);
  EXPECT_EQ(failed[1].decision->statement, 1u);
  EXPECT_EQ(failed[2].reason, Reason::MessageTooLong);
  EXPECT_EQ(failed[3].reason, Reason::QueueDoesNotExist);
  EXPECT_EQ(failed[4].reason, Reason::TooManyAttributes);
}

TEST(Engine, AChangedQueuePolicyHoldsForTheNextPublication) {
  EngineFixture e;
  e.create_topic("t");
  e.create_queue_for("q", "t");
  e.subscribe("t", "q");
  e.publish("t", "one");
  queue::AttributeChanges closed;
  closed.policy = "";
  e.call<Done>(ChangeQueue{queue_key("q"), closed});
  e.publish("t", "two");
  queue::AttributeChanges open;
  open.policy = EngineFixture::delivery_policy("t");
  e.call<Done>(ChangeQueue{queue_key("q"), open});
  e.publish("t", "three");
  EXPECT_EQ(e.bodies("q"), "one,three");
}

TEST(Engine, SubscriptionsAreListedInPages) {
  EngineFixture e;
  e.create_topic("t");
  for (const char* name : {"a", "b", "c"}) e.subscribe("t", name);
  const auto first = e.call<Subscriptions>(ListSubscriptionsByTopic{topic_key("t"), {}, 2});
  ASSERT_EQ(first.subscriptions.size(), 2u);
  EXPECT_NE(first.next.number, 0u);
  const auto second = e.call<Subscriptions>(ListSubscriptionsByTopic{topic_key("t"), first.next, 2});
  ASSERT_EQ(second.subscriptions.size(), 1u);
  EXPECT_EQ(second.next.number, 0u);
  EXPECT_EQ(second.subscriptions[0].endpoint, queue_arn("c"));
  const auto all = e.call<Subscriptions>(ListSubscriptions{kAccount, kRegion, {}, 2});
  EXPECT_EQ(all.subscriptions.size(), 2u);
  EXPECT_EQ(e.call<Subscriptions>(ListSubscriptions{kAccount, kRegion, all.next, 2}).subscriptions.size(), 1u);
  EXPECT_EQ(e.call<Subscriptions>(ListSubscriptions{kAccount, "eu-west-1", {}, 2}).subscriptions.size(), 0u);
}

TEST(Engine, TagsAreLimitedToFifty) {
  EngineFixture e;
  e.create_queue("q");
  e.create_topic("t");
  std::vector<std::string> keys;
  for (int i = 0; i < 51; ++i) keys.push_back(std::to_string(i));
  std::vector<Tag> tags;
  for (const std::string& key : keys) tags.push_back({key, "v"});
  EXPECT_EQ(e.queue_error(TagQueue{queue_key("q"), tags}), QueueError::Code::TooManyTags);
  EXPECT_EQ(e.topic_error(TagTopic{topic_key("t"), tags}), TopicError::Code::TooManyTags);
  EXPECT_EQ(e.queue_error(CreateQueue{queue_key("r"), {}, tags}), QueueError::Code::TooManyTags);
  EXPECT_EQ(e.topic_error(CreateTopic{topic_key("u"), {}, tags}), TopicError::Code::TooManyTags);
  tags.pop_back();
  e.call<Done>(TagQueue{queue_key("q"), tags});
  e.call<Done>(TagTopic{topic_key("t"), tags});
  EXPECT_EQ(e.call<Tags>(ListTopicTags{topic_key("t")}).tags.size(), 50u);
  const std::string_view gone[] = {"1", "2", "nobody"};
  e.call<Done>(UntagTopic{topic_key("t"), gone});
  EXPECT_EQ(e.call<Tags>(ListTopicTags{topic_key("t")}).tags.size(), 48u);
}

TEST(Engine, QueuesOfOneNameInTwoAccountsAndRegionsAreDifferent) {
  EngineFixture e;
  e.create_queue("q");
  e.call<QueueFound>(CreateQueue{queue_key("q", "111122223333"), {}, {}}, "111122223333");
  e.call<QueueFound>(CreateQueue{{kAccount, "eu-west-1", "q"}, {}, {}});
  e.send("q", "hello");
  EXPECT_EQ(e.call<QueueDescription>(DescribeQueue{{kAccount, "eu-west-1", "q"}}).counts.visible, 0u);
  EXPECT_EQ(e.call<QueueNames>(ListQueues{kAccount, kRegion, {}, {}, 10}).keys.size(), 1u);
}

TEST(Engine, SequenceNumbersAreNeverGivenTwiceAcrossACrash) {
  EngineFixture e;
  e.create_queue("q");
  e.send("q", "lost");
  const SequenceNumber lost = e.receive("q")[0].message.handle.message;
  // The send's and the receive's records were never committed.
  e.log.resize(1);
  EngineFixture next = e.replayed(2);
  next.send("q", "other");
  const auto got = next.receive("q");
  ASSERT_EQ(got.size(), 1u);
  EXPECT_GT(got[0].message.handle.message, lost);
}

TEST(Engine, RecordsThatMakeNoSenseStopTheReplay) {
  EngineFixture e;
  e.create_queue("q");
  e.create_topic("t");
  e.send("q", "hello");
  const auto refused = [&](const auto& event, std::string_view content = {}) {
    EngineFixture other = e.replayed(1);
    std::string record;
    encode_record(event, e.now, content, record);
    const auto done = other.engine.replay(record, e.engine.log_end());
    return !done && done.error() == ReplayError::Damaged;
  };
  EXPECT_TRUE(refused(SentEvent{9, 1, {}, e.now}, "x")) << "no such queue";
  EXPECT_TRUE(refused(SentEvent{1, 1, {}, e.now}, "x")) << "a sequence number from the past";
  EXPECT_TRUE(refused(SentEvent{1, ~0ull >> 1, {}, e.now})) << "no content";
  EXPECT_TRUE(refused(PublishedEvent{1, {{1, 1, ~0ull >> 1, false, false}}}, "x")) << "no content that can be read";
  EXPECT_TRUE(refused(ReceivedEvent{9, 1, e.now, {1}}));
  EXPECT_TRUE(refused(DeadLetteredEvent{1, 1, 9, 1, e.now}));
  EXPECT_TRUE(refused(DeadLetteredEvent{1, 1, 1, 1, e.now}));
  EXPECT_TRUE(refused(QueueCreatedEvent{1, 1, QueueKey{queue_key("r")}, {}, {}})) << "a number that is taken";
  EXPECT_TRUE(refused(QueueCreatedEvent{900'000'000, 1, QueueKey{queue_key("r")}, {}, {}})) << "a number out of the row";
  EXPECT_TRUE(refused(QueueCreatedEvent{2, 1, QueueKey{queue_key("q")}, {}, {}})) << "a name that is taken";
  queue::QueueSettings bad_policy;
  bad_policy.policy = "no policy";
  EXPECT_TRUE(refused(QueueCreatedEvent{2, 1, QueueKey{queue_key("r")}, bad_policy, {}}));
  EXPECT_TRUE(refused(QueueChangedEvent{1, bad_policy}));
  EXPECT_TRUE(refused(QueueDeletedEvent{2}));
  EXPECT_TRUE(refused(TopicCreatedEvent{1, 1, TopicKey{topic_key("u")}, {}, {}}));
  EXPECT_TRUE(refused(TopicChangedEvent{2, {}}));
  EXPECT_TRUE(refused(TopicDeletedEvent{2}));
  SubscriptionCreatedEvent subscription;
  subscription.subscription = 1;
  subscription.topic = 2;
  EXPECT_TRUE(refused(subscription)) << "no such topic";
  subscription.topic = 1;
  subscription.settings.filter_policy = "no filter";
  EXPECT_TRUE(refused(subscription));
  EXPECT_TRUE(refused(SubscriptionDeletedEvent{1}));
  EXPECT_TRUE(refused(SubscriptionConfirmedEvent{1, true}));
  EXPECT_TRUE(refused(RelocatedEvent{9, 1}, "x"));
  // What time has already removed is no damage.
  EXPECT_FALSE(refused(ReceivedEvent{1, 1, e.now, {7}}));
  EXPECT_FALSE(refused(DeletedEvent{1, {7}}));
  EXPECT_FALSE(refused(RelocatedEvent{1, 7}, "x"));
  EngineFixture other = e.replayed(1);
  const auto newer = other.engine.replay(std::string(20, '\x09'), e.engine.log_end());
  ASSERT_FALSE(newer.has_value());
  EXPECT_EQ(newer.error(), ReplayError::UnknownVersion);
}

TEST(Engine, SnapshotsThatMakeNoSenseAreRefused) {
  EngineFixture e;
  e.create_queue("q");
  e.create_topic("t");
  e.subscribe("t", "q");
  e.send("q", "hello");
  std::vector<std::string> sections;
  e.engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  const auto load = [](const std::vector<std::string>& some) {
    std::size_t next = 0;
    return Engine::load({}, [&]() -> std::optional<std::string> {
      if (next == some.size()) return std::nullopt;
      return some[next++];
    });
  };
  ASSERT_TRUE(load(sections).has_value());
  EXPECT_EQ(load({}).error(), ReplayError::Damaged);
  for (std::size_t cut = 0; cut < sections.size(); ++cut) {
    EXPECT_EQ(load({sections.begin(), sections.begin() + static_cast<long>(cut)}).error(), ReplayError::Damaged) << cut;
    std::vector<std::string> shorter = sections;
    shorter[cut].pop_back();
    EXPECT_EQ(load(shorter).error(), ReplayError::Damaged) << cut;
    std::vector<std::string> longer = sections;
    longer[cut] += "x";
    EXPECT_EQ(load(longer).error(), ReplayError::Damaged) << cut;
    std::vector<std::string> doubled = sections;
    doubled.insert(doubled.begin() + static_cast<long>(cut), sections[cut]);
    if (cut > 0) {
      EXPECT_EQ(load(doubled).error(), ReplayError::Damaged) << cut;
    }
    std::vector<std::string> newer = sections;
    newer[cut][0] = 9;
    EXPECT_EQ(load(newer).error(), ReplayError::UnknownVersion) << cut;
  }
}

TEST(Engine, AWaiterThatLeftTwiceOrNeverWaitedIsNoHarm) {
  EngineFixture e;
  e.create_queue("q");
  const CallerId waiter = e.ask_receive("q", 1, 30, 20);
  EXPECT_EQ(e.engine.waiter_count(), 1u);
  e.input(WaiterGone{waiter});
  e.input(WaiterGone{waiter});
  EXPECT_EQ(e.engine.waiter_count(), 0u);
  EXPECT_EQ(e.engine.next_deadline(), std::nullopt);
}

TEST(Engine, DeduplicationByMessageGroupComparesWithinTheGroup) {
  EngineFixture e;
  queue::AttributeChanges by_group;
  by_group.fifo = true;
  by_group.deduplication_scope = queue::DeduplicationScope::MessageGroup;
  e.create_queue("q.fifo", by_group);
  const auto send = [&](std::string_view body, std::string_view group) {
    OutgoingMessage message = e.outgoing(body);
    message.content.group_id = group;
    message.content.deduplication_id = "same";
    e.call<MessageSent>(SendMessage{queue_key("q.fifo"), message});
  };
  send("a", "g");
  send("b", "h");
  send("c", "g");
  EXPECT_EQ(e.bodies("q.fifo"), "a,b");
}

}  // namespace
}  // namespace fanfare::engine
