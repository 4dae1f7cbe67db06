// The table of operations: each operation of each service once, with the shapes of what it takes and gives.
// Both protocols, the dispatch to actions and the tests against the services' models are driven by it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "wire/aws_shape/shape.h"

namespace fanfare::api::aws {

enum class Service : std::uint8_t { Sqs, Sns, Sts, Cloudwatch };
enum class Protocol : std::uint8_t { Json, Query };

struct Operation {
  std::string_view name;  ///< "SendMessage": the Action of Query, the end of X-Amz-Target in JSON
  Service service;
  std::uint8_t action;             ///< the service's Action enumerator
  const wire::aws::Shape* input;   ///< nullptr: takes nothing
  const wire::aws::Shape* output;  ///< nullptr: gives nothing, so a Query reply has no ...Result element
};

struct ServiceModel {
  Service service;
  std::string_view name;                  ///< "sqs": in credential scopes, ARNs and host names
  std::string_view api_version;           ///< "2012-11-05"
  std::string_view xml_namespace;         ///< of Query replies
  std::string_view target_prefix;         ///< "AmazonSQS"; empty: the service has no JSON protocol
  std::span<const Operation> operations;  ///< sorted by name, and at the place that their action enumerator gives

  /// nullptr if the service has no operation of this name (names are case-sensitive).
  [[nodiscard]] const Operation* find(std::string_view operation_name) const;
};

/// All models, for walks over all of them.
std::span<const ServiceModel* const> all_models();
const ServiceModel& model_of(Service service);

}  // namespace fanfare::api::aws
