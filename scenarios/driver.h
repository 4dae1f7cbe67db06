// What a scenario is played on: the core in memory, the API over it, or a server behind a socket. The runner reads the
// files and compares; a driver performs one step and says what came of it, in the words of the files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace fanfare::scenarios {

/// One line of a file, taken apart: `alice: as task receive q max=2 -> waiting` has the client "alice", the caller "task",
/// the verb "receive", the words {"q"} and the options {max: 2}. README.md of this folder lists the verbs.
struct Step {
  std::string client;  ///< where the request comes from; empty: the one client that files without names have
  std::string caller;  ///< as whom it asks (cast.h); empty: the root of the home account
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

/// A body that was made by `size=` ends in dots; it is shown as "m*1024": the word and the number of bytes. Control characters are
/// shown as "<D>".
std::string shown_body(std::string_view body);

struct Answer {
  /// "ok", "nothing", "waiting", an error's name, or "key=value key=value" for what describes something; several, joined
  /// by blanks, for batches. Empty when there are deliveries. "A|B": it is A or B, and this level cannot tell which (errors
  /// that have one code and text on the wire).
  std::string word;
  std::vector<Delivery> deliveries;
};

/// What a file's heading asks of the server: `# settings: in_flight_max=3`.
struct Settings {
  std::optional<std::uint64_t> in_flight_max;  ///< instead of 120,000
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
  /// Whether it knows this verb.
  [[nodiscard]] virtual bool knows(std::string_view verb) const = 0;
};

}  // namespace fanfare::scenarios
