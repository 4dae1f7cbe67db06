// What `fanfare graphql check` says: whether schema files make a schema, and whether documents fit it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graphql/schema.h"

namespace fanfare::graphql {

struct CheckedDocument {
  std::string name;
  std::size_t operations = 0;
  std::vector<Error> errors;
};

struct CheckResult {
  std::vector<Error> schema_errors;
  std::size_t types = 0;                   ///< that the schema's texts define
  std::vector<CheckedDocument> documents;  ///< empty if the schema is wrong

  [[nodiscard]] std::size_t errors() const;
  [[nodiscard]] bool ok() const { return errors() == 0; }
};

/// Documents are looked at only if the schema is right. Directives and scalars that a gateway adds must be in `schema`.
CheckResult check(std::span<const Source> schema, std::span<const Source> documents);

/// For people. Each error with file, line and column, the section of the specification that has its rule, and the line:
///     query.graphql:2:10: error: The type "User" has no field "nam". Did you mean "name"? [5.3.1 Field Selections]
///     2 |   user { nam }
///       |          ^
std::string as_text(const CheckResult& result, std::span<const Source> schema, std::span<const Source> documents);

/// For programs, one line:
///     {"ok":false,"types":2,"documents":[{"source":"query.graphql","operations":1,"errors":1}],"errors":[{"source":
///     "query.graphql","rule":"FieldSelections","section":"5.3.1 Field Selections","message":"The type ...","locations":
///     [{"line":2,"column":10}]}]}
std::string as_json(const CheckResult& result);

}  // namespace fanfare::graphql
