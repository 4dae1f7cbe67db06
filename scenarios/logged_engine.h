// An engine with its log in memory: what a process is without disk and sockets. It can die and be replayed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "driver.h"

namespace fanfare::scenarios {

class LoggedEngine {
 public:
  explicit LoggedEngine(const Settings& settings);

  /// The outputs are valid until the next call.
  const engine::Outputs& handle(const engine::Input& input);
  /// As a shell does it: woken at each deadline, at its time. `each` sees the outputs of every one.
  void advance_to(Timestamp time, const std::function<void(const engine::Outputs&)>& each);
  /// The process dies and another one replays the log, all of it or without the records that no reply waited for; then
  /// the state is taken from a snapshot, which must be the same. "ok", or what was wrong.
  std::string restart(bool lose_receives);

  /// The record that lies there.
  [[nodiscard]] const std::string& record(LogPosition position) const;
  [[nodiscard]] Timestamp now() const { return now_; }
  [[nodiscard]] const engine::Engine& engine() const { return engine_; }

 private:
  engine::EngineOptions options_;
  engine::Engine engine_;
  engine::Outputs outputs_;
  Timestamp now_;
  std::vector<std::pair<LogPosition, std::string>> log_;
};

/// `metrics NAME`: the counters of a queue or a topic.
Answer metrics_of(const engine::Engine& engine, const std::string& name);

}  // namespace fanfare::scenarios
