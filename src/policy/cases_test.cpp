// The table of cases in testdata/cases.json: each is one test by its name, with the documentation's section that it
// rests on. `fanfare policy evaluate` answers the same table in tests/conformance.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "policy/question.h"

namespace fanfare::policy {
namespace {

namespace json = wire::json;

json::Value table() {
  std::ifstream file(FANFARE_SOURCE_DIR "/src/policy/testdata/cases.json");
  std::stringstream text;
  text << file.rdbuf();
  auto value = json::parse(text.str());
  if (!value) throw std::runtime_error("cases.json: " + value.error().message());
  return std::move(*value);
}

class Case : public testing::Test {
 public:
  explicit Case(json::Value value) : case_(std::move(value)) {}
  void TestBody() override {
    const std::string section{*case_.find_string("section")};
    auto question = OwnedQuestion::parse(*case_.find("case"));
    if (const auto says = case_.find_string("malformed")) {
      ASSERT_FALSE(question) << "accepted, against " << section;
      EXPECT_NE(question.error().find(*says), std::string::npos) << question.error() << "\n  should name " << *says;
      return;
    }
    ASSERT_TRUE(question) << question.error();
    std::string answer;
    append_answer(answer, question->view());
    const auto read = json::parse(answer);
    ASSERT_TRUE(read) << answer;
    EXPECT_EQ(*read->find_string("decision"), *case_.find_string("decision")) << section << "\n" << answer;
    const json::Value& decided_by = *read->find("decided_by");
    if (*read->find_string("decision") == "ImplicitDeny") {
      EXPECT_TRUE(decided_by.is_null()) << answer;
    }
    for (const char* member : {"sid", "policy", "index"}) {
      if (const json::Value* wanted = case_.find(member)) {
        ASSERT_TRUE(decided_by.is_object()) << answer;
        EXPECT_EQ(*decided_by.find(member), *wanted) << answer;
      }
    }
    // Whatever decided is told to apply, and no more than one statement decided.
    std::size_t decided = 0;
    for (const json::Value& entry : read->find("explanation")->items())
      if (entry.find("decided")->as_bool() == true) {
        ++decided;
        EXPECT_EQ(entry.find("applies")->as_bool(), true) << answer;
      }
    EXPECT_EQ(decided, decided_by.is_null() ? 0u : 1u) << answer;
  }

 private:
  json::Value case_;
};

const bool kRegistered = [] {
  const json::Value cases = table();
  for (const json::Value& value : cases.items())
    testing::RegisterTest("PolicyCase", std::string(*value.find_string("name")).c_str(), nullptr, nullptr, __FILE__,
                          __LINE__, [value]() -> testing::Test* { return new Case(value); });
  return true;
}();

TEST(PolicyCases, AreManyAndNamedOnce) {
  const json::Value cases = table();
  std::set<std::string_view> names;
  for (const json::Value& value : cases.items()) EXPECT_TRUE(names.insert(*value.find_string("name")).second);
  EXPECT_GE(names.size(), 150u);
  EXPECT_TRUE(kRegistered);
}

}  // namespace
}  // namespace fanfare::policy
