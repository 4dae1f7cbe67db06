// From definitions to linked types, in phases: gather definitions and extensions by name, make types in the order of the
// SDL, resolve the names in them, then check the rules. A phase that found something wrong ends the build.
#include "graphql/schema_build.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "graphql/builtin.h"
#include "graphql/coerce.h"
#include "graphql/printer.h"

namespace fanfare::graphql {
namespace {

constexpr std::string_view kMetaType = "__Meta";

/// A definition with its extensions, before and while it becomes a type.
struct Draft {
  Type* type = nullptr;
  const TypeDefinitionNode* definition = nullptr;
  const Document* document = nullptr;
  std::vector<std::pair<const TypeDefinitionNode*, const Document*>> extensions;
  bool is_listed = false;
};

ScalarKind builtin_scalar(std::string_view name) {
  if (name == "Int") return ScalarKind::Int;
  if (name == "Float") return ScalarKind::Float;
  if (name == "String") return ScalarKind::String;
  if (name == "Boolean") return ScalarKind::Boolean;
  if (name == "ID") return ScalarKind::Id;
  return ScalarKind::Custom;
}

std::string_view describe(TypeKind kind) {
  switch (kind) {
    case TypeKind::Scalar: return "a scalar";
    case TypeKind::Object: return "an object type";
    case TypeKind::Interface: return "an interface";
    case TypeKind::Union: return "a union";
    case TypeKind::Enum: return "an enum";
    case TypeKind::InputObject: return "an input object";
  }
  return "";
}

class Builder {
 public:
  Builder(Schema& schema, SchemaErrors& errors) : schema_(schema), arena_(schema.arena), errors_(errors) {}

  bool build() {
    gather();
    if (!errors_.empty()) return false;
    make_types();
    make_directives();
    make_introspection_types();
    find_roots();
    if (!errors_.empty()) return false;
    link_possible_types();
    return true;
  }

 private:
  [[nodiscard]] bool is_builtin(const Document& document) const { return &document == schema_.documents.front().get(); }

  // ---- definitions by name

  void gather() {
    for (const DocumentPtr& document : schema_.documents) {
      for (const DefinitionNode& definition : document->definitions) {
        if (definition.type != nullptr && !definition.type->is_extension) define(*definition.type, *document);
        if (definition.directive != nullptr) define(*definition.directive, *document);
        if (definition.schema != nullptr && !definition.schema->is_extension) {
          if (schema_definition_ != nullptr) {
            errors_.report(Rule::LoneSchemaDefinition, {document.get(), definition.schema->at},
                           "There can be only one schema definition; use \"extend schema\" for more.");
          }
          schema_definition_ = definition.schema;
          schema_parts_.insert(schema_parts_.begin(), {definition.schema, document.get()});
        }
        if (definition.operation != nullptr || definition.fragment != nullptr) {
          errors_.report(Rule::TypeSystemDefinitions, {document.get(), definition.at},
                         "A schema cannot contain operations or fragments.");
        }
      }
    }
    for (const DocumentPtr& document : schema_.documents) {
      for (const DefinitionNode& definition : document->definitions) {
        if (definition.type != nullptr && definition.type->is_extension) extend(*definition.type, *document);
        if (definition.schema != nullptr && definition.schema->is_extension) {
          schema_parts_.emplace_back(definition.schema, document.get());
        }
      }
    }
  }

  void define(const TypeDefinitionNode& node, const Document& document) {
    const auto [at, is_new] = drafts_.try_emplace(node.name.text());
    Draft& draft = at->second;
    if (!is_new) {
      const bool is_same_scalar = is_builtin(*draft.document) && draft.definition->kind == TypeKind::Scalar &&
                                  node.kind == TypeKind::Scalar;
      if (is_same_scalar) return;  // a built-in scalar may be written down
      errors_.report(Rule::UniqueTypeNames, {&document, node.name.at},
                     fmt::format("There can be only one type named \"{}\".", node.name.text()));
      return;
    }
    draft.type = arena_.make<Type>();
    draft.definition = &node;
    draft.document = &document;
    draft.type->name = node.name.text();
    draft.type->kind = node.kind;
    draft.type->description = node.description;
    draft.type->is_builtin = is_builtin(document);
    draft.type->is_introspection = is_builtin(document) && node.name.text().starts_with("__");
    draft.type->place = {&document, node.name.at};
    if (!is_builtin(document)) order_.push_back(&draft);
  }

  void define(const DirectiveDefinitionNode& node, const Document& document) {
    for (auto& [definition, where] : directive_definitions_) {
      if (definition->name.text() != node.name.text()) continue;
      if (is_builtin(*where)) {
        definition = &node;  // the text's own definition of a built-in directive takes its place
        where = &document;
      } else {
        errors_.report(Rule::UniqueDirectiveNames, {&document, node.name.at},
                       fmt::format("There can be only one directive named \"@{}\".", node.name.text()));
      }
      return;
    }
    directive_definitions_.emplace_back(&node, &document);
  }

  void extend(const TypeDefinitionNode& node, const Document& document) {
    const Place place{&document, node.name.at};
    const auto at = drafts_.find(node.name.text());
    if (at == drafts_.end() || at->second.type->is_introspection) {
      std::vector<std::string_view> names;
      for (const Draft* draft : order_) names.push_back(draft->type->name);
      errors_.report(Rule::PossibleTypeExtensions, place,
                     fmt::format("Cannot extend the type \"{}\": it is not defined.{}", node.name.text(), did_you_mean(node.name.text(), names)));
      return;
    }
    if (at->second.type->kind != node.kind) {
      errors_.report(Rule::PossibleTypeExtensions, place,
                     fmt::format("Cannot extend \"{}\" as {}: it is {}.", node.name.text(), describe(node.kind), describe(at->second.type->kind)));
      return;
    }
    if (at->second.type->is_builtin) at->second.type->place = place;  // for errors: the text's own part
    at->second.extensions.emplace_back(&node, &document);
  }

  // ---- types

  /// All parts of a draft: the definition and then its extensions.
  template <class Each>
  static void each_part(const Draft& draft, Each each) {
    each(*draft.definition, *draft.document);
    for (const auto& [node, document] : draft.extensions) each(*node, *document);
  }

  template <class Part>
  static std::size_t count_parts(const Draft& draft, Part part) {
    std::size_t count = 0;
    each_part(draft, [&](const TypeDefinitionNode& node, const Document&) { count += (node.*part).size(); });
    return count;
  }

  void make_types() {
    for (Draft* draft : order_) {
      list(*draft);
      fill(*draft);
    }
  }

  void make_introspection_types() {
    for (const char* name : {"__Schema", "__Type", "__TypeKind", "__Field", "__InputValue", "__EnumValue", "__Directive",
                             "__DirectiveLocation"}) {
      Draft& draft = drafts_.find(name)->second;
      list(draft);
      fill(draft);
    }
    Draft& meta = drafts_.find(kMetaType)->second;
    fill(meta);
    schema_.schema_field = &meta.type->fields[0];
    schema_.type_field = &meta.type->fields[1];
    schema_.typename_field = &meta.type->fields[2];
  }

  void list(Draft& draft) {
    if (draft.is_listed) return;
    draft.is_listed = true;
    draft.type->id = static_cast<std::uint32_t>(schema_.types.size());
    schema_.types.push_back(draft.type);
  }

  const Type* resolve(const Name& name, const Document& document) {
    const auto at = drafts_.find(name.text());
    if (at == drafts_.end() || name.text() == kMetaType) {
      std::vector<std::string_view> names;
      for (const Draft* draft : order_) names.push_back(draft->type->name);
      errors_.report(Rule::KnownTypes, {&document, name.at},
                     fmt::format("Unknown type \"{}\".{}", name.text(), did_you_mean(name.text(), names)));
      return nullptr;
    }
    Draft& draft = at->second;
    if (draft.type->is_builtin && draft.type->kind == TypeKind::Scalar && !draft.is_listed) {
      list(draft);  // at its first use
      fill(draft);
    }
    return draft.type;
  }

  TypeRef resolve(const TypeNode& node, const Document& document) { return {resolve(node.name, document), node.wrappers}; }

  std::span<const DirectiveNode> applied(const Draft& draft) {
    if (draft.extensions.empty()) return draft.definition->directives;
    std::vector<DirectiveNode> all;
    each_part(draft, [&](const TypeDefinitionNode& node, const Document&) {
      all.insert(all.end(), node.directives.begin(), node.directives.end());
    });
    return arena_.copy(std::span<const DirectiveNode>(all));
  }

  static Deprecation deprecation(std::span<const DirectiveNode> directives) {
    const DirectiveNode* node = find_directive(directives, "deprecated");
    if (node == nullptr) return {};
    Deprecation result{true, "No longer supported"};
    for (const ArgumentNode& argument : node->arguments) {
      if (argument.name.text() == "reason" && argument.value.kind == LiteralKind::String) result.reason = argument.value.text();
    }
    return result;
  }

  void fill(InputValue& value, const InputValueNode& node, const Document& document) {
    value.name = node.name.text();
    value.description = node.description;
    value.type = resolve(node.type, document);
    value.default_literal = node.default_value;
    value.deprecation = deprecation(node.directives);
    value.directives = node.directives;
    value.place = {&document, node.name.at};
    value.type_place = {&document, node.type.at};
  }

  std::span<InputValue> input_values(std::span<const InputValueNode> nodes, const Document& document) {
    const auto values = arena_.array<InputValue>(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) fill(values[i], nodes[i], document);
    return values;
  }

  void fill(Draft& draft) {
    Type& type = *draft.type;
    type.directives = applied(draft);
    type.fields = arena_.array<Field>(count_parts(draft, &TypeDefinitionNode::fields));
    type.interfaces = arena_.array<const Type*>(count_parts(draft, &TypeDefinitionNode::interfaces));
    type.values = arena_.array<EnumValue>(count_parts(draft, &TypeDefinitionNode::values));
    type.input_fields = arena_.array<InputValue>(count_parts(draft, &TypeDefinitionNode::input_fields));
    type.possible = arena_.array<const Type*>(count_parts(draft, &TypeDefinitionNode::members));
    std::size_t field = 0;
    std::size_t interface = 0;
    std::size_t value = 0;
    std::size_t input_field = 0;
    std::size_t member = 0;
    each_part(draft, [&](const TypeDefinitionNode& node, const Document& document) {
      for (const Name& name : node.interfaces) type.interfaces[interface++] = resolve(name, document);
      for (const Name& name : node.members) type.possible[member++] = resolve(name, document);
      for (const FieldDefinitionNode& definition : node.fields) {
        Field& made = type.fields[field++];
        made.name = definition.name.text();
        made.description = definition.description;
        made.type = resolve(definition.type, document);
        made.arguments = input_values(definition.arguments, document);
        made.deprecation = deprecation(definition.directives);
        made.directives = definition.directives;
        made.parent = &type;
        made.id = schema_.field_count++;
        made.place = {&document, definition.name.at};
        made.type_place = {&document, definition.type.at};
      }
      for (const EnumValueNode& definition : node.values) {
        type.values[value++] = {definition.name.text(), definition.description, deprecation(definition.directives),
                                definition.directives, {&document, definition.name.at}};
      }
      for (const InputValueNode& definition : node.input_fields) fill(type.input_fields[input_field++], definition, document);
    });
    switch (type.kind) {
      case TypeKind::Scalar: {
        type.scalar = type.is_builtin ? builtin_scalar(type.name) : ScalarKind::Custom;
        if (const auto codec = schema_.codecs.find(type.name); codec != schema_.codecs.end()) type.codec = &codec->second;
        if (const DirectiveNode* node = find_directive(type.directives, "specifiedBy")) {
          for (const ArgumentNode& argument : node->arguments) {
            if (argument.name.text() == "url" && argument.value.kind == LiteralKind::String) type.specified_by = argument.value.text();
          }
        }
        break;
      }
      case TypeKind::Object:
      case TypeKind::Interface:
        type.table = NameTable(arena_, type.fields.size(), [&](std::size_t i) { return type.fields[i].name; });
        break;
      case TypeKind::Enum:
        type.table = NameTable(arena_, type.values.size(), [&](std::size_t i) { return type.values[i].name; });
        break;
      case TypeKind::InputObject:
        type.is_one_of = find_directive(type.directives, "oneOf") != nullptr;
        type.table = NameTable(arena_, type.input_fields.size(), [&](std::size_t i) { return type.input_fields[i].name; });
        break;
      case TypeKind::Union: break;
    }
  }

  // ---- directives and roots

  void make_directives() {
    // The text's own first, then the built-in ones that it does not define.
    std::stable_sort(directive_definitions_.begin(), directive_definitions_.end(), [this](const auto& a, const auto& b) {
      return !is_builtin(*a.second) && is_builtin(*b.second);
    });
    for (const auto& [node, document] : directive_definitions_) {
      auto* directive = arena_.make<Directive>();
      directive->name = node->name.text();
      directive->description = node->description;
      directive->arguments = input_values(node->arguments, *document);
      directive->is_repeatable = node->is_repeatable;
      directive->is_builtin = is_builtin(*document);
      directive->place = {document, node->name.at};
      std::vector<DirectiveLocation> locations;
      for (const Name& name : node->locations) {
        std::size_t location = 0;
        while (location < kDirectiveLocations && name_of(static_cast<DirectiveLocation>(location)) != name.text()) ++location;
        if (location == kDirectiveLocations) {
          errors_.report(Rule::DirectiveLocations, {document, name.at}, fmt::format("\"{}\" is not a directive location.", name.text()));
          continue;
        }
        if (directive->allows(static_cast<DirectiveLocation>(location))) {
          errors_.report(Rule::DirectiveLocations, {document, name.at},
                         fmt::format("The location {} is named twice for \"@{}\".", name.text(), node->name.text()));
          continue;
        }
        directive->locations |= 1U << location;
        locations.push_back(static_cast<DirectiveLocation>(location));
      }
      directive->location_list = arena_.copy(std::span<const DirectiveLocation>(locations));
      schema_.directives.push_back(directive);
    }
  }

  const Type*& root_slot(OperationType type) {
    return type == OperationType::Query ? schema_.query : type == OperationType::Mutation ? schema_.mutation : schema_.subscription;
  }

  void find_roots() {
    schema_.type_table = NameTable(arena_, schema_.types.size(), [&](std::size_t i) { return schema_.types[i]->name; });
    schema_.directive_table =
        NameTable(arena_, schema_.directives.size(), [&](std::size_t i) { return schema_.directives[i]->name; });
    std::vector<DirectiveNode> applied;
    std::array<bool, 3> is_given{};
    for (const auto& [node, document] : schema_parts_) {
      if (node->description.present) schema_.description = node->description;
      applied.insert(applied.end(), node->directives.begin(), node->directives.end());
      for (const RootOperationNode& root : node->operations) {
        bool& given = is_given[static_cast<std::size_t>(root.type)];
        if (given) {
          errors_.report(Rule::UniqueOperationTypes, {document, root.at},
                         fmt::format("There can be only one {} type in a schema.", name_of(root.type)));
          continue;
        }
        given = true;
        const Type* type = resolve(root.name, *document);
        root_slot(root.type) = type;
        if (type != nullptr && type->kind != TypeKind::Object) {
          errors_.report(Rule::RootTypes, {document, root.name.at},
                         fmt::format("The {} root type must be an object type; \"{}\" is {}.", name_of(root.type), type->name,
                                     describe(type->kind)));
        }
      }
    }
    schema_.applied = arena_.copy(std::span<const DirectiveNode>(applied));
    if (schema_definition_ == nullptr) default_roots(is_given);
    if (schema_.query == nullptr && errors_.empty()) {
      errors_.report(Rule::RootTypes, {schema_.documents.back().get(), 0},
                     "The schema has no query root type; define \"type Query\" or name one in \"schema { query: ... }\".");
    }
    check_roots_differ();
  }

  /// Without a schema definition the types' names decide. [GraphQL 3.3.1 Default Root Operation Type Names]
  void default_roots(const std::array<bool, 3>& is_given) {
    constexpr std::array<std::string_view, 3> kNames{"Query", "Mutation", "Subscription"};
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (is_given[i]) continue;
      const Type* type = schema_.find_type(kNames[i]);
      if (type == nullptr) continue;
      if (type->kind == TypeKind::Object) {
        root_slot(static_cast<OperationType>(i)) = type;
      } else {
        errors_.report(Rule::RootTypes, type->place,
                       fmt::format("The {} root type must be an object type; \"{}\" is {}.", name_of(static_cast<OperationType>(i)),
                                   type->name, describe(type->kind)));
      }
    }
  }

  void check_roots_differ() {
    const auto same = [this](const Type* a, const Type* b) {
      if (a == nullptr || a != b) return;
      const Place place = schema_parts_.empty() ? a->place : Place{schema_parts_[0].second, schema_parts_[0].first->at};
      errors_.report(Rule::RootTypes, place, fmt::format("The root types must differ, but \"{}\" is used for two kinds of operation.", a->name));
    };
    same(schema_.query, schema_.mutation);
    same(schema_.query, schema_.subscription);
    same(schema_.mutation, schema_.subscription);
  }

  // ---- abstract types

  void link_possible_types() {
    std::vector<std::vector<const Type*>> objects(schema_.types.size());
    std::vector<std::vector<const Type*>> interfaces(schema_.types.size());
    for (const Type* type : schema_.types) {
      for (const Type* interface : type->interfaces) {
        auto& list = type->kind == TypeKind::Object ? objects[interface->id] : interfaces[interface->id];
        if (list.empty() || list.back() != type) list.push_back(type);
      }
    }
    for (auto& [name, draft] : drafts_) {
      Type& type = *draft.type;
      if (type.kind == TypeKind::Interface) {
        type.possible = arena_.copy(std::span<const Type* const>(objects[type.id]));
        type.implementations = arena_.copy(std::span<const Type* const>(interfaces[type.id]));
      } else if (type.kind == TypeKind::Object) {
        type.possible = arena_.array<const Type*>(1);
        type.possible[0] = &type;
      }
      std::vector<std::uint32_t> ids;
      for (const Type* possible : type.possible) ids.push_back(possible->id);
      std::sort(ids.begin(), ids.end());
      type.possible_ids = arena_.copy(std::span<const std::uint32_t>(ids));
    }
  }

  Schema& schema_;
  Arena& arena_;
  SchemaErrors& errors_;
  std::unordered_map<std::string_view, Draft> drafts_;
  std::vector<Draft*> order_;
  std::vector<std::pair<const DirectiveDefinitionNode*, const Document*>> directive_definitions_;
  const SchemaDefinitionNode* schema_definition_ = nullptr;
  std::vector<std::pair<const SchemaDefinitionNode*, const Document*>> schema_parts_;
};

}  // namespace

void SchemaErrors::report(Rule rule, Place place, std::string message) {
  constexpr std::size_t kMost = 100;
  if (errors_.size() >= kMost) return;
  Error error;
  error.rule = rule;
  error.message = std::move(message);
  if (place.document != nullptr) {
    error.locations = {locate(place.document->text, place.at)};
    error.source = std::string(place.document->name);
  }
  errors_.push_back(std::move(error));
}

Result<SchemaPtr, std::vector<Error>> build_schema(std::span<const Source> sources, SchemaOptions options) {
  auto schema = std::make_shared<Schema>();
  schema->codecs = std::move(options.scalars);
  std::vector<Error> syntax_errors;
  schema->documents.push_back(*parse({"(built in)", kBuiltinSdl}));
  for (const Source& source : sources) {
    auto document = parse(source, options.limits);
    if (document) {
      schema->documents.push_back(*std::move(document));
    } else {
      syntax_errors.push_back(document.error());
    }
  }
  if (!syntax_errors.empty()) return syntax_errors;
  SchemaErrors errors;
  if (!Builder(*schema, errors).build()) return errors.take();
  check_type_system(*schema, errors);
  Arena scratch;
  check_applied_directives(*schema, scratch, errors);
  if (errors.empty()) coerce_default_values(*schema, errors);
  if (!errors.empty()) return errors.take();
  return SchemaPtr(std::move(schema));
}

Result<SchemaPtr, std::vector<Error>> build_schema(std::string_view sdl, SchemaOptions options) {
  const Source source{"schema", sdl};
  return build_schema(std::span(&source, 1), std::move(options));
}

std::string TypeRef::str() const {
  std::string text;
  print_type(text, named != nullptr ? named->name : "?", wrappers);
  return text;
}

bool Type::overlaps(const Type& other) const {
  if (this == &other) return true;
  auto a = possible_ids.begin();
  auto b = other.possible_ids.begin();
  while (a != possible_ids.end() && b != other.possible_ids.end()) {
    if (*a == *b) return true;
    if (*a < *b) {
      ++a;
    } else {
      ++b;
    }
  }
  return false;
}

const Field* Schema::find_field(const Type& type, std::string_view name) const {
  if (name.size() > 2 && name[0] == '_' && name[1] == '_') {
    if (name == "__typename") return type.is_composite() ? typename_field : nullptr;
    if (&type == query && name == "__schema") return schema_field;
    if (&type == query && name == "__type") return type_field;
    return nullptr;
  }
  return type.find_field(name);
}

std::string_view name_of(DirectiveLocation location) {
  constexpr std::array<std::string_view, kDirectiveLocations> kNames{
      "QUERY", "MUTATION", "SUBSCRIPTION", "FIELD", "FRAGMENT_DEFINITION", "FRAGMENT_SPREAD", "INLINE_FRAGMENT",
      "VARIABLE_DEFINITION", "SCHEMA", "SCALAR", "OBJECT", "FIELD_DEFINITION", "ARGUMENT_DEFINITION", "INTERFACE", "UNION",
      "ENUM", "ENUM_VALUE", "INPUT_OBJECT", "INPUT_FIELD_DEFINITION"};
  return kNames[static_cast<std::size_t>(location)];
}

const DirectiveNode* find_directive(std::span<const DirectiveNode> directives, std::string_view name) {
  for (const DirectiveNode& directive : directives) {
    if (directive.name.text() == name) return &directive;
  }
  return nullptr;
}

Value directive_argument(const Schema& schema, const DirectiveNode& directive, std::string_view argument, Arena& arena) {
  const Directive* definition = schema.find_directive(directive.name.text());
  const InputValue* wanted = definition != nullptr ? definition->find_argument(argument) : nullptr;
  if (wanted == nullptr) return {};
  for (const ArgumentNode& given : directive.arguments) {
    if (given.name.text() != argument) continue;
    bool ok = true;
    const Value value = coerce_literal(given.value, wanted->type, {}, arena, ok);
    return ok ? value : Value();
  }
  return wanted->default_value;
}

bool is_subtype(TypeRef sub, TypeRef super) {
  while (true) {
    if (sub == super) return true;
    if (super.is_non_null()) {
      if (!sub.is_non_null()) return false;
      sub = sub.inner();
      super = super.inner();
      continue;
    }
    if (sub.is_non_null()) {
      sub = sub.inner();
      continue;
    }
    if (super.is_list() != sub.is_list()) return false;
    if (super.is_list()) {
      sub = sub.inner();
      super = super.inner();
      continue;
    }
    if (!super.named->is_abstract()) return false;
    if (sub.named->kind == TypeKind::Interface) return super.named->kind == TypeKind::Interface && sub.named->implements(*super.named);
    return sub.named->kind == TypeKind::Object && super.named->can_be(*sub.named);
  }
}

}  // namespace fanfare::graphql
