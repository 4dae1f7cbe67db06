// The type system of one service.
//
// Rules
// 1. A Schema exists only if its type system is valid: whoever holds one need not check again.
// 2. Immutable after build_schema(); may be read from several threads. Everything in it lives as long as it does.
// 3. Order is the order of the SDL; built-in scalars stand where they are first referred to, introspection types last.
// Source of truth: GraphQL September 2025, section 3.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graphql/ast.h"
#include "graphql/error.h"
#include "graphql/name_table.h"
#include "graphql/parser.h"
#include "graphql/value.h"

namespace fanfare::graphql {

struct Type;
struct Field;
struct Schema;

/// A named type in its list and non-null wrappers.
struct TypeRef {
  const Type* named = nullptr;
  Wrappers wrappers = 0;

  [[nodiscard]] bool is_non_null() const { return (wrappers & 3) == kNonNullWrapper; }
  [[nodiscard]] bool is_list() const { return (wrappers & 3) == kListWrapper; }
  [[nodiscard]] bool is_named() const { return wrappers == 0; }
  /// Without the outermost wrapper.
  [[nodiscard]] TypeRef inner() const { return {named, wrappers >> 2}; }
  /// Without an outermost non-null.
  [[nodiscard]] TypeRef nullable() const { return is_non_null() ? inner() : *this; }
  /// `[Int!]!`
  [[nodiscard]] std::string str() const;
  friend bool operator==(const TypeRef&, const TypeRef&) = default;
};

/// Where a definition stands.
struct Place {
  const Document* document = nullptr;
  Offset at = 0;
};

struct Deprecation {
  bool is_deprecated = false;
  std::string_view reason;
};

/// An argument or an input field.
struct InputValue {
  std::string_view name;
  Description description;
  TypeRef type;
  const ValueNode* default_literal = nullptr;
  Value default_value;  ///< coerced; Absent: there is none
  Deprecation deprecation;
  std::span<const DirectiveNode> directives;
  Place place;
  Place type_place;

  /// Non-null without a default value.
  [[nodiscard]] bool is_required() const { return type.is_non_null() && default_literal == nullptr; }
};

struct Field {
  std::string_view name;
  Description description;
  TypeRef type;
  std::span<InputValue> arguments;
  Deprecation deprecation;
  std::span<const DirectiveNode> directives;
  const Type* parent = nullptr;
  std::uint32_t id = 0;  ///< 0 to Schema::field_count - 1; index of side tables
  Place place;
  Place type_place;

  [[nodiscard]] const InputValue* find_argument(std::string_view argument) const {
    for (const InputValue& candidate : arguments) {
      if (candidate.name == argument) return &candidate;
    }
    return nullptr;
  }
};

struct EnumValue {
  std::string_view name;
  Description description;
  Deprecation deprecation;
  std::span<const DirectiveNode> directives;
  Place place;
};

enum class ScalarKind : std::uint8_t { Custom, Int, Float, String, Boolean, Id };

/// How a custom scalar reads and writes; a scalar without one takes every value as it is.
struct ScalarCodec {
  /// From a literal or a variable, untyped, to what resolvers get; the error says why the value does not fit. It may
  /// place parts in the arena. Null never comes here.
  std::function<Result<Value, std::string>(const Value& input, Arena& arena)> parse;
  /// From a resolver's result to what is sent.
  std::function<Result<Value, std::string>(const Value& result, Arena& arena)> serialize;
};

struct Type {
  std::string_view name;
  Description description;
  TypeKind kind = TypeKind::Scalar;
  ScalarKind scalar = ScalarKind::Custom;
  bool is_one_of = false;
  bool is_builtin = false;        ///< not from the user's SDL
  bool is_introspection = false;  ///< `__Schema` and so on
  std::uint32_t id = 0;           ///< index in Schema::types
  std::span<Field> fields;                      ///< Object, Interface
  std::span<const Type*> interfaces;            ///< Object, Interface
  std::span<const Type*> possible;              ///< Object: itself. Interface, Union: the object types that it can be
  std::span<std::uint32_t> possible_ids;        ///< the same as ids, ascending
  std::span<const Type*> implementations;       ///< Interface: the interfaces that implement it
  std::span<EnumValue> values;                  ///< Enum
  std::span<InputValue> input_fields;           ///< InputObject
  std::string_view specified_by;                ///< empty: none
  const ScalarCodec* codec = nullptr;           ///< custom scalars
  std::span<const DirectiveNode> directives;
  NameTable table;  ///< of fields, values or input fields, whichever the kind has
  Place place;

  [[nodiscard]] bool is_composite() const {
    return kind == TypeKind::Object || kind == TypeKind::Interface || kind == TypeKind::Union;
  }
  [[nodiscard]] bool is_abstract() const { return kind == TypeKind::Interface || kind == TypeKind::Union; }
  [[nodiscard]] bool is_leaf() const { return kind == TypeKind::Scalar || kind == TypeKind::Enum; }
  [[nodiscard]] bool is_input() const { return is_leaf() || kind == TypeKind::InputObject; }
  [[nodiscard]] bool is_output() const { return kind != TypeKind::InputObject; }

  [[nodiscard]] const Field* find_field(std::string_view field) const {
    const auto at = table.find(field);
    return at < fields.size() ? &fields[at] : nullptr;
  }
  [[nodiscard]] const InputValue* find_input_field(std::string_view field) const {
    const auto at = table.find(field);
    return at < input_fields.size() ? &input_fields[at] : nullptr;
  }
  [[nodiscard]] const EnumValue* find_value(std::string_view value) const {
    const auto at = table.find(value);
    return at < values.size() ? &values[at] : nullptr;
  }
  /// This composite type can be an object of that one.
  [[nodiscard]] bool can_be(const Type& object) const {
    return this == &object || std::binary_search(possible_ids.begin(), possible_ids.end(), object.id);
  }
  /// Some object type is possible for both.
  [[nodiscard]] bool overlaps(const Type& other) const;
  [[nodiscard]] bool implements(const Type& interface) const {
    for (const Type* candidate : interfaces) {
      if (candidate == &interface) return true;
    }
    return false;
  }
};

/// In the order of the specification; the first eight are the executable ones. [GraphQL 3.13]
enum class DirectiveLocation : std::uint8_t {
  Query,
  Mutation,
  Subscription,
  Field,
  FragmentDefinition,
  FragmentSpread,
  InlineFragment,
  VariableDefinition,
  Schema,
  Scalar,
  Object,
  FieldDefinition,
  ArgumentDefinition,
  Interface,
  Union,
  Enum,
  EnumValue,
  InputObject,
  InputFieldDefinition,
};
inline constexpr std::size_t kDirectiveLocations = 19;
/// "FIELD_DEFINITION"
std::string_view name_of(DirectiveLocation location);

struct Directive {
  std::string_view name;
  Description description;
  std::span<InputValue> arguments;
  std::uint32_t locations = 0;  ///< one bit a DirectiveLocation
  std::span<const DirectiveLocation> location_list;
  bool is_repeatable = false;
  bool is_builtin = false;
  Place place;

  [[nodiscard]] bool allows(DirectiveLocation location) const {
    return (locations >> static_cast<unsigned>(location) & 1U) != 0;
  }
  [[nodiscard]] const InputValue* find_argument(std::string_view argument) const {
    for (const InputValue& candidate : arguments) {
      if (candidate.name == argument) return &candidate;
    }
    return nullptr;
  }
};

struct Schema {
  Description description;
  const Type* query = nullptr;
  const Type* mutation = nullptr;      ///< null: none
  const Type* subscription = nullptr;  ///< null: none
  std::vector<const Type*> types;
  std::vector<const Directive*> directives;
  std::span<const DirectiveNode> applied;  ///< directives on the schema itself
  std::uint32_t field_count = 0;

  // The fields that the executor adds to each schema. [GraphQL 4]
  const Field* schema_field = nullptr;    ///< `__schema: __Schema!` of the query root
  const Field* type_field = nullptr;      ///< `__type(name: String!): __Type` of the query root
  const Field* typename_field = nullptr;  ///< `__typename: String!` of every composite type

  [[nodiscard]] const Type* find_type(std::string_view name) const {
    const auto at = type_table.find(name);
    return at < types.size() ? types[at] : nullptr;
  }
  [[nodiscard]] const Directive* find_directive(std::string_view name) const {
    const auto at = directive_table.find(name);
    return at < directives.size() ? directives[at] : nullptr;
  }
  [[nodiscard]] const Type* root(OperationType operation) const {
    return operation == OperationType::Query ? query : operation == OperationType::Mutation ? mutation : subscription;
  }
  /// The field of a composite type, `__typename`, `__schema` and `__type` included; null if it has none.
  [[nodiscard]] const Field* find_field(const Type& type, std::string_view name) const;

  NameTable type_table;
  NameTable directive_table;
  Arena arena;
  std::vector<DocumentPtr> documents;
  std::map<std::string, ScalarCodec, std::less<>> codecs;
};
using SchemaPtr = std::shared_ptr<const Schema>;

struct SchemaOptions {
  std::map<std::string, ScalarCodec, std::less<>> scalars;  ///< by the scalar's name
  ParseLimits limits;
};

/// The schema that the texts describe together; definitions and extensions may stand in any of them, in any order.
/// Built-in scalars and directives need no definition, and one that the texts give is accepted. The errors name source,
/// line and column of everything that is wrong, not only of the first. [GraphQL 3]
Result<SchemaPtr, std::vector<Error>> build_schema(std::span<const Source> sources, SchemaOptions options = {});
Result<SchemaPtr, std::vector<Error>> build_schema(std::string_view sdl, SchemaOptions options = {});

/// The first application of the directive; null if there is none.
const DirectiveNode* find_directive(std::span<const DirectiveNode> directives, std::string_view name);
/// The argument of an applied directive of a valid schema, coerced, with its default; Absent if it has no value.
Value directive_argument(const Schema& schema, const DirectiveNode& directive, std::string_view argument, Arena& arena);

/// `sub` may stand where `super` is expected. [GraphQL 3.6.1 IsSubType]
bool is_subtype(TypeRef sub, TypeRef super);

}  // namespace fanfare::graphql
