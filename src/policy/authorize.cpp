#include "policy/authorize.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/actions.h"
#include "wire/json/writer.h"

namespace fanfare::policy {
namespace json = wire::json;
namespace {

/// Several policies of one kind, joined: a Deny in any, else an Allow in any.
struct Joined {
  Verdict verdict = Verdict::ImplicitDeny;
  StatementPlace place;
};

Joined join(std::span<const Policy> policies, const Request& request, Source source, std::size_t level = 0) {
  Joined joined;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Decision decision = evaluate(policies[i], request);
    if (decision.verdict == Verdict::ImplicitDeny) continue;
    if (decision.verdict == Verdict::Allow && joined.verdict == Verdict::Allow) continue;
    joined = {decision.verdict, {source, level, i, *decision.statement}};
    if (decision.verdict == Verdict::ExplicitDeny) break;
  }
  return joined;
}

Outcome denied(const StatementPlace& place) { return {Verdict::ExplicitDeny, Cause::ExplicitDeny, place}; }
Outcome refused(Cause cause) { return {Verdict::ImplicitDeny, cause, std::nullopt}; }

Request as_single(const Request& request) {
  Request single = request;
  single.action = single_form(request.action);
  return single;
}

bool belongs_to_an_account(const Principal& principal) {
  return principal.kind == Principal::Kind::Account || principal.kind == Principal::Kind::Identity;
}

/// Calls `visit(policy, place)` for each policy of the question.
template <class Visit>
void for_each_policy(const Question& question, Visit visit) {
  if (question.resource_policy != nullptr) visit(*question.resource_policy, StatementPlace{Source::ResourcePolicy});
  const IdentityPolicies& identity = question.identity;
  for (std::size_t i = 0; i < identity.identity_policies.size(); ++i)
    visit(identity.identity_policies[i], StatementPlace{Source::IdentityPolicies, 0, i});
  if (identity.permissions_boundary != nullptr)
    visit(*identity.permissions_boundary, StatementPlace{Source::PermissionsBoundary});
  for (std::size_t i = 0; i < identity.session_policies.size(); ++i)
    visit(identity.session_policies[i], StatementPlace{Source::SessionPolicies, 0, i});
  for (std::size_t level = 0; level < identity.service_control_policies.size(); ++level) {
    const auto& policies = identity.service_control_policies[level];
    for (std::size_t i = 0; i < policies.size(); ++i)
      visit(policies[i], StatementPlace{Source::ServiceControlPolicies, level, i});
  }
}

const Statement* statement_at(const Question& question, const StatementPlace& wanted) {
  const Statement* found = nullptr;
  for_each_policy(question, [&](const Policy& policy, const StatementPlace& place) {
    if (place.source == wanted.source && place.level == wanted.level && place.policy == wanted.policy)
      found = &policy.statements()[wanted.statement];
  });
  return found;
}

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::ImplicitDeny: return "ImplicitDeny";
    case Verdict::Allow: return "Allow";
    case Verdict::ExplicitDeny: return "ExplicitDeny";
  }
  return "";
}

std::string_view word(Part part) {
  switch (part) {
    case Part::Principal: return "Principal";
    case Part::Action: return "Action";
    case Part::Resource: return "Resource";
    case Part::Condition: return "Condition";
  }
  return "";
}

bool several(Source source) { return source != Source::ResourcePolicy && source != Source::PermissionsBoundary; }

void append_place(json::Writer& w, const StatementPlace& place, std::string_view sid) {
  w.key("policy").string(name_of(place.source));
  if (place.source == Source::ServiceControlPolicies) w.key("level").unsigned_integer(place.level);
  if (several(place.source)) w.key("policy_index").unsigned_integer(place.policy);
  w.key("index").unsigned_integer(place.statement);
  w.key("sid");
  if (sid.empty()) {
    w.null();
  } else {
    w.string(sid);
  }
}

std::string title(const StatementPlace& place, std::string_view sid) {
  std::string name{name_of(place.source)};
  std::ranges::replace(name, '_', ' ');
  if (several(place.source)) name += fmt::format(" {}", place.policy);
  return sid.empty() ? fmt::format("{}, statement {}", name, place.statement)
                     : fmt::format("{}, statement {} (\"{}\")", name, place.statement, sid);
}

}  // namespace

std::string_view name_of(Source source) {
  switch (source) {
    case Source::ResourcePolicy: return "resource_policy";
    case Source::IdentityPolicies: return "identity_policies";
    case Source::PermissionsBoundary: return "permissions_boundary";
    case Source::SessionPolicies: return "session_policies";
    case Source::ServiceControlPolicies: return "service_control_policies";
  }
  return "";
}

std::string_view describe(Cause cause) {
  switch (cause) {
    case Cause::Allowed: return "allowed";
    case Cause::ExplicitDeny: return "a statement denies it";
    case Cause::NothingAllows: return "no statement allows it";
    case Cause::ResourceDoesNotAllow:
      return "the resource belongs to another account, and no statement of its policy allows it";
    case Cause::IdentityDoesNotAllow: return "no identity policy of the caller allows it";
    case Cause::OwnerOnly: return "a queue's owner shares this action with no other account";
    case Cause::BoundaryDoesNotAllow: return "the permissions boundary does not allow it";
    case Cause::SessionDoesNotAllow: return "no session policy allows it";
    case Cause::ServiceControlDoesNotAllow:
      return "a level of the organisation has no service control policy that allows it";
  }
  return "";
}

Outcome authorize(const Question& question) {
  const Request request = as_single(question.request);
  const Principal& who = request.principal;
  const IdentityPolicies& identity = question.identity;

  Decision resource;
  if (question.resource_policy != nullptr) {
    resource = evaluate(*question.resource_policy, request);
    if (resource.verdict == Verdict::ExplicitDeny) return denied({Source::ResourcePolicy, 0, 0, *resource.statement});
  }
  const std::string_view owner =
      request.resource_account.empty() ? account_of_arn(request.resource) : request.resource_account;
  const bool same_account = !who.account.empty() && (owner.empty() || who.account == owner);
  bool resource_allows = resource.verdict == Verdict::Allow;
  const bool withheld = !same_account && is_owner_only(request.action);
  if (withheld) resource_allows = false;
  const StatementPlace resource_place{Source::ResourcePolicy, 0, 0, resource.statement.value_or(0)};
  const auto allowed_by_resource = [&] { return Outcome{Verdict::Allow, Cause::Allowed, resource_place}; };

  if (!belongs_to_an_account(who)) {
    if (resource_allows) return allowed_by_resource();
    return refused(withheld ? Cause::OwnerOnly : Cause::NothingAllows);
  }

  const bool is_root = who.kind == Principal::Kind::Account;
  Joined own;
  Joined boundary;
  Joined session;
  if (!is_root) {
    own = join(identity.identity_policies, request, Source::IdentityPolicies);
    if (own.verdict == Verdict::ExplicitDeny) return denied(own.place);
    if (identity.permissions_boundary != nullptr) {
      boundary = join({identity.permissions_boundary, 1}, request, Source::PermissionsBoundary);
      if (boundary.verdict == Verdict::ExplicitDeny) return denied(boundary.place);
    }
    session = join(identity.session_policies, request, Source::SessionPolicies);
    if (session.verdict == Verdict::ExplicitDeny) return denied(session.place);
  }
  bool organisation_allows = true;
  for (std::size_t level = 0; level < identity.service_control_policies.size(); ++level) {
    const Joined here = join(identity.service_control_policies[level], request, Source::ServiceControlPolicies, level);
    if (here.verdict == Verdict::ExplicitDeny) return denied(here.place);
    if (here.verdict != Verdict::Allow) organisation_allows = false;
  }
  if (!organisation_allows) return refused(Cause::ServiceControlDoesNotAllow);

  const bool full = identity.unrestricted || is_root;
  const bool own_allows = full || own.verdict == Verdict::Allow;
  const bool boundary_allows =
      is_root || identity.permissions_boundary == nullptr || boundary.verdict == Verdict::Allow;
  const bool session_allows = is_root || identity.session_policies.empty() || session.verdict == Verdict::Allow;

  if (!same_account) {
    if (!resource_allows) {
      if (withheld) return refused(Cause::OwnerOnly);
      return refused(own_allows ? Cause::ResourceDoesNotAllow : Cause::NothingAllows);
    }
    if (!own_allows) return refused(Cause::IdentityDoesNotAllow);
  } else if (resource_allows && !resource.delegated &&
             (!resource.through_role || (boundary_allows && session_allows))) {
    return allowed_by_resource();
  } else if (!own_allows && !(resource_allows && resource.through_role)) {
    return refused(resource_allows ? Cause::IdentityDoesNotAllow : Cause::NothingAllows);
  }
  if (!boundary_allows) return refused(Cause::BoundaryDoesNotAllow);
  if (!session_allows) return refused(Cause::SessionDoesNotAllow);
  if (!same_account) return allowed_by_resource();
  if (own.verdict == Verdict::Allow) return {Verdict::Allow, Cause::Allowed, own.place};
  return {Verdict::Allow, Cause::Allowed, std::nullopt};
}

std::vector<StatementExplanation> explain(const Question& question) {
  const Request request = as_single(question.request);
  std::vector<StatementExplanation> out;
  for_each_policy(question, [&](const Policy& policy, StatementPlace place) {
    const auto statements = policy.statements();
    for (place.statement = 0; place.statement < statements.size(); ++place.statement) {
      const Statement& statement = statements[place.statement];
      StatementExplanation entry{place, statement.sid, statement.effect, std::nullopt, {}};
      if (const auto mismatch = first_mismatch(statement, request)) {
        entry.mismatch = mismatch->part;
        entry.detail = describe(statement, *mismatch, request);
      } else if (place.source == Source::ResourcePolicy && statement.effect == Effect::Allow &&
                 is_owner_only(request.action)) {
        entry.detail = "applies, but a queue's policy shares this action with no other account";
      } else {
        entry.detail = "applies";
      }
      out.push_back(std::move(entry));
    }
  });
  return out;
}

void append_answer(std::string& out, const Question& question) {
  const Outcome outcome = authorize(question);
  json::Writer w(out);
  w.begin_object().key("decision").string(word(outcome.verdict)).key("decided_by");
  if (outcome.decided_by) {
    w.begin_object();
    append_place(w, *outcome.decided_by, statement_at(question, *outcome.decided_by)->sid);
    w.end_object();
  } else {
    w.null();
  }
  w.key("reason").string(describe(outcome.cause)).key("explanation").begin_array();
  for (const StatementExplanation& entry : explain(question)) {
    w.begin_object();
    append_place(w, entry.place, entry.sid);
    w.key("effect").string(entry.effect == Effect::Allow ? "Allow" : "Deny");
    w.key("applies").boolean(!entry.mismatch.has_value());
    w.key("decided").boolean(outcome.decided_by == entry.place);
    w.key("first_mismatch");
    if (entry.mismatch) {
      w.string(word(*entry.mismatch));
    } else {
      w.null();
    }
    w.key("detail").string(entry.detail).end_object();
  }
  w.end_array().end_object();
}

std::string sentence(const Question& question, const Outcome& outcome) {
  if (outcome.decided_by) {
    const std::string place = title(*outcome.decided_by, statement_at(question, *outcome.decided_by)->sid);
    return fmt::format("{} in {}", outcome.verdict == Verdict::Allow ? "allowed" : "an explicit deny", place);
  }
  std::string out{describe(outcome.cause)};
  if (outcome.verdict == Verdict::Allow) return out;
  bool any = false;
  for (const StatementExplanation& entry : explain(question)) {
    if (entry.effect != Effect::Allow || !entry.mismatch) continue;
    out += fmt::format("{} {}: {}", any ? ";" : ":", title(entry.place, entry.sid), entry.detail);
    any = true;
    if (out.size() > 1'000) return out + " ...";
  }
  if (!any && question.resource_policy == nullptr) out += "; the resource has no policy";
  return out;
}

}  // namespace fanfare::policy
