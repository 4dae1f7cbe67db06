#include "wiring.h"

#include <algorithm>

namespace fanfare::graphql {
namespace {

const Type* first_or_last_by_name(const Type& abstract) {
  const auto by_name = [](const Type* a, const Type* b) { return a->name < b->name; };
  const auto possible = abstract.possible;
  if (possible.empty()) return nullptr;
  return abstract.kind == TypeKind::Union ? *std::min_element(possible.begin(), possible.end(), by_name)
                                          : *std::max_element(possible.begin(), possible.end(), by_name);
}

}  // namespace

Resolved value_by_type(FieldCall& call, TypeRef type) {
  type = type.nullable();
  if (type.is_list()) {
    const auto items = call.make_items(2);
    for (Resolved& item : items) item = value_by_type(call, type.inner());
    return Resolved::items(items);
  }
  const Type& named = *type.named;
  switch (named.kind) {
    case TypeKind::Scalar:
      switch (named.scalar) {
        case ScalarKind::Int: return Resolved::integer(2);
        case ScalarKind::Float: return Resolved::real(3.14);
        case ScalarKind::Boolean: return Resolved::boolean(true);
        case ScalarKind::Id: return Resolved::string("id");
        case ScalarKind::String:
        case ScalarKind::Custom: return Resolved::string("str");
      }
      return Resolved::null();
    case TypeKind::Enum: return Resolved::string(named.values.front().name);
    case TypeKind::Object: return Resolved::object(&named, &named);
    case TypeKind::Interface:
    case TypeKind::Union: return Resolved::object(&named, first_or_last_by_name(named));
    case TypeKind::InputObject: break;
  }
  return Resolved::null();
}

void wire_by_type(Bindings& bindings) {
  bindings.resolve_others([](FieldCall& call) { return value_by_type(call, call.field.type); });
}

}  // namespace fanfare::graphql
