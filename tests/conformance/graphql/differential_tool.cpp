// Our side of the comparison with graphql-js: one JSON object a line in, one a line out.
//
//   {"schema": SDL}                                    -> {"rules":[]}, or the rules that the schema breaks
//   {"query": ..., "variables": ..., "operationName"}  -> {"rules":["FieldSelections"]}: refused, by which rules
//                                                      -> {"response":{...}}: executed
//   {"bench": ..., "step": "parse", "rounds": N}        -> {"ns":...}: one round of parse, validate, prepare or execute;
//                                                         execute also says how many fields, bytes and allocations it has
//
// Fields answer by their type (wiring.h), but by their name if it begins so: `nul` null, `err` an error, `mix` a list of a
// value, null and an error, `echo` the arguments as JSON text.
#include <chrono>
#include <ctime>
#include <iostream>
#include <set>
#include <string>

#include "graphql/allocation_count_test.h"
#include "graphql/execute.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"
#include "wiring.h"

namespace fanfare::graphql {
namespace {

namespace json = wire::json;

Resolved echo(FieldCall& call) {
  std::string text = "{";
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    if (call.arguments[i].is_absent()) continue;
    if (text.size() > 1) text.push_back(',');
    json::append_quoted(text, call.field.arguments[i].name);
    text.push_back(':');
    append_json(text, call.arguments[i]);
  }
  text.push_back('}');
  return Resolved::string(call.keep(text));
}

void wire(Bindings& bindings) {
  wire_by_type(bindings);
  for (const Type* type : bindings.schema().types) {
    if (type->kind != TypeKind::Object || type->is_introspection) continue;
    const Type* const parent = type;
    for (const Field& field : type->fields) {
      const auto bind = [&](Resolver resolver) { (void)bindings.resolve(parent->name, field.name, std::move(resolver)); };
      if (field.name.starts_with("nul")) bind([](FieldCall&) { return Resolved::null(); });
      if (field.name.starts_with("err")) bind([](FieldCall& call) { return call.error("failed"); });
      if (field.name.starts_with("echo")) bind(echo);
      if (!field.name.starts_with("mix")) continue;
      const Field* const bound = &field;
      bind([bound](FieldCall& call) {
        const auto items = call.make_items(3);
        items[0] = value_by_type(call, bound->type.nullable().inner());
        items[2] = call.error("failed");
        return Resolved::items(items);
      });
    }
  }
}

std::string rules_line(const std::vector<Error>& errors) {
  std::set<std::string_view> rules;
  for (const Error& error : errors) rules.insert(name_of(error.rule));
  std::string line = "{\"rules\":[";
  for (const std::string_view rule : rules) {
    if (line.back() != '[') line.push_back(',');
    json::append_quoted(line, rule);
  }
  line.append("],\"message\":");
  json::append_quoted(line, errors.empty() ? std::string_view() : std::string_view(errors.front().message));
  return line + "}";
}

PrepareOptions generous() {
  PrepareOptions options;
  options.limits.complexity = 0;
  options.limits.aliases = 0;
  return options;
}

class Tool {
 public:
  std::string answer(const json::Value& request) {
    if (const auto sdl = request.find_string("schema")) return use_schema(*sdl);
    if (const auto query = request.find_string("bench")) return bench(*query, request);
    return execute(request);
  }

 private:
  std::string use_schema(std::string_view sdl) {
    bindings_.reset();
    auto schema = build_schema(sdl);
    if (!schema) return rules_line(schema.error());
    bindings_ = std::make_unique<Bindings>(*std::move(schema));
    wire(*bindings_);
    return R"({"rules":[]})";
  }

  std::string execute(const json::Value& request) {
    const auto prepared = Prepared::prepare(*bindings_, {"query", *request.find_string("query")}, generous());
    if (!prepared) return rules_line(prepared.error());
    arena_.reset();
    execution_.start(*prepared, request_of(request));
    if (!execution_.was_executed()) return rules_line(execution_.errors());
    return "{\"response\":" + std::string(execution_.response()) + "}";
  }

  ExecuteRequest request_of(const json::Value& request) {
    ExecuteRequest result;
    result.operation_name = request.find_string("operationName").value_or("");
    if (const json::Value* variables = request.find("variables")) result.variables = to_value(*variables, arena_);
    return result;
  }

  template <class Function>
  static std::string timed(std::size_t rounds, Function function) {
    const std::clock_t processor = std::clock();
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < rounds; ++i) function();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    std::string line = "{\"ns\":";
    json::Writer(line).real(taken.count() / static_cast<double>(rounds));
    line.append(",\"cpu\":");
    json::Writer(line).real(1e9 / CLOCKS_PER_SEC * static_cast<double>(std::clock() - processor) / static_cast<double>(rounds));
    return line;
  }

  std::string bench(std::string_view query, const json::Value& request) {
    const auto rounds = static_cast<std::size_t>(request.find("rounds")->as_int64().value_or(1));
    const std::string_view step = request.find_string("step").value_or("");
    const Source source{"query", query};
    if (step == "parse") return timed(rounds, [&] { (void)parse(source, ParseLimits::for_requests()); }) + "}";
    if (step == "prepare") {  // as a service does with a document that it has not met before; refusing it counts, too
      std::size_t errors = 0;
      std::string line = timed(rounds, [&] {
        const auto result = Prepared::prepare(*bindings_, source);
        errors = result ? 0 : result.error().size();
      });
      return line.append(",\"errors\":").append(std::to_string(errors)) + "}";
    }
    const auto prepared = Prepared::prepare(*bindings_, source, generous());
    if (!prepared) return rules_line(prepared.error());
    if (step == "validate") return timed(rounds, [&] { (void)validate(bindings_->schema(), (*prepared)->document()); }) + "}";
    arena_.reset();
    const ExecuteRequest execute = request_of(request);
    execution_.start(*prepared, execute);
    const std::size_t before = allocation_count();
    std::string line = timed(rounds, [&] { execution_.start(*prepared, execute); });
    line.append(",\"allocations\":");
    json::Writer(line).real(static_cast<double>(allocation_count() - before) / static_cast<double>(rounds));
    line.append(",\"fields\":").append(std::to_string(execution_.fields_executed()));
    line.append(",\"bytes\":").append(std::to_string(execution_.response().size()));
    return line + "}";
  }

  std::unique_ptr<Bindings> bindings_;
  Execution execution_;
  Arena arena_;
};

}  // namespace
}  // namespace fanfare::graphql

int main() {
  fanfare::graphql::Tool tool;
  std::string line;
  fanfare::wire::json::Limits limits;
  limits.depth_max = 1024;
  while (std::getline(std::cin, line)) {
    const auto request = fanfare::wire::json::parse(line, limits);
    std::cout << (request ? tool.answer(*request) : std::string(R"({"rules":["NoJson"]})")) << "\n" << std::flush;
  }
}
