// The values that a setting may have had, turn by turn: what was asked, and what became of it.
//
// Rule 1: from the turn in which a change is handed in until it is told, the old and the new value are possible.
// Rule 2: a change that was told ends what was asked before it; one that was refused never was; one without an answer stays
//         possible until a later one is told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace fanfare::sim {

template <class Value>
class History {
 public:
  static constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

  explicit History(Value first) { changes_.push_back({0, std::move(first), 0, kForever}); }

  void ask(std::uint64_t call, std::uint64_t turn, Value value) { changes_.push_back({call, std::move(value), turn, kForever}); }
  void told(std::uint64_t call) {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (changes_[i].call != call) continue;
      for (std::size_t earlier = 0; earlier < i; ++earlier)
        changes_[earlier].until = std::min(changes_[earlier].until, changes_[i].from);
    }
  }
  void refused(std::uint64_t call) {
    std::erase_if(changes_, [&](const Change& change) { return change.call == call; });
  }
  /// It is durable that the value was this one when the turn began.
  void seen(const Value& value, std::uint64_t turn) {
    for (Change& change : changes_)
      if (!(change.value == value) && change.from < turn) change.until = std::min(change.until, turn);
  }

  /// Whether the test holds for some value that is possible in these turns / for all of them.
  template <class Test>
  [[nodiscard]] bool any(std::uint64_t from, std::uint64_t to, Test&& test) const {
    return std::any_of(changes_.begin(), changes_.end(),
                       [&](const Change& change) { return change.from <= to && change.until >= from && test(change.value); });
  }
  template <class Test>
  [[nodiscard]] bool all(std::uint64_t from, std::uint64_t to, Test&& test) const {
    return !any(from, to, [&](const Value& value) { return !test(value); });
  }
  [[nodiscard]] bool may_be(const Value& value, std::uint64_t from, std::uint64_t to) const {
    return any(from, to, [&](const Value& one) { return one == value; });
  }
  [[nodiscard]] bool must_be(const Value& value, std::uint64_t from, std::uint64_t to) const {
    return all(from, to, [&](const Value& one) { return one == value; });
  }
  [[nodiscard]] Value lowest(std::uint64_t from, std::uint64_t to) const { return extreme(from, to, [](const Value& a, const Value& b) { return a < b; }); }
  [[nodiscard]] Value highest(std::uint64_t from, std::uint64_t to) const { return extreme(from, to, [](const Value& a, const Value& b) { return b < a; }); }

 private:
  struct Change {
    std::uint64_t call;
    Value value;
    std::uint64_t from;
    std::uint64_t until;
  };
  template <class Before>
  [[nodiscard]] Value extreme(std::uint64_t from, std::uint64_t to, Before&& before) const {
    const Value* found = nullptr;
    for (const Change& change : changes_)
      if (change.from <= to && change.until >= from && (found == nullptr || before(change.value, *found))) found = &change.value;
    return found == nullptr ? changes_.back().value : *found;
  }

  std::vector<Change> changes_;
};

}  // namespace fanfare::sim
