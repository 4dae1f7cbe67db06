// Reads any bytes as a policy of both kinds and, if they are one, decides a request with it.
#include <cstdint>
#include <string_view>

#include "policy/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare::policy;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  for (const PolicyKind kind : {PolicyKind::Resource, PolicyKind::Identity}) {
    const auto policy = Policy::parse(text, kind);
    if (!policy) continue;
    Request request{};
    request.principal.kind = Principal::Kind::Service;
    request.principal.service = "sns.amazonaws.com";
    request.action = "sqs:SendMessage";
    request.resource = "arn:aws:sqs:us-east-1:000000000000:summarise";
    const std::string_view value = "arn:aws:sns:us-east-1:000000000000:doc-events";
    const ContextEntry entry{"aws:SourceArn", {&value, 1}};
    request.context = {&entry, 1};
    (void)evaluate(*policy, request);
  }
  return 0;
}
