// Plays scenarios as a client of the wire protocols.
#include "wire_driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"
#include "wire_errors.h"
#include "words.h"

namespace fanfare::scenarios {
namespace {

namespace json = wire::json;

constexpr std::string_view kEnvelope = "Notification";

json::Value text(std::string_view value) { return json::Value::string(std::string{value}); }
json::Value number(std::int64_t value) { return json::Value::integer(value); }
json::Value list(std::span<const std::string> words) {
  std::vector<json::Value> items;
  for (const std::string& word : words) items.push_back(text(word));
  return json::Value::array(std::move(items));
}
json::Value object(std::vector<json::Member> members) { return json::Value::object(std::move(members)); }

std::string queue_url(std::string_view name) {
  const auto key = queue_key(name);
  return fmt::format("http://localhost:4566/{}/{}", key.account, key.name);
}
json::Member queue_member(const Step& step) { return {"QueueUrl", text(queue_url(step.words.at(0)))}; }
json::Member topic_member(const Step& step) { return {"TopicArn", text(topic_arn(step.words.at(0)))}; }

/// What stands behind the last colon or slash.
std::string last_part(std::string_view arn_or_url) {
  return std::string{arn_or_url.substr(arn_or_url.find_last_of(":/") + 1)};
}

/// visibility=30s delay=5s ... as attributes of CreateQueue.
std::vector<json::Member> queue_attributes(const Step& step) {
  std::vector<json::Member> out;
  const auto add = [&](const char* name, std::string_view value) { out.push_back({name, text(value)}); };
  for (const auto& [name, value] : step.options) {
    if (name == "visibility")
      add("VisibilityTimeout", std::to_string(seconds_of(value)));
    else if (name == "delay")
      add("DelaySeconds", std::to_string(seconds_of(value)));
    else if (name == "retention")
      add("MessageRetentionPeriod", std::to_string(seconds_of(value)));
    else if (name == "wait")
      add("ReceiveMessageWaitTimeSeconds", std::to_string(seconds_of(value)));
    else if (name == "max_size")
      add("MaximumMessageSize", value);
    else if (name == "fifo")
      add("FifoQueue", value);
    else if (name == "content_dedup")
      add("ContentBasedDeduplication", value);
    else if (name == "dedup_scope")
      add("DeduplicationScope", value);
    else if (name == "throughput_limit")
      add("FifoThroughputLimit", value);
    else if (name == "policy")
      add("Policy", value);
    else if (name == "allow")
      add("Policy", delivery_policy(step.words.at(0), value));
    else if (name == "redrive") {
      const std::size_t colon = value.find(':');
      add("RedrivePolicy",
          colon == std::string::npos
              ? std::string{}
              : fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":{}}})",
                            queue_arn(std::string_view{value}.substr(0, colon)), value.substr(colon + 1)));
    } else if (name == "redrive_allow") {
      add("RedriveAllowPolicy",
          value == "none"
              ? std::string{R"({"redrivePermission":"denyAll"})"}
              : fmt::format(R"({{"redrivePermission":"byQueue","sourceQueueArns":["{}"]}})", queue_arn(value)));
    } else if (!name.starts_with("tag.")) {
      add(name.c_str(), value);
    }
  }
  return out;
}

json::Value tag_map(const Step& step) {
  std::vector<json::Member> out;
  for (auto& [name, value] : options_with(step, "tag.")) out.push_back({name, text(value)});
  return object(std::move(out));
}
json::Value tag_list(const Step& step) {
  std::vector<json::Value> out;
  for (auto& [name, value] : options_with(step, "tag."))
    out.push_back(object({{"Key", text(name)}, {"Value", text(value)}}));
  return json::Value::array(std::move(out));
}

void add_message_attributes(std::vector<json::Member>& out, const Step& step) {
  std::vector<json::Member> attributes;
  for (const TypedValue& one : message_attributes_of(step)) {
    const char* const member = one.type.starts_with("Binary") ? "BinaryValue" : "StringValue";
    attributes.push_back({one.name, object({{"DataType", text(one.type)}, {member, text(one.value)}})});
  }
  if (!attributes.empty()) out.push_back({"MessageAttributes", object(std::move(attributes))});
}

/// group= and dedup=, of single messages and of batches; in a batch `dedup=body` takes each body for its id.
void add_fifo_members(std::vector<json::Member>& out, const Step& step, const std::string& body) {
  if (const auto group = step.option("group")) out.push_back({"MessageGroupId", text(*group)});
  if (const auto id = step.option("dedup")) out.push_back({"MessageDeduplicationId", text(*id == "body" ? body : *id)});
}

std::string topic_attribute(const std::string& option) {
  if (option == "display") return "DisplayName";
  if (option == "policy") return "Policy";
  if (option == "fifo") return "FifoTopic";
  if (option == "content_dedup") return "ContentBasedDeduplication";
  if (option == "throughput_scope") return "FifoThroughputScope";
  if (option == "archive") return "ArchivePolicy";
  return option;
}
std::string topic_value(const std::string& option, const std::string& value) {
  return option == "archive" ? archive_policy_of(value) : value;
}

/// {"raw", "true"} -> RawMessageDelivery
std::vector<std::pair<std::string, std::string>> subscription_attributes(const Step& step) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, value] : step.options) {
    if (name == "raw")
      out.emplace_back("RawMessageDelivery", value);
    else if (name == "filter")
      out.emplace_back("FilterPolicy", value == "none" ? std::string{} : value);
    else if (name == "scope")
      out.emplace_back("FilterPolicyScope", value == "body" ? "MessageBody" : "MessageAttributes");
    else if (name == "replay")
      out.emplace_back("ReplayPolicy", replay_policy_of(value));
    else if (name == "dlq")
      out.emplace_back("RedrivePolicy", value == "none"
                                            ? std::string{}
                                            : fmt::format(R"({{"deadLetterTargetArn":"{}"}})", queue_arn(value)));
    else if (name != "protocol" && name != "endpoint") out.emplace_back(name, value);
  }
  // The scope decides how a policy is read: it goes first, as SDKs send both at once and consoles in this order.
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [](const auto& one) { return one.first == "FilterPolicyScope"; });
  return out;
}

std::string moved_text(const Element& task) {
  std::string state = task.get("Status");
  std::ranges::transform(state, state.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string reason = task.get("FailureReason");
  if (reason == "AWS.SimpleQueueService.NonExistentQueue")
    state += ":DestinationMissing";
  else if (reason == "CouldNotDetermineMessageSource")
    state += ":SourceUnknown";
  else if (!reason.empty())
    state += ":" + reason;
  return fmt::format("{}:{}/{}", state, task.get("ApproximateNumberOfMessagesMoved"),
                     task.get("ApproximateNumberOfMessagesToMove"));
}

void append_counted(std::string& out, std::string_view bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(bytes.size() >> shift & 0xff);
  out += bytes;
}

std::string md5_hex(std::string_view bytes) {
  return wire::digest::hex(wire::digest::bytes_of(wire::digest::md5(bytes)));
}

/// The digest that SDKs compute of message attributes, by their names' order; empty if there are none. [SQS message
/// metadata]
std::string attributes_md5(std::vector<TypedValue> attributes) {
  if (attributes.empty()) return {};
  std::ranges::sort(attributes, {}, &TypedValue::name);
  std::string bytes;
  for (const TypedValue& one : attributes) {
    append_counted(bytes, one.name);
    append_counted(bytes, one.type);
    const bool binary = one.type.starts_with("Binary");
    bytes += binary ? '\2' : '\1';
    append_counted(bytes, binary ? wire::digest::decode_base64(one.value).value() : one.value);
  }
  return md5_hex(bytes);
}

/// An SDK refuses an answer with other digests than its own: so do scenarios.
void check_digests(std::string_view given_body, std::string_view given_attributes, std::string_view body,
                   const std::vector<TypedValue>& attributes) {
  if (given_body != md5_hex(body))
    wrong(fmt::format("the digest of the body '{}' is {}", shown_body(body), given_body));
  if (given_attributes != attributes_md5(attributes))
    wrong(fmt::format("the digest of the attributes of '{}' is '{}'", shown_body(body), given_attributes));
}

std::string joined(const std::vector<std::string>& words) {
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, " "));
}

std::string duration_text(const std::string& seconds_text) {
  return format_duration(seconds{std::stoll(seconds_text)});
}
std::string since_start(const std::string& unix_ms) {
  return format_duration(timestamp_from_unix_ms(std::stoll(unix_ms)) - kStart);
}

}  // namespace

WireDriver::WireDriver(Protocol protocol, std::unique_ptr<Server> server)
    : protocol_(protocol), server_(std::move(server)) {
  server_->set_identities(cast_.directory());
}

const std::map<std::string, WireDriver::Verb, std::less<>>& WireDriver::verbs() {
  static const std::map<std::string, Verb, std::less<>> table = {
      {"queue", &WireDriver::queue},
      {"set", &WireDriver::set},
      {"find", &WireDriver::find_queue},
      {"delete_queue", &WireDriver::delete_queue},
      {"queues", &WireDriver::list_queues},
      {"describe", &WireDriver::describe},
      {"tag", &WireDriver::tag},
      {"untag", &WireDriver::untag},
      {"tags", &WireDriver::tags},
      {"purge", &WireDriver::purge},
      {"sources", &WireDriver::sources},
      {"permit", &WireDriver::permit},
      {"forbid", &WireDriver::forbid},
      {"move", &WireDriver::move},
      {"cancel_move", &WireDriver::cancel_move},
      {"moves", &WireDriver::moves},
      {"send", &WireDriver::send},
      {"send_batch", &WireDriver::send_batch},
      {"receive", &WireDriver::receive},
      {"delete", &WireDriver::delete_message},
      {"delete_batch", &WireDriver::delete_batch},
      {"extend", &WireDriver::extend},
      {"extend_batch", &WireDriver::extend_batch},
      {"details", &WireDriver::details},
      {"lost", &WireDriver::lost},
      {"leave", &WireDriver::leave},
      {"restart", &WireDriver::restart},
      {"topic", &WireDriver::topic},
      {"set_topic", &WireDriver::set_topic},
      {"delete_topic", &WireDriver::delete_topic},
      {"topics", &WireDriver::list_topics},
      {"subscribe", &WireDriver::subscribe},
      {"set_subscription", &WireDriver::set_subscription},
      {"confirm", &WireDriver::confirm},
      {"unsubscribe", &WireDriver::unsubscribe},
      {"replay_status", &WireDriver::replay_status},
      {"subscriptions", &WireDriver::subscriptions},
      {"publish", &WireDriver::publish},
      {"publish_batch", &WireDriver::publish_batch},
      {"permit_topic", &WireDriver::permit_topic},
      {"forbid_topic", &WireDriver::forbid_topic},
      {"metrics", &WireDriver::metrics},
      {"storage", &WireDriver::storage},
      {"explain", &WireDriver::explain},
      {"why", &WireDriver::why},
  };
  return table;
}

bool WireDriver::knows(std::string_view verb) const { return verbs().contains(verb) || Cast::knows(verb); }

Answer WireDriver::perform(const Step& step) {
  check_options(step);
  if (auto declared = cast_.declare(step)) {
    server_->set_identities(cast_.directory());
    return *declared;
  }
  return (this->*verbs().find(step.verb)->second)(step);
}

void WireDriver::advance_to(milliseconds since_start) { server_->advance_to(kStart + since_start); }

std::optional<Answer> WireDriver::late_answer(const std::string& client) {
  const auto waits = waiting_.find(client);
  if (waits == waiting_.end()) return std::nullopt;
  const auto bytes = server_->late_answer(client);
  if (!bytes) return std::nullopt;
  const WireRequest request = std::move(waits->second);
  waiting_.erase(waits);
  return received(read_answer(*bytes, request, protocol_));
}

// ---- Requests

const wire::sigv4::Credentials* WireDriver::credentials_of(const Step& step) {
  const Cast::Caller& who = cast_.caller(step.caller);
  server_->set_identities(cast_.directory());  // a root may have been made just now
  if (who.kind == Cast::Kind::Anonymous) return nullptr;
  const std::string name = step.caller.empty() ? std::string{kHome} : step.caller;
  if (const auto known = sessions_.find(name); known != sessions_.end() && server_->now() < known->second.until)
    return &known->second.credentials;
  Keys keys;
  if (who.kind != Cast::Kind::Role) {
    const std::string id = Cast::key_id(who.account, who.kind == Cast::Kind::Root ? "root" : last_part(who.arn));
    keys.credentials = {id, Cast::secret_of(id), {}};
    keys.until = Timestamp::max();
  } else {
    // The account's root takes the role, with its key: credentials_of() comes here at most once more.
    Step root;
    root.client = step.client;
    root.caller = who.account;
    const std::string role = who.role_arn;
    const WireAnswer answer =
        call(root, "sts", "AssumeRole", {{"RoleArn", text(role)}, {"RoleSessionName", text(kSession)}});
    const Element* const made = answer.result.find("Credentials");
    if (made == nullptr) wrong(fmt::format("AssumeRole: {} {}", answer.error_code, answer.error_message));
    keys.credentials = {made->get("AccessKeyId"), made->get("SecretAccessKey"), made->get("SessionToken")};
    keys.until = server_->now() + seconds{3'500};
  }
  return &sessions_.insert_or_assign(name, std::move(keys)).first->second.credentials;
}

std::optional<WireAnswer> WireDriver::exchange(const Step& step, const WireRequest& request) {
  const std::string bytes = write_request(request, protocol_, credentials_of(step), kRegion, server_->now());
  const auto answer = server_->ask(step.client, bytes);
  if (!answer) return std::nullopt;
  return read_answer(*answer, request, protocol_);
}

WireAnswer WireDriver::call(const Step& step, std::string_view service, std::string action, Members members) {
  const WireRequest request{service, std::move(action), std::move(members)};
  auto answer = exchange(step, request);
  if (!answer) wrong(fmt::format("{} has no answer", request.action));
  return std::move(*answer);
}

Answer WireDriver::failure(std::string_view service, const WireAnswer& answer) {
  const std::string name = name_of_error(service, answer.error_code, answer.error_message);
  if (name == "AccessDenied") refusal_ = answer.error_message;
  return {name, {}};
}

Answer WireDriver::simple(const Step& step, std::string_view service, std::string action, Members members) {
  const WireAnswer answer = call(step, service, std::move(action), std::move(members));
  return answer.status == 200 ? Answer{"ok", {}} : failure(service, answer);
}

Answer WireDriver::batch(const Step& step, std::string_view service, const std::string& action, Members members,
                         std::size_t entries, const std::function<void(const Element&)>& look) {
  const WireAnswer answer = call(step, service, action, std::move(members));
  if (answer.status != 200) return failure(service, answer);
  // SNS wraps its lists.
  const Element* const successful = answer.result.find("Successful");
  const Element* const failed = answer.result.find("Failed");
  std::map<std::string, std::string> words;
  for (const Element* one :
       successful != nullptr ? successful->all("member") : answer.result.all(action + "ResultEntry")) {
    words.emplace(one->get("Id"), "ok");
    if (look) look(*one);
  }
  for (const Element* one : failed != nullptr ? failed->all("member") : answer.result.all("BatchResultErrorEntry"))
    words.emplace(one->get("Id"), name_of_error(service, one->get("Code"), one->get("Message")));
  std::vector<std::string> in_order;
  for (std::size_t i = 0; i < entries; ++i) {
    const auto word = words.find(fmt::format("entry-{}", i));
    in_order.push_back(word == words.end() ? "unanswered" : word->second);
  }
  if (words.size() > entries) in_order.emplace_back("and-more");
  return {joined(in_order), {}};
}

const std::string& WireDriver::handle_of(const std::string& word) const {
  if (word.find_first_not_of("0123456789") != std::string::npos) return word;  // what the file made up
  return received_.at(static_cast<std::size_t>(number_of(word))).handle;
}

// ---- Queues

Answer WireDriver::queue(const Step& step) {
  Members members{{"QueueName", text(queue_key(step.words.at(0)).name)}};
  if (auto attributes = queue_attributes(step); !attributes.empty())
    members.push_back({"Attributes", object(std::move(attributes))});
  if (auto tags = tag_map(step); tags.size() != 0) members.push_back({"tags", std::move(tags)});
  return simple(step, "sqs", "CreateQueue", std::move(members));
}
Answer WireDriver::set(const Step& step) {
  return simple(step, "sqs", "SetQueueAttributes",
                {queue_member(step), {"Attributes", object(queue_attributes(step))}});
}
Answer WireDriver::find_queue(const Step& step) {
  const auto key = queue_key(step.words.at(0));
  return simple(step, "sqs", "GetQueueUrl",
                {{"QueueName", text(key.name)}, {"QueueOwnerAWSAccountId", text(key.account)}});
}
Answer WireDriver::delete_queue(const Step& step) { return simple(step, "sqs", "DeleteQueue", {queue_member(step)}); }

std::string WireDriver::token_after(const Step& step, const std::string& name) {
  std::string token;
  for (int i = 0; i < 100; ++i) {
    Members members{{"MaxResults", number(1)}};
    if (const auto prefix = step.option("prefix")) members.push_back({"QueueNamePrefix", text(*prefix)});
    if (!token.empty()) members.push_back({"NextToken", text(token)});
    const WireAnswer answer = call(step, "sqs", "ListQueues", std::move(members));
    token = answer.result.get("NextToken");
    if (last_part(answer.result.get("QueueUrl")) == name) return token;
    if (token.empty()) break;
  }
  wrong("no page of the list ends with " + name);
}

Answer WireDriver::list_queues(const Step& step) {
  Members members;
  if (const auto prefix = step.option("prefix")) members.push_back({"QueueNamePrefix", text(*prefix)});
  const auto after = step.option("after");
  if (const auto limit = step.option("limit"))
    members.push_back({"MaxResults", number(number_of(*limit))});
  else if (after)
    members.push_back({"MaxResults", number(1000)});
  if (after) members.push_back({"NextToken", text(token_after(step, *after))});
  const WireAnswer answer = call(step, "sqs", "ListQueues", std::move(members));
  if (answer.status != 200) return failure("sqs", answer);
  std::vector<std::string> names;
  for (const Element* url : answer.result.all("QueueUrl")) names.push_back(last_part(url->text));
  if (!answer.result.get("NextToken").empty()) names.emplace_back("more");
  return {joined(names), {}};
}

Answer WireDriver::describe(const Step& step) {
  const std::vector<std::string> all{"All"};
  const WireAnswer answer =
      call(step, "sqs", "GetQueueAttributes", {queue_member(step), {"AttributeNames", list(all)}});
  if (answer.status != 200) return failure("sqs", answer);
  const auto values = answer.result.pairs("Attribute", "Name", "Value");
  const auto value = [&](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string{"absent"} : found->second;
  };
  const std::map<std::string, std::string> known{
      {"visible", value("ApproximateNumberOfMessages")},
      {"in_flight", value("ApproximateNumberOfMessagesNotVisible")},
      {"delayed", value("ApproximateNumberOfMessagesDelayed")},
      {"visibility", duration_text(value("VisibilityTimeout"))},
      {"delay", duration_text(value("DelaySeconds"))},
      {"retention", duration_text(value("MessageRetentionPeriod"))},
      {"wait", duration_text(value("ReceiveMessageWaitTimeSeconds"))},
      {"max_size", value("MaximumMessageSize")},
  };
  std::string words;
  const std::vector<std::string> every{"visible", "in_flight", "delayed", "visibility",
                                       "delay",   "retention", "wait",    "max_size"};
  const std::vector<std::string> named(step.words.begin() + 1, step.words.end());
  for (const std::string& name : named.empty() ? every : named) {
    const auto found = known.find(name);
    if (found == known.end()) return {"no " + name, {}};
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, found->second);
  }
  return {words, {}};
}

Answer WireDriver::tag(const Step& step) {
  return simple(step, "sqs", "TagQueue", {queue_member(step), {"Tags", tag_map(step)}});
}
Answer WireDriver::untag(const Step& step) {
  return simple(step, "sqs", "UntagQueue", {queue_member(step), {"TagKeys", list(std::span{step.words}.subspan(1))}});
}
Answer WireDriver::tags(const Step& step) {
  const WireAnswer answer = call(step, "sqs", "ListQueueTags", {queue_member(step)});
  if (answer.status != 200) return failure("sqs", answer);
  std::vector<std::string> words;
  for (const auto& [key, value] : answer.result.pairs("Tag", "Key", "Value")) words.push_back(key + "=" + value);
  return {joined(words), {}};
}
Answer WireDriver::purge(const Step& step) { return simple(step, "sqs", "PurgeQueue", {queue_member(step)}); }
Answer WireDriver::sources(const Step& step) {
  const WireAnswer answer = call(step, "sqs", "ListDeadLetterSourceQueues", {queue_member(step)});
  if (answer.status != 200) return failure("sqs", answer);
  std::vector<std::string> names;
  for (const Element* url : answer.result.all("QueueUrl")) names.push_back(last_part(url->text));
  return {joined(names), {}};
}
Answer WireDriver::permit(const Step& step) {
  const std::span words{step.words};
  return simple(step, "sqs", "AddPermission",
                {queue_member(step),
                 {"Label", text(words[1])},
                 {"AWSAccountIds", list(words.subspan(2, 1))},
                 {"Actions", list(words.subspan(3))}});
}
Answer WireDriver::forbid(const Step& step) {
  return simple(step, "sqs", "RemovePermission", {queue_member(step), {"Label", text(step.words.at(1))}});
}
Answer WireDriver::move(const Step& step) {
  Members members{{"SourceArn", text(queue_arn(step.words.at(0)))}};
  if (const auto to = step.option("to")) members.push_back({"DestinationArn", text(queue_arn(*to))});
  if (const auto rate = step.option("rate"))
    members.push_back({"MaxNumberOfMessagesPerSecond", number(number_of(*rate))});
  const WireAnswer answer = call(step, "sqs", "StartMessageMoveTask", std::move(members));
  if (answer.status != 200) return failure("sqs", answer);
  last_move_ = answer.result.get("TaskHandle");
  return {last_move_.empty() ? "no handle" : "ok", {}};
}
Answer WireDriver::cancel_move(const Step& step) {
  // {"taskId":"...","sourceArn":"..."} of a task that never was, where none has begun.
  std::string handle = last_move_;
  if (handle.empty()) {
    const std::string made_up = fmt::format(R"({{"taskId":"00000000-0000-4000-8000-000000000000","sourceArn":"{}"}})",
                                            queue_arn(step.words.at(0)));
    handle = wire::digest::base64(made_up);
  }
  const WireAnswer answer = call(step, "sqs", "CancelMessageMoveTask", {{"TaskHandle", text(handle)}});
  if (answer.status != 200) return failure("sqs", answer);
  return {"moved=" + answer.result.get("ApproximateNumberOfMessagesMoved"), {}};
}
Answer WireDriver::moves(const Step& step) {
  const std::int64_t max = number_of(step.option("max").value_or("10"));
  const WireAnswer answer = call(step, "sqs", "ListMessageMoveTasks",
                                 {{"SourceArn", text(queue_arn(step.words.at(0)))}, {"MaxResults", number(max)}});
  if (answer.status != 200) return failure("sqs", answer);
  std::vector<std::string> words;
  for (const Element* task : answer.result.all("ListMessageMoveTasksResultEntry")) words.push_back(moved_text(*task));
  return {joined(words), {}};
}

// ---- Messages

Answer WireDriver::send(const Step& step) {
  const std::string body = body_of(step, 1);
  Members members{queue_member(step), {"MessageBody", text(body)}};
  if (const auto delay = step.option("delay")) members.push_back({"DelaySeconds", number(seconds_of(*delay))});
  add_fifo_members(members, step, body);
  add_message_attributes(members, step);
  const WireAnswer answer = call(step, "sqs", "SendMessage", std::move(members));
  if (answer.status != 200) return failure("sqs", answer);
  check_digests(answer.result.get("MD5OfMessageBody"), answer.result.get("MD5OfMessageAttributes"), body,
                message_attributes_of(step));
  return {"ok", {}};
}
Answer WireDriver::send_batch(const Step& step) {
  std::vector<json::Value> entries;
  for (std::size_t i = 1; i < step.words.size(); ++i) {
    const std::string body = body_of(step, i);
    std::vector<json::Member> entry{{"Id", text(step.option("id").value_or(fmt::format("entry-{}", i - 1)))},
                                    {"MessageBody", text(body)}};
    if (const auto delay = step.option("delay")) entry.push_back({"DelaySeconds", number(seconds_of(*delay))});
    add_fifo_members(entry, step, body);
    add_message_attributes(entry, step);
    entries.push_back(object(std::move(entry)));
  }
  const std::size_t count = entries.size();
  return batch(step, "sqs", "SendMessageBatch",
               {queue_member(step), {"Entries", json::Value::array(std::move(entries))}}, count,
               [&](const Element& sent) {
                 const auto entry =
                     static_cast<std::size_t>(number_of(sent.get("Id").substr(std::string_view("entry-").size())));
                 check_digests(sent.get("MD5OfMessageBody"), sent.get("MD5OfMessageAttributes"),
                               body_of(step, entry + 1), message_attributes_of(step));
               });
}

Answer WireDriver::receive(const Step& step) {
  const std::vector<std::string> all{"All"};
  WireRequest request{"sqs",
                      "ReceiveMessage",
                      {queue_member(step), {"AttributeNames", list(all)}, {"MessageAttributeNames", list(all)}}};
  if (const auto max = step.option("max")) request.members.push_back({"MaxNumberOfMessages", number(number_of(*max))});
  if (const auto time = step.option("visibility"))
    request.members.push_back({"VisibilityTimeout", number(seconds_of(*time))});
  if (const auto wait = step.option("wait")) request.members.push_back({"WaitTimeSeconds", number(seconds_of(*wait))});
  if (const auto attempt = step.option("attempt"))
    request.members.push_back({"ReceiveRequestAttemptId", text(*attempt)});
  const auto answer = exchange(step, request);
  if (!answer) {
    waiting_.insert_or_assign(step.client, std::move(request));
    return {"waiting", {}};
  }
  return received(*answer);
}

Answer WireDriver::received(const WireAnswer& answer) {
  if (answer.status != 200) return failure("sqs", answer);
  Answer out;
  std::string sequence;
  for (const Element* message : answer.result.all("Message")) {
    const std::string body = message->get("Body");
    std::string shown = shown_body(body);
    if (const auto document = json::parse(body);
        document && document->find_string("Type") == kEnvelope && document->find("TopicArn") != nullptr)
      shown = (document->find("Replayed") != nullptr ? "replayed:" : "envelope:") + shown_body(document->find_string("Message").value_or("?"));
    out.deliveries.push_back({std::move(shown), std::to_string(received_.size())});
    Received& one = received_.emplace_back();
    one.handle = message->get("ReceiptHandle");
    one.attributes = message->pairs("Attribute", "Name", "Value");
    std::vector<TypedValue> attributes;
    for (const Element* attribute : message->all("MessageAttribute")) {
      const Element* const value = attribute->find("Value");
      TypedValue& typed = attributes.emplace_back(TypedValue{attribute->get("Name"), value->get("DataType"),
                                                             value->get("StringValue") + value->get("BinaryValue")});
      one.message_attributes +=
          fmt::format("{}{}:{}:{}", one.message_attributes.empty() ? "" : ",", typed.name, typed.type, typed.value);
    }
    check_digests(message->get("MD5OfBody"), message->get("MD5OfMessageAttributes"), body, attributes);
    // One receive of a FIFO queue gives each group in the order of its sequence numbers; groups are whole.
    const std::string group = one.attributes["MessageGroupId"];
    const std::string number = one.attributes["SequenceNumber"];
    if (!number.empty() && number.size() != 20) wrong("a sequence number has 20 digits, not " + number);
    if (!number.empty() && sequence.starts_with(group + "/") && sequence >= group + "/" + number)
      wrong("sequence numbers of group " + group + " run back");
    sequence = group + "/" + number;
  }
  if (out.deliveries.empty()) out.word = "nothing";
  return out;
}

Answer WireDriver::delete_message(const Step& step) {
  return simple(step, "sqs", "DeleteMessage",
                {queue_member(step), {"ReceiptHandle", text(handle_of(step.words.at(1)))}});
}
Answer WireDriver::delete_batch(const Step& step) {
  std::vector<json::Value> entries;
  for (std::size_t i = 1; i < step.words.size(); ++i)
    entries.push_back(
        object({{"Id", text(fmt::format("entry-{}", i - 1))}, {"ReceiptHandle", text(handle_of(step.words[i]))}}));
  return batch(step, "sqs", "DeleteMessageBatch",
               {queue_member(step), {"Entries", json::Value::array(std::move(entries))}}, step.words.size() - 1);
}
Answer WireDriver::extend(const Step& step) {
  return simple(step, "sqs", "ChangeMessageVisibility",
                {queue_member(step),
                 {"ReceiptHandle", text(handle_of(step.words.at(1)))},
                 {"VisibilityTimeout", number(seconds_of(step.words.at(2)))}});
}
Answer WireDriver::extend_batch(const Step& step) {
  std::vector<json::Value> entries;
  for (std::size_t i = 2; i < step.words.size(); ++i)
    entries.push_back(object({{"Id", text(fmt::format("entry-{}", i - 2))},
                              {"ReceiptHandle", text(handle_of(step.words[i]))},
                              {"VisibilityTimeout", number(seconds_of(step.words[1]))}}));
  return batch(step, "sqs", "ChangeMessageVisibilityBatch",
               {queue_member(step), {"Entries", json::Value::array(std::move(entries))}}, step.words.size() - 2);
}
Answer WireDriver::details(const Step& step) {
  const Received& message = received_.at(static_cast<std::size_t>(number_of(step.words.at(0))));
  const auto value = [&](const char* name) {
    const auto found = message.attributes.find(name);
    return found == message.attributes.end() ? std::string{} : found->second;
  };
  const std::string source = value("DeadLetterQueueSourceArn");
  return {fmt::format("count={} sent={} first={} source={} attributes={}", value("ApproximateReceiveCount"),
                      since_start(value("SentTimestamp")), since_start(value("ApproximateFirstReceiveTimestamp")),
                      source.empty() ? "none" : last_part(source),
                      message.message_attributes.empty() ? "none" : message.message_attributes),
          {}};
}
Answer WireDriver::lost(const Step& step) {
  std::vector<std::string> handles;
  for (const std::string& word : step.words) handles.push_back(handle_of(word));
  return {server_->lose(handles) ? "ok" : "impossible", {}};
}
Answer WireDriver::leave(const Step& step) {
  if (!waiting_.contains(step.client) || !server_->leave(step.client)) return {"nobody waits", {}};
  waiting_.erase(step.client);
  return {"ok", {}};
}
Answer WireDriver::restart(const Step& step) {
  waiting_.clear();
  return {server_->restart(step.option("lose_receives").value_or("false") == "true"), {}};
}

// ---- Topics

Answer WireDriver::topic(const Step& step) {
  Members attributes;
  for (const auto& [name, value] : step.options)
    if (!name.starts_with("tag.")) attributes.push_back({topic_attribute(name), text(topic_value(name, value))});
  Members members{{"Name", text(topic_key(step.words.at(0)).name)}};
  if (!attributes.empty()) members.push_back({"Attributes", object(std::move(attributes))});
  if (auto tags = tag_list(step); tags.size() != 0) members.push_back({"Tags", std::move(tags)});
  return simple(step, "sns", "CreateTopic", std::move(members));
}
Answer WireDriver::set_topic(const Step& step) {
  for (const auto& [name, value] : step.options) {
    Answer answer =
        simple(step, "sns", "SetTopicAttributes",
               {topic_member(step), {"AttributeName", text(topic_attribute(name))}, {"AttributeValue", text(topic_value(name, value))}});
    if (answer.word != "ok") return answer;
  }
  return {"ok", {}};
}
Answer WireDriver::delete_topic(const Step& step) { return simple(step, "sns", "DeleteTopic", {topic_member(step)}); }
Answer WireDriver::list_topics(const Step& step) {
  const WireAnswer answer = call(step, "sns", "ListTopics", {});
  if (answer.status != 200) return failure("sns", answer);
  std::vector<std::string> names;
  const Element* const topics = answer.result.find("Topics");
  for (const Element* one : topics->all("member")) names.push_back(last_part(one->get("TopicArn")));
  return {joined(names), {}};
}
Answer WireDriver::subscribe(const Step& step) {
  Members members{topic_member(step),
                  {"Protocol", text(step.option("protocol").value_or("sqs"))},
                  {"Endpoint", text(step.option("endpoint").value_or(queue_arn(step.words.at(1))))},
                  {"ReturnSubscriptionArn", text("true")}};
  Members attributes;
  for (auto& [name, value] : subscription_attributes(step)) attributes.push_back({name, text(value)});
  if (!attributes.empty()) members.push_back({"Attributes", object(std::move(attributes))});
  const WireAnswer answer = call(step, "sns", "Subscribe", std::move(members));
  if (answer.status != 200) return failure("sns", answer);
  subscriptions_.insert_or_assign(step.words.at(0) + " " + step.words.at(1), answer.result.get("SubscriptionArn"));
  return {"ok", {}};
}
std::string WireDriver::subscription_arn(const Step& step) const {
  const auto known = subscriptions_.find(step.words.at(0) + " " + step.words.at(1));
  return known != subscriptions_.end() ? known->second
                                       : topic_arn(step.words.at(0)) + ":00000000-0000-4000-8000-000000000000";
}
Answer WireDriver::set_subscription(const Step& step) {
  for (const auto& [name, value] : subscription_attributes(step)) {
    Answer answer = simple(step, "sns", "SetSubscriptionAttributes",
                           {{"SubscriptionArn", text(subscription_arn(step))},
                            {"AttributeName", text(name)},
                            {"AttributeValue", text(value)}});
    if (answer.word != "ok") return answer;
  }
  return {"ok", {}};
}
Answer WireDriver::confirm(const Step& step) {
  return simple(step, "sns", "ConfirmSubscription", {topic_member(step), {"Token", text(step.words.at(1))}});
}
Answer WireDriver::replay_status(const Step& step) {
  const WireAnswer answer = call(step, "sns", "GetSubscriptionAttributes", {{"SubscriptionArn", text(subscription_arn(step))}});
  if (answer.status != 200) return failure("sns", answer);
  const Element* const attributes = answer.result.find("Attributes");
  for (const auto& [name, value] : attributes->pairs("entry", "key", "value")) {
    if (name != "ReplayStatus") continue;
    std::string status = value == "In progress" ? "in_progress" : value;
    std::ranges::transform(status, status.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return {status, {}};
  }
  return {"none", {}};
}
Answer WireDriver::unsubscribe(const Step& step) {
  return simple(step, "sns", "Unsubscribe", {{"SubscriptionArn", text(subscription_arn(step))}});
}
Answer WireDriver::subscriptions(const Step& step) {
  const WireAnswer answer = step.words.empty() ? call(step, "sns", "ListSubscriptions", {})
                                               : call(step, "sns", "ListSubscriptionsByTopic", {topic_member(step)});
  if (answer.status != 200) return failure("sns", answer);
  std::vector<std::string> names;
  for (const Element* one : answer.result.find("Subscriptions")->all("member"))
    names.push_back(last_part(one->get("Endpoint")));
  return {joined(names), {}};
}
Answer WireDriver::publish(const Step& step) {
  const std::string body = body_of(step, 1);
  Members members{topic_member(step), {"Message", text(body)}};
  add_fifo_members(members, step, body);
  add_message_attributes(members, step);
  return simple(step, "sns", "Publish", std::move(members));
}
Answer WireDriver::publish_batch(const Step& step) {
  std::vector<json::Value> entries;
  for (std::size_t i = 1; i < step.words.size(); ++i) {
    const std::string body = body_of(step, i);
    std::vector<json::Member> entry{{"Id", text(step.option("id").value_or(fmt::format("entry-{}", i - 1)))},
                                    {"Message", text(body)}};
    add_fifo_members(entry, step, body);
    add_message_attributes(entry, step);
    entries.push_back(object(std::move(entry)));
  }
  const std::size_t count = entries.size();
  return batch(step, "sns", "PublishBatch",
               {topic_member(step), {"PublishBatchRequestEntries", json::Value::array(std::move(entries))}}, count);
}
Answer WireDriver::permit_topic(const Step& step) {
  const std::span words{step.words};
  return simple(step, "sns", "AddPermission",
                {topic_member(step),
                 {"Label", text(words[1])},
                 {"AWSAccountId", list(words.subspan(2, 1))},
                 {"ActionName", list(words.subspan(3))}});
}
Answer WireDriver::forbid_topic(const Step& step) {
  return simple(step, "sns", "RemovePermission", {topic_member(step), {"Label", text(step.words.at(1))}});
}

// ---- The server, and permission

Answer WireDriver::metrics(const Step& step) { return server_->metrics(step.words.at(0)); }
Answer WireDriver::storage(const Step& step) {
  server_->set_storage_full(step.words.at(0) == "full");
  return {"ok", {}};
}
/// The policy as the server shows it to its owner, as `fanfare policy explain --endpoint` reads it.
Answer WireDriver::explain(const Step& step) {
  const std::string& action = step.words.at(0);
  const std::string& name = step.words.at(1);
  Step root;
  root.client = step.client;
  std::map<std::string, std::string> attributes;
  const bool is_topic = action.starts_with("sns:");
  root.caller = is_topic ? topic_key(name).account : queue_key(name).account;
  const std::vector<std::string> policy{"Policy"};
  Members members;
  if (is_topic) {
    members.push_back({"TopicArn", text(topic_arn(name))});
  } else {
    members.push_back({"QueueUrl", text(queue_url(name))});
    members.push_back({"AttributeNames", list(policy)});
  }
  const WireAnswer answer =
      call(root, is_topic ? "sns" : "sqs", is_topic ? "GetTopicAttributes" : "GetQueueAttributes", std::move(members));
  if (answer.status != 200) return failure(is_topic ? "sns" : "sqs", answer);
  if (!is_topic)
    attributes = answer.result.pairs("Attribute", "Name", "Value");
  else if (const Element* all = answer.result.find("Attributes"))
    attributes = all->pairs("entry", "key", "value");
  return cast_.explain(step.caller, action, is_topic ? topic_arn(name) : queue_arn(name), attributes["Policy"]);
}
Answer WireDriver::why(const Step&) { return {refusal_words(refusal_), {}}; }

}  // namespace fanfare::scenarios
