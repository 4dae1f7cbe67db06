// 5.5: fragments as a graph. Walks are iterative: a document may chain thousands of fragments.
#include <algorithm>

#include <fmt/format.h>

#include "graphql/validate/context.h"

namespace fanfare::graphql::validation {
namespace {

enum class Color : std::uint8_t { White, Grey, Black };

void check_names(Context& context) {
  for (std::uint32_t i = 0; i < context.document.fragments.size(); ++i) {
    const FragmentNode& fragment = *context.document.fragments[i];
    if (context.find_fragment(fragment.name.text()) == i) continue;
    context.report(Rule::UniqueFragmentNames, {fragment.name.at}, fmt::format("There can be only one fragment named \"{}\".", fragment.name.text()));
  }
}

void check_cycles(Context& context) {
  struct Step {
    std::uint32_t fragment;  // the last of its name, which a spread means
    std::uint32_t node;      // the definition that is walked: at the root of a walk it may be another of that name
    std::size_t next = 0;
  };
  std::vector<Color> colors(context.document.fragments.size());
  std::vector<Step> path;
  for (std::uint32_t node = 0; node < colors.size(); ++node) {
    const std::uint32_t root = context.find_fragment(context.document.fragments[node]->name.text());
    if (colors[root] != Color::White) continue;
    colors[root] = Color::Grey;
    path.push_back({root, node});
    while (!path.empty()) {
      ++context.steps;
      Step& step = path.back();
      const auto spreads = context.spreads(context.fragment_contents[step.node]);
      if (step.next == spreads.size()) {
        colors[step.fragment] = Color::Black;
        context.fragment_order.push_back(step.node);
        path.pop_back();
        continue;
      }
      const SpreadUse use = spreads[step.next++];
      if (use.fragment == kNoFragment || colors[use.fragment] == Color::Black) continue;
      if (colors[use.fragment] == Color::White) {
        colors[use.fragment] = Color::Grey;
        path.push_back({use.fragment, use.fragment});
        continue;
      }
      if (context.is_full()) continue;
      std::string via;
      std::size_t shown = 0;
      std::size_t at = path.size();
      while (at > 0 && path[at - 1].fragment != use.fragment) --at;
      for (; at < path.size() && shown < 5; ++at, ++shown) {
        via.append(via.empty() ? "\"" : ", \"").append(context.document.fragments[path[at].fragment]->name.text()).append("\"");
      }
      context.report(Rule::FragmentCycles, {use.at},
                     fmt::format("The fragment \"{}\" spreads itself through {}{}.",
                                 context.document.fragments[use.fragment]->name.text(), via, at < path.size() ? " and more" : ""));
    }
  }
}

void check_used(Context& context) {
  std::vector<bool> used(context.document.fragments.size());
  std::vector<std::uint32_t> open;
  const auto use_all = [&](const Contents& contents) {
    for (const SpreadUse& use : context.spreads(contents)) {
      ++context.steps;
      if (use.fragment == kNoFragment || used[use.fragment]) continue;
      used[use.fragment] = true;
      open.push_back(use.fragment);
    }
  };
  for (const Contents& contents : context.operation_contents) use_all(contents);
  while (!open.empty()) {
    const std::uint32_t fragment = open.back();
    open.pop_back();
    use_all(context.fragment_contents[fragment]);
  }
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    const FragmentNode& fragment = *context.document.fragments[i];
    // Of several with one name the last stands for all.
    if (used[i] || used[context.find_fragment(fragment.name.text())]) continue;
    context.report(Rule::FragmentsUsed, {fragment.at}, fmt::format("The fragment \"{}\" is never used.", fragment.name.text()));
  }
}

}  // namespace

void check_fragments(Context& context) {
  if (context.document.fragments.empty()) return;
  check_names(context);
  check_cycles(context);
  check_used(context);
}

// The number of lists inside each other is a property of a selection set: that of its fields and of the fragments that it
// spreads, which have been computed before (all but those that close a cycle, which is an error of its own).
void check_introspection_depth(Context& context) {
  if (!context.has_introspection) return;
  std::vector<std::uint32_t> of_fragment(context.document.fragments.size());
  const auto is_list = [](std::string_view name) {
    return name == "fields" || name == "interfaces" || name == "possibleTypes" || name == "inputFields";
  };
  const auto lists = [&](const auto& self, const SelectionSetNode& set) -> std::uint32_t {
    std::uint32_t deepest = 0;
    for (const SelectionNode& selection : set.selections) {
      ++context.steps;
      std::uint32_t here = 0;
      if (selection.kind == SelectionKind::FragmentSpread) {
        const std::uint32_t index = context.find_fragment(selection.name.text());
        if (index != kNoFragment) here = of_fragment[index];
      } else if (selection.selections != nullptr) {
        here = self(self, *selection.selections);
        if (selection.kind == SelectionKind::Field && is_list(selection.name.text())) ++here;
        if (selection.kind == SelectionKind::Field && (selection.name.text() == "__schema" || selection.name.text() == "__type") &&
            here > context.options.introspection_lists) {
          context.report(Rule::IntrospectionDepth, {selection.at},
                         fmt::format("The introspection goes too deep: at most {} lists of fields or types inside each other.",
                                     context.options.introspection_lists));
          here = 0;
        }
      }
      deepest = std::max(deepest, here);
    }
    return deepest;
  };
  for (const std::uint32_t fragment : context.fragment_order) {
    of_fragment[fragment] = lists(lists, *context.document.fragments[fragment]->selections);
  }
  for (const OperationNode* operation : context.document.operations) lists(lists, *operation->selections);
}

}  // namespace fanfare::graphql::validation
