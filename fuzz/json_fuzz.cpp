// JSON: the fast reader and the careful parser agree on every text, and what is written reads back as the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "wire/json/reader.h"
#include "wire/json/utf8.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

using namespace fanfare;
using namespace fanfare::wire::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Reader reader;
  const std::string_view text{reinterpret_cast<const char*>(data), size};

  const auto quoted = to_quoted(text);
  const auto string = parse(quoted);
  FANFARE_ASSERT(string.has_value(), quoted);
  if (utf8_valid_prefix(text) == size) FANFARE_ASSERT(string->as_string() == text, quoted);

  const auto careful = parse(text, {.duplicate_keys = DuplicateKeys::KeepAll});
  const auto fast = reader.parse(text);
  if (!careful) {
    // One level more is tolerated where it is empty.
    FANFARE_ASSERT(!fast || careful.error().reason == Reason::TooDeep, careful.error().message());
    FANFARE_ASSERT(careful.error().offset <= size);
    return 0;
  }
  const auto written = careful->to_string();
  const auto again = parse(written, {.duplicate_keys = DuplicateKeys::KeepAll});
  FANFARE_ASSERT(again && *again == *careful, written);
  FANFARE_ASSERT(again->to_string() == written, written);
  if (!fast) {
    FANFARE_ASSERT(fast.error().reason == Reason::NumberOutOfRange, fast.error().message());
    return 0;
  }
  FANFARE_ASSERT(fast->to_value() == *careful, written);
  std::string by_node;
  fast->append_to(by_node);
  const auto read = parse(by_node, {.duplicate_keys = DuplicateKeys::KeepAll});
  FANFARE_ASSERT(read && *read == *careful, by_node);

  const auto last = parse(text);
  const auto unique = parse(text, {.duplicate_keys = DuplicateKeys::Reject});
  FANFARE_ASSERT(last.has_value());
  if (unique) FANFARE_ASSERT(*unique == *careful && *last == *careful);
  return 0;
}
