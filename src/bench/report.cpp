#include "bench/report.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "wire/json/writer.h"

namespace fanfare::bench {
namespace {

double us(nanoseconds value) { return static_cast<double>(value.count()) / 1e3; }

std::string in_ms(nanoseconds value) { return fmt::format("{:.2f}", us(value) / 1e3); }

std::string optional_text(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : std::string{};
}

/// `model name` of the first processor, and how much memory there is.
std::string line_of(const char* path, std::string_view name) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? std::string{} : line.substr(value);
  }
  return {};
}

}  // namespace

std::vector<Row> rows_of(std::string_view workload, const PhaseResult& result, std::string_view whole) {
  std::vector<Row> rows;
  for (const StepResult& step : result.steps) {
    if (step.tally.requests == 0 && result.steps.size() > 1) continue;
    Row row;
    row.workload = workload;
    row.step = step.name;
    row.seconds = result.seconds;
    row.tally = step.tally;
    if (result.steps.size() == 1 || step.name == whole) {
      row.errors = result.errors;
      row.generator_cores = static_cast<double>(result.own_cpu.count()) / 1e9 / std::max(result.seconds, 1e-9);
      if (result.before && result.after) {
        const double cpu = us(result.after->cpu - result.before->cpu);
        row.cpu_cores = cpu / 1e6 / std::max(result.seconds, 1e-9);
        if (step.tally.requests > 0) row.cpu_us_a_request = cpu / static_cast<double>(step.tally.requests);
        if (step.tally.messages > 0) row.cpu_us_a_message = cpu / static_cast<double>(step.tally.messages);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string as_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines{{"workload", "step", "requests/s", "messages/s", "p50 ms", "p90 ms",
                                               "p99 ms", "p99.9 ms", "max ms", "CPU us/request", "CPU us/message",
                                               "CPU cores", "errors"}};
  for (const Row& row : rows) {
    const double seconds = std::max(row.seconds, 1e-9);
    const Histogram& latency = row.tally.latency;
    lines.push_back({row.workload, row.step, fmt::format("{:.0f}", static_cast<double>(row.tally.requests) / seconds),
                     fmt::format("{:.0f}", static_cast<double>(row.tally.messages) / seconds),
                     in_ms(latency.percentile(50)), in_ms(latency.percentile(90)), in_ms(latency.percentile(99)),
                     in_ms(latency.percentile(99.9)), in_ms(latency.largest()),
                     optional_text(row.cpu_us_a_request, "{:.2f}"), optional_text(row.cpu_us_a_message, "{:.2f}"),
                     optional_text(row.cpu_cores, "{:.2f}"), fmt::format("{}", row.errors)});
  }
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i)
      out += i < 2 ? fmt::format("{:<{}}  ", line[i], widths[i]) : fmt::format("{:>{}}  ", line[i], widths[i]);
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  for (const Row& row : rows)
    for (const auto& [name, value] : row.further)
      out += fmt::format("{} {}: {} = {:.2f}\n", row.workload, row.step, name, value);
  return out;
}

std::string as_json(const Conditions& conditions, const std::vector<Row>& rows) {
  utsname system{};
  ::uname(&system);
  std::string out;
  wire::json::Writer w{out};
  w.begin_object();
  w.key("version").string(conditions.version).key("command").string(conditions.command);
  w.key("time").string(iso8601(conditions.time));
  w.key("machine").begin_object();
  w.key("processor").string(line_of("/proc/cpuinfo", "model name")).key("cores").integer(sysconf(_SC_NPROCESSORS_ONLN));
  w.key("memory")
      .string(line_of("/proc/meminfo", "MemTotal"))
      .key("kernel")
      .string(fmt::format("{} {}", system.sysname, system.release));
  w.end_object();
  w.key("rows").begin_array();
  for (const Row& row : rows) {
    const Histogram& latency = row.tally.latency;
    w.begin_object();
    w.key("workload").string(row.workload).key("step").string(row.step).key("seconds").real(row.seconds);
    w.key("requests").unsigned_integer(row.tally.requests).key("messages").unsigned_integer(row.tally.messages);
    w.key("errors").unsigned_integer(row.errors);
    w.key("latency_us").begin_object();
    w.key("mean").real(us(latency.mean()));
    for (const auto& [name, percent] :
         {std::pair{"p50", 50.0}, {"p90", 90.0}, {"p99", 99.0}, {"p99.9", 99.9}, {"max", 100.0}})
      w.key(name).real(us(latency.percentile(percent)));
    w.end_object();
    const auto optional = [&w](std::string_view name, const std::optional<double>& value) {
      if (value) w.key(name).real(*value);
    };
    optional("cpu_us_a_request", row.cpu_us_a_request);
    optional("cpu_us_a_message", row.cpu_us_a_message);
    optional("cpu_cores", row.cpu_cores);
    optional("generator_cores", row.generator_cores);
    for (const auto& [name, value] : row.further) w.key(name).real(value);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  out += '\n';
  return out;
}

}  // namespace fanfare::bench
