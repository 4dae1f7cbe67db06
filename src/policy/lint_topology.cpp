// What queues, topics and subscriptions show together.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "policy/authorize.h"
#include "policy/lint.h"
#include "wire/json/value.h"

namespace fanfare::policy {
namespace json = wire::json;
namespace {

using Attributes = DescribedTopology::Attributes;

std::string_view text_of(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? std::string_view{} : std::string_view(found->second);
}

std::optional<std::int64_t> number_of(const Attributes& attributes, std::string_view name) {
  const std::string_view text = text_of(attributes, name);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Redrive {
  std::string target;
  std::optional<std::int64_t> max_receives;
};

std::optional<Redrive> redrive_of(const Attributes& attributes) {
  const auto value = json::parse(text_of(attributes, "RedrivePolicy"));
  if (!value || !value->find_string("deadLetterTargetArn")) return std::nullopt;
  Redrive out{std::string(*value->find_string("deadLetterTargetArn")), std::nullopt};
  if (const json::Value* most = value->find("maxReceiveCount")) {
    out.max_receives = most->as_int64();
    if (const auto text = most->as_string()) {
      std::int64_t number = 0;
      if (std::from_chars(text->data(), text->data() + text->size(), number).ec == std::errc{})
        out.max_receives = number;
    }
  }
  return out;
}

/// Account and region: "us-east-1:000000000000".
std::string_view home_of(std::string_view arn) {
  for (int i = 0; i < 3; ++i) arn.remove_prefix(std::min(arn.find(':') + 1, arn.size()));
  return arn.substr(0, arn.rfind(':'));
}

class TopologyLint {
 public:
  explicit TopologyLint(const DescribedTopology& topology) : topology_(topology) {}

  std::vector<Finding> run() {
    for (const auto& [arn, queue] : topology_.queues) {
      if (const auto redrive = redrive_of(queue)) dead_letter_queues_.insert(redrive->target);
    }
    for (const auto& [arn, subscription] : topology_.subscriptions) {
      if (const auto redrive = redrive_of(subscription)) dead_letter_queues_.insert(redrive->target);
      if (text_of(subscription, "Protocol") == "sqs")
        subscribed_.insert(std::string(text_of(subscription, "Endpoint")));
    }
    for (const auto& [arn, queue] : topology_.queues) look_at_queue(arn, queue);
    for (const auto& [arn, topic] : topology_.topics) look_at_topic(arn, topic);
    for (const auto& [arn, subscription] : topology_.subscriptions) look_at_subscription(arn, subscription);
    look_at_raw_delivery();
    look_at_admitted_topics();
    return std::move(findings_);
  }

 private:
  void add(std::string_view id, std::string_view place, std::string detail) {
    findings_.push_back({&*std::ranges::find(lint_rules(), id, &LintRule::id),
                         std::string(place),
                         std::nullopt,
                         {},
                         std::move(detail)});
  }

  void look_at_policy(std::string_view arn, const Attributes& attributes, ResourceKind kind) {
    const std::string_view text = text_of(attributes, "Policy");
    if (text.empty()) return;
    const auto parsed = Policy::parse(text);
    if (!parsed) return add("D036", arn, parsed.error().message());
    for (Finding& finding : lint_policy(*parsed, kind, arn, arn, text.size())) {
      // The default policy of a topic is the service's own.
      if (kind == ResourceKind::Topic && finding.sid == "__default_statement_ID") continue;
      findings_.push_back(std::move(finding));
    }
  }

  void look_at_queue(const std::string& arn, const Attributes& queue) {
    look_at_policy(arn, queue, ResourceKind::Queue);
    const bool fifo = arn.ends_with(".fifo");
    const std::string_view key = text_of(queue, "KmsMasterKeyId");
    if (key.empty() && text_of(queue, "SqsManagedSseEnabled") == "false") add("D012", arn, {});
    if (key == "alias/aws/sqs" && subscribed_.contains(arn)) add("D013", arn, std::string(key));
    const auto redrive = redrive_of(queue);
    const bool is_dead_letter_queue = dead_letter_queues_.contains(arn);
    if (!redrive && !is_dead_letter_queue) add("D014", arn, {});
    if (is_dead_letter_queue && text_of(queue, "RedriveAllowPolicy").empty()) add("D017", arn, {});
    if (redrive) {
      if (redrive->max_receives && *redrive->max_receives < (fifo ? 3 : 2))
        add("D020", arn, fmt::format("maxReceiveCount is {}", *redrive->max_receives));
      const auto target = topology_.queues.find(redrive->target);
      if (redrive->target.ends_with(".fifo") != fifo) {
        add("D016", arn, fmt::format("{} is of another type", redrive->target));
      } else if (home_of(redrive->target) != home_of(arn)) {
        add("D016", arn, fmt::format("{} is in another account or region", redrive->target));
      } else if (target == topology_.queues.end()) {
        add("D016", arn, fmt::format("{} does not exist", redrive->target));
      } else {
        const auto own = number_of(queue, "MessageRetentionPeriod");
        const auto other = number_of(target->second, "MessageRetentionPeriod");
        if (own && other && *other <= *own) add("D018", arn, fmt::format("{} s there, {} s here", *other, *own));
      }
    }
    const auto size = number_of(queue, "MaximumMessageSize");
    if (size && *size < 262'144 && subscribed_.contains(arn))
      add("D024", arn, fmt::format("MaximumMessageSize is {}", *size));
    if (text_of(queue, "FifoThroughputLimit") == "perMessageGroupId" &&
        text_of(queue, "DeduplicationScope") != "messageGroup")
      add("D030", arn, {});
    const auto visibility = number_of(queue, "VisibilityTimeout");
    const auto handler = number_of(queue, "HandlerSeconds");  // a topology file may tell it
    if (visibility && handler && *visibility < 6 * *handler)
      add("D019", arn, fmt::format("{} s of visibility, {} s of work", *visibility, *handler));
  }

  void look_at_topic(const std::string& arn, const Attributes& topic) {
    look_at_policy(arn, topic, ResourceKind::Topic);
    if (const auto version = text_of(topic, "SignatureVersion"); version.empty() || version == "1")
      add("D028", arn, {});
  }

  bool admits(const Attributes& queue, std::string_view queue_arn, std::string_view topic_arn, std::string& why) const {
    const auto parsed = Policy::parse(text_of(queue, "Policy"));
    const std::string_view account = account_of_arn(topic_arn);
    const ContextEntry keys[] = {{"aws:SourceArn", {&topic_arn, 1}}, {"aws:SourceAccount", {&account, 1}}};
    Question question;
    question.request.principal.kind = Principal::Kind::Service;
    question.request.principal.service = "sns.amazonaws.com";
    question.request.action = "sqs:SendMessage";
    question.request.resource = queue_arn;
    question.request.service_context = keys;
    if (parsed) question.resource_policy = &*parsed;
    const Outcome outcome = authorize(question);
    if (outcome.verdict != Verdict::Allow) why = sentence(question, outcome);
    return outcome.verdict == Verdict::Allow;
  }

  void look_at_subscription(const std::string& arn, const Attributes& subscription) {
    const std::string topic_arn{text_of(subscription, "TopicArn")};
    const std::string endpoint{text_of(subscription, "Endpoint")};
    if (text_of(subscription, "PendingConfirmation") == "true" || arn.starts_with("PendingConfirmation"))
      add("D022", topic_arn, endpoint);
    if (text_of(subscription, "FilterPolicyScope") != "MessageBody") {
      const auto filter = json::parse(text_of(subscription, "FilterPolicy"));
      if (filter && filter->is_object())
        for (const json::Member& member : filter->members())
          if (member.value.is_object()) add("D035", arn, fmt::format("the key \"{}\" is nested", member.key));
    }
    std::string why;
    const auto queue = topology_.queues.find(endpoint);
    if (text_of(subscription, "Protocol") == "sqs")
      look_at_claim_check(arn, subscription, queue == topology_.queues.end() ? nullptr : &queue->second);
    if (text_of(subscription, "Protocol") == "sqs" && queue != topology_.queues.end() &&
        !admits(queue->second, endpoint, topic_arn, why))
      add("D021", arn, fmt::format("{} to {}: {}", topic_arn, endpoint, why));
    const auto redrive = redrive_of(subscription);
    if (!redrive) return add("D015", arn, {});
    const auto target = topology_.queues.find(redrive->target);
    if (redrive->target.ends_with(".fifo") != topic_arn.ends_with(".fifo")) {
      add("D016", arn, fmt::format("{} is of another type", redrive->target));
    } else if (home_of(redrive->target) != home_of(topic_arn)) {
      add("D016", arn, fmt::format("{} is in another account or region", redrive->target));
    } else if (target == topology_.queues.end()) {
      add("D016", arn, fmt::format("{} does not exist", redrive->target));
    } else if (!admits(target->second, redrive->target, topic_arn, why)) {
      add("D016", arn, fmt::format("the policy of {}: {}", redrive->target, why));
    } else if (text_of(target->second, "KmsMasterKeyId") == "alias/aws/sqs") {
      add("D016", arn, fmt::format("SNS cannot use the key of {}: alias/aws/sqs", redrive->target));
    }
  }

  void look_at_raw_delivery() {
    std::map<std::string, std::set<bool>> forms;
    for (const auto& [arn, subscription] : topology_.subscriptions)
      if (text_of(subscription, "Protocol") == "sqs")
        forms[std::string(text_of(subscription, "Endpoint"))].insert(text_of(subscription, "RawMessageDelivery") ==
                                                                     "true");
    for (const auto& [queue, seen] : forms)
      if (seen.size() > 1) add("D023", queue, {});
  }

  /// A pointer to a large message instead of the message. A topology file says who uses it; a filter on the attribute that
  /// goes with the pointer says it, too. [Extended client libraries of SQS and SNS]
  void look_at_claim_check(const std::string& arn, const Attributes& subscription, const Attributes* queue) {
    const std::string_view filter = text_of(subscription, "FilterPolicy");
    const bool filtered = filter.find("\"ExtendedPayloadSize\"") != std::string_view::npos ||
                          filter.find("\"SQSLargePayloadSize\"") != std::string_view::npos;
    const bool told = queue != nullptr && text_of(*queue, "ClaimCheck") == "true";
    if (!filtered && !told) return;
    const std::string_view queue_arn = text_of(subscription, "Endpoint");
    if (text_of(subscription, "RawMessageDelivery") != "true")
      add("D029", arn, fmt::format("{} resolves pointers, RawMessageDelivery is not true", queue_arn));
    if (told && !filter.empty() && text_of(subscription, "FilterPolicyScope") == "MessageBody")
      add("D029", arn, fmt::format("{} resolves pointers, and the filter looks at the body", queue_arn));
  }

  /// Topics that a queue's statements name in full, and that have no subscription there.
  void look_at_admitted_topics() {
    for (const auto& [arn, queue] : topology_.queues) {
      if (dead_letter_queues_.contains(arn)) continue;  // topics send there what they could not deliver elsewhere
      const auto parsed = Policy::parse(text_of(queue, "Policy"));
      if (!parsed) continue;
      for (const Statement& statement : parsed->statements()) {
        if (statement.effect != Effect::Allow) continue;
        for (const Condition& condition : statement.conditions)
          if (equal_ignoring_case(condition.key, "aws:SourceArn") && !condition.op.negated)
            for (const ConditionValue& value : condition.values) look_at_admitted_topic(arn, statement, value.text);
      }
    }
  }
  void look_at_admitted_topic(const std::string& queue, const Statement& statement, const std::string& topic) {
    if (!topic.starts_with("arn:aws:sns:") || topic.find_first_of("*?$") != std::string::npos) return;
    if (!topology_.topics.contains(topic) && home_of(topic) != home_of(queue)) return;  // of others: not seen here
    const bool subscribed = std::ranges::any_of(topology_.subscriptions, [&](const auto& one) {
      return text_of(one.second, "TopicArn") == topic && text_of(one.second, "Endpoint") == queue;
    });
    if (subscribed) return;
    add("D037", queue, topic);
    findings_.back().sid = statement.sid;
  }

  const DescribedTopology& topology_;
  std::set<std::string, std::less<>> dead_letter_queues_;
  std::set<std::string, std::less<>> subscribed_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> lint_topology(const DescribedTopology& topology) { return TopologyLint(topology).run(); }

}  // namespace fanfare::policy
