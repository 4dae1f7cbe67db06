// A second evaluator, for tests only: written from the documentation's sentences on the policy's JSON itself, without
// any of the code under test, as slow and as obvious as it comes. Source: [IAM evaluation logic], [IAM condition
// operators], [IAM policy variables], [IAM NotPrincipal element].
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/json/value.h"

namespace fanfare::policy::naive {

struct Asker {
  enum class Kind { Anonymous, Root, User, Session, Service } kind = Kind::Anonymous;
  std::string account;  // of Root, User, Session
  std::string arn;
  std::string role_arn;  // of Session
  std::string service;   // of Service
};

struct Asked {
  Asker who;
  std::string action;
  std::string resource;
  std::map<std::string, std::vector<std::string>> keys;  // names in lower case
};

struct Policies {
  std::optional<wire::json::Value> resource_policy;
  std::vector<wire::json::Value> identity_policies;
  std::optional<wire::json::Value> permissions_boundary;
  std::vector<wire::json::Value> session_policies;
  std::vector<std::vector<wire::json::Value>> service_control_policies;
};

/// "Allow", "ExplicitDeny" or "ImplicitDeny".
std::string decide(const Asked& asked, const Policies& policies);

}  // namespace fanfare::policy::naive
