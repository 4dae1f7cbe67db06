// What one decision costs: a queue's policy of five statements asked by a delivery and by a user, one with variables,
// and all kinds of policies together. The limit is 1 us for five statements.
// And what a signature costs: a SendMessage with a body of 400 bytes, its Authorization field read and verified with a kept
// signing key; the same with a key that is derived. The limit is 2 us.
#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "policy/authorize.h"
#include "wire/sigv4/sigv4.h"

namespace {

using namespace fanfare::policy;

constexpr std::string_view kQueue = "arn:aws:sqs:us-east-1:111122223333:work";
constexpr std::string_view kTopic = "arn:aws:sns:us-east-1:111122223333:doc-events";
constexpr std::string_view kAccount = "111122223333";

Policy parsed(const std::string& text, PolicyKind kind = PolicyKind::Resource) {
  auto policy = Policy::parse(text, kind);
  if (!policy) throw std::runtime_error(policy.error().message());
  return std::move(*policy);
}

/// Four statements that do not decide, each by another part, and the one that does at the end.
Policy five_statements() {
  return parsed(R"({"Version":"2012-10-17","Statement":[
    {"Sid":"tls","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"arn:aws:sqs:us-east-1:111122223333:work",
     "Condition":{"Bool":{"aws:SecureTransport":"false"}}},
    {"Sid":"other","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::444455556666:role/reader"},"Action":["sqs:ReceiveMessage","sqs:DeleteMessage"],
     "Resource":"arn:aws:sqs:us-east-1:111122223333:work"},
    {"Sid":"network","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"arn:aws:sqs:us-east-1:111122223333:*",
     "Condition":{"NotIpAddress":{"aws:SourceIp":["10.0.0.0/8","192.168.0.0/16"]},"Bool":{"aws:PrincipalIsAWSService":"false"}}},
    {"Sid":"users","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:user/alice"},"Action":"sqs:SendMessage",
     "Resource":"arn:aws:sqs:us-east-1:111122223333:work"},
    {"Sid":"topic","Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage",
     "Resource":"arn:aws:sqs:us-east-1:111122223333:work",
     "Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:sns:us-east-1:111122223333:doc-*"}}}]})");
}

struct Keys {
  std::string_view ip = "10.1.2.3";
  std::string_view secure = "true";
  std::string_view agent = "aws-sdk";
  std::string_view region = "us-east-1";
  std::string_view now = "2026-11-30T10:00:00Z";
  std::string_view epoch = "1796036400";
  ContextEntry entries[6] = {{"aws:SourceIp", {&ip, 1}},     {"aws:SecureTransport", {&secure, 1}},
                             {"aws:UserAgent", {&agent, 1}}, {"aws:RequestedRegion", {&region, 1}},
                             {"aws:CurrentTime", {&now, 1}}, {"aws:EpochTime", {&epoch, 1}}};
};

void delivery(benchmark::State& state) {
  const Policy policy = five_statements();
  const ContextEntry source{"aws:SourceArn", {&kTopic, 1}};
  Request request;
  request.principal.kind = Principal::Kind::Service;
  request.principal.service = "sns.amazonaws.com";
  request.action = "sqs:SendMessage";
  request.resource = kQueue;
  request.service_context = {&source, 1};
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(policy, request));
}
BENCHMARK(delivery);

void user(benchmark::State& state) {
  const Policy policy = five_statements();
  const Keys keys;
  Question question;
  question.request.principal = {
      Principal::Kind::Identity, kAccount, "arn:aws:iam::111122223333:user/alice", {}, {}, {}};
  question.request.action = "sqs:SendMessage";
  question.request.resource = kQueue;
  question.request.context = keys.entries;
  question.resource_policy = &policy;
  for (auto _ : state) benchmark::DoNotOptimize(authorize(question));
}
BENCHMARK(user);

void variables(benchmark::State& state) {
  const Policy policy = parsed(R"({"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sqs:*",
    "Resource":"arn:aws:sqs:us-east-1:111122223333:inbox-${aws:username}"}})",
                               PolicyKind::Identity);
  Question question;
  question.request.principal = {
      Principal::Kind::Identity, kAccount, "arn:aws:iam::111122223333:user/alice", {}, {}, {}};
  question.request.action = "sqs:SendMessage";
  question.request.resource = "arn:aws:sqs:us-east-1:111122223333:inbox-alice";
  question.identity.identity_policies = {&policy, 1};
  for (auto _ : state) benchmark::DoNotOptimize(authorize(question));
}
BENCHMARK(variables);

/// A signed SendMessage as the AWS SDKs send it.
struct SignedMessage {
  std::string body = R"({"QueueUrl":"http://127.0.0.1:4566/000000000000/orders","MessageBody":")" + std::string(327, 'x') + "\"}";
  std::vector<fanfare::wire::http::Header> headers{{"Host", "127.0.0.1:4566"},
                                                   {"User-Agent", "aws-sdk-cpp/1.11 ua/2.1 os/linux lang/c++#20"},
                                                   {"Content-Type", "application/x-amz-json-1.0"},
                                                   {"X-Amz-Target", "AmazonSQS.SendMessage"},
                                                   {"Content-Length", "400"}};
  fanfare::wire::sigv4::Credentials key{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  fanfare::Timestamp now = fanfare::timestamp_from_unix_ms(1'796'036'400'000);
  fanfare::wire::sigv4::SignedFields added;

  SignedMessage() {
    fanfare::wire::sigv4::SigningKeyCache cache;
    added = fanfare::wire::sigv4::sign(view(), key, {"us-east-1", "sqs", now}, cache);
    headers.push_back({"X-Amz-Date", added.date});
    headers.push_back({"Authorization", added.authorization});
  }
  [[nodiscard]] fanfare::wire::sigv4::RequestView view() const {
    return {"POST", "/", "", fanfare::wire::http::Headers{headers}, body};
  }
};

void check_signature(benchmark::State& state, bool keep_key) {
  namespace sigv4 = fanfare::wire::sigv4;
  const SignedMessage message;
  if (message.body.size() != 400) throw std::runtime_error(std::to_string(message.body.size()) + " bytes instead of 400");
  sigv4::SigningKeyCache cache;
  std::string scratch;
  fanfare::wire::http::Form query;
  for (auto _ : state) {
    if (!keep_key) cache = sigv4::SigningKeyCache{};
    const auto authorization = sigv4::read_authorization(message.view(), query);
    const auto verified = sigv4::verify(message.view(), *authorization, message.key.secret, message.now, cache, scratch);
    if (!verified) throw std::runtime_error(verified.error().message);
  }
}
void signature(benchmark::State& state) { check_signature(state, true); }
BENCHMARK(signature);
void signature_of_a_new_key(benchmark::State& state) { check_signature(state, false); }
BENCHMARK(signature_of_a_new_key);

}  // namespace

BENCHMARK_MAIN();
