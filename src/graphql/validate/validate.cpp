#include "graphql/validate.h"

#include <algorithm>

#include "graphql/validate/context.h"

namespace fanfare::graphql {
namespace validation {

Context::Context(const Schema& schema_in, const Document& document_in, const ValidationOptions& options_in)
    : schema(schema_in), document(document_in), options(options_in) {
  fragments_by_name_.reserve(document.fragments.size());
  for (std::uint32_t i = 0; i < document.fragments.size(); ++i) {
    fragments_by_name_.emplace_back(document.fragments[i]->name.text, i);
  }
  std::sort(fragments_by_name_.begin(), fragments_by_name_.end());
  parents.resize(document.selection_sets);
}

std::uint32_t Context::find_fragment(std::string_view name) const {
  const auto after = std::upper_bound(fragments_by_name_.begin(), fragments_by_name_.end(), std::pair(name, kNoFragment));
  if (after == fragments_by_name_.begin()) return kNoFragment;
  const auto& found = *std::prev(after);
  return found.first == name ? found.second : kNoFragment;
}

void Context::report(Rule rule, std::initializer_list<Offset> places, std::string message) {
  if (is_full()) return;
  Error error;
  error.rule = rule;
  error.message = std::move(message);
  for (const Offset at : places) error.locations.push_back(locate(document.text, at));
  error.source = std::string(document.name);
  errors.push_back(std::move(error));
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
