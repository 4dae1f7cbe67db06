#include "identity/directory.h"

#include <fmt/format.h>

#include <algorithm>

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
  for (User& user : parts.users) {
    std::string arn = fmt::format("arn:aws:iam::{}:user{}{}", user.account, user.path, user.name);
    if (directory->users_.contains(arn))
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
    if (directory->roles_.contains(arn))
      return fmt::format("role {} stands twice in account {}", role.name, role.account);
    account_of(role.account);
    KnownRole known{std::move(role), arn, unique_id("AROA", arn)};
    directory->roles_.emplace(std::move(arn), std::move(known));
  }
  directory->providers_ = std::move(parts.providers);
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
