// Receives that are asked for again with their ReceiveRequestAttemptId. [SQS ReceiveMessage]
#include <gtest/gtest.h>

#include "core/engine/player.h"

namespace fanfare::engine {
namespace {

class AttemptsFixture : public EngineFixture {
 public:
  struct Empty {};
  AttemptsFixture(Empty, EngineOptions options) : EngineFixture(options) {}
  AttemptsFixture() {
    queue::AttributeChanges fifo;
    fifo.fifo = true;
    create_queue("q.fifo", fifo);
  }
  void send_fifo(std::string_view body, std::string_view group) {
    OutgoingMessage message = outgoing(body);
    message.content.group_id = group;
    message.content.deduplication_id = body;
    call<MessageSent>(SendMessage{queue_key("q.fifo"), message});
  }
  CallerId ask_attempt(std::string_view id, std::int64_t visibility = 30, std::int64_t wait = 0) {
    ReceiveMessages request;
    request.queue = queue_key("q.fifo");
    request.max_messages = *queue::MaxMessages::of(10);
    request.visibility_timeout = *queue::VisibilityTimeout::of(visibility);
    request.wait = *queue::ReceiveWait::of(wait);
    request.attempt_id = id;
    return ask(request);
  }
  std::vector<Got> attempt(std::string_view id, std::int64_t visibility = 30) { return received(ask_attempt(id, visibility)); }
  void change(const Got& got, std::int64_t timeout) {
    call<Done>(ChangeVisibility{queue_key("q.fifo"), got.message.handle, *queue::VisibilityTimeout::of(timeout)});
  }
  void lose(const std::vector<Got>& messages) {
    for (const Got& got : messages) input(ReceiveUndelivered{{&got.message.handle, 1}});
  }
};

TEST(Attempts, TheSameIdGivesTheSameMessagesUnderTheSameHandlesAndANewLease) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  e.send_fifo("b", "h");
  const auto first = e.attempt("one");
  ASSERT_EQ(e.joined(first), "a,b");
  e.send_fifo("c", "i");
  e.pass(seconds{20});
  const auto again = e.attempt("one");
  ASSERT_EQ(e.joined(again), "a,b");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again[i].message.handle, first[i].message.handle);
    EXPECT_EQ(again[i].message.receive_count, 1u);
  }
  e.pass(seconds{29});
  EXPECT_EQ(e.bodies("q.fifo"), "c") << "leased for 30 s from the second receive";
  e.pass(seconds{1});
  EXPECT_EQ(e.bodies("q.fifo"), "a,b");
}

TEST(Attempts, AnotherIdOrNoneTakesAnew) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  e.attempt("one");
  EXPECT_EQ(e.joined(e.attempt("two")), "");
  EXPECT_EQ(e.bodies("q.fifo"), "");
}

TEST(Attempts, NothingIsRepeatedOnceAMessageWasDeletedOrChanged) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  e.send_fifo("b", "h");
  const auto first = e.attempt("one");
  e.remove("q.fifo", first[0]);
  EXPECT_EQ(e.joined(e.attempt("one")), "");
  e.pass(seconds{30});
  const auto second = e.attempt("one");
  ASSERT_EQ(e.joined(second), "b");
  e.change(second[0], 60);
  EXPECT_EQ(e.joined(e.attempt("one")), "");
}

TEST(Attempts, NothingIsRepeatedOnceItsLeaseIsOver) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  const auto first = e.attempt("one");
  e.pass(seconds{30});
  const auto second = e.attempt("one");
  ASSERT_EQ(e.joined(second), "a");
  EXPECT_NE(second[0].message.handle, first[0].message.handle);
  EXPECT_EQ(second[0].message.receive_count, 2u);
}

TEST(Attempts, AnIdIsKnownForFiveMinutesFromItsFirstReceive) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  e.attempt("one", 600);
  e.pass(milliseconds{299'999});
  EXPECT_EQ(e.joined(e.attempt("one", 600)), "a");
  e.pass(milliseconds{1});
  EXPECT_EQ(e.joined(e.attempt("one", 600)), "");
}

TEST(Attempts, AReplyThatIsLostGivesItsMessagesBack) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  e.lose(e.attempt("one"));
  const auto again = e.attempt("one");
  ASSERT_EQ(e.joined(again), "a");
  EXPECT_EQ(again[0].message.receive_count, 1u);
}

TEST(Attempts, WhatWasAskedForAgainStaysLeasedWhicheverOfTheRepliesIsLost) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  const auto first = e.attempt("one");
  const auto second = e.attempt("one");
  e.lose(first);
  EXPECT_EQ(e.bodies("q.fifo"), "") << "the second reply may have arrived";
  e.lose(second);
  EXPECT_EQ(e.bodies("q.fifo"), "") << "the first reply may have arrived";
  EXPECT_EQ(e.joined(e.attempt("one")), "a");
  e.pass(seconds{30});
  const auto anew = e.receive("q.fifo");
  ASSERT_EQ(e.joined(anew), "a");
  e.lose(anew);
  EXPECT_EQ(e.bodies("q.fifo"), "a") << "a later delivery is given back as any other";
}

TEST(Attempts, WhatWasAskedForAgainIsForgottenWithItsLeases) {
  AttemptsFixture e;
  for (int i = 0; i < 200; ++i) {
    e.send_fifo(std::to_string(i), "g" + std::to_string(i));
    const std::string id = "attempt" + std::to_string(i);
    const auto first = e.attempt(id, 1);
    e.lose(e.attempt(id, 1));
    EXPECT_EQ(e.bodies("q.fifo"), "") << i;
    e.remove("q.fifo", first.at(0));
  }
}

TEST(Attempts, OneThatIsRepeatedWithoutALeaseWakesWhoWaits) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  e.attempt("one");
  const CallerId waiter = e.ask_receive("q.fifo", 1, 30, 20);
  EXPECT_FALSE(e.answered(waiter));
  EXPECT_EQ(e.joined(e.attempt("one", 0)), "a");
  e.deadline();
  EXPECT_EQ(e.joined(e.received(waiter)), "a");
}

TEST(Attempts, AReceiveThatWaitedCanBeAskedForAgain) {
  AttemptsFixture e;
  const CallerId waiter = e.ask_attempt("one", 30, 20);
  e.send_fifo("a", "g");
  const auto first = e.received(waiter);
  ASSERT_EQ(e.joined(first), "a");
  const auto again = e.attempt("one");
  ASSERT_EQ(e.joined(again), "a");
  EXPECT_EQ(again[0].message.handle, first[0].message.handle);
}

/// After a start of the process, by the log or by a snapshot.
class AttemptsAfterARestart : public ::testing::TestWithParam<bool> {
 protected:
  AttemptsFixture e_;
  AttemptsFixture restarted() {
    EngineOptions options = EngineFixture::with_frame({});
    options.epoch = 2;
    AttemptsFixture later(AttemptsFixture::Empty{}, options);
    if (GetParam()) {
      later.engine = loaded(e_.engine, options);
      later.engine.start(e_.engine.log_end(), e_.now);
    } else {
      later.engine = std::move(e_.replayed(2).engine);
    }
    later.now = e_.now;
    later.log = e_.log;
    later.expect_log_end(later.engine.log_end());
    return later;
  }
};

INSTANTIATE_TEST_SUITE_P(, AttemptsAfterARestart, ::testing::Bool(), [](const auto& one) { return one.param ? "FromASnapshot" : "FromTheLog"; });

TEST_P(AttemptsAfterARestart, TheSameIdGivesTheSameMessagesUnderTheSameHandlesAndANewLease) {
  e_.send_fifo("a", "g");
  e_.send_fifo("b", "h");
  const auto first = e_.attempt("one");
  ASSERT_EQ(first.size(), 2u);
  e_.pass(seconds{20});
  AttemptsFixture later = restarted();
  EXPECT_EQ(later.attempt("two").size(), 0u);
  const auto again = later.attempt("one");
  ASSERT_EQ(again.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again[i].message.handle, first[i].message.handle);
    EXPECT_EQ(again[i].message.id, first[i].message.id);
    EXPECT_EQ(again[i].message.receive_count, 1u);
  }
  later.pass(seconds{29});
  EXPECT_EQ(later.receive("q.fifo", 10).size(), 0u);
  later.remove("q.fifo", first[0]);
  later.pass(seconds{1});
  const auto left = later.receive("q.fifo", 10);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].message.id, first[1].message.id);
}

TEST_P(AttemptsAfterARestart, TheLeaseOfTheLastRepetitionCounts) {
  e_.send_fifo("a", "g");
  e_.attempt("one", 30);
  e_.pass(seconds{10});
  const auto second = e_.attempt("one", 100);
  e_.pass(seconds{40});
  AttemptsFixture later = restarted();
  const auto third = later.attempt("one", 20);
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].message.handle, second[0].message.handle);
  later.pass(seconds{20});
  EXPECT_EQ(later.receive("q.fifo").size(), 1u);
}

TEST_P(AttemptsAfterARestart, FiveMinutesAreCountedFromTheFirstReceive) {
  e_.send_fifo("a", "g");
  e_.attempt("one", 600);
  e_.pass(milliseconds{200'000});
  AttemptsFixture later = restarted();
  later.pass(milliseconds{99'999});
  EXPECT_EQ(later.attempt("one", 600).size(), 1u);
  later.pass(milliseconds{1});
  EXPECT_EQ(later.attempt("one", 600).size(), 0u);
}

TEST_P(AttemptsAfterARestart, NothingIsRepeatedOnceAMessageWasDeletedOrChanged) {
  e_.send_fifo("a", "g");
  e_.send_fifo("b", "h");
  e_.send_fifo("c", "i");
  const auto both = e_.receive("q.fifo", 2);
  ASSERT_EQ(both.size(), 2u);
  e_.lose(both);
  const auto first = e_.received(e_.ask_receive("q.fifo", 2, 30, 0, "one"));
  const auto second = e_.received(e_.ask_receive("q.fifo", 2, 30, 0, "two"));
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 1u);
  e_.remove("q.fifo", first[0]);
  e_.change(second[0], 60);
  AttemptsFixture later = restarted();
  EXPECT_EQ(later.attempt("one").size(), 0u);
  EXPECT_EQ(later.attempt("two").size(), 0u);
  later.pass(seconds{30});
  EXPECT_EQ(later.attempt("three").size(), 1u) << "what is left of the first";
}

TEST(Attempts, OfADeletedQueueAreStillInTheSnapshotThatBeganBefore) {
  AttemptsFixture e;
  for (int i = 0; i < 40; ++i) {
    e.send_fifo(std::to_string(i), "g" + std::to_string(i));
    ASSERT_EQ(e.attempt(std::to_string(i)).size(), 1u);
  }
  const std::string at_begin = e.engine.debug_state();
  std::vector<std::string> sections;
  const auto write = [&](std::string_view section) { sections.emplace_back(section); };
  e.engine.begin_snapshot();
  while (e.engine.snapshot_part() != "messages") ASSERT_TRUE(e.engine.snapshot_slice(20, write));
  e.attempt("3", 100);
  e.call<Done>(PurgeQueue{queue_key("q.fifo")});
  e.send_fifo("later", "g");
  e.attempt("3");
  while (sections.back()[1] != 17) ASSERT_TRUE(e.engine.snapshot_slice(20, write));
  e.call<Done>(DeleteQueue{queue_key("q.fifo")});
  while (e.engine.snapshot_slice(20, write)) e.pass(seconds{1});
  std::size_t next = 0;
  auto copy = Engine::load(EngineFixture::with_frame({}), [&]() -> std::optional<std::string> {
    if (next == sections.size()) return std::nullopt;
    return sections[next++];
  });
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(difference(copy->debug_state(), at_begin), "");
}

TEST(Attempts, NoMoreAreKeptThanTwiceTheReceivesThatHoldTheirMessages) {
  queue::Queue messages(SequenceNumber{1}, true);
  Attempts attempts;
  constexpr std::uint64_t kHeld = 20;
  for (std::uint64_t i = 1; i <= 2'000; ++i) {
    queue::Arrived arrived{.id = {}, .sequence = {i}, .sent_at = kStart, .visible_at = kStart, .at = kStart};
    const std::string group = std::to_string(i);
    arrived.group = group;
    messages.apply(arrived);
    messages.apply(queue::Leased{{i}, 1, kStart, kStart + seconds{30}});
    // The oldest of them is never given up.
    if (i > kHeld) messages.apply(queue::Removed{{i - kHeld + 1}});
    attempts.note({Attempt::key_of(group), kStart, kStart + seconds{30}, {{{1}, {i}, 1, 1}}}, messages);
    ASSERT_LE(attempts.size(), 2 * kHeld + 4) << i;
  }
  std::size_t held = 0;
  attempts.for_each(messages, kStart, [&](const Attempt&) { ++held; });
  EXPECT_EQ(held, kHeld);
}

TEST(Attempts, AStandardQueueTakesNoId) {
  EngineFixture e;
  e.create_queue("q");
  ReceiveMessages request;
  request.queue = queue_key("q");
  request.attempt_id = "one";
  EXPECT_EQ(e.queue_error(request), QueueError::Code::AttemptIdOnStandardQueue);
}

}  // namespace
}  // namespace fanfare::engine
