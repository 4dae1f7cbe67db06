#include "core/queue/names.h"

#include <fmt/format.h>

#include "base/arn.h"

namespace fanfare::queue {
namespace {

constexpr std::string_view kService = "sqs";

}  // namespace

QueueArn QueueKey::arn() const { return QueueArn{make_arn(kService, {region.str(), account.str(), name.str()})}; }

std::optional<QueueKeyView> parse_queue_arn(std::string_view arn) {
  const auto parts = parse_arn(arn, kService);
  if (!parts) return std::nullopt;
  return QueueKeyView{parts->account, parts->region, parts->name};
}

bool is_valid_queue_name(std::string_view name) { return is_resource_name(name, 80); }

std::string SequenceNumber::str() const { return fmt::format("{:020}", value); }

}  // namespace fanfare::queue
