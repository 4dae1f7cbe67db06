// Introspection, subscriptions, the document cache, and what `fanfare graphql check` says.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphql/cache.h"
#include "graphql/check.h"
#include "graphql/subscription.h"
#include "wire/json/value.h"

namespace fanfare::graphql {
namespace {

namespace json = wire::json;
using testing::HasSubstr;

std::unique_ptr<Bindings> bind(std::string_view sdl) {
  auto schema = build_schema(sdl);
  EXPECT_TRUE(schema.has_value()) << schema.error()[0].message;
  return std::make_unique<Bindings>(*schema);
}

std::string run(const Bindings& bindings, std::string_view query) {
  const auto prepared = Prepared::prepare(bindings, {"query", query});
  EXPECT_TRUE(prepared.has_value()) << prepared.error()[0].message;
  Execution execution;
  execution.start(*prepared, {});
  return std::string(execution.response());
}

TEST(Introspection, DescribesEveryKindOfType) {  // 4.2
  const auto bindings = bind(R"(
    "The schema" schema { query: Q }
    "A query" type Q implements N { "f" f(a: [Int!]! = [1, 2] b: In @deprecated): [Q!]! @deprecated(reason: "old") n: ID! }
    interface N { n: ID! } union U = Q enum E { A @deprecated B } input In { x: E = A y: Date } input One @oneOf { a: Int b: Int }
    scalar Date @specifiedBy(url: "https://example.com/date") directive @d(a: Int = 3) repeatable on FIELD | OBJECT)");
  EXPECT_EQ(run(*bindings, R"({ __schema { description queryType { name } mutationType { name } } })"),
            R"({"data":{"__schema":{"description":"The schema","queryType":{"name":"Q"},"mutationType":null}}})");
  EXPECT_EQ(run(*bindings, R"({ __type(name: "Q") { kind name description fields { name } all: fields(includeDeprecated: true) { name description
      isDeprecated deprecationReason type { ...T } args { name } every: args(includeDeprecated: true) { name defaultValue type { ...T } isDeprecated } }
      interfaces { name } possibleTypes { name } enumValues { name } inputFields { name } ofType { name } specifiedByURL isOneOf } }
      fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } })"),
            R"({"data":{"__type":{"kind":"OBJECT","name":"Q","description":"A query","fields":[{"name":"n"}],"all":[{"name":"f","description":"f",)"
            R"("isDeprecated":true,"deprecationReason":"old","type":{"kind":"NON_NULL","name":null,"ofType":{"kind":"LIST","name":null,"ofType":)"
            R"({"kind":"NON_NULL","name":null,"ofType":{"kind":"OBJECT","name":"Q"}}}},"args":[{"name":"a"}],"every":[{"name":"a","defaultValue":"[1, 2]",)"
            R"("type":{"kind":"NON_NULL","name":null,"ofType":{"kind":"LIST","name":null,"ofType":{"kind":"NON_NULL","name":null,"ofType":)"
            R"({"kind":"SCALAR","name":"Int"}}}},"isDeprecated":false},{"name":"b","defaultValue":null,"type":{"kind":"INPUT_OBJECT","name":"In",)"
            R"("ofType":null},"isDeprecated":true}]},{"name":"n","description":null,"isDeprecated":false,"deprecationReason":null,"type":)"
            R"({"kind":"NON_NULL","name":null,"ofType":{"kind":"SCALAR","name":"ID","ofType":null}},"args":[],"every":[]}],"interfaces":[{"name":"N"}],)"
            R"("possibleTypes":null,"enumValues":null,"inputFields":null,"ofType":null,"specifiedByURL":null,"isOneOf":null}}})");
  EXPECT_EQ(run(*bindings, R"({ n: __type(name: "N") { kind possibleTypes { name } interfaces { name } } u: __type(name: "U") { kind possibleTypes { name } }
      e: __type(name: "E") { kind enumValues { name } all: enumValues(includeDeprecated: true) { name isDeprecated deprecationReason } }
      i: __type(name: "In") { kind isOneOf inputFields { name defaultValue } } o: __type(name: "One") { isOneOf }
      d: __type(name: "Date") { kind specifiedByURL } none: __type(name: "Nothing") { name } })"),
            R"({"data":{"n":{"kind":"INTERFACE","possibleTypes":[{"name":"Q"}],"interfaces":[]},"u":{"kind":"UNION","possibleTypes":[{"name":"Q"}]},)"
            R"("e":{"kind":"ENUM","enumValues":[{"name":"B"}],"all":[{"name":"A","isDeprecated":true,"deprecationReason":"No longer supported"},)"
            R"({"name":"B","isDeprecated":false,"deprecationReason":null}]},"i":{"kind":"INPUT_OBJECT","isOneOf":false,"inputFields":)"
            R"([{"name":"x","defaultValue":"A"},{"name":"y","defaultValue":null}]},"o":{"isOneOf":true},"d":{"kind":"SCALAR","specifiedByURL":)"
            R"("https://example.com/date"},"none":null}})");
  const std::string directives = run(*bindings, "{ __schema { directives { name isRepeatable locations args { name defaultValue } } } }");
  EXPECT_THAT(directives, HasSubstr(R"({"name":"d","isRepeatable":true,"locations":["FIELD","OBJECT"],"args":[{"name":"a","defaultValue":"3"}]})"));
  for (const char* name : {"skip", "include", "deprecated", "specifiedBy", "oneOf"}) {
    EXPECT_THAT(directives, HasSubstr("{\"name\":\"" + std::string(name) + "\""));
  }
  const std::string types = run(*bindings, "{ __schema { types { name } } }");
  EXPECT_EQ(types, R"({"data":{"__schema":{"types":[{"name":"Q"},{"name":"Int"},{"name":"ID"},{"name":"N"},{"name":"U"},{"name":"E"},{"name":"In"},)"
                   R"({"name":"One"},{"name":"Date"},{"name":"Boolean"},{"name":"String"},{"name":"__Schema"},{"name":"__Type"},{"name":"__TypeKind"},)"
                   R"({"name":"__Field"},{"name":"__InputValue"},{"name":"__EnumValue"},{"name":"__Directive"},{"name":"__DirectiveLocation"}]}}})");
}

TEST(Introspection, ItsOwnTypesAreThere) {
  const auto bindings = bind("type Query { a: Int }");
  EXPECT_THAT(run(*bindings, R"({ __type(name: "__Type") { fields { name } } })"), HasSubstr("possibleTypes"));
  EXPECT_EQ(run(*bindings, "{ __typename ...F } fragment F on Query { t: __typename __schema { __typename } }"),
            R"({"data":{"__typename":"Query","t":"Query","__schema":{"__typename":"__Schema"}}})");
}

class Subscriptions : public testing::Test {
 protected:
  Result<std::unique_ptr<Subscription>, std::vector<Error>> subscribe(std::string_view query, std::string_view variables = "{}") {
    auto prepared = Prepared::prepare(*bindings_, {"query", query});
    EXPECT_TRUE(prepared.has_value()) << prepared.error()[0].message;
    Arena arena;  // gone before the first event
    ExecuteRequest request;
    request.variables = to_value(*json::parse(variables), arena);
    return Subscription::create(*prepared, request);
  }
  std::string event(const Subscription& subscription, std::string_view root) {
    const json::Value value = *json::parse(root);
    subscription.execute_event(execution_, Resolved::json(&value), nullptr);
    return std::string(execution_.response());
  }
  std::unique_ptr<Bindings> bindings_ =
      bind("type Query { a: Int } type Subscription { ready(workspace: ID!, n: Int! = 3, f: Float): Ready } type Ready { id: ID! size(unit: String): Int }");
  Execution execution_;
};

TEST_F(Subscriptions, NameTheirFieldAndExecuteEachEvent) {  // 6.2.3
  const auto made = subscribe("subscription ($w: ID!, $big: Boolean!) { r: ready(workspace: $w) { id size @include(if: $big) } }", R"({"w":"docs","big":true})");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->field().name, "ready");
  EXPECT_EQ((*made)->response_key(), "r");
  EXPECT_EQ((*made)->argument("workspace").as_text(), "docs");
  EXPECT_EQ((*made)->argument("n").as_integer(), 3);
  EXPECT_TRUE((*made)->argument("f").is_absent());
  EXPECT_EQ(event(**made, R"({"ready":{"id":1,"size":2}})"), R"({"data":{"r":{"id":"1","size":2}}})");
  EXPECT_THAT(event(**made, R"({"ready":{"size":2}})"), HasSubstr(R"("path":["r","id"]}],"data":{"r":null}})"));
  EXPECT_EQ(event(**made, R"({"ready":{"id":3,"size":4}})"), R"({"data":{"r":{"id":"3","size":4}}})");
}

TEST_F(Subscriptions, RefuseWhatCannotStart) {
  EXPECT_EQ(subscribe("{ a }").error()[0].rule, Rule::OperationSelection);
  EXPECT_EQ(subscribe("subscription ($w: ID!) { ready(workspace: $w) { id } }").error()[0].rule, Rule::Variables);
  const auto bad = subscribe("subscription ($n: Int) { ready(workspace: 1, n: $n) { id } }", R"({"n":null})");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error()[0].path, (std::vector<PathItem>{std::string("ready")}));
}

TEST_F(Subscriptions, SourceErrorsHavePlaceAndPath) {
  const auto made = subscribe("subscription {\n  x: ready(workspace: 1) { id } }");
  ASSERT_TRUE(made.has_value());
  const Error error = (*made)->source_error("the broker is away");
  EXPECT_EQ(error.locations, (std::vector<Location>{{2, 3}}));
  EXPECT_EQ(error.path, (std::vector<PathItem>{std::string("x")}));
}

TEST_F(Subscriptions, TellWhetherTheyAnswerAlike) {
  const auto prepared = *Prepared::prepare(*bindings_, {"query", "subscription ($w: ID!) { ready(workspace: $w) { id } }"});
  const auto make = [&](std::string_view variables) {
    Arena arena;
    ExecuteRequest request;
    request.variables = to_value(*json::parse(variables), arena);
    return std::move(*Subscription::create(prepared, request));
  };
  EXPECT_TRUE(make(R"({"w":1})")->same_responses(*make(R"({"w":"1"})")));
  EXPECT_FALSE(make(R"({"w":1})")->same_responses(*make(R"({"w":2})")));
}

TEST(DocumentCache, KeepsTheMostRecentlyUsed) {
  const auto bindings = bind("type Query { a: Int b: Int c: Int }");
  CacheOptions options;
  options.entries = 2;
  DocumentCache cache(*bindings, options);
  const PreparedPtr a = *cache.get("{ a }");
  EXPECT_EQ(*cache.get("{ a }"), a);
  (void)*cache.get("{ b }");
  EXPECT_EQ(*cache.get("{ a }"), a);
  (void)*cache.get("{ c }");  // gives up b
  EXPECT_EQ(*cache.get("{ a }"), a);
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.hits(), 3U);
  EXPECT_EQ(cache.misses(), 3U);
  (void)*cache.get("{ b }");
  (void)*cache.get("{ c }");
  EXPECT_NE(*cache.get("{ a }"), a);
  EXPECT_EQ(a->document().text, "{ a }");  // still valid for who has it
}

TEST(DocumentCache, IsBoundedInBytesAndKeepsNoErrors) {
  const auto bindings = bind("type Query { a: Int }");
  CacheOptions options;
  options.bytes = 2 * (*Prepared::prepare(*bindings, {"request", "{ x: a }"}))->bytes();
  DocumentCache cache(*bindings, options);
  (void)*cache.get("{ a }");
  (void)*cache.get("{ x: a }");
  (void)*cache.get("{ y: a }");
  EXPECT_LE(cache.size(), 2U);
  EXPECT_FALSE(cache.get("{ nothing }").has_value());
  EXPECT_FALSE(cache.get("{").has_value());
  EXPECT_LE(cache.size(), 2U);
}

TEST(DocumentCache, CanBeRestrictedToTrustedDocuments) {
  const auto bindings = bind("type Query { a: Int b: Int }");
  CacheOptions options;
  options.trusted_only = true;
  options.prepare.limits.aliases = 1;
  DocumentCache cache(*bindings, options);
  EXPECT_FALSE(cache.trust("bad", "{ c }").has_value());
  ASSERT_TRUE(cache.trust("one", "{ x: a y: a z: a }").has_value());  // beyond the limits of others
  EXPECT_EQ(cache.get("{ b }").error()[0].rule, Rule::TrustedDocumentsOnly);
  EXPECT_EQ(cache.get_trusted("two").error()[0].rule, Rule::TrustedDocumentsOnly);
  EXPECT_EQ(*cache.get("{ x: a y: a z: a }"), *cache.get_trusted("one"));
  ASSERT_TRUE(cache.trust("again", "{ x: a y: a z: a }").has_value());
  EXPECT_TRUE(cache.get("{ x: a y: a z: a }").has_value());
}

TEST(Check, ShowsWhereAndWhy) {
  const Source schema[]{{"schema.graphql", "type Query { user: User }\ntype User { name: String }"}};
  const Source documents[]{{"query.graphql", "{\n  user { nam }\n}"}, {"good.graphql", "{ user { name } }"}, {"broken.graphql", "{ user {"}};
  const CheckResult result = check(schema, documents);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.errors(), 2U);
  EXPECT_EQ(as_text(result, schema, documents),
            "schema: 2 types, right\n"
            "query.graphql:2:10: error: The type \"User\" has no field \"nam\". Did you mean \"name\"? [5.3.1 Field Selections]\n"
            "2 |   user { nam }\n"
            "  |          ^\n"
            "good.graphql: 1 operation, right\n"
            "broken.graphql:1:9: error: Syntax error: expected a field, \"...\" or \"}\", found the end of the text [2 Language]\n"
            "1 | { user {\n"
            "  |         ^\n"
            "2 errors\n");
  const Source broken[]{{"schema.graphql", "type Query {\n  user: Usr\n}\ntype User { a: Int }"}};
  const CheckResult refused = check(broken, documents);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(as_text(refused, broken, documents),
            "schema.graphql:2:9: error: Unknown type \"Usr\". Did you mean \"User\"? [3.4 Types]\n"
            "2 |   user: Usr\n"
            "  |         ^\n"
            "1 error in the schema\n");
  EXPECT_TRUE(check(schema, {}).ok());
  EXPECT_EQ(as_json(check(schema, {})), "{\"ok\":true,\"types\":2,\"documents\":[],\"errors\":[]}\n");
  EXPECT_EQ(as_json(check(schema, std::span(documents).first(2))),
            R"({"ok":false,"types":2,"documents":[{"source":"query.graphql","operations":1,"errors":1},)"
            R"({"source":"good.graphql","operations":1,"errors":0}],"errors":[{"source":"query.graphql","rule":"FieldSelections",)"
            R"("section":"5.3.1 Field Selections","message":"The type \"User\" has no field \"nam\". Did you mean \"name\"?",)"
            R"("locations":[{"line":2,"column":10}]}]})"
            "\n");
}

}  // namespace
}  // namespace fanfare::graphql
