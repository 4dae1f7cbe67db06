// The broker of one process: the engine, its journal, and the one lock around both.
//
// Rule 1: handle() appends an input's records to the journal in the same critical section in which the engine made them, so
//         the log's order is the engine's order.
// Rule 2: a reply that waits for a log position may leave only after commit() has made that position durable. commit() makes
//         everything appended so far durable, whoever appended it: the first loop that comes commits for all.
//         So does one that says «it is so already»: what it found there may have been appended a moment ago.
// Rule 3: replies go to the ReplyTarget that their CallerId names, under the lock, perhaps on another loop's thread.
// Rule 4: upkeep never holds the lock for as long as there are messages: a thread of its own takes it for slices of a tenth of a
//         millisecond, between which the engine goes on. A snapshot is the state of the moment at which it was begun.
// Rule 5: the journal has one user at a time: whoever holds the lock. Also a read changes it. Only its snapshots() are used without.
// Thread-safe unless said otherwise.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "core/engine/engine.h"
#include "journal/journal.h"
#include "server/clock.h"
#include "server/held_mutex.h"
#include "server/log.h"
#include "server/upkeep.h"

namespace fanfare::server {

/// Somebody whose requests the engine answers: a data-plane loop, or the client inside this process.
class ReplyTarget {
 public:
  virtual ~ReplyTarget() = default;
  /// Under the broker's lock, and not always on the target's own thread. Views in `reply` are valid during the call only.
  /// Must not call the broker.
  virtual void on_reply(const engine::Reply& reply) = 0;
};

/// Durations of commits, for fanfare_journal_commit_seconds. Protected by the broker's lock.
struct CommitHistogram {
  static constexpr std::array<double, 12> kBounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5};
  std::array<std::uint64_t, kBounds.size() + 1> counts{};
  std::uint64_t total = 0;
  double sum_seconds = 0;
  void add(double seconds);
};

struct BrokerOptions {
  engine::EngineOptions engine;
  std::uint64_t snapshot_bytes = 256ull << 20;  ///< log written between two snapshots; more if a snapshot is large, see upkeep.h
  bool memory = false;                          ///< the journal is in memory: contents stay in the engine, the log is dropped
  bool relaxed = false;                         ///< replies do not wait for the disk; it follows within 100 ms
  /// Runs what a thread does otherwise (snapshots, relocation), outside the broker's lock and before close(). The
  /// simulator decides when; empty: a thread.
  std::function<void(std::function<void()>)> run_aside;
  /// With run_aside: called between two slices, outside the lock, instead of a rest. An exception from it leaves the job for good; then
  /// the broker can only be destroyed.
  std::function<void()> between_slices;
  std::size_t snapshot_slice = 2048;            ///< what a slice of a snapshot does, in the engine's measure: some 30 microseconds
};

/// What keeping the log small has cost since the start.
struct UpkeepStats {
  std::uint64_t snapshots = 0;
  std::uint64_t relocated_bytes = 0;  ///< of the log, written for contents that were in the way
  std::uint64_t slices = 0;
  /// How long the lock was held, without commits.
  struct Hold {
    std::chrono::nanoseconds longest{};       ///< by the clock
    std::chrono::nanoseconds longest_work{};  ///< the same in processor time, which a busy machine does not lengthen
    std::chrono::nanoseconds work{};          ///< all of it
  };
  /// By what it was for: "begin" and the other parts of a snapshot (Engine::snapshot_part), "relocation", "trim", and "deadlines", what is
  /// due by time, with the messages of deleted queues.
  std::map<std::string_view, Hold> holds;
  [[nodiscard]] Hold overall() const;  ///< over all
};

enum class CommitState {
  Durable,  ///< what was asked for is on disk
  Failed,   ///< it is not: nothing that waited for it may be acknowledged
};

class Broker {
 public:
  using Lock = std::unique_lock<HeldMutex>;

  /// Replays what the journal holds. The error says what is wrong with which record.
  static Result<std::unique_ptr<Broker>, std::string> recover(BrokerOptions options, std::unique_ptr<journal::Journal> journal,
                                                              Clock& clock, Log& log);
  ~Broker();

  /// CallerIds of this target carry `index` in their highest byte. Before any handle(); targets outlive the broker's use.
  std::uint8_t add_target(ReplyTarget& target);
  static engine::CallerId caller_id(std::uint8_t target, std::uint64_t number) {
    return {static_cast<std::uint64_t>(target) << 56 | (number & kNumberMask)};
  }

  void handle(const engine::Input& input, Timestamp now);
  /// The same for a caller that holds lock() already.
  void handle(const Lock& held, const engine::Input& input, Timestamp now);

  /// Makes the log durable up to `wanted`, at least. Costs no system call if it is already.
  CommitState commit(LogPosition wanted);
  /// Writes what was appended and nobody waits for, at most every 25 ms. False: called too early, come again.
  bool commit_lazily();

  /// When handle(DeadlineCame) is due; nullopt: never.
  [[nodiscard]] std::optional<Timestamp> next_deadline() const;
  /// Called (under the lock, any thread) when the next deadline has come nearer than it was.
  void on_nearer_deadline(std::function<void()> notify) { notify_ = std::move(notify); }

  /// Under the lock, for on_reply: a record whose content the engine has no longer in memory.
  bool read_record(LogPosition position, std::string& out);

  /// Runs `use` under the lock; for what needs engine and journal at one moment (metrics, state, parked requests).
  template <class Use>
  auto locked(Use use) {
    const std::lock_guard lock{mutex_};
    return use(*engine_, *journal_);
  }
  [[nodiscard]] Lock lock() { return Lock{mutex_}; }
  /// Whether the calling thread has it.
  [[nodiscard]] bool holds_lock() const { return mutex_.is_mine(); }
  [[nodiscard]] const CommitHistogram& commit_histogram() const { return commits_; }

  /// About once a second, and by commit() whenever the log has grown by part of a segment: gives up log that nothing needs, starts a
  /// snapshot or relocation where upkeep.h says so, retries the disk.
  void maintain();
  /// Waits for what maintain() has started; for tests.
  void finish_upkeep();
  [[nodiscard]] UpkeepStats upkeep_stats();
  /// Commits, writes a last snapshot if the log since the one before is worth it, and lets go of the journal's folder.
  void close();
  /// False while the journal cannot write (for /readyz).
  [[nodiscard]] bool writable();

 private:
  static constexpr std::uint64_t kNumberMask = (1ull << 56) - 1;
  Broker(BrokerOptions options, std::unique_ptr<journal::Journal> journal, engine::Engine engine, Clock& clock, Log& log);
  void handle_locked(const engine::Input& input, Timestamp now);
  CommitState commit_locked(LogPosition wanted);
  void commit_failed(journal::JournalError error);
  void set_storage_full(bool full);
  /// Sends are refused while the room that is left is kept for what makes room: deletes, snapshots, relocation.
  [[nodiscard]] bool room_is_short_locked() const;
  [[nodiscard]] bool may_relocate_locked(LogPosition before) const;
  void maintain_locked();
  void log_failed_deliveries_locked();
  [[nodiscard]] LogShape shape_locked() const;
  struct HoldStart {
    Instant clock;
    std::chrono::nanoseconds processor;
  };
  [[nodiscard]] HoldStart start_hold() const;
  void note_hold(std::string_view part, const HoldStart& start);
  void begin_job_locked(std::function<void()> job);
  enum class Pace {
    Resting,    // between slices, twice as long as a slice takes; given up when the broker closes
    Unresting,  // nobody waits yet, or any more; completed in any case
  };
  void begin_snapshot_locked(Pace pace);
  void write_snapshot(LogPosition position, Pace pace);
  bool snapshot_slice(std::string& out, Pace pace);
  void rest_after_slice(Instant begin, Pace pace);
  void note_deadline_locked();
  void hand_in_contents(std::span<const LogPosition> wanted, Timestamp now);
  void relocate(LogPosition before);
  bool relocate_slice(LogPosition before, engine::Outputs& outputs);

  // Constant after construction.
  const BrokerOptions options_;
  Clock& clock_;
  Log& log_;
  std::vector<ReplyTarget*> targets_;
  std::function<void()> notify_;
  // Protected by mutex_.
  mutable HeldMutex mutex_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<engine::Engine> engine_;
  engine::Outputs outputs_;
  CommitHistogram commits_;
  std::optional<Timestamp> deadline_;
  std::uint64_t failed_deliveries_logged_ = 0;
  std::map<LogPosition, Instant> failing_reads_;  // of what replays wait for, and since when
  LogPosition snapshot_position_;
  std::uint64_t snapshot_size_ = 0;  // in bytes; 0: there is none
  bool storage_full_ = false;
  Instant last_lazy_commit_{};
  Instant next_snapshot_{};
  Instant next_relocation_{};
  LogPosition upkeep_at_;  // where commit() looks after the log next
  std::uint64_t uncommitted_relocation_ = 0;
  UpkeepStats upkeep_;
  // A snapshot or a relocation, one at a time. job_running_ becomes false as the thread's last act.
  std::thread job_thread_;
  std::atomic<bool> job_running_{false};
  std::atomic<bool> closing_{false};
};

}  // namespace fanfare::server
