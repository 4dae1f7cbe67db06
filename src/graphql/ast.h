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

/// Nodes in their order, linked through their member `next`. A list that is never copied: its nodes lie where the parser
/// first wrote them.
template <class T>
class List {
 public:
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    constexpr Iterator() = default;
    constexpr explicit Iterator(const T* node) : node_(node) {}
    const T& operator*() const { return *node_; }
    const T* operator->() const { return node_; }
    Iterator& operator++() {
      node_ = node_->next;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      node_ = node_->next;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const T* node_ = nullptr;
  };

  constexpr List() = default;
  constexpr List(const T* first, std::uint32_t size) : first_(first), size_(size) {}

  [[nodiscard]] Iterator begin() const { return Iterator(first_); }
  [[nodiscard]] Iterator end() const { return Iterator(); }
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const T& front() const { return *first_; }
  /// Null if it is empty.
  [[nodiscard]] const T* first() const { return first_; }

 private:
  const T* first_ = nullptr;
  std::uint32_t size_ = 0;
};

/// 16 bytes, because a document consists of little else.
class Name {
 public:
  constexpr Name() = default;
  constexpr Name(std::string_view text, Offset at_in)
      : data_(text.data()), size_(static_cast<std::uint32_t>(text.size())), at(at_in) {}

  /// Empty: there is none.
  [[nodiscard]] constexpr std::string_view text() const { return {data_, size_}; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

 private:
  const char* data_ = nullptr;
  std::uint32_t size_ = 0;

 public:
  Offset at = 0;
};

enum class LiteralKind : std::uint8_t { Variable, Int, Float, String, Boolean, Null, Enum, List, Object };

struct ObjectFieldNode;

/// A literal as written.
class ValueNode {
 public:
  LiteralKind kind = LiteralKind::Null;
  bool is_block = false;      ///< String: written with three quotation marks
  bool boolean = false;       ///< Boolean: its value
  bool has_variable = false;  ///< a variable is in it, at any depth
  Offset at = 0;

  /// Variable: name without `$`. Int, Float: digits. String: its value. Boolean, Null, Enum: name. Else empty.
  [[nodiscard]] std::string_view text() const {
    return kind < LiteralKind::List ? std::string_view(text_, size_) : std::string_view();
  }
  /// List only; else empty.
  [[nodiscard]] std::span<const ValueNode> items() const;
  /// Object only; else empty.
  [[nodiscard]] std::span<const ObjectFieldNode> fields() const;

  void set_text(std::string_view text) {
    text_ = text.data();
    size_ = static_cast<std::uint32_t>(text.size());
  }
  void set_items(std::span<const ValueNode> items) {
    items_ = items.data();
    size_ = static_cast<std::uint32_t>(items.size());
  }
  void set_fields(std::span<const ObjectFieldNode> fields) {
    fields_ = fields.data();
    size_ = static_cast<std::uint32_t>(fields.size());
  }

 private:
  union {
    const char* text_ = nullptr;
    const ValueNode* items_;
    const ObjectFieldNode* fields_;
  };
  std::uint32_t size_ = 0;
};

struct ObjectFieldNode {
  Name name;
  ValueNode value;
};

inline std::span<const ValueNode> ValueNode::items() const {
  return kind == LiteralKind::List ? std::span(items_, size_) : std::span<const ValueNode>();
}
inline std::span<const ObjectFieldNode> ValueNode::fields() const {
  return kind == LiteralKind::Object ? std::span(fields_, size_) : std::span<const ObjectFieldNode>();
}

struct ArgumentNode {
  Name name;
  ValueNode value;
  const ArgumentNode* next = nullptr;
};

struct DirectiveNode {
  Name name;
  List<ArgumentNode> arguments;
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

/// What most selections do without.
struct SelectionExtras {
  Name alias;  ///< Field only
  List<ArgumentNode> arguments;
  std::span<DirectiveNode> directives;
};
inline constexpr SelectionExtras kNoExtras;

struct SelectionNode {
  SelectionKind kind = SelectionKind::Field;
  Offset at = 0;
  Name name;  ///< Field, FragmentSpread: its name. InlineFragment: the type condition, empty if there is none
  const SelectionExtras* extras = &kNoExtras;
  const SelectionSetNode* selections = nullptr;
  const SelectionNode* next = nullptr;

  [[nodiscard]] const Name& alias() const { return extras->alias; }
  [[nodiscard]] const List<ArgumentNode>& arguments() const { return extras->arguments; }
  [[nodiscard]] std::span<const DirectiveNode> directives() const { return extras->directives; }
  [[nodiscard]] std::string_view response_key() const { return alias().empty() ? name.text() : alias().text(); }
};

struct SelectionSetNode {
  List<SelectionNode> selections;
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
  std::span<const VariableDefinitionNode* const> variables;
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
  const DefinitionNode* next = nullptr;
};

/// A parsed text and the memory of its nodes. Immutable once parsed; may be read from several threads.
struct Document {
  Arena arena;
  std::string_view name;  ///< of the source
  std::string_view text;  ///< a copy in the arena
  List<DefinitionNode> definitions;
  std::span<const OperationNode*> operations;
  std::span<const FragmentNode*> fragments;
  std::uint32_t selection_sets = 0;
  std::uint32_t tokens = 0;
};

}  // namespace fanfare::graphql
