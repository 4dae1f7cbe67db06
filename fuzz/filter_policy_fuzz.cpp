// The text before the first NUL as a filter policy of both scopes, the rest as a message: body and String.Array attribute.
// What is accepted is asked, by itself and through the index, and both must agree.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/topic/filter_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare;
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t cut = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(0, cut);
  const std::string_view message = cut < input.size() ? input.substr(cut + 1) : std::string_view{};
  for (const topic::FilterScope scope : {topic::FilterScope::MessageAttributes, topic::FilterScope::MessageBody}) {
    const auto policy = topic::FilterPolicy::parse(text, scope);
    if (!policy) {
      if (policy.error().message.empty() || policy.error().offset > text.size()) std::abort();
      continue;
    }
    const std::vector<message::MessageAttribute> attributes = {{"a", "String.Array", message}, {"b", "String", message}};
    topic::LazyBody body(message);
    const bool passes = policy->matches(attributes, body) == topic::FilterOutcome::Passed;
    topic::FilterIndex index;
    index.add(1, *policy);
    std::vector<std::uint32_t> passed;
    topic::FilterTally tally;
    index.match(attributes, body, passed, tally);
    if (passes == passed.empty()) std::abort();
    index.remove(1);
  }
  return 0;
}
