#include "graphql/bindings.h"

namespace fanfare::graphql {

Resolved read_member(const Resolved& source, std::string_view name) {
  if (source.kind() == Resolved::Kind::Json) {
    const wire::json::Value* member = source.as_json().find(name);
    return member != nullptr ? Resolved::json(member) : Resolved::null();
  }
  if (source.kind() == Resolved::Kind::Input) {
    for (const ValueMember& member : source.as_input().members()) {
      if (member.name == name) return Resolved::input(&member.value);
    }
  }
  return Resolved::null();
}

Bindings::Bindings(SchemaPtr schema) : schema_(std::move(schema)) {
  resolvers_.resize(schema_->field_count);
  type_resolvers_.resize(schema_->types.size());
  fallback_ = [](FieldCall& call) { return read_member(call.source, call.field.name); };
  bind_introspection(*schema_, resolvers_);
}

bool Bindings::resolve(std::string_view type, std::string_view field, Resolver resolver) {
  const Type* found = schema_->find_type(type);
  if (found == nullptr || found->kind != TypeKind::Object) return false;
  const Field* bound = found->find_field(field);
  if (bound == nullptr) return false;
  resolvers_[bound->id] = std::move(resolver);
  return true;
}

bool Bindings::type_of(std::string_view abstract_type, TypeResolver resolver) {
  const Type* found = schema_->find_type(abstract_type);
  if (found == nullptr || !found->is_abstract()) return false;
  type_resolvers_[found->id] = std::move(resolver);
  return true;
}

}  // namespace fanfare::graphql
