// Reads any bytes as a policy of both kinds and, if they are one, decides requests with it and explains them; reads
// them as a case of `fanfare policy evaluate`, too.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/permissions.h"
#include "policy/question.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare::policy;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const std::string_view topic = "arn:aws:sns:us-east-1:000000000000:doc-events";
  const std::string_view values[] = {"a", "", "10.0.0.1", "2026-11-30T10:00:00Z"};
  const ContextEntry entries[] = {{"aws:SourceArn", {&topic, 1}}, {"aws:x", values}};
  Question question;
  question.request.action = "sqs:SendMessage";
  question.request.resource = "arn:aws:sqs:us-east-1:000000000000:summarise";
  question.request.context = entries;
  if (const auto policy = Policy::parse(text)) {
    question.resource_policy = &*policy;
    question.request.principal.kind = Principal::Kind::Service;
    question.request.principal.service = "sns.amazonaws.com";
    const Outcome outcome = authorize(question);
    if (outcome.verdict == Verdict::Allow && outcome.cause != Cause::Allowed) std::abort();
    (void)sentence(question, outcome);
    (void)check_queue_policy(*policy, size);
    (void)check_topic_policy(*policy, size);
    const std::string_view account = "111122223333";
    const std::string_view action = "SendMessage";
    const auto added = add_permission(text, "fuzz", {&account, 1}, {&action, 1}, question.request.resource);
    if (added && !Policy::parse(*added)) std::abort();  // what AddPermission writes must stay a policy
    question.resource_policy = nullptr;
  }
  if (const auto policy = Policy::parse(text, PolicyKind::Identity)) {
    question.identity.identity_policies = {&*policy, 1};
    question.identity.permissions_boundary = &*policy;
    question.request.principal = {Principal::Kind::Identity,
                                  "000000000000",
                                  "arn:aws:sts::000000000000:assumed-role/task/run",
                                  "arn:aws:iam::000000000000:role/task",
                                  {},
                                  {}};
    std::string out;
    append_answer(out, question);
  }
  if (const auto value = fanfare::wire::json::parse(text)) {
    if (auto owned = OwnedQuestion::parse(*value)) {
      std::string out;
      append_answer(out, owned->view());
    }
  }
  return 0;
}
