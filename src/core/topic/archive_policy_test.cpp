#include "core/topic/archive_policy.h"

#include <gtest/gtest.h>

namespace fanfare::topic {
namespace {

std::string archive_error(std::string_view json) {
  const auto policy = ArchivePolicy::parse(json);
  return policy ? "days " + std::to_string(policy->days) : policy.error();
}

TEST(ArchivePolicy, TakesDaysAsTextOrNumber) {
  EXPECT_EQ(archive_error(R"({"MessageRetentionPeriod":"1"})"), "days 1");
  EXPECT_EQ(archive_error(R"({ "MessageRetentionPeriod" : 365 })"), "days 365");
  EXPECT_EQ(ArchivePolicy::parse(R"({"MessageRetentionPeriod":"2"})")->retention(), std::chrono::hours{48});
}

TEST(ArchivePolicy, AnEmptyObjectArchivesNothing) {
  EXPECT_EQ(archive_error("{}"), "days 0");
  EXPECT_EQ(archive_error(""), "days 0");
}

TEST(ArchivePolicy, SaysWhatIsWrong) {
  const std::string range = "ArchivePolicy: MessageRetentionPeriod must be a whole number of days from 1 to 365.";
  for (const char* days : {"0", "366", "-1", "\"\"", "\"x\"", "\"1.5\"", "1.5", "null", "[1]", "\"99999999999\"", "\" 1\""})
    EXPECT_EQ(archive_error(std::string{R"({"MessageRetentionPeriod":)"} + days + "}"), range) << days;
  EXPECT_EQ(archive_error("[]"), "ArchivePolicy: failed to parse JSON.");
  EXPECT_EQ(archive_error("{"), "ArchivePolicy: failed to parse JSON.");
  EXPECT_EQ(archive_error(R"({"Days":1})"), "ArchivePolicy: invalid JSON. Attribute Days is unknown.");
}

std::string replay_error(std::string_view json) {
  const auto policy = ReplayPolicy::parse(json);
  return policy ? iso8601(policy->start) + (policy->end ? " " + iso8601(*policy->end) : "") : policy.error();
}

TEST(ReplayPolicy, TakesAStartingPointAndPerhapsAnEnd) {
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp","StartingPoint":"2023-01-29T22:22:47.111Z"})"), "2023-01-29T22:22:47.111Z");
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp","StartingPoint":"2023-01-29T22:22:47Z","EndingPoint":"2023-01-29T22:22:47Z"})"),
            "2023-01-29T22:22:47.000Z 2023-01-29T22:22:47.000Z");
}

TEST(ReplayPolicy, SaysWhatIsWrong) {
  EXPECT_EQ(replay_error("x"), "ReplayPolicy: failed to parse JSON.");
  EXPECT_EQ(replay_error("{}"), "ReplayPolicy: PointType is missing.");
  EXPECT_EQ(replay_error(R"({"PointType":"Sequence"})"), "ReplayPolicy: PointType must be Timestamp.");
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp"})"), "ReplayPolicy: StartingPoint is missing.");
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp","StartingPoint":"yesterday"})"),
            "ReplayPolicy: StartingPoint must be a time such as 2023-01-29T22:22:47.111Z.");
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp","StartingPoint":5})"),
            "ReplayPolicy: StartingPoint must be a time such as 2023-01-29T22:22:47.111Z.");
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp","StartingPoint":"2023-01-29T22:22:47Z","EndingPoint":"2023-01-29T22:22:46Z"})"),
            "ReplayPolicy: EndingPoint must not be before StartingPoint.");
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp","StartingPoint":"1969-12-31T23:59:59Z"})"),
            "ReplayPolicy: StartingPoint must be a time such as 2023-01-29T22:22:47.111Z.");
  EXPECT_EQ(replay_error(R"({"PointType":"Timestamp","From":""})"), "ReplayPolicy: invalid JSON. Attribute From is unknown.");
}

TEST(ReplayPolicy, NothingAndAnEmptyObjectTakeItAway) {
  EXPECT_TRUE(ReplayPolicy::is_none(""));
  EXPECT_TRUE(ReplayPolicy::is_none(" { } "));
  EXPECT_FALSE(ReplayPolicy::is_none("x"));
  EXPECT_FALSE(ReplayPolicy::is_none(R"({"PointType":"Timestamp"})"));
}

}  // namespace
}  // namespace fanfare::topic
