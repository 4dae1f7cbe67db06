// Whatever the text: a schema or errors with places; a schema that stands has an introspection that is JSON.
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "graphql/execute.h"
#include "wire/json/value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare::graphql;
  if (size > 16 * 1024) return 0;
  const auto schema = build_schema(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!schema) {
    FANFARE_ASSERT(!schema.error().empty());
    return 0;
  }
  const Bindings bindings(*schema);
  const auto prepared = Prepared::prepare(bindings, {"introspection", R"({ __schema { description queryType { name } types { kind name description
      specifiedByURL isOneOf fields(includeDeprecated: true) { name args { name defaultValue } type { name kind ofType { name kind } } deprecationReason }
      interfaces { name } possibleTypes { name } enumValues(includeDeprecated: true) { name } inputFields { name defaultValue type { name } } }
      directives { name locations isRepeatable args { name defaultValue } } } })"});
  FANFARE_ASSERT(prepared.has_value(), prepared.error().front().message);
  Execution execution;
  execution.start(*prepared, {});
  FANFARE_ASSERT(execution.finished() && execution.errors().empty(), execution.response());
  FANFARE_ASSERT(fanfare::wire::json::parse(execution.response()).has_value(), execution.response());
  return 0;
}
