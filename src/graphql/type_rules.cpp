// The rules of section 3: what a type system must keep to so that everything else may rely on it.
//
// Every walk over types is iterative or bounded: a schema text may chain thousands of types.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "graphql/coerce.h"
#include "graphql/schema_build.h"

namespace fanfare::graphql {
namespace {

bool is_reserved(std::string_view name) { return name.starts_with("__"); }

class TypeRules {
 public:
  TypeRules(Schema& schema, SchemaErrors& errors) : schema_(schema), errors_(errors) {}

  void check() {
    for (const Directive* directive : schema_.directives) {
      if (!directive->is_builtin) check_directive(*directive);
    }
    for (const Type* type : schema_.types) {
      if (type->is_builtin) {
        if (!type->is_introspection) check_builtin_scalar(*type);
        continue;
      }
      check_name(type->name, "type", type->place);
      switch (type->kind) {
        case TypeKind::Scalar: break;
        case TypeKind::Object:
        case TypeKind::Interface:
          check_fields(*type);
          check_interfaces(*type);
          break;
        case TypeKind::Union: check_union(*type); break;
        case TypeKind::Enum: check_enum(*type); break;
        case TypeKind::InputObject: check_input_object(*type); break;
      }
    }
    check_finite_inputs();
    check_directive_cycles();
  }

 private:
  void report(Rule rule, Place place, std::string message) { errors_.report(rule, place, std::move(message)); }

  void check_name(std::string_view name, std::string_view what, Place place) {
    if (!is_reserved(name)) return;
    report(Rule::ReservedNames, place,
           fmt::format("The {} name \"{}\" begins with two underscores, which are reserved for introspection.", what, name));
  }

  // The specification gives built-in scalars no other URL than its own. [GraphQL 3.5]
  void check_builtin_scalar(const Type& type) {
    if (type.specified_by.empty()) return;
    report(Rule::SpecifiedByScalars, type.place, fmt::format("The built-in scalar \"{}\" cannot have @specifiedBy.", type.name));
  }

  // `owner` is for messages: `Query.user` or `@auth`.
  void check_arguments(const std::string& owner, std::span<const InputValue> arguments) {
    std::unordered_set<std::string_view> names;
    for (const InputValue& argument : arguments) {
      check_name(argument.name, "argument", argument.place);
      if (!names.insert(argument.name).second) {
        report(Rule::UniqueArgumentDefinitions, argument.place,
               fmt::format("There can be only one argument named \"{}\" at \"{}\".", argument.name, owner));
      }
      check_input_value(fmt::format("{}({}:)", owner, argument.name), argument);
    }
  }

  void check_input_value(const std::string& owner, const InputValue& value) {
    if (!value.type.named->is_input()) {
      report(Rule::InputTypes, value.type_place,
             fmt::format("\"{}\" must have an input type; \"{}\" is for output only.", owner, value.type.str()));
      return;
    }
    if (value.is_required() && value.deprecation.is_deprecated) {
      report(Rule::RequiredDeprecated, value.place, fmt::format("\"{}\" is required and so cannot be deprecated.", owner));
    }
    if (value.default_literal == nullptr) return;
    std::vector<LiteralIssue> issues;
    check_literal(*value.default_literal, value.type, scratch_, issues);
    for (const LiteralIssue& issue : issues) {
      report(Rule::DefaultValues, {value.place.document, issue.at},
             fmt::format("The default value of \"{}\" does not fit: {}", owner, issue.message));
    }
  }

  void check_directive(const Directive& directive) {
    check_name(directive.name, "directive", directive.place);
    if (directive.locations == 0) {
      report(Rule::NonEmptyTypes, directive.place, fmt::format("The directive \"@{}\" has no location.", directive.name));
    }
    check_arguments(fmt::format("@{}", directive.name), directive.arguments);
  }

  void check_fields(const Type& type) {
    if (type.fields.empty()) report(Rule::NonEmptyTypes, type.place, fmt::format("The type \"{}\" has no fields.", type.name));
    std::unordered_set<std::string_view> names;
    for (const Field& field : type.fields) {
      const std::string owner = fmt::format("{}.{}", type.name, field.name);
      check_name(field.name, "field", field.place);
      if (!names.insert(field.name).second) {
        report(Rule::UniqueFieldNames, field.place, fmt::format("There can be only one field \"{}\".", owner));
      }
      if (!field.type.named->is_output()) {
        report(Rule::OutputTypes, field.type_place,
               fmt::format("The field \"{}\" must have an output type; \"{}\" is for input only.", owner, field.type.str()));
      }
      check_arguments(owner, field.arguments);
    }
  }

  void check_interfaces(const Type& type) {
    std::unordered_set<const Type*> seen;
    const std::unordered_set<const Type*> all(type.interfaces.begin(), type.interfaces.end());
    for (const Type* interface : type.interfaces) {
      if (interface->kind != TypeKind::Interface) {
        report(Rule::ImplementedInterfaces, type.place,
               fmt::format("\"{}\" can implement interfaces only; \"{}\" is none.", type.name, interface->name));
        continue;
      }
      if (interface == &type) {
        report(Rule::ImplementedInterfaces, type.place, fmt::format("The interface \"{}\" cannot implement itself.", type.name));
        continue;
      }
      if (!seen.insert(interface).second) {
        report(Rule::ImplementedInterfaces, type.place,
               fmt::format("\"{}\" can implement \"{}\" only once.", type.name, interface->name));
        continue;
      }
      for (const Type* ancestor : interface->interfaces) {
        if (all.contains(ancestor)) continue;
        report(Rule::ImplementedInterfaces, type.place,
               ancestor == &type
                   ? fmt::format("\"{}\" cannot implement \"{}\", which implements it in turn.", type.name, interface->name)
                   : fmt::format("\"{}\" must implement \"{}\" too, because \"{}\" does.", type.name, ancestor->name, interface->name));
      }
      check_implementation(type, *interface);
    }
  }

  // [GraphQL 3.6 IsValidImplementation]
  void check_implementation(const Type& type, const Type& interface) {
    for (const Field& wanted : interface.fields) {
      const Field* field = type.find_field(wanted.name);
      const std::string wanted_name = fmt::format("{}.{}", interface.name, wanted.name);
      if (field == nullptr) {
        report(Rule::InterfaceFields, type.place,
               fmt::format("\"{}\" implements \"{}\" but has no field \"{}\".", type.name, interface.name, wanted.name));
        continue;
      }
      const std::string name = fmt::format("{}.{}", type.name, field->name);
      if (!is_subtype(field->type, wanted.type)) {
        report(Rule::InterfaceFields, field->type_place,
               fmt::format("\"{}\" is of type \"{}\", but \"{}\" wants \"{}\".", name, field->type.str(), wanted_name, wanted.type.str()));
      }
      for (const InputValue& wanted_argument : wanted.arguments) {
        const InputValue* argument = field->find_argument(wanted_argument.name);
        if (argument == nullptr) {
          report(Rule::InterfaceFields, field->place,
                 fmt::format("\"{}\" must have the argument \"{}\" that \"{}\" has.", name, wanted_argument.name, wanted_name));
        } else if (argument->type != wanted_argument.type) {
          report(Rule::InterfaceFields, argument->type_place,
                 fmt::format("The argument \"{}\" of \"{}\" is of type \"{}\", but \"{}\" wants \"{}\".", argument->name, name,
                             argument->type.str(), wanted_name, wanted_argument.type.str()));
        }
      }
      for (const InputValue& argument : field->arguments) {
        if (!argument.is_required() || wanted.find_argument(argument.name) != nullptr) continue;
        report(Rule::InterfaceFields, argument.place,
               fmt::format("The argument \"{}\" of \"{}\" cannot be required, because \"{}\" does not have it.", argument.name, name, wanted_name));
      }
      if (field->deprecation.is_deprecated && !wanted.deprecation.is_deprecated) {
        report(Rule::InterfaceFields, field->place,
               fmt::format("\"{}\" cannot be deprecated while \"{}\" is not.", name, wanted_name));
      }
    }
  }

  void check_union(const Type& type) {
    if (type.possible.empty()) report(Rule::NonEmptyTypes, type.place, fmt::format("The union \"{}\" has no members.", type.name));
    std::unordered_set<const Type*> seen;
    for (const Type* member : type.possible) {
      if (member->kind != TypeKind::Object) {
        report(Rule::UnionMembers, type.place,
               fmt::format("The union \"{}\" can have object types as members only; \"{}\" is none.", type.name, member->name));
      } else if (!seen.insert(member).second) {
        report(Rule::UnionMembers, type.place, fmt::format("The union \"{}\" names \"{}\" twice.", type.name, member->name));
      }
    }
  }

  void check_enum(const Type& type) {
    if (type.values.empty()) report(Rule::NonEmptyTypes, type.place, fmt::format("The enum \"{}\" has no values.", type.name));
    std::unordered_set<std::string_view> names;
    for (const EnumValue& value : type.values) {
      check_name(value.name, "enum value", value.place);
      if (!names.insert(value.name).second) {
        report(Rule::UniqueFieldNames, value.place, fmt::format("There can be only one value \"{}.{}\".", type.name, value.name));
      }
    }
  }

  void check_input_object(const Type& type) {
    if (type.input_fields.empty()) {
      report(Rule::NonEmptyTypes, type.place, fmt::format("The input object \"{}\" has no fields.", type.name));
    }
    std::unordered_set<std::string_view> names;
    for (const InputValue& field : type.input_fields) {
      const std::string owner = fmt::format("{}.{}", type.name, field.name);
      check_name(field.name, "input field", field.place);
      if (!names.insert(field.name).second) {
        report(Rule::UniqueFieldNames, field.place, fmt::format("There can be only one input field \"{}\".", owner));
      }
      check_input_value(owner, field);
      if (!type.is_one_of) continue;
      if (field.type.is_non_null()) {
        report(Rule::OneOfFields, field.type_place, fmt::format("\"{}\" must be nullable, as every field of a OneOf input object.", owner));
      }
      if (field.default_literal != nullptr) {
        report(Rule::OneOfFields, field.place, fmt::format("\"{}\" cannot have a default value in a OneOf input object.", owner));
      }
    }
  }

  // An input object can be given a value of finite size if all its non-null fields can (OneOf: one of its fields). What
  // remains when this has spread from those that need no other refers to itself. [GraphQL 3.10 Circular References]
  void check_finite_inputs() {
    struct State {
      std::size_t waiting = 0;
      bool is_finite = false;
      std::vector<const Type*> dependents;
    };
    std::unordered_map<const Type*, State> states;
    std::vector<const Type*> ready;
    const auto needs = [](const Type& type, const InputValue& field) -> const Type* {
      const TypeRef target = type.is_one_of ? field.type.nullable() : field.type.is_non_null() ? field.type.inner() : TypeRef{};
      return target.named != nullptr && target.is_named() && target.named->kind == TypeKind::InputObject ? target.named : nullptr;
    };
    for (const Type* type : schema_.types) {
      if (type->kind != TypeKind::InputObject) continue;
      State& state = states[type];
      bool has_free_field = type->input_fields.empty();
      for (const InputValue& field : type->input_fields) {
        if (const Type* target = needs(*type, field)) {
          ++state.waiting;
          states[target].dependents.push_back(type);
        } else {
          has_free_field = true;
        }
      }
      if (type->is_one_of ? has_free_field : states[type].waiting == 0) {
        states[type].is_finite = true;
        ready.push_back(type);
      }
    }
    while (!ready.empty()) {
      const Type* type = ready.back();
      ready.pop_back();
      for (const Type* dependent : states[type].dependents) {
        State& state = states[dependent];
        if (state.is_finite) continue;
        if (!dependent->is_one_of && --state.waiting > 0) continue;
        state.is_finite = true;
        ready.push_back(dependent);
      }
    }
    for (const Type* type : schema_.types) {
      if (type->kind != TypeKind::InputObject || states[type].is_finite) continue;
      std::string fields;
      for (const InputValue& field : type->input_fields) {
        const Type* target = needs(*type, field);
        if (target == nullptr || states[target].is_finite) continue;
        fields.append(fields.empty() ? "\"" : ", \"").append(field.name).append("\"");
      }
      report(Rule::InputObjectCycles, type->place,
             fmt::format("The input object \"{}\" can never be given a value: it contains itself through {}.", type->name, fields));
    }
  }

  // A directive may not be applied, directly or through the types of its arguments, in its own definition. [GraphQL 3.13]
  void check_directive_cycles() {
    for (const Directive* directive : schema_.directives) {
      if (directive->is_builtin) continue;
      std::unordered_set<const void*> seen;
      std::vector<const Directive*> directives{directive};
      std::vector<const Type*> types;
      bool is_cyclic = false;
      const auto add_applied = [&](std::span<const DirectiveNode> nodes) {
        for (const DirectiveNode& node : nodes) {
          const Directive* applied = schema_.find_directive(node.name.text());
          if (applied == directive) is_cyclic = true;
          if (applied != nullptr && seen.insert(applied).second) directives.push_back(applied);
        }
      };
      const auto add_type = [&](const Type* type) {
        if (type->is_input() && seen.insert(type).second) types.push_back(type);
      };
      while (!is_cyclic && (!directives.empty() || !types.empty())) {
        if (!directives.empty()) {
          const Directive* next = directives.back();
          directives.pop_back();
          for (const InputValue& argument : next->arguments) {
            add_applied(argument.directives);
            add_type(argument.type.named);
          }
          continue;
        }
        const Type* next = types.back();
        types.pop_back();
        add_applied(next->directives);
        for (const EnumValue& value : next->values) add_applied(value.directives);
        for (const InputValue& field : next->input_fields) {
          add_applied(field.directives);
          add_type(field.type.named);
        }
      }
      if (is_cyclic) {
        report(Rule::DirectiveCycles, directive->place,
               fmt::format("The definition of the directive \"@{}\" uses the directive itself.", directive->name));
      }
    }
  }

  Schema& schema_;
  SchemaErrors& errors_;
  Arena scratch_;
};

class AppliedDirectives {
 public:
  AppliedDirectives(const Schema& schema, Arena& scratch, SchemaErrors& errors) : schema_(schema), scratch_(scratch), errors_(errors) {}

  void check() {
    // Definitions and extensions are walked in their texts, because places belong to texts. Repetition over a type and
    // its extensions is counted by the type's name.
    for (std::size_t i = 1; i < schema_.documents.size(); ++i) {
      document_ = schema_.documents[i].get();
      for (const DefinitionNode& definition : document_->definitions) {
        if (definition.schema != nullptr) check(definition.schema->directives, DirectiveLocation::Schema, &seen_of_["\n"]);
        if (definition.directive != nullptr) check(definition.directive->arguments, DirectiveLocation::ArgumentDefinition);
        if (definition.type != nullptr) check(*definition.type);
      }
    }
  }

 private:
  using Seen = std::unordered_set<std::string_view>;

  void check(const TypeDefinitionNode& node) {
    constexpr DirectiveLocation kLocations[]{DirectiveLocation::Scalar, DirectiveLocation::Object, DirectiveLocation::Interface,
                                             DirectiveLocation::Union,  DirectiveLocation::Enum,   DirectiveLocation::InputObject};
    check(node.directives, kLocations[static_cast<std::size_t>(node.kind)], &seen_of_[node.name.text()]);
    if (const DirectiveNode* one_of = node.is_extension ? find_directive(node.directives, "oneOf") : nullptr) {
      errors_.report(Rule::OneOfFields, {document_, one_of->at},
                     fmt::format("An extension cannot make \"{}\" a OneOf input object; its definition can.", node.name.text()));
    }
    for (const FieldDefinitionNode& field : node.fields) {
      check(field.directives, DirectiveLocation::FieldDefinition);
      check(field.arguments, DirectiveLocation::ArgumentDefinition);
    }
    for (const EnumValueNode& value : node.values) check(value.directives, DirectiveLocation::EnumValue);
    check(node.input_fields, DirectiveLocation::InputFieldDefinition);
  }

  void check(std::span<const InputValueNode> values, DirectiveLocation location) {
    for (const InputValueNode& value : values) check(value.directives, location);
  }

  void check(std::span<const DirectiveNode> nodes, DirectiveLocation location, Seen* seen = nullptr) {
    Seen own;
    if (seen == nullptr) seen = &own;
    for (const DirectiveNode& node : nodes) {
      const Directive* directive = schema_.find_directive(node.name.text());
      const auto report = [&](Rule rule, Offset at, std::string message) { errors_.report(rule, {document_, at}, std::move(message)); };
      if (directive == nullptr) {
        std::vector<std::string_view> names;
        for (const Directive* known : schema_.directives) names.push_back(known->name);
        report(Rule::DirectivesDefined, node.at,
               fmt::format("Unknown directive \"@{}\".{}", node.name.text(), did_you_mean(node.name.text(), names)));
        continue;
      }
      if (!directive->allows(location)) {
        report(Rule::DirectivesInValidLocations, node.at, fmt::format("The directive \"@{}\" cannot stand at {}.", node.name.text(), name_of(location)));
      }
      if (!seen->insert(directive->name).second && !directive->is_repeatable) {
        report(Rule::UniqueDirectives, node.at, fmt::format("The directive \"@{}\" can stand here only once.", node.name.text()));
      }
      Seen given;
      for (const ArgumentNode& argument : node.arguments) {
        if (!given.insert(argument.name.text()).second) {
          report(Rule::ArgumentUniqueness, argument.name.at, fmt::format("The argument \"{}\" is given twice.", argument.name.text()));
        }
        const InputValue* definition = directive->find_argument(argument.name.text());
        if (definition == nullptr) {
          report(Rule::ArgumentNames, argument.name.at,
                 fmt::format("The directive \"@{}\" has no argument \"{}\".", node.name.text(), argument.name.text()));
          continue;
        }
        if (!definition->type.named->is_input()) continue;
        std::vector<LiteralIssue> issues;
        check_literal(argument.value, definition->type, scratch_, issues);
        for (LiteralIssue& issue : issues) report(Rule::ValuesOfCorrectType, issue.at, std::move(issue.message));
      }
      for (const InputValue& argument : directive->arguments) {
        if (argument.is_required() && !given.contains(argument.name)) {
          report(Rule::RequiredArguments, node.at,
                 fmt::format("The directive \"@{}\" needs the argument \"{}\" of type \"{}\".", node.name.text(), argument.name, argument.type.str()));
        }
      }
    }
  }

  const Schema& schema_;
  Arena& scratch_;
  SchemaErrors& errors_;
  const Document* document_ = nullptr;
  std::unordered_map<std::string_view, Seen> seen_of_;
};

/// Coerces each default value after those that it takes in: a literal that leaves out a field gets the field's default.
class DefaultValueCoercion {
 public:
  DefaultValueCoercion(Schema& schema, SchemaErrors& errors) : schema_(schema), errors_(errors) {}

  void run() {
    for (const Type* type : schema_.types) {
      for (const InputValue& field : type->input_fields) need(field);
      for (const Field& field : type->fields) {
        for (const InputValue& argument : field.arguments) need(argument);
      }
    }
    for (const Field* field : {schema_.schema_field, schema_.type_field, schema_.typename_field}) {
      for (const InputValue& argument : field->arguments) need(argument);
    }
    for (const Directive* directive : schema_.directives) {
      for (const InputValue& argument : directive->arguments) need(argument);
    }
  }

 private:
  enum class State : std::uint8_t { Unknown, Open, Done };

  void need(const InputValue& value) {
    if (value.default_literal == nullptr || failed_) return;
    State& state = states_[&value];
    if (state == State::Done) return;
    constexpr std::size_t kDeepest = 500;
    if (state == State::Open || depth_ >= kDeepest) {
      failed_ = true;
      errors_.report(Rule::DefaultValueCycles, value.place, fmt::format("The default value of \"{}\" contains itself.", value.name));
      return;
    }
    state = State::Open;
    ++depth_;
    need_parts(*value.default_literal, value.type);
    --depth_;
    states_[&value] = State::Done;
    if (failed_) return;
    bool ok = true;
    // Types are const to everybody else; the schema under construction is ours.
    const_cast<InputValue&>(value).default_value = coerce_literal(*value.default_literal, value.type, {}, schema_.arena, ok);
  }

  void need_parts(const ValueNode& literal, TypeRef type) {
    type = type.nullable();
    if (type.is_list()) {
      if (literal.kind != LiteralKind::List) return need_parts(literal, type.inner());
      for (const ValueNode& item : literal.items()) need_parts(item, type.inner());
      return;
    }
    if (type.named->kind != TypeKind::InputObject || literal.kind != LiteralKind::Object) return;
    for (const InputValue& field : type.named->input_fields) {
      const ValueNode* given = nullptr;
      for (const ObjectFieldNode& candidate : literal.fields()) {
        if (candidate.name.text() == field.name) given = &candidate.value;
      }
      if (given != nullptr) {
        need_parts(*given, field.type);
      } else {
        need(field);
      }
    }
  }

  Schema& schema_;
  SchemaErrors& errors_;
  std::unordered_map<const InputValue*, State> states_;
  std::size_t depth_ = 0;
  bool failed_ = false;
};

}  // namespace

void check_type_system(Schema& schema, SchemaErrors& errors) { TypeRules(schema, errors).check(); }

void check_applied_directives(const Schema& schema, Arena& scratch, SchemaErrors& errors) {
  AppliedDirectives(schema, scratch, errors).check();
}

void coerce_default_values(Schema& schema, SchemaErrors& errors) { DefaultValueCoercion(schema, errors).run(); }

}  // namespace fanfare::graphql
