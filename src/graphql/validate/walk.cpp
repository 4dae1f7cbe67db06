// 5.3 to 5.7 but for merging and cycles: one walk over the document that knows the type of every place.
//
// Where a type is unknown, because its field or type does not exist, the walk goes on without it: only rules that need
// no type apply there, so that one mistake gives one error.
#include <algorithm>

#include <fmt/format.h>

#include "graphql/coerce.h"
#include "graphql/validate/context.h"

namespace fanfare::graphql::validation {
namespace {

class Walk {
 public:
  explicit Walk(Context& context) : context_(context), schema_(context.schema) {}

  void run() {
    for (const OperationNode* operation : context_.document.operations) {
      const Contents start = here();
      constexpr DirectiveLocation kLocations[]{DirectiveLocation::Query, DirectiveLocation::Mutation, DirectiveLocation::Subscription};
      variable_definitions(*operation);
      directives(operation->directives, kLocations[static_cast<std::size_t>(operation->type)]);
      selection_set(*operation->selections, schema_.root(operation->type));
      context_.operation_contents.push_back(since(start));
    }
    for (const FragmentNode* fragment : context_.document.fragments) {
      const Contents start = here();
      const Type* type = type_condition(fragment->type_condition, fragment->name.text());
      directives(fragment->directives, DirectiveLocation::FragmentDefinition);
      selection_set(*fragment->selections, type);
      context_.fragment_contents.push_back(since(start));
    }
  }

 private:
  [[nodiscard]] Contents here() const { return {context_.variable_usages.size(), 0, context_.spread_uses.size(), 0}; }
  [[nodiscard]] Contents since(Contents start) const {
    start.last_usage = context_.variable_usages.size();
    start.last_spread = context_.spread_uses.size();
    return start;
  }

  void report(Rule rule, std::initializer_list<Offset> places, std::string message) {
    context_.report(rule, places, std::move(message));
  }

  std::string suggest_type(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Type* type : schema_.types) names.push_back(type->name);
    return context_.suggest(name, names);
  }

  /// Null, with an error, if the type does not exist or has no fields.
  const Type* type_condition(const Name& name, std::string_view fragment) {
    const Type* type = schema_.find_type(name.text());
    if (type == nullptr) {
      if (!context_.is_full()) {
        report(Rule::FragmentSpreadTypeExistence, {name.at}, fmt::format("Unknown type \"{}\".{}", name.text(), suggest_type(name.text())));
      }
      return nullptr;
    }
    if (type->is_composite()) return type;
    report(Rule::FragmentsOnCompositeTypes, {name.at},
           fragment.empty() ? fmt::format("A fragment cannot be on \"{}\", which has no fields.", name.text())
                            : fmt::format("The fragment \"{}\" cannot be on \"{}\", which has no fields.", fragment, name.text()));
    return nullptr;
  }

  void variable_definitions(const OperationNode& operation) {
    for (const VariableDefinitionNode* definition : operation.variables) {
      const VariableDefinitionNode& variable = *definition;
      const TypeRef type = resolve_type(schema_, variable.type);
      if (type.named == nullptr) {
        if (!context_.is_full()) {
          report(Rule::FragmentSpreadTypeExistence, {variable.type.name.at},
                 fmt::format("Unknown type \"{}\".{}", variable.type.name.text(), suggest_type(variable.type.name.text())));
        }
      } else if (!type.named->is_input()) {
        report(Rule::VariablesAreInputTypes, {variable.type.at},
               fmt::format("The variable \"${}\" cannot be of type \"{}\", which is for output only.", variable.name.text(), type.str()));
      } else if (variable.default_value != nullptr) {
        literal(*variable.default_value, type);
      }
      if (variable.default_value != nullptr) unique_input_fields(*variable.default_value);
      directives(variable.directives, DirectiveLocation::VariableDefinition);
    }
  }

  void selection_set(const SelectionSetNode& set, const Type* parent) {
    context_.parents[set.id] = parent;
    context_.steps += set.selections.size();
    for (const SelectionNode& selection : set.selections) {
      switch (selection.kind) {
        case SelectionKind::Field: field(selection, parent); break;
        case SelectionKind::FragmentSpread: spread(selection, parent); break;
        case SelectionKind::InlineFragment: inline_fragment(selection, parent); break;
      }
    }
  }

  void field(const SelectionNode& node, const Type* parent) {
    context_.has_introspection |= node.name.text() == "__schema" || node.name.text() == "__type";
    const Field* definition = parent != nullptr ? schema_.find_field(*parent, node.name.text()) : nullptr;
    if (definition == nullptr) {
      if (parent != nullptr && !context_.is_full()) unknown_field(node, *parent);
      arguments(node.arguments(), {}, false, node.name, "field \"");
      directives(node.directives(), DirectiveLocation::Field);
      if (node.selections != nullptr) selection_set(*node.selections, nullptr);
      return;
    }
    arguments(node.arguments(), definition->arguments, true, node.name, "field \"");
    directives(node.directives(), DirectiveLocation::Field);
    const Type& type = *definition->type.named;
    if (type.is_leaf() && node.selections != nullptr) {
      report(Rule::LeafFieldSelections, {node.selections->at},
             fmt::format("The field \"{}\" of type \"{}\" has no fields to select.", node.name.text(), definition->type.str()));
    }
    if (type.is_composite() && node.selections == nullptr) {
      report(Rule::LeafFieldSelections, {node.at},
             fmt::format("The field \"{}\" of type \"{}\" needs a selection of its fields: \"{} {{ ... }}\".", node.name.text(),
                         definition->type.str(), node.name.text()));
    }
    if (node.selections != nullptr) selection_set(*node.selections, type.is_composite() ? &type : nullptr);
  }

  void unknown_field(const SelectionNode& node, const Type& parent) {
    std::vector<std::string_view> names;
    for (const Field& field : parent.fields) names.push_back(field.name);
    std::string hint = context_.suggest(node.name.text(), names);
    if (parent.is_abstract()) {
      std::string types;
      std::size_t count = 0;
      for (const Type* possible : parent.possible) {
        if (possible->find_field(node.name.text()) == nullptr) continue;
        if (++count > 3) break;
        types.append(types.empty() ? "\"" : ", \"").append(possible->name).append("\"");
      }
      if (!types.empty()) hint = fmt::format(" Use an inline fragment on {}.", types);
    }
    report(Rule::FieldSelections, {node.name.at}, fmt::format("The type \"{}\" has no field \"{}\".{}", parent.name, node.name.text(), hint));
  }

  void spread(const SelectionNode& node, const Type* parent) {
    directives(node.directives(), DirectiveLocation::FragmentSpread);
    const std::uint32_t index = context_.find_fragment(node.name.text());
    context_.spread_uses.push_back({index, node.at});
    if (index == kNoFragment) {
      if (context_.is_full()) return;
      std::vector<std::string_view> names;
      for (const FragmentNode* fragment : context_.document.fragments) names.push_back(fragment->name.text());
      report(Rule::FragmentSpreadTargetDefined, {node.name.at},
             fmt::format("Unknown fragment \"{}\".{}", node.name.text(), context_.suggest(node.name.text(), names)));
      return;
    }
    const FragmentNode& fragment = *context_.document.fragments[index];
    const Type* type = schema_.find_type(fragment.type_condition.text());
    if (type == nullptr || parent == nullptr || !type->is_composite() || type->overlaps(*parent)) return;
    report(Rule::FragmentSpreadPossible, {node.at},
           fmt::format("The fragment \"{}\" on \"{}\" can never apply: nothing of type \"{}\" is a \"{}\".", node.name.text(), type->name,
                       parent->name, type->name));
  }

  void inline_fragment(const SelectionNode& node, const Type* parent) {
    const Type* type = parent;
    if (!node.name.text().empty()) {
      type = type_condition(node.name, {});
      if (type != nullptr && parent != nullptr && !type->overlaps(*parent)) {
        report(Rule::FragmentSpreadPossible, {node.at},
               fmt::format("A fragment on \"{}\" can never apply here: nothing of type \"{}\" is a \"{}\".", type->name, parent->name,
                           type->name));
      }
    }
    directives(node.directives(), DirectiveLocation::InlineFragment);
    selection_set(*node.selections, type);
  }

  /// `owner` names a field or directive; `what` is `field "` or `directive "@`.
  void arguments(const List<ArgumentNode>& given, std::span<const InputValue> definitions, bool is_known, const Name& owner,
                 std::string_view what) {
    context_.steps += given.size() * (2 * definitions.size() + 1);
    for (const ArgumentNode& argument : given) {
      const InputValue* definition = nullptr;
      for (const InputValue& candidate : definitions) {
        if (candidate.name == argument.name.text()) definition = &candidate;
      }
      if (is_known && definition == nullptr && !context_.is_full()) {
        std::vector<std::string_view> names;
        for (const InputValue& candidate : definitions) names.push_back(candidate.name);
        report(Rule::ArgumentNames, {argument.name.at},
               fmt::format("The {}{}\" has no argument \"{}\".{}", what, owner.text(), argument.name.text(),
                           context_.suggest(argument.name.text(), names)));
      }
      if (definition != nullptr) literal(argument.value, definition->type);
      if (argument.value.kind == LiteralKind::Object || argument.value.kind == LiteralKind::List) unique_input_fields(argument.value);
      if (argument.value.has_variable) {
        variables(argument.value, definition != nullptr ? definition->type : TypeRef{},
                  definition != nullptr && definition->default_literal != nullptr, nullptr);
      }
    }
    if (given.size() > 1) {
      names_.clear();
      for (const ArgumentNode& argument : given) names_.push_back(argument.name);
      unique_names(Rule::ArgumentUniqueness, "argument");
    }
    for (const InputValue& definition : definitions) {
      if (!definition.is_required()) continue;
      const bool is_given = std::any_of(given.begin(), given.end(), [&](const ArgumentNode& argument) {
        return argument.name.text() == definition.name;
      });
      if (is_given) continue;
      report(Rule::RequiredArguments, {owner.at},
             fmt::format("The {}{}\" needs the argument \"{}\" of type \"{}\".", what, owner.text(), definition.name, definition.type.str()));
    }
  }

  /// Reports the second and further of equal names in names_.
  void unique_names(Rule rule, std::string_view what) {
    constexpr std::size_t kFew = 8;
    context_.steps += names_.size();
    if (names_.size() <= kFew) {  // the usual case: no sorting, and nothing to report
      bool is_unique = true;
      for (std::size_t i = 1; i < names_.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) is_unique &= names_[i].text() != names_[j].text();
      }
      if (is_unique) return;
    }
    std::sort(names_.begin(), names_.end(), [](const Name& a, const Name& b) {
      return a.text() != b.text() ? a.text() < b.text() : a.at < b.at;
    });
    for (std::size_t i = 1; i < names_.size(); ++i) {
      if (names_[i].text() != names_[i - 1].text()) continue;
      report(rule, {names_[i - 1].at, names_[i].at}, fmt::format("The {} \"{}\" is given more than once.", what, names_[i].text()));
    }
  }

  void literal(const ValueNode& value, TypeRef type) {
    if (value.kind == LiteralKind::Variable || context_.is_full()) return;
    issues_.clear();
    check_literal(value, type, context_.scratch, issues_);
    for (LiteralIssue& issue : issues_) report(Rule::ValuesOfCorrectType, {issue.at}, std::move(issue.message));
  }

  void unique_input_fields(const ValueNode& value) {
    context_.steps += value.items().size() + value.fields().size();
    for (const ValueNode& item : value.items()) {
      if (item.kind == LiteralKind::Object || item.kind == LiteralKind::List) unique_input_fields(item);
    }
    if (value.fields().empty()) return;
    for (const ObjectFieldNode& field : value.fields()) unique_input_fields(field.value);
    if (value.fields().size() < 2) return;
    names_.clear();
    for (const ObjectFieldNode& field : value.fields()) names_.push_back(field.name);
    unique_names(Rule::UniqueInputFieldNames, "input field");
  }

  void variables(const ValueNode& value, TypeRef type, bool has_default, const Type* one_of_parent) {
    switch (value.kind) {
      case LiteralKind::Variable:
        context_.variable_usages.push_back({value.text(), value.at, type, has_default, one_of_parent});
        return;
      case LiteralKind::List: {
        const TypeRef list = type.nullable();
        const TypeRef item_type = list.is_list() ? list.inner() : list;
        for (const ValueNode& item : value.items()) {
          if (item.has_variable) variables(item, item_type, false, nullptr);
        }
        return;
      }
      case LiteralKind::Object: {
        const Type* object = type.named != nullptr && type.named->kind == TypeKind::InputObject ? type.named : nullptr;
        for (const ObjectFieldNode& field : value.fields()) {
          if (!field.value.has_variable) continue;
          const InputValue* definition = object != nullptr ? object->find_input_field(field.name.text()) : nullptr;
          variables(field.value, definition != nullptr ? definition->type : TypeRef{},
                    definition != nullptr && definition->default_literal != nullptr,
                    object != nullptr && object->is_one_of ? object : nullptr);
        }
        return;
      }
      default: return;
    }
  }

  void directives(std::span<const DirectiveNode> nodes, DirectiveLocation location) {
    if (nodes.empty()) return;
    context_.steps += nodes.size();
    for (const DirectiveNode& node : nodes) {
      const Directive* directive = schema_.find_directive(node.name.text());
      if (directive == nullptr) {
        std::vector<std::string_view> names;
        for (const Directive* known : schema_.directives) names.push_back(known->name);
        report(Rule::DirectivesDefined, {node.at},
               fmt::format("Unknown directive \"@{}\".{}", node.name.text(), context_.suggest(node.name.text(), names)));
        arguments(node.arguments, {}, false, node.name, "directive \"@");
        continue;
      }
      if (!directive->allows(location)) {
        report(Rule::DirectivesInValidLocations, {node.at},
               fmt::format("The directive \"@{}\" cannot stand at {}.", node.name.text(), name_of(location)));
      }
      arguments(node.arguments, directive->arguments, true, node.name, "directive \"@");
    }
    if (nodes.size() < 2) return;
    names_.clear();
    for (const DirectiveNode& node : nodes) {
      const Directive* directive = schema_.find_directive(node.name.text());
      if (directive != nullptr && !directive->is_repeatable) names_.push_back({node.name.text(), node.at});
    }
    unique_names(Rule::UniqueDirectives, "directive");
  }

  Context& context_;
  const Schema& schema_;
  std::vector<LiteralIssue> issues_;
  std::vector<Name> names_;
};

}  // namespace

void walk(Context& context) { Walk(context).run(); }

}  // namespace fanfare::graphql::validation
