// What the broker says of itself: Prometheus metrics, and the state as JSON for the console and the demo page.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/broker.h"
#include "server/clock.h"
#include "server/request_counters.h"

namespace fanfare::server {

class BrokerReport {
 public:
  BrokerReport(Broker& broker, Clock& clock) : broker_(broker), clock_(clock) {}
  /// Read under the broker's lock; outlive the report.
  void add_counters(const RequestCounters& counters) { counters_.push_back(&counters); }

  /// fanfare_queue_messages, fanfare_sqs_requests_total, fanfare_sns_notifications_total, fanfare_journal_commit_seconds, ...
  void append_metrics(std::string& out);

  /// {"queues":[{"name":"summarise","account":"000000000000","region":"us-east-1","visible":0,"in_flight":3,"delayed":0,
  ///   "sent":2000,"received":1997,"deleted":1994,"dead_lettered":0,"expired":0,"oldest_ms":12}],
  ///  "topics":[{"name":"doc-events",..,"published":2000,"delivered":5200,"filtered":800,"failed":0,"redriven":0}],
  ///  "failed_deliveries":[{"at":"..","subscription":"arn..","endpoint":"arn..","reason":"AccessDenied","why":"..",
  ///  "redriven":false}],
  ///  "long_polls":3}
  std::string state_json();

  /// Of all accounts and regions.
  std::set<std::string, std::less<>> queue_names();

 private:
  Broker& broker_;
  Clock& clock_;
  std::vector<const RequestCounters*> counters_;
};

}  // namespace fanfare::server
