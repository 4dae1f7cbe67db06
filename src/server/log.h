// Structured log: one JSON object a line on standard error, an event name with fields, never prose, never payloads.
//
//   log.info("server.ready", {{"aws", url}, {"epoch", 7}});
//   {"time":"2026-11-30T10:59:45.123Z","level":"info","event":"server.ready","aws":"http://127.0.0.1:4566","epoch":7}
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace fanfare::server {

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, bool> value;

  LogField(std::string_view field, std::string_view text) : name(field), value(text) {}
  LogField(std::string_view field, const std::string& text) : name(field), value(std::string_view{text}) {}
  LogField(std::string_view field, const char* text) : name(field), value(std::string_view{text}) {}
  template <std::integral T>
  LogField(std::string_view field, T number) : name(field), value(static_cast<std::int64_t>(number)) {
    if constexpr (std::same_as<T, bool>) value = number;
  }
};

/// Thread-safe. Lines are written by a thread of their own; when that falls far behind, the oldest waiting lines are
/// dropped, and how many is logged.
class Log {
 public:
  Log();
  /// Keeps nothing: for the simulator, which makes thousands of brokers.
  static Log silent();
  ~Log();  ///< writes what waits
  using Fields = std::initializer_list<LogField>;
  void info(std::string_view event, Fields fields = {}) { write("info", event, fields); }
  void warn(std::string_view event, Fields fields = {}) { write("warn", event, fields); }
  void error(std::string_view event, Fields fields = {}) { write("error", event, fields); }

 private:
  struct Impl;
  explicit Log(std::unique_ptr<Impl> impl);
  void write(std::string_view level, std::string_view event, Fields fields);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fanfare::server
