// Limits that a valid document must keep to before it is executed. They bound what a request can cost, whatever the
// resolvers do.
#pragma once

#include <optional>
#include <vector>

#include "graphql/coerce.h"
#include "graphql/fragments.h"
#include "graphql/schema.h"

namespace fanfare::graphql {

/// 0: no limit, except `depth`, which is cut to kDeepest: execution recurses once a level.
struct Limits {
  std::size_t depth = 100;        ///< fields inside each other, fragments included
  std::size_t aliases = 1000;     ///< as often as they are executed, fragments included
  std::size_t directives = 1000;  ///< likewise
  std::size_t root_fields = 200;  ///< likewise
  /// Fields, each as often as the lists around it have items: those that a `first`, `last` or `limit` argument asks for, or
  /// `list_size` where there is none. Checked per request, because variables count.
  std::uint64_t complexity = 1'000'000;
  std::uint64_t list_size = 10;
  bool introspection = true;  ///< `__schema` and `__type` may be asked for

  static constexpr std::size_t kDeepest = 500;
};

/// How much of each limit an operation takes.
struct Measures {
  std::size_t depth = 0;
  std::size_t aliases = 0;
  std::size_t directives = 0;
  std::size_t root_fields = 0;
  bool has_introspection = false;
};

/// What a valid document's operation takes; counts stop at 2^32. Linear in the document.
Measures measure(const Document& document, const FragmentIndex& fragments, const OperationNode& operation);

/// The first limit that `operation` breaks.
std::optional<Error> check_limits(const Document& document, const FragmentIndex& fragments, const OperationNode& operation,
                                  const Limits& limits);

/// The fragments that `operation` reaches, each after those that it spreads; for documents without cycles.
std::vector<std::uint32_t> reachable_fragments(const Document& document, const FragmentIndex& fragments, const OperationNode& operation);

/// The complexity with these variables; stops counting at 2^62. Linear in the document. `order` is reachable_fragments().
std::uint64_t complexity(const Schema& schema, const Document& document, const FragmentIndex& fragments,
                         std::span<const std::uint32_t> order, const OperationNode& operation, const VariableValues& variables,
                         std::uint64_t list_size, Arena& arena);

}  // namespace fanfare::graphql
