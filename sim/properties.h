// The names of what the simulator checks: always, never, sometimes. PROPERTIES.md lists them; sim/run compares.
//
// Rule 1: `always` and `never` end the run of a seed when they do not hold (Failure), and count how often they were looked at:
//         one that nobody looked at in a whole run of seeds proves nothing and fails it.
// Rule 2: `sometimes` counts how often a state was reached; one that was reached in no seed fails the run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fanfare::sim {

enum class Kind : std::uint8_t { Always, Never, Sometimes };

/// In the order of the table in properties.cpp.
enum class Property : std::uint8_t {
  AcknowledgedIsKept,
  DeletedStaysDeleted,
  Invented,
  LeaseRespected,
  DelayRespected,
  CountsRise,
  CountNotTooHigh,
  FifoOrder,
  OneFlight,
  DedupHolds,
  DedupEnds,
  SequenceRises,
  FanOut,
  FanOutWhole,
  ExpiredStaysGone,
  PurgedStaysGone,
  DeadLetterRule,
  MovedStaysMoved,
  EmptyIsEmpty,
  LongPollWaits,
  Answered,
  CountsAddUp,
  DrainsEmpty,
  Recovers,
  DurableKept,
  ReplayEqualsLive,
  ReceiveSoonDurable,
  GoneIsGone,
  NameReserved,
  SettingsHold,
  SizeRespected,
  QuietFirst,
  AttemptRepeats,
  AttemptEnds,
  DedupIdTold,
  TwelveHours,
  PurgeOnceAMinute,
  DelayChange,
  MovePace,
  MoveOnce,
  MoveEnds,
  ReplayedWhole,
  ReplayedInOrder,
  ErrorsExpected,
  Deterministic,
  PowerCut,
  Killed,
  CrashInTurn,
  CrashAfterCommit,
  CrashInSnapshot,
  ChangedInSnapshot,
  CrashInRecovery,
  UnsyncedTail,
  TailLost,
  TailKept,
  TornTail,
  LostReceive,
  UnknownSurvived,
  CleanRestart,
  DiskFull,
  DiskFullOver,
  DiskError,
  DiskErrorOver,
  FromSnapshot,
  Trimmed,
  ReadBack,
  LongPollWoken,
  LongPollEmpty,
  LongPollDead,
  LongPollGoneTurn,
  GivenBack,
  ReplyLost,
  Retried,
  OutdatedHandle,
  LateDelete,
  DeadLettered,
  DeadLetterAfterCrash,
  DedupHit,
  DedupHitAfterRestart,
  GroupBatch,
  Expired,
  Purged,
  RawCopy,
  Enveloped,
  GroupCommit,
  ClockJumped,
  ClockBack,
  Fragmented,
  HalfClosed,
  AttributesChanged,
  QueueDeletedFull,
  QueueMadeAgain,
  QueueMissing,
  WaiterOfDeleted,
  TooLong,
  Unsubscribed,
  TopicDeleted,
  FilteredOut,
  CopyRefused,
  CopyDeadLettered,
  FifoCopy,
  TopicDedupHit,
  MoveStarted,
  MovedByTask,
  MoveCancelled,
  MoveAndCrash,
  NoisyGroup,
  SlowGroup,
  AttemptRepeated,
  AttemptAnew,
  AttemptRepeatedAfterRestart,
  EqualBodies,
  HashGiven,
  OwnIdOfEqualBody,
  DuplicateOfOtherGroup,
  OwnWindowOfGroup,
  BeyondTwelveHours,
  LateChange,
  PurgeRefused,
  QueueWait,
  ReplayCaughtUp,
  ReplayAndCrash,
  Count
};
inline constexpr std::size_t kProperties = static_cast<std::size_t>(Property::Count);

struct PropertyText {
  std::string_view name;
  Kind kind;
  std::string_view meaning;
};
const PropertyText& text_of(Property property);

/// How often each was looked at or reached.
struct Tally {
  std::array<std::uint64_t, kProperties> counts{};
  void note(Property property) { ++counts[static_cast<std::size_t>(property)]; }
  void add(const Tally& other) {
    for (std::size_t i = 0; i < kProperties; ++i) counts[i] += other.counts[i];
  }
};

}  // namespace fanfare::sim
