#include "graphql/check.h"

#include <fmt/format.h>

#include "graphql/validate.h"
#include "wire/json/writer.h"

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

void append_json(std::string& out, const Error& error) {
  wire::json::append_quoted(out.append("{\"source\":"), error.source);
  wire::json::append_quoted(out.append(",\"rule\":"), name_of(error.rule));
  wire::json::append_quoted(out.append(",\"section\":"), section_of(error.rule));
  wire::json::append_quoted(out.append(",\"message\":"), error.message);
  out.append(",\"locations\":[");
  for (const Location& location : error.locations) {
    fmt::format_to(std::back_inserter(out), "{}{{\"line\":{},\"column\":{}}}", out.back() == '[' ? "" : ",", location.line, location.column);
  }
  out.append("]}");
}

std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

}  // namespace

std::size_t CheckResult::errors() const {
  std::size_t count = schema_errors.size();
  for (const CheckedDocument& document : documents) count += document.errors.size();
  return count;
}

CheckResult check(std::span<const Source> schema, std::span<const Source> documents) {
  CheckResult result;
  const auto built = build_schema(schema);
  if (!built) {
    result.schema_errors = built.error();
    return result;
  }
  for (const Type* type : (*built)->types) result.types += type->is_builtin ? 0 : 1;
  for (const Source& source : documents) {
    CheckedDocument& checked = result.documents.emplace_back();
    checked.name = std::string(source.name);
    const auto document = parse(source);
    if (!document) {
      checked.errors.push_back(document.error());
      continue;
    }
    checked.operations = (*document)->operations.size();
    checked.errors = validate(**built, **document);
  }
  return result;
}

std::string as_text(const CheckResult& result, std::span<const Source> schema, std::span<const Source> documents) {
  std::string text;
  if (!result.schema_errors.empty()) {
    for (const Error& error : result.schema_errors) append(text, error, schema);
    const std::size_t count = result.schema_errors.size();
    return text + fmt::format("{} error{} in the schema\n", count, plural(count));
  }
  fmt::format_to(std::back_inserter(text), "schema: {} type{}, right\n", result.types, plural(result.types));
  for (const CheckedDocument& document : result.documents) {
    for (const Error& error : document.errors) append(text, error, documents);
    if (!document.errors.empty()) continue;
    fmt::format_to(std::back_inserter(text), "{}: {} operation{}, right\n", document.name, document.operations, plural(document.operations));
  }
  if (!result.ok()) fmt::format_to(std::back_inserter(text), "{} error{}\n", result.errors(), plural(result.errors()));
  return text;
}

std::string as_json(const CheckResult& result) {
  std::string out = fmt::format("{{\"ok\":{},\"types\":{},\"documents\":[", result.ok(), result.types);
  for (const CheckedDocument& document : result.documents) {
    wire::json::append_quoted(out.append(out.back() == '[' ? "" : ",").append("{\"source\":"), document.name);
    fmt::format_to(std::back_inserter(out), ",\"operations\":{},\"errors\":{}}}", document.operations, document.errors.size());
  }
  out.append("],\"errors\":[");
  const auto append_all = [&out](const std::vector<Error>& errors) {
    for (const Error& error : errors) append_json(out.append(out.back() == '[' ? "" : ","), error);
  };
  append_all(result.schema_errors);
  for (const CheckedDocument& document : result.documents) append_all(document.errors);
  return out.append("]}\n");
}

}  // namespace fanfare::graphql
