#include "graphql/check.h"

#include <fmt/format.h>

#include "graphql/validate.h"

namespace fanfare::graphql {
namespace {

std::string_view text_of(std::span<const Source> sources, std::string_view name) {
  for (const Source& source : sources) {
    if (source.name == name) return source.text;
  }
  return {};
}

void append(std::string& out, const Error& error, std::span<const Source> sources) {
  const std::string_view section = section_of(error.rule);
  if (error.locations.empty()) {
    fmt::format_to(std::back_inserter(out), "{}: error: {}", error.source, error.message);
  } else {
    fmt::format_to(std::back_inserter(out), "{}:{}:{}: error: {}", error.source, error.locations[0].line, error.locations[0].column,
                   error.message);
  }
  fmt::format_to(std::back_inserter(out), " [{}]\n", section.empty() ? name_of(error.rule) : section);
  const std::string_view text = text_of(sources, error.source);
  for (const Location& location : error.locations) out.append(excerpt(text, location));
}

std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

}  // namespace

CheckResult check(std::span<const Source> schema, std::span<const Source> documents) {
  CheckResult result;
  std::size_t errors = 0;
  const auto report = [&](const std::vector<Error>& found, std::span<const Source> sources) {
    for (const Error& error : found) append(result.text, error, sources);
    errors += found.size();
  };
  const auto built = build_schema(schema);
  if (!built) {
    report(built.error(), schema);
    fmt::format_to(std::back_inserter(result.text), "{} error{} in the schema\n", errors, plural(errors));
    return result;
  }
  std::size_t types = 0;
  for (const Type* type : (*built)->types) types += type->is_builtin ? 0 : 1;
  fmt::format_to(std::back_inserter(result.text), "schema: {} type{}, right\n", types, plural(types));
  for (const Source& source : documents) {
    const auto document = parse(source);
    const std::vector<Error> found = document ? validate(**built, **document) : std::vector<Error>{document.error()};
    report(found, documents);
    if (found.empty()) {
      const std::size_t operations = (*document)->operations.size();
      fmt::format_to(std::back_inserter(result.text), "{}: {} operation{}, right\n", source.name, operations, plural(operations));
    }
  }
  if (errors > 0) fmt::format_to(std::back_inserter(result.text), "{} error{}\n", errors, plural(errors));
  result.ok = errors == 0;
  return result;
}

}  // namespace fanfare::graphql
