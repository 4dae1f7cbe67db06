// Every load against the broker of this process, over real sockets.
#include "bench/workload.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "bench/broker_setup.h"
#include "bench/disk.h"
#include "bench/message_callers.h"
#include "server/test_support.h"
#include "wire/json/value.h"

namespace fanfare::bench {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class WorkloadTest : public ::testing::Test {
 protected:
  WorkloadOptions options(Protocol protocol = Protocol::Json) {
    WorkloadOptions o;
    o.sqs = *make_endpoint("http://" + server_.address().str());
    o.sqs.credentials = {"test", "test", ""};
    o.sqs.protocol = protocol;
    o.sns = o.sqs;
    o.connections = 4;
    o.requests = 50;
    o.body_bytes = 100;
    return o;
  }
  std::vector<Row> run(Workload workload, const WorkloadOptions& o) {
    auto rows = run_workload(workload, o);
    EXPECT_TRUE(rows) << (rows ? "" : rows.error().text);
    for (const Row& row : *rows) EXPECT_EQ(row.errors, 0u) << row.workload << " " << row.step;
    return std::move(*rows);
  }
  static const Row& step(const std::vector<Row>& rows, std::string_view name) {
    for (const Row& row : rows)
      if (row.step == name) return row;
    ADD_FAILURE() << "no step " << name;
    return rows.front();
  }
  server::testing::ServerSetup setup_{};
  server::testing::TestServer server_{setup_};
};

TEST_F(WorkloadTest, EverySendThatIsToldWaitsInTheQueue) {
  for (const Protocol protocol : {Protocol::Json, Protocol::Query}) {
    WorkloadOptions o = options(protocol);
    o.queue_url = *create_queue(o.sqs, protocol == Protocol::Json ? "json" : "query", {});
    const auto rows = run(Workload::Send, o);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].tally.requests, 50u);
    EXPECT_EQ(rows[0].tally.latency.count(), 50u);
    EXPECT_EQ(*queue_attribute(o.sqs, o.queue_url, "ApproximateNumberOfMessages"), "50");
    EXPECT_EQ(run(Workload::SendBatch, o)[0].tally.messages, 500u);
    EXPECT_EQ(*queue_attribute(o.sqs, o.queue_url, "ApproximateNumberOfMessages"), "550");
  }
}

TEST_F(WorkloadTest, AnOpenLoopSendsAtItsRate) {
  WorkloadOptions o = options();
  o.requests = 0;
  o.per_second = 500;
  o.threads = 2;
  o.warm_up = 0ms;
  o.duration = 300ms;
  const Instant begin = std::chrono::steady_clock::now();
  const auto rows = run(Workload::Send, o);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  // No more than were due since the beginning, one of each thread at once; a busy machine may do less.
  EXPECT_LE(rows[0].tally.requests, 500 * seconds + 2);
  EXPECT_GT(rows[0].tally.requests, 0u);
}

TEST_F(WorkloadTest, ReceivesAndDeletesAllThatWasFilledIn) {
  for (const Protocol protocol : {Protocol::Json, Protocol::Query}) {
    WorkloadOptions o = options(protocol);
    o.messages = 300;
    o.queues = 3;
    o.run_id = protocol == Protocol::Json ? "j" : "q";
    const auto rows = run(Workload::ReceiveDelete, o);
    EXPECT_EQ(step(rows, "ReceiveMessage").tally.messages, 300u);
    EXPECT_EQ(step(rows, "DeleteMessageBatch").tally.messages, 300u);
  }
}

TEST_F(WorkloadTest, ARoundTripLeavesNothingBehind) {
  for (const std::uint32_t batch : {1u, 10u}) {
    WorkloadOptions o = options();
    o.batch = batch;
    o.keep = true;
    o.run_id = batch == 1 ? "one" : "ten";
    const auto rows = run(Workload::RoundTrip, o);
    EXPECT_EQ(step(rows, "cycle").tally.requests, 50u);
    const auto url = *create_queue(o.sqs, "fanfare-bench-" + o.run_id + "-rt", {{"VisibilityTimeout", "3600"}});
    EXPECT_EQ(*queue_attribute(o.sqs, url, "ApproximateNumberOfMessages"), "0");
    EXPECT_EQ(*queue_attribute(o.sqs, url, "ApproximateNumberOfMessagesNotVisible"), "0");
  }
}

TEST_F(WorkloadTest, FanOutReachesEveryQueue) {
  WorkloadOptions o = options();
  o.queues = 3;
  EXPECT_EQ(run(Workload::FanOut, o)[0].tally.requests, 50u);
  o.envelope = true;
  o.run_id = "e";
  EXPECT_EQ(run(Workload::FanOut, o)[0].tally.requests, 50u);
}

TEST_F(WorkloadTest, IdleConnectionsWaitAndEndWithTheLoad) {
  WorkloadOptions o = options();
  o.connections = 100;
  o.duration = 100ms;
  o.processes = {::getpid()};
  const auto rows = run(Workload::Idle, o);
  EXPECT_EQ(rows[0].tally.requests, 0u);
  EXPECT_TRUE(rows[0].cpu_cores.has_value());
}

TEST_F(WorkloadTest, ABacklogIsFilledAndReceivedFrom) {
  WorkloadOptions o = options();
  o.messages = 1000;
  o.processes = {::getpid()};
  const auto rows = run(Workload::Backlog, o);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].tally.messages + rows[1].tally.messages + rows[2].tally.messages, 1000u);
  EXPECT_GE(rows[3].tally.messages, 100u);  // each connection may have had a receive on its way when that was reached
  EXPECT_EQ(rows[4].tally.messages, rows[3].tally.messages);
}

TEST_F(WorkloadTest, QueuesAreTakenAwayAgain) {
  WorkloadOptions o = options();
  run(Workload::Send, o);
  EXPECT_FALSE(
      queue_attribute(o.sqs, "http://" + server_.address().str() + "/000000000000/fanfare-bench-1-send", "QueueArn"));
}

TEST_F(WorkloadTest, SaysWhatTheServerRefused) {
  WorkloadOptions o = options();
  o.queue_url = "http://localhost/000000000000/absent";
  const auto rows = *run_workload(Workload::Send, o);
  EXPECT_EQ(rows[0].errors, 50u);
  EXPECT_EQ(rows[0].tally.requests, 0u);
}

TEST(WorkloadWithoutServer, SaysThatNobodyListens) {
  WorkloadOptions o;
  o.sqs = o.sns = *make_endpoint("http://127.0.0.1:1");
  EXPECT_THAT(run_workload(Workload::Send, o).error().text, HasSubstr("cannot connect to 127.0.0.1:1"));
}

TEST(Report, TableAndJsonTellTheSame) {
  Row row{.workload = "send", .step = "SendMessage", .seconds = 2};
  row.tally.latency.record(1ms, 200);
  row.tally.requests = row.tally.messages = 200;
  row.cpu_us_a_request = 12.5;
  EXPECT_THAT(as_table({row}), HasSubstr("SendMessage"));
  EXPECT_THAT(as_table({row}), HasSubstr("12.50"));
  const auto json = wire::json::parse(as_json({.version = "1", .command = "fanfare bench send"}, {row}));
  ASSERT_TRUE(json);
  const auto& first = json->find("rows")->items()[0];
  EXPECT_EQ(first.find("requests")->as_int64(), 200);
  EXPECT_EQ(first.find("latency_us")->find("p50")->as_double(), 1000.0);
  EXPECT_EQ(first.find("cpu_us_a_request")->as_double(), 12.5);
  EXPECT_EQ(first.find("cpu_us_a_message"), nullptr);
}

TEST(Report, CpuGoesToTheWhole) {
  PhaseResult result;
  result.seconds = 1;
  result.steps = {{"a", {{}, 10, 10}}, {"cycle", {{}, 5, 50}}, {"never", {}}};
  result.before = ProcessUsage{};
  result.after = ProcessUsage{.cpu = 100ms};
  const auto rows = rows_of("w", result, "cycle");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_FALSE(rows[0].cpu_us_a_request.has_value());
  EXPECT_DOUBLE_EQ(rows[1].cpu_us_a_request.value(), 20'000);
  EXPECT_DOUBLE_EQ(rows[1].cpu_us_a_message.value(), 2'000);
  EXPECT_DOUBLE_EQ(rows[1].cpu_cores.value(), 0.1);
}

TEST(Disk, WritesForTheTimeGivenAndLeavesNothing) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("fanfare-bench-disk-{}", ::getpid());
  std::filesystem::create_directory(folder);
  const auto result = measure_disk(folder, 512, 20ms);
  EXPECT_TRUE(result) << (result ? "" : result.error().text);
  EXPECT_GT(result->latency.count(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
  EXPECT_THAT(measure_disk(folder, 512, 20ms).error().text, HasSubstr("cannot make"));
}

TEST(ProcessUsage, OwnProcessHasThreadsAndMemory) {
  const pid_t self = ::getpid();
  const ProcessUsage usage = usage_of({&self, 1});
  EXPECT_GE(usage.threads, 1u);
  EXPECT_GT(usage.resident_bytes, 100'000u);
  const pid_t nobody = 0x3fffffff;
  EXPECT_EQ(usage_of({&nobody, 1}).resident_bytes, 0u);
  EXPECT_FALSE(is_running(nobody));
}

}  // namespace
}  // namespace fanfare::bench
