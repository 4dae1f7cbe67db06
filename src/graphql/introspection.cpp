// The introspection types, answered from the schema itself. Sources are pointers into the schema; a `__Type` is a named
// type with the wrappers around it as the tag. [GraphQL 4]
#include <string>

#include "graphql/bindings.h"
#include "graphql/printer.h"

namespace fanfare::graphql {
namespace {

Resolved type_object(TypeRef type) { return Resolved::object(type.named, nullptr, type.wrappers); }
Resolved type_or_null(const Type* type) { return type != nullptr ? type_object({type, 0}) : Resolved::null(); }

Resolved type_at(const void* data, std::size_t index) { return type_object({static_cast<const Type* const*>(data)[index], 0}); }
Resolved types(std::span<const Type* const> list) { return Resolved::generated(list.data(), list.size(), type_at); }

Resolved text(const Description& description) {
  return description.present ? Resolved::string(description.text) : Resolved::null();
}

Resolved reason(const Deprecation& deprecation) {
  return deprecation.is_deprecated ? Resolved::string(deprecation.reason) : Resolved::null();
}

template <class T>
Resolved object_at(const void* data, std::size_t index) {
  return Resolved::object(static_cast<const T*>(data) + index);
}

/// All of `list`, or those that are not deprecated.
template <class T>
Resolved objects(FieldCall& call, std::span<const T> list) {
  std::size_t current = 0;
  for (const T& item : list) current += item.deprecation.is_deprecated ? 0 : 1;
  if (current == list.size() || call.argument("includeDeprecated").as_boolean()) {
    return Resolved::generated(list.data(), list.size(), object_at<T>);
  }
  const auto items = call.make_items(current);
  std::size_t count = 0;
  for (const T& item : list) {
    if (!item.deprecation.is_deprecated) items[count++] = Resolved::object(&item);
  }
  return Resolved::items(items);
}

std::string_view kind_name(const Type& type, Wrappers wrappers) {
  if (wrappers != 0) return (wrappers & 3) == kListWrapper ? "LIST" : "NON_NULL";
  switch (type.kind) {
    case TypeKind::Scalar: return "SCALAR";
    case TypeKind::Object: return "OBJECT";
    case TypeKind::Interface: return "INTERFACE";
    case TypeKind::Union: return "UNION";
    case TypeKind::Enum: return "ENUM";
    case TypeKind::InputObject: return "INPUT_OBJECT";
  }
  return {};
}

Resolved location_at(const void* data, std::size_t index) {
  return Resolved::string(name_of(static_cast<const DirectiveLocation*>(data)[index]));
}

class Binder {
 public:
  Binder(const Schema& schema, std::vector<Resolver>& resolvers) : schema_(schema), resolvers_(resolvers) {}

  void bind() {
    bind_meta();
    bind_schema();
    bind_type();
    bind_elements();
  }

 private:
  template <class Function>
  void on(std::string_view type, std::string_view field, Function function) {
    resolvers_[schema_.find_type(type)->find_field(field)->id] = function;
  }
  /// For a field of a wrapped or named type: null where the type is wrapped.
  template <class Function>
  void on_named(std::string_view field, Function function) {
    on("__Type", field, [function](FieldCall& call) -> Resolved {
      if (call.source.tag() != 0) return Resolved::null();
      return function(call, call.source.as<Type>());
    });
  }

  void bind_meta() {
    const Schema* schema = &schema_;
    resolvers_[schema->schema_field->id] = [schema](FieldCall&) { return Resolved::object(schema); };
    resolvers_[schema->type_field->id] = [schema](FieldCall& call) { return type_or_null(schema->find_type(call.arguments[0].as_text())); };
    resolvers_[schema->typename_field->id] = [](FieldCall& call) { return Resolved::string(call.parent.name); };
  }

  void bind_schema() {
    on("__Schema", "description", [](FieldCall& call) { return text(call.source.as<Schema>().description); });
    on("__Schema", "types", [](FieldCall& call) { return types(call.source.as<Schema>().types); });
    on("__Schema", "queryType", [](FieldCall& call) { return type_or_null(call.source.as<Schema>().query); });
    on("__Schema", "mutationType", [](FieldCall& call) { return type_or_null(call.source.as<Schema>().mutation); });
    on("__Schema", "subscriptionType", [](FieldCall& call) { return type_or_null(call.source.as<Schema>().subscription); });
    on("__Schema", "directives", [](FieldCall& call) {
      const auto& directives = call.source.as<Schema>().directives;
      return Resolved::generated(directives.data(), directives.size(), [](const void* data, std::size_t index) {
        return Resolved::object(static_cast<const Directive* const*>(data)[index]);
      });
    });
  }

  void bind_type() {
    on("__Type", "kind", [](FieldCall& call) { return Resolved::string(kind_name(call.source.as<Type>(), call.source.tag())); });
    on("__Type", "ofType", [](FieldCall& call) {
      const Wrappers wrappers = call.source.tag();
      return wrappers == 0 ? Resolved::null() : type_object({&call.source.as<Type>(), wrappers >> 2});
    });
    on_named("name", [](FieldCall&, const Type& type) { return Resolved::string(type.name); });
    on_named("description", [](FieldCall&, const Type& type) { return text(type.description); });
    on_named("specifiedByURL", [](FieldCall&, const Type& type) {
      return type.specified_by.empty() ? Resolved::null() : Resolved::string(type.specified_by);
    });
    on_named("fields", [](FieldCall& call, const Type& type) {
      const bool has_fields = type.kind == TypeKind::Object || type.kind == TypeKind::Interface;
      return has_fields ? objects(call, std::span<const Field>(type.fields)) : Resolved::null();
    });
    on_named("interfaces", [](FieldCall&, const Type& type) {
      const bool has_interfaces = type.kind == TypeKind::Object || type.kind == TypeKind::Interface;
      return has_interfaces ? types(type.interfaces) : Resolved::null();
    });
    on_named("possibleTypes", [](FieldCall&, const Type& type) { return type.is_abstract() ? types(type.possible) : Resolved::null(); });
    on_named("enumValues", [](FieldCall& call, const Type& type) {
      return type.kind == TypeKind::Enum ? objects(call, std::span<const EnumValue>(type.values)) : Resolved::null();
    });
    on_named("inputFields", [](FieldCall& call, const Type& type) {
      return type.kind == TypeKind::InputObject ? objects(call, std::span<const InputValue>(type.input_fields)) : Resolved::null();
    });
    on_named("isOneOf", [](FieldCall&, const Type& type) {
      return type.kind == TypeKind::InputObject ? Resolved::boolean(type.is_one_of) : Resolved::null();
    });
  }

  template <class T>
  void bind_named(std::string_view type) {
    on(type, "name", [](FieldCall& call) { return Resolved::string(call.source.as<T>().name); });
    on(type, "description", [](FieldCall& call) { return text(call.source.as<T>().description); });
  }
  template <class T>
  void bind_deprecation(std::string_view type) {
    on(type, "isDeprecated", [](FieldCall& call) { return Resolved::boolean(call.source.as<T>().deprecation.is_deprecated); });
    on(type, "deprecationReason", [](FieldCall& call) { return reason(call.source.as<T>().deprecation); });
  }

  void bind_elements() {
    bind_named<Field>("__Field");
    bind_deprecation<Field>("__Field");
    on("__Field", "args", [](FieldCall& call) { return objects(call, std::span<const InputValue>(call.source.as<Field>().arguments)); });
    on("__Field", "type", [](FieldCall& call) { return type_object(call.source.as<Field>().type); });
    bind_named<InputValue>("__InputValue");
    bind_deprecation<InputValue>("__InputValue");
    on("__InputValue", "type", [](FieldCall& call) { return type_object(call.source.as<InputValue>().type); });
    on("__InputValue", "defaultValue", [](FieldCall& call) -> Resolved {
      const ValueNode* literal = call.source.as<InputValue>().default_literal;
      if (literal == nullptr) return Resolved::null();
      std::string printed;
      print(printed, *literal);
      return Resolved::string(call.keep(printed));
    });
    bind_named<EnumValue>("__EnumValue");
    bind_deprecation<EnumValue>("__EnumValue");
    bind_named<Directive>("__Directive");
    on("__Directive", "isRepeatable", [](FieldCall& call) { return Resolved::boolean(call.source.as<Directive>().is_repeatable); });
    on("__Directive", "locations", [](FieldCall& call) {
      const auto locations = call.source.as<Directive>().location_list;
      return Resolved::generated(locations.data(), locations.size(), location_at);
    });
    on("__Directive", "args", [](FieldCall& call) {
      return objects(call, std::span<const InputValue>(call.source.as<Directive>().arguments));
    });
  }

  const Schema& schema_;
  std::vector<Resolver>& resolvers_;
};

}  // namespace

void bind_introspection(const Schema& schema, std::vector<Resolver>& resolvers) { Binder(schema, resolvers).bind(); }

}  // namespace fanfare::graphql
