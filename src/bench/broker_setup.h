// Makes and removes what a load needs: queues, topics, subscriptions. One request at a time, not measured.
#pragma once

#include <cstdint>
#include <string>

#include "bench/call.h"
#include "bench/driver.h"

namespace fanfare::bench {

/// The queue's URL, as the service names it.
Result<std::string, Trouble> create_queue(const Endpoint& endpoint, std::string_view name, const Pairs& attributes);
Result<Success, Trouble> delete_queue(const Endpoint& endpoint, std::string_view url);
/// `ApproximateNumberOfMessages`, `QueueArn`.
Result<std::string, Trouble> queue_attribute(const Endpoint& endpoint, std::string_view url, std::string_view name);
/// The topic's ARN.
Result<std::string, Trouble> create_topic(const Endpoint& endpoint, std::string_view name);
Result<Success, Trouble> delete_topic(const Endpoint& endpoint, std::string_view arn);
Result<Success, Trouble> subscribe(const Endpoint& endpoint, std::string_view topic, std::string_view queue_arn,
                                   bool raw);
/// The queue policy that lets this topic deliver, as AWS wants it.
std::string policy_for(std::string_view topic, std::string_view queue_arn);

}  // namespace fanfare::bench
