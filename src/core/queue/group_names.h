// The names of one queue's message groups, and numbers for them, so that an entry needs four bytes to say its group.
//
// Rule 1: a group exists as long as it has messages; its number is used again afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "core/message/number_table.h"

namespace fanfare::queue {

class GroupNames {
 public:
  /// The number of the group of this name, from 1, with one message more than before.
  std::uint32_t enter(std::string_view name) {
    const std::uint32_t hash = hash_of(name);
    if (const auto found = find(name, hash)) {
      ++groups_[*found].members;
      return *found;
    }
    std::uint32_t number = 0;
    if (free_.empty()) {
      number = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    groups_[number] = {std::string{name}, hash, 1};
    numbers_.insert(hash, number);
    return number;
  }
  /// A message of the group is gone; whether it was the last.
  bool leave(std::uint32_t number) {
    Group& group = groups_[number];
    FANFARE_ASSERT(group.members > 0);
    if (--group.members > 0) return false;
    numbers_.erase(group.hash, number);
    group.name = {};
    free_.push_back(number);
    return true;
  }
  [[nodiscard]] std::string_view name_of(std::uint32_t number) const { return groups_[number].name; }
  /// The number of a group that has messages; 0: there is none of this name.
  [[nodiscard]] std::uint32_t number_of(std::string_view name) const { return find(name, hash_of(name)).value_or(0); }
  /// Begins to load what enter() and number_of() will look at first.
  void prefetch(std::string_view name) const { numbers_.prefetch(hash_of(name)); }
  /// Calls visit(number, name) in the order of the names, which it sorts.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 1; number < groups_.size(); ++number)
      if (groups_[number].members > 0) numbers.push_back(number);
    std::sort(numbers.begin(), numbers.end(), [&](std::uint32_t a, std::uint32_t b) { return groups_[a].name < groups_[b].name; });
    for (const std::uint32_t number : numbers) visit(number, name_of(number));
  }

 private:
  struct Group {
    std::string name;
    std::uint32_t hash = 0;
    std::uint32_t members = 0;
  };
  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(std::uint64_t{std::hash<std::string_view>{}(name)} >> 32);
  }
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name, std::uint32_t hash) const {
    return numbers_.find(hash, [&](std::uint32_t number) { return groups_[number].name == name; });
  }

  std::deque<Group> groups_{Group{}};  // number 0 is none
  message::NumberTable numbers_;       // by the hash of the name
  std::vector<std::uint32_t> free_;
};

}  // namespace fanfare::queue
