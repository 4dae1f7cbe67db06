#include "graphql/prepared.h"

#include <fmt/format.h>

namespace fanfare::graphql {

Prepared::Prepared(const Bindings& bindings, DocumentPtr document, const Limits& limits)
    : bindings_(bindings), document_(std::move(document)), fragments_(*document_), limits_(limits) {
  for (const OperationNode* operation : document_->operations) {
    operations_.push_back({operation, condition_variables(*document_, fragments_, *operation),
                           reachable_fragments(*document_, fragments_, *operation), {}, 0});
  }
}

Result<PreparedPtr, std::vector<Error>> Prepared::prepare(const Bindings& bindings, Source source, const PrepareOptions& options) {
  auto document = parse(source, options.parse);
  if (!document) return std::vector<Error>{document.error()};
  std::vector<Error> errors = validate(bindings.schema(), **document, options.validation);
  if (!errors.empty()) return errors;
  const FragmentIndex fragments(**document);
  // A document of thousands of operations with shared fragments would be measured thousands of times over.
  constexpr std::size_t kOperationsMax = 100;
  if ((*document)->operations.size() > kOperationsMax) {
    Error error;
    error.rule = Rule::DocumentTooLarge;
    error.message = fmt::format("Document too large: {} operations, at most {} are allowed", (*document)->operations.size(), kOperationsMax);
    return std::vector<Error>{error};
  }
  for (const OperationNode* operation : (*document)->operations) {
    if (auto error = check_limits(**document, fragments, *operation, options.limits)) return std::vector<Error>{*std::move(error)};
  }
  return PreparedPtr(new Prepared(bindings, *std::move(document), options.limits));
}

Result<const OperationNode*, Error> Prepared::find_operation(std::string_view name) const {
  Error error;
  error.rule = Rule::OperationSelection;
  if (name.empty()) {
    if (document_->operations.size() == 1) return document_->operations[0];
    error.message = document_->operations.empty() ? "The document contains no operation."
                                                  : "The document contains several operations: \"operationName\" must name one of them.";
    return error;
  }
  for (const OperationNode* operation : document_->operations) {
    if (operation->name.text() == name) return operation;
  }
  error.message = fmt::format("The document contains no operation named \"{}\".", name);
  return error;
}

std::size_t Prepared::index_of(const OperationNode& operation) const {
  std::size_t index = 0;
  while (operations_[index].operation != &operation) ++index;
  return index;
}

std::optional<Error> Prepared::check_complexity(const OperationNode& operation, const VariableValues& variables, Arena& arena) const {
  if (limits_.complexity == 0) return std::nullopt;
  const std::uint64_t cost = complexity(bindings_.schema(), *document_, fragments_, operations_[index_of(operation)].fragment_order,
                                        operation, variables, limits_.list_size, arena);
  if (cost <= limits_.complexity) return std::nullopt;
  Error error;
  error.rule = Rule::ComplexityLimit;
  error.message = fmt::format("The operation may select {} fields; at most {} are allowed. Ask for smaller lists.", cost, limits_.complexity);
  error.locations = {graphql::locate(document_->text, operation.at)};
  return error;
}

Location Prepared::locate(Offset at) {
  if (!lines_) lines_.emplace(document_->text);
  return lines_->locate(at);
}

std::shared_ptr<OperationPlan> Prepared::plan(const OperationNode& operation, const VariableValues& variables) {
  OperationPlans* entry = &operations_[index_of(operation)];
  std::uint64_t conditions = 0;
  for (std::size_t i = 0; i < entry->conditions.size() && i < 64; ++i) {
    if (variables.find(entry->conditions[i]).as_boolean()) conditions |= std::uint64_t{1} << i;
  }
  const auto make = [&] { return std::make_shared<OperationPlan>(bindings_, *document_, fragments_, operation, variables, conditions); };
  if (entry->conditions.size() > 64) return make();
  constexpr std::size_t kPlans = 16;
  constexpr std::size_t kFieldsMax = 100'000;  // a plan that grew beyond this is made anew, so that memory stays bounded
  for (auto& plan : entry->plans) {
    if (plan->conditions() != conditions) continue;
    if (plan->field_count() > kFieldsMax) plan = make();
    return plan;
  }
  if (entry->plans.size() < kPlans) {
    entry->plans.push_back(make());
    return entry->plans.back();
  }
  auto& replaced = entry->plans[entry->next_replaced++ % kPlans];
  replaced = make();
  return replaced;
}

}  // namespace fanfare::graphql
