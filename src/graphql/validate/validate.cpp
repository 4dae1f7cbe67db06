#include "graphql/validate.h"

#include "graphql/coerce.h"
#include "graphql/validate/context.h"

namespace fanfare::graphql {
namespace validation {

Context::Context(const Schema& schema_in, const Document& document_in, const ValidationOptions& options_in)
    : schema(schema_in), document(document_in), options(options_in), parents(document_in.selection_sets), fragments_(document_in) {}

void Context::report(Rule rule, std::initializer_list<Offset> places, std::string message) {
  if (is_full()) return;
  Error error;
  error.rule = rule;
  error.message = std::move(message);
  if (!lines_) lines_.emplace(document.text);
  for (const Offset at : places) error.locations.push_back(lines_->locate(at));
  error.source = std::string(document.name);
  errors.push_back(std::move(error));
}

std::string Context::suggest(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kErrors = 10;
  steps += candidates.size();
  return errors.size() < kErrors ? did_you_mean(name, candidates) : std::string();
}

bool Context::spend_on_operations(std::size_t count) {
  steps += count;
  if (operation_steps_ > options.operation_steps) return false;
  operation_steps_ += count;
  if (operation_steps_ <= options.operation_steps) return true;
  report(Rule::DocumentTooLarge, {}, "Document too large: its operations and the fragments that they share are too many to check.");
  return false;
}

}  // namespace validation

std::vector<Error> validate(const Schema& schema, const Document& document, const ValidationOptions& options, std::size_t* steps) {
  validation::Context context(schema, document, options);
  check_operations(context);
  walk(context);
  check_fragments(context);
  check_variables(context);
  check_merging(context);
  check_introspection_depth(context);
  if (steps != nullptr) *steps = context.steps;
  return std::move(context.errors);
}

}  // namespace fanfare::graphql
