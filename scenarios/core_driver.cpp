// Plays scenarios on the engine: each verb is one command, each answer is put into the words of the files.
#include "core_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "core/engine/records.h"
#include "core/message/content.h"
#include "core/topic/names.h"
#include "words.h"

namespace fanfare::scenarios {
namespace {

using namespace engine;

template <class Setting>
Setting setting(const Result<Setting, queue::SettingError>& result, const std::string& text) {
  if (!result) wrong("'" + text + "' is out of range");
  return *result;
}

std::string name_of(QueueError::Code code) {
  using C = QueueError::Code;
  switch (code) {
    case C::QueueDoesNotExist: return "QueueDoesNotExist";
    case C::QueueExistsWithOtherAttributes: return "QueueExistsWithOtherAttributes";
    case C::QueueDeletedRecently: return "QueueDeletedRecently";
    case C::NameAndTypeDisagree: return "NameAndTypeDisagree";
    case C::InvalidQueueName: return "InvalidQueueName";
    case C::CannotChangeQueueType: return "CannotChangeQueueType";
    case C::FifoAttributeOnStandardQueue: return "FifoAttributeOnStandardQueue";
    case C::InvalidThroughputLimit: return "InvalidThroughputLimit";
    case C::BadPolicy: return "BadPolicy";
    case C::DeadLetterQueueMissing: return "DeadLetterQueueMissing";
    case C::DeadLetterQueueOfOtherType: return "DeadLetterQueueOfOtherType";
    case C::DeadLetterQueueElsewhere: return "DeadLetterQueueElsewhere";
    case C::DeadLetterQueueIsSource: return "DeadLetterQueueIsSource";
    case C::DeadLetterQueueRefuses: return "DeadLetterQueueRefuses";
    case C::TooManyTags: return "TooManyTags";
    case C::PurgeInProgress: return "PurgeInProgress";
    case C::MessageTooLong: return "MessageTooLong";
    case C::MessageGroupIdMissing: return "MessageGroupIdMissing";
    case C::DeduplicationIdMissing: return "DeduplicationIdMissing";
    case C::DeduplicationIdOnStandardQueue: return "DeduplicationIdOnStandardQueue";
    case C::DelayOnFifoQueue: return "DelayOnFifoQueue";
    case C::AttemptIdOnStandardQueue: return "AttemptIdOnStandardQueue";
    case C::TooManyInFlight: return "TooManyInFlight";
    case C::ReceiptHandleOfOtherQueue: return "ReceiptHandleOfOtherQueue";
    case C::ReceiptHandleExpired: return "ReceiptHandleExpired";
    case C::MessageNotAvailable: return "MessageNotAvailable";
    case C::TotalVisibilityExceeded: return "TotalVisibilityExceeded";
    case C::PermissionLabelExists: return "PermissionLabelExists";
    case C::PermissionLabelUnknown: return "PermissionLabelUnknown";
    case C::PermissionAccountInvalid: return "PermissionAccountInvalid";
    case C::PermissionActionUnknown: return "PermissionActionUnknown";
    case C::PermissionActionOwnerOnly: return "PermissionActionOwnerOnly";
    case C::PermissionActionsTooMany: return "PermissionActionsTooMany";
    case C::PermissionStatementsTooMany: return "PermissionStatementsTooMany";
    case C::MoveSourceMissing: return "MoveSourceMissing";
    case C::MoveSourceIsNoDeadLetterQueue: return "MoveSourceIsNoDeadLetterQueue";
    case C::MoveDestinationMissing: return "MoveDestinationMissing";
    case C::MoveDestinationOfOtherType: return "MoveDestinationOfOtherType";
    case C::MoveDestinationIsSource: return "MoveDestinationIsSource";
    case C::MoveTaskRunning: return "MoveTaskRunning";
    case C::TooManyMoveTasks: return "TooManyMoveTasks";
    case C::MoveTaskMissing: return "MoveTaskMissing";
    case C::MoveTaskNotRunning: return "MoveTaskNotRunning";
  }
  return "?";
}

std::string name_of(TopicError::Code code) {
  using C = TopicError::Code;
  switch (code) {
    case C::TopicDoesNotExist: return "TopicDoesNotExist";
    case C::TopicExistsWithOtherAttributes: return "TopicExistsWithOtherAttributes";
    case C::TopicExistsWithOtherTags: return "TopicExistsWithOtherTags";
    case C::InvalidTopicName: return "InvalidTopicName";
    case C::CannotChangeTopicType: return "CannotChangeTopicType";
    case C::FifoAttributeOnStandardTopic: return "FifoAttributeOnStandardTopic";
    case C::BadPolicy: return "BadPolicy";
    case C::TooManyTags: return "TooManyTags";
    case C::InvalidEndpoint: return "InvalidEndpoint";
    case C::ProtocolNotSupported: return "ProtocolNotSupported";
    case C::FifoQueueOnStandardTopic: return "FifoQueueOnStandardTopic";
    case C::ArchivePolicyInTheWay: return "ArchivePolicyInTheWay";
    case C::BadReplayPolicy: return "BadReplayPolicy";
    case C::TooManyReplays: return "TooManyReplays";
    case C::ProtocolOnFifoTopic: return "ProtocolOnFifoTopic";
    case C::SubscriptionExistsWithOtherAttributes: return "SubscriptionExistsWithOtherAttributes";
    case C::SubscriptionDoesNotExist: return "SubscriptionDoesNotExist";
    case C::BadFilterPolicy: return "BadFilterPolicy";
    case C::BadRedrivePolicy: return "BadRedrivePolicy";
    case C::InvalidToken: return "InvalidToken";
    case C::MessageGroupIdMissing: return "MessageGroupIdMissing";
    case C::DeduplicationIdMissing: return "DeduplicationIdMissing";
    case C::DeduplicationIdOnStandardTopic: return "DeduplicationIdOnStandardTopic";
    case C::StatementExists: return "StatementExists";
    case C::ActionOutOfScope: return "ActionOutOfScope";
  }
  return "?";
}

/// completed, failed:SourceUnknown
std::string state_of(const MoveTask& task) {
  switch (task.failure) {
    case MoveTask::Failure::DestinationMissing: return "failed:DestinationMissing";
    case MoveTask::Failure::SourceUnknown: return "failed:SourceUnknown";
    case MoveTask::Failure::TimedOut: return "failed:TimedOut";
    case MoveTask::Failure::None: break;
  }
  switch (task.status) {
    case MoveTask::Status::Running: return "running";
    case MoveTask::Status::Completed: return "completed";
    case MoveTask::Status::Cancelled: return "cancelled";
    case MoveTask::Status::Failed: break;
  }
  return "failed";
}

/// visibility=30s delay=5s retention=60s wait=20s max_size=1024 redrive=dlq:3 fifo=true policy={..} allow=topic
queue::AttributeChanges attributes_of(const Step& step) {
  queue::AttributeChanges changes;
  for (const auto& [name, text] : step.options) {
    if (name == "visibility") changes.visibility_timeout = setting(queue::VisibilityTimeout::of(seconds_of(text)), text);
    else if (name == "delay") changes.delivery_delay = setting(queue::DeliveryDelay::of(seconds_of(text)), text);
    else if (name == "retention") changes.retention_period = setting(queue::RetentionPeriod::of(seconds_of(text)), text);
    else if (name == "wait") changes.receive_wait = setting(queue::ReceiveWait::of(seconds_of(text)), text);
    else if (name == "max_size") changes.maximum_message_size = setting(queue::MaximumMessageSize::of(number_of(text)), text);
    else if (name == "fifo") changes.fifo = text == "true";
    else if (name == "content_dedup") changes.content_based_deduplication = text == "true";
    else if (name == "dedup_scope")
      changes.deduplication_scope =
          text == "messageGroup" ? queue::DeduplicationScope::MessageGroup : queue::DeduplicationScope::Queue;
    else if (name == "throughput_limit")
      changes.fifo_throughput_limit =
          text == "perMessageGroupId" ? queue::FifoThroughputLimit::PerMessageGroupId : queue::FifoThroughputLimit::PerQueue;
    else if (name == "policy") changes.policy = text;
    else if (name == "allow") changes.policy = delivery_policy(step.words.at(0), text);
    else if (name == "redrive") {
      changes.redrive_policy.emplace();
      const std::size_t colon = text.find(':');
      if (colon != std::string::npos) {
        changes.redrive_policy->value = queue::RedrivePolicy{QueueKey{queue_key(std::string_view{text}.substr(0, colon))},
                                                             static_cast<std::uint32_t>(number_of(text.substr(colon + 1)))};
      }
    } else if (name == "redrive_allow") {
      changes.redrive_allow_policy.emplace();
      queue::RedriveAllowPolicy policy;
      policy.permission = queue::RedriveAllowPolicy::Permission::DenyAll;
      if (text != "none") {
        policy.permission = queue::RedriveAllowPolicy::Permission::ByQueue;
        policy.sources.emplace_back(queue_key(text));
      }
      changes.redrive_allow_policy->value = policy;
    } else if (!name.starts_with("tag.")) {
      wrong("queues have no setting '" + name + "'");
    }
  }
  return changes;
}

/// tag.team=search
std::vector<Tag> tags_of(const Step& step) {
  std::vector<Tag> tags;
  for (const auto& [name, text] : step.options)
    if (name.starts_with("tag.")) tags.push_back({std::string_view{name}.substr(4), text});
  return tags;
}

/// Views into `values`.
std::vector<message::MessageAttribute> views_of(const std::vector<TypedValue>& values) {
  std::vector<message::MessageAttribute> attributes;
  for (const TypedValue& one : values) attributes.push_back({one.name, one.type, one.value});
  return attributes;
}

/// raw=true filter={..} scope=body dlq=queue
std::string_view status_text(const SubscriptionDescription& description) {
  if (!description.replay) return "none";
  constexpr std::string_view kTexts[] = {"pending", "in_progress", "completed", "failed", "stopped"};
  return kTexts[static_cast<std::size_t>(*description.replay)];
}

topic::SubscriptionChanges subscription_changes_of(const Step& step) {
  topic::SubscriptionChanges changes;
  for (const auto& [name, text] : step.options) {
    if (name == "raw") changes.raw_delivery = text == "true";
    else if (name == "filter") changes.filter_policy = text == "none" ? "" : text;
    else if (name == "scope")
      changes.filter_scope = text == "body" ? topic::FilterScope::MessageBody : topic::FilterScope::MessageAttributes;
    else if (name == "replay") changes.replay_policy = replay_policy_of(text);
    else if (name == "dlq") {
      changes.redrive_policy.emplace();
      if (text != "none")
        changes.redrive_policy->value = topic::RedrivePolicy{QueueKey{queue_key(text)}.arn()};
    } else if (name != "protocol" && name != "endpoint") {
      wrong("subscriptions have no setting '" + name + "'");
    }
  }
  return changes;
}

/// Whose queues and topics are listed.
std::string_view account_of(const Step& step) {
  const std::string_view caller = step.caller;
  return caller.size() >= kHome.size() && caller.find_first_not_of("0123456789") >= kHome.size() ? caller.substr(0, kHome.size()) : kHome;
}

/// Stands for the digest that the API makes of a body.
std::string content_id(const std::string& body) { return "content:" + body; }

/// A message on its way in, with the texts that it points to.
class OutgoingTexts {
 public:
  OutgoingTexts(const Step& step, std::size_t word)
      : body_(body_of(step, word)),
        values_(message_attributes_of(step)),
        attributes_(views_of(values_)),
        group_(step.option("group").value_or("")),
        deduplication_(step.option("dedup").value_or("")),
        from_content_(content_id(body_)) {
    if (deduplication_ == "body") deduplication_ = body_;
  }
  OutgoingTexts(const OutgoingTexts&) = delete;
  OutgoingTexts& operator=(const OutgoingTexts&) = delete;

  [[nodiscard]] OutgoingMessage message(const Step& step, Secrets& secrets) const {
    OutgoingMessage out;
    out.id = MessageId{Uuid::from_random(secrets.bytes16())};
    fill(out.content);
    out.content_deduplication_id = from_content_;
    if (const auto delay = step.option("delay"))
      out.delay = setting(queue::DeliveryDelay::of(seconds_of(*delay)), *delay);
    return out;
  }
  [[nodiscard]] OutgoingPublication publication(Secrets& secrets) const {
    OutgoingPublication out;
    out.content.publication.emplace();
    out.content.publication->id = PublicationId{Uuid::from_random(secrets.bytes16())};
    fill(out.content);
    out.content_deduplication_id = from_content_;
    return out;
  }

 private:
  void fill(message::Content& content) const {
    content.body = body_;
    content.attributes = attributes_;
    content.group_id = group_;
    content.deduplication_id = deduplication_;
  }
  const std::string body_;
  const std::vector<TypedValue> values_;
  const std::vector<message::MessageAttribute> attributes_;
  const std::string group_;
  std::string deduplication_;
  const std::string from_content_;
};

std::string attributes_text(const message::ContentView& content) {
  std::string text;
  for (message::AttributeReader reader = content.attributes(); const auto attribute = reader.next();)
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : ",", attribute->name, attribute->type, attribute->value);
  return text;
}

}  // namespace

CoreDriver::CoreDriver(const Settings& settings) : engine_(settings) {}

const std::map<std::string, CoreDriver::Verb, std::less<>>& CoreDriver::verbs() {
  static const std::map<std::string, Verb, std::less<>> table = {
      {"queue", &CoreDriver::queue},
      {"set", &CoreDriver::set},
      {"find", &CoreDriver::find_queue},
      {"delete_queue", &CoreDriver::delete_queue},
      {"queues", &CoreDriver::list_queues},
      {"describe", &CoreDriver::describe},
      {"tag", &CoreDriver::tag},
      {"untag", &CoreDriver::untag},
      {"tags", &CoreDriver::tags},
      {"purge", &CoreDriver::purge},
      {"sources", &CoreDriver::sources},
      {"permit", &CoreDriver::permit},
      {"forbid", &CoreDriver::forbid},
      {"move", &CoreDriver::move},
      {"cancel_move", &CoreDriver::cancel_move},
      {"moves", &CoreDriver::moves},
      {"send", &CoreDriver::send},
      {"send_batch", &CoreDriver::send_batch},
      {"receive", &CoreDriver::receive},
      {"delete", &CoreDriver::delete_message},
      {"delete_batch", &CoreDriver::delete_batch},
      {"extend", &CoreDriver::extend},
      {"extend_batch", &CoreDriver::extend_batch},
      {"details", &CoreDriver::details},
      {"lost", &CoreDriver::lost},
      {"leave", &CoreDriver::leave},
      {"restart", &CoreDriver::restart},
      {"topic", &CoreDriver::topic},
      {"set_topic", &CoreDriver::set_topic},
      {"delete_topic", &CoreDriver::delete_topic},
      {"topics", &CoreDriver::list_topics},
      {"subscribe", &CoreDriver::subscribe},
      {"set_subscription", &CoreDriver::set_subscription},
      {"confirm", &CoreDriver::confirm},
      {"unsubscribe", &CoreDriver::unsubscribe},
      {"replay_status", &CoreDriver::replay_status},
      {"subscriptions", &CoreDriver::subscriptions},
      {"publish", &CoreDriver::publish},
      {"publish_batch", &CoreDriver::publish_batch},
      {"metrics", &CoreDriver::metrics},
      {"storage", &CoreDriver::storage},
      {"permit_topic", &CoreDriver::permit_topic},
      {"forbid_topic", &CoreDriver::forbid_topic},
      {"explain", &CoreDriver::explain},
      {"why", &CoreDriver::why},
  };
  return table;
}

bool CoreDriver::knows(std::string_view verb) const { return verbs().contains(verb) || Cast::knows(verb); }

Answer CoreDriver::perform(const Step& step) {
  check_options(step);
  if (auto declared = cast_.declare(step)) return *declared;
  return (this->*verbs().find(step.verb)->second)(step);
}

void CoreDriver::advance_to(milliseconds since_start) {
  engine_.advance_to(kStart + since_start, [this](const Outputs& outputs) { take_replies(outputs); });
}

std::optional<Answer> CoreDriver::late_answer(const std::string& client) {
  const auto waits = waiting_.find(client);
  if (waits == waiting_.end()) return std::nullopt;
  const auto answer = answers_.find(waits->second);
  if (answer == answers_.end()) return std::nullopt;
  Answer copy = answer->second;
  waiting_.erase(waits);
  return copy;
}

void CoreDriver::input(const Input& one) { take_replies(engine_.handle(one)); }

void CoreDriver::take_replies(const Outputs& outputs) {
  for (const Reply& reply : outputs.replies) answers_.insert_or_assign(reply.caller.value, answer_of(reply));
}

template <class Request>
Answer CoreDriver::ask(const Step& step, const Request& request) {
  Command command;
  command.caller.id = {++callers_};
  const Cast::Caller& who = cast_.caller(step.caller);
  command.caller.principal = who.principal();
  command.caller.identity = who.policies;
  command.request = request;
  const std::uint64_t caller = callers_;
  input(command);
  if (const auto answer = answers_.find(caller); answer != answers_.end()) return answer->second;
  waiting_.insert_or_assign(step.client, caller);
  return {"waiting", {}};
}

Answer CoreDriver::answer_of(const Reply& reply) {
  const auto names = [](const auto& keys, bool more) {
    std::string text;
    for (const auto& key : keys) text += (text.empty() ? "" : " ") + key.name.str();
    if (more) text += " more";
    return Answer{text.empty() ? "nothing" : text, {}};
  };
  const auto batch = [](const auto& results, auto&& failed) {
    std::string text;
    for (const auto& result : results) text += (text.empty() ? "" : " ") + failed(result);
    return Answer{text, {}};
  };
  return std::visit(
      [&](const auto& body) -> Answer {
        using B = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<B, SubscriptionDescription>) {
          return {std::string{status_text(body)}, {}};
        } else if constexpr (std::is_same_v<B, QueueError> || std::is_same_v<B, TopicError>) {
          return {name_of(body.code), {}};
        } else if constexpr (std::is_same_v<B, AccessDenied>) {
          refusal_ = body.why;
          return {"AccessDenied", {}};
        } else if constexpr (std::is_same_v<B, Unavailable>) {
          return {"StorageFull", {}};
        } else if constexpr (std::is_same_v<B, MoveTaskCancelled>) {
          return {fmt::format("moved={}", body.moved), {}};
        } else if constexpr (std::is_same_v<B, MoveTasks>) {
          std::string text;
          for (const MoveTask& task : body.tasks)
            text += fmt::format("{}{}:{}/{}", text.empty() ? "" : " ", state_of(task), task.moved, task.to_move);
          return {text.empty() ? "nothing" : text, {}};
        } else if constexpr (std::is_same_v<B, MessagesReceived>) {
          Answer answer;
          for (const ReceivedMessage& message : body.messages) {
            std::string content{message.content};
            if (content.empty()) content = content_of_record(engine_.record(message.position)).value();
            const auto view = message::ContentView::decode(content);
            const char* const form = !message.envelope ? "" : message.envelope->replayed ? "replayed:" : "envelope:";
            answer.deliveries.push_back({form + shown_body(view->body()),
                                         std::to_string(received_.size())});
            received_.push_back({message.handle, message.receive_count, message.sent_at, message.first_received_at,
                                 message.dead_letter_source == nullptr ? "none" : message.dead_letter_source->name.str(),
                                 attributes_text(*view)});
          }
          if (answer.deliveries.empty()) answer.word = "nothing";
          return answer;
        } else if constexpr (std::is_same_v<B, BatchSent>) {
          return batch(body.results, [](const auto& result) {
            return result.index() == 0 ? "ok" : name_of(std::get<QueueError>(result).code);
          });
        } else if constexpr (std::is_same_v<B, BatchPublished>) {
          return batch(body.results, [](const auto& result) {
            return result.index() == 0 ? "ok" : name_of(std::get<TopicError>(result).code);
          });
        } else if constexpr (std::is_same_v<B, BatchDone>) {
          return batch(body.errors, [](const auto& error) { return error ? name_of(error->code) : "ok"; });
        } else if constexpr (std::is_same_v<B, QueueNames> || std::is_same_v<B, TopicNames>) {
          return names(body.keys, body.more);
        } else if constexpr (std::is_same_v<B, QueueDescription>) {
          const queue::QueueSettings& s = *body.settings;
          policy_ = s.policy;
          return {fmt::format("visible={} in_flight={} delayed={} visibility={} delay={} retention={} wait={} max_size={}",
                              body.counts.visible, body.counts.in_flight, body.counts.delayed,
                              format_duration(s.visibility_timeout.value()), format_duration(s.delivery_delay.value()),
                              format_duration(s.retention_period.value()), format_duration(s.receive_wait.value()),
                              s.maximum_message_size.count()),
                  {}};
        } else if constexpr (std::is_same_v<B, TopicDescription>) {
          policy_ = body.settings->policy;
          return {"ok", {}};
        } else if constexpr (std::is_same_v<B, Tags>) {
          std::string text;
          for (const auto& [key, value] : body.tags) text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
          return {text.empty() ? "nothing" : text, {}};
        } else if constexpr (std::is_same_v<B, Subscriptions>) {
          std::string text;
          for (const SubscriptionSummary& summary : body.subscriptions)
            text += (text.empty() ? "" : " ") + std::string{queue::parse_queue_arn(summary.endpoint)->name};
          return {text.empty() ? "nothing" : text, {}};
        } else {
          return {"ok", {}};
        }
      },
      reply.body);
}

SubscriptionKeyView CoreDriver::subscription_key(const Step& step) const {
  const auto found = subscriptions_.find(step.words.at(0) + " " + step.words.at(1));
  return {topic_key(step.words.at(0)), found == subscriptions_.end() ? topic::SubscriptionUuid{} : found->second};
}

// ---- Queues
Answer CoreDriver::queue(const Step& step) {
  const std::vector<Tag> tags = tags_of(step);
  return ask(step, CreateQueue{queue_key(step.words.at(0)), attributes_of(step), tags});
}
Answer CoreDriver::set(const Step& step) {
  return ask(step, ChangeQueue{queue_key(step.words.at(0)), attributes_of(step)});
}
Answer CoreDriver::find_queue(const Step& step) { return ask(step, FindQueue{queue_key(step.words.at(0))}); }
Answer CoreDriver::delete_queue(const Step& step) { return ask(step, DeleteQueue{queue_key(step.words.at(0))}); }
Answer CoreDriver::list_queues(const Step& step) {
  const std::string prefix = step.option("prefix").value_or("");
  const std::string after = step.option("after").value_or("");
  const auto limit = static_cast<std::size_t>(number_of(step.option("limit").value_or("1000")));
  return ask(step, ListQueues{account_of(step), kRegion, prefix, after, limit});
}
Answer CoreDriver::describe(const Step& step) {
  Answer answer = ask(step, DescribeQueue{queue_key(step.words.at(0))});
  if (step.words.size() == 1 || answer.word.find('=') == std::string::npos) return answer;
  // Only the named values: `describe q visible in_flight -> visible=1 in_flight=0`
  std::string text;
  for (std::size_t i = 1; i < step.words.size(); ++i) {
    const std::size_t at = (" " + answer.word).find(" " + step.words[i] + "=");
    if (at == std::string::npos) return {"no " + step.words[i], {}};
    text += (text.empty() ? "" : " ") + answer.word.substr(at, answer.word.find(' ', at) - at);
  }
  return {text, {}};
}
Answer CoreDriver::tag(const Step& step) {
  const std::vector<Tag> tags = tags_of(step);
  return ask(step, TagQueue{queue_key(step.words.at(0)), tags});
}
Answer CoreDriver::untag(const Step& step) {
  const std::vector<std::string_view> keys(step.words.begin() + 1, step.words.end());
  return ask(step, UntagQueue{queue_key(step.words.at(0)), keys});
}
Answer CoreDriver::tags(const Step& step) { return ask(step, ListQueueTags{queue_key(step.words.at(0))}); }
Answer CoreDriver::purge(const Step& step) { return ask(step, PurgeQueue{queue_key(step.words.at(0))}); }
Answer CoreDriver::sources(const Step& step) {
  return ask(step, ListDeadLetterSourceQueues{queue_key(step.words.at(0)), {}, 1000});
}

Answer CoreDriver::permit(const Step& step) {
  const std::string_view account = step.words.at(2);
  const std::vector<std::string_view> actions(step.words.begin() + 3, step.words.end());
  return ask(step, AddPermission{queue_key(step.words.at(0)), step.words.at(1), {&account, 1}, actions});
}
Answer CoreDriver::forbid(const Step& step) {
  return ask(step, RemovePermission{queue_key(step.words.at(0)), step.words.at(1)});
}
Answer CoreDriver::move(const Step& step) {
  StartMoveTask request;
  request.source = queue_key(step.words.at(0));
  const std::string destination = step.option("to").value_or("");
  if (!destination.empty()) request.destination = queue_key(destination);
  if (const auto rate = step.option("rate")) request.per_second_max = static_cast<std::uint32_t>(number_of(*rate));
  request.fresh_id = Uuid::from_random(secrets_.bytes16());
  Answer answer = ask(step, request);
  if (answer.word == "ok") last_move_ = request.fresh_id;
  return answer;
}
Answer CoreDriver::cancel_move(const Step& step) { return ask(step, CancelMoveTask{queue_key(step.words.at(0)), last_move_}); }
Answer CoreDriver::moves(const Step& step) {
  const std::string max = step.option("max").value_or("10");
  return ask(step, ListMoveTasks{queue_key(step.words.at(0)), static_cast<std::size_t>(number_of(max))});
}

// ---- Messages
Answer CoreDriver::send(const Step& step) {
  const OutgoingTexts texts(step, 1);
  return ask(step, SendMessage{queue_key(step.words.at(0)), texts.message(step, secrets_)});
}
Answer CoreDriver::send_batch(const Step& step) {
  std::deque<OutgoingTexts> texts;
  std::vector<OutgoingMessage> messages;
  for (std::size_t i = 1; i < step.words.size(); ++i)
    messages.push_back(texts.emplace_back(step, i).message(step, secrets_));
  return ask(step, SendMessageBatch{queue_key(step.words.at(0)), messages});
}
Answer CoreDriver::receive(const Step& step) {
  ReceiveMessages request;
  request.queue = queue_key(step.words.at(0));
  if (const auto max = step.option("max")) request.max_messages = setting(queue::MaxMessages::of(number_of(*max)), *max);
  if (const auto time = step.option("visibility"))
    request.visibility_timeout = setting(queue::VisibilityTimeout::of(seconds_of(*time)), *time);
  const std::string attempt = step.option("attempt").value_or("");
  request.attempt_id = attempt;
  if (const auto wait = step.option("wait")) request.wait = setting(queue::ReceiveWait::of(seconds_of(*wait)), *wait);
  return ask(step, request);
}
Answer CoreDriver::delete_message(const Step& step) {
  const auto& receipt = received_.at(static_cast<std::size_t>(number_of(step.words.at(1))));
  return ask(step, DeleteMessage{queue_key(step.words.at(0)), receipt.handle});
}
Answer CoreDriver::delete_batch(const Step& step) {
  std::vector<ReceiptHandle> handles;
  for (std::size_t i = 1; i < step.words.size(); ++i)
    handles.push_back(received_.at(static_cast<std::size_t>(number_of(step.words[i]))).handle);
  return ask(step, DeleteMessageBatch{queue_key(step.words.at(0)), handles});
}
Answer CoreDriver::extend(const Step& step) {
  const auto& receipt = received_.at(static_cast<std::size_t>(number_of(step.words.at(1))));
  const auto timeout = setting(queue::VisibilityTimeout::of(seconds_of(step.words.at(2))), step.words.at(2));
  return ask(step, ChangeVisibility{queue_key(step.words.at(0)), receipt.handle, timeout});
}
Answer CoreDriver::extend_batch(const Step& step) {
  std::vector<ChangeVisibilityBatch::Entry> entries;
  const auto timeout = setting(queue::VisibilityTimeout::of(seconds_of(step.words.at(1))), step.words.at(1));
  for (std::size_t i = 2; i < step.words.size(); ++i)
    entries.push_back({received_.at(static_cast<std::size_t>(number_of(step.words[i]))).handle, timeout});
  return ask(step, ChangeVisibilityBatch{queue_key(step.words.at(0)), entries});
}
Answer CoreDriver::details(const Step& step) {
  const auto& message = received_.at(static_cast<std::size_t>(number_of(step.words.at(0))));
  const std::string attributes = message.attributes.empty() ? "none" : message.attributes;
  return {fmt::format("count={} sent={} first={} source={} attributes={}", message.receive_count,
                      format_duration(message.sent_at - kStart), format_duration(message.first_received_at - kStart),
                      message.source, attributes),
          {}};
}
Answer CoreDriver::lost(const Step& step) {
  std::vector<ReceiptHandle> handles;
  for (const std::string& word : step.words) handles.push_back(received_.at(static_cast<std::size_t>(number_of(word))).handle);
  input(ReceiveUndelivered{handles});
  return {"ok", {}};
}
Answer CoreDriver::leave(const Step& step) {
  const auto waits = waiting_.find(step.client);
  if (waits == waiting_.end()) return {"nobody waits", {}};
  input(WaiterGone{{waits->second}});
  waiting_.erase(waits);
  return {"ok", {}};
}
Answer CoreDriver::restart(const Step& step) {
  waiting_.clear();
  return {engine_.restart(step.option("lose_receives").value_or("false") == "true"), {}};
}

// ---- Topics
Answer CoreDriver::topic(const Step& step) {
  topic::TopicChanges changes;
  if (const auto name = step.option("display")) changes.display_name = *name;
  if (const auto policy = step.option("policy")) changes.policy = *policy;
  if (step.option("fifo").value_or("false") == "true") changes.fifo = true;
  if (const auto text = step.option("content_dedup")) changes.content_based_deduplication = *text == "true";
  if (const auto text = step.option("throughput_scope"))
    changes.fifo_throughput_scope =
        *text == "MessageGroup" ? topic::FifoThroughputScope::MessageGroup : topic::FifoThroughputScope::Topic;
  if (const auto days = step.option("archive")) changes.archive_policy = archive_policy_of(*days);
  const std::vector<Tag> tags = tags_of(step);
  return ask(step, CreateTopic{topic_key(step.words.at(0)), changes, tags});
}
Answer CoreDriver::set_topic(const Step& step) {
  topic::TopicChanges changes;
  if (const auto name = step.option("display")) changes.display_name = *name;
  if (const auto policy = step.option("policy")) changes.policy = *policy;
  if (const auto text = step.option("fifo")) changes.fifo = *text == "true";
  if (const auto text = step.option("content_dedup")) changes.content_based_deduplication = *text == "true";
  if (const auto days = step.option("archive")) changes.archive_policy = archive_policy_of(*days);
  return ask(step, ChangeTopic{topic_key(step.words.at(0)), changes});
}
Answer CoreDriver::delete_topic(const Step& step) { return ask(step, DeleteTopic{topic_key(step.words.at(0))}); }
Answer CoreDriver::list_topics(const Step& step) {
  const std::string after = step.option("after").value_or("");
  return ask(step, ListTopics{account_of(step), kRegion, after, static_cast<std::size_t>(number_of(step.option("limit").value_or("100")))});
}
Answer CoreDriver::subscribe(const Step& step) {
  const std::string endpoint = step.option("endpoint").value_or(queue_arn(step.words.at(1)));
  Subscribe request;
  if (const auto protocol = step.option("protocol")) request.protocol = topic::parse_delivery_protocol(*protocol).value();
  request.topic = topic_key(step.words.at(0));
  request.endpoint = endpoint;
  request.attributes = subscription_changes_of(step);
  request.fresh_uuid = {Uuid::from_random(secrets_.bytes16())};
  Answer answer = ask(step, request);
  if (answer.word == "ok") subscriptions_.try_emplace(step.words.at(0) + " " + step.words.at(1), request.fresh_uuid);
  return answer;
}
Answer CoreDriver::set_subscription(const Step& step) {
  return ask(step, ChangeSubscription{subscription_key(step), subscription_changes_of(step)});
}
Answer CoreDriver::confirm(const Step& step) {
  return ask(step, ConfirmSubscription{topic_key(step.words.at(0)), step.words.at(1), false});
}
Answer CoreDriver::replay_status(const Step& step) { return ask(step, DescribeSubscription{subscription_key(step)}); }
Answer CoreDriver::unsubscribe(const Step& step) {
  Answer answer = ask(step, Unsubscribe{subscription_key(step)});
  if (answer.word == "ok") subscriptions_.erase(step.words.at(0) + " " + step.words.at(1));
  return answer;
}
Answer CoreDriver::subscriptions(const Step& step) {
  if (step.words.empty()) return ask(step, ListSubscriptions{account_of(step), kRegion, {}, 100});
  return ask(step, ListSubscriptionsByTopic{topic_key(step.words.at(0)), {}, 100});
}
Answer CoreDriver::publish(const Step& step) {
  const OutgoingTexts texts(step, 1);
  return ask(step, Publish{topic_key(step.words.at(0)), texts.publication(secrets_)});
}
Answer CoreDriver::publish_batch(const Step& step) {
  std::deque<OutgoingTexts> texts;
  std::vector<OutgoingPublication> publications;
  for (std::size_t i = 1; i < step.words.size(); ++i)
    publications.push_back(texts.emplace_back(step, i).publication(secrets_));
  return ask(step, PublishBatch{topic_key(step.words.at(0)), publications});
}
Answer CoreDriver::metrics(const Step& step) { return metrics_of(engine_.engine(), step.words.at(0)); }
Answer CoreDriver::storage(const Step& step) {
  input(StorageChanged{step.words.at(0) == "full"});
  return {"ok", {}};
}


// ---- Permission
Answer CoreDriver::permit_topic(const Step& step) {
  const std::string_view account = step.words.at(2);
  const std::vector<std::string_view> actions(step.words.begin() + 3, step.words.end());
  return ask(step, AddTopicPermission{topic_key(step.words.at(0)), step.words.at(1), {&account, 1}, actions});
}
Answer CoreDriver::forbid_topic(const Step& step) {
  return ask(step, RemoveTopicPermission{topic_key(step.words.at(0)), step.words.at(1)});
}
Answer CoreDriver::explain(const Step& step) {
  const std::string& action = step.words.at(0);
  const std::string& name = step.words.at(1);
  Step root;
  const bool is_topic = action.starts_with("sns:");
  policy_.clear();
  root.caller = is_topic ? topic_key(name).account : queue_key(name).account;
  const Answer read = is_topic ? ask(root, DescribeTopic{topic_key(name)}) : ask(root, DescribeQueue{queue_key(name)});
  if (read.word == "AccessDenied") return read;
  return cast_.explain(step.caller, action, is_topic ? topic_arn(name) : queue_arn(name), policy_);
}
Answer CoreDriver::why(const Step&) { return {refusal_words(refusal_), {}}; }

}  // namespace fanfare::scenarios
