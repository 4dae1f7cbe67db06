// ServiceHost: a process that stops in the right order when it is told to.
//
//   ServiceHost host{{.stop_timeout = 30s}};
//   host.at(Phase::StopAccepting, "http", 1s, [&](milliseconds limit) -> Awaitable<std::string> { ... });
//   host.at(Phase::DrainPublisher, "publisher", 10s, ...);
//   return host.run();           // until SIGTERM or SIGINT
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fanfare/transport.h"

namespace fanfare::sdk {

/// In this order; parts of one phase stop together. A web process stops accepting, finishes its requests, then drains its
/// publisher; a worker stops polling, finishes its messages, then drains its own publisher. [S13]
enum class Phase { StopAccepting, FinishWork, DrainPublisher, CloseStores };

struct ServiceHostOptions {
  milliseconds stop_timeout{30'000};  ///< what the supervisor allows between SIGTERM and SIGKILL
};

/// Owned by main(); not thread-safe but for request_stop().
class ServiceHost {
 public:
  explicit ServiceHost(ServiceHostOptions options = {});
  ~ServiceHost();

  boost::asio::io_context& io();

  /// `stop` gets its limit and returns what it had to abandon, in words; empty: nothing.
  void at(Phase phase, std::string name, milliseconds worst_case, std::function<Awaitable<std::string>(milliseconds limit)> stop);

  /// The error names the sum of the phases' worst cases when it does not fit into stop_timeout.
  [[nodiscard]] Result<Success, std::string> check() const;

  /// Runs the io_context until a signal or request_stop(), then the phases; parts that still run after stop_timeout are named
  /// and left. Exit code: 0 clean, 1 something was abandoned
  /// (said on standard error), 2 check() failed, 130 a second signal came.
  int run();
  void request_stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fanfare::sdk
