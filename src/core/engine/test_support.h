// Verbs over one engine for tests: each call is one input, and its answer comes back as a value.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "core/engine/engine.h"
#include "core/engine/records.h"
#include "core/message/content.h"

namespace fanfare::engine {

constexpr Timestamp kStart = timestamp_from_unix_ms(1'764'500'000'000);
constexpr std::string_view kAccount = "000000000000";
constexpr std::string_view kRegion = "us-east-1";

inline Timestamp at(milliseconds after) { return kStart + after; }
inline QueueKeyView queue_key(std::string_view name, std::string_view account = kAccount) { return {account, kRegion, name}; }
inline TopicKeyView topic_key(std::string_view name, std::string_view account = kAccount) { return {account, kRegion, name}; }
inline std::string queue_arn(std::string_view name, std::string_view account = kAccount) {
  return QueueKey{queue_key(name, account)}.arn().str();
}
inline std::string topic_arn(std::string_view name, std::string_view account = kAccount) {
  return TopicKey{topic_key(name, account)}.arn().str();
}

/// A received message with everything copied out of the engine.
struct Got {
  ReceivedMessage message;
  std::string body;
  std::string content;
};

/// Of a queue whose messages go to this one after so many receives.
inline queue::AttributeChanges redrives_to(std::string_view dead_letter_queue, std::uint32_t max_receives) {
  queue::AttributeChanges changes;
  changes.redrive_policy.emplace();
  changes.redrive_policy->value = queue::RedrivePolicy{QueueKey{queue_key(dead_letter_queue)}, max_receives};
  return changes;
}

class EngineFixture {
 public:
  explicit EngineFixture(EngineOptions options = {}) : EngineFixture(options, LogPosition{}) {}
  EngineFixture(EngineOptions options, LogPosition log_end) : options_(with_frame(options)), engine(options_, log_end) {}

  static EngineOptions with_frame(EngineOptions options) {
    options.frame = {16, 8};
    return options;
  }

  /// Hands the input in; replies and records are kept.
  void input(const Input& one) {
    outputs_.clear();
    engine.handle(one, now, outputs_);
    append_records();
    for (Reply& reply : outputs_.replies) {
      if (reply.wait_for) {
        EXPECT_LE(*reply.wait_for, engine.log_end());
      }
      if (const auto* received = std::get_if<MessagesReceived>(&reply.body)) {
        std::vector<Got> messages;
        for (const ReceivedMessage& message : received->messages) messages.push_back(copied(message));
        EXPECT_FALSE(reply.wait_for.has_value() && messages.empty());
        received_.insert_or_assign(reply.caller.value, std::move(messages));
      }
      const std::uint64_t caller = reply.caller.value;
      EXPECT_TRUE(replies_.emplace(caller, std::move(reply)).second) << "two replies for one caller";
    }
  }

  /// Moves every content that lies before `before`, in small slices; what is not in memory is read from the log.
  void relocate(LogPosition before) {
    const auto read = [this](LogPosition position) -> std::optional<std::string> {
      for (const auto& [at, record] : log)
        if (at == position) return record;
      return std::nullopt;
    };
    for (int i = 0; i < 10'000; ++i) {
      outputs_.clear();
      const bool more = engine.relocate(before, 1'000, read, outputs_);
      append_records();
      if (!more) return;
    }
    ADD_FAILURE() << "relocation does not end";
  }

  /// The record at this place of the log; empty if none begins there.
  [[nodiscard]] std::string record_at(LogPosition position) const {
    for (const auto& [at, record] : log)
      if (at == position) return record;
    return {};
  }
  /// Reads what replays of archives wait for.
  void feed() {
    const std::vector<LogPosition> wanted = engine.wanted_contents();
    std::vector<std::string> records;
    for (const LogPosition position : wanted) records.push_back(record_at(position));
    std::vector<ContentsRead::Content> contents;
    for (std::size_t i = 0; i < wanted.size(); ++i) contents.push_back({wanted[i], records[i]});
    if (!wanted.empty()) input(ContentsRead{contents});
  }

  template <class OneRequest>
  CallerId ask(const OneRequest& request, std::string_view account = kAccount) {
    Caller caller;
    caller.id = {++callers_};
    const std::string arn = "arn:aws:iam::" + std::string{account} + ":root";
    caller.principal = {policy::Principal::Kind::Account, account, arn, {}, {}};
    input(Command{caller, request});
    return caller.id;
  }

  [[nodiscard]] bool answered(CallerId caller) const { return replies_.contains(caller.value); }
  /// Whether the reply is an error.
  [[nodiscard]] bool failed(CallerId caller) const {
    const ReplyBody& body = replies_.at(caller.value).body;
    return std::holds_alternative<QueueError>(body) || std::holds_alternative<TopicError>(body) ||
           std::holds_alternative<AccessDenied>(body) || std::holds_alternative<Unavailable>(body);
  }
  [[nodiscard]] bool denied(CallerId caller) const {
    return std::holds_alternative<AccessDenied>(replies_.at(caller.value).body);
  }
  /// The reply's body; fails the test if there is none or it is of another type.
  template <class Body>
  Body expect(CallerId caller) {
    const auto found = replies_.find(caller.value);
    if (found == replies_.end()) {
      ADD_FAILURE() << "no reply";
      return Body{};
    }
    const auto* body = std::get_if<Body>(&found->second.body);
    if (body == nullptr) {
      ADD_FAILURE() << "reply of another type: index " << found->second.body.index();
      return Body{};
    }
    return *body;
  }
  std::optional<LogPosition> wait_of(CallerId caller) { return replies_.at(caller.value).wait_for; }
  template <class Body, class OneRequest>
  Body call(const OneRequest& request, std::string_view account = kAccount) {
    return expect<Body>(ask(request, account));
  }
  template <class OneRequest>
  QueueError::Code queue_error(const OneRequest& request, std::string_view account = kAccount) {
    return call<QueueError>(request, account).code;
  }
  template <class OneRequest>
  TopicError::Code topic_error(const OneRequest& request, std::string_view account = kAccount) {
    return call<TopicError>(request, account).code;
  }
  void pass(milliseconds time) {
    now += time;
    deadline();
  }
  /// As the shell does: as long as the deadline has come.
  void deadline() {
    for (int i = 0; i < 10'000; ++i) {
      const auto next = engine.next_deadline();
      if (!next || *next > now) return;
      input(DeadlineCame{});
    }
    ADD_FAILURE() << "the deadline does not move on " << unix_ms(now) << " " << unix_ms(*engine.next_deadline()) << "\n" << engine.debug_state();
  }

  // ---- Verbs
  void create_queue(std::string_view name, const queue::AttributeChanges& attributes = {}) {
    call<QueueFound>(CreateQueue{queue_key(name), attributes, {}});
  }
  OutgoingMessage outgoing(std::string_view body, std::optional<queue::DeliveryDelay> delay = {}) {
    OutgoingMessage message;
    message.id = MessageId{Uuid::from_random(secrets.bytes16())};
    message.content.body = body;
    message.content.sender = "AIDAEXAMPLE";
    message.delay = delay;
    return message;
  }
  MessageSent send(std::string_view queue, std::string_view body, std::optional<queue::DeliveryDelay> delay = {}) {
    return call<MessageSent>(SendMessage{queue_key(queue), outgoing(body, delay)});
  }
  CallerId ask_receive(std::string_view queue, std::int64_t max = 1, std::optional<std::int64_t> visibility = {},
                       std::optional<std::int64_t> wait = {}, std::string_view attempt_id = {}) {
    ReceiveMessages request;
    request.attempt_id = attempt_id;
    request.queue = queue_key(queue);
    request.max_messages = *queue::MaxMessages::of(max);
    if (visibility) request.visibility_timeout = *queue::VisibilityTimeout::of(*visibility);
    if (wait) request.wait = *queue::ReceiveWait::of(*wait);
    return ask(request);
  }
  std::vector<Got> received(CallerId caller) {
    expect<MessagesReceived>(caller);
    return received_[caller.value];
  }
  std::vector<Got> receive(std::string_view queue, std::int64_t max = 1, std::optional<std::int64_t> visibility = {}) {
    return received(ask_receive(queue, max, visibility));
  }
  /// The bodies of what a receive gives, joined by commas.
  std::string bodies(std::string_view queue, std::int64_t max = 10, std::optional<std::int64_t> visibility = {}) {
    return joined(receive(queue, max, visibility));
  }
  static std::string joined(const std::vector<Got>& messages) {
    std::string text;
    for (const Got& got : messages) text += (text.empty() ? "" : ",") + got.body;
    return text;
  }
  void remove(std::string_view queue, const Got& got) { call<Done>(DeleteMessage{queue_key(queue), got.message.handle}); }
  MessageCounts counts(std::string_view queue) { return call<QueueDescription>(DescribeQueue{queue_key(queue)}).counts; }

  void create_topic(std::string_view name, const topic::TopicChanges& attributes = {}) {
    call<TopicFound>(CreateTopic{topic_key(name), attributes, {}});
  }
  /// A queue whose policy admits the topic.
  void create_queue_for(std::string_view name, std::string_view topic) {
    queue::AttributeChanges attributes;
    attributes.policy = delivery_policy(topic);
    create_queue(name, attributes);
  }
  static std::string delivery_policy(std::string_view topic) {
    return R"({"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},)"
           R"("Action":"sqs:SendMessage","Resource":"*","Condition":{"ArnEquals":{"aws:SourceArn":")" +
           topic_arn(topic) + R"("}}}})";
  }
  Subscribed subscribe(std::string_view topic, std::string_view queue, const topic::SubscriptionChanges& attributes = {}) {
    const std::string endpoint = queue_arn(queue);
    return call<Subscribed>(subscription(topic, endpoint, attributes));
  }
  Subscribe subscription(std::string_view topic, std::string_view endpoint, const topic::SubscriptionChanges& attributes = {}) {
    Subscribe request;
    request.topic = topic_key(topic);
    request.endpoint = endpoint;
    request.attributes = attributes;
    request.fresh_uuid = {Uuid::from_random(secrets.bytes16())};
    request.fresh_token = "token";
    return request;
  }
  OutgoingPublication publication(std::string_view body, std::span<const message::MessageAttribute> attributes = {}) {
    OutgoingPublication out;
    out.content.body = body;
    out.content.attributes = attributes;
    out.content.publication.emplace();
    out.content.publication->id = PublicationId{Uuid::from_random(secrets.bytes16())};
    return out;
  }
  Published publish(std::string_view topic, std::string_view body, std::span<const message::MessageAttribute> attributes = {}) {
    return call<Published>(Publish{topic_key(topic), publication(body, attributes)});
  }

  /// For an engine that was put in: where its log ends.
  void expect_log_end(LogPosition end) { log_end_expected_ = end; }

  /// An engine that replayed this one's log.
  [[nodiscard]] EngineFixture replayed(std::uint32_t epoch) const {
    EngineOptions options = options_;
    options.epoch = epoch;
    EngineFixture other(options);
    for (const auto& [position, record] : log) {
      const auto done = other.engine.replay(record, position);
      EXPECT_TRUE(done.has_value()) << "record at " << position.value;
    }
    other.engine.start(engine.log_end(), now);
    other.log = log;
    other.log_end_expected_ = engine.log_end();
    other.now = now;
    other.callers_ = callers_;
    return other;
  }

 private:
  void append_records() {
    for (const RecordSpan& span : outputs_.records) {
      EXPECT_EQ(span.position, log_end_expected_);
      log.emplace_back(span.position, std::string{outputs_.record(span)});
      log_end_expected_ = options_.frame.after(span.position, span.bytes);
    }
    EXPECT_EQ(engine.log_end(), log_end_expected_);
  }

  Got copied(const ReceivedMessage& message) {
    Got got{message, {}, {}};
    if (message.content.empty()) {
      for (const auto& [position, record] : log) {
        if (position != message.position) continue;
        const auto content = content_of_record(record);
        EXPECT_TRUE(content.has_value());
        got.content = content.value_or("");
      }
    } else {
      got.content = message.content;
    }
    got.message.content = {};
    const auto view = message::ContentView::decode(got.content);
    EXPECT_TRUE(view.has_value()) << "content at " << message.position.value;
    if (view) got.body = view->body();
    return got;
  }

  EngineOptions options_;
  Outputs outputs_;
  LogPosition log_end_expected_{};
  std::uint64_t callers_ = 0;
  std::map<std::uint64_t, Reply> replies_;
  std::map<std::uint64_t, std::vector<Got>> received_;

 public:
  Engine engine;
  Timestamp now = kStart;
  int asked = 0;
  SeededSecrets secrets{7};
  std::vector<std::pair<LogPosition, std::string>> log;
};

}  // namespace fanfare::engine
