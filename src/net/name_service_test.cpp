// The name service with a resolver that keeps some names waiting.
#include "net/name_service.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "base/time.h"
#include "net/test_client.h"

namespace fanfare::net {
namespace {

namespace asio = boost::asio;

class NameServiceTest : public ::testing::Test {
 protected:
  ~NameServiceTest() override { let_go(); }

  /// 127.0.0.1; for names that begin with "hung" only when they are let go.
  NameService::Resolve resolve() {
    return [state = state_](const HostPort& host) -> NameService::Answer {
      std::unique_lock lock{state->mutex};
      ++state->asked;
      if (host.host.starts_with("hung")) state->changed.wait(lock, [&] { return state->let_go; });
      if (host.host.starts_with("unknown")) return ResolveError::NotFound;
      return std::vector<SocketAddress>{{IpAddress::v4(127, 0, 0, 1), host.port}};
    };
  }
  void let_go() {
    const std::lock_guard lock{state_->mutex};
    state_->let_go = true;
    state_->changed.notify_all();
  }
  int asked() {
    const std::lock_guard lock{state_->mutex};
    return state_->asked;
  }
  template <class Condition>
  bool run_until(Condition condition) {
    const Instant until = std::chrono::steady_clock::now() + testing::kPatience;
    const auto work = asio::make_work_guard(context_);
    context_.restart();  // it stopped when the guard before went
    while (!condition() && std::chrono::steady_clock::now() < until) context_.run_for(milliseconds{1});
    return condition();
  }
  static std::string text_of(const NameService::Answer& answer) {
    return answer ? answer->front().str() : std::string{describe(answer.error())};
  }

  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool let_go = false;
    int asked = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();  // shared with threads that outlive the service
  asio::io_context context_{1};
};

TEST_F(NameServiceTest, GivesAddressesAndErrors) {
  NameService names{context_.get_executor(), resolve()};
  std::string well;
  std::string unknown;
  const auto first = names.lookup({"well.example", 80}, [&](const auto& answer) { well = text_of(answer); });
  const auto second = names.lookup({"unknown.example", 80}, [&](const auto& answer) { unknown = text_of(answer); });
  ASSERT_TRUE(run_until([&] { return !well.empty() && !unknown.empty(); }));
  EXPECT_EQ(well, "127.0.0.1:80");
  EXPECT_EQ(unknown, describe(ResolveError::NotFound));
}

TEST_F(NameServiceTest, ANameThatNobodyAnswersForHoldsUpNoOther) {
  NameService names{context_.get_executor(), resolve()};
  bool hung = false;
  std::string well;
  const auto first = names.lookup({"hung.example", 80}, [&](const auto&) { hung = true; });
  ASSERT_TRUE(run_until([&] { return asked() == 1; }));
  const auto second = names.lookup({"well.example", 80}, [&](const auto& answer) { well = text_of(answer); });
  EXPECT_TRUE(run_until([&] { return !well.empty(); }));
  EXPECT_FALSE(hung);
}

TEST_F(NameServiceTest, ANameIsLookedUpOnceForAllWhoWaitForIt) {
  NameService names{context_.get_executor(), resolve()};
  int answered = 0;
  const auto count = [&](const auto&) { ++answered; };
  const auto first = names.lookup({"hung.example", 80}, count);
  const auto second = names.lookup({"hung.example", 80}, count);
  const auto third = names.lookup({"hung.example", 80}, count);
  ASSERT_TRUE(run_until([&] { return asked() == 1; }));
  let_go();
  EXPECT_TRUE(run_until([&] { return answered == 3; }));
  EXPECT_EQ(asked(), 1);
}

TEST_F(NameServiceTest, WhoeverAsksNoMoreHearsNothing) {
  NameService names{context_.get_executor(), resolve()};
  bool heard = false;
  std::string other;
  const auto mark = [&](const auto&) { heard = true; };
  std::unique_ptr<NameService::Asked> asking{new NameService::Asked(names.lookup({"hung.example", 80}, mark))};
  const auto second = names.lookup({"hung.example", 80}, [&](const auto& answer) { other = text_of(answer); });
  asking.reset();
  let_go();
  EXPECT_TRUE(run_until([&] { return !other.empty(); }));
  EXPECT_FALSE(heard);
}

TEST_F(NameServiceTest, NeitherCloseNorTheContextsEndWaitsForALookup) {
  auto short_lived = std::make_unique<asio::io_context>(1);
  NameService names{short_lived->get_executor(), resolve()};
  {
    const auto asked_there = names.lookup({"hung.example", 80}, [](const auto&) { FAIL() << "nobody is there"; });
    ASSERT_TRUE(run_until([&] { return asked() == 1; }));
  }
  short_lived.reset();
  names.close();
  const auto late = names.lookup({"well.example", 80}, [](const auto&) { FAIL() << "closed"; });
  let_go();
}

}  // namespace
}  // namespace fanfare::net
