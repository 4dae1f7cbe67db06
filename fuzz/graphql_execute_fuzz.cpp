// A request against a fixed schema: the text up to the first zero byte is the document, then come its variables as JSON,
// and the last byte says which fields are answered later. The response is JSON, and everything that waits can be answered.
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"
#include "graphql/execute.h"
#include "wire/json/value.h"

namespace {

using namespace fanfare::graphql;

constexpr std::string_view kSdl = R"(
type Query { t: T tn: T! l(first: Int = 2): [T!] u: U i: I s(a: [In!] = [{x: 1}], o: O, e: E = RED, any: Any, f: Float, id: ID!): String n: Int! }
type Mutation { t: T! s(a: In!): String }
type Subscription { t: T u: U }
interface I { n: Int! t: T } union U = T | V
type T implements I { n: Int! t: T tn: T! l(first: Int): [T] u: U i: I s(x: Int! = 1, b: Boolean): String }
type V implements I { n: Int! t: T v: [[Int!]!] }
enum E { RED GREEN } input In { x: Int! = 3 y: In l: [In!] e: E s: String } input O @oneOf { a: Int b: String c: In } scalar Any
directive @d(a: Int) repeatable on FIELD | FRAGMENT_SPREAD | QUERY | VARIABLE_DEFINITION
)";

struct State {
  std::uint8_t waits = 0;
  std::size_t calls = 0;
  std::vector<PendingId> waiting;
};

const int kObject = 0;

Resolved value_of(FieldCall& call, TypeRef type, State& state) {
  ++state.calls;
  if (state.calls % 11 == 7) return Resolved::null();
  if (state.calls % 13 == 5) return call.error("failed");
  type = type.nullable();
  if (type.is_list()) {
    const auto items = call.make_items(state.calls % 3);
    for (Resolved& item : items) item = value_of(call, type.inner(), state);
    return Resolved::items(items);
  }
  const Type& named = *type.named;
  if (named.kind == TypeKind::Enum) return Resolved::string("RED");
  if (named.is_leaf()) return named.scalar == ScalarKind::Int ? Resolved::integer(4) : Resolved::string("text");
  return Resolved::object(&kObject, named.is_abstract() ? named.possible[state.calls % named.possible.size()] : nullptr);
}

Resolved resolve(FieldCall& call) {
  State& state = *static_cast<State*>(call.context);
  if ((state.calls * 7 + state.waits) % 5 < state.waits % 5U) {
    PendingId id = 0;
    const Resolved pending = call.suspend(id);
    state.waiting.push_back(id);
    ++state.calls;
    return pending;
  }
  return value_of(call, call.field.type, state);
}

const Bindings& bindings() {
  static const Bindings* const made = [] {
    auto* result = new Bindings(*build_schema(kSdl));
    result->resolve_others(resolve);
    return result;
  }();
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(text.find('\0'), text.size());
  PrepareOptions options;
  options.limits.complexity = 20'000;
  options.limits.list_size = 3;
  const auto prepared = Prepared::prepare(bindings(), {"fuzz", text.substr(0, zero)}, options);
  if (!prepared) {
    FANFARE_ASSERT(!prepared.error().empty());
    return 0;
  }
  State state;
  Arena arena;
  ExecuteRequest request;
  request.context = &state;
  if (zero < text.size()) {
    state.waits = data[size - 1];
    if (const auto variables = fanfare::wire::json::parse(text.substr(zero + 1, size - zero - 2))) request.variables = to_value(*variables, arena);
  }
  const auto operations = (*prepared)->document().operations;
  request.operation_name = operations.empty() ? std::string_view() : operations[0]->name.text();
  static Execution execution;
  execution.start(*prepared, request);
  while (!execution.finished()) {
    FANFARE_ASSERT(!state.waiting.empty(), "the execution waits for nothing");
    const std::size_t next = state.calls % state.waiting.size();
    const PendingId id = state.waiting[next];
    state.waiting.erase(state.waiting.begin() + static_cast<std::ptrdiff_t>(next));
    ++state.calls;
    if (state.calls % 4 == 0) {
      execution.complete(id, Resolved::null());
    } else if (state.calls % 4 == 1) {
      execution.fail(id, "failed later");
    } else {
      execution.complete(id, state.calls % 4 == 2 ? Resolved::integer(1) : Resolved::object(&kObject));
    }
  }
  FANFARE_ASSERT(fanfare::wire::json::parse(execution.response(), {1024}).has_value(), execution.response());
  return 0;
}
