// Between schema_build.cpp, which makes types from definitions, and type_rules.cpp, which says what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "graphql/schema.h"

namespace fanfare::graphql {

/// Collects what is wrong with a schema, with places.
class SchemaErrors {
 public:
  void report(Rule rule, Place place, std::string message);
  [[nodiscard]] bool empty() const { return errors_.empty(); }
  std::vector<Error> take() { return std::move(errors_); }

 private:
  std::vector<Error> errors_;
};

/// Checks every rule of section 3 that needs the linked types. The schema's types must all be resolved.
void check_type_system(Schema& schema, SchemaErrors& errors);
/// Checks the directives that the texts apply: 5.4 and 5.7 at type system locations.
void check_applied_directives(const Schema& schema, Arena& scratch, SchemaErrors& errors);
/// Coerces all default values, and reports those that contain themselves. Only for literals that fit their types.
void coerce_default_values(Schema& schema, SchemaErrors& errors);

}  // namespace fanfare::graphql
