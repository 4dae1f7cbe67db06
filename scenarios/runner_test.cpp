#include "runner.h"

#include <gtest/gtest.h>

namespace fanfare::scenarios {
namespace {

/// Answers what the test put down for each verb, and notes what it was asked.
class ScriptedDriver final : public Driver {
 public:
  void advance_to(milliseconds since_start) override { time = since_start; }
  Answer perform(const Step& step) override {
    asked.push_back(step);
    return answers[step.verb];
  }
  std::optional<Answer> late_answer(const std::string&) override { return late; }
  [[nodiscard]] bool knows(std::string_view verb) const override { return answers.contains(std::string{verb}); }

  std::map<std::string, Answer> answers;
  std::optional<Answer> late;
  std::vector<Step> asked;
  milliseconds time{};
};

constexpr const char* kHeading = "# name: one   source: two\n";

Report played(std::string_view text, ScriptedDriver& driver) {
  const auto scenario = parse_scenario(std::string{kHeading} + std::string{text});
  EXPECT_TRUE(scenario.has_value()) << scenario.error().what;
  return play(*scenario, driver);
}

TEST(Scenario, ALineIsTakenApart) {
  const auto scenario = parse_scenario(
      std::string{kHeading} + "t=1500ms alice: receive q max=2 filter={\"a\": [1, 2]} -> m1 r1  # why\n\n# note\n");
  ASSERT_TRUE(scenario.has_value());
  EXPECT_EQ(scenario->name, "one");
  EXPECT_EQ(scenario->source, "two");
  ASSERT_EQ(scenario->lines.size(), 1u);
  const Line& line = scenario->lines[0];
  EXPECT_EQ(line.number, 2u);
  EXPECT_EQ(line.time, milliseconds{1500});
  EXPECT_EQ(line.step.client, "alice");
  EXPECT_EQ(line.step.verb, "receive");
  EXPECT_EQ(line.step.words, std::vector<std::string>{"q"});
  EXPECT_EQ(line.step.option("max"), "2");
  EXPECT_EQ(line.step.option("filter"), "{\"a\": [1, 2]}");
  EXPECT_EQ(line.expected, (std::vector<std::string>{"m1", "r1"}));
}

TEST(Scenario, ALineThatBeginsWithBlanksGoesOnWithTheOneBefore) {
  const auto scenario =
      parse_scenario(std::string{kHeading} + "queue q policy={\"a\":1,  # why\n  \"b\":2} -> ok\nsend q m1\n");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().what;
  ASSERT_EQ(scenario->lines.size(), 2u);
  EXPECT_EQ(scenario->lines[0].step.option("policy"), "{\"a\":1,  \"b\":2}");
  EXPECT_EQ(scenario->lines[1].number, 4u);
}

TEST(Scenario, WhatIsNoScenarioIsRefusedWithItsLine) {
  const auto line_of = [](const std::string& text) { return parse_scenario(text).error().line; };
  EXPECT_EQ(line_of("send q m1\n"), 1u);
  EXPECT_EQ(line_of("# name: one\nsend q m1\n"), 1u);
  EXPECT_EQ(line_of(std::string{kHeading} + "t=x send q m1\n"), 2u);
  EXPECT_EQ(line_of(std::string{kHeading} + "t=1s\n"), 2u);
  EXPECT_EQ(line_of(std::string{kHeading} + "send q m1 ->\n"), 2u);
  EXPECT_EQ(line_of(kHeading), 1u);
}

TEST(Scenario, AWrongAnswerFailsTheLine) {
  ScriptedDriver driver;
  driver.answers["send"] = {"QueueDoesNotExist", {}};
  const Report report = played("send q m1 -> ok", driver);
  EXPECT_EQ(report.outcome, Outcome::Failed);
  EXPECT_NE(report.message.find("QueueDoesNotExist"), std::string::npos) << report.message;
  EXPECT_EQ(played("send q m1 -> QueueDoesNotExist", driver).outcome, Outcome::Passed);
  EXPECT_EQ(played("send q m1", driver).outcome, Outcome::Failed) << "without an arrow ok is expected";
}

TEST(Scenario, ReceiptsAreBoundAndHandedBack) {
  ScriptedDriver driver;
  driver.answers["receive"] = {{}, {{"m1", "handle-1"}, {"m2", "handle-2"}}};
  driver.answers["delete"] = {"ok", {}};
  EXPECT_EQ(played("receive q -> m1 r1 m2 r2\ndelete q r2", driver).message, "");
  EXPECT_EQ(driver.asked.back().words, (std::vector<std::string>{"q", "handle-2"}));
  EXPECT_EQ(played("receive q -> m1 m2", driver).outcome, Outcome::Passed) << "receipts need no names";
  EXPECT_EQ(played("receive q -> m1 r1", driver).outcome, Outcome::Failed) << "one more came";
  EXPECT_EQ(played("receive q -> m2 r1 m1 r2", driver).outcome, Outcome::Failed) << "another order";
  EXPECT_EQ(played("receive q -> nothing", driver).outcome, Outcome::Failed);
  EXPECT_EQ(played("delete q r7", driver).outcome, Outcome::Failed) << "never bound";
}

TEST(Scenario, AWaitingClientGetsItsAnswerLater) {
  ScriptedDriver driver;
  driver.answers["receive"] = {"waiting", {}};
  EXPECT_EQ(played("a: receive q -> waiting\nt=1s a: gets -> waiting", driver).message, "");
  EXPECT_EQ(driver.time, milliseconds{1000});
  driver.late = Answer{{}, {{"m1", "h"}}};
  EXPECT_EQ(played("a: receive q -> waiting\na: gets -> m1 r1", driver).message, "");
}

TEST(Scenario, AVerbThatTheLevelDoesNotKnowFailsItsLine) {
  ScriptedDriver driver;
  const Report report = played("lost r1", driver);
  EXPECT_EQ(report.outcome, Outcome::Failed);
  EXPECT_NE(report.message.find("line 2"), std::string::npos) << report.message;
  EXPECT_TRUE(driver.asked.empty());
}

TEST(Scenario, ACallerStandsInFrontOfTheVerb) {
  ScriptedDriver driver;
  driver.answers["send"] = {"ok", {}};
  EXPECT_EQ(played("t=1s alice: as task send q as", driver).message, "");
  EXPECT_EQ(driver.asked.back().client, "alice");
  EXPECT_EQ(driver.asked.back().caller, "task");
  EXPECT_EQ(driver.asked.back().words, (std::vector<std::string>{"q", "as"}));
}

TEST(Scenario, BodiesAreShownShort) {
  EXPECT_EQ(shown_body("m"), "m");
  EXPECT_EQ(shown_body("m" + std::string(8, '.')), "m*9");
  EXPECT_EQ(shown_body("m\r\n\t"), "m<D><A><9>");
}

TEST(Scenario, OneOfSeveralNamesIsEnough) {
  ScriptedDriver driver;
  driver.answers["queue"] = {"InvalidQueueName|NameAndTypeDisagree", {}};
  EXPECT_EQ(played("queue q -> NameAndTypeDisagree", driver).message, "");
  EXPECT_EQ(played("queue q -> InvalidQueueName", driver).message, "");
  EXPECT_EQ(played("queue q -> Invalid", driver).outcome, Outcome::Failed);
  EXPECT_EQ(played("queue q -> ok", driver).outcome, Outcome::Failed);
}

TEST(Scenario, AFileSaysWhereItIsPlayedAndWhy) {
  const auto everywhere = parse_scenario(std::string{kHeading} + "send q m1");
  for (const Level level : kLevels) EXPECT_TRUE(is_played_at(*everywhere, level)) << name_of(level);
  const auto some = parse_scenario(std::string{kHeading} + "# levels: core http   because: a reason\nsend q m1");
  ASSERT_TRUE(some.has_value()) << some.error().what;
  EXPECT_TRUE(is_played_at(*some, Level::Core));
  EXPECT_FALSE(is_played_at(*some, Level::Api));
  EXPECT_EQ(some->because, "a reason");
  for (const char* heading : {"# levels: core\n", "# levels: because: x\n", "# levels: wire   because: x\n"})
    EXPECT_EQ(parse_scenario(std::string{kHeading} + heading + "send q m1").error().line, 2u) << heading;
}

TEST(Scenario, AFileMaySetALimitOfTheServer) {
  const auto set = parse_scenario(std::string{kHeading} + "# settings: in_flight_max=3\nsend q m1");
  ASSERT_TRUE(set.has_value()) << set.error().what;
  EXPECT_EQ(set->settings.in_flight_max, 3u);
  EXPECT_EQ(parse_scenario(std::string{kHeading} + "# settings: speed=3\nsend q m1").error().line, 2u);
}

}  // namespace
}  // namespace fanfare::scenarios
