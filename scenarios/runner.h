// Reads scenario files and plays them on a driver. README.md of this folder describes the format.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "driver.h"

namespace fanfare::scenarios {

struct Line {
  std::size_t number = 0;  ///< from 1
  std::string text;        ///< for messages
  std::optional<milliseconds> time;
  Step step;
  std::vector<std::string> expected;  ///< words behind "->"
};

struct Scenario {
  std::string name;
  std::string source;
  std::vector<Line> lines;
};

struct FormatError {
  std::size_t line;
  std::string what;
};

Result<Scenario, FormatError> parse_scenario(std::string_view text);

enum class Outcome { Passed, Failed, LeftOut };

struct Report {
  Outcome outcome = Outcome::Passed;
  std::string message;  ///< of the first line that failed, or the verb that the driver does not know
};

Report play(const Scenario& scenario, Driver& driver);

}  // namespace fanfare::scenarios
