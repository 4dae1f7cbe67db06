// The syntax tree of documents and of the schema definition language.
//
// Rules
// 1. Nodes live in the arena of their Document, are never changed after parsing, and hold views into the Document's text.
// 2. A node keeps one byte offset (`at`); lines and columns are computed when an error needs them.
// 3. The parser bounds nesting (ParseLimits::depth), so walking one selection set or value may recurse. Walks that follow
//    fragment spreads may not.
// Source of truth: GraphQL September 2025, section 2 and appendix B.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graphql/arena.h"
#include "graphql/source.h"

namespace fanfare::graphql {

struct Name {
  std::string_view text;  ///< empty: there is none
  Offset at = 0;
};

enum class LiteralKind : std::uint8_t { Variable, Int, Float, String, Boolean, Null, Enum, List, Object };

struct ObjectFieldNode;

/// A literal as written.
struct ValueNode {
  LiteralKind kind = LiteralKind::Null;
  bool is_block = false;      ///< String: written with three quotation marks
  bool boolean = false;       ///< Boolean: its value
  bool has_variable = false;  ///< a variable is in it, at any depth
  Offset at = 0;
  std::string_view text;              ///< Variable: name without `$`. Int, Float: digits. String: its value. Enum: name
  std::span<ValueNode> items;         ///< List
  std::span<ObjectFieldNode> fields;  ///< Object
};

struct ObjectFieldNode {
  Name name;
  ValueNode value;
};

struct ArgumentNode {
  Name name;
  ValueNode value;
};

struct DirectiveNode {
  Name name;
  std::span<ArgumentNode> arguments;
  Offset at = 0;
};

/// List and NonNull wrappers from the outermost to the innermost, two bits each, lowest first: 1 list, 2 non-null.
/// `[Int!]!` is 2 | 1 << 2 | 2 << 4. 0: the bare named type.
using Wrappers = std::uint64_t;
inline constexpr Wrappers kListWrapper = 1;
inline constexpr Wrappers kNonNullWrapper = 2;
inline constexpr unsigned kMaxWrappers = 32;

struct TypeNode {
  Name name;
  Wrappers wrappers = 0;
  Offset at = 0;
};

enum class SelectionKind : std::uint8_t { Field, FragmentSpread, InlineFragment };

struct SelectionSetNode;

struct SelectionNode {
  SelectionNode() = default;
  SelectionNode(SelectionKind kind_in, Offset at_in, Name alias_in, Name name_in, std::span<ArgumentNode> arguments_in,
                std::span<DirectiveNode> directives_in, const SelectionSetNode* selections_in)
      : kind(kind_in),
        at(at_in),
        alias(alias_in),
        name(name_in),
        arguments(arguments_in),
        directives(directives_in),
        selections(selections_in) {}

  SelectionKind kind = SelectionKind::Field;
  Offset at = 0;
  Name alias;  ///< Field only
  Name name;   ///< Field, FragmentSpread: its name. InlineFragment: the type condition, empty if there is none
  std::span<ArgumentNode> arguments;
  std::span<DirectiveNode> directives;
  const SelectionSetNode* selections = nullptr;

  [[nodiscard]] std::string_view response_key() const { return alias.text.empty() ? name.text : alias.text; }
};

struct SelectionSetNode {
  std::span<SelectionNode> selections;
  Offset at = 0;
  std::uint32_t id = 0;  ///< 0 to Document::selection_sets - 1; index of side tables
};

enum class OperationType : std::uint8_t { Query, Mutation, Subscription };
std::string_view name_of(OperationType type);

struct Description {
  bool present = false;
  bool is_block = false;
  std::string_view text;
  Offset at = 0;
};

struct VariableDefinitionNode {
  Description description;
  Name name;  ///< without `$`
  TypeNode type;
  const ValueNode* default_value = nullptr;
  std::span<DirectiveNode> directives;
  Offset at = 0;
};

struct OperationNode {
  OperationType type = OperationType::Query;
  bool is_shorthand = false;  ///< `{ ... }` without the keyword
  Description description;
  Name name;
  std::span<VariableDefinitionNode> variables;
  std::span<DirectiveNode> directives;
  const SelectionSetNode* selections = nullptr;
  Offset at = 0;
};

struct FragmentNode {
  Description description;
  Name name;
  Name type_condition;
  std::span<DirectiveNode> directives;
  const SelectionSetNode* selections = nullptr;
  Offset at = 0;
};

struct InputValueNode {
  Description description;
  Name name;
  TypeNode type;
  const ValueNode* default_value = nullptr;
  std::span<DirectiveNode> directives;
};

struct FieldDefinitionNode {
  Description description;
  Name name;
  std::span<InputValueNode> arguments;
  TypeNode type;
  std::span<DirectiveNode> directives;
};

struct EnumValueNode {
  Description description;
  Name name;
  std::span<DirectiveNode> directives;
};

enum class TypeKind : std::uint8_t { Scalar, Object, Interface, Union, Enum, InputObject };

struct TypeDefinitionNode {
  TypeKind kind = TypeKind::Scalar;
  bool is_extension = false;
  Description description;
  Name name;
  std::span<Name> interfaces;  ///< Object, Interface
  std::span<DirectiveNode> directives;
  std::span<FieldDefinitionNode> fields;   ///< Object, Interface
  std::span<Name> members;                 ///< Union
  std::span<EnumValueNode> values;         ///< Enum
  std::span<InputValueNode> input_fields;  ///< InputObject
  Offset at = 0;
};

struct RootOperationNode {
  OperationType type = OperationType::Query;
  Name name;  ///< the type's name
  Offset at = 0;
};

struct SchemaDefinitionNode {
  bool is_extension = false;
  Description description;
  std::span<DirectiveNode> directives;
  std::span<RootOperationNode> operations;
  Offset at = 0;
};

struct DirectiveDefinitionNode {
  Description description;
  Name name;
  std::span<InputValueNode> arguments;
  bool is_repeatable = false;
  std::span<Name> locations;
  Offset at = 0;
};

enum class DefinitionKind : std::uint8_t { Operation, Fragment, Schema, Type, Directive };

/// One of the pointers is set, as `kind` says.
struct DefinitionNode {
  DefinitionKind kind = DefinitionKind::Operation;
  Offset at = 0;
  const OperationNode* operation = nullptr;
  const FragmentNode* fragment = nullptr;
  const SchemaDefinitionNode* schema = nullptr;
  const TypeDefinitionNode* type = nullptr;
  const DirectiveDefinitionNode* directive = nullptr;
};

/// A parsed text and the memory of its nodes. Immutable once parsed; may be read from several threads.
struct Document {
  Arena arena;
  std::string_view name;  ///< of the source
  std::string_view text;  ///< a copy in the arena
  std::span<DefinitionNode> definitions;
  std::span<const OperationNode*> operations;
  std::span<const FragmentNode*> fragments;
  std::uint32_t selection_sets = 0;
  std::uint32_t tokens = 0;
};

}  // namespace fanfare::graphql
