// 5.1 and 5.2: definitions and operations.
#include <set>
#include <vector>

#include <fmt/format.h>

#include "graphql/validate/context.h"

namespace fanfare::graphql::validation {
namespace {

std::string show(const OperationNode& operation) {
  return operation.name.text().empty() ? std::string("The subscription") : fmt::format("The subscription \"{}\"", operation.name.text());
}

/// The root fields of a subscription through its fragments, and whether @skip or @include stands on the way.
/// [GraphQL 5.2.4.1 CollectSubscriptionFields]
class RootFields {
 public:
  RootFields(Context& context, const OperationNode& operation) : context_(context), operation_(operation) {
    seen_.resize(context.document.fragments.size());
    context.steps += seen_.size() / 64;
  }

  void check() {
    if (!collect()) return;
    if (first_ == nullptr) {
      report({operation_.at}, fmt::format("{} selects no root field.", show(operation_)));
    }
    if (other_ != nullptr) {
      report({first_->at, other_->at}, fmt::format("{} can have one root field only; it has \"{}\" and \"{}\".", show(operation_),
                                                   first_->response_key(), other_->response_key()));
    }
    if (introspection_ != nullptr) {
      report({introspection_->at}, fmt::format("{} cannot have \"{}\" as its root field.", show(operation_), introspection_->name.text()));
    }
  }

 private:
  void report(std::initializer_list<Offset> places, std::string message) {
    context_.report(Rule::SubscriptionSingleRootField, places, std::move(message));
  }

  /// False, with an error, if a directive stands where none may.
  bool collect() {
    std::vector<const SelectionSetNode*> sets{operation_.selections};
    while (!sets.empty()) {
      const SelectionSetNode* set = sets.back();
      sets.pop_back();
      if (!context_.spend_on_operations(set->selections.size())) return false;
      for (const SelectionNode& selection : set->selections) {
        for (const DirectiveNode& directive : selection.directives()) {
          if (directive.name.text() != "skip" && directive.name.text() != "include") continue;
          report({directive.at}, fmt::format("{} cannot have @{} at its root: whether it has a field must not depend on variables.",
                                             show(operation_), directive.name.text()));
          return false;
        }
        switch (selection.kind) {
          case SelectionKind::Field: add(selection); break;
          case SelectionKind::FragmentSpread: {
            const std::uint32_t index = context_.find_fragment(selection.name.text());
            if (index == kNoFragment || seen_[index]) break;
            seen_[index] = true;
            const FragmentNode* fragment = context_.document.fragments[index];
            if (applies(fragment->type_condition.text())) sets.push_back(fragment->selections);
            break;
          }
          case SelectionKind::InlineFragment:
            if (applies(selection.name.text())) sets.push_back(selection.selections);
            break;
        }
      }
    }
    return true;
  }

  void add(const SelectionNode& field) {
    if (field.name.text().starts_with("__")) introspection_ = &field;
    if (first_ == nullptr) {
      first_ = &field;
    } else if (other_ == nullptr && field.response_key() != first_->response_key()) {
      other_ = &field;
    }
  }

  [[nodiscard]] bool applies(std::string_view condition) const {
    if (condition.empty()) return true;
    const Type* type = context_.schema.find_type(condition);
    return type != nullptr && type->is_composite() && type->can_be(*context_.schema.subscription);
  }

  Context& context_;
  const OperationNode& operation_;
  std::vector<bool> seen_;
  const SelectionNode* first_ = nullptr;
  const SelectionNode* other_ = nullptr;
  const SelectionNode* introspection_ = nullptr;
};

}  // namespace

void check_operations(Context& context) {
  const Document& document = context.document;
  for (const DefinitionNode& definition : document.definitions) {
    if (definition.operation != nullptr || definition.fragment != nullptr) continue;
    context.report(Rule::ExecutableDefinitions, {definition.at},
                   "A request can contain operations and fragments only, no definitions of the type system.");
  }
  std::set<std::string_view> names;
  for (const OperationNode* operation : document.operations) {
    ++context.steps;
    if (operation->name.text().empty()) {
      if (document.operations.size() > 1) {
        context.report(Rule::LoneAnonymousOperation, {operation->at}, "An operation without a name must be the only one in its document.");
      }
    } else if (document.operations.size() > 1 && !names.insert(operation->name.text()).second) {
      context.report(Rule::UniqueOperationNames, {operation->name.at},
                     fmt::format("There can be only one operation named \"{}\".", operation->name.text()));
    }
    if (context.schema.root(operation->type) == nullptr) {
      context.report(Rule::OperationTypeExistence, {operation->at}, fmt::format("This schema has no {} operations.", name_of(operation->type)));
    } else if (operation->type == OperationType::Subscription) {
      RootFields(context, *operation).check();
    }
  }
}

}  // namespace fanfare::graphql::validation
