// The rules and the forms of the findings; lint_policy.cpp and lint_topology.cpp look for them.
#include "policy/lint.h"

#include <fmt/format.h>

#include <array>

#include "wire/json/writer.h"

namespace fanfare::policy {
namespace json = wire::json;
namespace {

using enum Severity;
// clang-format off
constexpr std::array kRules = {
    LintRule{"D001", Error, "Everybody is allowed without a condition", "anybody on the network, of any account, may do this", "name the accounts or roles, or add a condition on aws:SourceArn, aws:PrincipalOrgID or aws:PrincipalArn", "CKV_AWS_168 CKV_AWS_169 SQS.3 SNS.4"},
    LintRule{"D002", Error, "A service is allowed without saying for whom it acts", "that service acts for every account: any topic of anybody may use it", "add ArnEquals aws:SourceArn, or StringEquals aws:SourceAccount", ""},
    LintRule{"D003", Error, "aws:SourceArn leaves the account or the topic open", "topics of other accounts match, too", "write the whole ARN, or add StringEquals aws:SourceAccount", ""},
    LintRule{"D004", Warning, "aws:PrincipalOrgID does not admit SNS", "a service has no organisation: deliveries do not match this statement", "add a statement for sns.amazonaws.com with aws:SourceArn", ""},
    LintRule{"D005", Error, "A Deny on the network hits deliveries", "services have no VPC and addresses of their own; a negated operator matches when its key is absent, with IfExists too", "add Bool aws:PrincipalIsAWSService false to the Deny", ""},
    LintRule{"D006", Error, "NotPrincipal with Allow", "everybody but the listed is allowed, anonymous callers among them", "list in Principal who may", "CKV_AWS_168 F7 F8 NOTPRINCIPAL_WITH_ALLOW"},
    LintRule{"D007", Warning, "ForAllValues in an Allow", "it also holds when the key is absent", "add Null false for the key, or use ForAnyValue", ""},
    LintRule{"D008", Error, "A wildcard in an operator that knows none", "StringEquals compares the star as a star", "use StringLike, or ArnLike for ARNs", ""},
    LintRule{"D009", Error, "A variable in a document of 2008", "without Version 2012-10-17, ${...} is literal text", "set Version to 2012-10-17", "OLD_VERSION NO_VERSION"},
    LintRule{"D010", Warning, "All actions are allowed", "who may send may also receive, purge and more", "name the actions", "CKV_AWS_72 AWS-0097 F20"},
    LintRule{"D011", Note, "Unencrypted transport is allowed", "nothing denies requests over plain HTTP", "add a Deny with Bool aws:SecureTransport false", "SQS4 SNS3"},
    LintRule{"D012", Warning, "Messages are not encrypted at rest", "neither SSE-SQS nor a key is set", "set SqsManagedSseEnabled or KmsMasterKeyId", "CKV_AWS_27 AWS-0096"},
    LintRule{"D013", Error, "A key that SNS cannot use on a subscribed queue", "the AWS-managed key cannot be granted to sns.amazonaws.com: deliveries fail", "use SSE-SQS, or a key of your own whose policy admits sns.amazonaws.com", ""},
    LintRule{"D014", Warning, "A queue without a dead-letter queue", "a message that always fails comes back until it expires", "set RedrivePolicy with a dead-letter queue", "SQS3 CT.SQS.PR.1"},
    LintRule{"D015", Warning, "A subscription without a dead-letter queue", "SNS discards what the queue's policy refuses at once", "set the subscription's RedrivePolicy", "SNSRedrivePolicy"},
    LintRule{"D016", Error, "A dead-letter queue that cannot take the messages", "it is missing, of another type, account or region, or its policy does not admit the topic", "use a queue of the same type beside it, and allow sns.amazonaws.com with aws:SourceArn there", ""},
    LintRule{"D017", Note, "A dead-letter queue open to every queue", "any queue of the account may use it", "set RedriveAllowPolicy to byQueue with its sources", ""},
    LintRule{"D018", Warning, "A dead-letter queue that keeps no longer than its source", "the age counts from the first send: messages expire soon after they are moved", "give the dead-letter queue a longer MessageRetentionPeriod", ""},
    LintRule{"D019", Warning, "Visibility shorter than the handler's time", "a message is delivered again while it is worked on", "make the visibility timeout at least six times the handler's time", ""},
    LintRule{"D020", Warning, "maxReceiveCount is too low", "one lost response, or one stopped process, sends a healthy message to the dead letters; in FIFO queues the rest of its group, too", "use 3 or more, or release messages with visibility 0", ""},
    LintRule{"D021", Error, "A subscription that the queue's policy does not admit", "publishing succeeds and nothing arrives", "allow sns.amazonaws.com sqs:SendMessage with ArnEquals aws:SourceArn", ""},
    LintRule{"D022", Warning, "A subscription that nobody has confirmed", "nothing is delivered before it is", "confirm it, or remove it", ""},
    LintRule{"D023", Warning, "Raw and wrapped messages in one queue", "the consumer must tell both forms apart", "set RawMessageDelivery alike on all subscriptions of the queue", ""},
    LintRule{"D024", Warning, "A queue that takes less than its topic", "what is longer is lost without a word", "set MaximumMessageSize to at least 262144", ""},
    LintRule{"D025", Note, "A policy near its limit", "the next statement may be refused", "join statements: one with a list of aws:SourceArn values", ""},
    LintRule{"D026", Note, "aws:SourceOwner is a key of old", "few services still set it, SNS not for its deliveries", "use aws:SourceAccount", ""},
    LintRule{"D027", Warning, "A principal that no longer exists", "the user or role was deleted; a new one of the same name does not match", "name the new principal, or remove this one", ""},
    LintRule{"D028", Note, "Signatures with SHA-1", "version 1 is signed with SHA-1", "set the topic's SignatureVersion to 2", ""},
    LintRule{"D029", Warning, "A claim check that does not get through", "the pointer to a large message reaches its consumer only as the body of a raw delivery; wrapped, no client resolves it, and a filter on the body sees the pointer", "set RawMessageDelivery to true, and filter on attributes", ""},
    LintRule{"D030", Error, "A throughput limit that its scope forbids", "perMessageGroupId needs the deduplication scope messageGroup", "set DeduplicationScope to messageGroup", ""},
    LintRule{"D031", Warning, "A statement that can never match", "its resource or its actions are not this resource's", "name this resource, and actions of its service", ""},
    LintRule{"D032", Error, "A Deny that locks out its own account", "also the root of the account cannot mend this policy any more", "spare the account's root, or deny only what must be denied", ""},
    LintRule{"D033", Warning, "A condition key that nobody sets", "a positive operator never holds, a negated one always does", "check the key's spelling", "UNKNOWN_CONDITION_FOR_ACTION"},
    LintRule{"D034", Note, "Two statements of one Sid", "tools that look for a statement by its Sid find the first", "give each its own Sid", "DUPLICATE_SID"},
    LintRule{"D035", Error, "A filter on the body in the scope of attributes", "nested keys are refused, and message attributes never match a body's keys", "set FilterPolicyScope to MessageBody", ""},
    LintRule{"D036", Error, "A malformed policy", "it is refused, and what refused it counts as no policy", "mend what the detail names", ""},
    LintRule{"D037", Note, "A statement for a topic without a subscription", "the queue admits a topic that delivers nothing to it: left over, or a subscription is missing", "subscribe the queue, or take the topic out of the statement", ""},
};
// clang-format on

std::string_view word(Severity severity) {
  switch (severity) {
    case Error: return "error";
    case Warning: return "warning";
    case Note: return "note";
  }
  return "";
}

std::string place_of(const Finding& finding) {
  std::string place = finding.place;
  if (finding.statement) place += fmt::format(" statement {}", *finding.statement);
  if (!finding.sid.empty()) place += fmt::format(" ({})", finding.sid);
  return place;
}

}  // namespace

std::span<const LintRule> lint_rules() { return kRules; }

void append_text(std::string& out, std::span<const Finding> findings) {
  for (const Finding& finding : findings)
    out += fmt::format("{} {} {}: {}{}{}; {}. Mend: {}.\n", finding.rule->id, word(finding.rule->severity),
                       place_of(finding), finding.rule->title, finding.detail.empty() ? "" : ": ", finding.detail,
                       finding.rule->why, finding.rule->mend);
}

void append_json(std::string& out, std::span<const Finding> findings) {
  json::Writer w(out);
  w.begin_object().key("findings").begin_array();
  for (const Finding& finding : findings) {
    w.begin_object().key("id").string(finding.rule->id).key("severity").string(word(finding.rule->severity));
    w.key("place").string(finding.place);
    if (finding.statement) w.key("statement").unsigned_integer(*finding.statement);
    if (!finding.sid.empty()) w.key("sid").string(finding.sid);
    w.key("title").string(finding.rule->title).key("detail").string(finding.detail);
    w.key("why").string(finding.rule->why).key("mend").string(finding.rule->mend).key("peers").begin_array();
    for (std::string_view rest = finding.rule->peers; !rest.empty();) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      w.string(rest.substr(0, space));
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    w.end_array().end_object();
  }
  w.end_array().end_object();
}

void append_sarif(std::string& out, std::span<const Finding> findings, std::string_view version) {
  json::Writer w(out);
  w.begin_object()
      .key("$schema")
      .string("https://json.schemastore.org/sarif-2.1.0.json")
      .key("version")
      .string("2.1.0");
  w.key("runs").begin_array().begin_object().key("tool").begin_object().key("driver").begin_object();
  w.key("name").string("fanfare lint").key("version").string(version).key("rules").begin_array();
  for (const LintRule& rule : kRules) {
    w.begin_object()
        .key("id")
        .string(rule.id)
        .key("shortDescription")
        .begin_object()
        .key("text")
        .string(rule.title)
        .end_object();
    w.key("fullDescription").begin_object().key("text").string(rule.why).end_object();
    w.key("help").begin_object().key("text").string(rule.mend).end_object();
    w.key("defaultConfiguration").begin_object().key("level").string(word(rule.severity)).end_object().end_object();
  }
  w.end_array().end_object().end_object().key("results").begin_array();
  for (const Finding& finding : findings) {
    w.begin_object().key("ruleId").string(finding.rule->id).key("level").string(word(finding.rule->severity));
    w.key("message").begin_object().key("text");
    w.string(finding.detail.empty() ? std::string(finding.rule->title)
                                    : fmt::format("{}: {}", finding.rule->title, finding.detail));
    w.end_object().key("locations").begin_array().begin_object();
    if (finding.place.starts_with("arn:")) {
      w.key("logicalLocations")
          .begin_array()
          .begin_object()
          .key("fullyQualifiedName")
          .string(place_of(finding))
          .end_object()
          .end_array();
    } else {
      w.key("physicalLocation").begin_object().key("artifactLocation").begin_object().key("uri").string(finding.place);
      w.end_object().end_object();
      w.key("logicalLocations")
          .begin_array()
          .begin_object()
          .key("fullyQualifiedName")
          .string(place_of(finding))
          .end_object()
          .end_array();
    }
    w.end_object().end_array().end_object();
  }
  w.end_array().end_object().end_array().end_object();
}

}  // namespace fanfare::policy
