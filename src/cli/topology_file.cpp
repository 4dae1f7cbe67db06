#include "cli/topology_file.h"

#include <fmt/format.h>

#include "base/time.h"
#include "wire/json/writer.h"

namespace fanfare::cli {
namespace {

namespace json = wire::json;

bool is_true(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && (value->as_string() == "true" || value->as_bool() == true);
}

std::string redrive_policy(std::string_view target, std::string_view max_receives) {
  return fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":{}}})", target, max_receives);
}

}  // namespace

std::optional<std::string> describe_topology_file(const json::Value& file, const std::string& region,
                                                  const std::string& account, policy::DescribedTopology& topology) {
  if (!file.is_object()) return "a topology has the keys version, topics, queues, subscriptions and access";
  const auto queue_arn = [&](std::string_view name) {
    return fmt::format("arn:aws:sqs:{}:{}:{}", region, account, name);
  };
  const auto topic_arn = [&](std::string_view name) {
    return fmt::format("arn:aws:sns:{}:{}:{}", region, account, name);
  };
  const auto dead_letters_of = [](const std::string& name) {
    return name.ends_with(".fifo") ? name.substr(0, name.size() - 5) + "-dlq.fifo" : name + "-dlq";
  };
  if (const json::Value* topics = file.find("topics"))
    for (const json::Member& member : topics->members())
      topology.topics[topic_arn(member.key)]["SignatureVersion"] =
          member.value.find_string("signature_version").value_or("2");
  if (const json::Value* queues = file.find("queues"))
    for (const auto& [name, queue] : queues->members()) {
      auto& attributes = topology.queues[queue_arn(name)];
      attributes["SqsManagedSseEnabled"] = "true";
      attributes["MessageRetentionPeriod"] = "345600";
      attributes["VisibilityTimeout"] = "30";
      for (const auto& [key, attribute] : {std::pair{"visibility", "VisibilityTimeout"},
                                           {"retention", "MessageRetentionPeriod"},
                                           {"handler", "HandlerSeconds"}}) {
        const auto text = queue.find_string(key);
        if (!text) continue;
        const auto duration = parse_duration(*text);
        if (!duration) return fmt::format("queues.{}.{}: '{}' is no duration such as 30s or 5m", name, key, *text);
        attributes[attribute] = std::to_string(duration->count() / 1000);
      }
      if (is_true(queue, "claim_check")) attributes["ClaimCheck"] = "true";
      const json::Value* dead_letters = queue.find("dlq");
      if (dead_letters == nullptr) continue;
      const std::string target = queue_arn(dead_letters_of(name));
      attributes["RedrivePolicy"] = redrive_policy(target, dead_letters->find_string("max_receives").value_or("5"));
      auto& other = topology.queues[target];
      other["MessageRetentionPeriod"] = "1209600";
      other["SqsManagedSseEnabled"] = "true";
      other["RedriveAllowPolicy"] =
          fmt::format(R"({{"redrivePermission":"byQueue","sourceQueueArns":["{}"]}})", queue_arn(name));
    }
  std::size_t index = 0;
  const json::Value* subscriptions = file.find("subscriptions");
  for (const json::Value& entry : subscriptions == nullptr ? std::span<const json::Value>{} : subscriptions->items()) {
    const std::string where = fmt::format("subscriptions[{}]", index++);
    const auto topic = entry.find_string("topic");
    const auto queue = entry.find_string("queue");
    if (!topic || !queue) return fmt::format("{}: topic and queue are needed", where);
    const std::string from = topic_arn(*topic);
    const std::string to = queue_arn(*queue);
    if (!topology.topics.contains(from)) return fmt::format("{}: the topic {} is not among topics", where, *topic);
    if (!topology.queues.contains(to)) return fmt::format("{}: the queue {} is not among queues", where, *queue);
    auto& attributes = topology.subscriptions[fmt::format("{}:{}", from, where)];
    attributes["TopicArn"] = from;
    attributes["Protocol"] = "sqs";
    attributes["Endpoint"] = to;
    attributes["RawMessageDelivery"] = is_true(entry, "raw") ? "true" : "false";
    if (const json::Value* filter = entry.find("filter")) attributes["FilterPolicy"] = filter->to_string();
    if (entry.find_string("filter_scope") == "body") attributes["FilterPolicyScope"] = "MessageBody";
    const auto admit = [&](const std::string& queue_to_admit) {
      // As apply writes it; the statements of several topics in one list.
      auto& known = topology.queues[queue_to_admit]["SourceArns"];
      known += (known.empty() ? "" : ",") + json::to_quoted(from);
      topology.queues[queue_to_admit]["Policy"] = fmt::format(
          R"({{"Version":"2012-10-17","Statement":[{{"Sid":"deliveries","Effect":"Allow","Principal":{{"Service":"sns.amazonaws.com"}},"Action":"sqs:SendMessage","Resource":"{0}","Condition":{{"ArnEquals":{{"aws:SourceArn":[{1}]}}}}}},{{"Sid":"tls","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"{0}","Condition":{{"Bool":{{"aws:SecureTransport":"false"}}}}}}]}})",
          queue_to_admit, known);
    };
    admit(to);
    if (is_true(entry, "dlq")) {
      const std::string target = queue_arn(dead_letters_of(std::string(*queue)));
      attributes["RedrivePolicy"] = redrive_policy(target, "1");
      auto& other = topology.queues[target];
      other.try_emplace("MessageRetentionPeriod", "1209600");
      other.try_emplace("RedriveAllowPolicy", R"({"redrivePermission":"allowAll"})");
      admit(target);
    }
  }
  return std::nullopt;
}

}  // namespace fanfare::cli
