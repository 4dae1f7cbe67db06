// Errors of this module: what is wrong, where, and which rule says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graphql/source.h"

namespace fanfare::graphql {

/// The rule that was broken. Names follow the specification's headings; `section()` names the section.
enum class Rule : std::uint8_t {
  // Language (section 2)
  Syntax,             ///< the text does not follow the grammar
  DocumentTooLarge,   ///< more bytes, tokens or nesting than the limits allow
  // Type system (section 3)
  UniqueTypeNames,            ///< two definitions of one type
  UniqueDirectiveNames,       ///< two definitions of one directive
  LoneSchemaDefinition,       ///< more than one `schema` definition
  UniqueOperationTypes,       ///< two root types for one kind of operation
  RootTypes,                  ///< query root missing, not an object type, or one type for two kinds
  KnownTypes,                 ///< a name that no type has
  PossibleTypeExtensions,     ///< an extension of an unknown type or of another kind
  ReservedNames,              ///< a name that begins with two underscores
  OutputTypes,                ///< a field of an input type
  InputTypes,                 ///< an argument, input field or variable of an output type
  NonEmptyTypes,              ///< a type without fields, values, members or a directive without locations
  UniqueFieldNames,           ///< two fields, input fields or enum values of one name
  UniqueArgumentDefinitions,  ///< two arguments of one name in a definition
  ImplementedInterfaces,      ///< not an interface, twice, itself, or an ancestor missing
  InterfaceFields,            ///< a field or argument does not fit its interface's
  UnionMembers,               ///< not an object type, or twice
  EnumValues,                 ///< `true`, `false` and `null` are not enum values
  InputObjectCycles,          ///< no finite value can be given
  DefaultValueCycles,         ///< a default value that contains itself
  DefaultValues,              ///< a default value that does not fit its type
  OneOfFields,                ///< a field of a OneOf input object that is not nullable or has a default value
  RequiredDeprecated,         ///< a required argument or input field that is deprecated
  DirectiveCycles,            ///< a directive definition that refers to itself
  DirectiveLocations,         ///< an unknown or repeated location in a directive definition
  SpecifiedByScalars,         ///< @specifiedBy without a usable URL
  TypeSystemDefinitions,      ///< an operation or fragment in a schema text
  // Documents (section 5)
  ExecutableDefinitions,
  OperationTypeExistence,
  UniqueOperationNames,
  LoneAnonymousOperation,
  SubscriptionSingleRootField,
  FieldSelections,
  FieldSelectionMerging,
  LeafFieldSelections,
  ArgumentNames,
  ArgumentUniqueness,
  RequiredArguments,
  UniqueFragmentNames,
  FragmentSpreadTypeExistence,
  FragmentsOnCompositeTypes,
  FragmentsUsed,
  FragmentSpreadTargetDefined,
  FragmentCycles,
  FragmentSpreadPossible,
  ValuesOfCorrectType,
  UniqueInputFieldNames,
  DirectivesDefined,
  DirectivesInValidLocations,
  UniqueDirectives,
  UniqueVariables,
  VariablesAreInputTypes,
  VariableUsesDefined,
  VariablesUsed,
  VariableUsagesAllowed,
  // Limits, before execution
  IntrospectionDepth,
  DepthLimit,
  ComplexityLimit,
  AliasLimit,
  DirectiveLimit,
  RootFieldLimit,
  MergingLimit,          ///< the field merging check would take too long
  IntrospectionOff,
  TrustedDocumentsOnly,  ///< the document is not among the trusted ones
  // Requests and execution (section 6)
  OperationSelection,  ///< no operation, several without a name, or an unknown name
  Variables,           ///< a variable's value does not fit
  Execution,           ///< a field error: from a resolver, a result that does not fit, or null where null is not allowed
};

/// "ValuesOfCorrectType": the enumerator's name.
std::string_view name_of(Rule rule);
/// "5.6.1 Values of Correct Type": where the September 2025 edition states it; empty for limits.
std::string_view section_of(Rule rule);

using PathItem = std::variant<std::string, std::size_t>;

struct Error {
  Rule rule = Rule::Syntax;
  std::string message;
  std::vector<Location> locations;
  std::vector<PathItem> path;  ///< execution errors only
  std::string extensions;      ///< a JSON object as text, or empty
  std::string source;          ///< name of the source, for schemas of several files; not sent to clients
};

/// Appends `{"message":...,"locations":[...],"path":[...],"extensions":{...}}`. [GraphQL 7.1.2]
void append_error(std::string& out, const Error& error);
/// Appends `{"errors":[...]}`: the response of a request that was not executed.
void append_request_errors(std::string& out, const std::vector<Error>& errors);

}  // namespace fanfare::graphql
