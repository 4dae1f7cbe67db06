// What a scenario is played on: the core in memory, the api's transcripts, or a server over HTTP. The runner reads the
// files and compares; a driver performs one step and says what came of it, in the words of the files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace fanfare::scenarios {

/// One line of a file, taken apart: `alice: receive q max=2 -> waiting` has the client "alice", the verb "receive", the
/// words {"q"} and the options {max: 2}. README.md of this folder lists the verbs.
struct Step {
  std::string client;  ///< who asks; empty: the one client that files without names have
  std::string verb;
  std::vector<std::string> words;
  std::multimap<std::string, std::string> options;

  [[nodiscard]] std::optional<std::string> option(std::string_view name) const {
    const auto found = options.find(std::string{name});
    if (found == options.end()) return std::nullopt;
    return found->second;
  }
};

/// A message that a receive gave.
struct Delivery {
  std::string body;    ///< as the file wrote it; in an SNS envelope "envelope:" and the body inside; see shown_body()
  std::string handle;  ///< the driver's own text for the receipt handle; steps that name a receipt get it back
};

/// A body that was made by `size=` ends in dots; it is shown as "m*1024": the word and the number of bytes.
std::string shown_body(std::string_view body);

struct Answer {
  /// "ok", "nothing", "waiting", an error's name, or "key=value key=value" for what describes something; several, joined
  /// by blanks, for batches. Empty when there are deliveries.
  std::string word;
  std::vector<Delivery> deliveries;
};

class Driver {
 public:
  virtual ~Driver() = default;

  /// The clock stands at this time since the start; never runs back. What the passing time brings has happened.
  virtual void advance_to(milliseconds since_start) = 0;
  /// Performs a step and waits for its answer, or for the certainty that it waits ("waiting").
  virtual Answer perform(const Step& step) = 0;
  /// The answer that came for a client whose step was waiting; nullopt: it still waits.
  virtual std::optional<Answer> late_answer(const std::string& client) = 0;
  /// Whether it knows this verb. Files that use others are left out at this level.
  [[nodiscard]] virtual bool knows(std::string_view verb) const = 0;
};

}  // namespace fanfare::scenarios
