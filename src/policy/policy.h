// The access policy language: a parsed document, a request, a decision and why.
//
// Rule 1: what is not understood is refused when the policy is parsed, never allowed at evaluation.
// Rule 2: an explicit Deny wins over every Allow; without either the answer is ImplicitDeny. Order never matters.
// Rule 3: a Policy is immutable; evaluating it allocates nothing (see pattern.h for the one exception).
// One policy is decided here; all that bear upon a request together, in authorize.h.
// Source: [IAM policy grammar], [IAM evaluation logic], [IAM condition operators].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "policy/context.h"
#include "policy/literals.h"
#include "policy/pattern.h"

namespace fanfare::policy {

/// One condition key of a request with its values; key names are compared without regard to case. Without values the
/// key counts as absent. {"aws:SourceArn", {"arn:aws:sns:us-east-1:000000000000:doc-events"}}
struct ContextEntry {
  std::string_view key;
  std::span<const std::string_view> values;
};

/// Who asks.
struct Principal {
  enum class Kind : std::uint8_t {
    Anonymous,  ///< an unsigned request
    Account,    ///< the root of an account; arn "arn:aws:iam::000000000000:root"
    Identity,   ///< a user, role session or federated user; arn as sts:GetCallerIdentity answers it
    Service,    ///< a service acting for itself; `service` "sns.amazonaws.com"
    Federated,  ///< whoever an identity provider vouches for, before it has assumed a role; `service` is the provider
  };
  Kind kind = Kind::Anonymous;
  std::string_view account;   ///< 12 digits; empty for Anonymous, Service and Federated
  std::string_view arn;       ///< "arn:aws:sts::000000000000:assumed-role/task/session"; empty where `account` is
  std::string_view role_arn;  ///< of a role session: "arn:aws:iam::000000000000:role/task"; else empty
  std::string_view service;
  /// Keys that belong to this principal and are not derived: aws:userid, aws:PrincipalTag/team, aws:PrincipalOrgID.
  std::span<const ContextEntry> context = {};
};

struct Request {
  Principal principal;
  std::string_view action;    ///< "sqs:SendMessage"; batch actions are named by their single form
  std::string_view resource;  ///< ARN
  /// Keys of the request: aws:SourceIp, aws:SecureTransport, ... Those of policy::Key need not be here.
  std::span<const ContextEntry> context;
  /// Further keys, added by the service: aws:SourceArn, aws:SourceOwner, ... They win over `context`.
  std::span<const ContextEntry> service_context;
  std::string_view resource_account = {};  ///< of the owner; empty: the account in `resource`
};

enum class Verdict : std::uint8_t { ImplicitDeny, Allow, ExplicitDeny };

struct Decision {
  Verdict verdict = Verdict::ImplicitDeny;
  /// The statement that decided: the first Deny that matched, else the first of the Allows that reach furthest (see
  /// below); nullopt for ImplicitDeny.
  std::optional<std::size_t> statement;
  /// Every Allow that matched names the principal's whole account ("arn:aws:iam::A:root"): it hands the decision over
  /// to that account's identity policies, and alone admits only the account's root. [IAM principal element]
  bool delegated = false;
  /// Some Allow that matched names the session's role, none the session itself or everybody: then a permissions
  /// boundary and session policies limit it. [IAM evaluation logic, roles]
  bool through_role = false;
  friend bool operator==(const Decision&, const Decision&) = default;
};

enum class ErrorKind : std::uint8_t {
  NotJson,           ///< the text is no JSON document; detail: where and why
  WrongType,         ///< the document, a statement, a principal, a value is of another JSON kind than the grammar wants
  MissingElement,    ///< a statement without Effect, Principal, Action or Resource; a document without Statement
  UnknownElement,    ///< a member that the grammar does not have
  DuplicateElement,  ///< a member that stands twice
  ConflictingElements,  ///< Action and NotAction, Resource and NotResource, Principal and NotPrincipal together
  BadValue,             ///< a value outside what its element allows: Effect "allow", Version "2020"
  UnknownOperator,      ///< a condition operator that does not exist
  BadPrincipal,         ///< a text that names no principal, or one with a wildcard inside
  BadVariable,          ///< a policy variable that cannot be read, or that stands where none may
  TooLarge,             ///< more than 128 KiB or 1,000 statements, or more than the service takes
  OutOfScope,           ///< an action that this kind of resource's policy cannot name
};

struct Error {
  ErrorKind kind;
  std::optional<std::size_t> statement;  ///< index, if it lies in one
  std::string detail;                    ///< what and where: `there is no condition operator "StringEqual"`

  /// `statement 2: there is no condition operator "StringEqual"`
  [[nodiscard]] std::string message() const;
};

/// Whether a policy belongs to a resource (its statements have principals) or to an identity (they have none).
enum class PolicyKind : std::uint8_t { Resource, Identity };

enum class Effect : std::uint8_t { Allow, Deny };

struct PrincipalPattern {
  enum class Kind : std::uint8_t {
    Anyone,     ///< "*", {"AWS":"*"}: everybody, also anonymous requests and services
    Account,    ///< {"AWS":"123456789012"}, {"AWS":"arn:aws:iam::123456789012:root"}: text is the account
    Arn,        ///< a user, role or session; a role matches its sessions. Also the dangling id of a deleted one, which
                ///< matches nobody: "AIDA..."
    Service,    ///< {"Service":"sns.amazonaws.com"}
    Federated,  ///< {"Federated":"accounts.example.com"}
    Canonical,  ///< {"CanonicalUser":"79a5..."}: nobody that this broker knows
  };
  Kind kind;
  std::string text;
};

/// A condition operator as a base and its modifiers: ForAllValues:StringNotLikeIfExists is StringLike, negated,
/// if_exists, for all values.
struct ConditionOperator {
  enum class Base : std::uint8_t {
    StringEquals,
    StringEqualsIgnoreCase,
    StringLike,
    NumericEquals,
    NumericLessThan,
    NumericLessThanEquals,
    NumericGreaterThan,
    NumericGreaterThanEquals,
    DateEquals,
    DateLessThan,
    DateLessThanEquals,
    DateGreaterThan,
    DateGreaterThanEquals,
    Bool,
    BinaryEquals,
    IpAddress,
    ArnLike,
    Null,
  };
  /// How the values of a request join: None: one of them must match (of a negated operator: none may).
  enum class Quantifier : std::uint8_t { None, ForAllValues, ForAnyValue };
  Base base;
  bool negated = false;
  bool if_exists = false;
  Quantifier quantifier = Quantifier::None;
};

/// One value of a condition: as it was written, and read as its operator wants it. Numbers are double, times
/// milliseconds.
struct ConditionValue {
  std::string text;
  std::variant<Pattern, double, std::int64_t, Network, std::string> read;
};

/// One key of one operator: {"ArnEquals":{"aws:SourceArn":["arn:...", "arn:..."]}}. Values are joined by OR, negated
/// ones by NOR; conditions are joined by AND.
struct Condition {
  ConditionOperator op;
  std::string operator_name;  ///< as it was written
  std::string key;            ///< as it was written
  Key known_key = Key::Other;
  std::vector<ConditionValue> values;
};

struct Statement {
  std::string sid;
  Effect effect = Effect::Deny;
  bool not_principal = false;  ///< `principals` are those whom the statement does not concern
  bool not_action = false;     ///< `actions` are those that do not match
  bool not_resource = false;
  std::vector<PrincipalPattern> principals;  ///< empty in identity policies
  std::vector<std::string> actions;          ///< globs, compared without regard to case
  std::vector<std::string> resources;        ///< as written; "*" where a resource's policy names none
  std::vector<Pattern> resource_patterns;    ///< the same, read
  std::vector<Condition> conditions;
};

class Policy {
 public:
  static constexpr std::size_t kBytesMax = 128 * 1024;
  static constexpr std::size_t kStatementsMax = 1'000;

  /// No statements: it says nothing of anything.
  Policy() = default;
  static Result<Policy, Error> parse(std::string_view json, PolicyKind kind = PolicyKind::Resource);

  [[nodiscard]] const std::string& id() const { return id_; }
  /// Whether it says "2012-10-17"; without a Version it is of 2008, and has no variables.
  [[nodiscard]] bool is_of_2012() const { return of_2012_; }
  [[nodiscard]] std::span<const Statement> statements() const { return statements_; }

 private:
  friend class PolicyParser;
  std::string id_;
  bool of_2012_ = false;
  std::vector<Statement> statements_;
};

/// Whether the policy's statements admit the request. Thread-safe.
Decision evaluate(const Policy& policy, const Request& request);

/// The first part of a statement that does not fit a request, in the order in which they are looked at.
enum class Part : std::uint8_t { Principal, Action, Resource, Condition };
struct Mismatch {
  Part part;
  std::size_t condition = 0;  ///< index, with Part::Condition
};
/// Nullopt: the statement applies.
std::optional<Mismatch> first_mismatch(const Statement& statement, const Request& request);
/// `StringEquals aws:SourceArn: the request has "arn:a", the statement wants "arn:b"`
std::string describe(const Statement& statement, const Mismatch& mismatch, const Request& request);

/// What SQS wants of a queue's policy beyond the grammar: 8,192 bytes, 20 statements, 50 principals, 10 conditions;
/// only actions of SQS. [SQS quotas, policies]
Result<Success, Error> check_queue_policy(const Policy& policy, std::size_t bytes);
/// What SNS wants of a topic's policy: 30 KB, 100 statements, 200 principals, actions of topics. [SNS quotas]
Result<Success, Error> check_topic_policy(const Policy& policy, std::size_t bytes);

}  // namespace fanfare::policy
