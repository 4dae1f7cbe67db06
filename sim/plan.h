// What one seed does: queues and topics, clients, operations, sizes and faults. Swarm testing: each seed takes a random part of
// the operations and faults, so that one does not hide another [Groce et al., Swarm Testing, ISSTA 2012].
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "sim/oracle.h"

namespace fanfare::sim {

/// What can be switched off by name, also to shrink a failure.
enum class Feature : std::uint8_t {
  Fifo, DeadLetter, Delay, LongPoll, Batch, Purge, Topics, ChangeVisibility, Retention, Duplicates, Query,
  Kill, PowerCut, CleanRestart, CrashInTurn, DiskError, DiskFull, ConnectionDies, ReplyLost, SlowNetwork, Fragments, Stall,
  HalfClose, ClockJump, ClockBack, Snapshots, SmallMemory, LargeBodies,
  ChangeAttributes, DeleteQueue, MessageSize, Unsubscribe, DeleteTopic, FilterPolicy, QueuePolicy, SubscriptionDeadLetter, FifoTopic,
  Tenants, MoveTasks, Archive,
  AttemptIds, HashedIds, GroupScope, LongTimes, QueueWait,
  Count
};
/// From here on they come from a source of chance of their own: a seed without them does what it did before there were any.
inline constexpr auto kFirstOfOwnChance = Feature::AttemptIds;
std::string_view name_of(Feature feature);

/// A defect that is switched on to see that it is found.
enum class Canary : std::uint8_t { None, NoSync, EarlyReply };

struct Plan {
  std::uint64_t seed = 0;
  std::array<bool, static_cast<std::size_t>(Feature::Count)> features{};
  std::vector<QueueSpec> queues;
  std::vector<std::pair<std::string, bool>> topics;  ///< name, FIFO
  std::vector<SubscriptionSpec> subscriptions;
  int replays = 0;  ///< of the archive of each FIFO topic
  int clients = 3;
  int operations = 200;
  std::uint64_t segment_bytes = 16 * 1024;
  std::uint64_t snapshot_bytes = 64 * 1024;
  std::size_t snapshot_slice = 16;  ///< see server::BrokerOptions
  std::uint64_t resident_bytes = 0;
  std::uint64_t tail_cache_bytes = 0;
  Canary canary = Canary::None;

  [[nodiscard]] bool has(Feature feature) const { return features[static_cast<std::size_t>(feature)]; }
  /// Every FIFO topic does then, from its beginning.
  [[nodiscard]] bool archives(int topic) const { return has(Feature::Archive) && topics[static_cast<std::size_t>(topic)].second; }
  [[nodiscard]] std::string describe() const;
};

struct PlanChanges {
  int operations = 0;                ///< 0: as the seed says
  std::vector<Feature> without;
  Canary canary = Canary::None;
};
/// Whether FIFO queues take part; without them nothing of FIFO can be reached.
inline constexpr bool kFifoIsThere = true;

Plan make_plan(std::uint64_t seed, const PlanChanges& changes);

/// Call::attributes, from what the call changes.
void fill_attributes(Call& call, const Plan& plan);
/// All settings of the plan's queue.
QueueChange settings_of(const QueueSpec& queue);
/// New values for some settings.
QueueChange random_change(const Plan& plan, int queue, Rng& rng);

}  // namespace fanfare::sim
