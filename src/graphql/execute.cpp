#include "graphql/execute.h"

#include <algorithm>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include "base/assert.h"
#include "graphql/serialize.h"

namespace fanfare::graphql {
namespace {

constexpr std::size_t kErrorsMax = 10'000;  // a list of a million items that all fail must not become a million errors

/// Finds the members of a request's variables by name; sorted when there are many.
class VariableLookup {
 public:
  explicit VariableLookup(std::span<const ValueMember> members) : members_(members) {
    if (members.size() <= kFew) return;
    for (const ValueMember& member : members) sorted_.push_back(&member);
    std::stable_sort(sorted_.begin(), sorted_.end(), [](const ValueMember* a, const ValueMember* b) { return a->name < b->name; });
  }
  [[nodiscard]] Value find(std::string_view name) const {
    if (sorted_.empty()) {
      for (const ValueMember& member : members_) {
        if (member.name == name) return member.value;
      }
      return {};
    }
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                     [](const ValueMember* member, std::string_view wanted) { return member->name < wanted; });
    return at != sorted_.end() && (*at)->name == name ? (*at)->value : Value();
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::span<const ValueMember> members_;
  std::vector<const ValueMember*> sorted_;
};

}  // namespace

bool coerce_variables(const Schema& schema, const Document& document, const OperationNode& operation, const Value& given, Arena& arena,
                      VariableValues& out, std::vector<Error>& errors) {
  std::optional<LineIndex> lines;
  const auto report = [&](const VariableDefinitionNode& variable, std::string message) {
    constexpr std::size_t kMost = 50;
    if (errors.size() >= kMost) return;
    Error error;
    error.rule = Rule::Variables;
    error.message = std::move(message);
    if (!lines) lines.emplace(document.text);
    error.locations = {lines->locate(variable.at)};
    errors.push_back(std::move(error));
  };
  const auto values = arena.array<Value>(operation.variables.size());
  if (operation.variables.empty()) {
    out = {};
    return true;
  }
  const VariableLookup lookup(given.members());
  std::vector<InputIssue> issues;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const VariableDefinitionNode& variable = *operation.variables[i];
    const TypeRef type = resolve_type(schema, variable.type);
    const Value input = lookup.find(variable.name.text());
    if (input.is_absent()) {
      if (variable.default_value != nullptr) {
        bool ok = true;
        values[i] = coerce_literal(*variable.default_value, type, {}, arena, ok);
      } else if (type.is_non_null()) {
        report(variable, fmt::format("The variable \"${}\" of type \"{}\" is required and was not given.", variable.name.text(), type.str()));
      }
      continue;
    }
    if (input.is_null() && type.is_non_null()) {
      report(variable, fmt::format("The variable \"${}\" of type \"{}\" cannot be null.", variable.name.text(), type.str()));
      continue;
    }
    issues.clear();
    values[i] = coerce_input(input, type, arena, issues);
    for (const InputIssue& issue : issues) {
      report(variable, issue.path.empty() ? fmt::format("The variable \"${}\" has an invalid value: {}.", variable.name.text(), issue.message)
                                          : fmt::format("The variable \"${}\" has an invalid value at \"{}{}\": {}.", variable.name.text(),
                                                        variable.name.text(), issue.path, issue.message));
    }
  }
  out = {operation.variables, values};
  return errors.empty();
}

Resolved FieldCall::suspend(PendingId& id) {
  id = execution_.suspend();
  return Resolved::pending(id);
}

// ---- start and end

void Execution::reset() {
  ++generation_;
  plan_.reset();
  prepared_.reset();
  arena_.reset();
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    chunks_[i]->text.clear();
    chunks_[i]->holes.clear();
    chunks_[i]->nulled.clear();
  }
  chunk_count_ = 0;
  pending_.clear();
  open_count_ = 0;
  next_root_field_ = 0;
  fields_executed_ = 0;
  errors_.clear();
  response_.clear();
  was_executed_ = false;
  state_ = State::Idle;
}

void Execution::request_errors(std::vector<Error> errors) {
  errors_ = std::move(errors);
  append_request_errors(response_, errors_);
  state_ = State::Finished;
}

void Execution::start(PreparedPtr prepared, const ExecuteRequest& request) {
  reset();
  const auto operation = prepared->find_operation(request.operation_name);
  if (!operation) return request_errors({operation.error()});
  const Schema& schema = prepared->bindings().schema();
  std::vector<Error> errors;
  VariableValues variables;
  if (!coerce_variables(schema, prepared->document(), **operation, request.variables, arena_, variables, errors)) {
    return request_errors(std::move(errors));
  }
  if (auto error = prepared->check_complexity(**operation, variables, arena_)) return request_errors({*std::move(error)});
  prepared_ = std::move(prepared);
  operation_ = *operation;
  variables_ = variables;
  root_ = request.root;
  context_ = request.context;
  run_root();
}

void Execution::start(PreparedPtr prepared, const OperationNode& operation, const VariableValues& variables, const Resolved& root, void* context) {
  reset();
  prepared_ = std::move(prepared);
  operation_ = &operation;
  variables_ = variables;
  root_ = root;
  context_ = context;
  run_root();
}

void Execution::run_root() {
  was_executed_ = true;
  plan_ = prepared_->plan(*operation_, variables_);
  if (chunks_.empty()) chunks_.push_back(std::make_unique<Chunk>());
  chunk_count_ = 1;
  current_ = 0;
  out_ = &chunks_[0]->text;
  root_frame_ = {nullptr, nullptr, 0};
  continue_or_finish();
}

// Runs the root fields that are left. A mutation's wait for all that the one before has suspended. [GraphQL 6.2.2]
void Execution::continue_or_finish() {
  const ObjectPlan& root = plan_->root();
  const bool is_serial = operation_->type == OperationType::Mutation;
  state_ = State::Running;
  current_ = 0;
  out_ = &chunks_[0]->text;
  frame_ = &root_frame_;
  if (next_root_field_ == 0) out_->push_back('{');
  while (next_root_field_ < root.fields.size()) {
    FieldPlan& field = root.fields[next_root_field_];
    out_->append(next_root_field_ == 0 ? field.key_json.substr(1) : field.key_json);
    ++next_root_field_;
    if (!execute_field(field, *root.type, root_, nullptr)) {
      cut(0);
      out_->assign("null");
      next_root_field_ = root.fields.size() + 1;  // nothing more of the root counts
      break;
    }
    if (is_serial && open_count_ > 0) {
      state_ = State::Waiting;
      return;
    }
  }
  if (next_root_field_ == root.fields.size()) {
    out_->push_back('}');
    ++next_root_field_;
  }
  if (root_frame_.scope != nullptr) root_frame_.scope->end = out_->size();
  if (open_count_ > 0) {
    state_ = State::Waiting;
  } else {
    finish();
  }
}

void Execution::finish() {
  state_ = State::Finished;
  response_.clear();
  if (errors_.empty()) {
    response_.append("{\"data\":");
  } else {
    response_.append("{\"errors\":[");
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      if (i > 0) response_.push_back(',');
      append_error(response_, errors_[i]);
    }
    response_.append("],\"data\":");
  }
  render(*chunks_[0], response_);
  response_.push_back('}');
}

void Execution::render(const Chunk& chunk, std::string& out) const {
  if (chunk.holes.empty() && chunk.nulled.empty()) {
    out.append(chunk.text);
    return;
  }
  std::vector<const Scope*> nulled(chunk.nulled.begin(), chunk.nulled.end());
  std::sort(nulled.begin(), nulled.end(), [](const Scope* a, const Scope* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
  });
  const std::string_view text = chunk.text;
  std::size_t at = 0;
  std::size_t hole = 0;
  std::size_t next = 0;
  while (hole < chunk.holes.size() || next < nulled.size()) {
    if (next < nulled.size() && (hole == chunk.holes.size() || nulled[next]->begin <= chunk.holes[hole].at)) {
      const Scope& scope = *nulled[next++];
      if (scope.begin < at) continue;  // inside one that is null already
      out.append(text.substr(at, scope.begin - at)).append("null");
      at = scope.end;
      continue;
    }
    const Hole& here = chunk.holes[hole++];
    if (here.at < at) continue;
    out.append(text.substr(at, here.at - at));
    at = here.at;
    const Pending& pending = pending_[here.pending];
    if (pending.chunk == kNone) {
      out.append("null");
    } else {
      render(*chunks_[pending.chunk], out);
    }
  }
  out.append(text.substr(at));
}

// ---- what waits

PendingId Execution::suspend() {
  pending_.emplace_back();
  return static_cast<PendingId>(generation_) << 32 | (pending_.size() - 1);
}

/// Leaves a hole for the value at the end of the current chunk.
void Execution::attach(PendingId id, TypeRef type, FieldPlan& plan, const Type& parent, const Path* path) {
  const auto index = static_cast<std::uint32_t>(id);
  FANFARE_ASSERT(id >> 32 == generation_ && index < pending_.size() && !pending_[index].is_attached,
                 "a resolver returned a pending value that suspend() did not give it");
  const Path* kept = keep(path);
  Scope* scope = scope_of(frame_);
  Pending& pending = pending_[index];
  pending.plan = &plan;
  pending.parent = &parent;
  pending.type = type;
  pending.path = kept;
  pending.scope = scope;
  pending.next_in_scope = scope->first_pending;
  scope->first_pending = index;
  pending.is_attached = true;
  pending.is_open = true;
  ++open_count_;
  chunks_[current_]->holes.push_back({out_->size(), index});
}

Execution::Scope* Execution::scope_of(Frame* frame) {
  if (frame->scope != nullptr) return frame->scope;
  Scope* outer = frame->outer != nullptr ? scope_of(frame->outer) : nullptr;
  auto* scope = arena_.make<Scope>();
  scope->outer = outer;
  scope->chunk = current_;
  scope->begin = frame->begin;
  if (outer != nullptr) {
    scope->next_sibling = outer->first_child;
    outer->first_child = scope;
  }
  frame->scope = scope;
  return scope;
}

const Execution::Path* Execution::keep(const Path* path) {
  if (path == nullptr) return nullptr;
  Path* first = nullptr;
  Path* last = nullptr;
  for (const Path* step = path; step != nullptr; step = step->before) {
    auto* kept = arena_.make<Path>(nullptr, step->field, step->index);
    if (first == nullptr) first = kept;
    if (last != nullptr) last->before = kept;
    last = kept;
  }
  return first;
}

/// Takes back what the current chunk has from `begin` on, and gives up what waits there.
void Execution::cut(std::size_t begin) {
  auto& holes = chunks_[current_]->holes;
  while (!holes.empty() && holes.back().at >= begin) {
    close(holes.back().pending);
    holes.pop_back();
  }
  out_->resize(begin);
}

void Execution::close(std::uint32_t pending) {
  if (!pending_[pending].is_open) return;
  pending_[pending].is_open = false;
  --open_count_;
}

/// Makes a value null that has been written already, and gives up everything that waits below it.
void Execution::set_null(Scope* scope) {
  if (scope->is_null) return;
  chunks_[scope->chunk]->nulled.push_back(scope);
  std::vector<Scope*> open{scope};
  while (!open.empty()) {
    Scope* next = open.back();
    open.pop_back();
    if (next->is_null) continue;
    next->is_null = true;
    for (std::uint32_t pending = next->first_pending; pending != kNone; pending = pending_[pending].next_in_scope) close(pending);
    for (Scope* child = next->first_child; child != nullptr; child = child->next_sibling) open.push_back(child);
  }
}

void Execution::complete(PendingId id, const Resolved& value) {
  FANFARE_ASSERT(state_ != State::Running, "complete() was called by a resolver");
  const auto index = static_cast<std::uint32_t>(id);
  if (id >> 32 != generation_ || index >= pending_.size() || !pending_[index].is_open) return;
  close(index);
  state_ = State::Running;
  const Pending pending = pending_[index];
  if (chunk_count_ == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
  const std::uint32_t chunk = chunk_count_++;
  current_ = chunk;
  out_ = &chunks_[chunk]->text;
  Frame frame{nullptr, pending.scope, 0};
  frame_ = &frame;
  const bool ok = complete_value(pending.type, *pending.plan, *pending.parent, value, pending.path);
  if (ok) {
    pending_[index].chunk = chunk;
  } else {
    const bool is_root = pending.scope->outer == nullptr && pending.scope->chunk == 0 && pending.scope->begin == 0;
    set_null(pending.scope);
    if (is_root && next_root_field_ <= plan_->root().fields.size()) {
      chunks_[0]->text.push_back('}');  // the root ends here, behind its last hole
      pending.scope->end = chunks_[0]->text.size();
      next_root_field_ = plan_->root().fields.size() + 1;
    }
  }
  if (open_count_ > 0) {
    state_ = State::Waiting;
  } else {
    continue_or_finish();
  }
}

void Execution::fail(PendingId id, std::string_view message, std::string_view extensions) {
  const Resolved::ErrorText text{message, extensions};
  complete(id, Resolved::error(&text));
}

// ---- fields and values

void Execution::add_error(std::string message, const FieldPlan& plan, const Path* path, Offset at, std::string_view extensions) {
  if (errors_.size() >= kErrorsMax) return;
  Error error;
  error.rule = Rule::Execution;
  error.message = std::move(message);
  constexpr std::size_t kPlacesMax = 20;  // a field that is selected thousands of times is shown where it begins
  if (at != 0) {
    error.locations.push_back(prepared_->locate(at));
  } else {
    for (const SelectionNode* node : plan.nodes.first(std::min(plan.nodes.size(), kPlacesMax))) {
      error.locations.push_back(prepared_->locate(node->at));
    }
  }
  for (const Path* step = path; step != nullptr; step = step->before) {
    if (step->field != nullptr) {
      error.path.emplace_back(std::string(step->field->key));
    } else {
      error.path.emplace_back(step->index);
    }
  }
  std::reverse(error.path.begin(), error.path.end());
  error.extensions = std::string(extensions);
  errors_.push_back(std::move(error));
}

bool Execution::execute_object(const ObjectPlan& object, const Resolved& source, const Path* path) {
  out_->push_back('{');
  bool is_first = true;
  for (FieldPlan& field : object.fields) {
    out_->append(is_first ? field.key_json.substr(1) : field.key_json);
    is_first = false;
    if (!execute_field(field, *object.type, source, path)) return false;
  }
  out_->push_back('}');
  return true;
}

/// False: the field failed and may not be null.
bool Execution::execute_field(FieldPlan& plan, const Type& parent, const Resolved& source, const Path* before) {
  ++fields_executed_;
  if (plan.is_typename) {
    out_->push_back('"');
    out_->append(parent.name);
    out_->push_back('"');
    return true;
  }
  const Path path{before, &plan, 0};
  std::span<const Value> arguments = plan.arguments;
  if (plan.has_variables) {
    const auto values = arena_.array<Value>(plan.field->arguments.size());
    LiteralIssue issue;
    if (!coerce_arguments(plan.field->arguments, plan.nodes.front()->arguments(), variables_, arena_, values, issue)) {
      add_error(std::move(issue.message), plan, &path, issue.at, {});
      if (plan.field->type.is_non_null()) return false;
      out_->append("null");
      return true;
    }
    arguments = values;
  }
  FieldCall call(*this, parent, *plan.field, source, arguments, context_, arena_);
  Resolved value;
  try {
    value = (*plan.resolver)(call);
  } catch (const std::exception& thrown) {
    value = call.error(thrown.what());
  }
  return complete_value(plan.field->type, plan, parent, value, &path);
}

bool Execution::complete_value(TypeRef type, FieldPlan& plan, const Type& parent, const Resolved& value, const Path* path) {
  if (value.kind() == Resolved::Kind::Pending) {
    attach(value.tag(), type, plan, parent, path);
    return true;
  }
  const std::size_t begin = out_->size();
  if (type.is_non_null()) {
    const Done done = write_value(type.inner(), plan, parent, value, path);
    if (done == Done::Written) return true;
    if (done == Done::Null) {
      add_error(fmt::format("The field \"{}.{}\" gave null, but its type \"{}\" does not allow it.", parent.name, plan.field->name,
                            plan.field->type.str()),
                plan, path, 0, {});
    }
    cut(begin);
    return false;
  }
  Frame frame{frame_, nullptr, begin};
  frame_ = &frame;
  const Done done = write_value(type, plan, parent, value, path);
  frame_ = frame.outer;
  if (done != Done::Written) {
    cut(begin);
    out_->append("null");
  }
  if (frame.scope != nullptr) frame.scope->end = out_->size();
  return true;
}

Execution::Done Execution::write_value(TypeRef type, FieldPlan& plan, const Type& parent, const Resolved& value, const Path* path) {
  if (value.is_null()) return Done::Null;
  if (value.kind() == Resolved::Kind::Error) {
    add_error(std::string(value.as_error().message), plan, path, 0, value.as_error().extensions);
    return Done::Failed;
  }
  if (type.is_list()) return write_list(type.inner(), plan, parent, value, path);
  if (type.named->is_leaf()) return write_leaf(*type.named, plan, value, path);
  return write_object(*type.named, plan, value, path);
}

Execution::Done Execution::write_leaf(const Type& type, FieldPlan& plan, const Resolved& value, const Path* path) {
  const Resolved simple = plain(value);
  if (simple.is_null()) return Done::Null;
  std::string problem;
  if (serialize_leaf(*out_, type, simple, arena_, problem)) return Done::Written;
  add_error(std::move(problem), plan, path, 0, {});
  return Done::Failed;
}

Execution::Done Execution::write_list(TypeRef item_type, FieldPlan& plan, const Type& parent, const Resolved& value, const Path* path) {
  const auto each = [&](std::size_t count, auto item_at) {
    out_->push_back('[');
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out_->push_back(',');
      const Path step{path, nullptr, i};
      if (!complete_value(item_type, plan, parent, item_at(i), &step)) return Done::Failed;
    }
    out_->push_back(']');
    return Done::Written;
  };
  switch (value.kind()) {
    case Resolved::Kind::Items: return each(value.count(), [items = value.list_items()](std::size_t i) { return items[i]; });
    case Resolved::Kind::Generated: return each(value.count(), [&value](std::size_t i) { return value.item(i); });
    case Resolved::Kind::Json:
      if (value.as_json().is_null()) return Done::Null;
      if (value.as_json().is_array()) {
        return each(value.as_json().size(), [items = value.as_json().items()](std::size_t i) { return Resolved::json(&items[i]); });
      }
      break;
    case Resolved::Kind::Input:
      if (!value.as_input().has_value()) return Done::Null;
      if (value.as_input().kind() == ValueKind::List) {
        return each(value.as_input().items().size(), [items = value.as_input().items()](std::size_t i) { return Resolved::input(&items[i]); });
      }
      break;
    default: break;
  }
  add_error(fmt::format("The field \"{}.{}\" gave something that is no list.", parent.name, plan.field->name), plan, path, 0, {});
  return Done::Failed;
}

Execution::Done Execution::write_object(const Type& type, FieldPlan& plan, const Resolved& value, const Path* path) {
  if (value.kind() == Resolved::Kind::Json && value.as_json().is_null()) return Done::Null;
  if (value.kind() == Resolved::Kind::Input && !value.as_input().has_value()) return Done::Null;
  const Type* object = &type;
  std::string problem;
  if (type.is_abstract()) object = object_type(type, value, problem);
  const bool is_object = value.kind() == Resolved::Kind::Object ||
                         (value.kind() == Resolved::Kind::Json && value.as_json().is_object()) ||
                         (value.kind() == Resolved::Kind::Input && value.as_input().kind() == ValueKind::Object);
  if (object != nullptr && !is_object) {
    problem = fmt::format("The field \"{}\" gave something that is no object of type \"{}\".", plan.field->name, object->name);
    object = nullptr;
  }
  if (object == nullptr) {
    add_error(std::move(problem), plan, path, 0, {});
    return Done::Failed;
  }
  return execute_object(plan_->for_object(plan, *object), value, path) ? Done::Written : Done::Failed;
}

/// The object type of a value of an abstract type; null, and why, if it cannot be found. [GraphQL 6.4.3 ResolveAbstractType]
const Type* Execution::object_type(const Type& abstract, const Resolved& value, std::string& problem) const {
  const Schema& schema = prepared_->bindings().schema();
  const Type* type = value.type();
  std::string_view name;
  if (type == nullptr) {
    if (const TypeResolver& resolver = prepared_->bindings().type_resolver_of(abstract)) {
      type = resolver(value);
    } else {
      name = plain(read_member(value, "__typename")).kind() == Resolved::Kind::String ? plain(read_member(value, "__typename")).as_string()
                                                                                      : std::string_view();
      type = name.empty() ? (abstract.possible.size() == 1 ? abstract.possible[0] : nullptr) : schema.find_type(name);
    }
  }
  if (type == nullptr) {
    problem = name.empty() ? fmt::format("The object type of a value of \"{}\" is not known.", abstract.name)
                           : fmt::format("A value of \"{}\" says that it is a \"{}\", which does not exist.", abstract.name, name);
    return nullptr;
  }
  if (type->kind == TypeKind::Object && abstract.can_be(*type)) return type;
  problem = fmt::format("A value of \"{}\" is of type \"{}\", which is no possible type of it.", abstract.name, type->name);
  return nullptr;
}

}  // namespace fanfare::graphql
