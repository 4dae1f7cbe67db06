// Every number here is a property of a selection set: that of its fields and of the fragments that it spreads. So each
// fragment is measured once, those that others spread first, and nothing is expanded.
#include "graphql/limits.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace fanfare::graphql {
namespace {

constexpr std::size_t kCountMax = std::size_t{1} << 32;

struct Counts {
  std::size_t depth = 0;
  std::size_t aliases = 0;
  std::size_t directives = 0;
  std::size_t fields_here = 0;  // of the set itself, through fragments
  bool has_introspection = false;

  void add(const Counts& other) {
    depth = std::max(depth, other.depth);
    aliases = std::min(kCountMax, aliases + other.aliases);
    directives = std::min(kCountMax, directives + other.directives);
    fields_here = std::min(kCountMax, fields_here + other.fields_here);
    has_introspection |= other.has_introspection;
  }
};

class Counter {
 public:
  Counter(const Document& document, const FragmentIndex& fragments) : document_(document), fragments_(fragments), of_fragment_(document.fragments.size()) {}

  Counts run(const OperationNode& operation) {
    for (const std::uint32_t fragment : reachable_fragments(document_, fragments_, operation)) {
      of_fragment_[fragment] = count(*document_.fragments[fragment]->selections);
      of_fragment_[fragment].directives += document_.fragments[fragment]->directives.size();
    }
    Counts counts = count(*operation.selections);
    counts.directives += operation.directives.size();
    return counts;
  }

 private:
  Counts count(const SelectionSetNode& set) {
    Counts sum;
    for (const SelectionNode& selection : set.selections) {
      Counts part;
      if (selection.kind == SelectionKind::FragmentSpread) {
        const std::uint32_t index = fragments_.find(selection.name.text());
        if (index != FragmentIndex::kNone) part = of_fragment_[index];
      } else {
        if (selection.selections != nullptr) part = count(*selection.selections);
        if (selection.kind == SelectionKind::Field) {
          ++part.depth;
          part.fields_here = 1;
          if (!selection.alias().text().empty()) ++part.aliases;
          part.has_introspection |= selection.name.text() == "__schema" || selection.name.text() == "__type";
        }
      }
      part.directives += selection.directives().size();
      sum.add(part);
    }
    return sum;
  }

  const Document& document_;
  const FragmentIndex& fragments_;
  std::vector<Counts> of_fragment_;
};

class Complexity {
 public:
  Complexity(const Schema& schema, const Document& document, const FragmentIndex& fragments, const VariableValues& variables,
             std::uint64_t list_size, Arena& arena)
      : schema_(schema),
        document_(document),
        fragments_(fragments),
        variables_(variables),
        list_size_(list_size),
        arena_(arena),
        of_fragment_(arena.array<std::uint64_t>(document.fragments.size())) {}

  std::uint64_t run(const OperationNode& operation, std::span<const std::uint32_t> order) {
    for (const std::uint32_t fragment : order) {
      const FragmentNode& node = *document_.fragments[fragment];
      of_fragment_[fragment] = count(*node.selections, schema_.find_type(node.type_condition.text()));
    }
    return count(*operation.selections, schema_.root(operation.type));
  }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

  std::uint64_t count(const SelectionSetNode& set, const Type* parent) {
    std::uint64_t sum = 0;
    for (const SelectionNode& selection : set.selections) {
      std::uint64_t part = 0;
      switch (selection.kind) {
        case SelectionKind::Field: part = field(selection, parent); break;
        case SelectionKind::FragmentSpread: {
          const std::uint32_t index = fragments_.find(selection.name.text());
          if (index != FragmentIndex::kNone) part = of_fragment_[index];
          break;
        }
        case SelectionKind::InlineFragment:
          part = count(*selection.selections, selection.name.text().empty() ? parent : schema_.find_type(selection.name.text()));
          break;
      }
      sum = std::min(kMost, sum + part);
    }
    return sum;
  }

  std::uint64_t field(const SelectionNode& node, const Type* parent) {
    const Field* definition = parent != nullptr ? schema_.find_field(*parent, node.name.text()) : nullptr;
    if (definition == nullptr) return 1;
    if (node.selections == nullptr) return 1;
    const std::uint64_t below = count(*node.selections, definition->type.named);
    std::uint64_t items = 1;
    for (Wrappers rest = definition->type.wrappers; rest != 0; rest >>= 2) {
      if ((rest & 3) == kListWrapper) items = std::min(kMost, items * list_size_);
    }
    if (const auto asked = asked_items(node)) items = *asked;
    if (items != 0 && below > (kMost - 1) / items) return kMost;
    return 1 + below * items;
  }

  /// The number in a paging argument. A connection's own field is no list, but its `first` multiplies what is below.
  std::optional<std::uint64_t> asked_items(const SelectionNode& node) const {
    for (const ArgumentNode& argument : node.arguments()) {
      const std::string_view name = argument.name.text();
      if (name != "first" && name != "last" && name != "limit") continue;
      Value value;
      if (argument.value.kind == LiteralKind::Variable) {
        value = variables_.find(argument.value.text());
      } else if (argument.value.kind == LiteralKind::Int) {
        value = untyped(argument.value, variables_, arena_);
      }
      if (value.kind() == ValueKind::Int && value.as_integer() >= 0) return static_cast<std::uint64_t>(value.as_integer());
    }
    return std::nullopt;
  }

  const Schema& schema_;
  const Document& document_;
  const FragmentIndex& fragments_;
  const VariableValues& variables_;
  std::uint64_t list_size_;
  Arena& arena_;
  std::span<std::uint64_t> of_fragment_;
};

}  // namespace

// Iterative: a document may chain thousands of fragments.
std::vector<std::uint32_t> reachable_fragments(const Document& document, const FragmentIndex& fragments, const OperationNode& operation) {
  std::vector<std::uint32_t> order;
  if (document.fragments.empty()) return order;
  struct Step {
    std::uint32_t fragment;
    std::vector<std::uint32_t> spreads;
    std::size_t next = 0;
  };
  const auto spreads_of = [&](const SelectionSetNode& root) {
    std::vector<std::uint32_t> found;
    std::vector<const SelectionSetNode*> open{&root};
    while (!open.empty()) {
      const SelectionSetNode* set = open.back();
      open.pop_back();
      for (const SelectionNode& selection : set->selections) {
        if (selection.kind == SelectionKind::FragmentSpread) {
          const std::uint32_t index = fragments.find(selection.name.text());
          if (index != FragmentIndex::kNone) found.push_back(index);
        } else if (selection.selections != nullptr) {
          open.push_back(selection.selections);
        }
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  std::vector<bool> seen(document.fragments.size());
  std::vector<Step> path;
  path.push_back({FragmentIndex::kNone, spreads_of(*operation.selections)});
  while (!path.empty()) {
    Step& step = path.back();
    if (step.next == step.spreads.size()) {
      if (step.fragment != FragmentIndex::kNone) order.push_back(step.fragment);
      path.pop_back();
      continue;
    }
    const std::uint32_t fragment = step.spreads[step.next++];
    if (seen[fragment]) continue;
    seen[fragment] = true;
    path.push_back({fragment, spreads_of(*document.fragments[fragment]->selections)});
  }
  return order;
}

Measures measure(const Document& document, const FragmentIndex& fragments, const OperationNode& operation) {
  const Counts counts = Counter(document, fragments).run(operation);
  return {counts.depth, counts.aliases, counts.directives, counts.fields_here, counts.has_introspection};
}

std::optional<Error> check_limits(const Document& document, const FragmentIndex& fragments, const OperationNode& operation,
                                  const Limits& limits) {
  const Measures measures = measure(document, fragments, operation);
  const auto refuse = [&](Rule rule, std::string message) {
    Error error;
    error.rule = rule;
    error.message = std::move(message);
    error.locations = {locate(document.text, operation.at)};
    error.source = std::string(document.name);
    return error;
  };
  const auto over = [](std::size_t value, std::size_t limit) { return limit != 0 && value > limit; };
  const std::size_t depth = limits.depth == 0 ? Limits::kDeepest : std::min(limits.depth, Limits::kDeepest);
  if (measures.depth > depth) {
    return refuse(Rule::DepthLimit, fmt::format("The operation selects fields {} levels deep; at most {} are allowed.", measures.depth, depth));
  }
  if (over(measures.aliases, limits.aliases)) {
    return refuse(Rule::AliasLimit, fmt::format("The operation has {} aliases; at most {} are allowed.", measures.aliases, limits.aliases));
  }
  if (over(measures.directives, limits.directives)) {
    return refuse(Rule::DirectiveLimit,
                  fmt::format("The operation has {} directives; at most {} are allowed.", measures.directives, limits.directives));
  }
  if (over(measures.root_fields, limits.root_fields)) {
    return refuse(Rule::RootFieldLimit,
                  fmt::format("The operation has {} root fields; at most {} are allowed.", measures.root_fields, limits.root_fields));
  }
  if (!limits.introspection && measures.has_introspection) {
    return refuse(Rule::IntrospectionOff, "Introspection is switched off: \"__schema\" and \"__type\" cannot be asked for.");
  }
  return std::nullopt;
}

std::uint64_t complexity(const Schema& schema, const Document& document, const FragmentIndex& fragments,
                         std::span<const std::uint32_t> order, const OperationNode& operation, const VariableValues& variables,
                         std::uint64_t list_size, Arena& arena) {
  return Complexity(schema, document, fragments, variables, list_size, arena).run(operation, order);
}

}  // namespace fanfare::graphql
