#include "server/identities_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "server/log.h"
#include "wire/jwt/test_keys.h"

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
            "line 1: identities: unknown key 'people'; accepted are accounts, users, roles, providers, "
            "managed_policies");
  EXPECT_EQ(refused("users:\n- name: a\n  account: '444455556666'\n  policies:\n  - Statement: [{Effect: allow, "
                    "Action: '*', Resource: '*'}]\n"),
            "line 5: users[0].policies[0]: statement 0: Effect must be \"Allow\" or \"Deny\", spelled so");
  EXPECT_EQ(refused("users:\n  - {name: a, account: '444455556666', access_keys: [{id: A}]}\n"),
            "line 2: users[0].access_keys[0]: the key has no secret: secret or secret_file is accepted");
  EXPECT_NE(refused("users: [").find("line"), std::string::npos);
  EXPECT_EQ(refused("roles:\n  - {name: a, account: '444455556666'}\n"), "line 2: roles[0]: 'trust' is missing");
}

TEST(IdentitiesFile, NamesAreThoseOfIam) {
  EXPECT_EQ(refused("users:\n  - {name: 'a:root', account: '444455556666'}\n"),
            "line 2: users[0].name: 'a:root' is no name: 1 to 64 letters, digits and _+=,.@- are accepted");
  EXPECT_NE(refused("users:\n  - {name: a, account: '444455556666', path: '/*/'}\n").find("is no path"), std::string::npos);
  const std::string trust = "trust: {Statement: [{Effect: Allow, Principal: {AWS: '444455556666'}, Action: 'sts:AssumeRole'}]}";
  EXPECT_EQ(refused("roles:\n  - {name: task, account: '444455556666', path: /a/, " + trust + "}\n  - {name: task, account: '444455556666', path: /b/, " +
                    trust + "}\n"),
            "role task stands twice in account 444455556666")
      << "their sessions would have one ARN";
}

TEST(IdentitiesFile, ProvidersBringTheirKeys) {
  const std::string keys = "{\"keys\":[" + wire::jwt::test::first_key().jwk("one") + "]}";
  const auto inline_keys = parse_identities("providers:\n  - url: https://accounts.example.com\n    jwks: " + keys + "\n", "");
  ASSERT_TRUE(inline_keys) << inline_keys.error().message;
  EXPECT_EQ((*inline_keys)->find_provider("444455556666", "accounts.example.com")->keys.size(), 1u);
  EXPECT_EQ(refused("providers:\n  - url: accounts.example.com\n"),
            "line 2: providers[0]: its keys are missing: jwks, jwks_file, hs256_secret or hs256_secret_file is accepted");
  EXPECT_EQ(refused("providers:\n  - {url: 'http://accounts.example.com', hs256_secret: x}\n"),
            "line 2: providers[0]: 'http://accounts.example.com' is no https URL of an issuer");
  EXPECT_EQ(refused("providers:\n  - url: a\n    jwks: {keys: []}\n"),
            "line 3: providers[0].jwks: no key for RS256, RS384 or RS512 is among the keys");
  EXPECT_EQ(refused("providers:\n  - url: a\n    jwks_file: /no/such/file\n"),
            "line 3: providers[0].jwks_file: the file '/no/such/file' cannot be read");
  EXPECT_EQ(refused("providers:\n  - {url: a, hs256_secret: x}\n  - {url: a, account: '444455556666', hs256_secret: y}\n"),
            "provider a stands twice");
}

TEST(IdentitiesFile, ManagedPoliciesAreFoundByTheirArn) {
  const std::string document = ", policy: {Version: '2012-10-17', Statement: [{Effect: Allow, Action: 'sqs:*', Resource: '*'}]}}\n";
  const auto parsed = parse_identities("managed_policies:\n  - {arn: 'arn:aws:iam::444455556666:policy/team/read-only'" + document, "");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_NE((*parsed)->find_managed_policy("arn:aws:iam::444455556666:policy/team/read-only"), nullptr);
  EXPECT_EQ((*parsed)->find_managed_policy("arn:aws:iam::444455556666:policy/read-only"), nullptr);
  for (const std::string arn : {"read-only", "arn:aws:iam::1:policy/a", "arn:aws:iam::444455556666:role/a", "arn:aws:iam::444455556666:policy/"})
    EXPECT_NE(refused("managed_policies:\n  - {arn: '" + arn + "'" + document).find("is no ARN of a policy"), std::string::npos) << arn;
}

/// A folder of its own with an identities file, written whole or in pieces.
class IdentitiesOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fanfare-identities." + std::to_string(::getpid()) + "." + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name = "identities.yaml") const { return (folder_ / name).string(); }
  void write(const std::string& text, const std::string& name = "identities.yaml") const {
    std::ofstream(path(name) + ".new", std::ios::binary) << text;
    std::filesystem::rename(path(name) + ".new", path(name));
  }
  /// Two keys that change together: whoever sees one of each has seen half a file.
  static std::string generation(int number) {
    const std::string n = std::to_string(number);
    return "users:\n  - {name: a, account: '444455556666', access_keys: [{id: KEYA, secret: 's" + n + "'}]}\n  - {name: b, account: '444455556666', access_keys: [{id: KEYB, secret: 's" + n + "'}]}\n";
  }
  template <class Condition>
  static bool eventually(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  static std::string secret_of(const Identities& identities, std::string_view key) {
    const auto directory = identities.now();
    const auto* owner = directory->find_key(key);
    return owner == nullptr ? "none" : std::string(owner->secret);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(IdentitiesOnDisk, ReloadIsAllOrNothingUnderLoad) {
  write(generation(0));
  Log log;
  auto opened = Identities::open(path(), log);
  ASSERT_TRUE(opened) << opened.error().message;
  const Identities& identities = **opened;
  std::atomic<bool> stop{false};
  std::atomic<int> mixed{0};
  std::atomic<int> seen{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        const auto directory = identities.now();
        const auto* a = directory->find_key("KEYA");
        const auto* b = directory->find_key("KEYB");
        if (a == nullptr || b == nullptr || a->secret != b->secret) ++mixed;
        ++seen;
        std::this_thread::yield();
      }
    });
  for (int number = 1; number <= 3; ++number) {
    write(generation(number));
    EXPECT_TRUE(eventually([&] { return secret_of(identities, "KEYA") == "s" + std::to_string(number); })) << number;
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(mixed, 0) << "of " << seen;
}

TEST_F(IdentitiesOnDisk, ABadFileKeepsTheOldOneAndSaysWhereAndWhy) {
  write(generation(1));
  ::testing::internal::CaptureStderr();
  {
    Log log;
    auto opened = Identities::open(path(), log);
    ASSERT_TRUE(opened) << opened.error().message;
    write("users:\n  - {name: a, account: '444455556666', polices: []}\n");
    EXPECT_TRUE(eventually([&] { return (*opened)->refused_count() == 1; }));
    EXPECT_EQ(secret_of(**opened, "KEYA"), "s1");
    write(generation(2));
    EXPECT_TRUE(eventually([&] { return secret_of(**opened, "KEYA") == "s2"; }));
    std::filesystem::remove(path());
    EXPECT_TRUE(eventually([&] { return (*opened)->refused_count() == 2; }));
    EXPECT_EQ(secret_of(**opened, "KEYA"), "s2") << "a file that is gone";
    write(generation(3));
    EXPECT_TRUE(eventually([&] { return secret_of(**opened, "KEYA") == "s3"; }));
  }
  const std::string logged = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(logged.find("line 2: users[0]: unknown key 'polices'"), std::string::npos) << logged;
  EXPECT_NE(logged.find(path()), std::string::npos) << logged;
}

TEST_F(IdentitiesOnDisk, FilesBesideAreWatchedToo) {
  write("{\"keys\":[" + wire::jwt::test::first_key().jwk("old") + "]}", "keys.json");
  write("first", "a.key");
  write("users:\n  - {name: a, account: '444455556666', access_keys: [{id: KEYA, secret_file: a.key}]}\nproviders:\n  - {url: idp, jwks_file: keys.json}\n");
  Log log = Log::silent();
  auto opened = Identities::open(path(), log);
  ASSERT_TRUE(opened) << opened.error().message;
  const Identities& identities = **opened;
  EXPECT_EQ(secret_of(identities, "KEYA"), "first");
  write("second", "a.key");
  EXPECT_TRUE(eventually([&] { return secret_of(identities, "KEYA") == "second"; }));
  write("{\"keys\":[" + wire::jwt::test::first_key().jwk("old") + "," + wire::jwt::test::second_key().jwk("new") + "]}", "keys.json");
  EXPECT_TRUE(eventually([&] { return identities.now()->find_provider("444455556666", "idp")->keys.size() == 2; })) << "keys are rotated";
}

TEST_F(IdentitiesOnDisk, WhatOpensMustBeRight) {
  Log log = Log::silent();
  const auto missing = Identities::open(path(), log);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, path() + ": cannot be read");
  write("users: 1");
  const auto bad = Identities::open(path(), log);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, path() + ": line 1: users: expected a list");
}

}  // namespace
}  // namespace fanfare::server
