// fanfare_scenarios LEVEL FILE...: plays each file at one level; exit 0 when none failed, 77 when none is for this
// level. fanfare_scenarios levels FILE...: how many files are played at which level, and which are not, and why.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "api_server.h"
#include "core_driver.h"
#include "http_server.h"
#include "runner.h"
#include "wire_driver.h"

namespace fanfare::scenarios {
namespace {

constexpr int kPlayedNone = 77;

std::optional<Scenario> read(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    std::cerr << path << ": cannot be read\n";
    return std::nullopt;
  }
  auto scenario = parse_scenario(text.str());
  if (!scenario) {
    std::cerr << path << ":" << scenario.error().line << ": " << scenario.error().what << "\n";
    return std::nullopt;
  }
  return std::move(*scenario);
}

/// The drivers of a level: what speaks a wire protocol speaks both.
std::vector<std::pair<std::string, std::unique_ptr<Driver>>> drivers_of(Level level, const Settings& settings) {
  std::vector<std::pair<std::string, std::unique_ptr<Driver>>> drivers;
  if (level == Level::Core) {
    drivers.emplace_back("core", std::make_unique<CoreDriver>(settings));
    return drivers;
  }
  for (const Protocol protocol : {Protocol::Json, Protocol::Query}) {
    std::unique_ptr<Server> server;
    if (level == Level::Api)
      server = make_api_server(settings);
    else
      server = make_http_server(settings);
    drivers.emplace_back(fmt::format("{}, {}", name_of(level), protocol == Protocol::Json ? "JSON" : "Query"),
                         std::make_unique<WireDriver>(protocol, std::move(server)));
  }
  return drivers;
}

int play_at(Level level, std::span<char*> paths) {
  int failed = 0;
  std::size_t played = 0;
  for (const char* path : paths) {
    const auto scenario = read(path);
    if (!scenario) return 2;
    if (!is_played_at(*scenario, level)) {
      std::cout << path << ": not at level " << name_of(level) << ": " << scenario->because << "\n";
      continue;
    }
    ++played;
    for (const auto& [name, driver] : drivers_of(level, scenario->settings)) {
      const Report report = play(*scenario, *driver);
      if (report.outcome == Outcome::Passed) continue;
      ++failed;
      std::cerr << path << ": " << scenario->name << "\n  (" << name << ") " << report.message << "\n";
    }
  }
  if (failed != 0) return 1;
  return played == 0 ? kPlayedNone : 0;
}

int show_levels(std::span<char*> paths) {
  std::map<Level, std::size_t> played;
  std::map<Level, std::string> left_out;
  for (const char* path : paths) {
    const auto scenario = read(path);
    if (!scenario) return 2;
    for (const Level level : kLevels) {
      if (is_played_at(*scenario, level))
        ++played[level];
      else
        left_out[level] += fmt::format("  not {}: {}\n", path, scenario->because);
    }
  }
  for (const Level level : kLevels)
    std::cout << fmt::format("{}: {} of {} files\n{}", name_of(level), played[level], paths.size(), left_out[level]);
  return 0;
}

int run(std::span<char*> arguments) {
  const std::string_view what = arguments.size() > 2 ? arguments[1] : "";
  if (what == "levels") return show_levels(arguments.subspan(2));
  if (const auto level = parse_level(what)) return play_at(*level, arguments.subspan(2));
  std::cerr << "usage: fanfare_scenarios core|api|http|levels FILE.scn...\n";
  return 2;
}

}  // namespace
}  // namespace fanfare::scenarios

int main(int argc, char** argv) { return fanfare::scenarios::run({argv, static_cast<std::size_t>(argc)}); }
