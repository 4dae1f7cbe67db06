// A question to the policies as JSON, as `fanfare policy evaluate` and the tables of cases have it:
//
//   {"request": {"principal": "arn:aws:iam::111122223333:user/alice", "action": "sns:Publish",
//                "resource": "arn:aws:sns:us-east-1:111122223333:doc-events", "context": {"aws:SourceIp":
//                ["10.0.0.1"]}},
//    "resource_policy": {..}, "identity_policies": [{..}], "permissions_boundary": {..}, "session_policies": [{..}],
//    "service_control_policies": [[{..}], [{..}]]}
//
// Rule 1: a principal is an ARN, an account, "anonymous", {"service": "sns.amazonaws.com"} or {"federated": "..."}. The
// ARN
//         of a role without a session is any session of that role.
// Rule 2: what is absent does not restrict; a member that is not known is refused, so that none is misspelt.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/authorize.h"
#include "wire/json/value.h"

namespace fanfare::policy {

/// A principal with the texts that it points to. Not movable once made, as its views point into it.
struct OwnedPrincipal {
  std::string arn;
  std::string account;
  std::string role_arn;
  std::string service;
  Principal::Kind kind = Principal::Kind::Anonymous;

  /// "arn:aws:sts::111122223333:assumed-role/task/run-1", "111122223333", "anonymous"; nullopt for what is no
  /// principal.
  static std::optional<OwnedPrincipal> parse(std::string_view text);
  [[nodiscard]] Principal view() const;
};

/// Context keys with their values, owned.
class OwnedContext {
 public:
  void add(std::string key, std::vector<std::string> values);
  /// Valid until the next add().
  [[nodiscard]] std::span<const ContextEntry> view();

 private:
  struct Owned {
    std::string key;
    std::vector<std::string> values;
    std::vector<std::string_view> views;
  };
  std::deque<Owned> owned_;
  std::vector<ContextEntry> entries_;
};

class OwnedQuestion {
 public:
  /// Errors say where: `resource_policy: statement 0: there is no condition operator "StringEqual"`,
  /// `request: "action" is missing`.
  static Result<OwnedQuestion, std::string> parse(const wire::json::Value& value);

  /// Valid while this object lives and is not moved.
  [[nodiscard]] Question view();

  OwnedPrincipal principal;
  std::string action;
  std::string resource;
  std::string resource_account;
  OwnedContext context;
  std::optional<Policy> resource_policy;
  std::vector<Policy> identity_policies;
  std::optional<Policy> permissions_boundary;
  std::vector<Policy> session_policies;
  std::vector<std::vector<Policy>> service_control_policies;
};

/// Values as a context key has them: a text, number or boolean, or an array of these. Nullopt for anything else.
std::optional<std::vector<std::string>> context_values(const wire::json::Value& value);

}  // namespace fanfare::policy
