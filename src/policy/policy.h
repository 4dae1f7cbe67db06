// The access policy language: a parsed document, a request, a decision and why.
//
// Rule 1: what is not understood is refused when the policy is parsed, never allowed at evaluation.
// Rule 2: an explicit Deny wins over every Allow; without either the answer is ImplicitDeny. Order never matters.
// Rule 3: a Policy is immutable; evaluating it allocates nothing.
// Source: [IAM policy grammar], [IAM evaluation logic], [IAM condition operators].
#pragma once

#include <cstddef>
#include <cstdint>
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

/// One condition key of a request with its values; key names are compared without regard to case. Without values the key
/// counts as absent. {"aws:SourceArn", {"arn:aws:sns:us-east-1:000000000000:doc-events"}}
struct ContextEntry {
  std::string_view key;
  std::span<const std::string_view> values;
};

struct Request {
  Principal principal;
  std::string_view action;    ///< "sqs:SendMessage"; batch actions are named by their single form
  std::string_view resource;  ///< ARN
  /// Keys of the request: aws:SourceIp, aws:SecureTransport, ... Those that follow from the principal need not be here:
  /// aws:PrincipalArn, aws:PrincipalAccount, aws:PrincipalIsAWSService, aws:PrincipalServiceName.
  std::span<const ContextEntry> context;
  std::span<const ContextEntry> service_context;  ///< further keys, added by the service: aws:SourceArn, aws:SourceOwner, ...
};

enum class Verdict : std::uint8_t { ImplicitDeny, Allow, ExplicitDeny };

struct Decision {
  Verdict verdict = Verdict::ImplicitDeny;
  /// The statement that decided: the first Deny that matched, else the first Allow; nullopt for ImplicitDeny.
  std::optional<std::size_t> statement;
  /// Every Allow that matched names the principal's whole account ("arn:aws:iam::A:root"): it hands the decision over to
  /// that account's identity policies, and alone admits only the account's root. [IAM principal element]
  bool delegated = false;
  friend bool operator==(const Decision&, const Decision&) = default;
};

enum class ErrorKind : std::uint8_t {
  NotJson,              ///< the text is no JSON document; detail: where and why
  WrongType,            ///< the document, a statement, a principal, a value is of another JSON kind than the grammar wants
  MissingElement,       ///< a statement without Effect, Principal, Action or Resource; a document without Statement
  UnknownElement,       ///< a member that the grammar does not have
  DuplicateElement,     ///< a member that stands twice
  UnsupportedElement,   ///< one that the grammar has and this version does not evaluate
  ConflictingElements,  ///< Action and NotAction, Resource and NotResource, Principal and NotPrincipal together
  BadValue,             ///< a value outside what its element allows: Effect "allow", Version "2020"
  UnknownOperator,      ///< a condition operator that does not exist
  UnsupportedOperator,  ///< one that exists and this version does not evaluate
  BadPrincipal,         ///< a text that names no principal, or one with a wildcard inside
  TooLarge,             ///< more than 128 KiB or 1,000 statements
};

struct Error {
  ErrorKind kind;
  std::optional<std::size_t> statement;  ///< index, if it lies in one
  std::string detail;                    ///< what and where: `condition operator "NumericEquals" is not supported`

  /// `statement 2: condition operator "NumericEquals" is not supported`
  [[nodiscard]] std::string message() const;
};

/// Whether a policy belongs to a resource (its statements have principals) or to an identity (they have none).
enum class PolicyKind : std::uint8_t { Resource, Identity };

enum class Effect : std::uint8_t { Allow, Deny };

struct PrincipalPattern {
  enum class Kind : std::uint8_t {
    Anyone,   ///< "*", {"AWS":"*"}: everybody, also anonymous requests and services
    Account,  ///< {"AWS":"123456789012"}, {"AWS":"arn:aws:iam::123456789012:root"}: text is the account
    Arn,      ///< a user, role or session; a role matches its sessions. Also the dangling id of a deleted one, which
              ///< matches nobody: "AIDA..."
    Service,  ///< {"Service":"sns.amazonaws.com"}
  };
  Kind kind;
  std::string text;
};

/// A condition operator as a base and its modifiers: StringNotLikeIfExists is StringLike, negated, if_exists.
struct ConditionOperator {
  enum class Base : std::uint8_t { StringEquals, StringEqualsIgnoreCase, StringLike, ArnLike, Bool, Null };
  Base base;
  bool negated = false;
  bool if_exists = false;
};

/// One key of one operator: {"ArnEquals":{"aws:SourceArn":["arn:...", "arn:..."]}}. Values are joined by OR, negated ones
/// by NOR; conditions are joined by AND.
struct Condition {
  ConditionOperator op;
  std::string operator_name;  ///< as it was written
  std::string key;            ///< as it was written
  std::vector<std::string> values;
};

struct Statement {
  std::string sid;
  Effect effect = Effect::Deny;
  std::vector<PrincipalPattern> principals;  ///< empty in identity policies
  std::vector<std::string> actions;          ///< globs, compared without regard to case
  std::vector<std::string> resources;        ///< ARN globs; each of the six parts for itself
  bool not_action = false;                   ///< `actions` are those that do not match
  bool not_resource = false;
  std::vector<Condition> conditions;
};

class Policy {
 public:
  static constexpr std::size_t kBytesMax = 128 * 1024;
  static constexpr std::size_t kStatementsMax = 1'000;

  static Result<Policy, Error> parse(std::string_view json, PolicyKind kind = PolicyKind::Resource);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::span<const Statement> statements() const { return statements_; }

 private:
  friend class PolicyParser;
  Policy() = default;
  std::string id_;
  std::vector<Statement> statements_;
};

/// Whether the policy's statements admit the request. Thread-safe.
Decision evaluate(const Policy& policy, const Request& request);

/// `*` is any run of characters, also none; `?` is one. Time is at most the product of the lengths.
bool glob_match(std::string_view pattern, std::string_view text);
/// The same without regard to the case of ASCII letters.
bool glob_match_ignoring_case(std::string_view pattern, std::string_view text);
/// An ARN against a pattern: six parts, split at the first five colons, each matched for itself. Parts that the pattern
/// does not have match everything; a pattern of `*` alone does, too.
bool arn_match(std::string_view pattern, std::string_view arn);

}  // namespace fanfare::policy
