// Who an enforced server believes, request by request.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/aws/authenticator.h"
#include "api/aws/router.h"
#include "base/rng.h"
#include "wire/http/request.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::api::aws {
namespace {

namespace sigv4 = wire::sigv4;
namespace http = wire::http;
using namespace std::chrono_literals;

constexpr std::string_view kTokenSecret = "a secret of sixteen bytes";
const Timestamp kNow = timestamp_from_unix_ms(1'796'036'400'000);

policy::Policy parsed(std::string_view text, policy::PolicyKind kind = policy::PolicyKind::Identity) {
  auto policy = policy::Policy::parse(text, kind);
  if (!policy) throw std::runtime_error(policy.error().message());
  return std::move(*policy);
}

constexpr std::string_view kAllowSend =
    R"({"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"*"}})";

struct Known {
  bool role = true;
  bool user = true;
  bool root = true;
  std::string secret = "alice's";
};

std::shared_ptr<const identity::Directory> directory(const Known& known = {}) {
  identity::Directory::Parts parts;
  if (known.root) parts.accounts.push_back({"444455556666", "o-example", {}, {{"AKIAROOT", "root's"}}});
  if (known.user) {
    identity::User alice;
    alice.name = "alice";
    alice.account = "111122223333";
    alice.policies.push_back(parsed(kAllowSend));
    alice.tags = {{"team", "red"}};
    alice.access_keys = {{"AKIAALICE", known.secret}};
    parts.users.push_back(std::move(alice));
  }
  if (known.role) {
    identity::Role task;
    task.name = "task";
    task.account = "111122223333";
    task.policies.push_back(parsed(kAllowSend));
    task.tags = {{"team", "red"}, {"stage", "prod"}};
    parts.roles.push_back(std::move(task));
  }
  parts.managed_policies.push_back({"arn:aws:iam::111122223333:policy/nothing", policy::Policy{}});
  auto built = identity::Directory::build(std::move(parts));
  if (!built) throw std::runtime_error(built.error());
  return std::shared_ptr<const identity::Directory>{std::move(*built)};
}

/// An authenticator whose directory the test exchanges, and a client that signs.
struct Gate {
  std::shared_ptr<const identity::Directory> known = directory();
  EnforcedAuthenticator authenticator{[this] { return known; }, kTokenSecret};
  identity::SessionTokens tokens{kTokenSecret};
  SeededSecrets secrets{7};
  wire::aws::Arena arena;
  Router router;
  sigv4::SigningKeyCache cache;

  // Of one request; views of the identity point here.
  std::string text;
  http::RequestParser parser;
  Route route;

  struct Ask {
    sigv4::Credentials key{"AKIAALICE", "alice's", ""};
    std::string_view service = "sqs";
    std::string_view region = "us-east-1";
    std::string_view target = "AmazonSQS.SendMessage";
    std::string_view body = "{}";
    milliseconds late{0};   ///< how much later the server asks both its clocks
    milliseconds ahead{0};  ///< the broker's clock of the system's
    bool is_signed = true;
    std::string more;  ///< fields that are put in after signing
  };

  Result<Identity, ApiError> ask(const Ask& ask) {
    std::vector<http::Header> fields{{"Host", "localhost:4566"}, {"X-Amz-Target", ask.target}, {"Content-Type", "application/x-amz-json-1.0"}};
    text = "POST / HTTP/1.1\r\n";
    for (const auto& [name, value] : fields) text.append(name).append(": ").append(value).append("\r\n");
    if (ask.is_signed) {
      const auto made = sigv4::sign({"POST", "/", "", http::Headers{fields}, ask.body}, ask.key, {ask.region, ask.service, kNow}, cache);
      text += "X-Amz-Date: " + made.date + "\r\nAuthorization: " + made.authorization + "\r\n";
      if (!made.session_token.empty()) text += "X-Amz-Security-Token: " + made.session_token + "\r\n";
    }
    text += ask.more + "Content-Length: " + std::to_string(ask.body.size()) + "\r\n\r\n" + std::string(ask.body);
    return take(kNow + ask.late, ask.ahead);
  }

  Result<Identity, ApiError> ask_presigned(const sigv4::Credentials& key, seconds valid, milliseconds late, std::string_view more = {},
                                         milliseconds ahead = {}) {
    const std::vector<http::Header> fields{{"Host", "localhost:4566"}};
    std::string query = sigv4::presign({"GET", "/", "Action=ListQueues", http::Headers{fields}, ""}, key, {"us-east-1", "sqs", kNow}, valid, cache);
    query += more;
    text = "GET /?" + query + " HTTP/1.1\r\nHost: localhost:4566\r\n\r\n";
    return take(kNow + late, ahead);
  }

  identity::Credentials mint(identity::Session session) { return tokens.mint(session, secrets); }

 private:
  Result<Identity, ApiError> take(Timestamp system, milliseconds ahead) {
    arena.reset();
    parser = http::RequestParser{};
    EXPECT_EQ(parser.parse(text), http::Parse::Complete) << text;
    route = Route{};
    const Head head(parser.request());
    static_cast<void>(router.route(parser.request(), head, "us-east-1", route));
    route.credential.expected_service = model_of(route.service).name;
    return authenticator.authenticate(parser.request(), route.credential, {system + ahead, system}, arena);
  }
};

std::string code(const Result<Identity, ApiError>& answer) {
  return answer ? "known" : std::string(answer.error().kind.query_code);
}

identity::Session session(std::string principal = "arn:aws:iam::111122223333:role/task") {
  identity::Session made;
  made.account = "111122223333";
  made.principal = std::move(principal);
  made.name = "run-1";
  made.expires = kNow + 900s;
  return made;
}
sigv4::Credentials credentials(const identity::Credentials& made) { return {made.access_key_id, made.secret, made.token}; }

TEST(EnforcedAuthenticator, KnowsAUserByTheKey) {
  Gate gate;
  const auto alice = gate.ask({});
  ASSERT_TRUE(alice) << alice.error().message;
  EXPECT_EQ(alice->principal.kind, policy::Principal::Kind::Identity);
  EXPECT_EQ(alice->principal.arn, "arn:aws:iam::111122223333:user/alice");
  EXPECT_EQ(alice->principal.account, "111122223333");
  EXPECT_TRUE(alice->user_id.starts_with("AIDA"));
  EXPECT_FALSE(alice->policies.unrestricted);
  EXPECT_EQ(alice->policies.identity_policies.size(), 1u);
  EXPECT_EQ(alice->session, nullptr);
}

TEST(EnforcedAuthenticator, KnowsTheRootOfAnAccount) {
  Gate gate;
  const auto root = gate.ask({.key = {"AKIAROOT", "root's", ""}});
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(root->principal.kind, policy::Principal::Kind::Account);
  EXPECT_EQ(root->principal.arn, "arn:aws:iam::444455556666:root");
  EXPECT_TRUE(root->policies.unrestricted);
}

TEST(EnforcedAuthenticator, WithoutASignatureNobodyIsKnown) {
  Gate gate;
  const auto nobody = gate.ask({.is_signed = false});
  ASSERT_TRUE(nobody);
  EXPECT_EQ(nobody->principal.kind, policy::Principal::Kind::Anonymous);
  EXPECT_FALSE(nobody->policies.unrestricted);
}

TEST(EnforcedAuthenticator, RefusesWhatIsNotSignedByTheKey) {
  Gate gate;
  EXPECT_EQ(code(gate.ask({.key = {"AKIAALICE", "bob's", ""}})), "SignatureDoesNotMatch");
  EXPECT_EQ(code(gate.ask({.key = {"AKIANOBODY", "alice's", ""}})), "InvalidClientTokenId");
  EXPECT_EQ(code(gate.ask({.key = {"", "alice's", ""}})), "IncompleteSignature");
  EXPECT_EQ(code(gate.ask({.service = "sns"})), "SignatureDoesNotMatch") << "the scope is for another service than the target";
  EXPECT_EQ(code(gate.ask({.region = "eu-west-1"})), "known") << "any region will do";
  EXPECT_EQ(code(gate.ask({.late = 16min})), "RequestExpired");
  EXPECT_EQ(code(gate.ask({.late = -16min})), "SignatureDoesNotMatch");
  EXPECT_EQ(code(gate.ask({.late = 15min})), "known");
  EXPECT_EQ(code(gate.ask({.late = -15min})), "known");
  EXPECT_EQ(code(gate.ask({.more = "X-Amz-Put-In: x\r\n"})), "IncompleteSignature");
  EXPECT_EQ(code(gate.ask({.more = "X-Amz-Target: AmazonSQS.DeleteQueue\r\n"})), "SignatureDoesNotMatch");
}

TEST(EnforcedAuthenticator, ACredentialStandsOnceOrNotAtAll) {
  Gate gate;
  const std::string other = "AWS4-HMAC-SHA256 Credential=AKIAROOT/20261130/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=00";
  EXPECT_EQ(code(gate.ask({.more = "Authorization: " + other + "\r\n"})), "IncompleteSignature");
  EXPECT_EQ(code(gate.ask({.is_signed = false, .more = "X-Amz-Date: 20261130T110000Z\r\nAuthorization: AWS4-HMAC-SHA256 XCredential=AKIAROOT/20261130/"
                                                       "us-east-1/sqs/aws4_request, Credential=AKIAALICE/20261130/us-east-1/sqs/aws4_request, "
                                                       "SignedHeaders=host, Signature=00\r\n"})),
            "IncompleteSignature") << "the router reads the first, the verifier the second";
}

TEST(EnforcedAuthenticator, PresignedRequestsRunOutWhenTheySay) {
  Gate gate;
  const sigv4::Credentials alice{"AKIAALICE", "alice's", ""};
  EXPECT_EQ(code(gate.ask_presigned(alice, 60s, 60s)), "known");
  EXPECT_EQ(code(gate.ask_presigned(alice, 60s, 61s)), "RequestExpired");
  EXPECT_EQ(code(gate.ask_presigned(alice, 604'800s, 6 * 24h)), "known");
  EXPECT_EQ(code(gate.ask_presigned(alice, 60s, 0s, "&Action=PurgeQueue")), "SignatureDoesNotMatch");
  EXPECT_EQ(code(gate.ask_presigned(alice, 60s, 0s, "&X-Amz-Expires=604800")), "IncompleteSignature");
  EXPECT_EQ(code(gate.ask_presigned({"AKIANOBODY", "x", ""}, 60s, 0s)), "InvalidClientTokenId");
}

TEST(EnforcedAuthenticator, ASessionIsItsRole) {
  Gate gate;
  identity::Session asked = session();
  asked.policies = {std::string(kAllowSend)};
  asked.tags = {{"Team", "blue"}};
  const auto made = gate.mint(asked);
  const auto task = gate.ask({.key = credentials(made)});
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->principal.arn, "arn:aws:sts::111122223333:assumed-role/task/run-1");
  EXPECT_EQ(task->principal.role_arn, "arn:aws:iam::111122223333:role/task");
  EXPECT_TRUE(task->user_id.starts_with("AROA") && task->user_id.ends_with(":run-1")) << task->user_id;
  EXPECT_EQ(task->policies.identity_policies.size(), 1u);
  EXPECT_EQ(task->policies.session_policies.size(), 1u);
  ASSERT_NE(task->session, nullptr);
  std::string tags;
  for (const auto& [key, values] : task->principal.context)
    if (key.starts_with("aws:PrincipalTag/")) tags.append(key.substr(17)).append("=").append(values[0]).append(" ");
  EXPECT_EQ(tags, "stage=prod Team=blue ") << "a session's tag takes the place of the role's, whatever its case";
}

TEST(EnforcedAuthenticator, ASessionNeedsItsOwnTokenKeyAndSecret) {
  Gate gate;
  const auto one = gate.mint(session());
  const auto two = gate.mint(session());
  EXPECT_EQ(code(gate.ask({.key = {one.access_key_id, one.secret, two.token}})), "InvalidClientTokenId");
  EXPECT_EQ(code(gate.ask({.key = {one.access_key_id, one.secret, ""}})), "InvalidClientTokenId");
  EXPECT_EQ(code(gate.ask({.key = {one.access_key_id, two.secret, one.token}})), "SignatureDoesNotMatch");
  EXPECT_EQ(code(gate.ask({.key = {"AKIAALICE", "alice's", one.token}})), "InvalidClientTokenId");
  const identity::SessionTokens others{"the secret of another server"};
  EXPECT_EQ(code(gate.ask({.key = credentials(others.mint(session(), gate.secrets))})), "InvalidClientTokenId");
  EXPECT_EQ(code(gate.ask({.key = credentials(one)})), "known");
  EXPECT_EQ(code(gate.ask_presigned(credentials(two), 60s, 0s)), "known");
}

TEST(EnforcedAuthenticator, ASessionEnds) {
  Gate gate;
  identity::Session brief = session();
  brief.expires = kNow + 1s;
  const auto made = credentials(gate.mint(brief));
  EXPECT_EQ(code(gate.ask({.key = made, .late = 999ms})), "known");
  EXPECT_EQ(code(gate.ask({.key = made, .late = 1s})), "ExpiredToken");
  EXPECT_EQ(code(gate.ask_presigned(made, 3600s, 1s)), "ExpiredToken") << "a presigned URL holds no longer than its key";
}

TEST(EnforcedAuthenticator, SignaturesAreCheckedByTheSystemsClockAndSessionsEndByTheBrokers) {
  Gate gate;
  const sigv4::Credentials alice{"AKIAALICE", "alice's", ""};
  for (const milliseconds ahead : {milliseconds{16min}, milliseconds{48h}}) {
    EXPECT_EQ(code(gate.ask({.ahead = ahead})), "known") << ahead.count();
    EXPECT_EQ(code(gate.ask({.late = 16min, .ahead = ahead})), "RequestExpired");
    EXPECT_EQ(code(gate.ask({.late = -16min, .ahead = ahead})), "SignatureDoesNotMatch") << "a client whose clock is ahead";
    EXPECT_EQ(code(gate.ask_presigned(alice, 60s, 60s, {}, ahead)), "known");
    EXPECT_EQ(code(gate.ask_presigned(alice, 60s, 61s, {}, ahead)), "RequestExpired");
  }
  const auto made = credentials(gate.mint(session()));  // for 900 s
  EXPECT_EQ(code(gate.ask({.key = made, .ahead = 899s})), "known");
  EXPECT_EQ(code(gate.ask({.key = made, .ahead = 900s})), "ExpiredToken");
  EXPECT_EQ(code(gate.ask_presigned(made, 3600s, 0s, {}, 900s)), "ExpiredToken");
  identity::Session later = session();
  later.expires = kNow + 48h + 900s;  // given out by the moved clock
  const auto fresh = credentials(gate.mint(later));
  EXPECT_EQ(code(gate.ask({.key = fresh, .ahead = 48h})), "known");
  EXPECT_EQ(code(gate.ask({.key = fresh, .late = 16min, .ahead = 48h})), "ExpiredToken");
}

TEST(EnforcedAuthenticator, WhoIsGoneFromTheFileIsGone) {
  Gate gate;
  const auto role = credentials(gate.mint(session()));
  identity::Session of_user = session("arn:aws:iam::111122223333:user/alice");
  of_user.kind = identity::Session::Kind::User;
  const auto user = credentials(gate.mint(of_user));
  identity::Session of_root = session("arn:aws:iam::444455556666:root");
  of_root.kind = identity::Session::Kind::User;
  of_root.account = "444455556666";
  const auto root = credentials(gate.mint(of_root));
  for (const auto& key : {role, user, root}) EXPECT_EQ(code(gate.ask({.key = key})), "known") << key.access_key_id;
  gate.known = directory({.role = false, .user = false, .root = false});
  for (const auto& key : {role, user, root}) EXPECT_EQ(code(gate.ask({.key = key})), "InvalidClientTokenId") << key.access_key_id;
  EXPECT_EQ(code(gate.ask({})), "InvalidClientTokenId");
  gate.known = directory({.secret = "changed"});
  EXPECT_EQ(code(gate.ask({})), "SignatureDoesNotMatch") << "the kept signing key is of the old secret";
  EXPECT_EQ(code(gate.ask({.key = {"AKIAALICE", "changed", ""}})), "known");
}

TEST(EnforcedAuthenticator, AManagedPolicyThatIsGoneAllowsNothing) {
  Gate gate;
  identity::Session limited = session();
  limited.policy_arns = {"arn:aws:iam::111122223333:policy/nothing", "arn:aws:iam::111122223333:policy/gone"};
  const auto task = gate.ask({.key = credentials(gate.mint(limited))});
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->policies.session_policies.size(), 2u) << "a session with no policies would not be limited";
  policy::Question question;
  question.request = {task->principal, "sqs:SendMessage", "arn:aws:sqs:us-east-1:111122223333:q", {}, {}, "111122223333"};
  question.identity = task->policies;
  EXPECT_EQ(policy::authorize(question).cause, policy::Cause::SessionDoesNotAllow);
}

TEST(EnforcedAuthenticator, ManyIdentitiesInTurnAreKeptApart) {
  Gate gate;
  std::vector<sigv4::Credentials> keys{{"AKIAALICE", "alice's", ""}, {"AKIAROOT", "root's", ""}};
  for (int i = 0; i < 20; ++i) {
    identity::Session one = session();
    one.name = "run-" + std::to_string(i);
    keys.push_back(credentials(gate.mint(one)));
  }
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto who = gate.ask({.key = keys[i]});
      ASSERT_TRUE(who) << i;
      EXPECT_EQ(who->access_key, keys[i].access_key_id);
      if (i >= 2) {
        EXPECT_TRUE(who->principal.arn.ends_with("/run-" + std::to_string(i - 2))) << who->principal.arn;
      }
    }
}

}  // namespace
}  // namespace fanfare::api::aws
