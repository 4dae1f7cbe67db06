// The access policy language: a parsed document, a request, a decision and why.
//
// Rule 1: what is not understood is refused when the policy is parsed, never allowed at evaluation.
// Rule 2: an explicit Deny wins over every Allow; without either the answer is ImplicitDeny. Order never matters.
// Rule 3: a Policy is immutable; evaluating it allocates nothing but what the request's own views need.
// Source: [IAM policy grammar], [IAM evaluation logic].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fanfare::policy {

/// Who asks.
struct Principal {
  enum class Kind : std::uint8_t {
    Anonymous,  ///< an unsigned request
    Account,    ///< the root of an account; arn "arn:aws:iam::000000000000:root"
    Identity,   ///< a user, role session or federated user; arn as sts:GetCallerIdentity answers it
    Service,    ///< a service acting for itself; `service` "sns.amazonaws.com"
  };
  Kind kind = Kind::Anonymous;
  std::string_view account;   ///< 12 digits; empty for Anonymous and Service
  std::string_view arn;       ///< "arn:aws:sts::000000000000:assumed-role/task/session"; empty for Anonymous and Service
  std::string_view role_arn;  ///< of a role session: "arn:aws:iam::000000000000:role/task"; else empty
  std::string_view service;
};

/// One condition key of a request with its values; key names are compared without regard to case.
/// {"aws:SourceArn", {"arn:aws:sns:us-east-1:000000000000:doc-events"}}
struct ContextEntry {
  std::string_view key;
  std::span<const std::string_view> values;
};

struct Request {
  Principal principal;
  std::string_view action;    ///< "sqs:SendMessage"; batch actions are named by their single form
  std::string_view resource;  ///< ARN
  std::span<const ContextEntry> context;
};

enum class Verdict : std::uint8_t { ImplicitDeny, Allow, ExplicitDeny };

struct Decision {
  Verdict verdict = Verdict::ImplicitDeny;
  /// The statement that decided: the first Deny, else the first Allow that matched; nullopt for ImplicitDeny.
  std::optional<std::size_t> statement;
};

enum class ErrorKind : std::uint8_t {
  NotJson,             ///< the text is no JSON document; detail: where and why
  NotAnObject,         ///< the document, a statement, a principal or a condition block is of another JSON kind
  MissingElement,      ///< a statement without Effect, Principal, Action or Resource, a document without Statement
  UnknownElement,      ///< a member that the grammar does not have
  UnsupportedElement,  ///< one that the grammar has and this version does not evaluate
  BadValue,            ///< a value outside what its element allows: Effect "allow", Version "2020"
  UnknownOperator,     ///< a condition operator that does not exist
  UnsupportedOperator, ///< one that exists and this version does not evaluate
  BadPrincipal,        ///< an ARN that names no principal, or a wildcard inside one
  TooLarge,            ///< more bytes, statements or nesting than any service takes
};

struct Error {
  ErrorKind kind;
  std::optional<std::size_t> statement;  ///< index, if it lies in one
  std::string detail;                    ///< what and where: `Condition operator "NumericEquals"`

  /// `statement 2: unsupported condition operator "NumericEquals"`
  [[nodiscard]] std::string message() const;
};

/// Whether a policy belongs to a resource (has principals) or to an identity (has none).
enum class PolicyKind : std::uint8_t { Resource, Identity };

struct Statement;

class Policy {
 public:
  static Result<Policy, Error> parse(std::string_view json, PolicyKind kind = PolicyKind::Resource);

  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  Policy(const Policy&);
  Policy& operator=(const Policy&);
  ~Policy();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::span<const Statement> statements() const;
  /// The Sid of a statement; empty if it has none.
  [[nodiscard]] std::string_view sid(std::size_t statement) const;

 private:
  Policy();
  std::string id_;
  bool variables_ = false;  // Version 2012-10-17
  std::vector<Statement> statements_;
};

Decision evaluate(const Policy& policy, const Request& request);

}  // namespace fanfare::policy
