// 5.8: variables. A fragment's uses belong to every operation that reaches it.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graphql/coerce.h"
#include "graphql/validate/context.h"

namespace fanfare::graphql::validation {
namespace {

/// [GraphQL 5.8.5 IsVariableUsageAllowed]
bool is_allowed(TypeRef variable, const ValueNode* variable_default, const VariableUsage& usage) {
  if (usage.type.is_non_null() && !variable.is_non_null()) {
    const bool has_default = variable_default != nullptr && variable_default->kind != LiteralKind::Null;
    if (!has_default && !usage.has_default) return false;
    return is_subtype(variable, usage.type.inner());
  }
  return is_subtype(variable, usage.type);
}

class OperationVariables {
 public:
  OperationVariables(Context& context, const OperationNode& operation, const Contents& contents)
      : context_(context), operation_(operation), contents_(contents) {}

  void check() {
    index_names();
    used_.resize(operation_.variables.size());
    check_reachable();
    for (std::size_t i = 0; i < operation_.variables.size(); ++i) {
      const VariableDefinitionNode& variable = *operation_.variables[i];
      if (used_[i] || used_[find(variable.name.text())]) continue;
      context_.report(Rule::VariablesUsed, {variable.at},
                      operation_.name.text().empty()
                          ? fmt::format("The variable \"${}\" is never used.", variable.name.text())
                          : fmt::format("The variable \"${}\" is never used in the operation \"{}\".", variable.name.text(), operation_.name.text()));
    }
  }

 private:
  static constexpr std::size_t kFew = 8;  // so many are searched one by one
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void index_names() {
    const auto variables = operation_.variables;
    context_.steps += variables.size();
    if (variables.size() > kFew) {
      for (std::size_t i = 0; i < variables.size(); ++i) sorted_.emplace_back(variables[i]->name.text(), i);
      std::sort(sorted_.begin(), sorted_.end());
      for (std::size_t i = 1; i < sorted_.size(); ++i) {
        if (sorted_[i].first == sorted_[i - 1].first) report_repeated(sorted_[i - 1].second, sorted_[i].second);
      }
      return;
    }
    for (std::size_t i = 1; i < variables.size(); ++i) {
      const std::size_t before = find_before(variables[i]->name.text(), i);
      if (before != kNone) report_repeated(before, i);
    }
  }

  void report_repeated(std::size_t first, std::size_t second) {
    const Name& name = operation_.variables[second]->name;
    context_.report(Rule::UniqueVariables, {operation_.variables[first]->name.at, name.at},
                    fmt::format("There can be only one variable named \"${}\".", name.text()));
  }

  [[nodiscard]] std::size_t find_before(std::string_view name, std::size_t end) const {
    for (std::size_t i = end; i-- > 0;) {
      if (operation_.variables[i]->name.text() == name) return i;
    }
    return kNone;
  }

  /// The last definition of this name.
  [[nodiscard]] std::size_t find(std::string_view name) const {
    if (operation_.variables.size() <= kFew) return find_before(name, operation_.variables.size());
    const auto after = std::upper_bound(sorted_.begin(), sorted_.end(), std::pair(name, kNone));
    if (after == sorted_.begin() || std::prev(after)->first != name) return kNone;
    return std::prev(after)->second;
  }

  void check_reachable() {
    check_usages(contents_);
    if (contents_.first_spread == contents_.last_spread) return;
    std::vector<bool> seen(context_.document.fragments.size());
    if (!context_.spend_on_operations(seen.size() / 64)) return;
    std::vector<const Contents*> open{&contents_};
    while (!open.empty() && !context_.is_full()) {
      const Contents* contents = open.back();
      open.pop_back();
      if (!context_.spend_on_operations(1 + contents->last_spread - contents->first_spread)) return;
      for (const SpreadUse& use : context_.spreads(*contents)) {
        if (use.fragment == kNoFragment || seen[use.fragment]) continue;
        seen[use.fragment] = true;
        const Contents& fragment = context_.fragment_contents[use.fragment];
        check_usages(fragment);
        open.push_back(&fragment);
      }
    }
  }

  void check_usages(const Contents& contents) {
    if (!context_.spend_on_operations(contents.last_usage - contents.first_usage)) return;
    for (const VariableUsage& usage : context_.usages(contents)) {
      const std::size_t at = find(usage.name);
      if (at == kNone) {
        context_.report(Rule::VariableUsesDefined, {usage.at, operation_.at},
                        operation_.name.text().empty()
                            ? fmt::format("The variable \"${}\" is not defined.", usage.name)
                            : fmt::format("The variable \"${}\" is not defined by the operation \"{}\".", usage.name, operation_.name.text()));
        continue;
      }
      used_[at] = true;
      check_usage(*operation_.variables[at], usage);
    }
  }

  void check_usage(const VariableDefinitionNode& variable, const VariableUsage& usage) {
    if (usage.type.named == nullptr) return;
    const TypeRef type = resolve_type(context_.schema, variable.type);
    if (type.named == nullptr) return;
    if (!is_allowed(type, variable.default_value, usage)) {
      context_.report(Rule::VariableUsagesAllowed, {variable.at, usage.at},
                      fmt::format("The variable \"${}\" of type \"{}\" cannot be used where \"{}\" is expected.", usage.name, type.str(),
                                  usage.type.str()));
    }
    if (usage.one_of_parent != nullptr && !type.is_non_null()) {
      context_.report(Rule::VariableUsagesAllowed, {variable.at, usage.at},
                      fmt::format("The variable \"${}\" of type \"{}\" must be non-null to be the field of the OneOf input object \"{}\".",
                                  usage.name, type.str(), usage.one_of_parent->name));
    }
  }

  Context& context_;
  const OperationNode& operation_;
  const Contents& contents_;
  std::vector<std::pair<std::string_view, std::size_t>> sorted_;  // if there are more than a few; no choice of names makes it slow
  std::vector<bool> used_;
};

}  // namespace

void check_variables(Context& context) {
  for (std::size_t i = 0; i < context.document.operations.size() && !context.is_full(); ++i) {
    OperationVariables(context, *context.document.operations[i], context.operation_contents[i]).check();
  }
}

}  // namespace fanfare::graphql::validation
