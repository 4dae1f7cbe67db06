#include "server/broker.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <map>
#include <span>
#include <type_traits>

#include "base/assert.h"
#include "base/bytes.h"
#include "core/engine/records.h"
#include "server/snapshot_sections.h"
#include "server/thread_kind.h"

namespace fanfare::server {
namespace {

constexpr seconds kAfterFailedSnapshot{10};  // each attempt costs as much as one that succeeds
constexpr seconds kAfterFailedRelocation{60};
/// How long a disk that cannot read is tried again before a replay leaves the message out.
constexpr seconds kReadsFailFor{60};
/// A slice of relocation takes a few tenths of a millisecond.
constexpr std::uint64_t kRelocationSliceBytes = 32 << 10;
constexpr std::uint64_t kRelocationCommitBytes = 512 << 10;
/// A rest is this many times as long as the slice before it.
constexpr int kSliceRest = 2;
/// Of a snapshot: the journal gets pieces of this size.
constexpr std::size_t kSnapshotPieceBytes = 128 << 10;
constexpr std::uint64_t kWorthASnapshotAtClose = 8ull << 20;  // replaying less takes a few milliseconds

std::string_view describe(engine::ReplayError error) {
  switch (error) {
    case engine::ReplayError::UnknownVersion: return "it was written by a newer version of Fanfare";
    case engine::ReplayError::Damaged: return "it makes no sense although its checksum is right";
  }
  return "unknown";
}

/// Whether this reply tells the caller that something will stay so.
bool is_promise(const engine::Input& input, const engine::Reply& reply) {
  const auto* command = std::get_if<engine::Command>(&input);
  if (command == nullptr || command->caller.id != reply.caller) return false;
  const auto is_one_of = []<class... Types>(const auto& value, std::type_identity<Types>...) {
    return (std::holds_alternative<Types>(value) || ...);
  };
  using std::type_identity;
  if (is_one_of(reply.body, type_identity<engine::QueueError>{}, type_identity<engine::TopicError>{},
                type_identity<engine::AccessDenied>{}, type_identity<engine::Unavailable>{}))
    return false;
  return !is_one_of(command->request, type_identity<engine::ReceiveMessages>{}, type_identity<engine::ChangeVisibility>{},
                    type_identity<engine::ChangeVisibilityBatch>{}, type_identity<engine::FindQueue>{},
                    type_identity<engine::ListQueues>{}, type_identity<engine::DescribeQueue>{},
                    type_identity<engine::ListQueueTags>{}, type_identity<engine::ListDeadLetterSourceQueues>{},
                    type_identity<engine::ListTopics>{}, type_identity<engine::DescribeTopic>{},
                    type_identity<engine::ListTopicTags>{}, type_identity<engine::ListSubscriptions>{},
                    type_identity<engine::ListSubscriptionsByTopic>{}, type_identity<engine::DescribeSubscription>{});
}

/// Of this thread.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

}  // namespace

void CommitHistogram::add(double seconds) {
  std::size_t bucket = 0;
  while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
  ++counts[bucket];
  ++total;
  sum_seconds += seconds;
}

UpkeepStats::Hold UpkeepStats::overall() const {
  Hold all;
  for (const auto& [part, hold] : holds) {
    all.longest = std::max(all.longest, hold.longest);
    all.longest_work = std::max(all.longest_work, hold.longest_work);
    all.work += hold.work;
  }
  return all;
}

Broker::Broker(BrokerOptions options, std::unique_ptr<journal::Journal> journal, engine::Engine engine, Clock& clock, Log& log)
    : options_(options),
      clock_(clock),
      log_(log),
      journal_(std::move(journal)),
      engine_(std::make_unique<engine::Engine>(std::move(engine))) {}

Broker::~Broker() {
  closing_ = true;
  if (job_thread_.joinable()) job_thread_.join();
}

Result<std::unique_ptr<Broker>, std::string> Broker::recover(BrokerOptions options, std::unique_ptr<journal::Journal> journal,
                                                             Clock& clock, Log& log) {
  options.engine.epoch = static_cast<std::uint32_t>(journal->epoch());
  options.engine.frame = {.overhead = journal::kFrameHeaderBytes, .alignment = 8};
  static_assert(journal::frame_size(1) == FrameLayout{.overhead = journal::kFrameHeaderBytes, .alignment = 8}.size(1));
  std::optional<engine::Engine> engine;
  std::uint64_t snapshot_size = 0;
  LogPosition from = journal->first_position();
  auto latest = journal->snapshots().latest();
  if (!latest) return fmt::format("the snapshot cannot be read: {}", journal::name_of(latest.error()));
  if (*latest != nullptr) {
    SectionReader sections{**latest};
    auto loaded = engine::Engine::load(options.engine, [&] { return sections.next(); });
    if (sections.broken() || !loaded) return std::string{"the snapshot cannot be understood; `fanfare journal verify` tells more"};
    engine.emplace(std::move(*loaded));
    clock.not_before(engine->latest());  // no record need follow that would say it
    from = (*latest)->position();
    snapshot_size = (*latest)->bytes();
  } else {
    engine.emplace(options.engine, from);
  }
  std::optional<std::string> failure;
  std::uint64_t records = 0;
  const auto replayed = journal->replay(from, [&](LogPosition position, std::string_view record) {
    if (const auto applied = engine->replay(record, position); !applied) {
      failure = fmt::format("the record at {} cannot be replayed: {}", position.value, describe(applied.error()));
      return false;
    }
    if (record.size() >= 16) clock.not_before(timestamp_from_unix_ms(load_le<std::int64_t>(record.data() + 8)));
    ++records;
    return true;
  });
  if (failure) return *failure;
  if (!replayed) return fmt::format("the log cannot be read from {}: {}", from.value, journal::name_of(replayed.error()));
  engine->start(journal->next_position(), clock.now());
  log.info("broker.recovered", {{"records", records}, {"from", from.value}, {"end", journal->next_position().value}, {"epoch", journal->epoch()}});
  std::unique_ptr<Broker> broker{new Broker{options, std::move(journal), std::move(*engine), clock, log}};
  broker->snapshot_position_ = from;
  broker->snapshot_size_ = snapshot_size;
  const std::uint64_t every = [&] {
    const journal::JournalStats stats = broker->journal_->stats();
    return log_between_snapshots(options.snapshot_bytes, snapshot_size, stats.disk_free_bytes, stats.segment_bytes);
  }();
  if (!broker->options_.memory && broker->journal_->next_position().value - from.value >= every) {
    // A process that does not live long enough for a snapshot would leave more to recover each time. Now nobody waits yet.
    const std::lock_guard lock{broker->mutex_};
    broker->begin_snapshot_locked(Pace::Unresting);
  }
  return broker;
}

std::uint8_t Broker::add_target(ReplyTarget& target) {
  FANFARE_ASSERT(targets_.size() < 255);
  targets_.push_back(&target);
  return static_cast<std::uint8_t>(targets_.size() - 1);
}

void Broker::handle(const engine::Input& input, Timestamp now) {
  std::vector<LogPosition> wanted;
  {
    const std::lock_guard lock{mutex_};
    const bool by_time = std::holds_alternative<engine::DeadlineCame>(input);
    const HoldStart hold = by_time ? start_hold() : HoldStart{};
    handle_locked(input, now);
    if (by_time) {
      wanted = engine_->wanted_contents();
      note_hold("deadlines", hold);
    }
  }
  if (!wanted.empty()) hand_in_contents(wanted, now);
}

// Others may have the lock between two reads, so that they wait for one read at most. What relocation moves meanwhile may be gone
// from where it was: then the engine knows its new place, finds no content for it among these, and asks again.
void Broker::hand_in_contents(std::span<const LogPosition> wanted, Timestamp now) {
  const Instant begin = clock_.steady();
  std::vector<std::string> records(wanted.size());
  std::vector<engine::ContentsRead::Content> contents;
  std::map<LogPosition, Instant> failing;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::lock_guard lock{mutex_};
    if (const auto read = journal_->read(wanted[i], records[i]); !read) {
      records[i].clear();
      if (read.error() == journal::JournalError::Io) {
        const auto known = failing_reads_.find(wanted[i]);
        const Instant since = known == failing_reads_.end() ? begin : known->second;
        if (known == failing_reads_.end())
          log_.warn("journal.read_failed", {{"position", wanted[i].value}, {"detail", journal_->stats().last_failure}});
        failing.emplace(wanted[i], since);
        if (begin - since < kReadsFailFor) continue;  // it is not handed in, and asked for again
      }
    }
    contents.push_back({wanted[i], records[i]});
  }
  const std::lock_guard lock{mutex_};
  failing_reads_ = std::move(failing);
  handle_locked(engine::ContentsRead{contents}, now);
}

void Broker::handle(const Lock& held, const engine::Input& input, Timestamp now) {
  FANFARE_ASSERT(held.owns_lock() && held.mutex() == &mutex_);
  handle_locked(input, now);
}

void Broker::handle_locked(const engine::Input& input, Timestamp now) {
  FANFARE_ASSERT(mutex_.is_mine());
  outputs_.clear();
  engine_->handle(input, now, outputs_);
  for (const engine::RecordSpan& record : outputs_.records) {
    const LogPosition at = journal_->append(outputs_.record(record));
    FANFARE_ASSERT(at == record.position, fmt::format("engine {} journal {}", record.position.value, at.value));
  }
  for (engine::Reply& reply : outputs_.replies) {
    // The engine has nothing to add to the log for a request whose effect is there already (a queue that exists, a duplicate
    // send, a message that is gone). Yet what it found may not be durable: the first request may just have failed.
    if (!reply.wait_for && journal_->durable_end() < journal_->next_position() && is_promise(input, reply))
      reply.wait_for = journal_->next_position();
    const std::size_t target = reply.caller.value >> 56;
    FANFARE_ASSERT(target < targets_.size());
    targets_[target]->on_reply(reply);
  }
  note_deadline_locked();
}

void Broker::note_deadline_locked() {
  const std::optional<Timestamp> next = engine_->next_deadline();
  const bool nearer = next && (!deadline_ || *next < *deadline_);
  deadline_ = next;
  if (nearer && notify_) notify_();
}

std::optional<Timestamp> Broker::next_deadline() const {
  const std::lock_guard lock{mutex_};
  return deadline_ ? deadline_ : engine_->next_deadline();
}

CommitState Broker::commit(LogPosition wanted) {
  const std::lock_guard lock{mutex_};
  return commit_locked(wanted);
}

CommitState Broker::commit_locked(LogPosition wanted) {
  FANFARE_ASSERT(mutex_.is_mine());
  if (options_.relaxed || journal_->durable_end() >= wanted) return CommitState::Durable;
  const Instant begin = clock_.steady();
  const auto committed = journal_->commit(journal::Sync::Yes);
  commits_.add(std::chrono::duration<double>(clock_.steady() - begin).count());
  if (committed) {
    if (storage_full_ && !room_is_short_locked()) set_storage_full(false);
    if (!options_.memory && journal_->next_position() >= upkeep_at_) maintain_locked();
    return CommitState::Durable;
  }
  commit_failed(committed.error());
  return CommitState::Failed;
}

void Broker::commit_failed(journal::JournalError error) {
  if (error == journal::JournalError::Fenced) {
    // Not through the log, whose own thread would not come to write it.
    std::fputs("fanfare: another process has opened the data folder; this one must not write again\n", stderr);
    std::abort();  // going on could acknowledge what the other process does not know
  }
  if (storage_full_) return;
  log_.error("journal.commit_failed", {{"error", journal::name_of(error)}, {"detail", journal_->stats().last_failure}});
  set_storage_full(true);
}

void Broker::set_storage_full(bool full) {
  storage_full_ = full;
  log_.warn(full ? "journal.storage_full" : "journal.storage_available");
  handle_locked(engine::StorageChanged{full}, clock_.now());
}

bool Broker::room_is_short_locked() const {
  const journal::JournalStats stats = journal_->stats();
  // Enough for the longest record, and to receive and delete all that a segment holds, or nothing would ever be given up again: with
  // the shortest messages, one by one, that takes four fifths of a segment.
  const std::uint64_t reserve = std::max<std::uint64_t>(stats.segment_bytes / 8 * 7, 2 << 20);
  return stats.space_is_short && stats.room_bytes < reserve;
}

bool Broker::may_relocate_locked(LogPosition before) const {
  // What is left of a full disk belongs to deletes first. Yet where a few old messages keep it full of deleted ones, to write
  // them again is all that makes room.
  return !storage_full_ || 2 * engine_->needed_bytes_before(before) <= journal_->stats().room_bytes;
}

bool Broker::commit_lazily() {
  const std::lock_guard lock{mutex_};
  if (journal_->next_position() == journal_->durable_end()) return true;
  const Instant now = clock_.steady();
  // Receives are not waited for; a synchronous write for each would cost as much as a send. In relaxed mode this bound is
  // what a crash of the machine may lose.
  if (now - last_lazy_commit_ < milliseconds{options_.relaxed ? 100 : 20}) return false;
  last_lazy_commit_ = now;
  if (const auto committed = journal_->commit(journal::Sync::Yes); !committed) commit_failed(committed.error());
  else if (!options_.memory && journal_->next_position() >= upkeep_at_) maintain_locked();
  return true;  // after a failure maintain() tries again
}

bool Broker::read_record(LogPosition position, std::string& out) {
  FANFARE_ASSERT(mutex_.is_mine(), "a read changes what the journal remembers");
  return static_cast<bool>(journal_->read(position, out));
}

bool Broker::writable() {
  const std::lock_guard lock{mutex_};
  return journal_->stats().writable && !storage_full_;
}

void Broker::maintain() {
  const std::lock_guard lock{mutex_};
  maintain_locked();
}

void Broker::finish_upkeep() {
  std::thread job;
  {
    const std::lock_guard lock{mutex_};
    job.swap(job_thread_);
  }
  if (job.joinable()) job.join();
}

UpkeepStats Broker::upkeep_stats() {
  const std::lock_guard lock{mutex_};
  return upkeep_;
}

void Broker::maintain_locked() {
  FANFARE_ASSERT(mutex_.is_mine());
  if (journal_ == nullptr) return;  // closed
  log_failed_deliveries_locked();
  if (storage_full_ || (!options_.memory && journal_->next_position() != journal_->durable_end())) {
    // Also what no loop has asked for: the client inside this process does not commit what nobody waits for.
    const auto committed = journal_->commit(journal::Sync::Yes);
    if (!committed) commit_failed(committed.error());
    else if (storage_full_ && !room_is_short_locked()) set_storage_full(false);
  }
  if (!storage_full_ && room_is_short_locked()) {
    log_.error("journal.room_is_short", {{"detail", journal_->stats().last_failure}});
    set_storage_full(true);
  }
  if (options_.memory) {  // every content is resident: nothing needs the log
    if (const auto durable = journal_->commit(journal::Sync::No)) static_cast<void>(journal_->trim(*durable).has_value());
    return;
  }
  const std::uint64_t step = std::max<std::uint64_t>(journal_->stats().segment_bytes / 8, 64 << 10);
  upkeep_at_ = journal_->next_position() + step;
  if (job_running_) return;  // a snapshot in the making tells where contents lie; a trim now would be one against the one before
  // What the engine needs is told with everything it appended: contents that were written again count from their new place,
  // and until that is durable a crash leaves them at the old one.
  if (journal_->durable_end() != journal_->next_position()) return;
  const Instant now = clock_.steady();
  const LogPosition needed = std::min(engine_->oldest_needed_position().value_or(snapshot_position_), snapshot_position_);
  if (needed > journal_->first_position()) {
    const HoldStart hold = start_hold();
    if (const auto trimmed = journal_->trim(std::min(needed, journal_->durable_end())); !trimmed)
      log_.warn("journal.trim_failed", {{"error", journal::name_of(trimmed.error())}});
    note_hold("trim", hold);
  }
  const UpkeepStep next = decide_upkeep(shape_locked());
  if (next.kind == UpkeepStep::Kind::Snapshot && now >= next_snapshot_) begin_snapshot_locked(Pace::Resting);
  if (next.kind == UpkeepStep::Kind::Relocate && now >= next_relocation_ && may_relocate_locked(next.before))
    begin_job_locked([this, before = next.before] { relocate(before); });
}

void Broker::log_failed_deliveries_locked() {
  const std::uint64_t count = engine_->failed_delivery_count();
  if (count == failed_deliveries_logged_) return;
  const std::vector<engine::FailedDelivery> failed = engine_->failed_deliveries();
  const auto fresh = std::min<std::uint64_t>(count - failed_deliveries_logged_, failed.size());
  failed_deliveries_logged_ = count;
  // One line for each subscription and reason: a busy topic with one broken subscription must not flood the log.
  std::map<std::pair<std::string_view, engine::FailedDelivery::Reason>, std::pair<std::uint64_t, const engine::FailedDelivery*>> told;
  for (const engine::FailedDelivery& one : std::span(failed).last(fresh)) {
    auto& [times, latest] = told[{one.subscription_arn, one.reason}];
    ++times;
    latest = &one;
  }
  for (const auto& [what, times_and_latest] : told) {
    const auto& [times, one] = times_and_latest;
    log_.warn("sns.delivery_failed", {{"subscription", one->subscription_arn}, {"endpoint", one->endpoint},
                                      {"reason", engine::name_of(one->reason)}, {"why", one->why}, {"times", times},
                                      {"redriven", one->redriven}});
  }
}

LogShape Broker::shape_locked() const {
  const journal::JournalStats stats = journal_->stats();
  LogShape shape;
  shape.first = journal_->first_position();
  shape.newest_segment = stats.newest_segment;
  shape.end = journal_->next_position();
  shape.snapshot = std::max(snapshot_position_, shape.first);
  shape.oldest_needed = engine_->oldest_needed_position();
  shape.needed_bytes = engine_->needed_bytes();
  shape.older_bytes = stats.older_bytes;
  shape.segment_bytes = stats.segment_bytes;
  shape.snapshot_every = log_between_snapshots(options_.snapshot_bytes, snapshot_size_, stats.disk_free_bytes, stats.segment_bytes);
  return shape;
}

Broker::HoldStart Broker::start_hold() const { return {clock_.steady(), processor_time()}; }

void Broker::note_hold(std::string_view part, const HoldStart& start) {
  UpkeepStats::Hold& hold = upkeep_.holds[part];
  hold.longest = std::max<std::chrono::nanoseconds>(hold.longest, clock_.steady() - start.clock);
  const std::chrono::nanoseconds work = processor_time() - start.processor;
  hold.longest_work = std::max(hold.longest_work, work);
  hold.work += work;
}

void Broker::begin_job_locked(std::function<void()> job) {
  if (job_thread_.joinable()) job_thread_.join();  // it has ended: job_running_ is its last act
  job_running_ = true;
  auto whole = [this, job = std::move(job)] {
    job();
    job_running_ = false;
  };
  if (options_.run_aside) options_.run_aside(std::move(whole));
  else job_thread_ = std::thread([whole = std::move(whole)] {
    run_as(ThreadKind::Loop);  // it sleeps often, and loops wait for the lock that it takes
    whole();
  });
}

// ---- Snapshots ----------------------------------------------------------------------------------------------------------

void Broker::begin_snapshot_locked(Pace pace) {
  if (!journal_->commit(journal::Sync::Yes)) return;  // a snapshot may only stand for what is durable; maintain() comes again
  const HoldStart hold = start_hold();
  const LogPosition position = engine_->log_end();
  engine_->begin_snapshot();
  note_hold("begin", hold);
  begin_job_locked([this, position, pace] { write_snapshot(position, pace); });
}

void Broker::write_snapshot(LogPosition position, Pace pace) {
  std::string piece;
  piece.resize(2 * kSnapshotPieceBytes);  // its pages come from the system now, not under the lock
  std::uint64_t bytes = 0;
  bool more = true;
  const auto written = journal_->snapshots().write(position, [&]() -> std::optional<std::string_view> {
    piece.clear();
    while (more && piece.size() < kSnapshotPieceBytes) {
      if (closing_ && pace == Pace::Resting) return std::nullopt;
      more = snapshot_slice(piece, pace);
    }
    bytes += piece.size();
    return std::string_view{piece};
  });
  if (!written) {
    const std::lock_guard lock{mutex_};
    engine_->abandon_snapshot();
    more = engine_->snapshotting();
  }
  while (more) more = snapshot_slice(piece, pace);
  const std::lock_guard lock{mutex_};
  note_deadline_locked();  // what the engine kept for the snapshot may be due by now
  if (written) {
    snapshot_position_ = position;
    snapshot_size_ = bytes;
    ++upkeep_.snapshots;
    log_.info("journal.snapshot", {{"position", position.value}, {"bytes", bytes}});
  } else if (!closing_) {
    log_.warn("journal.snapshot_failed", {{"error", journal::name_of(written.error())}});
    next_snapshot_ = clock_.steady() + kAfterFailedSnapshot;
  }
}

/// False: it is complete.
bool Broker::snapshot_slice(std::string& out, Pace pace) {
  const Instant begin = clock_.steady();
  bool more = false;
  {
    const std::lock_guard lock{mutex_};
    const std::string_view part = engine_->snapshot_part();
    const HoldStart hold = start_hold();
    more = engine_->snapshot_slice(options_.snapshot_slice, [&](std::string_view section) { append_framed(out, section); });
    note_hold(part, hold);
  }
  if (more) rest_after_slice(begin, pace);
  return more;
}

void Broker::rest_after_slice(Instant begin, Pace pace) {
  if (options_.between_slices) return options_.between_slices();
  if (pace == Pace::Resting && !closing_ && !options_.run_aside) std::this_thread::sleep_for((clock_.steady() - begin) * kSliceRest);
}

// ---- Relocation ---------------------------------------------------------------------------------------------------------

void Broker::relocate(LogPosition before) {
  engine::Outputs outputs;
  for (bool more = true; more && !closing_;) {
    const Instant begin = clock_.steady();
    more = relocate_slice(before, outputs);
    if (more) rest_after_slice(begin, Pace::Resting);
  }
}

/// False: done, or it cannot go on.
bool Broker::relocate_slice(LogPosition before, engine::Outputs& outputs) {
  const std::lock_guard lock{mutex_};
  if (!may_relocate_locked(before)) return false;
  const HoldStart hold = start_hold();
  outputs.clear();
  const bool more = engine_->relocate(before, kRelocationSliceBytes,
                                      [this](LogPosition position) -> std::optional<std::string> {
                                        std::string record;
                                        if (!journal_->read(position, record)) return std::nullopt;
                                        return record;
                                      },
                                      outputs);
  for (const engine::RecordSpan& record : outputs.records) {
    const LogPosition at = journal_->append(outputs.record(record));
    FANFARE_ASSERT(at == record.position, fmt::format("engine {} journal {}", record.position.value, at.value));
  }
  uncommitted_relocation_ += outputs.record_bytes.size();
  upkeep_.relocated_bytes += outputs.record_bytes.size();
  ++upkeep_.slices;
  note_hold("relocation", hold);
  if (!more || uncommitted_relocation_ >= kRelocationCommitBytes) {
    uncommitted_relocation_ = 0;
    if (const auto committed = journal_->commit(journal::Sync::Yes); !committed) {
      commit_failed(committed.error());
      return false;
    }
  }
  if (more) return true;
  if (const auto oldest = engine_->oldest_needed_position(); oldest && *oldest < before) {
    log_.error("journal.relocation_stopped", {{"oldest", oldest->value}, {"before", before.value}});
    next_relocation_ = hold.clock + kAfterFailedRelocation;
  }
  upkeep_at_ = journal_->next_position();  // the next commit goes on with a snapshot
  return false;
}

void Broker::close() {
  closing_ = true;
  finish_upkeep();
  bool snapshot = false;
  {
    const std::lock_guard lock{mutex_};
    if (!journal_->commit(journal::Sync::Yes)) log_.error("journal.commit_failed", {{"detail", journal_->stats().last_failure}});
    snapshot = !options_.memory && !options_.run_aside && journal_->next_position().value - snapshot_position_.value >= kWorthASnapshotAtClose;
    if (snapshot) begin_snapshot_locked(Pace::Unresting);  // nobody waits for the engine any more
  }
  finish_upkeep();
  const std::lock_guard lock{mutex_};
  log_.info("broker.closed", {{"end", journal_->next_position().value}});
  journal_.reset();
}

}  // namespace fanfare::server
