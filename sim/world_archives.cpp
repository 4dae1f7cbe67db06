// Archives in a run: replays that begin at some time of it, into queues that nobody receives from, and what these hold in the end.
#include <fmt/format.h>

#include <algorithm>

#include "sim/protocol.h"
#include "sim/world.h"

namespace fanfare::sim {

void World::set_up_archives() {
  for (int topic = 0; topic < static_cast<int>(plan_.topics.size()); ++topic) {
    for (int i = 0; plan_.archives(topic) && i < plan_.replays; ++i) {
      const std::string name = fmt::format("replay-{}-{}.fifo", topic, i);
      auto call = std::make_shared<Call>();
      call->action = Action::CreateQueue;
      call->beside = name;
      call->attributes = {{"FifoQueue", "true"}, {"MessageRetentionPeriod", "1209600"},
                          {"Policy", fmt::format(R"({{"Statement":{{"Effect":"Allow","Principal":{{"Service":"sns.amazonaws.com"}},"Action":"sqs:SendMessage","Resource":"{}"}}}})", queue_arn(name))}};
      const Answer answer = round_trip(call);
      oracle_.require(Property::ErrorsExpected, answer.ok(), [&] { return fmt::format("setup: {} {} {}", answer.status, answer.code, answer.text); });
      witnesses_.push_back({topic, name});
    }
  }
}

CallPtr World::replay_to(const Witness& witness) const {
  auto call = std::make_shared<Call>();
  call->action = Action::Subscribe;
  call->beside = plan_.topics[static_cast<std::size_t>(witness.topic)].first;
  call->arn = queue_arn(witness.queue);
  call->attributes = {{"ReplayPolicy", R"({"PointType":"Timestamp","StartingPoint":"2020-01-01T00:00:00.000Z"})"}};
  return call;
}

/// At some time of the run, with all that may happen to the request.
void World::begin_a_replay() {
  const auto next = std::find_if(witnesses_.begin(), witnesses_.end(), [](const Witness& witness) { return !witness.asked; });
  if (next == witnesses_.end() || !faults_on_) return;
  after(static_cast<Micros>(archive_rng_.below(8 * kSecond)), [this] { begin_a_replay(); });
  if (!alive()) return;
  next->asked = true;
  const net::ConnectionId id = process_->loop->connect();
  Link& link = links_[id];
  link.client = -1;
  issue(link, id, replay_to(*next), true);
  after_if_alive(10 * kSecond, [this, id] { process_->loop->hang_up(id); });
}

bool World::replays() const {
  const std::string state = process_->broker->locked([](engine::Engine& engine, journal::Journal&) { return engine.debug_state(); });
  return state.find("  replay 0 runs") != std::string::npos || state.find("  replay 1 runs") != std::string::npos;
}

/// Everything that was published, by each replay.
void World::check_archives() {
  for (const Witness& witness : witnesses_) {
    Answer subscribed = round_trip(replay_to(witness));  // the same again changes nothing
    for (int tries = 0; tries < 5 && subscribed.status == 503; ++tries) {  // that there is room again is found once a second
      pass(kSecond);
      subscribed = round_trip(replay_to(witness));
    }
    oracle_.require(Property::ErrorsExpected, subscribed.ok(), [&] { return fmt::format("a replay: {} {} {}", subscribed.status, subscribed.code, subscribed.text); });
  }
  for (const Witness& witness : witnesses_) {
    std::vector<ReceivedMessage> got;
    const auto receive = [&] {
      while (true) {
        auto call = std::make_shared<Call>();
        call->action = Action::Receive;
        call->beside = witness.queue;
        call->max = 10;
        call->visibility = 600;
        call->wait = 0;
        const Answer answer = round_trip(call);
        if (answer.messages.empty()) return;
        auto remove = std::make_shared<Call>();
        remove->action = Action::DeleteBatch;
        remove->beside = witness.queue;
        for (const ReceivedMessage& message : answer.messages) {
          got.push_back(message);
          remove->entries.emplace_back().handle = message.handle;
        }
        round_trip(remove);
      }
    };
    constexpr int kRoundsMost = 40;
    bool whole = false;
    int still = 0;
    for (int round = 0; round <= kRoundsMost && still < 2; ++round) {
      receive();
      std::sort(got.begin(), got.end(), [](const ReceivedMessage& a, const ReceivedMessage& b) { return a.sequence < b.sequence; });
      whole = oracle_.check_replay(witness.topic, got, round == kRoundsMost);
      if (whole && alive() && !replays()) ++still;  // and nothing more comes
      pass(1100 * kMilli);
    }
    oracle_.require(Property::ReplayedWhole, still == 2, [] { return std::string{"a replay has no end"}; });
    if (!got.empty()) tally_.note(Property::ReplayCaughtUp);
  }
}

}  // namespace fanfare::sim
