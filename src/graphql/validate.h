// Validates request documents against a schema: every rule of section 5.
#pragma once

#include <vector>

#include "graphql/schema.h"

namespace fanfare::graphql {

struct ValidationOptions {
  std::size_t errors_max = 100;
  /// Steps of the field merging check; beyond them Rule::MergingLimit. 200,000 take a few milliseconds.
  std::size_t merging_steps = 200'000;
  /// Lists of `fields`, `interfaces`, `possibleTypes` and `inputFields` inside each other below `__schema` or `__type`;
  /// the usual introspection query has one, and one more multiplies the response by the schema's size.
  std::uint32_t introspection_lists = 2;
};

/// Empty: the document is valid and can be executed. Each error names its rule, says what is wrong and where. The time is
/// bounded for every document that the parser's limits let through. [GraphQL 5]
std::vector<Error> validate(const Schema& schema, const Document& document, const ValidationOptions& options = {});

}  // namespace fanfare::graphql
