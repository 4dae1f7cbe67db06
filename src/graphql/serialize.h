// Result coercion of scalars and enums: from what a resolver gave to JSON text.
// Source of truth: GraphQL September 2025, 3.5 (result coercion of each scalar) and 3.9.
#pragma once

#include <string>

#include "graphql/resolved.h"

namespace fanfare::graphql {

/// A JSON or input scalar as the plain kind that it stands for; lists, objects and everything else as they are.
Resolved plain(const Resolved& value);

/// Appends the value, which is plain and not null, as a `type`. On failure nothing is appended and `problem` says why.
bool serialize_leaf(std::string& out, const Type& type, const Resolved& value, Arena& arena, std::string& problem);

}  // namespace fanfare::graphql
