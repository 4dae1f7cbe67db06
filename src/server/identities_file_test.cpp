#include "server/identities_file.h"

#include <gtest/gtest.h>

#include <string>

namespace fanfare::server {
namespace {

std::string refused(const std::string& text) {
  const auto parsed = parse_identities(text, "");
  return parsed ? "accepted" : parsed.error().message;
}

TEST(IdentitiesFile, ReadsAllThatTheInterfaceShows) {
  const auto parsed = parse_identities(R"(
users:
  - name: web
    account: "444455556666"
    path: /team/
    access_keys: [{id: AKIDEXAMPLE, secret: shh}]
    policies: [ {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "sqs:*", Resource: "*"}]} ]
    permissions_boundary: {Version: "2012-10-17", Statement: [{Effect: Allow, Action: "*", Resource: "*"}]}
    tags: {team: red}
roles:
  - {name: task, account: "444455556666", trust: {Statement: [{Effect: Allow, Principal: {AWS: "444455556666"}, Action: "sts:AssumeRole"}]}, max_session: 12h}
accounts:
  - {id: "444455556666", organization: o-example, service_control_policies: [{Statement: [{Effect: Allow, Action: "*", Resource: "*"}]}]}
providers:
  - {url: "https://accounts.example.com", client_ids: [app], hs256_secret: shh}
)",
                                       "");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto* owner = (*parsed)->find_key("AKIDEXAMPLE");
  ASSERT_NE(owner, nullptr);
  EXPECT_EQ(owner->user->arn, "arn:aws:iam::444455556666:user/team/web");
  EXPECT_NE((*parsed)->policies_of(*owner->user).permissions_boundary, nullptr);
  EXPECT_EQ((*parsed)->policies_of(*owner->user).service_control_policies.size(), 1u);
  const auto* role = (*parsed)->find_role("arn:aws:iam::444455556666:role/task");
  ASSERT_NE(role, nullptr);
  EXPECT_EQ(role->role.max_session_seconds, 43'200);
  EXPECT_NE((*parsed)->find_provider("444455556666", "accounts.example.com"), nullptr);
}

TEST(IdentitiesFile, AnEmptyFileKnowsNobody) {
  EXPECT_EQ(refused(""), "accepted");
  EXPECT_EQ(refused("{}"), "accepted");
}

TEST(IdentitiesFile, ErrorsSayWhereAndWhatIsAccepted) {
  EXPECT_EQ(refused("users:\n  - {name: web, account: '444455556666', polices: []}\n"),
            "line 2: users[0]: unknown key 'polices'; accepted are name, account, path, access_keys, policies, "
            "permissions_boundary, tags");
  EXPECT_EQ(refused("users:\n  - {name: web}\n"), "line 2: users[0]: 'account' is missing");
  EXPECT_EQ(refused("users:\n  - {name: web, account: 1234}\n"),
            "line 2: users[0].account: '1234' is no account: 12 digits in quotes are accepted");
  EXPECT_EQ(refused("people: []"),
            "line 1: identities: unknown key 'people'; accepted are accounts, users, roles, providers");
  EXPECT_EQ(refused("users:\n- name: a\n  account: '444455556666'\n  policies:\n  - Statement: [{Effect: allow, "
                    "Action: '*', Resource: '*'}]\n"),
            "line 5: users[0].policies[0]: statement 0: Effect must be \"Allow\" or \"Deny\", spelled so");
  EXPECT_EQ(refused("users:\n  - {name: a, account: '444455556666', access_keys: [{id: A}]}\n"),
            "line 2: users[0].access_keys[0]: the key has no secret: secret or secret_file is accepted");
  EXPECT_NE(refused("users: [").find("line"), std::string::npos);
  EXPECT_EQ(refused("roles:\n  - {name: a, account: '444455556666'}\n"), "line 2: roles[0]: 'trust' is missing");
}

}  // namespace
}  // namespace fanfare::server
