// From JSON text to a Policy. Every member of the document is looked at, so that nothing passes unread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "policy/policy.h"
#include "wire/json/value.h"

namespace fanfare::policy {
namespace json = wire::json;

std::string Error::message() const {
  return statement ? fmt::format("statement {}: {}", *statement, detail) : detail;
}

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
    OperatorName{"ArnEquals", Base::ArnLike, false},
    OperatorName{"ArnLike", Base::ArnLike, false},
    OperatorName{"ArnNotEquals", Base::ArnLike, true},
    OperatorName{"ArnNotLike", Base::ArnLike, true},
    OperatorName{"Bool", Base::Bool, false},
    OperatorName{"Null", Base::Null, false},
};
constexpr std::array<std::string_view, 15> kOperatorsToCome = {
    "NumericEquals", "NumericNotEquals", "NumericLessThan", "NumericLessThanEquals", "NumericGreaterThan",
    "NumericGreaterThanEquals", "DateEquals", "DateNotEquals", "DateLessThan", "DateLessThanEquals", "DateGreaterThan",
    "DateGreaterThanEquals", "BinaryEquals", "IpAddress", "NotIpAddress"};
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
      return fail(ErrorKind::TooLarge, fmt::format("the policy has {} bytes, {} are accepted", text_.size(), Policy::kBytesMax));
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
      } else if (key == "Principal") {
        if (kind_ == PolicyKind::Identity)
          return set(ErrorKind::UnknownElement, "an identity's policy has no Principal");
        if (!read_principals(value, statement)) return false;
        has_principal = true;
      } else if (key == "NotPrincipal") {
        return set(ErrorKind::UnsupportedElement, "NotPrincipal is not supported");
      } else if (key == "Action" || key == "NotAction") {
        if (has_action) return set(ErrorKind::ConflictingElements, "Action and NotAction cannot stand together");
        if (!read_strings(value, key, statement.actions)) return false;
        for (const std::string& action : statement.actions)
          if (action != "*" && action.find(':') == std::string::npos)
            return set(ErrorKind::BadValue, fmt::format("the action \"{}\" has no service before a colon", action));
        statement.not_action = key == "NotAction";
        has_action = true;
      } else if (key == "Resource" || key == "NotResource") {
        if (has_resource) return set(ErrorKind::ConflictingElements, "Resource and NotResource cannot stand together");
        if (!read_strings(value, key, statement.resources)) return false;
        for (const std::string& resource : statement.resources)
          if (!without_variable(resource, key)) return false;
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
      return set(ErrorKind::MissingElement, "the statement has no Principal");
    if (!has_action) return set(ErrorKind::MissingElement, "the statement has no Action");
    if (!has_resource) {
      // A resource's policy may leave it out: it can only mean that resource.
      if (kind_ == PolicyKind::Identity) return set(ErrorKind::MissingElement, "the statement has no Resource");
      statement.resources.emplace_back("*");
    }
    policy_.statements_.push_back(std::move(statement));
    index_.reset();
    return true;
  }

  bool read_principals(const json::Value& value, Statement& statement) {
    if (value.as_string() == "*") {
      statement.principals.push_back({PrincipalPattern::Kind::Anyone, "*"});
      return true;
    }
    if (!value.is_object() || value.size() == 0)
      return set(ErrorKind::BadPrincipal, "Principal must be \"*\" or an object such as {\"AWS\":\"123456789012\"}");
    for (const auto& [key, names] : value.members()) {
      std::vector<std::string> texts;
      if (key != "AWS" && key != "Service" && key != "Federated" && key != "CanonicalUser")
        return set(ErrorKind::BadPrincipal, fmt::format("\"{}\" is no kind of principal; AWS and Service are", key));
      if (!read_strings(names, "Principal", texts)) return false;
      if (key == "Federated" || key == "CanonicalUser")
        return set(ErrorKind::UnsupportedElement, fmt::format("principals of the kind {} are not supported", key));
      for (std::string& text : texts)
        if (!read_principal(key == "Service", std::move(text), statement)) return false;
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
      return set(ErrorKind::BadPrincipal, fmt::format("the principal \"{}\" has a wildcard inside; only \"*\" alone is one", text));
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
    for (const std::string_view prefix : {"arn:aws:iam::", "arn:aws:sts::"}) {
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
    return set(ErrorKind::BadPrincipal,
               fmt::format("\"{}\" is no account, user, role or session", text));
  }

  bool read_conditions(const json::Value& value, Statement& statement) {
    if (!value.is_object()) return set(ErrorKind::WrongType, "Condition must be an object");
    for (const auto& [name, keys] : value.members()) {
      ConditionOperator op{};
      if (!read_operator(name, op)) return false;
      if (!keys.is_object() || keys.size() == 0)
        return set(ErrorKind::WrongType, fmt::format("the condition {} must be an object of keys and values", name));
      for (const auto& [key, values] : keys.members()) {
        Condition condition{op, name, key, {}};
        if (!read_condition_values(values, condition)) return false;
        statement.conditions.push_back(std::move(condition));
      }
    }
    return true;
  }

  bool read_operator(std::string_view name, ConditionOperator& op) {
    std::string_view rest = name;
    if (rest.ends_with(kIfExists)) {
      rest.remove_suffix(kIfExists.size());
      op.if_exists = true;
    }
    for (const OperatorName& known : kOperators) {
      if (known.name != rest) continue;
      if (known.base == Base::Null && op.if_exists) break;
      op.base = known.base;
      op.negated = known.negated;
      return true;
    }
    const bool set_operator = rest.starts_with("ForAllValues:") || rest.starts_with("ForAnyValue:");
    if (set_operator) rest.remove_prefix(rest.find(':') + 1);
    for (const std::string_view later : kOperatorsToCome)
      if (rest == later) return set(ErrorKind::UnsupportedOperator, fmt::format("the condition operator \"{}\" is not supported", name));
    for (const OperatorName& known : kOperators)
      if (set_operator && known.name == rest)
        return set(ErrorKind::UnsupportedOperator, fmt::format("the condition operator \"{}\" is not supported", name));
    return set(ErrorKind::UnknownOperator, fmt::format("there is no condition operator \"{}\"", name));
  }

  // Conditions take numbers and booleans where texts are meant: {"Bool":{"aws:SecureTransport":false}}.
  bool read_condition_values(const json::Value& value, Condition& condition) {
    const auto add = [&](const json::Value& item) {
      if (const auto text = item.as_string()) {
        condition.values.emplace_back(*text);
      } else if (const auto boolean = item.as_bool()) {
        condition.values.emplace_back(*boolean ? "true" : "false");
      } else if (const auto number = item.number_text()) {
        condition.values.emplace_back(*number);
      } else {
        return set(ErrorKind::WrongType, fmt::format("the value of the condition key \"{}\" must be text, not {}",
                                                     condition.key, json::describe(item.kind())));
      }
      return without_variable(condition.values.back(), condition.key);
    };
    if (value.is_array()) {
      if (value.size() == 0)
        return set(ErrorKind::BadValue, fmt::format("the condition key \"{}\" has no value", condition.key));
      for (const json::Value& item : value.items())
        if (!add(item)) return false;
    } else if (!add(value)) {
      return false;
    }
    if (condition.op.base == Base::ArnLike) {
      for (const std::string& text : condition.values)
        if (text != "*" && std::count(text.begin(), text.end(), ':') < 5)
          return set(ErrorKind::BadValue, fmt::format("{} compares ARNs, and \"{}\" has not their six parts",
                                                      condition.operator_name, text));
    }
    if (condition.op.base == Base::Bool || condition.op.base == Base::Null) {
      for (const std::string& text : condition.values)
        if (!glob_match_ignoring_case("true", text) && !glob_match_ignoring_case("false", text))
          return set(ErrorKind::BadValue, fmt::format("{} compares with \"true\" or \"false\", not with \"{}\"",
                                                      condition.operator_name, text));
    }
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

  // In a document of 2008 "${" is literal text; in one of 2012 it would be a variable, which must not be read literally.
  bool without_variable(std::string_view text, std::string_view element) {
    if (!variables_ || text.find("${") == std::string_view::npos) return true;
    return set(ErrorKind::UnsupportedElement, fmt::format("policy variables are not supported: \"{}\" in {}", text, element));
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

}  // namespace fanfare::policy
