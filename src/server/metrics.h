// Prometheus text of everything that the process counts. [Prometheus text format 0.0.4]
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace fanfare::server {

/// Appends metrics; the caller keeps all samples of one metric together.
class MetricsWriter {
 public:
  explicit MetricsWriter(std::string& out) : out_(out) {}
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  /// `kind`: counter, gauge, histogram.
  void describe(std::string_view name, std::string_view kind, std::string_view help);
  void sample(std::string_view name, Labels labels, std::uint64_t value);
  void sample(std::string_view name, Labels labels, double value);

 private:
  void head(std::string_view name, Labels labels);
  std::string& out_;
};

}  // namespace fanfare::server
