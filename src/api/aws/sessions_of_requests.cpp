#include "api/aws/sessions_of_requests.h"

#include <utility>

#include "wire/http/headers.h"

namespace fanfare::api::aws {

policy::Principal LiveSession::principal() const {
  policy::Principal out;
  out.kind = arn.ends_with(":root") ? policy::Principal::Kind::Account : policy::Principal::Kind::Identity;
  out.account = session.account;
  out.arn = arn;
  out.role_arn = role_arn;
  out.context = keys.view();
  return out;
}

const LiveSession* SessionCache::find(std::string_view token, std::string_view access_key_id,
                                      const std::shared_ptr<const identity::Directory>& directory, bool open_to_all) {
  if (directory != directory_ || entries_.size() >= kEntriesMax) {
    entries_.clear();
    directory_ = directory;
  }
  key_.assign(access_key_id).append(1, ' ').append(token);
  if (const auto known = entries_.find(key_); known != entries_.end()) return known->second.get();

  auto session = tokens_.open(token, access_key_id);
  if (!session) return nullptr;
  auto live = std::make_unique<LiveSession>();
  live->session = std::move(*session);
  const identity::Session& it = live->session;
  live->arn = it.arn();
  const identity::Directory::KnownAccount* account = directory->find_account(it.account);
  const auto organisation = [&] {
    if (account != nullptr && !account->account.organization.empty())
      live->keys.add("aws:PrincipalOrgID", account->account.organization);
  };
  if (it.kind == identity::Session::Kind::Role) {
    const auto* role = directory->find_role(it.principal);
    if (role == nullptr && !open_to_all) return nullptr;
    live->role_arn = it.principal;
    live->user_id = (role != nullptr ? role->id : identity::unique_id("AROA", it.principal)) + ":" + it.name;
    if (role != nullptr) {
      live->policies = directory->policies_of(*role);
      for (const auto& [key, value] : role->role.tags) {
        bool replaced = false;
        for (const auto& [session_key, ignored] : it.tags)
          replaced = replaced || wire::http::equal_ignoring_case(session_key, key);
        if (!replaced) live->keys.add("aws:PrincipalTag/" + key, value);
      }
    }
    if (!it.provider.empty()) live->keys.add("aws:FederatedProvider", it.provider);
    organisation();
  } else if (it.principal.ends_with(":root")) {
    if (account == nullptr && !open_to_all) return nullptr;
    live->user_id = it.account;
    if (account != nullptr) live->policies = directory->policies_of(*account);
    live->policies.unrestricted = true;
    organisation();
  } else {
    const auto* user = directory->find_user(it.principal);
    if (user == nullptr && !open_to_all) return nullptr;
    live->user_id = user != nullptr ? user->id : identity::unique_id("AIDA", it.principal);
    if (user != nullptr) {
      live->policies = directory->policies_of(*user);
      for (const auto& [key, value] : user->user.tags) live->keys.add("aws:PrincipalTag/" + key, value);
    }
    organisation();
  }
  live->keys.add("aws:userid", live->user_id);
  for (const auto& [key, value] : it.tags) live->keys.add("aws:PrincipalTag/" + key, value);
  if (!it.source_identity.empty()) live->keys.add("aws:SourceIdentity", it.source_identity);
  for (const std::string& text : it.policies) {
    auto parsed = policy::Policy::parse(text, policy::PolicyKind::Identity);
    if (!parsed) return nullptr;  // it was checked when the session was made
    live->session_policies.push_back(std::move(*parsed));
  }
  for (const std::string& arn : it.policy_arns) {
    // One that is gone allows nothing any more.
    const policy::Policy* managed = directory->find_managed_policy(arn);
    live->session_policies.push_back(managed == nullptr ? policy::Policy{} : *managed);
  }
  live->policies.session_policies = live->session_policies;
  if (open_to_all) live->policies.unrestricted = true;
  const LiveSession* kept = live.get();
  entries_.emplace(key_, std::move(live));
  return kept;
}

}  // namespace fanfare::api::aws
