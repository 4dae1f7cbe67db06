#include "fanfare/consumer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>

namespace fanfare::sdk {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

ReceivedMessage message(std::string id, std::string type, std::string group = {}) {
  ReceivedMessage m;
  m.message_id = id;
  m.receipt_handle = "r-" + id;
  m.body = "{}";
  m.attributes.push_back({"type", "String", std::move(type)});
  m.system_attributes["ApproximateReceiveCount"] = "1";
  if (!group.empty()) m.system_attributes["MessageGroupId"] = std::move(group);
  return m;
}

/// Hands out scripted receives, then long-polls until cancelled; writes down every call.
class FakeSqs final : public SqsClient {
 public:
  explicit FakeSqs(asio::io_context& io) : io_(io) {}
  std::deque<Result<std::vector<ReceivedMessage>, Error>> receives;
  std::vector<std::string> calls;
  int failing_deletes = 0;
  bool poll_was_cancelled = false;

  Awaitable<Result<std::vector<ReceivedMessage>, Error>> receive_message(std::string, ReceiveOptions) override {
    if (!receives.empty()) {
      auto next = std::move(receives.front());
      receives.pop_front();
      co_return next;
    }
    asio::steady_timer never{io_, Instant::max()};
    const auto [error] = co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
    poll_was_cancelled = true;
    co_return Error{.kind = ErrorKind::Cancelled, .message = error.message()};
  }
  Awaitable<Result<BatchResults<Success>, Error>> delete_message_batch(std::string, std::vector<std::string> handles) override {
    std::string call = "delete";
    BatchResults<Success> results;
    for (const std::string& handle : handles) {
      call += " " + handle;
      if (failing_deletes > 0) {
        --failing_deletes;
        results.emplace_back(Error{.kind = ErrorKind::Service, .code = "InternalError", .message = "no", .status = 500});
      } else {
        results.emplace_back(Success{});
      }
    }
    calls.push_back(call);
    co_return results;
  }
  Awaitable<Result<BatchResults<Success>, Error>> change_message_visibility_batch(std::string,
                                                                                  std::vector<VisibilityChange> changes) override {
    std::string call = "visibility";
    BatchResults<Success> results;
    for (const VisibilityChange& change : changes) {
      call += " " + change.receipt_handle + "=" + std::to_string(change.timeout.count());
      results.emplace_back(Success{});
    }
    calls.push_back(call);
    co_return results;
  }
  Awaitable<Result<std::string, Error>> create_queue(std::string, std::map<std::string, std::string>) override { co_return unused(); }
  Awaitable<Result<std::string, Error>> get_queue_url(std::string) override { co_return unused(); }
  Awaitable<Result<Success, Error>> delete_queue(std::string) override { co_return unused(); }
  Awaitable<Result<std::map<std::string, std::string>, Error>> get_queue_attributes(std::string, std::vector<std::string>) override {
    co_return unused();
  }
  Awaitable<Result<Success, Error>> set_queue_attributes(std::string, std::map<std::string, std::string>) override {
    co_return unused();
  }
  Awaitable<Result<SendReceipt, Error>> send_message(std::string, SendEntry) override { co_return unused(); }
  Awaitable<Result<BatchResults<SendReceipt>, Error>> send_message_batch(std::string, std::vector<SendEntry>) override {
    co_return unused();
  }

 private:
  static Error unused() { return Error{.kind = ErrorKind::Invalid, .message = "not part of this test"}; }
  asio::io_context& io_;
};

struct ConsumerFixture : ::testing::Test {
  asio::io_context io;
  std::shared_ptr<FakeSqs> sqs = std::make_shared<FakeSqs>(io);
  std::vector<std::string> ran;
  std::vector<std::string> failures;

  Handler ok(std::string name) {
    return [this, name](const Delivery& d) -> Awaitable<HandlerResult> {
      ran.push_back(name + ":" + d.message_id);
      co_return HandlerResult::done();
    };
  }
  Handler failing(std::string name) {
    return [this, name](const Delivery& d) -> Awaitable<HandlerResult> {
      ran.push_back(name + ":" + d.message_id);
      co_return HandlerResult::failed(name + " failed");
    };
  }
  /// Runs a consumer until it waits in an empty poll, then stops it.
  ConsumerCounters consume(HandlerTable handlers, ConsumerOptions options = {}) {
    options.backoff_first = 1ms;
    options.on_failure = [this](const Delivery& d, const std::vector<std::string>& reasons) {
      for (const std::string& reason : reasons) failures.push_back(d.message_id + ": " + reason);
    };
    Consumer consumer{io.get_executor(), sqs, "q", std::move(handlers), options};
    consumer.start();
    while (!sqs->receives.empty()) io.run_one();
    std::optional<ConsumerCounters> counters;
    asio::co_spawn(io, consumer.stop(5s, 0ms), [&](std::exception_ptr, ConsumerCounters c) { counters = c; });
    while (!counters) io.run_one();
    return *counters;
  }
};

TEST_F(ConsumerFixture, S8_AMessageWithoutHandlerIsAcknowledged) {
  sqs->receives.push_back(std::vector{message("1", "unknown")});
  const auto counters = consume(HandlerTable{});
  EXPECT_EQ(sqs->calls, std::vector<std::string>{"delete r-1"});
  EXPECT_EQ(counters.unhandled, 1u);
}

TEST_F(ConsumerFixture, S9_EveryHandlerRunsAndAnyFailureFailsTheMessage) {
  sqs->receives.push_back(std::vector{message("1", "t")});
  HandlerTable handlers;
  handlers.on("t", failing("a")).on("t", ok("b")).on("t", failing("c"));
  consume(std::move(handlers));
  EXPECT_EQ(ran, (std::vector<std::string>{"a:1", "b:1", "c:1"}));
  EXPECT_EQ(failures, (std::vector<std::string>{"1: a failed", "1: c failed"}));
  EXPECT_EQ(sqs->calls, std::vector<std::string>{"visibility r-1=0"});
}

TEST_F(ConsumerFixture, S10_FailedMessagesAreGivenBackInOneCallBeforeTheDoneAreDeleted) {
  sqs->receives.push_back(std::vector{message("1", "good"), message("2", "bad"), message("3", "good"), message("4", "bad")});
  HandlerTable handlers;
  handlers.on("good", ok("g")).on("bad", failing("b"));
  consume(std::move(handlers));
  EXPECT_EQ(sqs->calls, (std::vector<std::string>{"visibility r-2=0 r-4=0", "delete r-1 r-3"}));
}

TEST_F(ConsumerFixture, S11_MessagesAreHandledOneAfterAnother) {
  sqs->receives.push_back(std::vector{message("1", "t"), message("2", "t"), message("3", "t")});
  HandlerTable handlers;
  handlers.on("t", ok("h"));
  consume(std::move(handlers));
  EXPECT_EQ(ran, (std::vector<std::string>{"h:1", "h:2", "h:3"}));
}

TEST_F(ConsumerFixture, S11_ConcurrencyKeepsTheOrderInsideAGroup) {
  sqs->receives.push_back(std::vector{message("1", "t", "a"), message("2", "t", "a"), message("3", "t", "b"), message("4", "t")});
  HandlerTable handlers;
  int inside = 0;
  int most = 0;
  handlers.on("t", [&](const Delivery& d) -> Awaitable<HandlerResult> {
    const std::string id = d.message_id;
    most = std::max(most, ++inside);
    asio::steady_timer turn{io, 1ms};  // lets the other lanes begin
    co_await turn.async_wait(asio::use_awaitable);
    --inside;
    ran.push_back(id);
    co_return HandlerResult::done();
  });
  ConsumerOptions options;
  options.concurrency = 3;
  const auto counters = consume(std::move(handlers), options);
  EXPECT_EQ(counters.done, 4u);
  EXPECT_EQ(most, 3);
  EXPECT_LT(std::find(ran.begin(), ran.end(), "1"), std::find(ran.begin(), ran.end(), "2"));
}

TEST_F(ConsumerFixture, AFailedMessageCanBeLeftToItsVisibility) {
  sqs->receives.push_back(std::vector{message("1", "t")});
  HandlerTable handlers;
  handlers.on("t", failing("f"));
  ConsumerOptions options;
  options.give_back_after.reset();
  consume(std::move(handlers), options);
  EXPECT_TRUE(sqs->calls.empty());
}

TEST_F(ConsumerFixture, AfterAFailureTheRestOfItsGroupIsGivenBackAndOtherGroupsGoOn) {
  sqs->receives.push_back(std::vector{message("1", "bad", "g1"), message("2", "good", "g1"), message("3", "good", "g2")});
  HandlerTable handlers;
  handlers.on("good", ok("g")).on("bad", failing("b"));
  consume(std::move(handlers));
  EXPECT_EQ(ran, (std::vector<std::string>{"b:1", "g:3"}));
  EXPECT_EQ(sqs->calls, (std::vector<std::string>{"visibility r-1=0 r-2=0", "delete r-3"}));
}

TEST_F(ConsumerFixture, WhatAHandlerThrowsFailsItsMessageOnly) {
  sqs->receives.push_back(std::vector{message("1", "t"), message("2", "u")});
  HandlerTable handlers;
  handlers.on_sync("t", [](const Delivery&) -> HandlerResult { throw std::runtime_error{"boom"}; });
  handlers.on("u", ok("h"));
  const auto counters = consume(std::move(handlers));
  EXPECT_EQ(failures, std::vector<std::string>{"1: boom"});
  EXPECT_EQ(counters.done, 1u);
}

TEST_F(ConsumerFixture, PartialFailuresOfTheDeleteAreRetried) {
  sqs->failing_deletes = 1;
  sqs->receives.push_back(std::vector{message("1", "t"), message("2", "t")});
  HandlerTable handlers;
  handlers.on("t", ok("h"));
  const auto counters = consume(std::move(handlers));
  EXPECT_EQ(sqs->calls, (std::vector<std::string>{"delete r-1 r-2", "delete r-1"}));
  EXPECT_EQ(counters.deleted, 2u);
}

TEST_F(ConsumerFixture, ARedeliveryOfADoneMessageIsDeletedNotRunAgain) {
  sqs->failing_deletes = 3;  // every attempt of the first delete
  sqs->receives.push_back(std::vector{message("1", "t")});
  sqs->receives.push_back(std::vector{message("1", "t")});
  HandlerTable handlers;
  handlers.on("t", ok("h"));
  const auto counters = consume(std::move(handlers));
  EXPECT_EQ(ran, std::vector<std::string>{"h:1"});
  EXPECT_EQ(counters.redelivered_done, 1u);
  EXPECT_EQ(counters.deleted, 1u);
}

TEST_F(ConsumerFixture, ThePollLoopSurvivesErrors) {
  sqs->receives.push_back(Error{.kind = ErrorKind::Unreachable, .message = "refused"});
  sqs->receives.push_back(std::vector{message("1", "t")});
  HandlerTable handlers;
  handlers.on("t", ok("h"));
  const auto counters = consume(std::move(handlers));
  EXPECT_EQ(counters.done, 1u);
  EXPECT_EQ(counters.consecutive_errors, 0u);
}

TEST_F(ConsumerFixture, L4_StopAbortsTheRunningLongPoll) {
  consume(HandlerTable{});
  Consumer consumer{io.get_executor(), sqs, "q", HandlerTable{}};
  consumer.start();
  bool stopped = false;
  io.poll();  // the poll is running now
  asio::co_spawn(io, consumer.stop(5s, 0ms), [&](std::exception_ptr, ConsumerCounters) { stopped = true; });
  const Instant deadline = std::chrono::steady_clock::now() + 5s;
  while (!stopped && std::chrono::steady_clock::now() < deadline) io.run_one_for(1s);
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(sqs->poll_was_cancelled);
}

}  // namespace
}  // namespace fanfare::sdk
