#include "identity/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "wire/digest/digest.h"

namespace fanfare::identity {
namespace {

/// The same keys for users and sessions: what the account and the holder bring.
void add_account_keys(Keys& keys, const Account& account) {
  if (!account.organization.empty()) keys.add("aws:PrincipalOrgID", account.organization);
}

}  // namespace

std::string unique_id(std::string_view prefix, std::string_view arn) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const auto digest = wire::digest::sha256(arn);
  std::string id{prefix};
  for (std::size_t i = 0; i < 17; ++i) id.push_back(kDigits[digest[i] & 31]);
  return id;
}

void Keys::add(std::string key, std::string value) {
  auto owned = std::make_unique<Owned>(Owned{std::move(key), std::move(value), {}});
  owned->value_view = owned->value;
  entries_.push_back({owned->key, {&owned->value_view, 1}});
  owned_.push_back(std::move(owned));
}

bool is_iam_name(std::string_view name, std::size_t size_max) {
  return !name.empty() && name.size() <= size_max && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_+=,.@-").find(c) != std::string_view::npos;
  });
}

Result<std::unique_ptr<const Directory>, std::string> Directory::build(Parts parts) {
  auto directory = std::make_unique<Directory>();
  const auto account_of = [&](std::string_view id) -> KnownAccount& {
    const auto found = directory->accounts_.find(id);
    if (found != directory->accounts_.end()) return found->second;
    KnownAccount known{{std::string(id), {}, {}, {}}, fmt::format("arn:aws:iam::{}:root", id), {}};
    known.keys.add("aws:userid", std::string(id));
    return directory->accounts_.emplace(std::string(id), std::move(known)).first->second;
  };
  for (Account& account : parts.accounts) {
    if (directory->accounts_.contains(account.id)) return fmt::format("account {} stands twice", account.id);
    KnownAccount& known = account_of(account.id);
    add_account_keys(known.keys, account);
    known.account = std::move(account);
  }
  const auto add_key = [&](const AccessKey& key, const KnownUser* user, const KnownAccount& account) {
    return directory->key_owners_.emplace(key.id, KeyOwner{key.secret, user, &account}).second;
  };
  for (auto& [id, account] : directory->accounts_)
    for (const AccessKey& key : account.account.access_keys)
      if (!add_key(key, nullptr, account)) return fmt::format("access key {} stands twice", key.id);
  std::set<std::pair<std::string, std::string>> user_names;
  std::set<std::pair<std::string, std::string>> role_names;
  for (User& user : parts.users) {
    std::string arn = fmt::format("arn:aws:iam::{}:user{}{}", user.account, user.path, user.name);
    if (!user_names.emplace(user.account, user.name).second)
      return fmt::format("user {} stands twice in account {}", user.name, user.account);
    const KnownAccount& account = account_of(user.account);
    KnownUser known{std::move(user), arn, unique_id("AIDA", arn), {}};
    known.keys.add("aws:userid", known.id);
    add_account_keys(known.keys, account.account);
    for (const auto& [key, value] : known.user.tags) known.keys.add("aws:PrincipalTag/" + key, value);
    const KnownUser& kept = directory->users_.emplace(std::move(arn), std::move(known)).first->second;
    for (const AccessKey& key : kept.user.access_keys)
      if (!add_key(key, &kept, account)) return fmt::format("access key {} stands twice", key.id);
  }
  for (Role& role : parts.roles) {
    std::string arn = fmt::format("arn:aws:iam::{}:role{}{}", role.account, role.path, role.name);
    if (!role_names.emplace(role.account, role.name).second)
      return fmt::format("role {} stands twice in account {}", role.name, role.account);
    account_of(role.account);
    KnownRole known{std::move(role), arn, unique_id("AROA", arn)};
    directory->roles_.emplace(std::move(arn), std::move(known));
  }
  for (std::size_t i = 0; i < parts.providers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Provider& one = parts.providers[i];
      const Provider& other = parts.providers[j];
      if (one.url == other.url && (one.account == other.account || one.account.empty() || other.account.empty()))
        return fmt::format("provider {} stands twice", one.url);
    }
  directory->providers_ = std::move(parts.providers);
  for (ManagedPolicy& managed : parts.managed_policies) {
    const auto [at, is_new] = directory->managed_policies_.emplace(std::move(managed.arn), std::move(managed.policy));
    if (!is_new) return fmt::format("managed policy {} stands twice", at->first);
  }
  return std::unique_ptr<const Directory>(std::move(directory));
}

const Directory::KeyOwner* Directory::find_key(std::string_view access_key_id) const {
  const auto found = key_owners_.find(access_key_id);
  return found == key_owners_.end() ? nullptr : &found->second;
}
const Directory::KnownUser* Directory::find_user(std::string_view arn) const {
  const auto found = users_.find(arn);
  return found == users_.end() ? nullptr : &found->second;
}
const Directory::KnownRole* Directory::find_role(std::string_view arn) const {
  const auto found = roles_.find(arn);
  return found == roles_.end() ? nullptr : &found->second;
}
const Directory::KnownAccount* Directory::find_account(std::string_view id) const {
  const auto found = accounts_.find(id);
  return found == accounts_.end() ? nullptr : &found->second;
}
const Provider* Directory::find_provider(std::string_view account, std::string_view url) const {
  const auto found = std::ranges::find_if(providers_, [&](const Provider& one) {
    return one.url == url && (one.account.empty() || one.account == account);
  });
  return found == providers_.end() ? nullptr : &*found;
}

const policy::Policy* Directory::find_managed_policy(std::string_view arn) const {
  const auto found = managed_policies_.find(arn);
  return found == managed_policies_.end() ? nullptr : &found->second;
}

std::span<const std::vector<policy::Policy>> Directory::organisation_of(std::string_view account) const {
  const KnownAccount* known = find_account(account);
  if (known == nullptr) return {};
  return known->account.service_control_policies;
}

policy::IdentityPolicies Directory::policies_of(const KnownUser& user) const {
  return {.identity_policies = user.user.policies,
          .permissions_boundary = user.user.permissions_boundary ? &*user.user.permissions_boundary : nullptr,
          .session_policies = {},
          .service_control_policies = organisation_of(user.user.account)};
}
policy::IdentityPolicies Directory::policies_of(const KnownRole& role) const {
  return {.identity_policies = role.role.policies,
          .permissions_boundary = role.role.permissions_boundary ? &*role.role.permissions_boundary : nullptr,
          .session_policies = {},
          .service_control_policies = organisation_of(role.role.account)};
}
policy::IdentityPolicies Directory::policies_of(const KnownAccount& account) const {
  return {.identity_policies = {},
          .permissions_boundary = nullptr,
          .session_policies = {},
          .service_control_policies = account.account.service_control_policies,
          .unrestricted = true};
}

}  // namespace fanfare::identity
