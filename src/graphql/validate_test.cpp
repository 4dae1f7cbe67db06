// The rules of section 5, each with documents that keep to it and documents that break it. The schema is the
// specification's own example, with what its sections add.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "graphql/validate.h"

namespace fanfare::graphql {
namespace {

constexpr std::string_view kSdl = R"(
type Query { dog: Dog findDog(searchBy: FindDogInput): Dog cat: Cat pet: Pet human(id: ID): Human catOrDog: CatOrDog
  arguments: Arguments findPet(by: PetBy, list: [PetBy!]): Pet booleanList(list: [Boolean!]): Boolean any(value: Any): Int }
type Mutation { addPet(pet: PetInput!): Pet addPets(pet: [PetInput!]!): [Pet] }
type Subscription { newMessage: Message disallowed: Int }
type Message { body: String sender: String }
enum DogCommand { SIT DOWN HEEL }
type Dog implements Pet { name: String! nickname: String barkVolume: Int doesKnowCommand(dogCommand: DogCommand!): Boolean!
  isHouseTrained(atOtherHomes: Boolean): Boolean! owner: Human mother: Dog }
interface Sentient { name: String! }
interface Pet { name: String! }
type Alien implements Sentient { name: String! homePlanet: String }
type Human implements Sentient { name: String! pets: [Pet!] relatives: [Human] }
enum CatCommand { JUMP }
type Cat implements Pet { name: String! nickname: String doesKnowCommand(catCommand: CatCommand!): Boolean! meowVolume: Int mother: Cat }
union CatOrDog = Cat | Dog
union DogOrHuman = Dog | Human
union HumanOrAlien = Human | Alien
input FindDogInput { name: String owner: String }
input PetBy @oneOf { name: String id: ID }
input PetInput { name: String! age: Int! = 1 tags: [String!] friend: PetInput }
scalar Any
type Arguments { multipleRequirements(x: Int!, y: Int!): Int! booleanArgField(booleanArg: Boolean): Boolean floatArgField(floatArg: Float): Float
  intArgField(intArg: Int): Int nonNullBooleanArgField(nonNullBooleanArg: Boolean!): Boolean! booleanListArgField(booleanListArg: [Boolean]!): [Boolean]
  optionalNonNullBooleanArgField(optionalBooleanArg: Boolean! = false): Boolean! }
directive @repeats repeatable on FIELD
directive @single(a: Int) on FIELD | VARIABLE_DEFINITION
)";

const Schema& schema() {
  static const SchemaPtr built = [] {
    auto result = build_schema(kSdl);
    EXPECT_TRUE(result.has_value()) << result.error()[0].message;
    return *result;
  }();
  return *built;
}

std::vector<Error> errors_of(std::string_view text, const ValidationOptions& options = {}) {
  const auto document = parse({"test", text});
  EXPECT_TRUE(document.has_value()) << text << "\n" << (document ? "" : document.error().message);
  return document ? validate(schema(), **document, options) : std::vector<Error>();
}

std::string show(const std::vector<Error>& errors) {
  std::string text;
  for (const Error& error : errors) text += std::string(name_of(error.rule)) + ": " + error.message + "\n";
  return text;
}

struct RuleCase {
  Rule rule;
  const char* valid;
  const char* invalid;
  std::string_view section = {};  ///< where a rule has several
};

const RuleCase kCases[] = {
    {Rule::ExecutableDefinitions, "query A { dog { name } }", "query A { dog { name } } extend type Dog { color: String }"},
    {Rule::OperationTypeExistence, "mutation { addPet(pet: {name: \"a\"}) { name } }", ""},  // see below
    {Rule::UniqueOperationNames, "query A { dog { name } } query B { dog { name } }", "query A { dog { name } } mutation A { addPets(pet: []) { name } }"},
    {Rule::LoneAnonymousOperation, "{ dog { name } }", "{ dog { name } } query B { dog { name } }"},
    {Rule::SubscriptionSingleRootField, "subscription { newMessage { body sender } }", "subscription { newMessage { body } disallowed }"},
    {Rule::SubscriptionSingleRootField, "subscription { ...F } fragment F on Subscription { newMessage { body } }",
     "subscription { ...F } fragment F on Subscription { newMessage { body } disallowed }"},
    {Rule::SubscriptionSingleRootField, "subscription { a: newMessage { body } a: newMessage { sender } }", "subscription { a: disallowed b: disallowed }"},
    {Rule::SubscriptionSingleRootField, "subscription { newMessage { body @skip(if: true) } }", "subscription { __typename }"},
    {Rule::SubscriptionSingleRootField, "subscription { ... { newMessage { body } } }",
     "subscription ($b: Boolean!) { newMessage @include(if: $b) { body } disallowed @skip(if: $b) }"},
    {Rule::FieldSelections, "{ dog { name nickname } }", "{ dog { meowVolume } }"},
    {Rule::FieldSelections, "{ dog { __typename } }", "{ dog { barkVolume: kawVolume } }"},
    {Rule::FieldSelections, "{ pet { name ... on Dog { nickname } } }", "{ pet { nickname } }"},
    {Rule::FieldSelections, "{ catOrDog { __typename ... on Pet { name } } }", "{ catOrDog { name } }"},
    {Rule::FieldSelections, "{ __schema { queryType { name } } __type(name: \"Dog\") { name } }", "{ dog { __schema { queryType { name } } } }"},
    {Rule::FieldSelectionMerging, "{ dog { name name otherName: name otherName: name } }", "{ dog { name: nickname name } }"},
    {Rule::FieldSelectionMerging, "query ($c: DogCommand!) { dog { doesKnowCommand(dogCommand: $c) doesKnowCommand(dogCommand: $c) } }",
     "{ dog { doesKnowCommand(dogCommand: SIT) doesKnowCommand(dogCommand: HEEL) } }"},
    {Rule::FieldSelectionMerging, "{ dog { isHouseTrained isHouseTrained } }", "{ dog { isHouseTrained(atOtherHomes: true) isHouseTrained } }"},
    {Rule::FieldSelectionMerging, "{ pet { ... on Dog { volume: barkVolume } ... on Cat { volume: meowVolume } } }",
     "{ pet { ... on Dog { some: nickname } ... on Cat { some: meowVolume } } }"},
    {Rule::FieldSelectionMerging, "{ pet { ... on Dog { mother { x: barkVolume } } ... on Cat { mother { x: meowVolume } } } }",
     "{ dog { mother { x: name } } ...F } fragment F on Query { dog { mother { x: nickname } } }"},
    {Rule::FieldSelectionMerging, "{ ...A ...B } fragment A on Query { dog { name } } fragment B on Query { dog { nickname } }",
     "{ ...A ...B } fragment A on Query { dog { x: name } } fragment B on Query { dog { x: nickname } }"},
    {Rule::FieldSelectionMerging, "{ findDog(searchBy: {name: \"a\", owner: \"b\"}) { name } findDog(searchBy: {owner: \"b\", name: \"a\"}) { name } }",
     "{ findDog(searchBy: {name: \"a\"}) { name } findDog(searchBy: {name: \"b\"}) { name } }"},
    {Rule::LeafFieldSelections, "{ dog { barkVolume } }", "{ dog { barkVolume { sinceWhen } } }"},
    {Rule::LeafFieldSelections, "{ human { name } }", "{ human }"},
    {Rule::LeafFieldSelections, "{ pet { name } }", "{ pet catOrDog { __typename } }"},
    {Rule::ArgumentNames, "{ dog { doesKnowCommand(dogCommand: SIT) } }", "{ dog { doesKnowCommand(command: CLEAN_UP_HOUSE, dogCommand: SIT) } }"},
    {Rule::ArgumentNames, "{ dog { isHouseTrained @include(if: true) } }", "{ dog { isHouseTrained @include(unless: false, if: true) } }"},
    {Rule::ArgumentUniqueness, "{ dog { isHouseTrained(atOtherHomes: true) } }", "{ dog { isHouseTrained(atOtherHomes: true, atOtherHomes: true) } }"},
    {Rule::RequiredArguments, "{ arguments { multipleRequirements(x: 1, y: 2) booleanArgField } }", "{ arguments { multipleRequirements(x: 1) } }"},
    {Rule::RequiredArguments, "{ arguments { optionalNonNullBooleanArgField } }", "{ arguments { nonNullBooleanArgField } }"},
    {Rule::RequiredArguments, "{ dog @skip(if: false) { name } }", "{ dog @skip { name } }"},
    {Rule::UniqueFragmentNames, "{ dog { ...A ...B } } fragment A on Dog { name } fragment B on Dog { name }",
     "{ dog { ...A } } fragment A on Dog { name } fragment A on Dog { nickname }"},
    {Rule::FragmentSpreadTypeExistence, "{ dog { ... on Pet { name } } }", "{ dog { ... on NotInSchema { name } } }"},
    {Rule::FragmentSpreadTypeExistence, "query ($a: Boolean) { booleanList(list: [true]) arguments { booleanArgField(booleanArg: $a) } }",
     "query ($a: Missing) { any(value: $a) }"},
    {Rule::FragmentsOnCompositeTypes, "{ catOrDog { ...F } } fragment F on CatOrDog { ... on Dog { name } }", "{ dog { ...F } } fragment F on Int { something }"},
    {Rule::FragmentsOnCompositeTypes, "{ dog { ... { name } } }", "{ dog { ... on Boolean { somethingElse } } }"},
    {Rule::FragmentsUsed, "{ dog { ...F } } fragment F on Dog { name }", "{ dog { name } } fragment F on Dog { name }"},
    {Rule::FragmentsUsed, "{ dog { ...F } } fragment F on Dog { ...G } fragment G on Dog { name }", "{ dog { name } } fragment F on Dog { ...G } fragment G on Dog { name }"},
    {Rule::FragmentSpreadTargetDefined, "{ dog { ...F } } fragment F on Dog { name }", "{ dog { ...Undefined } }"},
    {Rule::FragmentCycles, "{ dog { ...F } } fragment F on Dog { mother { ...G } } fragment G on Dog { name }",
     "{ dog { ...F } } fragment F on Dog { mother { ...F } }"},
    {Rule::FragmentCycles, "{ dog { ...F ...F } } fragment F on Dog { name }",
     "{ dog { ...A } } fragment A on Dog { ...B } fragment B on Dog { ...C } fragment C on Dog { ...A }"},
    {Rule::FragmentSpreadPossible, "{ dog { ... on Dog { barkVolume } } }", "{ dog { ... on Cat { meowVolume } } }"},
    {Rule::FragmentSpreadPossible, "{ pet { ... on Dog { barkVolume } } dog { ... on Pet { name } } }", "{ dog { ... on Sentient { name } } }"},
    {Rule::FragmentSpreadPossible, "{ catOrDog { ... on Pet { name } } }", "{ catOrDog { ...F } } fragment F on HumanOrAlien { ... on Human { name } }"},
    {Rule::FragmentSpreadPossible, "{ dog { ...F } } fragment F on Dog { ... on Dog { barkVolume } }", "{ dog { ...F } } fragment F on Dog { ... on Cat { meowVolume } }",
     "5.5.2.3.1 Object Spreads in Object Scope"},
    {Rule::FragmentSpreadPossible, "{ dog { ...F ...G } } fragment F on Pet { name } fragment G on CatOrDog { ... on Cat { meowVolume } }",
     "{ dog { ...F } } fragment F on HumanOrAlien { __typename }", "5.5.2.3.2 Abstract Spreads in Object Scope"},
    {Rule::FragmentSpreadPossible, "{ pet { ... on Dog { barkVolume } } catOrDog { ... on Cat { meowVolume } } }",
     "{ human { ...F } } fragment F on Sentient { ... on Dog { barkVolume } }", "5.5.2.3.3 Object Spreads in Abstract Scope"},
    {Rule::FragmentSpreadPossible, "{ pet { ...F } } fragment F on DogOrHuman { ... on Dog { barkVolume } }",
     "{ pet { ...F } } fragment F on Sentient { name }", "5.5.2.3.4 Abstract Spreads in Abstract Scope"},
    {Rule::ValuesOfCorrectType, "{ arguments { booleanArgField(booleanArg: true) intArgField(intArg: -1) floatArgField(floatArg: 1) } }",
     "{ arguments { intArgField(intArg: \"123\") } }"},
    {Rule::ValuesOfCorrectType, "query ($s: FindDogInput = {name: \"Fido\"}) { findDog(searchBy: $s) { name } }",
     "query ($s: FindDogInput = {name: 123}) { findDog(searchBy: $s) { name } }"},
    {Rule::ValuesOfCorrectType, "{ human(id: 1) { name } dog { doesKnowCommand(dogCommand: SIT) } }", "{ dog { doesKnowCommand(dogCommand: \"SIT\") } }"},
    {Rule::ValuesOfCorrectType, "{ booleanList(list: true) }", "{ booleanList(list: [true, null]) }"},
    {Rule::ValuesOfCorrectType, "{ arguments { intArgField(intArg: 2147483647) } }", "{ arguments { intArgField(intArg: 2147483648) } }"},
    {Rule::ValuesOfCorrectType, "{ any(value: {a: [1, X, \"s\", {b: null}]}) }", "{ arguments { floatArgField(floatArg: \"3.14\") } }"},
    {Rule::ValuesOfCorrectType, "{ findDog(searchBy: {name: \"Fido\"}) { name } }", "{ findDog(searchBy: {favoriteCookieFlavor: \"Bacon\"}) { name } }", "5.6.2 Input Object Field Names"},
    {Rule::ValuesOfCorrectType, "mutation { addPet(pet: {name: \"a\"}) { name } }", "mutation { addPet(pet: {age: 1}) { name } }", "5.6.4 Input Object Required Fields"},
    {Rule::ValuesOfCorrectType, "{ findPet(by: {name: \"a\"}) { name } }", "{ findPet(by: {name: \"a\", id: 1}) { name } }"},  // 3.10.1
    {Rule::ValuesOfCorrectType, "query ($n: String!) { findPet(by: {name: $n}) { name } }", "{ findPet(by: {name: null}) { name } }"},
    {Rule::ValuesOfCorrectType, "{ findPet(list: {id: 3}) { name } }", "{ findPet(by: {}) { name } }"},
    {Rule::UniqueInputFieldNames, "{ findDog(searchBy: {name: \"a\", owner: \"b\"}) { name } }", "{ findDog(searchBy: {name: \"a\", name: \"b\"}) { name } }"},
    {Rule::DirectivesDefined, "{ dog @include(if: true) { name } }", "{ dog @unknown { name } }"},
    {Rule::DirectivesInValidLocations, "{ dog @skip(if: false) { name } }", "query @skip(if: true) { dog { name } }"},
    {Rule::DirectivesInValidLocations, "query ($a: Any @single) { any(value: $a) }", "{ dog @deprecated { name } }"},
    {Rule::UniqueDirectives, "{ dog @repeats @repeats { name } }", "query ($a: Boolean!, $b: Boolean!) { dog @skip(if: $a) @skip(if: $b) { name } }"},
    {Rule::UniqueVariables, "query A($x: Any) { any(value: $x) } query B($x: Any) { any(value: $x) }", "query ($x: Any, $x: Any) { any(value: $x) }"},
    {Rule::VariablesAreInputTypes, "query ($a: [Boolean!]) { booleanList(list: $a) }", "query ($a: Cat) { any(value: $a) }"},
    {Rule::VariablesAreInputTypes, "query ($a: FindDogInput) { findDog(searchBy: $a) { name } }", "query ($a: [Pet!]!) { any(value: $a) }"},
    {Rule::VariableUsesDefined, "query ($a: Boolean) { dog { isHouseTrained(atOtherHomes: $a) } }", "{ dog { isHouseTrained(atOtherHomes: $a) } }"},
    {Rule::VariableUsesDefined, "query ($a: Boolean) { dog { ...F } } fragment F on Dog { isHouseTrained(atOtherHomes: $a) }",
     "{ dog { ...F } } fragment F on Dog { ...G } fragment G on Dog { isHouseTrained(atOtherHomes: $a) }"},
    {Rule::VariablesUsed, "query ($a: Any) { any(value: [$a]) }", "query ($a: Any) { dog { name } }"},
    {Rule::VariablesUsed, "query ($a: Any) { any(value: {x: $a}) }",
     "query A($a: Boolean) { dog { ...F } } query B($a: Boolean, $extra: Int) { dog { ...F } } fragment F on Dog { isHouseTrained(atOtherHomes: $a) }"},
    {Rule::VariableUsagesAllowed, "query ($a: Boolean!) { arguments { booleanArgField(booleanArg: $a) } }", "query ($a: Int) { arguments { booleanArgField(booleanArg: $a) } }"},
    {Rule::VariableUsagesAllowed, "query ($a: [Boolean]!) { arguments { booleanListArgField(booleanListArg: $a) } }",
     "query ($a: [Boolean]) { arguments { booleanListArgField(booleanListArg: $a) } }"},
    {Rule::VariableUsagesAllowed, "query ($a: Boolean = true) { arguments { nonNullBooleanArgField(nonNullBooleanArg: $a) } }",
     "query ($a: Boolean) { arguments { nonNullBooleanArgField(nonNullBooleanArg: $a) } }"},
    {Rule::VariableUsagesAllowed, "query ($a: Boolean) { arguments { optionalNonNullBooleanArgField(optionalBooleanArg: $a) } }",
     "query ($a: Boolean = null) { arguments { nonNullBooleanArgField(nonNullBooleanArg: $a) } }"},
    {Rule::VariableUsagesAllowed, "query ($a: Boolean!) { booleanList(list: [$a]) }", "query ($a: Boolean!) { booleanList(list: $a) }"},
    {Rule::VariableUsagesAllowed, "query ($a: String!) { findPet(by: {name: $a}) { name } }", "query ($a: String) { findPet(by: {name: $a}) { name } }"},
    {Rule::IntrospectionDepth, "{ __schema { types { fields { type { fields { name } } } } } }",
     "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }"},
    {Rule::IntrospectionDepth, "{ __schema { types { ...F } } } fragment F on __Type { fields { name } }",
     "{ __schema { types { fields { type { ...F } } } } } fragment F on __Type { interfaces { ...G } } fragment G on __Type { possibleTypes { name } }"},
};

TEST(Validation, EachRuleAcceptsAndRefuses) {
  for (const RuleCase& rule_case : kCases) {
    const auto valid = errors_of(rule_case.valid);
    EXPECT_TRUE(valid.empty()) << section_of(rule_case.rule) << ": " << rule_case.valid << "\n" << show(valid);
    if (std::string_view(rule_case.invalid).empty()) continue;
    const auto invalid = errors_of(rule_case.invalid);
    const bool found = std::any_of(invalid.begin(), invalid.end(), [&](const Error& error) { return error.rule == rule_case.rule; });
    EXPECT_TRUE(found) << name_of(rule_case.rule) << " (" << section_of(rule_case.rule) << "): " << rule_case.invalid << "\n" << show(invalid);
    for (const Error& error : invalid) EXPECT_FALSE(error.locations.empty()) << error.message;
  }
}

// All headings of section 5 that state a rule, and the rule that is theirs.
struct Heading {
  std::string_view section;
  Rule rule;
};
constexpr Heading kHeadings[] = {
    {"5.1.1 Executable Definitions", Rule::ExecutableDefinitions},
    {"5.2.1.1 Operation Type Existence", Rule::OperationTypeExistence},
    {"5.2.2.1 Operation Name Uniqueness", Rule::UniqueOperationNames},
    {"5.2.3.1 Lone Anonymous Operation", Rule::LoneAnonymousOperation},
    {"5.2.4.1 Single Root Field", Rule::SubscriptionSingleRootField},
    {"5.3.1 Field Selections", Rule::FieldSelections},
    {"5.3.2 Field Selection Merging", Rule::FieldSelectionMerging},
    {"5.3.3 Leaf Field Selections", Rule::LeafFieldSelections},
    {"5.4.1 Argument Names", Rule::ArgumentNames},
    {"5.4.2 Argument Uniqueness", Rule::ArgumentUniqueness},
    {"5.4.3 Required Arguments", Rule::RequiredArguments},
    {"5.5.1.1 Fragment Name Uniqueness", Rule::UniqueFragmentNames},
    {"5.5.1.2 Fragment Spread Type Existence", Rule::FragmentSpreadTypeExistence},
    {"5.5.1.3 Fragments on Object, Interface or Union Types", Rule::FragmentsOnCompositeTypes},
    {"5.5.1.4 Fragments Must Be Used", Rule::FragmentsUsed},
    {"5.5.2.1 Fragment Spread Target Defined", Rule::FragmentSpreadTargetDefined},
    {"5.5.2.2 Fragment Spreads Must Not Form Cycles", Rule::FragmentCycles},
    {"5.5.2.3 Fragment Spread Is Possible", Rule::FragmentSpreadPossible},
    {"5.5.2.3.1 Object Spreads in Object Scope", Rule::FragmentSpreadPossible},
    {"5.5.2.3.2 Abstract Spreads in Object Scope", Rule::FragmentSpreadPossible},
    {"5.5.2.3.3 Object Spreads in Abstract Scope", Rule::FragmentSpreadPossible},
    {"5.5.2.3.4 Abstract Spreads in Abstract Scope", Rule::FragmentSpreadPossible},
    {"5.6.1 Values of Correct Type", Rule::ValuesOfCorrectType},
    {"5.6.2 Input Object Field Names", Rule::ValuesOfCorrectType},
    {"5.6.3 Input Object Field Uniqueness", Rule::UniqueInputFieldNames},
    {"5.6.4 Input Object Required Fields", Rule::ValuesOfCorrectType},
    {"5.7.1 Directives Are Defined", Rule::DirectivesDefined},
    {"5.7.2 Directives Are in Valid Locations", Rule::DirectivesInValidLocations},
    {"5.7.3 Directives Are Unique per Location", Rule::UniqueDirectives},
    {"5.8.1 Variable Uniqueness", Rule::UniqueVariables},
    {"5.8.2 Variables Are Input Types", Rule::VariablesAreInputTypes},
    {"5.8.3 All Variable Uses Defined", Rule::VariableUsesDefined},
    {"5.8.4 All Variables Used", Rule::VariablesUsed},
    {"5.8.5 All Variable Usages Are Allowed", Rule::VariableUsagesAllowed},
};

/// The heading that a case is for: its own, or that of its rule.
std::string_view heading_of(const RuleCase& rule_case) { return rule_case.section.empty() ? section_of(rule_case.rule) : rule_case.section; }

TEST(Validation, TheListOfHeadingsAndTheCasesAgree) {
  for (const Heading& heading : kHeadings) {
    const auto is_for_it = [&](const RuleCase& rule_case) { return heading_of(rule_case) == heading.section && rule_case.rule == heading.rule; };
    EXPECT_TRUE(std::any_of(std::begin(kCases), std::end(kCases), is_for_it)) << "no case for " << heading.section;
  }
  for (const RuleCase& rule_case : kCases) {
    if (rule_case.rule == Rule::IntrospectionDepth) continue;  // a limit, not a rule of the specification
    const bool is_listed = std::any_of(std::begin(kHeadings), std::end(kHeadings), [&](const Heading& heading) {
      return heading.section == heading_of(rule_case) && heading.rule == rule_case.rule;
    });
    EXPECT_TRUE(is_listed) << heading_of(rule_case) << " is not listed";
  }
}

TEST(Validation, EveryRuleHasACase) {
  for (auto rule = static_cast<std::uint8_t>(Rule::ExecutableDefinitions); rule <= static_cast<std::uint8_t>(Rule::IntrospectionDepth); ++rule) {
    const bool found = std::any_of(std::begin(kCases), std::end(kCases), [&](const RuleCase& c) { return c.rule == static_cast<Rule>(rule); });
    EXPECT_TRUE(found) << name_of(static_cast<Rule>(rule));
    EXPECT_EQ(section_of(static_cast<Rule>(rule)).starts_with("5."), static_cast<Rule>(rule) != Rule::IntrospectionDepth);
  }
}

TEST(Validation, OperationsNeedTheirRootType) {  // 5.2.1.1
  const auto small = build_schema("type Query { a: Int }");
  for (const char* text : {"mutation { a }", "subscription { a }"}) {
    const auto document = parse({"test", text});
    const auto errors = validate(**small, **document);
    ASSERT_EQ(errors.size(), 1U) << show(errors);
    EXPECT_EQ(errors[0].rule, Rule::OperationTypeExistence);
  }
}

TEST(Validation, MessagesHelp) {
  EXPECT_EQ(errors_of("{ dog { nam } }")[0].message, "The type \"Dog\" has no field \"nam\". Did you mean \"name\"?");
  EXPECT_EQ(errors_of("{ pet { barkVolume } }")[0].message, "The type \"Pet\" has no field \"barkVolume\". Use an inline fragment on \"Dog\".");
  EXPECT_EQ(errors_of("{ dog { ...F } } fragment G on Dog { name }")[0].message, "Unknown fragment \"F\". Did you mean \"G\"?");
  EXPECT_EQ(errors_of("{ dog { doesKnowCommand(dogCommand: SITT) } }")[0].message, "The enum \"DogCommand\" has no value \"SITT\". Did you mean \"SIT\"?");
}

TEST(Validation, OneMistakeGivesOneError) {
  for (const char* text : {"{ unknown { a { b(c: 1) } } }", "{ dog { name { x y } } }", "{ dog(unknown: {a: [1]}) { name } }"}) {
    EXPECT_EQ(errors_of(text).size(), 1U) << text << "\n" << show(errors_of(text));
  }
}

TEST(Validation, ErrorsAreLimited) {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += " unknown" + std::to_string(i);
  EXPECT_EQ(errors_of(text + "}").size(), 100U);
}

// Documents made to be slow: each is refused or done with little work. Counted here; timed by the benchmark (speed.mjs),
// which asks for at most 50 ms.
TEST(Validation, HostileDocumentsAreLittleWork) {
  const auto repeat = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const auto numbered = [](const std::string& before, const std::string& after, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += before + std::to_string(i) + after;
    return out;
  };
  std::string chain = "{ dog { ...F0 } }";
  for (int i = 0; i < 5000; ++i) chain += " fragment F" + std::to_string(i) + " on Dog { ...F" + std::to_string(i + 1) + " }";
  std::string doubling = "{ dog { ...F0 } }";
  for (int i = 0; i < 1500; ++i) {
    const std::string next = std::to_string(i + 1);
    doubling += " fragment F" + std::to_string(i) + " on Dog { a: mother { ...F" + next + " } b: mother { ...F" + next + " } }";
  }
  std::string overlapping = "{ dog { ...F0 ...F1 } }";
  for (int i = 0; i < 600; ++i) {
    overlapping += " fragment F" + std::to_string(i) + " on Dog { mother { ...F" + std::to_string((i + 1) % 600) + " ...F" + std::to_string((i + 7) % 600) +
                   " } x: name }";
  }
  std::string crossing = "{ dog { " + numbered("...F", " ", 2000) + "} }";
  for (int i = 0; i < 2000; ++i) crossing += " fragment F" + std::to_string(i) + " on Dog { mother { mother { name } } }";
  std::string cycle;
  for (int i = 0; i < 5000; ++i) cycle += " fragment F" + std::to_string(i) + " on Dog { ...F" + std::to_string((i + 1) % 5000) + " }";
  std::string long_chain;
  for (int i = 0; i < 2500; ++i) long_chain += " fragment F" + std::to_string(i) + " on Dog { ...F" + std::to_string(i + 1) + " }";
  std::string subscription_chain;
  for (int i = 0; i < 2500; ++i) {
    subscription_chain += " fragment S" + std::to_string(i) + " on Subscription { ...S" + std::to_string(i + 1) + " }";
  }
  const std::pair<const char*, std::string> documents[] = {
      {"ten thousand aliases", "{ dog {" + numbered(" a", ": name", 10'000) + "} }"},
      {"one field again and again", "{ dog {" + repeat(" name", 40'000) + "} }"},
      {"one composite field again and again", "{" + repeat(" dog { name }", 9'000) + "}"},
      {"aliases that conflict", "{ dog {" + repeat(" a: name a: nickname", 6'000) + "} }"},
      {"nested and repeated", repeat("{ dog { mother ", 1) + repeat("{ mother { name } mother ", 90) + "{ name }" + repeat("}", 92)},
      {"a chain of fragments", chain},
      {"fragments that double", doubling},
      {"fragments that overlap in a ring", overlapping},
      {"all fragments in one set", crossing},
      {"a cycle of fragments", "{ dog { ...F0 } }" + cycle},
      {"a megabyte of nesting", "{" + repeat("a{", 500'000)},
      {"many arguments", "{ dog { isHouseTrained(" + numbered("a", ": 1 ", 12'000) + ") } }"},
      {"a large input object", "{ any(value: {" + numbered("a", ": 1 ", 12'000) + "}) b: any(value: {" + numbered("a", ": 1 ", 1) + "}) }"},
      {"two large objects to merge", "{ any(value: {" + numbered("a", ": 1 ", 6'000) + "}) any(value: {" + numbered("a", ": 1 ", 6'000) + "}) }"},
      {"many variables", "query (" + numbered("$v", ": Any ", 9'000) + ") { any(value: [" + numbered("$v", " ", 1'000) + "]) }"},
      {"many operations that share many fragments", numbered("query Q", " { dog { ...F0 } } ", 2'500) + long_chain},
      {"many subscriptions that share many fragments", numbered("subscription S", " { ...S0 } ", 2'500) + subscription_chain},
      {"many operations", numbered("query Q", " { dog { ...F } } ", 4'000) + "fragment F on Dog { name }"},
      {"many unknown spreads", "{ dog {" + numbered(" ...Unknown", "", 12'000) + "} }" + numbered(" fragment K", " on Dog { name }", 2'000)},
      {"unknown spreads with long names", [] {
         const std::string name(36, 'x');
         std::string text = "{ dog {";
         for (int i = 0; i < 200; ++i) text += " ..." + name + std::to_string(i);
         text += " } }";
         for (int i = 1000; i < 2000; ++i) text += " fragment " + name + std::to_string(i) + " on Dog { name }";
         return text;
       }()},
      {"many directives", "{ dog { name" + repeat(" @repeats", 20'000) + "} }"},
  };
  const ValidationOptions options;
  for (const auto& [name, text] : documents) {
    const auto document = parse({"hostile", text}, ParseLimits::for_requests());
    if (!document) continue;  // refused for its size
    std::size_t steps = 0;
    const auto errors = validate(schema(), **document, options, &steps);
    EXPECT_GE(steps, (*document)->selection_sets) << name;  // the work is counted at all
    EXPECT_LE(steps, 20 * std::size_t{(*document)->tokens} + options.merging_steps + options.operation_steps) << name << "\n" << show(errors);
  }
}

TEST(Validation, SharedFragmentsOfTooManyOperationsAreRefused) {
  const auto text_of = [](int operations) {
    std::string text;
    for (int i = 0; i < operations; ++i) text += "query Q" + std::to_string(i) + " { dog { ...F0 } } ";
    for (int i = 0; i < 1000; ++i) text += " fragment F" + std::to_string(i) + " on Dog { ...F" + std::to_string(i + 1) + " }";
    return text + " fragment F1000 on Dog { name }";
  };
  EXPECT_EQ(show(errors_of(text_of(300))), "");
  const auto errors = errors_of(text_of(3000));
  ASSERT_EQ(errors.size(), 1U) << show(errors);
  EXPECT_EQ(errors[0].rule, Rule::DocumentTooLarge);
}

TEST(Validation, TheWorkOfLinearDocumentsGrowsWithTheirLength) {
  const auto steps_of = [](int fields) {
    std::string text = "{ dog {";
    for (int i = 0; i < fields; ++i) text += " a" + std::to_string(i) + ": isHouseTrained(atOtherHomes: true)";
    std::size_t steps = 0;
    const auto document = parse({"test", text + " } }"});
    EXPECT_TRUE(validate(schema(), **document, {}, &steps).empty());
    return steps;
  };
  EXPECT_LE(steps_of(8000), 5 * steps_of(2000));
}

TEST(Locations, TheIndexAgreesWithReadingFromTheStart) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += std::string(static_cast<std::size_t>(i % 7), 'x') + (i % 3 == 0 ? "\r\n" : i % 3 == 1 ? "\r" : "\xE2\x82\xAC\n");
  const LineIndex index(text);
  for (Offset at = 0; at <= text.size() + 1; ++at) EXPECT_EQ(index.locate(at), locate(text, at)) << at;
  EXPECT_EQ(LineIndex("").locate(0), (Location{1, 1}));
}

TEST(Validation, MergingThatTakesTooLongIsRefused) {
  std::string text = "{";
  for (int i = 0; i < 3000; ++i) text += " dog { name }";
  const auto errors = errors_of(text + "}");
  ASSERT_EQ(errors.size(), 1U) << show(errors);
  EXPECT_EQ(errors[0].rule, Rule::MergingLimit);
}

}  // namespace
}  // namespace fanfare::graphql
