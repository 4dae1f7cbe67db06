// What a live endpoint has: queues, topics and subscriptions with their attributes, asked by the services' own calls.
#pragma once

#include <optional>
#include <string>

#include "policy/lint.h"

namespace fanfare::cli {

struct LiveEndpoint {
  std::string url;  ///< "http://127.0.0.1:4566"
  std::string region = "us-east-1";
  std::string access_key = "test";
  std::string secret = "test";
  std::string session_token;
};

/// Credentials and region as AWS's tools find them in the environment; what is not there stays as it is.
void take_from_environment(LiveEndpoint& endpoint);

/// Fills `topology`; else a sentence: `ListQueues: AccessDenied: ...`. Only reads.
std::optional<std::string> read_topology(const LiveEndpoint& endpoint, policy::DescribedTopology& topology);
/// The policy of one queue or topic; empty if it has none.
std::optional<std::string> read_resource_policy(const LiveEndpoint& endpoint, const std::string& arn,
                                                std::string& policy);

}  // namespace fanfare::cli
