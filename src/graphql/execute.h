// Executes operations: calls resolvers, completes their values, writes the response.
//
// Rules
// 1. Sans-I/O: start() runs as far as it can without waiting. Fields whose resolvers have suspended are completed by the
//    caller, in any order; the execution is over when finished() says so. Nothing calls back.
// 2. The response is written as JSON while values are completed. What null propagation takes back is cut off; a suspended
//    field leaves a hole, is written to a buffer of its own, and put in its place at the end.
// 3. An Execution is used again for the next request and then allocates nothing but what outgrows its buffers.
// Source of truth: GraphQL September 2025, sections 6 and 7.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graphql/prepared.h"
#include "graphql/resolved.h"

namespace fanfare::graphql {

struct ExecuteRequest {
  std::string_view operation_name;  ///< empty: the only operation
  Value variables;                  ///< an object; absent or null: none
  Resolved root;                    ///< what the root fields' resolvers get as their source
  void* context = nullptr;          ///< handed to resolvers
};

/// Coerces a request's variables. [GraphQL 6.1.2]
bool coerce_variables(const Schema& schema, const Document& document, const OperationNode& operation, const Value& given, Arena& arena,
                      VariableValues& out, std::vector<Error>& errors);

/// Not thread-safe. Must not be moved or destroyed while one of its resolvers runs.
class Execution {
 public:
  Execution() = default;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Starts a query or mutation; what was before is given up. A subscription operation is executed as if one event had
  /// come, which is what Subscription does.
  void start(PreparedPtr prepared, const ExecuteRequest& request);
  /// Starts with variables that have been coerced already and outlive the execution.
  void start(PreparedPtr prepared, const OperationNode& operation, const VariableValues& variables, const Resolved& root, void* context);
  /// Answers a suspended field. Ignored if the field's result does not count any more, or for an unknown id.
  void complete(PendingId id, const Resolved& value);
  /// Answers a suspended field with an error.
  void fail(PendingId id, std::string_view message, std::string_view extensions = {});

  [[nodiscard]] bool finished() const { return state_ == State::Finished; }
  /// `{"data":{...}}`, `{"errors":[...],"data":{...}}`, or `{"errors":[...]}` if the request could not be executed. Valid
  /// until the next start(). Only when finished.
  [[nodiscard]] std::string_view response() const { return response_; }
  [[nodiscard]] const std::vector<Error>& errors() const { return errors_; }
  /// False: a request error, there is no `data`.
  [[nodiscard]] bool was_executed() const { return was_executed_; }
  [[nodiscard]] std::size_t fields_executed() const { return fields_executed_; }
  [[nodiscard]] std::size_t waiting_for() const { return open_count_; }

 private:
  friend class FieldCall;
  enum class State : std::uint8_t { Idle, Running, Waiting, Finished };
  enum class Done : std::uint8_t { Written, Null, Failed };

  /// A step on the way to a value: a field, or an index if `field` is null. On the stack, and in the arena for what waits.
  struct Path {
    const Path* before;
    const FieldPlan* field;
    std::size_t index;
  };
  /// A nullable value under which something waits: what to take back when a field below fails and may not be null.
  struct Scope {
    Scope* outer = nullptr;
    Scope* first_child = nullptr;
    Scope* next_sibling = nullptr;
    std::uint32_t first_pending = kNone;
    std::uint32_t chunk = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_null = false;
  };
  /// A nullable value that is being written. Becomes a Scope only if something below it waits.
  struct Frame {
    Frame* outer;
    Scope* scope;
    std::size_t begin;
  };
  struct Hole {
    std::size_t at;
    std::uint32_t pending;
  };
  /// A stretch of the response: the main one, or the value of one suspended field.
  struct Chunk {
    std::string text;
    std::vector<Hole> holes;     // ascending
    std::vector<Scope*> nulled;  // in any order
  };
  struct Pending {
    FieldPlan* plan = nullptr;
    const Type* parent = nullptr;
    TypeRef type;
    const Path* path = nullptr;
    Scope* scope = nullptr;
    std::uint32_t next_in_scope = kNone;
    std::uint32_t chunk = kNone;  // of its value; kNone: null
    bool is_attached = false;
    bool is_open = false;
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void reset();
  void request_errors(std::vector<Error> errors);
  void run_root();
  void continue_or_finish();
  void finish();
  void render(const Chunk& chunk, std::string& out) const;

  bool execute_object(const ObjectPlan& object, const Resolved& source, const Path* path);
  bool execute_field(FieldPlan& plan, const Type& parent, const Resolved& source, const Path* path);
  bool complete_value(TypeRef type, FieldPlan& plan, const Type& parent, const Resolved& value, const Path* path);
  Done write_value(TypeRef type, FieldPlan& plan, const Type& parent, const Resolved& value, const Path* path);
  Done write_list(TypeRef item_type, FieldPlan& plan, const Type& parent, const Resolved& value, const Path* path);
  Done write_object(const Type& type, FieldPlan& plan, const Resolved& value, const Path* path);
  Done write_leaf(const Type& type, FieldPlan& plan, const Resolved& value, const Path* path);
  const Type* object_type(const Type& abstract, const Resolved& value, std::string& problem) const;

  PendingId suspend();
  void attach(PendingId id, TypeRef type, FieldPlan& plan, const Type& parent, const Path* path);
  Scope* scope_of(Frame* frame);
  const Path* keep(const Path* path);
  void cut(std::size_t begin);
  void close(std::uint32_t pending);
  void set_null(Scope* scope);
  void add_error(std::string message, const FieldPlan& plan, const Path* path, Offset at, std::string_view extensions);

  PreparedPtr prepared_;
  std::shared_ptr<OperationPlan> plan_;
  const OperationNode* operation_ = nullptr;
  VariableValues variables_;
  Resolved root_;
  void* context_ = nullptr;
  Arena arena_{16 * 1024};

  State state_ = State::Idle;
  bool was_executed_ = false;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // kept for the next execution
  std::uint32_t chunk_count_ = 0;
  std::uint32_t current_ = 0;
  std::string* out_ = nullptr;  // text of the current chunk
  Frame* frame_ = nullptr;
  Frame root_frame_{};
  std::vector<Pending> pending_;
  std::size_t open_count_ = 0;
  std::uint32_t generation_ = 0;
  std::size_t next_root_field_ = 0;
  std::size_t fields_executed_ = 0;
  std::vector<Error> errors_;
  std::string response_;
};

}  // namespace fanfare::graphql
