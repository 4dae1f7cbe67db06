// The rules of section 3, each with schemas that keep to it and schemas that break it. The text of a case is added to a
// schema with `type Query { ok: Int }` unless it has a Query of its own.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphql/schema.h"

namespace fanfare::graphql {
namespace {

struct RuleCase {
  Rule rule;
  const char* section;
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
    {Rule::UniqueTypeNames, "3.4", "type A { a: Int } type B { a: Int }", "type A { a: Int } enum A { B }"},
    {Rule::UniqueTypeNames, "3.5", "scalar Int", "type String { a: Int }"},
    {Rule::UniqueDirectiveNames, "3.13", "directive @a on FIELD directive @b on FIELD", "directive @a on FIELD directive @a on QUERY"},
    {Rule::LoneSchemaDefinition, "3.3", "schema { query: A } type A { a: Int }", "schema { query: A } schema { query: A } type A { a: Int }"},
    {Rule::UniqueOperationTypes, "3.3.1", "schema { query: A mutation: B } type A { a: Int } type B { a: Int }",
     "schema { query: A query: B } type A { a: Int } type B { a: Int }"},
    {Rule::UniqueOperationTypes, "3.3.2", "schema { query: A } extend schema { mutation: B } type A { a: Int } type B { a: Int }",
     "schema { query: A } extend schema { query: B } type A { a: Int } type B { a: Int }"},
    {Rule::RootTypes, "3.3.1", "schema { query: A } type A { a: Int }", "schema { query: A } enum A { B }"},
    {Rule::RootTypes, "3.3.1", "schema { query: A } type A { a: Int }", "schema { mutation: A } type A { a: Int }"},
    {Rule::RootTypes, "3.3.1", "type Mutation { a: Int }", "enum Mutation { A }"},
    {Rule::RootTypes, "3.3.1", "schema { query: A mutation: B } type A { a: Int } type B { a: Int }",
     "schema { query: A mutation: A } type A { a: Int }"},
    {Rule::KnownTypes, "3.4", "type A { a: B } scalar B", "type A { a: Bee }"},
    {Rule::KnownTypes, "3.6", "interface I { a: Int } type A implements I { a: Int }", "type A implements I { a: Int }"},
    {Rule::KnownTypes, "3.8", "union U = A type A { a: Int }", "union U = A"},
    {Rule::KnownTypes, "3.3.1", "schema { query: A } type A { a: Int }", "schema { query: A } type B { a: Int }"},
    {Rule::PossibleTypeExtensions, "3.4.3", "type A { a: Int } extend type A { b: Int }", "extend type A { b: Int }"},
    {Rule::PossibleTypeExtensions, "3.9.1", "enum A { B } extend enum A { C }", "type A { a: Int } extend enum A { C }"},
    {Rule::PossibleTypeExtensions, "3.5.6", "scalar A extend scalar A @d directive @d on SCALAR",
     "input A { a: Int } extend scalar A @d directive @d on SCALAR"},
    {Rule::ReservedNames, "3.6", "type A { _a: Int }", "type A { __a: Int }"},
    {Rule::ReservedNames, "3.4", "type _A { a: Int }", "type __A { a: Int }"},
    {Rule::ReservedNames, "3.6.1", "type A { a(_b: Int): Int }", "type A { a(__b: Int): Int }"},
    {Rule::ReservedNames, "3.9", "enum A { _B }", "enum A { __B }"},
    {Rule::ReservedNames, "3.10", "input A { _b: Int }", "input A { __b: Int }"},
    {Rule::ReservedNames, "3.13", "directive @_a(_b: Int) on FIELD", "directive @a(__b: Int) on FIELD"},
    {Rule::OutputTypes, "3.6", "type A { a: [B!] } enum B { C }", "type A { a: [B!] } input B { c: Int }"},
    {Rule::OutputTypes, "3.7", "interface A { a: B } union B = C type C { c: Int }", "interface A { a: B } input B { c: Int }"},
    {Rule::InputTypes, "3.6.1", "type A { a(b: [B]): Int } input B { c: Int }", "type A { a(b: [B]): Int } type B { c: Int }"},
    {Rule::InputTypes, "3.10", "input A { a: B } enum B { C }", "input A { a: B } type B { c: Int }"},
    {Rule::InputTypes, "3.13", "directive @d(a: B) on FIELD scalar B", "directive @d(a: B) on FIELD interface B { a: Int }"},
    {Rule::NonEmptyTypes, "3.6", "type A { a: Int }", "type A"},
    {Rule::NonEmptyTypes, "3.7", "interface A { a: Int }", "interface A"},
    {Rule::NonEmptyTypes, "3.8", "union U = A type A { a: Int }", "union U"},
    {Rule::NonEmptyTypes, "3.9", "enum A extend enum A { B }", "enum A"},
    {Rule::NonEmptyTypes, "3.10", "input A { a: Int }", "input A"},
    {Rule::UniqueFieldNames, "3.6", "type A { a: Int b: Int }", "type A { a: Int a: Int }"},
    {Rule::UniqueFieldNames, "3.6.3", "type A { a: Int } extend type A { b: Int }", "type A { a: Int } extend type A { a: Int }"},
    {Rule::UniqueFieldNames, "3.9", "enum A { B C }", "enum A { B B }"},
    {Rule::UniqueFieldNames, "3.10", "input A { a: Int b: Int }", "input A { a: Int a: Int }"},
    {Rule::UniqueArgumentDefinitions, "3.6.1", "type A { a(b: Int, c: Int): Int }", "type A { a(b: Int, b: Int): Int }"},
    {Rule::UniqueArgumentDefinitions, "3.13", "directive @d(a: Int, b: Int) on FIELD", "directive @d(a: Int, a: Int) on FIELD"},
    {Rule::ImplementedInterfaces, "3.6", "interface I { a: Int } type A implements I { a: Int }", "type I { a: Int } type A implements I { a: Int }"},
    {Rule::ImplementedInterfaces, "3.6", "interface I { a: Int } type A implements I { a: Int }", "interface I { a: Int } type A implements I & I { a: Int }"},
    {Rule::ImplementedInterfaces, "3.7", "interface I { a: Int } interface J implements I { a: Int }", "interface I implements I { a: Int }"},
    {Rule::ImplementedInterfaces, "3.7", "interface I { a: Int } interface J implements I { a: Int } type A implements I & J { a: Int }",
     "interface I { a: Int } interface J implements I { a: Int } type A implements J { a: Int }"},
    {Rule::ImplementedInterfaces, "3.7", "interface I { a: Int } interface J implements I { a: Int }",
     "interface I implements J { a: Int } interface J implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6", "interface I { a: Int b: Int } type A implements I { a: Int b: Int }",
     "interface I { a: Int b: Int } type A implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementationFieldType", "interface I { a: I } type A implements I { a: A! }",
     "interface I { a: Int! } type A implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6 IsValidImplementationFieldType", "interface I { a: [I] } type A implements I { a: [A!]! }",
     "interface I { a: [I] } type A implements I { a: A }"},
    {Rule::InterfaceFields, "3.6 IsSubType", "union U = A | B interface I { a: U } type A implements I { a: B } type B { b: Int }",
     "union U = B interface I { a: U } type A implements I { a: A } type B { b: Int }"},
    {Rule::InterfaceFields, "3.6", "interface I { a(b: Int): Int } type A implements I { a(b: Int, c: Int): Int }",
     "interface I { a(b: Int): Int } type A implements I { a: Int }"},
    {Rule::InterfaceFields, "3.6", "interface I { a(b: Int): Int } type A implements I { a(b: Int): Int }",
     "interface I { a(b: Int): Int } type A implements I { a(b: Int!): Int }"},
    {Rule::InterfaceFields, "3.6", "interface I { a: Int } type A implements I { a(b: Int! = 1): Int }",
     "interface I { a: Int } type A implements I { a(b: Int!): Int }"},
    {Rule::InterfaceFields, "3.13.3", "interface I { a: Int @deprecated } type A implements I { a: Int @deprecated }",
     "interface I { a: Int } type A implements I { a: Int @deprecated }"},
    {Rule::UnionMembers, "3.8", "union U = A | B type A { a: Int } type B { a: Int }", "union U = A | A type A { a: Int }"},
    {Rule::UnionMembers, "3.8", "union U = A type A { a: Int }", "union U = I interface I { a: Int }"},
    {Rule::UnionMembers, "3.8.1", "union U = A extend union U = B type A { a: Int } type B { a: Int }", "union U = A extend union U = A type A { a: Int }"},
    {Rule::InputObjectCycles, "3.10", "input A { a: A b: [A!]! }", "input A { a: A! }"},
    {Rule::InputObjectCycles, "3.10", "input A { b: B! } input B { a: A }", "input A { b: B! } input B { c: C! } input C { a: A! }"},
    {Rule::InputObjectCycles, "3.10.1", "input A @oneOf { a: A b: Int }", "input A @oneOf { a: A }"},
    {Rule::InputObjectCycles, "3.10.1", "input A @oneOf { a: B c: Int } input B @oneOf { b: A }", "input A @oneOf { a: B } input B @oneOf { b: A }"},
    {Rule::DefaultValueCycles, "3.10", "input A { a: A = {a: null} }", "input A { a: A = {} }"},
    {Rule::DefaultValueCycles, "3.10", "input A { b: B = {a: {b: null}} } input B { a: A = {b: null} }",
     "input A { b: B = {} } input B { a: A = {} }"},
    {Rule::DefaultValueCycles, "3.10", "input A { l: [A] = [] }", "input A { l: [A] = [{}] }"},
    {Rule::DefaultValues, "3.10", "input A { a: Int = 1 }", "input A { a: Int = \"1\" }"},
    {Rule::DefaultValues, "3.6.1", "type A { a(b: [E!] = [X]): Int } enum E { X }", "type A { a(b: [E!] = [Y]): Int } enum E { X }"},
    {Rule::DefaultValues, "3.13", "directive @d(a: I = {b: 1}) on FIELD input I { b: Int! }", "directive @d(a: I = {}) on FIELD input I { b: Int! }"},
    {Rule::DefaultValues, "3.12", "input A { a: Int! = 1 }", "input A { a: Int! = null }"},
    {Rule::DefaultValues, "3.5.1", "input A { a: Int = 2147483647 }", "input A { a: Int = 2147483648 }"},
    {Rule::DefaultValues, "3.10.1", "input O @oneOf { a: Int b: Int } input A { o: O = {a: 1} }", "input O @oneOf { a: Int b: Int } input A { o: O = {a: 1, b: 2} }"},
    {Rule::OneOfFields, "3.10.1", "input A @oneOf { a: Int b: [Int!] }", "input A @oneOf { a: Int! }"},
    {Rule::OneOfFields, "3.10.1", "input A @oneOf { a: Int }", "input A @oneOf { a: Int = 1 b: Int }"},
    {Rule::RequiredDeprecated, "3.13.3", "type A { a(b: Int! = 1 @deprecated): Int }", "type A { a(b: Int! @deprecated): Int }"},
    {Rule::RequiredDeprecated, "3.13.3", "input A { a: Int @deprecated }", "input A { a: Int! @deprecated }"},
    {Rule::RequiredDeprecated, "3.13.3", "directive @d(a: Int @deprecated) on FIELD", "directive @d(a: Int! @deprecated) on FIELD"},
    {Rule::DirectiveCycles, "3.13", "directive @a(b: Int @b) on ARGUMENT_DEFINITION directive @b on ARGUMENT_DEFINITION",
     "directive @a(b: Int @a) on ARGUMENT_DEFINITION"},
    {Rule::DirectiveCycles, "3.13", "directive @a(b: I) on INPUT_FIELD_DEFINITION input I { c: Int }",
     "directive @a(b: I) on INPUT_FIELD_DEFINITION input I { c: Int @a }"},
    {Rule::DirectiveCycles, "3.13", "directive @a(x: Int @b) on ARGUMENT_DEFINITION directive @b(x: Int) on ARGUMENT_DEFINITION",
     "directive @a(x: Int @b) on ARGUMENT_DEFINITION directive @b(x: Int @a) on ARGUMENT_DEFINITION"},
    {Rule::DirectiveLocations, "3.13", "directive @a on FIELD | QUERY", "directive @a on FIELDS"},
    {Rule::DirectiveLocations, "3.13", "directive @a on FIELD | QUERY", "directive @a on FIELD | FIELD"},
    {Rule::SpecifiedByScalars, "3.13.4", "scalar A @specifiedBy(url: \"https://example.com\") type Query { a: A }",
     "extend scalar Int @specifiedBy(url: \"https://example.com\") type Query { a: Int }"},
    {Rule::DirectivesDefined, "5.7.1", "type A @d { a: Int } directive @d on OBJECT", "type A @d { a: Int }"},
    {Rule::DirectivesInValidLocations, "5.7.2", "type A { a: Int @d } directive @d on FIELD_DEFINITION", "type A @d { a: Int } directive @d on FIELD_DEFINITION"},
    {Rule::DirectivesInValidLocations, "5.7.2", "schema @d { query: A } type A { a: Int } directive @d on SCHEMA",
     "enum E { A @d } directive @d on SCHEMA"},
    {Rule::UniqueDirectives, "5.7.3", "type A @d @d { a: Int } directive @d repeatable on OBJECT", "type A @d @d { a: Int } directive @d on OBJECT"},
    {Rule::UniqueDirectives, "5.7.3", "type A @d { a: Int } extend type A @e directive @d on OBJECT directive @e on OBJECT",
     "type A @d { a: Int } extend type A @d directive @d on OBJECT"},
    {Rule::ArgumentNames, "5.4.1", "scalar A @specifiedBy(url: \"u\")", "scalar A @specifiedBy(url: \"u\", uri: \"u\")"},
    {Rule::ArgumentUniqueness, "5.4.2", "scalar A @specifiedBy(url: \"u\")", "scalar A @specifiedBy(url: \"u\", url: \"u\")"},
    {Rule::RequiredArguments, "5.4.3", "type A { a: Int @deprecated }", "scalar A @specifiedBy"},
    {Rule::ValuesOfCorrectType, "5.6.1", "type A { a: Int @deprecated(reason: \"r\") }", "type A { a: Int @deprecated(reason: 1) }"},
};

TEST(TypeRules, EachRuleAcceptsAndRefuses) {
  for (const RuleCase& rule_case : kCases) {
    EXPECT_FALSE(section_of(rule_case.rule).empty());
    const auto valid = build_schema(whole(rule_case.valid));
    EXPECT_TRUE(valid.has_value()) << rule_case.section << ": " << rule_case.valid << "\n" << (valid ? "" : show(valid.error()));
    const auto invalid = build_schema(whole(rule_case.invalid));
    ASSERT_FALSE(invalid.has_value()) << rule_case.section << ": " << rule_case.invalid;
    const std::vector<Error> errors = invalid.error();
    const bool found = std::any_of(errors.begin(), errors.end(), [&](const Error& error) { return error.rule == rule_case.rule; });
    EXPECT_TRUE(found) << name_of(rule_case.rule) << ", " << rule_case.section << ": " << rule_case.invalid << "\n" << show(errors);
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
