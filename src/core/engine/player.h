// Random commands on a few queues and topics, for tests of properties; and what compares states.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/arn.h"
#include "base/rng.h"
#include "core/engine/test_support.h"

namespace fanfare::engine {

inline constexpr std::string_view kQueues[] = {"a", "b", "dlq", "f.fifo", "g.fifo"};
inline constexpr std::string_view kTopics[] = {"t", "u", "v.fifo"};
inline constexpr std::string_view kGroups[] = {"red", "green", "blue"};

/// Plays random commands on one engine; the same seed gives the same commands.
class Player {
 public:
  Player(std::uint64_t seed, EngineOptions options) : engine(options), rng_(seed) {}

  void play(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  EngineFixture engine;
  bool deletes_queues = true;
  bool archives = false;  ///< also archives, replays, and subscriptions that wait for their token

 private:
  std::string_view any_queue() { return kQueues[rng_.below(std::size(kQueues))]; }
  std::string_view any_topic() { return kTopics[rng_.below(std::size(kTopics))]; }
  milliseconds any_time() { return milliseconds{rng_.chance(1, 20) ? rng_.below(90'000) : rng_.below(4'000)}; }

  std::string_view any_group() { return kGroups[rng_.below(std::size(kGroups))]; }
  // Groups also on standard queues, where they are tenants.
  OutgoingMessage any_message(std::string_view queue, std::string_view body, std::optional<queue::DeliveryDelay> delay = {}) {
    OutgoingMessage message = engine.outgoing(body, delay);
    const bool fifo = is_fifo_name(queue);
    if (fifo || rng_.chance(1, 2)) message.content.group_id = any_group();
    if (fifo) message.content.deduplication_id = any_id();
    return message;
  }
  // Some come again.
  std::string_view any_id() { return ids_[next_id_++ % std::size(ids_)] = std::to_string(rng_.chance(1, 3) ? rng_.below(5) : rng_.next()); }

  queue::AttributeChanges any_attributes(std::string_view queue) {
    queue::AttributeChanges changes;
    if (is_fifo_name(queue)) {
      changes.fifo = true;
      if (rng_.chance(1, 3))
        changes.deduplication_scope =
            rng_.chance(1, 2) ? queue::DeduplicationScope::Queue : queue::DeduplicationScope::MessageGroup;
    }
    if (rng_.chance(1, 2)) changes.visibility_timeout = *queue::VisibilityTimeout::of(static_cast<std::int64_t>(rng_.below(20)));
    if (rng_.chance(1, 3)) changes.delivery_delay = *queue::DeliveryDelay::of(static_cast<std::int64_t>(rng_.below(5)));
    if (rng_.chance(1, 3)) changes.retention_period = *queue::RetentionPeriod::of(60 + static_cast<std::int64_t>(rng_.below(100)));
    if (rng_.chance(1, 2)) changes.policy = rng_.chance(1, 4) ? std::string{} : EngineFixture::delivery_policy(any_topic());
    if (rng_.chance(1, 3)) {
      changes.redrive_policy.emplace();
      if (rng_.chance(3, 4))
        changes.redrive_policy->value =
            queue::RedrivePolicy{QueueKey{queue_key(any_queue())}, static_cast<std::uint32_t>(1 + rng_.below(3))};
    }
    return changes;
  }
  topic::SubscriptionChanges any_subscription() {
    topic::SubscriptionChanges changes;
    if (rng_.chance(1, 2)) changes.raw_delivery = rng_.chance(1, 2);
    if (rng_.chance(1, 4)) changes.filter_policy = rng_.chance(1, 2) ? R"({"k":["1"]})" : "";
    if (rng_.chance(1, 3)) {
      changes.redrive_policy.emplace();
      changes.redrive_policy->value = topic::RedrivePolicy{QueueArn{queue_arn("dlq")}};
    }
    return changes;
  }

  void keep(const std::vector<Got>& messages, std::string_view queue, seconds visibility) {
    for (const Got& got : messages) {
      const auto key = std::pair{std::string{queue}, got.message.handle.message};
      const bool again = std::any_of(handles_.begin(), handles_.end(), [&](const auto& one) { return one.second == got.message.handle; });
      if (again) {
        repeated_.push_back(got.message.handle);
        leases_[key] = engine.now + visibility;
        newest_[key] = got.message.handle;
        continue;
      }
      const auto held = leases_.find(key);
      if (held != leases_.end()) {
        EXPECT_LE(held->second, engine.now) << "given out while its lease runs";
      }
      leases_[key] = engine.now + visibility;
      newest_[key] = got.message.handle;
      handles_.emplace_back(std::string{queue}, got.message.handle);
    }
  }

  // Of the FIFO topic v.fifo, and of subscriptions over HTTP.
  void archive_step() {
    switch (rng_.below(12)) {
      case 0: {
        topic::TopicChanges fifo;
        fifo.fifo = true;
        engine.ask(CreateTopic{topic_key("v.fifo"), fifo, {}});
        queue::AttributeChanges attributes;
        attributes.fifo = true;
        attributes.policy = EngineFixture::delivery_policy("v.fifo");
        engine.ask(CreateQueue{queue_key("f.fifo"), attributes, {}});
        engine.ask(ChangeQueue{queue_key("f.fifo"), attributes});
        topic::SubscriptionChanges changes;
        if (rng_.chance(1, 2)) changes.replay_policy = any_replay();
        const std::string endpoint = queue_arn("f.fifo");
        const Subscribe request = engine.subscription("v.fifo", endpoint, changes);
        if (!engine.failed(engine.ask(request))) subscriptions_.push_back({TopicKey{request.topic}, request.fresh_uuid});
        break;
      }
      case 1: {
        ChangeTopic change{topic_key("v.fifo"), {}};
        const auto days = rng_.below(4);
        change.attributes.archive_policy = days == 0 ? "{}" : R"({"MessageRetentionPeriod":")" + std::to_string(days) + R"("})";
        engine.ask(change);
        break;
      }
      case 2:
      case 3:
      case 4: {
        if (subscriptions_.empty()) break;
        const auto& [topic, uuid] = subscriptions_[rng_.below(subscriptions_.size())];
        ChangeSubscription change{{topic.view(), uuid}, {}};
        change.attributes.replay_policy = rng_.chance(1, 4) ? std::string{} : any_replay();
        engine.ask(change);
        break;
      }
      case 5:
      case 6: {
        const std::string endpoint = "http://example.com/" + std::to_string(rng_.below(3));
        const std::string token = std::to_string(rng_.next());
        Subscribe request = engine.subscription(any_topic(), endpoint);
        request.protocol = topic::DeliveryProtocol::Http;
        request.fresh_token = token;
        request.fresh_message = MessageId{Uuid::from_random(engine.secrets.bytes16())};
        if (engine.failed(engine.ask(request))) break;
        const TopicKey topic{request.topic};
        subscriptions_.push_back({topic, request.fresh_uuid});
        outbound_.push_back({topic, request.fresh_uuid});
        tokens_.emplace_back(topic, token);
        break;
      }
      case 7:
      case 8: {
        if (tokens_.empty()) break;
        const auto& [topic, token] = tokens_[rng_.below(tokens_.size())];
        engine.ask(ConfirmSubscription{topic.view(), token, rng_.chance(1, 5)});
        break;
      }
      case 9: {
        if (outbound_.empty()) break;
        const auto& [topic, uuid] = outbound_[rng_.below(outbound_.size())];
        const std::string token = std::to_string(rng_.next());
        Caller nobody;
        nobody.id = {1'000'000'000 + ++nobodies_};
        nobody.identity.unrestricted = false;
        nobody.principal.kind = policy::Principal::Kind::Anonymous;
        engine.input(Command{nobody, Unsubscribe{{topic.view(), uuid}, token, MessageId{Uuid::from_random(engine.secrets.bytes16())}}});
        tokens_.emplace_back(topic, token);
        break;
      }
      case 10: {
        if (rng_.chance(1, 3)) engine.pass(std::chrono::hours{rng_.below(30)});
        break;
      }
      case 11: {
        engine.feed();
        break;
      }
    }
  }
  std::string any_replay() {
    const Timestamp start = std::max(engine.now - std::chrono::minutes{rng_.below(rng_.chance(1, 2) ? 2 : 3'000)}, kStart);
    std::string policy = R"({"PointType":"Timestamp","StartingPoint":")" + iso8601(start) + '"';
    if (rng_.chance(1, 2)) policy += R"(,"EndingPoint":")" + iso8601(start + std::chrono::minutes{rng_.below(100)}) + '"';
    return policy + "}";
  }

  void step() {
    engine.pass(any_time());
    if (archives && rng_.chance(1, 3)) return archive_step();
    const std::string body = std::string(rng_.below(200), 'x');
    switch (rng_.below(26)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        std::optional<queue::DeliveryDelay> delay;
        if (rng_.chance(1, 5)) delay = *queue::DeliveryDelay::of(static_cast<std::int64_t>(rng_.below(10)));
        const auto queue = any_queue();
        engine.ask(SendMessage{queue_key(queue), any_message(queue, body, delay)});
        break;
      }
      case 4: {
        const auto queue = any_queue();
        const std::vector<OutgoingMessage> messages{any_message(queue, body), any_message(queue, "y"), any_message(queue, "z")};
        engine.ask(SendMessageBatch{queue_key(queue), messages});
        break;
      }
      case 5:
      case 6:
      case 7:
      case 8: {
        const auto queue = any_queue();
        const auto visibility = static_cast<std::int64_t>(rng_.below(30));
        const auto max = static_cast<std::int64_t>(1 + rng_.below(10));
        const bool waits = rng_.chance(1, 4);
        const std::string attempt = is_fifo_name(queue) && rng_.chance(2, 3) ? std::to_string(rng_.below(6)) : std::string{};
        const CallerId caller = engine.ask_receive(queue, max, visibility, waits ? 3 : 0, attempt);
        if (!engine.answered(caller)) {
          waiting_.emplace_back(caller);
          break;
        }
        if (!engine.failed(caller)) keep(engine.received(caller), queue, seconds{visibility});
        break;
      }
      case 9:
      case 10:
      case 11: {
        if (handles_.empty()) break;
        const auto& [queue, handle] = handles_[rng_.below(handles_.size())];
        engine.ask(DeleteMessage{queue_key(queue), handle});
        break;
      }
      case 12: {
        if (handles_.empty()) break;
        std::vector<ReceiptHandle> some;
        const std::string queue = handles_.back().first;
        for (int i = 0; i < 4; ++i) some.push_back(handles_[rng_.below(handles_.size())].second);
        engine.ask(DeleteMessageBatch{queue_key(queue), some});
        break;
      }
      case 13: {
        if (handles_.empty()) break;
        const auto& [queue, handle] = handles_[rng_.below(handles_.size())];
        const auto timeout = static_cast<std::int64_t>(rng_.chance(1, 2) ? 0 : rng_.below(60));
        const CallerId caller = engine.ask(ChangeVisibility{queue_key(queue), handle, *queue::VisibilityTimeout::of(timeout)});
        // Late ones are taken and change nothing.
        const auto held = leases_.find({queue, handle.message});
        const bool in_flight = held != leases_.end() && held->second > engine.now && newest_[{queue, handle.message}] == handle;
        if (!engine.failed(caller) && in_flight) held->second = engine.now + seconds{timeout};
        break;
      }
      case 14: {
        if (handles_.empty()) break;
        const auto& [queue, handle] = handles_[rng_.below(handles_.size())];
        // Which answers may have arrived is not known to an engine that was loaded or replayed, and nobody tells it of those before.
        if (std::find(repeated_.begin(), repeated_.end(), handle) != repeated_.end()) break;
        engine.input(ReceiveUndelivered{{&handle, 1}});
        // Of a handle that a long poll brought, the queue's name here is a guess; the handle knows its own.
        for (const auto any : kQueues) leases_.erase({std::string{any}, handle.message});
        break;
      }
      case 15:
      case 16: {
        const message::MessageAttribute attributes[] = {{"k", "String", rng_.chance(1, 2) ? "1" : "2"}};
        const auto topic = any_topic();
        OutgoingPublication publication = engine.publication(body, attributes);
        if (is_fifo_name(topic)) {
          publication.content.group_id = any_group();
          publication.content.deduplication_id = any_id();
        }
        engine.ask(Publish{topic_key(topic), publication});
        break;
      }
      case 17: {
        const auto queue = any_queue();
        engine.ask(CreateQueue{queue_key(queue), any_attributes(queue), {}});
        break;
      }
      case 18: {
        const auto queue = any_queue();
        engine.ask(ChangeQueue{queue_key(queue), any_attributes(queue)});
        break;
      }
      case 19: {
        const auto topic = any_topic();
        topic::TopicChanges changes;
        if (is_fifo_name(topic)) changes.fifo = true;
        engine.ask(CreateTopic{topic_key(topic), changes, {}});
        break;
      }
      case 20: {
        const std::string endpoint = queue_arn(any_queue());
        const Subscribe request = engine.subscription(any_topic(), endpoint, any_subscription());
        const CallerId caller = engine.ask(request);
        if (!engine.failed(caller)) subscriptions_.push_back({TopicKey{request.topic}, request.fresh_uuid});
        break;
      }
      case 21: {
        if (subscriptions_.empty()) break;
        const auto& [topic, uuid] = subscriptions_[rng_.below(subscriptions_.size())];
        if (rng_.chance(1, 3)) {
          engine.ask(Unsubscribe{{topic.view(), uuid}});
        } else {
          engine.ask(ChangeSubscription{{topic.view(), uuid}, any_subscription()});
        }
        break;
      }
      case 22: {
        const Tag tag{"k", body};
        if (rng_.chance(1, 2)) engine.ask(TagQueue{queue_key(any_queue()), {&tag, 1}});
        else engine.ask(TagTopic{topic_key(any_topic()), {&tag, 1}});
        if (!waiting_.empty() && rng_.chance(1, 2)) engine.input(WaiterGone{waiting_[rng_.below(waiting_.size())]});
        break;
      }
      case 23: {
        const auto choice = rng_.below(6);
        if (choice == 0 && deletes_queues) {
          const auto queue = any_queue();
          engine.ask(DeleteQueue{queue_key(queue)});
          std::erase_if(leases_, [&](const auto& lease) { return lease.first.first == queue; });  // its sequences begin again
        }
        if (choice == 1) engine.ask(DeleteTopic{topic_key(any_topic())});
        if (choice == 2) engine.ask(PurgeQueue{queue_key(any_queue())});
        break;
      }
      case 24: {
        // Of standard queues: when a blocked group is tried again depends on when the process began.
        StartMoveTask request;
        request.source = queue_key("dlq");
        if (rng_.chance(1, 2)) request.destination = queue_key(any_queue());
        if (rng_.chance(1, 2)) request.per_second_max = static_cast<std::uint32_t>(1 + rng_.below(3));
        request.fresh_id = move_ = Uuid{}.derived(rng_.next());
        if (rng_.chance(3, 4)) {
          engine.ask(request);
        } else {
          engine.ask(CancelMoveTask{queue_key("dlq"), move_});
        }
        engine.ask(ListMoveTasks{queue_key("dlq"), 10});
        break;
      }
      case 25: {
        UseDirectory request;
        request.command.action = rng_.chance(3, 4) ? topic::DirectoryCommand::Action::SetSms : topic::DirectoryCommand::Action::Capture;
        const std::pair<std::string_view, std::string_view> attribute{rng_.chance(1, 2) ? "DefaultSMSType" : "DefaultSenderID", body};
        request.command.operation = "sns:SetSMSAttributes";
        request.command.account = kAccount;
        request.command.region = kRegion;
        request.command.target = "+14155550100";
        request.command.attributes = {&attribute, 1};
        engine.ask(request);
        break;
      }
    }
    // Long polls that ended: their leases have the length that they asked for, which is at most 30 s.
    for (const CallerId caller : waiting_)
      if (engine.answered(caller) && !engine.failed(caller))
        for (const Got& got : engine.received(caller)) waited_.push_back(got.message.handle);
    std::erase_if(waiting_, [&](CallerId caller) { return engine.answered(caller); });
    for (const ReceiptHandle& handle : waited_) {
      for (const auto queue : kQueues) leases_.erase({std::string{queue}, handle.message});
      handles_.emplace_back(std::string{any_queue()}, handle);
    }
    waited_.clear();
  }

  Rng rng_;
  std::string ids_[4];  // deduplication ids of the request in the making
  std::size_t next_id_ = 0;
  Uuid move_;
  std::vector<std::pair<std::string, ReceiptHandle>> handles_;
  std::map<std::pair<std::string, SequenceNumber>, Timestamp> leases_;
  std::vector<ReceiptHandle> repeated_;  // by an attempt id
  std::map<std::pair<std::string, SequenceNumber>, ReceiptHandle> newest_;
  std::vector<CallerId> waiting_;
  std::vector<ReceiptHandle> waited_;
  std::vector<std::pair<TopicKey, topic::SubscriptionUuid>> subscriptions_;
  std::vector<std::pair<TopicKey, topic::SubscriptionUuid>> outbound_;
  std::vector<std::pair<TopicKey, std::string>> tokens_;  // by topic
  std::uint64_t nobodies_ = 0;
};

/// The first line that differs, as it is in both; empty if none does.
inline std::string difference(const std::string& a, const std::string& b) {
  std::istringstream one(a);
  std::istringstream two(b);
  std::string left;
  std::string right;
  for (;;) {
    const bool more_left = static_cast<bool>(std::getline(one, left));
    const bool more_right = static_cast<bool>(std::getline(two, right));
    if (!more_left && !more_right) return {};
    if (!more_left) left = "(end)";
    if (!more_right) right = "(end)";
    if (left != right) return left + "\n" + right;
  }
}

inline EngineOptions small_memory(std::uint64_t seed) {
  EngineOptions options;
  options.enforce_deleted_recently = false;
  options.enforce_purge_interval = false;
  options.resident_bytes_max = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 600 : EngineOptions::kUnlimited;
  return options;
}

inline Engine loaded(Engine& engine, const EngineOptions& options) {
  std::vector<std::string> sections;
  engine.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  std::size_t next = 0;
  auto copy = Engine::load(options, [&]() -> std::optional<std::string> {
    if (next == sections.size()) return std::nullopt;
    return sections[next++];
  });
  EXPECT_TRUE(copy.has_value());
  return std::move(*copy);
}

}  // namespace fanfare::engine
