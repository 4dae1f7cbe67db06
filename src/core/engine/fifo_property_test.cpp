// A FIFO queue and its dead-letter queue against a naive model that scans lists: order within and between groups, locked groups
// whatever the interleaving of send, receive, delete, changes of visibility and of the delay, lost replies, expiry, redrive,
// purge and restart; deduplication; sequence numbers that only rise.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"
#include "core/engine/test_support.h"

namespace fanfare::engine {
namespace {

constexpr std::uint32_t kMaxReceives = 2;

struct ModelMessage {
  std::string body;
  std::string group;
  Timestamp sent{};
  Timestamp leased_until{};  ///< not after now: not leased
  std::uint32_t count = 0;
  std::size_t delivery = 0;  ///< the last one; 0: none here
  bool came = false;         ///< its delay has ended, whatever the delay is later
  bool given_back = false;   ///< the last delivery was, and is not counted any more
  std::size_t arrival = 0;   ///< number of its arrival in its queue
  /// The message that has been waiting longest is given first: since it was sent, or its lease ended; those that came back at the
  /// same time by how often they were received.
  [[nodiscard]] auto place() const {
    const bool came_back = delivery != 0 && !given_back;
    return std::tuple{came_back ? leased_until : sent, came_back ? count : 0, arrival};
  }
};

struct ModelQueue {
  std::vector<ModelMessage> messages;
  seconds delay{0};
  seconds retention{345'600};
  ModelQueue* dead_letter_queue = nullptr;
  std::size_t arrivals = 0;

  void arrive(ModelMessage message) {
    message.arrival = ++arrivals;
    messages.push_back(std::move(message));
  }
  /// The first of the group but for what this receive has taken, if it may be given: nothing passes another.
  ModelMessage* head(const std::string& group, Timestamp now, const std::vector<std::string>& taken) {
    for (ModelMessage& m : messages) {
      if (m.group != group || std::find(taken.begin(), taken.end(), m.body) != taken.end()) continue;
      return m.leased_until > now || is_delayed(m, now) ? nullptr : &m;
    }
    return nullptr;
  }
  bool is_delayed(const ModelMessage& m, Timestamp now) const { return !m.came && m.sent + delay > now; }
  void expire(Timestamp now) {
    std::erase_if(messages, [&](const ModelMessage& m) { return m.sent + retention <= now; });
  }
  std::vector<std::string> receive(std::size_t max, seconds visibility, Timestamp now, std::size_t& deliveries) {
    expire(now);
    std::vector<std::string> taken;
    std::string in_hand;
    while (taken.size() < max) {
      ModelMessage* next = in_hand.empty() ? nullptr : head(in_hand, now, taken);
      if (next == nullptr) {
        for (const ModelMessage& m : messages) {
          ModelMessage* first = head(m.group, now, taken);
          if (first != nullptr && (next == nullptr || first->place() < next->place())) next = first;
        }
      }
      if (next == nullptr) break;
      if (dead_letter_queue != nullptr && next->count >= kMaxReceives) {
        ModelMessage moved = *next;
        messages.erase(messages.begin() + (next - messages.data()));
        moved.sent = now;
        moved.delivery = 0;
        moved.came = dead_letter_queue->delay.count() == 0;
        moved.leased_until = {};
        dead_letter_queue->arrive(moved);
        continue;
      }
      in_hand = next->group;
      next->leased_until = now + visibility;
      ++next->count;
      next->delivery = ++deliveries;
      next->given_back = false;
      taken.push_back(next->body);
    }
    return taken;
  }
  ModelMessage* held(std::size_t delivery, Timestamp now) {
    for (ModelMessage& m : messages)
      if (m.delivery == delivery && m.leased_until > now) return &m;
    return nullptr;
  }
  ModelMessage* named(const std::string& body) {
    for (ModelMessage& m : messages)
      if (m.body == body) return &m;
    return nullptr;
  }
};

class FifoPlayer {
 public:
  explicit FifoPlayer(std::uint64_t seed) : engine_(options()), rng_(seed) {
    queue::AttributeChanges fifo;
    fifo.fifo = true;
    engine_.create_queue("dlq.fifo", fifo);
    fifo.redrive_policy.emplace();
    fifo.redrive_policy->value = queue::RedrivePolicy{QueueKey{queue_key("dlq.fifo")}, kMaxReceives};
    fifo.visibility_timeout = *queue::VisibilityTimeout::of(30);
    engine_.create_queue("q.fifo", fifo);
    models_["q.fifo"].dead_letter_queue = &models_["dlq.fifo"];
  }

  static EngineOptions options() {
    EngineOptions options;
    options.enforce_purge_interval = false;
    options.resident_bytes_max = 300;
    return options;
  }

  void step() {
    engine_.pass(milliseconds{rng_.chance(1, 15) ? rng_.below(200'000) : rng_.below(4'000)});
    for (auto& [name, model] : models_) model.expire(engine_.now);
    const std::string name = rng_.chance(1, 4) ? "dlq.fifo" : "q.fifo";
    ModelQueue& model = models_[name];
    switch (rng_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: send(); break;
      case 5:
      case 6:
      case 7:
      case 8: receive(name); break;
      case 9:
      case 10: remove(); break;
      case 11: change_visibility(); break;
      case 12: lose(); break;
      case 13: {
        const auto delay = static_cast<std::int64_t>(rng_.chance(1, 2) ? 0 : rng_.below(20));
        queue::AttributeChanges changes;
        changes.delivery_delay = *queue::DeliveryDelay::of(delay);
        const std::int64_t retention = rng_.chance(1, 2) ? 345'600 : 60 + static_cast<std::int64_t>(rng_.below(500));
        changes.retention_period = *queue::RetentionPeriod::of(retention);
        engine_.call<Done>(ChangeQueue{queue_key(name), changes});
        // What a longer delay would hold back and is visible already stays visible.
        for (ModelMessage& m : model.messages) m.came = !model.is_delayed(m, engine_.now);
        model.delay = seconds{delay};
        model.retention = seconds{retention};
        break;
      }
      case 14:
        if (rng_.chance(1, 4)) {
          engine_.call<Done>(PurgeQueue{queue_key(name)});
          model.messages.clear();
          if (name == "q.fifo") accepted_.clear();
        }
        break;
      case 15:
        engine_ = engine_.replayed(++epoch_);
        engine_.deadline();
        break;
    }
    for (auto& [key, one] : models_) {
      one.expire(engine_.now);
      MessageCounts expected;
      for (const ModelMessage& m : one.messages) {
        if (m.leased_until > engine_.now) ++expected.in_flight;
        else ++(one.is_delayed(m, engine_.now) ? expected.delayed : expected.visible);
      }
      const MessageCounts counts = engine_.counts(key);
      RC_ASSERT(counts.visible == expected.visible);
      RC_ASSERT(counts.in_flight == expected.in_flight);
      RC_ASSERT(counts.delayed == expected.delayed);
    }
  }

 private:
  struct Handed {
    std::string queue;
    std::string body;
    std::size_t delivery;
    ReceiptHandle handle;
  };

  void send() {
    const std::string body = "m" + std::to_string(++bodies_);
    const std::string group(1, static_cast<char>('a' + rng_.below(4)));
    const std::string id = rng_.chance(1, 3) ? "id" + std::to_string(rng_.below(4)) : body;
    OutgoingMessage message = engine_.outgoing(body);
    message.id = MessageId{Uuid::from_random(ids_.bytes16())};
    message.content.group_id = group;
    message.content.deduplication_id = id;
    const auto sent = engine_.call<MessageSent>(SendMessage{queue_key("q.fifo"), message});
    const auto known = accepted_.find(id);
    RC_ASSERT(sent.sequence_number.has_value());
    if (known != accepted_.end() && known->second.first + std::chrono::minutes{5} > engine_.now) {
      RC_ASSERT(sent.id == known->second.second.id);
      RC_ASSERT(*sent.sequence_number == *known->second.second.sequence_number);
      return;
    }
    RC_ASSERT(sent.id == message.id);
    RC_ASSERT(*sent.sequence_number > last_);
    last_ = *sent.sequence_number;
    accepted_.insert_or_assign(id, std::pair{engine_.now, sent});
    models_["q.fifo"].arrive({body, group, engine_.now, {}, 0, 0, models_["q.fifo"].delay.count() == 0, false});
  }

  void receive(const std::string& name) {
    const auto max = 1 + rng_.below(10);
    const auto visibility = 1 + static_cast<std::int64_t>(rng_.below(40));
    std::size_t delivery = deliveries_;
    const auto expected = models_[name].receive(max, seconds{visibility}, engine_.now, deliveries_);
    const auto got = engine_.receive(name, static_cast<std::int64_t>(max), visibility);
    std::vector<std::string> bodies;
    for (const Got& one : got) {
      bodies.push_back(one.body);
      handed_.push_back({name, one.body, ++delivery, one.message.handle});
    }
    RC_ASSERT(bodies == expected);
    for (const Got& one : got) RC_ASSERT(one.message.receive_count == models_[name].named(one.body)->count);
  }

  void remove() {
    if (handed_.empty()) return;
    const Handed& handed = handed_[rng_.below(handed_.size())];
    ModelQueue& model = models_[handed.queue];
    const CallerId caller = engine_.ask(DeleteMessage{queue_key(handed.queue), handed.handle});
    if (model.held(handed.delivery, engine_.now) != nullptr) {
      engine_.expect<Done>(caller);
      std::erase_if(model.messages, [&](const ModelMessage& m) { return m.body == handed.body; });
    } else {
      RC_ASSERT(engine_.failed(caller) == (model.named(handed.body) != nullptr));
    }
  }

  void change_visibility() {
    if (handed_.empty()) return;
    const Handed& handed = handed_[rng_.below(handed_.size())];
    const auto timeout = static_cast<std::int64_t>(rng_.chance(1, 2) ? 0 : rng_.below(60));
    const CallerId caller =
        engine_.ask(ChangeVisibility{queue_key(handed.queue), handed.handle, *queue::VisibilityTimeout::of(timeout)});
    ModelMessage* held = models_[handed.queue].held(handed.delivery, engine_.now);
    // Late ones are taken and change nothing; only what is gone cannot be named.
    RC_ASSERT(engine_.failed(caller) == (models_[handed.queue].named(handed.body) == nullptr));
    if (held != nullptr) held->leased_until = engine_.now + seconds{timeout};
  }

  void lose() {
    if (handed_.empty()) return;
    const Handed& handed = handed_[rng_.below(handed_.size())];
    engine_.input(ReceiveUndelivered{{&handed.handle, 1}});
    for (ModelMessage& last : models_[handed.queue].messages) {
      if (last.delivery != handed.delivery || last.given_back) continue;
      last.leased_until = {};
      last.given_back = true;
      --last.count;
    }
  }

  EngineFixture engine_;
  Rng rng_;
  SeededSecrets ids_{11};
  std::uint32_t epoch_ = 1;
  std::map<std::string, ModelQueue> models_;
  std::map<std::string, std::pair<Timestamp, MessageSent>> accepted_;
  std::vector<Handed> handed_;
  std::size_t deliveries_ = 0;
  std::size_t bodies_ = 0;
  SequenceNumber last_{0};
};

RC_GTEST_PROP(FifoEngine, AnswersAsANaiveModel, (std::uint64_t seed)) {
  FifoPlayer player(seed);
  for (int i = 0; i < 150; ++i) player.step();
}

}  // namespace
}  // namespace fanfare::engine
