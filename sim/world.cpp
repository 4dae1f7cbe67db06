// Events, turns, deaths, the network between clients and broker, and the faults.
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "journal/file/file_journal.h"
#include "sim/protocol.h"

namespace fanfare::sim {
namespace {

/// The lines of one text that the other does not have; the first few.
std::string lines_without(std::string_view text, std::string_view other) {
  std::string found;
  while (!text.empty() && found.size() < 600) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    if (other.find(line) == std::string_view::npos) found += line;
    text.remove_prefix(line.empty() ? text.size() : line.size());
  }
  return found;
}

}  // namespace

World::World(const Plan& plan, Tally& tally, std::size_t keep_events)
    : plan_(plan), tally_(tally), oracle_(tally), rng_(plan.seed ^ 0x6e65'7477'6f72'6bULL), fault_rng_(plan.seed ^ 0x6661'756c'74ULL), archive_rng_(plan.seed ^ 0x6172'6368ULL), keep_events_(keep_events) {
  if (keep_events_ > 0) oracle_.trace_to([this](std::string line) { event([&] { return line; }); });
  disk_ = std::make_unique<journal::FaultyFileSystem>(plan.seed ^ 0x6469'736bULL);
  if (plan.resident_bytes <= 1) oracle_.nothing_resident();
  if (plan.canary == Canary::NoSync) disk_->pretend_to_sync();
}

World::~World() {
  if (process_ != nullptr) process_->aside.clear();
}

void World::mix(std::uint64_t value) {
  hash_ = (hash_ ^ value) * 0x100'0000'01b3ULL;
  hash_ ^= hash_ >> 29;
}
void World::mix(std::string_view bytes) { mix(std::hash<std::string_view>{}(bytes)); }

void World::event(const std::function<std::string()>& line) {
  if (keep_events_ == 0) return;
  events_.push_back(fmt::format("{:>12.3f} ms turn {:>5}  {}", static_cast<double>(now_) / 1000.0, turn_, line()));
  if (events_.size() > keep_events_) events_.pop_front();
}

void World::after(Micros delay, std::function<void()> action) { queue_.push({now_ + delay, ++event_number_, std::move(action)}); }
void World::after_if_alive(Micros delay, std::function<void()> action) {
  after(delay, [this, life = life_, action = std::move(action)] {
    if (alive() && life == life_) action();
  });
}

Oracle::Moment World::moment() {
  Oracle::Moment moment;
  moment.turn = turn_;
  moment.micros = now_;
  moment.disk_in_order = disk_in_order();
  if (alive()) {
    moment.now = process_->clock.now();
    moment.log_end = process_->broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.log_end(); });
  }
  return moment;
}

// When a fault that was planned for a step is met depends on how much the broker does: it may be much later.
void World::note_faults() {
  if (std::exchange(faults_met_, disk_->faults_met()) != disk_->faults_met()) trouble_until_ = now_ + kTriesAgainWithin;
}

bool World::disk_in_order() {
  note_faults();
  return now_ > trouble_until_ && !disk_is_full_;
}

bool World::step() {
  note_faults();
  std::optional<Micros> turn;
  if (alive()) {
    SimLoop& loop = *process_->loop;
    if (loop.has_news() && !turn_at_) turn_at_ = now_ + static_cast<Micros>(rng_.below(rng_.chance(1, 4) ? 3000 : 100));
    turn = turn_at_;
    if (!turn) {
      if (const auto due = loop.due())
        turn = std::max(now_, static_cast<Micros>(std::chrono::duration_cast<std::chrono::microseconds>(*due - instant()).count()) + now_);
    }
  }
  if (!queue_.empty() && (!turn || queue_.top().at <= *turn)) {
    Event next = queue_.top();
    queue_.pop();
    now_ = std::max(now_, next.at);
    next.action();
    return true;
  }
  if (!turn) return false;
  now_ = std::max(now_, *turn);
  run_turn();
  return true;
}

void World::pass(Micros time) {
  const Micros until = now_ + time;
  while (now_ < until)
    if (!step()) break;
}

void World::run_turn() {
  turn_at_.reset();
  ++turn_;
  dying_ = false;
  process_->loop->turn(*process_->plane, instant());
  after_turn();
}

void World::handing_in(net::ConnectionId, std::uint64_t tag) {
  if (tag == 0) return;
  const auto found = calls_.find(tag);
  if (found == calls_.end()) return;
  mix(tag);
  oracle_.handled(found->second, moment());
  if (found->second->action == Action::Receive) handed_in_.push_back(found->second);
  if (found->second->action == Action::Send) sent_to_.push_back(found->second->queue);
}

std::size_t World::take(net::ConnectionId id, std::string_view bytes) {
  const auto found = links_.find(id);
  if (disk_->power_is_off() || dying_) {
    dying_ = true;
    return 0;
  }
  if (found == links_.end()) return bytes.size();
  Link& link = found->second;
  if (dies_after_takes_ && (*dies_after_takes_)-- <= 0) {
    dying_ = true;
    tally_.note(Property::CrashAfterCommit);
    return 0;
  }
  if (link.stalled) {
    const Oracle::Moment now = moment();
    for (Outstanding& one : link.outstanding) {
      if (!one.offered) one.offered = now;
      one.call->stalled = true;
    }
    return 0;
  }
  mix(bytes);
  mix(static_cast<std::uint64_t>(now_));
  link.stream.append(bytes);
  while (const std::size_t whole = response_bytes(link.stream)) {
    if (link.outstanding.empty()) oracle_.fail(Property::Answered, fmt::format("an answer to no request: {}", link.stream.substr(0, whole)));
    const Outstanding one = link.outstanding.front();
    link.outstanding.pop_front();
    calls_.erase(one.call->id);
    Answer answer = decode(*one.call, std::string_view{link.stream}.substr(0, whole));
    event([&] {
      return fmt::format("call {} <- {} {}{}{}", one.call->id, answer.status, answer.code, answer.messages.empty() ? "" : fmt::format(" {} messages", answer.messages.size()),
                         one.offered ? " (late)" : "");
    });
    told_.push_back({one.call, std::move(answer), one.offered.value_or(moment()), link.client, !link.lose_next, link.answer_delay});
    link.lose_next = false;
    link.stream.erase(0, whole);
  }
  return bytes.size();
}

void World::ended(net::ConnectionId id) { ended_links_.push_back(id); }

void World::finish_unanswered(Link& link, Unanswered why) {
  const Oracle::Moment now = moment();
  for (const Outstanding& one : link.outstanding) {
    calls_.erase(one.call->id);
    if (one.call->finished) continue;
    const bool handed_in = one.call->handled_turn != 0;
    event([&] { return fmt::format("call {} gets no answer", one.call->id); });
    if (handed_in && one.call->action == Action::Receive && why == Unanswered::ConnectionGone) {
      if (one.offered) tally_.note(Property::GivenBack);
      else tally_.note(Property::LongPollDead);
      if (!one.offered && std::find(sent_to_.begin(), sent_to_.end(), one.call->queue) != sent_to_.end()) tally_.note(Property::LongPollGoneTurn);
    }
    oracle_.unanswered(*one.call, handed_in ? why : Unanswered::NotHandedIn, one.offered.value_or(now), now);
    if (link.client >= 0) give_up(link.client, one.call);
  }
  link.outstanding.clear();
}

void World::after_turn() {
  const bool died = dying_ || disk_->power_is_off();
  const bool in_order = disk_in_order();
  // A connection that the broker is closing without its answer: what that held is given back, if not yet told.
  for (auto& [id, link] : links_) {
    if (link.outstanding.empty() || process_->loop->is_open(id)) continue;
    for (Outstanding& one : link.outstanding) {
      if (one.call->handled_turn == 0) continue;
      if (!one.offered && !one.call->waited) one.offered = moment();
      one.call->stalled = true;
    }
  }
  // The order inside a turn in which the oracle must learn them: what makes a delivery right comes before it, what ends a
  // message behind it.
  const auto rank = [](const Told& told) {
    switch (told.call->action) {
      case Action::Send:
      case Action::SendBatch:
      case Action::Publish:
      case Action::PublishBatch: return 0;
      case Action::Change:
      case Action::ChangeBatch: return 1;
      case Action::Receive: return 2;
      default: return 3;
    }
  };
  // Of two receives the one that came first was served first; with no lease both may have got one message, and one that waited at
  // its dead-letter queue a third time. An answer that stood still tells of an earlier turn.
  const auto is_dead_letter_queue = [&](int queue) {
    return std::any_of(plan_.queues.begin(), plan_.queues.end(), [&](const QueueSpec& one) { return one.dead_letter == queue; });
  };
  const auto order = [&](const Told& told) {
    if (rank(told) != 2) return std::tuple{rank(told), std::uint64_t{0}, false, std::uint64_t{0}};
    return std::tuple{2, told.moment.turn, is_dead_letter_queue(told.call->queue), told.call->handled_order};
  };
  std::stable_sort(told_.begin(), told_.end(), [&](const Told& a, const Told& b) { return order(a) < order(b); });
  int sends = 0;
  for (Told& told : told_) {
    if (told.answer.status == 503) (disk_is_full_ ? refused_full_ : refused_error_) = true;
    oracle_.answered(told.call, told.answer, told.moment);
    if (rank(told) == 0 && told.answer.ok()) {
      ++sends;
      if (refused_full_ && !disk_is_full_) tally_.note(Property::DiskFullOver);
      if (refused_error_ && in_order) tally_.note(Property::DiskErrorOver);
      if (in_order) refused_error_ = false;
      if (!disk_is_full_) refused_full_ = false;
    }
    if (told.client < 0) {
      if (told.call == own_call_) own_answer_ = std::move(told.answer);
    } else if (!told.reaches_client) {
      tally_.note(Property::ReplyLost);
    } else {
      after(told.delay, [this, client = told.client, call = told.call, answer = std::move(told.answer)] {
        Actor& actor = actors_[static_cast<std::size_t>(client)];
        if (actor.current != call) return;
        actor.current.reset();
        actor.client->told(*call, answer);
        after(static_cast<Micros>(rng_.below(200 * kMilli)), [this, client] { next_call(client); });
      });
    }
  }
  if (sends > 1) tally_.note(Property::GroupCommit);
  told_.clear();
  for (const CallPtr& call : handed_in_)
    if (!call->finished && !call->stalled) call->waited = true;
  handed_in_.clear();
  for (const net::ConnectionId id : ended_links_) {
    const auto found = links_.find(id);
    if (found == links_.end()) continue;
    finish_unanswered(found->second, died ? Unanswered::Crash : Unanswered::ConnectionGone);
    for (Actor& actor : actors_)
      if (actor.link == id) actor.link.reset();
    if (own_link_ == id) own_link_.reset();
    links_.erase(found);
  }
  ended_links_.clear();
  sent_to_.clear();
  if (died) {
    if (disk_->power_is_off()) tally_.note(Property::CrashInTurn);
    die(fault_rng_.chance(1, 2) ? Death::Kill : Death::PowerCut);
  }
  oracle_.end_of_turn();
}

// ---- The process ----------------------------------------------------------------------------------------------------

void World::start() {
  FANFARE_ASSERT(!alive());
  ++life_;
  auto process = std::make_unique<Process>(*this, plan_.seed * 1000 + life_);
  if (faults_on_ && plan_.has(Feature::CrashInTurn) && fault_rng_.chance(1, 8))
    disk_->fail_at(disk_->steps() + fault_rng_.below(80), journal::Fault::PowerCut);
  journal::FileJournalOptions journal_options;
  journal_options.segment_bytes = plan_.segment_bytes;
  journal_options.tail_cache_bytes = plan_.tail_cache_bytes;
  journal_options.background = false;
  auto opened = journal::open_file_journal(*disk_, process->secrets, journal_options);
  if (!opened) {
    const bool damaged = opened.error().kind == journal::OpenError::Kind::Damaged || opened.error().kind == journal::OpenError::Kind::Version;
    return start_failed(Property::Recovers, opened.error().message, damaged);
  }
  const journal::RecoveryReport report = opened->report;
  server::BrokerOptions options;
  options.snapshot_bytes = plan_.snapshot_bytes;
  options.engine.resident_bytes_max = plan_.resident_bytes;
  options.relaxed = plan_.canary == Canary::EarlyReply;
  options.run_aside = [this, one = process.get()](std::function<void()> job) {
    one->aside.push_back(std::make_unique<Aside>(std::move(job)));
    after_if_alive(static_cast<Micros>(rng_.below(300 * kMilli)), [this] { run_aside(); });
  };
  options.between_slices = [this, one = process.get()] {
    if (rng_.chance(2, 3)) one->aside.front()->rest();
  };
  options.snapshot_slice = plan_.snapshot_slice;
  static server::Log log = server::Log::silent();
  auto recovered = server::Broker::recover(options, std::move(opened->journal), process->clock, log);
  if (!recovered) return start_failed(Property::Recovers, recovered.error(), false);
  if (disk_->power_is_off()) return start_failed(Property::Recovers, "the power went", false);
  failed_starts_ = 0;
  process->broker = std::move(*recovered);
  process->loop = std::make_unique<SimLoop>(*this, instant());
  server::DataPlaneOptions plane_options;
  plane_options.api.receipt_secret = "a secret of at least sixteen bytes";
  plane_options.secrets = &process->secrets;
  process->plane = std::make_unique<server::DataPlane>(plane_options, *process->broker, process->clock, *process->loop, process->authenticator, true);
  const auto listening = process->loop->listen(*net::SocketAddress::parse("127.0.0.1:4566"), {});
  process->plane->set_listener(listening->id);
  process->broker->on_nearer_deadline([plane = process->plane.get()] { plane->look_at_deadline(); });
  process_ = std::move(process);
  event([&] { return fmt::format("started: log {}..{}, snapshot {}{}", report.first.value, report.end.value, report.snapshot.value, report.tail_was_torn ? ", torn tail cut" : ""); });
  mix(report.end.value);
  if (report.tail_was_torn) tally_.note(Property::TornTail);
  if (report.snapshot > report.first) tally_.note(Property::FromSnapshot);
  if (report.first.value > 0) tally_.note(Property::Trimmed);
  tally_.note(Property::Recovers);
  oracle_.require(Property::DurableKept, report.end >= promised_end_,
                  [&] { return fmt::format("durable up to {} before, the log ends at {}", promised_end_.value, report.end.value); });
  if (written_end_) {
    if (*written_end_ > report.end) tally_.note(Property::TailLost);
    if (report.end > promised_end_) tally_.note(Property::TailKept);
  }
  promised_end_ = {};
  written_end_.reset();
  refused_full_ = refused_error_ = false;
}

void World::start_failed(Property property, const std::string& what, bool damaged) {
  event([&] { return "start failed: " + what; });
  const bool power = disk_->power_is_off();
  if (power) {
    tally_.note(Property::CrashInRecovery);
    if (fault_rng_.chance(1, 2)) disk_->restart();
    else disk_->restart_after_kill();
  } else {
    oracle_.require(property, !damaged && !disk_in_order(), [&] { return what; });
  }
  if (++failed_starts_ >= 2 && !power) {
    disk_->fail_never_more();
    trouble_until_ = now_;
    if (failed_starts_ > 4) oracle_.fail(property, "the disk is in order and the broker does not start: " + what);
  }
  if (failed_starts_ >= 3) {
    disk_->fail_never_more();
    disk_->set_capacity(~std::uint64_t{0});
    disk_is_full_ = false;
  }
  after(50 * kMilli, [this] {
    if (!alive()) start();
  });
}

void World::die(Death death) {
  const auto [durable, next] = process_->broker->locked([](engine::Engine&, journal::Journal& journal) { return std::pair{journal.durable_end(), journal.next_position()}; });
  event([&] { return fmt::format("{}: durable {}, appended {}", death == Death::Kill ? "killed" : "power cut", durable.value, next.value); });
  mix(durable.value);
  tally_.note(death == Death::Kill ? Property::Killed : Property::PowerCut);
  if (next > durable) tally_.note(Property::UnsyncedTail);
  if (!process_->aside.empty()) tally_.note(Property::CrashInSnapshot);
  if (!witnesses_.empty() && replays()) tally_.note(Property::ReplayAndCrash);
  promised_end_ = durable;
  written_end_ = next;
  for (auto& [id, link] : links_) {
    finish_unanswered(link, Unanswered::Crash);
    for (Actor& actor : actors_)
      if (actor.link == id) actor.link.reset();
  }
  links_.clear();
  ended_links_.clear();
  own_link_.reset();
  calls_.clear();
  oracle_.crashed(durable, now_, disk_in_order());
  disk_->cut_power();  // what the destructors still do must not reach it
  process_->aside.clear();
  process_->plane.reset();
  process_->broker.reset();
  process_.reset();
  ++life_;
  turn_at_.reset();
  dies_after_takes_.reset();
  dying_ = false;
  if (death == Death::Kill) disk_->restart_after_kill();
  else disk_->restart();
  after(static_cast<Micros>(rng_.below(2 * kSecond)), [this] {
    if (!alive()) start();
  });
}

void World::run_aside() {
  if (process_->aside.empty()) return;
  Aside& job = *process_->aside.front();
  const auto where = [this] {
    return process_->broker->locked([](engine::Engine& engine, journal::Journal& journal) {
      return fmt::format("log {}..{} durable {} oldest needed {}", journal.first_position().value, journal.next_position().value, journal.durable_end().value,
                         engine.oldest_needed_position().value_or(LogPosition{}).value);
    });
  };
  const auto snapshot_at = [this]() -> std::optional<LogPosition> {
    return process_->broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.snapshotting() ? std::optional{engine.log_end()} : std::nullopt; });
  };
  if (!job.begun()) event([&] { return "upkeep begins: " + where(); });
  else if (snapshot_at() > process_->rested_at) tally_.note(Property::ChangedInSnapshot);
  if (job.go_on()) {
    process_->rested_at = snapshot_at();
    after_if_alive(static_cast<Micros>(rng_.below(rng_.chance(1, 2) ? kMilli : 20 * kMilli)), [this] { run_aside(); });
  } else {
    event([&] { return "upkeep done: " + where(); });
    process_->aside.pop_front();
  }
  if (disk_->power_is_off()) {
    tally_.note(Property::CrashInSnapshot);
    die(fault_rng_.chance(1, 2) ? Death::Kill : Death::PowerCut);
    oracle_.end_of_turn();
  }
}

void World::restart_cleanly() {
  event([] { return std::string{"drained"}; });
  process_->plane->drain();
  const std::uint64_t life = life_;
  oracle_.draining(true);
  for (int i = 0; i < 100 && alive() && life == life_ && !process_->loop->stopped(); ++i) {
    if (i == 90) process_->loop->stop();  // a connection that stands still
    ++turn_;
    now_ += kMilli;
    process_->loop->turn(*process_->plane, instant());
    after_turn();
  }
  oracle_.draining(false);
  if (!alive() || life != life_) return;
  FANFARE_ASSERT(process_->loop->stopped());
  while (!process_->aside.empty()) {
    run_aside();
    if (!alive()) return;
  }
  const auto state = [this] {
    process_->broker->handle(engine::DeadlineCame{}, process_->clock.now());
    std::string text = process_->broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.debug_state(); });
    // Sequence numbers begin anew with each life of the process, higher. What time alone decides is decided when somebody
    // looks; and with it the place at the back of a standard queue, whose order is best effort.
    const auto forget = [&](std::string_view from, std::string_view behind) {
      for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
        std::size_t end = at + from.size();
        if (!behind.empty()) end = text.find(behind, end) + behind.size();
        text.erase(at, text.find_first_of(" \n", end) - at);
      }
    };
    forget(" next ", "");
    for (const std::string_view word : {" ready", " returned", " leased", " delayed"}) forget(word, " rank ");
    return text;
  };
  const std::string before = state();
  process_->broker->close();
  if (disk_->power_is_off() || !disk_in_order()) {  // then it may not have closed cleanly
    process_->plane.reset();
    process_->broker.reset();
    process_.reset();
    ++life_;
    links_.clear();
    oracle_.crashed({}, now_, false);
    if (disk_->power_is_off()) disk_->restart();
    else disk_->restart_after_kill();
  } else {
    process_->plane.reset();
    process_->broker.reset();
    process_.reset();
    ++life_;
    links_.clear();
    oracle_.restarted_cleanly();
    tally_.note(Property::CleanRestart);
    disk_->restart_after_kill();
    start();
    // Recovery may have begun a snapshot, and while one is made garbage keeps its references to contents.
    const auto snapshotting = [this] {
      return process_->broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.snapshotting(); });
    };
    while (alive() && !process_->aside.empty() && snapshotting()) run_aside();
    if (!alive()) return;
    const std::string now = state();
    // After a clock that was set back, what passed since the last record is forgotten. A move task that found nothing to move
    // looks again in a second, and at once after a start. A replay of an archive goes on.
    const bool moves = before.find(" status 0 ") != std::string::npos;
    const bool replays = before.find("  replay 0 runs") != std::string::npos || before.find("  replay 1 runs") != std::string::npos;
    oracle_.require(Property::ReplayEqualsLive, now == before || clock_was_set_back_ || moves || replays, [&] {
      return fmt::format("before:\n{}after:\n{}", lines_without(before, now), lines_without(now, before));
    });
  }
  turn_at_.reset();
  if (!alive())
    after(kMilli, [this] {
      if (!alive()) start();
    });
}

// ---- Clients and their network ----------------------------------------------------------------------------------------

void World::next_call(int number) {
  Actor& actor = actors_[static_cast<std::size_t>(number)];
  if (actor.current || issued_ >= plan_.operations) return;
  if (!alive()) {
    after(static_cast<Micros>(20 * kMilli + static_cast<Micros>(rng_.below(50 * kMilli))), [this, number] { next_call(number); });
    return;
  }
  ++issued_;
  if (actor.link && plan_.has(Feature::ConnectionDies) && rng_.chance(1, 10)) close_link(number, rng_.chance(1, 2));
  if (!actor.link) {
    actor.link = process_->loop->connect();
    links_[*actor.link].client = number;
  }
  actor.current = actor.client->next();
  issue(links_.at(*actor.link), *actor.link, actor.current, true);
}

void World::issue(Link& link, net::ConnectionId id, const CallPtr& call, bool faults) {
  call->id = ++call_number_;
  calls_[call->id] = call;
  link.outstanding.push_back({call, std::nullopt});
  std::string bytes = encode(*call, oracle_.target_of(*call));
  event([&] {
    std::string text = fmt::format("call {} client {}: {} {} {}", call->id, link.client, name_of(call->action), call->protocol == Protocol::Json ? "json" : "query", oracle_.target_of(*call));
    for (const Entry& entry : call->entries) text += fmt::format(" {}{}{}", entry.token, entry.handle.empty() ? "" : "handle", entry.kind.empty() ? "" : "(" + entry.kind + ")");
    for (const auto& [name, value] : call->attributes)
      text += fmt::format(" {}={}", name, name == "Policy" && call->queue_change.policy ? std::to_string(static_cast<int>(*call->queue_change.policy)) : value);
    if (!call->arn.empty()) text += " " + call->arn;
    if (call->action == Action::Receive) text += fmt::format(" max {} visibility {} wait {} {}", call->max, call->visibility.value_or(-1), call->wait.value_or(-1), call->attempt);
    return text;
  });
  faults = faults && faults_on_;
  Micros delay = static_cast<Micros>(rng_.below(2 * kMilli));
  if (faults && plan_.has(Feature::SlowNetwork) && rng_.chance(1, 4)) delay += static_cast<Micros>(rng_.below(kSecond));
  link.answer_delay = static_cast<Micros>(rng_.below(2 * kMilli));
  if (faults && plan_.has(Feature::SlowNetwork) && rng_.chance(1, 4)) link.answer_delay += static_cast<Micros>(rng_.below(2 * kSecond));
  link.lose_next = faults && plan_.has(Feature::ReplyLost) && rng_.chance(1, 12);
  const auto arrive = [this, id](Micros at, std::string piece, std::uint64_t tag) {
    after_if_alive(at, [this, id, piece = std::move(piece), tag]() mutable { process_->loop->arrive(id, std::move(piece), tag); });
  };
  if (faults && plan_.has(Feature::Fragments) && rng_.chance(1, 4)) {
    tally_.note(Property::Fragmented);
    while (bytes.size() > 1 && rng_.chance(3, 4)) {
      const std::size_t cut = 1 + rng_.below(bytes.size() - 1);
      arrive(delay, bytes.substr(0, cut), 0);
      bytes.erase(0, cut);
      delay += static_cast<Micros>(rng_.below(20 * kMilli));
    }
  }
  arrive(delay, std::move(bytes), call->id);
  if (faults && call->action == Action::Send && plan_.has(Feature::ConnectionDies) && rng_.chance(1, 8)) hang_up_a_poll_of(call->queue, delay);
  if (faults && plan_.has(Feature::HalfClose) && rng_.chance(1, 20)) {
    tally_.note(Property::HalfClosed);
    after_if_alive(delay + static_cast<Micros>(rng_.below(3 * kMilli)), [this, id] { process_->loop->hang_up(id); });
  }
  if (link.client < 0) return;
  // The client's patience.
  const Micros patience = delay + link.answer_delay + (call->wait.value_or(call->action == Action::Receive ? 20 : 0) + 5) * kSecond;
  after(patience, [this, client = link.client, call] {
    if (actors_[static_cast<std::size_t>(client)].current != call) return;
    close_link(client, rng_.chance(1, 2));
    give_up(client, call);
  });
}

void World::hang_up_a_poll_of(int queue, Micros delay) {
  for (const auto& [id, link] : links_) {
    if (link.outstanding.empty() || link.outstanding.front().call->queue != queue || !link.outstanding.front().call->waited) continue;
    after_if_alive(delay, [this, id = id] { process_->loop->hang_up(id); });
    return;
  }
}

void World::close_link(int number, bool reset) {
  Actor& actor = actors_[static_cast<std::size_t>(number)];
  if (!actor.link) return;
  if (alive()) {
    if (reset) process_->loop->reset(*actor.link);
    else process_->loop->hang_up(*actor.link);
    const auto found = links_.find(*actor.link);
    if (found != links_.end()) found->second.stalled = false;
  }
  actor.link.reset();
}

void World::give_up(int number, const CallPtr& call) {
  Actor& actor = actors_[static_cast<std::size_t>(number)];
  if (actor.current != call) return;
  actor.current.reset();
  actor.client->lost(*call);
  after(static_cast<Micros>(rng_.below(100 * kMilli)), [this, number] { next_call(number); });
}

Answer World::round_trip(const CallPtr& call) {
  own_answer_.reset();
  own_call_ = call;
  for (int tries = 0; tries < 50; ++tries) {
    while (!alive())
      if (!step()) oracle_.fail(Property::Recovers, "the broker does not come back");
    if (!own_link_) {
      own_link_ = process_->loop->connect();
      links_[*own_link_].client = -1;
    }
    issue(links_.at(*own_link_), *own_link_, call, false);
    for (int i = 0; i < 100'000 && !own_answer_ && alive() && own_link_; ++i)
      if (!step()) break;
    if (own_answer_) return *own_answer_;
  }
  oracle_.fail(Property::Answered, fmt::format("no answer to call {}", call->id));
}

// ---- Faults -----------------------------------------------------------------------------------------------------------

void World::gremlin() {
  if (!faults_on_) return;
  after(static_cast<Micros>(fault_rng_.below(1500 * kMilli)), [this] { gremlin(); });
  if (!alive()) return;
  using journal::Fault;
  const auto any_link = [&]() -> std::optional<net::ConnectionId> {
    if (links_.empty()) return std::nullopt;
    auto at = links_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(fault_rng_.below(links_.size())));
    return at->first;
  };
  switch (fault_rng_.below(12)) {
    case 0:
      if (plan_.has(Feature::Kill) && fault_rng_.chance(1, 2)) {
        die(Death::Kill);
        oracle_.end_of_turn();
      }
      return;
    case 1:
      if (plan_.has(Feature::PowerCut) && fault_rng_.chance(1, 2)) {
        die(Death::PowerCut);
        oracle_.end_of_turn();
      }
      return;
    case 2:
      if (plan_.has(Feature::CrashInTurn)) disk_->fail_at(disk_->steps() + fault_rng_.below(30), Fault::PowerCut);
      return;
    case 3:
      if (plan_.has(Feature::CrashInTurn)) dies_after_takes_ = static_cast<int>(fault_rng_.below(6));
      return;
    case 4:
      if (plan_.has(Feature::CleanRestart) && fault_rng_.chance(1, 2)) restart_cleanly();
      return;
    case 5:
      if (!plan_.has(Feature::DiskError)) return;
      for (std::uint64_t i = 0; i <= fault_rng_.below(3); ++i)
        disk_->fail_at(disk_->steps() + fault_rng_.below(20), fault_rng_.chance(1, 2) ? Fault::Io : fault_rng_.chance(1, 2) ? Fault::NoSpace : Fault::ShortWrite);
      tally_.note(Property::DiskError);
      event([] { return std::string{"disk errors"}; });
      return;
    case 6:
      if (!plan_.has(Feature::DiskFull) || disk_is_full_) return;
      disk_is_full_ = true;
      disk_->set_capacity(0);
      event([] { return std::string{"disk full"}; });
      after(static_cast<Micros>(fault_rng_.below(8 * kSecond)), [this] {
        if (!disk_is_full_) return;
        disk_is_full_ = false;
        disk_->set_capacity(~std::uint64_t{0});
        trouble_until_ = std::max(trouble_until_, now_ + kTriesAgainWithin);
        event([] { return std::string{"room on the disk"}; });
      });
      return;
    case 7:
      if (plan_.has(Feature::ConnectionDies)) {
        if (const auto id = any_link()) {
          event([&] { return fmt::format("connection {} dies", id->slot); });
          if (fault_rng_.chance(1, 2)) process_->loop->reset(*id);
          else process_->loop->hang_up(*id);
        }
      }
      return;
    case 8:
      if (plan_.has(Feature::ClockJump)) {
        constexpr std::array<int, 5> kJumps{1, 10, 61, 301, 3700};
        wall_offset_ms_ += kJumps[fault_rng_.below(kJumps.size())] * 1000;
        tally_.note(Property::ClockJumped);
        event([&] { return fmt::format("the clock jumps to offset {} ms", wall_offset_ms_); });
      }
      return;
    case 9:
      if (plan_.has(Feature::ClockBack)) {
        constexpr std::array<int, 3> kJumps{1, 60, 3600};
        clock_was_set_back_ = true;
        wall_offset_ms_ -= kJumps[fault_rng_.below(kJumps.size())] * 1000;
        tally_.note(Property::ClockBack);
        oracle_.clock_is_set_back();
        event([&] { return fmt::format("the clock is set back to offset {} ms", wall_offset_ms_); });
      }
      return;
    case 10:
      if (plan_.has(Feature::Stall)) {
        if (const auto id = any_link()) {
          links_.at(*id).stalled = true;
          event([&] { return fmt::format("connection {} stalls", id->slot); });
          after_if_alive(static_cast<Micros>(fault_rng_.below(4 * kSecond)), [this, id = *id] {
            const auto found = links_.find(id);
            if (found == links_.end()) return;
            if (fault_rng_.chance(1, 2)) process_->loop->reset(id);
            found->second.stalled = false;
            turn_at_ = now_;
          });
        }
      }
      return;
    default: return;
  }
}

void World::heal() {
  faults_on_ = false;
  disk_->fail_never_more();
  disk_->set_capacity(~std::uint64_t{0});
  disk_is_full_ = false;
  dies_after_takes_.reset();
  trouble_until_ = now_ + kTriesAgainWithin;
  for (auto& [id, link] : links_) link.stalled = false;
  turn_at_ = now_;
}

// ---- The run ----------------------------------------------------------------------------------------------------------

void World::setup() {
  for (const QueueSpec& queue : plan_.queues) oracle_.add_queue(queue);
  for (const auto& [name, fifo] : plan_.topics) oracle_.add_topic(name, fifo);
  for (const SubscriptionSpec& subscription : plan_.subscriptions) oracle_.add_subscription(subscription.topic, subscription.queue);
  const auto must = [&](const CallPtr& call) {
    fill_attributes(*call, plan_);
    const Answer answer = round_trip(call);
    oracle_.require(Property::ErrorsExpected, answer.ok(), [&] { return fmt::format("setup: {} {} {}", answer.status, answer.code, answer.text); });
    return answer;
  };
  // From the back: a redrive policy names a queue that is there.
  for (int queue = static_cast<int>(plan_.queues.size()); queue-- > 0;) {
    auto call = std::make_shared<Call>();
    call->action = Action::CreateQueue;
    call->queue = queue;
    call->queue_change = settings_of(plan_.queues[static_cast<std::size_t>(queue)]);
    must(call);
  }
  for (int topic = 0; topic < static_cast<int>(plan_.topics.size()); ++topic) {
    auto call = std::make_shared<Call>();
    call->action = Action::CreateTopic;
    call->topic = topic;
    must(call);
  }
  for (int i = 0; i < static_cast<int>(plan_.subscriptions.size()); ++i) {
    const SubscriptionSpec& subscription = plan_.subscriptions[static_cast<std::size_t>(i)];
    auto call = std::make_shared<Call>();
    call->action = Action::Subscribe;
    call->topic = subscription.topic;
    call->subscription = i;
    call->arn = queue_arn(plan_.queues[static_cast<std::size_t>(subscription.queue)].name);
    call->subscription_change = {subscription.raw, subscription.filter, subscription.dead_letter};
    board_.subscriptions.push_back(must(call).text);
  }
  set_up_archives();
}

void World::run() {
  start();
  if (!alive()) oracle_.fail(Property::Recovers, "the first start failed");
  setup();
  faults_on_ = true;
  for (int i = 0; i < plan_.clients; ++i) {
    Actor actor;
    actor.client = std::make_unique<Client>(i, plan_, plan_.seed * 31 + static_cast<std::uint64_t>(i), tally_, board_);
    actors_.push_back(std::move(actor));
    after(static_cast<Micros>(rng_.below(100 * kMilli)), [this, i] { next_call(i); });
  }
  after(static_cast<Micros>(fault_rng_.below(kSecond)), [this] { gremlin(); });
  after(static_cast<Micros>(archive_rng_.below(8 * kSecond)), [this] { begin_a_replay(); });
  const auto busy = [&] {
    return issued_ < plan_.operations || std::any_of(actors_.begin(), actors_.end(), [](const Actor& actor) { return actor.current != nullptr; });
  };
  for (int steps = 0; busy(); ++steps) {
    if (!step()) oracle_.fail(Property::Answered, "nothing happens any more, and clients wait");
    if (steps > 1'000'000) oracle_.fail(Property::Answered, "the run does not end");
  }
  heal();
  if (alive()) {
    for (int i = 0; i < plan_.clients; ++i) close_link(i, false);
    const Micros until = now_ + 30 * kSecond;
    while (now_ < until && alive() && !links_.empty())
      if (!step()) break;
  }
  if (alive() && fault_rng_.chance(1, 2)) {
    die(fault_rng_.chance(1, 2) ? Death::Kill : Death::PowerCut);
    oracle_.end_of_turn();
  }
  check_archives();
  drain();
  mix(static_cast<std::uint64_t>(turn_));
}

void World::drain() {
  bool empty = false;
  for (int round = 0; round < 300 && !empty; ++round) {
    empty = true;
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      auto counts = std::make_shared<Call>();
      counts->action = Action::Attributes;
      counts->queue = static_cast<int>(queue);
      const Answer told = round_trip(counts);
      if (!told.ok()) continue;  // there is none
      if (told.visible + told.in_flight + told.delayed > 0) empty = false;
      for (int i = 0; i < 1000; ++i) {
        auto receive = std::make_shared<Call>();
        receive->action = Action::Receive;
        receive->queue = static_cast<int>(queue);
        receive->max = 10;
        receive->visibility = 600;
        receive->wait = 0;
        const Answer got = round_trip(receive);
        if (got.messages.empty()) break;
        auto remove = std::make_shared<Call>();
        remove->action = Action::DeleteBatch;
        remove->queue = static_cast<int>(queue);
        for (const ReceivedMessage& message : got.messages) {
          Entry entry;
          entry.handle = message.handle;
          remove->entries.push_back(std::move(entry));
        }
        round_trip(remove);
      }
    }
    if (empty) break;
    // To the next moment at which something changes by itself.
    if (alive()) {
      const auto deadline = process_->broker->next_deadline();
      const Timestamp now = process_->clock.now();
      if (deadline && *deadline > now) wall_offset_ms_ += (*deadline - now).count();
      // A move task that waits for a lease to end looks every second: past the longest lease.
      if (round > 40) wall_offset_ms_ += 3'600'000;
      pass(1100 * kMilli);
    }
  }
  if (plan_.has(Feature::MoveTasks)) {
    for (std::size_t queue = 0; queue < plan_.queues.size(); ++queue) {
      auto list = std::make_shared<Call>();
      list->action = Action::ListMoves;
      list->queue = static_cast<int>(queue);
      const auto runs = [](const Answer& told) {
        return std::any_of(told.moves.begin(), told.moves.end(), [](const MoveTold& move) { return move.status == "RUNNING"; });
      };
      Answer told = round_trip(list);
      for (int tries = 0; tries < 5 && runs(told); ++tries) {  // it looks once a second
        pass(1100 * kMilli);
        auto again = std::make_shared<Call>();
        again->action = Action::ListMoves;
        again->queue = static_cast<int>(queue);
        told = round_trip(again);
      }
      oracle_.require(Property::MoveEnds, !runs(told), [&] {
        const std::string state = process_->broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.debug_state(); });
        return fmt::format("a move task of {} runs for ever: {}", plan_.queues[queue].name, state);
      });
    }
  }
  oracle_.require(Property::DrainsEmpty, empty, [] { return std::string{"messages stay that no receive gives"}; });
  oracle_.check_end(moment());
}

}  // namespace fanfare::sim
