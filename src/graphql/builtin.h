// What every schema has without saying so: scalars, directives, and the types of introspection.
#pragma once

#include <string_view>

namespace fanfare::graphql {

/// SDL. [GraphQL 3.5, 3.13, 4.2]
inline constexpr std::string_view kBuiltinSdl = R"GRAPHQL(
"The `Int` scalar type represents whole numbers from -(2^31) to 2^31 - 1."
scalar Int
"The `Float` scalar type represents double-precision numbers as specified by IEEE 754."
scalar Float
"The `String` scalar type represents text as a sequence of Unicode code points."
scalar String
"The `Boolean` scalar type represents `true` or `false`."
scalar Boolean
"The `ID` scalar type represents a unique identifier. It is sent as a string and is not meant to be read by people; a string or a whole number is accepted as input."
scalar ID

"Directs the executor to include this field or fragment only when the `if` argument is true."
directive @include("Included when true." if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT
"Directs the executor to skip this field or fragment when the `if` argument is true."
directive @skip("Skipped when true." if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT
"Marks an element of a GraphQL schema as no longer supported."
directive @deprecated(
  "Why it is deprecated, usually with what to use instead, in Markdown as of CommonMark."
  reason: String! = "No longer supported"
) on FIELD_DEFINITION | ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION | ENUM_VALUE
"Names a URL that specifies the behaviour of this scalar."
directive @specifiedBy("The URL that specifies the behaviour of this scalar." url: String!) on SCALAR
"Says that an input object takes exactly one of its fields."
directive @oneOf on INPUT_OBJECT

"A schema describes what a GraphQL service can do: its types and directives, and the roots of its query, mutation and subscription operations."
type __Schema {
  description: String
  "A list of all types supported by this server."
  types: [__Type!]!
  "The type that query operations start from."
  queryType: __Type!
  "The type that mutation operations start from, if this server has mutations."
  mutationType: __Type
  "The type that subscription operations start from, if this server has subscriptions."
  subscriptionType: __Type
  "A list of all directives supported by this server."
  directives: [__Directive!]!
}
"A type: a named one, whose kind says which further fields have a value, or a list or non-null type around another."
type __Type {
  kind: __TypeKind!
  name: String
  description: String
  specifiedByURL: String
  fields(includeDeprecated: Boolean! = false): [__Field!]
  interfaces: [__Type!]
  possibleTypes: [__Type!]
  enumValues(includeDeprecated: Boolean! = false): [__EnumValue!]
  inputFields(includeDeprecated: Boolean! = false): [__InputValue!]
  ofType: __Type
  isOneOf: Boolean
}
"The kinds of type."
enum __TypeKind {
  "A scalar."
  SCALAR
  "An object. `fields` and `interfaces` are given."
  OBJECT
  "An interface. `fields`, `interfaces` and `possibleTypes` are given."
  INTERFACE
  "A union. `possibleTypes` is given."
  UNION
  "An enum. `enumValues` is given."
  ENUM
  "An input object. `inputFields` is given."
  INPUT_OBJECT
  "A list. `ofType` is given."
  LIST
  "A non-null. `ofType` is given."
  NON_NULL
}
"A field of an object or interface type: its name, arguments and type."
type __Field {
  name: String!
  description: String
  args(includeDeprecated: Boolean! = false): [__InputValue!]!
  type: __Type!
  isDeprecated: Boolean!
  deprecationReason: String
}
"An argument of a field or directive, or a field of an input object."
type __InputValue {
  name: String!
  description: String
  type: __Type!
  "The default value as a GraphQL literal."
  defaultValue: String
  isDeprecated: Boolean!
  deprecationReason: String
}
"One of the values of an enum."
type __EnumValue {
  name: String!
  description: String
  isDeprecated: Boolean!
  deprecationReason: String
}
"A directive: an annotation in documents and schemas that changes what a server or a tool does."
type __Directive {
  name: String!
  description: String
  isRepeatable: Boolean!
  locations: [__DirectiveLocation!]!
  args(includeDeprecated: Boolean! = false): [__InputValue!]!
}
"The places where a directive may stand."
enum __DirectiveLocation {
  "At a query."
  QUERY
  "At a mutation."
  MUTATION
  "At a subscription."
  SUBSCRIPTION
  "At a field."
  FIELD
  "At a fragment definition."
  FRAGMENT_DEFINITION
  "At a fragment spread."
  FRAGMENT_SPREAD
  "At an inline fragment."
  INLINE_FRAGMENT
  "At a variable definition."
  VARIABLE_DEFINITION
  "At a schema definition."
  SCHEMA
  "At a scalar definition."
  SCALAR
  "At an object type definition."
  OBJECT
  "At a field definition."
  FIELD_DEFINITION
  "At an argument definition."
  ARGUMENT_DEFINITION
  "At an interface definition."
  INTERFACE
  "At a union definition."
  UNION
  "At an enum definition."
  ENUM
  "At the definition of an enum value."
  ENUM_VALUE
  "At an input object type definition."
  INPUT_OBJECT
  "At the definition of an input object's field."
  INPUT_FIELD_DEFINITION
}
"Holds the fields that the executor adds to others."
type __Meta {
  "The schema of this server."
  __schema: __Schema!
  "The type of this name, if there is one."
  __type(name: String!): __Type
  "The name of the object type at run time."
  __typename: String!
}
)GRAPHQL";

}  // namespace fanfare::graphql
