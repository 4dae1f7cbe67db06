// Receives that are asked for again with their ReceiveRequestAttemptId. [SQS ReceiveMessage]
#include <gtest/gtest.h>

#include "core/engine/test_support.h"

namespace fanfare::engine {
namespace {

class AttemptsFixture : public EngineFixture {
 public:
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

TEST(Attempts, ARestartForgetsThem) {
  AttemptsFixture e;
  e.send_fifo("a", "g");
  const auto first = e.attempt("one");
  EngineFixture later = e.replayed(2);
  ReceiveMessages request;
  request.queue = queue_key("q.fifo");
  request.attempt_id = "one";
  EXPECT_EQ(later.joined(later.received(later.ask(request))), "") << "it is leased";
  later.remove("q.fifo", first.at(0));
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
