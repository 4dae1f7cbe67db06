#include "server/broker_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/cloudwatch/feed.h"
#include "server/collected_metrics.h"
#include "server/metrics.h"
#include "wire/json/writer.h"

namespace fanfare::server {
namespace {

/// AWS's metrics, to be written when the lock is free again.
struct AwsMetrics final : api::cloudwatch::MetricSink {
  struct Row {
    metrics::Resource of;
    std::string_view name;
    double value;
  };
  std::vector<Row> counters;
  std::vector<Row> gauges;
  void counter(const metrics::Resource& of, std::string_view name, std::uint64_t total) override {
    counters.push_back({of, name, static_cast<double>(total)});
  }
  void sizes(const metrics::Resource& of, std::string_view name, std::uint64_t, std::uint64_t bytes, const engine::SizeRange&) override {
    counters.push_back({of, name, static_cast<double>(bytes)});
  }
  void gauge(const metrics::Resource& of, std::string_view name, double value) override { gauges.push_back({of, name, value}); }
};

void append_aws_metrics(MetricsWriter& writer, const AwsMetrics& aws) {
  const auto append = [&](std::string_view metric, const std::vector<AwsMetrics::Row>& rows) {
    for (const AwsMetrics::Row& row : rows) {
      const bool queue = row.of.service == metrics::Service::Sqs;
      writer.sample(metric, {{"namespace", queue ? "AWS/SQS" : "AWS/SNS"}, {"metric", row.name}, {"account", row.of.account},
                             {"region", row.of.region}, {queue ? "queue" : "topic", row.of.name}}, row.value);
    }
  };
  writer.describe("fanfare_aws_metric_total", "counter", "CloudWatch's metrics that count, by their AWS names; sizes in bytes.");
  append("fanfare_aws_metric_total", aws.counters);
  writer.describe("fanfare_aws_metric", "gauge", "CloudWatch's metrics that are levels, by their AWS names.");
  append("fanfare_aws_metric", aws.gauges);
}

std::uint64_t filtered(const engine::TopicCounters& c) {
  return c.filtered + c.filtered_no_attributes + c.filtered_invalid_attributes + c.filtered_invalid_body;
}

}  // namespace

void BrokerReport::append_metrics(std::string& out) {
  CollectedMetrics all;
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> requests;
  CommitHistogram commits;
  journal::JournalStats journal;
  const UpkeepStats upkeep = broker_.upkeep_stats();
  std::size_t waiters = 0;
  std::uint64_t resident = 0;
  broker_.locked([&](engine::Engine& engine, journal::Journal& log) {
    engine.visit_metrics(all);
    waiters = engine.waiter_count();
    resident = engine.resident_bytes();
    journal = log.stats();
    commits = broker_.commit_histogram();
    for (const RequestCounters* counters : counters_)
      for (const RequestCounters::Row& row : counters->rows())
        requests[{std::string{row.service}, std::string{row.action}, row.code.empty() ? "OK" : std::string{row.code}}] += row.count;
  });
  MetricsWriter writer{out};
  writer.describe("fanfare_queue_messages", "gauge", "Messages of a queue by state.");
  for (const CollectedMetrics::QueueRow& row : all.queues) {
    const std::string& queue = row.key.name.str();
    writer.sample("fanfare_queue_messages", {{"queue", queue}, {"state", "visible"}}, row.counts.visible);
    writer.sample("fanfare_queue_messages", {{"queue", queue}, {"state", "in_flight"}}, row.counts.in_flight);
    writer.sample("fanfare_queue_messages", {{"queue", queue}, {"state", "delayed"}}, row.counts.delayed);
  }
  writer.describe("fanfare_queue_oldest_message_seconds", "gauge", "Age of the oldest message of a queue.");
  const Timestamp now = clock_.now();
  for (const CollectedMetrics::QueueRow& row : all.queues)
    writer.sample("fanfare_queue_oldest_message_seconds", {{"queue", row.key.name.str()}},
                  row.oldest_sent ? static_cast<double>((now - *row.oldest_sent).count()) / 1000 : 0.0);
  writer.describe("fanfare_queue_events_total", "counter", "What happened to a queue's messages since the start.");
  for (const CollectedMetrics::QueueRow& row : all.queues) {
    const engine::QueueCounters& c = row.counters;
    const std::pair<std::string_view, std::uint64_t> events[] = {
        {"sent", c.sent},       {"received", c.received}, {"empty_receive", c.empty_receives}, {"deleted", c.deleted},
        {"expired", c.expired}, {"purged", c.purged},     {"dead_lettered", c.dead_lettered},  {"deduplicated", c.deduplicated}};
    for (const auto& [event, count] : events)
      writer.sample("fanfare_queue_events_total", {{"queue", row.key.name.str()}, {"event", event}}, count);
  }
  for (const auto& [service, metric] : {std::pair{"sqs", "fanfare_sqs_requests_total"}, {"sns", "fanfare_sns_requests_total"}, {"sts", "fanfare_sts_requests_total"}}) {
    writer.describe(metric, "counter", "Requests by action and error code; OK for success.");
    for (const auto& [key, count] : requests)
      if (std::get<0>(key) == service) writer.sample(metric, {{"action", std::get<1>(key)}, {"code", std::get<2>(key)}}, count);
  }
  writer.describe("fanfare_sns_messages_published_total", "counter", "Messages published to a topic.");
  for (const CollectedMetrics::TopicRow& row : all.topics)
    writer.sample("fanfare_sns_messages_published_total", {{"topic", row.key.name.str()}}, row.counters.published);
  writer.describe("fanfare_sns_notifications_total", "counter", "Notifications of a topic by what became of them.");
  for (const CollectedMetrics::TopicRow& row : all.topics) {
    const std::string& topic = row.key.name.str();
    writer.sample("fanfare_sns_notifications_total", {{"topic", topic}, {"outcome", "delivered"}}, row.counters.delivered);
    writer.sample("fanfare_sns_notifications_total", {{"topic", topic}, {"outcome", "failed"}}, row.counters.failed);
    writer.sample("fanfare_sns_notifications_total", {{"topic", topic}, {"outcome", "filtered"}}, filtered(row.counters));
    writer.sample("fanfare_sns_notifications_total", {{"topic", topic}, {"outcome", "dlq"}}, row.counters.redriven);
  }
  AwsMetrics aws;
  all.name(clock_.now(), aws);
  append_aws_metrics(writer, aws);
  writer.describe("fanfare_journal_commit_seconds", "histogram", "Time that one commit of the journal took.");
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < CommitHistogram::kBounds.size(); ++i) {
    below += commits.counts[i];
    writer.sample("fanfare_journal_commit_seconds_bucket", {{"le", fmt::format("{}", CommitHistogram::kBounds[i])}}, below);
  }
  writer.sample("fanfare_journal_commit_seconds_bucket", {{"le", "+Inf"}}, commits.total);
  writer.sample("fanfare_journal_commit_seconds_sum", {}, commits.sum_seconds);
  writer.sample("fanfare_journal_commit_seconds_count", {}, commits.total);
  writer.describe("fanfare_journal_records_total", "counter", "Records appended to the journal.");
  writer.sample("fanfare_journal_records_total", {}, journal.records_appended);
  writer.describe("fanfare_journal_bytes_on_disk", "gauge", "Size of the journal's segment files.");
  writer.sample("fanfare_journal_bytes_on_disk", {}, journal.bytes_on_disk);
  writer.describe("fanfare_journal_snapshots_total", "counter", "Snapshots written.");
  writer.sample("fanfare_journal_snapshots_total", {}, upkeep.snapshots);
  writer.describe("fanfare_journal_relocated_bytes_total", "counter", "Contents written again so that old log could be given up.");
  writer.sample("fanfare_journal_relocated_bytes_total", {}, upkeep.relocated_bytes);
  const auto append_holds = [&](std::string_view metric, std::string_view type, std::string_view help, auto of) {
    writer.describe(metric, type, help);
    for (const auto& [part, hold] : upkeep.holds) writer.sample(metric, {{"part", std::string{part}}}, std::chrono::duration<double>(of(hold)).count());
  };
  append_holds("fanfare_journal_upkeep_longest_hold_seconds", "gauge", "Longest time that upkeep held the engine, by what it was for.",
               [](const UpkeepStats::Hold& hold) { return hold.longest; });
  append_holds("fanfare_journal_upkeep_longest_work_seconds", "gauge", "The same in processor time, which a busy machine does not lengthen.",
               [](const UpkeepStats::Hold& hold) { return hold.longest_work; });
  append_holds("fanfare_journal_upkeep_work_seconds_total", "counter", "Processor time for which upkeep held the engine.",
               [](const UpkeepStats::Hold& hold) { return hold.work; });
  writer.describe("fanfare_journal_failures_total", "counter", "Failed writes, rolls, trims and background work of the journal.");
  writer.sample("fanfare_journal_failures_total", {}, journal.failures);
  writer.describe("fanfare_broker_long_polls", "gauge", "Receives that wait for a message.");
  writer.sample("fanfare_broker_long_polls", {}, static_cast<std::uint64_t>(waiters));
  writer.describe("fanfare_broker_resident_bytes", "gauge", "Message contents kept in memory.");
  writer.sample("fanfare_broker_resident_bytes", {}, resident);
}

std::set<std::string, std::less<>> BrokerReport::queue_names() {
  CollectedMetrics all;
  broker_.locked([&](engine::Engine& engine, journal::Journal&) { engine.visit_metrics(all); });
  std::set<std::string, std::less<>> names;
  for (const CollectedMetrics::QueueRow& row : all.queues) names.insert(row.key.name.str());
  return names;
}

std::string BrokerReport::state_json() {
  CollectedMetrics all;
  std::vector<engine::FailedDelivery> failed;
  std::size_t waiters = 0;
  broker_.locked([&](engine::Engine& engine, journal::Journal&) {
    engine.visit_metrics(all);
    failed = engine.failed_deliveries();
    waiters = engine.waiter_count();
  });
  const Timestamp now = clock_.now();
  std::string text;
  wire::json::Writer out{text};
  out.begin_object().key("queues").begin_array();
  for (const CollectedMetrics::QueueRow& row : all.queues) {
    out.begin_object();
    out.key("name").string(row.key.name.str()).key("account").string(row.key.account.str()).key("region").string(row.key.region.str());
    out.key("visible").unsigned_integer(row.counts.visible).key("in_flight").unsigned_integer(row.counts.in_flight);
    out.key("delayed").unsigned_integer(row.counts.delayed).key("sent").unsigned_integer(row.counters.sent);
    out.key("received").unsigned_integer(row.counters.received).key("deleted").unsigned_integer(row.counters.deleted);
    out.key("dead_lettered").unsigned_integer(row.counters.dead_lettered).key("expired").unsigned_integer(row.counters.expired);
    out.key("oldest_ms").integer(row.oldest_sent ? (now - *row.oldest_sent).count() : 0).end_object();
  }
  out.end_array().key("topics").begin_array();
  for (const CollectedMetrics::TopicRow& row : all.topics) {
    out.begin_object();
    out.key("name").string(row.key.name.str()).key("account").string(row.key.account.str()).key("region").string(row.key.region.str());
    out.key("published").unsigned_integer(row.counters.published).key("delivered").unsigned_integer(row.counters.delivered);
    out.key("filtered").unsigned_integer(filtered(row.counters)).key("failed").unsigned_integer(row.counters.failed);
    out.key("redriven").unsigned_integer(row.counters.redriven).end_object();
  }
  out.end_array().key("failed_deliveries").begin_array();
  for (const engine::FailedDelivery& one : failed) {
    out.begin_object().key("at").string(iso8601(one.at)).key("subscription").string(one.subscription_arn);
    out.key("endpoint").string(one.endpoint).key("reason").string(engine::name_of(one.reason)).key("why").string(one.why).key("redriven").boolean(one.redriven);
    if (!one.why.empty()) out.key("why").string(one.why);
    out.end_object();
  }
  out.end_array().key("long_polls").unsigned_integer(waiters).end_object();
  return text;
}

}  // namespace fanfare::server
