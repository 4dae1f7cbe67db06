// A subscription: its source is the caller's, each event of it is executed here.
//
// Rules
// 1. create() does what comes before the source: the operation, its variables, the root field's arguments. Whoever serves
//    the subscription then listens to what field() and its arguments name.
// 2. Each event is executed on its own, with the event as the root value and the variables of the start. Its errors are in
//    its response and end nothing.
// 3. The source ends, or fails: the caller ends the response stream, with source_error() in the second case. The client
//    leaves: the caller ends the source.
// Source of truth: GraphQL September 2025, 6.2.3.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "graphql/execute.h"

namespace fanfare::graphql {

/// Immutable once created. Not thread-safe: it shares its Prepared.
class Subscription {
 public:
  /// The errors are request errors: nothing is subscribed to. An operation of another kind is Rule::OperationSelection.
  /// `request.root` and `request.context` are not used. [GraphQL 6.2.3.1 CreateSourceEventStream]
  static Result<std::unique_ptr<Subscription>, std::vector<Error>> create(PreparedPtr prepared, const ExecuteRequest& request);

  [[nodiscard]] const Field& field() const { return *field_; }
  [[nodiscard]] std::string_view response_key() const { return response_key_; }
  /// In the order of the field's definition; Absent: not given and without default.
  [[nodiscard]] std::span<const Value> arguments() const { return arguments_; }
  [[nodiscard]] Value argument(std::string_view name) const;

  /// Executes one event; the response is the execution's. [GraphQL 6.2.3.2 ExecuteSubscriptionEvent]
  void execute_event(Execution& execution, const Resolved& event, void* context) const;
  /// The error to send when the source cannot be had or breaks: with the field's place and path.
  [[nodiscard]] Error source_error(std::string_view message) const;
  /// Both give the same response to every event: one execution may serve them all.
  [[nodiscard]] bool same_responses(const Subscription& other) const;

 private:
  Subscription() = default;

  PreparedPtr prepared_;
  Arena arena_{1024};
  const OperationNode* operation_ = nullptr;
  VariableValues variables_;
  const Field* field_ = nullptr;
  std::string_view response_key_;
  Offset at_ = 0;
  std::span<const Value> arguments_;
};

}  // namespace fanfare::graphql
