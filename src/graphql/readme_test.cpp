// The README's example: it compiles, it does what it says, and it is the text that the README shows.
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

// The example begins here.
#include "graphql/cache.h"
#include "graphql/execute.h"

using namespace fanfare::graphql;

std::string answer(std::string_view query) {
  const auto schema = build_schema(R"(type Query { hello(name: String = "world"): String! })");
  if (!schema) return schema.error().front().message;
  Bindings bindings(*schema);
  (void)bindings.resolve("Query", "hello", [](FieldCall& call) {
    return Resolved::string(call.keep("Hello, " + std::string(call.argument("name").as_text())));
  });
  DocumentCache documents(bindings, {});
  const auto prepared = documents.get(query);  // parsed, validated, within the limits; the next time from the cache
  std::string response;
  if (!prepared) {
    append_request_errors(response, prepared.error());
    return response;
  }
  Execution execution;
  execution.start(*prepared, {});  // finished() at once, because no resolver suspends its field
  return response.append(execution.response());
}
// The example ends here.

namespace {

std::string read(const std::string& name) {
  std::ifstream file(FANFARE_GRAPHQL_DIR "/" + name);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Readme, TheExampleAnswersQueries) {
  EXPECT_EQ(answer("{ hello }"), R"({"data":{"hello":"Hello, world"}})");
  EXPECT_EQ(answer(R"({ hi: hello(name: "you") })"), R"({"data":{"hi":"Hello, you"}})");
  EXPECT_EQ(answer("{ helo }"),
            R"({"errors":[{"message":"The type \"Query\" has no field \"helo\". Did you mean \"hello\"?","locations":[{"line":1,"column":3}]}]})");
}

TEST(Readme, ShowsTheExampleAsItIsHere) {
  const std::string own = read("readme_test.cpp");
  constexpr std::string_view kBegin = "// The example begins here.\n";
  const std::size_t begin = own.find(kBegin) + kBegin.size();
  const std::string example = own.substr(begin, own.find("// The example ends here.") - begin);
  EXPECT_NE(read("README.md").find("```cpp\n" + example + "```"), std::string::npos) << "src/graphql/README.md should show:\n" << example;
}

}  // namespace
