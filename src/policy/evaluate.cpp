// Matching and deciding: what a parsed policy says about one request.

#include <algorithm>

#include "policy/policy.h"

namespace fanfare::policy {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

template <class Same>
bool match(std::string_view pattern, std::string_view text, Same same) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last * seen, and what it has taken so far
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || same(pattern[p], text[t]))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// An ARN's parts one after another: five ends at colons, the sixth is all the rest.
class ArnParts {
 public:
  explicit ArnParts(std::string_view arn) : rest_(arn) {}
  [[nodiscard]] bool more() const { return more_; }
  std::string_view next() {
    const std::size_t colon = ++taken_ == 6 ? std::string_view::npos : rest_.find(':');
    const std::string_view part = rest_.substr(0, colon);
    more_ = colon != std::string_view::npos;
    rest_ = more_ ? rest_.substr(colon + 1) : std::string_view{};
    return part;
  }

 private:
  std::string_view rest_;
  bool more_ = true;
  int taken_ = 0;
};

bool matches_principal(const PrincipalPattern& pattern, const Principal& principal) {
  switch (pattern.kind) {
    case PrincipalPattern::Kind::Anyone: return true;
    case PrincipalPattern::Kind::Account:
      return !principal.account.empty() && principal.account == pattern.text;
    case PrincipalPattern::Kind::Arn:
      return !principal.arn.empty() && (principal.arn == pattern.text || principal.role_arn == pattern.text);
    case PrincipalPattern::Kind::Service:
      return principal.kind == Principal::Kind::Service && principal.service == pattern.text;
  }
  return false;
}

/// The values of a condition key; `single` lends its place to a key that has just one. Empty: the key is absent.
std::span<const std::string_view> values_of(const Request& request, std::string_view key, std::string_view& single) {
  for (const auto entries : {request.context, request.service_context})
    for (const ContextEntry& entry : entries)
      if (equal_ignoring_case(entry.key, key)) return entry.values;
  const Principal& principal = request.principal;
  const bool is_service = principal.kind == Principal::Kind::Service;
  if (equal_ignoring_case(key, "aws:PrincipalArn")) {
    single = principal.role_arn.empty() ? principal.arn : principal.role_arn;
  } else if (equal_ignoring_case(key, "aws:PrincipalAccount")) {
    single = principal.account;
  } else if (equal_ignoring_case(key, "aws:PrincipalServiceName")) {
    single = principal.service;
  } else if (equal_ignoring_case(key, "aws:PrincipalIsAWSService")) {
    single = is_service ? "true" : "false";
  }
  if (single.empty()) return {};
  return {&single, 1};
}

bool matches_value(ConditionOperator::Base base, std::string_view wanted, std::string_view value) {
  switch (base) {
    case ConditionOperator::Base::StringEquals: return wanted == value;
    case ConditionOperator::Base::StringEqualsIgnoreCase:
    case ConditionOperator::Base::Bool: return equal_ignoring_case(wanted, value);
    case ConditionOperator::Base::StringLike: return glob_match(wanted, value);
    case ConditionOperator::Base::ArnLike: return arn_match(wanted, value);
    case ConditionOperator::Base::Null: break;
  }
  return false;
}

bool holds(const Condition& condition, const Request& request) {
  std::string_view single;
  const auto values = values_of(request, condition.key, single);
  if (condition.op.base == ConditionOperator::Base::Null)
    return std::any_of(condition.values.begin(), condition.values.end(), [&](const std::string& wanted) {
      return equal_ignoring_case(wanted, values.empty() ? "true" : "false");
    });
  // An absent key: a positive operator does not hold, a negated one does, and so does every one with IfExists.
  if (values.empty()) return condition.op.negated || condition.op.if_exists;
  const bool any = std::any_of(values.begin(), values.end(), [&](std::string_view value) {
    return std::any_of(condition.values.begin(), condition.values.end(),
                       [&](const std::string& wanted) { return matches_value(condition.op.base, wanted, value); });
  });
  return any != condition.op.negated;
}

bool applies(const Statement& statement, const Request& request) {
  const bool action = std::any_of(statement.actions.begin(), statement.actions.end(), [&](const std::string& pattern) {
    return glob_match_ignoring_case(pattern, request.action);
  });
  if (action == statement.not_action) return false;
  const bool resource = std::any_of(statement.resources.begin(), statement.resources.end(),
                                    [&](const std::string& pattern) { return arn_match(pattern, request.resource); });
  if (resource == statement.not_resource) return false;
  return std::all_of(statement.conditions.begin(), statement.conditions.end(),
                     [&](const Condition& condition) { return holds(condition, request); });
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  return match(pattern, text, [](char a, char b) { return a == b; });
}

bool glob_match_ignoring_case(std::string_view pattern, std::string_view text) {
  return match(pattern, text, [](char a, char b) { return lower(a) == lower(b); });
}

bool arn_match(std::string_view pattern, std::string_view arn) {
  if (pattern == "*") return true;
  ArnParts patterns{pattern};
  ArnParts parts{arn};
  while (patterns.more() && parts.more())
    if (!glob_match(patterns.next(), parts.next())) return false;
  return !patterns.more();
}

Decision evaluate(const Policy& policy, const Request& request) {
  Decision decision;
  const auto statements = policy.statements();
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    bool names = statement.principals.empty();  // an identity's own policy
    bool names_account_only = !names;
    for (const PrincipalPattern& pattern : statement.principals) {
      if (!matches_principal(pattern, request.principal)) continue;
      names = true;
      if (pattern.kind != PrincipalPattern::Kind::Account) names_account_only = false;
    }
    if (!names || !applies(statement, request)) continue;
    if (statement.effect == Effect::Deny) return {Verdict::ExplicitDeny, i, false};
    if (decision.verdict == Verdict::ImplicitDeny) {
      decision = {Verdict::Allow, i, names_account_only};
    } else if (!names_account_only) {
      decision.delegated = false;
    }
  }
  return decision;
}

}  // namespace fanfare::policy
