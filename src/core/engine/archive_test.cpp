// Archives of FIFO topics and their replay, as the shell sees them.
#include <gtest/gtest.h>

#include "core/engine/test_support.h"

namespace fanfare::engine {
namespace {

using namespace std::chrono_literals;
using Code = TopicError::Code;

topic::TopicChanges archiving(int days) {
  topic::TopicChanges changes;
  changes.fifo = true;
  changes.archive_policy = days == 0 ? "{}" : R"({"MessageRetentionPeriod":")" + std::to_string(days) + R"("})";
  return changes;
}

/// "t.fifo" archives for some days; "live.fifo" is subscribed from the start.
struct Archives : EngineFixture {
  explicit Archives(int days = 7, EngineOptions options = {}) : EngineFixture(options) {
    create_topic("t.fifo", archiving(days));
    create_fifo_queue("live.fifo");
    create_fifo_queue("again.fifo");
    subscribe("t.fifo", "live.fifo");
  }
  void create_fifo_queue(std::string_view name) {
    queue::AttributeChanges attributes;
    attributes.fifo = true;
    attributes.policy = delivery_policy("t.fifo");
    create_queue(name, attributes);
  }
  /// Body, group and deduplication id: "m1" of group "m".
  Published say(std::string_view body, std::span<const message::MessageAttribute> attributes = {}) {
    OutgoingPublication out = publication(body, attributes);
    out.content.group_id = body.substr(0, 1);
    out.content.deduplication_id = body;
    return call<Published>(Publish{topic_key("t.fifo"), out});
  }
  static std::string policy(Timestamp start, std::optional<Timestamp> end = {}) {
    std::string text = R"({"PointType":"Timestamp","StartingPoint":")" + iso8601(start) + '"';
    if (end) text += R"(,"EndingPoint":")" + iso8601(*end) + '"';
    return text + "}";
  }
  Subscribed replay(std::string_view queue, Timestamp start, std::optional<Timestamp> end = {}, const char* filter = "") {
    topic::SubscriptionChanges changes;
    changes.replay_policy = policy(start, end);
    if (*filter != 0) changes.filter_policy = filter;
    return subscribe("t.fifo", queue, changes);
  }
  template <class Body = Done>
  Body set_policy(const Subscribed& subscription, std::string text) {
    ChangeSubscription change{{topic_key("t.fifo"), subscription.uuid}, {}};
    change.attributes.replay_policy = std::move(text);
    return call<Body>(change);
  }
  std::optional<ReplayStatus> status(const Subscribed& subscription) {
    return call<SubscriptionDescription>(DescribeSubscription{{topic_key("t.fifo"), subscription.uuid}}).replay;
  }
  void set_archive(int days) {
    ChangeTopic change{topic_key("t.fifo"), archiving(days)};
    change.attributes.fifo.reset();
    call<Done>(change);
  }
  /// All that a queue holds now, and takes it away.
  std::string drained(std::string_view queue) {
    std::string all;
    for (int i = 0; i < 1'000; ++i) {
      const auto got = receive(queue, 10);
      if (got.empty()) break;
      for (const Got& one : got) {
        all += (all.empty() ? "" : ",") + one.body + (one.message.envelope && one.message.envelope->replayed ? "*" : "");
        remove(queue, one);
      }
    }
    return all;
  }
};

/// The same, whose contents are on the disk only.
struct ArchivesOnDisk : Archives {
  ArchivesOnDisk() : Archives(7, EngineOptions{.resident_bytes_max = 0}) {}
};

TEST(Archive, ATopicWithAnArchivePolicyCannotBeDeleted) {
  Archives e;
  EXPECT_EQ(e.topic_error(DeleteTopic{topic_key("t.fifo")}), Code::ArchivePolicyInTheWay);
  e.set_archive(0);
  e.call<Done>(DeleteTopic{topic_key("t.fifo")});
  EXPECT_EQ(e.engine.needed_bytes(), 0u);
}

TEST(Archive, OnlyFifoTopicsHaveOne) {
  EngineFixture e;
  topic::TopicChanges changes;
  changes.archive_policy = R"({"MessageRetentionPeriod":"1"})";
  EXPECT_EQ(e.topic_error(CreateTopic{topic_key("t"), changes, {}}), Code::FifoAttributeOnStandardTopic);
}

TEST(Archive, ANewSubscriptionGetsWhatWasPublishedBefore) {
  Archives e;
  e.say("a1");
  e.pass(1s);
  const Timestamp from = e.now;
  const Published second = e.say("a2");
  e.say("b1");
  EXPECT_EQ(e.drained("live.fifo"), "a1,a2,b1");
  e.pass(10s);

  const Subscribed again = e.replay("again.fifo", from);
  EXPECT_EQ(e.status(again), ReplayStatus::Pending);
  e.deadline();
  EXPECT_EQ(e.status(again), ReplayStatus::Completed);
  const auto got = e.receive("again.fifo", 1);
  ASSERT_EQ(got.size(), 1u);
  const auto content = message::ContentView::decode(got[0].content);
  EXPECT_EQ(content->publication()->id, second.id) << "a replayed message keeps its id";
  EXPECT_EQ(content->publication()->published_at, from) << "and its time";
  EXPECT_EQ(content->publication()->sequence_number, second.sequence_number->value);
  EXPECT_TRUE(got[0].message.envelope->replayed);
  EXPECT_EQ(got[0].body, "a2");
  e.remove("again.fifo", got[0]);
  EXPECT_EQ(e.drained("again.fifo"), "b1*");
  EXPECT_EQ(e.drained("live.fifo"), "");

  e.say("a3");
  EXPECT_EQ(e.drained("again.fifo"), "a3") << "without an ending point it goes on";
}

TEST(Archive, WithAnEndingPointNothingNewComes) {
  Archives e;
  e.say("a1");
  e.pass(1s);
  const Timestamp end = e.now;
  e.say("a2");
  e.pass(1s);
  e.say("a3");
  e.pass(1s);
  const Subscribed again = e.replay("again.fifo", kStart, end);
  e.deadline();
  EXPECT_EQ(e.status(again), ReplayStatus::Completed);
  e.say("a4");
  EXPECT_EQ(e.drained("again.fifo"), "a1*,a2*");
  e.set_policy(again, "");
  EXPECT_EQ(e.status(again), std::nullopt);
  e.say("a5");
  EXPECT_EQ(e.drained("again.fifo"), "a5") << "without the policy it is a subscription like others";
}

TEST(Archive, AnEndingPointInTheFutureIsWaitedFor) {
  Archives e;
  e.say("a1");
  e.pass(1s);
  const Subscribed again = e.replay("again.fifo", kStart, e.now + 10s);
  e.deadline();
  EXPECT_EQ(e.status(again), ReplayStatus::InProgress);
  e.pass(5s);
  e.say("a2");
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a1*,a2") << "what was published since the replay began is not replayed";
  EXPECT_EQ(e.status(again), ReplayStatus::InProgress);
  e.pass(6s);
  EXPECT_EQ(e.status(again), ReplayStatus::Completed);
  e.say("a3");
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "");
}

TEST(Archive, AReplayRespectsTheFilterPolicy) {
  Archives e;
  const message::MessageAttribute red{"colour", "String", "red"};
  const message::MessageAttribute blue{"colour", "String", "blue"};
  e.say("a1", {&red, 1});
  e.say("a2", {&blue, 1});
  e.say("a3", {&red, 1});
  e.replay("again.fifo", kStart, {}, R"({"colour":["red"]})");
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a1*,a3*");
}

TEST(Archive, WhatIsPublishedDuringAReplayComesBehindIt) {
  Archives e;
  for (int i = 0; i < 300; ++i) e.say("a" + std::to_string(i));
  const Subscribed again = e.replay("again.fifo", kStart);
  e.input(DeadlineCame{});
  EXPECT_EQ(e.status(again), ReplayStatus::InProgress);
  e.say("a300");
  e.deadline();
  EXPECT_EQ(e.status(again), ReplayStatus::Completed);
  e.say("a301");
  std::string expected;
  for (int i = 0; i < 302; ++i) expected += (i == 0 ? "" : ",") + std::string{"a"} + std::to_string(i) + (i < 300 ? "*" : "");
  EXPECT_EQ(e.drained("again.fifo"), expected);
}

TEST(Archive, TheRetentionIsWhatCanBeReplayed) {
  Archives e(2);
  e.say("a1");
  e.pass(24h);
  e.say("a2");
  e.pass(24h + 1ms);
  EXPECT_EQ(e.call<TopicDescription>(DescribeTopic{topic_key("t.fifo")}).beginning_archive_time, e.now - 48h);
  e.replay("again.fifo", kStart);
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a2*");
  e.drained("live.fifo");
  e.pass(48h);
  EXPECT_EQ(e.engine.needed_bytes(), 0u) << "its content is let go";
}

TEST(Archive, TheArchiveBeginsWithItsPolicy) {
  Archives e(0);
  e.say("a1");
  e.pass(1s);
  EXPECT_EQ(e.call<TopicDescription>(DescribeTopic{topic_key("t.fifo")}).beginning_archive_time, std::nullopt);
  e.set_archive(1);
  EXPECT_EQ(e.call<TopicDescription>(DescribeTopic{topic_key("t.fifo")}).beginning_archive_time, e.now);
  e.say("a2");
  e.replay("again.fifo", kStart);
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a2*");
}

TEST(Archive, AShorterRetentionIsForGood) {
  Archives e(10);
  e.say("a1");
  e.pass(48h);
  e.say("a2");
  e.set_archive(1);
  e.set_archive(10);
  e.replay("again.fifo", kStart);
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a2*");
}

TEST(Archive, WithoutItsPolicyTheArchiveIsGoneForGood) {
  Archives e;
  e.say("a1");
  e.drained("live.fifo");
  e.set_archive(0);
  e.deadline();
  EXPECT_EQ(e.engine.needed_bytes(), 0u);
  e.set_archive(7);
  e.replay("again.fifo", kStart);
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "");
}

TEST(Archive, EndingTheArchiveFailsItsReplaysAndLosesNothingNew) {
  Archives e;
  for (int i = 0; i < 300; ++i) e.say("a" + std::to_string(i));
  const Subscribed again = e.replay("again.fifo", kStart);
  e.say("b1");
  e.say("b2");
  e.set_archive(0);
  EXPECT_EQ(e.status(again), ReplayStatus::Failed);
  e.say("b3");
  e.deadline();
  e.say("b4");
  EXPECT_EQ(e.drained("again.fifo"), "b1,b2,b3,b4");
  EXPECT_EQ(e.status(again), ReplayStatus::Failed);
}

TEST(Archive, WhatAReplayStillOwesComesAlsoWhenOneWithAnEndTakesItsPlace) {
  ArchivesOnDisk e;
  e.say("a1");
  e.drained("live.fifo");
  const Subscribed again = e.replay("again.fifo", kStart);
  e.say("b1");
  e.set_archive(0);
  e.pass(1s);
  e.set_archive(7);  // the archive begins anew, and b1 is owed
  e.pass(1s);
  e.set_policy(again, e.policy(e.now, e.now + 1h));
  e.drained("live.fifo");
  e.deadline();
  e.feed();
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "b1");
  EXPECT_EQ(e.engine.needed_bytes(), 0u) << "nobody holds what is dead any more";
}

TEST(Archive, WhatNobodyHoldsAnyMoreIsFreedAtOnce) {
  ArchivesOnDisk e;
  e.say("a1");
  const Subscribed again = e.replay("again.fifo", kStart);
  e.say("b1");
  e.drained("live.fifo");
  e.set_archive(0);
  e.deadline();
  EXPECT_GT(e.engine.needed_bytes(), 0u) << "b1 is owed";
  e.set_policy(again, "");
  e.deadline();
  EXPECT_GT(e.engine.needed_bytes(), 0u) << "also without the policy: it is new";
  e.call<Done>(Unsubscribe{{topic_key("t.fifo"), again.uuid}});
  e.deadline();
  EXPECT_EQ(e.engine.needed_bytes(), 0u);
}

TEST(Archive, TakingThePolicyAwayStopsAReplayAndLosesNothingNew) {
  Archives e;
  for (int i = 0; i < 300; ++i) e.say("a" + std::to_string(i));
  const Subscribed again = e.replay("again.fifo", kStart);
  e.input(DeadlineCame{});
  e.say("b1");
  e.set_policy(again, "");
  e.say("b2");
  e.deadline();
  e.say("b3");
  std::string got = e.drained("again.fifo");
  EXPECT_TRUE(got.ends_with("*,b1,b2,b3")) << got;
  EXPECT_EQ(got.find("a299"), std::string::npos) << got;
}

TEST(Archive, ThePolicyGivenAgainReplaysAgain) {
  Archives e;
  e.say("a1");
  const Subscribed again = e.replay("again.fifo", kStart);
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a1*");
  e.set_policy(again, e.policy(kStart));
  EXPECT_EQ(e.status(again), ReplayStatus::Pending);
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a1*");
}

TEST(Archive, AnExistingSubscriptionCanReplayWhatItHasGot) {
  Archives e;
  e.say("a1");
  e.say("a2");
  const Subscribed live = e.subscribe("t.fifo", "live.fifo");
  e.set_policy(live, e.policy(kStart));
  e.deadline();
  EXPECT_EQ(e.drained("live.fifo"), "a1,a2,a1*,a2*") << "the queue's deduplication does not swallow what was asked for";
}

TEST(Archive, RefusesAReplayThatCannotBe) {
  Archives e;
  const auto refused = [&](std::string text) {
    topic::SubscriptionChanges changes;
    changes.replay_policy = std::move(text);
    return e.call<TopicError>(e.subscription("t.fifo", queue_arn("again.fifo"), changes)).detail;
  };
  EXPECT_EQ(refused("x"), "ReplayPolicy: failed to parse JSON.");
  EXPECT_EQ(refused(e.policy(kStart + 1h)), "ReplayPolicy: StartingPoint must not be in the future.");
  e.set_archive(0);
  EXPECT_EQ(refused(e.policy(kStart)), "ReplayPolicy: the topic has no active ArchivePolicy.");
  e.create_topic("standard");
  e.create_queue_for("q", "standard");
  topic::SubscriptionChanges changes;
  changes.replay_policy = e.policy(kStart);
  EXPECT_EQ(e.call<TopicError>(e.subscription("standard", queue_arn("q"), changes)).detail,
            "ReplayPolicy: only subscriptions of FIFO topics have a replay policy.");
}

TEST(Archive, AHundredReplaysRunInAnAccount) {
  Archives e;
  e.say("a1");
  std::vector<Subscribed> all;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "q" + std::to_string(i) + ".fifo";
    e.create_fifo_queue(name);
    all.push_back(e.replay(name, kStart));
  }
  topic::SubscriptionChanges changes;
  changes.replay_policy = e.policy(kStart);
  EXPECT_EQ(e.topic_error(e.subscription("t.fifo", queue_arn("again.fifo"), changes)), Code::TooManyReplays);
  e.set_policy(all[0], e.policy(kStart));  // takes the place of its own
  e.deadline();
  e.replay("again.fifo", kStart);
}

TEST(Archive, AMessageThatCannotBeDeliveredGoesToTheDeadLetterQueue) {
  Archives e;
  e.say("a1");
  e.create_fifo_queue("dlq.fifo");
  topic::SubscriptionChanges changes;
  changes.replay_policy = e.policy(kStart);
  changes.redrive_policy.emplace().value = topic::RedrivePolicy{QueueArn{queue_arn("dlq.fifo")}};
  e.subscribe("t.fifo", "nowhere.fifo", changes);
  e.deadline();
  EXPECT_EQ(e.drained("dlq.fifo"), "a1*");
  EXPECT_EQ(e.engine.failed_delivery_count(), 1u);
}

TEST(Archive, AFullStorageStopsAReplayUntilThereIsRoom) {
  Archives e;
  e.say("a1");
  const Subscribed again = e.replay("again.fifo", kStart);
  e.input(StorageChanged{true});
  e.pass(10s);
  EXPECT_EQ(e.status(again), ReplayStatus::Pending);
  e.input(StorageChanged{false});
  e.pass(1s);
  EXPECT_EQ(e.drained("again.fifo"), "a1*");
}

TEST(Archive, ContentsThatAreNotInMemoryAreAskedFor) {
  ArchivesOnDisk e;
  for (int i = 0; i < 100; ++i) e.say("a" + std::to_string(i));
  e.drained("live.fifo");
  const Subscribed again = e.replay("again.fifo", kStart);
  e.input(DeadlineCame{});
  const auto wanted = e.engine.wanted_contents();
  EXPECT_EQ(wanted.size(), 32u);
  EXPECT_EQ(e.status(again), ReplayStatus::Pending);
  EXPECT_GT(*e.engine.next_deadline(), e.now) << "it waits for the answer";
  e.deadline();
  EXPECT_EQ(e.status(again), ReplayStatus::Pending);
  e.feed();
  EXPECT_EQ(e.status(again), ReplayStatus::InProgress);
  for (int i = 0; i < 5; ++i) e.deadline(), e.feed();
  e.deadline();
  EXPECT_EQ(e.status(again), ReplayStatus::Completed);
  const std::string got = e.drained("again.fifo");
  EXPECT_TRUE(got.starts_with("a0*,a1*,") && got.ends_with(",a99*")) << got;
}

TEST(Archive, ContentsFromTheDiskAreAskedForOneSliceAfterTheOther) {
  ArchivesOnDisk e;
  for (int i = 0; i < 100; ++i) e.say("a" + std::to_string(i));
  e.drained("live.fifo");
  const Subscribed again = e.replay("again.fifo", kStart);
  int slices = 0;
  for (; slices < 10 && *e.status(again) != ReplayStatus::Completed; ++slices) {
    ASSERT_EQ(e.engine.next_deadline(), e.now) << "after " << slices << " slices it waits for nothing but its turn";
    e.input(DeadlineCame{});
    e.feed();
  }
  EXPECT_EQ(slices, 4);
}

TEST(Archive, AContentThatIsNotHandedInIsAskedForAgainAfterASecond) {
  ArchivesOnDisk e;
  e.say("a1");
  e.say("a2");
  e.say("a3");
  const Subscribed again = e.replay("again.fifo", kStart);
  e.input(DeadlineCame{});
  const auto wanted = e.engine.wanted_contents();
  ASSERT_EQ(wanted.size(), 3u);
  const std::string first = e.record_at(wanted[0]);
  const std::string third = e.record_at(wanted[2]);
  const ContentsRead::Content contents[] = {{wanted[0], first}, {wanted[2], third}};
  e.input(ContentsRead{contents});
  e.input(DeadlineCame{});
  e.input(ContentsRead{});
  EXPECT_EQ(e.drained("again.fifo"), "a1*") << "nothing overtakes what cannot be read now";
  EXPECT_EQ(e.engine.next_deadline(), e.now + 1s);
  EXPECT_EQ(e.engine.wanted_contents(), (std::vector{wanted[1], wanted[2]}));
  e.pass(1s);
  e.feed();
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a2*,a3*");
  EXPECT_EQ(e.status(again), ReplayStatus::Completed);
  EXPECT_TRUE(e.engine.failed_deliveries().empty());
}

// A subscription with a replay is two records, and so is the confirmation of one. What comes between the crash and the replay must not
// come live: the replay would bring it again.
TEST(Archive, AReplayWhoseBeginningACrashCutOffBeginsAllTheSame) {
  Archives e;
  e.say("a1");
  e.say("a2");
  e.replay("again.fifo", kStart);
  e.log.pop_back();
  EngineFixture after = e.replayed(2);
  after.now += 1s;
  OutgoingPublication third = after.publication("a3");
  third.content.group_id = "a";
  third.content.deduplication_id = "a3";
  after.call<Published>(Publish{topic_key("t.fifo"), third});
  ASSERT_TRUE(after.engine.next_deadline() && *after.engine.next_deadline() <= after.now);
  after.deadline();
  EXPECT_EQ(after.bodies("again.fifo"), "a1,a2,a3");
  EXPECT_EQ(after.bodies("live.fifo"), "a1,a2,a3");
}

TEST(Archive, AContentThatCannotBeReadIsLeftOutAndTold) {
  ArchivesOnDisk e;
  e.say("a1");
  e.say("a2");
  e.replay("again.fifo", kStart);
  e.input(DeadlineCame{});
  const auto wanted = e.engine.wanted_contents();
  ASSERT_EQ(wanted.size(), 2u);
  const std::string second = e.record_at(wanted[1]);
  const ContentsRead::Content contents[] = {{wanted[0], {}}, {wanted[1], second}};
  e.input(ContentsRead{contents});
  e.deadline();
  EXPECT_EQ(e.drained("again.fifo"), "a2*");
  ASSERT_EQ(e.engine.failed_deliveries().size(), 1u);
  EXPECT_EQ(e.engine.failed_deliveries()[0].reason, FailedDelivery::Reason::ContentUnreadable);
}

/// The same state from the log, from a snapshot, and from a snapshot with the log behind it.
void expect_recovers(Archives& e, bool settled = false) {
  EngineFixture replayed = e.replayed(1);
  if (settled) replayed.deadline();
  EXPECT_EQ(replayed.engine.debug_state(), e.engine.debug_state());
  std::vector<std::string> sections;
  e.engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  std::size_t next = 0;
  auto loaded = Engine::load(EngineFixture::with_frame({}), [&]() -> std::optional<std::string> {
    if (next == sections.size()) return std::nullopt;
    return sections[next++];
  });
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->debug_state(), e.engine.debug_state());
}

TEST(Archive, ARestartGoesOnWhereTheReplayWas) {
  Archives e;
  for (int i = 0; i < 300; ++i) e.say("a" + std::to_string(i));
  const Subscribed again = e.replay("again.fifo", kStart);
  e.input(DeadlineCame{});
  e.say("a300");
  expect_recovers(e);
  EngineFixture after = e.replayed(2);
  after.deadline();
  std::string got;
  for (auto some = after.receive("again.fifo", 10); !some.empty(); some = after.receive("again.fifo", 10))
    for (const Got& one : some) {
      got += one.body + ",";
      after.remove("again.fifo", one);
    }
  std::string expected;
  for (int i = 0; i < 301; ++i) expected += "a" + std::to_string(i) + ",";
  EXPECT_EQ(got, expected);
}

// Each start numbers on from a higher place; the log knows nothing of starts.
TEST(Archive, AReplayThatBeganAfterARestartIsRecovered) {
  Archives e;
  e.say("a1");
  EngineFixture second = e.replayed(2);
  topic::SubscriptionChanges changes;
  changes.replay_policy = Archives::policy(kStart);
  second.subscribe("t.fifo", "again.fifo", changes);
  EngineFixture third = second.replayed(3);
  third.deadline();
  EXPECT_EQ(third.bodies("again.fifo"), "a1");
}

TEST(Archive, ASnapshotCarriesTheArchiveAndItsReplays) {
  Archives e;
  for (int i = 0; i < 10; ++i) e.say("a" + std::to_string(i));
  e.drained("live.fifo");
  e.replay("again.fifo", kStart, kStart);
  e.deadline();
  expect_recovers(e);
  e.set_archive(0);
  e.deadline();
  expect_recovers(e, true);
}

TEST(Archive, RelocationKeepsTheArchiveAlive) {
  ArchivesOnDisk e;
  // Regions are 64 KiB: enough to fill some.
  const std::string big(2'000, 'x');
  for (int i = 0; i < 200; ++i) e.say("a" + std::to_string(i) + big);
  e.drained("live.fifo");
  const LogPosition before = e.engine.log_end();
  e.relocate(before);
  EXPECT_GE(e.engine.oldest_needed_position()->value, before.value & ~std::uint64_t{0xffff});
  EXPECT_EQ(e.replayed(1).engine.debug_state(), e.engine.debug_state());
  e.replay("again.fifo", kStart);
  for (int i = 0; i < 20; ++i) e.deadline(), e.feed();
  EXPECT_EQ(e.counts("again.fifo").visible, 200u);
}

}  // namespace
}  // namespace fanfare::engine
