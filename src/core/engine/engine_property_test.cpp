// Random commands on a few queues and topics. After them:
//  - the log replayed into a fresh engine gives the same state;
//  - a snapshot loaded into a fresh engine gives the same state, and goes on as the original does;
//  - every message that was sent is held, or was deleted, expired or purged; none is given out while its lease runs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/engine/player.h"

namespace fanfare::engine {
namespace {

RC_GTEST_PROP(Engine, ReplayGivesTheLiveState, (std::uint64_t seed)) {
  const EngineOptions options = small_memory(seed);
  Player player(seed, options);
  player.play(200);
  player.engine.input(DeadlineCame{});
  player.engine.deadline();
  EngineFixture replayed = player.engine.replayed(options.epoch);
  replayed.input(DeadlineCame{});
  replayed.deadline();
  RC_ASSERT(difference(replayed.engine.debug_state(), player.engine.engine.debug_state()) == "");
}

RC_GTEST_PROP(Engine, ALoadedSnapshotGoesOnAsTheOriginal, (std::uint64_t seed)) {
  const EngineOptions options = EngineFixture::with_frame(small_memory(seed));
  Player original(seed, options);
  Player other(seed, options);
  original.play(150);
  other.play(150);
  other.engine.deadline();
  original.engine.deadline();
  // Waiters are no part of a snapshot; let them end first.
  original.engine.pass(seconds{4});
  other.engine.pass(seconds{4});
  other.engine.engine = loaded(other.engine.engine, options);
  RC_ASSERT(difference(other.engine.engine.debug_state(), original.engine.engine.debug_state()) == "");
  original.play(100);
  other.play(100);
  original.engine.deadline();
  other.engine.deadline();
  RC_ASSERT(difference(other.engine.engine.debug_state(), original.engine.engine.debug_state()) == "");
}

RC_GTEST_PROP(Engine, EveryMessageIsHeldOrItsEndIsCounted, (std::uint64_t seed)) {
  Player player(seed, small_memory(seed));
  player.deletes_queues = false;
  player.play(250);
  class Sum final : public MetricsVisitor {
   public:
    void queue(const QueueKey&, const MessageCounts& counts, std::optional<Timestamp>, const QueueCounters& counters) override {
      held += counts.visible + counts.in_flight + counts.delayed;
      sent += counters.sent;
      ended += counters.deleted + counters.expired + counters.purged;
    }
    void topic(const TopicKey&, const TopicCounters&) override {}
    std::uint64_t held = 0;
    std::uint64_t sent = 0;
    std::uint64_t ended = 0;
  };
  Sum sum;
  player.engine.engine.visit_metrics(sum);
  RC_ASSERT(sum.sent == sum.held + sum.ended);
}

RC_GTEST_PROP(Engine, RelocatedContentsAreReadWhereTheyLieNow, (std::uint64_t seed)) {
  EngineOptions options = small_memory(seed);
  Player player(seed, options);
  player.play(150);
  EngineFixture& e = player.engine;
  e.deadline();
  // Fill the log so that what was there lies in old regions.
  e.create_queue("filler");
  for (int i = 0; i < 40; ++i) e.send("filler", std::string(4'000, 'f'));
  const LogPosition before = e.engine.log_end();
  e.relocate(before);
  const auto oldest = e.engine.oldest_needed_position();
  RC_ASSERT(!oldest || *oldest >= LogPosition{before.value & ~std::uint64_t{0xffff}});
  // The log before it is not needed any more: contents are found behind it, live and after a replay.
  e.input(DeadlineCame{});
  EngineFixture replayed = e.replayed(options.epoch);
  replayed.input(DeadlineCame{});
  replayed.deadline();
  RC_ASSERT(difference(replayed.engine.debug_state(), e.engine.debug_state()) == "");
  const auto filler = e.receive("filler", 10);
  RC_ASSERT(filler.size() == 10u);
  RC_ASSERT(filler[0].body == std::string(4'000, 'f'));
}

}  // namespace
}  // namespace fanfare::engine
