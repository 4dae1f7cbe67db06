#include "policy/naive_evaluator.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

namespace fanfare::policy::naive {
namespace {

using json = wire::json::Value;
using Texts = std::vector<std::string>;

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Texts split(const std::string& text, char separator) {
  Texts parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (text.empty() || text.back() == separator) parts.emplace_back();
  return parts;
}

// A character of a pattern, and whether it is a wildcard.
struct Char {
  char c;
  bool wild;
};
using Chars = std::vector<Char>;

bool glob(const Chars& pattern, std::size_t p, const std::string& text, std::size_t t) {
  if (p == pattern.size()) return t == text.size();
  if (pattern[p].wild && pattern[p].c == '*') {
    for (std::size_t end = t; end <= text.size(); ++end)
      if (glob(pattern, p + 1, text, end)) return true;
    return false;
  }
  if (t == text.size()) return false;
  if (!(pattern[p].wild && pattern[p].c == '?') && pattern[p].c != text[t]) return false;
  return glob(pattern, p + 1, text, t + 1);
}

Texts texts_of(const json& value) {
  if (value.is_array()) {
    Texts all;
    for (const json& item : value.items()) all.emplace_back(*item.as_string());
    return all;
  }
  return {std::string(*value.as_string())};
}

class Evaluator {
 public:
  explicit Evaluator(const Asked& asked) : asked_(asked) {}

  // "Deny", "Allow" or "" for one policy; an identity's policies have no principals.
  // `reach` tells how the widest Allow names the asker: 1 by the account, 2 by the role, 3 directly.
  std::string evaluate(const json& policy, int& reach) const {
    const bool variables = policy.find_string("Version") == "2012-10-17";
    std::string result;
    for (const json& statement : policy.find("Statement")->items()) {
      const int names = named(statement);
      if (names == 0 || !fits(statement, variables)) continue;
      if (statement.find_string("Effect") == "Deny") return "Deny";
      result = "Allow";
      reach = std::max(reach, names);
    }
    return result;
  }

 private:
  bool names_asker(const std::string& kind, const std::string& name) const {
    const Asker& who = asked_.who;
    if (name == "*") return true;
    if (kind == "Service") return who.kind == Asker::Kind::Service && who.service == name;
    if (who.account.empty()) return false;
    if (name == who.account || name == "arn:aws:iam::" + who.account + ":root") return true;
    return name == who.arn || (!who.role_arn.empty() && name == who.role_arn);
  }

  int named(const json& statement) const {
    const json* principal = statement.find("Principal");
    const json* others = statement.find("NotPrincipal");
    if (principal == nullptr && others == nullptr) return 3;
    std::vector<std::pair<std::string, std::string>> names;
    const json& element = principal != nullptr ? *principal : *others;
    if (element.is_string()) {
      names.emplace_back("AWS", "*");
    } else {
      for (const auto& [kind, list] : element.members())
        for (const std::string& name : texts_of(list)) names.emplace_back(kind, name);
    }
    const Asker& who = asked_.who;
    const std::string root = "arn:aws:iam::" + who.account + ":root";
    const auto lists = [&](const std::string& arn) {
      return std::any_of(names.begin(), names.end(), [&](const auto& n) {
        return n.second == "*" || (n.first == "AWS" && (n.second == arn || (arn == root && n.second == who.account)));
      });
    };
    if (others != nullptr) {
      const bool any =
          std::any_of(names.begin(), names.end(), [&](const auto& n) { return names_asker(n.first, n.second); });
      if (statement.find_string("Effect") == "Allow") return any ? 0 : 3;
      switch (who.kind) {  // a Deny spares only whom it lists under all of its names
        case Asker::Kind::Anonymous:
        case Asker::Kind::Service: return any ? 0 : 3;
        case Asker::Kind::Root: return lists(root) ? 0 : 3;
        case Asker::Kind::User: return lists(root) && lists(who.arn) ? 0 : 3;
        case Asker::Kind::Session: return lists(root) && lists(who.arn) && lists(who.role_arn) ? 0 : 3;
      }
    }
    int reach = 0;
    for (const auto& [kind, name] : names) {
      if (!names_asker(kind, name)) continue;
      const bool account = name == who.account || name == root;
      if (name == "*" || kind == "Service") {
        reach = 3;
      } else if (account) {
        reach = std::max(reach, who.kind == Asker::Kind::Root ? 3 : 1);
      } else {
        reach = std::max(reach, name == who.role_arn ? 2 : 3);
      }
    }
    return reach;
  }

  Texts values(std::string key) const {
    key = lowered(std::move(key));
    if (const auto found = asked_.keys.find(key); found != asked_.keys.end()) return found->second;
    const Asker& who = asked_.who;
    const bool service = who.kind == Asker::Kind::Service;
    if (key == "aws:principalarn" && !who.arn.empty()) return {who.role_arn.empty() ? who.arn : who.role_arn};
    if (key == "aws:principalaccount" && !who.account.empty()) return {who.account};
    if (key == "aws:principalisawsservice") return {service ? "true" : "false"};
    if (key == "aws:username" && who.kind == Asker::Kind::User) return {split(who.arn, '/').back()};
    return {};
  }

  // A text with its variables put in; nullopt where one has no single value.
  std::optional<Chars> expanded(const std::string& text, bool variables, bool wildcards) const {
    Chars out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (!variables || text.compare(i, 2, "${") != 0) {
        out.push_back({text[i], wildcards && (text[i] == '*' || text[i] == '?')});
        continue;
      }
      const std::size_t end = text.find('}', i);
      std::string name = text.substr(i + 2, end - i - 2);
      i = end;
      std::string value = name;
      if (name != "*" && name != "?" && name != "$") {
        std::optional<std::string> fallback;
        if (const std::size_t comma = name.find(", '"); comma != std::string::npos) {
          fallback = name.substr(comma + 3, name.size() - comma - 4);
          name = name.substr(0, comma);
        }
        const Texts found = values(name);
        if (found.size() == 1) {
          value = found[0];
        } else if (found.empty() && fallback) {
          value = *fallback;
        } else {
          return std::nullopt;
        }
      }
      for (const char c : value) out.push_back({c, false});
    }
    return out;
  }

  static bool arn_like(const Chars& pattern, const std::string& arn) {
    if (pattern.size() == 1 && pattern[0].wild && pattern[0].c == '*') return true;
    std::vector<Chars> wanted(1);
    for (const Char& c : pattern) {
      if (c.c == ':' && wanted.size() < 6) {
        wanted.emplace_back();
      } else {
        wanted.back().push_back(c);
      }
    }
    Texts parts(1);
    for (const char c : arn) {
      if (c == ':' && parts.size() < 6) {
        parts.emplace_back();
      } else {
        parts.back().push_back(c);
      }
    }
    if (wanted.size() != parts.size()) return false;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!glob(wanted[i], 0, parts[i], 0)) return false;
    return true;
  }

  bool equal(const std::string& op, const std::string& wanted, const std::string& value, bool variables) const {
    if (op.starts_with("Numeric")) {
      const double a = std::strtod(value.c_str(), nullptr);
      const double b = std::strtod(wanted.c_str(), nullptr);
      if (value.find_first_not_of("0123456789.-") != std::string::npos) return false;
      if (op == "NumericEquals") return a == b;
      if (op == "NumericLessThan") return a < b;
      return a >= b;  // NumericGreaterThanEquals
    }
    const bool like = op == "StringLike" || op == "ArnLike" || op == "ArnEquals";
    const auto pattern = expanded(wanted, variables, like);
    if (!pattern) return false;
    if (op == "StringLike") return glob(*pattern, 0, value, 0);
    if (like) return arn_like(*pattern, value);
    std::string text;
    for (const Char& c : *pattern) text.push_back(c.c);
    return op == "StringEquals" ? text == value : lowered(text) == lowered(value);  // Bool, StringEqualsIgnoreCase
  }

  bool holds(std::string op, const std::string& key, const Texts& wanted, bool variables) const {
    const Texts found = values(key);
    if (op == "Null")
      return std::any_of(wanted.begin(), wanted.end(), [&](const auto& w) { return (w == "true") == found.empty(); });
    std::string set;
    if (op.starts_with("For")) {
      set = op.substr(0, op.find(':'));
      op = op.substr(op.find(':') + 1);
    }
    bool if_exists = false;
    if (op.ends_with("IfExists")) {
      if_exists = true;
      op.resize(op.size() - 8);
    }
    const std::size_t no = op.find("Not");
    const bool negated = no != std::string::npos;
    if (negated) op.erase(no, 3);
    const auto fits = [&](const std::string& value) {
      const bool any =
          std::any_of(wanted.begin(), wanted.end(), [&](const auto& w) { return equal(op, w, value, variables); });
      return any != negated;
    };
    if (set == "ForAllValues") return std::all_of(found.begin(), found.end(), fits);
    if (found.empty() && if_exists) return true;
    if (set == "ForAnyValue") return std::any_of(found.begin(), found.end(), fits);
    if (found.empty()) return negated;
    return negated ? std::all_of(found.begin(), found.end(), fits) : std::any_of(found.begin(), found.end(), fits);
  }

  bool fits(const json& statement, bool variables) const {
    const json* action = statement.find("Action");
    const Texts actions = texts_of(action != nullptr ? *action : *statement.find("NotAction"));
    const bool named_action = std::any_of(actions.begin(), actions.end(), [&](const std::string& a) {
      return glob(*expanded(lowered(a), false, true), 0, lowered(asked_.action), 0);
    });
    if (named_action != (action != nullptr)) return false;
    const json* resource = statement.find("Resource");
    const Texts resources = texts_of(resource != nullptr ? *resource : *statement.find("NotResource"));
    const bool named_resource = std::any_of(resources.begin(), resources.end(), [&](const std::string& r) {
      const auto pattern = expanded(r, variables, true);
      return pattern &&
             (glob_is_simple(r) ? arn_like(*pattern, asked_.resource) : glob(*pattern, 0, asked_.resource, 0));
    });
    if (named_resource != (resource != nullptr)) return false;
    const json* condition = statement.find("Condition");
    if (condition == nullptr) return true;
    for (const auto& [op, keys] : condition->members())
      for (const auto& [key, wanted] : keys.members())
        if (!holds(op, key, texts_of(wanted), variables)) return false;
    return true;
  }

  // Whether no part but the last ends in a star, which would reach beyond its colon.
  static bool glob_is_simple(const std::string& resource) {
    return resource.find("*:") == std::string::npos && resource != "*" &&
           std::count(resource.begin(), resource.end(), ':') >= 5;
  }

  const Asked& asked_;
};

}  // namespace

std::string decide(const Asked& asked, const Policies& policies) {
  const Evaluator evaluator(asked);
  int reach = 0;
  int unused = 0;
  bool any_deny = false;
  const auto any_allow = [&](const std::vector<json>& list) {
    bool allow = false;
    for (const json& policy : list) {
      const std::string verdict = evaluator.evaluate(policy, unused);
      any_deny = any_deny || verdict == "Deny";
      allow = allow || verdict == "Allow";
    }
    return allow;
  };
  bool resource = false;
  if (policies.resource_policy) {
    const std::string verdict = evaluator.evaluate(*policies.resource_policy, reach);
    any_deny = verdict == "Deny";
    resource = verdict == "Allow";
  }
  const Asker& who = asked.who;
  const bool root = who.kind == Asker::Kind::Root;
  const std::string owner = split(asked.resource, ':')[4];
  const bool same_account = !who.account.empty() && who.account == owner;
  if (!same_account && (asked.action == "sqs:DeleteQueue" || asked.action == "sqs:SetQueueAttributes"))
    resource = false;
  bool identity = false;
  bool boundary = true;
  bool session = true;
  bool organisation = true;
  if (!who.account.empty()) {
    if (!root) {
      identity = any_allow(policies.identity_policies);
      if (policies.permissions_boundary) boundary = any_allow({*policies.permissions_boundary});
      if (!policies.session_policies.empty()) session = any_allow(policies.session_policies);
    }
    for (const auto& level : policies.service_control_policies) organisation = any_allow(level) && organisation;
  }
  if (any_deny) return "ExplicitDeny";
  const auto answer = [](bool yes) { return std::string(yes ? "Allow" : "ImplicitDeny"); };
  if (who.account.empty()) return answer(resource);
  if (!organisation) return answer(false);
  const bool by_identity = (root || identity) && boundary && session;
  if (!same_account) return answer(resource && by_identity);
  const bool by_resource = resource && (reach == 3 || (reach == 2 && boundary && session));
  return answer(by_resource || by_identity);
}

}  // namespace fanfare::policy::naive
