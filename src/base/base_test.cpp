#include <gtest/gtest.h>

#include <set>

#include "base/arn.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/marks.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"

namespace fanfare {
namespace {

using namespace std::chrono_literals;

TEST(Iso8601, WritesMillisecondsInUtc) {
  EXPECT_EQ(iso8601(timestamp_from_unix_ms(1'764'500'385'123)), "2025-11-30T10:59:45.123Z");
  EXPECT_EQ(iso8601(Timestamp{}), "1970-01-01T00:00:00.000Z");
}

TEST(Iso8601, ReadsWhatItWritesAndOffsets) {
  EXPECT_EQ(parse_iso8601("2025-11-30T10:59:45.123Z"), timestamp_from_unix_ms(1'764'500'385'123));
  EXPECT_EQ(parse_iso8601("2025-11-30T12:59:45.123456+02:00"), timestamp_from_unix_ms(1'764'500'385'123));
  EXPECT_EQ(parse_iso8601("2025-11-30T10:59:45Z"), timestamp_from_unix_ms(1'764'500'385'000));
}

TEST(Iso8601, RefusesWhatIsNoTime) {
  for (const char* bad : {"", "2025", "2025-02-30T00:00:00Z", "2025-01-01T24:00:00Z", "2025-01-01T00:00:00",
                          "2025-01-01T00:00:00.Z", "2025-01-01T00:00:00Zx"})
    EXPECT_EQ(parse_iso8601(bad), std::nullopt) << bad;
}

TEST(Duration, ReadsAndWritesConfigurationForm) {
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("14d"), 336h);
  EXPECT_EQ(format_duration(90min), "1h30m");
  EXPECT_EQ(format_duration(0ms), "0s");
  for (const char* bad : {"", "5", "s", "1m1h", "1s1s", "-1s", "1 s", "1w"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
}

TEST(Arn, IsReadInItsPartsAndWrittenAgain) {
  const std::string arn = "arn:aws:sqs:eu-west-1:111122223333:orders.fifo";
  const auto parts = parse_arn(arn, "sqs");
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->region, "eu-west-1");
  EXPECT_EQ(parts->account, "111122223333");
  EXPECT_EQ(parts->name, "orders.fifo");
  EXPECT_EQ(make_arn("sqs", *parts), arn);
  for (const std::string_view other : {"", "arn:aws:sns:r:a:n", "arn:aws:sqs", "arn:aws:sqs:r:a", "arn:aws:sqs:r:a:", "arn:aws:sqs::a:n",
                                       "arn:aws:sqs:r::n", "arn:aws:sqs:r:a:n:extra", "ARN:aws:sqs:r:a:n", "arn:aws-cn:sqs:r:a:n"})
    EXPECT_FALSE(parse_arn(other, "sqs").has_value()) << other;
}

TEST(ResourceName, CountsItsFifoSuffix) {
  EXPECT_TRUE(is_resource_name(std::string(75, 'a') + ".fifo", 80));
  EXPECT_FALSE(is_resource_name(std::string(76, 'a') + ".fifo", 80));
  EXPECT_TRUE(is_resource_name("A-z_09", 6));
  EXPECT_FALSE(is_resource_name("A-z_09", 5));
  for (const std::string_view bad : {"", ".fifo", "a.b", "a b", "a.fifo.fifo", "a:b"}) EXPECT_FALSE(is_resource_name(bad, 80)) << bad;
}

TEST(Uuid, TextAndBytesAgree) {
  SeededSecrets secrets{7};
  const Uuid id = Uuid::from_random(secrets.bytes16());
  EXPECT_EQ(Uuid::parse(id.str()), id);
  EXPECT_EQ(id.str()[14], '4');
  EXPECT_EQ(Uuid::parse("8f2c1d0e-5a63-4f7e-9c1b-2d3e4f50617"), std::nullopt);
  EXPECT_EQ(Uuid::parse("8f2c1d0e-5a63-4f7e-9c1b-2d3e4f50617g"), std::nullopt);
}

TEST(Uuid, DerivedIdsDifferAndRepeat) {
  SeededSecrets secrets{7};
  const Uuid id = Uuid::from_random(secrets.bytes16());
  std::set<Uuid> seen{id};
  for (std::uint64_t salt = 0; salt < 1000; ++salt) EXPECT_TRUE(seen.insert(id.derived(salt)).second) << salt;
  EXPECT_EQ(id.derived(3), id.derived(3));
}

TEST(Rng, SameSeedSameNumbersAndBoundsHold) {
  Rng a{42};
  Rng b{42};
  for (int i = 0; i < 1000; ++i) {
    const auto x = a.between(-3, 9);
    EXPECT_EQ(x, b.between(-3, 9));
    EXPECT_GE(x, -3);
    EXPECT_LE(x, 9);
  }
}

TEST(ByteReader, StopsAtTheEndForGood) {
  std::string bytes;
  append_le(bytes, std::uint16_t{0x1234});
  append_sized(bytes, "abc");
  ByteReader reader{bytes};
  EXPECT_EQ(reader.take<std::uint16_t>(), 0x1234);
  EXPECT_EQ(reader.take_sized(), "abc");
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.take<std::uint8_t>(), 0);
  EXPECT_FALSE(reader.ok());
}

TEST(Marks, CountWhereTheyStand) {
  EXPECT_MARKED(example_mark, FANFARE_MARK(example_mark));
  EXPECT_EQ(marks::count("never_reached"), 0u);
}

enum class Fault { Broken };
Result<int, Fault> halve(int value) {
  if (value % 2) return Fault::Broken;
  return value / 2;
}

TEST(Result, HoldsValueOrError) {
  EXPECT_EQ(*halve(4), 2);
  EXPECT_EQ(halve(3).error(), Fault::Broken);
}

TEST(AssertDeathTest, PrintsTheExpressionAndTheDetail) {
  EXPECT_DEATH(FANFARE_ASSERT(1 + 1 == 3, "arithmetic holds"), "assertion failed: 1 \\+ 1 == 3 \\(arithmetic holds\\)");
}

}  // namespace
}  // namespace fanfare
