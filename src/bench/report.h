// What a load has measured, as rows; and those rows as a table for people and as JSON.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/driver.h"

namespace fanfare::bench {

struct Row {
  std::string workload;  ///< `send`
  std::string step;      ///< `SendMessage`
  double seconds = 0;
  StepTally tally;
  std::uint64_t errors = 0;
  /// Of the server, a request and a message; none if no process was given, or if several steps share it.
  std::optional<double> cpu_us_a_request;
  std::optional<double> cpu_us_a_message;
  std::optional<double> cpu_cores;                      ///< of the server: 0.02 is 2 % of a core
  std::optional<double> generator_cores;                ///< of this program
  std::vector<std::pair<std::string, double>> further;  ///< `resident_mib`, `kib_a_connection`, ...
};

/// Rows of one phase: one a step that was counted. CPU goes to the only step, or else to the step `whole`.
std::vector<Row> rows_of(std::string_view workload, const PhaseResult& result, std::string_view whole = {});

/// A table with a line a row.
std::string as_table(const std::vector<Row>& rows);

/// Where and how a result came about, for a file that is kept.
struct Conditions {
  std::string version;  ///< of this program
  std::string command;  ///< the flags, secrets left out
  Timestamp time{};
};
/// One JSON object: conditions with the machine's data, then the rows. Durations in microseconds.
std::string as_json(const Conditions& conditions, const std::vector<Row>& rows);

}  // namespace fanfare::bench
