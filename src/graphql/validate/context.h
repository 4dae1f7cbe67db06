// What the groups of rules share: the document's fragments by name, what the walk has found out, and where errors go.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphql/fragments.h"
#include "graphql/schema.h"
#include "graphql/validate.h"

namespace fanfare::graphql::validation {

inline constexpr std::uint32_t kNoFragment = FragmentIndex::kNone;

/// A variable where it is used.
struct VariableUsage {
  std::string_view name;
  Offset at = 0;
  TypeRef type;                         ///< of the place; named is null if it is unknown
  bool has_default = false;             ///< the place has a default value
  const Type* one_of_parent = nullptr;  ///< the place is a field of this OneOf input object
};

/// A spread where it stands.
struct SpreadUse {
  std::uint32_t fragment = kNoFragment;
  Offset at = 0;
};

/// What one operation or fragment contains itself, without the fragments that it spreads: ranges of the context's lists.
struct Contents {
  std::size_t first_usage = 0;
  std::size_t last_usage = 0;
  std::size_t first_spread = 0;
  std::size_t last_spread = 0;
};

class Context {
 public:
  Context(const Schema& schema_in, const Document& document_in, const ValidationOptions& options_in);

  void report(Rule rule, std::initializer_list<Offset> places, std::string message);
  /// did_you_mean() for the first errors; a document of nothing but mistakes must not cost more than it is worth.
  [[nodiscard]] std::string suggest(std::string_view name, std::span<const std::string_view> candidates);
  /// Counts what is done once for each operation. False, with an error at the first time, if it has become too much.
  bool spend_on_operations(std::size_t count);
  [[nodiscard]] bool is_full() const { return errors.size() >= options.errors_max; }

  /// Index in document.fragments; of fragments with one name the last. kNoFragment if there is none.
  [[nodiscard]] std::uint32_t find_fragment(std::string_view name) const { return fragments_.find(name); }
  [[nodiscard]] std::span<const VariableUsage> usages(const Contents& contents) const {
    return std::span(variable_usages).subspan(contents.first_usage, contents.last_usage - contents.first_usage);
  }
  [[nodiscard]] std::span<const SpreadUse> spreads(const Contents& contents) const {
    return std::span(spread_uses).subspan(contents.first_spread, contents.last_spread - contents.first_spread);
  }

  const Schema& schema;
  const Document& document;
  const ValidationOptions& options;
  std::vector<Error> errors;
  Arena scratch;
  std::size_t steps = 0;  ///< things looked at or compared so far

  // Filled by walk().
  std::vector<VariableUsage> variable_usages;
  std::vector<SpreadUse> spread_uses;
  std::vector<Contents> operation_contents;  ///< parallel to document.operations
  std::vector<Contents> fragment_contents;   ///< parallel to document.fragments
  std::vector<const Type*> parents;          ///< by selection set id: the type it selects from; null if unknown
  bool has_introspection = false;            ///< `__schema` or `__type` is selected somewhere

  // Filled by check_fragments().
  std::vector<std::uint32_t> fragment_order;  ///< each fragment after those that it spreads, but for cycles

 private:
  FragmentIndex fragments_;
  std::optional<LineIndex> lines_;  // made at the first error
  std::size_t operation_steps_ = 0;
};

/// Executable definitions, names of operations, root types, single root fields.
void check_operations(Context& context);
/// Everything that depends on a node and its type: fields, arguments, values, directives, spreads.
void walk(Context& context);
/// Names, cycles, use.
void check_fragments(Context& context);
/// Per operation: definitions, uses, and whether they fit.
void check_variables(Context& context);
/// Field selection merging.
void check_merging(Context& context);
void check_introspection_depth(Context& context);

}  // namespace fanfare::graphql::validation
