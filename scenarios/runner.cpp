// Reading of scenario files, and the comparison of what is expected with what came.
#include "runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fanfare::scenarios {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Words are divided by blanks; inside braces blanks belong to the word, so that JSON may have them.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  for (const char c : text) {
    if (depth == 0 && kBlanks.find(c) != std::string_view::npos) {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    word.push_back(c);
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

bool is_receipt_name(std::string_view word) {
  return word.size() >= 2 && word[0] == 'r' && word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// "# name: one   source: two": the values of the heading's fields.
std::string field(std::string_view heading, std::string_view name) {
  const std::size_t at = heading.find(name);
  if (at == std::string_view::npos) return {};
  std::string_view value = heading.substr(at + name.size());
  for (const std::string_view next :
       {std::string_view{"name:"}, std::string_view{"source:"}, std::string_view{"because:"}})
    value = value.substr(0, value.find(next));
  return std::string{trimmed(value)};
}

// What stands in front of "  # why", without blanks at its end.
std::string_view without_remark(std::string_view text) {
  text = text.substr(0, text.find(" #"));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::optional<std::string> read_line(std::string_view text, Line& line) {
  const std::size_t arrow = text.find("->");
  if (arrow != std::string_view::npos) {
    line.expected = words_of(text.substr(arrow + 2));
    if (line.expected.empty()) return "nothing stands behind the arrow";
    text = text.substr(0, arrow);
  }
  std::vector<std::string> words = words_of(text);
  if (!words.empty() && words.front().starts_with("t=")) {
    line.time = parse_duration(words.front().substr(2));
    if (!line.time) return fmt::format("'{}' is no time such as t=30s", words.front());
    words.erase(words.begin());
  }
  if (!words.empty() && words.front().ends_with(':')) {
    line.step.client = words.front().substr(0, words.front().size() - 1);
    words.erase(words.begin());
  }
  if (words.size() > 1 && words.front() == "as") {
    line.step.caller = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty()) return "the line has no verb";
  line.step.verb = words.front();
  words.erase(words.begin());
  for (std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || word.front() == '{') {
      line.step.words.push_back(std::move(word));
    } else {
      line.step.options.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
  }
  return std::nullopt;
}

// "# levels: core api   because: the wire checks it before": both must stand there.
std::optional<std::string> read_levels(std::string_view heading, Scenario& scenario) {
  scenario.levels.clear();
  for (const std::string& word : words_of(field(heading, "levels:"))) {
    const auto level = parse_level(word);
    if (!level) return fmt::format("there is no level '{}'; the levels are core, api and http", word);
    scenario.levels.push_back(*level);
  }
  scenario.because = field(heading, "because:");
  if (scenario.levels.empty() || scenario.because.empty())
    return "a file that is not for every level says '# levels: ...   because: ...'";
  return std::nullopt;
}

std::optional<std::string> read_settings(std::string_view heading, Settings& settings) {
  for (const std::string& word : words_of(field(heading, "settings:"))) {
    constexpr std::string_view kInFlight = "in_flight_max=";
    if (!word.starts_with(kInFlight) || word.find_first_not_of("0123456789", kInFlight.size()) != std::string::npos)
      return fmt::format("there is no setting '{}'; there is in_flight_max=NUMBER", word);
    settings.in_flight_max = std::stoull(word.substr(kInFlight.size()));
  }
  return std::nullopt;
}

// "A|B" is what one of several names is.
bool agree(const std::string& expected, std::string_view came) {
  while (true) {
    const std::size_t bar = came.find('|');
    if (came.substr(0, bar) == expected) return true;
    if (bar == std::string_view::npos) return false;
    came.remove_prefix(bar + 1);
  }
}

/// Compares an answer with what the file expects, and binds the receipts' names.
class Comparison {
 public:
  explicit Comparison(std::map<std::string, std::string>& receipts) : receipts_(receipts) {}

  /// Empty if they agree, else what came.
  std::string check(const std::vector<std::string>& expected, const Answer& answer) {
    std::vector<std::string> came;
    if (answer.deliveries.empty()) {
      came = words_of(answer.word);
    } else {
      // Receipts are named by the file: one name behind each message, or none at all.
      std::size_t at = 0;
      for (const Delivery& delivery : answer.deliveries) {
        came.push_back(delivery.body);
        if (at < expected.size()) ++at;
        if (at < expected.size() && is_receipt_name(expected[at])) {
          came.push_back(expected[at]);
          bound_.emplace_back(expected[at], delivery.handle);
          ++at;
        }
      }
    }
    if (!std::ranges::equal(expected, came, agree)) return came.empty() ? "nothing at all" : joined(came);
    for (auto& [name, handle] : bound_) receipts_.insert_or_assign(name, handle);
    return {};
  }

 private:
  std::map<std::string, std::string>& receipts_;
  std::vector<std::pair<std::string, std::string>> bound_;
};

}  // namespace

std::string shown_body(std::string_view body) {
  const std::size_t word = body.find_last_not_of('.') + 1;
  if (body.size() - word >= 8) return fmt::format("{}*{}", body.substr(0, word), body.size());
  std::string shown;
  for (const char c : body) {
    if (static_cast<unsigned char>(c) < 0x20)
      shown += fmt::format("<{:X}>", c);
    else
      shown += c;
  }
  return shown;
}

Result<Scenario, FormatError> parse_scenario(std::string_view text) {
  Scenario scenario;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (raw.starts_with('#')) {
      if (scenario.name.empty()) scenario.name = field(raw, "name:");
      if (scenario.source.empty()) scenario.source = field(raw, "source:");
      if (raw.starts_with("# levels:"))
        if (auto wrong = read_levels(raw, scenario)) return FormatError{number, std::move(*wrong)};
      if (raw.starts_with("# settings:"))
        if (auto wrong = read_settings(raw, scenario.settings)) return FormatError{number, std::move(*wrong)};
      continue;
    }
    std::string whole{without_remark(raw)};
    if (trimmed(whole).empty()) continue;
    Line line;
    line.number = number;
    // A line that begins with blanks goes on with the one before: policies are long.
    while (text.starts_with("  ")) {
      ++number;
      const std::size_t next = std::min(text.find('\n'), text.size());
      whole += without_remark(text.substr(0, next));
      text.remove_prefix(std::min(next + 1, text.size()));
    }
    line.text = trimmed(whole);
    if (auto wrong = read_line(line.text, line)) return FormatError{line.number, std::move(*wrong)};
    scenario.lines.push_back(std::move(line));
  }
  if (scenario.name.empty()) return FormatError{1, "the file does not begin with '# name: ...   source: ...'"};
  if (scenario.source.empty()) return FormatError{1, "the heading names no source"};
  if (scenario.lines.empty()) return FormatError{number, "the file has no step"};
  return scenario;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::Core: return "core";
    case Level::Api: return "api";
    case Level::Http: return "http";
  }
  return "?";
}

std::optional<Level> parse_level(std::string_view text) {
  for (const Level level : kLevels)
    if (name_of(level) == text) return level;
  return std::nullopt;
}

bool is_played_at(const Scenario& scenario, Level level) {
  return std::ranges::find(scenario.levels, level) != scenario.levels.end();
}

Report play(const Scenario& scenario, Driver& driver) {
  std::map<std::string, std::string> receipts;
  for (const Line& line : scenario.lines) {
    const auto failed = [&](std::string_view what) {
      return Report{Outcome::Failed, fmt::format("line {}: {}\n  {}", line.number, line.text, what)};
    };
    if (line.step.verb != "gets" && !driver.knows(line.step.verb)) return failed("there is no such verb at this level");
    if (line.time) driver.advance_to(*line.time);
    Step step = line.step;
    for (std::string& word : step.words) {
      if (!is_receipt_name(word)) continue;
      const auto receipt = receipts.find(word);
      if (receipt == receipts.end()) return failed(fmt::format("no receive before this line gave {}", word));
      word = receipt->second;
    }
    Answer answer;
    if (step.verb == "gets") {
      // `alice: gets -> m1 r1`: what a waiting client has got by now; `-> waiting`: nothing yet.
      answer = driver.late_answer(step.client).value_or(Answer{"waiting", {}});
    } else {
      answer = driver.perform(step);
    }
    const std::vector<std::string> expected = line.expected.empty() ? std::vector<std::string>{"ok"} : line.expected;
    Comparison comparison(receipts);
    if (const std::string came = comparison.check(expected, answer); !came.empty())
      return failed(fmt::format("expected: {}\n  came:     {}", joined(expected), came));
  }
  return {};
}

}  // namespace fanfare::scenarios
