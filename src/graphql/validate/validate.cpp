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
  for (const Offset at : places) error.locations.push_back(locate(document.text, at));
  error.source = std::string(document.name);
  errors.push_back(std::move(error));
}

std::string Context::suggest(std::string_view name, std::span<const std::string_view> candidates) const {
  constexpr std::size_t kErrors = 10;
  return errors.size() < kErrors ? did_you_mean(name, candidates) : std::string();
}

}  // namespace validation

std::vector<Error> validate(const Schema& schema, const Document& document, const ValidationOptions& options) {
  validation::Context context(schema, document, options);
  check_operations(context);
  walk(context);
  check_fragments(context);
  check_variables(context);
  check_merging(context);
  check_introspection_depth(context);
  return std::move(context.errors);
}

}  // namespace fanfare::graphql
