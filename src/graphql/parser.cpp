// Recursive descent with one token of lookahead. Lists are gathered on stacks that all levels share and copied into the
// arena when they close, so that a parse allocates a handful of times whatever its size.
#include "graphql/parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "graphql/lexer.h"

namespace fanfare::graphql {
namespace {

/// The items of a list that is being read: those above `base` on a shared stack.
template <class T>
class Gather {
 public:
  explicit Gather(std::vector<T>& stack) : stack_(stack), base_(stack.size()) {}
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;
  ~Gather() { stack_.resize(base_); }
  void add(const T& item) { stack_.push_back(item); }
  template <class... Arguments>
  void emplace(const Arguments&... arguments) {
    stack_.emplace_back(arguments...);
  }
  [[nodiscard]] bool empty() const { return stack_.size() == base_; }
  std::span<T> into(Arena& arena) { return arena.copy(std::span<const T>(stack_).subspan(base_)); }

 private:
  std::vector<T>& stack_;
  std::size_t base_;
};

class Parser {
 public:
  Parser(Document& document, const ParseLimits& limits)
      : document_(document), arena_(document.arena), limits_(limits), lexer_(document.text, document.arena) {
    limits_.depth = std::min(limits_.depth, ParseLimits::kDeepest);
    // What a usual request needs; a schema grows its own.
    selections_.reserve(32);
    arguments_.reserve(8);
    directives_.reserve(4);
  }

  std::optional<Error> run() {
    advance();
    if (!failed_ && token_.kind == TokenKind::End) fail(token_.at, "the document is empty; expected a definition");
    Gather<DefinitionNode> definitions(definitions_);
    while (!failed_ && token_.kind != TokenKind::End) definition(definitions);
    if (failed_) return std::move(error_);
    document_.definitions = definitions.into(arena_);
    document_.tokens = tokens_;
    std::vector<const OperationNode*> operations;
    std::vector<const FragmentNode*> fragments;
    for (const DefinitionNode& definition : document_.definitions) {
      if (definition.operation != nullptr) operations.push_back(definition.operation);
      if (definition.fragment != nullptr) fragments.push_back(definition.fragment);
    }
    document_.operations = arena_.copy(std::span<const OperationNode* const>(operations));
    document_.fragments = arena_.copy(std::span<const FragmentNode* const>(fragments));
    return std::nullopt;
  }

 private:
  // ---- tokens

  void advance() {
    if (failed_) return;
    lexer_.next(token_);
    if (token_.kind == TokenKind::Error) {
      fail(lexer_.error_at(), lexer_.error());
    } else if (++tokens_ > limits_.tokens && token_.kind != TokenKind::End) {
      fail(token_.at, fmt::format("the document has more than {} tokens", limits_.tokens), Rule::DocumentTooLarge);
    }
  }

  void fail(Offset at, std::string message, Rule rule = Rule::Syntax) {
    if (failed_) return;
    failed_ = true;
    error_.rule = rule;
    error_.message = (rule == Rule::Syntax ? "Syntax error: " : "Document too large: ") + std::move(message);
    error_.locations = {locate(document_.text, at)};
    error_.source = std::string(document_.name);
    token_ = {TokenKind::End, at, {}};
  }

  void unexpected(std::string_view wanted) {
    fail(token_.at, fmt::format("expected {}, found {}", wanted, describe(token_)));
  }

  [[nodiscard]] bool at(TokenKind kind) const { return token_.kind == kind; }
  [[nodiscard]] bool at_keyword(std::string_view word) const { return at(TokenKind::Name) && token_.text == word; }

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
    const Name result{token_.text, token_.at};
    advance();
    return result;
  }

  /// False, with an error, if one more level is too deep.
  bool enter() {
    if (++depth_ <= limits_.depth) return true;
    fail(token_.at, fmt::format("nested deeper than {} levels", limits_.depth), Rule::DocumentTooLarge);
    return false;
  }
  void leave() { --depth_; }

  // ---- values

  ValueNode value(bool is_const) {
    ValueNode node;
    node.at = token_.at;
    switch (token_.kind) {
      case TokenKind::Int: node.kind = LiteralKind::Int; break;
      case TokenKind::Float: node.kind = LiteralKind::Float; break;
      case TokenKind::String: node.kind = LiteralKind::String; break;
      case TokenKind::BlockString:
        node.kind = LiteralKind::String;
        node.is_block = true;
        break;
      case TokenKind::Name:
        if (token_.text == "true" || token_.text == "false") {
          node.kind = LiteralKind::Boolean;
          node.boolean = token_.text == "true";
        } else if (token_.text == "null") {
          node.kind = LiteralKind::Null;
        } else {
          node.kind = LiteralKind::Enum;
        }
        break;
      case TokenKind::Dollar:
        if (is_const) {
          fail(token_.at, "a variable cannot stand here: the value must be constant");
          return node;
        }
        advance();
        node.kind = LiteralKind::Variable;
        node.has_variable = true;
        node.text = name("the variable's name").text;
        return node;
      case TokenKind::BracketL: return list_value(is_const);
      case TokenKind::BraceL: return object_value(is_const);
      default:
        unexpected("a value");
        return node;
    }
    node.text = token_.text;
    advance();
    return node;
  }

  ValueNode list_value(bool is_const) {
    ValueNode node;
    node.kind = LiteralKind::List;
    node.at = token_.at;
    if (!enter()) return node;
    advance();
    Gather<ValueNode> items(values_);
    while (!failed_ && !take(TokenKind::BracketR)) {
      const ValueNode item = value(is_const);
      node.has_variable |= item.has_variable;
      items.add(item);
    }
    node.items = items.into(arena_);
    leave();
    return node;
  }

  ValueNode object_value(bool is_const) {
    ValueNode node;
    node.kind = LiteralKind::Object;
    node.at = token_.at;
    if (!enter()) return node;
    advance();
    Gather<ObjectFieldNode> fields(object_fields_);
    while (!failed_ && !take(TokenKind::BraceR)) {
      ObjectFieldNode field;
      field.name = name("a field name or \"}\"");
      expect(TokenKind::Colon);
      field.value = value(is_const);
      node.has_variable |= field.value.has_variable;
      fields.add(field);
    }
    node.fields = fields.into(arena_);
    leave();
    return node;
  }

  const ValueNode* default_value() {
    if (!take(TokenKind::Equals)) return nullptr;
    return arena_.make<ValueNode>(value(true));
  }

  std::span<ArgumentNode> arguments(bool is_const) {
    if (!at(TokenKind::ParenL)) return {};
    advance();
    Gather<ArgumentNode> items(arguments_);
    do {
      ArgumentNode argument;
      argument.name = name("an argument's name");
      expect(TokenKind::Colon);
      argument.value = value(is_const);
      items.add(argument);
    } while (!failed_ && !take(TokenKind::ParenR));
    return items.into(arena_);
  }

  std::span<DirectiveNode> directives(bool is_const) {
    if (!at(TokenKind::At)) return {};
    Gather<DirectiveNode> items(directives_);
    while (!failed_ && at(TokenKind::At)) {
      DirectiveNode directive;
      directive.at = token_.at;
      advance();
      directive.name = name("the directive's name");
      directive.arguments = arguments(is_const);
      items.add(directive);
    }
    return items.into(arena_);
  }

  TypeNode type_reference() {
    TypeNode node;
    node.at = token_.at;
    unsigned lists = 0;
    const auto too_deep = [&] {
      fail(token_.at, fmt::format("a type can have at most {} list and non-null wrappers", kMaxWrappers - 1),
           Rule::DocumentTooLarge);
      return node;
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
    return node;
  }

  // ---- operations and fragments

  const SelectionSetNode* selection_set() {
    auto* node = arena_.make<SelectionSetNode>();
    node->at = token_.at;
    node->id = document_.selection_sets++;
    if (!at(TokenKind::BraceL)) {
      unexpected("\"{\" and a selection set");
      return node;
    }
    if (!enter()) return node;
    advance();
    Gather<SelectionNode> items(selections_);
    do {
      selection(items);
    } while (!failed_ && !take(TokenKind::BraceR));
    node->selections = items.into(arena_);
    leave();
    return node;
  }

  // The node is made where it stays, once its parts are there: copying it whole costs more than parsing it.
  void selection(Gather<SelectionNode>& out) {
    const Offset start = token_.at;
    if (take(TokenKind::Spread)) return fragment_selection(out, start);
    Name field = name("a field, \"...\" or \"}\"");
    Name alias;
    if (take(TokenKind::Colon)) {
      alias = field;
      field = name("the field's name after its alias");
    }
    const auto given = arguments(false);
    const auto applied = directives(false);
    const SelectionSetNode* below = at(TokenKind::BraceL) ? selection_set() : nullptr;
    out.emplace(SelectionKind::Field, start, alias, field, given, applied, below);
  }

  void fragment_selection(Gather<SelectionNode>& out, Offset start) {
    const bool is_spread = at(TokenKind::Name) && token_.text != "on";
    Name fragment;
    if (is_spread) {
      fragment = name();
    } else if (take_keyword("on")) {
      fragment = name("the type after \"on\"");
    }
    const auto applied = directives(false);
    const SelectionSetNode* below = is_spread ? nullptr : selection_set();
    const SelectionKind kind = is_spread ? SelectionKind::FragmentSpread : SelectionKind::InlineFragment;
    out.emplace(kind, start, Name{}, fragment, std::span<ArgumentNode>{}, applied, below);
  }

  std::span<VariableDefinitionNode> variable_definitions() {
    if (!take(TokenKind::ParenL)) return {};
    Gather<VariableDefinitionNode> items(variables_);
    do {
      VariableDefinitionNode node;
      node.description = description();
      node.at = token_.at;
      if (!at(TokenKind::Dollar)) {
        unexpected("a variable such as \"$id\"");
        break;
      }
      advance();
      node.name = name("the variable's name");
      expect(TokenKind::Colon);
      node.type = type_reference();
      node.default_value = default_value();
      node.directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(TokenKind::ParenR));
    return items.into(arena_);
  }

  const OperationNode* operation(const Description& described) {
    auto* node = arena_.make<OperationNode>();
    node->at = token_.at;
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
    node->at = token_.at;
    node->description = described;
    advance();
    if (at_keyword("on")) fail(token_.at, "a fragment cannot be named \"on\"");
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
      result = {true, at(TokenKind::BlockString), token_.text, token_.at};
      advance();
    }
    return result;
  }

  std::span<InputValueNode> input_values(TokenKind open, TokenKind close) {
    if (!take(open)) return {};
    Gather<InputValueNode> items(input_values_);
    do {
      InputValueNode node;
      node.description = description();
      node.name = name();
      expect(TokenKind::Colon);
      node.type = type_reference();
      node.default_value = default_value();
      node.directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(close));
    return items.into(arena_);
  }

  std::span<FieldDefinitionNode> field_definitions() {
    if (!take(TokenKind::BraceL)) return {};
    Gather<FieldDefinitionNode> items(field_definitions_);
    do {
      FieldDefinitionNode node;
      node.description = description();
      node.name = name("a field's name");
      node.arguments = input_values(TokenKind::ParenL, TokenKind::ParenR);
      expect(TokenKind::Colon);
      node.type = type_reference();
      node.directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(TokenKind::BraceR));
    return items.into(arena_);
  }

  std::span<EnumValueNode> enum_values() {
    if (!take(TokenKind::BraceL)) return {};
    Gather<EnumValueNode> items(enum_values_);
    do {
      EnumValueNode node;
      node.description = description();
      if (at_keyword("true") || at_keyword("false") || at_keyword("null")) {
        fail(token_.at, fmt::format("the name \"{}\" is reserved and cannot be an enum value", token_.text));
      }
      node.name = name("an enum value");
      node.directives = directives(true);
      items.add(node);
    } while (!failed_ && !take(TokenKind::BraceR));
    return items.into(arena_);
  }

  /// Names separated by `separator`, which may also stand before the first.
  std::span<Name> separated_names(TokenKind separator) {
    Gather<Name> items(names_);
    take(separator);
    do items.add(name());
    while (!failed_ && take(separator));
    return items.into(arena_);
  }

  const SchemaDefinitionNode* schema_definition(bool is_extension, const Description& described) {
    auto* node = arena_.make<SchemaDefinitionNode>();
    node->at = token_.at;
    node->is_extension = is_extension;
    node->description = described;
    advance();
    node->directives = directives(true);
    if (is_extension && !at(TokenKind::BraceL)) {
      if (node->directives.empty()) unexpected("directives or \"{\" and root operation types");
      return node;
    }
    expect(TokenKind::BraceL);
    Gather<RootOperationNode> items(roots_);
    if (!failed_) {
      do {
        RootOperationNode root;
        root.at = token_.at;
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
    node->at = token_.at;
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
    node->at = token_.at;
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

  void definition(Gather<DefinitionNode>& out) {
    DefinitionNode node;
    node.at = token_.at;
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
      if (const auto kind = at(TokenKind::Name) ? type_kind(token_.text) : std::nullopt) {
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
    out.add(node);
  }

  Document& document_;
  Arena& arena_;
  ParseLimits limits_;
  Lexer lexer_;
  Token token_;
  std::uint32_t tokens_ = 0;
  std::uint32_t depth_ = 0;
  bool failed_ = false;
  Error error_;

  std::vector<DefinitionNode> definitions_;
  std::vector<SelectionNode> selections_;
  std::vector<ValueNode> values_;
  std::vector<ObjectFieldNode> object_fields_;
  std::vector<ArgumentNode> arguments_;
  std::vector<DirectiveNode> directives_;
  std::vector<VariableDefinitionNode> variables_;
  std::vector<InputValueNode> input_values_;
  std::vector<FieldDefinitionNode> field_definitions_;
  std::vector<EnumValueNode> enum_values_;
  std::vector<RootOperationNode> roots_;
  std::vector<Name> names_;
};

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
  auto document = std::make_shared<Document>();
  // Nodes take a few times the text's size; one block for a usual document.
  document->arena = Arena(std::clamp<std::size_t>(source.text.size() * 6 + 1024, 2048, std::size_t{1} << 20));
  document->name = document->arena.copy(source.name);
  const auto text = document->arena.array<char>(source.text.size() + Lexer::kPadding);
  std::copy(source.text.begin(), source.text.end(), text.begin());
  document->text = {text.data(), source.text.size()};
  Parser parser(*document, limits);
  if (auto error = parser.run()) return *std::move(error);
  return DocumentPtr(std::move(document));
}

}  // namespace fanfare::graphql
