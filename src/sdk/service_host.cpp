#include "fanfare/service_host.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>

namespace fanfare::sdk {
namespace asio = boost::asio;
namespace {
constexpr Phase kPhases[] = {Phase::StopAccepting, Phase::FinishWork, Phase::DrainPublisher, Phase::CloseStores};
}

class ServiceHost::Impl {
 public:
  struct Part {
    Phase phase;
    std::string name;
    milliseconds worst_case;
    std::function<Awaitable<std::string>(milliseconds)> stop;
  };

  explicit Impl(ServiceHostOptions options) : options_(options), signals_(io_, SIGTERM, SIGINT) {}

  Result<Success, std::string> check() const {
    milliseconds sum{0};
    std::string parts;
    for (const Phase phase : kPhases) {
      milliseconds worst{0};  // the parts of one phase stop side by side
      for (const Part& part : parts_) {
        if (part.phase != phase) continue;
        worst = std::max(worst, part.worst_case);
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.name, format_duration(part.worst_case));
      }
      sum += worst;
    }
    if (sum <= options_.stop_timeout) return Success{};
    return fmt::format("stopping may take {} ({}), but stop_timeout is {}: shorten the parts or lengthen it",
                       format_duration(sum), parts, format_duration(options_.stop_timeout));
  }

  int run() {
    if (const auto fits = check(); !fits) {
      std::fprintf(stderr, "%s\n", fits.error().c_str());
      return 2;
    }
    wait_for_signal();
    auto work = asio::make_work_guard(io_);
    io_.run();
    return exit_code_;
  }

  void request_stop() {
    asio::post(io_, [this] { begin_stop(); });
  }

  asio::io_context io_;
  std::vector<Part> parts_;

 private:
  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int) {
      if (error) return;
      if (stopping_) {
        exit_code_ = 130;
        io_.stop();
        return;
      }
      begin_stop();
      wait_for_signal();
    });
  }

  void begin_stop() {
    if (stopping_) return;
    stopping_ = true;
    asio::co_spawn(io_, stop_all(), asio::detached);
  }

  /// One phase; shared with its parts, which may outlive the wait for them.
  struct Stopping {
    std::vector<std::string> running;
    asio::steady_timer changed;
  };

  asio::awaitable<void> stop_all() {
    const Instant deadline = std::chrono::steady_clock::now() + options_.stop_timeout;
    for (const Phase phase : kPhases) {
      const auto stopping = std::make_shared<Stopping>(Stopping{{}, asio::steady_timer{io_, deadline}});
      for (const Part& part : parts_)
        if (part.phase == phase) stopping->running.push_back(part.name);
      for (const Part& part : parts_) {
        if (part.phase != phase) continue;
        asio::co_spawn(io_, call(part), [this, stopping, name = part.name](std::exception_ptr thrown, std::string abandoned) {
          if (thrown) abandoned = "it threw while stopping";
          if (!abandoned.empty()) report(name, abandoned);  // one part's failure does not stop the wait for the rest
          stopping->running.erase(std::find(stopping->running.begin(), stopping->running.end(), name));
          if (stopping->running.empty()) stopping->changed.cancel();
        });
      }
      while (!stopping->running.empty() && std::chrono::steady_clock::now() < deadline)
        co_await stopping->changed.async_wait(asio::as_tuple(asio::use_awaitable));
      for (const std::string& name : stopping->running) report(name, "it did not stop within " + format_duration(options_.stop_timeout));
    }
    io_.stop();
  }

  /// In a coroutine of its own, so that also what `stop` throws before its first wait is the part's failure.
  static asio::awaitable<std::string> call(const Part& part) {
    auto stopping = part.stop(part.worst_case);
    co_return co_await std::move(stopping);
  }

  void report(const std::string& name, const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), what.c_str());
    exit_code_ = 1;
  }

  const ServiceHostOptions options_;
  asio::signal_set signals_;
  bool stopping_ = false;
  int exit_code_ = 0;
};

ServiceHost::ServiceHost(ServiceHostOptions options) : impl_(std::make_unique<Impl>(options)) {}
ServiceHost::~ServiceHost() = default;
asio::io_context& ServiceHost::io() { return impl_->io_; }

void ServiceHost::at(Phase phase, std::string name, milliseconds worst_case,
                     std::function<Awaitable<std::string>(milliseconds)> stop) {
  impl_->parts_.push_back({phase, std::move(name), worst_case, std::move(stop)});
}

Result<Success, std::string> ServiceHost::check() const { return impl_->check(); }
int ServiceHost::run() { return impl_->run(); }
void ServiceHost::request_stop() { impl_->request_stop(); }

}  // namespace fanfare::sdk
