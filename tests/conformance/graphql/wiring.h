// The fixed wiring of the conformance corpus: every field answers by its type alone, so that a schema and a query are
// enough to know the result. Int 2, Float 3.14, String "str", Boolean true, ID "id", a custom scalar "str", a list of two,
// an enum its first value, a union its first member by name, an interface its last implementation by name.
#pragma once

#include "graphql/bindings.h"

namespace fanfare::graphql {

void wire_by_type(Bindings& bindings);
/// The value that such a field gives.
Resolved value_by_type(FieldCall& call, TypeRef type);

}  // namespace fanfare::graphql
