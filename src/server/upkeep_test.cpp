// When the log is given a snapshot, when contents are moved, and that it then stays within its bound.
#include "server/upkeep.h"

#include <gtest/gtest.h>

#include <limits>

namespace fanfare::server {
namespace {

constexpr std::uint64_t kSegment = 1 << 20;
using Kind = UpkeepStep::Kind;

LogShape of_segments(std::uint64_t older) {
  LogShape log;
  log.first = {10 * kSegment};
  log.newest_segment = log.first + older * kSegment;
  log.end = log.newest_segment + kSegment / 2;
  log.snapshot = log.first;
  log.older_bytes = older * kSegment;
  log.segment_bytes = kSegment;
  log.snapshot_every = 256 << 20;
  return log;
}

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

TEST(Upkeep, ALargeSnapshotIsMadeLessOften) {
  EXPECT_EQ(log_between_snapshots(256 << 20, 0, kUnknown, kSegment), 256u << 20);
  EXPECT_EQ(log_between_snapshots(256 << 20, 32 << 20, kUnknown, kSegment), 256u << 20);
  EXPECT_EQ(log_between_snapshots(256 << 20, 33 << 20, kUnknown, kSegment), 264u << 20);
}

TEST(Upkeep, BeforeADiskIsFullASnapshotIsMadeWhileThereIsRoomForIt) {
  EXPECT_EQ(log_between_snapshots(256 << 20, 0, 2u << 30, kSegment), 256u << 20);
  EXPECT_EQ(log_between_snapshots(256 << 20, 10 << 20, 100 << 20, kSegment), 25u << 20);
  EXPECT_EQ(log_between_snapshots(256 << 20, 10 << 20, 60 << 20, kSegment), 20u << 20) << "not more snapshots than log";
  EXPECT_EQ(log_between_snapshots(256 << 20, 0, 0, kSegment), kSegment);
  EXPECT_EQ(log_between_snapshots(2 * kSegment, 100 << 20, 0, kSegment), 200u << 20);
  EXPECT_EQ(log_between_snapshots(kSegment / 2, 0, 0, kSegment), kSegment / 2) << "as configured";
}

TEST(Upkeep, AYoungLogNeedsNothing) { EXPECT_EQ(decide_upkeep(of_segments(0)), UpkeepStep{}); }

TEST(Upkeep, ASegmentThatNobodyNeedsAsksForASnapshotAtOnce) {
  LogShape log = of_segments(1);
  EXPECT_EQ(decide_upkeep(log).kind, Kind::Snapshot);
  log.snapshot = log.newest_segment;
  EXPECT_EQ(decide_upkeep(log).kind, Kind::Nothing) << "the trim before has done all that can be done";
}

TEST(Upkeep, AMessageThatPinsTheOldestSegmentIsMoved) {
  LogShape log = of_segments(1);
  log.oldest_needed = log.first;
  log.needed_bytes = 1000;
  EXPECT_EQ(decide_upkeep(log), (UpkeepStep{Kind::Relocate, log.newest_segment}));
}

TEST(Upkeep, AsLongAsMostOfTheLogIsNeededNothingIsMoved) {
  LogShape log = of_segments(12);
  log.oldest_needed = log.first;
  log.needed_bytes = 8 * kSegment;
  EXPECT_EQ(decide_upkeep(log).kind, Kind::Nothing);
  log.needed_bytes = 7 * kSegment;
  EXPECT_EQ(decide_upkeep(log), (UpkeepStep{Kind::Relocate, log.first + log.older_bytes / 8}));
}

TEST(Upkeep, ASnapshotIsTakenOnlyWhenItFreesEnough) {
  LogShape log = of_segments(32);
  log.needed_bytes = 10 * kSegment;
  log.oldest_needed = log.first + kSegment;
  EXPECT_EQ(decide_upkeep(log).kind, Kind::Relocate) << "one segment of 32 is not worth it";
  log.oldest_needed = log.first + 4 * kSegment;
  EXPECT_EQ(decide_upkeep(log).kind, Kind::Snapshot);
}

TEST(Upkeep, RecoveryIsBounded) {
  LogShape log = of_segments(2);
  log.needed_bytes = 2 * kSegment;
  log.oldest_needed = log.first;
  log.snapshot_every = 2 * kSegment;
  EXPECT_EQ(decide_upkeep(log).kind, Kind::Snapshot);
  log.snapshot = log.first + kSegment;
  EXPECT_EQ(decide_upkeep(log).kind, Kind::Nothing);
}

}  // namespace
}  // namespace fanfare::server
