// From JSON text to a Policy. Every member of the document is looked at, so that nothing passes unread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "policy/actions.h"
#include "policy/policy.h"
#include "wire/json/value.h"

namespace fanfare::policy {
namespace json = wire::json;

std::string Error::message() const { return statement ? fmt::format("statement {}: {}", *statement, detail) : detail; }

namespace {

struct OperatorName {
  std::string_view name;
  ConditionOperator::Base base;
  bool negated;
};
using Base = ConditionOperator::Base;
constexpr std::array kOperators = {
    OperatorName{"StringEquals", Base::StringEquals, false},
    OperatorName{"StringNotEquals", Base::StringEquals, true},
    OperatorName{"StringEqualsIgnoreCase", Base::StringEqualsIgnoreCase, false},
    OperatorName{"StringNotEqualsIgnoreCase", Base::StringEqualsIgnoreCase, true},
    OperatorName{"StringLike", Base::StringLike, false},
    OperatorName{"StringNotLike", Base::StringLike, true},
    OperatorName{"NumericEquals", Base::NumericEquals, false},
    OperatorName{"NumericNotEquals", Base::NumericEquals, true},
    OperatorName{"NumericLessThan", Base::NumericLessThan, false},
    OperatorName{"NumericLessThanEquals", Base::NumericLessThanEquals, false},
    OperatorName{"NumericGreaterThan", Base::NumericGreaterThan, false},
    OperatorName{"NumericGreaterThanEquals", Base::NumericGreaterThanEquals, false},
    OperatorName{"DateEquals", Base::DateEquals, false},
    OperatorName{"DateNotEquals", Base::DateEquals, true},
    OperatorName{"DateLessThan", Base::DateLessThan, false},
    OperatorName{"DateLessThanEquals", Base::DateLessThanEquals, false},
    OperatorName{"DateGreaterThan", Base::DateGreaterThan, false},
    OperatorName{"DateGreaterThanEquals", Base::DateGreaterThanEquals, false},
    OperatorName{"Bool", Base::Bool, false},
    OperatorName{"BinaryEquals", Base::BinaryEquals, false},
    OperatorName{"IpAddress", Base::IpAddress, false},
    OperatorName{"NotIpAddress", Base::IpAddress, true},
    OperatorName{"ArnEquals", Base::ArnLike, false},
    OperatorName{"ArnLike", Base::ArnLike, false},
    OperatorName{"ArnNotEquals", Base::ArnLike, true},
    OperatorName{"ArnNotLike", Base::ArnLike, true},
    OperatorName{"Null", Base::Null, false},
};
constexpr std::string_view kIfExists = "IfExists";

bool is_account(std::string_view text) {
  return text.size() == 12 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "AIDAJQABLZS4A3QDU576Q": what is left of a deleted user or role.
bool is_unique_id(std::string_view text) {
  return text.size() >= 16 && text.size() <= 128 && text.starts_with('A') &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == std::string_view::npos;
}

}  // namespace

class PolicyParser {
 public:
  PolicyParser(std::string_view text, PolicyKind kind) : text_(text), kind_(kind) {}

  Result<Policy, Error> run() {
    if (text_.size() > Policy::kBytesMax)
      return fail(ErrorKind::TooLarge,
                  fmt::format("the policy has {} bytes, {} are accepted", text_.size(), Policy::kBytesMax));
    auto document = json::parse(text_, {.depth_max = 16, .duplicate_keys = json::DuplicateKeys::Reject});
    if (!document) {
      const bool twice = document.error().reason == json::Reason::DuplicateKey;
      return fail(twice ? ErrorKind::DuplicateElement : ErrorKind::NotJson, document.error().message());
    }
    if (!document->is_object())
      return fail(ErrorKind::WrongType, fmt::format("a policy is an object, not {}", json::describe(document->kind())));
    if (!read_document(*document)) return std::move(error_);
    return std::move(policy_);
  }

 private:
  bool read_document(const json::Value& document) {
    const json::Value* statements = nullptr;
    for (const json::Member& member : document.members()) {
      if (member.key == "Version") {
        const auto version = member.value.as_string();
        if (version != "2012-10-17" && version != "2008-10-17")
          return set(ErrorKind::BadValue, "Version must be \"2012-10-17\" or \"2008-10-17\"");
        variables_ = version == "2012-10-17";
        policy_.of_2012_ = variables_;
      } else if (member.key == "Id") {
        const auto id = member.value.as_string();
        if (!id) return set(ErrorKind::WrongType, "Id must be a string");
        policy_.id_ = *id;
      } else if (member.key == "Statement") {
        statements = &member.value;
      } else {
        return set(ErrorKind::UnknownElement,
                   fmt::format("\"{}\" is no element of a policy; Version, Id and Statement are", member.key));
      }
    }
    if (statements == nullptr) return set(ErrorKind::MissingElement, "the policy has no Statement");
    if (statements->is_object()) return read_statement(*statements, 0);
    if (!statements->is_array()) return set(ErrorKind::WrongType, "Statement must be an object or an array of objects");
    if (statements->size() > Policy::kStatementsMax)
      return set(ErrorKind::TooLarge, fmt::format("the policy has {} statements, {} are accepted", statements->size(),
                                                  Policy::kStatementsMax));
    for (std::size_t i = 0; i < statements->size(); ++i)
      if (!read_statement(statements->items()[i], i)) return false;
    return true;
  }

  bool read_statement(const json::Value& object, std::size_t index) {
    index_ = index;
    if (!object.is_object())
      return set(ErrorKind::WrongType, fmt::format("a statement is an object, not {}", json::describe(object.kind())));
    Statement statement;
    bool has_effect = false;
    bool has_principal = false;
    bool has_action = false;
    bool has_resource = false;
    for (const auto& [key, value] : object.members()) {
      if (key == "Sid") {
        const auto sid = value.as_string();
        if (!sid) return set(ErrorKind::WrongType, "Sid must be a string");
        statement.sid = *sid;
      } else if (key == "Effect") {
        const auto effect = value.as_string();
        if (effect != "Allow" && effect != "Deny")
          return set(ErrorKind::BadValue, "Effect must be \"Allow\" or \"Deny\", spelled so");
        statement.effect = effect == "Allow" ? Effect::Allow : Effect::Deny;
        has_effect = true;
      } else if (key == "Principal" || key == "NotPrincipal") {
        if (kind_ == PolicyKind::Identity)
          return set(ErrorKind::UnknownElement, fmt::format("an identity's policy has no {}", key));
        if (has_principal)
          return set(ErrorKind::ConflictingElements, "Principal and NotPrincipal cannot stand together");
        statement.not_principal = key == "NotPrincipal";
        if (!read_principals(value, statement, key)) return false;
        has_principal = true;
      } else if (key == "Action" || key == "NotAction") {
        if (has_action) return set(ErrorKind::ConflictingElements, "Action and NotAction cannot stand together");
        if (!read_strings(value, key, statement.actions)) return false;
        for (const std::string& action : statement.actions)
          if (!check_action(action, key)) return false;
        statement.not_action = key == "NotAction";
        has_action = true;
      } else if (key == "Resource" || key == "NotResource") {
        if (has_resource) return set(ErrorKind::ConflictingElements, "Resource and NotResource cannot stand together");
        if (!read_strings(value, key, statement.resources)) return false;
        for (const std::string& resource : statement.resources)
          if (!read_resource(resource, key, statement)) return false;
        statement.not_resource = key == "NotResource";
        has_resource = true;
      } else if (key == "Condition") {
        if (!read_conditions(value, statement)) return false;
      } else {
        return set(ErrorKind::UnknownElement, fmt::format("\"{}\" is no element of a statement", key));
      }
    }
    if (!has_effect) return set(ErrorKind::MissingElement, "the statement has no Effect");
    if (kind_ == PolicyKind::Resource && !has_principal)
      return set(ErrorKind::MissingElement, "the statement has no Principal or NotPrincipal");
    if (!has_action) return set(ErrorKind::MissingElement, "the statement has no Action or NotAction");
    if (!has_resource) {
      // A resource's policy may leave it out: it can only mean that resource.
      if (kind_ == PolicyKind::Identity)
        return set(ErrorKind::MissingElement, "the statement has no Resource or NotResource");
      statement.resources.emplace_back("*");
      if (!read_resource("*", "Resource", statement)) return false;
    }
    policy_.statements_.push_back(std::move(statement));
    index_.reset();
    return true;
  }

  bool check_action(std::string_view action, std::string_view element) {
    if (action == "*") return true;
    const std::size_t colon = action.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == action.size())
      return set(
          ErrorKind::BadValue,
          fmt::format("{}: \"{}\" is no action such as \"sqs:SendMessage\", \"sqs:*\" or \"*\"", element, action));
    const auto bad = std::ranges::find_if(action, [](char c) {
      return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':' || c == '-' ||
               c == '*' || c == '?');
    });
    if (bad != action.end() || action.find(':', colon + 1) != std::string_view::npos)
      return set(ErrorKind::BadValue, fmt::format("{}: \"{}\" has characters that no action has", element, action));
    return true;
  }

  bool read_resource(std::string_view text, std::string_view element, Statement& statement) {
    if (!text.starts_with("arn:") && !text.starts_with('*'))
      return set(ErrorKind::BadValue, fmt::format("{}: \"{}\" must be in ARN format or \"*\"", element, text));
    std::string problem;
    auto pattern = Pattern::parse(text, Pattern::Syntax::Glob, variables_, problem);
    if (!pattern) return set(ErrorKind::BadVariable, fmt::format("{}: {}", element, problem));
    if (pattern->has_variables()) {
      // Only behind the fifth colon, which is that of no variable. [IAM policy variables]
      const Pattern::Piece& first = pattern->pieces().front();
      if (first.variable || std::count(first.text.begin(), first.text.end(), ':') < 5)
        return set(ErrorKind::BadVariable,
                   fmt::format("{}: in \"{}\" a variable stands before the fifth colon", element, text));
    }
    statement.resource_patterns.push_back(std::move(*pattern));
    return true;
  }

  bool read_principals(const json::Value& value, Statement& statement, std::string_view element) {
    using Kind = PrincipalPattern::Kind;
    if (value.as_string() == "*") {
      statement.principals.push_back({Kind::Anyone, "*"});
      return true;
    }
    if (!value.is_object() || value.size() == 0)
      return set(ErrorKind::BadPrincipal,
                 fmt::format("{} must be \"*\" or an object such as {{\"AWS\":\"123456789012\"}}", element));
    for (const auto& [key, names] : value.members()) {
      std::vector<std::string> texts;
      if (key != "AWS" && key != "Service" && key != "Federated" && key != "CanonicalUser")
        return set(ErrorKind::BadPrincipal,
                   fmt::format("\"{}\" is no kind of principal; AWS, Service, Federated and CanonicalUser are", key));
      if (!read_strings(names, element, texts)) return false;
      for (std::string& text : texts) {
        if (key == "Federated" || key == "CanonicalUser") {
          if (text.find_first_of("*?") != std::string::npos)
            return set(ErrorKind::BadPrincipal, fmt::format("the principal \"{}\" has a wildcard", text));
          statement.principals.push_back({key == "Federated" ? Kind::Federated : Kind::Canonical, std::move(text)});
        } else if (!read_principal(key == "Service", std::move(text), statement)) {
          return false;
        }
      }
    }
    return true;
  }

  bool read_principal(bool service, std::string text, Statement& statement) {
    using Kind = PrincipalPattern::Kind;
    if (text == "*" && !service) {
      statement.principals.push_back({Kind::Anyone, std::move(text)});
      return true;
    }
    if (text.find_first_of("*?") != std::string::npos)
      return set(ErrorKind::BadPrincipal,
                 fmt::format("the principal \"{}\" has a wildcard inside; only \"*\" alone is one", text));
    if (service) {
      if (text.find('.') == std::string::npos || text.find(':') != std::string::npos)
        return set(ErrorKind::BadPrincipal, fmt::format("\"{}\" is no service such as \"sns.amazonaws.com\"", text));
      statement.principals.push_back({Kind::Service, std::move(text)});
      return true;
    }
    if (is_account(text)) {
      statement.principals.push_back({Kind::Account, std::move(text)});
      return true;
    }
    if (is_unique_id(text)) {
      statement.principals.push_back({Kind::Arn, std::move(text)});
      return true;
    }
    for (const std::string_view prefix : {"arn:aws:iam::", "arn:aws:sts::", "arn:aws-cn:iam::", "arn:aws-cn:sts::",
                                          "arn:aws-us-gov:iam::", "arn:aws-us-gov:sts::"}) {
      if (!text.starts_with(prefix)) continue;
      const std::string_view rest = std::string_view{text}.substr(prefix.size());
      if (rest.size() < 14 || !is_account(rest.substr(0, 12)) || rest[12] != ':') break;
      const std::string_view name = rest.substr(13);
      if (name == "root") {
        statement.principals.push_back({Kind::Account, std::string{rest.substr(0, 12)}});
        return true;
      }
      if (name.starts_with("group/")) break;
      if (name.find('/') == std::string_view::npos || name.ends_with('/')) break;
      statement.principals.push_back({Kind::Arn, std::move(text)});
      return true;
    }
    return set(ErrorKind::BadPrincipal, fmt::format("\"{}\" is no account, user, role or session", text));
  }

  bool read_conditions(const json::Value& value, Statement& statement) {
    if (!value.is_object()) return set(ErrorKind::WrongType, "Condition must be an object");
    for (const auto& [name, keys] : value.members()) {
      ConditionOperator op{};
      if (!read_operator(name, op)) return false;
      if (!keys.is_object() || keys.size() == 0)
        return set(ErrorKind::WrongType, fmt::format("the condition {} must be an object of keys and values", name));
      for (const auto& [key, values] : keys.members()) {
        Condition condition{op, name, key, key_of(key), {}};
        if (key.empty()) return set(ErrorKind::BadValue, fmt::format("the condition {} has an empty key", name));
        if (!read_condition_values(values, condition)) return false;
        statement.conditions.push_back(std::move(condition));
      }
    }
    return true;
  }

  bool read_operator(std::string_view name, ConditionOperator& op) {
    std::string_view rest = name;
    if (rest.starts_with("ForAllValues:")) {
      op.quantifier = ConditionOperator::Quantifier::ForAllValues;
      rest.remove_prefix(13);
    } else if (rest.starts_with("ForAnyValue:")) {
      op.quantifier = ConditionOperator::Quantifier::ForAnyValue;
      rest.remove_prefix(12);
    }
    if (rest.ends_with(kIfExists)) {
      rest.remove_suffix(kIfExists.size());
      op.if_exists = true;
    }
    for (const OperatorName& known : kOperators) {
      if (known.name != rest) continue;
      if (known.base == Base::Null && (op.if_exists || op.quantifier != ConditionOperator::Quantifier::None)) break;
      op.base = known.base;
      op.negated = known.negated;
      return true;
    }
    return set(ErrorKind::UnknownOperator, fmt::format("there is no condition operator \"{}\"", name));
  }

  // Conditions take numbers and booleans where texts are meant: {"Bool":{"aws:SecureTransport":false}}.
  bool read_condition_values(const json::Value& value, Condition& condition) {
    const auto add = [&](const json::Value& item) {
      std::string written;
      if (const auto text = item.as_string()) {
        written = *text;
      } else if (const auto boolean = item.as_bool()) {
        written = *boolean ? "true" : "false";
      } else if (const auto number = item.number_text()) {
        written = *number;
      } else {
        return set(ErrorKind::WrongType, fmt::format("the value of the condition key \"{}\" must be text, not {}",
                                                     condition.key, json::describe(item.kind())));
      }
      return add_condition_value(condition, std::move(written));
    };
    if (!value.is_array()) return add(value);
    if (value.size() == 0)
      return set(ErrorKind::BadValue, fmt::format("the condition key \"{}\" has no value", condition.key));
    for (const json::Value& item : value.items())
      if (!add(item)) return false;
    return true;
  }

  bool add_condition_value(Condition& condition, std::string text) {
    const auto bad = [&](std::string_view wanted) {
      return set(ErrorKind::BadValue,
                 fmt::format("{} compares with {}; \"{}\" is none", condition.operator_name, wanted, text));
    };
    ConditionValue value;
    switch (condition.op.base) {
      case Base::NumericEquals:
      case Base::NumericLessThan:
      case Base::NumericLessThanEquals:
      case Base::NumericGreaterThan:
      case Base::NumericGreaterThanEquals: {
        const auto number = parse_number(text);
        if (!number) return bad("a number such as 10 or 1.5");
        value.read = *number;
        break;
      }
      case Base::DateEquals:
      case Base::DateLessThan:
      case Base::DateLessThanEquals:
      case Base::DateGreaterThan:
      case Base::DateGreaterThanEquals: {
        const auto date = parse_date(text);
        if (!date) return bad("a time such as 2026-11-30T10:59:45Z, or seconds since 1970");
        value.read = *date;
        break;
      }
      case Base::IpAddress: {
        const auto network = parse_network(text);
        if (!network) return bad("an address or network such as 203.0.113.0/24 or 2001:db8::/32");
        value.read = *network;
        break;
      }
      case Base::BinaryEquals: {
        auto bytes = decode_base64(text);
        if (!bytes) return bad("base64 text");
        value.read = std::move(*bytes);
        break;
      }
      case Base::Null:
        if (!equal_ignoring_case(text, "true") && !equal_ignoring_case(text, "false"))
          return bad("\"true\" or \"false\"");
        break;
      case Base::StringEquals:
      case Base::StringEqualsIgnoreCase:
      case Base::StringLike:
      case Base::Bool:
      case Base::ArnLike: {
        const bool glob = condition.op.base == Base::StringLike || condition.op.base == Base::ArnLike;
        std::string problem;
        auto pattern =
            Pattern::parse(text, glob ? Pattern::Syntax::Glob : Pattern::Syntax::Literal, variables_, problem);
        if (!pattern)
          return set(ErrorKind::BadVariable, fmt::format("{} {}: {}", condition.operator_name, condition.key, problem));
        const bool fixed = !pattern->has_variables();
        if (condition.op.base == Base::Bool && fixed && !equal_ignoring_case(text, "true") &&
            !equal_ignoring_case(text, "false"))
          return bad("\"true\" or \"false\"");
        if (condition.op.base == Base::ArnLike && fixed && text != "*" && std::count(text.begin(), text.end(), ':') < 5)
          return bad("an ARN of six parts");
        value.read = std::move(*pattern);
        break;
      }
    }
    value.text = std::move(text);
    condition.values.push_back(std::move(value));
    return true;
  }

  bool read_strings(const json::Value& value, std::string_view element, std::vector<std::string>& out) {
    const auto add = [&](const json::Value& item) {
      const auto text = item.as_string();
      if (!text) return set(ErrorKind::WrongType, fmt::format("{} must be a string or an array of strings", element));
      if (text->empty()) return set(ErrorKind::BadValue, fmt::format("{} has an empty string", element));
      out.emplace_back(*text);
      return true;
    };
    if (!value.is_array()) return add(value);
    if (value.size() == 0) return set(ErrorKind::BadValue, fmt::format("{} is an empty array", element));
    for (const json::Value& item : value.items())
      if (!add(item)) return false;
    return true;
  }

  bool set(ErrorKind kind, std::string detail) {
    error_ = Error{kind, index_, std::move(detail)};
    return false;
  }
  Error fail(ErrorKind kind, std::string detail) { return {kind, std::nullopt, std::move(detail)}; }

  std::string_view text_;
  PolicyKind kind_;
  Policy policy_;
  Error error_{ErrorKind::NotJson, {}, {}};
  std::optional<std::size_t> index_;
  bool variables_ = false;
};

Result<Policy, Error> Policy::parse(std::string_view json, PolicyKind kind) { return PolicyParser(json, kind).run(); }

namespace {

Result<Success, Error> too_large(std::size_t count, std::string_view what, std::size_t count_max) {
  return Error{ErrorKind::TooLarge, std::nullopt,
               fmt::format("the policy has {} {}, {} are accepted", count, what, count_max)};
}

template <class InScope>
Result<Success, Error> check_actions(const Policy& policy, InScope in_scope) {
  const auto statements = policy.statements();
  for (std::size_t i = 0; i < statements.size(); ++i)
    for (const std::string& action : statements[i].actions)
      if (!in_scope(action))
        return Error{ErrorKind::OutOfScope, i,
                     fmt::format("the action \"{}\" is none of this kind of resource", action)};
  return Success{};
}

std::size_t principals_of(const Policy& policy) {
  std::size_t count = 0;
  for (const Statement& statement : policy.statements()) count += statement.principals.size();
  return count;
}

}  // namespace

Result<Success, Error> check_queue_policy(const Policy& policy, std::size_t bytes) {
  if (bytes > 8'192) return too_large(bytes, "bytes", 8'192);
  if (policy.statements().size() > 20) return too_large(policy.statements().size(), "statements", 20);
  if (const auto count = principals_of(policy); count > 50) return too_large(count, "principals", 50);
  std::size_t conditions = 0;
  for (const Statement& statement : policy.statements()) conditions += statement.conditions.size();
  if (conditions > 10) return too_large(conditions, "conditions", 10);
  return check_actions(policy, is_queue_policy_action);
}

Result<Success, Error> check_topic_policy(const Policy& policy, std::size_t bytes) {
  if (bytes > 30'720) return too_large(bytes, "bytes", 30'720);
  if (policy.statements().size() > 100) return too_large(policy.statements().size(), "statements", 100);
  if (const auto count = principals_of(policy); count > 200) return too_large(count, "principals", 200);
  return check_actions(policy, is_topic_policy_action);
}

}  // namespace fanfare::policy
