// `fanfare bench`: load on any SQS or SNS endpoint, and what it costs.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace fanfare::cli {

void add_bench_command(CLI::App& app, std::string_view version, int& exit_code);

}  // namespace fanfare::cli
