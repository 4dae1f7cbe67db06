// What is likely wrong with policies and topologies that are valid all the same: findings with an id, the place, why it
// matters, and the mend.
//
// Rule 1: an id never changes its meaning; `peers` names the rules of other tools that look at the same thing, so that
// a
//         suppression there can be taken over.
// Rule 2: nothing is guessed: what cannot be seen is not found.
// Source: [SQS and SNS access control], [SNS dead-letter queues], [SQS quotas], docs of the peers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace fanfare::policy {

enum class Severity : std::uint8_t { Error, Warning, Note };

struct LintRule {
  std::string_view id;  ///< "D001"
  Severity severity;
  std::string_view title;
  std::string_view why;
  std::string_view mend;
  std::string_view peers;  ///< "CKV_AWS_168 CKV_AWS_169"; empty: nobody else looks at it
};
/// Sorted by id.
std::span<const LintRule> lint_rules();

struct Finding {
  const LintRule* rule = nullptr;
  std::string place;  ///< ARN, or name of a file
  std::optional<std::size_t> statement;
  std::string sid;     ///< of the statement; empty: none
  std::string detail;  ///< what was found: `Action "sqs:*"`
};

enum class ResourceKind : std::uint8_t { Queue, Topic, Identity };

/// What a policy alone shows. `arn` is the resource it belongs to, or empty.
std::vector<Finding> lint_policy(const Policy& policy, ResourceKind kind, std::string_view place, std::string_view arn,
                                 std::size_t bytes);

/// A topology as its services describe it: attributes as GetQueueAttributes, GetTopicAttributes and
/// GetSubscriptionAttributes name them. A topology file adds to a queue what only its consumer knows: HandlerSeconds, the
/// time that a message takes; ClaimCheck "true", if it resolves pointers to large messages.
struct DescribedTopology {
  using Attributes = std::map<std::string, std::string, std::less<>>;
  std::map<std::string, Attributes, std::less<>> queues;         ///< by ARN
  std::map<std::string, Attributes, std::less<>> topics;         ///< by ARN
  std::map<std::string, Attributes, std::less<>> subscriptions;  ///< by ARN; with TopicArn, Protocol, Endpoint
};

/// The topology's findings and those of all its policies.
std::vector<Finding> lint_topology(const DescribedTopology& topology);

/// Appends one line a finding, for people.
void append_text(std::string& out, std::span<const Finding> findings);
/// {"findings":[{"id":"D001","severity":"error","place":"arn:..","statement":0,"sid":"..","why":"..","mend":"..","peers":[..]}]}
void append_json(std::string& out, std::span<const Finding> findings);
/// A SARIF 2.1.0 log. [OASIS SARIF 2.1.0]
void append_sarif(std::string& out, std::span<const Finding> findings, std::string_view version);

}  // namespace fanfare::policy
