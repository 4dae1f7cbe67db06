// ARNs and names of what has an account and a region: queues and topics.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fanfare {

/// The parts of "arn:aws:SERVICE:REGION:ACCOUNT:NAME". Views.
struct ArnParts {
  std::string_view region;   ///< "us-east-1"
  std::string_view account;  ///< "000000000000"
  std::string_view name;     ///< "orders.fifo"
};

/// Nullopt if it is no ARN of this service ("sqs", "sns"), a part is empty, or the name has a ':'. Whether such a thing
/// exists, or the name is allowed, is not looked at.
std::optional<ArnParts> parse_arn(std::string_view arn, std::string_view service);
/// "arn:aws:sqs:us-east-1:000000000000:orders.fifo"
std::string make_arn(std::string_view service, const ArnParts& parts);

/// "orders.fifo" is the name of something FIFO. [SQS CreateQueue] [SNS CreateTopic]
bool is_fifo_name(std::string_view name);
/// 1 to `longest` of [A-Za-z0-9_-], of which ".fifo" at the end counts; there is something before it.
bool is_resource_name(std::string_view name, std::size_t longest);

}  // namespace fanfare
