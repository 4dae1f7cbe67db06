// Intervals of numbers and who wants them: finds those that contain a number in O(log n + found), under any insertions and
// removals. A treap ordered by the lower bound; each node knows the highest upper bound under it.
//
// Rule 1: priorities come from a counter, so the same operations give the same tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace fanfare::topic {

struct Interval {
  double low;  ///< may be -infinity
  double high;
  bool low_open;
  bool high_open;

  [[nodiscard]] bool contains(double number) const {
    return (low_open ? number > low : number >= low) && (high_open ? number < high : number <= high);
  }
};

class IntervalTree {
 public:
  [[nodiscard]] bool empty() const { return root_ == kNone; }
  [[nodiscard]] std::size_t size() const { return nodes_.size() - free_.size(); }

  void insert(const Interval& interval, std::uint32_t value) {
    std::uint32_t fresh = 0;
    if (free_.empty()) {
      fresh = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      fresh = free_.back();
      free_.pop_back();
    }
    nodes_[fresh] = {interval, interval.high, value, next_priority(), kNone, kNone};
    std::uint32_t below = kNone;
    std::uint32_t above = kNone;
    split(root_, nodes_[fresh], below, above);
    root_ = merge(merge(below, fresh), above);
  }

  /// One entry that is equal to this; it must be there.
  void erase(const Interval& interval, std::uint32_t value) {
    const Node wanted{interval, 0, value, 0, kNone, kNone};
    erase_under(root_, wanted);
  }

  template <class Visit>
  void for_each_containing(double number, Visit&& visit) const {
    visit_under(root_, number, visit);
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct Node {
    Interval interval{};
    double highest = 0;
    std::uint32_t value = 0;
    std::uint32_t priority = 0;
    std::uint32_t left = kNone;
    std::uint32_t right = kNone;

    [[nodiscard]] auto key() const {
      return std::tuple{interval.low, interval.low_open, interval.high, interval.high_open, value};
    }
  };

  // Mixes a counter [splitmix64]: consecutive numbers would make a list of the treap.
  std::uint32_t next_priority() {
    std::uint64_t z = (++counter_) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<std::uint32_t>(z >> 32);
  }

  void update(std::uint32_t at) {
    Node& node = nodes_[at];
    node.highest = node.interval.high;
    if (node.left != kNone) node.highest = std::max(node.highest, nodes_[node.left].highest);
    if (node.right != kNone) node.highest = std::max(node.highest, nodes_[node.right].highest);
  }

  /// What lies before `key` goes to `below`, the rest to `above`.
  void split(std::uint32_t at, const Node& key, std::uint32_t& below, std::uint32_t& above) {
    if (at == kNone) {
      below = above = kNone;
      return;
    }
    if (nodes_[at].key() < key.key()) {
      below = at;
      std::uint32_t inner = kNone;
      split(nodes_[at].right, key, inner, above);
      nodes_[at].right = inner;
    } else {
      above = at;
      std::uint32_t inner = kNone;
      split(nodes_[at].left, key, below, inner);
      nodes_[at].left = inner;
    }
    update(at);
  }

  std::uint32_t merge(std::uint32_t below, std::uint32_t above) {
    if (below == kNone) return above;
    if (above == kNone) return below;
    if (nodes_[below].priority > nodes_[above].priority) {
      nodes_[below].right = merge(nodes_[below].right, above);
      update(below);
      return below;
    }
    nodes_[above].left = merge(below, nodes_[above].left);
    update(above);
    return above;
  }

  void erase_under(std::uint32_t& at, const Node& wanted) {
    if (at == kNone) return;
    Node& node = nodes_[at];
    if (node.key() == wanted.key()) {
      free_.push_back(at);
      at = merge(node.left, node.right);
      return;
    }
    erase_under(wanted.key() < node.key() ? node.left : node.right, wanted);
    update(at);
  }

  template <class Visit>
  void visit_under(std::uint32_t at, double number, Visit& visit) const {
    if (at == kNone || nodes_[at].highest < number) return;
    const Node& node = nodes_[at];
    visit_under(node.left, number, visit);
    if (node.interval.low > number) return;  // and so is all to the right
    if (node.interval.contains(number)) visit(node.value);
    visit_under(node.right, number, visit);
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;
  std::uint32_t root_ = kNone;
  std::uint64_t counter_ = 0;
};

}  // namespace fanfare::topic
