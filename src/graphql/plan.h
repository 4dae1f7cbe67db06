// Plans: what executing a selection set on an object type comes to, worked out once per document.
//
// A plan knows the fields in order, merged and without fragments, their resolvers, and the arguments that need no
// variables. @skip and @include are decided when it is made: a document has one plan for each combination of the Boolean
// variables in them that was asked for. Plans for an object's own selections are made when such an object first occurs.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graphql/bindings.h"
#include "graphql/coerce.h"
#include "graphql/fragments.h"

namespace fanfare::graphql {

struct ObjectPlan;

struct FieldPlan {
  struct Variant {
    const Type* type;
    const ObjectPlan* plan;
    const Variant* next;
  };

  std::string_view key;       ///< response key
  std::string_view key_json;  ///< `,"key":`
  const Field* field = nullptr;
  const Resolver* resolver = nullptr;
  bool is_typename = false;
  bool has_variables = false;                           ///< the arguments depend on variables
  std::span<const Value> arguments;                     ///< otherwise their values
  std::span<const SelectionNode* const> nodes;          ///< where it was selected
  std::span<const SelectionSetNode* const> selections;  ///< what is selected below it
  const Variant* variants = nullptr;                    ///< plans for its objects, by type
};

struct ObjectPlan {
  const Type* type = nullptr;
  std::span<const SelectionSetNode* const> selections;
  std::span<FieldPlan> fields;
};

/// For one operation and one combination of conditions. Not thread-safe: it grows while it is used.
class OperationPlan {
 public:
  OperationPlan(const Bindings& bindings, const Document& document, const FragmentIndex& fragments, const OperationNode& operation,
                const VariableValues& variables, std::uint64_t conditions);

  [[nodiscard]] const ObjectPlan& root() const { return *root_; }
  /// The plan for an object of `type` that `field` gave.
  const ObjectPlan& for_object(FieldPlan& field, const Type& type) {
    for (const FieldPlan::Variant* variant = field.variants; variant != nullptr; variant = variant->next) {
      if (variant->type == &type) return *variant->plan;
    }
    return make_variant(field, type);
  }
  [[nodiscard]] std::uint64_t conditions() const { return conditions_; }
  [[nodiscard]] std::size_t field_count() const { return field_count_; }

 private:
  struct Group {
    std::string_view key;
    const Field* field;
    std::vector<const SelectionNode*> nodes;
  };

  const ObjectPlan& make_variant(FieldPlan& field, const Type& type);
  const ObjectPlan& make(std::span<const SelectionSetNode* const> selections, const Type& type);
  void collect(std::span<const SelectionSetNode* const> selections, const Type& type);
  void add(const SelectionNode& node, const Type& type);
  void fill(FieldPlan& plan, const Group& group);
  [[nodiscard]] bool is_included(const SelectionNode& node) const;

  const Bindings& bindings_;
  const Schema& schema_;
  const Document& document_;
  const FragmentIndex& fragments_;
  std::uint64_t conditions_;
  Arena arena_;
  std::vector<std::pair<std::string_view, bool>> condition_values_;
  std::unordered_multimap<std::size_t, const ObjectPlan*> made_;
  std::size_t field_count_ = 0;
  const ObjectPlan* root_ = nullptr;

  // Reused by collect().
  std::vector<Group> groups_;
  std::size_t group_count_ = 0;
  std::unordered_map<std::string_view, std::size_t> group_of_;
  std::vector<std::uint32_t> fragment_seen_;
  std::uint32_t collection_ = 0;
};

/// The variables that @skip and @include of an operation depend on, fragments included.
std::vector<std::string_view> condition_variables(const Document& document, const FragmentIndex& fragments,
                                                  const OperationNode& operation);

}  // namespace fanfare::graphql
