// The names of one queue's message groups, and numbers for them, so that an entry needs four bytes to say its group.
//
// Rule 1: a group exists as long as it has messages; its number is used again afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"

namespace fanfare::queue {

class GroupNames {
 public:
  /// The number of the group of this name, from 1, with one message more than before.
  std::uint32_t enter(std::string_view name) {
    const auto found = names_.find(name);
    if (found != names_.end()) {
      ++groups_[found->second].members;
      return found->second;
    }
    std::uint32_t number = 0;
    if (free_.empty()) {
      number = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    groups_[number] = {names_.emplace(std::string{name}, number).first, 1};
    return number;
  }
  /// A message of the group is gone; whether it was the last.
  bool leave(std::uint32_t number) {
    FANFARE_ASSERT(groups_[number].members > 0);
    if (--groups_[number].members > 0) return false;
    names_.erase(groups_[number].name);
    free_.push_back(number);
    return true;
  }
  [[nodiscard]] std::string_view name_of(std::uint32_t number) const { return groups_[number].name->first; }
  /// Calls visit(number, name) in the order of the names.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [name, number] : names_) visit(number, std::string_view{name});
  }
  /// Numbers are below this.
  [[nodiscard]] std::size_t end() const { return groups_.size(); }

 private:
  using Names = std::map<std::string, std::uint32_t, std::less<>>;
  struct Group {
    Names::iterator name;
    std::uint32_t members = 0;
  };
  Names names_;
  std::vector<Group> groups_{Group{}};  // number 0 is none
  std::vector<std::uint32_t> free_;
};

}  // namespace fanfare::queue
