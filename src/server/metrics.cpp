#include "server/metrics.h"

#include <fmt/format.h>

#include <iterator>

namespace fanfare::server {

void MetricsWriter::describe(std::string_view name, std::string_view kind, std::string_view help) {
  fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

void MetricsWriter::head(std::string_view name, Labels labels) {
  out_.append(name);
  if (labels.size() == 0) return;
  char separator = '{';
  for (const auto& [key, value] : labels) {
    out_.push_back(separator);
    separator = ',';
    out_.append(key).append("=\"");
    for (const char c : value) {
      if (c == '\\' || c == '"') out_.push_back('\\');
      if (c == '\n') out_.append("\\n");
      else out_.push_back(c);
    }
    out_.push_back('"');
  }
  out_.push_back('}');
}

void MetricsWriter::sample(std::string_view name, Labels labels, std::uint64_t value) {
  head(name, labels);
  fmt::format_to(std::back_inserter(out_), " {}\n", value);
}

void MetricsWriter::sample(std::string_view name, Labels labels, double value) {
  head(name, labels);
  fmt::format_to(std::back_inserter(out_), " {}\n", value);
}

}  // namespace fanfare::server
