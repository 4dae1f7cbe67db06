// Bindings: which function answers which field. Made once for a schema, then only read.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "graphql/resolved.h"

namespace fanfare::graphql {

/// A field without a function of its own is answered by the fallback, which reads the member of the field's name from a
/// JSON object. Introspection is bound from the start. Once executions run, it must not change.
class Bindings {
 public:
  explicit Bindings(SchemaPtr schema);

  /// False if the schema has no object type of this name with this field.
  [[nodiscard]] bool resolve(std::string_view type, std::string_view field, Resolver resolver);
  /// For all fields without a resolver of their own; instead of reading members.
  void resolve_others(Resolver resolver) { fallback_ = std::move(resolver); }
  /// False if the schema has no interface or union of this name. Without one, an object's own type is taken
  /// (Resolved::object), a JSON object's member `__typename`, or the only possible type.
  [[nodiscard]] bool type_of(std::string_view abstract_type, TypeResolver resolver);
  /// For all abstract types without one of their own.
  void type_of_others(TypeResolver resolver) { type_fallback_ = std::move(resolver); }

  [[nodiscard]] const Schema& schema() const { return *schema_; }
  [[nodiscard]] const SchemaPtr& schema_ptr() const { return schema_; }
  [[nodiscard]] const Resolver& resolver_of(const Field& field) const {
    const Resolver& own = resolvers_[field.id];
    return own ? own : fallback_;
  }
  [[nodiscard]] const TypeResolver& type_resolver_of(const Type& type) const {
    const TypeResolver& own = type_resolvers_[type.id];
    return own ? own : type_fallback_;
  }

 private:
  SchemaPtr schema_;
  std::vector<Resolver> resolvers_;           // by Field::id
  std::vector<TypeResolver> type_resolvers_;  // by Type::id
  Resolver fallback_;
  TypeResolver type_fallback_;
};

/// The member of the field's name of a JSON or input object; null for every other source.
Resolved read_member(const Resolved& source, std::string_view name);

/// Binds the fields of the introspection types. [GraphQL 4]
void bind_introspection(const Schema& schema, std::vector<Resolver>& resolvers);

}  // namespace fanfare::graphql
