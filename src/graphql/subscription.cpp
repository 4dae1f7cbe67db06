#include "graphql/subscription.h"

namespace fanfare::graphql {

Result<std::unique_ptr<Subscription>, std::vector<Error>> Subscription::create(PreparedPtr prepared, const ExecuteRequest& request) {
  const auto operation = prepared->find_operation(request.operation_name);
  if (!operation) return std::vector<Error>{operation.error()};
  if ((*operation)->type != OperationType::Subscription) {
    Error error;
    error.rule = Rule::OperationSelection;
    error.message = "The operation is no subscription.";
    return std::vector<Error>{error};
  }
  std::unique_ptr<Subscription> made(new Subscription);
  made->prepared_ = prepared;
  std::vector<Error> errors;
  // The request's own variables may be gone when events come.
  const Value given = copy(request.variables, made->arena_);
  const Schema& schema = prepared->bindings().schema();
  if (!coerce_variables(schema, prepared->document(), **operation, given, made->arena_, made->variables_, errors)) return errors;
  if (auto error = prepared->check_complexity(**operation, made->variables_, made->arena_)) return std::vector<Error>{*std::move(error)};
  made->operation_ = *operation;
  const auto plan = prepared->plan(**operation, made->variables_);
  const FieldPlan& root = plan->root().fields.front();  // validation has seen to it that there is one
  made->field_ = root.field;
  made->response_key_ = root.nodes.front()->response_key();
  made->at_ = root.nodes.front()->at;
  const auto arguments = made->arena_.array<Value>(root.field->arguments.size());
  LiteralIssue issue;
  if (!coerce_arguments(root.field->arguments, root.nodes.front()->arguments(), made->variables_, made->arena_, arguments, issue)) {
    return std::vector<Error>{made->source_error(issue.message)};
  }
  made->arguments_ = arguments;
  return made;
}

Value Subscription::argument(std::string_view name) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (field_->arguments[i].name == name) return arguments_[i];
  }
  return {};
}

void Subscription::execute_event(Execution& execution, const Resolved& event, void* context) const {
  execution.start(prepared_, *operation_, variables_, event, context);
}

Error Subscription::source_error(std::string_view message) const {
  Error error;
  error.rule = Rule::Execution;
  error.message = std::string(message);
  error.locations = {locate(prepared_->document().text, at_)};
  error.path = {std::string(response_key_)};
  return error;
}

bool Subscription::same_responses(const Subscription& other) const {
  if (prepared_ != other.prepared_ || operation_ != other.operation_) return false;
  for (std::size_t i = 0; i < variables_.values.size(); ++i) {
    if (!(variables_.values[i] == other.variables_.values[i])) return false;
  }
  return true;
}

}  // namespace fanfare::graphql
