// The archive of a FIFO topic and its replays against a naive model that scans a list: what each subscription gets, in which
// order and with which mark, whatever the interleaving of publishing, replaying, stopping, new retentions, time, restarts,
// relocation, and contents that must be read from the log.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/rng.h"
#include "core/engine/test_support.h"

namespace fanfare::engine {
namespace {

// So long that three contents make a slice.
constexpr std::size_t kBodyBytes = 50'000;
constexpr std::size_t kPerSlice = 3;

struct ModelMessage {
  std::size_t number = 0;
  Timestamp at{};
  bool red = false;
};

struct ModelReplay {
  ReplayStatus status = ReplayStatus::Pending;
  bool running = true;
  std::optional<Timestamp> end;
  std::size_t next = 0;
  std::size_t live_from = 0;
};

struct ModelSubscription {
  bool only_red = false;
  std::optional<ModelReplay> replay;
  std::vector<std::string> owed;  ///< "5", "5*" for a replayed one

  void take(const ModelMessage& message, bool replayed) {
    if (!only_red || message.red) owed.push_back(std::to_string(message.number) + (replayed ? "*" : ""));
  }
};

struct Model {
  std::vector<ModelMessage> archive;
  std::size_t count = 0;
  std::optional<Timestamp> from;
  milliseconds retention{0};
  std::array<ModelSubscription, 3> subscriptions;

  bool any_running() const {
    return std::any_of(subscriptions.begin(), subscriptions.end(), [](const auto& s) { return s.replay && s.replay->running; });
  }
  void forget_dead(Timestamp now) {
    std::size_t held = ~std::size_t{0};
    for (const auto& s : subscriptions)
      if (s.replay && s.replay->running && !s.replay->end) held = std::min(held, std::max(s.replay->next, s.replay->live_from));
    std::erase_if(archive, [&](const ModelMessage& m) {
      return !(from && m.at >= *from && m.at >= now - retention) && m.number < held;
    });
  }
  void publish(bool red, Timestamp now) {
    const ModelMessage message{++count, now, red};
    if (from || any_running()) archive.push_back(message);
    for (auto& s : subscriptions) {
      const bool quiet = s.replay && (s.replay->running || s.replay->end);
      if (!quiet) s.take(message, false);
    }
  }
  void start(ModelSubscription& s, Timestamp start, std::optional<Timestamp> end, Timestamp now) {
    forget_dead(now);
    ModelReplay fresh;
    fresh.end = end;
    fresh.live_from = count + 1;
    if (s.replay && s.replay->running && !s.replay->end) fresh.live_from = std::max(s.replay->next, s.replay->live_from);
    fresh.next = fresh.live_from;
    for (const ModelMessage& m : archive)
      if (m.at >= start && m.at >= *from && m.at >= now - retention) fresh.next = std::min(fresh.next, m.number);
    s.replay = fresh;
  }
  void stop(ModelSubscription& s, ReplayStatus status) {
    if (!s.replay) return;
    if (s.replay->running && !s.replay->end) {
      if (s.replay->status != ReplayStatus::Stopped) s.replay->status = status;
      s.replay->next = std::max(s.replay->next, s.replay->live_from);
    } else if (status == ReplayStatus::Stopped) {
      s.replay.reset();
    } else if (s.replay->running) {
      s.replay->running = false;
      s.replay->status = status;
    }
  }
  void set_retention(milliseconds wanted, Timestamp now) {
    if (wanted == milliseconds{0}) {
      if (!from) return;
      from.reset();
      for (auto& s : subscriptions) stop(s, s.replay && s.replay->running ? ReplayStatus::Failed : ReplayStatus::Completed);
      return;
    }
    if (!from) forget_dead(now);
    from = from ? std::max(*from, now - std::min(retention, wanted)) : now;
    retention = wanted;
  }
  void slice(ModelSubscription& s, Timestamp now) {
    if (!s.replay || !s.replay->running) return;
    forget_dead(now);
    ModelReplay& replay = *s.replay;
    std::size_t taken = 0;
    bool done = !replay.end || *replay.end < now;
    for (const ModelMessage& m : archive) {
      if (m.number < replay.next) continue;
      if (replay.end && m.at > *replay.end) {
        done = true;
        break;
      }
      if (taken == kPerSlice) {
        done = false;
        break;
      }
      ++taken;
      s.take(m, m.number < replay.live_from);
      replay.next = m.number + 1;
      if (replay.status == ReplayStatus::Pending) replay.status = ReplayStatus::InProgress;
    }
    if (!done) return;
    replay.running = false;
    if (replay.status == ReplayStatus::Stopped) s.replay.reset();
    else if (replay.status != ReplayStatus::Failed) replay.status = ReplayStatus::Completed;
  }
};

class ArchivePlayer {
 public:
  explicit ArchivePlayer(std::uint64_t seed) : rng_(seed), engine_(options(seed)) {
    topic::TopicChanges changes;
    changes.fifo = true;
    engine_.create_topic("t.fifo", changes);
    for (std::size_t i = 0; i < model_.subscriptions.size(); ++i) {
      queue::AttributeChanges attributes;
      attributes.fifo = true;
      attributes.policy = EngineFixture::delivery_policy("t.fifo");
      engine_.create_queue(name(i), attributes);
      topic::SubscriptionChanges filter;
      model_.subscriptions[i].only_red = rng_.chance(1, 2);
      if (model_.subscriptions[i].only_red) filter.filter_policy = R"({"colour":["red"]})";
      keys_.push_back(engine_.subscribe("t.fifo", name(i), filter).uuid);
    }
  }

  void step() {
    switch (rng_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: return publish();
      case 5:
      case 6: return start();
      case 7: return stop();
      case 8: return set_retention();
      case 9:
      case 10: return slices();
      case 11:
      case 12: return drain();
      case 13: return pass();
      case 14: return restart();
      default: return engine_.relocate(engine_.engine.log_end());
    }
  }
  void finish() {
    settle();
    drain();
  }

 private:
  static EngineOptions options(std::uint64_t seed) {
    EngineOptions options;
    if (seed % 2 == 0) options.resident_bytes_max = 0;
    return options;
  }
  static std::string name(std::size_t i) { return "q" + std::to_string(i) + ".fifo"; }

  void publish() {
    const bool red = rng_.chance(1, 2);
    model_.publish(red, engine_.now);
    std::string body = std::to_string(model_.count) + " ";
    const std::string id = std::to_string(model_.count);
    body.resize(kBodyBytes, 'x');
    const message::MessageAttribute colour{"colour", "String", red ? "red" : "blue"};
    OutgoingPublication out = engine_.publication(body, {&colour, 1});
    out.content.group_id = "g";
    out.content.deduplication_id = id;
    engine_.call<Published>(Publish{topic_key("t.fifo"), out});
  }

  void change(std::size_t i, std::string policy, bool ok) {
    ChangeSubscription change{{topic_key("t.fifo"), keys_[i]}, {}};
    change.attributes.replay_policy = std::move(policy);
    if (ok) engine_.call<Done>(change);
    else RC_ASSERT(engine_.topic_error(change) == TopicError::Code::BadReplayPolicy);
  }

  void start() {
    const std::size_t i = rng_.below(model_.subscriptions.size());
    const Timestamp start = std::max(engine_.now - std::chrono::hours{rng_.below(80)}, kStart);
    std::optional<Timestamp> end;
    if (rng_.chance(1, 2)) end = start + std::chrono::hours{rng_.below(80)};
    std::string policy = R"({"PointType":"Timestamp","StartingPoint":")" + iso8601(start) + '"';
    if (end) policy += R"(,"EndingPoint":")" + iso8601(*end) + '"';
    change(i, policy + "}", model_.from.has_value());
    if (model_.from) model_.start(model_.subscriptions[i], start, end, engine_.now);
    check_status();
  }

  void stop() {
    const std::size_t i = rng_.below(model_.subscriptions.size());
    change(i, "", true);
    model_.stop(model_.subscriptions[i], ReplayStatus::Stopped);
    check_status();
  }

  void set_retention() {
    const auto days = static_cast<int>(rng_.below(4));
    ChangeTopic change{topic_key("t.fifo"), {}};
    change.attributes.archive_policy = days == 0 ? "{}" : R"({"MessageRetentionPeriod":")" + std::to_string(days) + R"("})";
    engine_.call<Done>(change);
    model_.set_retention(std::chrono::hours{24 * days}, engine_.now);
    check_status();
  }

  void slice() {
    engine_.input(DeadlineCame{});
    engine_.feed();
    for (auto& s : model_.subscriptions) model_.slice(s, engine_.now);
    model_.forget_dead(engine_.now);
    check_status();
  }
  void slices() {
    for (std::uint64_t left = 1 + rng_.below(3); left > 0; --left) slice();
  }
  void settle() {
    for (std::size_t i = 0; i < model_.archive.size() / kPerSlice + 2; ++i) slice();
  }

  void drain() {
    for (std::size_t i = 0; i < model_.subscriptions.size(); ++i) {
      std::vector<std::string> got;
      while (true) {
        const auto some = engine_.receive(name(i), 10);
        if (some.empty()) break;
        for (const Got& one : some) {
          got.push_back(one.body.substr(0, one.body.find(' ')) + (one.message.envelope->replayed ? "*" : ""));
          engine_.remove(name(i), one);
        }
      }
      RC_ASSERT(got == model_.subscriptions[i].owed);
      model_.subscriptions[i].owed.clear();
    }
  }

  void pass() {
    settle();
    drain();  // before the queue's own retention ends
    engine_.now += std::chrono::hours{rng_.below(30)} + milliseconds{rng_.below(2)};
    settle();
  }

  /// The state without what does not matter: what is dead counts as a content's reference until it leaves the archive.
  static std::string without_copies(const Engine& engine) {
    const std::string text = engine.debug_state();
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::string_view line = std::string_view{text}.substr(at, end - at);
      at = end + 1;
      if (line.starts_with("duplicates of")) continue;  // a window may hold what is too old to be told
      kept += line.substr(0, line.rfind(" copies "));
      kept += '\n';
    }
    return kept;
  }

  void restart() {
    if (rng_.chance(1, 2)) {
      EngineFixture again = engine_.replayed(++epoch_);
      engine_.engine = std::move(again.engine);
      return;
    }
    std::vector<std::string> sections;
    engine_.engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
    std::size_t next = 0;
    EngineOptions changed = EngineFixture::with_frame(options(1));
    changed.epoch = ++epoch_;
    auto loaded = Engine::load(changed, [&]() -> std::optional<std::string> {
      if (next == sections.size()) return std::nullopt;
      return sections[next++];
    });
    RC_ASSERT(loaded.has_value());
    RC_ASSERT(without_copies(*loaded) == without_copies(engine_.engine));
    loaded->start(engine_.engine.log_end(), engine_.now);
    engine_.engine = std::move(*loaded);
  }

  void check_status() {
    for (std::size_t i = 0; i < model_.subscriptions.size(); ++i) {
      const auto shown =
          engine_.call<SubscriptionDescription>(DescribeSubscription{{topic_key("t.fifo"), keys_[i]}}).replay;
      const auto& replay = model_.subscriptions[i].replay;
      const bool hidden = !replay || replay->status == ReplayStatus::Stopped;
      const auto number = [](const std::optional<ReplayStatus>& status) { return status ? static_cast<int>(*status) : -1; };
      RC_ASSERT(number(shown) == number(hidden ? std::nullopt : std::optional{replay->status}));
    }
  }

  Rng rng_;
  EngineFixture engine_;
  std::uint32_t epoch_ = 1;
  Model model_;
  std::vector<topic::SubscriptionUuid> keys_;
};

RC_GTEST_PROP(ArchiveEngine, ReplaysAsANaiveModel, (std::uint64_t seed)) {
  ArchivePlayer player(seed);
  for (int i = 0; i < 80; ++i) player.step();
  player.finish();
}

}  // namespace
}  // namespace fanfare::engine
