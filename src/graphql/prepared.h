// A document that has been parsed, validated and measured, with its plans: what a cache keeps.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graphql/limits.h"
#include "graphql/parser.h"
#include "graphql/plan.h"
#include "graphql/validate.h"

namespace fanfare::graphql {

struct PrepareOptions {
  ParseLimits parse = ParseLimits::for_requests();
  ValidationOptions validation;
  Limits limits;
};

/// Not thread-safe: plans are made as they are needed. Several executions of one thread may use it at a time.
class Prepared {
 public:
  /// What keeps the document from being executed: a syntax error, broken rules, or a limit.
  static Result<std::shared_ptr<Prepared>, std::vector<Error>> prepare(const Bindings& bindings, Source source,
                                                                       const PrepareOptions& options = {});

  [[nodiscard]] const Document& document() const { return *document_; }
  [[nodiscard]] const Bindings& bindings() const { return bindings_; }
  [[nodiscard]] const FragmentIndex& fragments() const { return fragments_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// By name; without one the only operation. The error is Rule::OperationSelection. [GraphQL 6.1 GetOperation]
  [[nodiscard]] Result<const OperationNode*, Error> find_operation(std::string_view name) const;
  /// The error if the operation costs more than Limits::complexity with these variables.
  [[nodiscard]] std::optional<Error> check_complexity(const OperationNode& operation, const VariableValues& variables, Arena& arena) const;
  /// Line and column in the document; fast for the second and further places.
  [[nodiscard]] Location locate(Offset at);
  /// The plan for these variables, from the cache or new.
  std::shared_ptr<OperationPlan> plan(const OperationNode& operation, const VariableValues& variables);
  [[nodiscard]] std::size_t bytes() const { return document_->arena.reserved(); }

 private:
  struct OperationPlans {
    const OperationNode* operation = nullptr;
    std::vector<std::string_view> conditions;
    std::vector<std::uint32_t> fragment_order;
    std::vector<std::shared_ptr<OperationPlan>> plans;
    std::size_t next_replaced = 0;
  };

  Prepared(const Bindings& bindings, DocumentPtr document, const Limits& limits);
  [[nodiscard]] std::size_t index_of(const OperationNode& operation) const;

  const Bindings& bindings_;
  DocumentPtr document_;
  FragmentIndex fragments_;
  Limits limits_;
  std::vector<OperationPlans> operations_;
  std::optional<LineIndex> lines_;
};
using PreparedPtr = std::shared_ptr<Prepared>;

}  // namespace fanfare::graphql
