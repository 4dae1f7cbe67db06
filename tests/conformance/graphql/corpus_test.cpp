// Every case of the conformance corpus, in process. The corpus lies beside the repository; without it the test is skipped.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "graphql/execute.h"
#include "wire/json/value.h"
#include "wiring.h"

namespace fanfare::graphql {
namespace {

namespace json = wire::json;

std::string check(const Bindings& bindings, const json::Value& test_case) {
  const auto prepared = Prepared::prepare(bindings, {"query", *test_case.find_string("query")});
  if (!prepared) return "refused: " + prepared.error().front().message;
  Execution execution;
  Arena arena;
  ExecuteRequest request;
  if (const json::Value* variables = test_case.find("variables"); variables != nullptr) request.variables = to_value(*variables, arena);
  execution.start(*prepared, request);
  if (!execution.finished()) return "not finished";
  const json::Value& expected = *test_case.find("expect");
  const bool wants_errors = expected.find("errors")->size() > 0;
  if (wants_errors != !execution.errors().empty()) return "errors: " + std::string(execution.response());
  const auto response = json::parse(execution.response());
  if (!response) return "no JSON: " + response.error().message();
  const json::Value* data = response->find("data");
  const json::Value* wanted = expected.find("data");
  const json::Value null;
  if (!((data != nullptr ? *data : null) == (wanted != nullptr ? *wanted : null))) {
    return "data: " + std::string(execution.response()) + "\nexpected: " + wanted->to_string();
  }
  return {};
}

TEST(Corpus, EveryCaseHasItsResult) {
  const std::string path = FANFARE_SOURCE_DIR "/../shared/data/graphql-conformance/cases.jsonl";
  const std::string other = FANFARE_SOURCE_DIR "/../../shared/data/graphql-conformance/cases.jsonl";  // from a worktree
  std::ifstream file(path);
  if (!file) file.open(other);
  if (!file) GTEST_SKIP() << "the corpus is not there: " << path;
  std::size_t cases = 0;
  std::size_t failed = 0;
  std::string line;
  while (std::getline(file, line)) {
    const auto entry = json::parse(line);
    ASSERT_TRUE(entry.has_value()) << entry.error().message();
    const auto schema = build_schema(*entry->find_string("schema"));
    if (!schema) {
      ADD_FAILURE() << "schema " << *entry->find_string("schema_id") << ": " << schema.error().front().message;
      failed += entry->find("cases")->size();
      cases += entry->find("cases")->size();
      continue;
    }
    Bindings bindings(*schema);
    wire_by_type(bindings);
    for (const json::Value& test_case : entry->find("cases")->items()) {
      ++cases;
      const std::string problem = check(bindings, test_case);
      if (problem.empty()) continue;
      ++failed;
      ADD_FAILURE() << *test_case.find_string("id") << ": " << problem.substr(0, 2000);
    }
  }
  EXPECT_EQ(cases, 713U);
  RecordProperty("passed", static_cast<int>(cases - failed));
}

}  // namespace
}  // namespace fanfare::graphql
