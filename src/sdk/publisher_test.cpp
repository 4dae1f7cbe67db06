#include "fanfare/publisher.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

namespace fanfare::sdk {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// A destination whose answers the test scripts; batches that find no script succeed.
struct FakeService {
  asio::io_context& io;
  std::vector<std::vector<Event>> batches;
  std::vector<Result<BatchResults<SendReceipt>, Error>> script;
  bool hang = false;

  Destination destination(std::string name = "arn:aws:sns:us-east-1:000000000000:t") {
    return Destination{std::move(name), 1000, [this](const std::vector<Event>& events) { return answer(events); }};
  }
  Awaitable<Result<BatchResults<SendReceipt>, Error>> answer(std::vector<Event> events) {
    batches.push_back(events);
    if (hang) {
      asio::steady_timer never{io, Instant::max()};
      co_await never.async_wait(asio::use_awaitable);
    }
    if (!script.empty()) {
      auto next = std::move(script.front());
      script.erase(script.begin());
      co_return next;
    }
    BatchResults<SendReceipt> results;
    for (const Event& event : events) results.emplace_back(SendReceipt{"id-of-" + event.id, ""});
    co_return results;
  }
};

template <class T>
T run(asio::io_context& io, Awaitable<T> work) {
  std::optional<T> result;
  asio::co_spawn(io, std::move(work), [&](std::exception_ptr thrown, T value) {
    if (thrown) std::rethrow_exception(thrown);
    result = std::move(value);
  });
  const Instant deadline = std::chrono::steady_clock::now() + 10s;
  while (!result && std::chrono::steady_clock::now() < deadline) {
    io.restart();
    io.run_one_for(10s);
  }
  if (!result) throw std::runtime_error{"not finished within 10 s"};
  return std::move(*result);
}

Event event_of(std::string id) { return Event{.id = std::move(id), .type = "t", .body = "{}"}; }

TEST(Publisher, S2_ConfirmedPublishReturnsTheServicesMessageId) {
  asio::io_context io;
  FakeService service{io};
  Publisher publisher{io.get_executor(), service.destination(), {.flush_interval = 1ms}};
  const auto receipt = run(io, publisher.publish_confirmed(event_of("a")));
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->message_id, "id-of-a");
}

TEST(Publisher, S1_FailuresGoToOnErrorWithEventAndCause) {
  asio::io_context io;
  FakeService service{io};
  service.script.emplace_back(Error{.kind = ErrorKind::Service, .code = "NotFound", .message = "Topic does not exist", .status = 404});
  std::vector<std::string> failures;
  Publisher publisher{io.get_executor(), service.destination(),
                      {.on_error = [&](const Event& e, const Error& cause) { failures.push_back(e.id + ": " + cause.describe()); }}};
  publisher.publish(event_of("a"));
  const DrainReport report = run(io, publisher.drain(5s));
  EXPECT_EQ(failures, std::vector<std::string>{"a: NotFound (404): Topic does not exist"});
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(report.sent, 0u);
}

TEST(Publisher, S3_DrainFlushesEverythingAndOneFailureDoesNotStopTheRest) {
  asio::io_context io;
  FakeService service{io};
  service.script.emplace_back(Error{.kind = ErrorKind::Service, .code = "InternalError", .message = "no", .status = 400});
  Publisher publisher{io.get_executor(), service.destination(), {.max_batches_in_flight = 1}};
  for (int i = 0; i < 25; ++i) publisher.publish(event_of(std::to_string(i)));
  const DrainReport report = run(io, publisher.drain(5s));
  EXPECT_EQ(report.failed, 10u);
  EXPECT_EQ(report.sent, 15u);
  EXPECT_TRUE(report.abandoned.empty());
}

TEST(Publisher, S3_DrainIsBoundedAndReportsWhatDidNotGetOut) {
  asio::io_context io;
  FakeService service{io};
  service.hang = true;
  Publisher publisher{io.get_executor(), service.destination(), {.max_batches_in_flight = 1}};
  for (int i = 0; i < 12; ++i) publisher.publish(event_of(std::to_string(i)));
  const DrainReport report = run(io, publisher.drain(30ms));
  EXPECT_EQ(report.abandoned.size(), 12u) << "ten in flight and two buffered";
  const DrainReport again = run(io, publisher.drain(30ms));
  EXPECT_EQ(again.abandoned.size(), 12u) << "a second drain gives the same report";
}

TEST(Publisher, S3_NothingIsAcceptedAfterDrain) {
  asio::io_context io;
  FakeService service{io};
  Publisher publisher{io.get_executor(), service.destination()};
  run(io, publisher.drain(1s));
  const auto refused = run(io, publisher.publish_confirmed(event_of("late")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the publisher is closed: publish before drain()");
}

TEST(Publisher, L14_TheProducerLearnsEachMessageId) {
  asio::io_context io;
  FakeService service{io};
  std::map<std::string, std::string> ids;
  Publisher publisher{io.get_executor(), service.destination(),
                      {.on_published = [&](const Event& e, const PublishReceipt& r) { ids[e.id] = r.message_id; }}};
  publisher.publish(event_of("a"), event_of("b"));
  run(io, publisher.drain(5s));
  EXPECT_EQ(ids, (std::map<std::string, std::string>{{"a", "id-of-a"}, {"b", "id-of-b"}}));
}

TEST(Publisher, S1_ManyThreadsMayPublishAtOnce) {
  asio::io_context io;
  FakeService service{io};
  Publisher publisher{io.get_executor(), service.destination()};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) publisher.publish(event_of(std::to_string(t) + "-" + std::to_string(i)));
    });
  for (std::thread& thread : threads) thread.join();
  const DrainReport report = run(io, publisher.drain(10s));
  EXPECT_EQ(report.sent, 2000u);
  for (const auto& batch : service.batches) EXPECT_LE(batch.size(), 10u);
}

}  // namespace
}  // namespace fanfare::sdk
