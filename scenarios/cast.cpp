// The identities of a scenario.
#include "cast.h"

#include <fmt/format.h>

#include <algorithm>

#include "identity/sessions.h"
#include "wire/json/value.h"
#include "words.h"

namespace fanfare::scenarios {
namespace {

policy::Policy parsed(const std::string& text) {
  auto policy = policy::Policy::parse(text, policy::PolicyKind::Identity);
  if (!policy) wrong(policy.error().message());
  return std::move(*policy);
}

bool is_account(std::string_view text) {
  return text.size() == 12 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "task", "111122223333/task"
std::pair<std::string, std::string> account_and_name(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {std::string{kHome}, text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

void fill(identity::Holder& holder, const Step& step) {
  std::tie(holder.account, holder.name) = account_and_name(step.words.at(0));
  for (const auto& [name, text] : step.options) {
    if (name == "policy")
      holder.policies.push_back(parsed(text));
    else if (name == "boundary")
      holder.permissions_boundary = parsed(text);
    else if (name.starts_with("tag."))
      holder.tags.emplace_back(name.substr(4), text);
    else
      wrong("identities have no setting '" + name + "'");
  }
}

}  // namespace

std::string Cast::key_id(const std::string& account, const std::string& name) {
  std::string id = "AKIA";
  for (const char c : name + account)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      id += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return id;
}
std::string Cast::secret_of(const std::string& key_id) { return "the secret of " + key_id; }

Cast::Cast() {
  identity::Account home;
  home.id = kHome;
  parts_.accounts.push_back(std::move(home));
  rebuild();
}

bool Cast::knows(std::string_view verb) { return verb == "role" || verb == "user" || verb == "account"; }

std::optional<Answer> Cast::declare(const Step& step) {
  if (step.verb == "role") {
    identity::Role role;
    fill(role, step);
    role.trust =
        *policy::Policy::parse(R"({"Statement":[{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}]})");
    role.max_session_seconds = 43'200;
    parts_.roles.push_back(std::move(role));
  } else if (step.verb == "user") {
    identity::User user;
    fill(user, step);
    const std::string id = key_id(user.account, user.name);
    user.access_keys.push_back({id, secret_of(id)});
    parts_.users.push_back(std::move(user));
  } else if (step.verb == "account") {
    const std::string& id = step.words.at(0);
    auto found = std::ranges::find(parts_.accounts, id, &identity::Account::id);
    if (found == parts_.accounts.end()) found = parts_.accounts.insert(found, identity::Account{id, {}, {}, {}});
    if (const auto name = step.option("organization")) found->organization = *name;
    if (const auto scp = step.option("scp")) found->service_control_policies.push_back({parsed(*scp)});
  } else {
    return std::nullopt;
  }
  rebuild();
  return Answer{"ok", {}};
}

void Cast::rebuild() {
  callers_.clear();
  const auto note_account = [&](const std::string& id) {
    if (std::ranges::find(parts_.accounts, id, &identity::Account::id) == parts_.accounts.end())
      parts_.accounts.push_back(identity::Account{id, {}, {}, {}});
  };
  for (const auto& role : parts_.roles) note_account(role.account);
  for (const auto& user : parts_.users) note_account(user.account);
  for (auto& account : parts_.accounts) {
    const std::string id = key_id(account.id, "root");
    if (account.access_keys.empty()) account.access_keys.push_back({id, secret_of(id)});
  }
  auto built = identity::Directory::build(parts_);
  if (!built) wrong(built.error());
  directory_ = std::move(*built);
}

policy::Principal Cast::Caller::principal() const {
  policy::Principal principal;
  switch (kind) {
    case Kind::Root: principal.kind = policy::Principal::Kind::Account; break;
    case Kind::Anonymous: principal.kind = policy::Principal::Kind::Anonymous; break;
    case Kind::User:
    case Kind::Role: principal.kind = policy::Principal::Kind::Identity; break;
  }
  principal.account = account;
  principal.arn = arn;
  principal.role_arn = role_arn;
  principal.context = keys.view();
  return principal;
}

const Cast::Caller& Cast::caller(const std::string& name) {
  const std::string who = name.empty() ? std::string{kHome} : name;
  if (const auto known = callers_.find(who); known != callers_.end()) return known->second;
  Caller made;
  const auto [account, rest] = account_and_name(who);
  if (who == "anonymous") {
    made.kind = Kind::Anonymous;
  } else if (is_account(who)) {
    if (directory_->find_account(who) == nullptr) {
      Step step;
      step.verb = "account";
      step.words = {who};
      declare(step);
    }
    const auto* known = directory_->find_account(who);
    made.account = who;
    made.arn = known->root_arn;
    made.policies = directory_->policies_of(*known);
    if (!known->account.organization.empty()) made.keys.add("aws:PrincipalOrgID", known->account.organization);
  } else if (const auto* role = directory_->find_role(fmt::format("arn:aws:iam::{}:role/{}", account, rest))) {
    made.kind = Kind::Role;
    made.account = account;
    made.role_arn = role->arn;
    made.arn = fmt::format("arn:aws:sts::{}:assumed-role/{}/{}", account, rest, kSession);
    made.policies = directory_->policies_of(*role);
    made.keys.add("aws:userid", fmt::format("{}:{}", role->id, kSession));
    for (const auto& [key, value] : role->role.tags) made.keys.add("aws:PrincipalTag/" + key, value);
    const auto* owner = directory_->find_account(account);
    if (!owner->account.organization.empty()) made.keys.add("aws:PrincipalOrgID", owner->account.organization);
  } else if (const auto* user = directory_->find_user(fmt::format("arn:aws:iam::{}:user/{}", account, rest))) {
    made.kind = Kind::User;
    made.account = account;
    made.arn = user->arn;
    made.policies = directory_->policies_of(*user);
    made.keys.add("aws:userid", user->id);
    made.keys.add("aws:username", rest);
    for (const auto& [key, value] : user->user.tags) made.keys.add("aws:PrincipalTag/" + key, value);
    const auto* owner = directory_->find_account(account);
    if (!owner->account.organization.empty()) made.keys.add("aws:PrincipalOrgID", owner->account.organization);
  } else {
    wrong("no line before this one declares '" + who + "'");
  }
  return callers_.emplace(who, std::move(made)).first->second;
}

Answer Cast::explain(const std::string& name, std::string_view action, std::string_view resource_arn,
                     std::string_view policy) {
  const Caller& who = caller(name);
  std::optional<policy::Policy> resource;
  if (!policy.empty()) {
    auto read = policy::Policy::parse(policy);
    if (!read) wrong(read.error().message());
    resource = std::move(*read);
  }
  policy::Question question;
  question.request = {who.principal(), action, resource_arn, {}, {}, {}};
  question.resource_policy = resource ? &*resource : nullptr;
  question.identity = who.policies;
  std::string text;
  policy::append_answer(text, question);
  const auto answer = wire::json::parse(text);
  std::string words{answer->find_string("decision").value()};
  if (const auto* decided_by = answer->find("decided_by"); decided_by != nullptr && !decided_by->is_null()) {
    words += " ";
    words += decided_by->find_string("sid").value_or("?");
  }
  return {words, {}};
}

std::string refusal_words(std::string_view sentence) {
  if (sentence.find("an explicit deny in") == std::string_view::npos) return "nothing";
  const std::size_t begin = sentence.find("(\"");
  if (begin == std::string_view::npos) return "deny";
  return fmt::format("deny {}", sentence.substr(begin + 2, sentence.find("\")", begin) - begin - 2));
}

}  // namespace fanfare::scenarios
