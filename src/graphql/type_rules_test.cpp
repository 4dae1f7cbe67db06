// The rules of section 3: the list of them, clause by clause as the specification numbers them, and for each clause schemas
// that keep to it and schemas that break it. The text of a case is added to a schema with `type Query { ok: Int }` unless it
// has a Query of its own.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphql/schema.h"

namespace fanfare::graphql {
namespace {

struct Clause {
  std::string_view id;     ///< section, and the number of the clause in it if it has one
  std::string_view words;  ///< what it asks for
};

constexpr Clause kClauses[] = {
    {"2", "the text follows the grammar"},
    {"3", "a schema consists of definitions of the type system only"},
    {"3.3 types", "type names are unique"},
    {"3.3 directives", "directive names are unique"},
    {"3.3 names", "names of types and directives do not begin with two underscores"},
    {"3.3 lone", "there is at most one schema definition"},
    {"3.3.1 query", "the query root is given, and an object type"},
    {"3.3.1 mutation", "the mutation root is an object type"},
    {"3.3.1 subscription", "the subscription root is an object type"},
    {"3.3.1 different", "the root types differ"},
    {"3.3.1 once", "each kind of operation has one root type"},
    {"3.3.1 known", "root types are defined"},
    {"3.3.2.2", "a schema extension repeats no directive that is not repeatable"},
    {"3.4 known", "types that are referred to are defined"},
    {"3.5 builtin", "built-in scalars are not defined as something else"},
    {"3.5.6.1", "a scalar extension extends a scalar"},
    {"3.5.6.2", "a scalar extension repeats no directive that is not repeatable"},
    {"3.6.1", "an object type has fields"},
    {"3.6.2.1", "field names of an object type are unique"},
    {"3.6.2.2", "field names do not begin with two underscores"},
    {"3.6.2.3", "fields of an object type have output types"},
    {"3.6.2.4.1", "argument names do not begin with two underscores"},
    {"3.6.2.4.2", "argument names of a field are unique"},
    {"3.6.2.4.3", "arguments have input types"},
    {"3.6.2.4.4", "required arguments are not deprecated"},
    {"3.6.2.4.5", "default values of arguments fit their types"},
    {"3.6.3", "an object type implements interfaces, each once"},
    {"3.6.4", "an object type is a valid implementation of its interfaces"},
    {"3.6 IsValidImplementation 1", "the interfaces of an interface are implemented too"},
    {"3.6 IsValidImplementation 2", "all fields of the interface are there"},
    {"3.6 IsValidImplementation 2.3", "all arguments of the interface's field are there"},
    {"3.6 IsValidImplementation 2.3.1", "an argument has the type that it has in the interface"},
    {"3.6 IsValidImplementation 2.4", "further arguments are not required"},
    {"3.6 IsValidImplementation 2.5", "the field's type is that of the interface's field or a subtype"},
    {"3.6 IsValidImplementation 2.6", "a field is deprecated only if the interface's field is"},
    {"3.6 IsValidImplementationFieldType 1", "non-null may stand for nullable, not the other way round"},
    {"3.6 IsValidImplementationFieldType 2", "lists stand for lists"},
    {"3.6 IsSubType 2", "an object type stands for its unions"},
    {"3.6 IsSubType 3", "an object or interface type stands for its interfaces"},
    {"3.6.3 extension 1", "an object extension extends an object type"},
    {"3.6.3 extension 2", "fields of an object extension are unique"},
    {"3.6.3 extension 3", "fields of an object extension are new"},
    {"3.6.3 extension 4", "an object extension repeats no directive that is not repeatable"},
    {"3.6.3 extension 5", "interfaces of an object extension are new"},
    {"3.6.3 extension 6", "an extended object type is a valid implementation of its interfaces"},
    {"3.7.1", "an interface has fields"},
    {"3.7.2.1", "field names of an interface are unique"},
    {"3.7.2.2", "field names of an interface do not begin with two underscores"},
    {"3.7.2.3", "fields of an interface have output types"},
    {"3.7.2.4.1", "argument names of an interface's fields do not begin with two underscores"},
    {"3.7.2.4.2", "argument names of an interface's field are unique"},
    {"3.7.2.4.3", "arguments of an interface's fields have input types"},
    {"3.7.2.4.4", "required arguments of an interface's fields are not deprecated"},
    {"3.7.3", "an interface implements interfaces, each once, and not itself"},
    {"3.7.4", "an interface is a valid implementation of its interfaces"},
    {"3.7 cycles", "interfaces do not implement each other"},
    {"3.7.1 extension 1", "an interface extension extends an interface"},
    {"3.7.1 extension 2", "fields of an interface extension are unique"},
    {"3.7.1 extension 3", "fields of an interface extension are new"},
    {"3.7.1 extension 4", "what implements an extended interface has its new fields"},
    {"3.7.1 extension 5", "an interface extension repeats no directive that is not repeatable"},
    {"3.7.1 extension 6", "an extended interface is a valid implementation of its interfaces"},
    {"3.8.1", "a union has members, each once"},
    {"3.8.2", "members of a union are object types"},
    {"3.8.1 extension 1", "a union extension extends a union"},
    {"3.8.1 extension 2", "members of a union extension are object types"},
    {"3.8.1 extension 3", "members of a union extension are unique"},
    {"3.8.1 extension 4", "members of a union extension are new"},
    {"3.8.1 extension 5", "a union extension repeats no directive that is not repeatable"},
    {"3.9.1", "an enum has values, each once"},
    {"3.9 names", "true, false and null are no enum values, and none begins with two underscores"},
    {"3.9.1 extension 1", "an enum extension extends an enum"},
    {"3.9.1 extension 2", "values of an enum extension are unique"},
    {"3.9.1 extension 3", "values of an enum extension are new"},
    {"3.9.1 extension 4", "an enum extension repeats no directive that is not repeatable"},
    {"3.10.1", "an input object has fields"},
    {"3.10.2.1", "field names of an input object are unique"},
    {"3.10.2.2", "field names of an input object do not begin with two underscores"},
    {"3.10.2.3", "fields of an input object have input types"},
    {"3.10.2.4", "required input fields are not deprecated"},
    {"3.10.2.5", "fields of a OneOf input object are nullable and have no default values"},
    {"3.10.2 defaults", "default values of input fields fit their types"},
    {"3.10.3", "a finite value of an input object can be given"},
    {"3.10.4", "default values of input fields do not contain themselves"},
    {"3.10.2 extension 1", "an input object extension extends an input object"},
    {"3.10.2 extension 2", "fields of an input object extension are unique"},
    {"3.10.2 extension 3", "fields of an input object extension are new"},
    {"3.10.2 extension 4", "an input object extension repeats no directive that is not repeatable"},
    {"3.10.2 extension 5", "an input object extension does not make it a OneOf input object"},
    {"3.10.2 extension 6", "fields that extend a OneOf input object are nullable and have no default values"},
    {"3.12.1", "non-null does not wrap non-null"},
    {"3.13.1", "a directive definition does not use its own directive"},
    {"3.13.2", "nor by way of the types and directives that it uses"},
    {"3.13.4.1", "argument names of a directive do not begin with two underscores"},
    {"3.13.4.2", "argument names of a directive are unique"},
    {"3.13.4.3", "arguments of a directive have input types"},
    {"3.13.4.4", "default values of a directive's arguments fit their types"},
    {"3.13 locations", "a directive has locations, that exist, each once"},
    {"3.13.3", "@deprecated stands at nothing that is required"},
    {"3.13.4", "@specifiedBy stands at custom scalars"},
    {"5.4.1", "arguments of applied directives exist"},
    {"5.4.2", "arguments of applied directives are unique"},
    {"5.4.3", "required arguments of applied directives are given"},
    {"5.6.1", "arguments of applied directives fit their types"},
    {"5.7.1", "applied directives are defined"},
    {"5.7.2", "applied directives stand where they may"},
    {"5.7.3", "applied directives stand once, unless they are repeatable"},
};

struct RuleCase {
  Rule rule;
  std::string_view clause;
  const char* valid;
  const char* invalid;
};

std::string whole(std::string_view text) {
  std::string sdl(text);
  if (sdl.find("type Query") == std::string::npos && sdl.find("schema {") == std::string::npos) sdl += "\ntype Query { ok: Int }";
  return sdl;
}

std::string show(const std::vector<Error>& errors) {
  std::string text;
  for (const Error& error : errors) text += std::string(name_of(error.rule)) + ": " + error.message + "\n";
  return text;
}

const RuleCase kCases[] = {
    {Rule::Syntax, "2", "type A { a: Int }", "type A { a Int }"},
    {Rule::TypeSystemDefinitions, "3", "type A { a: Int }", "type A { a: Int } query { a }"},
    {Rule::TypeSystemDefinitions, "3", "scalar A", "fragment F on A { a }"},
    {Rule::UniqueTypeNames, "3.3 types", "type A { a: Int } type B { a: Int }", "type A { a: Int } enum A { B }"},
    {Rule::UniqueTypeNames, "3.5 builtin", "scalar Int", "type String { a: Int }"},
    {Rule::UniqueDirectiveNames, "3.3 directives", "directive @a on FIELD directive @b on FIELD", "directive @a on FIELD directive @a on QUERY"},
    {Rule::LoneSchemaDefinition, "3.3 lone", "schema { query: A } type A { a: Int }", "schema { query: A } schema { query: A } type A { a: Int }"},
    {Rule::UniqueOperationTypes, "3.3.1 once", "schema { query: A mutation: B } type A { a: Int } type B { a: Int }",
     "schema { query: A query: B } type A { a: Int } type B { a: Int }"},
    {Rule::UniqueOperationTypes, "3.3.1 once", "schema { query: A } extend schema { mutation: B } type A { a: Int } type B { a: Int }",
     "schema { query: A } extend schema { query: B } type A { a: Int } type B { a: Int }"},
    {Rule::RootTypes, "3.3.1 query", "schema { query: A } type A { a: Int }", "schema { query: A } enum A { B }"},
    {Rule::RootTypes, "3.3.1 query", "schema { query: A } type A { a: Int }", "schema { mutation: A } type A { a: Int }"},
    {Rule::RootTypes, "3.3.1 mutation", "type Mutation { a: Int }", "enum Mutation { A }"},
    {Rule::RootTypes, "3.3.1 different", "schema { query: A mutation: B } type A { a: Int } type B { a: Int }",
     "schema { query: A mutation: A } type A { a: Int }"},
    {Rule::KnownTypes, "3.4 known", "type A { a: B } scalar B", "type A { a: Bee }"},
    {Rule::KnownTypes, "3.4 known", "interface I { a: Int } type A implements I { a: Int }", "type A implements I { a: Int }"},
    {Rule::KnownTypes, "3.4 known", "union U = A type A { a: Int }", "union U = A"},
    {Rule::KnownTypes, "3.3.1 known", "schema { query: A } type A { a: Int }", "schema { query: A } type B { a: Int }"},
    {Rule::PossibleTypeExtensions, "3.6.3 extension 1", "type A { a: Int } extend type A { b: Int }", "extend type A { b: Int }"},
    {Rule::PossibleTypeExtensions, "3.9.1 extension 1", "enum A { B } extend enum A { C }", "type A { a: Int } extend enum A { C }"},
    {Rule::PossibleTypeExtensions, "3.5.6.1", "scalar A extend scalar A @d directive @d on SCALAR",
     "input A { a: Int } extend scalar A @d directive @d on SCALAR"},
    {Rule::ReservedNames, "3.6.2.2", "type A { _a: Int }", "type A { __a: Int }"},
    {Rule::ReservedNames, "3.3 names", "type _A { a: Int }", "type __A { a: Int }"},
    {Rule::ReservedNames, "3.6.2.4.1", "type A { a(_b: Int): Int }", "type A { a(__b: Int): Int }"},
    {Rule::ReservedNames, "3.9 names", "enum A { _B }", "enum A { __B }"},
    {Rule::ReservedNames, "3.10.2.2", "input A { _b: Int }", "input A { __b: Int }"},
    {Rule::ReservedNames, "3.13.4.1", "directive @_a(_b: Int) on FIELD", "directive @a(__b: Int) on FIELD"},
    {Rule::OutputTypes, "3.6.2.3", "type A { a: [B!] } enum B { C }", "type A { a: [B!] } input B { c: Int }"},
    {Rule::OutputTypes, "3.7.2.3", "interface A { a: B } union B = C type C { c: Int }", "interface A { a: B } input B { c: Int }"},
    {Rule::InputTypes, "3.6.2.4.3", "type A { a(b: [B]): Int } input B { c: Int }", "type A { a(b: [B]): Int } type B { c: Int }"},
    {Rule::InputTypes, "3.10.2.3", "input A { a: B } enum B { C }", "input A { a: B } type B { c: Int }"},
    {Rule::InputTypes, "3.13.4.3", "directive @d(a: B) on FIELD scalar B", "directive @d(a: B) on FIELD interface B { a: Int }"},
    {Rule::NonEmptyTypes, "3.6.1", "type A { a: Int }", "type A"},
    {Rule::NonEmptyTypes, "3.7.1", "interface A { a: Int }", "interface A"},
    {Rule::NonEmptyTypes, "3.8.1", "union U = A type A { a: Int }", "union U"},
    {Rule::NonEmptyTypes, "3.9.1", "enum A extend enum A { B }", "enum A"},
    {Rule::NonEmptyTypes, "3.10.1", "input A { a: Int }", "input A"},
    {Rule::UniqueFieldNames, "3.6.2.1", "type A { a: Int b: Int }", "type A { a: Int a: Int }"},
    {Rule::UniqueFieldNames, "3.6.3 extension 3", "type A { a: Int } extend type A { b: Int }", "type A { a: Int } extend type A { a: Int }"},
    {Rule::UniqueFieldNames, "3.9.1", "enum A { B C }", "enum A { B B }"},
    {Rule::UniqueFieldNames, "3.10.2.1", "input A { a: Int b: Int }", "input A { a: Int a: Int }"},
    {Rule::UniqueArgumentDefinitions, "3.6.2.4.2", "type A { a(b: Int, c: Int): Int }", "type A { a(b: Int, b: Int): Int }"},
    {Rule::UniqueArgumentDefinitions, "3.13.4.2", "directive @d(a: Int, b: Int) on FIELD", "directive @d(a: Int, a: Int) on FIELD"},
    {Rule::ImplementedInterfaces, "3.6.3", "interface I { a: Int } type A implements I { a: Int }", "type I { a: Int } type A implements I { a: Int }"},
    {Rule::ImplementedInterfaces, "3.6.3", "interface I { a: Int } type A implements I { a: Int }", "interface I { a: Int } type A implements I & I { a: Int }"},
    {Rule::ImplementedInterfaces, "3.7.3", "interface I { a: Int } interface J implements I { a: Int }", "interface I implements I { a: Int }"},
    {Rule::ImplementedInterfaces, "3.6 IsValidImplementation 1", "interface I { a: Int } interface J implements I { a: Int } type A implements I & J { a: Int }",
     "interface I { a: Int } interface J implements I { a: Int } type A implements J { a: Int }"},
    {Rule::ImplementedInterfaces, "3.7 cycles", "interface I { a: Int } interface J implements I { a: Int }",
     "interface I implements J { a: Int } interface J implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementation 2", "interface I { a: Int b: Int } type A implements I { a: Int b: Int }",
     "interface I { a: Int b: Int } type A implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementationFieldType 1", "interface I { a: I } type A implements I { a: A! }",
     "interface I { a: Int! } type A implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementationFieldType 2", "interface I { a: [I] } type A implements I { a: [A!]! }",
     "interface I { a: [I] } type A implements I { a: A }"},
    {Rule::InterfaceFields, "3.6 IsSubType 2", "union U = A | B interface I { a: U } type A implements I { a: B } type B { b: Int }",
     "union U = B interface I { a: U } type A implements I { a: A } type B { b: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementation 2.3", "interface I { a(b: Int): Int } type A implements I { a(b: Int, c: Int): Int }",
     "interface I { a(b: Int): Int } type A implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementation 2.3.1", "interface I { a(b: Int): Int } type A implements I { a(b: Int): Int }",
     "interface I { a(b: Int): Int } type A implements I { a(b: Int!): Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementation 2.4", "interface I { a: Int } type A implements I { a(b: Int! = 1): Int }",
     "interface I { a: Int } type A implements I { a(b: Int!): Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementation 2.6", "interface I { a: Int @deprecated } type A implements I { a: Int @deprecated }",
     "interface I { a: Int } type A implements I { a: Int @deprecated }"},
    {Rule::UnionMembers, "3.8.1", "union U = A | B type A { a: Int } type B { a: Int }", "union U = A | A type A { a: Int }"},
    {Rule::UnionMembers, "3.8.2", "union U = A type A { a: Int }", "union U = I interface I { a: Int }"},
    {Rule::UnionMembers, "3.8.1 extension 4", "union U = A extend union U = B type A { a: Int } type B { a: Int }", "union U = A extend union U = A type A { a: Int }"},
    {Rule::InputObjectCycles, "3.10.3", "input A { a: A b: [A!]! }", "input A { a: A! }"},
    {Rule::InputObjectCycles, "3.10.3", "input A { b: B! } input B { a: A }", "input A { b: B! } input B { c: C! } input C { a: A! }"},
    {Rule::InputObjectCycles, "3.10.3", "input A @oneOf { a: A b: Int }", "input A @oneOf { a: A }"},
    {Rule::InputObjectCycles, "3.10.3", "input A @oneOf { a: B c: Int } input B @oneOf { b: A }", "input A @oneOf { a: B } input B @oneOf { b: A }"},
    {Rule::DefaultValueCycles, "3.10.4", "input A { a: A = {a: null} }", "input A { a: A = {} }"},
    {Rule::DefaultValueCycles, "3.10.4", "input A { b: B = {a: {b: null}} } input B { a: A = {b: null} }",
     "input A { b: B = {} } input B { a: A = {} }"},
    {Rule::DefaultValueCycles, "3.10.4", "input A { l: [A] = [] }", "input A { l: [A] = [{}] }"},
    {Rule::DefaultValues, "3.10.2 defaults", "input A { a: Int = 1 }", "input A { a: Int = \"1\" }"},
    {Rule::DefaultValues, "3.6.2.4.5", "type A { a(b: [E!] = [X]): Int } enum E { X }", "type A { a(b: [E!] = [Y]): Int } enum E { X }"},
    {Rule::DefaultValues, "3.13.4.4", "directive @d(a: I = {b: 1}) on FIELD input I { b: Int! }", "directive @d(a: I = {}) on FIELD input I { b: Int! }"},
    {Rule::DefaultValues, "3.10.2 defaults", "input A { a: Int! = 1 }", "input A { a: Int! = null }"},
    {Rule::DefaultValues, "3.10.2 defaults", "input A { a: Int = 2147483647 }", "input A { a: Int = 2147483648 }"},
    {Rule::DefaultValues, "3.10.2 defaults", "input O @oneOf { a: Int b: Int } input A { o: O = {a: 1} }", "input O @oneOf { a: Int b: Int } input A { o: O = {a: 1, b: 2} }"},
    {Rule::OneOfFields, "3.10.2.5", "input A @oneOf { a: Int b: [Int!] }", "input A @oneOf { a: Int! }"},
    {Rule::OneOfFields, "3.10.2.5", "input A @oneOf { a: Int }", "input A @oneOf { a: Int = 1 b: Int }"},
    {Rule::RequiredDeprecated, "3.6.2.4.4", "type A { a(b: Int! = 1 @deprecated): Int }", "type A { a(b: Int! @deprecated): Int }"},
    {Rule::RequiredDeprecated, "3.10.2.4", "input A { a: Int @deprecated }", "input A { a: Int! @deprecated }"},
    {Rule::RequiredDeprecated, "3.13.3", "directive @d(a: Int @deprecated) on FIELD", "directive @d(a: Int! @deprecated) on FIELD"},
    {Rule::DirectiveCycles, "3.13.1", "directive @a(b: Int @b) on ARGUMENT_DEFINITION directive @b on ARGUMENT_DEFINITION",
     "directive @a(b: Int @a) on ARGUMENT_DEFINITION"},
    {Rule::DirectiveCycles, "3.13.2", "directive @a(b: I) on INPUT_FIELD_DEFINITION input I { c: Int }",
     "directive @a(b: I) on INPUT_FIELD_DEFINITION input I { c: Int @a }"},
    {Rule::DirectiveCycles, "3.13.2", "directive @a(x: Int @b) on ARGUMENT_DEFINITION directive @b(x: Int) on ARGUMENT_DEFINITION",
     "directive @a(x: Int @b) on ARGUMENT_DEFINITION directive @b(x: Int @a) on ARGUMENT_DEFINITION"},
    {Rule::DirectiveLocations, "3.13 locations", "directive @a on FIELD | QUERY", "directive @a on FIELDS"},
    {Rule::DirectiveLocations, "3.13 locations", "directive @a on FIELD | QUERY", "directive @a on FIELD | FIELD"},
    {Rule::SpecifiedByScalars, "3.13.4", "scalar A @specifiedBy(url: \"https://example.com\") type Query { a: A }",
     "extend scalar Int @specifiedBy(url: \"https://example.com\") type Query { a: Int }"},
    {Rule::DirectivesDefined, "5.7.1", "type A @d { a: Int } directive @d on OBJECT", "type A @d { a: Int }"},
    {Rule::DirectivesInValidLocations, "5.7.2", "type A { a: Int @d } directive @d on FIELD_DEFINITION", "type A @d { a: Int } directive @d on FIELD_DEFINITION"},
    {Rule::DirectivesInValidLocations, "5.7.2", "schema @d { query: A } type A { a: Int } directive @d on SCHEMA",
     "enum E { A @d } directive @d on SCHEMA"},
    {Rule::UniqueDirectives, "5.7.3", "type A @d @d { a: Int } directive @d repeatable on OBJECT", "type A @d @d { a: Int } directive @d on OBJECT"},
    {Rule::UniqueDirectives, "3.6.3 extension 4", "type A @d { a: Int } extend type A @e directive @d on OBJECT directive @e on OBJECT",
     "type A @d { a: Int } extend type A @d directive @d on OBJECT"},
    {Rule::ArgumentNames, "5.4.1", "scalar A @specifiedBy(url: \"u\")", "scalar A @specifiedBy(url: \"u\", uri: \"u\")"},
    {Rule::ArgumentUniqueness, "5.4.2", "scalar A @specifiedBy(url: \"u\")", "scalar A @specifiedBy(url: \"u\", url: \"u\")"},
    {Rule::RequiredArguments, "5.4.3", "type A { a: Int @deprecated }", "scalar A @specifiedBy"},
    {Rule::ValuesOfCorrectType, "5.6.1", "type A { a: Int @deprecated(reason: \"r\") }", "type A { a: Int @deprecated(reason: 1) }"},
    // What the clauses add to the rules that have cases above.
    {Rule::RootTypes, "3.3.1 subscription", "type Subscription { a: Int }", "interface Subscription { a: Int }"},
    {Rule::ReservedNames, "3.3 names", "directive @_a on FIELD", "directive @__a on FIELD"},
    {Rule::UniqueDirectives, "3.3.2.2", "schema @d { query: A } extend schema @d type A { a: Int } directive @d repeatable on SCHEMA",
     "schema @d { query: A } extend schema @d type A { a: Int } directive @d on SCHEMA"},
    {Rule::UniqueDirectives, "3.5.6.2", "scalar A @d extend scalar A @e directive @d on SCALAR directive @e on SCALAR",
     "scalar A @d extend scalar A @d directive @d on SCALAR"},
    {Rule::InterfaceFields, "3.6.4", "interface I { a: Int } interface J { b: Int } type A implements I & J { a: Int b: Int }",
     "interface I { a: Int } interface J { b: Int } type A implements I & J { a: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementation 2.5", "interface I { a: Int } type A implements I { a: Int }",
     "interface I { a: Int } type A implements I { a: String }"},
    {Rule::InterfaceFields, "3.6 IsSubType 3", "interface I { a: I } interface J implements I { a: J } type A implements I & J { a: A }",
     "interface I { a: I } interface J { b: Int } type A implements I { a: J }"},
    {Rule::UniqueFieldNames, "3.6.3 extension 2", "type A { a: Int } extend type A { b: Int c: Int }", "type A { a: Int } extend type A { b: Int b: Int }"},
    {Rule::ImplementedInterfaces, "3.6.3 extension 5", "interface I { a: Int } type A { a: Int } extend type A implements I",
     "interface I { a: Int } type A implements I { a: Int } extend type A implements I"},
    {Rule::InterfaceFields, "3.6.3 extension 6", "interface I { b: Int } type A { a: Int } extend type A implements I { b: Int }",
     "interface I { b: Int } type A { a: Int } extend type A implements I"},
    {Rule::UniqueFieldNames, "3.7.2.1", "interface A { a: Int b: Int }", "interface A { a: Int a: Int }"},
    {Rule::ReservedNames, "3.7.2.2", "interface A { _a: Int }", "interface A { __a: Int }"},
    {Rule::ReservedNames, "3.7.2.4.1", "interface A { a(_b: Int): Int }", "interface A { a(__b: Int): Int }"},
    {Rule::UniqueArgumentDefinitions, "3.7.2.4.2", "interface A { a(b: Int, c: Int): Int }", "interface A { a(b: Int, b: Int): Int }"},
    {Rule::InputTypes, "3.7.2.4.3", "interface A { a(b: Int): A }", "interface A { a(b: A): Int }"},
    {Rule::RequiredDeprecated, "3.7.2.4.4", "interface A { a(b: Int @deprecated): Int }", "interface A { a(b: Int! @deprecated): Int }"},
    {Rule::ImplementedInterfaces, "3.7.3", "interface I { a: Int } interface J implements I { a: Int }",
     "interface I { a: Int } interface J implements I & I { a: Int }"},
    {Rule::InterfaceFields, "3.7.4", "interface I { a: Int } interface J implements I { a: Int! }", "interface I { a: Int } interface J implements I { b: Int }"},
    {Rule::PossibleTypeExtensions, "3.7.1 extension 1", "interface A { a: Int } extend interface A { b: Int }",
     "type A { a: Int } extend interface A { b: Int }"},
    {Rule::UniqueFieldNames, "3.7.1 extension 2", "interface A { a: Int } extend interface A { b: Int c: Int }",
     "interface A { a: Int } extend interface A { b: Int b: Int }"},
    {Rule::UniqueFieldNames, "3.7.1 extension 3", "interface A { a: Int } extend interface A { b: Int }",
     "interface A { a: Int } extend interface A { a: Int }"},
    {Rule::InterfaceFields, "3.7.1 extension 4", "interface I { a: Int } extend interface I { b: Int } type A implements I { a: Int } extend type A { b: Int }",
     "interface I { a: Int } extend interface I { b: Int } type A implements I { a: Int }"},
    {Rule::UniqueDirectives, "3.7.1 extension 5", "interface A @d { a: Int } extend interface A @d directive @d repeatable on INTERFACE",
     "interface A @d { a: Int } extend interface A @d directive @d on INTERFACE"},
    {Rule::InterfaceFields, "3.7.1 extension 6", "interface I { b: Int } interface A { a: Int } extend interface A implements I { b: Int }",
     "interface I { b: Int } interface A { a: Int } extend interface A implements I"},
    {Rule::PossibleTypeExtensions, "3.8.1 extension 1", "union U = A extend union U = B type A { a: Int } type B { a: Int }",
     "enum U { X } extend union U = B type B { a: Int }"},
    {Rule::UnionMembers, "3.8.1 extension 2", "union U = A extend union U = B type A { a: Int } type B { a: Int }",
     "union U = A extend union U = B type A { a: Int } scalar B"},
    {Rule::UnionMembers, "3.8.1 extension 3", "union U = A extend union U = B | C type A { a: Int } type B { a: Int } type C { a: Int }",
     "union U = A extend union U = B | B type A { a: Int } type B { a: Int }"},
    {Rule::UniqueDirectives, "3.8.1 extension 5", "union U @d = A extend union U @d type A { a: Int } directive @d repeatable on UNION",
     "union U @d = A extend union U @d type A { a: Int } directive @d on UNION"},
    {Rule::Syntax, "3.9 names", "enum A { true_ }", "enum A { true }"},
    {Rule::UniqueFieldNames, "3.9.1 extension 2", "enum A { B } extend enum A { C D }", "enum A { B } extend enum A { C C }"},
    {Rule::UniqueFieldNames, "3.9.1 extension 3", "enum A { B } extend enum A { C }", "enum A { B } extend enum A { B }"},
    {Rule::UniqueDirectives, "3.9.1 extension 4", "enum A @d { B } extend enum A @d directive @d repeatable on ENUM",
     "enum A @d { B } extend enum A @d directive @d on ENUM"},
    {Rule::PossibleTypeExtensions, "3.10.2 extension 1", "input A { a: Int } extend input A { b: Int }", "type A { a: Int } extend input A { b: Int }"},
    {Rule::UniqueFieldNames, "3.10.2 extension 2", "input A { a: Int } extend input A { b: Int c: Int }", "input A { a: Int } extend input A { b: Int b: Int }"},
    {Rule::UniqueFieldNames, "3.10.2 extension 3", "input A { a: Int } extend input A { b: Int }", "input A { a: Int } extend input A { a: Int }"},
    {Rule::UniqueDirectives, "3.10.2 extension 4", "input A @d { a: Int } extend input A @d directive @d repeatable on INPUT_OBJECT",
     "input A @d { a: Int } extend input A @d directive @d on INPUT_OBJECT"},
    {Rule::OneOfFields, "3.10.2 extension 5", "input A @oneOf { a: Int } extend input A { b: Int }", "input A { a: Int } extend input A @oneOf"},
    {Rule::OneOfFields, "3.10.2 extension 6", "input A @oneOf { a: Int } extend input A { b: Int }", "input A @oneOf { a: Int } extend input A { b: Int! }"},
    {Rule::OneOfFields, "3.10.2 extension 6", "input A @oneOf { a: Int } extend input A { b: Int }", "input A @oneOf { a: Int } extend input A { b: Int = 1 }"},
    {Rule::Syntax, "3.12.1", "type A { a: [Int!]! }", "type A { a: Int!! }"},
    {Rule::Syntax, "3.13 locations", "directive @a on FIELD", "directive @a on"},
};

TEST(TypeRules, EachRuleAcceptsAndRefuses) {
  for (const RuleCase& rule_case : kCases) {
    EXPECT_FALSE(section_of(rule_case.rule).empty());
    const auto valid = build_schema(whole(rule_case.valid));
    EXPECT_TRUE(valid.has_value()) << rule_case.clause << ": " << rule_case.valid << "\n" << (valid ? "" : show(valid.error()));
    const auto invalid = build_schema(whole(rule_case.invalid));
    ASSERT_FALSE(invalid.has_value()) << rule_case.clause << ": " << rule_case.invalid;
    const std::vector<Error> errors = invalid.error();
    const bool found = std::any_of(errors.begin(), errors.end(), [&](const Error& error) { return error.rule == rule_case.rule; });
    EXPECT_TRUE(found) << name_of(rule_case.rule) << ", " << rule_case.clause << ": " << rule_case.invalid << "\n" << show(errors);
    for (const Error& error : errors) {
      EXPECT_FALSE(error.locations.empty()) << error.message;
      EXPECT_EQ(error.source, "schema") << error.message;
    }
  }
}

TEST(TypeRules, EveryTypeSystemRuleHasACase) {
  for (auto rule = static_cast<std::uint8_t>(Rule::UniqueTypeNames); rule <= static_cast<std::uint8_t>(Rule::TypeSystemDefinitions); ++rule) {
    if (static_cast<Rule>(rule) == Rule::EnumValues) continue;  // the parser refuses them, see below
    const bool found = std::any_of(std::begin(kCases), std::end(kCases), [&](const RuleCase& c) { return c.rule == static_cast<Rule>(rule); });
    EXPECT_TRUE(found) << name_of(static_cast<Rule>(rule));
  }
}

TEST(TypeRules, TheListOfClausesAndTheCasesAgree) {
  std::set<std::string_view> listed;
  for (const Clause& clause : kClauses) {
    EXPECT_TRUE(listed.insert(clause.id).second) << clause.id << " is listed twice";
    const bool found = std::any_of(std::begin(kCases), std::end(kCases), [&](const RuleCase& c) { return c.clause == clause.id; });
    EXPECT_TRUE(found) << "no case for " << clause.id << ": " << clause.words;
  }
  for (const RuleCase& rule_case : kCases) EXPECT_TRUE(listed.contains(rule_case.clause)) << rule_case.clause << " is not listed";
}

TEST(TypeRules, EnumValuesCannotBeTrueFalseOrNull) {  // 3.9
  for (const char* value : {"true", "false", "null"}) {
    EXPECT_FALSE(build_schema(whole("enum E { A " + std::string(value) + " }")).has_value()) << value;
  }
}

TEST(TypeRules, AllErrorsAreReportedNotOnlyTheFirst) {
  const auto schema = build_schema("type Query { a(__x: Query): Int __b: Int } enum E");
  ASSERT_FALSE(schema.has_value());
  EXPECT_EQ(schema.error().size(), 4U) << show(schema.error());
}

TEST(Schema, ComesFromSeveralTextsInAnyOrder) {  // 3.4.3
  const Source sources[]{{"one.graphql", "extend type Query { b(x: In = {n: 2}): [Thing!]! } union Thing = A | B"},
                         {"two.graphql", "type Query { a: Int } type A { a: Int } type B { b: Int } input In { n: Int = 1 m: Int = 7 }"}};
  const auto schema = build_schema(sources);
  ASSERT_TRUE(schema.has_value()) << show(schema.error());
  const Field* field = (*schema)->query->find_field("b");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->type.str(), "[Thing!]!");
  EXPECT_EQ(show(field->arguments[0].default_value), R"({"n":2,"m":7})");
  EXPECT_TRUE((*schema)->find_type("Thing")->can_be(*(*schema)->find_type("B")));
}

TEST(Schema, ErrorsNameTheText) {
  const Source sources[]{{"one.graphql", "type Query { a: Int }"}, {"two.graphql", "\n  type A { a: Missing }"}};
  const auto schema = build_schema(sources);
  ASSERT_FALSE(schema.has_value());
  EXPECT_EQ(schema.error()[0].source, "two.graphql");
  EXPECT_EQ(schema.error()[0].locations, (std::vector<Location>{{2, 15}}));
  EXPECT_THAT(schema.error()[0].message, testing::HasSubstr("Missing"));
}

TEST(Schema, KeepsDirectivesForTheirUsers) {  // 3.13
  const auto schema = build_schema(
      "directive @trigger(name: String!, times: Int = 3) on FIELD_DEFINITION type Query { a: Int @trigger(name: \"t\") b: Int }");
  ASSERT_TRUE(schema.has_value()) << show(schema.error());
  const DirectiveNode* trigger = find_directive((*schema)->query->find_field("a")->directives, "trigger");
  ASSERT_NE(trigger, nullptr);
  Arena arena;
  EXPECT_EQ(directive_argument(**schema, *trigger, "name", arena).as_text(), "t");
  EXPECT_EQ(directive_argument(**schema, *trigger, "times", arena).as_integer(), 3);
  EXPECT_EQ(find_directive((*schema)->query->find_field("b")->directives, "trigger"), nullptr);
}

TEST(Schema, LongChainsOfTypesAreBuiltOrRefused) {
  std::string sdl = "type Query { a(x: I0): Int }";
  for (int i = 0; i < 20'000; ++i) sdl += " input I" + std::to_string(i) + " { a: I" + std::to_string(i + 1) + " = {} }";
  sdl += " input I20000 { a: Int }";
  const auto schema = build_schema(sdl);
  ASSERT_FALSE(schema.has_value());
  EXPECT_EQ(schema.error()[0].rule, Rule::DefaultValueCycles);
}

}  // namespace
}  // namespace fanfare::graphql
