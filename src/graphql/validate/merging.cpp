// 5.3.2 Field Selection Merging.
//
// Fields of one response key meet within a selection set, and between two sets that are merged: those of two fields of one
// key, and a set with a fragment that it spreads. Each pair of sets is compared once (twice if first as alternatives, of
// which only one can apply, and later not); pairs wait in a list, so nothing recurses. A step limit covers what remains
// quadratic. Rules
// 1. A pair is looked at with `exclusive` when its parents cannot be the same object: then only the shapes must agree.
// 2. Fragments are never expanded: comparing a set with a fragment puts the pairs with that fragment's own spreads on the list.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graphql/validate/context.h"

namespace fanfare::graphql::validation {
namespace {

/// A field where it stands, inline fragments around it taken away.
struct Entry {
  std::string_view key;
  const SelectionNode* node = nullptr;
  const Type* parent = nullptr;
  const Field* field = nullptr;  ///< null if it does not exist; then only names and arguments are compared
};

/// A selection set as the comparison needs it: its fields sorted by key, and the fragments it spreads.
struct FieldSet {
  bool is_collected = false;
  std::span<Entry> entries;
  std::span<std::uint32_t> fragments;
};

/// The pairs of selection sets that were compared, by their ids, and whether only as alternatives. Open addressing in one
/// block: a document may make a few hundred thousand pairs.
class ComparedPairs {
 public:
  /// False: it was compared before, and as much or more was said.
  bool add(std::uint32_t a, std::uint32_t b, bool exclusive) {
    if (count_ * 2 >= slots_.size()) grow();
    const std::uint64_t key = std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);  // never 0: no pair is a set with itself
    Slot& slot = find(key);
    if (slot.key == 0) {
      slot = {key, exclusive};
      ++count_;
      return true;
    }
    if (exclusive || !slot.exclusive) return false;
    slot.exclusive = false;
    return true;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    bool exclusive = false;
  };

  Slot& find(std::uint64_t key) {
    std::uint64_t hash = (key ^ (key >> 31)) * 0xBF58476D1CE4E5B9U;  // spreads what a document can choose
    hash ^= hash >> 29;
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(64, slots_.size() * 2)));
    for (const Slot& slot : before) {
      if (slot.key != 0) find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

class Merging {
 public:
  explicit Merging(Context& context) : context_(context), sets_(context.document.selection_sets) {}

  void run() {
    for (const OperationNode* operation : context_.document.operations) visit(*operation->selections);
    for (const FragmentNode* fragment : context_.document.fragments) visit(*fragment->selections);
  }

 private:
  struct Pair {
    const SelectionSetNode* a;
    const SelectionSetNode* b;
    bool exclusive;
    const SelectionNode* from;  ///< the field whose selections these are; for messages
  };

  [[nodiscard]] bool is_over() const { return steps_ > context_.options.merging_steps || context_.is_full(); }

  bool spend(std::size_t steps) {
    if (steps_ > context_.options.merging_steps) return false;
    steps_ += steps;
    context_.steps += steps;
    if (steps_ <= context_.options.merging_steps) return true;
    context_.report(Rule::MergingLimit, {}, "The fields of this document overlap too much to check whether they can be merged.");
    return false;
  }

  /// Compares what meets in this set and in those below it.
  void visit(const SelectionSetNode& set) {
    if (is_over()) return;
    if (set.selections.size() > 1 || set.selections.front().kind == SelectionKind::InlineFragment) check_within(set);
    visit_below(set);
  }

  void visit_below(const SelectionSetNode& set) {
    for (const SelectionNode& selection : set.selections) {
      if (selection.selections == nullptr) continue;
      if (selection.kind == SelectionKind::InlineFragment) {
        visit_below(*selection.selections);  // its fields belong to the set around it
      } else {
        visit(*selection.selections);
      }
    }
  }

  void check_within(const SelectionSetNode& set) {
    const FieldSet& fields = collect(set);
    const std::span<const Entry> entries = fields.entries;
    for (std::size_t first = 0; first < entries.size() && !is_over();) {
      std::size_t last = first + 1;
      while (last < entries.size() && entries[last].key == entries[first].key) ++last;
      for (std::size_t i = first; i < last; ++i) {
        for (std::size_t j = i + 1; j < last; ++j) {
          if (!spend(1)) return;
          compare(entries[i], entries[j], false, nullptr);
        }
      }
      first = last;
    }
    const std::span<const std::uint32_t> fragments = fields.fragments;
    if (!entries.empty() || fragments.size() > 1) {
      for (std::size_t i = 0; i < fragments.size(); ++i) {
        const SelectionSetNode* fragment = selections_of(fragments[i]);
        add({&set, fragment, false, nullptr});
        for (std::size_t j = i + 1; j < fragments.size() && !is_over(); ++j) {
          add({fragment, selections_of(fragments[j]), false, nullptr});
        }
      }
    }
    drain();
  }

  [[nodiscard]] const SelectionSetNode* selections_of(std::uint32_t fragment) const {
    return context_.document.fragments[fragment]->selections;
  }

  void add(const Pair& pair) {
    if (pair.a == pair.b || !spend(1)) return;  // a set's own fields are compared where it stands
    if (compared_.add(pair.a->id, pair.b->id, pair.exclusive)) waiting_.push_back(pair);
  }

  void drain() {
    while (!waiting_.empty()) {
      const Pair pair = waiting_.back();
      waiting_.pop_back();
      if (is_over()) continue;
      const FieldSet& a = collect(*pair.a);
      const FieldSet& b = collect(*pair.b);
      for (const std::uint32_t fragment : b.fragments) add({pair.a, selections_of(fragment), pair.exclusive, pair.from});
      for (const std::uint32_t fragment : a.fragments) add({selections_of(fragment), pair.b, pair.exclusive, pair.from});
      compare_between(a.entries, b.entries, pair);
    }
  }

  void compare_between(std::span<const Entry> a, std::span<const Entry> b, const Pair& pair) {
    if (!spend((a.size() + b.size()) / 8)) return;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
      const int order = a[i].key.compare(b[j].key);
      if (order < 0) {
        ++i;
      } else if (order > 0) {
        ++j;
      } else {
        std::size_t end = j;
        for (; end < b.size() && b[end].key == a[i].key; ++end) {
          if (!spend(1)) return;
          compare(a[i], b[end], pair.exclusive, pair.from);
        }
        ++i;  // the next of the same key in `a` meets the same ones in `b`
      }
    }
  }

  void compare(const Entry& a, const Entry& b, bool exclusive, const SelectionNode* from) {
    if (a.node == b.node) return;
    exclusive |= a.parent != b.parent && a.parent != nullptr && b.parent != nullptr && a.parent->kind == TypeKind::Object &&
                 b.parent->kind == TypeKind::Object;
    if (!exclusive) {
      if (a.node->name.text() != b.node->name.text()) {
        return conflict(a, b, from, fmt::format("\"{}\" and \"{}\" are different fields", a.node->name.text(), b.node->name.text()));
      }
      if (!same_arguments(*a.node, *b.node)) return conflict(a, b, from, "their arguments differ");
    }
    if (a.field != nullptr && b.field != nullptr && !same_shape(a.field->type, b.field->type)) {
      return conflict(a, b, from, fmt::format("they are of the types \"{}\" and \"{}\"", a.field->type.str(), b.field->type.str()));
    }
    if (a.node->selections != nullptr && b.node->selections != nullptr) add({a.node->selections, b.node->selections, exclusive, a.node});
  }

  void conflict(const Entry& a, const Entry& b, const SelectionNode* from, std::string reason) {
    if (context_.is_full()) return;
    const std::string place = from == nullptr ? std::string() : fmt::format(" below \"{}\"", from->response_key());
    context_.report(Rule::FieldSelectionMerging, {a.node->at, b.node->at},
                    fmt::format("The fields named \"{}\" in the response{} cannot be merged: {}. Give them different aliases.", a.key, place,
                                reason));
  }

  /// [GraphQL 5.3.2 SameResponseShape], for the two types alone.
  static bool same_shape(TypeRef a, TypeRef b) {
    if (a.wrappers != b.wrappers) return false;
    return a.named == b.named || (!a.named->is_leaf() && !b.named->is_leaf());
  }

  bool same_arguments(const SelectionNode& a, const SelectionNode& b) {
    if (a.arguments().size() != b.arguments().size()) return false;
    for (const ArgumentNode& argument : a.arguments()) {
      if (!spend(1)) return true;
      const ArgumentNode* other = nullptr;
      for (const ArgumentNode& candidate : b.arguments()) {
        if (candidate.name.text() == argument.name.text()) {
          other = &candidate;
          break;
        }
      }
      if (!spend(b.arguments().size() / 8)) return true;
      if (other == nullptr || !same_value(argument.value, other->value)) return false;
    }
    return true;
  }

  bool same_value(const ValueNode& a, const ValueNode& b) {
    if (!spend(1)) return true;
    if (a.kind != b.kind) return false;
    switch (a.kind) {
      case LiteralKind::Null: return true;
      case LiteralKind::Boolean: return a.boolean == b.boolean;
      case LiteralKind::List: {
        if (a.items().size() != b.items().size()) return false;
        for (std::size_t i = 0; i < a.items().size(); ++i) {
          if (!same_value(a.items()[i], b.items()[i])) return false;
        }
        return true;
      }
      case LiteralKind::Object: {
        if (a.fields().size() != b.fields().size()) return false;
        for (const ObjectFieldNode& field : a.fields()) {
          const ObjectFieldNode* other = nullptr;
          for (const ObjectFieldNode& candidate : b.fields()) {
            if (candidate.name.text() == field.name.text()) {
              other = &candidate;
              break;
            }
          }
          if (!spend(b.fields().size() / 8)) return true;
          if (other == nullptr || !same_value(field.value, other->value)) return false;
        }
        return true;
      }
      default: return a.text() == b.text();
    }
  }

  const FieldSet& collect(const SelectionSetNode& set) {
    FieldSet& result = sets_[set.id];
    if (result.is_collected) return result;
    result.is_collected = true;
    entries_.clear();
    fragments_.clear();
    gather(set);
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
    drop_repeated();
    std::sort(fragments_.begin(), fragments_.end());
    fragments_.erase(std::unique(fragments_.begin(), fragments_.end()), fragments_.end());
    spend(entries_.size() / 8);
    result.entries = context_.scratch.copy(std::span<const Entry>(entries_));
    result.fragments = context_.scratch.copy(std::span<const std::uint32_t>(fragments_));
    return result;
  }

  void gather(const SelectionSetNode& set) {
    const Type* parent = context_.parents[set.id];
    for (const SelectionNode& selection : set.selections) {
      switch (selection.kind) {
        case SelectionKind::Field:
          entries_.push_back({selection.response_key(), &selection, parent,
                              parent != nullptr ? context_.schema.find_field(*parent, selection.name.text()) : nullptr});
          break;
        case SelectionKind::FragmentSpread: {
          const std::uint32_t index = context_.find_fragment(selection.name.text());
          if (index != kNoFragment) fragments_.push_back(index);
          break;
        }
        case SelectionKind::InlineFragment: gather(*selection.selections); break;
      }
    }
  }

  // A leaf that is selected again in the same way can conflict with nothing that the first does not conflict with.
  void drop_repeated() {
    const auto repeats = [](const Entry& a, const Entry& b) {
      return a.key == b.key && a.parent == b.parent && a.node->name.text() == b.node->name.text() && a.node->arguments().empty() &&
             b.node->arguments().empty() && a.node->selections == nullptr && b.node->selections == nullptr;
    };
    entries_.erase(std::unique(entries_.begin(), entries_.end(), repeats), entries_.end());
  }

  Context& context_;
  std::vector<FieldSet> sets_;
  ComparedPairs compared_;
  std::vector<Pair> waiting_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> fragments_;
  std::size_t steps_ = 0;
};

}  // namespace

void check_merging(Context& context) {
  if (!context.is_full()) Merging(context).run();
}

}  // namespace fanfare::graphql::validation
