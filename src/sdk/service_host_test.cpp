// The service host, each run in a child process: it owns the process's signals.
#include "fanfare/service_host.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <stdexcept>

namespace fanfare::sdk {
namespace asio = boost::asio;
namespace {

struct Ended {
  int exit_code;
  std::string said;  // what the child wrote
};

/// Runs `child` in a process of its own; `say` writes to the pipe that Ended::said comes from.
template <class Child>
Ended in_a_child(Child child) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(child([&](std::string_view text) { (void)!::write(ends[1], text.data(), text.size()); }));
  }
  ::close(ends[1]);
  Ended ended{-1, {}};
  char buffer[512];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got < 0) break;
    ended.said.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  return ended;
}

Awaitable<void> pause(milliseconds time) {
  asio::steady_timer timer{co_await asio::this_coro::executor, time};
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
}

TEST(ServiceHost, S13StopsPhaseAfterPhaseAtSigterm) {
  const Ended ended = in_a_child([](auto say) {
    ServiceHost host{{.stop_timeout = seconds{20}}};
    const auto part = [&](Phase phase, const std::string& name) {
      host.at(phase, name, seconds{1}, [say, name](milliseconds) -> Awaitable<std::string> {
        say(name + "( ");
        auto pausing = pause(milliseconds{5});
        co_await std::move(pausing);
        say(name + ") ");
        co_return "";
      });
    };
    part(Phase::CloseStores, "store");
    part(Phase::DrainPublisher, "publisher");
    part(Phase::StopAccepting, "http");
    part(Phase::FinishWork, "work");
    asio::post(host.io(), [] { ::raise(SIGTERM); });
    return host.run();
  });
  EXPECT_EQ(ended.said, "http( http) work( work) publisher( publisher) store( store) ");
  EXPECT_EQ(ended.exit_code, 0);
}

TEST(ServiceHost, S13ASecondSignalEndsAtOnce) {
  const Ended ended = in_a_child([](auto) {
    ServiceHost host;
    host.at(Phase::FinishWork, "work", seconds{1}, [](milliseconds) -> Awaitable<std::string> {
      ::raise(SIGTERM);
      auto pausing = pause(seconds{60});
      co_await std::move(pausing);
      co_return "";
    });
    asio::post(host.io(), [] { ::raise(SIGTERM); });
    return host.run();
  });
  EXPECT_EQ(ended.exit_code, 130);
}

TEST(ServiceHost, S13APartThatFailsOrHangsIsNamedAndDoesNotKeepTheOthersFromStopping) {
  const Ended ended = in_a_child([](auto say) {
    ServiceHost host{{.stop_timeout = milliseconds{300}}};
    host.at(Phase::StopAccepting, "thrower", milliseconds{50}, [](milliseconds) -> Awaitable<std::string> { throw std::runtime_error{"at once"}; });
    host.at(Phase::FinishWork, "hanger", milliseconds{50}, [](milliseconds) -> Awaitable<std::string> {
      auto pausing = pause(seconds{60});
      co_await std::move(pausing);
      co_return "";
    });
    host.at(Phase::CloseStores, "store", milliseconds{50}, [say](milliseconds) -> Awaitable<std::string> {
      say("store ");
      co_return "";
    });
    host.request_stop();
    return host.run();
  });
  EXPECT_NE(ended.said.find("thrower: it threw while stopping"), std::string::npos) << ended.said;
  EXPECT_NE(ended.said.find("hanger: it did not stop within"), std::string::npos) << ended.said;
  EXPECT_NE(ended.said.find("store "), std::string::npos) << ended.said;
  EXPECT_EQ(ended.exit_code, 1);
}

TEST(ServiceHost, S13AWorstCaseThatDoesNotFitIsRefusedAtStart) {
  ServiceHost host{{.stop_timeout = seconds{5}}};
  host.at(Phase::FinishWork, "work", seconds{4}, [](milliseconds) -> Awaitable<std::string> { co_return ""; });
  host.at(Phase::DrainPublisher, "publisher", seconds{2}, [](milliseconds) -> Awaitable<std::string> { co_return ""; });
  ASSERT_FALSE(host.check());
  EXPECT_NE(host.check().error().find("publisher 2s"), std::string::npos) << host.check().error();
}

}  // namespace
}  // namespace fanfare::sdk
