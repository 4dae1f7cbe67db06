#include "graphql/plan.h"

#include <algorithm>

namespace fanfare::graphql {
namespace {

const ValueNode* condition_of(const DirectiveNode& directive) {
  for (const ArgumentNode& argument : directive.arguments) {
    if (argument.name.text() == "if") return &argument.value;
  }
  return nullptr;
}

std::size_t hash_of(std::span<const SelectionSetNode* const> selections, const Type& type) {
  std::size_t hash = std::hash<const void*>{}(&type);
  for (const SelectionSetNode* set : selections) hash = hash * 0x9E3779B97F4A7C15ULL + std::hash<const void*>{}(set);
  return hash;
}

}  // namespace

std::vector<std::string_view> condition_variables(const Document& document, const FragmentIndex& fragments,
                                                  const OperationNode& operation) {
  std::vector<std::string_view> names;
  std::vector<bool> seen(document.fragments.size());
  std::vector<const SelectionSetNode*> open{operation.selections};
  while (!open.empty()) {
    const SelectionSetNode* set = open.back();
    open.pop_back();
    for (const SelectionNode& selection : set->selections) {
      for (const DirectiveNode& directive : selection.directives()) {
        if (directive.name.text() != "skip" && directive.name.text() != "include") continue;
        const ValueNode* condition = condition_of(directive);
        if (condition != nullptr && condition->kind == LiteralKind::Variable) names.push_back(condition->text());
      }
      if (selection.selections != nullptr) open.push_back(selection.selections);
      if (selection.kind != SelectionKind::FragmentSpread) continue;
      const std::uint32_t index = fragments.find(selection.name.text());
      if (index == FragmentIndex::kNone || seen[index]) continue;
      seen[index] = true;
      open.push_back(document.fragments[index]->selections);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

OperationPlan::OperationPlan(const Bindings& bindings, const Document& document, const FragmentIndex& fragments,
                             const OperationNode& operation, const VariableValues& variables, std::uint64_t conditions)
    : bindings_(bindings),
      schema_(bindings.schema()),
      document_(document),
      fragments_(fragments),
      conditions_(conditions),
      fragment_seen_(document.fragments.size()) {
  for (const std::string_view name : condition_variables(document, fragments, operation)) {
    condition_values_.emplace_back(name, variables.find(name).as_boolean());
  }
  const SelectionSetNode* const selections[]{operation.selections};
  root_ = &make(selections, *schema_.root(operation.type));
}

bool OperationPlan::is_included(const SelectionNode& node) const {
  for (const DirectiveNode& directive : node.directives()) {
    const bool is_skip = directive.name.text() == "skip";
    if (!is_skip && directive.name.text() != "include") continue;
    const ValueNode* condition = condition_of(directive);
    if (condition == nullptr) continue;
    bool value = condition->boolean;
    if (condition->kind == LiteralKind::Variable) {
      const auto at = std::lower_bound(condition_values_.begin(), condition_values_.end(), std::pair(condition->text(), false));
      value = at != condition_values_.end() && at->first == condition->text() && at->second;
    }
    if (value == is_skip) return false;
  }
  return true;
}

const ObjectPlan& OperationPlan::make_variant(FieldPlan& field, const Type& type) {
  const ObjectPlan& plan = make(field.selections, type);
  field.variants = arena_.make<FieldPlan::Variant>(&type, &plan, field.variants);
  return plan;
}

const ObjectPlan& OperationPlan::make(std::span<const SelectionSetNode* const> selections, const Type& type) {
  const std::size_t hash = hash_of(selections, type);
  const auto [first, last] = made_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const ObjectPlan& plan = *at->second;
    if (plan.type == &type && std::equal(plan.selections.begin(), plan.selections.end(), selections.begin(), selections.end())) return plan;
  }
  collect(selections, type);
  auto* plan = arena_.make<ObjectPlan>();
  plan->type = &type;
  plan->selections = arena_.copy(selections);
  plan->fields = arena_.array<FieldPlan>(group_count_);
  for (std::size_t i = 0; i < group_count_; ++i) fill(plan->fields[i], groups_[i]);
  field_count_ += group_count_;
  made_.emplace(hash, plan);
  return *plan;
}

// [GraphQL 6.3.2 CollectFields], with a stack of its own: fragments may chain far.
void OperationPlan::collect(std::span<const SelectionSetNode* const> selections, const Type& type) {
  struct Step {
    const SelectionNode* next;
  };
  group_count_ = 0;
  group_of_.clear();
  ++collection_;
  std::vector<Step> path;
  const auto enter = [&](const SelectionSetNode* set, std::string_view condition) {
    if (!condition.empty()) {
      const Type* wanted = schema_.find_type(condition);
      if (wanted == nullptr || !wanted->can_be(type)) return;
    }
    path.push_back({set->selections.first()});
  };
  for (const SelectionSetNode* set : selections) {
    path.push_back({set->selections.first()});
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next == nullptr) {
        path.pop_back();
        continue;
      }
      const SelectionNode& node = *step.next;
      step.next = node.next;
      if (!node.directives().empty() && !is_included(node)) continue;
      switch (node.kind) {
        case SelectionKind::Field: add(node, type); break;
        case SelectionKind::FragmentSpread: {
          const std::uint32_t index = fragments_.find(node.name.text());
          if (index == FragmentIndex::kNone || fragment_seen_[index] == collection_) break;
          fragment_seen_[index] = collection_;
          enter(document_.fragments[index]->selections, document_.fragments[index]->type_condition.text());
          break;
        }
        case SelectionKind::InlineFragment: enter(node.selections, node.name.text()); break;
      }
    }
  }
}

void OperationPlan::add(const SelectionNode& node, const Type& type) {
  const std::string_view key = node.response_key();
  constexpr std::size_t kFew = 8;  // so many are searched one by one
  std::size_t at = group_count_;
  if (group_count_ < kFew) {
    for (std::size_t i = 0; i < group_count_; ++i) {
      if (groups_[i].key == key) at = i;
    }
  } else {
    if (group_of_.empty()) {
      for (std::size_t i = 0; i < group_count_; ++i) group_of_[groups_[i].key] = i;
    }
    at = group_of_.try_emplace(key, group_count_).first->second;
  }
  if (at < group_count_) {
    groups_[at].nodes.push_back(&node);
    return;
  }
  if (group_count_ == groups_.size()) groups_.emplace_back();
  Group& group = groups_[group_count_++];
  group.key = key;
  group.field = schema_.find_field(type, node.name.text());
  group.nodes.assign(1, &node);
}

void OperationPlan::fill(FieldPlan& plan, const Group& group) {
  plan.key = group.key;
  const auto key_json = arena_.array<char>(group.key.size() + 4);
  key_json[0] = ',';
  key_json[1] = '"';
  std::copy(group.key.begin(), group.key.end(), key_json.begin() + 2);
  key_json[key_json.size() - 2] = '"';
  key_json[key_json.size() - 1] = ':';
  plan.key_json = {key_json.data(), key_json.size()};
  plan.field = group.field;
  plan.is_typename = group.field == schema_.typename_field;
  plan.resolver = &bindings_.resolver_of(*group.field);
  plan.nodes = arena_.copy(std::span<const SelectionNode* const>(group.nodes));
  std::size_t sets = 0;
  for (const SelectionNode* node : group.nodes) sets += node->selections != nullptr ? 1 : 0;
  const auto selections = arena_.array<const SelectionSetNode*>(sets);
  sets = 0;
  for (const SelectionNode* node : group.nodes) {
    if (node->selections != nullptr) selections[sets++] = node->selections;
  }
  plan.selections = selections;
  const List<ArgumentNode>& given = group.nodes.front()->arguments();
  plan.has_variables = std::any_of(given.begin(), given.end(), [](const ArgumentNode& argument) { return argument.value.has_variable; });
  if (plan.has_variables || group.field->arguments.empty()) return;
  const auto values = arena_.array<Value>(group.field->arguments.size());
  LiteralIssue issue;
  if (coerce_arguments(group.field->arguments, given, {}, arena_, values, issue)) {
    plan.arguments = values;
  } else {
    plan.has_variables = true;  // execution finds the same issue and reports it with its path
  }
}

}  // namespace fanfare::graphql
