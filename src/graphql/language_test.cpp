// Lexer, parser and printer against section 2 of the specification.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphql/lexer.h"
#include "graphql/parser.h"
#include "graphql/printer.h"

namespace fanfare::graphql {
namespace {

using testing::HasSubstr;

DocumentPtr parsed(std::string_view text) {
  auto document = parse({"test", text});
  EXPECT_TRUE(document.has_value()) << text << "\n" << (document ? "" : document.error().message);
  return document ? *document : nullptr;
}

Error refused(std::string_view text, const ParseLimits& limits = {}) {
  auto document = parse({"test", text}, limits);
  EXPECT_FALSE(document.has_value()) << "accepted: " << text;
  return document ? Error{} : document.error();
}

/// The value of `{f(a: VALUE)}`; the document is kept alive by `keep`.
const ValueNode& value_of(std::string_view literal, DocumentPtr& keep) {
  keep = parsed("{f(a: " + std::string(literal) + ")}");
  return keep->operations[0]->selections->selections.front().arguments().front().value;
}

std::string string_value(std::string_view literal) {
  DocumentPtr keep;
  const ValueNode& value = value_of(literal, keep);
  EXPECT_EQ(value.kind, LiteralKind::String) << literal;
  return std::string(value.text());
}

TEST(Lexer, IgnoresBomWhiteSpaceCommentsAndCommas) {  // 2.1
  const auto document = parsed("\xEF\xBB\xBF# a comment \xE2\x82\xAC\r\n\t{,,a,\rb\n}");
  EXPECT_EQ(print(*document), "{\n  a\n  b\n}\n");
}

TEST(Lexer, StringsDecodeTheirEscapes) {  // 2.9.4
  EXPECT_EQ(string_value(R"("")"), "");
  EXPECT_EQ(string_value(R"("a\"\\\/\b\f\n\r\t")"), "a\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_value(R"("\u00e9\u20AC")"), "\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(string_value(R"("\u{1F600}\uD83D\uDE00")"), "\xF0\x9F\x98\x80\xF0\x9F\x98\x80");
  EXPECT_EQ(string_value("\"\xF0\x9F\x98\x80\""), "\xF0\x9F\x98\x80");
}

TEST(Lexer, RefusesBrokenStrings) {
  for (const char* literal : {R"("\uD83D")", R"("\uDE00")", R"("\u{110000}")", R"("\u{D800}")", R"("\u{}")", R"("\u12g4")",
                              R"("\x")", "\"a\nb\"", "\"open", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xFF\"", R"("\u{1F600")",
                              R"("""open)", R"("\)"}) {
    EXPECT_EQ(refused("{f(a: " + std::string(literal) + ")}").rule, Rule::Syntax) << literal;
  }
}

TEST(Lexer, BlockStringsLoseTheirCommonIndentation) {  // 2.9.4 BlockStringValue
  EXPECT_EQ(string_value("\"\"\"\n    Hello,\n      World!\n\n    Yours,\n      GraphQL.\n  \"\"\""),
            "Hello,\n  World!\n\nYours,\n  GraphQL.");
  EXPECT_EQ(string_value("\"\"\"  one line \"\"\""), "  one line ");
  EXPECT_EQ(string_value("\"\"\"a \\\"\"\" b\"\"\""), "a \"\"\" b");
  EXPECT_EQ(string_value("\"\"\"\"\"\""), "");
  EXPECT_EQ(string_value("\"\"\"\n \t \n\"\"\""), "");
  EXPECT_EQ(string_value("\"\"\"a\r\n  b\r  c\n\\n\"\"\""), "a\n  b\n  c\n\\n");
}

TEST(Lexer, NumbersFollowTheGrammar) {  // 2.9.1, 2.9.2
  DocumentPtr keep;
  for (const char* literal : {"0", "-0", "123", "-9"}) EXPECT_EQ(value_of(literal, keep).kind, LiteralKind::Int) << literal;
  for (const char* literal : {"0.0", "-1.5", "1e50", "6.02E+23", "0e-1"}) {
    EXPECT_EQ(value_of(literal, keep).kind, LiteralKind::Float) << literal;
  }
  for (const char* literal : {"00", "01", "1.", "1.e1", ".5", "1e", "+1", "-", "0x1", "1a", "1.5.2", "1.0_"}) {
    EXPECT_EQ(refused("{f(a: " + std::string(literal) + ")}").rule, Rule::Syntax) << literal;
  }
}

TEST(Lexer, NamesAndPointsDoNotFollowNumbersDirectly) {  // 2.9.1, 2.9.2: where the next token could stand, too
  for (const char* text : {"{f(a: [1a])}", "{f(a: [0xF1])}", "{f(a: [1.5_])}", "{f(a: [1e5E])}", "{f(a: 1b: 2)}", "{f(a: [1.5...])}"}) {
    EXPECT_THAT(refused(text).message, HasSubstr("directly after it")) << text;
  }
  EXPECT_EQ(parsed("{f(a: [1 a 0,xF1 1#\na])}")->operations[0]->selections->selections.front().arguments().front().value.items().size(), 6U);
}

TEST(Lexer, NamesDoNotBeginWithADigit) {  // 2.1.9
  for (const char* text : {"{ 1a }", "{ a 2b }", "query 3c { a }", "{ ...4d }", "{ a: 5e }", "{ a(6f: 1) }"}) {
    EXPECT_EQ(refused(text).rule, Rule::Syntax) << text;
  }
}

TEST(Parser, SaysWhatItExpectedAndWhere) {
  const Error error = refused("{\n  user(id: ) { name }\n}");
  EXPECT_EQ(error.message, "Syntax error: expected a value, found \")\"");
  EXPECT_EQ(error.locations, (std::vector<Location>{{2, 12}}));
  EXPECT_THAT(refused("").message, HasSubstr("empty"));
  EXPECT_THAT(refused("{").message, HasSubstr("the end of the text"));
  EXPECT_EQ(refused("{ a }\r\n\xE2\x82\xAC").locations, (std::vector<Location>{{2, 1}}));
  EXPECT_EQ(refused("{ f(a: \"\xE2\x82\xAC\" b) }").locations, (std::vector<Location>{{1, 13}}));
}

TEST(Parser, RefusesWhatTheGrammarDoesNotAllow) {
  for (const char* text :
       {"{}", "{ a { } }", "{ f() }", "query ($a) { a }", "query () { a }", "fragment on on T { a }", "fragment f { a }", "{ ... on }",
        "query ($a: Int = $b) { a }", "{ f(a: [) }", "{ f(a: {b}) }", "notanoperation { a }", "{ a: }", "{ ...: }", "query Q",
        "\"described\" { a }", "\"described\" extend type A { a: Int }", "extend type A", "extend scalar A", "extend schema",
        "type A {}", "type A { a }", "type A implements { a: Int }", "enum E { true }", "enum E {}", "union U =", "input I {}",
        "directive @d", "directive d on FIELD", "schema {}", "schema { query: }", "interface", "{ a(b: $) }", "{ a @ }",
        "query ($a: [Int) { a }", "query ($a: Int!!) { a }", "extend directive @a on FIELD", "{ a ? }", "{ a ..b }", "{ a } }"}) {
    EXPECT_EQ(refused(text).rule, Rule::Syntax) << text;
  }
}

TEST(Parser, ReadsEveryPartOfAnExecutableDocument) {  // 2.2 to 2.13
  constexpr std::string_view kText = R"("What it does"
query Named("the id" $id: ID! = "1" @deprecated, $list: [[Int!]!] = [[1], []]) @a(b: {c: [RED, $id], d: null}) {
  alias: field(x: -1.5e3, y: true, z: "q\"\n", on: $list) @skip(if: false) {
    ...F @include(if: true)
    ... on Type @d {
      type
    }
    ... {
      fragment
    }
    ... @x {
      on
    }
  }
}

mutation {
  query
}

subscription S {
  a
}

"""
Block
  description
"""
fragment F on Type @x {
  null
  true: false
}
)";
  const auto document = parsed(kText);
  EXPECT_EQ(print(*document), kText);
  ASSERT_EQ(document->operations.size(), 3U);
  ASSERT_EQ(document->fragments.size(), 1U);
  EXPECT_EQ(document->operations[0]->description.text, "What it does");
  EXPECT_TRUE(document->operations[0]->directives[0].arguments.front().value.has_variable);
  EXPECT_EQ(document->fragments[0]->description.text, "Block\n  description");
}

TEST(Parser, ReadsEveryPartOfASchema) {  // section 3's grammar
  constexpr std::string_view kText = R"("""All"""
schema @a {
  query: Q
  mutation: M
}

extend schema @b

extend schema {
  subscription: S
}

"a scalar"
scalar Date @specifiedBy(url: "https://example.com")

extend scalar Date @x

type Q implements A & B @d {
  "a field"
  f(
    "an argument"
    a: Int = 1 @d
    b: [String!]! = ["x"]
  ): [Int!]! @deprecated(reason: "old")
  g(a: I = {x: 1, y: {z: null}}): Float
}

extend type Q implements C

interface A implements B {
  f: Int
}

union U @d = X | Y

extend union U = Z

enum E {
  "red"
  RED @deprecated
  GREEN
}

extend enum E @x

input I @oneOf {
  x: Int = 1 @d
  y: I
}

directive @d(a: Int = 1) repeatable on FIELD | OBJECT

type Empty
)";
  const auto document = parsed(kText);
  const std::string printed = print(*document);
  std::string expected(kText);
  const std::size_t at = expected.find("\"\"\"All\"\"\"");
  EXPECT_EQ(printed, expected.replace(at, 9, "\"\"\"\nAll\n\"\"\""));
  EXPECT_EQ(print(*parsed(printed)), printed);
}

TEST(Parser, LeadingSeparatorsAreAllowed) {
  const auto document = parsed("type A implements & B & C { f: Int } union U = | X | Y directive @d on | FIELD | QUERY");
  EXPECT_EQ(print(*document), "type A implements B & C {\n  f: Int\n}\n\nunion U = X | Y\n\ndirective @d on FIELD | QUERY\n");
}

TEST(Parser, NestingIsLimited) {
  const auto nested = [](std::size_t depth) {
    std::string text = "{a";
    for (std::size_t i = 1; i < depth; ++i) text += "{a";
    return text + std::string(depth, '}');
  };
  EXPECT_TRUE(parse({"", nested(200)}).has_value());
  EXPECT_EQ(refused(nested(201)).rule, Rule::DocumentTooLarge);
  EXPECT_EQ(refused(nested(300'000)).rule, Rule::DocumentTooLarge);
  EXPECT_EQ(refused("{a(b:" + std::string(1 << 20, '[')).rule, Rule::DocumentTooLarge);
  std::string objects = "{a(b:";
  for (int i = 0; i < 100'000; ++i) objects += "{a:";
  EXPECT_EQ(refused(objects).rule, Rule::DocumentTooLarge);
  EXPECT_EQ(refused("query($a:" + std::string(1 << 20, '[')).rule, Rule::DocumentTooLarge);
  ParseLimits deep;
  deep.depth = 1'000'000;  // cut to what the stack carries
  EXPECT_EQ(refused(nested(300'000), deep).rule, Rule::DocumentTooLarge);
  EXPECT_TRUE(parse({"", nested(ParseLimits::kDeepest)}, deep).has_value());
}

TEST(Parser, TypesCanHaveThirtyOneWrappers) {
  const auto with_lists = [](std::size_t lists) {
    return "query ($a: " + std::string(lists, '[') + "Int" + std::string(lists, ']') + ") { a }";
  };
  EXPECT_EQ(print(*parsed(with_lists(31))).find(std::string(31, '[') + "Int"), 11U);
  EXPECT_EQ(refused(with_lists(32)).rule, Rule::DocumentTooLarge);
  EXPECT_EQ(print(*parsed("query ($a: [[Int!]!]!) { a }")), "query ($a: [[Int!]!]!) {\n  a\n}\n");
}

TEST(Parser, TokensAndBytesAreLimited) {
  ParseLimits limits;
  limits.tokens = 4;
  EXPECT_TRUE(parse({"", "{a b}"}, limits).has_value());
  EXPECT_EQ(refused("{a b c}", limits).rule, Rule::DocumentTooLarge);
  limits.bytes = 4;
  EXPECT_EQ(refused("{a b}", limits).rule, Rule::DocumentTooLarge);
}

TEST(Source, LocationsCountLinesOfAllThreeKinds) {
  constexpr std::string_view kText = "a\nb\rc\r\n\xC3\xA9 d";
  EXPECT_EQ(locate(kText, 0), (Location{1, 1}));
  EXPECT_EQ(locate(kText, 2), (Location{2, 1}));
  EXPECT_EQ(locate(kText, 4), (Location{3, 1}));
  EXPECT_EQ(locate(kText, 10), (Location{4, 3}));
}

TEST(Source, ExcerptsShowTheLineAndACaret) {
  EXPECT_EQ(excerpt("a\n  bc d\ne", {2, 5}), "2 |   bc d\n  |     ^\n");
  EXPECT_EQ(excerpt("", {1, 1}), "1 | \n  | ^\n");
  const std::string minified = std::string(10'000, 'x') + "!";
  EXPECT_LT(excerpt(minified, {1, 10'001}).size(), 500U);
}

TEST(Error, IsEncodedAsTheResponseFormatWants) {  // 7.1.2
  Error error;
  error.message = "say \"no\"";
  error.locations = {{1, 2}, {3, 4}};
  error.path = {std::string("a"), std::size_t{1}, std::string("b")};
  error.extensions = R"({"code":"X"})";
  std::string out;
  append_request_errors(out, {error});
  EXPECT_EQ(out, R"({"errors":[{"message":"say \"no\"","locations":[{"line":1,"column":2},{"line":3,"column":4}],)"
                 R"("path":["a",1,"b"],"extensions":{"code":"X"}}]})");
}

}  // namespace
}  // namespace fanfare::graphql
