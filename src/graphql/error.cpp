#include "graphql/error.h"

#include <array>

#include <fmt/format.h>

#include "wire/json/writer.h"

namespace fanfare::graphql {
namespace {

struct RuleText {
  std::string_view name;
  std::string_view section;
};

// In the order of the enumeration.
constexpr std::array kRules{
    RuleText{"Syntax", "2 Language"},
    RuleText{"DocumentTooLarge", ""},
    RuleText{"UniqueTypeNames", "3.4 Types"},
    RuleText{"UniqueDirectiveNames", "3.13 Directives"},
    RuleText{"LoneSchemaDefinition", "3.3 Schema"},
    RuleText{"UniqueOperationTypes", "3.3.1 Root Operation Types"},
    RuleText{"RootTypes", "3.3.1 Root Operation Types"},
    RuleText{"KnownTypes", "3.4 Types"},
    RuleText{"PossibleTypeExtensions", "3.4.3 Type Extensions"},
    RuleText{"ReservedNames", "2.1.9 Names"},
    RuleText{"OutputTypes", "3.4.2 Input and Output Types"},
    RuleText{"InputTypes", "3.4.2 Input and Output Types"},
    RuleText{"NonEmptyTypes", "3.6 Objects"},
    RuleText{"UniqueFieldNames", "3.6 Objects"},
    RuleText{"UniqueArgumentDefinitions", "3.6.1 Field Arguments"},
    RuleText{"ImplementedInterfaces", "3.7 Interfaces"},
    RuleText{"InterfaceFields", "3.6 Objects (IsValidImplementation)"},
    RuleText{"UnionMembers", "3.8 Unions"},
    RuleText{"EnumValues", "3.9 Enums"},
    RuleText{"InputObjectCycles", "3.10 Input Objects (Circular References)"},
    RuleText{"DefaultValueCycles", "3.10 Input Objects (InputObjectDefaultValueHasCycle)"},
    RuleText{"DefaultValues", "3.10 Input Objects"},
    RuleText{"OneOfFields", "3.10.1 OneOf Input Objects"},
    RuleText{"RequiredDeprecated", "3.13.3 @deprecated"},
    RuleText{"DirectiveCycles", "3.13 Directives"},
    RuleText{"DirectiveLocations", "3.13 Directives"},
    RuleText{"SpecifiedByScalars", "3.13.4 @specifiedBy"},
    RuleText{"TypeSystemDefinitions", "3.1 Type System Extensions"},
    RuleText{"ExecutableDefinitions", "5.1.1 Executable Definitions"},
    RuleText{"OperationTypeExistence", "5.2.1.1 Operation Type Existence"},
    RuleText{"UniqueOperationNames", "5.2.2.1 Operation Name Uniqueness"},
    RuleText{"LoneAnonymousOperation", "5.2.3.1 Lone Anonymous Operation"},
    RuleText{"SubscriptionSingleRootField", "5.2.4.1 Single Root Field"},
    RuleText{"FieldSelections", "5.3.1 Field Selections"},
    RuleText{"FieldSelectionMerging", "5.3.2 Field Selection Merging"},
    RuleText{"LeafFieldSelections", "5.3.3 Leaf Field Selections"},
    RuleText{"ArgumentNames", "5.4.1 Argument Names"},
    RuleText{"ArgumentUniqueness", "5.4.2 Argument Uniqueness"},
    RuleText{"RequiredArguments", "5.4.3 Required Arguments"},
    RuleText{"UniqueFragmentNames", "5.5.1.1 Fragment Name Uniqueness"},
    RuleText{"FragmentSpreadTypeExistence", "5.5.1.2 Fragment Spread Type Existence"},
    RuleText{"FragmentsOnCompositeTypes", "5.5.1.3 Fragments on Object, Interface or Union Types"},
    RuleText{"FragmentsUsed", "5.5.1.4 Fragments Must Be Used"},
    RuleText{"FragmentSpreadTargetDefined", "5.5.2.1 Fragment Spread Target Defined"},
    RuleText{"FragmentCycles", "5.5.2.2 Fragment Spreads Must Not Form Cycles"},
    RuleText{"FragmentSpreadPossible", "5.5.2.3 Fragment Spread Is Possible"},
    RuleText{"ValuesOfCorrectType", "5.6.1 Values of Correct Type"},
    RuleText{"UniqueInputFieldNames", "5.6.3 Input Object Field Uniqueness"},
    RuleText{"DirectivesDefined", "5.7.1 Directives Are Defined"},
    RuleText{"DirectivesInValidLocations", "5.7.2 Directives Are in Valid Locations"},
    RuleText{"UniqueDirectives", "5.7.3 Directives Are Unique per Location"},
    RuleText{"UniqueVariables", "5.8.1 Variable Uniqueness"},
    RuleText{"VariablesAreInputTypes", "5.8.2 Variables Are Input Types"},
    RuleText{"VariableUsesDefined", "5.8.3 All Variable Uses Defined"},
    RuleText{"VariablesUsed", "5.8.4 All Variables Used"},
    RuleText{"VariableUsagesAllowed", "5.8.5 All Variable Usages Are Allowed"},
    RuleText{"IntrospectionDepth", ""},
    RuleText{"DepthLimit", ""},
    RuleText{"ComplexityLimit", ""},
    RuleText{"AliasLimit", ""},
    RuleText{"DirectiveLimit", ""},
    RuleText{"RootFieldLimit", ""},
    RuleText{"MergingLimit", ""},
    RuleText{"IntrospectionOff", ""},
    RuleText{"TrustedDocumentsOnly", ""},
    RuleText{"OperationSelection", "6.1 Executing Requests (GetOperation)"},
    RuleText{"Variables", "6.1.2 Coercing Variable Values"},
    RuleText{"Execution", "6.4.4 Handling Execution Errors"},
};
static_assert(kRules.size() == static_cast<std::size_t>(Rule::Execution) + 1);

}  // namespace

std::string_view name_of(Rule rule) { return kRules[static_cast<std::size_t>(rule)].name; }
std::string_view section_of(Rule rule) { return kRules[static_cast<std::size_t>(rule)].section; }

void append_error(std::string& out, const Error& error) {
  out.append("{\"message\":");
  wire::json::append_quoted(out, error.message);
  if (!error.locations.empty()) {
    out.append(",\"locations\":[");
    for (std::size_t i = 0; i < error.locations.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "{}{{\"line\":{},\"column\":{}}}", i == 0 ? "" : ",", error.locations[i].line,
                     error.locations[i].column);
    }
    out.push_back(']');
  }
  if (!error.path.empty()) {
    out.append(",\"path\":[");
    for (std::size_t i = 0; i < error.path.size(); ++i) {
      if (i > 0) out.push_back(',');
      if (const auto* key = std::get_if<std::string>(&error.path[i])) {
        wire::json::append_quoted(out, *key);
      } else {
        fmt::format_to(std::back_inserter(out), "{}", std::get<std::size_t>(error.path[i]));
      }
    }
    out.push_back(']');
  }
  if (!error.extensions.empty()) out.append(",\"extensions\":").append(error.extensions);
  out.push_back('}');
}

void append_request_errors(std::string& out, const std::vector<Error>& errors) {
  out.append("{\"errors\":[");
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_error(out, errors[i]);
  }
  out.append("]}");
}

}  // namespace fanfare::graphql
