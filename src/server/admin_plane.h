// The admin port: health, metrics, state, and the helpers of development (/_fanfare/*).
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "server/broker_report.h"
#include "core/topic/directory.h"
#include "server/chaos.h"
#include "server/http_plane.h"

namespace fanfare::server {

struct AdminOptions {
  bool movable_clock = false;    ///< --clock manual
  Chaos* chaos = nullptr;        ///< --chaos
  std::function<Chaos::QueueNames()> queue_names;  ///< those that there are; with `chaos`
  bool development = true;       ///< pages of any loopback origin may read
  /// The port is bound to a loopback address: then a request for another host is one of a page whose name was pointed here.
  bool loopback = false;
  std::function<void()> clock_moves;               ///< before the clock jumps: what was counted belongs to the time before
  std::function<void()> clock_moved;               ///< after the clock jumped: deadlines are nearer now
  std::vector<std::function<void(std::string&)>> more_metrics;  ///< of other parts of the process; called on this loop's thread
  std::function<std::string()> not_ready;          ///< why /readyz says no; empty: ready
  /// Messages to phones, devices and mail boxes that were captured instead of delivered.
  std::function<std::vector<topic::DirectoryEntry>()> captured;
};

class AdminPlane final : public HttpPlane {
 public:
  /// `report` may be null (no broker in this process).
  AdminPlane(AdminOptions options, BrokerReport* report, Clock& clock, net::Loop& loop);

 private:
  void on_request(net::ConnectionId id, const wire::http::Request& request) override;
  void problem(net::ConnectionId id, int status, std::string_view detail, Headers headers);

  const AdminOptions options_;
  BrokerReport* report_;
};

}  // namespace fanfare::server
