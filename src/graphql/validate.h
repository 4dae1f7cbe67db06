// Validates request documents against a schema: every rule of section 5.
#pragma once

#include <vector>

#include "graphql/schema.h"

namespace fanfare::graphql {

struct ValidationOptions {
  std::size_t errors_max = 100;
  /// Steps of the field merging check; beyond them Rule::MergingLimit. 200,000 take at most about 20 ms.
  std::size_t merging_steps = 200'000;
  /// Steps of what has to be looked at again for each operation that reaches it, such as the variables in fragments; beyond
  /// them Rule::DocumentTooLarge. Only documents of hundreds of operations that share hundreds of fragments come near.
  std::size_t operation_steps = 1'000'000;
  /// Lists of `fields`, `interfaces`, `possibleTypes` and `inputFields` inside each other below `__schema` or `__type`;
  /// the usual introspection query has one, and one more multiplies the response by the schema's size.
  std::uint32_t introspection_lists = 2;
};

/// Empty: the document is valid and can be executed. Each error names its rule, says what is wrong and where. The time is
/// bounded for every document that the parser's limits let through. [GraphQL 5]
/// `steps`, if it is not null, gets the number of things that were looked at or compared: what the time depends on.
std::vector<Error> validate(const Schema& schema, const Document& document, const ValidationOptions& options = {},
                            std::size_t* steps = nullptr);

}  // namespace fanfare::graphql
