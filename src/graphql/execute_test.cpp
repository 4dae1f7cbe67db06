// Execution against section 6, responses against section 7.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "graphql/allocation_count_test.h"
#include "graphql/execute.h"
#include "wire/json/value.h"

namespace fanfare::graphql {
namespace {

namespace json = wire::json;
using testing::HasSubstr;

/// A schema with a JSON value behind it: fields read the member of their name.
class Service {
 public:
  explicit Service(std::string_view sdl, std::string_view root = "{}", SchemaOptions options = {}) {
    auto schema = build_schema(sdl, std::move(options));
    EXPECT_TRUE(schema.has_value()) << schema.error()[0].message;
    bindings = std::make_unique<Bindings>(*schema);
    auto parsed = json::parse(root);
    EXPECT_TRUE(parsed.has_value()) << parsed.error().message();
    root_ = *parsed;
  }

  PreparedPtr prepare(std::string_view query) const {
    PrepareOptions options;
    auto prepared = Prepared::prepare(*bindings, {"query", query}, options);
    EXPECT_TRUE(prepared.has_value()) << query << "\n" << (prepared ? "" : prepared.error()[0].message);
    return prepared ? *prepared : nullptr;
  }

  void start(std::string_view query, std::string_view variables = "{}", std::string_view operation = "") {
    arena.reset();
    ExecuteRequest request;
    request.operation_name = operation;
    request.variables = to_value(*json::parse(variables), arena);
    request.root = Resolved::json(&root_);
    request.context = this;
    execution.start(prepare(query), request);
  }

  std::string run(std::string_view query, std::string_view variables = "{}", std::string_view operation = "") {
    start(query, variables, operation);
    EXPECT_TRUE(execution.finished());
    EXPECT_TRUE(json::parse(execution.response()).has_value()) << execution.response();
    return std::string(execution.response());
  }

  std::unique_ptr<Bindings> bindings;
  json::Value root_;
  Execution execution;
  Arena arena;
};

TEST(Execution, ReadsMembersByName) {
  Service service("type Query { a: Int b: [T!] } type T { name: String n: Float }", R"({"a":1,"b":[{"name":"x","n":1.5},{"name":"y"}]})");
  EXPECT_EQ(service.run("{ a b { name x: n __typename } }"),
            R"({"data":{"a":1,"b":[{"name":"x","x":1.5,"__typename":"T"},{"name":"y","x":null,"__typename":"T"}]}})");
}

TEST(Execution, FieldsKeepTheOrderOfTheQueryAndAreMerged) {  // 6.3.2
  Service service("type Query { a: T } type T { x: Int y: Int z: Int }", R"({"a":{"x":1,"y":2,"z":3}})");
  EXPECT_EQ(service.run("{ a { z } ...F a { x } } fragment F on Query { a { y z } }"), R"({"data":{"a":{"z":3,"y":2,"x":1}}})");
}

TEST(Execution, SkipAndIncludeDecide) {  // 3.13.1, 3.13.2
  Service service("type Query { a: Int b: Int c: T } type T { d: Int }", R"({"a":1,"b":2,"c":{"d":3}})");
  constexpr std::string_view kQuery =
      "query ($s: Boolean!, $i: Boolean = false) { a @skip(if: $s) b @include(if: $i) ... @include(if: $s) { c { d @skip(if: $i) } } }";
  EXPECT_EQ(service.run(kQuery, R"({"s":false})"), R"({"data":{"a":1}})");
  EXPECT_EQ(service.run(kQuery, R"({"s":true,"i":true})"), R"({"data":{"b":2,"c":{}}})");
  EXPECT_EQ(service.run("{ a @skip(if: true) a @include(if: false) b @skip(if: false) @include(if: true) }"), R"({"data":{"b":2}})");
}

TEST(Execution, ResultsAreCoerced) {  // 3.5
  Service service("type Query { i: Int f: Float s: String b: Boolean id: ID e: E any: Any } enum E { RED } scalar Any",
                  R"({"i":3.0,"f":2,"s":5,"b":true,"id":7,"e":"RED","any":{"x":[1,null,1.10]}})");
  EXPECT_EQ(service.run("{ i f s b id e any }"),
            R"({"data":{"i":3,"f":2,"s":"5","b":true,"id":"7","e":"RED","any":{"x":[1,null,1.10]}}})");
  for (const char* root : {R"({"i":1.5})", R"({"i":2147483648})", R"({"i":"x"})", R"({"i":{}})", R"({"f":"x"})", R"({"s":[]})", R"({"b":"true"})",
                           R"({"id":1.5})", R"({"e":"BLUE"})", R"({"e":1})"}) {
    Service other("type Query { i: Int f: Float s: String b: Boolean id: ID e: E } enum E { RED }", root);
    other.run("{ i f s b id e }");
    ASSERT_EQ(other.execution.errors().size(), 1U) << root << other.execution.response();
    EXPECT_THAT(other.execution.errors()[0].message, HasSubstr(root[2] == 'e' ? "The enum" : "cannot represent"));
  }
}

TEST(Execution, NullGoesUpToWhatMayBeNull) {  // 6.4.4
  Service service("type Query { a: A l: [A!] ll: [[Int!]]! r: R } type A { b: B! ok: Int } type B { c: Int! } type R { r: R! n: Int }",
                  R"({"a":{"ok":1,"b":{"c":null}},"l":[{"b":{"c":1}},{"b":null}],"ll":[[1,2],[3,null],null],"r":{"r":{"r":null}}})");
  EXPECT_EQ(service.run("{ a { ok b { c } } }"),
            R"({"errors":[{"message":"The field \"B.c\" gave null, but its type \"Int!\" does not allow it.","locations":[{"line":1,"column":14}],)"
            R"("path":["a","b","c"]}],"data":{"a":null}})");
  EXPECT_THAT(service.run("{ l { b { c } } ll }"), HasSubstr(R"("data":{"l":null,"ll":[[1,2],null,null]}})"));
  ASSERT_EQ(service.execution.errors().size(), 2U);
  EXPECT_EQ(service.execution.errors()[0].path, (std::vector<PathItem>{std::string("l"), std::size_t{1}, std::string("b")}));
  EXPECT_EQ(service.execution.errors()[1].path, (std::vector<PathItem>{std::string("ll"), std::size_t{1}, std::size_t{1}}));
  EXPECT_THAT(service.run("{ r { n r { n r { n } } } }"), HasSubstr(R"("data":{"r":null}})"));
}

TEST(Execution, DataIsNullWhenNothingOnTheWayMayBe) {
  Service service("type Query { a: A! b: Int } type A { b: Int! }", R"({"a":{"b":null},"b":1})");
  EXPECT_THAT(service.run("{ b a { b } }"), HasSubstr(R"("data":null})"));
  EXPECT_TRUE(service.execution.was_executed());
}

TEST(Execution, ResolversGetTheirArguments) {  // 6.4.1
  Service service("type Query { f(a: Int = 5, b: [In!], c: ID!, d: E = RED): String } input In { x: Int! = 1 y: In z: String } enum E { RED GREEN }");
  ASSERT_TRUE(service.bindings->resolve("Query", "f", [](FieldCall& call) {
    std::string text;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) text += call.arguments[i].is_absent() ? "-;" : show(call.arguments[i]) + ";";
    return Resolved::string(call.keep(text));
  }));
  const auto value = [&](std::string_view query, std::string_view variables = "{}") {
    const auto response = json::parse(service.run(query, variables));
    return std::string(response->find("data")->find_string("f").value_or(service.execution.response()));
  };
  EXPECT_EQ(value("{ f(c: 7) }"), R"(5;-;"7";"RED";)");
  EXPECT_EQ(value("{ f(a: null, c: \"x\", b: {z: \"q\"}, d: GREEN) }"), R"(null;[{"x":1,"z":"q"}];"x";"GREEN";)");
  EXPECT_EQ(value("query ($a: Int, $c: ID!, $b: [In!]) { f(a: $a, c: $c, b: $b) }", R"({"c":3,"b":[{"y":{"x":4}}]})"),
            R"(5;[{"x":1,"y":{"x":4}}];"3";"RED";)");
  EXPECT_EQ(value("query ($y: In, $z: String) { f(c: 1, b: [{y: $y, z: $z}]) }", R"({"y":null})"), R"(5;[{"x":1,"y":null}];"1";"RED";)");
  EXPECT_EQ(value("query ($a: Int = 9) { f(c: 1, a: $a) }"), R"(9;-;"1";"RED";)");
  EXPECT_EQ(value("query ($a: Int = 9) { f(c: 1, a: $a) }", R"({"a":null})"), R"(null;-;"1";"RED";)");
}

TEST(Execution, NullForANonNullArgumentIsAFieldError) {
  Service service("type Query { f(a: Int! = 5): Int g: Int }", R"({"f":1,"g":2})");
  const std::string response = service.run("query ($a: Int) { g f(a: $a) }", R"({"a":null})");
  EXPECT_THAT(response, HasSubstr(R"("data":{"g":2,"f":null}})"));
  EXPECT_THAT(response, HasSubstr(R"("path":["f"])"));
}

TEST(Execution, VariablesThatDoNotFitAreRequestErrors) {  // 6.1.2
  Service service("type Query { f(a: Int, b: In, c: O, e: E): Int } input In { x: Int! l: [Int!] } input O @oneOf { a: Int b: String } enum E { A }");
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a":"1"})", "found \\\"1\\\""},        {R"({"a":1.5})", "whole number"},  {R"({"a":3000000000})", "whole number"},
      {R"({"b":{}})", "required"},                {R"({"b":{"x":1,"q":1}})", "no field"}, {R"({"b":{"x":1,"l":[1,null]}})", ".l[1]"},
      {R"({"c":{"a":1,"b":"x"}})", "exactly one"}, {R"({"c":{"a":null}})", "exactly one"}, {R"({"c":{}})", "exactly one"},
      {R"({"e":"B"})", "no value"},               {R"({"e":1})", "name of a value"}, {R"({"b":3})", "an object"},
  };
  for (const auto& [variables, message] : cases) {
    const std::string response = service.run("query ($a: Int, $b: In, $c: O, $e: E) { f(a: $a, b: $b, c: $c, e: $e) }", variables);
    EXPECT_FALSE(service.execution.was_executed()) << variables;
    EXPECT_THAT(response, HasSubstr(message)) << variables;
    EXPECT_THAT(response, testing::Not(HasSubstr("\"data\""))) << variables;
  }
  EXPECT_THAT(service.run("query ($a: Int!) { f(a: $a) }"), HasSubstr("required and was not given"));
  EXPECT_THAT(service.run("query ($a: Int!) { f(a: $a) }", R"({"a":null})"), HasSubstr("cannot be null"));
}

TEST(Execution, TheOperationIsChosenByName) {  // 6.1 GetOperation
  Service service("type Query { a: Int b: Int }", R"({"a":1,"b":2})");
  EXPECT_EQ(service.run("query A { a } query B { b }", "{}", "B"), R"({"data":{"b":2}})");
  for (const char* name : {"", "C"}) {
    EXPECT_THAT(service.run("query A { a } query B { b }", "{}", name), HasSubstr(R"({"errors":[{"message":)"));
    EXPECT_EQ(service.execution.errors()[0].rule, Rule::OperationSelection);
  }
}

TEST(Execution, AbstractTypesBecomeObjects) {  // 6.4.3 ResolveAbstractType
  Service service("interface I { n: Int } type A implements I { n: Int a: Int } type B implements I { n: Int b: Int } union U = A | B type C { c: Int } "
                  "type Query { i: [I] u: U }",
                  R"({"i":[{"__typename":"A","n":1,"a":2},{"__typename":"B","n":3,"b":4},{"n":5},{"__typename":"C"},{"__typename":"D"}],)"
                  R"("u":{"__typename":"B","b":6}})");
  EXPECT_THAT(service.run("{ i { n __typename ... on A { a } ... on B { b } } u { ... on I { n } ... on B { b } } }"),
              HasSubstr(R"("data":{"i":[{"n":1,"__typename":"A","a":2},{"n":3,"__typename":"B","b":4},null,null,null],"u":{"n":null,"b":6}}})"));
  EXPECT_EQ(service.execution.errors().size(), 3U);
  ASSERT_TRUE(service.bindings->type_of("I", [&](const Resolved&) { return service.bindings->schema().find_type("A"); }));
  EXPECT_EQ(service.run("{ i { __typename } }"),
            R"({"data":{"i":[{"__typename":"A"},{"__typename":"A"},{"__typename":"A"},{"__typename":"A"},{"__typename":"A"}]}})");
}

TEST(Execution, ErrorsOfResolversHavePlacePathAndExtensions) {  // 7.1.2
  Service service("type Query { a: [T] } type T { b: Int c: Int }");
  static const int kObject = 0;
  ASSERT_TRUE(service.bindings->resolve("Query", "a", [](FieldCall& call) {
    const auto items = call.make_items(2);
    for (Resolved& item : items) item = Resolved::object(&kObject);
    return Resolved::items(items);
  }));
  ASSERT_TRUE(service.bindings->resolve("T", "b", [](FieldCall& call) { return call.error("no \"b\"", R"({"code":"B"})"); }));
  ASSERT_TRUE(service.bindings->resolve("T", "c", [](FieldCall&) -> Resolved { throw std::runtime_error("thrown"); }));
  EXPECT_EQ(service.run("{\n  a { x: b }\n}"),
            R"({"errors":[{"message":"no \"b\"","locations":[{"line":2,"column":7}],"path":["a",0,"x"],"extensions":{"code":"B"}},)"
            R"({"message":"no \"b\"","locations":[{"line":2,"column":7}],"path":["a",1,"x"],"extensions":{"code":"B"}}],)"
            R"("data":{"a":[{"x":null},{"x":null}]}})");
  EXPECT_THAT(service.run("{ a { c } }"), HasSubstr(R"("message":"thrown")"));
}

TEST(Execution, WrongShapesAreErrors) {
  Service service("type Query { l: [Int] o: T } type T { a: Int }", R"({"l":3,"o":4})");
  EXPECT_THAT(service.run("{ l o { a } }"), HasSubstr(R"("data":{"l":null,"o":null}})"));
  EXPECT_EQ(service.execution.errors().size(), 2U);
}

TEST(Execution, CustomScalarsParseAndSerialize) {  // 3.5
  SchemaOptions options;
  options.scalars["Even"] = {
      [](const Value& input, Arena&) -> Result<Value, std::string> {
        if (input.kind() != ValueKind::Int || input.as_integer() % 2 != 0) return std::string("not even");
        return Value::integer(input.as_integer() / 2);
      },
      [](const Value& result, Arena&) -> Result<Value, std::string> {
        if (result.kind() != ValueKind::Int) return std::string("no number");
        return Value::integer(result.as_integer() * 2);
      }};
  Service service("scalar Even type Query { f(x: Even = 8): Even bad: Even }", R"({"bad":"x"})", std::move(options));
  ASSERT_TRUE(service.bindings->resolve("Query", "f", [](FieldCall& call) { return Resolved::integer(call.arguments[0].as_integer()); }));
  EXPECT_EQ(service.run("query ($x: Even) { a: f(x: 6) b: f c: f(x: $x) }", R"({"x":4})"), R"({"data":{"a":6,"b":8,"c":4}})");
  EXPECT_THAT(service.run("query ($x: Even) { f(x: $x) }", R"({"x":3})"), HasSubstr("not even"));
  EXPECT_THAT(service.run("{ bad }"), HasSubstr("no number"));
  const auto refused = Prepared::prepare(*service.bindings, {"query", "{ f(x: 3) }"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error()[0].rule, Rule::ValuesOfCorrectType);
  EXPECT_FALSE(build_schema("scalar Even type Query { f(x: Even = 7): Int }", SchemaOptions{{{"Even", service.bindings->schema().find_type("Even")->codec[0]}}, {}}).has_value());
}

// ---- fields that are answered later

class Later {
 public:
  explicit Later(Service& service) : service_(service) {}
  void suspend(std::string_view type, std::string_view field) {
    ASSERT_TRUE(service_.bindings->resolve(type, field, [this](FieldCall& call) {
      PendingId id = 0;
      const Resolved result = call.suspend(id);
      std::string key(call.field.name);
      while (waiting.contains(key)) key += "'";
      waiting[key] = id;
      order.push_back(key);
      return result;
    }));
  }
  void answer(const std::string& key, std::string_view value) {
    values_.push_back(std::make_unique<json::Value>(*json::parse(value)));
    service_.execution.complete(waiting.at(key), Resolved::json(values_.back().get()));
  }
  std::map<std::string, PendingId> waiting;
  std::vector<std::string> order;

 private:
  Service& service_;
  std::vector<std::unique_ptr<json::Value>> values_;
};

TEST(SuspendedFields, AreFilledInInAnyOrder) {
  Service service("type Query { a: Int b: T c: [Int] d: Int } type T { e: Int f: Int }", R"({"d":4})");
  Later later(service);
  for (const char* field : {"a", "b", "c"}) later.suspend("Query", field);
  later.suspend("T", "e");
  service.start("{ a b { f e } d c }");
  EXPECT_FALSE(service.execution.finished());
  EXPECT_EQ(service.execution.waiting_for(), 3U);
  later.answer("c", "[1,null]");
  later.answer("b", R"({"f":6})");
  later.answer("a", "1");
  EXPECT_FALSE(service.execution.finished());
  later.answer("e", "5");
  ASSERT_TRUE(service.execution.finished());
  EXPECT_EQ(service.execution.response(), R"({"data":{"a":1,"b":{"f":6,"e":5},"d":4,"c":[1,null]}})");
}

TEST(SuspendedFields, FailuresTakeBackWhatWasWritten) {
  Service service("type Query { t: T x: Int } type T { a: Int! u: U! l: [U!]! } type U { b: Int! c: Int }", R"({"x":1,"t":{"a":1,"u":{},"l":[{},{}]}})");
  Later later(service);
  later.suspend("U", "b");
  service.start("{ x t { a u { c b } l { b } } y: x }");
  EXPECT_EQ(service.execution.waiting_for(), 3U);
  later.answer("b'", "7");
  service.execution.fail(later.waiting.at("b''"), "broken", R"({"code":1})");
  ASSERT_TRUE(service.execution.finished()) << "what waits below a null is given up";
  EXPECT_EQ(service.execution.response(),
            R"({"errors":[{"message":"broken","locations":[{"line":1,"column":25}],"path":["t","l",1,"b"],"extensions":{"code":1}}],)"
            R"("data":{"x":1,"t":null,"y":1}})");
  later.answer("b", "3");  // too late; ignored
  EXPECT_EQ(service.execution.errors().size(), 1U);
}

TEST(SuspendedFields, ANullRootEndsTheExecution) {
  Service service("type Query { a: Int! b: Int! }");
  Later later(service);
  later.suspend("Query", "a");
  later.suspend("Query", "b");
  service.start("{ a b }");
  later.answer("b", "null");
  ASSERT_TRUE(service.execution.finished());
  EXPECT_THAT(std::string(service.execution.response()), HasSubstr(R"("data":null})"));
}

TEST(SuspendedFields, ASynchronousFailureGivesUpWhatWaits) {
  Service service("type Query { t: T x: Int } type T { a: Int b: Int! }", R"({"t":{"b":null},"x":1})");
  Later later(service);
  later.suspend("T", "a");
  service.start("{ t { a b } x }");
  ASSERT_TRUE(service.execution.finished());
  EXPECT_THAT(std::string(service.execution.response()), HasSubstr(R"("data":{"t":null,"x":1}})"));
}

TEST(SuspendedFields, MutationsWaitForEachOther) {  // 6.2.2
  Service service("type Query { q: Int } type Mutation { a: T b: Int c: Int } type T { d: Int }");
  Later later(service);
  for (const char* field : {"a", "b", "c"}) later.suspend("Mutation", field);
  later.suspend("T", "d");
  service.start("mutation { a { d } b c }");
  EXPECT_EQ(later.order, (std::vector<std::string>{"a"}));
  later.answer("a", "{}");
  EXPECT_EQ(later.order, (std::vector<std::string>{"a", "d"}));
  later.answer("d", "1");
  EXPECT_EQ(later.order, (std::vector<std::string>{"a", "d", "b"}));
  later.answer("b", "2");
  later.answer("c", "3");
  ASSERT_TRUE(service.execution.finished());
  EXPECT_EQ(service.execution.response(), R"({"data":{"a":{"d":1},"b":2,"c":3}})");
}

TEST(SuspendedFields, AFailedMutationStopsThoseAfterItIfItMayNotBeNull) {
  Service service("type Query { q: Int } type Mutation { a: Int! b: Int }");
  Later later(service);
  later.suspend("Mutation", "a");
  later.suspend("Mutation", "b");
  service.start("mutation { a b }");
  service.execution.fail(later.waiting.at("a"), "no");
  ASSERT_TRUE(service.execution.finished());
  EXPECT_EQ(later.order, (std::vector<std::string>{"a"}));
  EXPECT_THAT(std::string(service.execution.response()), HasSubstr(R"("data":null})"));
}

TEST(SuspendedFields, OldIdsAreIgnored) {
  Service service("type Query { a: Int }");
  Later later(service);
  later.suspend("Query", "a");
  service.start("{ a }");
  const PendingId old = later.waiting.at("a");
  service.start("{ a }");
  service.execution.complete(old, Resolved::integer(1));
  EXPECT_FALSE(service.execution.finished());
  later.answer("a'", "2");
  EXPECT_EQ(service.execution.response(), R"({"data":{"a":2}})");
  service.execution.complete(old, Resolved::integer(1));
  service.execution.complete(PendingId{999}, Resolved::integer(1));
  EXPECT_EQ(service.execution.response(), R"({"data":{"a":2}})");
}

// The same query, once with all fields answered at once and once with some answered later in random order: the same data.
TEST(SuspendedFields, GiveTheSameDataAsFieldsAnsweredAtOnce) {
  constexpr std::string_view kSdl =
      "type Query { t: T tn: T! l: [T] ln: [T!]! n: Int! s: String } type T { t: T tn: T! l: [T!] ll: [[T]!] n: Int! s: String }";
  Rng rng(20240917);
  const auto value_for = [&rng](const Field& field) -> Resolved {
    static const int kObject = 0;
    if (rng.chance(1, 12)) return Resolved::null();
    const bool is_leaf = field.type.named->is_leaf();
    if (is_leaf) return field.name == "n" ? Resolved::integer(static_cast<std::int64_t>(rng.below(100))) : Resolved::string("text");
    return Resolved::object(&kObject);
  };
  const auto selection = [&rng](const auto& self, int depth) -> std::string {
    std::string text = "{";
    for (const char* field : {"n", "s", "t", "tn", "l"}) {
      if (!rng.chance(1, 2)) continue;
      const bool is_leaf = field[0] == 'n' || field[0] == 's';
      if (is_leaf) text += std::string(" ") + field;
      if (!is_leaf && depth > 0) text += std::string(" ") + field + self(self, depth - 1);
    }
    return text + " __typename }";
  };
  std::size_t later_count = 0;
  for (int round = 0; round < 500; ++round) {
    const std::string query = selection(selection, 4);
    const std::uint64_t seed = rng.next();
    // Values depend on the path alone, so that the order of answers cannot change them.
    struct State {
      std::uint64_t seed = 0;
      bool may_wait = false;
      Rng order{1};
      std::vector<std::pair<PendingId, Resolved>> waiting;
    } state;
    Service service(kSdl);
    service.bindings->resolve_others([&](FieldCall& call) -> Resolved {
      std::uint64_t path = state.seed ^ call.source.tag() * 0x9E3779B97F4A7C15ULL;
      for (const char c : call.field.name) path = path * 131 + static_cast<unsigned char>(c);
      Rng own(path);
      rng = own;
      Resolved value;
      static const int kObject = 0;
      if (call.field.type.nullable().is_list()) {
        if (rng.chance(1, 12)) {
          value = Resolved::null();
        } else {
          const auto items = call.make_items(rng.below(4));
          for (Resolved& item : items) item = rng.chance(1, 12) ? Resolved::null() : Resolved::object(&kObject, nullptr, rng.next());
          value = Resolved::items(items);
        }
      } else {
        value = value_for(call.field);
        if (value.kind() == Resolved::Kind::Object) value = Resolved::object(&kObject, nullptr, rng.next());
      }
      if (!state.may_wait || !state.order.chance(1, 2)) return value;
      PendingId id = 0;
      const Resolved pending = call.suspend(id);
      state.waiting.emplace_back(id, value);
      return pending;
    });
    const Rng saved(seed);
    state.seed = seed;
    const auto at_once = json::parse(service.run(query));
    state.may_wait = true;
    state.order = Rng(seed);
    service.start(query);
    while (!service.execution.finished()) {
      ASSERT_FALSE(state.waiting.empty()) << query;
      const std::size_t next = state.order.below(state.waiting.size());
      const auto [id, value] = state.waiting[next];
      state.waiting.erase(state.waiting.begin() + static_cast<std::ptrdiff_t>(next));
      service.execution.complete(id, value);
      ++later_count;
    }
    const auto later = json::parse(service.execution.response());
    ASSERT_TRUE(later.has_value()) << service.execution.response();
    ASSERT_EQ(later->find("data")->to_string(), at_once->find("data")->to_string()) << query << " seed " << seed;
    ASSERT_EQ(later->find("errors") != nullptr, at_once->find("errors") != nullptr) << query << " seed " << seed;
    rng = saved;
    rng.next();
  }
  EXPECT_GT(later_count, 500U);
}

TEST(Execution, AllocatesNothingOnceItHasWarmedUp) {
  Service service("type Query { l: [T!]! } type T { n: Int s: String o: T }", R"({"l":[{"n":1,"s":"a","o":{"n":2}},{"n":3},{"s":"x"}]})");
  const auto prepared = service.prepare("query ($x: Boolean = true) { l { n s @include(if: $x) o { n ...F } } } fragment F on T { s }");
  ExecuteRequest request;
  request.root = Resolved::json(&service.root_);
  for (int i = 0; i < 3; ++i) service.execution.start(prepared, request);
  const std::size_t before = allocation_count();
  constexpr std::size_t kRounds = 100;
  for (std::size_t i = 0; i < kRounds; ++i) service.execution.start(prepared, request);
  const std::size_t fields = service.execution.fields_executed() * kRounds;
  const std::size_t made = allocation_count() - before;
  EXPECT_LE(static_cast<double>(made) / static_cast<double>(fields), 0.1) << made << " for " << fields << " fields";
}

TEST(Execution, HostileQueriesAreRefusedBeforeTheyRun) {
  Service service("type Query { t: T l(first: Int): [T!] } type T { t: T l(first: Int, last: Int): [T!] n: Int }");
  const auto rule_of = [&](const std::string& query, std::string_view variables = "{}") {
    const auto prepared = Prepared::prepare(*service.bindings, {"query", query});
    if (!prepared) return prepared.error()[0].rule;
    ExecuteRequest request;
    Arena arena;
    request.variables = to_value(*json::parse(variables), arena);
    service.execution.start(*prepared, request);
    return service.execution.errors().empty() ? Rule::Execution : service.execution.errors()[0].rule;
  };
  std::string deep = "n";
  for (int i = 0; i < 150; ++i) deep = "t { " + deep + " }";
  EXPECT_EQ(rule_of("{ " + deep + " }"), Rule::DepthLimit);
  std::string through_fragments = "{ t { ...F0 } } fragment F40 on T { n }";
  for (int i = 0; i < 40; ++i) through_fragments += " fragment F" + std::to_string(i) + " on T { t { t { t { ...F" + std::to_string(i + 1) + " } } } }";
  EXPECT_EQ(rule_of(through_fragments), Rule::DepthLimit);
  std::string aliases = "{ t {";
  for (int i = 0; i < 10'000; ++i) aliases += " a" + std::to_string(i) + ": n";
  EXPECT_EQ(rule_of(aliases + " } }"), Rule::AliasLimit);
  std::string doubling = "{ t { ...F0 } } fragment F30 on T { n }";
  for (int i = 0; i < 30; ++i) {
    const std::string next = std::to_string(i + 1);
    doubling += " fragment F" + std::to_string(i) + " on T { a: t { ...F" + next + " } b: t { ...F" + next + " } }";
  }
  EXPECT_EQ(rule_of(doubling), Rule::AliasLimit);
  EXPECT_EQ(rule_of("{ l { l { l { l { l { l { l { n } } } } } } } }"), Rule::ComplexityLimit);
  EXPECT_EQ(rule_of("{ l(first: 2) { l(first: 2) { l(last: 2) { l(first: 2) { l(first: 2) { l(first: 2) { l(first: 2) { n } } } } } } } }"), Rule::Execution);
  EXPECT_EQ(rule_of("query ($n: Int) { l(first: $n) { l(first: $n) { n } } }", R"({"n":100000})"), Rule::ComplexityLimit);
  EXPECT_EQ(rule_of("query ($n: Int) { l(first: $n) { l(first: $n) { n } } }", R"({"n":10})"), Rule::Execution);
  std::string directives = "{ t {";
  for (int i = 0; i < 1100; ++i) directives += " n @skip(if: false)";
  EXPECT_EQ(rule_of(directives + " } }"), Rule::DirectiveLimit);
  std::string roots = "{";
  for (int i = 0; i < 300; ++i) roots += " a" + std::to_string(i) + ": t { n }";
  EXPECT_EQ(rule_of(roots + " }"), Rule::RootFieldLimit);
  PrepareOptions options;
  options.limits.introspection = false;
  const auto prepared = Prepared::prepare(*service.bindings, {"query", "{ ...F } fragment F on Query { __schema { queryType { name } } }"}, options);
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error()[0].rule, Rule::IntrospectionOff);
  EXPECT_TRUE(Prepared::prepare(*service.bindings, {"query", "{ __typename }"}, options).has_value());
}

}  // namespace
}  // namespace fanfare::graphql
