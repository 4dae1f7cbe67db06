#include <gtest/gtest.h>

#include <string>

#include "identity/directory.h"
#include "identity/sessions.h"

namespace fanfare::identity {
namespace {

policy::Policy parsed(std::string_view text, policy::PolicyKind kind = policy::PolicyKind::Identity) {
  auto policy = policy::Policy::parse(text, kind);
  if (!policy) throw std::runtime_error(policy.error().message());
  return std::move(*policy);
}

constexpr std::string_view kAllowAll =
    R"({"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}})";

User user(std::string name, std::string key) {
  User made;
  made.name = std::move(name);
  made.account = "444455556666";
  made.policies.push_back(parsed(kAllowAll));
  made.tags = {{"team", "red"}};
  made.access_keys = {{std::move(key), "secret"}};
  return made;
}

Session session() {
  return {.kind = Session::Kind::Role,
          .account = "444455556666",
          .principal = "arn:aws:iam::444455556666:role/team/task",
          .name = "run-1",
          .provider = {},
          .source_identity = {},
          .policies = {std::string(kAllowAll)},
          .tags = {{"stage", "prod"}},
          .expires = timestamp_from_unix_ms(1'796'036'400'000)};
}

TEST(Directory, FindsWhatItWasBuiltOf) {
  Directory::Parts parts;
  parts.accounts.push_back({"444455556666", "o-example", {{parsed(kAllowAll)}}, {{"AKIAROOT", "r"}}});
  parts.users.push_back(user("web", "AKIDEXAMPLE"));
  auto directory = Directory::build(std::move(parts));
  ASSERT_TRUE(directory) << directory.error();
  const auto* owner = (*directory)->find_key("AKIDEXAMPLE");
  ASSERT_NE(owner, nullptr);
  ASSERT_NE(owner->user, nullptr);
  EXPECT_EQ(owner->secret, "secret");
  EXPECT_EQ(owner->user->arn, "arn:aws:iam::444455556666:user/web");
  EXPECT_TRUE(owner->user->id.starts_with("AIDA"));
  EXPECT_EQ(owner->user->id.size(), 21u);
  EXPECT_EQ(owner->user->keys.view().size(), 3u) << "userid, organisation, one tag";
  EXPECT_EQ((*directory)->policies_of(*owner->user).service_control_policies.size(), 1u);
  const auto* root = (*directory)->find_key("AKIAROOT");
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->user, nullptr);
  EXPECT_EQ(root->account->root_arn, "arn:aws:iam::444455556666:root");
  EXPECT_EQ((*directory)->find_key("other"), nullptr);
}

TEST(Directory, RefusesWhatStandsTwice) {
  Directory::Parts keys;
  keys.users.push_back(user("web", "K"));
  keys.users.push_back(user("task", "K"));
  const auto twice = Directory::build(std::move(keys));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error(), "access key K stands twice");
  Directory::Parts users;
  users.users.push_back(user("web", "A"));
  users.users.push_back(user("web", "B"));
  EXPECT_FALSE(Directory::build(std::move(users)));
}

TEST(Sessions, ATokenBringsTheSessionBackForItsKeyOnly) {
  SeededSecrets secrets{1};
  const SessionTokens tokens{"a secret of sixteen bytes"};
  const Credentials made = tokens.mint(session(), secrets);
  EXPECT_TRUE(is_session_key(made.access_key_id)) << made.access_key_id;
  EXPECT_EQ(made.secret.size(), 40u);
  const auto back = tokens.open(made.token, made.access_key_id);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->arn(), "arn:aws:sts::444455556666:assumed-role/task/run-1");
  EXPECT_EQ(back->principal, session().principal);
  EXPECT_EQ(back->policies, session().policies);
  EXPECT_EQ(back->tags, session().tags);
  EXPECT_EQ(back->expires, session().expires);
  EXPECT_FALSE(tokens.open(made.token, "ASIAAAAAAAAAAAAAAAAA"));
  EXPECT_FALSE(SessionTokens{"another secret, not it"}.open(made.token, made.access_key_id));
  for (std::size_t i = 0; i < made.token.size(); i += 7) {
    std::string damaged = made.token;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(tokens.open(damaged, made.access_key_id)) << i;
  }
  EXPECT_FALSE(tokens.open("", made.access_key_id));
}

TEST(Sessions, AKeysSecretFollowsFromItsId) {
  const SessionTokens one{"a secret of sixteen bytes"};
  const SessionTokens other{"a secret of sixteen bytes"};
  EXPECT_EQ(one.secret_of("ASIAX"), other.secret_of("ASIAX"));
  EXPECT_NE(one.secret_of("ASIAX"), one.secret_of("ASIAY"));
}

TEST(Sessions, AKeyNamesItsAccount) {
  SeededSecrets secrets{2};
  const SessionTokens tokens{"a secret of sixteen bytes"};
  for (const char* account : {"000000000000", "444455556666", "999999999999"}) {
    Session one = session();
    one.account = account;
    EXPECT_EQ(account_of_session_key(tokens.mint(one, secrets).access_key_id), account);
  }
  EXPECT_EQ(account_of_session_key("AKIDEXAMPLE"), "");
}

}  // namespace
}  // namespace fanfare::identity
