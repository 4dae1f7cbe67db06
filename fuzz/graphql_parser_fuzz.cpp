// Whatever the bytes: the parser answers a document or an error with a place, and what the printer makes of a document
// parses again into the same text.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "graphql/parser.h"
#include "graphql/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare::graphql;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = parse({"fuzz", text}, ParseLimits::for_requests());
  if (!document) {
    FANFARE_ASSERT(document.error().locations.size() == 1 || document.error().rule == Rule::DocumentTooLarge);
    return 0;
  }
  const std::string printed = print(**document);
  const auto again = parse({"printed", printed});
  FANFARE_ASSERT(again.has_value(), printed);
  FANFARE_ASSERT(print(**again) == printed, printed);
  return 0;
}
