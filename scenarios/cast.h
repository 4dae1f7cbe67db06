// Who asks in a scenario: `as NAME` in front of a verb. The identities that a file has declared, and what their
// policies say.
//
//   role task policy={"Statement":[{"Effect":"Allow","Action":"sns:*","Resource":"*"}]}
//   as task publish t m1 -> AccessDenied
//   as task explain sns:Publish t -> ExplicitDeny OnlyStage
//
// Rule 1: without `as` the root of the home account asks. A name of twelve digits is the root of that account,
// "anonymous" nobody. Rule 2: names of roles and users are declared by a line of their own; another account's as
// "111122223333/task". A role asks by
//         its session run-1.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver.h"
#include "identity/directory.h"
#include "policy/authorize.h"

namespace fanfare::scenarios {

class Cast {
 public:
  Cast();

  /// Performs `role`, `user` and `account`; nullopt: the step is none of these.
  std::optional<Answer> declare(const Step& step);
  [[nodiscard]] static bool knows(std::string_view verb);

  /// The identities as they are now. Thread-safe as far as the pointer is copied under the caller's lock.
  [[nodiscard]] std::shared_ptr<const identity::Directory> directory() const { return directory_; }

  enum class Kind { Root, User, Role, Anonymous };
  struct Caller {
    Kind kind = Kind::Root;
    std::string account;
    std::string arn;       ///< as sts:GetCallerIdentity answers it; empty for Anonymous
    std::string role_arn;  ///< of a session
    identity::Keys keys;
    policy::IdentityPolicies policies;
    [[nodiscard]] policy::Principal principal() const;
  };
  /// Valid until the next declaration. A name that was not declared ends the program.
  const Caller& caller(const std::string& name);

  /// `explain ACTION RESOURCE`: "Allow Account", "ExplicitDeny OnlyStage", "ImplicitDeny".
  Answer explain(const std::string& caller, std::string_view action, std::string_view resource_arn,
                 std::string_view policy);

  /// The long-lived keys of root users and users.
  static std::string key_id(const std::string& account, const std::string& name);
  static std::string secret_of(const std::string& key_id);

 private:
  void rebuild();
  identity::Directory::Parts parts_;
  std::shared_ptr<const identity::Directory> directory_;
  std::map<std::string, Caller> callers_;  ///< made when first asked for
};

/// What a refusal's sentence names: "deny OnlyStage", or "nothing" where no statement allowed it.
std::string refusal_words(std::string_view sentence);

inline constexpr std::string_view kSession = "run-1";

}  // namespace fanfare::scenarios
