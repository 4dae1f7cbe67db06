#include "cli/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "bench/disk.h"
#include "bench/workload.h"
#include "cli/ranges.h"

namespace fanfare::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  fanfare bench send --pid $(pgrep -x fanfare)               SendMessage over 64 connections, with the server's CPU
  fanfare bench send --rate 20000 --duration 30s             open loop: late answers count from when they were due
  fanfare bench send-batch --body 1024 --json
  fanfare bench receive-delete --queues 10 --messages 1000000
  fanfare bench round-trip --connections 1 --batch 1         one message at a time: the latency of a small job
  fanfare bench fan-out --queues 100
  fanfare bench idle --connections 10000 --duration 30s --pid 4711
  fanfare bench disk --dir /var/lib/fanfare                  bare write + fdatasync: the floor under a durable send
  fanfare bench send --endpoint http://127.0.0.1:8080 --queue-url any --unsigned
                                                             a server that answers a constant: the floor of HTTP
  fanfare bench send --endpoint https://sqs.eu-central-1.amazonaws.com --region eu-central-1 --connections 8
                                                             AWS, with the keys of AWS_ACCESS_KEY_ID and so on

Latencies are of the requests' whole way. In a closed loop (no --rate) each connection sends when its answer has come, so a
slow server gets less load; the open loop keeps its rate. CPU is that of --pid and its children, divided by what was
answered meanwhile. The generator uses one core a thread: give the server others, or read CPU and not rates.
Exit code: 0 done; 1 requests failed; 2 the load could not run.
)";

struct Flags {
  std::string workload;
  std::string endpoint = "http://127.0.0.1:4566";
  std::string sns_endpoint;
  std::string region;
  std::string access_key;
  std::string protocol = "json";
  bool is_unsigned = false;
  std::string duration = "10s";
  std::string warm_up = "500ms";
  double rate = 0;
  std::optional<std::uint32_t> connections;
  std::optional<std::uint32_t> batch;
  std::optional<std::size_t> body;
  std::string folder = ".";
  bool json = false;
  bool quiet = false;
  std::string result_file;
  bench::WorkloadOptions options;
};

std::string from_environment(std::initializer_list<const char*> names, const std::string& otherwise) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return otherwise;
}

class BenchCommand {
 public:
  BenchCommand(std::string version, std::string command) : version_(std::move(version)), command_(std::move(command)) {}

  int run(Flags& flags) {
    const auto duration = parse_duration(flags.duration);
    const auto warm_up = parse_duration(flags.warm_up);
    std::string wrong;
    if (!duration || *duration <= milliseconds{0})
      wrong = "--duration " + flags.duration + ": more than nothing, written as 500ms, 10s, 2m";
    if (!warm_up) wrong += fmt::format("{}--warm-up {}: written as 500ms, 10s, 2m", wrong.empty() ? "" : "; also ", flags.warm_up);
    if (!wrong.empty()) return refuse(wrong);
    std::vector<bench::Row> rows;
    if (flags.workload == "disk") {
      const std::size_t bytes = flags.body.value_or(4096);
      if (bytes == 0) return refuse("--body is at least 1");
      const auto measured = bench::measure_disk(flags.folder, bytes, *duration);
      if (!measured) return refuse(measured.error().text);
      bench::Row row{
          .workload = "disk", .step = fmt::format("write {} + fdatasync", bytes), .seconds = measured->seconds};
      row.tally = {measured->latency, measured->latency.count(), measured->latency.count()};
      rows.push_back(std::move(row));
    } else {
      const auto measured = measure(flags, *duration, *warm_up);
      if (!measured) return refuse(measured.error().text);
      rows = *measured;
    }
    const std::string json =
        bench::as_json({.version = version_,
                        .command = command_,
                        .time = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now())},
                       rows);
    std::fputs(flags.json ? json.c_str() : bench::as_table(rows).c_str(), stdout);
    if (!flags.result_file.empty()) {
      std::ofstream file{flags.result_file};
      if (!(file << json).flush()) return refuse(fmt::format("cannot write {}", flags.result_file));
    }
    return std::any_of(rows.begin(), rows.end(), [](const bench::Row& row) { return row.errors > 0; }) ? 1 : 0;
  }

 private:
  static int refuse(std::string_view why) {
    fmt::print(stderr, "fanfare bench: {}\n", why);
    return 2;
  }

  static Result<bench::Endpoint, bench::Trouble> endpoint_of(const Flags& flags, const std::string& url) {
    auto endpoint = bench::make_endpoint(url);
    if (!endpoint) return endpoint.error();
    endpoint->region =
        flags.region.empty() ? from_environment({"AWS_REGION", "AWS_DEFAULT_REGION"}, "us-east-1") : flags.region;
    if (flags.access_key.empty()) {
      endpoint->credentials = {from_environment({"AWS_ACCESS_KEY_ID"}, "test"),
                               from_environment({"AWS_SECRET_ACCESS_KEY"}, "test"),
                               from_environment({"AWS_SESSION_TOKEN"}, "")};
    } else {
      endpoint->credentials = {flags.access_key, from_environment({"AWS_SECRET_ACCESS_KEY"}, "test"), ""};
    }
    endpoint->is_signed = !flags.is_unsigned;
    endpoint->protocol = flags.protocol == "query" ? bench::Protocol::Query : bench::Protocol::Json;
    return std::move(*endpoint);
  }

  static Result<std::vector<bench::Row>, bench::Trouble> measure(Flags& flags, milliseconds duration,
                                                                 milliseconds warm_up) {
    bench::WorkloadOptions& options = flags.options;
    const auto sqs = endpoint_of(flags, flags.endpoint);
    if (!sqs) return sqs.error();
    const auto sns = endpoint_of(flags, flags.sns_endpoint.empty() ? flags.endpoint : flags.sns_endpoint);
    if (!sns) return sns.error();
    options.sqs = *sqs;
    options.sns = *sns;
    options.duration = duration;
    options.warm_up = warm_up;
    if (flags.rate > 0) options.per_second = flags.rate;
    for (const pid_t process : options.processes)
      if (!bench::is_running(process)) return bench::Trouble{fmt::format("there is no process {}", process)};
    options.run_id = fmt::format("{}-{}", ::getpid(),
                                 std::chrono::system_clock::now().time_since_epoch() / milliseconds{1} % 1'000'000);
    if (!flags.quiet) options.tell = [](std::string_view what) { fmt::print(stderr, "{}\n", what); };
    const auto& known = bench::workloads();
    const auto named = std::find_if(known.begin(), known.end(),
                                    [&](const bench::WorkloadName& one) { return one.name == flags.workload; });
    const bool is_idle = named->workload == bench::Workload::Idle;
    options.connections = flags.connections.value_or(is_idle ? 10'000 : 64);
    options.body_bytes = flags.body.value_or(named->workload == bench::Workload::Backlog ? 1024 : 400);
    options.batch = flags.batch.value_or(10);
    return bench::run_workload(named->workload, options);
  }

  std::string version_;
  std::string command_;
};

std::string workload_help() {
  std::string text = "What to do:";
  for (const bench::WorkloadName& one : bench::workloads()) text += fmt::format("\n  {:<15} {}", one.name, one.help);
  text += fmt::format("\n  {:<15} {}", "disk", "write and fdatasync into --dir, one after the other; no server");
  return text;
}

}  // namespace

void add_bench_command(CLI::App& app, std::string_view version, int& exit_code) {
  auto flags = std::make_shared<Flags>();  // shared: CLI11 keeps the callbacks
  CLI::App& command =
      *app.add_subcommand("bench", "Measure an SQS or SNS endpoint: rates, latencies, the server's CPU");
  bench::WorkloadOptions& o = flags->options;
  std::vector<std::string> names{"disk"};
  for (const bench::WorkloadName& one : bench::workloads()) names.emplace_back(one.name);
  command.add_option("workload", flags->workload, workload_help())
      ->required()
      ->check(CLI::IsMember(names))
      ->type_name("WORKLOAD");

  command.add_option("--endpoint", flags->endpoint, "where to send (http://127.0.0.1:4566); https is verified with the system's certificates, or those of SSL_CERT_FILE")
      ->type_name("URL")
      ->group("Target");
  command.add_option("--sns-endpoint", flags->sns_endpoint, "for SNS, where it is another")
      ->type_name("URL")
      ->group("Target");
  command.add_option("--queue-url", o.queue_url, "use this queue; none is made or deleted")
      ->type_name("URL")
      ->group("Target");
  command.add_option("--protocol", flags->protocol, "json or query (SNS knows only query)")
      ->check(CLI::IsMember({"json", "query"}))
      ->type_name("NAME")
      ->group("Target");
  command.add_option("--region", flags->region, "signed for (AWS_REGION, else us-east-1)")
      ->check(region_name())
      ->type_name("NAME")
      ->group("Target");
  command
      .add_option("--access-key", flags->access_key,
                  "signed as (AWS_ACCESS_KEY_ID, else test); the secret comes from AWS_SECRET_ACCESS_KEY, else test")
      ->type_name("ID")
      ->group("Target");
  command.add_flag("--unsigned", flags->is_unsigned, "send no signature")->group("Target");
  command
      .add_option("--pid", o.processes,
                  "processes of the server on this machine, whose CPU and memory (with children) are told")
      ->delimiter(',')
      ->check(whole_number(1, 4'194'304))  // [proc(5) pid_max]
      ->type_name("PID,..")
      ->group("Target");

  command.add_option("--connections,-c", flags->connections, "open at once (64; idle: 10000)")
      ->check(whole_number(1, 1'000'000))
      ->type_name("N")
      ->group("Load");
  command.add_option("--threads,-t", o.threads, "of the generator (1)")
      ->check(whole_number(1, 256))
      ->type_name("N")
      ->group("Load");
  command.add_option("--rate", flags->rate, "open loop: requests a second over all connections")
      ->check(positive_number())
      ->type_name("N")
      ->group("Load");
  command.add_option("--duration,-d", flags->duration, "how long is measured (10s)")->type_name("TIME")->group("Load");
  command.add_option("--warm-up", flags->warm_up, "before that, not counted (500ms)")->type_name("TIME")->group("Load");
  command
      .add_option("--requests,-n", o.requests,
                  "end after so many requests (cycles of round-trip) instead of a duration")
      ->check(whole_number(1, UINT64_MAX))
      ->type_name("N")
      ->group("Load");
  command.add_option("--body,-b", flags->body, "bytes of a message (400; backlog: 1024; disk: of a write, 4096)")
      ->check(whole_number(1, 1'048'576))
      ->type_name("BYTES")
      ->group("Load");
  command.add_option("--batch", flags->batch, "messages a request, 1: actions without batch (10)")
      ->check(whole_number(1, 10))
      ->type_name("N")
      ->group("Load");
  command.add_option("--messages", o.messages, "waiting or to be received, where the workload says so")
      ->check(whole_number(1, UINT64_MAX))
      ->type_name("N")
      ->group("Load");
  command.add_option("--queues", o.queues, "where the workload says so")
      ->check(whole_number(1, 10'000))
      ->type_name("N")
      ->group("Load");
  command.add_option("--groups", o.groups, "message groups of FIFO queues (1000)")
      ->check(whole_number(1, 1'000'000))
      ->type_name("N")
      ->group("Load");
  command.add_flag("--fifo", o.fifo, "round-trip: over a FIFO queue")->group("Load");
  command.add_flag("--envelope", o.envelope, "fan-out: with the SNS envelope, not raw")->group("Load");
  command.add_option("--dir", flags->folder, "disk: where to write (.)")->type_name("DIR")->group("Load");
  command.add_flag("--keep", o.keep, "leave the queues and topics that were made")->group("Load");

  command.add_flag("--json", flags->json, "print JSON: conditions and rows")->group("Output");
  command.add_option("--result", flags->result_file, "write that JSON to a file as well")
      ->type_name("FILE")
      ->group("Output");
  command.add_flag("--quiet,-q", flags->quiet, "do not tell what is being done")->group("Output");
  command.footer(kExamples);
  command.callback([flags, &app, &exit_code, version = std::string{version}] {
    std::string line = "fanfare bench " + flags->workload;
    const CLI::App* used = app.get_subcommand("bench");
    for (const CLI::Option* option : used->get_options())
      if (option->count() > 0 && !option->get_positional())
        line +=
            fmt::format(" {}{}", option->get_name(),
                        option->get_items_expected_max() == 0 ? "" : " " + CLI::detail::join(option->results(), ","));
    exit_code = BenchCommand{version, line}.run(*flags);
  });
}

}  // namespace fanfare::cli
