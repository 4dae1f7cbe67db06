#include "cli/clock_command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "net/http_client.h"
#include "wire/json/value.h"

namespace fanfare::cli {
namespace {

constexpr const char* kPath = "/_fanfare/clock";
constexpr milliseconds kPatience{10'000};

struct ClockFlags {
  std::string endpoint = "http://127.0.0.1:4590";
  std::string step;
};

int fail(int code, const std::string& problem) {
  fmt::print(stderr, "fanfare: clock: {}\n", problem);
  return code;
}

/// Asks the admin port, and prints what time it is there. `body`: null reads.
int ask(const ClockFlags& flags, const std::optional<std::string>& body) {
  auto request = net::HttpRequest::to(body ? "POST" : "GET", flags.endpoint);
  if (!request) return fail(2, fmt::format("{}: no URL such as http://127.0.0.1:4590", flags.endpoint));
  request->target = kPath;
  request->headers = {{"Host", request->origin.authority()}};
  if (body) {
    request->body = *body;
    request->headers.push_back({"Content-Type", "application/json"});
  }
  net::SyncHttpClient client;
  const auto answer = client.request(std::move(*request), kPatience);
  if (!answer) {
    return fail(2, fmt::format("{}: {}: {}; --endpoint is the admin port of a running broker (fanfare serve --admin)", flags.endpoint,
                               net::describe(answer.error().error), answer.error().detail));
  }
  const auto value = wire::json::parse(answer->body);
  const bool is_object = value && value->is_object();
  const std::string now(is_object ? value->find_string("now").value_or("") : "");
  if (answer->status == 200 && !now.empty()) {
    fmt::print("{}\n", now);
    return 0;
  }
  const std::string detail(is_object ? value->find_string("detail").value_or("") : "");
  if (answer->status == 409) {
    return fail(1, fmt::format("{}: the broker's clock is the system's and cannot be moved; start it with fanfare serve --clock manual",
                               flags.endpoint));
  }
  if (answer->status == 400 && !detail.empty()) return fail(1, fmt::format("{}: {}", flags.endpoint, detail));
  return fail(2, fmt::format("{}: status {}, no answer of a broker's admin port{}; --endpoint is that port (fanfare serve --admin)",
                             flags.endpoint, answer->status, detail.empty() ? "" : ": " + detail));
}

int advance(const ClockFlags& flags) {
  const auto step = parse_duration(flags.step);
  if (!step) return fail(2, fmt::format("'{}' is no duration; accepted are such as 250ms, 35s, 1h30m or 14d", flags.step));
  return ask(flags, fmt::format(R"({{"advance":"{}"}})", flags.step));
}

}  // namespace

void add_clock_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ClockFlags>();  // shared: CLI11 keeps the callbacks
  CLI::App& command = *app.add_subcommand("clock", "Show a running broker's clock, or move it (clock advance 2h)");
  command
      .add_option("--endpoint,--endpoint-url", flags->endpoint, "the broker's admin port (http://127.0.0.1:4590)")
      ->type_name("URL");
  CLI::App& move = *command.add_subcommand("advance", "Move the clock forward; the broker runs with --clock manual");
  move.add_option("DURATION", flags->step, "such as 250ms, 35s, 1h30m or 14d")->required();
  move.fallthrough();  // --endpoint may stand behind it
  command.footer(
      "Examples:\n"
      "  fanfare clock\n"
      "  fanfare clock advance 2h --endpoint http://127.0.0.1:4590\n\n"
      "Prints what time it is for the broker then. Exit code: 0 done; 1 the broker refused, as without --clock manual; 2 a wrong\n"
      "argument, or no broker's admin port there.\n");
  // The inner callback runs first.
  move.callback([flags, &exit_code] { exit_code = advance(*flags); });
  command.callback([flags, &move, &exit_code] {
    if (!move.parsed()) exit_code = ask(*flags, std::nullopt);
  });
}

}  // namespace fanfare::cli
