// What a policy alone shows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "policy/actions.h"
#include "policy/lint.h"

namespace fanfare::policy {
namespace {

using Base = ConditionOperator::Base;
using Kind = PrincipalPattern::Kind;

const LintRule& rule(std::string_view id) { return *std::ranges::find(lint_rules(), id, &LintRule::id); }

bool has_key(const Condition& condition, std::string_view key) { return equal_ignoring_case(condition.key, key); }

bool has_any_key(const Statement& statement, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(statement.conditions, [&](const Condition& condition) {
    return std::ranges::any_of(keys, [&](std::string_view key) { return has_key(condition, key); });
  });
}

bool names_anyone(const Statement& statement) {
  return !statement.not_principal &&
         std::ranges::any_of(statement.principals, [](const PrincipalPattern& p) { return p.kind == Kind::Anyone; });
}

constexpr std::array<std::string_view, 42> kKnownKeys = {"aws:SourceArn",
                                                         "aws:SourceAccount",
                                                         "aws:SourceOwner",
                                                         "aws:SourceOrgID",
                                                         "aws:SourceOrgPaths",
                                                         "aws:PrincipalArn",
                                                         "aws:PrincipalAccount",
                                                         "aws:PrincipalOrgID",
                                                         "aws:PrincipalOrgPaths",
                                                         "aws:PrincipalType",
                                                         "aws:userid",
                                                         "aws:username",
                                                         "aws:PrincipalIsAWSService",
                                                         "aws:PrincipalServiceName",
                                                         "aws:PrincipalServiceNamesList",
                                                         "aws:ViaAWSService",
                                                         "aws:CalledVia",
                                                         "aws:CalledViaFirst",
                                                         "aws:CalledViaLast",
                                                         "aws:SourceIp",
                                                         "aws:VpcSourceIp",
                                                         "aws:SourceVpc",
                                                         "aws:SourceVpce",
                                                         "aws:SecureTransport",
                                                         "aws:CurrentTime",
                                                         "aws:EpochTime",
                                                         "aws:UserAgent",
                                                         "aws:Referer",
                                                         "aws:RequestedRegion",
                                                         "aws:ResourceAccount",
                                                         "aws:ResourceOrgID",
                                                         "aws:ResourceOrgPaths",
                                                         "aws:TagKeys",
                                                         "aws:TokenIssueTime",
                                                         "aws:MultiFactorAuthPresent",
                                                         "aws:MultiFactorAuthAge",
                                                         "aws:FederatedProvider",
                                                         "aws:SourceIdentity",
                                                         "sns:Endpoint",
                                                         "sns:Protocol",
                                                         "sts:ExternalId",
                                                         "sts:RoleSessionName"};

bool is_known_key(std::string_view key) {
  if (std::ranges::any_of(kKnownKeys, [&](std::string_view known) { return equal_ignoring_case(known, key); }))
    return true;
  for (const std::string_view prefix : {"aws:ResourceTag/", "aws:RequestTag/", "aws:PrincipalTag/"})
    if (key.size() > prefix.size() && equal_ignoring_case(key.substr(0, prefix.size()), prefix)) return true;
  return !key.starts_with("aws:") && !key.starts_with("sns:") && !key.starts_with("sqs:");
}

class PolicyLint {
 public:
  PolicyLint(const Policy& policy, ResourceKind kind, std::string_view place, std::string_view arn)
      : policy_(policy), kind_(kind), place_(place), arn_(arn) {}

  std::vector<Finding> run(std::size_t bytes) {
    std::set<std::string_view> sids;
    bool denies_plain_http = false;
    const auto statements = policy_.statements();
    for (index_ = 0; index_ < statements.size(); ++index_) {
      statement_ = &statements[index_];
      if (!statement_->sid.empty() && !sids.insert(statement_->sid).second) add("D034", statement_->sid);
      look_at_principals();
      look_at_conditions();
      look_at_scope();
      if (statement_->effect == Effect::Deny) {
        look_at_deny();
        for (const Condition& condition : statement_->conditions)
          denies_plain_http =
              denies_plain_http || (condition.op.base == Base::Bool && has_key(condition, "aws:SecureTransport") &&
                                    names_anyone(*statement_));
      }
    }
    statement_ = nullptr;
    if (kind_ != ResourceKind::Identity && !denies_plain_http) add("D011", {});
    const std::size_t statements_max = kind_ == ResourceKind::Queue ? 20 : 100;
    const std::size_t bytes_max = kind_ == ResourceKind::Queue ? 8'192 : 30'720;
    if (kind_ != ResourceKind::Identity && (bytes * 10 > bytes_max * 9 || statements.size() * 10 > statements_max * 9))
      add("D025",
          fmt::format("{} of {} bytes, {} of {} statements", bytes, bytes_max, statements.size(), statements_max));
    return std::move(findings_);
  }

 private:
  void add(std::string_view id, std::string detail) {
    findings_.push_back({&rule(id), std::string(place_), statement_ == nullptr ? std::nullopt : std::optional(index_),
                         statement_ == nullptr ? std::string() : statement_->sid, std::move(detail)});
  }

  void look_at_principals() {
    const Statement& s = *statement_;
    const bool allow = s.effect == Effect::Allow;
    if (allow && s.not_principal) add("D006", {});
    if (allow && names_anyone(s) && s.conditions.empty()) add("D001", {});
    for (const PrincipalPattern& p : s.principals) {
      if (allow && !s.not_principal && p.kind == Kind::Service &&
          !has_any_key(s, {"aws:SourceArn", "aws:SourceAccount", "aws:SourceOrgID"}))
        add("D002", p.text);
      if (p.kind == Kind::Arn && !p.text.starts_with("arn:")) add("D027", p.text);
    }
    if (allow && names_anyone(s) && kind_ == ResourceKind::Queue && has_any_key(s, {"aws:PrincipalOrgID"}))
      add("D004", {});
    if (allow && kind_ != ResourceKind::Identity && !s.not_action)
      for (const std::string& action : s.actions)
        if (action == "*" || action.ends_with(":*")) add("D010", fmt::format("Action \"{}\"", action));
  }

  void look_at_conditions() {
    const Statement& s = *statement_;
    const bool allow = s.effect == Effect::Allow;
    for (const Condition& c : s.conditions) {
      const bool default_statement = s.sid == "__default_statement_ID";
      if (!is_known_key(c.key)) add("D033", c.key);
      if (has_key(c, "aws:SourceOwner") && !default_statement) add("D026", {});
      if (allow && c.op.quantifier == ConditionOperator::Quantifier::ForAllValues)
        add("D007", fmt::format("{} {}", c.operator_name, c.key));
      for (const ConditionValue& value : c.values) {
        const bool literal = c.op.base == Base::StringEquals || c.op.base == Base::StringEqualsIgnoreCase;
        const bool wild =
            value.text.find_first_of("*?") != std::string::npos && value.text.find("${") == std::string::npos;
        if (literal && wild) add("D008", fmt::format("{} {} \"{}\"", c.operator_name, c.key, value.text));
        if (!policy_.is_of_2012() && value.text.find("${") != std::string::npos)
          add("D009", fmt::format("{} \"{}\"", c.key, value.text));
        if (allow && has_key(c, "aws:SourceArn") && !c.op.negated && !literal && leaves_open(value.text) &&
            !has_any_key(s, {"aws:SourceAccount"}))
          add("D003", value.text);
      }
    }
    if (!policy_.is_of_2012())
      for (const std::string& resource : s.resources)
        if (resource.find("${") != std::string::npos) add("D009", fmt::format("Resource \"{}\"", resource));
  }

  /// An ARN pattern whose account has a wildcard, or whose name is nothing but one.
  static bool leaves_open(std::string_view arn) {
    if (arn == "*") return true;
    const std::string_view account = account_of_arn(arn);
    return account.find_first_of("*?") != std::string_view::npos || arn.substr(arn.rfind(':') + 1) == "*";
  }

  void look_at_scope() {
    const Statement& s = *statement_;
    if (kind_ == ResourceKind::Identity) return;
    if (!arn_.empty() && !s.not_resource) {
      const bool any = std::ranges::any_of(s.resources, [&](const std::string& r) {
        return r.find("${") != std::string::npos || resource_match(r, arn_);
      });
      if (!any) add("D031", fmt::format("Resource \"{}\" is not {}", s.resources.front(), arn_));
    }
    if (!s.not_action) {
      const bool any = std::ranges::any_of(s.actions, [&](const std::string& a) {
        return kind_ == ResourceKind::Queue ? is_queue_policy_action(a) : is_topic_policy_action(a);
      });
      if (!any) add("D031", fmt::format("Action \"{}\"", s.actions.front()));
    }
  }

  void look_at_deny() {
    const Statement& s = *statement_;
    const bool guarded =
        has_any_key(s, {"aws:PrincipalIsAWSService", "aws:ViaAWSService", "aws:PrincipalServiceName"}) ||
        std::ranges::any_of(s.conditions, [](const Condition& c) { return c.op.base == Base::Null; });
    const bool for_services = names_anyone(s) || s.not_principal;
    if (for_services && !guarded && kind_ == ResourceKind::Queue)
      for (const Condition& c : s.conditions)
        if (c.op.negated)
          for (const std::string_view key : {"aws:SourceVpce", "aws:SourceVpc", "aws:SourceIp", "aws:VpcSourceIp",
                                             "aws:PrincipalOrgID", "aws:PrincipalArn", "aws:PrincipalAccount"})
            if (has_key(c, key)) add("D005", fmt::format("{} {}", c.operator_name, c.key));
    // Locks out: it hits everybody, covers the action that would mend the policy, and nothing spares the root.
    const std::string_view mending = kind_ == ResourceKind::Queue ? "sqs:SetQueueAttributes" : "sns:SetTopicAttributes";
    const bool named =
        std::ranges::any_of(s.actions, [&](const std::string& a) { return glob_match_ignoring_case(a, mending); });
    if (kind_ == ResourceKind::Identity || named == s.not_action) return;
    const std::string account{account_of_arn(arn_)};
    const auto is_root = [&](const PrincipalPattern& p) {
      return p.kind == Kind::Account && (account.empty() || p.text == account);
    };
    if (s.not_principal) {
      if (std::ranges::none_of(s.principals, is_root)) add("D032", "NotPrincipal does not list the account's root");
    } else if (names_anyone(s)) {
      if (s.conditions.empty()) add("D032", "everybody is denied");
      for (const Condition& c : s.conditions) {
        if (!c.op.negated ||
            !(has_key(c, "aws:PrincipalArn") || has_key(c, "aws:username") || has_key(c, "aws:userid")))
          continue;
        const bool spares = std::ranges::any_of(
            c.values, [](const ConditionValue& v) { return v.text.ends_with(":root") || v.text == "*"; });
        if (!spares && s.conditions.size() == 1)
          add("D032", fmt::format("{} {} does not spare the root", c.operator_name, c.key));
      }
    } else if (std::ranges::any_of(s.principals, is_root) && s.conditions.empty()) {
      add("D032", "the whole account is denied");
    }
  }

  const Policy& policy_;
  ResourceKind kind_;
  std::string_view place_;
  std::string_view arn_;
  std::size_t index_ = 0;
  const Statement* statement_ = nullptr;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> lint_policy(const Policy& policy, ResourceKind kind, std::string_view place, std::string_view arn,
                                 std::size_t bytes) {
  return PolicyLint(policy, kind, place, arn).run(bytes);
}

}  // namespace fanfare::policy
