// The identities of an installation: accounts, users, roles, identity providers. Made once, then only read.
//
// Rule 1: a Directory is immutable once it is built; a change of the file makes a new one. So views into it live as
// long as
//         whoever holds it.
// Rule 2: ids that AWS makes up (AIDA..., AROA...) follow from the ARN: the same over restarts.
// Source: [IAM identifiers], the identities file of the interfaces.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "policy/authorize.h"
#include "wire/jwt/jwt.h"

namespace fanfare::identity {

struct AccessKey {
  std::string id;      ///< "AKIDEXAMPLE"
  std::string secret;  ///< never shown
};

struct Account {
  std::string id;                                                     ///< 12 digits
  std::string organization;                                           ///< "o-example"; empty: none
  std::vector<std::vector<policy::Policy>> service_control_policies;  ///< a level each
  std::vector<AccessKey> access_keys;                                 ///< of its root
};

/// What users and roles have in common.
struct Holder {
  std::string name;
  std::string account;
  std::string path = "/";  ///< "/team/"
  std::vector<policy::Policy> policies;
  std::optional<policy::Policy> permissions_boundary;
  std::vector<std::pair<std::string, std::string>> tags;
};

struct User : Holder {
  std::vector<AccessKey> access_keys;
};

struct Role : Holder {
  policy::Policy trust;
  std::int64_t max_session_seconds = 3600;
};

/// An identity provider whose tokens AssumeRoleWithWebIdentity takes.
struct Provider {
  std::string account;
  std::string url;                      ///< "accounts.example.com", without https://
  std::vector<std::string> client_ids;  ///< accepted audiences; empty: any
  std::string hs256_secret;             ///< empty: tokens with HS256 are refused
  wire::jwt::KeySet keys;               ///< of RS256 and its like; empty: such tokens are refused
};

/// A policy with a name of its own, for AssumeRole's PolicyArns.
struct ManagedPolicy {
  std::string arn;  ///< "arn:aws:iam::444455556666:policy/read-only", "arn:aws:iam::aws:policy/..."
  policy::Policy policy;
};

/// Letters, digits and `_+=,.@-`, at most `size_max`. [IAM name requirements]
bool is_iam_name(std::string_view name, std::size_t size_max = 64);

/// "AIDA" + 17 letters and digits that follow from the text.
std::string unique_id(std::string_view prefix, std::string_view arn);

/// Condition keys with their texts; movable, as the texts lie on the heap.
class Keys {
 public:
  void add(std::string key, std::string value);
  [[nodiscard]] std::span<const policy::ContextEntry> view() const { return entries_; }

 private:
  struct Owned {
    std::string key;
    std::string value;
    std::string_view value_view;
  };
  std::vector<std::unique_ptr<Owned>> owned_;
  std::vector<policy::ContextEntry> entries_;
};

class Directory {
 public:
  Directory() = default;
  Directory(const Directory&) = delete;  // it is pointed into
  Directory& operator=(const Directory&) = delete;

  struct Parts {
    std::vector<Account> accounts;
    std::vector<User> users;
    std::vector<Role> roles;
    std::vector<Provider> providers;
    std::vector<ManagedPolicy> managed_policies;
  };
  /// Errors: a name, key id, account or ARN that stands twice: `access key AKIDEXAMPLE stands twice`. Names of users, and
  /// those of roles, are each unique in an account, whatever their paths: the ARN of a session does not show the path.
  static Result<std::unique_ptr<const Directory>, std::string> build(Parts parts);

  struct KnownUser {
    User user;
    std::string arn;  ///< "arn:aws:iam::444455556666:user/team/web"
    std::string id;   ///< "AIDA..."
    Keys keys;
  };
  struct KnownRole {
    Role role;
    std::string arn;
    std::string id;  ///< "AROA..."
  };
  struct KnownAccount {
    Account account;
    std::string root_arn;
    Keys keys;
  };
  struct KeyOwner {
    std::string_view secret;
    const KnownUser* user = nullptr;  ///< null: the root of `account`
    const KnownAccount* account = nullptr;
  };

  [[nodiscard]] const KeyOwner* find_key(std::string_view access_key_id) const;
  [[nodiscard]] const KnownUser* find_user(std::string_view arn) const;
  [[nodiscard]] const KnownRole* find_role(std::string_view arn) const;
  /// Null if the file says nothing of this account.
  [[nodiscard]] const KnownAccount* find_account(std::string_view id) const;
  [[nodiscard]] const Provider* find_provider(std::string_view account, std::string_view url) const;
  /// Null if the file has none of this ARN.
  [[nodiscard]] const policy::Policy* find_managed_policy(std::string_view arn) const;
  [[nodiscard]] std::size_t size() const { return users_.size() + roles_.size() + accounts_.size(); }

  /// What a user's own policies say. Views into this directory.
  [[nodiscard]] policy::IdentityPolicies policies_of(const KnownUser& user) const;
  /// The same of a role; session policies are the session's.
  [[nodiscard]] policy::IdentityPolicies policies_of(const KnownRole& role) const;
  [[nodiscard]] policy::IdentityPolicies policies_of(const KnownAccount& account) const;

 private:
  [[nodiscard]] std::span<const std::vector<policy::Policy>> organisation_of(std::string_view account) const;

  std::map<std::string, KnownUser, std::less<>> users_;        // by ARN
  std::map<std::string, KnownRole, std::less<>> roles_;        // by ARN
  std::map<std::string, KnownAccount, std::less<>> accounts_;  // by id
  std::map<std::string, KeyOwner, std::less<>> key_owners_;
  std::vector<Provider> providers_;
  std::map<std::string, policy::Policy, std::less<>> managed_policies_;  // by ARN
};

}  // namespace fanfare::identity
