// Reads scenario files and plays them on a driver. README.md of this folder describes the format.
#pragma once

#include <iterator>
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

enum class Level { Core, Api, Http };
inline constexpr Level kLevels[] = {Level::Core, Level::Api, Level::Http};
std::string_view name_of(Level level);  ///< "core", "api", "http"
std::optional<Level> parse_level(std::string_view text);

struct Scenario {
  std::string name;
  std::string source;
  /// `# levels: core api   because: ...`: where it can be played, and why not everywhere. Without that line: at every
  /// level.
  std::vector<Level> levels{std::begin(kLevels), std::end(kLevels)};
  std::string because;
  Settings settings;  ///< `# settings: in_flight_max=3`
  std::vector<Line> lines;
};

struct FormatError {
  std::size_t line;
  std::string what;
};

Result<Scenario, FormatError> parse_scenario(std::string_view text);

[[nodiscard]] bool is_played_at(const Scenario& scenario, Level level);

enum class Outcome { Passed, Failed };

struct Report {
  Outcome outcome = Outcome::Passed;
  std::string message;  ///< of the first line that failed
};

Report play(const Scenario& scenario, Driver& driver);

}  // namespace fanfare::scenarios
