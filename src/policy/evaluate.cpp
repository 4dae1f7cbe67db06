// Matching and deciding: what a parsed policy says about one request.

#include <fmt/format.h>

#include <algorithm>

#include "policy/policy.h"

namespace fanfare::policy {
namespace {

using Base = ConditionOperator::Base;
using Quantifier = ConditionOperator::Quantifier;

bool is_arn_of(const PrincipalPattern& pattern, std::string_view arn) {
  return pattern.kind == PrincipalPattern::Kind::Arn && !arn.empty() && arn == pattern.text;
}

bool matches_principal(const PrincipalPattern& pattern, const Principal& principal) {
  switch (pattern.kind) {
    case PrincipalPattern::Kind::Anyone: return true;
    case PrincipalPattern::Kind::Account: return !principal.account.empty() && principal.account == pattern.text;
    case PrincipalPattern::Kind::Arn:
      return is_arn_of(pattern, principal.arn) || is_arn_of(pattern, principal.role_arn);
    case PrincipalPattern::Kind::Service:
      return principal.kind == Principal::Kind::Service && principal.service == pattern.text;
    case PrincipalPattern::Kind::Federated:
      return principal.kind == Principal::Kind::Federated && principal.service == pattern.text;
    case PrincipalPattern::Kind::Canonical: return false;
  }
  return false;
}

/// Whether NotPrincipal spares the caller of a Deny: each of the identities that it acts under must be listed: its
/// account, and itself, and for a session its role, too. [IAM NotPrincipal element]
bool spares(const Statement& statement, const Principal& principal) {
  using Kind = PrincipalPattern::Kind;
  const auto listed = [&](auto&& names) {
    return std::any_of(statement.principals.begin(), statement.principals.end(),
                       [&](const PrincipalPattern& p) { return p.kind == Kind::Anyone || names(p); });
  };
  if (principal.kind == Principal::Kind::Service || principal.kind == Principal::Kind::Federated ||
      principal.kind == Principal::Kind::Anonymous)
    return listed([&](const PrincipalPattern& p) { return matches_principal(p, principal); });
  if (!listed([&](const PrincipalPattern& p) { return p.kind == Kind::Account && p.text == principal.account; }))
    return false;
  if (principal.kind == Principal::Kind::Account) return true;
  if (!listed([&](const PrincipalPattern& p) { return is_arn_of(p, principal.arn); })) return false;
  return principal.role_arn.empty() || principal.role_arn == principal.arn ||
         listed([&](const PrincipalPattern& p) { return is_arn_of(p, principal.role_arn); });
}

/// How far an Allow reaches that names the caller.
enum class Reach : std::uint8_t { None, Account, Role, Direct };

Reach reach_of(const Statement& statement, const Principal& principal) {
  if (statement.principals.empty()) return Reach::Direct;  // an identity's own policy
  if (statement.not_principal) {
    if (statement.effect == Effect::Deny) return spares(statement, principal) ? Reach::None : Reach::Direct;
    const bool listed = std::any_of(statement.principals.begin(), statement.principals.end(),
                                    [&](const PrincipalPattern& p) { return matches_principal(p, principal); });
    return listed ? Reach::None : Reach::Direct;
  }
  Reach reach = Reach::None;
  for (const PrincipalPattern& pattern : statement.principals) {
    if (!matches_principal(pattern, principal)) continue;
    if (pattern.kind == PrincipalPattern::Kind::Account) {
      // The root is its account.
      reach = std::max(reach, principal.kind == Principal::Kind::Account ? Reach::Direct : Reach::Account);
    } else if (pattern.kind == PrincipalPattern::Kind::Arn && !principal.role_arn.empty() &&
               pattern.text == principal.role_arn) {
      reach = std::max(reach, Reach::Role);
    } else {
      return Reach::Direct;
    }
  }
  return reach;
}

bool compare_numbers(Base base, double value, double wanted) {
  switch (base) {
    case Base::NumericEquals: return value == wanted;
    case Base::NumericLessThan: return value < wanted;
    case Base::NumericLessThanEquals: return value <= wanted;
    case Base::NumericGreaterThan: return value > wanted;
    case Base::NumericGreaterThanEquals: return value >= wanted;
    default: return false;
  }
}

bool compare_dates(Base base, std::int64_t value, std::int64_t wanted) {
  switch (base) {
    case Base::DateEquals: return value == wanted;
    case Base::DateLessThan: return value < wanted;
    case Base::DateLessThanEquals: return value <= wanted;
    case Base::DateGreaterThan: return value > wanted;
    case Base::DateGreaterThanEquals: return value >= wanted;
    default: return false;
  }
}

/// Whether one value of the request equals one of the statement's. A value that cannot be read equals nothing.
bool matches_any(const Condition& condition, std::string_view value, const Request& request) {
  const auto any = [&](auto&& same) { return std::any_of(condition.values.begin(), condition.values.end(), same); };
  const auto pattern = [](const ConditionValue& wanted) -> const Pattern& { return std::get<Pattern>(wanted.read); };
  switch (condition.op.base) {
    case Base::StringEquals: return any([&](const auto& wanted) { return pattern(wanted).equals(value, request); });
    case Base::StringEqualsIgnoreCase:
    case Base::Bool:
      return any([&](const auto& wanted) { return pattern(wanted).equals_ignoring_case(value, request); });
    case Base::StringLike: return any([&](const auto& wanted) { return pattern(wanted).glob(value, request); });
    case Base::ArnLike: return any([&](const auto& wanted) { return pattern(wanted).arn(value, request); });
    case Base::NumericEquals:
    case Base::NumericLessThan:
    case Base::NumericLessThanEquals:
    case Base::NumericGreaterThan:
    case Base::NumericGreaterThanEquals: {
      const auto number = parse_number(value);
      return number && any([&](const auto& wanted) {
               return compare_numbers(condition.op.base, *number, std::get<double>(wanted.read));
             });
    }
    case Base::DateEquals:
    case Base::DateLessThan:
    case Base::DateLessThanEquals:
    case Base::DateGreaterThan:
    case Base::DateGreaterThanEquals: {
      const auto date = parse_date(value);
      return date && any([&](const auto& wanted) {
               return compare_dates(condition.op.base, *date, std::get<std::int64_t>(wanted.read));
             });
    }
    case Base::IpAddress: {
      const auto address = parse_address(value);
      return address && any([&](const auto& wanted) { return std::get<Network>(wanted.read).contains(*address); });
    }
    case Base::BinaryEquals: {
      const auto bytes = decode_base64(value);
      return bytes && any([&](const auto& wanted) { return std::get<std::string>(wanted.read) == *bytes; });
    }
    case Base::Null: break;
  }
  return false;
}

bool holds(const Condition& condition, const Request& request) {
  const KeyValues values = values_of(request, condition.known_key, condition.key);
  const ConditionOperator& op = condition.op;
  if (op.base == Base::Null)
    return std::any_of(condition.values.begin(), condition.values.end(), [&](const ConditionValue& wanted) {
      return equal_ignoring_case(wanted.text, values.empty() ? "true" : "false");
    });
  if (op.quantifier != Quantifier::None) {
    const bool for_all = op.quantifier == Quantifier::ForAllValues;
    bool any_value = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].empty()) continue;  // an empty text is no value to the set operators
      any_value = true;
      const bool fits = matches_any(condition, values[i], request) != op.negated;
      if (fits != for_all) return fits;
    }
    if (!any_value) return for_all || (values.empty() && op.if_exists);
    return for_all;
  }
  // An absent key: a positive operator does not hold, a negated one does, and so does every one with IfExists.
  if (values.empty()) return op.negated || op.if_exists;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (matches_any(condition, values[i], request)) return !op.negated;
  return op.negated;
}

std::optional<Mismatch> mismatch_after_principal(const Statement& statement, const Request& request) {
  const bool action = std::any_of(statement.actions.begin(), statement.actions.end(), [&](const std::string& pattern) {
    return glob_match_ignoring_case(pattern, request.action);
  });
  if (action == statement.not_action) return Mismatch{Part::Action};
  const bool resource =
      std::any_of(statement.resource_patterns.begin(), statement.resource_patterns.end(),
                  [&](const Pattern& pattern) { return pattern.resource(request.resource, request); });
  if (resource == statement.not_resource) return Mismatch{Part::Resource};
  for (std::size_t i = 0; i < statement.conditions.size(); ++i)
    if (!holds(statement.conditions[i], request)) return Mismatch{Part::Condition, i};
  return std::nullopt;
}

template <class Texts>
std::string listed(const Texts& texts) {
  std::string out;
  for (const auto& text : texts) {
    if (!out.empty()) out += ", ";
    if (out.size() > 400) return out + "...";
    out += '"';
    out += text;
    out += '"';
  }
  return out;
}

std::string_view name_of(const Principal& principal) {
  if (principal.kind == Principal::Kind::Anonymous) return "an anonymous request";
  return principal.arn.empty() ? principal.service : principal.arn;
}

}  // namespace

Decision evaluate(const Policy& policy, const Request& request) {
  Decision decision;
  Reach furthest = Reach::None;
  const auto statements = policy.statements();
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    const Reach reach = reach_of(statement, request.principal);
    if (reach == Reach::None || mismatch_after_principal(statement, request)) continue;
    if (statement.effect == Effect::Deny) return {Verdict::ExplicitDeny, i, false, false};
    if (reach <= furthest) continue;
    furthest = reach;
    decision = {Verdict::Allow, i, reach == Reach::Account, reach == Reach::Role};
  }
  return decision;
}

std::optional<Mismatch> first_mismatch(const Statement& statement, const Request& request) {
  if (reach_of(statement, request.principal) == Reach::None) return Mismatch{Part::Principal};
  return mismatch_after_principal(statement, request);
}

std::string describe(const Statement& statement, const Mismatch& mismatch, const Request& request) {
  switch (mismatch.part) {
    case Part::Principal: {
      std::vector<std::string_view> names;
      for (const PrincipalPattern& pattern : statement.principals) names.push_back(pattern.text);
      return statement.not_principal
                 ? fmt::format("NotPrincipal: {} is listed in {}", name_of(request.principal), listed(names))
                 : fmt::format("Principal: {} is not named by {}", name_of(request.principal), listed(names));
    }
    case Part::Action:
      return statement.not_action ? fmt::format("NotAction: {} is one of {}", request.action, listed(statement.actions))
                                  : fmt::format("Action: {} is none of {}", request.action, listed(statement.actions));
    case Part::Resource:
      return statement.not_resource
                 ? fmt::format("NotResource: {} is one of {}", request.resource, listed(statement.resources))
                 : fmt::format("Resource: {} is none of {}", request.resource, listed(statement.resources));
    case Part::Condition: break;
  }
  const Condition& condition = statement.conditions[mismatch.condition];
  std::vector<std::string_view> wanted;
  for (const ConditionValue& value : condition.values) wanted.push_back(value.text);
  const KeyValues values = values_of(request, condition.known_key, condition.key);
  if (condition.op.base == Base::Null)
    return fmt::format("Condition: {} {}: the request {} this key", condition.operator_name, condition.key,
                       values.empty() ? "has not" : "has");
  if (values.empty())
    return fmt::format("Condition: {} {}: the request has no such key, the statement compares it with {}",
                       condition.operator_name, condition.key, listed(wanted));
  std::vector<std::string_view> has;
  for (std::size_t i = 0; i < values.size(); ++i) has.push_back(values[i]);
  return fmt::format("Condition: {} {}: the request has {}, the statement compares it with {}", condition.operator_name,
                     condition.key, listed(has), listed(wanted));
}

}  // namespace fanfare::policy
