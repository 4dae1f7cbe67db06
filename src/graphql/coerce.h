// Input coercion: from literals and variables to the values that resolvers get.
// Source of truth: GraphQL September 2025, 3.5 to 3.12 (input coercion), 6.1.2 and 6.4.1.
#pragma once

#include <string>
#include <vector>

#include "graphql/schema.h"

namespace fanfare::graphql {

/// What does not fit in a literal, and where.
struct LiteralIssue {
  Offset at = 0;
  std::string message;
};

/// Everything in `literal` that does not fit `type`, up to a few dozen. Variables in it are taken to fit: the rule All
/// Variable Usages Are Allowed looks at them. [GraphQL 5.6.1]
void check_literal(const ValueNode& literal, TypeRef type, Arena& arena, std::vector<LiteralIssue>& issues);

/// The coerced variables of a request, in the order of the operation's definitions.
struct VariableValues {
  std::span<const VariableDefinitionNode* const> definitions;
  std::span<const Value> values;

  /// Absent if there is no such variable or it has no value.
  [[nodiscard]] Value find(std::string_view name) const {
    for (std::size_t i = 0; i < definitions.size(); ++i) {
      if (definitions[i]->name.text() == name) return values[i];
    }
    return {};
  }
};

/// The value of a literal that check_literal() accepts. Absent for a variable without a value. `ok` becomes false if the
/// value does not fit after all: a variable brings null where that is not allowed.
Value coerce_literal(const ValueNode& literal, TypeRef type, const VariableValues& variables, Arena& arena, bool& ok);

/// What does not fit in a variable's value, and where in it: `.filter.ids[3]`, or empty for the whole.
struct InputIssue {
  std::string path;
  std::string message;
};

/// `input` as a value of `type`; meaningless if there are issues. Parts of `input` are referred to, not copied.
Value coerce_input(const Value& input, TypeRef type, Arena& arena, std::vector<InputIssue>& issues);

/// A literal as a value without a type: what custom scalars parse. Enum values stay enumerators.
Value untyped(const ValueNode& literal, const VariableValues& variables, Arena& arena);

/// The values of `definitions` in their order, from the literals given and from defaults; what has no value is Absent.
/// On failure `issue` says why. [GraphQL 6.4.1]
bool coerce_arguments(std::span<const InputValue> definitions, const List<ArgumentNode>& given,
                      const VariableValues& variables, Arena& arena, std::span<Value> out, LiteralIssue& issue);

/// Whether `type` names an input type, and the schema's reference for it; named is null if there is no such type.
TypeRef resolve_type(const Schema& schema, const TypeNode& type);

/// ` Did you mean "a" or "b"?` for the candidates that are spelled alike; empty if none is.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace fanfare::graphql
