// Recursive descent with one token of lookahead over batches of tokens. Lists are gathered on a stack that all of them share
// and copied into the arena when they close; stack, tokens and the document's first block need one allocation together.
#include "graphql/parser.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "graphql/lexer.h"

namespace fanfare::graphql {
namespace {

/// Memory for lists that are being read, one above the other: a list inside another is complete before that one goes on.
class Scratch {
 public:
  Scratch() = default;  // the bytes stay as they are: setting them would cost more than a small parse
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const char* at(std::size_t offset) const { return begin_ + offset; }
  char* push(std::size_t bytes) {
    if (size_ + bytes > capacity_) [[unlikely]] grow(bytes);
    char* const place = begin_ + size_;
    size_ += bytes;
    return place;
  }
  void shrink(std::size_t size) { size_ = size; }

 private:
  void grow(std::size_t bytes) {
    capacity_ = std::max(capacity_ * 2, size_ + bytes);
    std::unique_ptr<char[]> larger(new char[capacity_]);
    std::memcpy(larger.get(), begin_, size_);
    owned_ = std::move(larger);
    begin_ = owned_.get();
  }

  static constexpr std::size_t kFirst = 6 * 1024;
  char* begin_ = first_;
  std::size_t size_ = 0;
  std::size_t capacity_ = kFirst;
  std::unique_ptr<char[]> owned_;
  alignas(8) char first_[kFirst];
};

/// The items of a list that is being read: those above `base` on the shared stack.
template <class T>
class Gather {
  static_assert(alignof(T) <= 8 && sizeof(T) % 8 == 0 && std::is_trivially_copyable_v<T>);

 public:
  explicit Gather(Scratch& stack) : stack_(stack), base_(stack.size()) {}
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;
  ~Gather() { stack_.shrink(base_); }
  void add(const T& item) { new (stack_.push(sizeof(T))) T(item); }
  template <class... Arguments>
  void emplace(const Arguments&... arguments) {
    new (stack_.push(sizeof(T))) T{arguments...};
  }
  std::span<T> into(Arena& arena) {
    const std::size_t bytes = stack_.size() - base_;
    if (bytes == 0) return {};
    T* const first = static_cast<T*>(arena.allocate(bytes, alignof(T)));
    const T* const last = first + bytes / sizeof(T);
    const T* from = reinterpret_cast<const T*>(stack_.at(base_));
    for (T* to = first; to != last; ++to) *to = *from++;  // lists are short: a call of memcpy would cost more
    return {first, last};
  }

 private:
  Scratch& stack_;
  std::size_t base_;
};

/// The nodes of a List that is being read.
template <class T>
class Chain {
 public:
  void add(T* node) {
    if (last_ != nullptr) {
      last_->next = node;
    } else {
      first_ = node;
    }
    last_ = node;
    ++size_;
  }
  [[nodiscard]] List<T> list() const { return {first_, size_}; }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
  std::uint32_t size_ = 0;
};

class Parser {
 public:
  Parser(Document& document, const ParseLimits& limits)
      : document_(document), arena_(document.arena), limits_(limits), lexer_(document.text, document.arena) {
    limits_.depth = std::min(limits_.depth, ParseLimits::kDeepest);
  }

  std::optional<Error> run() {
    refill();
    if (at(TokenKind::End)) fail(token_->at, "the document is empty; expected a definition");
    Chain<DefinitionNode> definitions;
    while (!failed_ && !at(TokenKind::End)) {
      auto* node = arena_.make<DefinitionNode>();
      definition(*node);
      definitions.add(node);
    }
    if (failed_) return std::move(error_);
    document_.definitions = definitions.list();
    document_.tokens = tokens_;
    Gather<const OperationNode*> operations(scratch_);
    for (const DefinitionNode& definition : document_.definitions) {
      if (definition.operation != nullptr) operations.add(definition.operation);
    }
    document_.operations = operations.into(arena_);
    Gather<const FragmentNode*> fragments(scratch_);
    for (const DefinitionNode& definition : document_.definitions) {
      if (definition.fragment != nullptr) fragments.add(definition.fragment);
    }
    document_.fragments = fragments.into(arena_);
    return std::nullopt;
  }

 private:
  // ---- tokens

  void advance() {
    if (++token_ == batch_end_) [[unlikely]] refill();
  }

  void refill() {
    if (failed_) {  // the end is what everything finds from here on
      token_ = batch_;
      return;
    }
    const std::size_t most = std::min<std::size_t>(kBatch, std::size_t{limits_.tokens} - tokens_ + 1);
    const std::size_t count = lexer_.fill(batch_, most);
    tokens_ += static_cast<std::uint32_t>(count);
    token_ = batch_;
    batch_end_ = batch_ + count;
    Token& last = batch_[count - 1];
    if (tokens_ > limits_.tokens && last.kind > TokenKind::Error) {
      last.kind = TokenKind::Error;
      too_many_tokens_ = true;
    }
  }

  // An error token fits nowhere, so whatever is wrong with it is what the text is refused for.
  [[gnu::cold]] void fail(Offset at, std::string message, Rule rule = Rule::Syntax) {
    if (failed_) return;
    failed_ = true;
    if (token_->kind == TokenKind::Error) {
      at = too_many_tokens_ ? token_->at : lexer_.error_at();
      message = too_many_tokens_ ? fmt::format("the document has more than {} tokens", limits_.tokens) : lexer_.error();
      rule = too_many_tokens_ ? Rule::DocumentTooLarge : Rule::Syntax;
    }
    Error& error = error_.emplace();
    error.rule = rule;
    error.message = (rule == Rule::Syntax ? "Syntax error: " : "Document too large: ") + std::move(message);
    error.locations = {locate(document_.text, at)};
    error.source = std::string(document_.name);
    batch_[0] = {nullptr, 0, at, TokenKind::End};
    token_ = batch_;
    batch_end_ = batch_ + 1;
  }

  [[gnu::cold]] void unexpected(std::string_view wanted) {
    fail(token_->at, fmt::format("expected {}, found {}", wanted, describe(*token_)));
  }

  [[nodiscard]] bool at(TokenKind kind) const { return token_->kind == kind; }
  [[nodiscard]] bool at_keyword(std::string_view word) const { return at(TokenKind::Name) && token_->text() == word; }

  bool take(TokenKind kind) {
    if (!at(kind)) return false;
    advance();
    return true;
  }
  bool take_keyword(std::string_view word) {
    if (!at_keyword(word)) return false;
    advance();
    return true;
  }
  void expect(TokenKind kind) {
    if (!take(kind)) unexpected(describe(kind));
  }
  Name name(std::string_view wanted = "a name") {
    if (!at(TokenKind::Name)) {
      unexpected(wanted);
      return {};
    }
    const Name result{token_->text(), token_->at};
    advance();
    return result;
  }

  /// False, with an error, if one more level is too deep.
  bool enter() {
    if (++depth_ <= limits_.depth) return true;
    fail(token_->at, fmt::format("nested deeper than {} levels", limits_.depth), Rule::DocumentTooLarge);
    return false;
  }
  void leave() { --depth_; }

  // ---- values

  // Nodes are written where they stay, part by part: reading back what has just been written costs more than writing it.

  void value(ValueNode& node, bool is_const) {
    node.at = token_->at;
    switch (token_->kind) {
      case TokenKind::Int: node.kind = LiteralKind::Int; break;
      case TokenKind::Float: node.kind = LiteralKind::Float; break;
      case TokenKind::String: node.kind = LiteralKind::String; break;
      case TokenKind::BlockString:
        node.kind = LiteralKind::String;
        node.is_block = true;
        break;
      case TokenKind::Name:
        if (token_->text() == "true" || token_->text() == "false") {
          node.kind = LiteralKind::Boolean;
          node.boolean = token_->text() == "true";
        } else {
          node.kind = token_->text() == "null" ? LiteralKind::Null : LiteralKind::Enum;
        }
        break;
      case TokenKind::Dollar:
        if (is_const) return fail(token_->at, "a variable cannot stand here: the value must be constant");
        advance();
        node.kind = LiteralKind::Variable;
        node.has_variable = true;
        node.set_text(name("the variable's name").text());
        return;
      case TokenKind::BracketL: return list_value(node, is_const);
      case TokenKind::BraceL: return object_value(node, is_const);
      default: return unexpected("a value");
    }
    node.set_text(token_->text());
    advance();
  }

  void list_value(ValueNode& node, bool is_const) {
    node.kind = LiteralKind::List;
    if (!enter()) return;
    advance();
    Gather<ValueNode> items(scratch_);
    while (!failed_ && !take(TokenKind::BracketR)) {
      ValueNode item;
      value(item, is_const);
      node.has_variable |= item.has_variable;
      items.add(item);
    }
    node.set_items(items.into(arena_));
    leave();
  }

  void object_value(ValueNode& node, bool is_const) {
    node.kind = LiteralKind::Object;
    if (!enter()) return;
    advance();
    Gather<ObjectFieldNode> fields(scratch_);
    while (!failed_ && !take(TokenKind::BraceR)) {
      ObjectFieldNode field;
      field.name = name("a field name or \"}\"");
      expect(TokenKind::Colon);
      value(field.value, is_const);
      node.has_variable |= field.value.has_variable;
      fields.add(field);
    }
    node.set_fields(fields.into(arena_));
    leave();
  }

  const ValueNode* default_value() {
    if (!take(TokenKind::Equals)) return nullptr;
    auto* node = arena_.make<ValueNode>();
    value(*node, true);
    return node;
  }

  List<ArgumentNode> arguments(bool is_const) {
    if (!at(TokenKind::ParenL)) return {};
    advance();
    Chain<ArgumentNode> items;
    do {
      auto* argument = arena_.make<ArgumentNode>();
      argument->name = name("an argument's name");
      expect(TokenKind::Colon);
      value(argument->value, is_const);
      items.add(argument);
    } while (!failed_ && !take(TokenKind::ParenR));
    return items.list();
  }

  std::span<DirectiveNode> directives(bool is_const) {
    if (!at(TokenKind::At)) return {};
    Gather<DirectiveNode> items(scratch_);
    while (!failed_ && at(TokenKind::At)) {
      DirectiveNode directive;
      directive.at = token_->at;
      advance();
      directive.name = name("the directive's name");
      directive.arguments = arguments(is_const);
      items.add(directive);
    }
    return items.into(arena_);
  }

  void type_reference(TypeNode& node) {
    node.at = token_->at;
    if (at(TokenKind::Name)) {  // the usual forms
      node.name = name();
      if (take(TokenKind::Bang)) node.wrappers = kNonNullWrapper;
      return;
    }
    unsigned lists = 0;
    const auto too_deep = [&] {
      fail(token_->at, fmt::format("a type can have at most {} list and non-null wrappers", kMaxWrappers - 1), Rule::DocumentTooLarge);
    };
    while (!failed_ && take(TokenKind::BracketL)) {
      if (++lists >= kMaxWrappers) return too_deep();
    }
    node.name = name(lists > 0 ? "a type's name or \"[\"" : "a type");
    unsigned count = 0;
    const auto wrap = [&](Wrappers wrapper) {
      node.wrappers = node.wrappers << 2 | wrapper;
      ++count;
    };
    if (take(TokenKind::Bang)) wrap(kNonNullWrapper);
    for (; lists > 0 && !failed_; --lists) {
      expect(TokenKind::BracketR);
      wrap(kListWrapper);
      if (take(TokenKind::Bang)) wrap(kNonNullWrapper);
      if (lists > 1 && count + 2 > kMaxWrappers) return too_deep();
    }
  }

  // ---- operations and fragments

  const SelectionSetNode* selection_set() {
    auto* node = arena_.make<SelectionSetNode>();
    node->at = token_->at;
    node->id = document_.selection_sets++;
    if (!at(TokenKind::BraceL)) {
      unexpected("\"{\" and a selection set");
      return node;
    }
    if (!enter()) return node;
    advance();
    Chain<SelectionNode> items;
    do {
      items.add(selection());
    } while (!failed_ && !take(TokenKind::BraceR));
    node->selections = items.list();
    leave();
    return node;
  }

  SelectionNode* selection() {
    auto* node = arena_.make<SelectionNode>();
    node->at = token_->at;
    if (take(TokenKind::Spread)) {
      fragment_selection(*node);
      return node;
    }
    node->name = name("a field, \"...\" or \"}\"");
    if (at(TokenKind::Colon) || at(TokenKind::ParenL) || at(TokenKind::At)) field_extras(*node);
    if (at(TokenKind::BraceL)) node->selections = selection_set();
    return node;
  }

  /// What follows a field's name or its alias.
  void field_extras(SelectionNode& node) {
    auto* extras = arena_.make<SelectionExtras>();
    if (take(TokenKind::Colon)) {
      extras->alias = node.name;
      node.name = name("the field's name after its alias");
    }
    extras->arguments = arguments(false);
    extras->directives = directives(false);
    node.extras = extras;
  }

  void fragment_selection(SelectionNode& node) {
    const bool is_spread = at(TokenKind::Name) && token_->text() != "on";
    node.kind = is_spread ? SelectionKind::FragmentSpread : SelectionKind::InlineFragment;
    if (is_spread) {
      node.name = name();
    } else if (take_keyword("on")) {
      node.name = name("the type after \"on\"");
    }
    if (at(TokenKind::At)) {
      auto* extras = arena_.make<SelectionExtras>();
      extras->directives = directives(false);
      node.extras = extras;
    }
    if (!is_spread) node.selections = selection_set();
  }

  std::span<const VariableDefinitionNode* const> variable_definitions() {
    if (!take(TokenKind::ParenL)) return {};
    Gather<const VariableDefinitionNode*> items(scratch_);
    do {
      auto* node = arena_.make<VariableDefinitionNode>();
      node->description = description();
      node->at = token_->at;
      if (!at(TokenKind::Dollar)) {
        unexpected("a variable such as \"$id\"");
        break;
      }
      advance();
      node->name = name("the variable's name");
      expect(TokenKind::Colon);
      type_reference(node->type);
      node->default_value = default_value();
      node->directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(TokenKind::ParenR));
    return items.into(arena_);
  }

  const OperationNode* operation(const Description& described) {
    auto* node = arena_.make<OperationNode>();
    node->at = token_->at;
    node->description = described;
    if (at(TokenKind::BraceL)) {
      node->is_shorthand = true;
    } else {
      node->type = operation_type();
      if (at(TokenKind::Name)) node->name = name();
      node->variables = variable_definitions();
      node->directives = directives(false);
    }
    node->selections = selection_set();
    return node;
  }

  OperationType operation_type() {
    if (take_keyword("query")) return OperationType::Query;
    if (take_keyword("mutation")) return OperationType::Mutation;
    if (take_keyword("subscription")) return OperationType::Subscription;
    unexpected("\"query\", \"mutation\" or \"subscription\"");
    return OperationType::Query;
  }

  const FragmentNode* fragment(const Description& described) {
    auto* node = arena_.make<FragmentNode>();
    node->at = token_->at;
    node->description = described;
    advance();
    if (at_keyword("on")) fail(token_->at, "a fragment cannot be named \"on\"");
    node->name = name("the fragment's name");
    if (!take_keyword("on")) unexpected("\"on\" and the fragment's type");
    node->type_condition = name("the fragment's type");
    node->directives = directives(false);
    node->selections = selection_set();
    return node;
  }

  // ---- type system

  Description description() {
    Description result;
    if (at(TokenKind::String) || at(TokenKind::BlockString)) {
      result = {true, at(TokenKind::BlockString), token_->text(), token_->at};
      advance();
    }
    return result;
  }

  std::span<InputValueNode> input_values(TokenKind open, TokenKind close) {
    if (!take(open)) return {};
    Gather<InputValueNode> items(scratch_);
    do {
      InputValueNode node;
      node.description = description();
      node.name = name();
      expect(TokenKind::Colon);
      type_reference(node.type);
      node.default_value = default_value();
      node.directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(close));
    return items.into(arena_);
  }

  std::span<FieldDefinitionNode> field_definitions() {
    if (!take(TokenKind::BraceL)) return {};
    Gather<FieldDefinitionNode> items(scratch_);
    do {
      FieldDefinitionNode node;
      node.description = description();
      node.name = name("a field's name");
      node.arguments = input_values(TokenKind::ParenL, TokenKind::ParenR);
      expect(TokenKind::Colon);
      type_reference(node.type);
      node.directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(TokenKind::BraceR));
    return items.into(arena_);
  }

  std::span<EnumValueNode> enum_values() {
    if (!take(TokenKind::BraceL)) return {};
    Gather<EnumValueNode> items(scratch_);
    do {
      EnumValueNode node;
      node.description = description();
      if (at_keyword("true") || at_keyword("false") || at_keyword("null")) {
        fail(token_->at, fmt::format("the name \"{}\" is reserved and cannot be an enum value", token_->text()));
      }
      node.name = name("an enum value");
      node.directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(TokenKind::BraceR));
    return items.into(arena_);
  }

  /// Names separated by `separator`, which may also stand before the first.
  std::span<Name> separated_names(TokenKind separator) {
    Gather<Name> items(scratch_);
    take(separator);
    do items.add(name());
    while (!failed_ && take(separator));
    return items.into(arena_);
  }

  const SchemaDefinitionNode* schema_definition(bool is_extension, const Description& described) {
    auto* node = arena_.make<SchemaDefinitionNode>();
    node->at = token_->at;
    node->is_extension = is_extension;
    node->description = described;
    advance();
    node->directives = directives(true);
    if (is_extension && !at(TokenKind::BraceL)) {
      if (node->directives.empty()) unexpected("directives or \"{\" and root operation types");
      return node;
    }
    expect(TokenKind::BraceL);
    Gather<RootOperationNode> items(scratch_);
    if (!failed_) {
      do {
        RootOperationNode root;
        root.at = token_->at;
        root.type = operation_type();
        expect(TokenKind::Colon);
        root.name = name("the root type's name");
        items.add(root);
      } while (!failed_ && !take(TokenKind::BraceR));
    }
    node->operations = items.into(arena_);
    return node;
  }

  const TypeDefinitionNode* type_definition(TypeKind kind, bool is_extension, const Description& described) {
    auto* node = arena_.make<TypeDefinitionNode>();
    node->at = token_->at;
    node->kind = kind;
    node->is_extension = is_extension;
    node->description = described;
    advance();
    node->name = name("the type's name");
    const bool is_composite = kind == TypeKind::Object || kind == TypeKind::Interface;
    if (is_composite && take_keyword("implements")) node->interfaces = separated_names(TokenKind::Amp);
    node->directives = directives(true);
    switch (kind) {
      case TypeKind::Scalar: break;
      case TypeKind::Object:
      case TypeKind::Interface: node->fields = field_definitions(); break;
      case TypeKind::Union:
        if (take(TokenKind::Equals)) node->members = separated_names(TokenKind::Pipe);
        break;
      case TypeKind::Enum: node->values = enum_values(); break;
      case TypeKind::InputObject: node->input_fields = input_values(TokenKind::BraceL, TokenKind::BraceR); break;
    }
    const bool is_empty = node->interfaces.empty() && node->directives.empty() && node->fields.empty() &&
                          node->members.empty() && node->values.empty() && node->input_fields.empty();
    if (is_extension && is_empty) unexpected("what the extension adds");
    return node;
  }

  const DirectiveDefinitionNode* directive_definition(const Description& described) {
    auto* node = arena_.make<DirectiveDefinitionNode>();
    node->at = token_->at;
    node->description = described;
    advance();
    expect(TokenKind::At);
    node->name = name("the directive's name");
    node->arguments = input_values(TokenKind::ParenL, TokenKind::ParenR);
    node->is_repeatable = take_keyword("repeatable");
    if (!take_keyword("on")) unexpected("\"on\" and the directive's locations");
    node->locations = separated_names(TokenKind::Pipe);
    return node;
  }

  static std::optional<TypeKind> type_kind(std::string_view keyword) {
    if (keyword == "scalar") return TypeKind::Scalar;
    if (keyword == "type") return TypeKind::Object;
    if (keyword == "interface") return TypeKind::Interface;
    if (keyword == "union") return TypeKind::Union;
    if (keyword == "enum") return TypeKind::Enum;
    if (keyword == "input") return TypeKind::InputObject;
    return std::nullopt;
  }

  void definition(DefinitionNode& node) {
    node.at = token_->at;
    const Description described = description();
    if (failed_) return;
    if (at(TokenKind::BraceL)) {
      if (described.present) return fail(described.at, "a query in its short form cannot have a description");
      node.operation = operation(described);
    } else if (!at(TokenKind::Name)) {
      return unexpected("a definition");
    } else if (at_keyword("query") || at_keyword("mutation") || at_keyword("subscription")) {
      node.operation = operation(described);
    } else if (at_keyword("fragment")) {
      node.kind = DefinitionKind::Fragment;
      node.fragment = fragment(described);
    } else {
      bool is_extension = false;
      if (at_keyword("extend")) {
        if (described.present) return fail(described.at, "an extension cannot have a description");
        is_extension = true;
        advance();
      }
      if (const auto kind = at(TokenKind::Name) ? type_kind(token_->text()) : std::nullopt) {
        node.kind = DefinitionKind::Type;
        node.type = type_definition(*kind, is_extension, described);
      } else if (at_keyword("schema")) {
        node.kind = DefinitionKind::Schema;
        node.schema = schema_definition(is_extension, described);
      } else if (at_keyword("directive") && !is_extension) {
        node.kind = DefinitionKind::Directive;
        node.directive = directive_definition(described);
      } else {
        return unexpected(is_extension ? "what to extend: \"schema\", \"type\" and so on" : "a definition");
      }
    }
  }

  Document& document_;
  Arena& arena_;
  ParseLimits limits_;
  Lexer lexer_;
  const Token* token_ = nullptr;
  const Token* batch_end_ = nullptr;
  std::uint32_t tokens_ = 0;
  std::uint32_t depth_ = 0;
  bool failed_ = false;
  bool too_many_tokens_ = false;
  std::optional<Error> error_;
  static constexpr std::size_t kBatch = 64;
  Token batch_[kBatch];
  Scratch scratch_;
};

/// Allocates `tail` bytes more than asked for, behind what it was asked for.
template <class T>
struct TailAllocator {
  using value_type = T;

  TailAllocator(std::size_t tail_in, char*& begin_in) : tail(tail_in), begin(&begin_in) {}
  template <class Other>
  TailAllocator(const TailAllocator<Other>& other) : tail(other.tail), begin(other.begin) {}

  T* allocate(std::size_t count) {
    char* const memory = static_cast<char*>(::operator new(count * sizeof(T) + tail));
    *begin = memory + count * sizeof(T);
    return reinterpret_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(static_cast<void*>(memory)); }
  template <class Other>
  bool operator==(const TailAllocator<Other>&) const {
    return true;  // what one allocated any may give back
  }

  std::size_t tail;
  char** begin;  ///< used by allocate() only
};

/// A document and its arena's first block in one allocation. Nodes take a few times the text's size.
std::shared_ptr<Document> make_document(std::size_t text_size) {
  const std::size_t tail = std::min<std::size_t>(text_size * 13 + 512, 64 * 1024);
  char* begin = nullptr;
  auto document = std::allocate_shared<Document>(TailAllocator<Document>(tail, begin));
  document->arena = Arena(std::span(begin, tail));
  return document;
}

}  // namespace

std::string_view name_of(OperationType type) {
  switch (type) {
    case OperationType::Query: return "query";
    case OperationType::Mutation: return "mutation";
    case OperationType::Subscription: return "subscription";
  }
  return "";
}

Result<DocumentPtr, Error> parse(Source source, const ParseLimits& limits) {
  if (source.text.size() > limits.bytes || source.text.size() >= 0xFFFFFFF0U) {
    Error error;
    error.rule = Rule::DocumentTooLarge;
    error.message = fmt::format("Document too large: {} bytes, at most {} are allowed", source.text.size(), limits.bytes);
    error.source = std::string(source.name);
    return error;
  }
  const auto document = make_document(source.text.size());
  document->name = document->arena.copy(source.name);
  char* const text = static_cast<char*>(document->arena.allocate(source.text.size() + Lexer::kPadding, 1));
  if (!source.text.empty()) std::memcpy(text, source.text.data(), source.text.size());
  std::memset(text + source.text.size(), 0, Lexer::kPadding);
  document->text = {text, source.text.size()};
  Parser parser(*document, limits);
  if (auto error = parser.run()) return *std::move(error);
  return DocumentPtr(document);
}

}  // namespace fanfare::graphql
