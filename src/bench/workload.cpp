#include "bench/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "bench/broker_setup.h"
#include "bench/message_callers.h"

namespace fanfare::bench {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::uint64_t kInFlightMost = 100'000;  // a standard queue allows 120,000
constexpr std::uint32_t kFillConnections = 16;

/// A load that cannot go on: thrown inside this file only, and told by run_workload.
struct Stopped {
  std::string why;
};

template <class T>
T need(Result<T, Trouble> result) {
  if (!result) throw Stopped{result.error().text};
  return std::move(*result);
}

PhaseResult need(PhaseResult result) {
  if (!result.failure.empty()) throw Stopped{std::move(result.failure)};
  return result;
}

class Run {
 public:
  explicit Run(const WorkloadOptions& options) : o_(options) {}

  std::vector<Row> run(Workload workload) {
    switch (workload) {
      case Workload::Send: return send("send", 1);
      case Workload::SendBatch: return send("send-batch", o_.batch);
      case Workload::ReceiveDelete: return receive_delete();
      case Workload::RoundTrip: return round_trip();
      case Workload::FanOut: return fan_out();
      case Workload::Idle: return idle();
      case Workload::FifoBacklog: return fifo_backlog();
      case Workload::Backlog: return backlog();
    }
    return {};
  }

  void clean_up() {
    if (o_.keep) return;
    for (const std::string& topic : topics_) static_cast<void>(delete_topic(o_.sns, topic));
    for (const std::string& url : made_) static_cast<void>(delete_queue(o_.sqs, url));
  }

 private:
  // ---- What all need

  std::string queue(std::string_view suffix, Pairs attributes = {{"VisibilityTimeout", "3600"}}) {
    if (!o_.queue_url.empty()) return o_.queue_url;
    const bool fifo =
        std::any_of(attributes.begin(), attributes.end(), [](const auto& one) { return one.first == "FifoQueue"; });
    const std::string name = fmt::format("fanfare-bench-{}-{}{}", o_.run_id, suffix, fifo ? ".fifo" : "");
    o_.tell(fmt::format("making queue {}", name));
    made_.push_back(need(create_queue(o_.sqs, name, attributes)));
    return made_.back();
  }
  std::string fifo_queue(std::string_view suffix) {
    return queue(suffix, {{"FifoQueue", "true"},
                          {"VisibilityTimeout", "3600"},
                          {"DeduplicationScope", "messageGroup"},
                          {"FifoThroughputLimit", "perMessageGroupId"}});
  }

  [[nodiscard]] PhaseOptions phase(std::vector<std::string> steps) const {
    PhaseOptions options;
    options.endpoint = o_.sqs;
    options.connections = o_.connections;
    options.threads = o_.threads;
    options.per_second = o_.per_second;
    options.processes = o_.processes;
    options.steps = std::move(steps);
    if (o_.requests == 0) {
      options.warm_up = o_.warm_up;
      options.duration = o_.duration;
    }
    return options;
  }
  /// Until the callers are done, as fast as it goes.
  [[nodiscard]] PhaseOptions whole_phase(std::string step) const {
    PhaseOptions options = phase({std::move(step)});
    options.warm_up = options.duration = nanoseconds{0};
    options.per_second.reset();
    return options;
  }
  [[nodiscard]] std::uint64_t most_requests() const { return o_.requests == 0 ? UINT64_MAX : o_.requests; }

  /// Sends `messages` in batches to a standard queue.
  PhaseResult fill(const std::string& url, std::uint64_t messages) {
    const std::uint32_t batch = std::min<std::uint32_t>(10, std::max<std::uint32_t>(1, o_.batch));
    o_.tell(fmt::format("filling {} messages of {} bytes into {}", messages, o_.body_bytes, url));
    Quota quota;
    quota.most = (messages + batch - 1) / batch;
    PhaseOptions options = whole_phase("SendMessageBatch");
    options.connections = std::max(o_.connections, kFillConnections);
    const MessageShape shape{.body_bytes = o_.body_bytes, .batch = batch, .groups = 0};
    PhaseResult result = need(
        run_phase(options, [&](Workbench& bench, std::uint32_t) { return repeat_send(bench, quota, url, shape); }));
    if (quota.finished < messages)
      throw Stopped{fmt::format("filling the queue: {} refused; {}", messages - quota.finished, result.first_error)};
    return result;
  }
  static std::unique_ptr<Caller> repeat_send(Workbench& bench, Quota& quota, const std::string& url,
                                             const MessageShape& shape) {
    return std::make_unique<RepeatCaller>(
        bench, quota, shape.batch > 1 ? Action::SendMessageBatch : Action::SendMessage, shape.batch, [&](Body& body) {
          std::uint64_t number = 0;
          Rng rng{1};
          write_send(body, url, shape, number, rng);
        });
  }
  [[nodiscard]] double resident_mib() const {
    return static_cast<double>(usage_of(o_.processes).resident_bytes) / kMiB;
  }

  // ---- The loads

  std::vector<Row> send(std::string_view name, std::uint32_t batch) {
    const std::string url = queue("send");
    Quota quota;
    quota.most = most_requests();
    const MessageShape shape{.body_bytes = o_.body_bytes, .batch = batch, .groups = 0};
    o_.tell("sending");
    const auto result =
        need(run_phase(phase({batch > 1 ? "SendMessageBatch" : "SendMessage"}),
                       [&](Workbench& bench, std::uint32_t) { return repeat_send(bench, quota, url, shape); }));
    return told(name, result);
  }

  std::vector<Row> receive_delete() {
    const std::uint32_t queue_count = std::max<std::uint32_t>(1, o_.queues);
    const std::uint64_t each =
        std::min(o_.messages == 0 ? kInFlightMost : (o_.messages + queue_count - 1) / queue_count, kInFlightMost);
    std::vector<std::string> urls;
    for (std::uint32_t i = 0; i < queue_count; ++i) urls.push_back(queue(fmt::format("rd-{}", i)));
    for (const std::string& url : urls) fill(url, each);
    std::vector<Row> rows;
    receive_then_delete("receive-delete", urls, each * queue_count, rows);
    return rows;
  }

  void receive_then_delete(std::string_view name, const std::vector<std::string>& urls, std::uint64_t messages,
                           std::vector<Row>& rows) {
    std::vector<Received> received(o_.connections);
    Quota quota;
    quota.most = messages;
    o_.tell(fmt::format("receiving {} messages", messages));
    const auto got = need(run_phase(whole_phase("ReceiveMessage"), [&](Workbench& bench, std::uint32_t index) {
      return std::make_unique<ReceiveCaller>(bench, quota, urls, o_.batch, index, received[index]);
    }));
    for (Row& row : told(name, got)) rows.push_back(std::move(row));
    o_.tell("deleting them");
    const auto deleted = need(run_phase(whole_phase(o_.batch > 1 ? "DeleteMessageBatch" : "DeleteMessage"),
                                        [&](Workbench& bench, std::uint32_t index) {
                                          return std::make_unique<DeleteCaller>(bench, urls, o_.batch, received[index]);
                                        }));
    for (Row& row : told(name, deleted)) rows.push_back(std::move(row));
  }

  PhaseResult cycles(const std::string& url, std::uint32_t groups, std::uint64_t first_number) {
    Quota quota;
    quota.most = most_requests();
    const MessageShape shape{.body_bytes = o_.body_bytes, .batch = o_.batch, .groups = groups, .run = o_.run_id};
    return need(run_phase(phase(CycleCaller::steps(o_.batch)), [&](Workbench& bench, std::uint32_t index) {
      // Numbers far apart, so that no two connections send the same deduplication id.
      return std::make_unique<CycleCaller>(bench, quota, url, shape, first_number + (std::uint64_t{index} << 40),
                                           index + 1);
    }));
  }

  std::vector<Row> round_trip() {
    const std::string url = o_.fifo ? fifo_queue("rt") : queue("rt");
    if (o_.messages > 0) {
      if (o_.fifo) fill_fifo(url, o_.messages);
      else fill(url, o_.messages);
    }
    o_.tell("sending, receiving, deleting");
    return told("round-trip", cycles(url, o_.fifo ? o_.groups : 0, 0), "cycle");
  }

  std::vector<Row> fan_out() {
    const std::uint32_t queue_count = o_.queues == 0 ? 4 : o_.queues;
    const std::string topic = need(create_topic(o_.sns, fmt::format("fanfare-bench-{}", o_.run_id)));
    topics_.push_back(topic);
    std::vector<std::string> urls;
    for (std::uint32_t i = 0; i < queue_count; ++i) {
      // AWS derives the ARN from the name; the policy must be there before the subscription delivers.
      const std::string arn = arn_of_queue(topic, fmt::format("fanfare-bench-{}-fan-{}", o_.run_id, i));
      urls.push_back(queue(fmt::format("fan-{}", i), {{"Policy", policy_for(topic, arn)}}));
      need(subscribe(o_.sns, topic, arn, !o_.envelope));
    }
    Quota quota;
    quota.most = most_requests();
    PhaseOptions options = phase({fmt::format("Publish to {} {}queues", queue_count, o_.envelope ? "enveloped " : "")});
    options.endpoint = o_.sns;
    o_.tell("publishing");
    const auto result = need(run_phase(options, [&](Workbench& bench, std::uint32_t) {
      return std::make_unique<RepeatCaller>(bench, quota, Action::Publish, 1, [&](Body& body) {
        body.text("TopicArn", topic).text("Message", std::string(o_.body_bytes, 'x'));
      });
    }));
    std::vector<Row> rows = told("fan-out", result);
    // Requests that were on their way when the time was over may have been published, too.
    const std::uint64_t published = quota.finished;
    for (const std::string& url : urls) {
      const std::uint64_t waiting = wait_for_messages(url, published);
      if (waiting < published) rows.back().errors += published - waiting;
    }
    rows.back().further.emplace_back("queues", queue_count);
    return rows;
  }

  static std::string arn_of_queue(std::string_view topic_arn, std::string_view name) {
    // arn:aws:sns:us-east-1:000000000000:topic -> arn:aws:sqs:us-east-1:000000000000:name
    std::string arn{topic_arn.substr(0, topic_arn.rfind(':') + 1)};
    if (const std::size_t at = arn.find(":sns:"); at != std::string::npos) arn.replace(at, 5, ":sqs:");
    return arn.append(name);
  }

  std::uint64_t wait_for_messages(const std::string& url, std::uint64_t wanted) {
    std::uint64_t waiting = 0;
    const Instant until = std::chrono::steady_clock::now() + seconds{10};
    do {
      waiting = std::stoull(need(queue_attribute(o_.sqs, url, "ApproximateNumberOfMessages")));
      if (waiting >= wanted) break;
      std::this_thread::sleep_for(milliseconds{50});
    } while (std::chrono::steady_clock::now() < until);
    return waiting;
  }

  std::vector<Row> idle() {
    const std::string url = queue("idle");
    PhaseOptions options = phase({"ReceiveMessage (20 s)"});
    options.per_second.reset();
    options.duration = o_.duration;
    options.warm_up = std::max<nanoseconds>(o_.warm_up, seconds{2});
    const ProcessUsage before = usage_of(o_.processes);
    Quota quota;
    o_.tell(fmt::format("{} connections wait", o_.connections));
    const auto result = need(run_phase(options, [&](Workbench& bench, std::uint32_t) {
      return std::make_unique<RepeatCaller>(bench, quota, Action::ReceiveMessage, 0, [&](Body& body) {
        body.text("QueueUrl", url).number("MaxNumberOfMessages", 10).number("WaitTimeSeconds", 20);
      });
    }));
    std::vector<Row> rows = told("idle", result);
    rows.back().further.emplace_back("connections", o_.connections);
    if (result.after) {
      const double more =
          static_cast<double>(result.after->resident_bytes) - static_cast<double>(before.resident_bytes);
      rows.back().further.emplace_back("kib_a_connection", more / 1024 / o_.connections);
      rows.back().further.emplace_back("cpu_percent_of_a_core", rows.back().cpu_cores.value_or(0) * 100);
    }
    return rows;
  }

  void fill_fifo(const std::string& url, std::uint64_t messages) {
    o_.tell(fmt::format("filling {} messages in {} groups", messages, o_.groups));
    Quota quota;
    quota.most = messages;
    const MessageShape shape{
        .body_bytes = o_.body_bytes, .batch = std::min<std::uint32_t>(o_.batch, 10), .groups = o_.groups, .run = o_.run_id};
    const auto filled = need(run_phase(whole_phase("fill"), [&](Workbench& bench, std::uint32_t index) {
      return std::make_unique<FifoFillCaller>(bench, quota, url, shape,
                                              (std::uint64_t{1} << 62) + (std::uint64_t{index} << 40), index + 1);
    }));
    if (filled.errors > 0) throw Stopped{fmt::format("filling the queue: {}", filled.first_error)};
  }

  std::vector<Row> fifo_backlog() {
    const std::uint64_t messages = o_.messages == 0 ? 216'000 : o_.messages;
    std::vector<Row> rows;
    for (const std::uint64_t waiting : {std::uint64_t{100}, messages}) {
      const std::string url = fifo_queue(fmt::format("{}", waiting));
      fill_fifo(url, waiting);
      o_.tell("sending, receiving, deleting");
      for (Row& row : told(fmt::format("fifo, {} waiting", waiting), cycles(url, o_.groups, 0), "cycle"))
        rows.push_back(std::move(row));
    }
    return rows;
  }

  std::vector<Row> backlog() {
    const std::uint64_t messages = o_.messages == 0 ? 10'000'000 : o_.messages;
    const std::uint64_t sample = std::max<std::uint64_t>(1, std::min<std::uint64_t>(200'000, messages / 10));
    const std::string url = queue("backlog");
    std::vector<Row> rows;
    const double before = resident_mib();
    const auto take = [&](std::string_view name, const PhaseResult& result) {
      for (Row& row : told(name, result)) rows.push_back(std::move(row));
    };
    take("backlog, begin", fill(url, sample));
    take("backlog, between", fill(url, messages - 2 * sample));
    take("backlog, end", fill(url, sample));
    const double after = resident_mib();
    if (!o_.processes.empty()) {
      rows.back().further.emplace_back("waiting_messages", static_cast<double>(messages));
      rows.back().further.emplace_back("resident_mib_before", before);
      rows.back().further.emplace_back("resident_mib", after);
      rows.back().further.emplace_back("bytes_a_message", (after - before) * kMiB / static_cast<double>(messages));
    }
    receive_then_delete(fmt::format("backlog, {} waiting", messages), {url},
                        std::min<std::uint64_t>(sample, kInFlightMost), rows);
    return rows;
  }

  std::vector<Row> told(std::string_view name, const PhaseResult& result, std::string_view whole = {}) {
    if (result.errors > 0) o_.tell(fmt::format("{} errors; the first: {}", result.errors, result.first_error));
    return rows_of(name, result, whole);
  }

  const WorkloadOptions& o_;
  std::vector<std::string> made_;
  std::vector<std::string> topics_;
};

}  // namespace

const std::vector<WorkloadName>& workloads() {
  static const std::vector<WorkloadName> kWorkloads = {
      {Workload::Send, "send", "SendMessage to one queue"},
      {Workload::SendBatch, "send-batch", "SendMessageBatch of --batch messages"},
      {Workload::ReceiveDelete, "receive-delete",
       "fills --queues queues (1) with --messages (100000 each), receives all, then deletes all"},
      {Workload::RoundTrip, "round-trip",
       "each connection sends a batch, receives as many, deletes them, again and again; behind --messages (0) that wait"},
      {Workload::FanOut, "fan-out", "Publish to a topic with --queues queues (4), raw unless --envelope"},
      {Workload::Idle, "idle", "every connection waits in ReceiveMessage of an empty queue for 20 s, again and again"},
      {Workload::FifoBacklog, "fifo-backlog",
       "round trips over a FIFO queue with 100 messages waiting, then with --messages (216000) in --groups"},
      {Workload::Backlog, "backlog",
       "sends --messages (10000000): CPU of a send at the begin and the end, memory; then receives some"},
  };
  return kWorkloads;
}

Result<std::vector<Row>, Trouble> run_workload(Workload workload, const WorkloadOptions& options) {
  Run run{options};
  try {
    std::vector<Row> rows = run.run(workload);
    run.clean_up();
    return rows;
  } catch (const Stopped& stopped) {
    run.clean_up();
    return Trouble{stopped.why};
  }
}

}  // namespace fanfare::bench
