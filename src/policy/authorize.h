// All policies that bear upon one request, decided together: the resource's, the identity's, its permissions boundary,
// its session's, and those of its organisation.
//
// Rule 1: an explicit Deny in any of them wins.
// Rule 2: inside one account an Allow of the resource or of the identity suffices; across accounts both must allow.
// Rule 3: boundary, session and organisation only take away. What a resource grants to a session, a user or everybody,
// the
//         first two cannot take away inside one account; what it grants to a role, they can.
// Rule 4: services, providers and anonymous callers have no identity policies: the resource's policy decides alone.
// Rule 5: a queue's policy never grants an owner-only action to another account.
// Source: [IAM evaluation logic], [SQS access policy language, limits of custom policies].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace fanfare::policy {

/// What an identity may do. An empty span restricts nothing, but without an identity policy that allows, and without
/// the resource's word, the answer is ImplicitDeny.
struct IdentityPolicies {
  std::span<const Policy> identity_policies;
  const Policy* permissions_boundary = nullptr;
  std::span<const Policy> session_policies;
  /// One element a level of the organisation, from its root to the account; each level must allow.
  std::span<const std::vector<Policy>> service_control_policies;
  /// The identity side allows everything that nothing denies: development mode, and the root of an account.
  bool unrestricted = false;
};

/// One request with all that decides it. Views. `request.action` may be a batch action: it counts as its single form.
struct Question {
  Request request;
  const Policy* resource_policy = nullptr;  ///< nullptr: the resource has none
  IdentityPolicies identity;
};

enum class Source : std::uint8_t {
  ResourcePolicy,
  IdentityPolicies,
  PermissionsBoundary,
  SessionPolicies,
  ServiceControlPolicies
};

/// "resource_policy", "identity_policies", ...
std::string_view name_of(Source source);

/// A statement among all of a question.
struct StatementPlace {
  Source source = Source::ResourcePolicy;
  std::size_t level = 0;   ///< of ServiceControlPolicies
  std::size_t policy = 0;  ///< which one of several
  std::size_t statement = 0;
  friend bool operator==(const StatementPlace&, const StatementPlace&) = default;
};

/// Why it ended as it did.
enum class Cause : std::uint8_t {
  Allowed,
  ExplicitDeny,
  NothingAllows,         ///< neither the resource's policy nor an identity policy
  ResourceDoesNotAllow,  ///< the identity may, but the resource of another account says nothing of it
  IdentityDoesNotAllow,  ///< the resource would, but no identity policy of the caller's account does
  OwnerOnly,             ///< an action that a queue never shares with other accounts
  BoundaryDoesNotAllow,
  SessionDoesNotAllow,
  ServiceControlDoesNotAllow,
};
/// `no statement of the resource's policy allows it, and the caller belongs to another account`
std::string_view describe(Cause cause);

struct Outcome {
  Verdict verdict = Verdict::ImplicitDeny;
  Cause cause = Cause::NothingAllows;
  /// The Deny that decided, or the Allow: the resource's where it was needed. Nullopt for ImplicitDeny, and where the
  /// identity side is unrestricted.
  std::optional<StatementPlace> decided_by;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Allocates nothing but what policy variables need. Thread-safe.
Outcome authorize(const Question& question);

/// What one statement had to say.
struct StatementExplanation {
  StatementPlace place;
  std::string sid;
  Effect effect = Effect::Deny;
  std::optional<Part> mismatch;  ///< the first part that did not fit; nullopt: the statement applied
  std::string detail;            ///< `Condition: ArnEquals aws:SourceArn: the request has no such key, ...`
};
std::vector<StatementExplanation> explain(const Question& question);

/// The answer of `fanfare policy evaluate` for one case, without a line end:
/// {"decision":"Allow","decided_by":{"policy":"resource_policy","index":0,"sid":"topic"},"reason":"...","explanation":[..]}
void append_answer(std::string& out, const Question& question);

/// One sentence for an error message or the log:
/// `an explicit deny in statement 1 ("OnlyStage") of the resource policy` or
/// `no statement allows it: resource policy, statement 0 ("topic"): Condition: ...`
std::string sentence(const Question& question, const Outcome& outcome);

}  // namespace fanfare::policy
