// What `fanfare graphql check` says: whether schema files make a schema, and whether documents fit it.
#pragma once

#include <span>
#include <string>

#include "graphql/schema.h"

namespace fanfare::graphql {

struct CheckResult {
  bool ok = false;
  /// For people. Each error with file, line and column, the rule and where the specification has it, and the line itself:
  ///     query.graphql:2:10: error: The type "User" has no field "nam". Did you mean "name"? [5.3.1 Field Selections]
  ///     2 |   user { nam }
  ///       |          ^
  std::string text;
};

/// Documents are looked at only if the schema is right. Directives and scalars that a gateway adds must be in `schema`.
CheckResult check(std::span<const Source> schema, std::span<const Source> documents);

}  // namespace fanfare::graphql
