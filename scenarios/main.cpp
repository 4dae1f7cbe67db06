// fanfare_scenarios FILE...: plays each file on a fresh driver; exit 0 when none failed.
#include <fstream>
#include <iostream>
#include <sstream>

#include "core_driver.h"
#include "runner.h"

int main(int argc, char** argv) {
  using namespace fanfare::scenarios;
  if (argc < 2) {
    std::cerr << "usage: fanfare_scenarios FILE.scn...\n";
    return 2;
  }
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i]);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) {
      std::cerr << argv[i] << ": cannot be read\n";
      return 2;
    }
    const auto scenario = parse_scenario(text.str());
    if (!scenario) {
      std::cerr << argv[i] << ":" << scenario.error().line << ": " << scenario.error().what << "\n";
      return 2;
    }
    CoreDriver driver;
    const Report report = play(*scenario, driver);
    if (report.outcome == Outcome::Passed) continue;
    if (report.outcome == Outcome::LeftOut) {
      std::cout << argv[i] << ": left out: " << report.message << "\n";
      continue;
    }
    ++failed;
    std::cerr << argv[i] << ": " << scenario->name << "\n  " << report.message << "\n";
  }
  return failed == 0 ? 0 : 1;
}
