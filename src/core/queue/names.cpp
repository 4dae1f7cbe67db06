#include "core/queue/names.h"

#include <fmt/format.h>

namespace fanfare::queue {
namespace {

constexpr std::string_view kArnPrefix = "arn:aws:sqs:";
constexpr std::string_view kFifoSuffix = ".fifo";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

QueueArn QueueKey::arn() const {
  return QueueArn{fmt::format("{}{}:{}:{}", kArnPrefix, region.str(), account.str(), name.str())};
}

std::optional<QueueKeyView> parse_queue_arn(std::string_view arn) {
  if (!arn.starts_with(kArnPrefix)) return std::nullopt;
  arn.remove_prefix(kArnPrefix.size());
  const std::size_t first = arn.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = arn.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const QueueKeyView key{arn.substr(first + 1, second - first - 1), arn.substr(0, first), arn.substr(second + 1)};
  if (key.account.empty() || key.region.empty() || key.name.empty()) return std::nullopt;
  if (key.name.find(':') != std::string_view::npos) return std::nullopt;
  return key;
}

bool is_fifo_name(std::string_view name) { return name.ends_with(kFifoSuffix); }

bool is_valid_queue_name(std::string_view name) {
  if (name.empty() || name.size() > 80) return false;
  if (is_fifo_name(name)) name.remove_suffix(kFifoSuffix.size());
  if (name.empty()) return false;
  for (const char c : name)
    if (!is_name_character(c)) return false;
  return true;
}

std::string SequenceNumber::str() const { return fmt::format("{:020}", value); }

}  // namespace fanfare::queue
